# SPDX-License-Identifier: MIT
"""examples/clients/usher.py: lines of JSON in, lines of JSON out.  See stock.py.

    usher_py.py PORT threads|asyncio [TIMEOUT]
"""
import asyncio
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "clients"))
from usher import AsyncUsher, Usher, UsherError, _Session  # noqa: E402

ADDRESS, TIMEOUT = ("127.0.0.1", int(sys.argv[1])), int((sys.argv[3:] or ["30000"])[0]) / 1000
lock = threading.Lock()
subs = {}


def say(**what):
    with lock:
        print(json.dumps(what), flush=True)


class Session(_Session):
    """Reports that a connection was lost."""

    def lost(self):
        super().lost()
        say(closed=True)


def parts(name):
    scope, _, since = name.partition("?since=")
    return scope, int(since) if since else None


def done(word, value):
    say(done=value["status"] if word == "call" else value)


def listen(name, sub):
    for message in sub:
        say(channel=name, text=json.dumps(message))


def threads():
    usher = Usher(ADDRESS, timeout=TIMEOUT)
    usher.session.__class__ = Session
    for line in sys.stdin:
        word, *words = json.loads(line)
        try:
            if word in ("call", "again", "once"):
                done(word, getattr(usher, word)(*words))
                continue
            for name in words or list(subs):
                if word == "unsubscribe":
                    usher.unsubscribe(subs.pop(name))
                    continue
                subs[name] = usher.subscribe(*parts(name))
                threading.Thread(target=listen, args=(name, subs[name]), daemon=True).start()
            say(done=True)
        except UsherError as error:
            say(failed=str(error), kind=error.kind)
    usher.close()


async def listen_async(name, sub):
    async for message in sub:
        say(channel=name, text=json.dumps(message))


async def tasks():
    usher = AsyncUsher(ADDRESS, timeout=TIMEOUT)
    usher.session.__class__ = Session
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        word, *words = json.loads(line)
        try:
            if word in ("call", "again", "once"):
                done(word, await getattr(usher, word)(*words))
                continue
            for name in words or list(subs):
                if word == "unsubscribe":
                    usher.unsubscribe(subs.pop(name)[0])
                    continue
                sub = await usher.subscribe(*parts(name))
                subs[name] = sub, asyncio.create_task(listen_async(name, sub))
            say(done=True)
        except UsherError as error:
            say(failed=str(error), kind=error.kind)
    await usher.close()


if sys.argv[2] == "threads":
    threads()
else:
    asyncio.run(tasks())
