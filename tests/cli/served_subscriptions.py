# SPDX-License-Identifier: MIT
"""usher serve: subscriptions, as clients of Redis use them, over sockets."""
import json
import os
import re
import select
import shutil
import signal
import socket
import time

from serve import Push, Server, message, own_redis, packed, redis_process, run, status, value


def notices_are_messages():
    with Server("memory:") as server:
        two, three, other = server.client(), server.client(True), server.client()
        for c, kind in ((two, list), (three, Push)):
            got = c.ask("SUBSCRIBE", "number/sales", "room/r")
            assert type(got) is kind and got == ["subscribe", "number/sales", 1], got
            assert c.read() == ["subscribe", "room/r", 2]
        assert server.info("subscriptions") == 4
        other.ask("number", "add", "sales", "1")
        other.ask("number", "add", "leads", "1")
        other.ask("room", "open", "r")
        for c in (two, three):
            message(c, "number/sales", '"scope":"number/sales"', '"verb":"add"', '"subject":"1"')
            message(c, "room/r", '"verb":"open"')
        # by RESP2 nothing else is said meanwhile; by RESP3 all is
        assert two.ask("number", "stats", "sales").startswith("ERR only SUBSCRIBE")
        assert two.ask("PING") == ["pong", ""] and three.ask("PING") == "PONG"
        three.send("number", "reg", "sales", "1")
        assert type(message(three, "number/sales", '"verb":"reg"')) is Push
        assert status(three.read()) == "ok"
        message(two, "number/sales", '"verb":"reg"')
        assert two.ask("UNSUBSCRIBE", "number/sales") == ["unsubscribe", "number/sales", 1]
        assert two.ask("UNSUBSCRIBE") == ["unsubscribe", "room/r", 0]
        assert two.ask("UNSUBSCRIBE") == ["unsubscribe", None, 0]
        assert status(two.ask("number", "unreg", "sales", "1")) == "ok"
        message(three, "number/sales", '"verb":"unreg"')
        assert two.silent(0)
        # a command behind it in the same bytes is heard
        two.socket.sendall(packed("number", "stats", "sales") + packed("SUBSCRIBE", "number/sales"))
        other.socket.sendall(b"")
        assert status(two.read()) == "ok" and two.read()[0] == "subscribe"
        two.close()
        three.close()
        while server.info("subscriptions") != 0:
            select.select([], [], [], 0.01)


def a_store_that_is_silent_stops_no_other_client():
    with own_redis() as url:
        if url is None:
            return
        redis = redis_process(url)
        with Server(url + "?timeout=1000") as server:
            one, two = server.client(), server.client()
            assert two.ask("PING") == "PONG"
            os.kill(redis, signal.SIGSTOP)
            began = time.monotonic()
            one.send("SUBSCRIBE", *("room/r%d" % i for i in range(900)))
            assert two.ask("PING") == "PONG" and time.monotonic() - began < 12, time.monotonic() - began
            os.kill(redis, signal.SIGCONT)
            for i in range(900):
                assert one.read()[:2] == ["subscribe", "room/r%d" % i]


def each_name_is_confirmed_as_it_was_asked():
    with Server("memory:") as server:
        other = server.client()
        for resp3 in (False, True):
            pool = "p%d" % resp3
            other.ask("number", "set", pool, "log", "9")
            other.ask("number", "add", pool, "1")
            zero, plain, one = ("number/" + pool + end for end in ("?since=0", "", "?since=1"))
            c = server.client(resp3)
            c.send("SUBSCRIBE", zero, plain, one, "room/r", zero)
            got, sent = [], []
            while len(got) < 5 or len(sent) < 3:
                kind, name, what = c.read()
                if kind == "subscribe":
                    got.append((name, what))
                else:
                    sent.append((name, json.loads(what)["version"]))
            # a name that was asked twice is one subscription
            assert got == [(zero, 1), (plain, 2), (one, 3), ("room/r", 4), (zero, 4)], got
            assert sorted(sent) == [(zero, 1), (zero, 2), (one, 2)], sent
            assert c.ask("UNSUBSCRIBE", zero) == ["unsubscribe", zero, 3]
            assert c.ask("UNSUBSCRIBE", zero + "7") == ["unsubscribe", zero + "7", 3]
            assert c.ask("UNSUBSCRIBE", "room/r", plain) == ["unsubscribe", "room/r", 2]
            assert c.read() == ["unsubscribe", plain, 1]
            assert status(other.ask("number", "set", pool, "rest", "1s")) == "ok"
            message(c, one, '"rest"')
            assert c.ask("UNSUBSCRIBE") == ["unsubscribe", one, 0]
            assert status(other.ask("number", "set", pool, "rest", "2s")) == "ok"
            assert c.ask("PING") == "PONG" and c.silent(0)


def each_client_has_a_position_of_its_own():
    with Server("memory:") as server:
        other, first = server.client(), server.client(True)
        other.ask("room", "open", "r")
        other.ask("room", "set", "r", "f", "1")
        clients = []
        for c in (first, server.client()):  # the same name, after the other one has read all
            assert c.ask("SUBSCRIBE", "room/r?since=0") == ["subscribe", "room/r?since=0", 1]
            for version in (1, 2):
                message(c, "room/r?since=0", '"version":%d,' % version)
            clients.append(c)
        assert first.silent(0.1)
        other.ask("room", "set", "r", "f", "2")
        for c in clients:
            message(c, "room/r?since=0", '"version":3,')
        first.close()
        while server.info("subscriptions") != 1:
            select.select([], [], [], 0.01)
        other.ask("room", "set", "r", "f", "3")
        message(clients[1], "room/r?since=0", '"version":4,')


def a_wrong_name_is_refused_and_nothing_is_subscribed():
    with Server("memory:", "--channels=3") as server:
        for resp3 in (False, True):
            c = server.client(resp3)
            for bad in ("sales", "thing/x", "rooms/x", "number/", "number/a{b", "since=1", "room/x?sinse=1", "room/x?since",
                        "room/x?since=1&", "room/x?since=1&a=2", "room/" + "x" * 256, "room/x?since=" + "1" * 99):
                assert c.ask("SUBSCRIBE", "room/r", bad).startswith("INVALID a channel"), bad
            for bad in ("room/x?since=y", "room/x?since=1 ", "room/x?since=-1", "room/x?since=", "room/x?since=9007199254740992"):
                assert c.ask("SUBSCRIBE", bad) == "INVALID since is not a version", bad
            assert c.ask("SUBSCRIBE", "room/x?since=1&epoch=1").startswith("INVALID epoch is not 16")
            assert c.ask("SUBSCRIBE", "room/x?epoch=0123456789abcdef").startswith("INVALID epoch is given without")
            assert c.ask("SUBSCRIBE").startswith("INVALID a channel is missing")
            assert server.info("subscriptions") == 0
            # the last ? begins the parameters, and there may be none
            assert c.ask("SUBSCRIBE", "number/a?b?", "number/a?b?since=0")[2] == 1 and c.read()[2] == 2
            server.client().ask("number", "add", "a?b", "1")
            assert {c.read()[1], c.read()[1]} == {"number/a?b?", "number/a?b?since=0"}
            for word in ("PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE"):
                assert c.ask(word, "number/*").startswith("ERR only names of scopes are supported"), word
            # a limit that is answered with what to do; all of a command or nothing
            full = c.ask("SUBSCRIBE", "room/r", "room/s")
            assert full.startswith("FULL this client has 2 channels (limit 3)") and "--channels=N" in full
            assert c.ask("SUBSCRIBE", "room/r")[2] == 3 and c.ask("SUBSCRIBE", "room/s").startswith("FULL ")
            assert c.ask("SUBSCRIBE", "room/r")[2] == 3
            c.close()
            while server.info("subscriptions") != 0:
                select.select([], [], [], 0.01)
            server.client().ask("drop", "number/a?b", "--yes")


def a_connection_has_thousands_of_channels():
    n = 3000
    with Server("memory:") as server:
        c, other = server.client(True), server.client()
        for i in range(0, n, 500):
            c.send("SUBSCRIBE", *("number/p%d" % k for k in range(i, i + 500)))
            for k in range(i, i + 500):
                assert c.read() == ["subscribe", "number/p%d" % k, k + 1]
        for k in (0, 777, n - 1):
            other.ask("number", "add", "p%d" % k, "1")
            message(c, "number/p%d" % k, '"verb":"add"')
        c.send("UNSUBSCRIBE")
        assert {c.read()[1] for _ in range(n)} == {"number/p%d" % k for k in range(n)}
        assert server.info("subscriptions") == 0


def a_scope_with_a_log_sends_the_changes_of_every_process():
    with Server("sqlite:DIR/db") as server:
        server.shell(["number set sales log=9", "number add sales 1", "room open r log=3", "number add plain 1"])
        plain, since = server.client(), server.client(True)
        names = ("number/sales", "room/r", "number/plain", "number/later", "queue/later")
        plain.send("SUBSCRIBE", *names)
        assert [plain.read()[1] for _ in names] == list(names)
        assert since.ask("SUBSCRIBE", "number/sales?since=1") == ["subscribe", "number/sales?since=1", 1]
        message(since, "number/sales?since=1", '"version":2', '"verb":"add"')
        server.shell(["number reg sales 1", "number call sales owner=ann"])
        for c, name in ((plain, "number/sales"), (since, "number/sales?since=1")):
            message(c, name, '"version":3', '"verb":"reg"')
            message(c, name, '"version":4', '"verb":"call"', '"owner":"ann"')
        server.shell(["room set r f others"])
        message(plain, "room/r", '"version":2', "others")
        # a scope without a log sends the changes of this server, and a gap for others
        server.shell(["number reg plain 1"])
        _gap(plain, "number/plain", why="log", before=1, version=2)
        c = server.client()
        assert status(c.ask("number", "call", "plain", "owner", "x")) == "ok"
        message(plain, "number/plain", '"verb":"call"', '"version":3')
        assert status(c.ask("number", "set", "plain", "log", "5")) == "ok"
        message(plain, "number/plain", '"verb":"set"')
        server.shell(["number free plain number=1"])
        message(plain, "number/plain", '"verb":"free"', '"version":5')
        # one that another process creates, with a log, and one that this server creates, without
        server.shell(["queue set later log=5", "queue login later ann"])
        message(plain, "queue/later", '"verb":"set"', '"version":1')
        message(plain, "queue/later", '"verb":"login"', '"version":2')
        for i in range(20):
            assert status(c.ask("number", "add", "later", str(i))) == "ok"
            message(plain, "number/later", '"version":%d' % (i + 1))
            select.select([], [], [], 0.05)
        assert server.info("gaps_told") == 1


def _gap(c, name, **keys):
    got = json.loads(message(c, name, '"gap":true')[2])
    assert {k: got[k] for k in keys} == keys, got
    return got


def what_is_missing_is_a_message_with_the_reason():
    with Server("sqlite:DIR/db") as server:
        c = server.client(True)
        c.ask("room", "open", "r", "log=3")
        for i in range(6):
            epoch = value(c.ask("room", "set", "r", "f", str(i)), "epoch")
        # the log does not reach back
        assert c.ask("SUBSCRIBE", "room/r?since=1")[0] == "subscribe"
        _gap(c, "room/r?since=1", scope="room/r", why="log", before=1, version=7, epoch=epoch)
        server.shell(["room set r f more"])
        message(c, "room/r?since=1", '"version":8', "more")
        # a version that there is not yet: of a store that was lost
        assert c.ask("SUBSCRIBE", "room/r?since=50")[0] == "subscribe"
        _gap(c, "room/r?since=50", why="lost", before=50, version=8, epoch=epoch)
        # another scope of this name, though its versions go on: it is sent from its beginning
        name = "room/r?since=7&epoch=0123456789abcdef"
        assert c.ask("SUBSCRIBE", name)[1] == name
        _gap(c, name, why="new", before=7, version=None, epoch=epoch)
        # the right epoch
        c.close()
        c = server.client(True)
        name = "room/r?since=7&epoch=" + epoch
        assert c.ask("SUBSCRIBE", name)[1] == name
        message(c, name, '"version":8')
        # a room that another process closes, or this server
        d = server.client()
        assert d.ask("SUBSCRIBE", "room/r")[0] == "subscribe"
        server.shell(["room close r"])
        for one, channel in ((c, name), (d, "room/r")):
            _gap(one, channel, verb="close", why="gone", before=8, version=None, epoch=epoch)
        server.shell(["room open r"])
        for one, channel in ((c, name), (d, "room/r")):
            message(one, channel, '"verb":"open"', '"version":1')
        assert status(server.client().ask("room", "close", "r")) == "ok"
        for one, channel in ((c, name), (d, "room/r")):
            message(one, channel, '"verb":"close"')
        # no log at all
        server.shell(["number add leads 1", "number add leads 2"])
        e = server.client()
        assert e.ask("SUBSCRIBE", "number/leads?since=1")[0] == "subscribe"
        _gap(e, "number/leads?since=1", why="log", before=1, version=2)
        assert status(server.client().ask("number", "add", "leads", "3")) == "ok"
        message(e, "number/leads?since=1", '"version":3')
        # a scope that is not there
        assert e.ask("SUBSCRIBE", "queue/none?since=4", "room/none?since=0")[0] == "subscribe" and e.read()[2] == 3
        _gap(e, "queue/none?since=4", why="gone", before=4, version=None, epoch=None)
        assert e.silent(0.2)


def _again(server, name):
    """A client that subscribes to @name after each loss of its connection."""
    while True:
        try:
            c = server.client(True)
            assert c.ask("SUBSCRIBE", name) == ["subscribe", name, 1]
            return c
        except (OSError, EOFError):
            time.sleep(0.01)


def a_server_that_is_killed_makes_no_hole():
    with Server("sqlite:DIR/db") as server:
        server.shell(["room open r log=1000"])
        name, seen, told = "room/r?since=0", 0, 0
        for turn in range(3):
            c = _again(server, name)
            other = server.client()
            for _ in range(20):
                assert status(other.ask("room", "set", "r", "f", "%d.%d" % (turn, _))) == "ok"
            last = value(other.ask("room", "show", "r"), "version")
            # it begins after the position in its name: what it has had already comes again
            versions = [json.loads(c.read()[2])["version"] for _ in range(last)]
            assert versions == list(range(1, last + 1)), versions
            server.stop(signal.SIGKILL)
            server.shell(["room set r g %d" % turn])
            server.start()
            assert server.info("gaps_told") == 0


def a_store_that_is_lost_is_told():
    with Server("sqlite:DIR/db") as server:
        c = server.client(True)
        c.ask("room", "open", "r", "log=1000")
        c.ask("room", "set", "r", "f", "1")
        server.stop()
        shutil.copy(server.dir + "/db", server.dir + "/old")
        server.start()
        c = _again(server, "room/r?since=2")
        for i in range(5):
            server.client().ask("room", "set", "r", "f", "new %d" % i)
        for version in range(3, 8):
            epoch = json.loads(message(c, "room/r?since=2", '"version":%d' % version)[2])["epoch"]
        server.put_back(server.dir + "/old")
        c = _again(server, "room/r?since=7&epoch=" + epoch)
        message(c, "room/r?since=7&epoch=" + epoch, '"version":2', '"verb":"lost"')
        _gap(c, "room/r?since=7&epoch=" + epoch, why="lost", before=7, version=2, epoch=epoch)
    # nothing of it is left: versions begin again
    with Server("memory:") as server:
        server.client().ask("room", "open", "r")
        server.client().ask("room", "set", "r", "f", "1")
        epoch = value(server.client().ask("room", "show", "r"), "epoch")
        server.stop(signal.SIGKILL)
        server.start()
        name = "room/r?since=2&epoch=" + epoch
        c = _again(server, name)
        _gap(c, name, why="gone", before=2, version=None, epoch=epoch)
        for verb in ("open", "set"):
            server.client().ask("room", verb, "r", *(("f", "2") if verb == "set" else ()))
            message(c, name, '"verb":"%s"' % verb)


def servers_on_one_redis_push_to_each_other():
    with own_redis() as url:
        if url is None:
            print("left out: there is no Redis here")
            return
        with Server(url) as one, Server(url) as two:
            _push(one, two)
            _push_of_a_queue(one, two)


def _push(one, two):
    c = one.client()
    first = value(c.ask("room", "open", "r", "push", "1", "log", "1000"), "version")
    readers = [two.client(True), two.client()]
    names = ("room/r", "room/r?since=%d" % first)
    for reader, name in zip(readers, names):
        assert reader.ask("SUBSCRIBE", name) == ["subscribe", name, 1]
    took = []
    for i in range(40):
        began = time.monotonic()
        assert status(c.ask("room", "set", "r", "f", str(i))) == "ok"
        for reader, name in zip(readers, names):
            message(reader, name, '"f":"%d"' % i)
        took.append(time.monotonic() - began)
    took.sort()
    print("%.1f ms" % (1000 * took[20]))
    assert took[20] < 0.1, took  # without a push it would be 0.25


def _push_of_a_queue(one, two):
    c, reader, took = one.client(), two.client(), []
    assert status(c.ask("queue", "set", "q", "push", "1", "log", "1000", "ttl", "0")) == "ok"
    assert reader.ask("SUBSCRIBE", "queue/q") == ["subscribe", "queue/q", 1]
    for i in range(40):
        began = time.monotonic()
        assert status(c.ask("queue", "login", "q", "a%d" % i)) == "ok"
        message(reader, "queue/q", '"subject":"a%d"' % i)
        took.append(time.monotonic() - began)
    took.sort()
    print("%.1f ms (queue)" % (1000 * took[20]))
    assert took[20] < 0.1, took


if __name__ == "__main__":
    run(globals())
