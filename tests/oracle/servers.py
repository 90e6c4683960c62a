# SPDX-License-Identifier: MIT
"""Redis servers on free loopback ports, a small client of their protocol, and a cable.

A server is stopped by its process id; it dies with this program even if that is killed.
A cable is a port that forwards to a server and can be plugged into another one.
"""

import ctypes
import os
import random
import selectors
import shutil
import signal
import socket
import subprocess
import threading
import time

PATIENCE = 120  # seconds until a condition that has to come is given up


class Absent(Exception):
    """The machine has no Redis server."""


class Refused(Exception):
    """The server answered with an error."""


def wait_for(what, condition, patience=PATIENCE):
    """Return the first true value of @condition; fail after @patience seconds."""
    until = time.monotonic() + patience
    while True:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        if time.monotonic() > until:
            raise TimeoutError("waited %d seconds for: %s" % (patience, what))
        time.sleep(0.01)


PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # found before a fork


def die_with_parent():
    """In a child: be killed when the thread that started it ends (Linux alone)."""
    if PRCTL is not None:
        PRCTL(1, signal.SIGKILL)


def free_port():
    """Return a port that nothing listens on, and whose bus port is free as well."""
    while True:
        port = random.SystemRandom().randrange(15000, 32000)
        try:
            for p in (port, port + 10000):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", p))
            return port
        except OSError:
            continue


def program():
    named = os.environ.get("USHER_REDIS_SERVER")
    found = named or shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if not found or not os.access(found, os.X_OK):
        raise Absent("no Redis server: USHER_REDIS_SERVER is not set to a program, and neither "
                     "redis-server nor redis-check-rdb is in PATH")
    return found


class Wire:
    """A connection that speaks Redis' protocol."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))

    def receive(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == b"-1":
                return None
            return self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.receive() for _ in range(int(rest))]
        raise ConnectionError("no answer of Redis: %r" % line)

    def ask(self, *words):
        self.send(*words)
        return self.receive()

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    """One server in a directory of its own under @where."""

    def __init__(self, where, *settings):
        self.program = os.path.join(where, "redis-server")  # the name decides what it does
        if not os.path.islink(self.program):
            os.symlink(os.path.abspath(program()), self.program)
        self.port = free_port()
        self.dir = os.path.join(where, str(self.port))
        os.mkdir(self.dir)
        self.settings = list(settings)
        self.process = None
        self.stopped = False
        self.wire = None

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def start(self, *settings):
        """Start it with what is on its disk, and wait until it has loaded that."""
        if "--appendonly" not in settings:
            self.remove("append")
        words = [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.dir,
                 "--save", "", "--repl-diskless-sync-delay", "0"]
        log = open(self.path("log"), "ab")
        self.process = subprocess.Popen(words + self.settings + list(settings), stdout=log,
                                        stderr=log, stdin=subprocess.DEVNULL, cwd=self.dir,
                                        preexec_fn=die_with_parent)
        log.close()
        wait_for("the server on port %d" % self.port, self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            with open(self.path("log"), "rb") as log:
                raise RuntimeError("a server ended: " + log.read()[-600:].decode(errors="replace"))
        try:
            return self.ask("PING") == "PONG"
        except Refused:
            return False

    def ask(self, *words):
        """Ask on a standing connection; open a new one if that is gone."""
        for last in (False, True):
            try:
                if self.wire is None:
                    self.wire = Wire(self.port)
                return self.wire.ask(*words)
            except (OSError, ValueError):
                self.drop_wire()
                if last:
                    raise

    def drop_wire(self):
        if self.wire is not None:
            self.wire.close()
        self.wire = None

    def info(self, key, section="replication"):
        for line in self.ask("INFO", section).decode().splitlines():
            if line.startswith(key + ":"):
                return line.split(":", 1)[1]
        return ""

    def has_all_of(self, master):
        """Return whether this replica has what @master had written when this was called.

        A replica that has just copied its master gets nothing more for up to a second.
        """
        written = int(master.info("master_repl_offset"))
        wait_for("a replica to catch up", lambda: int(self.info("slave_repl_offset") or -1) >=
                 written or self.info("role") == "master")
        return self.info("master_link_status") == "up"

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def kill(self):
        """SIGKILL, and forget what is not on the disk."""
        self.process.kill()
        self.process.wait()
        self.stopped = False
        self.drop_wire()

    def end(self):
        if self.is_alive():
            self.kill()

    def remove(self, begins):
        """Remove what it has written under such names."""
        for name in os.listdir(self.dir):
            if name.startswith(begins):
                path = self.path(name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def slot_of(name):
    return crc16(name.encode()) % 16384


class Cluster:
    """Masters and as many replicas; each master has an equal share of the slots."""

    def __init__(self, where, masters=3):
        settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1500",
                    "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration",
                    "no")
        self.masters = masters
        self.nodes = [Server(where, *settings) for _ in range(2 * masters)]

    def start(self):
        for node in self.nodes:
            node.start()
        first = self.nodes[0]
        for i in range(self.masters):
            self.nodes[i].ask("CLUSTER", "ADDSLOTS", *range(*self.range_of(i)))
            self.nodes[i].ask("CLUSTER", "SET-CONFIG-EPOCH", str(i + 1))
        for node in self.nodes[1:]:
            node.ask("CLUSTER", "MEET", "127.0.0.1", first.port)
        wait_for("all nodes to meet", lambda: all(len(self.seen_by(n)) == len(self.nodes)
                                                  for n in self.nodes))
        for i, node in enumerate(self.nodes[self.masters:]):
            node.ask("CLUSTER", "REPLICATE", self.nodes[i].ask("CLUSTER", "MYID"))
        self.wait_whole()

    def range_of(self, i):
        return 16384 * i // self.masters, 16384 * (i + 1) // self.masters

    def seen_by(self, node):
        return [line.split() for line in node.ask("CLUSTER", "NODES").decode().splitlines()
                if "handshake" not in line and "noaddr" not in line]

    def owners(self, node):
        """Return which node serves which slots, as @node sees it."""
        return sorted((words[0], " ".join(w for w in words[8:] if not w.startswith("[")))
                      for words in self.seen_by(node) if len(words) > 8 and "fail" not in words[2])

    def is_whole(self):
        """Every node runs, all agree, and each master that has slots has its replica."""
        views = []
        for node in self.nodes:
            if b"cluster_state:ok" not in node.ask("CLUSTER", "INFO"):
                return False
            if any("fail" in words[2] for words in self.seen_by(node)):
                return False
            views.append(self.owners(node))
        masters = [node for node in self.nodes if node.info("role") == "master"]
        if len(masters) != self.masters or any(view != views[0] for view in views) or \
                len(views[0]) != self.masters:
            return False
        replicas = [self.replica_of(master) for master in masters]
        return None not in replicas and all(r.has_all_of(m) for r, m in zip(replicas, masters))

    def wait_whole(self):
        wait_for("the cluster to be whole", self.is_whole)

    def master_of(self, slot):
        """Return the node that says that @slot is its own."""
        for node in self.nodes:
            if not node.is_alive() or node.stopped:
                continue
            for words in self.seen_by(node):
                if "myself" in words[2] and "master" in words[2]:
                    for span in words[8:]:
                        if not span.startswith("["):
                            low, _, high = span.partition("-")
                            if int(low) <= slot <= int(high or low):
                                return node
        return None

    def replica_of(self, master):
        for node in self.nodes:
            if node is not master and node.is_alive() and not node.stopped and \
                    node.info("master_port") == str(master.port):
                return node
        return None

    def end(self):
        for node in self.nodes:
            node.end()


class Cable:
    """A port that forwards each connection to the port that it is plugged into."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = None
        self.pairs = {}
        self.lock = threading.Lock()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.forward, daemon=True)
        self.thread.start()

    def plug(self, server):
        """Cut what is connected, and connect to @server from now on; None: to none."""
        with self.lock:
            self.target = server.port if server is not None else None
            for s in list(self.pairs):
                self.cut(s)

    def cut(self, s):
        for end in (s, self.pairs.pop(s, None)):
            if end is None:
                continue
            self.pairs.pop(end, None)
            try:
                self.selector.unregister(end)
            except (KeyError, ValueError):
                pass
            end.close()

    def accept(self):
        client, _ = self.listener.accept()
        try:
            if self.target is None:
                raise OSError("not plugged in")
            server = socket.create_connection(("127.0.0.1", self.target), 5)
        except OSError:
            client.close()
            return
        for s, other in ((client, server), (server, client)):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.settimeout(20)
            self.pairs[s] = other
            self.selector.register(s, selectors.EVENT_READ)

    def forward(self):
        while True:
            for key, _ in self.selector.select(0.2):
                with self.lock:
                    self.serve(key.fileobj)

    def serve(self, s):
        if s is self.listener:
            self.accept()
            return
        if s not in self.pairs:
            return
        try:
            data = s.recv(1 << 16)
            if data:
                self.pairs[s].sendall(data)
                return
        except OSError:
            pass
        self.cut(s)
