# SPDX-License-Identifier: MIT
"""The pages in a headless browser: the wallboard of `usher serve`, and examples/webchat.

    USHER=usher python3 browser.py [NAME...]     needs chromium, and node for the chat
"""
import base64
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
sys.path.insert(0, os.path.join(HERE, "clients"))
from serve import PATIENCE, USHER, Server, own_redis, redis_process, run  # noqa: E402


class _Browser:
    """Chromium by its debugging protocol, over a pipe: messages of JSON that end with NUL."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="usher-browser.")
        there, self.write_end = os.pipe()
        self.read_end, here = os.pipe()

        def descriptors():
            # Chromium reads from 3 and writes to 4; any of these numbers may be one of ours
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 5) for end in (there, here)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                 "--disable-background-networking", "--no-first-run", "--user-data-dir=" + self.dir, "about:blank"]
        self.process = subprocess.Popen(words, preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(here)
        self.buffer, self.n, self.pages = b"", 0, []

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read_end, 1 << 16)
            assert more, "the browser has ended"
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def do(self, method, session=None, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            got = self.read()
            for page in self.pages:
                page.noticed(got)
            if got.get("id") == self.n:
                assert "error" not in got, (method, got["error"])
                return got["result"]

    def page(self, url, width=1280, height=720):
        page = _Page(self, width, height)
        page.go(url)
        return page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.read_end)
        os.close(self.write_end)
        shutil.rmtree(self.dir, ignore_errors=True)


class _Page:
    def __init__(self, browser, width, height):
        self.browser, self.asked, self.errors = browser, [], []
        target = browser.do("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages.append(self)
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.do(domain + ".enable")
        self.size(width, height)

    def noticed(self, got):
        if got.get("sessionId") != self.session:
            return
        params = got.get("params")
        if got.get("method") == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif got.get("method") == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif got.get("method") == "Log.entryAdded" and params["entry"]["source"] == "security":
            self.errors.append(params["entry"]["text"])

    def do(self, method, **params):
        return self.browser.do(method, self.session, **params)

    def size(self, width, height):
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700)

    def go(self, url):
        self.do("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def js(self, text):
        got = self.do("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, (text, got)
        return got["result"].get("value")

    def wait(self, condition):
        for _ in range(PATIENCE * 20):
            if self.js(condition):
                return
            time.sleep(0.05)
        raise AssertionError("%s: not within %d s; the page: %s" % (condition, PATIENCE, self.js("document.body.innerText")[:600]))

    def key(self, key, **more):
        self.do("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.do("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def text(self, selector):
        return self.js("document.querySelector(%s).textContent" % json.dumps(selector))


HOSTILE = '<img src=x onerror=alert(1)>&"\''


def _store(queues):
    lines = []
    for i in range(queues):
        lines += ["queue set q%02d service=20s offer=0" % i, "queue login q%02d ann%d" % (i, i)]
        lines += ["queue apply q%02d u%d" % (i, k) for k in range(i % 5 + 1)]
    for i in range(12):
        lines += ["number add pool%02d %d" % (i, k) for k in range(4)] + ["number reg pool%02d %d" % (i, k) for k in range(4)]
        lines += ["number call pool%02d" % i] * (i % 5)
    return lines + ["room open hall capacity=4", "room join hall kim", "serial rule inv prefix=A-", "serial fill inv 9", "id create orders", "id next orders n=5"]


def _wall(server, query=""):
    return "http://127.0.0.1:%d/%s" % (server.http_port(), query)


def the_wallboard_shows_the_figures_of_the_store():
    with _Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
        server.shell(_store(20))
        page = browser.page(_wall(server))
        page.wait("typeof all !== 'undefined' && all.size === 35")
        page.js("drawAll()")
        client = server.client(True)
        for noun, name, keys in (("queue", "q04", ("waiting", "seated", "agents", "seated_today")), ("number", "pool03", ("total", "busy_up", "idle_up", "calls_today"))):
            stats = dict(client.ask(noun, "stats", name))
            shown = page.js("(x => ({ version: x.version, ...x.stats }))(all.get('%s/%s'))" % (noun, name))
            assert shown["version"] == stats["version"] and all(shown[key] == stats[key] for key in keys), (shown, stats)
        waiting = sum(dict(client.ask("queue", "stats", "q%02d" % i))["waiting"] for i in range(20))
        page.wait("document.querySelector('#sum').innerText.includes('%d')" % waiting)
        assert page.js('[...document.querySelectorAll("#q .r[data-scope]")].every(r => +r.querySelector(".c2").innerText === all.get(r.dataset.scope).stats.waiting)')
        # a change is shown, and what is wrong comes first
        for i in range(30):
            client.ask("queue", "apply", "q00", "more%d" % i)
        page.wait("all.get('queue/q00').stats.waiting === 30")
        # names and reasons are text
        client.ask("queue", "apply", HOSTILE, "u")
        client.ask("queue", "set", HOSTILE, "mode", "closed", "reason", HOSTILE)
        page.wait("[...document.querySelectorAll('.nm')].some(e => e.textContent.includes('<img') && e.textContent.includes('closed'))")
        assert not page.js("!!document.querySelector('main img')")
        # every size: nothing beside the screen, and on large ones all of it
        for width, height in ((1920, 1080), (1280, 720), (1024, 768), (390, 844)):
            page.size(width, height)
            page.js("new Promise(done => { drawAll(); requestAnimationFrame(() => setTimeout(done, 100)); })")
            assert page.js("document.documentElement.scrollWidth <= innerWidth"), width
            assert width < 900 or page.js("document.documentElement.scrollHeight <= innerHeight"), width
        page.size(1280, 720)
        page.js("drawAll(); document.querySelector('#q .r[data-scope]').focus()")
        page.key("ArrowDown")
        page.key("Enter")
        page.wait("document.querySelector('dialog').open")
        page.key("Escape", windowsVirtualKeyCode=27)
        page.wait("!document.querySelector('dialog').open")
        assert {re.sub(r"\?.*", "", url.split("/", 3)[3]) for url in page.asked if url.startswith("http")} == {"", "events"}, page.asked
        assert page.errors == [], page.errors
        only = browser.page(_wall(server, "?only=number/pool03"))
        only.wait("typeof all !== 'undefined' && all.size === 1")
        client.close()


def the_wallboard_has_roles_words_and_contrast():
    with _Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
        server.shell(_store(20))
        page = browser.page(_wall(server), 1920, 1080)
        page.wait("typeof all !== 'undefined' && all.size === 35")
        page.js("drawAll()")
        assert page.js('[...document.querySelectorAll("main .r")].every(r => r.getAttribute("role") === "row" && [...r.children].every(c => /cell|header/.test(c.getAttribute("role"))))')
        assert page.js('[...document.querySelectorAll("main svg, #sum svg")].every(s => s.getAttribute("role") === "img" && s.getAttribute("aria-label"))')
        assert page.js('document.querySelectorAll("h1").length === 1 && [...document.querySelectorAll("main section")].every(s => s.querySelector("h2"))')
        assert page.js('(l => l.length === 20 && l.every((v, i) => !i || l[i - 1] >= v))([...document.querySelectorAll("#q .r[data-scope]")].map(r => all.get(r.dataset.scope).level))')
        for theme, background in (("dark", "rgb(14, 19, 24)"), ("light", "rgb(238, 241, 244)")):
            page.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            assert page.js("getComputedStyle(document.body).backgroundColor") == background
            colour = {name: page.js("getComputedStyle(document.documentElement).getPropertyValue('--%s')" % name).strip() for name in _COLOURS}
            for front, back, need in _PAIRS:
                assert _contrast(colour[front], colour[back]) >= need, (theme, front, back, _contrast(colour[front], colour[back]))
        for theme, background in (("light", "rgb(238, 241, 244)"), ("dark", "rgb(14, 19, 24)")):  # the address beats the system
            page.go(_wall(server, "?theme=" + theme))
            assert page.js("getComputedStyle(document.body).backgroundColor") == background
        assert page.errors == [], page.errors


_COLOURS = "bg card text dim blue mid free grey warn onwarn alarm onalarm warnbg alarmbg warntext alarmtext".split()
_PAIRS = [(front, back, 4.5) for front in ("text", "dim") for back in ("bg", "card", "warnbg", "alarmbg")]
_PAIRS += [(front, back, 4.5) for front in ("warntext", "alarmtext") for back in ("card", "warnbg", "alarmbg")]
_PAIRS += [("onwarn", "warn", 4.5), ("onalarm", "alarm", 4.5), ("alarm", "alarmbg", 3), ("alarm", "card", 3)]
_PAIRS += [(front, back, 3) for front in ("blue", "mid", "free", "grey") for back in ("card", "warnbg", "alarmbg")]


def _contrast(one, other):
    """The contrast of two colours by the formula of WCAG 2, 1 to 21."""

    def luminance(colour):
        digits = colour.lstrip("#")
        digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
        parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def the_wallboard_speaks_seldom_and_answers_keys():
    with _Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
        server.shell(_store(20))
        page = browser.page(_wall(server))
        page.wait("typeof all !== 'undefined' && all.size === 35")
        page.js(_MOVABLE_CLOCK)
        feed = """(name, waiting, wait) => {
            const now = Date.now();
            handle.scopes({ at: now, scopes: [{ scope: 'queue/' + name, at: now, set: { service: 20000 }, stats: { ...all.get('queue/q19').stats, waiting, longest_wait: wait } }] });
            drawAll();
            return document.querySelector('#say').textContent;
        }"""
        # an alarm is spoken at once, the next one not before ten seconds, and a change without a new level never
        page.js("later += 11000; drawAll()")  # the alarms of the first state
        assert "extra: alarm" in page.js("later += 11000; (%s)('extra', 9, 900000)" % feed)
        assert page.js('document.querySelector("#q .r[data-scope]").dataset.scope') == "queue/extra"
        assert "more" not in page.js("later += 5000; (%s)('more', 9, 900000)" % feed)
        assert "more: alarm" in page.js("later += 6000; (%s)('more', 9, 900000)" % feed)
        spoken = page.text("#say")
        assert page.js("later += 11000; (%s)('more', 8, 910000)" % feed) == spoken
        # a search leaves the names that contain its text
        page.key("/", text="/")
        page.js("document.querySelector('#find').value = 'extra'; document.querySelector('#find').dispatchEvent(new Event('input'))")
        assert page.js('[...document.querySelectorAll("#q .r[data-scope]")].map(r => r.dataset.scope).join()') == "queue/extra"
        page.key("Escape", windowsVirtualKeyCode=27)
        page.wait('document.querySelectorAll("#q .r[data-scope]").length > 10')
        page.js("document.activeElement.blur()")
        page.key("?")
        page.wait("document.querySelector('dialog').open && document.querySelector('dialog').innerText.includes('next page')")
        page.key("Escape", windowsVirtualKeyCode=27)
        page.wait("!document.querySelector('dialog').open")
        theme = page.js("isDark()")
        page.key("t")
        assert page.js("isDark()") != theme
        page.key("p")
        assert page.js("heldPage && document.querySelector('#hold').getAttribute('aria-pressed') === 'true'")
        page.key("p")
        first = page.js("page.p")
        page.key("n")
        assert page.js("pages.p > 1 ? page.p !== %d : page.p === %d" % (first, first))
        assert page.errors == [], page.errors


_MOVABLE_CLOCK = "{ const real = Date.now.bind(Date); window.later = 0; Date.now = () => real() + later; }"


def the_wallboard_bears_many_scopes_and_events():
    with _Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
        server.shell(_store(20))
        page = browser.page(_wall(server))
        page.wait("typeof all !== 'undefined' && all.size === 35")
        # a day of events leaves neither nodes nor memory
        events = """(n => { for (let i = 0; i < n; i++) {
            const x = all.get('queue/q04');
            handle.scopes({ at: Date.now(), scopes: [{ scope: 'queue/q04', at: Date.now(), stats: { ...x.stats, waiting: i % 7 } }] });
            if (i % 20 === 0) drawAll();
        } })"""

        def used():
            page.do("HeapProfiler.collectGarbage")
            return page.js("document.querySelectorAll('*').length"), page.do("Runtime.getHeapUsage")["usedSize"]

        page.js(events + "(2000)")
        nodes, heap = used()
        page.js(events + "(84400)")
        assert abs(used()[0] - nodes) < 120 and used()[1] < heap * 1.1, (nodes, heap, used())
        # a hundred times the pools take a hundred times the time, not ten thousand
        draw = """(n => { let best = Infinity; for (let k = 0; k < 3; k++) { const begin = performance.now();
            handle.scopes({ at: Date.now(), scopes: Array.from({ length: n }, (_, i) => ({ ...all.get('number/pool03'), scope: 'number/x' + i })) });
            drawAll(); best = Math.min(best, performance.now() - begin); } return best; })"""
        few, many = page.js(draw + "(50)"), page.js(draw + "(5000)")
        assert page.js("all.size") == 5035 and many < max(few, 1) * 1000, (few, many)
        assert page.errors == [], page.errors


def the_wallboard_prints_every_scope():
    with _Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
        server.shell(_store(20) + ["number add more%02d 1" % i for i in range(38)])
        page = browser.page(_wall(server))
        page.wait("typeof all !== 'undefined' && all.size === 73")
        assert page.js("drawAll(); pages.p") > 1  # the screen has room for some
        pdf = base64.b64decode(page.do("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 3, re.findall(rb"/Type\s*/Page\b", pdf)
        page.js("dispatchEvent(new Event('beforeprint'))")
        assert page.js("document.querySelectorAll('#q .r[data-scope]').length") == 20
        assert page.js("document.querySelectorAll('#p .r[data-scope]').length") == 50
        page.js("dispatchEvent(new Event('afterprint'))")
        assert page.js("document.querySelectorAll('#p .r[data-scope]').length") < 50
        assert page.errors == [], page.errors



def the_wallboard_says_when_its_figures_are_old():
    port = 0
    with _Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
        server.shell(_store(3))
        port = server.http_port()
        page = browser.page(_wall(server))
        page.wait("typeof all !== 'undefined' && all.size > 0 && !isStale()")
        server.stop(signal.SIGKILL)
        page.wait("document.body.innerText.includes('No news')")
        assert page.js("document.title").startswith("\u2715")
        server.options = ("--http=127.0.0.1:%d" % port,)
        server.start()
        server.shell(["queue apply q01 late"])
        page.wait("!isStale() && all.get('queue/q01').stats.waiting === 2")
        assert page.errors == [], page.errors


def the_wallboard_says_when_the_store_is_away():
    with _Browser() as browser, own_redis() as url, Server(url, "--http=127.0.0.1:0") as server:
        redis = redis_process(url)
        server.shell(_store(2))
        page = browser.page(_wall(server))
        page.wait("typeof all !== 'undefined' && all.size > 0")
        os.kill(redis, signal.SIGSTOP)
        page.wait("document.body.innerText.includes('store does not answer')")
        os.kill(redis, signal.SIGCONT)
        page.wait("!document.body.innerText.includes('store does not answer')")


_OUTSIDE = """[...document.querySelectorAll('svg text')].filter(text => {
    const a = text.getBoundingClientRect(), b = text.ownerSVGElement.getBoundingClientRect();
    return a.width > 0 && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1);
}).map(text => text.ownerSVGElement.querySelector('title').textContent + ': ' + text.textContent)"""


def _trace(path, *options):
    with open(path, "w") as file:
        subprocess.run([USHER, "trace", "--agents=3", "--lambda=60", "--seed=3", *options], stdout=file, check=True)


def _report(folder, name, form, *options):
    words = [USHER, "-s", "memory:", "replay", name, "--report=" + form, *options]
    return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, check=True).stdout.decode()


def _keys(page):
    rows = page.js("[...document.querySelectorAll('.keys tbody tr')].map(row => [...row.children].map(cell => cell.textContent))")
    return {row[0]: [cell.replace("\u202f", "") for cell in row[1:3]] for row in rows}


def a_report_is_a_page_of_its_own():
    name = HOSTILE.replace("/", "") + ".csv"
    with _Browser() as browser, tempfile.TemporaryDirectory() as folder:
        _trace(os.path.join(folder, name), "--calls=600")
        options = ("--agents=3", "--target=80/30s", "--lines=9")
        text, whole = _report(folder, name, "html", *options), json.loads(_report(folder, name, "json", *options))
        assert text == _report(folder, name, "html", *options)
        with open(os.path.join(folder, "report.html"), "w") as file:
            file.write(text)
        page = browser.page("file://" + os.path.join(folder, "report.html"))
        assert page.js("document.title") == "Replay of " + name
        assert page.text("h1") == "Replay of " + name
        assert page.js("document.querySelectorAll('script,img,iframe,object,link:not([rel=icon])').length") == 0
        assert not page.js("[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => /^on|javascript:/i.test(a.name + a.value)))")
        assert [url for url in page.asked if not url.startswith("data:")] == ["file://" + os.path.join(folder, "report.html")], page.asked
        # plots: each with words and a table, and nothing beside its drawing
        assert page.js("document.querySelectorAll('svg[role=img]').length") == 11
        assert page.js("[...document.querySelectorAll('svg[role=img]')].every(e => e.querySelector('title').textContent && e.querySelector('desc').textContent)")
        assert page.js("[...document.querySelectorAll('figure')].every(e => e.querySelector('figcaption').textContent && e.querySelectorAll('details tbody tr').length)")
        assert page.js("[...document.querySelectorAll('h1,h2,h3')].map(e => e.tagName).join().replace(/(,H2)+$/, '')") == "H1"
        for width, height in ((1280, 720), (390, 844)):
            page.size(width, height)
            page.js("document.querySelectorAll('details').forEach(e => { e.open = true; })")
            assert page.js("document.documentElement.scrollWidth <= innerWidth"), width
            assert page.js(_OUTSIDE) == [], (width, page.js(_OUTSIDE))
        # figures are those of the report in JSON
        keys, queue = _keys(page), whole["queue"]
        for i, side in enumerate(("recorded", "replayed")):
            for row, value in (("calls", queue[side]["calls"]), ("served", queue[side]["served"]), ("hung up", queue[side]["abandoned"]), ("longest queue", queue[side]["longest_queue"])):
                assert keys[row][i] == str(value), (row, side, keys[row])
            assert keys["mean wait of the served"][i] == "%.1f s" % (queue[side]["wait_all"] / 1000), keys
        shown = page.js("document.querySelector('#target ~ figure figcaption').textContent")
        target = whole["target"]
        assert "%d replayed, %d by Erlang A, %d by Erlang C" % (target["agents"], target["erlang_a"], target["erlang_c"]) in shown, shown
        assert page.errors == [], page.errors
        # records that have less: no outcome, no agents, one call
        with open(os.path.join(folder, "short.csv"), "w") as file:
            file.write("line,arrival_ms,release_ms,service_ms,patience_ms\nL,0,1000,1000,\n")
        for more in ((), ("--agents=1",), ("--target=80/20s",)):
            with open(os.path.join(folder, "report.html"), "w") as file:
                file.write(_report(folder, "short.csv", "html", *more))
            page.go("file://" + os.path.join(folder, "report.html"))
            assert page.js(_OUTSIDE) == [] and "nan" not in page.js("document.body.innerHTML").lower(), page.js(_OUTSIDE)


def customers_and_agents_chat():
    with _Browser() as browser, tempfile.TemporaryDirectory() as folder:
        words = ["node", os.path.join(HERE, "..", "examples", "webchat", "server.js"), "--port=0"]
        chat = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=dict(os.environ, USHER=USHER), text=True)
        try:
            url = re.search(r"http://\S+/", chat.stdout.readline())[0]
            customer, desk = browser.page(url, 390, 844), browser.page(url + "desk")
            customer.js("document.querySelector('[name=name]').value = %s; document.querySelector('#arrive button').click()" % json.dumps(HOSTILE))
            customer.wait("document.querySelector('#headline').textContent === 'No agent is here at the moment'")
            desk.js("document.querySelector('[name=agent]').value = 'ann'; document.querySelector('#login button').click()")
            desk.wait("document.querySelector('.accept') !== null")
            assert desk.text("section .name") == HOSTILE
            desk.js("document.querySelector('.accept').click()")
            customer.wait("document.querySelector('#headline').textContent === 'You talk to ann'")
            customer.wait("document.querySelector('#about').textContent === 'Case C-00001'")
            customer.js("document.querySelector('#say [name=text]').value = '<b>help</b>'; document.querySelector('#say button').click()")
            desk.wait("document.querySelector('#users li') !== null && document.querySelector('#users li').textContent === '<b>help</b>'")
            desk.js("(f => { f.text.value = 'a'; f.dispatchEvent(new Event('input')); })(document.querySelector('#users form'))")
            customer.wait("document.querySelector('#typing').textContent === 'ann is typing …'")
            desk.js("(f => { f.text.value = 'gladly'; f.querySelector('button').click(); })(document.querySelector('#users form'))")
            customer.wait("[...document.querySelectorAll('#messages li')].map(e => e.textContent).join() === '<b>help</b>,gladly'")
            customer.wait("document.querySelector('#typing').textContent === ''")
            customer.go(url)  # loaded again: the same chat
            customer.wait("document.querySelectorAll('#messages li').length === 2")
            desk.js("document.querySelector('.call').click()")
            desk.wait("document.querySelector('.about').textContent.includes('calls from +49')")
            desk.js("document.querySelector('.finish').click()")
            customer.wait("document.querySelector('#headline').textContent === 'The chat has ended'")
            desk.wait("document.querySelector('#users').children.length === 0")
            assert customer.errors == [] and desk.errors == [], (customer.errors, desk.errors)
        finally:
            chat.terminate()
            chat.wait(PATIENCE)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    run({name: of for name, of in globals().items() if not wanted or name in wanted or name.startswith("_") or not callable(of)})
