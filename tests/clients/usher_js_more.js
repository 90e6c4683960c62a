// SPDX-License-Identifier: MIT
/* examples/clients/usher.js: what the client for Python does not have, and hostile servers. */
'use strict';
const assert = require('assert');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const { once } = require('events');
const { spawn } = require('child_process');
const { Usher, UsherError } = require('../../examples/clients/usher.js');

const PROGRAM = process.env.USHER || 'usher';
const PATIENCE_MS = 1000 * Number(process.env.PATIENCE || 60);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'usher-node.'));
const seed = Number(process.env.USHER_SEED || Math.floor(Math.random() * 2 ** 31));
const children = new Set();
let state = seed;

function random(n) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % n;
}

class Server {
    constructor(store, name) {
        this.store = store;
        this.path = path.join(dir, name);
    }

    async start(...more) {
        this.child = spawn(PROGRAM, ['-s', this.store, 'serve', `--listen=unix:${this.path}`, ...more], {
            stdio: ['ignore', 'ignore', 'inherit'],
        });
        children.add(this.child);
        for (const until = Date.now() + PATIENCE_MS; ;) {
            // a socket file may be that of a server that was killed
            const probe = net.connect(this.path);
            const connected = await Promise.race([
                once(probe, 'connect').then(() => true),
                once(probe, 'error').then(() => false),
            ]).catch(() => false);
            probe.destroy();
            if (connected) return this;
            assert(Date.now() < until, 'the server does not start');
            await new Promise((resolve) => setTimeout(resolve, 10));
        }
    }

    async stop(signal = 'SIGTERM') {
        this.child.kill(signal);
        if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
        children.delete(this.child);
    }
}

function until(emitter, event, when = () => true) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no ${event} came`)), PATIENCE_MS);
        emitter.on(event, function heard(...of) {
            if (!when(...of)) return;
            clearTimeout(timer);
            emitter.off(event, heard);
            resolve(of[0]);
        });
    });
}

const tests = {
    async a_copy_of_a_room_is_the_room() {
        const store = 'sqlite:' + path.join(dir, 'room.db'),
            server = await new Server(store, 'c').start();
        const usher = new Usher(server.path),
            other = new Usher(server.path);
        const name = () => 'm' + random(6),
            verbs = [
                'join',
                'join',
                'leave',
                'member',
                'all',
                'set',
                'unset',
                'role',
                'share',
                'unshare',
                'lock',
                'unlock',
                'kick',
                'close',
            ];
        await other.once('room', 'open', 'r');
        let room = await usher.room('r'),
            closed = 0;
        room.on('close', () => closed++);
        for (let i = 0; i < 600; i++) {
            const verb = verbs[random(i % 60 === 59 ? verbs.length : verbs.length - 1)],
                field = random(9) > 0 ? 'f' + random(3) : '__proto__';
            const words =
                {
                    join: [name(), '--', { name: 'x' + i }],
                    leave: [name()],
                    member: [name(), field, i],
                    all: [field, i],
                    set: [field, i],
                    unset: [field],
                    kick: [name()],
                    role: ['chair', random(4) > 0 ? name() : ''],
                    share: [name(), 's' + random(3), '--', { url: i }],
                    unshare: ['s' + random(3)],
                }[verb] || [];
            await other
                .once('room', verb, 'r', ...words)
                .catch((error) => assert.strictEqual(error.kind, 'INVALID'));
            if (verb === 'close') await other.once('room', 'open', 'r');
            if (random(200) === 0) {
                await server.stop('SIGKILL');
                await server.start();
            }
            if (i % 50 !== 49) continue;
            const now = await other.again('room', 'snapshot', 'r', { max: 1000 });
            for (
                const end = Date.now() + PATIENCE_MS;
                room.epoch !== now.epoch || room.version !== now.version;
            ) {
                assert(Date.now() < end, `the copy stays at version ${room.version} of ${now.version}`);
                await new Promise((resolve) => setTimeout(resolve, 2));
            }
            const fields = (of) => Object.fromEntries(Object.entries(of).sort());
            assert.strictEqual(room.state, now.state);
            assert.deepStrictEqual(fields(room.fields), fields(now.fields));
            assert.deepStrictEqual(fields(room.roles), fields(now.roles));
            assert.deepStrictEqual(fields(room.all), fields(now.all));
            assert.deepStrictEqual(
                Object.entries(room.members)
                    .sort()
                    .map(([member, m]) => ({
                        member,
                        state: m.state,
                        since: m.since,
                        fields: fields(m.fields),
                    })),
                now.members
                    .map((m) => ({ ...m, fields: fields(m.fields) }))
                    .sort((a, b) => (a.member < b.member ? -1 : 1)),
            );
            assert.deepStrictEqual(
                Object.entries(room.shares)
                    .sort()
                    .map(([share, s]) => ({ share, member: s.member, fields: fields(s.fields) })),
                now.shares
                    .map((s) => ({ ...s, fields: fields(s.fields) }))
                    .sort((a, b) => (a.share < b.share ? -1 : 1)),
            );
        }
        await other.once('room', 'close', 'r');
        if (room.epoch !== undefined) await until(room, 'close');
        assert.strictEqual(room.state, 'closed');
        // many members need pages
        await other.once('room', 'open', 'big');
        for (let i = 0; i < 900; i++)
            await other.call('room', 'join', 'big', `m${i}`, '--', { text: 'x'.repeat(100) });
        room = await usher.room('big');
        assert.strictEqual(Object.keys(room.members).length, 900);
        usher.close();
        other.close();
        await server.stop();
    },

    async ids_are_taken_in_segments() {
        const server = await new Server('memory:', 'd').start(),
            usher = new Usher(server.path);
        await usher.call('id', 'create', 'i', { start: 9007199254740990n, by: 2 });
        const ids = usher.ids('i', 3),
            got = await Promise.all(Array.from({ length: 7 }, () => ids.next()));
        assert.deepStrictEqual(
            got,
            [0n, 1n, 2n, 3n, 4n, 5n, 6n].map((i) => 9007199254740990n + 2n * i),
        );
        await assert.rejects(usher.ids('none').next(), { kind: 'MISSING' });
        usher.close();
        await server.stop();
    },

    async what_awaits_an_answer_runs_before_a_later_message() {
        const file = path.join(dir, 'both'),
            name = 'room/r?since=0',
            order = [];
        const text = JSON.stringify({ scope: 'room/r', epoch: 'e', version: 1, verb: 'open' });
        const fake = net
            .createServer((socket) => {
                const says = [
                    '%0\r\n',
                    `>3\r\n$9\r\nsubscribe\r\n$${name.length}\r\n${name}\r\n:1\r\n`,
                    `+ok\r\n>3\r\n$7\r\nmessage\r\n$${name.length}\r\n${name}\r\n$${text.length}\r\n${text}\r\n+ok\r\n`,
                ];
                socket.on('data', () => says.length > 0 && socket.write(says.shift())).on('error', () => {});
            })
            .listen(file);
        await once(fake, 'listening');
        const usher = new Usher(file);
        await usher.subscribe('room/r', () => order.push('message'), { since: 0 });
        await Promise.all(
            [usher.call('room', 'show', 'r'), usher.call('room', 'show', 'r')].map(async (answer, i) => {
                await answer;
                await null;
                order.push(i);
            }),
        );
        assert.deepStrictEqual(order, [0, 'message', 1]);
        usher.close();
        fake.close();
    },

    async two_tabs_of_an_agent_accept_one_user() {
        const server = await new Server('memory:', 'e').start();
        const [one, two] = [new Usher(server.path), new Usher(server.path)];
        await one.call('queue', 'set', 'q', { offer: '60s' });
        await one.call('queue', 'login', 'q', 'ann');
        await one.call('queue', 'apply', 'q', 'zoe');
        const answers = await Promise.all([
            one.call('queue', 'accept', 'q', 'ann', 'zoe'),
            two.call('queue', 'accept', 'q', 'ann', 'zoe'),
        ]);
        assert.deepStrictEqual(answers.map((answer) => answer.status).sort(), ['ok', 'same']);
        one.close();
        two.close();
        await server.stop();
    },

    async damaged_bytes_do_no_harm() {
        const server = await new Server('memory:', 'f').start(),
            file = path.join(dir, 'between');
        const between = net
            .createServer((client) => {
                const real = net.connect(server.path);
                let greeted = false;
                real.on('data', (data) => {
                    for (let n = greeted ? random(3) : 0; n > 0; n--) data[random(data.length)] = random(256);
                    greeted = true;
                    client.write(data);
                });
                client.on('data', (data) => real.write(data));
                for (const [a, b] of [
                    [client, real],
                    [real, client],
                ])
                    a.on('error', () => {}).on('close', () => b.destroy());
            })
            .listen(file);
        await once(between, 'listening');
        const usher = new Usher(file, { timeout: 100 });
        await usher.subscribe('room/r', () => {}, { since: 0 }).catch(() => {});
        for (let i = 0; i < 300; i++) {
            const answer = await usher
                .call(
                    ...[
                        ['room', 'open', 'r'],
                        ['room', 'set', 'r', 'f', i],
                        ['room', 'snapshot', 'r'],
                        ['number', 'stats', 'p'],
                    ][i % 4],
                )
                .catch((error) => error);
            assert(answer instanceof UsherError || typeof answer !== 'undefined');
        }
        usher.close();
        between.close();
        await server.stop();
    },
};

async function main() {
    console.log(`USHER_SEED=${seed}`);
    for (const [name, test] of Object.entries(tests)) {
        if (process.argv.length > 2 && !process.argv.slice(2).includes(name)) continue;
        console.log('== ' + name.replaceAll('_', ' '));
        await test();
    }
}

main()
    .then(
        () => 0,
        (error) => {
            console.error(error.stack);
            return 1;
        },
    )
    .then((code) => {
        for (const child of children) child.kill('SIGKILL');
        fs.rmSync(dir, { recursive: true });
        process.exit(code);
    });
