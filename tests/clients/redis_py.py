# SPDX-License-Identifier: MIT
"""redis-py as it is: lines of JSON in, lines of JSON out.  See stock.py."""
import json
import sys
import threading
import time

import redis

lock = threading.Lock()
asks = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
hears = redis.Redis(port=int(sys.argv[1]), decode_responses=True).pubsub()
begun = threading.Event()


def say(**what):
    with lock:
        print(json.dumps(what), flush=True)


def listen():
    begun.wait()
    while True:
        try:
            got = hears.get_message(timeout=0.05)
        except redis.ConnectionError:
            say(closed=True)
            time.sleep(0.02)
            continue
        if got is not None and got["type"] == "message":
            say(channel=got["channel"], text=got["data"])
        elif got is not None:
            say(confirmed=got["channel"], n=got["data"])


threading.Thread(target=listen, daemon=True).start()
for line in sys.stdin:
    word, *words = json.loads(line)
    try:
        if word == "call":
            say(done=asks.execute_command(*words)[1])
        else:
            getattr(hears, word)(*words)
            begun.set()
            say(done=True)
    except redis.RedisError as error:
        say(failed=str(error))
