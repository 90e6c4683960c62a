// SPDX-License-Identifier: MIT
/*
 * examples/webchat with customers and agents that behave as its pages do, while each process dies in turn: each customer is served,
 * by one agent at a time, and has a case number of its own.
 */
'use strict';
const assert = require('assert');
const fs = require('fs');
const http = require('http');
const net = require('net');
const os = require('os');
const path = require('path');
const { once } = require('events');
const { spawn, spawnSync } = require('child_process');

const PROGRAM = process.env.USHER || 'usher';
const PATIENCE_MS = 1000 * Number(process.env.PATIENCE || 60) * 3;
const CUSTOMERS = Number(process.env.CUSTOMERS || 40),
    AGENTS = Number(process.env.AGENTS || 5);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'usher-webchat.'));
const store = process.env.WEBCHAT_STORE || 'sqlite:' + path.join(dir, 'chat.db'),
    socket = path.join(dir, 'usher.sock');
const children = new Set(),
    agent = new http.Agent({ keepAlive: true, maxSockets: 1000 });
const served = new Map(),
    talksTo = new Map(),
    faults = []; // of customers: case numbers, agents
let over = false;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what, when) {
    for (const end = Date.now() + PATIENCE_MS; !when(); await pause(10))
        assert(Date.now() < end, `${what}: not within ${PATIENCE_MS} ms`);
}

function run(program, ...words) {
    const child = spawn(program, words, {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, USHER: PROGRAM },
        cwd: dir,
    });
    children.add(child);
    child.on('exit', () => children.delete(child));
    return child;
}

async function answers(where) {
    for (;;) {
        const probe = net.connect(where),
            connected = await Promise.race([
                once(probe, 'connect').then(() => true),
                once(probe, 'error').then(() => false),
            ]).catch(() => false);
        probe.destroy();
        if (connected) return;
        await pause(10);
    }
}

async function freePort() {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    return port;
}

const usherServer = {
    start: async () => {
        usherServer.child = run(PROGRAM, '-s', store, 'serve', `--listen=unix:${socket}`);
        await answers(socket);
    },
};

class Web {
    constructor(port) {
        this.port = port;
    }

    async start() {
        this.child = run(
            process.execPath,
            path.join(__dirname, '../../examples/webchat/server.js'),
            '--wrapup=50ms',
            '--gone=0',
            `--port=${this.port}`,
            `--usher=${socket}`,
        );
        await answers({ port: this.port, host: '127.0.0.1' });
    }
}

async function kill(process_) {
    process_.child.kill('SIGKILL');
    await once(process_.child, 'exit');
    await process_.start();
}

// A page: its events, also after its server was away, and what it posts.
class Page {
    constructor(web, query, shown) {
        Object.assign(this, { web, query, shown, text: '' });
        this.open();
    }

    open() {
        const again = () => this.over || over || setTimeout(() => this.open(), 100);
        this.request = http
            .get(
                {
                    port: this.web.port,
                    host: '127.0.0.1',
                    path: '/events?' + new URLSearchParams(this.query),
                    headers: { Host: '127.0.0.1' },
                },
                (response) => {
                    let text = '';
                    response
                        .setEncoding('utf8')
                        .on('data', (data) => {
                            const events = (text + data).split('\n\n');
                            text = events.pop();
                            for (const event of events)
                                if (event.startsWith('data: ')) this.shown(JSON.parse(event.slice(6)));
                        })
                        .on('close', again)
                        .on('error', () => {});
                },
            )
            .on('error', again);
    }

    post(what, data) {
        return new Promise((resolve) => {
            http.request(
                {
                    port: this.web.port,
                    host: '127.0.0.1',
                    method: 'POST',
                    path: '/' + what,
                    agent,
                    headers: { Host: '127.0.0.1', 'Content-Type': 'application/json' },
                },
                (response) =>
                    response
                        .resume()
                        .on('end', () => resolve(response.statusCode))
                        .on('error', () => resolve(0)),
            )
                .on('error', () => resolve(0))
                .end(JSON.stringify(data));
        });
    }

    close() {
        this.over = true;
        this.request.destroy();
    }
}

function customer(web, other, i) {
    const id = `c${i}`,
        query = { id, name: `Name <b>${i}</b>`, topic: i % 2 ? 'sales' : 'support', since: Date.now() };
    let saying = false,
        moved = i % 7 !== 2; // these come back at the other server, and talk from there
    const show = async (view) => {
        if (view.place === 'room') {
            talksTo.set(id, view.agent);
            if (!moved && page.web === web) {
                page.web = other;
                page.request.destroy();
                setTimeout(() => {
                    moved = true;
                    show(view);
                }, 500);
            }
            if (moved && !saying && view.talk && !view.talk.messages.some(({ who }) => who === id)) {
                saying = true; // and again, if a server or the store loses it
                await page.post('say', { id, who: id, text: 'help' });
                saying = false;
            }
        }
        if (view.place !== 'ended') return;
        page.close();
        if (view.why !== 'finished') faults.push(`${id}: ${view.why}`);
        if (!moved) faults.push(`${id}: the talk has ended when its page came back at another server`);
        if (!view.talk || !view.talk.case) faults.push(`${id} has no case number`);
        served.set(id, view.talk && view.talk.case);
    };
    const page = new Page(web, query, show);
}

const atDesk = new Map(); // by agent: the customers that its page shows as seated

function desk(web, n) {
    const name = `agent${n}`,
        busy = new Set(),
        moved = new Set();
    let last = { users: [] };
    const act = () => last.users.forEach((user) => serve(user).catch((error) => faults.push(error.stack)));
    const page = new Page(web, { agent: name, lanes: 'sales,support' }, (view) => {
        last = view;
        atDesk.set(
            name,
            view.users.filter((user) => user.state === 'seated').map((user) => user.id),
        );
        act();
    });
    async function serve(user) {
        const { id, talk } = user;
        if (busy.has(id)) return;
        busy.add(id);
        if (user.state === 'offered')
            await page.post(
                Number(id.slice(1)) % 13 === 5 && !moved.has(id) && moved.add(id) ? 'reject' : 'accept',
                { agent: name, id },
            );
        else if (talk && talk.messages.some(({ who }) => who === id)) {
            if (
                Number(id.slice(1)) % 10 === 3 &&
                !talk.messages.some(({ text }) => text === 'I pass you on')
            ) {
                await page.post('say', { id, who: name, text: 'I pass you on' });
                await page.post('transfer', {
                    agent: name,
                    id,
                    lane: user.lane === 'sales' ? 'support' : 'sales',
                });
            } else {
                await page.post('typing', { id, who: name, on: true });
                await page.post('call', { id });
                await page.post('say', { id, who: name, text: 'done' });
                await page.post('finish', { agent: name, id, room: user.room });
            }
        }
        setTimeout(() => {
            busy.delete(id);
            if (!over) act(); // what it has shown meanwhile, and what was lost with a server
        }, 100);
    }
    return page;
}

async function main() {
    const webs = [new Web(await freePort()), new Web(await freePort())];
    await usherServer.start();
    spawnSync(PROGRAM, [
        '-s',
        'usher+unix:' + socket,
        'queue',
        'set',
        'chat',
        'offer=30s',
        'log=1000',
        'again=200',
    ]);
    await Promise.all(webs.map((web) => web.start()));
    const desks = Array.from({ length: AGENTS }, (_, n) => desk(webs[n % 2], n));
    await until('agents', () => atDesk.size === AGENTS);
    const watch = setInterval(() => {
            const shown = [...atDesk.values()].flat();
            for (const id of new Set(shown))
                if (shown.filter((other) => other === id).length > 1) twice.set(id, (twice.get(id) || 0) + 1);
        }, 20),
        twice = new Map();
    for (let i = 0; i < CUSTOMERS; i++) {
        customer(webs[i % 2], webs[1 - (i % 2)], i);
        await pause(10);
        if (i === Math.floor(CUSTOMERS / 4)) await kill(webs[0]);
        if (i === Math.floor(CUSTOMERS / 2)) await kill(usherServer);
        if (i === Math.floor((CUSTOMERS * 3) / 4)) await kill(webs[1]);
    }
    await until('customers', () => served.size === CUSTOMERS);
    clearInterval(watch);
    over = true;
    for (const page of desks) page.close();
    assert.deepStrictEqual(faults, []);
    const cases = [...served.values()].sort(),
        shell = (...words) =>
            JSON.parse(
                spawnSync(PROGRAM, ['-s', 'usher+unix:' + socket, '--json', ...words], { encoding: 'utf8' })
                    .stdout,
            );
    assert.strictEqual(new Set(cases).size, CUSTOMERS, 'each has a case number of its own');
    // the store is the judge of seats: at no time two for one user
    const visits = [];
    for (let after; after !== null;) {
        const page = shell('queue', 'history', 'chat', 'max=1000', ...(after ? ['after=' + after] : []));
        visits.push(...page.visits);
        after = page.next;
    }
    for (const id of served.keys()) {
        const stays = visits
            .filter((visit) => visit.user === id && visit.seated !== null)
            .sort((a, b) => a.seated - b.seated);
        assert(stays.length > 0, `${id} was seated`);
        for (const [i, stay] of stays.entries())
            assert(i === 0 || stay.seated >= stays[i - 1].finished, `${id} had two desks`);
    }
    assert.strictEqual(shell('check').status, 'ok');
    console.log(
        `${CUSTOMERS} customers served by ${AGENTS} agents, ${visits.filter((visit) => visit.outcome === 'seated').length} visits`,
    );
}

main()
    .then(
        () => 0,
        (error) => {
            console.error(error.stack, faults);
            const state = (...words) =>
                spawnSync(PROGRAM, ['-s', 'usher+unix:' + socket, ...words], { encoding: 'utf8' }).stdout;
            console.error(
                [...Array(CUSTOMERS).keys()]
                    .map((i) => `c${i}`)
                    .filter((id) => !served.has(id))
                    .map(
                        (id) =>
                            `${id}: ${state('queue', 'where', 'chat', id)}${state('queue', 'history', 'chat', 'user=' + id)}${state('room', 'snapshot', 'chat-' + id)}`,
                    )
                    .join('\n'),
                state('queue', 'agents', 'chat'),
            );
            return 1;
        },
    )
    .then((code) => {
        for (const child of children) child.kill('SIGKILL');
        fs.rmSync(dir, { recursive: true, force: true });
        process.exit(code);
    });
