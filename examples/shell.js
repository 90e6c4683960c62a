#!/usr/bin/env node
// SPDX-License-Identifier: MIT
/*
 * shell.js -- numbers and a queue from `usher shell`: a line in, a line of JSON out.
 *
 *     node shell.js sqlite:calls.db          $USHER is the program, else `usher'
 *
 * Nothing has to be started before, and the store may be any; lines that have come together share
 * one transaction.
 */
'use strict';
const { spawn } = require('child_process');
const readline = require('readline');

class Usher {
    constructor(store) {
        this.waiting = []; // whoever asked, in order
        this.child = spawn(process.env.USHER || 'usher', ['-s', store, 'shell'],
            { stdio: ['pipe', 'pipe', 'inherit'] });
        this.child.on('error', (error) => this.end(error));
        this.child.on('close', (code) => this.end(new Error(`usher shell has ended with ${code}`)));
        readline.createInterface({ input: this.child.stdout })
            .on('line', (line) => this.waiting.shift().resolve(JSON.parse(line)));
    }

    // Words, and options as { key: value }.
    ask(...words) {
        const options = typeof words[words.length - 1] === 'object' ? words.pop() : {};
        const line = words.concat(Object.entries(options).map(([key, value]) => `${key}=${value}`));
        this.child.stdin.write(line.map(Usher.quoted).join(' ') + '\n');
        return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    }

    // One word, whatever is in it.
    static quoted(word) {
        const hex = (c) => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0');
        return '"' + String(word).replace(/["\\$`]/g, '\\$&').replace(/[\0-\x1f\x7f]/g, hex) + '"';
    }

    end(error) {
        this.waiting.splice(0).forEach((w) => w.reject(error));
    }
}

async function main(store) {
    const usher = new Usher(store);
    const made = await Promise.all([
        usher.ask('number', 'set', 'sales', { lease: '60s' }),
        usher.ask('number', 'add', 'sales', '5550100'),
        usher.ask('number', 'reg', 'sales', '5550100'),
    ]);
    console.log('pool:', ...made.map((answer) => answer.status));
    const call = await usher.ask('number', 'call', 'sales', { owner: 'call-17' });
    console.log('call-17:', call.number);
    console.log('call-18:', (await usher.ask('number', 'call', 'sales', { owner: 'call-18' })).why);
    for (let i = 0; i < 2; i++) { // who holds the token ends the hold, and nobody else
        const end = await usher.ask('number', 'hangup', 'sales', call.number, { token: call.token });
        console.log('hangup:', end.status);
    }
    await Promise.all([usher.ask('queue', 'login', 'desk', 'ann'), usher.ask('queue', 'apply', 'desk', 'zoe')]);
    console.log('zoe:', (await usher.ask('queue', 'where', 'desk', 'zoe')).agent);
    const wrong = await usher.ask('number', 'call', 'sales', { lease: 'soon' });
    console.log(wrong.status.toUpperCase(), wrong.message);
    usher.child.stdin.end();
}

main(process.argv[2]).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
