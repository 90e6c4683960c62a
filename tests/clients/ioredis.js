// SPDX-License-Identifier: MIT
// ioredis as it is: lines of JSON in, lines of JSON out.  See stock.py.
'use strict';
const Redis = require('ioredis');
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');
const options = { port: Number(process.argv[2]), host: '127.0.0.1', retryStrategy: () => 20 };
const hears = new Redis(options), asks = new Redis(options);

for (const one of [hears, asks]) one.on('error', () => {});
hears.on('message', (channel, text) => say({ channel, text }));
hears.on('close', () => say({ closed: true }));

require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
    const [word, ...words] = JSON.parse(line);
    try {
        const done = word === 'call' ? await asks.call(...words) : await hears[word](...words);
        say({ done: word === 'call' ? done[1] : done });
    } catch (error) {
        say({ failed: error.message });
    }
}).on('close', () => process.exit(0));
