# SPDX-License-Identifier: MIT
"""usher top in a terminal: tmux draws it and types keys.  $USHER is the program."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli"))
from serve import PATIENCE, USHER, Server, own_redis, redis_process, run  # noqa: E402

MINUTE = 60000


def _shell(store, *lines):
    done = subprocess.run([USHER, "-s", store, "--json", "shell"], input="".join(l + "\n" for l in lines).encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(l) for l in done.stdout.decode().splitlines()]
    assert all(a["status"] in ("ok", "same") for a in answers), [a for a in answers if a["status"] not in ("ok", "same")]
    return answers


def _width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class _Terminal:
    """A terminal with a shell, in which the program runs."""

    def __init__(self, *words, width=80, height=24, lang="C.UTF-8", term="screen-256color", job=False, **env):
        self.dir = tempfile.mkdtemp(prefix="usher-tmux.")
        self.size = (width, height)
        with open(self.dir + "/conf", "w") as conf:
            conf.write("set -g status off\nset -g escape-time 0\nset -g default-terminal %s\n" % term)
        command = " ".join(["%s=%s" % pair for pair in env.items()] + ["'%s'" % w for w in (USHER, *words)])
        if job:  # it can be stopped, and goes on with Enter
            command = "set -m\n%s\nstty -g >%s/stopped\necho stopped\nread line\nfg >/dev/null" % (command, self.dir)
        with open(self.dir + "/run", "w") as script:
            script.write("trap : INT\nstty -g >%s/before\n%s\necho exit=$?\nstty -g >%s/after\necho over\nsleep 1000\n" % (self.dir, command, self.dir))
        self._tmux("-f", self.dir + "/conf", "new-session", "-d", "-x", str(width), "-y", str(height), "sh", self.dir + "/run", LC_ALL=lang)

    def _tmux(self, *words, **env):
        env = {**{k: v for k, v in os.environ.items() if k not in ("TMUX", "LINES", "COLUMNS", "NO_COLOR")}, "LC_ALL": "C.UTF-8", **env}
        return subprocess.run(["tmux", "-u", "-S", self.dir + "/s", *words], env=env, stdout=subprocess.PIPE, timeout=PATIENCE, check=True).stdout.decode()

    def keys(self, *keys):
        self._tmux("send-keys", *keys)

    def type(self, text):
        self._tmux("send-keys", "-l", text)

    def text(self, *options):
        return self._tmux("capture-pane", "-p", *options)

    def until(self, *parts, gone=()):
        """The screen, when it has all of @parts and none of @gone."""
        end = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            if all(p in text for p in parts) and not any(p in text for p in gone):
                lines = text.split("\n")[:-1]
                assert len(lines) <= self.size[1] and all(_width(l) <= self.size[0] for l in lines), text
                return text
            assert time.monotonic() < end, (parts, gone, text)
            time.sleep(0.02)

    def resize(self, width, height):
        self.size = (width, height)
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def process(self):
        """The program in the terminal."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["ps", "-o", "pid=", "--ppid", shell], stdout=subprocess.PIPE, check=True).stdout.split()[0])

    def over(self, code=0):
        """The program has ended, and the terminal is as before."""
        text = self.until("exit=%d" % code, "over")
        with open(self.dir + "/before") as before, open(self.dir + "/after") as after:
            assert before.read() == after.read()
        return text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.dir + "/s", "kill-server"], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", self.dir], check=False)


def _rows(text):
    """The scopes on the screen, in their order."""
    return re.findall(r"^[▲◆!* ] ((?:queue|number|room|serial|id)/\S+)", text, re.M)


def _seed(store):
    now = int(time.time() * 1000)
    lines = []
    for name, minutes in (("late", 4), ("slow", 2)):
        lines += ["queue set %s ttl=0 now=%d" % (name, now - 5 * MINUTE), "queue login %s ann now=%d" % (name, now - 5 * MINUTE), "queue pause %s ann now=%d" % (name, now - 5 * MINUTE),
                  "queue apply %s zoe now=%d" % (name, now - minutes * MINUTE)]
    for name, busy in (("dry", 2), ("half", 1), ("idle", 0)):
        lines += ["number %s %s %d now=%d" % (verb, name, n, now) for n in (1, 2) for verb in ("add", "reg")]
        lines += ["number call %s owner=o%d node=pbx now=%d" % (name, n, now) for n in range(busy)]
    lines += ["room open hall capacity=3 now=%d" % now, "room join hall ann now=%d" % now, "serial rule inv now=%d" % now, "id create tick limit=1000 now=%d" % now]
    _shell(store + ("&" if "?" in store else "?") + "clock=given", *lines)


def _file():
    where = tempfile.mkdtemp(prefix="usher-top.")
    _seed("sqlite:%s/db" % where)
    return "sqlite:%s/db" % where


def _gone(store):
    subprocess.run(["rm", "-rf", os.path.dirname(store.split(":", 1)[1])], check=False)


def what_is_wrong_comes_first():
    store = _file()
    with _Terminal("-s", store, "top") as t:
        text = t.until("number/dry", "?help")
        rows = _rows(text)
        assert rows[:3] == ["number/dry", "queue/late", "queue/slow"] and len(rows) == 8, rows
        assert "▲2 ◆1" in text.split("\n")[0] and "IN USE" in text and "WHY" not in text
        t.keys("q")
        t.over()
    # a server is a store
    with Server(store) as server, _Terminal("-s", "usher+unix:" + server.path, "top", "queue") as t:
        assert _rows(t.until("queue/slow", "?help")) == ["queue/late", "queue/slow"]
        _shell("usher+unix:" + server.path, "queue login new bob")
        t.until("queue/new")
        t.keys("C-c")
        t.over()
    _gone(store)


def keys_move_sort_find_filter_and_hold():
    store = _file()
    with _Terminal("-s", store, "top") as t:
        t.until("number/dry", "◂")

        def cursor():
            return re.search(r"^[▲◆ ] (\S+).*◂", t.text(), re.M)

        def at(scope):
            t.until(scope)
            end = time.monotonic() + PATIENCE
            while cursor() is None or cursor()[1] != scope:
                assert time.monotonic() < end, (scope, t.text())
                time.sleep(0.02)

        at("number/dry")
        t.keys("Down", "Down")
        at("queue/slow")
        t.keys("End")
        last = _rows(t.text())[-1]
        at(last)
        t.keys("Home", "Up")
        at("number/dry")
        # find: the cursor goes there, and to the next one
        t.keys("/")
        t.type("ha")
        t.until("find: ha_")
        t.keys("Enter")
        first = {"number/half", "room/hall"}
        end = time.monotonic() + PATIENCE
        while cursor() is None or cursor()[1] not in first:
            assert time.monotonic() < end
        found = cursor()[1]
        t.keys("n")
        at((first - {found}).pop())
        t.keys("N")
        at(found)
        # filter: the others are left out, and counted with their alarms
        t.keys("f")
        t.type("queue")
        text = t.until("6 hidden, ▲1", "filter: queue_", gone=["number/"])
        assert _rows(text) == ["queue/late", "queue/slow"]
        t.keys("BSpace", "Enter")
        t.until("filter: queu ", "?help")
        t.keys("Escape")
        t.until("number/idle", gone=["hidden"])
        # one noun
        t.keys("3")
        t.until("number/half", gone=["queue/"])
        t.keys("1")
        t.until("queue/late")
        # by a column, and backwards
        t.keys("s", "s", "s")
        t.until("sorted by FREE", "vFREE")
        t.keys("s", "s", "s", "s")
        t.until("sorted by /MIN")
        t.keys("S")
        t.until("^/MIN")
        # held: nothing changes, and then all that has changed
        t.keys("p")
        t.until("HELD 0:0")
        _shell(store, "number add fresh 1")
        t.keys("u")
        t.until("HELD 0:02", gone=["number/fresh"])
        t.keys("p")
        t.until("number/fresh", gone=["HELD"])
        t.keys("?")
        t.until("keys of `usher top`")
        t.keys("x")
        t.until("SCOPE")
        t.keys("+", "-")
        t.until("every 0:02")
        t.keys("F10")
        t.over()
    _gone(store)


def a_scope_is_opened_with_its_lists():
    store = _file()
    with _Terminal("-s", store, "top") as t:
        t.until("number/dry", "◂")
        t.keys("Enter")
        t.until("▲ number/dry", "2 numbers: 0 free 2 busy", "[1 calls]", "0 of 2 free", "o0", "o1", "pbx", "token")
        t.keys("Tab")
        t.until("[2 free]", "There is none.")
        t.keys("5")
        t.until("[5 settings]", "longest-idle")
        t.keys("Escape")
        t.until("SCOPE", "?help")
        t.keys("Down", "Enter")
        t.until("▲ queue/late", "[1 waiting]", "zoe", "longest wait 4:")
        t.keys("2")
        t.until("[2 agents]", "ann", "paused")
        _shell(store, "queue leave late zoe", "queue apply late new")  # it is read again
        t.keys("1")
        t.until("new", gone=["zoe"])
        t.keys("p")
        t.until("new")
        _shell(store, "queue leave late new")
        t.keys("u", "x", "p")
        t.until("There is none.")
        t.keys("Escape", "4", "Enter")
        t.until("room/hall", "[1 members]", "ann", "here")
        _shell(store, "room close hall")
        t.until("There is no such scope any more.")
        t.keys("Escape", "5", "Enter")
        t.until("serial/inv", "[1 holds]")
        t.keys("2")
        t.until("[2 figures]", "critical")
        t.keys("Left", "6", "Enter")
        t.until("id/tick", "[1 figures]", "limit", "1000")
        t.resize(40, 8)
        t.until("id/tick")
        t.keys("End", "Home", "PPage", "NPage", "q")
        t.over()
    with Server(store) as server, _Terminal("-s", "usher+unix:" + server.path, "top", "number/half") as t:
        t.until("number/half", "◂")
        t.keys("Enter")
        t.until("[1 calls]", "pbx")
        server.stop(signal.SIGKILL)
        t.until("no answer for")
        t.keys("Escape", "q")
        t.over()
    _gone(store)


def _owners(store, pool):
    return {n["number"]: n["owner"] for n in _shell(store, "number list %s state=busy" % pool)[0].get("numbers", [])}


def nothing_is_changed_without_rw():
    store = _file()
    with _Terminal("-s", store, "top", "number/dry") as t:
        t.until("number/dry", "◂")
        t.keys("Enter")
        t.until("[1 calls]", "o0", gone=["k:free"])
        for key in ("k", "c", "F9"):
            t.keys(key)
            t.until("nothing is changed without --rw")
            t.keys("y")
        t.keys("q")
        t.over()
    assert len(_owners(store, "dry")) == 2
    _gone(store)


def only_a_y_frees_what_is_on_the_screen():
    store = _file()
    with Server(store) as server:
        for url in (store, "usher+unix:" + server.path):
            with _Terminal("-s", url, "top", "number/dry", "--rw") as t:
                t.until("number/dry", "◂")
                t.keys("Enter")
                t.until("[1 calls]", "o0", "k:free")
                for key in [chr(c) for c in range(33, 127) if chr(c) not in "y;"] + ["Enter", "Escape", "Space", "Tab", "Up", "F5", "C-a", "BSpace"]:
                    t.keys("k")
                    t.keys(key)
                t.keys("k")
                t.until("is held by", "y: yes")
                t.keys("n")
                t.until("nothing was done")
                assert len(_owners(store, "dry")) == 2
                # the hold that was on the screen has gone, and its number has another one
                t.keys("Home", "k")
                (number,) = re.findall(r"(\d) is held by o", t.until("is held by", "y: yes"))
                _shell(url, "number hangup dry %s" % number, "number call dry owner=other number=%s" % number)
                t.keys("y")
                t.until("stale: it has changed since it was read")
                assert _owners(store, "dry")[number] == "other"
                t.until(" other ")
                t.keys("End", "k")
                t.until("%s is held by other" % number, "y: yes")
                t.keys("y")
                t.until("ok: number hangup dry")
                assert number not in _owners(store, "dry")
                _shell(url, "number free dry all=1", "number call dry owner=o0 node=pbx", "number call dry owner=o1 node=pbx")
                # more than one: the name is typed
                t.until("o0", "o1", "pbx")
                for typed in ("pb", "pbxx", "y", ""):
                    t.keys("K")
                    t.until("Type pbx and Enter")
                    t.type(typed)
                    t.keys("Enter")
                    t.until("nothing was done")
                t.keys("K")
                t.type("pby")
                t.keys("BSpace")
                t.type("x")
                t.until("pbx_")
                assert len(_owners(store, "dry")) == 2
                t.keys("Enter")
                t.until("There is none.")
                assert not _owners(store, "dry")
                t.keys("q")
                t.over()
            _shell(url, "number call dry owner=o0 node=pbx", "number call dry owner=o1 node=pbx")
    _gone(store)


def a_question_that_cannot_be_read_changes_nothing():
    store = _file()
    with _Terminal("-s", store, "top", "number/dry", "--rw") as t:
        t.until("number/dry", "◂")
        t.keys("Enter")
        t.until("[1 calls]", "o0", "k:free")
        t.resize(60, 3)
        t.until("number/dry", gone=("k:free",))
        t.keys("k")
        t.resize(80, 24)
        t.until("the screen is too small for a question")
        t.keys("y", "k")
        t.until("is held by", "y: yes")
        t.resize(60, 3)
        t.until("number/dry", gone=("y: yes",))
        t.keys("y")
        t.resize(80, 24)
        t.until("nothing was done")
        assert len(_owners(store, "dry")) == 2
        t.keys("q")
        t.over()
    _gone(store)


def the_end_waits_for_an_answer():
    with own_redis() as url:
        redis = redis_process(url)
        _seed(url)
        with _Terminal("-s", url, "top", "number/dry", "--rw") as t:
            t.until("number/dry", "◂")
            t.keys("Enter")
            t.until("[1 calls]", "o0", "k:free")
            t.keys("k")
            (number,) = re.findall(r"(\d) is held by o", t.until("is held by", "y: yes"))
            os.kill(redis, signal.SIGSTOP)
            t.keys("y")
            try:
                text = t.until("number/dry", gone=("y: yes",))
                sent = "nothing was done" not in text  # else this machine was too slow
                if sent:
                    t.keys("q")
                    t.until("a command has no answer yet")
            finally:
                os.kill(redis, signal.SIGCONT)
            if sent:
                t.until("ok: number hangup dry")
                assert number not in _owners(url, "dry")
            t.keys("q")
            t.over()


def queues_and_rooms_are_run_from_the_screen():
    store = _file()
    with _Terminal("-s", store, "top", "--rw") as t:
        t.until("number/dry", "◂")
        t.keys("2", "Home", "Enter")
        t.until("queue/late", "[1 waiting]", "zoe")
        t.keys("2")
        t.until("[2 agents]", "logged_in")
        t.keys("r")
        t.until("ann is paused, and gets users")
        t.keys("y")
        t.until("ok: queue ready late", "busy")
        t.keys("k")
        t.until("its users leave the queue")
        t.keys("y")
        t.until("ok: queue free late", "idle")
        t.keys("P", "y")
        t.until("ok: queue pause late", "paused")
        _shell(store, "queue apply late yan")
        t.keys("1")
        t.until("yan")
        t.keys("k")
        t.until("yan is waiting in lane")
        t.keys("y")
        t.until("ok: queue leave late", "There is none.")
        t.keys("c", "y")
        t.until("ok: queue set late", "closed")
        assert _shell(store, "queue stats late")[0]["mode"] == "closed"
        t.keys("o", "y")
        t.until("ok: queue set late", gone=["closed"])
        t.keys("Escape", "4", "Enter")
        t.until("room/hall", "ann", "k:kick")
        t.keys("k", "y")
        t.until("ok: room kick hall", gone=[" ann "])
        t.keys("c")
        t.until("Type hall and Enter")
        t.type("hall")
        t.keys("Enter")
        t.until("ok: room close hall", "There is no such scope any more.")
        t.keys("q")
        t.over()
    with own_redis() as store_of_redis:
        _seed(store_of_redis)
        with _Terminal("-s", store_of_redis, "top", "number/dry", "--rw") as t:
            t.until("number/dry", "◂")
            t.keys("Enter")
            t.until("[1 calls]", "o0")
            process = redis_process(store_of_redis)
            t.keys("k")
            t.until("y: yes")
            os.kill(process, signal.SIGSTOP)
            t.until("no answer")
            t.keys("y")
            t.until("the store does not answer: nothing was done")
            t.keys("k")
            t.until("the store does not answer: nothing was done")
            os.kill(process, signal.SIGCONT)
            t.until("back after")
            assert len(_owners(store_of_redis, "dry")) == 2
            t.keys("q")
            t.over()
    _gone(store)


def the_order_stands_still_under_the_cursor():
    store = _file()
    with _Terminal("-s", store, "top", "--every=1s") as t:
        before = _rows(t.until("number/half", "◂"))
        # an alarm comes first at once, but not within 3 s of a key
        typed = time.monotonic()
        t.keys("Down", "Down", "Down", "Down")
        _shell(store, "number call half owner=x")
        rows = _rows(t.until("▲ number/half", "▲3"))
        assert rows == before or time.monotonic() - typed > 3, (rows, before)
        end = time.monotonic() + PATIENCE
        while "number/half" not in _rows(t.text())[:3]:
            assert time.monotonic() < end, t.text()
            time.sleep(0.05)
        t.keys("q")
        t.over()
    _gone(store)


def columns_leave_from_the_right():
    store = _file()
    with _Terminal("-s", store, "top", width=160, height=48) as t:
        text = t.until("WHY", "0 of 2 free", "waiting 2 in 2 of 2 queues")
        assert "LEVEL" in text and "DOWN" in text
        for width, there, gone in ((119, "DOWN", "WHY"), (100, "LEVEL", "DOWN"), (80, "IN USE", "LEVEL"), (70, "/MIN", "IN USE"), (61, "LOST", "IN USE")):
            t.resize(width, 30)
            t.until("SCOPE", "OLDEST", there, gone=[gone])
        t.resize(50, 10)
        t.until("0 of 2 free", "longest wait", gone=["SCOPE"])
        for width, height in ((20, 3), (1, 1), (79, 23), (2, 2), (200, 60), (80, 24)):
            t.resize(width, height)
            time.sleep(0.1)
            assert all(_width(l) <= width for l in t.text().split("\n"))
        t.until("SCOPE", "number/dry")
        t.keys(">", ">", ">")
        t.until("OLDEST", gone=["WAIT"])
        t.keys("<", "<", "<")
        t.until("WAIT")
        t.keys("q")
        t.over()
    _gone(store)


def plain_terminals_get_plain_signs():
    store = _file()
    for words, options in (((), {"term": "vt100", "lang": "C", "LC_ALL": "C"}), (("--ascii",), {}), ((), {"NO_COLOR": "1"})):
        with _Terminal("-s", store, "top", *words, **options) as t:
            text = t.until("number/dry", "?help")
            assert options.get("NO_COLOR") or text.isascii() and "! number/dry" in text
            assert bool(re.search(r"\x1b\[[0-9;]*3[1-7]", t.text("-e"))) == (not options)
            t.keys("q")
            t.over()
    # its size is that of the terminal, and a dumb one is printed to
    with _Terminal("-s", store, "top", LINES="5", COLUMNS="30") as t:
        t.until("SCOPE", "id/tick")
    with _Terminal("-s", store, "top", TERM="dumb") as t:
        t.over(1)
        t.until("number/dry")
    with _Terminal("-s", store, "top", TERM="nosuch") as t:
        t.over(2)
    _gone(store)


def names_do_not_move_the_cursor():
    store = _file()
    _shell(store, *["id create '%s'" % name for name in ("x" * 255, "漢字" * 30, "\u202eabc", "zoe\u0301")])
    with _Terminal("-s", store, "top", "id") as t:
        text = t.until("id/tick", "漢字", "?help")
        assert "\u202e" not in text and "id/\\u202eabc" in text and len(_rows(text)) == 5, text
        t.keys("q")
        t.over()
    _gone(store)


def keys_are_answered_while_the_store_is_silent():
    with own_redis() as store:
        assert store is not None
        _seed(store)
        with _Terminal("-s", store, "top") as t:
            t.until("number/dry", "◂")
            process = redis_process(store)
            os.kill(process, signal.SIGSTOP)
            try:
                t.keys("?")
                t.until("keys of `usher top`")
                t.keys("x", "Down")
                text = t.until("no answer for 0:0", "The store has not answered", "queue/late")
                assert re.search(r"queue/late.*◂", text), text
                wait = re.search(r"queue/late +1 +0 +0 +(\d+:\d+)", text)[1]
                text = t.until("no answer for 0:1")
                assert re.search(r"queue/late +1 +0 +0 +(\d+:\d+)", text)[1] == wait  # durations stand still
                t.keys("f")
                t.type("queue")
                t.until("filter: queue_", gone=["number/"])
                t.keys("Escape")
            finally:
                os.kill(process, signal.SIGCONT)
            t.until("back after", gone=["no answer"])
            os.kill(process, signal.SIGSTOP)
            t.until("no answer")
            t.keys("q")  # at once
            os.kill(process, signal.SIGCONT)
            t.over()


def the_terminal_is_as_before_after_signals():
    store = _file()
    for how in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        with _Terminal("-s", store, "top") as t:
            t.until("number/dry")
            os.kill(t.process(), how)
            t.over()
    with _Terminal("-s", store, "top", job=True) as t:
        t.until("number/dry")
        t.keys("C-z")
        t.until("stopped", gone=["SCOPE"])
        with open(t.dir + "/before") as before, open(t.dir + "/stopped") as stopped:
            assert before.read() == stopped.read()
        t.resize(100, 30)
        t.keys("Enter")
        t.until("SCOPE", "number/dry", "LEVEL")
        t.keys("q")
        t.over()
    _gone(store)


def it_ends_with_its_terminal():
    with tempfile.TemporaryDirectory() as dir_:
        store = "sqlite:%s/db" % dir_
        _seed(store)
        with _Terminal("-s", store, "top") as t:
            t.until("queue/late")
            program = t.process()
            os.kill(int(t._tmux("display-message", "-p", "#{pid}")), signal.SIGKILL)
            end = time.monotonic() + PATIENCE
            while os.path.exists("/proc/%d" % program) and open("/proc/%d/stat" % program).read().split(")")[-1].split()[0] != "Z":
                assert time.monotonic() < end, "it goes on without a terminal"
                time.sleep(0.02)


def ten_thousand_scopes_are_shown():
    store = _file()
    subprocess.run([USHER, "-s", store, "--json", "shell"], input="".join("number add pool-%05d 1\n" % i for i in range(10000)).encode(), stdout=subprocess.DEVNULL, check=True)
    with _Terminal("-s", store, "top") as t:
        text = t.until("10 008 scopes, the 20", "number/dry")
        assert _rows(text)[:3] == ["number/dry", "queue/late", "queue/slow"]
        t.keys("End")
        t.until("number/pool-")
        t.keys("q")
        t.over()
    _gone(store)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    run(globals())
