#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Subscriptions with client libraries of Redis, unchanged.

    USHER=usher stock.py NAME PROGRAM ARGUMENT...

PROGRAM is one of the programs in this folder, which gets the port as its next argument.  It reads
lines of JSON (["subscribe", NAME, ...], ["unsubscribe", ...], ["call", WORD, ...]) and prints what
the library resolves, delivers and notices.  `./bootstrap check clients` runs this with ioredis,
node-redis and redis-py.
"""
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from serve import PATIENCE, Server, own_redis, status, value  # noqa: E402


class Library:
    """One of the programs, at @port."""

    def __init__(self, port, options):
        words = PROGRAM[:2] + [str(port)] + options
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers, self.messages, self.closed = queue.Queue(), queue.Queue(), 0
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            what = json.loads(line)
            if "channel" in what:
                self.messages.put((what["channel"], json.loads(what["text"])))
            elif "closed" in what:
                self.closed += 1
            elif "confirmed" not in what:
                self.answers.put(what)

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return self.answers.get(timeout=PATIENCE)

    def subscribe(self, *names):
        got = self.ask("subscribe", *names)
        assert "done" in got, got

    def message(self, channel=None):
        got = self.messages.get(timeout=PATIENCE)
        assert channel in (None, got[0]), got
        return got[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def changes_are_delivered(options):
    port = free_port()
    with Server("sqlite:DIR/db", "--listen=127.0.0.1:%d" % port) as server:
        server.shell(["queue set t log=100", "room open r", "number add p 1"])
        names = ["queue/t?since=0", "room/r", "number/p"]
        with Library(port, options) as it:
            it.subscribe(*names)
            assert it.message("queue/t?since=0")["verb"] == "set"
            assert it.ask("call", "queue", "login", "t", "ann")["done"] == "ok"  # this server
            assert it.message("queue/t?since=0")["verb"] == "login"
            server.shell(["queue apply t zoe", "room set r f 1"])  # another process
            got = [it.messages.get(timeout=PATIENCE) for _ in range(3)]
            assert [(c, m["verb"]) for c, m in sorted(got, key=lambda g: (g[0], g[1]["version"]))] == [
                ("queue/t?since=0", "apply"), ("queue/t?since=0", "match"), ("room/r", "set")], got
            assert it.ask("call", "number", "reg", "p", "1")["done"] == "ok"
            assert it.message("number/p")["verb"] == "reg"
            assert "done" in it.ask("unsubscribe", "queue/t?since=0")
            while server.info("subscriptions") != 2:
                time.sleep(0.01)
            assert it.ask("call", "queue", "apply", "t", "bob")["done"] == "ok"
            assert it.ask("call", "number", "unreg", "p", "1")["done"] == "ok"
            assert it.message("number/p")["verb"] == "unreg"
            # a wrong name is an error, and the connection goes on
            assert it.ask("call", "number", "reg", "p", "1")["done"] == "ok"
            assert it.message("number/p")["verb"] == "reg"
            assert "done" in it.ask("unsubscribe")
            while server.info("subscriptions") != 0:
                time.sleep(0.01)


def _read_to(it, name, last, seen):
    """Each version from the first on has come, up to @last; some more than once."""
    while last not in seen:
        got = it.message(name)
        assert not got.get("gap"), got
        seen.add(got["version"])
    assert seen == set(range(1, last + 1)), sorted(set(range(1, last + 1)) - seen)


def a_server_that_is_killed_makes_no_hole(options):
    port, name, seen = free_port(), "room/r?since=0", set()
    with Server("sqlite:DIR/db", "--listen=127.0.0.1:%d" % port) as server:
        server.shell(["room open r log=10000"])
        with Library(port, options) as it:
            it.subscribe(name)
            for turn in range(4):
                c = server.client()
                for i in range(30):
                    last = value(c.ask("room", "set", "r", "f", "%d.%d" % (turn, i)), "version")
                    if i == 15 and turn % 2 == 0:
                        _read_to(it, name, last, seen)
                closed = it.closed
                server.stop(signal.SIGKILL)
                server.shell(["room set r g %d" % turn])
                while it.closed == closed:
                    time.sleep(0.01)
                server.start()
                _read_to(it, name, last + 1, seen)


def a_gap_is_told(options):
    port, name = free_port(), "queue/t?since=0"
    with Server("sqlite:DIR/db", "--listen=127.0.0.1:%d" % port) as server:
        server.shell(["queue set t log=3"])
        with Library(port, options) as it:
            it.subscribe(name)
            assert it.message(name)["version"] == 1
            server.stop(signal.SIGKILL)
            server.shell(["queue set t wrapup=%ds" % (i + 1) for i in range(9)])
            server.start()
            got = it.message(name)
            assert got["gap"] and (got["why"], got["version"]) == ("log", 10) and got["before"] in (None, 1), got
            assert status(server.client().ask("queue", "set", "t", "wrapup", "1m")) == "ok"
            assert it.message(name)["version"] == 11


def servers_share_one_redis(options):
    with own_redis() as url:
        if url is None:
            print("left out: there is no Redis here")
            return
        port = free_port()
        with Server(url) as one, Server(url, "--listen=127.0.0.1:%d" % port) as two:
            c = one.client()
            first = value(c.ask("room", "open", "r", "push", "1", "log", "10000"), "version")
            assert status(c.ask("queue", "set", "t", "log", "100", "ttl", "0", "push", "1")) == "ok"
            room, took, i = "room/r?since=%d" % first, [], 0
            with Library(port, options) as it:
                it.subscribe(room, "queue/t?since=0")
                assert it.message("queue/t?since=0")["verb"] == "set"
                for i in range(20):
                    began = time.monotonic()
                    c.ask("queue", "login", "t", "a%d" % i)
                    assert it.message("queue/t?since=0")["subject"] == "a%d" % i
                    took.append(time.monotonic() - began)
                print("queue: %.1f ms" % (1000 * sorted(took)[10]))
                assert sorted(took)[10] < 0.1, took
                took = []
                for i in range(20):
                    began = time.monotonic()
                    c.ask("room", "set", "r", "f", str(i))
                    assert it.message(room)["data"] == {"f": str(i)}
                    took.append(time.monotonic() - began)
                print("room: %.1f ms" % (1000 * sorted(took)[10]))
                assert sorted(took)[10] < 0.1, took
                c.ask("queue", "login", "t", "ann")
                assert it.message("queue/t?since=0")["verb"] == "login"
                # what the other server changes while this one is away
                two.stop(signal.SIGKILL)
                c.ask("room", "set", "r", "f", "away")
                two.start()
                got = []
                while len(got) < 21:
                    channel, what = it.messages.get(timeout=PATIENCE)
                    assert not what.get("gap"), what
                    got += [what["data"]["f"]] if channel == room else []
                assert got == [str(i) for i in range(20)] + ["away"], got


if __name__ == "__main__":
    NAME, PROGRAM, OPTIONS = sys.argv[1], sys.argv[2:4], sys.argv[4:]
    for scenario in (changes_are_delivered, a_server_that_is_killed_makes_no_hole, a_gap_is_told, servers_share_one_redis):
        print("== %s: %s" % (NAME, scenario.__name__.replace("_", " ")), flush=True)
        scenario(OPTIONS)
