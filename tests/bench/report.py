# SPDX-License-Identifier: MIT
"""Draw the measured speeds of RESULTS.md as SVG: how far each ratio is from its bar.

    report.py RESULTS.md >report.svg    for `make bench-report`
    report.py --check RESULTS.md        do the words of the table agree with its figures?

A row of the first table is drawn if its bar is a ratio.  To the right of the line it is reached, to
the left it is short, on a logarithmic scale.  The same table gives the same bytes.
"""
import html
import math
import re
import sys

WIDTH, ROW, LEFT, RIGHT, TOP = 1180, 22, 620, 110, 62
EDGE = 8.0  # a ratio that is further away is drawn at the edge


def cut(name, most=80):
    return name if len(name) <= most else name[: most - 1].rsplit(" ", 1)[0] + " …"


def rows(text):
    """Each (name, ratio, sign, bar, words) of the first table with a ratio and a bar."""
    found = []
    for line in text.split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if len(cells) < 5 or cells[0] in ("row", "---"):
            continue
        name, _, _, ratio, bar, words = (cells + [""])[:6]
        ratios = [re.search(r"\d+(\.\d+)?", part) for part in re.sub(r"\([^)]*\)", "", ratio).split(";")]
        bars = [re.fullmatch(r"([≤≥]) ([\d.]+)×?", part.strip()) for part in bar.split(";")]
        if len(bars) == 1:
            bars *= len(ratios)
        for i, (value, limit) in enumerate(zip(ratios, bars)):
            if value and limit:
                part = "" if len(ratios) == 1 else ", %d of %d" % (i + 1, len(ratios))
                found.append((cut(name) + part, float(value[0]), limit[1], float(limit[2]), words))
    return found


def score(ratio, sign, bar):
    """Above 1: reached."""
    return ratio / bar if sign == "≥" else bar / ratio


def number(value):
    return "%.3g" % value


def draw(found):
    height = TOP + ROW * len(found) + 20
    middle, scale = LEFT + (WIDTH - LEFT - RIGHT) / 2, (WIDTH - LEFT - RIGHT) / 2 / math.log(EDGE)
    reached = sum(score(*row[1:4]) >= 1 for row in found)
    words = "%d of %d ratios reach their bar." % (reached, len(found))
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t d">' % (WIDTH, height),
        '<title id="t">Measured speeds against their bars</title><desc id="d">%s</desc>' % words,
        "<style>text{font:12px system-ui,sans-serif;fill:#111b24}.e{text-anchor:end}.m{text-anchor:middle}.h{font-size:16px;font-weight:700}"
        ".g{stroke:#d8dfe5}.z{stroke:#111b24}.ok{fill:#1467ad}.no{fill:#b3540a}</style>",
        '<rect width="%d" height="%d" fill="#fff"/>' % (WIDTH, height),
        '<text x="14" y="24" class="h">Measured speeds against their bars</text>',
        '<text x="14" y="44">%s The ratio of each row, divided by its bar; logarithmic.</text>' % words,
    ]
    for tick in (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8):
        x = middle + scale * math.log(tick)
        out.append('<path class="%s" d="M%.1f %dV%d"/><text x="%.1f" y="%d" class="m">%s</text>' % ("z" if tick == 1 else "g", x, TOP, height - 20, x, TOP - 6, "bar" if tick == 1 else number(tick) + "×"))
    for i, (name, ratio, sign, bar, _) in enumerate(found):
        value, y = score(ratio, sign, bar), TOP + ROW * i
        x = middle + scale * math.log(min(EDGE, max(1 / EDGE, value)))
        out.append('<text x="%d" y="%d" class="e">%s</text>' % (LEFT - 10, y + 16, html.escape(name)))
        out.append('<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>' % ("ok" if value >= 1 else "no", min(x, middle), y + 5, max(1.5, abs(x - middle)), ROW - 9))
        out.append('<text x="%d" y="%d" class="e">%s, bar %s %s</text>' % (WIDTH - 6, y + 16, number(ratio), sign, number(bar)))
    return "\n".join(out + ["</svg>"])


def check(found):
    """A row that is `reached` has reached its bar, and one that is `short` has not."""
    assert len(found) > 20, len(found)
    wrong = []
    for name, ratio, sign, bar, words in found:
        first = re.match(r"(reached|short)\b", words)
        if first and ";" not in words and (score(ratio, sign, bar) >= 1) != (first[1] == "reached"):
            wrong.append("%s: %s is not %s: the bar is %s %s" % (name, number(ratio), words, sign, number(bar)))
    return wrong


if __name__ == "__main__":
    checks = sys.argv[1] == "--check"
    with open(sys.argv[-1], encoding="utf-8") as file:
        table = rows(file.read())
    if checks:
        print("\n".join(check(table)), end="")
        sys.exit(1 if check(table) else 0)
    sys.stdout.reconfigure(encoding="utf-8")
    print(draw(table))
