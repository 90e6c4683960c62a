#!/usr/bin/env node
// SPDX-License-Identifier: MIT
/*
 * serve.js -- numbers and a queue from `usher serve`, by a socket and nothing else.
 *
 *     usher -s sqlite:calls.db serve --listen=unix:usher.sock &
 *     node serve.js usher.sock
 *
 * Any client of Redis will do; this shows how little is needed: a command is an array of words, an
 * answer the map that `usher --json` prints.  Commands that are sent together are done together.
 * For reconnects, repeats and subscriptions see clients/usher.js.
 */
'use strict';
const net = require('net');

class Usher {
    constructor(path) {
        this.bytes = Buffer.alloc(0);
        this.waiting = []; // whoever asked, in order
        this.socket = net.connect(path);
        this.socket.on('data', (data) => this.came(data));
        this.socket.on('error', (error) => (this.error = error));
        this.socket.on('close', () => {
            const error = this.error || new Error('the server closed the connection');
            this.waiting.splice(0).forEach((w) => w.reject(error));
        });
        this.ask('HELLO', 3); // answers are maps
    }

    ask(...words) {
        const sent = [`*${words.length}\r\n`];
        for (const word of words.map((w) => Buffer.from(String(w))))
            sent.push(`$${word.length}\r\n`, word, '\r\n');
        this.socket.write(Buffer.concat(sent.map((s) => Buffer.from(s))));
        return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    }

    came(data) {
        this.bytes = Buffer.concat([this.bytes, data]);
        for (let at = [0], value; (value = this.read(at)) !== undefined; at = [0]) {
            this.bytes = this.bytes.subarray(at[0]);
            const { resolve, reject } = this.waiting.shift();
            if (value instanceof Error) reject(value);
            else resolve(value);
        }
    }

    // The value at at[0], which moves behind it; undefined: not all of it has come.
    read(at) {
        const end = this.bytes.indexOf('\r\n', at[0]);
        if (end < 0) return undefined;
        const kind = String.fromCharCode(this.bytes[at[0]]), rest = this.bytes.toString('utf8', at[0] + 1, end);
        at[0] = end + 2;
        if (kind === '$') {
            const from = at[0];
            at[0] += Number(rest) + 2;
            return at[0] <= this.bytes.length ? this.bytes.toString('utf8', from, at[0] - 2) : undefined;
        }
        if (kind === '*' || kind === '%') {
            const values = [];
            for (let n = Number(rest) * (kind === '%' ? 2 : 1); n > 0; n--) {
                const value = this.read(at);
                if (value === undefined) return undefined;
                values.push(value);
            }
            return kind === '*' ? values : Object.fromEntries(
                Array.from({ length: values.length / 2 }, (_, i) => values.slice(2 * i, 2 * i + 2)));
        }
        if (kind === '-') return new Error(rest); // nothing was done, but for UNKNOWN: it may have been
        return kind === ':' ? Number(rest) : kind === '#' ? rest === 't' : kind === '_' ? null : rest;
    }
}

async function main(path) {
    const usher = new Usher(path);
    const made = await Promise.all([ // one round trip, one transaction
        usher.ask('number', 'set', 'sales', 'lease', '60s'),
        usher.ask('number', 'add', 'sales', '5550100'),
        usher.ask('number', 'reg', 'sales', '5550100'),
    ]);
    console.log('pool:', ...made.map((answer) => answer.status));
    const call = await usher.ask('number', 'call', 'sales', 'owner', 'call-17');
    console.log('call-17:', call.number);
    console.log('call-18:', (await usher.ask('number', 'call', 'sales', 'owner', 'call-18')).why);
    for (let i = 0; i < 2; i++) { // who holds the token ends the hold, and nobody else
        const end = await usher.ask('number', 'hangup', 'sales', call.number, 'token', call.token);
        console.log('hangup:', end.status);
    }
    await Promise.all([usher.ask('queue', 'login', 'desk', 'ann'), usher.ask('queue', 'apply', 'desk', 'zoe')]);
    console.log('zoe:', (await usher.ask('queue', 'where', 'desk', 'zoe')).agent);
    await usher.ask('number', 'call', 'sales', 'lease', 'soon').catch((error) => console.log(error.message));
    usher.socket.end();
}

main(process.argv[2]).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
