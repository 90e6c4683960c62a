# SPDX-License-Identifier: MIT
"""usher serve --http: metrics in Prometheus' format, of all scopes; and the files of contrib that use them."""
import http.client
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

from serve import PATIENCE, Server, run, status

TOP = os.path.dirname(os.path.abspath(__file__)) + "/../.."
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)\Z')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|\Z)')
LABELS = {"queue", "pool", "room", "serial", "id", "lane", "state", "reason", "noun", "verb", "status", "le", "version"}
UNITS = ("_ms", "_milliseconds", "_s", "_sec", "_minutes", "_hours", "_days", "_percent", "_kb", "_kilobytes", "_us", "_micros")
TYPES = {"counter", "gauge", "histogram"}


def _exposition(text):
    """{family: (type, [(sample, labels, value)])}.  Every fault that `promtool check metrics` reports is an error."""
    families, series, current = {}, set(), None
    assert text.endswith("\n") and "\r" not in text
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            assert name not in families and NAME.match(name) and words.strip() == words, line
            families[name] = [None, [], words]
            current = name
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == current and families[name][0] is None and not families[name][1] and kind in TYPES, line
            families[name][0] = kind
        else:
            found = SAMPLE.match(line)
            assert found, line
            name, labels, value = found.groups()
            pairs = LABEL.findall(labels or "")
            keys = [k for k, _ in pairs]
            assert len(keys) == len(set(keys)) and set(keys) <= LABELS, line
            assert re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value), line
            assert (name, tuple(sorted(pairs))) not in series, line
            series.add((name, tuple(sorted(pairs))))
            kind = families[current][0]
            suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            assert any(name == current + s for s in suffixes), line  # a family is in one piece
            assert ("le" in keys) == name.endswith("_bucket"), line
            pairs = [(k, v.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")) for k, v in pairs]
            families[current][1].append((name, dict(pairs), float(value)))
    for name, (kind, samples, words) in families.items():
        assert kind is not None and words, name
        assert name.startswith("usher_") and not name.endswith(UNITS), name
        assert name.endswith("_total") == (kind == "counter"), name
        assert not re.search(r"gauge|counter|histogram|_(bucket|sum|count)\Z", name), name
        if kind == "histogram":
            _histogram(name, samples)
    return {name: (f[0], f[1]) for name, f in families.items()}


def _histogram(name, samples):
    of = {}
    for sample, labels, value in samples:
        key = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        of.setdefault(key, {}).setdefault(sample[len(name) :], []).append((labels.get("le"), value))
    for parts in of.values():
        bounds = [float(le) for le, _ in parts["_bucket"]]
        counts = [n for _, n in parts["_bucket"]]
        assert bounds == sorted(set(bounds)) and bounds[-1] == float("inf"), name
        assert counts == sorted(counts) and counts[-1] == parts["_count"][0][1] and len(parts["_sum"]) == 1, name


def _get(server, query="", code=200):
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port(), timeout=PATIENCE)
    connection.request("GET", "/metrics" + query)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == code, (answer.status, text[-300:])
    return text


def _page(server, query=""):
    text = _get(server, query)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout.decode()
    return _exposition(text)


def _value(page, family, **labels):
    found = [v for _, of, v in page[family][1] if of == labels]
    assert len(found) == 1, (family, labels, page.get(family))
    return found[0]


def _rows():
    """The rows METRIC of the table: [(noun, key of JSON, family, scale, label, value)], and the labels of nouns."""
    with open(TOP + "/include/usher/fields.h") as f:
        words = dict(re.findall(r'X\((\w+), \d+, \w+, "([^"]+)"', f.read()))
    with open(TOP + "/src/serve/scope_metrics.def") as f:
        table = f.read()
    families = dict(re.findall(r'^FAMILY\((\w+), "(\w+)"', table, re.M))
    rows = re.findall(r'^METRIC\((\w+), (\w+), (\w+), (\w+), (\w+|"\w+"), (\w+|"[^"]+")\)', table, re.M)
    assert len(rows) == table.count("\nMETRIC(")
    labels = {noun.lower(): label for noun, label in re.findall(r'^LABEL\((\w+), "(\w+)"', table, re.M)}
    return [(noun.lower(), words[field], "usher_" + families[family], scale, label.strip('"'), value.strip('"'))
            for noun, field, family, scale, label, value in rows], labels


STATS = {"number": ("number", "stats"), "queue": ("queue", "stats"), "room": ("room", "stats"), "serial": ("serial", "check"), "id": ("id", "show")}
# What the answers have besides: settings, versions, and sums of other figures.
OTHERS = {
    "number": {"total", "more"},
    "queue": {"agents", "more", "wait_total", "paused_by"},  # the sum of the histogram, and rows
    "room": {"linger", "ttl", "away", "grace", "log", "requests", "presence", "push"},
    "serial": {"batch", "cur", "max", "granted", "debt"},
    "id": {"max", "step", "start", "by", "began", "managed"},
}


def figures_are_those_of_the_answers():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client(resp3=True)
        for line in ("number add p 1", "number reg p 1", "number add p 2", "number reg p 2", "number set p rest 1h", "number call p owner o",
                     "number call p owner x", "number call p owner y", "number hangup p 1 token 1", "queue set q ttl 0 wrapup 1h",
                     "queue login q ann", "queue login q bob", "queue pause q bob", "queue apply q zoe", "queue apply q yan", "queue apply q xi",
                     "queue leave q xi", "room open r capacity 7", "room join r ann", "room lock r", "serial rule s width 5 max 900",
                     "serial fill s 20", "serial take s n 3", "serial rule g mode gapfree", "serial reserve g", "id create i limit 1000", "id next i n 3"):
            c.ask(*line.split())
        rows, labels = _rows()
        page = _page(server)
        for noun, name in (("number", "p"), ("queue", "q"), ("room", "r"), ("serial", "s"), ("serial", "g"), ("id", "i")):
            answer = dict(c.ask(*STATS[noun], name))
            assert _value(page, "usher_scope_exists", **{labels[noun]: name}) == 1
            known = set(OTHERS[noun])
            for of, key, family, scale, label, value in rows:
                known.add(key)
                if of != noun or key not in answer or answer[key] is None:
                    continue
                where = {labels[noun]: name}
                wanted = float(answer[key]) if scale != "WORD" else 1
                if label != "NULL":
                    where[label] = value if scale != "WORD" else answer[key]
                wanted /= 1000 if scale in ("SECONDS", "TIME") else 1
                got = _value(page, family, **where)
                passes = re.search(r"longest_(hold|wait)|first_arrival", family)  # time goes on between the two answers
                assert got <= wanted < got + PATIENCE if passes else abs(got - wanted) < 0.00005, (family, where, got, wanted)
            left = set(answer) - known - {"status", "epoch", "version", "due", "now"}
            assert not left, "%s %s has figures without a row in scope_metrics.def (or here, in OTHERS): %s" % (STATS[noun] + (left,))
        # a sum over a label is the whole
        answer = dict(c.ask("queue", "stats", "q"))
        assert sum(v for _, of, v in page["usher_queue_agents"][1]) == answer["agents"] == 2
        assert sum(v for _, of, v in page["usher_pool_numbers"][1]) == 2
        assert _value(page, "usher_pool_today_refused_calls", pool="p") == 1
        # nothing that was not asked for
        page = _page(server, "?noun=queue&noun=id")
        assert page["usher_scope_exists"][1] == [("usher_scope_exists", {"queue": "q"}, 1), ("usher_scope_exists", {"id": "i"}, 1)]
        assert "usher_pool_numbers" not in page and _value(page, "usher_scopes", state="read") == 2
        page = _page(server, "?scope=number/none&scope=number/p&scope=number/p&noun=id")
        assert [of for _, of, _ in page["usher_scope_exists"][1]] == [{"pool": "none"}, {"pool": "p"}, {"id": "i"}]
        assert _value(page, "usher_scopes", state="missing") == 1 and _value(page, "usher_scopes", state="read") == 2


def lanes_and_waits_are_those_of_the_answers():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client(resp3=True)
        for line in ("queue set q ttl 0 service 20s", "queue login q ann capacity 1", "queue set empty ttl 0", "queue login busy bob"):
            c.ask(*line.split())
        for i in range(9):
            c.ask("queue", "apply", "q", "u%d" % i, "lane", ("gold", "silver", 'a"b\\c')[i % 3], "since", str(int(time.time() * 1000) - 7000 * i))
        time.sleep(0.05)
        c.ask("queue", "login", "q", "bob", "capacity", "3")
        for line in ("queue login empty eve", "queue login empty dan", "queue login empty kim", "queue pause empty eve reason lunch", "queue pause empty dan reason lunch", "queue pause empty kim"):
            assert status(c.ask(*line.split())) == "ok", line
        page = _page(server)
        assert _value(page, "usher_queue_agents", queue="empty", state="paused") == 3
        assert page["usher_queue_paused_agents"][1] == [("usher_queue_paused_agents", {"queue": "empty", "reason": "lunch"}, 2)]
        # a row of `queue lanes` for each lane
        with open(TOP + "/src/serve/scope_metrics.def") as f:
            table = f.read()
        families = dict(re.findall(r'^FAMILY\((\w+), "(\w+)"', table, re.M))
        rows = re.findall(r'^ROW\(QUEUE, LANES, (\w+), (\w+), (\w+), (\w+|"\w+"), (\w+|"[^"]+")\)', table, re.M)
        with open(TOP + "/include/usher/fields.h") as f:
            words = dict(re.findall(r'X\((\w+), \d+, \w+, "([^"]+)"', f.read()))
        lanes = dict(c.ask("queue", "lanes", "q"))["lanes"]
        assert len(lanes) == 3 and len(rows) > 10 and _value(page, "usher_queue_lanes_complete", queue="q") == 1
        for lane in map(dict, lanes):
            known = {"lane"}
            for field, family, scale, label, value in rows:
                key = words[field]
                known.add(key)
                if lane[key] is None:
                    continue
                where = {"queue": "q", "lane": lane["lane"]}
                if label != "NULL":
                    where[label.strip('"')] = value.strip('"')
                wanted = float(lane[key]) / (1000 if scale == "SECONDS" else 1)
                got = _value(page, "usher_" + families[family], **where)
                assert got <= wanted < got + PATIENCE if key == "longest_wait" else abs(got - wanted) < 0.00005, (family, where, got, wanted)
            assert set(lane) == known, set(lane) ^ known
        # the buckets are the rows of `queue waits`
        answer, stats = dict(c.ask("queue", "waits", "q"))["waits"], dict(c.ask("queue", "stats", "q"))
        name = "usher_queue_wait_seconds"
        kind, samples = page[name]
        of = [(n, labels, v) for n, labels, v in samples if labels["queue"] == "q"]
        assert kind == "histogram" and [(float(labels["le"]), v) for n, labels, v in of if n == name + "_bucket"] == [
            (dict(row)["up_to"] / 1000 if dict(row)["up_to"] is not None else float("inf"), dict(row)["seated_total"]) for row in answer]
        assert [(n, v) for n, labels, v in of if "le" not in labels] == [(name + "_sum", stats["wait_total"] / 1000), (name + "_count", stats["seated_total"])]
        assert stats["seated_total"] == 4 and stats["wait_total"] > 0
        # no more lanes than may be, and it is told
        for i in range(101):
            assert status(c.ask("queue", "apply", "busy", "u%d" % i, "lane", "l%03d" % i)) == "ok"
        page = _page(server, "?scope=queue/busy")
        assert _value(page, "usher_queue_lanes_complete", queue="busy") == 0 and len(page["usher_queue_lane_waiting_users"][1]) == 100
        assert _value(page, "usher_scopes", state="read") == 1


def names_of_any_bytes_are_labels():
    names = ['a"b', "a\\b", "\\", '\\"', "a b", "zoë", "x" * 255, "</script>", "%s%n", "é" * 127, "a,b=\"c\"", "\u202eabc", "#"]
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        taken = [n for n in names if status(c.ask(b"id", b"create", n.encode())) == "ok"]
        assert len(taken) > 8, taken
        page = _page(server, "?noun=id")
        found = sorted(of["id"] for _, of, _ in page["usher_scope_exists"][1])
        # what JSON escapes is the text of the escape
        assert found == sorted(n.replace("\u2028", "\\u2028") for n in taken), (found, taken)


def all_scopes_are_found_and_a_limit_is_told():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        c.socket.sendall(b"".join(b"ID CREATE i%d\r\n" % i for i in range(2500)))
        for _ in range(2500):
            assert status(c.read()) == "ok"
        c.ask("number", "add", "p", "1")
        page = _page(server)
        assert len(page["usher_id_next"][1]) == 2500 and _value(page, "usher_scopes", state="read") == 2501
        assert _value(page, "usher_scopes_omitted") == 0 and _value(page, "usher_scopes_list_complete") == 1
        # all are answered while a page is read
        assert c.ask("PING") == "PONG"
    with Server("memory:", "--http=127.0.0.1:0", "--metrics=3") as server:
        c = server.client()
        for i in range(5):
            c.ask("id", "create", "i%d" % i)
        page = _page(server)
        assert _value(page, "usher_scopes", state="read") == 3 and _value(page, "usher_scopes_omitted") == 2
        page = _page(server, "?scope=id/i4")
        assert _value(page, "usher_scopes", state="read") == 1 and _value(page, "usher_id_next", id="i4") == 1
    with Server("memory:", "--http=127.0.0.1:0", "--metrics=0") as server:
        server.client().ask("id", "create", "i")
        assert _value(_page(server), "usher_scopes", state="read") == 0


def many_pages_at_a_time_are_whole():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        c = server.client()
        for i in range(600):
            c.ask("id", "create", "i%d" % i)
        connections = [http.client.HTTPConnection("127.0.0.1", server.http_port(), timeout=PATIENCE) for _ in range(12)]
        for connection in connections:
            connection.request("GET", "/metrics")
        connections.pop().close()  # one goes away
        for connection in connections:
            page = _exposition(connection.getresponse().read().decode())
            assert len(page["usher_id_next"][1]) == 600
        connections = [http.client.HTTPConnection("127.0.0.1", server.http_port(), timeout=PATIENCE) for _ in range(4)]
        for connection in connections:
            connection.request("GET", "/metrics")
        assert server.stop() == 0  # while they are read


def a_store_that_does_not_answer_is_visible():
    if os.environ.get("WITH_SQLITE", "yes") != "yes":
        return
    with Server("sqlite:DIR/db?timeout=300", "--http=127.0.0.1:0") as server:
        c = server.client()
        for name in ("a", "b"):
            assert status(c.ask("id", "create", name)) == "ok"
        other = sqlite3.connect(server.dir + "/db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        page = _page(server, "?scope=queue/q&scope=queue/r")
        read, failed = _value(page, "usher_scopes", state="read"), _value(page, "usher_scopes", state="failed")
        other.execute("ROLLBACK")
        other.close()
        assert failed == 2 and read == 0 and _value(page, "usher_store_failures_total", reason="unavailable") >= 2, page
        for _ in range(PATIENCE * 10):
            page = _page(server)
            if _value(page, "usher_scopes", state="read") == 2:
                return
            time.sleep(0.1)
        raise AssertionError(page)


def _names_of(text):
    return set(re.findall(r"\busher_[a-z0-9_]+", text))


def contrib_uses_metrics_that_exist():
    with Server("memory:", "--http=127.0.0.1:0") as server:
        page = _page(server)
    with open(TOP + "/src/serve/scope_metrics.def") as f:
        table = f.read()
    names = {"usher_" + name for name in re.findall(r'^FAMILY\(\w+, "(\w+)"', table, re.M)}
    names |= set(page) | {"usher_scope_exists"}
    names |= {"usher_" + name + s for name in re.findall(r'^FAMILY\(\w+, "(\w+)", "histogram"', table, re.M) for s in ("_bucket", "_sum", "_count")}
    names |= {name + s for name, (kind, _) in page.items() if kind == "histogram" for s in ("_bucket", "_sum", "_count")}
    rules, tests = TOP + "/contrib/prometheus/usher.rules.yml", TOP + "/contrib/prometheus/usher.rules.test.yml"
    with open(rules) as f:
        text = f.read()
    used = _names_of("\n".join(re.findall(r"^ +expr: (.*)", text, re.M)))
    assert used and used <= names, used - names
    alerts = re.findall(r"^ +- alert: (\w+)", text, re.M)
    assert len(alerts) == len(set(alerts)) and text.count("expr:") == len(alerts) == text.count("summary:")
    with open(tests) as f:
        tried = f.read()
    assert _names_of(tried) <= names, _names_of(tried) - names
    assert set(re.findall(r"alertname: (\w+)", tried)) == set(alerts)
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "rules", rules], check=True)
        subprocess.run(["promtool", "test", "rules", tests], check=True)
    with open(TOP + "/contrib/grafana/usher.json") as f:
        board = json.load(f)
    expressions = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    expressions += [v["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    used = _names_of("\n".join(expressions))
    assert used and used <= names, used - names
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids))
    for p in board["panels"]:
        assert p["type"] == "row" or (p["targets"] and p["title"] and p["fieldConfig"]["defaults"]["unit"]), p["title"]


if __name__ == "__main__" and os.environ.get("WITH_LIBMICROHTTPD", "no") == "yes":
    run(globals())
