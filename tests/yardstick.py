# SPDX-License-Identifier: MIT
"""The part `json` of tests/yardstick.sh: the answer of every verb, on every store.

    yardstick.py LIBRARY USHER STORE...

The verbs and their arguments come from the tables of LIBRARY, so a new verb or argument has its
lines without a change here.  Each line is executed by `usher shell` on a scope of its own, after
the commands in BEFORE.  It prints "> LINE", the answer of the first store, and those of other
stores that differ.  Epochs, which each store draws by chance, are replaced by E.  The scope is S.
"""
import json
import os
import re
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "api"))
import gen_calls  # noqa: E402

# A scope {s} in use.  A noun without a line here is only tried on scopes that do not exist.
BEFORE = {
    "number": ["add {s} number1 group=group1", "reg {s} number1", "add {s} number2",
               "reg {s} number2", "call {s} owner=owner1 lease=90s node=node1"],
    "queue": ["set {s} offer=20s log=9", "login {s} agent1 lanes=lane1",
              "apply {s} user1 lane=lane1", "apply {s} user2 lane=lane1"],
    "room": ["open {s} ttl=90s", "join {s} member1", "set {s} field1 value1",
             "share {s} member1 share1 value1"],
    "serial": ["rule {s} mode=gapfree log=9", "reserve {s}"],
    "id": ["create {s} log=9", "next {s}"],
}
NOW = 4000000000000  # in 2096: nothing is due at the clock of this machine, which `digest` uses
# Texts that have a form of their own; others are their word and "1".
TEXTS = {"date": "%Y%m", "epoch": "0123456789abcdef", "fields": "other1=value1",
         "lanes": "lane1,lane2", "token": "1", "version": "1"}


class Shell:
    """A store, and `usher shell` on it."""

    def __init__(self, usher, url):
        self.name = url.split(":")[0].split("+")[0]
        self.process = subprocess.Popen([usher, "-s", url, "shell"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def say(self, lines):
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()
        answers = [self.process.stdout.readline() for _ in lines]
        if "" in answers:
            sys.exit(f"{self.name}: the shell ended at: {lines}")
        return [answer.rstrip("\n") for answer in answers]

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit(f"{self.name}: the shell ended with {self.process.returncode}")


def members(value):
    """Each key of a JSON object and of those in it, with its value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


def typical(argument):
    """Values that a command may have.  {WORD} is what an answer had as WORD."""
    kind, word = argument.field.type, argument.field.word
    if word == "if-version":
        return ["{version}", "1"]
    if kind == gen_calls.CODE:
        return [w for w in argument.words if w != "?"]
    if kind == gen_calls.BOOL:
        return [str(n) for n in range(argument.least, argument.most + 1)]
    if kind == gen_calls.TOKEN:
        return ["{token}", "1"]
    if kind == gen_calls.TIME:
        return [str(NOW + 500)]
    if kind == gen_calls.MS:
        return [str(max(argument.least, 70000))]
    if kind in (gen_calls.TEXT, gen_calls.BYTES):
        return ["{" + word + "}"]
    middle = max(argument.least, min(3, argument.most))
    return [str(n) for n in sorted({argument.least, middle, argument.most})]


def wrong(argument):
    kind = argument.field.type
    if kind in (gen_calls.INT, gen_calls.MIN, gen_calls.MS):
        return [str(argument.least - 1), str(argument.most + 1), "'1 x'", "''"]
    if kind in (gen_calls.BOOL, gen_calls.CODE):
        return ["2", "nonsense"]
    if kind in (gen_calls.TOKEN, gen_calls.TIME):
        return ["-1", "1x"]
    return ["''", "x" * 300, r'"\x01"'] + (["zz"] if argument.field.word == "epoch" else [])


class Verb:
    def __init__(self, library, code):
        about = gen_calls.VerbAbout(size=gen_calls.ctypes.sizeof(gen_calls.VerbAbout))
        library.lib.usher_about_verb(code, gen_calls.ctypes.byref(about))
        self.noun, self.word = about.noun.decode(), about.word.decode()
        self.whole = bool(about.flags & gen_calls.WHOLE)
        names = library.listed(lambda i: library.lib.usher_verb_takes(code, i, None))
        self.arguments = [library.argument(code, name) for name in names]
        self.must = [library.must(code, name) for name in names]

    def line(self, change=None, value=None, more=""):
        """With the required arguments, and with @value for the argument @change (None: without)."""
        words = [self.noun, self.word] if self.noun else [self.word]
        if not self.whole:
            words.append("{s}")
        keyed = []
        for argument, must in zip(self.arguments, self.must):
            given = value if argument is change else typical(argument)[0] if must else None
            if given is None:
                continue
            if must and not keyed:
                words.append(given)
            else:
                word = argument.field.word
                keyed.append(given if word == "fields" else f"{word}={given}")
        return " ".join(words + keyed) + more

    def lines(self):
        """Commands to try."""
        yield self.line()
        yield self.line(more=" req=r1")
        for argument, must in zip(self.arguments, self.must):
            if must:
                yield self.line(argument, None)
            for value in typical(argument)[0 if not must else 1:]:
                yield self.line(argument, value)
            for value in wrong(argument):
                yield self.line(argument, value)
        if self.arguments:
            yield self.line(more="".join(f" {a.field.word}={typical(a)[0]}" for a, must in
                                         zip(self.arguments, self.must)
                                         if not must and a.field.word != "fields"))
        yield self.line(more=" nonsense=1")
        yield self.line(more=" wait=x")


def filled(line, scope, told):
    def value(match):
        word = match.group(1)
        if word == "s":
            return scope
        return told.get(word) or TEXTS.get(word) or word + "1"
    return re.sub(r"\{([a-z-]+)\}", value, line)


def masked(answer):
    """Without epochs, also in ids of rooms of queues, and without times of digest, which are real."""
    answer = re.sub(r'("epoch":"|")(?!0{16})[0-9a-f]{16}([".])', r"\1E\2", answer)
    return re.sub(r'"now":1\d{12}\b', '"now":T', answer)


def show(shells, line, before, scope):
    """@line after @before, on the new scope @scope of each store."""
    noun, first = line.split()[0], None
    for shell in shells:
        told = {}
        for answer in shell.say([f"{filled(b, scope, told)} now={NOW}" for b in before]):
            told.update((key, str(value)) for key, value in members(json.loads(answer))
                        if isinstance(value, str) or key == "version")
        text = filled(line, scope, told)
        said = [f"{text} now={NOW + 1000}"]
        if noun in BEFORE and "{s}" in line:
            said.append(f"{noun} digest {scope}")
        answers = [masked(answer) for answer in shell.say(said)]
        if first is None:
            text = text.replace(told.get("epoch", "E"), "E").replace(scope, "S", 1)
            print(f"> {text}")
            first = answers
        elif answers == first:
            continue
        for answer in answers:
            print(f"{shell.name} {answer.replace(scope, 'S')}")


def main(path, usher, *urls):
    library = gen_calls.Library(path)
    shells = [Shell(usher, url) for url in urls]
    verbs, code = [], 0
    while code := library.lib.usher_next_verb(code):
        verbs.append(Verb(library, code))
    for url in urls[1:]:
        print(f"also {url.split(':')[0].split('+')[0]}")

    for verb in verbs:
        before = [f"{verb.noun} {line}" for line in BEFORE.get(verb.noun, [])]
        for line in [verb.line()] if verb.whole else verb.lines():
            show(shells, line, before, f"s{zlib.crc32(line.encode()):08x}")
        if before:
            show(shells, verb.line(), [], "new")
    for shell in shells:
        shell.close()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
