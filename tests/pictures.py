# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/screens: the wallboard with made-up figures, in Chromium.

    USHER=usher python3 pictures.py DIR
"""
import base64
import os
import signal
import sys

from browser import _Browser as Browser, _wall
from serve import Server, own_redis, redis_process

TEAMS = ["support", "billing", "sales", "complaints", "returns", "vip"] + ["team%02d" % k for k in range(14)]
POOLS = (("sales-030", 40, 31), ("support-040", 25, 24), ("mobile", 60, 12), ("fax", 8, 8), ("berlin", 30, 3))


def _centre(queues):
    lines = []
    for i, name in enumerate(TEAMS[:queues]):
        agents = 4 + i % 5
        lines.append("queue set %s service=20s offer=0 ttl=1h wrapup=5m" % name)
        lines += ["queue login %s agent%d-%d" % (name, i, k) for k in range(agents)]
        lines.append("queue pause %s agent%d-0 reason=lunch" % (name, i))
        lines += ["queue apply %s u%d-%d" % (name, i, k) for k in range(agents - 3 + i * 3 % 6)]
        lines.append("queue leave %s u%d-0" % (name, i))
    for i, (name, all_, busy) in enumerate(POOLS):
        lines += ["number %s %s +49%d%03d" % (verb, name, i, k) for verb in ("add", "reg") for k in range(all_)]
        lines += ["number call %s owner=c%d" % (name, k) for k in range(busy)]
    for name, members in (("board", 9), ("class-7b", 17)):
        lines += ["room open %s capacity=30" % name] + ["room join %s m%d" % (name, k) for k in range(members)]
    lines += ["serial rule invoices prefix=INV- width=6 max=500 critical=200", "serial fill invoices 300", "serial take invoices n=37"]
    return lines + ["id create orders", "id next orders n=1200"]


def _draw(page, name, width, height, theme):
    page.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    page.size(width, height)
    page.js("theme(''); new Promise(done => { drawAll(); requestAnimationFrame(() => setTimeout(done, 300)); })")
    data = page.do("Page.captureScreenshot", format="webp", quality=70)["data"]
    with open(os.path.join(sys.argv[1], name + ".webp"), "wb") as to:
        to.write(base64.b64decode(data))


with Browser() as browser, own_redis() as url, Server(url, "--http=127.0.0.1:0") as server:
    wall = browser.page(_wall(server))
    wall.wait("document.body.innerText.includes('Nothing to show yet')")
    _draw(wall, "empty", 1280, 720, "light")
    server.shell(_centre(4))
    wall.wait("all.size === 13 && [...all.values()].every(x => x.stats)")
    _draw(wall, "dark", 1600, 900, "dark")
    _draw(wall, "light", 1600, 900, "light")
    _draw(wall, "phone", 390, 844, "light")
    os.kill(redis_process(url), signal.SIGSTOP)
    wall.wait("document.body.innerText.includes('store does not answer')")
    _draw(wall, "store-away", 1600, 900, "dark")
    os.kill(redis_process(url), signal.SIGCONT)
with Browser() as browser, Server("sqlite:DIR/db", "--http=127.0.0.1:0") as server:
    server.shell(_centre(20))
    wall = browser.page(_wall(server))
    wall.wait("all.size === 29 && [...all.values()].every(x => x.stats)")
    _draw(wall, "queues-20", 1600, 900, "dark")
