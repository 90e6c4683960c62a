# SPDX-License-Identifier: MIT
"""The series of `usher replay --report=json`, counted again from the record.

    replay_series.py TRACE.csv REPORT.json ZONE     the record has the outcome of callers
"""
import csv
import json
import math
import sys

DAY, HOUR = 86400000, 3600000
rows = [{key: int(value) if key.endswith("_ms") else value for key, value in row.items()} for row in csv.DictReader(open(sys.argv[1], newline=""))]
report = json.load(open(sys.argv[2]))
series, zone, within = report["series"], int(sys.argv[3]) * 60000, report["queue"]["within"]


def same(what, got, wanted):
    assert got == wanted, ("%s: %s, but counted %s" % (what, got, wanted))[:2000]


def day_of(ms):
    return (ms + zone) // DAY


def most(spans, begin, end):
    """The most spans at once in [begin, end); a span ends before others begin."""
    moments = [begin] + [at for at, _ in spans if begin < at < end]
    return max(sum(a <= at < b for a, b in spans) for at in moments)


def mean(spans, begin, end):
    return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans) / (end - begin)


served = [row for row in rows if row["agent"]]
gave_up = [row for row in rows if not row["agent"]]
waiting = [(row["arrival_ms"], row["arrival_ms"] + row["wait_ms"]) for row in rows if row["wait_ms"]]
talking = [(row["arrival_ms"] + row["wait_ms"], row["arrival_ms"] + row["wait_ms"] + row["service_ms"]) for row in served if row["service_ms"]]
lines = [(row["arrival_ms"], row["release_ms"]) for row in rows]
days = sorted({day_of(row["arrival_ms"]) for row in rows})
same("days", len(series["days"]), len(days))
for day, got in zip(days, series["days"]):
    of = [row for row in rows if day_of(row["arrival_ms"]) == day]
    side, begin = got["recorded"], day * DAY - zone
    same("calls", got["calls"], len(of))
    same("asked", side["asked"], len(of))
    same("served", side["served"], sum(row["agent"] != "" for row in of))
    same("in time", side["in_time"], sum(row["agent"] != "" and row["wait_ms"] <= within for row in of))
    same("abandoned", side["abandoned"], sum(row["agent"] == "" for row in of))
    same("longest queue", side["longest_queue"], [most(waiting, begin + i * DAY // 48, begin + (i + 1) * DAY // 48) for i in range(48)])
    same("both", got["replayed"], side)
calls = [got["calls"] for got in series["days"]]
busiest = days[calls.index(max(calls))] * DAY - zone
for name, spans, got in (("waiting", waiting, series["busiest_day"]["recorded"]["waiting"]), ("talking", talking, series["busiest_day"]["recorded"]["talking"]), ("lines", lines, series["busiest_day"]["lines"])):
    same(name, got, [most(spans, busiest + i * DAY // 720, busiest + (i + 1) * DAY // 720) for i in range(720)])
busy = [day * DAY - zone for day, n in zip(days, calls) if 2 * n >= max(calls)]
same("busy days", series["busy_days"], len(busy))
for hour, got in enumerate(series["recorded"]["talking"]):
    wanted = sum(mean(talking, begin + hour * HOUR, begin + (hour + 1) * HOUR) for begin in busy) / len(busy)
    assert abs(got - wanted) < 0.0051, (hour, got, wanted)
for side in ("recorded", "replayed"):
    week = [[[0, 0, 0] for _ in range(24)] for _ in range(7)]
    for row in rows:
        cell = week[(day_of(row["arrival_ms"]) + 3) % 7][(row["arrival_ms"] + zone) // HOUR % 24]
        cell[0] += 1
        cell[1] += row["agent"] != "" and row["wait_ms"] <= within
        cell[2] += row["agent"] == ""
    same("week", series[side]["week"], week)
    same("waited longer", series[side]["waited_longer"], [sum(row["wait_ms"] > ms for row in served) for ms in series["waits_from"]])
    for key, of in (("wait_served", served), ("wait_abandoned", gave_up)):
        waits = sorted(row["wait_ms"] for row in of)
        same(key, series[side][key], [waits[math.ceil(len(waits) * percent / 100) - 1] if waits else None for percent in series["percents"]])
for got in series["giving_up"]:
    still = sum(row["wait_ms"] >= got["from"] and row["wait_ms"] > 0 for row in rows)
    gone = sum(got["from"] <= row["wait_ms"] < got["to"] and row["wait_ms"] > 0 for row in gave_up)
    same("giving up", (got["waiting"], got["hung_up"]), (still, gone))
    share = gone / still if still else 0
    bound = 1.96 * math.sqrt(share * (1 - share) / still) if still else 0
    for key, wanted in (("share", share), ("low", max(0, share - bound)), ("high", min(1, share + bound))):
        assert abs(got[key] - wanted) < 0.00006, (got, key, wanted)
moments = sorted({at for span in lines for at in span})
busy_ms = [0] * len(series["lines_busy"])
for at, until in zip(moments, moments[1:]):
    busy_ms[sum(a <= at < b for a, b in lines)] += until - at
same("lines busy", series["lines_busy"], busy_ms)
