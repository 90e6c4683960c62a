# SPDX-License-Identifier: MIT
"""A day of a call centre under a real Prometheus.

  prometheus.py PROMTOOL PROMETHEUS [SPEED]

Starts `usher serve` and Prometheus on loopback, plays a made-up day on a queue, a pool and a
dispenser, SPEED times as fast as it was (600), and compares what Prometheus has with what was
played.  The differences of counters are equal.  rate() differs by two scrapes of its range at most,
which are 2 % at speed 600.  Then promtool checks the page of metrics, the alert rules and their
tests.

The program is $USHER.  A seed is printed; $USHER_SEED repeats a day.
"""
import heapq
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
import serve  # noqa: E402

HOUR = 3600 * 1000
START = 19800 * 24 * HOUR
SCRAPE = 0.5  # seconds
AGENTS = 12
LINES = 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Day:
    """The events of a day, and what was counted of them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.queue = []
        self.n = 0
        self.count = {}
        self.wait_ms = 0
        self.moments = []  # of calls, by our clock
        for a in range(AGENTS):
            self.at(START + 7 * HOUR + a * 60000, "login", a)
        # two peaks, as in a bank: 10 to 12 and 14 to 16
        for hour, calls in enumerate((0,) * 8 + (60, 150, 260, 250, 120, 170, 240, 220, 130, 50)):
            for _ in range(calls):
                self.at(START + hour * HOUR + self.rng.randrange(HOUR), "arrive", None)

    def at(self, when, what, whom):
        self.n += 1
        heapq.heappush(self.queue, (when, self.n, what, whom))

    def add(self, what, n=1):
        self.count[what] = self.count.get(what, 0) + n

    def play(self, client, speed):
        begun = time.monotonic()
        while self.queue:
            when, _, what, whom = heapq.heappop(self.queue)
            pause = (when - START - 7 * HOUR) / 1000 / speed - (time.monotonic() - begun)
            if pause > 0:
                time.sleep(pause)
            getattr(self, what)(client, when, whom)

    def ask(self, client, now, *words):
        return client.ask(*words, "now=%d" % now)

    def login(self, client, now, agent):
        answer = self.ask(client, now, "QUEUE", "LOGIN", "desk", "agent%d" % agent)
        assert serve.status(answer) == "ok", answer

    def arrive(self, client, now, _):
        user = "user%d" % self.n
        answer = self.ask(client, now, "NUMBER", "CALL", "lines", "owner=" + user)
        self.moments.append(time.time())
        if serve.status(answer) == "empty":
            self.add("refused")
        else:
            assert serve.status(answer) == "ok", answer
            self.add("calls")
            length = 20000 + int(self.rng.expovariate(1 / 150000))
            self.at(now + length, "hang_up", (serve.value(answer, "number"), serve.value(answer, "token")))
        assert isinstance(self.ask(client, now, "ID", "NEXT", "tickets"), list)
        self.add("ids")
        answer = self.ask(client, now, "QUEUE", "APPLY", "desk", user)
        assert serve.status(answer) == "ok", answer
        self.add("arrived")
        if serve.value(answer, "place") == "room":
            self.seat(now, now, user)
        else:
            self.at(now + int(self.rng.expovariate(1 / 90000)), "give_up", (user, now))
            self.at(now + 1000, "look", (user, now))

    def seat(self, now, since, user):
        self.add("seated")
        self.at(now + 5000 + int(self.rng.expovariate(1 / 170000)), "finish", user)

    def look(self, client, now, whom):
        """Is the user that waited in a room?"""
        user, since = whom
        answer = self.ask(client, now, "QUEUE", "WHERE", "desk", user)
        if serve.status(answer) != "ok":
            return
        if serve.value(answer, "place") == "room":
            self.seat(now, since, user)
        else:
            self.at(now + 5000, "look", whom)

    def give_up(self, client, now, whom):
        user, since = whom
        answer = self.ask(client, now, "QUEUE", "WHERE", "desk", user)
        if serve.status(answer) != "ok" or serve.value(answer, "place") == "room":
            return
        self.ask(client, now, "QUEUE", "LEAVE", "desk", user)
        self.add("abandoned")

    def finish(self, client, now, user):
        answer = self.ask(client, now, "QUEUE", "LEAVE", "desk", user)
        assert serve.status(answer) == "ok", answer
        self.add("finished")

    def hang_up(self, client, now, call):
        number, token = call
        answer = self.ask(client, now, "NUMBER", "HANGUP", "lines", number, "token=" + token)
        assert serve.status(answer) == "ok", answer


class Prometheus:
    def __init__(self, program, directory, target):
        self.port = free_port()
        config = os.path.join(directory, "prometheus.yml")
        with open(config, "w") as f:
            f.write(
                "global: {scrape_interval: %dms, scrape_timeout: %dms}\n"
                "scrape_configs:\n"
                "  - job_name: usher\n"
                "    static_configs: [{targets: ['127.0.0.1:%d']}]\n" % (SCRAPE * 1000, SCRAPE * 1000, target)
            )
        self.log = open(os.path.join(directory, "prometheus.log"), "w")
        self.process = subprocess.Popen(
            [program, "--config.file=" + config, "--storage.tsdb.path=" + directory + "/tsdb",
             "--web.listen-address=127.0.0.1:%d" % self.port],
            stdout=self.log, stderr=self.log)

    def query(self, text, when=None):
        words = {"query": text}
        if when is not None:
            words["time"] = "%.3f" % when
        url = "http://127.0.0.1:%d/api/v1/query?%s" % (self.port, urllib.parse.urlencode(words))
        with urllib.request.urlopen(url, timeout=20) as reply:
            answer = json.load(reply)
        assert answer["status"] == "success", answer
        return [(row["metric"], float(row["value"][1])) for row in answer["data"]["result"]]

    def one(self, text, when=None):
        rows = self.query(text, when)
        assert len(rows) == 1, (text, rows)
        return rows[0][1]

    def wait_for(self, text):
        until = time.monotonic() + serve.PATIENCE
        while True:
            try:
                if self.query(text):
                    return
            except (OSError, urllib.error.URLError):
                pass
            assert self.process.poll() is None, "Prometheus has ended"
            assert time.monotonic() < until, text
            time.sleep(0.2)

    def wait_for_scrape_after(self, when):
        self.wait_for("max(timestamp(up)) > %.3f" % when)

    def stop(self):
        self.process.terminate()
        self.process.wait(serve.PATIENCE)
        self.log.close()


def promtool(program, *words, data=None):
    done = subprocess.run([program, *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0 or (data is not None and done.stdout):
        raise AssertionError("promtool %s: %s" % (" ".join(words), done.stdout.decode()))


def main():
    tool, program = sys.argv[1:3]
    speed = float(sys.argv[3]) if len(sys.argv) > 3 else 600.0
    seed = int(os.environ.get("USHER_SEED", 0)) or random.randrange(1, 1 << 32)
    print("seed %d, speed %g" % (seed, speed), flush=True)
    rules = os.path.join(HERE, "..", "contrib", "prometheus")
    promtool(tool, "check", "rules", rules + "/usher.rules.yml")
    promtool(tool, "test", "rules", rules + "/usher.rules.test.yml")
    day = Day(seed)
    with serve.Server("memory:?clock=given", "--http=127.0.0.1:0") as server:
        client = server.client()
        before = START + 6 * HOUR
        for i in range(LINES):
            number = "+4930%02d" % i
            client.ask("NUMBER", "ADD", "lines", number, "now=%d" % before)
            answer = client.ask("NUMBER", "REG", "lines", number, "now=%d" % before)
            assert serve.status(answer) == "ok", answer
        client.ask("ID", "CREATE", "tickets", "now=%d" % before)
        client.ask("QUEUE", "SET", "desk", "ttl=0", "now=%d" % before)
        prometheus = Prometheus(program, server.dir, server.http_port())
        try:
            prometheus.wait_for("up == 1")
            prometheus.wait_for_scrape_after(time.time())
            first = {name: prometheus.one(name) for name, _ in COUNTERS}
            day.play(client, speed)
            end = time.time()
            prometheus.wait_for_scrape_after(end)
            compare(prometheus, first, day)
        finally:
            prometheus.stop()
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % server.http_port()) as page:
            promtool(tool, "check", "metrics", data=page.read())


# A query with one row, and what was counted.
COUNTERS = (
    ('usher_queue_arrived_users_total{queue="desk"}', "arrived"),
    ('usher_queue_seated_users_total{queue="desk"}', "seated"),
    ('usher_queue_unserved_users_total{queue="desk",reason="abandoned"}', "abandoned"),
    ('usher_queue_finished_visits_total{queue="desk"}', "finished"),
    ('usher_id_issued_total{id="tickets"}', "ids"),
)


def compare(prometheus, first, day):
    for name, what in COUNTERS:
        found = prometheus.one(name) - first[name]
        print("%s: %d" % (name, found))
        assert found == day.count.get(what, 0), (name, found, day.count)
    # The busy part of the day, between two moments of our clock.
    first_call, last_call = day.moments[0], day.moments[-1]
    span = int((last_call - first_call) * 0.8)
    end = first_call + (last_call - first_call) * 0.9
    there = sum(1 for m in day.moments if end - span < m <= end)
    rate = prometheus.one("rate(%s[%ds])" % (COUNTERS[0][0], span), end) * span
    print("rate: %.1f in %d s, played %d" % (rate, span, there))
    assert abs(rate - there) <= 2 * SCRAPE / span * there, (rate, there)


if __name__ == "__main__":
    main()
