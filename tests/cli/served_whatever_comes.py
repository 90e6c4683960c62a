# SPDX-License-Identifier: MIT
"""usher serve: whatever clients do, the others are served, and what was answered stays."""
import json
import os
import random
import resource
import select
import signal
import socket
import struct
import threading
import time
import traceback

from serve import Error, Push, Server, packed, run, status, value


def thousands_are_answered_in_their_order():
    with Server("memory:") as server:
        c = server.client(True)
        n = 5000
        words = b""
        for i in range(n):
            words += packed("number", "add", "sales", str(i))
            if i % 7 == 0:
                words += packed("ECHO", str(i))
            if i % 11 == 0:
                words += packed("number", "nothing", str(i))
        c.socket.sendall(words)
        for i in range(n):
            assert value(c.read(), "version") == i + 1
            if i % 7 == 0:
                assert c.read() == str(i)
            if i % 11 == 0:
                assert c.read().startswith("INVALID `number` has no verb")
        assert value(c.ask("number", "stats", "sales"), "total") == n


def more_than_one_round_takes_is_answered():
    with Server("memory:") as server:
        clients = [server.client() for _ in range(50)]
        for k, c in enumerate(clients):
            c.socket.sendall(b"".join(packed("number", "add", "p%d" % k, str(i)) for i in range(100)))
        for c in clients:
            assert [value(c.read(), "version") for _ in range(100)] == list(range(1, 101))


def many_long_lists_are_several_rounds():
    with Server("memory:", "--out=2000000") as server:
        c = server.client()
        for i in range(2000):
            c.send("number", "add", "sales", "%0200d" % i)
        assert all(status(c.read()) == "ok" for _ in range(2000))
        began = server.info("rounds")
        c.socket.sendall(packed("number", "list", "sales", "max", "10000") * 30)
        for _ in range(30):
            assert len(value(c.read(), "numbers")) == 256
        assert server.info("rounds") - began >= 10


def bytes_may_come_one_at_a_time():
    with Server("memory:") as server:
        slow, other = server.tcp(), server.client()
        words = packed("number", "add", "sales", "1") + packed("number", "add", "sales", "2")
        for i in range(len(words)):
            slow.socket.sendall(words[i : i + 1])
            assert other.ask("PING") == "PONG"
        assert value(slow.read(), "version") == 1 and value(slow.read(), "version") == 2
        # a large one in pieces
        slow.ask("room", "open", "r")
        large = "x" * 65536
        words = packed("room", "set", "r", "f", large)
        for i in range(0, len(words), 1000):
            slow.socket.sendall(words[i : i + 1000])
        assert value(slow.read(), "value") == large


def garbage_ends_who_sends_it():
    seed = int(os.environ.get("USHER_SEED") or random.randrange(1 << 32))
    print("USHER_SEED=%d" % seed)
    rng = random.Random(seed)
    with Server("memory:") as server:
        other = server.client()
        for bad in (
            b"*1\r\n+PING\r\n", b"*x\r\n", b"*1\r\n$-1\r\n", b"*99999\r\n", b"*1\r\n$4\r\nPINGxx",
            b"*1\r\n$99999999\r\n", b"*1\n", b"ping \"open\n", b"a\0b\n", b"x" * 70000,
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /x HTTP/1.0\r\n\r\nnumber add p 1\r\n",
        ):
            c = server.client()
            c.socket.sendall(b"PING\r\n" + bad)
            got = c.ended()
            assert got.startswith(b"+PONG\r\n-ERR Protocol error: ") and got.count(b"\r\n") == 2, (bad, got)
            assert other.ask("PING") == "PONG"
        assert server.info("protocol_errors") == 12
        for _ in range(300):
            c = server.client()
            try:
                c.socket.sendall(bytes(rng.choice(b"*$\r\n012-\0 numberadp\xff") for _ in range(rng.randrange(1, 400))))
            except (BrokenPipeError, ConnectionResetError):
                pass
            c.close()
        assert other.ask("PING") == "PONG" and status(other.ask("number", "stats", "p")) == "missing"


def limits_are_kept():
    with Server("memory:", "--clients=5", "--command=2000", "--words=20", "--channels=2", "--idle=2s") as server:
        c = [server.client() for _ in range(5)]
        assert all(x.ask("PING") == "PONG" for x in c)
        late = server.client()
        assert late.ended() == b"-ERR max number of clients reached\r\n"
        assert c[0].ask("number", "add", "s", "x" * 1000) == "INVALID number is longer than 255 bytes"
        c[0].send("number", "add", "s", "x" * 1990)
        assert b"Protocol error: command is too long" in c[0].ended()
        c[1].send(*["x"] * 21)
        assert b"Protocol error: too many words" in c[1].ended()
        assert c[2].ask("SUBSCRIBE", "number/a", "number/b", "number/c").startswith("FULL this client has 0 ")
        assert c[2].ask("SUBSCRIBE", "number/a", "number/b")[2] == 1 and c[2].read()[2] == 2
        assert c[3].ended() == b"" and c[4].ended() == b""  # idle; who hears is not
        assert c[2].ask("PING") == ["pong", ""]
        assert server.info("idle_clients_closed") >= 2 and server.info("rejected_connections") == 1


def a_client_without_password_has_the_smaller_limits():
    for words in (8, 9, 10, 20):
        with Server("memory:", "--auth-file=DIR/secret", "--words=%d" % words, "--command=1024", wait=False) as server:
            server.process.wait()
            with open(server.dir + "/secret", "w") as secret:
                secret.write("open sesame\n")
            os.chmod(server.dir + "/secret", 0o600)
            server.start()
            most = min(words, 10)
            c, line, long = server.client(), server.client(), server.client()
            assert c.ask(*["x"] * most).startswith("NOAUTH ")
            c.send(*["x"] * (most + 1))
            assert b"Protocol error: too many words" in c.ended()
            line.socket.sendall(b"x " * (most + 1) + b"\r\n")
            assert b"Protocol error: has too many words" in line.ended()
            long.send("x" * 1100)
            assert b"Protocol error: command is too long" in long.ended()


def _room(server, n, size=1000, log=100000):
    """A room whose log has @n changes of @size bytes; the client that made them."""
    c = server.client(True)
    assert status(c.ask("room", "open", "r", "log", str(log))) == "ok"
    _set(c, n, size)
    return c


def _set(c, n, size):
    step = max(1, 100000 // size)  # the answers of a step may wait until it is sent
    for begin in range(0, n, step):
        c.socket.sendall(b"".join(packed("room", "set", "r", "f", "%d" % i + "x" * size) for i in range(begin, min(begin + step, n))))
        for _ in range(begin, min(begin + step, n)):
            assert status(c.read()) == "ok"


def _versions(c, first, last):
    for version in range(first, last + 1):
        kind, channel, text = c.read()
        notice = json.loads(text)
        assert (kind, channel, notice.get("version")) == ("message", "room/r?since=0", version), (version, text[:200])


def a_log_of_any_length_is_told_to_a_client_that_reads():
    n, out = 4000, 400000
    with Server("memory:", "--out=%d" % out) as server:
        other = _room(server, n)
        follower = server.client(True)
        assert follower.ask("SUBSCRIBE", "room/r?since=0") == ["subscribe", "room/r?since=0", 1]
        # it has more to read than may wait for it: the rest stays in the log, and others are served
        for i in range(100):
            assert other.ask("PING") == "PONG"
        assert server.info("output_bytes_of_one") < out
        _set(other, 500, 1000)
        _versions(follower, 1, n + 501)
        assert server.info("slow_clients_closed") == 0 and server.info("gaps_told") == 0
        _set(other, 50, 1000)
        _versions(follower, n + 502, n + 551)
        # what is behind a pause in it is told, whatever became of the room meanwhile
        late = server.client(True)
        assert late.ask("SUBSCRIBE", "room/r?since=0") == ["subscribe", "room/r?since=0", 1]
        while server.info("output_bytes_of_one") < out // 4:
            select.select([], [], [], 0.01)
        assert status(other.ask("room", "close", "r")) == "ok"
        assert status(other.ask("room", "open", "r", "log", "100000")) == "ok"
        _set(other, n, 100)
        version, text = 1, late.read()[2]
        while not '"gap":true' in text:
            assert json.loads(text)["version"] == version
            version, text = version + 1, late.read()[2]
        gap = json.loads(text)
        assert (gap["before"], gap["version"]) == (version - 1, None) and version < n, gap
        _versions(late, 1, n + 1)


def many_followers_read_one_log_while_others_are_served():
    n = 1500
    with Server("memory:") as server:
        other = _room(server, n)
        followers = [server.client(True) for _ in range(20)]
        for c in followers:
            c.send("SUBSCRIBE", "room/r?since=0")
        for i in range(20):
            assert status(other.ask("room", "set", "r", "g", str(i))) == "ok"
        for c in followers:
            assert c.read() == ["subscribe", "room/r?since=0", 1]
            _versions(c, 1, n + 21)
        assert server.info("gaps_told") == 0


def answers_of_any_size_are_read_by_and_by():
    n = 300
    with Server("memory:") as server:
        c, other = server.client(), server.client()
        c.ask("room", "open", "r")
        for i in range(15):
            assert status(c.ask("room", "set", "r", "f%d" % i, "x" * 65000)) == "ok"
        c.socket.sendall(packed("room", "snapshot", "r") * n + packed("ECHO", "end"))
        for i in range(10):
            assert other.ask("PING") == "PONG"
        for i in range(n):
            answer = c.read()
            assert status(answer) == "ok" and len(value(answer, "fields")) == 30
        assert c.read() == "end" and server.info("slow_clients_closed") == 0
        print("%d MiB" % (server.peak() >> 20))
        assert server.peak() < 128 << 20


def a_client_that_reads_is_not_idle():
    with Server("memory:", "--idle=3s") as server:
        c = server.client()
        c.ask("room", "open", "r")
        for i in range(15):
            c.ask("room", "set", "r", "f%d" % i, "x" * 65000)
        c.socket.sendall(packed("room", "snapshot", "r") * 20)
        size = 0
        while size < 20 * 15 * 65000:
            came = c.socket.recv(200000)
            assert came, "closed after %d bytes" % size
            size += len(came)
            select.select([], [], [], 0.06)
        c.ended()  # now it is


def what_a_client_sent_before_it_closed_is_done():
    with Server("memory:") as server:
        other = server.client()
        for pool, n, connect in (("far", 1500, server.tcp), ("near", 20000, server.client)):
            c = connect()
            assert c.ask("PING") == "PONG"  # it is accepted
            c.socket.sendall(b"".join(packed("number", "add", pool, str(i)) for i in range(n)))
            c.close()
            while "connected_clients:1\r" not in other.ask("INFO"):
                pass
            assert value(other.ask("number", "stats", pool), "total") == n
        # what takes several steps, too
        assert status(other.ask("room", "open", "r")) == "ok"
        for i in range(3000):
            other.send("room", "join", "r", "m%d" % i)
        for i in range(3000):
            assert status(other.read()) == "ok"
        c = server.client()
        assert c.ask("PING") == "PONG"
        c.socket.sendall(packed("room", "close", "r") + packed("number", "add", "last", "1"))
        c.close()
        while "connected_clients:1\r" not in other.ask("INFO"):
            pass
        assert status(other.ask("number", "stats", "last")) == "ok"
        assert status(other.ask("room", "show", "r")) == "missing"


def _child(work, goes):
    """@work() in a process of its own, which takes no time from this one: what it returns, later.  @goes is ours."""
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(goes)
            os.write(tells, b"%d" % work())
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    os.close(tells)

    def result():
        text = b"".join(iter(lambda: os.read(told, 100), b""))
        os.close(told)
        assert os.waitpid(child, 0)[1] == 0
        return int(text)

    return result


def _stall(server, go):
    """The longest time in microseconds that a PING waits, until the server is stopped."""
    assert os.read(go, 1)
    c, longest = server.client(), 0
    try:
        while True:
            began = time.monotonic()
            assert c.ask("PING") == "PONG"
            longest = max(longest, time.monotonic() - began)
    except (EOFError, ConnectionResetError, BrokenPipeError):
        return int(longest * 1e6)


def _follow(server, go, last):
    assert os.read(go, 1)
    c = server.client(True)
    assert c.ask("SUBSCRIBE", "room/r?since=0")[0] == "subscribe"
    _versions(c, 1, last)
    return last


def _good(clients, i):
    """A command of each of them, in one or two rounds of the server."""
    for k, c in enumerate(clients):
        c.send("number", "unreg" if i % 2 else "reg", "sales" if k % 10 else "leads", "%0200d" % (k % 200))
    for c in clients:
        answer = c.read()
        while isinstance(answer, Push):
            assert answer[:2] == ["message", "number/leads"]
            answer = c.read()
        assert status(answer) in ("ok", "same"), answer
    return len(clients)


def a_thousand_clients_come_and_the_good_ones_are_served():
    """100 that do not read, 100 that send garbage, 100 that vanish in the middle, one that follows a
    log of 100 MB, and 699 others, whose commands are all answered."""
    bad = (b"*1\r\n+PING\r\n", b"*x\r\n", b"*99999\r\n", b"*1\r\n$4\r\nPINGxx", b"a\0b\n", b"x" * 70000)
    changes, out = 1500, 262144
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, files[1]) if files[1] >= 0 else 4096, files[1]))
    with Server("memory:", "--clients=1100", "--out=%d" % out, "--slow=5s") as server:
        boss = _room(server, changes, 65000)
        for i in range(200):
            for pool in ("sales", "leads"):
                assert status(boss.ask("number", "add", pool, "%0200d" % i)) == "ok"
        before = server.peak()
        go, goes = os.pipe()
        longest = _child(lambda: _stall(server, go), goes)
        followed = _child(lambda: _follow(server, go, changes + 1), goes)
        slow = [server.client() for _ in range(100)]
        wrong = [server.client() for _ in range(100)]
        vanishing = [server.tcp() for _ in range(100)]
        good = [server.tcp(i % 2 == 0) if i % 3 else server.client(i % 2 == 0) for i in range(699)]
        for c in good[:6:2]:
            assert c.ask("SUBSCRIBE", "number/leads")[0] == "subscribe"
        # the lists that half of them ask for, and the notices that the others are told, are more than may wait
        for i, c in enumerate(slow):
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.socket.sendall(packed("SUBSCRIBE", "number/sales") if i % 2 else packed("number", "list", "sales", "max", "200") * 30)
        os.write(goes, b"12")
        os.close(goes)
        os.close(go)
        answered, i = 0, 0
        while i < 10 or server.info("slow_clients_closed") < 100:
            for c in vanishing[10 * i : 10 * i + 10]:
                c.socket.sendall(packed("number", "reg", "sales", "%0200d" % i)[: random.randrange(1, 200)])
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()
            for k, c in enumerate(wrong[10 * i : 10 * i + 10]):
                c.socket.sendall(bad[k % len(bad)])
                assert c.ended().startswith(b"-ERR Protocol error: ")
            answered += _good(good, i)
            i += 1
        assert followed() == changes + 1
        answered += _good(good, i)
        server_peak = server.peak()
        assert server.info("slow_clients_closed") == 100 and server.info("gaps_told") == 0
        assert server.said().count("it does not read") == 100
        assert server.info("connected_clients") == 1 + 1 + 1 + 699 and server.info("subscriptions") == 3
        assert server.stop() == 0
        print("%d answers to the good ones, longest stall %.1f ms, %d MiB for all clients"
              % (answered, longest() / 1000, (server_peak - before) >> 20))
        assert server_peak - before < 128 << 20


def what_takes_long_holds_up_nobody():
    with Server("memory:") as server:
        long, other = server.client(True), server.client(True)
        n = 30000
        for attempt in range(8):  # a machine that is busy may have no time for us either
            long.ask("room", "open", "r")
            for begin in range(0, n, 1000):
                long.socket.sendall(b"".join(packed("room", "join", "r", "m%d" % i) for i in range(begin, begin + 1000)))
                for _ in range(1000):
                    assert status(long.read()) == "ok"
            long.socket.sendall(packed("room", "close", "r") + packed("room", "show", "r"))
            meanwhile = 0
            while long.silent(0):
                assert other.ask("number", "add", "sales", "1")
                meanwhile += 1
            got = long.read()
            assert (status(got), value(got, "state")) == ("ok", "closed"), got
            assert status(long.read()) == "missing"
            print("%d commands while a room of %d closed" % (meanwhile, n))
            if meanwhile > 2:
                break
        assert meanwhile > 2
        # it is done though its client goes meanwhile, and another one may do the rest
        long.ask("room", "open", "r")
        for i in range(3000):
            long.send("room", "join", "r", "m%d" % i)
        for i in range(3000):
            long.read()
        long.socket.sendall(packed("room", "close", "r"))
        long.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        long.close()
        assert status(other.ask("room", "close", "r")) in ("ok", "same", "missing")
        while status(other.ask("room", "show", "r")) != "missing":
            pass


def _holds(server, held, stop):
    """Takes numbers until it is over; @held has what was answered."""
    c = server.client(True)
    i = 0
    try:
        while not stop.is_set():
            owner = "%d-%d" % (threading.get_ident(), i)
            got = c.ask("number", "call", "sales", "owner", owner)
            if status(got) == "ok":
                held.append((value(got, "number"), owner, value(got, "token")))
            i += 1
    except (EOFError, ConnectionError, BrokenPipeError):
        pass


def _taken(server, how):
    """Ten clients take numbers of a pool until the server ends."""
    server.shell(["number add sales %d" % i for i in range(6000)] + ["number reg sales %d" % i for i in range(6000)])
    held, stop = [], threading.Event()
    threads = [threading.Thread(target=_holds, args=(server, held, stop)) for _ in range(10)]
    for t in threads:
        t.start()
    while len(held) < 1000:
        time.sleep(0.01)
    rc = server.stop(how)
    stop.set()
    for t in threads:
        t.join()
    for (number, owner, token), answer in zip(held, server.shell(["number show sales %s" % h[0] for h in held])):
        told = dict(answer)
        assert (told["owner"], told["token"]) == (owner, token), (number, owner, told)
    assert len({h[0] for h in held}) == len(held)
    print("%d holds answered, all of them there" % len(held))
    return rc


def what_was_answered_is_there_after_a_kill():
    if os.environ.get("WITH_SQLITE", "yes") != "yes":
        return
    with Server("sqlite:DIR/db") as server:
        _taken(server, signal.SIGKILL)
        assert server.shell(["check"])[0][:2] == [("status", "ok"), ("faults", 0)]


def what_was_read_is_answered_before_it_stops():
    with Server("sqlite:DIR/db" if os.environ.get("WITH_SQLITE", "yes") == "yes" else "memory:") as server:
        c = server.client()
        n = 3000
        c.socket.sendall(b"".join(packed("number", "add", "sales", str(i)) for i in range(n)))
        assert status(c.read()) == "ok"
        server.process.send_signal(signal.SIGTERM)
        answers = 1
        try:
            while True:
                answer = c.read()
                assert not isinstance(answer, Error) and status(answer) == "ok"
                answers += 1
        except (EOFError, ConnectionResetError):
            pass
        assert server.process.wait() == 0 and not os.path.exists(server.path)
        assert server.said().endswith("usher: stopped\n")
        if server.store.startswith("sqlite:"):
            assert dict(server.shell(["number stats sales"])[0])["total"] == answers
        print("%d of %d were answered" % (answers, n))


def who_does_not_read_does_not_keep_it_from_stopping():
    with Server("memory:") as server:
        c = server.client()
        for i in range(300):
            c.ask("number", "add", "sales", "%0200d" % i)
        c.socket.sendall(packed("number", "list", "sales", "max", "300") * 30)
        other = server.client()
        assert other.ask("PING") == "PONG"
        began = time.monotonic()
        assert server.stop(signal.SIGINT) == 0
        assert time.monotonic() - began < 30
        assert not select.select([], [], [], 0)[0]


if __name__ == "__main__":
    run(globals())
