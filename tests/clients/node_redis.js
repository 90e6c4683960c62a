// SPDX-License-Identifier: MIT
// node-redis as it is, by RESP2 or RESP3: lines of JSON in, lines of JSON out.  See stock.py.
'use strict';
const { createClient } = require('redis');
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');
const options = {
    RESP: Number(process.argv[3]),
    socket: { port: Number(process.argv[2]), host: '127.0.0.1', reconnectStrategy: () => 20 },
};
const hears = createClient(options), asks = createClient(options);

for (const one of [hears, asks]) one.on('error', () => {});
hears.on('reconnecting', () => say({ closed: true }));
const heard = (text, channel) => say({ channel, text });

async function run(word, words) {
    if (word === 'call') {
        const answer = await asks.sendCommand(words);
        return Array.isArray(answer) ? answer[1] : answer.status;
    }
    await (word === 'subscribe' ? hears.subscribe(words, heard) : hears.unsubscribe(words.length ? words : undefined));
    return true;
}

const begun = Promise.all([hears.connect(), asks.connect()]);
require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
    const [word, ...words] = JSON.parse(line);
    try {
        await begun;
        say({ done: await run(word, words) });
    } catch (error) {
        say({ failed: error.message });
    }
}).on('close', () => process.exit(0));
