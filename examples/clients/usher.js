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
 * An option that is null or undefined is not given.
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
 * Answers and messages of a connection come in the order of the server: code that awaits an answer
 * runs before a message that was sent after it.
 *
 * A subscription continues after the last version that it had, also on a new connection.  A message
 * is a notice, or { gap: true, why, before, version } if notices are missing: then read the scope
 * again.  See MESSAGES in usher-serve(8).
 *
 *     const room = await usher.room('lobby');               // a copy that follows the room: class Room
 *     const ids = usher.ids('orders');                      // await ids.next(): a BigInt
 */
'use strict';
const { EventEmitter } = require('events');
const net = require('net');
const { randomUUID } = require('crypto');

const OTHERS = new Set([
    'subscribe',
    'unsubscribe',
    'psubscribe',
    'hello',
    'auth',
    'client',
    'reset',
    'quit',
    'multi',
]);
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
        if (message.gap) {
            // `gone`: whatever is created next has another epoch
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
        this.rooms = new Map(); // copies, by name
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
        const fields = words.indexOf('--', 3); // after it all words are fields
        words.splice(fields < 0 ? words.length : fields, 0, { req: randomUUID() });
        return this.put(words, true);
    }

    put(words, repeats) {
        if (words.length === 0 || OTHERS.has(String(words[0]).toLowerCase()))
            return Promise.reject(
                new UsherError('INVALID', `${words[0] || 'nothing'} is no command to execute`),
            );
        if (words.some((word) => word === undefined || word === null || Array.isArray(word)))
            return Promise.reject(
                new UsherError('INVALID', 'a word of the command is undefined, null or an array'),
            );
        const flat = words.flatMap((word) =>
            typeof word !== 'object'
                ? [word]
                : Object.entries(word)
                      .filter(([, value]) => value !== undefined && value !== null)
                      .map(([key, value]) => `${key}=${value}`),
        );
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
        for (const word of words.map((w) => Buffer.from(String(w))))
            parts.push(`$${word.length}\r\n`, word, '\r\n');
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
        this.settle(
            command,
            new UsherError(command.sent || command.doubt ? 'UNKNOWN' : 'UNAVAILABLE', message),
        );
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
        const tryAgain =
            error &&
            command.repeats &&
            !command.done &&
            (error.kind === 'UNKNOWN' || error.kind === 'UNAVAILABLE');
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
        if (since === null) {
            // read where it is, so that a reconnect before the first message misses nothing
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
        if (word !== 'message') {
            // the reply to the oldest command
            const asked = this.expected.shift();
            if (asked && asked.sub) asked.sub.confirmed.resolve();
        } else if (sub) {
            let message;
            try {
                message = JSON.parse(text);
            } catch {
                this.socket.destroy(); // and again after the last message
                return;
            }
            sub.came(message);
        }
    }

    // ---- the connection ----

    connect() {
        this.bytes = Buffer.alloc(0);
        this.values = []; // that came and wait for their turn
        this.expected = []; // what the next replies answer, in order
        this.ready = false;
        this.channels.clear();
        this.socket = net.connect(this.address);
        const hello = [
            'HELLO',
            3,
            ...(this.options.password ? ['AUTH', 'default', this.options.password] : []),
        ];
        this.socket.on('connect', () => {
            this.socket.setNoDelay(true);
            this.expected.push({ hello: true });
            this.socket.write(Usher.packed(hello));
        });
        this.socket.on('data', (data) => this.came(data));
        this.socket.on('error', (error) => {
            this.fault = error.message;
        });
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
        const at = { from: 0 },
            idle = this.values.length === 0;
        let begin = 0;
        try {
            for (let value; (value = this.read(at)) !== undefined; begin = at.from) this.values.push(value);
        } catch (error) {
            this.socket.destroy(error);
        }
        this.bytes = this.bytes.subarray(begin);
        if (idle) this.deliver();
    }

    // One value after another.  What awaits an answer runs before a message that came after it.
    deliver() {
        for (const values = this.values; values.length > 0; values.shift()) {
            if (values[0] instanceof Push) {
                this.pushed(values[0]);
                continue;
            }
            this.reply(values[0]);
            if (!(values[1] instanceof Push)) continue;
            setImmediate(() => {
                values.shift();
                if (values === this.values) this.deliver();
            });
            return;
        }
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
    read(at, depth = 0) {
        const end = this.bytes.indexOf('\r\n', at.from);
        if (end < 0) return undefined;
        const kind = String.fromCharCode(this.bytes[at.from]),
            rest = this.bytes.toString('utf8', at.from + 1, end);
        at.from = end + 2;
        if (depth > 8 || !'+-:,#_$*>%'.includes(kind) || ('$*>%'.includes(kind) && !/^\d{1,9}$/.test(rest)))
            throw new Error('this is not the protocol of usher serve');
        if (kind === '$') {
            const from = at.from;
            at.from += Number(rest) + 2;
            return at.from <= this.bytes.length ? this.bytes.toString('utf8', from, at.from - 2) : undefined;
        }
        if (kind === '*' || kind === '>' || kind === '%') {
            const values = kind === '>' ? new Push() : [];
            for (let n = Number(rest) * (kind === '%' ? 2 : 1); n > 0; n--) {
                const value = this.read(at, depth + 1);
                if (value === undefined) return undefined;
                values.push(value);
            }
            return kind !== '%'
                ? values
                : Object.fromEntries(
                      Array.from({ length: values.length / 2 }, (_, i) => values.slice(2 * i, 2 * i + 2)),
                  );
        }
        if (kind === '-') {
            const [word, ...message] = rest.split(' ');
            return new UsherError(word, message.join(' '));
        }
        if (kind === ':' || kind === ',') return Number(rest);
        return kind === '#' ? rest === 't' : kind === '_' ? null : rest;
    }

    // A copy of a room, which follows it.  There is one for each room, until all that asked for it have closed it.
    async room(name) {
        const room = this.rooms.get(name) || new Room(this, name);
        this.rooms.set(name, room);
        room.users++;
        try {
            await room.begun();
        } catch (error) {
            room.close();
            throw error;
        }
        return room;
    }

    // Ids of a dispenser, of which it takes n at a time.
    ids(name, n = 100) {
        return new Ids(this, name, n);
    }

    close() {
        this.closed = true;
        this.socket.destroy();
        for (const command of this.commands) this.fail(command, 'the client was closed');
        for (const sub of this.subscriptions)
            sub.confirmed.reject(new UsherError('UNAVAILABLE', 'the client was closed'));
        this.commands = [];
    }
}

class Push extends Array {}

/* ---- a copy of a room -------------------------------------------------------------------------------------- */

// An object for names of any kind, "__proto__" too.
function names(of = {}) {
    return Object.assign(Object.create(null), of);
}

/*
 * state ("open", "locked" or "closed"), epoch, version, fields { field: value }, roles { role: member },
 * members { member: { state, since, fields } }, shares { share: { member, fields } }, and all, the fields of all members.
 * Events: `change` with the notice, `read` after the room was read as a whole, `close`.
 */
class Room extends EventEmitter {
    constructor(usher, name) {
        super();
        this.usher = usher;
        this.name = name;
        this.users = 0;
        this.work = Promise.resolve(); // one reading after another
        this.whole = false; // it was read, and what it hears follows that
        this.clear('closed');
    }

    begun() {
        this.first =
            this.first ||
            this.read().catch((error) => {
                this.first = undefined;
                throw error;
            });
        return this.first;
    }

    read() {
        const done = this.work.then(() => this.readOnce());
        this.work = done.catch(() => {});
        return done;
    }

    readAgain() {
        this.whole = false;
        this.read().catch(() =>
            setTimeout(() => this.usher.closed || this.users <= 0 || this.readAgain(), PAUSE_MS),
        );
    }

    clear(state) {
        Object.assign(this, {
            state,
            fields: names(),
            members: names(),
            roles: names(),
            shares: names(),
            all: names(),
        });
    }

    /*
     * Read all pages, and follow the changes after the first one.  Later pages may have some of them already: the same
     * change twice leads to the same room.
     */
    async readOnce() {
        let first, page;
        this.whole = false;
        do {
            page = await this.usher.again(
                'room',
                'snapshot',
                this.name,
                first !== undefined ? { after: page.next, epoch: first.epoch } : {},
            );
            if (page.status === 'stale') {
                // another room of this name: from its first page
                first = undefined;
                page.next = 0;
                continue;
            }
            if (page.status !== 'ok') {
                this.gone();
                if (this.sub === undefined) await this.follow({ since: 0 }); // it may be opened
                return;
            }
            if (first === undefined) {
                first = page;
                this.clear(page.state);
            }
            Object.assign(this.fields, page.fields);
            Object.assign(this.roles, page.roles);
            Object.assign(this.all, page.all);
            for (const { member, state, since, fields } of page.members)
                this.members[member] = { state, since, fields: names(fields) };
            for (const { share, member, fields } of page.shares)
                this.shares[share] = { member, fields: names(fields) };
        } while (page.next !== null);
        Object.assign(this, { epoch: first.epoch, version: first.version, mark: first.mark, whole: true });
        await this.follow({ since: this.version, epoch: this.epoch });
        this.emit('read');
    }

    async follow(position) {
        if (this.sub !== undefined) this.usher.unsubscribe(this.sub);
        this.sub = await this.usher.subscribe('room/' + this.name, (notice) => this.heard(notice), position);
    }

    // There is no such room, or not any more.
    gone() {
        const there = this.epoch !== undefined;
        this.clear('closed');
        this.over = this.epoch; // what else comes of that room does not count
        this.epoch = undefined;
        this.whole = true;
        if (there) this.emit('close');
    }

    heard(notice) {
        if (!this.whole || (notice.epoch === this.over && !notice.gap)) return;
        const follows = notice.epoch === this.epoch && (notice.was === undefined || notice.was === this.mark);
        if (notice.gap || notice.data === null || !follows || !this.apply(notice)) {
            if (notice.why === 'gone') this.gone();
            else this.readAgain();
            return;
        }
        this.version = notice.version;
        this.mark = notice.mark;
        this.emit('change', notice);
        if (this.state === 'closing') this.gone();
    }

    // Return false if it is a change that this code does not know.
    apply({ verb, subject, to, data, owner, time }) {
        switch (verb) {
            case 'open':
            case 'lock':
            case 'unlock':
            case 'close':
            case 'empty':
            case 'done':
                this.state = to;
                break;
            case 'set':
                Object.assign(this.fields, data);
                break;
            case 'unset':
                delete this.fields[subject];
                break;
            case 'all':
                Object.assign(this.all, data);
                for (const member of Object.values(this.members)) Object.assign(member.fields, data);
                break;
            case 'role':
                if (owner === null) delete this.roles[subject];
                else this.roles[subject] = owner;
                break;
            case 'share':
                this.shares[subject] = this.shares[subject] || { member: owner, fields: names() };
                Object.assign(this.shares[subject].fields, data);
                break;
            case 'unshare':
                delete this.shares[subject];
                break;
            case 'outage':
                break;
            case 'join':
            case 'leave':
            case 'kick':
            case 'expire':
            case 'fade':
            case 'drop':
            case 'alive':
            case 'member':
                if (to === 'absent' || to === 'banned') {
                    delete this.members[subject];
                    for (const [role, holder] of Object.entries(this.roles))
                        if (holder === subject) delete this.roles[role];
                    for (const [share, { member }] of Object.entries(this.shares))
                        if (member === subject) delete this.shares[share];
                } else {
                    this.members[subject] = this.members[subject] || { since: time, fields: names(this.all) };
                    this.members[subject].state = to;
                    Object.assign(this.members[subject].fields, data);
                }
                break;
            default:
                return false;
        }
        return true;
    }

    close() {
        this.users--;
        this.work = this.work.then(() => {
            if (this.users > 0 || this.usher.rooms.get(this.name) !== this) return;
            if (this.sub !== undefined) this.usher.unsubscribe(this.sub);
            this.usher.rooms.delete(this.name);
        });
    }
}

/* ---- ids --------------------------------------------------------------------------------------------------- */

class Ids {
    constructor(usher, name, n) {
        Object.assign(this, { usher, name, n, at: 0n, left: 0, by: 1n, taking: null });
    }

    // The next id, as a BigInt.  Ids that were taken and not used are gaps.
    async next() {
        while (this.left === 0) {
            this.taking = this.taking || this.take().finally(() => (this.taking = null));
            await this.taking;
        }
        const id = this.at;
        this.at += this.by;
        this.left--;
        return id;
    }

    async take() {
        const segment = await this.usher.once('id', 'next', this.name, { n: this.n });
        if (segment.status !== 'ok')
            throw new UsherError(segment.status.toUpperCase(), `no ids of ${this.name}: ${segment.status}`);
        Object.assign(this, { at: BigInt(segment.first), by: BigInt(segment.by), left: segment.n });
    }
}

module.exports = { Usher, UsherError, Room, Ids };
