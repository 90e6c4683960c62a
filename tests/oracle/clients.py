# SPDX-License-Identifier: MIT
"""Clients: each is an `usher shell` of its own, with a thread that gives it commands.

A client believes what it is answered and nothing else. A command that got no answer is sent
again as it was (the same owner, token or request id) before the client does anything else.
"""

import json
import random
import select
import subprocess
import threading
import time

from servers import die_with_parent

SILENCE = 120  # seconds: far above the deadline of a command, which the store has to keep
DONE = ("ok", "same")
AGAIN = ("unknown", "unavailable", "nomem")
NO_SCOPE = "0" * 16


class Shell:
    """One process of `usher shell`: a line in, an answer out."""

    def __init__(self, program, url, log):
        self.command = [program, "-s", url, "shell"]
        self.errors = open(log, "ab")
        self.open()

    def open(self):
        self.buffer = b""
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, bufsize=0,
                                        stdout=subprocess.PIPE, stderr=self.errors,
                                        preexec_fn=die_with_parent)

    def ask(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        until = time.monotonic() + SILENCE
        while b"\n" not in self.buffer:
            ready = select.select([self.process.stdout], [], [], until - time.monotonic())[0]
            data = ready and self.process.stdout.read(1 << 16)
            if not data:
                raise RuntimeError("%s: %s" % (line, "the shell ended with %s" % self.process.wait()
                                               if ready else "no answer"))
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(text)

    def reports(self):
        """All that it has written on standard error."""
        with open(self.errors.name, "rb") as log:
            return log.read()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(SILENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Scopes:
    """The names of one scope of each noun: the first that @accepts does."""

    def __init__(self, accepts=lambda name: True):
        for noun in ("pool", "queue", "rule", "bill", "ids", "room"):
            setattr(self, noun, next(name for name in ("%s%d" % (noun, i) for i in range(1000))
                                     if accepts(name)))

    def set_up(self, numbers):
        """Return what an application does at each of its starts; harmless when repeated."""
        lines = ["number set %s lease=0" % self.pool]
        for i in range(numbers):
            lines += ["number add %s %d" % (self.pool, 100 + i),
                      "number reg %s %d" % (self.pool, 100 + i)]
        return lines + [
            "number set %s lease=0" % self.pool,
            "queue set %s ttl=0" % self.queue,
            "serial rule %s prefix=S authority=1 batch=20" % self.rule,
            "serial rule %s prefix=G width=5 mode=gapfree authority=1 lease=36000000" % self.bill,
            "id create %s" % self.ids,
            "room open %s log=5000" % self.room]


class Client(threading.Thread):
    """Gives commands by chance, and remembers what it has."""

    def __init__(self, name, shell, scopes, journal, seed):
        super().__init__(daemon=True)
        self.name, self.shell, self.scopes, self.journal = name, shell, scopes, journal
        self.random = random.Random(seed)
        self.n = 0  # of everything that is numbered
        self.commands = 0
        self.numbers = []  # claims
        self.seats = []
        self.bills = []  # reservations: dicts
        self.done_bills = []  # the last ones confirmed
        self.used = set()  # (rule, serial) of all of them
        self.waiting = None  # a user in a queue, and how often it was looked for
        self.written = {}  # room -> (version, value, epoch) of the last change, None: not known
        self.again = None  # a command that got no answer
        self.bare = False  # the store may be without scopes
        self.failure = None
        self.go, self.idle, self.over = threading.Event(), threading.Event(), False
        self.idle.set()

    # ---- the thread ----

    def run(self):
        try:
            while not self.over:
                if not self.go.is_set() and self.again is None:
                    self.idle.set()
                    self.go.wait()
                    continue
                self.turn()
                # Some hundred commands a second and client; the machine has other work as well.
                time.sleep(self.random.random() * 0.008)
        except Exception as error:  # pylint: disable=broad-except
            self.failure = "%s: %r" % (self.name, error)
        finally:
            self.idle.set()

    def turn(self):
        if self.again is not None:
            line, handler, _ = self.again
            self.do(line, handler)
            return
        action = self.random.choice((
            self.call, self.call, self.renew, self.renew, self.renew, self.hang_up,
            self.visit, self.visit, self.visit, self.bill, self.bill, self.take, self.next_id,
            self.write))
        action(self.random.choice(self.scopes))

    def ask(self, line):
        sent = time.monotonic()
        answer = self.shell.ask(line)
        answered = time.monotonic()
        self.commands += 1
        self.journal.note(self.name, sent, answered, line, answer)
        return answer, sent, answered

    def do(self, line, handler):
        """Send @line; call @handler with the answer when there is one, perhaps in a later turn."""
        maybe = self.again[2] if self.again is not None else False
        answer, sent, answered = self.ask(line)
        status = answer["status"]
        if status in AGAIN:
            # "maybe": an earlier one may have been done, so the answer to a repeat says less
            self.again = (line, handler, maybe or status == "unknown")
            self.journal.count(status)
            return
        self.again = None
        if answer.get("epoch") == NO_SCOPE and self.bare:
            return
        handler(answer, maybe, sent, answered)

    def do_now(self, line, handler):
        """As do(), and go on until there was an answer."""
        self.do(line, handler)
        self.finish_command()

    def finish_command(self):
        until = time.monotonic() + SILENCE
        while self.again is not None:
            self.do(self.again[0], self.again[1])
            if time.monotonic() > until:
                raise TimeoutError("%s: no answer" % (self.again or ("",))[0])

    def other(self, line, answer):
        self.journal.wrong("other", "%s: %s -> %s" % (self.name, line, answer))

    def fresh(self):
        self.n += 1
        return "%s-%d" % (self.name, self.n)

    # ---- numbers ----

    def call(self, scopes):
        if len([c for c in self.numbers if c.scope == scopes.pool]) >= 2:
            self.renew(scopes)
            return
        owner = self.fresh()
        line = "number call %s owner=%s" % (scopes.pool, owner)

        def given(answer, _maybe, sent, answered):
            if answer["status"] in DONE:  # same: the library itself had sent it again
                self.numbers.append(self.journal.begin(
                    "number", scopes.pool, answer["number"], owner, answer["token"], self.name,
                    sent, answered))
            elif answer["status"] != "empty":
                self.other(line, answer)

        self.do(line, given)

    def one_of(self, claims, scope):
        mine = [c for c in claims if c.scope == scope]
        return self.random.choice(mine) if mine else None

    def renew(self, scopes):
        claim = self.one_of(self.numbers, scopes.pool)
        if claim is not None:
            self.do("number renew %s %s token=%s" % (claim.scope, claim.thing, claim.token),
                    lambda *args: self.shown(claim, False, *args))

    def hang_up(self, scopes):
        claim = self.one_of(self.numbers, scopes.pool)
        if claim is not None:
            self.numbers.remove(claim)
            claim.ended = time.monotonic()
            self.do("number hangup %s %s token=%s" % (claim.scope, claim.thing, claim.token),
                    lambda *args: self.shown(claim, True, *args))

    def shown(self, claim, ending, answer, maybe, sent, answered):
        """@claim's token was shown, by the command that ends it if @ending."""
        status = answer["status"]
        if status in DONE:
            claim.served.append(sent)
        elif status == "lost":
            if not (ending and maybe):
                self.check_lost(claim)
            self.journal.lost(claim, answered)
        elif not (ending and maybe):
            self.journal.wrong("vanished", "%s: %s" % (claim, answer))
        if ending or status not in DONE:
            claim.ended = claim.ended or answered
            claim.end = claim.end or "over"
            if claim in self.numbers:
                self.numbers.remove(claim)
        if status == "lost" and not ending and not self.idle.is_set() and \
                self.random.random() < 0.5:
            self.take_back(claim, None)

    def has(self, claim):
        """Return whether the store has @claim, by its token, and what it answered."""
        if claim.kind == "number":
            line = "number show %s %s" % (claim.scope, claim.thing)
        else:
            line = "queue where %s %s" % (claim.scope, claim.owner)
        answer = self.definite(line)
        return answer.get("token") == claim.token, answer

    def definite(self, line):
        """Return an answer that is one; the servers are there, or will be."""
        until = time.monotonic() + SILENCE
        while True:
            answer = self.ask(line)[0]
            if answer["status"] not in AGAIN:
                return answer
            if time.monotonic() > until:
                raise TimeoutError("%s: still %s" % (line, answer))

    def check_lost(self, claim):
        """@claim was answered as lost: the store must not have it, before or after being asked."""
        had, answer = self.has(claim)
        if had:
            self.journal.wrong("false", "%s is lost, but: %s" % (claim, answer))

    # ---- seats ----

    def visit(self, scopes):
        seat = self.one_of(self.seats, scopes.queue)
        if seat is not None:
            if self.random.random() < 0.4:
                self.finish(seat)
        elif self.waiting is None:
            self.apply(scopes.queue)
        else:
            self.look(*self.waiting)

    def apply(self, queue):
        user = self.fresh()
        line = "queue apply %s %s" % (queue, user)

        def placed(answer, _maybe, sent, answered):
            if answer.get("place") == "room":
                self.sit(queue, user, answer, sent, answered)
            elif answer.get("place") == "queue":
                self.waiting = (queue, user, 0)
            elif answer["status"] != "empty":
                self.other(line, answer)

        self.do(line, placed)

    def sit(self, queue, user, answer, sent, answered):
        self.waiting = None
        seat = self.journal.begin("seat", queue, answer["agent"], user, answer["token"], self.name,
                                  sent, answered)
        seat.room = answer["room"]
        self.seats.append(seat)

    def look(self, queue, user, times):
        if times > 6:
            self.waiting = None
            self.do("queue leave %s %s" % (queue, user), lambda *args: None)
            return
        line = "queue where %s %s" % (queue, user)

        def found(answer, _maybe, sent, answered):
            if answer.get("place") == "room":
                self.sit(queue, user, answer, sent, answered)
            elif answer.get("place") == "queue":
                self.waiting = (queue, user, times + 1)
            else:
                self.waiting = None
                if not self.journal.losing:
                    self.other(line, answer)

        self.do(line, found)

    def finish(self, seat):
        self.seats.remove(seat)
        seat.ended = time.monotonic()
        self.do("queue finish %s %s token=%s" % (seat.scope, seat.room, seat.token),
                lambda *args: self.shown(seat, True, *args))

    # ---- serials and ids, granted by an authority ----

    def take(self, scopes):
        line = "serial take %s n=%d req=%s" % (scopes.rule, self.random.randint(1, 3), self.fresh())

        def taken(answer, _maybe, _sent, _answered):
            for serial in answer.get("serials", ()):
                self.journal.once(scopes.rule, serial, line)
            if answer["status"] != "ok":
                self.other(line, answer)

        self.do(line, taken)

    def next_id(self, scopes):
        line = "id next %s n=%d req=%s" % (scopes.ids, self.random.randint(1, 3), self.fresh())

        def given(answer, _maybe, _sent, _answered):
            if answer["status"] != "ok":
                self.other(line, answer)
                return
            # After an old copy was written over a file, no journal has the ids that come twice.
            for i in range(int(answer["n"]) if self.journal.life == 0 else 0):
                self.journal.once(scopes.ids, int(answer["first"]) + i * int(answer["by"]), line)

        self.do(line, given)

    # ---- gap-free numbers: an owner is a client, which asks again under its name ----

    def bill(self, scopes):
        mine = [b for b in self.bills if b["rule"] == scopes.bill]
        if not mine or self.random.random() < 0.15:
            self.reserve(scopes.bill)
        else:
            bill = self.random.choice(mine)
            self.settle(bill, self.random.choice(("confirm", "confirm", "confirm", "return",
                                                  "void")))

    def reserve(self, rule):
        line = "serial reserve %s owner=%s" % (rule, self.name)
        if self.random.random() < 0.3:
            line += " lease=300"  # it may end; once it is in doubt, no clock ends it

        def reserved(answer, maybe, sent, _answered):
            if answer["status"] not in DONE:
                self.other(line, answer)
                return
            serial, token = answer["serial"], answer["token"]
            new = answer["status"] == "ok" and answer.get("why") != "renewed"
            if not new and (rule, serial) in self.used:
                self.journal.wrong("again", "%s: `same' with %s, which it has confirmed" % (
                    line, serial))
            if not any(b["serial"] == serial and b["token"] == token for b in self.bills):
                bill = {"rule": rule, "serial": serial, "token": token, "until": answer["until"],
                        "document": "%s-document-%d" % (self.name, self.n)}
                self.n += 1
                if new:
                    self.journal.unique(rule, token, bill["document"])
                if maybe or self.has_ended(bill) or self.journal.is_apart(sent):
                    self.journal.uncertain.add((rule, serial))
                self.bills.append(bill)

        self.do(line, reserved)

    def settle(self, bill, verb):
        """Confirm, return or void @bill; each with its token."""
        if bill in self.bills:
            self.bills.remove(bill)
        line = "serial %s %s %s token=%s" % (verb, bill["rule"], bill["serial"], bill["token"])

        def settled(answer, maybe, sent, _answered):
            status = answer["status"]
            # the end of its lease was lost, and perhaps what others did with the number then
            late = status in DONE and self.journal.losing and self.has_ended(bill)
            if maybe or status == "same" or late or self.journal.is_apart(sent):
                self.journal.uncertain.add((bill["rule"], bill["serial"]))
            if status in DONE:
                if verb == "confirm":
                    self.journal.confirm(bill["rule"], bill["serial"], bill["document"])
                    self.done_bills = self.done_bills[-5:] + [bill]
                    self.used.add((bill["rule"], bill["serial"]))
            elif status == "lost":
                self.journal.count("lost reservations")  # perhaps by a fault some time ago
                now = self.definite("serial show %s %s" % (bill["rule"], bill["serial"]))
                if now.get("token") == bill["token"] and not maybe and \
                        now.get("state") in ("held", "doubt"):
                    self.journal.wrong("false", "%s -> lost, but: %s" % (line, now))
            elif not maybe and not self.has_ended(bill):
                self.journal.wrong("vanished", "%s -> %s" % (line, answer))

        self.do(line, settled)

    @staticmethod
    def has_ended(bill):
        return 0 < (bill["until"] or 0) <= time.time() * 1000

    def confirm_again(self):
        """Before the books are closed, what was confirmed is confirmed once more."""
        for bill in self.done_bills:
            answer = self.definite("serial confirm %s %s token=%s" % (
                bill["rule"], bill["serial"], bill["token"]))
            if answer["status"] in DONE:
                self.journal.confirm(bill["rule"], bill["serial"], bill["document"])
            elif answer["status"] != "lost" and \
                    len(self.journal.confirmed[bill["rule"], bill["serial"]]) == 1:
                self.journal.wrong("vanished", "confirmed %s -> %s" % (bill, answer))
        self.done_bills = []

    # ---- rooms: each client has a field of its own ----

    def write(self, scopes):
        value = self.fresh()
        line = "room set %s %s %s" % (scopes.room, self.name, value)
        self.written[scopes.room] = None

        def set_(answer, maybe, _sent, _answered):
            if answer["status"] == "ok":
                self.journal.unique(scopes.room, answer["version"], line)
                self.written[scopes.room] = None if maybe else (answer["version"], value,
                                                                 answer["epoch"])
            elif answer["status"] != "same":
                self.other(line, answer)

        self.do(line, set_)

    # ---- while all are parked ----

    def show_everything(self):
        """Each claim is shown: served if the store has it, else lost."""
        for claim in list(self.numbers):
            self.show(claim, "number renew %s %s token=%s" % (claim.scope, claim.thing,
                                                              claim.token), False)
        for seat in list(self.seats):
            if not self.has(seat)[0] or self.random.random() < 0.5:
                self.seats.remove(seat)
                seat.ended = time.monotonic()
                self.show(seat, "queue finish %s %s token=%s" % (seat.scope, seat.room,
                                                                 seat.token), True)
        for bill in list(self.bills):
            if self.random.random() < 0.3:
                self.settle(bill, "confirm")
                self.finish_command()
        if self.random.random() < 0.5:
            self.confirm_again()
        for room, last in self.written.items():
            if last is not None:
                self.show_version(room, *last)

    def show(self, claim, line, ending):
        had, answer = self.has(claim)
        self.do_now(line, lambda *args: self.shown(claim, ending, *args))
        if had and claim.end == "lost" or not had and claim.end != "lost":
            self.journal.wrong("false" if had else "vanished", "%s is %s; the store has: %s" % (
                claim, claim.end or "served", answer))
        if claim.end == "lost" and claim.kind == "number":
            self.take_back(claim, self.has(claim)[1])
            self.finish_command()

    def take_back(self, claim, now):
        """A call that names its owner gets its number back if that is free.

        @now is what `number show` answered while all are parked, None when others are at work.
        """
        line = "number renew %s %s token=%s owner=%s" % (claim.scope, claim.thing, claim.token,
                                                         claim.owner)
        free = now is not None and now.get("state") == "idle+up"

        def renewed(answer, _maybe, sent, answered):
            if answer["status"] in DONE:
                self.journal.count("taken back")
                if now is not None and not free:
                    self.journal.wrong("both", "%s -> %s, though: %s" % (line, answer, now))
                self.numbers.append(self.journal.begin(
                    "number", claim.scope, claim.thing, claim.owner, answer["token"], self.name,
                    sent, answered))
            elif answer["status"] != "lost" or free:
                self.other(line, answer)

        self.do(line, renewed)

    def show_version(self, room, version, value, epoch):
        """A follower at @version; that of a room which was made again since then is stale."""
        has = self.definite("room get %s %s" % (room, self.name))
        status = self.definite("room changes %s since=%s max=1" % (room, version))["status"]
        if has.get("value") == value:
            right = status in ("ok", "stale")  # stale: the log does not go back that far
        else:
            right = status == "lost" or has["epoch"] != epoch and status == "stale"
        if not right:
            self.journal.wrong("false" if status == "lost" else "vanished", "%s wrote %s to %s at "
                               "%s, the store has %s: %s" % (self.name, value, room, version,
                                                             has.get("value"), status))
        if has.get("value") != value:
            self.journal.count("lost")
            self.written[room] = None

    def abandon(self):
        """Forget everything: the store came back in a way that cannot be noticed."""
        self.journal.drop_claims(self.numbers + self.seats)
        self.numbers, self.seats, self.bills, self.done_bills = [], [], [], []
        self.used, self.waiting, self.written = set(), None, {}
