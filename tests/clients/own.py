#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The clients of examples/clients with `usher serve`: those scenarios of stock.py, and what only they have.

    USHER=usher own.py NAME PROGRAM ARGUMENT...

Besides what stock.py says, PROGRAM takes ["once", WORD, ...] and ["again", WORD, ...].
"""
import os
import shutil
import signal
import socket
import sys
import threading
import time

import stock
from serve import Server, status
from stock import Library, free_port


def a_request_id_is_no_field(options):
    port = free_port()
    with Server("memory:", "--listen=127.0.0.1:%d" % port) as server, Library(port, options) as it:
        # a command without an answer of its own would shift all later ones
        for words in ([], ["subscribe", "room/r"], ["RESET"], ["queue", "stats", None]):
            assert it.ask("call", *words)["kind"] == "INVALID", words
        server.client().ask("room", "open", "r")
        assert it.ask("once", "room", "set", "r", "f", "1", "--", "lease=2")["done"]["status"] == "ok"
        assert it.ask("again", "room", "get", "r")["done"]["fields"] == {"f": "1", "lease": "2"}


def a_command_is_executed_once(options):
    port, n = free_port(), 60
    with Server("sqlite:DIR/db", "--listen=127.0.0.1:%d" % port) as server:
        server.shell(["serial rule inv prefix=A-", "serial fill inv 1000"])
        stop = threading.Event()

        def kill():
            while not stop.wait(0.15):
                server.stop(signal.SIGKILL)
                server.start()

        killer = threading.Thread(target=kill)
        with Library(port, options) as it:
            killer.start()
            taken = []
            for i in range(n):
                got = it.ask("once", "serial", "take", "inv")["done"]
                assert got["status"] == "ok", got
                taken += got["serials"]
            # without a request id it is not known whether it was executed
            for i in range(30):
                got = it.ask("call", "number", "add", "p", str(i))
                assert got.get("done") == "ok" or got["kind"] in ("UNKNOWN", "UNAVAILABLE"), got
            stop.set()
            killer.join()
        assert taken == ["A-%d" % (i + 1) for i in range(n)], taken  # none is lost, none was taken twice


class Cut:
    """A port before another one, which loses an answer with its connection."""

    def __init__(self, port):
        self.to, self.loses = port, threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            ends = (self.socket.accept()[0], socket.create_connection(("127.0.0.1", self.to)))
            for one, other in (ends, ends[::-1]):
                threading.Thread(target=self.copy, args=(one, other, one is ends[1]), daemon=True).start()

    def copy(self, one, other, answers):
        while data := one.recv(1 << 16):
            if answers and self.loses.is_set():
                self.loses.clear()
                break
            other.sendall(data)
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def a_lost_answer_is_asked_for_again(options):
    port = free_port()
    with Server("memory:", "--listen=127.0.0.1:%d" % port) as server:
        server.client().ask("serial", "rule", "inv", "prefix=A-")
        server.client().ask("serial", "fill", "inv", "9")
        cut = Cut(port)
        with Library(cut.port, options) as it:
            assert it.ask("once", "serial", "take", "inv")["done"]["serials"] == ["A-1"]
            cut.loses.set()
            got = it.ask("once", "serial", "take", "inv")["done"]
            assert got["serials"] == ["A-2"] and got["repeated"], got
            cut.loses.set()
            assert it.ask("call", "serial", "take", "inv")["kind"] == "UNKNOWN"
            cut.loses.set()
            assert it.ask("again", "serial", "show", "inv")["done"]["status"] == "ok"
            assert it.ask("once", "serial", "take", "inv")["done"]["serials"] == ["A-4"]


def a_deadline_is_kept(options):
    port = free_port()
    with Server("memory:", "--listen=127.0.0.1:%d" % port) as server:
        with Library(port, options + ["1000"]) as it:
            assert it.ask("call", "number", "add", "p", "1")["done"] == "ok"
            assert it.ask("call", "number", "add", "p")["kind"] == "INVALID"
            server.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            assert it.ask("call", "number", "add", "p", "2")["kind"] == "UNKNOWN"
            assert 0.9 < time.monotonic() - began < 10
            server.process.send_signal(signal.SIGCONT)
            assert it.ask("again", "number", "show", "p", "1")["done"]["number"] == "1"  # its own answer
            # one that was sent, and cannot be sent again
            server.process.send_signal(signal.SIGSTOP)
            threading.Timer(0.3, server.process.kill).start()
            assert it.ask("once", "number", "add", "p", "3")["kind"] == "UNKNOWN"
            server.process.wait()
            began = time.monotonic()
            assert it.ask("again", "number", "show", "p", "1")["kind"] == "UNAVAILABLE"
            assert 0.9 < time.monotonic() - began < 10
            assert it.ask("subscribe", "number/p")["kind"] == "UNAVAILABLE"
            assert it.ask("subscribe", "number/p?since=4")["kind"] == "UNAVAILABLE"


def a_subscription_goes_on_where_it_was(options):
    port, name = free_port(), "room/r"
    with Server("sqlite:DIR/db", "--listen=127.0.0.1:%d" % port) as server:
        server.shell(["room open r log=100", "room set r f 1"])
        with Library(port, options) as it:
            it.subscribe(name)  # from now on
            server.stop(signal.SIGKILL)
            server.shell(["room set r f 2"])
            server.start()
            assert it.message(name)["version"] == 3
            assert it.messages.empty()
            # a copy from before is put back: the store has lost a change, and says so once
            server.stop()
            shutil.copy(server.dir + "/db", server.dir + "/old")
            server.start()
            assert status(server.client().ask("room", "set", "r", "f", "3")) == "ok"
            assert it.message(name)["version"] == 4
            server.put_back(server.dir + "/old")
            got = it.message(name)
            while got.get("verb") == "lost":
                got = it.message(name)
            assert got["gap"] and (got["why"], got["before"], got["version"]) == ("lost", 4, 3), got
            assert status(server.client().ask("room", "set", "r", "f", "4")) == "ok"
            got = it.message(name)
            assert got["before"] == 3 and got["data"] == {"f": "4"}, got
            # a room that is closed and opened again
            server.shell(["room close r"])
            got = it.message(name)
            assert got["verb"] == "close" and got["why"] == "gone", got
            server.stop(signal.SIGKILL)
            server.shell(["room open r", "room set r f 5"])
            server.start()
            assert [it.message(name)["verb"] for _ in range(2)] == ["open", "set"]


if __name__ == "__main__":
    NAME, stock.PROGRAM, OPTIONS = sys.argv[1], sys.argv[2:4], sys.argv[4:]
    for scenario in (stock.changes_are_delivered, stock.a_server_that_is_killed_makes_no_hole, stock.a_gap_is_told,
                     a_request_id_is_no_field, a_command_is_executed_once, a_lost_answer_is_asked_for_again,
                     a_deadline_is_kept, a_subscription_goes_on_where_it_was):
        print("== %s: %s" % (NAME, scenario.__name__.replace("_", " ")), flush=True)
        scenario(OPTIONS)
