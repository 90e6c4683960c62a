#!/usr/bin/env node
// SPDX-License-Identifier: MIT
/*
 * A live chat on usher: customers wait in a queue, agents accept them, and both talk in a room.
 *
 *     node server.js [--port=8080] [--store=URL] [--usher=SOCKET] [--wrapup=5s] [--gone=3000]
 *
 * It starts `usher serve` for the store ($USHER is the program, else `usher' in $PATH; the store is
 * $USHER_STORE, else sqlite:webchat.db), or with --usher= uses one that runs.  Customers open
 * http://127.0.0.1:8080/, agents http://127.0.0.1:8080/desk.  Any number of these servers may use one
 * usher, or several with a store that they share.
 *
 * This server keeps nothing: a page names itself, and after a restart everything is read again.
 *   queue `chat`       who waits, who serves whom.  A user is one arrival of a customer, a random
 *                      id that never comes again, so the chat room has that name, too.
 *   room `chat-ID`     name and topic of the customer, the case number, and the messages m1, m2, …
 *   serial `case`      case numbers without gaps.  One that is reserved has no end (lease=0), because it
 *                      is shown before it is confirmed: it must not go to another customer.
 *   numbers `callerid` a number for a call to the customer, one call each
 * Heartbeats are sent here, for each page that is open, because a browser slows the timers of a page in
 * the background.  A page that is gone may be back at another of these servers.  So no server removes its
 * user or agent: the heartbeats end, and the queue removes one without heartbeats.
 */
'use strict';
const { spawn } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const { Usher } = require('../clients/usher.js');

const BEAT_MS = 5000; // the queue ends a silent user or agent after 15 s
const TOPICS = ['sales', 'support'];
const MESSAGE_MAX = 2000;
const option = (name, otherwise) =>
    (process.argv.find((word) => word.startsWith(`--${name}=`)) || `=${otherwise}`).replace(/^[^=]*=/, '');
const GONE_MS = Number(option('gone', 3000)); // a page that is not back by then gets no more heartbeats
const UNOPENED_MS = 60000; // the same for one that has arrived and was never open

const customers = new Map(),
    agents = new Map(); // of open pages, by id and by name
let usher;

/* ---- pages ------------------------------------------------------------------------------------- */

// A page that is open in any number of tabs, by server-sent events.  It gets a view when that changes.
class Page {
    constructor(pages, key) {
        Object.assign(this, { pages, key, tabs: new Set(), last: '', leaving: null });
        this.leaving = setTimeout(() => this.close(), UNOPENED_MS);
        pages.set(key, this);
    }

    open(response) {
        clearTimeout(this.leaving);
        response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
        response.write('retry: 500\n\n' + (this.last !== '' ? `data: ${this.last}\n\n` : ''));
        this.tabs.add(response);
        const gone = () => {
            this.tabs.delete(response);
            if (this.tabs.size === 0) this.leaving = setTimeout(() => this.close(), GONE_MS);
        };
        if (response.destroyed)
            gone(); // while the page arrived
        else response.on('close', gone);
    }

    show(view) {
        const text = JSON.stringify(view);
        if (text === this.last) return;
        this.last = text;
        for (const tab of this.tabs) tab.write(`data: ${text}\n\n`);
    }

    close() {
        this.pages.delete(this.key);
        for (const room of Object.values(this.rooms || {})) room.close();
    }
}

// What is known of the chat of a customer: the room as the pages show it.
function talk(room) {
    if (room === undefined || room.epoch === undefined) return null;
    const messages = [];
    for (let i = 1; room.fields[`m${i}`] !== undefined; i++) messages.push(JSON.parse(room.fields[`m${i}`]));
    return {
        name: room.fields.name,
        topic: room.fields.topic,
        case: room.fields.case || null,
        call: room.fields.call || null,
        messages,
        typing: Object.entries(room.members)
            .filter(([, m]) => m.fields.typing === '1')
            .map(([member]) => member),
    };
}

async function follow(page, id) {
    page.rooms = page.rooms || {};
    if (page.rooms[id] !== undefined) return page.rooms[id];
    const room = await usher.room(`chat-${id}`);
    if (page.rooms[id] === room)
        room.close(); // two callers asked for it
    else page.rooms[id] = room;
    if (room.listenerCount('change') === 0)
        room.on('change', refresh).on('read', refresh).on('close', refresh);
    return room;
}

// Into a line, and so out of a transfer.  While no agent serves the line, the next heartbeat tries again.
async function apply(id, lane, since) {
    const { status } = await usher.once('queue', 'apply', 'chat', id, { lane, since });
    if (status !== 'empty') await usher.again('room', 'unset', `chat-${id}`, 'moving');
}

/* ---- customers --------------------------------------------------------------------------------- */

class Customer extends Page {
    constructor(id, { name, topic, since }) {
        super(customers, id);
        Object.assign(this, { id, name, topic, since, ended: null, arrived: false });
    }

    // Report.  Return the line to apply for if the user is not in the queue: it is new, transferred, or the
    // store has lost it.  If its visit has ended, set `ended`.
    async report() {
        if (this.ended !== null) return null;
        const now = await usher.again('queue', 'alive', 'chat', { user: this.id });
        if (now.status !== 'missing') return null;
        const { moving } = (await usher.again('room', 'get', `chat-${this.id}`)).fields || {};
        const [visit] =
            (await usher.again('queue', 'history', 'chat', { user: this.id, max: 1 })).visits || [];
        if (moving === undefined && visit !== undefined && !['lost', 'requeued'].includes(visit.outcome)) {
            this.ended = visit.outcome === 'seated' ? 'finished' : visit.outcome;
            return null;
        }
        return moving || this.topic;
    }

    async beat() {
        const lane = await this.report();
        if (lane !== null) await apply(this.id, lane, this.since); // the old `since` gives the old place
    }

    // Open the chat room, or open it again after a loss of the store.
    async enter() {
        const { id, name, topic, since } = this;
        await usher.once('room', 'open', `chat-${id}`, { ttl: '60s', linger: '60s', push: 1 });
        await usher.once('room', 'join', `chat-${id}`, id);
        await usher.once('room', 'set', `chat-${id}`, 'name', name, '--', { topic, since });
    }

    async arrive() {
        const lane = await this.report(); // after a restart of this server it is there, or has ended
        if (this.ended === null) await this.enter();
        if (lane !== null) await apply(this.id, lane, this.since);
        await follow(this, this.id);
        this.arrived = true;
        refresh();
    }

    async stay() {
        await this.beat();
        const alive = await usher.again('room', 'alive', `chat-${this.id}`, this.id);
        if (alive.status === 'missing' && this.ended === null) await this.enter();
    }

    async view(place) {
        const room = this.rooms && this.rooms[this.id];
        if (this.ended !== null && room !== undefined) await room.read(); // the last view: nothing may be on its way
        return {
            id: this.id,
            place: this.ended !== null ? 'ended' : place.place,
            ahead: place.index,
            wait: place.wait,
            agent: place.agent,
            why: this.ended || place.why,
            talk: talk(room),
        };
    }
}

/* ---- agents ------------------------------------------------------------------------------------ */

class Agent extends Page {
    constructor(name, lanes) {
        super(agents, name);
        Object.assign(this, { name, lanes });
    }

    async stay() {
        const now = await usher.again('queue', 'alive', 'chat', { agent: this.name });
        if (now.status === 'missing')
            await usher.once('queue', 'login', 'chat', this.name, { lanes: this.lanes });
        for (const id of Object.keys(this.rooms || {}))
            await usher.again('room', 'alive', `chat-${id}`, this.name).catch(() => {});
    }

    async view() {
        const desk = await usher.again('queue', 'room', 'chat', this.name);
        const users = desk.status === 'ok' ? desk.rooms.filter((room) => room.user) : [];
        for (const { user } of users) await follow(this, user);
        for (const id of Object.keys(this.rooms || {}).filter(
            (known) => !users.some(({ user }) => user === known),
        )) {
            this.rooms[id].close();
            delete this.rooms[id];
        }
        return {
            name: this.name,
            state: desk.status === 'ok' ? desk.state : 'away',
            users: users.map(({ user, state, lane, until, token, room }) => ({
                id: user,
                state,
                lane,
                until,
                token,
                room,
                talk: talk(this.rooms[user]),
            })),
        };
    }
}

/* ---- what the pages show --------------------------------------------------------------------------- */

let timer = null,
    busy = false,
    again = false;

// After a change: show each page what there is now, at most twenty times a second.
function refresh() {
    if (busy) again = true;
    else timer = timer || setTimeout(show, 50);
}

async function show() {
    timer = null;
    busy = true;
    try {
        const pages = [...customers.values()].filter(
            (page) => page.arrived && (page.last === '' || JSON.parse(page.last).place !== 'ended'),
        );
        const places = await Promise.all(pages.map((page) => usher.again('queue', 'where', 'chat', page.id)));
        await Promise.all(
            pages.map(async (page, i) => {
                if (places[i].status === 'missing') await page.beat();
                page.show(await page.view(places[i].status === 'missing' ? { place: 'none' } : places[i]));
            }),
        );
        await Promise.all([...agents.values()].map(async (page) => page.show(await page.view())));
    } catch (error) {
        console.error(`webchat: ${error.message}`);
        again = true;
    }
    busy = false;
    if (again) {
        again = false;
        refresh();
    }
}

/* ---- what the pages do ------------------------------------------------------------------------------ */

async function message(id, who, text) {
    const room = `chat-${id}`,
        fields = (await usher.again('room', 'get', room)).fields || {},
        value = JSON.stringify({ who, text, at: Date.now() });
    let n = Object.keys(fields).filter((field) => /^m\d+$/.test(field)).length + 1;
    let set;
    while ((set = await usher.once('room', 'set', room, `m${n}`, value, { if: '' })).status === 'stale') n++; // another one was faster
    await done(set);
    await usher.again('room', 'member', room, who, 'typing', '0');
}

// The answer, if the command was done.
async function done(command) {
    const answer = await command;
    if (answer.status !== 'ok' && answer.status !== 'same')
        throw new Error(`${answer.status}: ${answer.why || ''}`);
    return answer;
}

// The case number in the chat room, with its token, or a new one.  No two commands on different scopes are one,
// so each can be repeated.  A number that is confirmed is in the room already: another one is never reserved.
async function caseOf(id) {
    const room = `chat-${id}`;
    for (;;) {
        const { case: serial, token } = (await usher.again('room', 'get', room)).fields || {};
        if (serial !== undefined) return { serial, token };
        const held = await done(usher.once('serial', 'reserve', 'case', { owner: id }));
        const set = await usher.once('room', 'set', room, 'case', held.serial, { if: '' }, '--', {
            token: held.token,
        });
        if (set.status !== 'stale') {
            await done(set);
            continue;
        }
        const { case: other } = (await usher.again('room', 'get', room)).fields || {}; // another server was faster
        if (other !== held.serial)
            await usher.once('serial', 'return', 'case', held.serial, { token: held.token });
    }
}

// Check that the customer is offered to the agent, or talks to it.
async function isOf(id, agent) {
    const now = await usher.again('queue', 'where', 'chat', id);
    if (now.status !== 'ok' || now.agent !== agent) throw new Error(`${id} is not with ${agent}`);
}

const actions = {
    async arrive({ id, name, topic, since }) {
        if (!/^[\w-]{1,64}$/.test(id) || !(Number(since) >= 0)) throw new Error('id or since is wrong');
        const page =
            customers.get(id) ||
            new Customer(id, {
                name: String(name).slice(0, 80) || 'Guest',
                topic: TOPICS.includes(topic) ? topic : TOPICS[0],
                since: Number(since),
            });
        try {
            await page.arrive();
        } catch (error) {
            customers.delete(id); // its page asks again
            throw error;
        }
    },
    async leave({ id }) {
        await usher.once('queue', 'leave', 'chat', id);
        const page = customers.get(id);
        if (page !== undefined) page.ended = 'left';
    },
    async say({ id, who, text }) {
        if (typeof text !== 'string' || text === '') throw new Error('there is no text');
        await message(id, who, text.slice(0, MESSAGE_MAX));
    },
    async typing({ id, who, on }) {
        await usher.again('room', 'member', `chat-${id}`, who, 'typing', on ? 1 : 0);
    },
    async login({ agent, lanes }) {
        const page =
            agents.get(agent) ||
            new Agent(
                agent,
                []
                    .concat(lanes || [])
                    .filter((lane) => TOPICS.includes(lane))
                    .join(',') || '*',
            );
        await page.stay();
    },
    async logout({ agent }) {
        const page = agents.get(agent);
        if (page !== undefined) page.close();
        await usher.once('queue', 'logout', 'chat', agent);
    },
    async pause({ agent, reason }) {
        await done(usher.once('queue', 'pause', 'chat', agent, { reason }));
    },
    async ready({ agent }) {
        await done(usher.once('queue', 'ready', 'chat', agent));
    },
    async accept({ agent, id }) {
        const room = `chat-${id}`;
        await isOf(id, agent);
        const { serial, token } = await caseOf(id);
        await done(usher.once('serial', 'confirm', 'case', serial, { token }));
        await done(usher.once('room', 'join', room, agent));
        await done(usher.once('queue', 'accept', 'chat', agent, id));
    },
    async reject({ agent, id }) {
        await done(usher.once('queue', 'reject', 'chat', agent, id));
    },
    async call({ id }) {
        const call = await usher.once('number', 'call', 'callerid', { owner: id });
        if (call.status !== 'ok' && call.status !== 'same') throw new Error('no number is free');
        await usher.once('room', 'set', `chat-${id}`, 'call', call.number, '--', { calltoken: call.token });
    },
    async hangup({ id }) {
        const { call, calltoken: token } = (await usher.again('room', 'get', `chat-${id}`)).fields || {};
        if (!call) return;
        await usher.once('number', 'hangup', 'callerid', call, { token });
        await usher.once('room', 'unset', `chat-${id}`, 'call');
    },
    async finish({ agent, id, room }) {
        await isOf(id, agent);
        await actions.hangup({ id });
        await done(usher.once('queue', 'finish', 'chat', room, { user: id }));
        await usher.once('room', 'leave', `chat-${id}`, agent);
    },
    /*
     * To the other line, with the first arrival.  These are two commands: `moving` says what is to be done
     * between them, so the server of the customer's page does it if this one dies.
     */
    async transfer({ agent, id, lane }) {
        const room = `chat-${id}`,
            { since } = (await usher.again('room', 'get', room)).fields || {};
        await isOf(id, agent);
        if (!TOPICS.includes(lane)) throw new Error('there is no such line');
        await done(usher.once('room', 'set', room, 'moving', lane));
        await usher.once('queue', 'leave', 'chat', id);
        await apply(id, lane, since);
        await usher.once('room', 'leave', room, agent);
    },
};

/* ---- HTTP ------------------------------------------------------------------------------------------ */

const files = { '/': 'customer.html', '/desk': 'desk.html', '/webchat.css': 'webchat.css' };

async function body(request) {
    let text = '';
    for await (const part of request) if ((text += part).length > 65536) throw new Error('too long');
    return JSON.parse(text);
}

async function serve(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost'),
        host = String(request.headers.host).replace(/:\d+$/, '');
    if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) return response.writeHead(403).end();
    if (request.method === 'GET' && files[pathname] !== undefined) {
        const type = pathname.endsWith('.css') ? 'text/css' : 'text/html; charset=utf-8';
        response.writeHead(200, {
            'Content-Type': type,
            'X-Content-Type-Options': 'nosniff',
            'Content-Security-Policy':
                "default-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
        });
        return response.end(fs.readFileSync(path.join(__dirname, files[pathname])));
    }
    if (request.method === 'GET' && pathname === '/events') {
        const id = searchParams.get('id'),
            agent = searchParams.get('agent');
        if (id !== null && !customers.has(id))
            await actions.arrive({
                id,
                name: searchParams.get('name'),
                topic: searchParams.get('topic'),
                since: searchParams.get('since'),
            });
        if (agent !== null && !agents.has(agent))
            await actions.login({ agent, lanes: (searchParams.get('lanes') || '').split(',') });
        (id !== null ? customers.get(id) : agents.get(agent)).open(response);
        return refresh();
    }
    if (
        request.method === 'POST' &&
        Object.hasOwn(actions, pathname.slice(1)) &&
        request.headers['content-type'] === 'application/json'
    ) {
        await actions[pathname.slice(1)](await body(request));
        refresh();
        return response.writeHead(204).end();
    }
    return response.writeHead(404).end();
}

// The scopes and their settings.  After a loss of the whole store the first customer that comes back would
// make a queue with other settings.
async function settings() {
    await usher.once('queue', 'set', 'chat', {
        offer: '30s',
        wrapup: option('wrapup', '5s'),
        log: 1000,
        push: 1,
    });
    await usher.once('serial', 'rule', 'case', { prefix: 'C-', width: 5, mode: 'gapfree', lease: 0 });
    for (const number of ['+4930111', '+4930112']) {
        await usher.once('number', 'add', 'callerid', number);
        await usher.once('number', 'reg', 'callerid', number);
    }
}

async function start() {
    const store = option('store', process.env.USHER_STORE || 'sqlite:webchat.db');
    let socket = option('usher', ''),
        child = null;
    if (socket === '') {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'webchat.'));
        socket = path.join(dir, 'usher.sock');
        child = spawn(process.env.USHER || 'usher', ['-s', store, 'serve', `--listen=unix:${socket}`], {
            stdio: ['ignore', 'ignore', 'inherit'],
        });
        child.on('error', (error) => {
            console.error(
                `webchat: ${error.message}: put the program usher into $PATH, or name it in $USHER`,
            );
            process.exit(1);
        });
        child.on('exit', () => process.exit(1));
        process.on('exit', () => {
            child.removeAllListeners();
            child.kill();
            fs.rmSync(dir, { recursive: true });
        });
    }
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
    usher = new Usher(socket, { timeout: 30000 });
    await settings();
    await usher.subscribe('queue/chat', async (message) => {
        if (message.gap && message.why !== 'log')
            await settings().catch((error) => console.error(`webchat: ${error.message}`));
        refresh();
    });
    setInterval(() => {
        for (const page of [...customers.values(), ...agents.values()])
            page.stay().catch((error) => console.error(`webchat: ${error.message}`));
        refresh(); // estimates of waits change without a notice
    }, BEAT_MS);
    const server = http.createServer((request, response) =>
        serve(request, response).catch((error) => {
            console.error(`webchat: ${request.url}: ${error.message}`);
            if (!response.headersSent) response.writeHead(400);
            response.end();
        }),
    );
    server.listen(Number(option('port', 8080)), '127.0.0.1', () =>
        console.log(
            `webchat: http://127.0.0.1:${server.address().port}/ and /desk, ${option('usher', '') || store}`,
        ),
    );
}

start().catch((error) => {
    console.error(`webchat: ${error.message}`);
    process.exit(1);
});
