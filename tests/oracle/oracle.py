#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The oracle of losses: clients of stores that lose what they answered, and of some that do not.

    oracle.py [--faults N] [--seed S] [--world NAME] [--kind WORDS] [--usher PROGRAM] [--keep]

Clients are `usher shell` processes. A journal has what they sent and what they were answered. What
is a loss, and which client has to get `lost`, follows from the journal (journal.py); the library's
own idea of a loss is not used. Worlds are a cluster of 3 + 3 nodes, a master with a replica, and a
file (faults.py). After each fault all clients are parked, each shows what it has, and `usher check`
looks for faults in the store.

The seed is $USHER_SEED, or --seed; each world of a run has the seed plus its number, which is
printed, with --world and --faults, to do that world again. Order and kinds of faults, what each
client does, and which victims are chosen follow from it; how threads and servers take turns does
not.
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import servers
from clients import DONE, Client, Shell
from faults import WORLDS
from journal import Journal
from servers import wait_for

CLIENTS = 6
NUMBERS = 9
FAULTS_A_WORLD = 20
JUMP = 1 << 20  # at least, of the versions of a scope when its server changes
SHOWN = 5  # of each kind of wrong, in the output; the journal has all
SHARES = {"cluster": 0.4, "pair": 0.5, "file": 0.1}


class Run:
    """One world with its clients, from its start to its verdicts."""

    def __init__(self, options, name, seed, kinds):
        self.options, self.seed, self.kinds = options, seed, kinds
        self.random = random.Random(seed)
        self.where = tempfile.mkdtemp(prefix="usher-oracle.")
        self.journal = Journal(os.path.join(self.where, "journal"))
        self.world = WORLDS[name](self.where, self)
        self.clients = []
        self.behind = 0  # reports_behind() before the last check
        self.late = set()  # reservations in doubt because of a late grant

    # ---- what faults use ----

    def load(self, n):
        """Wait for @n more answers to clients; not for ever, because a master may be away."""
        until = sum(c.commands for c in self.clients) + n
        give_up = time.monotonic() + 20
        wait_for("%d commands" % n, lambda: sum(c.commands for c in self.clients) >= until or
                 time.monotonic() > give_up or self.fail_early())

    def fail_early(self):
        for client in self.clients:
            if client.failure is not None:
                raise RuntimeError(client.failure)
        return False

    def bare(self, is_bare):
        for client in self.clients:
            client.bare = is_bare

    def set_up(self):
        shell = self.shell("operator", 0)
        for scopes in self.world.scopes():
            for line in scopes.set_up(NUMBERS):
                self.must(shell, line, "missing")
        shell.close()

    def close_shells(self):
        for client in self.clients:
            client.shell.close()

    def open_shells(self):
        for client in self.clients:
            client.shell.open()

    def all_unavailable(self):
        """The store is not what it was: clients may not write.

        One whose last command saw a checkpoint of another process at work cannot tell (intact.c).
        """
        blind = 0
        for client in self.clients:
            line = "room set %s %s x" % (client.scopes[0].room, client.name)
            answer = client.ask(line)[0]
            blind += answer["status"] != "unavailable"
        self.journal.count("clients that missed a written file", blind)
        if blind > len(self.clients) // 2:
            self.journal.wrong("other", "%d clients write to a file that was written over or lost "
                               "a part" % blind)

    def abandon(self):
        self.journal.life += 1
        for client in self.clients:
            client.abandon()

    # ---- clients ----

    def shell(self, name, number):
        return Shell(self.options.usher, self.world.url(number), os.path.join(self.where, name))

    def must(self, shell, line, *others):
        until = time.monotonic() + servers.PATIENCE
        while True:
            answer = shell.ask(line)
            if answer["status"] in DONE or answer["status"] in others:
                self.journal.note("operator", time.monotonic(), time.monotonic(), line, answer)
                return answer
            if answer["status"] not in ("unknown", "unavailable") or time.monotonic() > until:
                raise RuntimeError("%s: %s" % (line, answer))

    def pages(self, shell, line, rows):
        """Return the rows of all pages of a list."""
        found, after = [], ""
        while after is not None:
            answer = self.must(shell, line + (after and " after=" + after))
            found += answer[rows]
            after = answer["next"]
        return found

    def park(self):
        for client in self.clients:
            client.go.clear()
        for client in self.clients:
            wait_for(client.name + " to be idle", client.idle.is_set, 2 * servers.PATIENCE)
        self.fail_early()

    def resume(self):
        for client in self.clients:
            client.idle.clear()
            client.go.set()

    def log_in(self):
        """Each client has an agent in each queue."""
        for client in self.clients:
            for scopes in client.scopes:
                self.must(client.shell, "queue login %s agent-%s" % (scopes.queue, client.name))

    # ---- one fault after the other ----

    def run(self):
        started = False
        try:
            self.world.start()
            self.set_up()
            for i in range(CLIENTS):
                name = "c%d" % i
                self.clients.append(Client(name, self.shell(name, i), self.world.scopes(),
                                           self.journal, self.seed * 1000 + i))
            self.log_in()
            for client in self.clients:
                client.start()
            self.resume()
            started = True
            self.load(200)
            self.world.wait_whole()
            for kind in self.kinds:
                self.one_fault(kind)
            self.accounts()
            self.journal.count("numbers reported as issued twice", len(self.journal.reported))
            self.journal.judge()
        except (RuntimeError, TimeoutError, OSError, servers.Refused) as error:
            if not started and isinstance(error, servers.Absent):
                raise
            self.journal.wrong("other", "the run ended: %r" % error)
        finally:
            for client in self.clients:
                client.over = True
                client.go.set()
            for client in self.clients:
                client.shell.process.kill()
            self.world.end()
            self.journal.file.flush()
        return self.journal

    def one_fault(self, kind):
        marks = self.world.kinds()[kind].marks
        journal, loses = self.journal, marks["loses"]
        journal.say("fault: " + kind)
        journal.fault = kind
        journal.losing = journal.losing or marks["loses"]
        journal.hands = journal.hands or marks["hands"]
        lost, failures, resumed = journal.counts["lost"], self.world.failures(), time.monotonic()
        if marks["quiet"]:
            self.park()
        began = time.monotonic()
        if marks["apart"]:
            journal.apart.append((began, float("inf")))
        self.world.kinds()[kind](self.world)
        self.world.wait_whole()
        over = time.monotonic()
        if marks["apart"]:
            journal.apart[-1] = (began, over)
        journal.say("the world is whole")
        if marks["quiet"]:
            self.resume()
        self.load(250)
        self.park()
        if not loses and self.world.failures() > failures:
            # The machine was so slow that servers took a master for dead: another kind of fault.
            journal.apart.append((resumed, time.monotonic()))
            loses = journal.losing = journal.hands = True
        self.show_and_check()
        if not loses and journal.counts["lost"] > lost:
            journal.wrong("false", "`lost' after a fault that loses nothing")
        if self.options.verbose:
            print("  %6.1f s  %-36s lost %d, wrong %d" % (
                over - began, kind, journal.counts["lost"] - lost, len(journal.wrongs)), flush=True)
        self.resume()

    def show_and_check(self):
        """All are parked: each shows what it has; what no client has is given back; check."""
        behind = self.reports_behind()
        for client in self.random.sample(self.clients, len(self.clients)):
            client.show_everything()
        operator = self.shell("operator", 0)
        for scopes in self.world.scopes():
            self.give_back(operator, scopes)
            self.doubts(operator, scopes.bill)
        operator.close()
        self.behind = behind
        self.log_in()
        self.check()

    def reports_behind(self):
        """How often a client has reported that the store has lost grants of the authority."""
        return sum(client.shell.reports().count(b"the store has lost grants") for client in self.clients)

    def give_back(self, operator, scopes):
        """Free what the store has and no client has: the store lost hangups and departures."""
        claims = [c for client in self.clients for c in client.numbers + client.seats]
        tokens = {(c.scope, str(c.thing), c.token) for c in claims}
        users = {c.owner for c in claims}
        for row in self.pages(operator, "number list %s state=busy" % scopes.pool, "numbers"):
            if (scopes.pool, row["number"], row["token"]) not in tokens:
                self.must(operator, "number free %s number=%s" % (scopes.pool, row["number"]))
        for state in ("waiting", "seated", "offered"):
            line = "queue list %s state=%s" % (scopes.queue, state)
            for row in self.pages(operator, line, "users"):
                if row["user"] not in users:
                    self.must(operator, "queue leave %s %s" % (scopes.queue, row["user"]),
                              "missing")
        for client in self.clients:
            client.waiting = None

    def doubts(self, operator, rule):
        """Reservations are in doubt only if the server changed after they were made.

        Versions jump with the first change after that, so one is made if there was none yet.  A
        grant that arrives after a later one looks the same to the rule, and the process reports
        it: it had not run for half a second (wait_for_others() in serial_authority.c).
        """
        rows = self.must(operator, "serial holds %s n=1000 doubt=1" % rule)["holds"]
        self.journal.count("in doubt", len(rows))
        if not rows or self.journal.life > 0:  # a copy written over a file makes no jump
            return
        new = self.must(operator, "serial reserve %s owner=operator" % rule)
        self.must(operator, "serial void %s %s token=%s" % (rule, new["serial"], new["token"]))
        for row in rows:
            late = (rule, row["token"]) in self.late or self.reports_behind() > self.behind
            if late:
                self.late.add((rule, row["token"]))
            elif not self.journal.hands or int(new["token"]) - int(row["token"]) < JUMP:
                self.journal.wrong("doubt", "%s of %s, version %s" % (row, rule, new["version"]))

    def check(self):
        done = subprocess.run([self.options.usher, "-s", self.world.url(0), "--json", "check"],
                              capture_output=True, text=True, check=False)
        found = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        faults = [f for f in found.get("found", ()) if not self.is_report(f)]
        if found.get("status") != "ok" and not found.get("found") or faults:
            self.journal.wrong("check", "ends with %d: %s %s" % (done.returncode, faults or found,
                                                                 done.stderr))

    def is_report(self, fault):
        """`check` reports what comes twice for good: also a confirm that was lost and repeated.

        The store's journal does not enter a return whose answer was lost, and may get the rows of
        two clients in the wrong order: the next reserve looks like a second one then. Of two
        masters both may issue a number, if the grant of it was sent to both.
        """
        found = re.match(r"serial/(\S+): (?:of numbers|number) (\d+) .*a second time", fault)
        if found is None or self.journal.life > 0:
            return found is not None
        key = found.group(1), "G%05d" % int(found.group(2))
        self.journal.reported.add(key)
        return self.journal.confirms[key] > 1 or key in self.journal.uncertain

    # ---- the books of gap-free numbers ----

    def accounts(self):
        """Look up each number to the highest confirmed one; confirmed ones must be confirmed."""
        self.park()
        for client in self.clients:
            client.confirm_again()
        operator = self.shell("operator", 0)
        for scopes in self.world.scopes():
            self.reported(operator, scopes)
            mine = {s for rule, s in self.journal.confirmed if rule == scopes.bill}
            for n in range(1, max([int(s[1:]) for s in mine], default=0) + 1):
                serial = "G%05d" % n
                answer = self.must(operator, "serial show %s %s" % (scopes.bill, serial))
                state = answer.get("state")
                if self.journal.life > 0:
                    continue
                known = ("confirmed", "lost", "doubt", "past")
                if state == "free" or serial in mine and state not in known and \
                        (scopes.bill, serial) not in self.journal.reported:
                    self.journal.wrong("hole", "%s of %s, %s: %s" % (
                        serial, scopes.bill, "confirmed" if serial in mine else "never confirmed",
                        state))
                self.journal.count("gap-free numbers " + str(state))
        operator.close()

    def reported(self, operator, scopes):
        """Read which numbers the store's journal calls issued or confirmed twice."""
        for rule, form in ((scopes.bill, "G%05d"), (scopes.rule, "S%d")):
            since, more = 0, True
            while more:
                answer = self.must(operator, "serial journal %s since=%d max=1000" % (rule, since))
                for row in answer["rows"]:
                    if row["twice"]:
                        self.journal.reported.update((rule, form % (row["number"] + i))
                                                     for i in range(row["n"]))
                since, more = answer["next"], answer["more"]

    def remove(self):
        shutil.rmtree(self.where, ignore_errors=True)


def plan(options):
    """Return (world, seed, kinds) for each world: the first kinds by rank, then all."""
    draw = random.Random(options.seed)
    names = [options.world] if options.world else list(WORLDS)
    total = sum(SHARES[n] for n in names)
    left = options.faults
    worlds = []
    for i, name in enumerate(names):
        n = left if i == len(names) - 1 else min(left, max(1, round(options.faults * SHARES[name] /
                                                                    total)))
        left -= n
        kinds = WORLDS[name].kinds()
        bag = sorted(k for k in kinds if options.kind is None or options.kind in k)
        if not bag:
            continue
        draws = sorted((k for k in bag if kinds[k].marks["first"]),
                       key=lambda k: kinds[k].marks["first"])[:n]
        draw.shuffle(draws)
        while len(draws) < n:
            draws += draw.sample(bag, len(bag))
        for at in range(0, n, FAULTS_A_WORLD):
            chunk = sorted(draws[at:min(n, at + FAULTS_A_WORLD)],
                           key=lambda k: kinds[k].marks["unseen"])
            worlds.append((name, options.seed + len(worlds), chunk))
    if not worlds:
        raise SystemExit("no world has a kind of fault with the words: %s" % options.kind)
    return worlds


COLUMNS = ("commands", "numbers", "seats", "overlaps", "overlaps that no server can know of",
           "lost", "lost reservations", "taken back", "serials and ids", "confirms",
           "confirmed twice", "in doubt", "unknown", "unavailable")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("USHER_SEED", "20261127")))
    parser.add_argument("--world", choices=sorted(WORLDS))
    parser.add_argument("--kind", help="only kinds of faults with these words")
    parser.add_argument("--usher", default=os.environ.get("USHER", "usher"))
    parser.add_argument("--keep", action="store_true", help="keep directories and journals")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.usher = os.path.abspath(shutil.which(options.usher) or options.usher)
    try:
        server = servers.program()
    except servers.Absent as absent:
        print("SKIPPED: %s" % absent)
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(99))  # servers are stopped on the way out
    total, kinds_done, wrongs = collections.Counter(), collections.Counter(), []
    print("oracle of losses: %d faults, seed %d, %s" % (options.faults, options.seed, server))
    for name, seed, kinds in plan(options):
        run = Run(options, name, seed, kinds)
        began = time.monotonic()
        journal = run.run()
        total.update(journal.counts)
        kinds_done.update("%s: %s" % (name, kind) for kind in kinds)
        print("%-8s seed %d: %d faults in %.0f s, %d wrong%s" % (
            name, seed, len(kinds), time.monotonic() - began, len(journal.wrongs),
            ", journal in " + run.where if options.keep or journal.wrongs else ""), flush=True)
        shown = collections.Counter()
        for text in journal.wrongs:
            shown[text.split()[0]] += 1
            if shown[text.split()[0]] <= SHOWN:
                print("    " + text)
        wrongs += journal.wrongs
        if not options.keep and not journal.wrongs:
            run.remove()
    for kind, n in sorted(kinds_done.items()):
        print("%4d  %s" % (n, kind))
    for key in COLUMNS + tuple(sorted(set(total) - set(COLUMNS))):
        print("%8d  %s" % (total[key], key))
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
