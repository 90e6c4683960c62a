// SPDX-License-Identifier: MIT
// examples/clients/usher.js: lines of JSON in, lines of JSON out.  See stock.py.
'use strict';
const { Usher } = require('../../examples/clients/usher.js');
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');
const usher = new Usher({ port: Number(process.argv[2]), host: '127.0.0.1' }, { timeout: Number(process.argv[3] || 30000) });
const subs = new Map();

usher.socket.on('close', () => say({ closed: true }));
const connect = usher.connect;
usher.connect = function () {
    connect.call(this);
    this.socket.on('close', () => say({ closed: true }));
};

async function run(word, words) {
    if (['call', 'once', 'again'].includes(word)) return usher[word](...words);
    for (const name of word === 'unsubscribe' && !words.length ? [...subs.keys()] : words) {
        if (word === 'unsubscribe') {
            usher.unsubscribe(subs.get(name));
            subs.delete(name);
            continue;
        }
        const [scope, since] = name.split('?since=');
        subs.set(name, await usher.subscribe(scope, (message) => say({ channel: name, text: JSON.stringify(message) }),
            since === undefined ? {} : { since: Number(since) }));
    }
    return true;
}

require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
    const [word, ...words] = JSON.parse(line);
    try {
        const done = await run(word, words);
        say({ done: word === 'call' ? done.status : done });
    } catch (error) {
        say({ failed: error.message, kind: error.kind });
    }
}).on('close', () => process.exit(0));
