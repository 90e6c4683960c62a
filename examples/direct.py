#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""direct.py -- numbers and a queue of a Redis store by direct calls of the scripts: no library, no server of usher's.

    python3 direct.py HOST:PORT        a single server, or any node of a cluster
    python3 direct.py /run/redis.sock

$USHER prints the scripts, else `usher'.  With json 1 the answer is the JSON that `usher --json` prints.  Any client of
Redis does what the few lines of Redis do here: SCRIPT LOAD, and EVALSHA with the three keys of the scope.
"""
import json, os, socket, subprocess, sys

class Redis:
    """One server: commands and answers, as they are on the wire."""

    def __init__(self, address):
        if "/" in address:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address)
        else:
            host, _, port = address.rpartition(":")
            self.socket = socket.create_connection((host.strip("[]"), int(port)))
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if rest != b"-1" else None
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"-":
            return RuntimeError(rest.decode())
        return int(rest) if kind == b":" else rest

class Usher:
    """Calls on any scope; in a cluster at the node that has it."""

    def __init__(self, address):
        self.first, self.servers, self.nodes, self.scripts = address, {}, {}, {}

    def call(self, noun, verb, scope, *words, **pairs):
        if noun not in self.scripts:
            program = os.environ.get("USHER", "usher")
            text = subprocess.run([program, "lua", noun], stdout=subprocess.PIPE, check=True).stdout
            self.scripts[noun] = [text, None]
        script = self.scripts[noun]
        key = "{%s}:%s" % (scope, noun)
        words = [verb, *words] + [w for pair in pairs.items() for w in pair] + ["json", 1]
        ask = False
        while True:
            node = ask or self.nodes.get(scope, self.first)
            if node not in self.servers:
                self.servers[node] = Redis(node)
            server = self.servers[node]
            if ask:
                server.send("ASKING")
                server.read()
            # the name of the script is not known before it has been loaded once
            if script[1] is None:
                server.send("SCRIPT", "LOAD", script[0])
                script[1] = self.good(server.read())
                continue
            server.send("EVALSHA", script[1], 3, key, key + ":index", key + ":held", *words)
            answer, ask = server.read(), False
            error = str(answer).split(" ") if isinstance(answer, RuntimeError) else [""]
            if error[0] == "NOSCRIPT":  # it was started again, or is another one: nothing was done
                server.send("SCRIPT", "LOAD", script[0])
                self.good(server.read())
            elif error[0] == "MOVED":  # MOVED SLOT HOST:PORT
                self.nodes[scope] = error[2]
            elif error[0] == "ASK":
                ask = error[2]
            else:
                return json.loads(self.good(answer))

    @staticmethod
    def good(answer):
        if isinstance(answer, RuntimeError):
            raise answer
        return answer

usher = Usher(sys.argv[1])
number = lambda verb, *words, **pairs: usher.call("number", verb, "sales", *words, **pairs)
print("pool:", number("set", lease=60000)["status"], number("add", 5550100)["status"], number("reg", 5550100)["status"])
call = number("call", owner="call-17")
print("call-17:", call["number"])
print("call-18:", number("call", owner="call-18")["why"])
for _ in range(2):  # the holder of the token ends the hold, and nothing else does
    print("hangup:", number("hangup", 5550100, token=call["token"])["status"])
usher.call("queue", "login", "desk", "ann")
print("zoe:", usher.call("queue", "apply", "desk", "zoe")["agent"])
print(number("call", lease="soon")["message"])
