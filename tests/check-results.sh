#!/bin/sh
# SPDX-License-Identifier: MIT
# The words in the table of measured speeds agree with its figures, and the drawing of it
# (`make bench-report`) has a bar for each, within its edges, and needs nothing from elsewhere.
set -eu
: "${top_srcdir:=.}"
results=$top_srcdir/tests/bench/RESULTS.md
draw() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$top_srcdir/tests/bench/report.py" "$@"
}
draw --check "$results"
draw "$results" | python3 -c '
import sys, xml.dom.minidom

text = sys.stdin.read()
page = xml.dom.minidom.parseString(text)
assert page.getElementsByTagName("title") and page.getElementsByTagName("desc")
assert not page.getElementsByTagName("script") and not page.getElementsByTagName("image")
bars = [bar for bar in page.getElementsByTagName("rect") if bar.getAttribute("class")]
assert len(bars) > 20, len(bars)
width = float(page.documentElement.getAttribute("viewBox").split()[2])
assert all(0 <= float(bar.getAttribute("x")) and float(bar.getAttribute("x")) + float(bar.getAttribute("width")) <= width for bar in bars)
'
