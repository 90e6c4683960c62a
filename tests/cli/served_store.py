# SPDX-License-Identifier: MIT
"""usher -s usher+unix:PATH: the program over a server answers as over the store itself."""
import os
import pty
import random
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time

from serve import PATIENCE, USHER, Server, own_redis, redis_process, run

import served_as_asked


def _usher(store, *words, **more):
    done = subprocess.run([USHER, "-s", store] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=PATIENCE * 2, **more)
    assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _url(server, options=""):
    return "usher+unix:" + server.path + options


def _shell(store, lines):
    text = "".join(line + "\n" for line in lines).encode("latin-1")
    return subprocess.run([USHER, "-s", store, "shell"], input=text, stdout=subprocess.PIPE, check=True, timeout=PATIENCE * 2).stdout.decode().splitlines()


def _masked(line):
    """Without what differs from one store to another: epochs, and what follows from them."""
    line = re.sub(r'"(epoch)":"[0-9a-f]{16}"', r'"\1":"E"', line)
    line = re.sub(r"\b[0-9a-f]{16}\b", "E", line)
    line = re.sub(r'"(mark|was|digest)":("?)\w+\2', r'"\1":"M"', line)
    return re.sub(r"\b[0-9a-z]{10,14}\.(\d+)\b", r"R.\1", line)


def random_lines_of_the_shell_have_the_same_answers():
    seed = int(os.environ.get("USHER_SEED", random.randrange(1 << 32)))
    print("USHER_SEED=%d" % seed)
    rng = random.Random(seed)
    lines, now = [], 1700000000000
    for _ in range(1500):
        now += rng.randrange(3000)
        lines.append(served_as_asked._command(rng, now)[1])
    lines += ["scopes", "scopes queue max=1", "room list", "serial list", "check", "scopes nothing", "help nothing", "", "# no line"]
    with Server("memory:?clock=given") as server:
        afar = _shell(_url(server), lines)
        here = _shell("memory:?clock=given", lines)
        assert len(afar) == len(here) > 1000
        for a, h in zip(afar, here):
            assert _masked(a) == _masked(h), "over the server\n%s\nover the store\n%s" % (a, h)


def _terminal(words):
    """What the program prints at a terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    text = b""
    try:
        while got := os.read(master, 65536):
            text += got
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return child.wait(PATIENCE), text.decode()


def every_form_is_that_of_the_store():
    if os.environ.get("WITH_SQLITE", "yes") != "yes":
        return
    with Server("sqlite:DIR/db") as server:
        url = _url(server)
        numbers = server.dir + "/numbers"
        with open(numbers, "w") as f:
            f.write("1\n2\n3\nbad,line\n")
        for words, wanted in ((("number", "import", "p", numbers, "up=1"), (0, "3 added")), (("number", "call", "p", "owner=ann"), (0, "token")),
                              (("room", "open", "r", "log=9"), (0, "ok")), (("room", "join", "r", "ann", "a=b c", "--", "now=1"), (0, "ok")),
                              (("serial", "rule", "s", "width=4"), (0, "ok")), (("serial", "fill", "s", "9"), (0, "ok")), (("queue", "set", "q", "log=5"), (0, "ok")),
                              (("number", "set", "p", "log=5"), (0, "ok")), (("serial", "take", "s", "n=3"), (0, "0003"))):
            code, out, _ = _usher(url, *words)
            assert code == wanted[0] and wanted[1] in out, (words, code, out)
        for line in ("number list p", "number stats p", "number show p 9 ", "room snapshot r", "room changes r since=0", "serial show s", "serial check s",
                     "scopes", "scopes queue", "check", "check --repair", "status", "room list", "serial list", "number digest p", "room digest r", "queue list q",
                     "number show none 1", "number frobnicate p", "number list p max=0", "scopes x", "status x", "drop number/none --yes", "drop number", "drop number/p",
                     "watch room/r --once --since=0", "watch number/p --once --since=0", "watch queue/q room/r --once", "watch room/none --once", "watch id/x --once",
                     "help", "version", "tables number", "room get r f -- x"):
            words = line.split()
            for form in ((), ("--json",), ("--csv",)):
                if form == ("--csv",) and words[0] not in ("scopes", "status", "room", "serial", "watch"):
                    continue
                # that the store is opened in another process shows in no answer but the time
                here, afar = _usher(server.store, *form, *words), _usher(url, *form, *words)
                strip = lambda r: (r[0],) + tuple(re.sub(r'"(due|now|age|lag|longest_hold)":\d+|(for|hold) \d+ m?s', "", t) for t in r[1:])
                assert strip(afar) == strip(here), (form, line, afar, here)
            if words[0] not in ("help", "tables"):
                here, afar = _terminal([USHER, "-s", server.store] + words) if "drop" not in line else 0, _terminal([USHER, "-s", url] + words) if "drop" not in line else 0
                strip = lambda r: r if r == 0 else (r[0], re.sub(r" +", " ", re.sub(r"\d+ (ms|s)\b", "", r[1])))
                assert strip(afar) == strip(here), (line, afar, here)
        assert re.fullmatch(r'\{"status":"ok","epoch":"0{16}","version":0,"due":null,"dropped":[1-9]\}\n', _usher(url, "--json", "drop", "room/r", "--yes")[1])
        with open(server.dir + "/calls.csv", "w") as f:
            f.write(_usher("memory:", "trace", "--calls=3")[1])
        for words in (("serve",), ("replay", server.dir + "/calls.csv"), ("replay", server.dir + "/calls.csv", "--agents=2")):
            code, _, err = _usher(url, *words)
            assert code == 2 and "needs the store itself" in err, (words, err)


def tcp_and_a_password_work():
    with tempfile.NamedTemporaryFile("w") as secret, tempfile.NamedTemporaryFile("w") as wrong:
        secret.write("s3cret\n")
        secret.flush()
        wrong.write("other\n")
        wrong.flush()
        with Server("memory:", "--auth-file=" + secret.name) as server:
            port = re.search(r"serving on 127\.0\.0\.1:(\d+)", server.said()).group(1)
            for url in (_url(server), "usher+tcp:localhost:" + port, "usher+tcp:127.0.0.1:%s?timeout=5s" % port, "usher+unix://" + server.path):
                sign = "&" if "?" in url else "?"
                assert _usher(url + sign + "password-file=" + secret.name, "id", "create", "i", "--json")[0] == 0
                code, _, err = _usher(url, "id", "show", "i")
                assert code == 3 and "requires a password: add ?password-file=FILE" in err, err
                code, _, err = _usher(url + sign + "password-file=" + wrong.name, "id", "show", "i")
                assert code == 3 and "refuses the password" in err, err
        with Server("memory:") as server:
            code, _, err = _usher(_url(server, "?password-file=" + secret.name), "id", "show", "i")
            assert code == 3 and "has no password" in err, err


def many_lines_are_sent_ahead():
    with Server("memory:", "--out=65536") as server:
        c = server.client()
        c.ask("room", "open", "r")
        value = "v" * 60000
        for i in range(8):
            c.ask("room", "set", "r", "f%d" % i, value)
        # long commands with long answers: neither end may wait for the other to read
        both = [line for i in range(120) for line in ("room set r g " + "w" * 6000, "room get r f%d" % (i % 8))]
        lines = ["id create i"] + ["id next i"] * 3000 + both + ["id show i"]
        answers = _shell(_url(server), lines)
        assert len(answers) == len(lines) and '"next":3001' in answers[-1] and value in answers[-2], answers[-1][:200]


def changes_are_watched():
    with Server("memory:") as server:
        c = server.client()
        c.ask("room", "open", "r", "log", "50")
        watch = subprocess.Popen([USHER, "-s", _url(server), "watch", "room/r", "room/later", "--max=3"], stdout=subprocess.PIPE)
        assert watch.stdout.readline().decode() == "room/later: there is no such scope\n"
        began, took = time.monotonic(), []
        for i in range(3):
            time.sleep(0.2)
            began = time.monotonic()
            c.ask("room", "set", "r", "f", str(i))
            assert watch.stdout.readline().decode() == "room/r %d: set f f=%d\n" % (i + 2, i)
            took.append(time.monotonic() - began)
        assert watch.wait(PATIENCE) == 1  # a scope was missing
        watch = subprocess.Popen([USHER, "-s", _url(server), "watch", "room/r"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.3)
        server.stop()
        assert watch.wait(PATIENCE) == 3 and b"closed the connection" in watch.stderr.read()
    # changes of other processes, without reading the log over and over
    with Server("sqlite:DIR/db") as server:
        server.shell(["room open a?b log=50"])
        watch = subprocess.Popen([USHER, "-s", _url(server), "watch", "room/a?b", "--max=1"], stdout=subprocess.PIPE)
        while server.info("subscriptions") != 1:
            time.sleep(0.01)
        time.sleep(0.5)
        before = server.info("total_commands_processed")
        time.sleep(2)
        assert server.info("total_commands_processed") == before
        began = time.monotonic()
        server.shell(["room set a?b f others"])
        assert watch.stdout.readline() == b"room/a?b 2: set f f=others\n" and time.monotonic() - began < 4
        assert watch.wait(PATIENCE) == 0


# ---- servers that are none -------------------------------------------------------------------


class _Fake:
    """A socket file whose clients are served by a function with the connection."""

    def __init__(self, serve):
        self.dir = tempfile.mkdtemp(prefix="usher-fake.")
        self.path = self.dir + "/s"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(self.path)
        self.socket.listen()
        self.serve = serve
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass
        connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        subprocess.run(["rm", "-rf", self.dir], check=False)


HELLO = b"%1\r\n$6\r\nserver\r\n$5\r\nusher\r\n+OK\r\n"


def who_is_no_server_is_refused():
    answers = [b"", b"+OK\r\n", b"-ERR unknown command 'HELLO'\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail ESMTP\r\n", b"\0" * 100, b"%0\r\n", b"%1\r\n",
               b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n+OK\r\n", HELLO[:-5] + b"-NOPROTO the server is usher 9.9: x\r\n", b"$-1\r\n", b"*-1\r\n", b"\r\n", b":\r\n",
               b"$99999999999999999999\r\n", b"$67108865\r\n", b"*65537\r\n", b"%65537\r\n", b"%-5\r\n", b"%-9223372036854775807\r\n", b"*1\r\n" * 50, b"$5\r\nabcdefgh", b"+" + b"x" * 200000, b"#maybe\r\n", b"!3\r\nabc\r\n"]
    with Server("memory:") as server:
        c = server.client()
        c.ask("id", "create", "i")
        assert c.ask("CLIENT", "PACKED", "0.0.0").startswith("NOPROTO the server is usher ")
        assert c.ask("CLIENT", "PACKED", _usher("memory:", "version")[1].split()[1]) == "OK"
        other = c.ask("id", "show", "i").encode("latin-1")  # a good answer to another command
    answers += [HELLO + b"$%d\r\n%s\r\n" % (len(other), other)]
    answers += [HELLO + a for a in (b"", b"+OK\r\n", b":1\r\n", b"%0\r\n", b"$0\r\n\r\n", b"$3\r\nabc\r\n", b"$100000000\r\n", b"_\r\n", b"$5\r\nab\r\n\r\n", b"\x93garbage")]
    for answer in answers:

        def serve(connection, answer=answer):
            connection.recv(4096)
            connection.sendall(answer)
            if answer.startswith(HELLO):
                connection.settimeout(PATIENCE)
                connection.recv(4096)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass

        with _Fake(serve) as fake:
            for words in (("number", "stats", "p"), ("check",), ("status", "--json"), ("drop", "number/p", "--yes"), ("watch", "room/r", "--once")):
                code, out, err = _usher("usher+unix:" + fake.path, *words)
                assert code == 3 and re.search(r"(does not speak the protocol|closed the connection|this is usher|malformed)", out + err), (answer[:80], words, code, out, err)


def who_does_not_answer_has_a_deadline():
    silent = threading.Event()
    with _Fake(lambda connection: silent.wait(PATIENCE)) as fake:
        began = time.monotonic()
        code, _, err = _usher("usher+unix:%s?timeout=300" % fake.path, "number", "stats", "p")
        assert code == 3 and "does not answer within 300 ms" in err and time.monotonic() - began < PATIENCE / 2, err

    def greets(connection):
        connection.recv(4096)
        connection.sendall(HELLO)
        silent.wait(PATIENCE)

    with _Fake(greets) as fake:
        code, out, _ = _usher("usher+unix:%s?timeout=300" % fake.path, "--json", "number", "add", "p", "1")
        assert code == 3 and '"status":"unknown"' in out and "does not answer within 300 ms" in out, out
        lines = _shell("usher+unix:%s?timeout=300" % fake.path, ["number add p 1", "number add p 2"])
        assert len(lines) == 2 and all('"status":"unknown"' in line for line in lines), lines

    def trickles(connection):  # a byte now and then does not move the deadline
        connection.recv(4096)
        connection.sendall(HELLO + b"$1000\r\n")
        while not silent.wait(0.05):
            connection.sendall(b"x")

    with _Fake(trickles) as fake:
        for words in (("number", "stats", "p"), ("check",)):  # of a check, too, once its answer has begun
            began = time.monotonic()
            code, _, _ = _usher("usher+unix:%s?timeout=500" % fake.path, *words)
            assert code == 3 and time.monotonic() - began < PATIENCE / 2, words
    silent.set()


def urls_and_sockets_that_are_wrong_are_reported():
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/file", "w") as f:
            f.write("x")
        os.chmod(d + "/file", 0o644)
        for url, code, why in (("usher+unix:" + d + "/none", 3, "no server listens on"), ("usher+unix:" + d + "/file", 3, "no server listens on"),
                               ("usher+unix:", 2, "has no path"), ("usher+unix:" + "x" * 200, 2, "too long"), ("usher+unix:" + d + "/s?frob=1", 2, "unknown option"),
                               ("usher+unix:" + d + "/s?timeout=x", 2, "wrong timeout"), ("usher+unix:" + d + "/s?timeout", 2, "without a value"),
                               ("usher+unix:" + d + "/s?password-file=" + d + "/file", 2, "chmod 600"), ("usher+unix:" + d + "/s?password-file=" + d + "/none", 2, "No such file"),
                               ("usher+tcp:example.com:7", 2, "no address of this machine"), ("usher+tcp:192.168.1.1:7", 2, "no address of this machine"),
                               ("usher+tcp:127.0.0.1", 2, "has no HOST:PORT"), ("usher+tcp:127.0.0.1:99999", 2, "has no HOST:PORT"), ("usher+tcp:", 2, "has no HOST:PORT"),
                               ("usher+tcp:[::1]:1", 3, "")):
            got = _usher(url, "number", "stats", "p")
            assert got[0] == code and why in got[2] and got[2].count("\n") == 1, (url, got)
            assert _usher(url, "--json", "number", "stats", "p")[0] == code
        if os.geteuid() != 0:
            with Server("memory:") as server:
                os.chmod(server.path, 0)
                code, _, err = _usher(_url(server), "id", "show", "i")
                assert code == 3 and "permission denied" in err, err


def a_status_comes_while_the_store_is_silent():
    with own_redis() as url:
        if url is None:
            return
        with Server(url + "?timeout=1000") as server:
            server.client().ask("queue", "set", "q", "mode", "closed")
            redis = redis_process(url)
            os.kill(redis, signal.SIGSTOP)
            _, out, err = _usher(_url(server), "--json", "status")
            os.kill(redis, signal.SIGCONT)
            assert '"nodes"' in out and '"modes_partial":true' in out, (out, err)


def a_watcher_notices_that_only_its_messages_have_ended():
    asked, connections = [0], []
    with Server("memory:") as server, socket.create_server(("127.0.0.1", 0)) as proxy:
        server.client().ask("room", "open", "r")

        def copy(one, other, counts):
            while data := one.recv(65536):
                asked[0] += counts and len(connections) > 1
                other.sendall(data)

        def accept():
            while True:
                one, other = proxy.accept()[0], socket.socket(socket.AF_UNIX)
                other.connect(server.path)
                connections.append(one)
                threading.Thread(target=copy, args=(one, other, True), daemon=True).start()
                if len(connections) == 1:
                    threading.Thread(target=copy, args=(other, one, False), daemon=True).start()
                else:  # of the messages: ends at once, and by TCP without an error
                    one.shutdown(socket.SHUT_WR)

        threading.Thread(target=accept, daemon=True).start()
        watch = subprocess.Popen([USHER, "-s", "usher+tcp:127.0.0.1:%d" % proxy.getsockname()[1], "watch", "room/r", "--for=2s"], stdout=subprocess.PIPE)
        watch.wait(PATIENCE)
        assert len(connections) > 1 and asked[0] < 500, (len(connections), asked)


def damaged_answers_do_no_harm():
    seed = int(os.environ.get("USHER_SEED", random.randrange(1 << 32)))
    print("USHER_SEED=%d" % seed)
    rng = random.Random(seed)
    with Server("memory:") as server:
        c = server.client()
        for line in ("number add p 1", "number reg p 1", "number call p owner x", "queue login q ann", "queue apply q zoe", "room open r log 9", "room join r ann a=b",
                     "serial rule s", "serial fill s 9", "serial take s n 2", "id create i"):
            c.ask(*line.split())

        def between(connection):
            """Every byte passes; after the greeting some of the server's are changed."""
            with socket.socket(socket.AF_UNIX) as real:
                real.connect(server.path)
                greeted = 0
                while True:
                    for ready in select.select([connection, real], [], [], PATIENCE)[0]:
                        data = bytearray(ready.recv(65536))
                        if not data:
                            return
                        if ready is real:
                            greeted += 1
                            for _ in range(rng.choice((0, 1, 1, 2, 9)) if greeted > 1 else 0):
                                data[rng.randrange(len(data))] = rng.choice((rng.randrange(256), 0, 0xff, 0x0a, 0x39))
                        (real if ready is connection else connection).sendall(data)

        with _Fake(between) as fake:
            commands = ["number list p", "queue agents q", "queue list q", "room snapshot r", "room changes r since=0", "serial take s", "id show i", "scopes", "status", "check",
                        "watch room/r --once --since=0", "number stats p", "number show p 1", "drop number/none --yes"]
            for i in range(240):
                words = commands[i % len(commands)].split()
                code, out, err = _usher("usher+unix:%s?timeout=200" % fake.path, *(("--json",) if i % 3 else ()), *words)
                assert code in (0, 1, 2, 3), (words, code, err)
                assert not re.search("[\x00-\x08\x0b-\x1f]", out + err), (words, out, err)
            for _ in range(10):
                lines = subprocess.run([USHER, "-s", "usher+unix:%s?timeout=200" % fake.path, "shell"], input="".join(l + "\n" for l in commands[:9]).encode(),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
                assert lines.returncode in (0, 3) and len(lines.stdout.splitlines()) in (0, 9), lines
        assert c.ask("PING") == "PONG"


if __name__ == "__main__":
    run(globals())
