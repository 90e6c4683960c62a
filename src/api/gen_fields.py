#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What C, SQL and the documents repeat of the rows in src/core/NOUN_verbs.def and NOUN_records.def,
and the rows themselves cannot give it: arguments and settings in usher/store/operation.h, the
settings in a view of SQLite, the fields of new arguments (the last ones in usher/fields.h); of records the
views of SQLite and the tables of docs/redis-keys.md.

    gen_fields.py SOURCES [--check]

For maintainers, before the library is built; gen_calls.py says the rest when it is.  What is made is
committed.  --check compares, and changes nothing.
"""
import os
import re
import sys
import textwrap

RECORDS = {"number": 1, "queue": 2, "room": 3, "serial": 4, "id": 5, "rooms": 6}  # and their codes
NOUNS = ("number", "queue", "room", "rooms", "serial", "id", "store")
TEXTS = {"NAME", "GROUP", "GROUPS", "VALUE", "MAYBE", "EPOCH", "TEXT", "FIELDS"}


class Row:
    def __init__(self, words):
        (self.name, self.word, self.type, self.member, self.given, _, _, self.words, self.standard,
         self.help) = words
        self.help = "" if self.help == "NULL" else self.help

    def declared(self):
        if self.type in TEXTS:
            return f"struct usher_text {self.member}"
        return f"{'uint64_t' if self.type == 'TOKEN' else 'int64_t'} {self.member}"


def rows(text, macro):
    """The arguments of each ROW(...) at the beginning of a line; texts without their quotes."""
    for start in re.finditer(rf"^{macro}\(", text, re.M):
        words, word, depth, i, quoted = [], "", 1, start.end(), False
        while depth:
            c = text[i]
            if c == '"':
                quoted = not quoted
            elif quoted:
                word += text[i:i + 2] if c == "\\" else c
                i += c == "\\"
            elif c in "()":
                depth += 1 if c == "(" else -1
                word += c if depth else ""
            elif c == "," and depth == 1:
                words.append(word.strip())
                word = ""
            else:
                word += " " if c.isspace() and not word.endswith(" ") else "" if c.isspace() else c
            i += 1
        yield words + [word.strip()]


class Noun:
    def __init__(self, sources, noun):
        self.noun = noun
        with open(os.path.join(sources, "src", "core", noun + "_verbs.def"), encoding="utf-8") as file:
            text = file.read()
        self.rows = [Row(words) for words in rows(text, "ARG")]
        self.settings = {}  # member: (type, name of the field)
        for _, type_, member, field in rows(text, "EXTRA"):
            if "settings." in member:
                self.settings[member.rsplit(".", 1)[1]] = (type_, field)
        self.notes = {}
        path = os.path.join(sources, "src", "api", noun + ".txt")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.startswith("note "):
                        _, name, note = line.rstrip().split(" ", 2)
                        self.notes[name] = note

    def given(self):
        prefix = "USHER_GIVEN_" + ("" if self.noun == "number" else self.noun.upper() + "_")
        bits = {}
        for i, row in enumerate(self.rows):
            if row.type not in TEXTS:
                bits[prefix + row.given] = i
        last = [name for name, i in bits.items() if i < 31][-1]
        lines = [f"enum usher_{self.noun}_given {{"]
        lines += [f"    {name} = 1u << {i}{'' if name == last else ','}"
                  for name, i in bits.items() if i < 31]
        lines.append("};")
        # what no enum of C can have
        return lines + [f"#define {name} (UINT64_C(1) << {i})" for name, i in bits.items() if i >= 31]

    def arguments(self):
        members = {}  # two rows may be one member
        for row in self.rows:
            members.setdefault(row.member, (row.declared(), []))[1].append(row.help)
        lines = [f"struct usher_{self.noun}_args {{"]
        for declared, helps in members.values():
            lines += member(declared, "; or ".join(h for h in helps if h))
        return lines + ["};"]

    def result(self, fields):
        lines = [f"struct usher_{self.noun}_result_settings {{"]
        known = {row.member: row for row in self.rows}
        for name, (type_, field) in self.settings.items():
            row, help_ = known.get(name), fields[field][3]
            if row is not None and type_ != "CODE":
                note = self.notes.get(row.name, "")
                help_ = note if note.startswith("enum ") else row.help
                standard = span(row) if not note.startswith("enum ") else ""
                help_ += f"; default {standard}" if standard not in ("", "0") else ""
            declared = f"enum usher_{self.noun}_{name} " if type_ == "CODE" else "int64_t "
            lines += member(declared + name, help_)
        return lines + ["};"]

    def columns(self, sources):
        """The settings of a scope, as a view of SQLite has them."""
        columns, known = [], {row.member: row for row in self.rows}
        for i, name in enumerate(self.settings):
            value, name = f"s{i}", '\\"order\\"' if name == "order" else name  # a word of SQL
            row = known[list(self.settings)[i]]
            if row.words != "NULL":
                words = enumerate(words_of(sources, row.words))
                value = f"CASE {value} " + " ".join(f"WHEN {code} THEN '{word}'" for code, word in words
                                                    if word != "?") + " END"
            columns.append(f"{value} AS {name}")
        lines = [columns[0]]
        for column in columns[1:]:
            if len(lines[-1]) + len(column) > 86:
                lines[-1] += ","
                lines.append(column)
            else:
                lines[-1] += ", " + column
        return [f'    " {line}"' for line in lines]


class Records:
    """The kinds of one noun: NOUN_records.def."""

    def __init__(self, sources, noun):
        self.noun, self.sources = noun, sources
        path = os.path.join(sources, "src", "core", noun + "_records.def")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.scope = next(rows(text, "SCOPE"))[0]
        self.kinds = list(rows(text, "RECORD"))
        self.numbers = {}  # kind: its numbers in their order
        for row in [*rows(text, "N"), *rows(text, "AS")]:
            self.numbers.setdefault(row[0], []).append(row[1:])
        for numbers in self.numbers.values():
            numbers.sort(key=lambda row: int(row[1]))

    def state(self, states):
        """The words of the states: of a table, or in the row itself."""
        words = enumerate(states.split())
        if states.endswith(".def"):
            with open(os.path.join(self.sources, "src", "core", states), encoding="utf-8") as file:
                words = [(row[1], row[2]) for row in rows(file.read(), "S")]
        return "CASE r.state " + " ".join(f"WHEN {code} THEN '{word}'" for code, word in words) + " END"

    def columns(self, kind):
        name, _, _, states, id_, group, owner, data, _ = kind
        columns = [(self.scope, "s.name"), (id_, "r.id")]
        if states:
            columns.append(("state", self.state(states)))
        columns += [(word, value) for word, value in
                    ((group, "r.grp"), (owner, "r.owner"), (data, "CAST(r.data AS TEXT)")) if word]
        columns += [("order", "r.ord"), ("token", "r.token"), ("until", time_of("r.until_ms"))]
        for _, at, type_, word, *_ in self.numbers.get(name, []):
            value = f"r.n{at}"
            columns.append((word, time_of(value) if type_ == "TIME" else
                            f"date(nullif({value}, 0) * 86400, 'unixepoch')" if type_ == "DAY" else
                            f"{value} * 1000000000 + r.n{int(at) + 1}" if type_ == "WIDE" else value))
        return columns

    def views(self, code):
        lines = []
        for kind in self.kinds:
            if kind[0] in ("REQUEST", "CHANGE"):  # there is a view for those of all nouns
                continue
            columns = [f'{value} AS \\"{name}\\"' for name, value in self.columns(kind)]
            view = f'{self.noun}_{kind[2].replace(" ", "_")}'
            lines.append(f"CREATE VIEW {view} AS SELECT {', '.join(columns)}"
                         f" FROM scope s JOIN record r ON r.list = s.ref * 16 + {kind[1]}"
                         f" WHERE s.noun = {code};")
        return lines

    def table(self):
        """A row for each kind, with its numbers."""
        lines = []
        for name, code, word, _, id_, group, owner, data, text in self.kinds:
            numbers = "; ".join(f"n{at} {n} ({note})" if type_ != "WIDE" else
                                f"n{at} n{int(at) + 1} {n} ({note})"
                                for n, at, type_, _, _, _, note in self.numbers.get(name, []))
            texts = ", ".join(f"{of} = {text_}" for of, text_ in
                              (("id", id_), ("group", group), ("owner", owner), ("data", data)) if text_)
            lines.append(f"| {self.noun} | {code} {word} | {texts} | {text} | {numbers} |")
        return lines


def time_of(value):
    return f"strftime('%Y-%m-%d %H:%M:%f', nullif({value}, 0) / 1000.0, 'unixepoch')"


def views_of(sources):
    """backends/sqlite/views.h: a view for each kind of record."""
    lines, change = [], []
    for noun, code in RECORDS.items():
        records = Records(sources, noun)
        lines += records.views(code)
        change += [f" WHEN {code} THEN {kind[1]}" for kind in records.kinds if kind[0] == "CHANGE"]
    nouns = "CASE s.noun" + "".join(f" WHEN {code} THEN '{noun}'" for noun, code in RECORDS.items())
    lines += [f"CREATE VIEW request AS SELECT {nouns} END AS noun, s.name AS name, r.id AS request,"
              f" CAST(r.data AS TEXT) AS answer, {time_of('r.until_ms')} AS until"
              " FROM scope s JOIN record r ON r.list = s.ref * 16 + 4;",
              f"CREATE VIEW change AS SELECT {nouns} END AS noun, s.name AS name,"
              " CAST(r.id AS INTEGER) AS version, r.n0 AS before, r.data AS notice"
              " FROM scope s JOIN record r"
              f" ON r.list = s.ref * 16 + CASE s.noun{''.join(change)} END;"]
    wrapped = []
    for line in lines:
        wrapped += [f'    "{part}"' for part in textwrap.wrap(line, 88, drop_whitespace=False,
                                                             break_on_hyphens=False,
                                                             break_long_words=False)]
    width = max(len(line) for line in wrapped) + 1
    return ("/* SPDX-License-Identifier: MIT */\n"
            "/* Made by src/api/gen_fields.py: the records as views, for people.  See "
            "docs/sqlite-file.md. */\n"
            "#ifndef USHER_SQLITE_VIEWS_H\n#define USHER_SQLITE_VIEWS_H\n\n/* clang-format off */\n" +
            "#define USHER__RECORD_VIEWS".ljust(width) + "\\\n" +
            "".join(line.ljust(width) + "\\\n" for line in wrapped[:-1]) + wrapped[-1] + "\n"
            "/* clang-format on */\n\n#endif\n")


def words_of(sources, name):
    with open(os.path.join(sources, "src", "core", "verbs.c"), encoding="utf-8") as file:
        return re.findall(r'"([^"]*)"', re.search(rf"{name}\[\] = {{(.*?)}};", file.read(), re.S)[1])


def span(row):
    return f"{int(row.standard):,}" if row.standard.isdigit() else \
        "" if row.standard == "NO_DEFAULT" else row.standard


def member(declared, help_):
    help_ = help_.replace('\\"', '"')
    if not help_:
        return [f"    {declared};"]
    line = f"    {declared}; /* {help_} */"
    if len(line) <= 100:
        return [line]
    lines = textwrap.wrap(help_, 90)
    if len(lines) == 1:
        return [f"    /* {help_} */", f"    {declared};"]
    return ([f"    /* {lines[0]}"] + [f"     * {line}" for line in lines[1:-1]] +
            [f"     * {lines[-1]} */", f"    {declared};"])


def between(text, what, lines, mark=("/*", "*/")):
    """@lines stand between two marks."""
    begin = f"{mark[0]} made by src/api/gen_fields.py: {what} {mark[1]}\n"
    at = text.index(begin) + len(begin)
    end = re.compile(rf"^ *{re.escape(mark[0])} end {re.escape(mark[1])}$", re.M).search(text, at)
    return text[:at] + "".join(line + "\n" for line in lines) + text[end.start():]


def fields_of(text):
    """name: code, type, word, help."""
    return {name: (int(code), type_, word, help_) for name, code, type_, word, help_ in
            re.findall(r'^    X\((\w+), (\d+), (\w+), "([^"]*)", "((?:[^"\\]|\\.)*)"\)', text, re.M)}


def fields_with(text, noun):
    """A field for each argument whose name is new.  Its help can be edited: this does not come again."""
    for row in noun.rows:
        fields = fields_of(text)
        if row.name in fields:
            continue
        type_ = "TEXT" if row.type in ("NAME", "GROUP", "GROUPS", "MAYBE", "TEXT") else \
            "BYTES" if row.type in TEXTS else "TOKEN" if row.type == "TOKEN" else \
            "CODE" if row.type == "WORD" else "MS" if row.member.endswith("_ms") else \
            "MIN" if row.member.endswith("_min") else "INT"
        code = max(code for code, *_ in fields.values()) + 1
        text = text.replace("\n/* clang-format on */",
                            f' \\\n    X({row.name}, {code}, {type_}, "{row.word}", "{row.help}")'
                            "\n/* clang-format on */", 1)
    return text


def made(sources):
    """path: text."""
    files = {}

    def file(*path):
        path = os.path.join(sources, *path)
        if path not in files:
            with open(path, encoding="utf-8") as f:
                files[path] = f.read()
        return path

    nouns = [Noun(sources, noun) for noun in NOUNS]
    fields = file("include", "usher", "fields.h")
    operation, view = file("include", "usher", "store", "operation.h"), file("backends", "sqlite", "file.c")
    for noun in nouns:
        if noun.noun != "rooms":  # nobody sees it
            files[fields] = fields_with(files[fields], noun)
        about = fields_of(files[fields])
        files[operation] = between(files[operation], f"arguments of {noun.noun}",
                                   noun.given() + [""] + noun.arguments())
        if noun.settings:
            files[operation] = between(files[operation], f"settings of {noun.noun}",
                                       noun.result(about))
    files[view] = between(files[view], "settings of number", nouns[0].columns(sources))
    files[os.path.join(sources, "backends", "sqlite", "views.h")] = views_of(sources)
    keys = file("docs", "redis-keys.md")
    kinds = ["| noun | kind | texts | meaning | numbers |", "| --- | --- | --- | --- | --- |"]
    for noun in RECORDS:
        kinds += Records(sources, noun).table()
    files[keys] = between(files[keys], "kinds", kinds, ("<!--", "-->"))
    return files


def write(files, check, by):
    """1: something of @files is not what there is, and @check forbids to write it."""
    wrong = 0
    for name, text in files.items():
        old = ""
        if os.path.exists(name):
            with open(name, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        wrong = 1
        if check:
            print(f"{name} is not what {by} makes: run it")
        else:
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
    return wrong if check else 0


if __name__ == "__main__":
    sys.exit(write(made(sys.argv[1]), "--check" in sys.argv, "src/api/gen_fields.py"))
