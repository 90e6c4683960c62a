// SPDX-License-Identifier: MIT
/*
 * usher.js -- a client of `usher serve` for Node, in one file and without dependencies.
 *
 *     const { Usher } = require('./usher.js');
 *     const usher = new Usher('/run/usher.sock');           // or { port, host, password, timeout }
 *     const call = await usher.call('number', 'call', 'sales', { owner: 'ann', lease: '60s' });
 *     const one = await usher.once('serial', 'take', 'invoices');
 *     const sub = await usher.subscribe('queue/support', (message) => console.log(message));
 *
 * An answer is the object that `usher --json` prints.  It has a status (`ok`, `missing`, `refused`,
 * ...), so only a failure rejects: an UsherError, whose `kind` is INVALID, UNAVAILABLE (the command
 * was not executed), UNKNOWN (it may have been), LOST, NOMEM, or another first word of an error.
 *
 * The client connects by itself, and again when the connection is lost.  A command that was not sent
 * waits for that until its deadline (`timeout`, 10 s by default).  One that was sent and not
 * answered is UNKNOWN, because it may have been executed.  once() gives a command a request id, and
 * repeats it until its deadline: the server executes it once, whatever is lost.  Verbs that are safe
 * without an id (`queue alive`, `number renew`, all that read) are repeated with again().
 *
 * A subscription continues after the last version that it had, also on a new connection.  A message
 * is a notice, or { gap: true, why, before, version } if notices are missing: then read the scope
 * again.  See MESSAGES in usher-serve(8).
 */
'use strict';
const net = require('net');
const { randomUUID } = require('crypto');

const PAUSE_MS = 50; // before the next connection, or the next try

class UsherError extends Error {
    constructor(kind, message) {
        super(message);
        this.name = 'UsherError';
        this.kind = kind;
    }
}

class Subscription {
    constructor(scope, fn, since, epoch) {
        Object.assign(this, { scope, fn, since, epoch, name: null });
    }

    // The name of its channel, with the position.
    position() {
        return `${this.scope}?since=${this.since}` + (this.epoch ? `&epoch=${this.epoch}` : '');
    }

    came(message) {
        if (message.gap) { // `gone`: whatever is created next has another epoch
            this.since = message.version || 0;
            this.epoch = message.why === 'gone' ? null : message.epoch;
        } else if (message.verb !== 'lost') {
            this.since = message.version;
            this.epoch = message.epoch;
        }
        this.fn(message);
    }
}

class Usher {
    constructor(address, options = {}) {
        this.address = typeof address === 'object' ? address : { path: address };
        this.options = { timeout: 10000, ...this.address, ...options };
        this.commands = []; // in order; those that were sent come first
        this.subscriptions = new Set();
        this.channels = new Map(); // by name
        this.fault = 'no answer yet';
        this.connect();
    }

    // ---- commands ----

    // Words, and options as an object at the end.  Once: UNKNOWN if the connection breaks.
    call(...words) {
        return this.put(words, false);
    }

    // A command that may be repeated: until it is answered, or its deadline is over.
    again(...words) {
        return this.put(words, true);
    }

    // The same for any verb with request ids.
    once(...words) {
        return this.put([...words, { req: randomUUID() }], true);
    }

    put(words, repeats) {
        const flat = words.flatMap((word) => typeof word !== 'object' ? [word]
            : Object.entries(word).map(([key, value]) => `${key}=${value}`));
        return new Promise((resolve, reject) => {
            if (this.closed) return reject(new UsherError('UNAVAILABLE', 'the client is closed'));
            const command = { bytes: Usher.packed(flat), repeats, resolve, reject, sent: false, done: false };
            command.timer = setTimeout(() => this.late(command), this.options.timeout);
            this.commands.push(command);
            this.send();
        });
    }

    static packed(words) {
        const parts = [`*${words.length}\r\n`];
        for (const word of words.map((w) => Buffer.from(String(w)))) parts.push(`$${word.length}\r\n`, word, '\r\n');
        return Buffer.concat(parts.map((part) => Buffer.from(part)));
    }

    settle(command, error, value) {
        if (command.done) return;
        command.done = true;
        clearTimeout(command.timer);
        if (error) command.reject(error);
        else command.resolve(value);
    }

    // One that is sent stays in its place, because its answer may come.
    late(command) {
        this.fail(command, this.ready ? 'no answer within the timeout' : `not connected: ${this.fault}`);
        if (!command.sent) this.commands = this.commands.filter((c) => c !== command);
    }

    // doubt: a try before this one may have been executed.
    fail(command, message) {
        this.settle(command, new UsherError(command.sent || command.doubt ? 'UNKNOWN' : 'UNAVAILABLE', message));
    }

    send() {
        if (!this.ready) return;
        for (const command of this.commands)
            if (!command.sent && !(command.notBefore > Date.now())) {
                command.sent = true;
                this.expected.push(command);
                this.socket.write(command.bytes);
            }
    }

    answered(command, value) {
        const error = value instanceof UsherError ? value : null;
        const tryAgain = error && command.repeats && !command.done && (error.kind === 'UNKNOWN' || error.kind === 'UNAVAILABLE');
        if (tryAgain) {
            command.sent = false;
            command.doubt = command.doubt || error.kind === 'UNKNOWN';
            command.notBefore = Date.now() + PAUSE_MS;
            setTimeout(() => this.send(), PAUSE_MS + 1);
            return;
        }
        this.commands = this.commands.filter((c) => c !== command);
        this.settle(command, error, value);
    }

    // ---- subscriptions ----

    // @fn gets the messages of @scope, "queue/support": after version @since of @epoch, or from now on.
    // Resolves to the subscription when the server has confirmed it.
    async subscribe(scope, fn, { since = null, epoch = null } = {}) {
        const [noun, ...name] = scope.split('/');
        if ([...this.subscriptions].some((sub) => sub.scope === scope))
            throw new UsherError('INVALID', `${scope}: this client has subscribed to it already`);
        if (since === null) { // read where it is, so that a reconnect before the first message misses nothing
            const now = await this.again(noun, 'changes', name.join('/'), { max: 1 });
            since = now.status === 'missing' ? 0 : now.version;
            epoch = now.epoch || null;
        }
        const sub = new Subscription(scope, fn, since, epoch);
        this.subscriptions.add(sub);
        let timer;
        return new Promise((resolve, reject) => {
            sub.confirmed = { resolve: () => resolve(sub), reject };
            timer = setTimeout(() => {
                this.unsubscribe(sub);
                reject(new UsherError('UNAVAILABLE', `not connected: ${this.fault}`));
            }, this.options.timeout);
            if (this.ready) this.ask(sub);
        }).finally(() => clearTimeout(timer));
    }

    unsubscribe(sub) {
        this.subscriptions.delete(sub);
        if (!this.ready || this.channels.get(sub.name) !== sub) return;
        this.channels.delete(sub.name);
        this.expected.push({ word: 'unsubscribe' });
        this.socket.write(Usher.packed(['UNSUBSCRIBE', sub.name]));
    }

    ask(sub) {
        sub.name = sub.position();
        this.channels.set(sub.name, sub);
        this.expected.push({ word: 'subscribe', sub });
        this.socket.write(Usher.packed(['SUBSCRIBE', sub.name]));
    }

    pushed([word, name, text]) {
        const sub = this.channels.get(name);
        if (word !== 'message') { // the reply to the oldest command
            const { sub: asked } = this.expected.shift();
            if (asked) asked.confirmed.resolve();
        } else if (sub) {
            sub.came(JSON.parse(text));
        }
    }

    // ---- the connection ----

    connect() {
        this.bytes = Buffer.alloc(0);
        this.expected = []; // what the next replies answer, in order
        this.ready = false;
        this.channels.clear();
        this.socket = net.connect(this.address);
        const hello = ['HELLO', 3, ...(this.options.password ? ['AUTH', 'default', this.options.password] : [])];
        this.socket.on('connect', () => {
            this.socket.setNoDelay(true);
            this.expected.push({ hello: true });
            this.socket.write(Usher.packed(hello));
        });
        this.socket.on('data', (data) => this.came(data));
        this.socket.on('error', (error) => { this.fault = error.message; });
        this.socket.on('close', () => this.lost());
    }

    lost() {
        this.ready = false;
        const kept = [];
        for (const command of this.commands) {
            if (command.sent && (!command.repeats || command.done))
                this.fail(command, 'the connection was lost before the answer');
            else kept.push(Object.assign(command, { sent: false, doubt: command.doubt || command.sent }));
        }
        this.commands = kept;
        if (!this.closed) setTimeout(() => this.closed || this.connect(), PAUSE_MS);
    }

    came(data) {
        this.bytes = this.bytes.length ? Buffer.concat([this.bytes, data]) : data;
        const at = { from: 0 };
        let begin = 0;
        for (let value; (value = this.read(at)) !== undefined; begin = at.from) {
            if (value instanceof Push) this.pushed(value);
            else this.reply(value);
        }
        this.bytes = this.bytes.subarray(begin);
    }

    reply(value) {
        const expected = this.expected.shift();
        if (!expected) return; // an error before the connection is closed
        if (expected.bytes) {
            this.answered(expected, value);
        } else if (expected.sub && value instanceof UsherError) {
            this.subscriptions.delete(expected.sub);
            this.channels.delete(expected.sub.name);
            expected.sub.confirmed.reject(value);
        } else if (expected.hello && value instanceof UsherError) {
            this.fault = value.message; // the password is wrong: tried again until the deadlines
            this.socket.destroy();
        } else if (expected.hello) {
            this.ready = true;
            for (const sub of this.subscriptions) this.ask(sub);
            this.send();
        }
    }

    // The value at at.from, which moves after it; undefined: not all of it has come.
    read(at) {
        const end = this.bytes.indexOf('\r\n', at.from);
        if (end < 0) return undefined;
        const kind = String.fromCharCode(this.bytes[at.from]), rest = this.bytes.toString('utf8', at.from + 1, end);
        at.from = end + 2;
        if (kind === '$') {
            const from = at.from;
            at.from += Number(rest) + 2;
            return at.from <= this.bytes.length ? this.bytes.toString('utf8', from, at.from - 2) : undefined;
        }
        if (kind === '*' || kind === '>' || kind === '%') {
            const values = kind === '>' ? new Push() : [];
            for (let n = Number(rest) * (kind === '%' ? 2 : 1); n > 0; n--) {
                const value = this.read(at);
                if (value === undefined) return undefined;
                values.push(value);
            }
            return kind !== '%' ? values : Object.fromEntries(
                Array.from({ length: values.length / 2 }, (_, i) => values.slice(2 * i, 2 * i + 2)));
        }
        if (kind === '-') {
            const [word, ...message] = rest.split(' ');
            return new UsherError(word, message.join(' '));
        }
        if (kind === ':' || kind === ',') return Number(rest);
        return kind === '#' ? rest === 't' : kind === '_' ? null : rest;
    }

    close() {
        this.closed = true;
        this.socket.destroy();
        for (const command of this.commands) this.fail(command, 'the client was closed');
        for (const sub of this.subscriptions) sub.confirmed.reject(new UsherError('UNAVAILABLE', 'the client was closed'));
        this.commands = [];
    }
}

class Push extends Array {}

module.exports = { Usher, UsherError };
