# SPDX-License-Identifier: MIT
"""usher serve: what is asked is answered, as the shell answers it."""
import base64
import calendar
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import tempfile
import time

from serve import PATIENCE, USHER, Client, Error, Map, Push, Server, message, packed, run, status, value


def _quoted(word):
    return '"' + "".join("\\x%02x" % ord(c) if c in '"\\$`' or not " " <= c <= "~" else c for c in word) + '"'


# What must be given, then what may be.  {a} is one of a few names, {n} a small number.
COMMANDS = [
    ("number add p{n} {a}", "group=g{n}"),
    ("number reg p{n} {a}", ""),
    ("number unreg p{n} {a}", ""),
    ("number del p{n} {a}", ""),
    ("number call p{n}", "owner={a} lease=5s group=g{n},* node=n{n} number={a} sticky={a}"),
    ("number hangup p{n} {a}", "token={n} rest=1s"),
    ("number renew p{n}", "number={a} owner={a} token={n} lease=9000 node=n{n}"),
    ("number free p{n}", "owner={a} all=1 number={a}"),
    ("number lift p{n} {a}", ""),
    ("number move p{n} {a}", "group=g{n}"),
    ("number show p{n} {a}", ""),
    ("number list p{n}", "state=busy max={n} after={a}"),
    ("number stats p{n}", ""),
    ("number sweep p{n}", "max={n}"),
    ("number set p{n}", "daily={n} rest=2s strict=1 zone=-60 if-version={n}"),
    ("queue set q{n}", "offer=10s wrapup=1s requeue=drop trigger=pull"),
    ("queue login q{n} {a}", "capacity={n} lanes=a,b level={n}"),
    ("queue logout q{n} {a}", ""),
    ("queue pause q{n} {a}", ""),
    ("queue ready q{n} {a}", ""),
    ("queue alive q{n}", "agent={a} user={a}"),
    ("queue apply q{n} {a}", "lane=a priority={n}"),
    ("queue where q{n} {a}", ""),
    ("queue leave q{n} {a}", ""),
    ("queue finish q{n} {n}.1", ""),
    ("queue accept q{n} {a} {a}", ""),
    ("queue reject q{n} {a} {a}", ""),
    ("queue pull q{n} {a}", ""),
    ("queue match q{n}", ""),
    ("queue sweep q{n}", ""),
    ("queue room q{n} {a}", ""),
    ("queue move q{n} {a}", "priority={n} lane=b"),
    ("queue list q{n}", "lane=a max={n}"),
    ("queue agents q{n}", ""),
    ("queue stats q{n}", "lane=a"),
    ("queue lanes q{n}", "max={n}"),
    ("queue intervals q{n}", "lane=a"),
    ("queue waits q{n}", ""),
    ("queue history q{n}", "max={n}"),
    ("room open r{n}", "capacity={n} ttl=60s log=5"),
    ("room close r{n}", ""),
    ("room lock r{n}", ""),
    ("room unlock r{n}", ""),
    ("room join r{n} {a}", "F:name={v} F:colour={v}"),
    ("room leave r{n} {a}", ""),
    ("room kick r{n} {a}", "ban=1s"),
    ("room alive r{n} {a}", ""),
    ("room set r{n} f{n} {v}", "if={v}"),
    ("room unset r{n} f{n}", ""),
    ("room get r{n}", "field=f{n}"),
    ("room member r{n} {a} f{n} {v}", ""),
    ("room all r{n} f{n} {v}", ""),
    ("room role r{n} chair {a}", "if={a}"),
    ("room share r{n} {a} s{n}", "F:url={v}"),
    ("room unshare r{n} s{n}", ""),
    ("room show r{n}", ""),
    ("room stats r{n}", ""),
    ("room snapshot r{n}", "max={n}"),
    ("room changes r{n}", "since={n} max={n}"),
    ("room sweep r{n}", ""),
    ("serial rule s{n}", "prefix=A- width=4 check=luhn max=500"),
    ("serial rule g{n}", "mode=gapfree lease=5s"),
    ("serial fill s{n} {n}", ""),
    ("serial take s{n}", "n={n}"),
    ("serial check s{n}", ""),
    ("serial tick s{n}", ""),
    ("serial setmax s{n} {n}", ""),
    ("serial parse s{n} A-00018", ""),
    ("serial show s{n}", ""),
    ("serial reserve g{n}", "owner={a} lease=3s"),
    ("serial renew g{n} {n}", "token={n} lease=9s"),
    ("serial confirm g{n} {n}", "token={n}"),
    ("serial return g{n} {n}", "token={n}"),
    ("serial void g{n} {n}", "token={n}"),
    ("serial holds g{n}", ""),
    ("serial sweep g{n}", ""),
    ("id create i{n}", "step=4 start=9007199254740990"),
    ("id next i{n}", "n={n}"),
    ("id show i{n}", ""),
    ("id set i{n}", "limit={n}"),
    ("id return i{n} {n} 1", "token={n}"),
    ("number frobnicate p {a}", ""),
    ("number show p", None),
    ("number", None),
    ("number call p", "lease=never"),
    ("nothing at all", ""),
]


def _word(rng, template):
    value = "".join(rng.choice("ab\xe9\xff\x01 \"'\\=") for _ in range(rng.randrange(6)))
    word = template.replace("{n}", str(rng.randrange(1, 4))).replace("{a}", rng.choice(["ann", "bob", "zoë".encode().decode("latin-1")]))
    return word.replace("{v}", value)


def _command(rng, now):
    """The words for the server, and the line for the shell."""
    must, may = rng.choice(COMMANDS)
    words = [_word(rng, w) for w in must.split()]
    line = list(words)
    if may is None:  # something is missing; what stands in its place would be taken for it
        return words, " ".join(words)
    options = [o for o in may.split() if rng.random() < 0.4] + ["now=%d" % now]
    if rng.random() < 0.1:
        options.append("req=r%d" % rng.randrange(9))
    rng.shuffle(options)
    for option in options:
        field = option.startswith("F:")
        option = _word(rng, option[2:] if field else option)
        key, of = option.split("=", 1)
        line.append(option)
        words += [option] if field or rng.random() < 0.5 else [key.replace("-", "_"), of]
    for i in (0, 1):
        words[i] = rng.choice([words[i], words[i].upper(), words[i].capitalize()])
    return words, " ".join(_quoted(w) for w in line)


def _of_json(answer, resp3):
    """The JSON of an answer, as RESP tells it.  Bytes of a value that are not UTF-8 are {"b64":"..."} in JSON."""
    if isinstance(answer, Map) and [k for k, v in answer] == ["b64"]:
        return base64.b64decode(answer[0][1], validate=True).decode("latin-1")
    if isinstance(answer, Map):
        pairs = [(k, _of_json(v, resp3)) for k, v in answer]
        pairs = [(_bytes(k), v) for k, v in pairs]
        return Map(pairs) if resp3 else [x for pair in pairs for x in pair]
    if isinstance(answer, list):
        return [_of_json(v, resp3) for v in answer]
    if isinstance(answer, str):
        return _bytes(answer)
    if not resp3 and isinstance(answer, bool):
        return int(answer)
    if not resp3 and isinstance(answer, float):
        return "%.4f" % answer
    return answer


def _bytes(text):
    return text.encode().decode("latin-1")


def _plain(answer):
    """As both can be compared: \\u0080 to \\u00ff are bytes on one side, characters on the other."""
    if isinstance(answer, str):
        try:
            return answer.encode("latin-1").decode()
        except UnicodeDecodeError:
            return "".join(
                part.decode() if part.isascii() or _is_utf8(part) else "".join(chr(b) for b in part)
                for part in _parts(answer.encode("latin-1"))
            )
    if isinstance(answer, tuple):
        return tuple(_plain(x) for x in answer)
    if isinstance(answer, list):
        return type(answer)(_plain(x) for x in answer)
    return answer


def _is_utf8(part):
    try:
        part.decode()
        return True
    except UnicodeDecodeError:
        return False


def _parts(raw):
    """Characters of UTF-8, and bytes that belong to none."""
    while raw:
        for size in (1, 2, 3, 4):
            if _is_utf8(raw[:size]) and (size == 1) == (raw[0] < 0x80):
                break
        else:
            size = 1
        yield raw[:size]
        raw = raw[size:]


def _same(words, answer, wanted, resp3, epochs):
    if wanted[0][1] in ("invalid", "unavailable", "unknown", "nomem"):
        told = Error("%s %s" % (wanted[0][1].upper(), dict(wanted)["message"]))
        assert isinstance(answer, Error) and _plain(str(answer)) == _plain(_bytes(str(told))), (words, answer, wanted)
        return
    if wanted[0][1] == "lost":
        assert str(answer).startswith("LOST %s " % dict(wanted)["from"]), (words, answer, wanted)
        return
    got, want = repr(_plain(answer)), repr(_plain(_of_json(wanted, resp3)))
    ours, theirs = value(answer, "epoch"), dict(wanted)["epoch"]
    assert epochs.setdefault(theirs, ours) == ours, (words, answer, wanted)
    for of_shell, of_server in epochs.items():
        got = got.replace(of_server, "E")
        want = want.replace(of_shell, "E")
    assert got == want, (words, got, want)


def answers_are_those_of_the_shell():
    seed = int(os.environ.get("USHER_SEED") or random.randrange(1 << 32))
    print("USHER_SEED=%d" % seed)
    rng = random.Random(seed)
    for resp3 in (False, True):
        commands = [_command(rng, 1000000 + 700 * i) for i in range(1500)]
        with Server("memory:?clock=given") as server:
            shell = server.shell([line for _, line in commands])
            c = server.client(resp3)
            c.socket.sendall(b"".join(packed(*words) for words, _ in commands))
            epochs = {}
            seen = set()
            for (words, line), wanted in zip(commands, shell):
                answer = c.read()
                seen.add(status(answer))
                # marks of a room's history are made of its epoch, and so are not the same
                if b"mark" not in repr(wanted).encode():
                    _same((words, line), answer, wanted, resp3, epochs)
            assert len(shell) == len(commands)
            assert seen >= {"ok", "same", "missing", "refused", "empty", "stale", "invalid"}, seen


def what_stands_in_its_place_is_no_option():
    with Server("memory:") as server:
        c = server.client(True)
        assert status(c.ask("ROOM", "OPEN", "r")) == "ok"
        assert value(c.ask("room", "set", "r", "f", "if=x"), "value") == "if=x"
        assert value(c.ask("room", "set", "r", "f", "req=x", "if", "if=x"), "value") == "req=x"
        assert status(c.ask("number", "add", "sales", "group=x", "group", "g")) == "ok"
        assert value(c.ask("number", "show", "sales", "group=x"), "group") == "g"
        assert value(c.ask("room", "set", "r", "f", b"\0\r\n\xff"), "value") == "\0\r\n\xff"
        assert c.ask("number", "show", "sales", b"a\0b").startswith("INVALID number contains a NUL")
        assert c.ask("number", "call", "sales", "owner").startswith("INVALID ")
        assert c.ask("number", "call", "sales", "owner", "a", "owner=b") == "INVALID owner is given twice"
        # a field whose name is reserved, or that of an option, stands behind --
        assert (c.ask("room", "join", "r", "ann", "session=s1")
                == "INVALID session= is reserved; put it after -- to use it as a field")
        assert status(c.ask("room", "join", "r", "ann", "--", "session=s1", "req=5", "now=x")) == "ok"
        shown = str(c.ask("room", "snapshot", "r"))
        assert "session" in shown and "s1" in shown and "req" in shown and "now" in shown, shown
        assert value(c.ask("room", "set", "r", "a", "--", "--", "if=b"), "value") == "--"


def what_clients_say_beside_is_answered():
    with Server("memory:") as server:
        c = server.tcp()
        assert c.ask("ping") == "PONG" and c.ask("PING", "x") == "x"
        assert c.ask("ECHO", "a b") == "a b"
        assert c.ask("HELLO")[:6] == ["server", "usher", "version", c.ask("HELLO", "2")[3], "proto", 2]
        assert dict(c.ask("HELLO", "3", "SETNAME", "me"))["proto"] == 3
        assert c.ask("CLIENT", "GETNAME") == "me" and isinstance(c.ask("CLIENT", "ID"), int)
        assert c.ask("CLIENT", "SETINFO", "LIB-NAME", "x") == "OK"
        assert c.ask("HELLO", "4").startswith("NOPROTO ")
        assert c.ask("COMMAND") == [] and c.ask("COMMAND", "COUNT") == 0
        assert c.ask("COMMAND", "DOCS") == Map()
        assert c.ask("SELECT", "0") == "OK" and c.ask("SELECT", "1").startswith("ERR ")
        assert c.ask("RESET") == "RESET" and c.ask("CLIENT", "GETNAME") is None
        assert c.ask("AUTH", "x").startswith("ERR ")
        assert "connected_clients:1" in c.ask("INFO")
        assert c.ask("GET", "x") == "INVALID unknown command `get`; `usher help` lists the commands"
        assert c.ask("watch", "room/r").startswith("INVALID not served: run this command with the program usher")
        assert c.ask("number", "import", "p", "f").startswith("INVALID not served: run this command with the program usher")
        c.socket.sendall(b"ping\r\n\n# nothing\nNUMBER add sales 'a b'  \necho \"x\\x41\"\n")
        assert c.read() == "PONG" and status(c.read()) == "ok" and c.read() == "xA"
        assert c.ask("QUIT") == "OK" and c.ended() == b""


def what_is_due_is_done_though_no_client_asks():
    stores = ["memory:"] + (["sqlite:DIR/db"] if os.environ.get("WITH_SQLITE", "yes") == "yes" else [])
    for store in stores:
        with Server(store) as server:
            c, told = server.client(True), server.client(True)
            for words in ("set p rest 0", "add p 1", "reg p 1"):
                assert status(c.ask("number", *words.split())) == "ok", words
            for words in ("set q ttl 0 wrapup 300", "login q ann", "apply q u1", "apply q u2"):
                assert status(c.ask("queue", *words.split())) == "ok", words
            assert status(c.ask("queue", "set", "beats", "ttl", "300")) == "ok"
            assert status(c.ask("queue", "login", "beats", "bob")) == "ok"
            assert status(c.ask("room", "open", "r", "linger", "300")) == "ok"
            channels = ("number/p", "queue/q", "queue/beats", "room/r")
            told.send("SUBSCRIBE", *channels)
            for channel in channels:
                assert told.read()[1] == channel
            room = value(c.ask("queue", "where", "q", "u1"), "room")
            c.send("queue", "finish", "q", room)
            assert status(c.read()) == "ok"
            c.send("number", "call", "p", "owner", "x", "lease", "300")
            assert status(c.read()) == "ok"
            wanted = {
                ("number/p", "expire", "1"): "the lease ends",
                ("queue/q", "match", "u2"): "the next user is seated after the wrap-up",
                ("queue/beats", "expire", "bob"): "an agent without a heartbeat is gone",
                ("room/r", "done", "null"): "an empty room closes",
            }
            while wanted:  # nothing is asked from here on
                text = told.read()[2]
                for channel, verb, subject in list(wanted):
                    if '"scope":"%s"' % channel in text and '"verb":"%s"' % verb in text and subject in text:
                        del wanted[channel, verb, subject]


def what_is_due_is_done_though_no_client_listens():
    # `show` and `stats` of a number read only: the version moves by the sweeps of the server
    with Server("memory:", "--tended=1") as server:
        c = server.client(True)
        for pool in ("first", "second"):
            c.ask("number", "set", pool, "rest", "0")
            c.ask("number", "add", pool, "1")
            c.ask("number", "reg", pool, "1")

        def version(pool):
            return value(c.ask("number", "show", pool, "1"), "version")

        held = value(c.ask("number", "call", "first", "owner", "x", "lease", "300"), "version")
        assert server.info("tended_scopes") == 1
        while version("first") == held:
            select.select([], [], [], 0.02)
        assert version("first") == held + 1 and server.info("tended_scopes") == 1
        # with more scopes than may be tended the oldest is forgotten, until it is named again
        lease, began, ended = 500, 0, 9
        while ended - began >= lease / 1000:  # on a slow machine the first one is over too soon
            c.ask("number", "free", "first", "all", "1")
            c.ask("number", "free", "second", "all", "1")
            lease, began = 2 * lease, time.monotonic()
            held = value(c.ask("number", "call", "first", "owner", "x", "lease", str(lease)), "version")
            other = value(c.ask("number", "call", "second", "owner", "x", "lease", str(2 * lease)), "version")
            ended = time.monotonic()
        while version("second") == other:
            select.select([], [], [], 0.02)
        assert server.info("tended_scopes") == 1
        assert version("first") == held
        while version("first") == held:
            select.select([], [], [], 0.02)
        # the scope of a channel is not forgotten
        listens = server.client()
        assert listens.ask("SUBSCRIBE", "number/first", "number/first")[2] == 1 and listens.read()[2] == 1
        c.ask("number", "call", "first", "owner", "x", "lease", "600")
        message(listens, "number/first", '"verb":"call"')
        c.ask("number", "call", "second", "owner", "x", "lease", "9999999")
        assert server.info("tended_scopes") == 2
        message(listens, "number/first", '"verb":"expire"')
        listens.close()
        while server.info("tended_scopes") != 1:
            select.select([], [], [], 0.02)


def a_transaction_is_refused_as_a_whole():
    with Server("memory:") as server:
        c = server.client(True)
        # as a client library sends it
        c.socket.sendall(
            packed("number", "add", "p", "0")
            + packed("MULTI")
            + packed("number", "add", "p", "1")
            + packed("SUBSCRIBE", "number/p")
            + packed("multi")
            + packed("EXEC")
            + packed("number", "add", "p", "2")
        )
        assert status(c.read()) == "ok"
        assert c.read().startswith("ERR MULTI: transactions are not supported")
        assert c.read().startswith("ERR not executed") and c.read().startswith("ERR not executed")
        assert c.read() == "ERR MULTI calls can not be nested"
        assert c.read() == "EXECABORT MULTI was refused: nothing was executed"
        assert value(c.read(), "version") == 2 and server.info("subscriptions") == 0
        assert c.ask("EXEC") == "ERR EXEC without MULTI" and c.ask("DISCARD") == "ERR DISCARD without MULTI"
        for end, answer in (("DISCARD", "OK"), ("RESET", "RESET")):
            assert c.ask("MULTI").startswith("ERR ") and c.ask("PING").startswith("ERR not executed")
            assert c.ask(end) == answer and c.ask("PING") == "PONG"
        assert c.ask("MULTI").startswith("ERR ") and c.ask("QUIT") == "OK"
        assert value(server.client(True).ask("number", "stats", "p"), "total") == 2


def a_password_is_asked_for():
    with Server("memory:", "--auth-file=DIR/secret", wait=False) as server:
        server.process.wait()
        assert "No such file" in server.said()
        with open(server.dir + "/secret", "w") as secret:
            secret.write("open sesame\nnothing\n")
        os.chmod(server.dir + "/secret", 0o640)
        server.start(False)
        assert server.process.wait() == 2 and "chmod 600" in server.said()
        os.chmod(server.dir + "/secret", 0o600)
        server.start()
        c = server.client()
        assert c.ask("PING").startswith("NOAUTH ")
        assert c.ask("number", "stats", "sales").startswith("NOAUTH ")
        assert c.ask("SUBSCRIBE", "number/sales").startswith("NOAUTH ")
        assert c.ask("HELLO", "3").startswith("NOAUTH ")
        for wrong in ("open", "open sesamE", "open sesame ", "", "nothing"):
            assert c.ask("AUTH", wrong).startswith("WRONGPASS "), wrong
        assert c.ask("AUTH", "root", "open sesame").startswith("WRONGPASS ")
        assert c.ask("AUTH", "open sesame") == "OK" and c.ask("PING") == "PONG"
        assert c.ask("RESET") == "RESET" and c.ask("PING").startswith("NOAUTH ")
        # what is behind it in the same bytes is allowed
        c.socket.sendall(packed("AUTH", "default", "open sesame") + packed("number", "add", "s", "1"))
        assert c.read() == "OK" and status(c.read()) == "ok"
        d = server.client()
        assert dict(d.ask("HELLO", "3", "AUTH", "default", "open sesame"))["proto"] == 3
        e = server.client()
        e.send("x" * 20000)
        assert b"-ERR Protocol error: command is too long" in e.ended()
        assert "auth_failures:6\r" in d.ask("INFO")


def redis_has_its_tools():
    if subprocess.run(["which", "redis-cli"], stdout=subprocess.DEVNULL).returncode != 0:
        assert os.environ.get("USHER_NO_SKIP") != "1"
        return

    def tool(*words):
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout.decode()

    with Server("memory:") as server:
        cli = ("redis-cli", "-s", server.path)
        tool(*cli, "NUMBER", "ADD", "sales", "100")
        tool(*cli, "number", "reg", "sales", "100")
        three = tool(*cli, "-3", "--no-raw", "NUMBER", "CALL", "sales", "owner", "ann")
        assert '1# "status" => "ok"' in three and '5# "number" => "100"' in three, three
        two = tool(*cli, "--no-raw", "NUMBER", "CALL", "sales", "owner", "ann")
        assert '1) "status"' in two and '2) "same"' in two, two
        assert tool(*cli, "--json", "-3", "number", "stats", "sales").startswith('{"status":"ok"')
        bench = ("redis-benchmark", "-s", server.path, "-n", "3000", "-c", "20", "-q")
        assert "PING" in tool(*bench, "-t", "ping")
        tool(*bench, "-P", "16", "number", "show", "sales", "100")
        tool(*bench, "-r", "1000000", "number", "add", "new", "__rand_int__")
        assert server.info("number_show_ok") >= 3000
        # by -t ping it asks inline, too
        assert server.info("number_add_ok") + server.info("number_add_same") >= 3001


def figures_are_told_by_http():
    import http.client

    if os.environ.get("WITH_LIBMICROHTTPD", "no") != "yes":
        return
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        for i in range(3):
            c.ask("number", "add", "sales", str(i))
        c.ask("number", "show", "sales", "9")

        def get(url, method="GET", host="localhost"):
            connection = http.client.HTTPConnection("127.0.0.1", server.http_port(), timeout=PATIENCE)
            connection.request(method, url, headers={"Host": host})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text

        code, text = get("/metrics?scope=number/sales&scope=room/r")
        lines = text.splitlines()
        assert code == 200
        for wanted in (
            "usher_clients 1",
            'usher_commands_total{noun="number",verb="add",status="ok"} 3',
            'usher_commands_total{noun="number",verb="show",status="missing"} 1',
            'usher_command_seconds_bucket{le="+Inf"} 4',
            "usher_command_seconds_count 4",
            'usher_scope_exists{pool="sales"} 1',
            'usher_pool_numbers{pool="sales",state="idle+down"} 3',
            'usher_scope_exists{room="r"} 0',
        ):
            assert wanted in lines, (wanted, text)
        # all that are named are answered, or the request is refused
        many = ["number/p%d" % i for i in range(999)] + ["number/" + "x" * 255]
        code, text = get("/metrics?scope=" + "&scope=".join(many))
        assert code == 200 and text.count('usher_scope_exists{pool="') == 1000, (code, text[-300:])
        for wrong, why in (
            ("scope=" + "&scope=".join(many + ["number/sales"]), "(limit 1000)"),
            ("scope=nothing", "is not a scope"),
            ("scope=nothing/x", "is not a scope"),
            ("scope=rooms/x", "is not a scope"),
            ("scope=number/", "its name"),
            ("scope=number/a%7Bb", "its name"),
            ("scope=number/a%00b", "its name"),
            ("scope", "is not a scope"),
            ("noun=rooms", "is not a noun"),
            ("noun=", "is not a noun"),
            ("noun", "is not a noun"),
            ("scopes=number/sales", "is not an argument"),
            ("scope=number/sales&x=y", "is not an argument"),
        ):
            code, text = get("/metrics?" + wrong)
            assert code == 400 and why in text and text.count("\n") == 1, (wrong[:80], code, text)
        assert get("/none")[0] == 404 and get("/metrics", "DELETE")[0] == 405
        for host in ("127.0.0.1", "127.0.0.1:80", "LocalHost:9", "[::1]", "[::1]:5", "localhost:%d" % server.http_port()):
            assert get("/metrics", host=host)[0] == 200, host
        # as of a page whose site has its name resolved to 127.0.0.1
        for host in ("evil.example", "localhost.evil.example", "evil.example:%d" % server.http_port(), "127.0.0.1.evil.example",
                     "[::1].evil.example", "localhost:1@evil.example", "[::1", "", ":80", "127.0.0.2"):
            assert get("/metrics", host=host) == (403, "the Host of the request is not this machine\n"), host
        assert c.ask("PING") == "PONG"


def half_requests_by_http_end_and_others_are_answered():
    if os.environ.get("WITH_LIBMICROHTTPD", "no") != "yes":
        return
    with Server("memory:", "--http=127.0.0.1:0", "--viewers=0") as server:
        where = ("127.0.0.1", server.http_port())
        halves = [socket.create_connection(where) for _ in range(16)]
        for half in halves:
            half.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")
        # all that there may be: this one waits until their time is over, though no client says a word
        with socket.create_connection(where, PATIENCE) as whole:
            whole.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert whole.recv(100).startswith(b"HTTP/1.1 200 ")
        for half in halves:
            half.close()


def requests_by_http_that_never_end_are_ended():
    if os.environ.get("WITH_LIBMICROHTTPD", "no") != "yes":
        return
    with Server("memory:", "--http=127.0.0.1:0", "--viewers=0") as server:
        where = ("127.0.0.1", server.http_port())
        halves = [socket.create_connection(where) for _ in range(16)]
        for half in halves:
            half.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
        with socket.create_connection(where, PATIENCE) as whole:
            whole.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until = time.monotonic() + PATIENCE
            while not select.select([whole], [], [], 1)[0]:
                assert time.monotonic() < until
                for half in halves:  # they are never idle
                    try:
                        half.sendall(b"x")
                    except OSError:
                        pass
            answer = b""
            while came := whole.recv(1 << 16):  # a connection is for one request
                answer += came
            assert answer.startswith(b"HTTP/1.1 200 ") and b"usher_clients 0" in answer
        for half in halves:
            half.close()


def a_store_whose_file_is_replaced_ends_it():
    if os.environ.get("WITH_SQLITE", "yes") != "yes":
        return
    with Server("sqlite:DIR/db", *(["--http=127.0.0.1:0"] if os.environ.get("WITH_LIBMICROHTTPD", "no") == "yes" else [])) as server:
        c = server.client()
        assert status(c.ask("number", "add", "p", "1")) == "ok"
        server.shell(["number add other 1"])  # changes of others do not
        assert status(c.ask("number", "stats", "other")) == "ok"
        subprocess.run(["sh", "-c", "cp db new && mv new db"], cwd=server.dir, check=True)
        c.socket.sendall(packed("number", "add", "p", "2") + packed("number", "add", "p", "3"))
        assert c.ended().startswith(b"-UNAVAILABLE sqlite: db was moved, deleted or replaced")
        assert server.process.wait(PATIENCE) == 1
        assert server.said().count("the store is gone: sqlite: db was moved") == 1
        for trigger in ("scopes", "number digest p", "metrics"):
            server.start()
            c = server.client()
            assert c.ask("PING") == "PONG" and status(c.ask("number", "add", "p", "1")) in ("ok", "same")
            subprocess.run(["sh", "-c", "cp db new && mv new db"], cwd=server.dir, check=True)
            if trigger != "metrics":
                c.ask(*trigger.split())
            elif os.environ.get("WITH_LIBMICROHTTPD", "no") == "yes":
                with socket.create_connection(("127.0.0.1", server.http_port()), PATIENCE) as page:
                    page.sendall(b"GET /metrics?scope=number/p HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert b"usher_scopes{state=\"failed\"} 1" in page.makefile("rb").read()
            else:
                server.stop(signal.SIGKILL)
                continue
            assert server.process.wait(PATIENCE) == 1, trigger
            assert len(re.findall("the store is gone: .*sqlite: db was moved", server.said())) == 1, (trigger, server.said())
        server.start()
        assert server.client().ask("PING") == "PONG"


def lists_and_checks_are_answered():
    if os.environ.get("WITH_SQLITE", "yes") != "yes":
        return
    with Server("sqlite:DIR/db") as server:
        c = server.client(resp3=True)
        for line in ("number add Sales 1", "number add b 2", "queue set Q log 10", "room open R", "room open r", "serial rule s", "id create i"):
            assert status(c.ask(*line.split())) == "ok", line
        # what the program prints
        lines = ["scopes", "scopes number", "scopes max=2", "scopes after=number/Sales", "room list", "room list max=1", "serial list",
                 "number digest Sales", "queue digest Q", "room digest R", "serial digest s", "id digest i", "scopes nothing"]
        for line, told in zip(lines, server.shell(lines)):
            words = line.split()
            answer = c.ask(words[0].upper(), *words[1:])
            if status(told) == "invalid":
                assert status(answer) == "invalid" and dict(told)["message"] in answer, (line, answer)
                continue
            for answer, as_map in ((answer, True), (None, False)):
                if not as_map:
                    two = server.client()
                    answer = two.ask(*words)
                    two.close()
                wanted = _of_json(told, as_map)
                assert answer == wanted, (line, answer, wanted)
        for line, told in zip(("check", "status"), server.shell(["check", "status"])):
            assert c.ask(line.upper()) == _of_json(told, True), line
        assert status(c.ask("check", "--REPAIR")) == "ok"
        assert dict(c.ask("status"))["nodes"][0][0] == ("role", "itself")
        # a name stays as it is, and nothing is erased by a slip
        assert "add --yes" in c.ask("drop", "number/Sales") and "add --yes" in c.ask("drop", "number/Sales", "yes")
        assert c.ask("Drop", "number/sales", "--yes") == Map([("status", "same"), ("dropped", 0)])
        assert c.ask("Drop", "number/Sales", "--yes") == Map([("status", "ok"), ("dropped", 1)])
        assert status(c.ask("number", "show", "Sales", "1")) == "missing"
        for words, why in ((["drop"], "NOUN/NAME"), (["drop", "rooms/r", "--yes"], "NOUN/NAME"), (["drop", "number/a\0b", "--yes"], "NOUN/NAME"),
                           (["drop", "number/", "--yes"], "NOUN/NAME"), (["status", "x"], "no arguments"), (["check", "x"], "--repair"),
                           (["scopes", "a\0b"], "NUL"), (["scopes", "max", "0"], "max"), (["number", "digest"], "missing")):
            answer = c.ask(*words)
            assert answer.startswith("INVALID ") and why in answer, (words, answer)
        assert server.info("scopes_ok") > 0 and server.info("number_digest_ok") > 0


def a_list_comes_in_its_order():
    with Server("memory:") as server:
        c = server.client(resp3=True)
        n = 50
        c.socket.sendall(b"".join(packed("id", "create", "i%02d" % i) + packed("SCOPES") + packed("PING") for i in range(n)))
        for i in range(n):
            assert status(c.read()) == "ok"
            assert [dict(s)["scope"] for s in dict(c.read())["scopes"]] == ["id/i%02d" % k for k in range(i + 1)]
            assert c.read() == "PONG"
        # of a client that sends no more
        c.socket.sendall(packed("CHECK") + packed("SCOPES", "max", "1"))
        c.socket.shutdown(socket.SHUT_WR)
        assert status(c.read()) == "ok" and len(dict(c.read())["scopes"]) == 1 and c.ended() == b""


def a_check_delays_no_other_client():
    with Server("memory:") as server:
        c, other = server.client(), server.client()
        n = 20000
        c.socket.sendall(b"".join(b"NUMBER ADD p%d %d\r\n" % (i % 500, i) for i in range(n)))
        for _ in range(n):
            c.read()
        between = 0
        for _ in range(20):
            c.send("CHECK")
            assert other.ask("PING") == "PONG" and status(other.ask("id", "create", "i")) in ("ok", "same")
            between += c.silent(0)
            assert status(c.read()) == "ok"
        assert between > 0
        for _ in range(5):
            gone = server.client()
            gone.send("CHECK")
            gone.close()
        assert status(c.ask("STATUS")) == "ok"
        for _ in range(3):
            c.send("CHECK")
        assert server.stop() == 0


def lines_of_the_log_have_the_time():
    with Server("memory:", "--clients=1") as server:
        one, two = server.client(), server.client()
        assert one.ask("PING") == "PONG" and two.ended().startswith(b"-ERR max")
        server.stop()
        lines = server.said().splitlines()
        assert len(lines) == 4, lines
        for line in lines:
            at = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z usher: .+", line)
            assert at, line
            assert abs(calendar.timegm(time.strptime(at.group(1), "%Y-%m-%dT%H:%M:%S")) - time.time()) < PATIENCE


def its_options_are_read():
    with Server("memory:") as server:
        for words, why in (
            (["--listen=0.0.0.0:7"], "is not a loopback address"),
            (["--listen=192.168.0.1:7"], "is not a loopback address"),
            (["--listen=[2001:db8::1]:7"], "is not a loopback address"),
            (["--listen=example.com:7"], "is not a loopback address"),
            (["--listen=127.0.0.1:70000"], "has no port"),
            (["--listen=7"], "is neither unix:PATH nor HOST:PORT"),
            (["--listen=unix:"], "has no path"),
            (["--listen=unix:" + server.path], "is in use"),
            (["--listen=unix:" + server.log], "exists and is not a socket"),
            (["--clients=0"], "is not a number"),
            (["--idle=x"], "is not a duration"),
            (["--frobnicate"], "is not an option of `serve`"),
        ):
            got = subprocess.run([USHER, "-s", "memory:", "serve"] + words, stderr=subprocess.PIPE, check=False)
            assert got.returncode == 2 and why in got.stderr.decode(), (words, got)
        assert server.client().ask("PING") == "PONG"


def who_is_killed_leaves_a_file_that_is_taken_over():
    with Server("memory:") as server:
        server.stop(signal.SIGKILL)
        assert os.path.exists(server.path)
        server.start()
        assert server.client().ask("PING") == "PONG"
        assert server.stop() == 0 and not os.path.exists(server.path)


def a_socket_of_a_stopped_server_is_taken():
    with Server("memory:") as server:
        waiting = []
        server.process.send_signal(signal.SIGSTOP)
        try:
            while True:  # as many as may wait to be accepted
                waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                waiting[-1].setblocking(False)
                waiting[-1].connect(server.path)
        except BlockingIOError:
            pass
        second = [USHER, "-s", "memory:", "serve", "--listen=unix:" + server.path]
        got = subprocess.run(second, stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
        assert got.returncode == 2 and b"is in use" in got.stderr, got
        for one in waiting:
            one.close()
        server.process.send_signal(signal.SIGCONT)
        assert server.client().ask("PING") == "PONG"


def sockets_are_handed_over():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" -s memory: serve 3<&%d' % listening.fileno()
        server = subprocess.Popen(["sh", "-c", script, USHER], pass_fds=[listening.fileno()], stderr=subprocess.DEVNULL)
        try:
            assert Client(listening.getsockname()).ask("PING") == "PONG"
        finally:
            server.terminate()
            assert server.wait() == 0
    # as systemd starts the service of contrib
    with open(os.path.dirname(os.path.abspath(__file__)) + "/../../contrib/systemd/usher.service") as f:
        unit = f.read()
    words = re.search(r"^ExecStart=/usr/bin/usher (.*)$", unit, re.M).group(1).replace("$USHER_OPTIONS", "").split()
    assert words == ["serve"] and re.search(r"^Environment=USHER_STORE=sqlite:/var/lib/usher/", unit, re.M)
    assert "StateDirectory=usher\n" in unit and "Requires=usher.socket\n" in unit
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(directory + "/s")
        listening.listen()
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 USHER_STORE=memory: exec "$0" "$@" 3<&%d' % listening.fileno()
        server = subprocess.Popen(["sh", "-c", script, USHER] + words, pass_fds=[listening.fileno()], stderr=subprocess.DEVNULL)
        try:
            assert Client(directory + "/s").ask("PING") == "PONG"
        finally:
            server.terminate()
            assert server.wait() == 0
        assert os.path.exists(directory + "/s")  # it is not ours
    got = subprocess.run(
        ["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" -s memory: serve 3</dev/null', USHER],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert got.returncode == 2 and b"does not listen" in got.stderr, got


MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "cli", "usher.1")
COMMON = {"status", "epoch", "version", "due", "now", "message", "repeated", "replicas"}


def _documented(lines):
    """The keys of an answer in the help of its verb, and by key those of its rows."""
    keys, rows = [], {}
    for line in lines[[line.startswith("JSON, ") for line in lines].index(True):] if "JSON, " in "".join(lines) else []:
        found = re.match("(  |    )([a-z_]+) ", line)
        if found and len(found[1]) == 2:
            keys.append(found[2])
        elif found:
            rows.setdefault(keys[-1], []).append(found[2])
    return keys, rows


def help_and_manual_have_the_keys_of_answers():
    seed = int(os.environ.get("USHER_SEED", random.randrange(1 << 32)))
    print("USHER_SEED=%d" % seed)
    rng = random.Random(seed)
    with open(MANUAL, encoding="utf-8") as file:
        manual = file.read()
    said = [_command(rng, 1700000000000 + i * 300) for i in range(4000)]
    done = subprocess.run([USHER, "-s", "memory:?clock=given", "shell"], input="".join(line + "\n" for _, line in said).encode("latin-1"),
                          stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
    documents = {}
    with Server("memory:") as server:
        client = server.client()
        assert client.ask("HELP") == subprocess.run([USHER, "help"], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        assert isinstance(client.ask("HELP", "queue", "frob"), Error) and isinstance(client.ask("HELP", "a", "b", "c"), Error)
        for (_, line), answer in zip(said, done.stdout.decode().splitlines()):
            answer = json.loads(answer)
            if answer["status"] in ("invalid", "lost"):
                continue
            noun, verb = line.lower().replace('"', "").split()[:2]
            if (noun, verb) not in documents:
                documents[noun, verb] = _documented(client.ask("HELP", noun, verb))
                section = manual.partition(".Ss JSON of %s\n" % noun)[2].partition(".El\n")[0]
                section = section.partition(".It Cm %s\n" % verb)[2].partition(".It ")[0]
                section = re.sub(r" Pq .*", "", section)
                assert re.findall(r"[a-z_]+", re.sub("None|Li", "", section)) == documents[noun, verb][0], (noun, verb, section)
            keys, rows = documents[noun, verb]
            for key, of in answer.items():
                assert key in COMMON or key in keys, "help %s %s: the key %s is missing" % (noun, verb, key)
                for row in of if key in rows else []:
                    assert set(row) <= set(rows[key]), "help %s %s: of the rows of %s it does not have all keys: %s" % (noun, verb, key, row)
    assert len(documents) > 60, len(documents)


if __name__ == "__main__":
    run(globals())
