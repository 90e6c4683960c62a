#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""try.py -- calls through Kamailio, each with a number of a pool, and what must be true of them.

    python3 try.py [--store=URL] [--calls=N] [--rate=N] [--hold=MS] [--numbers=N]
                   [--lease=MS] [WHAT...]

    load      so many calls: no number is in two at a time, and none is left over
    long      calls longer than the lease: they keep their numbers
    killed    Kamailio is killed with calls up: after the lease all numbers are free
    stopped   Redis stands still for 2 seconds during calls: as load, and nobody waits for longer

All of it without WHAT.  The store is a URL, or "sqlite" or "redis", a file or a server of our own:
one after the other without --store.  `stopped' is of "redis" alone.  Needs kamailio with its Lua module, sipp, and usher.so for
Lua (LUA_CPATH) or a compiler.  Ports are free ones of 127.0.0.1.
"""
import argparse, json, os, shutil, signal, socket, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
USHER = os.environ.get("USHER", "usher")
DEADLINE = 400  # ms, of calls.lua


def fail(text):
    raise AssertionError(text)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, true, seconds=30.0):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            fail("not within %g s: %s" % (seconds, what))
        time.sleep(0.02)


class Process:
    """A program of ours and those that it starts; gone with us."""

    def __init__(self, log, *words, **more):
        self.log = log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          start_new_session=True, **more)

    def end(self, how=signal.SIGTERM):
        try:
            os.killpg(self.child.pid, how)
        except ProcessLookupError:
            pass
        return self.child.wait()

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()


class World:
    def __init__(self, options, store):
        self.o, self.dir, self.all = options, tempfile.mkdtemp(prefix="usher-kamailio."), []
        self.redis = None
        if store == "redis":
            self.start_redis()
        else:
            self.store = "sqlite:%s/calls.db" % self.dir if store == "sqlite" else store
        self.lua = os.environ.get("LUA_CPATH") or self.compiled()
        self.run = 0
        self.usher("set", "lease=%d" % options.lease)
        with open(self.dir + "/numbers", "w") as numbers:
            numbers.writelines("%d\n" % (5550000 + i) for i in range(options.numbers))
        self.usher("import", self.dir + "/numbers", "up=1")

    def start(self, name, *words, **more):
        self.all.append(Process("%s/%s.log" % (self.dir, name), *words, **more))
        return self.all[-1]

    def start_redis(self):
        server = shutil.which("redis-server") or shutil.which("redis-check-rdb") or fail("no redis-server")
        os.symlink(server, self.dir + "/redis-server")
        path = self.dir + "/redis.sock"
        self.redis = self.start("redis", self.dir + "/redis-server", "--port", "0", "--unixsocket", path,
                                "--save", "", "--dir", self.dir)
        until("Redis is there", lambda: os.path.exists(path))
        self.store = "redis+unix://" + path

    def compiled(self):
        flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "usher", "lua5.1"], text=True).split()
        subprocess.check_call(["cc", "-shared", "-fPIC", HERE + "/lua_usher.c", *flags, "-o", self.dir + "/usher.so"])
        return self.dir + "/?.so"

    def usher(self, verb, *words):
        done = subprocess.run([USHER, "-s", self.store, "--json", "number", verb, "sales", *words],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode > 1:
            fail("number %s: %s" % (verb, done.stdout))
        return json.loads(done.stdout.splitlines()[-1])

    def busy(self):
        stats = self.usher("stats")
        return stats["busy_up"] + stats["busy_down"]

    def kamailio(self):
        self.proxy, self.callee_port = free_port(), free_port()
        env = dict(os.environ, USHER_STORE=self.store, USHER_NEXT="127.0.0.1:%d" % self.callee_port,
                   USHER_LEASE=str(self.o.lease), LUA_CPATH=self.lua)
        self.run += 1
        os.mkdir("%s/run%d" % (self.dir, self.run))
        self.sip = self.start("kamailio%d" % self.run, "kamailio", "-DD", "-E", "-f", HERE + "/kamailio.cfg", "-n", "4",
                              "-l", "udp:127.0.0.1:%d" % self.proxy, "-w", HERE, "-m", "32", "-M", "8",
                              "-Y", "%s/run%d" % (self.dir, self.run), env=env)
        until("Kamailio answers: " + self.sip.said()[-300:], lambda: self.options(0.5) is not None)

    def options(self, seconds):
        """How long an answer takes that needs no number; None: it does not come in time."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            s.settimeout(seconds)
            me, mark = "127.0.0.1:%d" % s.getsockname()[1], os.urandom(8).hex()
            begin = time.monotonic()
            s.sendto(("OPTIONS sip:127.0.0.1:%d SIP/2.0\r\nVia: SIP/2.0/UDP %s;branch=z9hG4bK%s\r\n"
                      "From: <sip:try@%s>;tag=1\r\nTo: <sip:127.0.0.1>\r\nCall-ID: %s\r\nCSeq: 1 OPTIONS\r\n"
                      "Max-Forwards: 9\r\nContent-Length: 0\r\n\r\n" % (self.proxy, me, mark, me, mark)).encode(),
                     ("127.0.0.1", self.proxy))
            try:
                s.recv(2000)
            except OSError:
                return None
            return time.monotonic() - begin

    def sipp(self, who, port, *words):
        name = "%s%d" % (who, self.run)
        return self.start(name, "sipp", "-sf", "%s/%s.xml" % (HERE, who), "-i", "127.0.0.1", "-p", str(port), "-nostdin",
                          "-trace_logs", "-log_file", "%s/%s.calls" % (self.dir, name),
                          "-trace_err", "-error_file", "%s/%s.errors" % (self.dir, name), *words, cwd=self.dir)

    def calls(self, n, rate, hold):
        self.kamailio()
        self.sipp("callee", self.callee_port)
        time.sleep(0.3)  # it binds its port
        return self.sipp("caller", free_port(), "127.0.0.1:%d" % self.proxy, "-m", str(n), "-r", str(rate), "-d", str(hold),
                         "-l", "100000")

    def log_of(self, who):
        try:
            with open("%s/%s%d.calls" % (self.dir, who, self.run)) as log:
                return [line.split() for line in log if line.split()[0:1] and line.split()[0] in ("begin", "end", "refused")]
        except FileNotFoundError:
            return []

    def judge(self, n=None):
        """What both logs say.  The caller's is in order: from its begin to its end a call has its number for sure."""
        has, of, began, refused = {}, {}, 0, 0
        for what, call, number in self.log_of("caller"):
            if what == "begin":
                if number in has:
                    fail("number %s is in %s and in %s" % (number, has[number], call))
                has[number], of[call], began = call, number, began + 1
            elif what == "end":
                if has.pop(number, None) != call:
                    fail("number %s was not that of %s" % (number, call))
            else:
                refused += 1
        for what, call, number in self.log_of("callee"):
            if what == "begin" and of.get(call, number) != number:
                fail("%s has %s to the callee and %s to the caller" % (call, number, of[call]))
        if n is not None and began + refused != n:
            fail("%d calls and %d refused of %d" % (began, refused, n))
        return began, refused

    def over(self, caller):
        rc = caller.child.wait(timeout=300)
        if rc != 0:
            fail("sipp ended with %d: %s" % (rc, caller.said()[-2000:]))

    def close(self, keep):
        for process in reversed(self.all):
            process.end(signal.SIGKILL)
        if not keep:
            shutil.rmtree(self.dir)
        else:
            print("logs: " + self.dir)


def load(w):
    o = w.o
    caller = w.calls(o.calls, o.rate, o.hold)
    w.over(caller)
    began, refused = w.judge(o.calls)
    until("all numbers are free", lambda: w.busy() == 0, 2)
    w.sip.end()
    return "%d calls, %d refused" % (began, refused)


def long(w):
    lease = w.o.lease
    caller = w.calls(20, 100, 2 * lease)
    until("20 calls are up", lambda: w.judge()[0] == 20)
    tokens = {row["number"]: row["token"] for row in w.usher("list", "state=busy")["numbers"]}
    time.sleep(1.5 * lease / 1000)
    after = {row["number"]: row["token"] for row in w.usher("list", "state=busy")["numbers"]}
    if after != tokens or len(tokens) != 20:
        fail("%d held %d ms later, of %d" % (len(after), 1.5 * lease, len(tokens)))
    w.over(caller)
    until("all numbers are free", lambda: w.busy() == 0, 2)
    w.sip.end()
    return "20 calls of %d ms under a lease of %d ms" % (2 * lease, lease)


def killed(w):
    caller = w.calls(60, 60, 60000)
    until("60 calls are up", lambda: w.judge()[0] == 60)
    if w.busy() != 60:
        fail("%d numbers are held" % w.busy())
    w.sip.end(signal.SIGKILL)
    begin = time.monotonic()
    until("all numbers are back", lambda: w.busy() == 0, w.o.lease / 1000 + 2)
    caller.end(signal.SIGKILL)
    return "60 numbers back %.1f s after Kamailio was killed, with a lease of %d ms" % (time.monotonic() - begin, w.o.lease)


def stopped(w):
    if w.redis is None:
        return "not with this store"
    caller = w.calls(8 * w.o.rate, w.o.rate, 1000)
    until("calls are up", lambda: w.judge()[0] >= w.o.rate)
    os.kill(w.redis.child.pid, signal.SIGSTOP)
    worst, end = 0.0, time.monotonic() + 2
    try:
        while time.monotonic() < end:
            worst = max(worst, w.options(10) or 10)
            time.sleep(0.02)
    finally:
        os.kill(w.redis.child.pid, signal.SIGCONT)
    w.over(caller)
    began, refused = w.judge(8 * w.o.rate)
    until("all numbers are free", lambda: w.busy() == 0, 10)  # what was not told meanwhile
    w.sip.end()
    if worst > 2.5 * DEADLINE / 1000:
        fail("an answer that needs no number took %.0f ms" % (1000 * worst))
    return "%d calls, %d refused; meanwhile what needs no number is answered within %.0f ms" % (began, refused, 1000 * worst)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--store", help="URL, sqlite or redis")
    p.add_argument("--calls", type=int, default=2000)
    p.add_argument("--rate", type=int, default=50, help="calls a second")
    p.add_argument("--hold", type=int, default=2000, help="ms")
    p.add_argument("--numbers", type=int, default=80)
    p.add_argument("--lease", type=int, default=3000, help="ms")
    p.add_argument("--keep", action="store_true", help="keep the logs")
    p.add_argument("what", nargs="*")
    o = p.parse_args()
    known = {"load": load, "long": long, "killed": killed, "stopped": stopped}
    for name in o.what:
        if name not in known:
            p.error("there are " + ", ".join(known))
    worst = 0
    for store in [o.store] if o.store else ["sqlite", "redis"]:
        for name in o.what or known:
            w, ok = None, False
            try:
                w = World(o, store)
                said, ok = known[name](w), True
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                said, worst = "WRONG: %s" % error, 1
            finally:
                if w:
                    w.close(o.keep or not ok)
            print("%-7s %-8s %s" % (store, name, said), flush=True)
    return worst


sys.exit(main())
