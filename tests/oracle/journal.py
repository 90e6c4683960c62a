# SPDX-License-Identifier: MIT
"""The journal: what clients sent and were answered, and the verdicts that follow from it alone.

A claim is what a client believes to have: a number for a call, or a seat with an agent. The
belief begins with the answer that gives it. It ends when the client sends the command that gives
the thing back, or when an answer takes the belief away. Times are those of this machine's
monotonic clock, so two claims of one thing that overlap here did overlap.

Verdicts, each a sentence in `wrongs`:

  untold     two claims of one thing overlap, and neither client got `lost`
  both       two claims of one thing overlap, and the store went on to serve both
  vanished   a client showed what the store does not have, and the answer was not `lost`
  false      a client got `lost`, and the store has its claim
  token      a token came twice in one scope; a version of a room likewise
  twice      a serial or an id came twice although an authority grants them
  again      an owner is given a gap-free number that it has confirmed
  confirmed  a gap-free number was confirmed for two documents without a report
  hole       a confirmed gap-free number is something else now without a report, or a number has no
             state
  doubt      a reservation is in doubt although no server changed since it was made
  check      `usher check` found a fault
  other      a client got an answer that it cannot get

While two servers are masters, neither knows of the claims at the other one: an overlap that ends
before one of them is demoted does not count.
"""

import collections
import threading
import time


class Claim:
    """What a client believes to have."""

    def __init__(self, kind, scope, thing, owner, token, client, begun):
        self.kind, self.scope, self.thing, self.owner = kind, scope, thing, owner
        self.token, self.client, self.begun = token, client, begun
        self.ended = None  # when the belief ended
        self.end = None  # how: "over", "lost", "dropped" (the loss cannot be noticed)
        self.served = []  # when commands that showed the token and were served were sent

    def __str__(self):
        return "%s %s/%s of %s, token %s" % (self.kind, self.scope, self.thing, self.owner,
                                             self.token)


class Journal:
    """What happened in one world, from its start to its end."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.lock = threading.RLock()
        self.zero = time.monotonic()
        self.claims = []
        self.tokens = {}
        self.issued = {}
        self.again = set()  # what came twice since a loss that cannot be noticed
        self.confirmed = {}  # (rule, serial) -> documents
        self.confirms = collections.Counter()  # how often, also for the same document
        self.uncertain = set()  # (rule, serial): an answer was lost or late, or two were masters
        self.reported = set()  # (rule, serial) that a row of the store's journal calls twice
        self.apart = []  # times during which two servers may have been masters
        self.wrongs = []
        self.counts = collections.Counter()
        self.life = 0  # one more when a store comes back unnoticed: its tokens come again
        self.hands = False  # a fault that can change the server has happened
        self.losing = False  # a fault that can lose something has happened
        self.fault = "the beginning"

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] += n

    def note(self, name, sent, answered, line, answer):
        with self.lock:
            self.counts["commands"] += 1
            self.file.write("%9.4f %9.4f %s: %s -> %s\n" % (
                sent - self.zero, answered - self.zero, name, line, answer))

    def say(self, text):
        with self.lock:
            self.file.write("%9.4f -- %s\n" % (time.monotonic() - self.zero, text))

    def wrong(self, kind, text):
        with self.lock:
            self.counts["wrong " + kind] += 1
            self.wrongs.append("%s (since the fault `%s'): %s" % (kind, self.fault, text))
            self.say("WRONG " + self.wrongs[-1])

    # ---- claims ----

    def begin(self, kind, scope, thing, owner, token, client, sent, answered):
        """A client was given @thing."""
        with self.lock:
            claim = Claim(kind, scope, thing, owner, token, client, answered)
            self.counts[kind + "s"] += 1
            self.unique(scope, token, claim)
            claim.served.append(sent)
            self.claims.append(claim)
            return claim

    def unique(self, scope, token, what):
        """@token, or a version, is new in @scope."""
        with self.lock:
            before = self.tokens.setdefault((self.life, scope, str(token)), what)
            if before is not what:
                self.wrong("token", "%s has the token of %s" % (what, before))

    def drop_claims(self, claims):
        """The store came back in a way that cannot be noticed: these are not judged."""
        now = time.monotonic()
        with self.lock:
            for claim in claims:
                if claim.end is None:
                    claim.ended, claim.end = claim.ended or now, "dropped"

    def lost(self, claim, answered):
        with self.lock:
            self.counts["lost"] += 1
            claim.ended, claim.end = claim.ended or answered, "lost"

    # ---- what comes once ----

    def once(self, scope, what, client):
        with self.lock:
            self.counts["serials and ids"] += 1
            mine = [client]
            before = self.issued.setdefault((scope, what), mine)
            if before is not mine and self.life > 0:
                self.again.add((scope, what))
            elif before is not mine:
                self.wrong("twice", "%s of %s: by %s and %s" % (what, scope, before[0], client))

    def confirm(self, rule, serial, document):
        """@document has @serial now, for good."""
        with self.lock:
            self.counts["confirms"] += 1
            self.confirms[rule, serial] += 1
            documents = self.confirmed.setdefault((rule, serial), [])
            if document not in documents:
                documents.append(document)
            if len(documents) > 1:
                self.counts["confirmed twice"] += 1

    # ---- verdicts at the end ----

    def judge(self):
        by_thing = collections.defaultdict(list)
        for claim in self.claims:
            by_thing[claim.kind, claim.scope, claim.thing].append(claim)
        for claims in by_thing.values():
            claims.sort(key=lambda c: c.begun)
            for i, first in enumerate(claims):
                for second in claims[i + 1:]:
                    if first.ended is not None and first.ended <= second.begun:
                        continue
                    self.judge_pair(first, second)
        for key, documents in self.confirmed.items():
            if len(documents) > 1 and key not in self.reported:
                self.wrong("confirmed", "%s of %s, without a report: for %s" % (
                    key[1], key[0], " and ".join(str(d) for d in documents)))
        for scope, what in sorted(self.again - self.reported, key=str):
            self.wrong("twice", "%s of %s, without a report" % (what, scope))

    def judge_pair(self, first, second):
        """@first and @second are of one thing and overlap."""
        self.counts["overlaps"] += 1
        if "dropped" in (first.end, second.end):
            return
        begun = second.begun
        over = min(c.ended for c in (first, second) if c.ended is not None) \
            if first.ended or second.ended else time.monotonic()
        for a, b in self.apart:
            if a <= begun and over <= b:
                self.counts["overlaps that no server can know of"] += 1
                return
        if "lost" not in (first.end, second.end):
            self.wrong("untold", "%s (%.4f) and %s (%.4f)" % (
                first, first.begun - self.zero, second, second.begun - self.zero))
        if all(any(t > begun and not self.is_apart(t) for t in c.served)
               for c in (first, second)):
            self.wrong("both", "%s and %s" % (first, second))

    def is_apart(self, t):
        return any(a <= t <= b for a, b in self.apart)
