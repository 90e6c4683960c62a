# SPDX-License-Identifier: MIT
"""usher top --once: the table, the object of /state.json, and the exit code."""
import fcntl
import json
import os
import pty
import re
import resource
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

from serve import PATIENCE, USHER, Server, own_redis, run

MINUTE = 60000


def _top(store, *words, code=0, **env):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **env}
    done = subprocess.run([USHER, "-s", store, "top", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout.decode() if code < 2 else done.stderr.decode()


def _shell(store, *lines):
    done = subprocess.run([USHER, "-s", store, "--json", "shell"], input="".join(l + "\n" for l in lines).encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(l) for l in done.stdout.decode().splitlines()]
    assert all(a["status"] == "ok" for a in answers), answers
    return answers


def _given(store):
    """@store, where each command has its time."""
    return store + ("&" if "?" in store else "?") + "clock=given"


def _row(text, scope):
    """The words of the row of @scope, with its mark or "-"."""
    (line,) = [l for l in text.splitlines() if l[2:].startswith(scope + " ")]
    return [line[0] if line[0] != " " else "-"] + line[2:].split()


def _width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def _limit():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def _on_terminal(store, columns, *words):
    """The exit code on a terminal with so few columns."""
    screen, keys = pty.openpty()
    fcntl.ioctl(keys, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = subprocess.Popen(
        [USHER, "-s", store, "top", *words], stdin=keys, stdout=keys, stderr=keys, preexec_fn=_limit)
    os.close(keys)
    try:
        while os.read(screen, 4096):
            pass
    except OSError:  # the program has closed it
        pass
    os.close(screen)
    return program.wait()


def _busy(store):
    """A user waits for 4 minutes, another one for 70 s; a pool has 1 of 2 numbers, another none."""
    now = int(time.time() * 1000)
    _shell(
        _given(store),
        "queue login late ann now=%d" % (now - 5 * MINUTE), "queue pause late ann now=%d" % (now - 5 * MINUTE), "queue set late ttl=0 now=%d" % (now - 5 * MINUTE),
        "queue apply late zoe now=%d" % (now - 4 * MINUTE), "queue apply late yan now=%d" % (now - 3 * MINUTE),
        "queue set slow ttl=0 now=%d" % (now - 5 * MINUTE), "queue login slow bob now=%d" % (now - 5 * MINUTE), "queue pause slow bob now=%d" % (now - 5 * MINUTE),
        "queue apply slow xia now=%d" % (now - 70000), "queue set none ttl=0 now=%d" % now, "queue login none cid now=%d" % now,
        "number add dry 1 now=%d" % now, "number reg dry 1 now=%d" % now, "number call dry owner=o now=%d" % now,
        "number add half 1 now=%d" % (now - 30000), "number reg half 1 now=%d" % (now - 30000), "number add half 2 now=%d" % (now - 30000), "number reg half 2 now=%d" % (now - 30000), "number call half owner=o now=%d" % (now - 30000),
        "room open hall capacity=2 now=%d" % now, "room join hall ann now=%d" % now,
        "serial rule inv now=%d" % now, "id create tick limit=1000 now=%d" % now, "id next tick n=3 now=%d" % now,
    )


def _judged(store):
    text = _top(store, "--once", code=1)
    head, *rows = text.splitlines()
    assert re.fullmatch(r"usher top  \w+ · \d+ ms · 8 scopes +▲2 ◆1  \d\d:\d\d:\d\d UTC[+-][\d:]+", head), head
    order = [l.split()[1] if l[0] != " " else l.split()[0] for l in rows if "/" in l and not l.lstrip().startswith("SCOPE")]
    assert set(order[:2]) == {"queue/late", "number/dry"} and order[2] == "queue/slow", text
    late = _row(text, "queue/late")
    assert late[:5] == ["▲", "queue/late", "2", "0", "0"] and late[5] in ("4:00", "4:01", "4:02", "4:03", "4:04", "4:05") and "longest wait 4:0" in " ".join(late), late
    assert _row(text, "queue/slow")[0] == "◆" and _row(text, "queue/none")[0] == "-"
    assert _row(text, "number/dry")[:4] == ["▲", "number/dry", "1", "0"] and " ".join(_row(text, "number/dry")).endswith("0 of 1 free")
    assert _row(text, "number/half")[:4] == ["-", "number/half", "1", "1"]
    assert _row(text, "room/hall")[:4] == ["-", "room/hall", "1", "1"] and _row(text, "id/tick")[:3] == ["-", "id/tick", "997"]
    assert all(_width(l) <= 160 for l in rows)
    # thresholds of one's own
    assert _row(_top(store, "queue", "--once", "wait=1h,2h"), "queue/late")[0] == "-"
    assert _row(_top(store, "queue", "--once", "wait=60s,70s", code=1), "queue/slow")[0] == "▲"
    assert _row(_top(store, "number", "--once", "free=60,0"), "number/half")[0] == "◆"
    assert _row(_top(store, "room/hall", "--once", "full=50,60"), "room/hall")[0] == "◆"
    assert "held for" in " ".join(_row(_top(store, "number", "--once", "hold=1s,100d", "free=0,0"), "number/half"))
    # a terminal of any width, in bounded memory; a sanitizer does not start in that
    limited = subprocess.run([USHER, "version"], preexec_fn=_limit, capture_output=True).returncode == 0
    for columns in (1, 10, 40, 80) if limited else ():
        assert _on_terminal(store, columns, "--once") == 1, columns
    # without UTF-8
    for words, env in ((["--ascii"], {}), ([], {"LC_ALL": "C"})):
        text = _top(store, "--once", *words, code=1, **env)
        assert text.isascii() and _row(text, "queue/late")[0] == "!" and _row(text, "queue/slow")[0] == "*"


def scopes_are_shown_by_urgency():
    with tempfile.TemporaryDirectory(prefix="usher-top.") as where, own_redis() as redis:
        stores = ["sqlite:%s/db" % where] if os.environ.get("WITH_SQLITE", "yes") == "yes" else []
        if redis is not None and os.environ.get("WITH_REDIS", "yes") == "yes":
            stores.append(redis)
        for store in stores:
            _busy(store)
            _judged(store)
            with Server(store) as server:
                _judged("usher+unix:" + server.path)


def the_object_is_that_of_the_server():
    with Server("memory:") as server:
        url = "usher+unix:" + server.path
        _shell(url, "queue login q ann", "queue apply q zoe", "number add p 1", "room open r")
        client = server.client(resp3=True)
        for words in ((), ("queue",), ("queue/q,number",)):
            state = json.loads(dict(client.ask("STATE", *words))["state"])
            shown = json.loads(_top(url, "--once", "--json", *words))
            assert set(shown) == set(state) and [s["scope"] for s in shown["scopes"]] == [s["scope"] for s in state["scopes"]]
            assert [s["stats"] for s in shown["scopes"]] == [s["stats"] for s in state["scopes"]] and shown["totals"] == state["totals"]
        assert client.ask("STATE", "nope") == "INVALID `nope` is not a noun" and "wrong number" in client.ask("STATE", "queue", "x")
        # a client that goes while its state is read leaves nothing
        for _ in range(3):
            gone = server.client()
            gone.send("STATE")
            gone.close()
        assert dict(client.ask("STATE"))["state"].startswith('{"v":1,')
    with tempfile.TemporaryDirectory(prefix="usher-top.") as where:
        if os.environ.get("WITH_SQLITE", "yes") == "yes":
            store = "sqlite:%s/db" % where
            (answer,) = _shell(store, "number add p 1")
            state = json.loads(_top(store, "--once", "--json"))
            assert state["v"] == 1 and state["store"] == "ok" and state["scopes"][0]["version"] == answer["version"]


def names_do_not_break_the_table():
    names = ["x" * 255, "漢字" * 40, "zoe\u0301", "\u202eabc", "a\u200bb", "%s%n", "\\x1b[2J"]
    with Server("memory:") as server:
        url = "usher+unix:" + server.path
        client = server.client()
        for name in names:
            assert client.ask(b"id", b"create", name.encode())[1] == "ok"
        for locale in ("C.UTF-8", "C"):
            text = _top(url, "--once", LC_ALL=locale)
            assert all(_width(l) <= 160 for l in text.splitlines()) and "\u202e" not in text and "\u200b" not in text and "\x1b" not in text
            assert len(text.splitlines()) == 2 + len(names)
        assert "id/\\u202eabc" in _top(url, "--once") and "id/漢字漢字" in _top(url, "--once")


def wrong_words_are_named():
    for words, wanted in (
        (["nope"], "`nope` is not a noun"), (["queue/"], "its name is invalid"), (["queue", "number"], "is one word too many"),
        (["wait=1"], "is not WARNING,ALARM"), (["wait=1,x"], "is not WARNING,ALARM"), (["free=1s,2"], "is not WARNING,ALARM"), (["wait=500ms,900ms"], "is not WARNING,ALARM"),
        (["wait=5m,1m"], "an alarm below the warning"), (["free=5,15"], "an alarm above the warning"), (["nope=1,2"], "is not an option"), (["--nope"], "is not an option"),
    ):
        assert wanted in _top("memory:", "--once", *words, code=2), words
    assert "there is nothing in this store yet" in _top("memory:", "--once").lower()
    assert _top("memory:", "--once", "queue/q", code=1) == ""  # nothing, and why on the other stream
    assert "unavailable" in _top("usher+unix:/nowhere/s", "--once", code=3)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    run(globals())
