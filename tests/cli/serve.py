# SPDX-License-Identifier: MIT
"""What the tests of `usher serve` share: a server of our own, a client by bare sockets.

Run as a program it runs the functions of the module named, in their order: see served_*.sh.
"""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

USHER = os.environ.get("USHER", "usher")
PATIENCE = int(os.environ.get("PATIENCE", 60))  # seconds until something that must come has not


class Error(str):
    """An error of RESP: "INVALID why"."""


class Push(list):
    """What was not asked for."""


class Map(list):
    """Pairs in their order, of RESP3."""


class Client:
    def __init__(self, address, resp3=False):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.socket.connect(address)
                break
            except BlockingIOError:  # of a socket file: as many wait as may wait
                assert time.monotonic() < until
                time.sleep(0.01)
        self.bytes = b""
        if resp3:
            self.ask("HELLO", "3")

    def close(self):
        self.socket.close()

    def send(self, *words):
        self.socket.sendall(packed(*words))

    def ask(self, *words):
        self.send(*words)
        return self.read()

    def more(self):
        came = self.socket.recv(1 << 16)
        if not came:
            raise EOFError
        self.bytes += came

    def line(self):
        while b"\r\n" not in self.bytes:
            self.more()
        line, self.bytes = self.bytes.split(b"\r\n", 1)
        return line

    def text(self, size):
        while len(self.bytes) < size + 2:
            self.more()
        text, self.bytes = self.bytes[:size], self.bytes[size + 2 :]
        return text.decode("latin-1")

    def read(self):
        line = self.line()
        sign, rest = line[:1], line[1:].decode("latin-1")
        if sign == b"+":
            return rest
        if sign == b"-":
            return Error(rest)
        if sign == b":":
            return int(rest)
        if sign == b",":
            return float(rest)
        if sign == b"#":
            return rest == "t"
        if sign == b"_" or (sign == b"$" and rest == "-1"):
            return None
        if sign == b"$":
            return self.text(int(rest))
        if sign == b"%":
            return Map((self.read(), self.read()) for _ in range(int(rest)))
        if sign in b"*>":
            kind = Push if sign == b">" else list
            return kind(self.read() for _ in range(int(rest)))
        raise ValueError(line)

    def ended(self):
        """Everything until the other end closes."""
        try:
            while True:
                self.more()
        except (EOFError, ConnectionResetError):
            return self.bytes

    def silent(self, seconds):
        return not self.bytes and not select.select([self.socket], [], [], seconds)[0]


def packed(*words):
    words = [w if isinstance(w, bytes) else w.encode("latin-1") for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def status(answer):
    """Of an answer of either protocol."""
    if isinstance(answer, Error):
        return answer.split()[0].lower()
    return answer[0][1] if isinstance(answer, Map) else answer[1]


def value(answer, key):
    if isinstance(answer, Map):
        return dict(answer)[key]
    return answer[answer.index(key) + 1]


def message(c, channel, *parts):
    """The next message, which is of @channel and contains @parts."""
    got = c.read()
    assert got[:2] == ["message", channel] and all(p in got[2] for p in parts), got
    return got


class Server:
    def __init__(self, store, *options, wait=True):
        self.dir = tempfile.mkdtemp(prefix="usher-serve.")
        self.path = self.dir + "/s"
        self.store = store.replace("DIR", self.dir)
        self.options = options
        self.log = self.dir + "/log"
        self.start(wait)

    def start(self, wait=True):
        command = [USHER, "-s", self.store, "serve", "--listen=unix:" + self.path]
        command += ["--listen=127.0.0.1:0"] + [o.replace("DIR", self.dir) for o in self.options]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stderr=log)
        if wait:
            self.await_log("serving on 127.0.0.1:")

    def await_log(self, text):
        for _ in range(PATIENCE * 50):
            if text in self.said():
                return
            if self.process.poll() is not None:
                break
            select.select([], [], [], 0.02)
        raise AssertionError("the log does not say %r: %s" % (text, self.said()))

    def said(self):
        with open(self.log) as log:
            return log.read()

    def client(self, resp3=False):
        return Client(self.path, resp3)

    def tcp(self, resp3=False):
        port = re.search(r"serving on 127\.0\.0\.1:(\d+)", self.said()).group(1)
        return Client(("127.0.0.1", int(port)), resp3)

    def http_port(self):
        return int(re.search(r"http://127\.0\.0\.1:(\d+)/ is the wallboard", self.said()).group(1))

    def info(self, key):
        c = self.client()
        found = re.search(r"^%s:(\d+)\r$" % key, c.ask("INFO"), re.M)
        c.close()
        return int(found.group(1)) if found else 0

    def peak(self):
        """The most memory that it had, in bytes.  0: it is instrumented, and has other memory."""
        with open("/proc/%d/maps" % self.process.pid) as maps:
            if re.search(r"lib[at]san", maps.read()):
                return 0
        with open("/proc/%d/status" % self.process.pid) as told:
            return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", told.read()).group(1))

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        assert "Sanitizer" not in self.said() and "runtime error" not in self.said(), self.said()
        return code

    def put_back(self, old):
        """Kill the server, put the copy @old of its SQLite file in place of it, and start again."""
        self.stop(signal.SIGKILL)
        for part in ("db-wal", "db-shm"):
            if os.path.exists(self.dir + "/" + part):
                os.unlink(self.dir + "/" + part)
        os.replace(old, self.dir + "/db")
        self.start()

    def shell(self, lines):
        """The answers of the program itself, as pairs."""
        done = subprocess.run(
            [USHER, "-s", self.store, "shell"],
            input="".join(line + "\n" for line in lines).encode("latin-1"),
            stdout=subprocess.PIPE,
            check=True,
        )
        return [
            json.loads(line, object_pairs_hook=Map) for line in done.stdout.decode().splitlines()
        ]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and self.process.poll() is None:
            self.stop()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        subprocess.run(["rm", "-rf", self.dir], check=False)


def _listens(path):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


@contextlib.contextmanager
def own_redis():
    """The store of a Redis server of our own; None: there is no Redis here."""
    program = os.environ.get("USHER_REDIS_SERVER") or shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="usher-redis.") as where:
        os.symlink(program, where + "/redis-server")
        redis = subprocess.Popen(
            [where + "/redis-server", "--port", "0", "--unixsocket", where + "/s", "--save", "", "--dir", where],
            stdout=subprocess.DEVNULL,
        )
        try:
            while not _listens(where + "/s"):
                assert redis.poll() is None
                time.sleep(0.01)
            yield "redis+unix://" + where + "/s"
        finally:
            redis.kill()
            redis.wait()


def redis_process(url):
    """The process of the server of own_redis()."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(url.split("://")[1])
        s.sendall(b"INFO server\r\n")
        return int(re.search(rb"process_id:(\d+)", s.recv(1 << 16))[1])


def run(module):
    for name, function in list(module.items()):
        if callable(function) and function.__module__ == "__main__" and not name.startswith("_"):
            print("== " + name.replace("_", " "), flush=True)
            function()
