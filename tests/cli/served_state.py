# SPDX-License-Identifier: MIT
"""usher serve --http: /state.json and /events."""
import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import traceback

from serve import PATIENCE, Server, packed, run, status

EVERY = 1.0
STATS = {"number": ("number", "stats"), "queue": ("queue", "stats"), "room": ("room", "stats"), "serial": ("serial", "check"), "id": ("id", "show")}
COMMON = {"status", "epoch", "version", "due", "now"}
SET = {"queue": "offer wrapup limit maxwait zone service", "number": "lease rest daily zone"}
LANE = "lane waiting longest_wait seated seated_today abandoned_today service_level"
HOUR = {"queue": ["waiting", "busy", "gave_up"], "number": ["busy", "refused"], "room": ["members"], "serial": ["taken"], "id": ["issued"]}
AGES = {"longest_wait", "longest_since", "longest_hold"}


def _get(server, path, code=200, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port(), timeout=PATIENCE)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    assert answer.status == code, (path, answer.status, text[-300:])
    return text, dict(answer.getheaders())


def _state(server, only="", **headers):
    text, _ = _get(server, "/state.json" + (only and "?only=" + only), **headers)
    assert text.endswith("}\n") and "\n" not in text[:-1]
    state = json.loads(text)
    assert state["v"] == 1 and state["every"] == 1000 and list(state["totals"]) == list(dict.fromkeys(state["totals"]))
    names = [s["scope"] for s in state["scopes"]]
    assert len(names) == len(set(names))
    return state


def _scopes(state):
    return {s["scope"]: s for s in state["scopes"]}


def _await_viewers(server, n):
    """A viewer that has gone is noticed when something is sent to it."""
    end = time.monotonic() + PATIENCE
    while "\nusher_viewers %d\n" % n not in _get(server, "/metrics")[0]:
        assert time.monotonic() < end
        time.sleep(0.1)


class _Viewer:
    """A stream of /events."""

    def __init__(self, server, query="", buffer=0):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.http_port()))
        self.socket.sendall(b"GET /events%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % query.encode())
        self.bytes, self.text, self.head, self.last = b"", b"", None, 0

    def _more(self):
        came = self.socket.recv(1 << 16)
        if not came:
            raise EOFError
        self.bytes += came

    def _line(self):
        while b"\r\n" not in self.bytes:
            self._more()
        line, self.bytes = self.bytes.split(b"\r\n", 1)
        return line

    def begin(self, code=200):
        lines = []
        while not lines or lines[-1]:
            lines.append(self._line().decode())
        self.head = dict(line.split(": ", 1) for line in lines[1:-1])
        assert lines[0].startswith("HTTP/1.1 %d " % code), lines
        return self

    def event(self):
        """(kind, data) of the next event."""
        if self.head is None:
            self.begin()
        while b"\n\n" not in self.text:
            size = int(self._line(), 16)
            if size == 0:
                raise EOFError
            while len(self.bytes) < size + 2:
                self._more()
            self.text += self.bytes[:size]
            assert self.bytes[size : size + 2] == b"\r\n"
            self.bytes = self.bytes[size + 2 :]
        event, self.text = self.text.split(b"\n\n", 1)
        lines = [line.split(b": ", 1) for line in event.split(b"\n")]
        fields = {k.decode(): v.decode() for k, v in lines}
        assert len(lines) == len(fields) and set(fields) - {"retry"} == {"id", "event", "data"}, fields
        assert int(fields["id"]) >= self.last and ("retry" in fields) == (fields["event"] == "state")
        self.last = int(fields["id"])
        data = json.loads(fields["data"])
        assert {"at", "store", "lag"} <= set(data), data
        return self._without_hours(fields["event"], data)

    def _without_hours(self, kind, data):
        """When a minute is over all scopes have another hour: a test sees the other parts."""
        if kind != "scopes":
            return kind, data
        for scope in data["scopes"]:
            assert set(scope) & {"stats", "set", "lanes", "hour"}, scope
            scope.pop("hour", None)
        data["scopes"] = [s for s in data["scopes"] if set(s) & {"stats", "set", "lanes"}]
        return "scopes" if data["scopes"] or "gone" in data else "tick", data

    def until(self, kind, seconds=PATIENCE):
        """The next event of @kind.  Ticks are passed over."""
        end = time.monotonic() + seconds
        while True:
            got, data = self.event()
            if got == kind:
                return data
            assert got == "tick" and time.monotonic() < end, (got, data)

    def close(self):
        self.socket.close()


LINES = (
    "number add p 1", "number reg p 1", "number add p 2", "number reg p 2", "number set p rest 1h daily 5", "number call p owner o", "number call p owner x",
    "number call p owner y", "queue set q ttl 0 wrapup 1h service 20s", "queue login q ann", "queue apply q zoe", "queue apply q yan lane gold",
    "room open r capacity 7", "room join r ann", "serial rule s width 5", "serial fill s 20", "serial take s n 3", "id create i", "id next i n 3",
)


def the_state_has_what_the_answers_have():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client(resp3=True)
        for line in LINES:
            c.ask(*line.split())
        before = time.time() * 1000
        state = _state(server)
        assert set(state) == {"v", "seq", "at", "zone", "every", "kind", "thresholds", "store", "lag", "totals", "more", "scopes"}
        assert before - 60000 < state["at"] < time.time() * 1000 + 60000 and state["zone"] == time.localtime().tm_gmtoff // 60
        assert state["kind"] == "memory" and state["store"] == "ok" and state["lag"] >= 0 and state["more"] is False
        assert state["totals"] == {"number": 1, "queue": 1, "room": 1, "serial": 1, "id": 1}
        scopes = _scopes(state)
        assert set(scopes) == {"number/p", "queue/q", "room/r", "serial/s", "id/i"}
        answers = _answers(server, ["%s %s %s" % (*STATS[n], name) for n, name in (s.split("/") for s in scopes)] + ["queue set q", "number set p", "queue lanes q"])
        for name, answer in zip(scopes, answers):
            noun = name.split("/")[0]
            scope = scopes[name]
            assert list(scope)[:5] == ["scope", "epoch", "version", "at", "stats"] and scope["epoch"] == answer["epoch"] and scope["version"] == answer["version"]
            assert list(scope["stats"]) == [k for k in answer if k not in COMMON]
            for k, v in scope["stats"].items():  # time goes on between the two
                assert v == answer[k] if k not in AGES else 0 <= v <= answer[k], (name, k, v, answer[k])
            assert list(scope["set"]) == (SET[noun].split() if noun in SET else [])
            assert ("lanes" in scope) == (noun == "queue")
            assert list(scope["hour"]) == ["step", "end"] + HOUR[noun] and scope["hour"]["step"] == 60000 and scope["hour"]["end"] % 60000 == 0
            assert all(len(scope["hour"][k]) <= 60 for k in HOUR[noun])
        for name, answer in (("queue/q", answers[5]), ("number/p", answers[6])):
            assert scopes[name]["set"] == {k: answer[k] for k in scopes[name]["set"]}
        assert [list(lane) for lane in scopes["queue/q"]["lanes"]] == [LANE.split()] * 2
        for lane, answer in zip(scopes["queue/q"]["lanes"], answers[7]["lanes"]):
            assert all(v == answer[k] for k, v in lane.items() if k not in AGES)
        assert scopes["queue/q"]["stats"]["service_level"] == 1 and scopes["number/p"]["stats"]["refused_today"] == 1
        # numbers beyond 2^53 are texts
        assert scopes["serial/s"]["stats"]["max"] == str(2**63 - 1)


def _answers(server, lines):
    """Answers of the server to @lines, as JSON."""
    done = subprocess.run([os.environ.get("USHER", "usher"), "-s", "usher+unix:" + server.path, "--json", "shell"],
                          input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def only_what_is_asked_for_is_sent():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        for line in LINES + ("queue login other ann",):
            c.ask(*line.split())
        c.ask("id", "create", "a b/c%?&=+")
        for only, wanted, totals in (
            ("queue", ["queue/other", "queue/q"], {"queue": 2}),
            ("queue/q", ["queue/q"], {}),
            ("queue/q,queue/none,room", ["queue/q", "room/r"], {"room": 1}),
            ("queue,queue/q,queue", ["queue/other", "queue/q"], {"queue": 2}),
            ("id&only=room", ["room/r", "id/a b/c%?&=+", "id/i"], {"room": 1, "id": 2}),
            ("id%2Fa%20b/c%25%3F%26%3D%2B", ["id/a b/c%?&=+"], {}),
            (",".join(["queue/q"] * 199 + ["id/i"]), ["queue/q", "id/i"], {}),
            ("number/none", [], {}),
        ):
            state = _state(server, only)
            assert [s["scope"] for s in state["scopes"]] == wanted and state["totals"] == totals and state["more"] is False, (only, state)
        # the last round is fresh: no other one
        seq = _state(server)["seq"]
        assert _state(server, "room")["seq"] in (seq, seq + 1)


def hostile_requests_are_refused():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        for query, why in (
            ("only=", "`` is not a noun"), ("only", "`` is not a noun"), ("only=x", "`x` is not a noun"), ("only=queue,", "`` is not a noun"),
            ("only=queue/", "its name is invalid"), ("only=/q", "is not a scope"), ("only=x/q", "is not a scope"), ("only=queue/a%00b", "its name is invalid"),
            ("only=queue%00", "is not a noun"), ("only=queue/a%0Ab", "its name is invalid"), ("only=queue/%ff", "its name is invalid"),
            ("only=rooms/r", "is not a scope"), ("only=queue/" + "x" * 256, "its name is invalid"), ("only=" + "x" * 5000, "is not a noun"),
            ("only=" + ",".join(["queue/q"] * 201), "is one word too many"), ("&".join(["only=queue"] * 201), "is one word too many"),
            ("only=" + "," * 5000, "is not a noun"), ("Only=queue", "is not an argument"), ("scope=queue/q", "is not an argument"), ("only=queue&x=1", "is not an argument"),
            ("only=<script>", "`<script>` is not a noun"),
        ):
            for path in ("/state.json?", "/events?"):
                text, head = _get(server, path + query, 400)
                assert why in text, (query, text)
                assert head["Content-Type"].startswith("text/plain") and head["X-Content-Type-Options"] == "nosniff"
        for path in ("/state.json", "/events"):
            for host in ("evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80"):
                _get(server, path, 403, Host=host)
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                _get(server, path, 405, method)
            text, head = _get(server, path, 200, "HEAD")
            assert text == "" and head["Content-Type"] == ("application/json" if path == "/state.json" else "text/event-stream")
            for key, wanted in (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")):
                assert head[key] == wanted
            assert "default-src 'none'" in head["Content-Security-Policy"] and not any(k.lower().startswith("access-control") for k in head)
        for path in ("/state.jso", "/state.json/", "/events/x", "/x", "//", "/event"):
            _get(server, path, 404)
        _get(server, "/state.json", Host="localhost:1")
        # names are only text
        c = server.client()
        names = ['</script>', '"', "\\", "<img src=x onerror=alert(1)>", "x" * 255, "zoë", "a,b", "\u202eabc"]
        taken = [n for n in names if status(c.ask(b"id", b"create", n.encode())) == "ok"]
        assert len(taken) > 5
        time.sleep(EVERY)  # a state is as old as that at most
        assert sorted(s["scope"][3:] for s in _state(server)["scopes"]) == sorted(taken)
        # a request that is cut does no harm, and neither does one that is never read
        for cut in (b"GET /events", b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", server.http_port())) as s:
                    s.sendall(cut)
        assert _state(server)["store"] == "ok"


def a_viewer_gets_the_state_and_then_what_changes():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        for line in LINES:
            c.ask(*line.split())
        v = _Viewer(server)
        kind, first = v.event()
        assert kind == "state" and v.head["Content-Type"] == "text/event-stream" and v.head["Cache-Control"] == "no-store"
        assert len(first["scopes"]) == 5 and first["v"] == 1
        # heartbeats
        begun = time.monotonic()
        for _ in range(3):
            assert v.event()[0] == "tick"
        assert time.monotonic() - begun < 3 * 1.5 * EVERY + PATIENCE / 10
        # a change: the part that changed, of that scope alone
        c.ask("room", "join", "r", "bob")
        data = v.until("scopes")
        assert [s["scope"] for s in data["scopes"]] == ["room/r"] and "gone" not in data
        assert set(data["scopes"][0]) == {"scope", "epoch", "version", "at", "stats"} and data["scopes"][0]["stats"]["members"] == 2
        c.ask("queue", "set", "q", "service", "60s")
        data = v.until("scopes")
        scope = _scopes(data)["queue/q"]
        assert scope["set"]["service"] == 60000
        c.ask("queue", "apply", "q", "xi", "lane", "silver")
        while True:
            scope = _scopes(v.until("scopes")).get("queue/q")
            if scope is not None and len(scope.get("lanes", ())) == 3:
                break
        # a scope is dropped; others that come are in another state
        c.ask("id", "delete", "i")
        data = v.until("scopes")
        assert data["gone"] == ["id/i"]
        c.ask("id", "create", "i")
        state = v.until("state")
        assert "id/i" in _scopes(state) and state["totals"]["id"] == 1
        # a scope that is another one by now is new
        c.ask("id", "delete", "i")
        c.ask("id", "create", "i")
        data = v.until("scopes")
        assert _scopes(data)["id/i"]["stats"]["began"] > _scopes(state)["id/i"]["stats"]["began"]
        # one that waits is read again, because its wait grows
        assert _scopes(first)["queue/q"]["stats"]["waiting"] > 0
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            kind, data = v.event()
            if kind == "scopes" and "queue/q" in _scopes(data) and "stats" in _scopes(data)["queue/q"]:
                break
        stats = _scopes(data)["queue/q"]["stats"]
        assert stats["longest_wait"] > _scopes(first)["queue/q"]["stats"]["longest_wait"]
        # views of their own
        one, other = _Viewer(server, "?only=room"), _Viewer(server, "?only=id/i")
        assert [s["scope"] for s in one.until("state")["scopes"]] == ["room/r"] and [s["scope"] for s in other.until("state")["scopes"]] == ["id/i"]
        c.ask("id", "next", "i")
        assert [s["scope"] for s in other.until("scopes")["scopes"]] == ["id/i"]
        c.ask("room", "leave", "r", "bob")
        assert [s["scope"] for s in one.until("scopes")["scopes"]] == ["room/r"]
        # nothing is read without a viewer: what changes then is in the next state
        for viewer in (v, one, other):
            viewer.close()
        _await_viewers(server, 0)
        time.sleep(2 * EVERY)
        c.ask("room", "join", "r", "eve")
        assert _scopes(_state(server))["room/r"]["stats"]["members"] == 2
        # the server ends: so do the streams
        v = _Viewer(server)
        assert v.event()[0] == "state" and server.stop() == 0
        try:
            while True:
                v.event()
        except (EOFError, ConnectionError):
            pass


def the_most_urgent_scopes_are_sent():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        lines = b"".join(b"QUEUE LOGIN q%03d ann\r\n" % i for i in range(260)) + b"".join(b"ID CREATE i%d\r\n" % i for i in range(5))
        c.socket.sendall(lines)
        for _ in range(265):
            assert status(c.read()) == "ok"
        for name in ("q259", "q255"):
            for user in ("a", "b"):
                c.ask("queue", "apply", name, user)
        state = _state(server)
        names = set(_scopes(state))
        assert state["more"] is True and state["totals"]["queue"] == 260 and sum(n.startswith("queue/") for n in names) == 200
        assert {"queue/q259", "queue/q255", "id/i4"} <= names and all("lanes" in s and "set" in s for s in state["scopes"] if s["scope"][0] == "q")
        hidden = next("queue/q%03d" % i for i in range(260) if "queue/q%03d" % i not in names)
        # by its name any scope is there
        state = _state(server, hidden)
        assert [s["scope"] for s in state["scopes"]] == [hidden] and state["more"] is False
        assert _state(server, "id")["more"] is False
        # and when it is more urgent than others
        v = _Viewer(server, "?only=queue")
        assert hidden not in _scopes(v.until("state"))
        for user in ("a", "b"):
            c.ask("queue", "apply", hidden[6:], user)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            kind, data = v.event()
            if kind == "state":
                break
        assert hidden in _scopes(data) and len(data["scopes"]) == 200 and "lanes" in _scopes(data)[hidden], (len(data["scopes"]), _scopes(data).get(hidden))
        v.close()
    with Server("memory:", "--http=127.0.0.1:0", "--metrics=3") as server:
        c = server.client()
        for i in range(5):
            c.ask("id", "create", "i%d" % i)
            c.ask("room", "open", "r%d" % i)
        state = _state(server)
        assert len(state["scopes"]) == 6 and state["more"] is True and state["totals"]["id"] == 5 and state["totals"]["room"] == 5


def many_viewers_are_served_and_those_that_do_not_read_are_closed():
    with Server("memory:", "--http=127.0.0.1:0", "--viewers=100", "--slow=2s", "--out=65536") as server:
        c = server.client()
        n = 120
        for i in range(n):
            c.send("QUEUE", "LOGIN", "q%d" % i, "ann", "capacity", "32")
        for _ in range(n):
            assert status(c.read()) == "ok"
        deaf = [_Viewer(server, buffer=4096) for _ in range(20)]
        viewers = [_Viewer(server) for _ in range(80)]
        for v in viewers:
            assert len(v.until("state")["scopes"]) == n
        # one more is refused politely; other requests are answered
        refused = _Viewer(server).begin(503)
        assert int(refused.head["Retry-After"]) > 0
        refused.close()
        assert "\nusher_viewers 100\n" in _get(server, "/metrics")[0] and len(_state(server)["scopes"]) == n
        # much changes, until those that do not read are closed; all others read all the time
        end = time.monotonic() + PATIENCE
        k = 0
        while server.said().count("viewer closed") < len(deaf):
            assert time.monotonic() < end, server.said()
            k += 1
            for i in range(n):
                c.send("QUEUE", "APPLY", "q%d" % i, "u%d" % k)
            for i in range(n):
                assert status(c.read()) == "ok"
            seen = {v.event()[0] for v in viewers}
            assert seen <= {"scopes", "tick"}, seen
        text = _get(server, "/metrics")[0]
        assert "\nusher_viewers 80\n" in text and "\nusher_slow_clients_closed_total 20\n" in text
        for v in viewers:
            assert v.event()[0] in ("scopes", "tick")
        for v in deaf:
            v.close()
        peak = server.peak()
        assert peak < 400 << 20, peak
        for v in viewers:
            v.close()


def _redis():
    """The program, or None."""
    found = os.environ.get("USHER_REDIS_SERVER") or shutil.which("redis-server") or shutil.which("redis-check-rdb")
    return found if os.environ.get("WITH_REDIS", "yes") == "yes" else None


def _start_redis(program, where):
    os.path.exists(where + "/redis-server") or os.symlink(program, where + "/redis-server")
    log = open(where + "/redis.log", "w")
    process = subprocess.Popen([where + "/redis-server", "--dir", where, "--port", "0", "--unixsocket", where + "/redis.sock", "--save", "", "--appendonly", "yes"],
                               stdout=log, stderr=log)
    for _ in range(PATIENCE * 50):
        with open(where + "/redis.log") as f:
            if "eady to accept connections" in f.read():
                return process
        assert process.poll() is None
        time.sleep(0.02)
    raise AssertionError("redis does not start")


def _calls(where):
    """How many scripts and lists Redis has executed."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(where + "/redis.sock")
    s.sendall(packed("INFO", "commandstats"))
    text = b""
    while b"cmdstat" not in text or not text.endswith(b"\r\n"):
        text += s.recv(1 << 16)
    s.close()
    calls = dict(re.findall(r"cmdstat_(\w+):calls=(\d+)", text.decode()))
    return int(calls.get("evalsha", 0)), int(calls.get("scan", 0))


def a_redis_is_read_once_for_all_and_may_go_and_come_back():
    program = _redis()
    if program is None:
        return
    with Server("memory:") as place:
        where = place.dir
        redis = _start_redis(program, where)
        try:
            with Server("redis+unix://%s/redis.sock?timeout=2000" % where, "--http=127.0.0.1:0") as server:
                c = server.client()
                for line in LINES:
                    assert status(c.ask(*line.split())) in ("ok", "empty"), line
                for line in ("queue login calm ann", "room open r2"):
                    c.ask(*line.split())
                v = _Viewer(server, "?only=room,id,queue/calm")
                state = v.until("state")
                assert state["store"] == "ok" and state["kind"] == "redis" and len(state["scopes"]) == 4 and "/" not in state["kind"]
                others = [_Viewer(server, "?only=room,id,queue/calm") for _ in range(30)] + [_Viewer(server, "?only=room") for _ in range(10)]
                for other in others:
                    other.until("state")
                # nothing changes: lists, and no script (but of what becomes due)
                for _ in range(2):
                    v.event()
                scripts, scans = _calls(where)
                for _ in range(4):
                    assert v.event()[0] == "tick"
                after = _calls(where)
                assert after[0] - scripts <= 8 and 1 <= after[1] - scans <= 60, (scripts, scans, after)
                c.ask("room", "join", "r2", "bob")
                for viewer in [v] + others:
                    assert [s["scope"] for s in viewer.until("scopes")["scopes"]] == ["room/r2"]
                # the store goes …
                redis.send_signal(signal.SIGKILL)
                redis.wait()
                end = time.monotonic() + PATIENCE
                while v.event()[1]["store"] != "unavailable":
                    assert time.monotonic() < end
                state = _state(server, "room,id,queue/calm")
                assert state["store"] == "unavailable" and len(state["scopes"]) == 4
                # … and comes back, with all there was
                redis = _start_redis(program, where)
                while True:
                    kind, data = v.event()
                    if data["store"] == "ok":
                        break
                    assert time.monotonic() < end and kind in ("tick", "scopes") and "gone" not in data, (kind, data)
                assert len(_state(server, "room,id,queue/calm")["scopes"]) == 4
                v.close()
                for other in others:
                    other.close()
                # without a viewer nothing is read
                _await_viewers(server, 0)
                time.sleep(EVERY)
                before = _calls(where)
                time.sleep(2 * EVERY)
                assert _calls(where)[1] == before[1]
            # it answers nothing for a time, and the heart goes on
            with Server("redis+unix://%s/redis.sock?timeout=30000" % where, "--http=127.0.0.1:0") as server:
                v = _Viewer(server, "?only=room")
                assert len(v.until("state")["scopes"]) == 2
                redis.send_signal(signal.SIGSTOP)
                begun = time.monotonic()
                ticks = [v.event() for _ in range(5)]
                took = time.monotonic() - begun
                redis.send_signal(signal.SIGCONT)
                assert all(kind == "tick" for kind, _ in ticks) and ticks[-1][1]["store"] == "slow" and took < 20, (ticks, took)
                end = time.monotonic() + PATIENCE
                while v.event()[1]["store"] != "ok":
                    assert time.monotonic() < end
                v.close()
        finally:
            redis.kill()
            redis.wait()


def a_file_is_read_and_may_be_locked():
    if os.environ.get("WITH_SQLITE", "yes") != "yes":
        return
    with Server("sqlite:DIR/db?timeout=300", "--http=127.0.0.1:0") as server:
        c = server.client()
        for line in LINES:
            c.ask(*line.split())
        v = _Viewer(server)
        state = v.until("state")
        assert len(state["scopes"]) == 5 and state["kind"] == "sqlite" and server.dir not in json.dumps(state)
        other = sqlite3.connect(server.dir + "/db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        end = time.monotonic() + PATIENCE
        while v.event()[1]["store"] not in ("partial", "unavailable"):  # when a scope that waits is read again
            assert time.monotonic() < end
        other.execute("ROLLBACK")
        other.close()
        while v.event()[1]["store"] != "ok":
            assert time.monotonic() < end
        # another process changes it
        server.shell(["room join r zed"])
        assert any("room/r" in _scopes(v.until("scopes")) for _ in range(3))
        v.close()


def _run_together(module):
    """They wait most of the time: each is a process."""
    running = {}
    for name, function in list(module.items()):
        if callable(function) and function.__module__ == "__main__" and not name.startswith("_"):
            sys.stdout.flush()
            running[os.fork()] = name
            if 0 in running:
                try:
                    run({name: function})
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
    failed = [running[pid] for pid in list(running) if os.waitpid(pid, 0)[1] != 0]
    sys.exit("failed: %s" % ", ".join(failed) if failed else 0)


def a_server_ends_while_a_state_is_read():
    program = _redis()
    if program is None:
        return
    with Server("memory:") as place:
        redis = _start_redis(program, place.dir)
        try:
            with Server("redis+unix://%s/redis.sock?timeout=2000" % place.dir, "--http=127.0.0.1:0") as server:
                server.client().ask("room", "open", "r")
                redis.send_signal(signal.SIGSTOP)
                s = socket.create_connection(("127.0.0.1", server.http_port()))
                s.sendall(b"GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
                time.sleep(0.2)
                assert server.stop() == 0
                redis.send_signal(signal.SIGCONT)
                s.close()
        finally:
            redis.kill()
            redis.wait()


def the_wallboard_runs_its_own_script_only():
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "serve", "wallboard.html")
    with open(page, encoding="utf-8") as file:
        page = file.read()
    with Server("memory:", "--http=127.0.0.1:0") as server:
        text, headers = _get(server, "/")
        assert text == page and headers["Content-Type"] == "text/html; charset=utf-8"
        for kind in ("script", "style"):
            (content,) = re.findall("<%s>(.*?)</%s>" % (kind, kind), page, re.S)
            policy = "%s-src 'sha256-%s';" % (kind, base64.b64encode(hashlib.sha256(content.encode()).digest()).decode())
            assert policy in headers["Content-Security-Policy"], "src/serve/wallboard.h needs " + policy
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        _get(server, "/", 403, Host="example.com")
        _get(server, "/", 405, "POST")


if __name__ == "__main__" and os.environ.get("WITH_LIBMICROHTTPD", "no") == "yes":
    _run_together(globals())
