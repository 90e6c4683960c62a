#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py -- numbers and a queue from `usher serve`, by a socket and nothing else.

    usher -s sqlite:calls.db serve --listen=unix:usher.sock &
    python3 serve.py usher.sock

Any client of Redis will do; this shows how little is needed: a command is an array of words, an
answer the map that `usher --json` prints.  Commands that are sent together are done together.
"""
import socket, sys

class Usher:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.ask("HELLO", 3)  # answers are maps

    def send(self, *words):
        words = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def read(self):
        line = self.file.readline()
        if not line:
            raise EOFError("usher serve has ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2].decode()
        if kind in b"*>":
            return [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        if kind == b"-":
            raise RuntimeError(rest.decode())  # nothing was done, but for UNKNOWN: it may have been
        return {b":": int, b"#": lambda b: b == b"t", b"_": lambda _: None}.get(kind, bytes.decode)(rest)

    def ask(self, *words):
        self.send(*words)
        return self.read()

    def all(self, *commands):  # one round trip, one transaction
        for words in commands:
            self.send(*words)
        return [self.read() for _ in commands]

usher = Usher(sys.argv[1])
made = usher.all(("number", "set", "sales", "lease", "60s"), ("number", "add", "sales", "5550100"),
                 ("number", "reg", "sales", "5550100"))
print("pool:", *(answer["status"] for answer in made))
call = usher.ask("number", "call", "sales", "owner", "call-17")
print("call-17:", call["number"])
print("call-18:", usher.ask("number", "call", "sales", "owner", "call-18")["why"])
for _ in "once", "late":  # who holds the token ends the hold, and nobody else
    print("hangup:", usher.ask("number", "hangup", "sales", call["number"], "token", call["token"])["status"])
usher.all(("queue", "login", "desk", "ann"), ("queue", "apply", "desk", "zoe"))
print("zoe:", usher.ask("queue", "where", "desk", "zoe")["agent"])
try:
    usher.ask("number", "call", "sales", "lease", "soon")
except RuntimeError as error:
    print(error)
