#!/usr/bin/env node
// SPDX-License-Identifier: MIT
/*
 * direct.js -- numbers and a queue of a Redis store by direct calls of the scripts: no library, no
 * server of usher's.
 *
 *     node direct.js HOST:PORT          a single server, or any node of a cluster
 *     node direct.js /run/redis.sock
 *
 * $USHER prints the scripts, else `usher'.  With json 1 the answer is the JSON that `usher --json`
 * prints.  Any client of Redis does what class Redis does here: SCRIPT LOAD, and EVALSHA with the
 * three keys of the scope.
 */
'use strict';
const net = require('net');
const { execFileSync } = require('child_process');

// One server: commands and answers, as they are on the wire.
class Redis {
    constructor(address) {
        const at = address.lastIndexOf(':');
        this.bytes = Buffer.alloc(0);
        this.waiting = []; // one for each command that was sent, in order
        this.socket = address.includes('/') ? net.connect(address)
            : net.connect(Number(address.slice(at + 1)), address.slice(0, at).replace(/[[\]]/g, ''));
        this.socket.on('data', (data) => this.came(data));
        this.socket.on('error', (error) => this.waiting.splice(0).forEach((w) => w.reject(error)));
        this.socket.on('close', () =>
            this.waiting.splice(0).forEach((w) => w.reject(new Error('the server closed the connection'))));
    }

    send(...words) {
        const sent = [Buffer.from(`*${words.length}\r\n`)];
        for (const word of words.map((w) => Buffer.isBuffer(w) ? w : Buffer.from(String(w))))
            sent.push(Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n'));
        this.socket.write(Buffer.concat(sent));
        return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    }

    // An answer is a text, a number or an error here; direct calls with json 1 have no others.
    came(data) {
        this.bytes = Buffer.concat([this.bytes, data]);
        for (let end; (end = this.bytes.indexOf('\r\n')) >= 0;) {
            const kind = String.fromCharCode(this.bytes[0]), rest = this.bytes.toString('utf8', 1, end);
            const size = kind === '$' ? Number(rest) + 2 : 0;
            if (this.bytes.length < end + 2 + size) return;
            const text = kind === '$' ? this.bytes.toString('utf8', end + 2, end + size) : rest;
            this.bytes = this.bytes.subarray(end + 2 + size);
            this.waiting.shift().resolve(kind === '-' ? new Error(text) : text);
        }
    }

    close() {
        this.socket.end();
    }
}

// Calls on any scope; in a cluster at the node that has it.
class Usher {
    constructor(address) {
        Object.assign(this, { first: address, servers: {}, nodes: {}, scripts: {} });
    }

    async call(noun, verb, scope, words = [], pairs = {}) {
        const key = `{${scope}}:${noun}`;
        const script = this.scripts[noun] ??=
            { text: execFileSync(process.env.USHER || 'usher', ['lua', noun]), sha: null };
        const all = [verb, ...words, ...Object.entries(pairs).flat(), 'json', 1];
        for (let ask = null;;) {
            const node = ask || this.nodes[scope] || this.first;
            const server = this.servers[node] ??= new Redis(node);
            // the name of the script is not known before it has been loaded once
            if (script.sha === null) script.sha = good(await server.send('SCRIPT', 'LOAD', script.text));
            if (ask) good(await server.send('ASKING'));
            const answer = await server.send('EVALSHA', script.sha, 3, key, `${key}:index`, `${key}:held`, ...all);
            const [error, , address] = answer instanceof Error ? answer.message.split(' ') : [];
            if (error === 'NOSCRIPT') // it was started again, or is another one: nothing was done
                good(await server.send('SCRIPT', 'LOAD', script.text));
            else if (error === 'MOVED') [this.nodes[scope], ask] = [address, null]; // MOVED SLOT HOST:PORT
            else if (error === 'ASK') ask = address;
            else return JSON.parse(good(answer));
        }
    }

    close() {
        Object.values(this.servers).forEach((s) => s.close());
    }
}

function good(answer) {
    if (answer instanceof Error) throw answer;
    return answer;
}

(async () => {
    const usher = new Usher(process.argv[2]);
    const number = (verb, words, pairs) => usher.call('number', verb, 'sales', words, pairs);
    const status = async (...call) => (await number(...call)).status;
    console.log('pool:', await status('set', [], { lease: 60000 }), await status('add', [5550100]),
        await status('reg', [5550100]));
    const call = await number('call', [], { owner: 'call-17' });
    console.log('call-17:', call.number);
    console.log('call-18:', (await number('call', [], { owner: 'call-18' })).why);
    for (let i = 0; i < 2; i++) // the holder of the token ends the hold, and nothing else does
        console.log('hangup:', await status('hangup', [5550100], { token: call.token }));
    await usher.call('queue', 'login', 'desk', ['ann']);
    console.log('zoe:', (await usher.call('queue', 'apply', 'desk', ['zoe'])).agent);
    console.log((await number('call', [], { lease: 'soon' })).message);
    usher.close();
})().catch((error) => {
    console.error(String(error.message));
    process.exitCode = 1;
});
