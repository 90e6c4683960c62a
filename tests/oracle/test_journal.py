# SPDX-License-Identifier: MIT
"""The verdicts of journal.py on histories that are made up: each finds its fault and no other."""

import os
import tempfile
import unittest

from journal import Journal


class Verdicts(unittest.TestCase):
    def setUp(self):
        handle, self.path = tempfile.mkstemp(prefix="usher-oracle.")
        os.close(handle)
        self.journal = Journal(self.path)
        self.journal.zero = 0.0

    def tearDown(self):
        self.journal.file.close()
        os.remove(self.path)

    def claim(self, token, begun, ended, end="over", served=()):
        claim = self.journal.begin("number", "pool", "100", "owner-%s" % token, token, "c0",
                                   begun - 0.1, begun)
        claim.ended, claim.end = ended, end
        claim.served += served
        return claim

    def judged(self, *kinds):
        self.journal.judge()
        self.assertEqual([text.split()[0] for text in self.journal.wrongs], list(kinds))

    def test_one_after_the_other(self):
        self.claim("1", 1, 2)
        self.claim("2", 2, 3)
        self.judged()
        self.assertEqual(self.journal.counts["overlaps"], 0)

    def test_overlap_that_is_reported(self):
        self.claim("1", 1, 5, "lost")
        self.claim("2", 2, 3)
        self.judged()
        self.assertEqual(self.journal.counts["overlaps"], 1)

    def test_overlap_without_lost(self):
        self.claim("1", 1, 5)
        self.claim("2", 2, 3)
        self.judged("untold")

    def test_overlap_of_a_claim_that_goes_on(self):
        self.claim("1", 1, None, None)
        self.claim("2", 2, 3)
        self.judged("untold")

    def test_both_are_served(self):
        self.claim("1", 1, 5, "lost", served=(2.5,))
        self.claim("2", 2, 4, served=(3,))
        self.judged("both")

    def test_overlap_between_two_masters(self):
        self.journal.apart.append((1.5, 3.5))
        self.claim("1", 1, 3)
        self.claim("2", 2, 5)
        self.judged()

    def test_overlap_that_outlives_two_masters(self):
        self.journal.apart.append((1.5, 2.5))
        self.claim("1", 1, 3)
        self.claim("2", 2, 5)
        self.judged("untold")

    def test_token_twice(self):
        self.claim("1", 1, 2)
        self.claim("1", 3, 4)
        self.judged("token")

    def test_serial_twice(self):
        self.journal.once("rule", "S1", "c0: take")
        self.journal.once("rule", "S1", "c1: take")
        self.judged("twice")

    def test_serial_twice_after_a_loss_that_cannot_be_noticed(self):
        self.journal.once("rule", "S1", "c0: take")
        self.journal.once("rule", "S2", "c0: take")
        self.journal.life += 1
        self.journal.once("rule", "S1", "c1: take")
        self.journal.once("rule", "S2", "c1: take")
        self.journal.reported.add(("rule", "S1"))
        self.judged("twice")

    def test_confirmed_for_two_documents(self):
        self.journal.confirm("bill", "G1", "a")
        self.journal.confirm("bill", "G1", "a")
        self.judged()
        self.journal.confirm("bill", "G1", "b")
        self.judged("confirmed")

    def test_confirmed_for_two_documents_with_a_report(self):
        self.journal.confirm("bill", "G1", "a")
        self.journal.confirm("bill", "G1", "b")
        self.journal.reported.add(("bill", "G1"))
        self.judged()


if __name__ == "__main__":
    unittest.main()
