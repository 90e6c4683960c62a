#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The calls of each noun: the end of its header, and the tables behind them; the names that the
library exports for them; their manual pages in section 3 (gen_manual.py); and in usher(1) the
arguments of each noun, and its verbs that have no paragraph there yet.

    gen_calls.py LIBRARY SOURCES [--check]
    gen_calls.py LIBRARY SOURCES --older DIR | --newer DIR

For maintainers: what it makes is committed.  A call is a line of NOUN.txt here; what its verb takes
and tells is what LIBRARY (libusher.so) says of it, so the members of the structs and the list of
options of each call cannot be wrong.  --check compares, and changes nothing.
--older and --newer make the headers in DIR as those of another version, each struct without its
last member or with one more (tests/abi/check-versions.sh).
"""
import ctypes
import os
import re
import subprocess
import sys
import textwrap

import gen_fields
import gen_manual

NONE = -2**63
INT, BOOL, CODE, MS, TIME, MIN, TOKEN, SHARE, TEXT, BYTES = range(1, 11)
HEADERS = {"number": "number", "queue": "queue", "room": "room", "serial": "serial", "id": "ids"}
COMMON = {"REQUEST", "NOW", "WAIT", "MORE"}
WHOLE = 8  # USHER_VERB_WHOLE: these calls are written by hand
NAMES = {"IF": "expected"}  # a keyword
STRINGS = {"HOLDER", "PREFIX", "SUFFIX", "DATE"}  # BYTES that are C strings
ROOM_OF = {"ROOM": "USHER_QUEUE_ROOM_MAX", "VISIT": "USHER_QUEUE_ROOM_MAX",
           "SERIAL": "USHER_SERIAL_TEXT_MAX + 1",
           "PREFIX": "USHER_SERIAL_AFFIX_MAX + 1", "SUFFIX": "USHER_SERIAL_AFFIX_MAX + 1",
           "DATE": "USHER_SERIAL_TEXT_MAX + 1", "CHECK_DIGIT": "2"}
# Enums that are not usher_NOUN_FIELD.
ENUMS = {("queue", "STATE"): "queue_user_state", ("room", "MEMBER_STATE"): "room_member_state",
         ("room", "KIND"): "room_row_kind", ("serial", "CHECK"): "serial_check_digit"}
OF_ALL = {"NOUN": "noun", "SCOPE_MODE": "scope_mode", "VERB": "verb"}  # the same for each noun
BEGIN = "/* ---- made by src/api/gen_calls.py: do not edit"
MADE = "    /* made by src/api/gen_calls.py */\n"
HEAD_OPTIONS = [
    ("size_t size", "set by …_INIT"),
    ("void *post", "not NULL: return at once; usher_collect() returns the reply with this tag"),
    ("int64_t timeout_ms", "deadline of this call; 0 = the engine's"),
    ("const char *request", "request id: a repeat returns the first answer"),
    ("int64_t now_ms", "time of the command; 0 = the engine's clock"),
    ("int64_t wait", "number of replicas to wait for, after the command"),
]
HEAD_ANSWER = [
    ("size_t size", "set by …_INIT"),
    ("uint64_t epoch", "of the scope; 0 = it does not exist"),
    ("uint64_t version", "of the scope after the command; for USHER_LOST: the last one not lost"),
    ("int64_t due_ms", "nothing in the scope expires before this time; or USHER_NEVER"),
    ("int64_t now_ms", "the same clock at the answer: a timer waits for due_ms - now_ms"),
    ("int64_t replicas", "with wait: number of replicas that have it"),
    ("bool repeated", "cached result of an earlier command with this request id"),
    ("bool more", "not complete: call again"),
    ("char message[USHER_MESSAGE_MAX]", 'one line, or ""'),
]


def of_verbs(help_, verbs):
    """The help of an argument that only @verbs take; of "VERB: TEXT; VERB: TEXT" their parts."""
    parts = help_.split("; ")
    if all(re.match(r"[a-z]+: ", part) for part in parts):
        own = [part for part in parts if part.split(": ")[0] in verbs]
        if own:
            return "; ".join(own)
    return f"{', '.join(verbs)}: {help_}"


class FieldAbout(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint32), ("type", ctypes.c_int), ("name", ctypes.c_char_p),
                ("word", ctypes.c_char_p), ("help", ctypes.c_char_p)]


class VerbAbout(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("verb", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("noun", ctypes.c_char_p), ("word", ctypes.c_char_p), ("help", ctypes.c_char_p)]


class ArgumentAbout(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("field", ctypes.c_uint32), ("must", ctypes.c_bool),
                ("min", ctypes.c_int64), ("max", ctypes.c_int64), ("standard", ctypes.c_int64),
                ("help", ctypes.c_char_p)]


class Argument:
    """What a field is to a verb: its help, its range, its default."""

    def __init__(self, about, field, words):
        self.field, self.help = field, about.help.decode()
        self.least, self.most = about.min, about.max
        self.words = words[about.min:]
        self.standard = None if about.standard == NONE else about.standard
        if self.standard is not None and words:
            self.standard = words[self.standard]

    def range(self):
        if self.field.type in (TEXT, BYTES, TOKEN, TIME):
            return ""
        if self.words:
            return ", ".join(self.words[:-1]) + " or " + self.words[-1]
        if self.most == 1:
            return "1" if self.least == 1 else "0 or 1"
        return "ms" if self.field.type == MS else f"{number(self.least)} to {number(self.most)}"

    def default(self, zero):
        if self.standard is None:
            return ""
        if self.standard == 0:
            return f"default {zero}"
        show = str if self.words else span if self.field.type == MS else number
        return f"default {show(self.standard)}"

    def told(self):
        """For people who write words."""
        default = self.default("0")
        more = "; ".join(t for t in (self.range(), default) if t)
        return f"{self.help} ({more})" if more else self.help

    def member(self, note, default=True):
        """For a member of a struct, where 0 is what is not given."""
        range_ = "" if self.words or self.field.type == MS or self.most == 1 else self.range()
        help_ = re.sub(r"\b0(, or not[^:]*)?: ", r"USHER_NONE\1: ", self.help)
        told = (help_, None if note and note.startswith("enum ") else note)
        default = self.default("USHER_NONE") if default else ""
        return "; ".join(t for t in (*told, range_, default) if t)


def number(n):
    return "2^63 - 1" if n == 2**63 - 1 else "2^53 - 1" if n == 2**53 - 1 else \
        f"{n:,}" if abs(n) >= 10000 else str(n)


def span(ms):
    for unit, name in ((86400000, "d"), (3600000, "h"), (60000, "m"), (1000, "s")):
        if ms % unit == 0:
            return f"{ms // unit}{name}"
    return str(ms)


class Field:
    def __init__(self, about):
        self.code = about.field
        self.name = about.name.decode()
        self.word = about.word.decode()
        self.type = about.type
        self.help = about.help.decode()

    def member(self):
        name = NAMES.get(self.name, self.name.lower())
        unit = {MS: "_ms", TIME: "_ms", MIN: "_min"}.get(self.type, "")
        return name if name.endswith(unit) else name + unit

    def is_string(self):
        return self.type == TEXT or self.name in STRINGS

    def kind(self):
        if self.is_string():
            return "STRING"
        return {BYTES: "BYTES", TOKEN: "TOKEN", CODE: "CODE"}.get(self.type, "NUMBER")

    def declared(self, noun):
        """As a member that is given, or of a row."""
        if self.kind() == "CODE":
            enum = OF_ALL.get(self.name) or ENUMS.get((noun, self.name)) or f"{noun}_{self.member()}"
            return f"enum usher_{enum} {self.member()}"
        c = {"STRING": "const char *", "BYTES": "struct usher_text ", "TOKEN": "uint64_t "}
        return c.get(self.kind(), "int64_t ") + self.member()

    def told(self, noun):
        """As a member of an answer, which owns its texts."""
        if self.kind() == "STRING":
            return f"char {self.member()}[{ROOM_OF.get(self.name, 'USHER_NAME_MAX + 1')}]"
        if self.kind() == "BYTES":
            sys.exit(f"{self.name}: an answer has no bytes")
        return self.declared(noun)

    def argument(self, noun):
        if self.kind() == "BYTES":
            return f"const struct usher_text *{self.member()}"
        return self.declared(noun)

    def value(self):
        """As one of the values of a command."""
        code, name = f"USHER_FIELD_{self.name}", self.member()
        if self.kind() == "BYTES":
            return f"usher__call_bytes({code}, {name})"
        if self.kind() == "STRING":
            return f"{{ {code}, USHER_TO_NUL, 0, {name} }}"
        return f"{{ {code}, 0, {'' if self.kind() == 'NUMBER' else '(int64_t)'}{name}, NULL }}"


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.program = os.path.join(os.path.dirname(os.path.dirname(path)), "usher")
        self.lib.usher_about_field.restype = ctypes.POINTER(FieldAbout)
        self.lib.usher_verb_takes.argtypes = [ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p]
        self.lib.usher_verb_tells.argtypes = [ctypes.c_uint32, ctypes.c_bool, ctypes.c_size_t]
        self.lib.usher_code_word.restype = ctypes.c_char_p
        self.lib.usher_code_word.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_int64]
        self.fields = {}
        code = 1
        while self.lib.usher_about_field(code):
            field = Field(self.lib.usher_about_field(code).contents)
            self.fields[field.name] = field
            code += 1
        self.names = list(self.fields)
        self.helps = {}  # by noun and verb

    def keys(self, noun, verb):
        """The keys of the answer, from the help of the program, as lines for mdoc: those of rows in parentheses."""
        text = subprocess.run([self.program, "help", noun, verb], check=True, capture_output=True,
                              text=True).stdout
        keys = []
        for line in text[text.index("\nJSON, "):].split("\n") if "\nJSON, " in text else []:
            key = re.match(r"(    |  )([a-z_]+) ", line)
            if key and key[1] == "    ":
                keys[-1] += (" , " if " Pq " in keys[-1] else " Pq ") + key[2]
            elif key and len(key[1]) == 2:
                keys.append(key[2])
        lines = []
        for key in keys:
            if lines and len(lines[-1] + key) < 90 and " Pq " not in lines[-1] + key:
                lines[-1] += f" {key} ,"
            else:
                lines.append(f".Li {key} ,")
        return lines[:-1] + [lines[-1][:-1] + "."] if lines else ["None."]

    def listed(self, ask):
        names, i = [], 0
        while ask(i):
            names.append(self.names[ask(i) - 1])
            i += 1
        return [n for n in names if n not in COMMON]

    def argument(self, verb, name):
        about, field = ArgumentAbout(size=ctypes.sizeof(ArgumentAbout)), self.fields[name]
        if not self.lib.usher_about_argument(verb, field.code, ctypes.byref(about)):
            sys.exit(f"the verb {verb:x} does not take {name}")
        words = []
        if field.type == CODE:
            words = [(self.lib.usher_code_word(verb >> 8, field.code, code) or b"?").decode()
                     for code in range(about.max + 1)]
        return Argument(about, field, words)

    def must(self, verb, name):
        about = ArgumentAbout(size=ctypes.sizeof(ArgumentAbout))
        self.lib.usher_about_argument(verb, self.fields[name].code, ctypes.byref(about))
        return about.must

    def verbs(self, noun):
        code = 0
        while code := self.lib.usher_next_verb(code):
            about = VerbAbout(size=ctypes.sizeof(VerbAbout))
            self.lib.usher_about_verb(code, ctypes.byref(about))
            if about.noun.decode() == noun and not about.flags & WHOLE:
                self.helps[noun, about.word.decode()] = about.help.decode()
                yield (code, about.word.decode(),
                       self.listed(lambda i: self.lib.usher_verb_takes(code, i, None)),
                       self.listed(lambda i: self.lib.usher_verb_tells(code, False, i)),
                       self.listed(lambda i: self.lib.usher_verb_tells(code, True, i)))


class Call:
    def __init__(self, line):
        left, _, self.returns = line.partition(" = ")
        self.word, *self.given = left.split()
        self.word, _, name = self.word.partition(":")
        self.name = name or self.word  # of the function
        self.doc = []


class Noun:
    def __init__(self, path, noun, library):
        self.noun, self.lists, self.calls = noun, {}, {}
        self.without = {}  # verbs that have no function of their own
        self.notes = {}  # of settings: what C wants besides
        self.told = {}  # settings that come back as another field: STEP=STEP_FIRST
        self.path = os.path.join(path, noun + ".txt")
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                line = line.rstrip()
                first = line.split(" ")[0]
                if line.startswith("    ") or (not line and self.calls):
                    list(self.calls.values())[-1].doc.append(line[4:])
                elif first in ("options", "settings", "answer", "row", "statistics"):
                    self.lists[first] = [word.split("=")[0] for word in line.split()[1:]]
                    self.told.update(word.split("=") for word in line.split() if "=" in word)
                elif first == "without":
                    self.without.update((word, Call(word)) for word in line.split()[1:])
                elif first == "note":
                    name, _, note = line[5:].partition(" ")
                    self.notes[name] = note
                elif first == "scope":
                    self.scope = line.split()[1]
                elif line and not line.startswith("#"):
                    call = Call(line)
                    self.calls[call.word] = call
        self.fields, self.helps, self.keys = library.fields, library.helps, library.keys
        self.args = {}  # by field: what it is, and the verbs that take it
        self.later = []  # members behind those of each struct
        self.declarations = {}  # by struct: the lines of its members
        self.used = {}  # (list, field): verbs
        self.check(library)

    def check(self, library):
        seen = set()
        for code, word, takes, tells, rows in library.verbs(self.noun):
            for name in takes:
                self.learn(library.argument(code, name), word)
            if word not in self.calls and word not in self.without:
                sys.exit(f"{self.noun}.txt has no call `{word}`")
            call = self.calls.get(word) or self.without[word]
            seen.add(word)
            call.rows, call.takes, call.code = bool(rows), takes, code
            call.must = [n for n in takes if library.must(code, n)]
            if word in self.without:
                continue
            where = "settings" if call.returns == "settings" else "options"
            if call.returns == "settings":
                self.append("settings", [n for n in takes if n in tells])
            call.options = [n for n in takes if n not in call.given]
            if call.returns == "settings":
                for name in [n for n in call.options if n not in self.lists["settings"]]:
                    self.use("options", name, word)
                call.settings = [n for n in call.options if n in self.lists["settings"]]
                call.options = [n for n in call.options if n not in self.lists["settings"]]
                for name in call.settings:
                    self.use(where, name, word)
                tells = [n for n in tells if n not in self.lists["settings"] and
                         n not in self.told.values()]
            else:
                for name in call.options:
                    self.use("options", name, word)
            known = self.lists["answer"] + self.lists.get("statistics", [])
            known += self.lists["settings"] + list(self.told.values()) if call.returns else []
            for name in tells:
                if name not in known:
                    sys.exit(f"{self.noun} {word} tells {name}: {self.noun}.txt has it nowhere")
                self.use("answer", name, word)
            for name in rows if call.returns else []:
                if name not in self.lists["row"]:
                    sys.exit(f"{self.noun} {word} has rows with {name}: {self.noun}.txt has not")
                self.use("row", name, word)
        for word in [*self.calls, *self.without]:
            if word not in seen:
                sys.exit(f"{self.noun}.txt: there is no verb `{word}`")
        for name in self.notes:
            if name not in self.lists["settings"]:
                sys.exit(f"{self.noun}.txt has a note on {name}, which is no setting")
        for name in self.lists["options"]:
            if ("options", name) not in self.used:
                sys.exit(f"{self.noun}.txt: no verb takes {name}")

    def learn(self, argument, word):
        name = argument.field.name
        known, words = self.args.setdefault(name, (argument, []))
        words.append(word)
        if known.standard is None: # of the verb that has a default
            argument.most = max(argument.most, known.most)
            self.args[name] = (argument, words)

    def append(self, which, names):
        """What is not listed yet goes behind the others: the order is ABI."""
        new = [n for n in names if n not in self.lists["options"] + self.lists[which]]
        if not new:
            return
        if len(sys.argv) > 3:
            sys.exit(f"{self.noun}.txt lacks {' '.join(new)}: run gen_calls.py")
        self.lists[which] += new
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(f"^{which} .*", lambda m: " ".join([m[0]] + new), text, flags=re.M)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def use(self, where, name, word):
        if where in ("options", "settings") and name not in self.lists[where]:
            sys.exit(f"{self.noun} {word} takes {name}: {self.noun}.txt has it nowhere")
        self.used.setdefault((where, name), []).append(word)

    # ---- the header ----

    def struct(self, which, about, head, told):
        lines = [f"/* {about} */"] if len(about) < 94 else comment(about)
        begin = len(lines) + 1
        lines.append(f"struct usher_{self.noun}_{which} {{")
        for declared, help_ in head:
            lines += member(declared, help_)
        for name in self.lists[which]:
            field = self.fields[name]
            help_ = field.help + (", of 10,000" if field.type == SHARE else "")
            if which == "settings":
                help_ = self.args[name][0].member(self.notes.get(name))
            elif which == "options":
                help_ = self.args[name][0].member(None, name not in self.lists["settings"])
            if which in ("options", "answer"):
                verbs = self.used.get((which, name), [])
                help_ = of_verbs(help_, verbs) if 0 < len(verbs) < 5 else help_
            lines += member(field.told(self.noun) if told else field.declared(self.noun), help_)
        for declared in self.later:
            lines += member(declared, "of a later version")
        lines.append("};")
        self.declarations[which] = lines[begin:]
        name = f"USHER_{self.noun.upper()}_{which.upper()}_INIT"
        size = f"sizeof(struct usher_{self.noun}_{which})"
        zeroes = []
        for declared in [d for d, _ in head[1:]] + [
                self.fields[n].told(self.noun) if told else self.fields[n].declared(self.noun)
                for n in self.lists[which]] + self.later:
            if "[" in declared:
                zeroes.append('""')
            elif declared.startswith("struct"):
                zeroes.append("{ NULL, 0 }")
            elif declared.startswith("enum"):
                zeroes.append(f"({declared.rsplit(' ', 1)[0]})0")
            else:
                zeroes.append("NULL" if "*" in declared else
                              "false" if declared.startswith("bool") else "0")
        lines += ["#ifdef __cplusplus", f"#define {name} \\"]
        wrapped = textwrap.wrap(f"{{ {size}, {', '.join(zeroes)} }}", 92)
        lines += [f"    {line} \\" for line in wrapped[:-1]] + [f"    {wrapped[-1]}"]
        lines += ["#else", f"#define {name} {{ .size = {size} }}", "#endif", ""]
        return lines

    def prototype(self, call):
        noun = self.noun
        args = ["struct usher_engine *e", f"const char *{self.scope}"]
        args += [self.fields[n].argument(noun) for n in call.given]
        if call.returns == "settings":
            args.append(f"const struct usher_{noun}_settings *settings")
        args.append(f"const struct usher_{noun}_options *opt")
        args.append(f"struct usher_{noun}_answer *ret" if not call.returns else
                    "struct usher_reply **ret")
        start = f"enum usher_status usher_{noun}_{call.name}("
        return args, start

    def header(self):
        noun = self.noun
        lines = [f"{BEGIN} {'-' * (90 - len(BEGIN))} */", "/* clang-format off */", ""]
        lines += [f"struct usher_reply;", ""]
        lines += self.struct("options", f"Options of the calls of `{noun}`.  If fewer than five verbs "
                             "take an option, its comment begins with them.  0 or NULL = not "
                             "given; USHER_NONE or \"\" = explicitly none, never or off.  An "
                             "option that the verb does not take is USHER_INVALID.", HEAD_OPTIONS,
                             False)
        lines += self.struct("settings", "Settings.  A member that is not given (0 or NULL) keeps "
                             "its value, or gets its default in a new scope; USHER_NONE = none, "
                             "never or off; a code …_OFF = its code 0.  Settings read from a reply can be passed back "
                             "unchanged.",
                             [("size_t size", "set by …_INIT")], False)
        lines += self.struct("answer", "Answer, written for every status.  Members that do not "
                             "apply are USHER_NONE (numbers), \"\" (texts) or 0 (codes, tokens).",
                             HEAD_ANSWER, True)
        lines += self.struct("row", "One row of a reply.  Texts belong to the reply and live as "
                             "long.  Members that do not apply are USHER_NONE (numbers), NULL "
                             "(texts) or 0 (codes, tokens).",
                             [("size_t size", "set by …_INIT")], False)
        if "statistics" in self.lists:
            lines += self.struct("statistics", "Statistics.  A figure that does not exist is "
                                 "USHER_NONE.", [("size_t size", "set by …_INIT")], False)
        lines += comment(
            f"Arguments of every call: the engine @e, the {self.scope}, the subject of the verb, "
            "@opt (may be NULL), and where to write the answer (may be NULL).  A reply belongs to "
            "the caller: release it with usher_reply_done().  It is NULL if the call itself "
            "failed.  With opt->post the call returns like usher_post(), and the answer arrives as "
            "an event.  In addition to the statuses listed, every call may return USHER_INVALID, "
            "USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: it may have been "
            "applied), USHER_LOST and USHER_NOMEM; usher_message() has the details.  Threads: any. "
            " Since 0.1.")
        lines.append("")
        for call in self.calls.values():
            doc = [d for d in call.doc]
            while doc and not doc[-1]:
                doc.pop()
            takes = ", ".join("opt->" + self.fields[n].member() for n in self.lists["options"]
                              if n in call.options)
            if takes:
                doc += textwrap.wrap(f"Options: {takes}.", 96)
            lines += ([f"/** {doc[0]} */"] if len(doc) == 1 and len(doc[0]) < 93 else
                      ["/**"] + [f" * {d}".rstrip() for d in doc] + [" */"])
            args, start = self.prototype(call)
            lines += laid_out("USHER_API " + start, args, ");")
            lines.append("")
        what = [("answer", f"The answer of @reply as the calls give it"),
                ("settings", "The settings in @reply"),
                ("statistics", "The figures in @reply")]
        lines += comment(
            "Copy the answer, the settings, the statistics or row @i of @reply into a struct.  "
            "Texts belong to the reply and live as long, except those of the answer.  Return "
            "false, and do not write *@ret, if @reply is NULL or of another noun, if there is no "
            "such row, or if the size is not set.  O(members * values).")
        for which, _ in what:
            if which in self.lists:
                lines.append(f"USHER_API bool usher_{noun}_{which}_of(const struct usher_reply "
                             f"*reply, struct usher_{noun}_{which} *ret);")
        lines += [f"USHER_API bool usher_{noun}_row_of(const struct usher_reply *reply, size_t i, "
                  f"struct usher_{noun}_row *ret);", "/* clang-format on */"]
        return lines

    # ---- the manual ----

    def manual(self):
        lines = [f".Ss Arguments of {self.noun}", ".Bl -tag -width 11n -compact"]
        for argument, words in self.args.values():
            of = f"For {', '.join(words)}: " if len(words) < 5 else ""
            told = argument.told()
            lines += [f".It Cm {argument.field.word}",
                      mdoc(of + told if of else told[0].upper() + told[1:]) + "."]
        return lines + [".El"] + self.answers_manual()

    def answers_manual(self):
        """The keys of the answers, from the help of the program."""
        lines = [f".Ss JSON of {self.noun}", "After the keys of every answer.",
                 f".Ql usher help {self.noun} VERB",
                 "explains those of a verb, and when an answer has them.",
                 ".Bl -tag -width 11n -compact"]
        for call in [*self.calls.values(), *self.without.values()]:
            lines += [f".It Cm {call.word}"] + self.keys(self.noun, call.word)
        return lines + [".El"]

    def verb_manual(self, call):
        """The paragraph of a verb that has none: how it is typed, and what its help says."""
        words = [self.fields[n].word for n in call.must]
        lines = [".It Xo", f".Cm {self.noun} {call.word} Ar {' '.join([self.scope] + words)}"]
        lines += [f".Op Cm {word} Ns = Ns Ar {word}" for word in
                  [self.fields[n].word for n in call.takes
                   if n not in call.must + ["IF_VERSION"] +
                   (["EPOCH"] if "IF_VERSION" in call.takes else [])]]
        text = self.helps[self.noun, call.word]
        return lines + [".Xc", mdoc(text[0].upper() + text[1:]) + "."]

    # ---- the names that are let out ----

    def exported(self):
        names = [f"usher_{self.noun}_{call.name}" for call in self.calls.values()]
        names += [f"usher_{self.noun}_{which}_of" for which in
                  ("answer", "settings", "statistics", "row") if which in self.lists]
        return names

    # ---- the tables and functions ----

    def made(self):
        noun = self.noun
        lines = ["/* SPDX-License-Identifier: MIT */",
                 f"/* Made by gen_calls.py from {noun}.txt: do not edit. */", "/* clang-format off */",
                 ""]
        for which in ("options", "settings", "answer", "row", "statistics"):
            if which not in self.lists:
                continue
            lines.append(f"static const struct usher__member {noun}_{which}[] = {{")
            for name in self.lists[which]:
                field = self.fields[name]
                kind = field.kind()
                if which == "answer" and kind == "STRING":
                    kind = "CHARS"
                told = self.told.get(name, name) if which == "settings" else name
                lines.append(f"    MEMBER(struct usher_{noun}_{which}, {field.member()}, {name}, "
                             f"{told}, {kind}),")
            lines.append("};")
            if which in ("options", "settings"):
                lines.append(f"GIVE({noun}, {which})")
            lines.append("")
        lines.append(f"static const uint8_t {noun}_answer_at[] = {{")
        lines += [f"    [USHER_FIELD_{name}] = {i + 1}," for i, name in
                  enumerate(self.lists["answer"])]
        code = "USHER_" + noun.upper()
        lines += ["};", "",
                  f"static void {noun}_answer_tell(const struct usher_operation *op, "
                  "const struct usher_result *r,",
                  "                              struct usher__answer *a)", "{",
                  "    const uint32_t verb = op != NULL ? USHER__VERB_BIT((unsigned)op->verb) : 0;",
                  "    const size_t size = a->size;", "",
                  f"    TELL_NONE({noun});", "    if (op == NULL)", "        return;",
                  f"#define V(name) USHER__VERB_BIT({code}_##name)",
                  "#define OUT(type, member, field, verbs) "
                  f"TELL_FIELD({noun}, {code}, type, member, field, verbs)",
                  f'#include "core/{noun}_verbs.def"', "#undef V", "}", ""]
        lines.append(f"static const struct usher__calls {noun}_calls = {{")
        lines.append(f"    USHER_{noun.upper()},")
        for which, how in {"options": "GIVEN", "settings": "GIVEN", "answer": "TOLD",
                           "row": None, "statistics": None}.items():
            how = f"{how}({noun}, {which})" if how else "SHOWN"
            lines.append(f"    SHAPE({noun}, {which}, {how})," if which in self.lists else
                         "    { .n = 0 },")
        lines += ["};", ""]
        for call in self.calls.values():
            args, start = self.prototype(call)
            lines += laid_out(start, args, ")")
            lines.append("{")
            must = "NULL, 0"
            if call.given:
                values = ", ".join(self.fields[n].value() for n in call.given)
                lines.append(f"    const struct usher_value given[] = {{ {values} }};")
                lines.append("")
                must = f"given, {len(call.given)}"
            settings = "settings" if call.returns == "settings" else "NULL"
            into = "NULL, ret" if call.returns else "ret, NULL"
            lines.append(f"    return usher__call(e, &{noun}_calls, USHER_{noun.upper()}_"
                         f"{call.word.upper()}, {self.scope}, {must}, {settings}, opt, {into});")
            lines += ["}", ""]
        for which in ("answer", "settings", "statistics"):
            if which in self.lists:
                lines += [f"bool usher_{noun}_{which}_of(const struct usher_reply *reply, "
                          f"struct usher_{noun}_{which} *ret)", "{",
                          f"    return usher__call_{'answer' if which == 'answer' else 'values'}"
                          f"(&{noun}_calls, &{noun}_calls.{which}, reply, "
                          f"{'' if which == 'answer' else 'USHER_ANSWER, '}ret);",
                          "}", ""]
        lines += [f"bool usher_{noun}_row_of(const struct usher_reply *reply, size_t i, "
                  f"struct usher_{noun}_row *ret)", "{",
                  f"    return i != USHER_ANSWER && usher__call_values(&{noun}_calls, "
                  f"&{noun}_calls.row, reply, i, ret);", "}"]
        return lines


def tried(nouns):
    """Each call by its verb, for the tests."""
    lines = ["/* SPDX-License-Identifier: MIT */",
             "/* Made by src/api/gen_calls.py: do not edit. */", "/* clang-format off */", "",
             "static bool is_given(uint32_t verb, uint32_t field)", "{", "    switch (verb) {"]
    for n in nouns:
        for call in n.calls.values():
            if call.given:
                are = " || ".join(f"field == USHER_FIELD_{name}" for name in call.given)
                lines += [f"    case USHER_{n.noun.upper()}_{call.word.upper()}: return {are};"]
    lines += ["    default:", "        return false;", "    }", "}", "",
              "static bool has_call(uint32_t verb)", "{"]
    have = [f"verb != USHER_{n.noun.upper()}_{word.upper()}" for n in nouns for word in n.without]
    lines += ["    return " + " &&\n           ".join(have) + ";", "}", "",
              "static bool has_settings(uint32_t verb)", "{"]
    have = [f"verb == USHER_{n.noun.upper()}_{call.word.upper()}" for n in nouns
            for call in n.calls.values() if call.returns == "settings"]
    lines += [f"    return {' || '.join(have)};", "}", "",
              "static enum usher_status give(struct usher_engine *e, const struct given_values *t, "
              "uint32_t verb, const char *scope,",
              "                              const void *settings, const void *opt, void *answer, "
              "struct usher_reply **reply)", "{", "    switch (verb) {"]
    for n in nouns:
        for call in n.calls.values():
            args = ["e", "scope"]
            args += [f"{n.fields[f].kind().lower()}_of(t, USHER_FIELD_{f})" for f in call.given]
            args += ["settings"] if call.returns == "settings" else []
            args += ["opt", "reply" if call.returns else "answer"]
            lines += [f"    case USHER_{n.noun.upper()}_{call.word.upper()}:"
                      f" return usher_{n.noun}_{call.name}({', '.join(args)});"]
    lines += ["    default:", "        fail();", "        return USHER_INVALID;", "    }", "}", "",
              "static bool is_reply(uint32_t verb)", "{"]
    have = [f"verb == USHER_{n.noun.upper()}_{call.word.upper()}" for n in nouns
            for call in n.calls.values() if call.returns]
    lines += ["    return " + " ||\n           ".join(have) + ";", "}"]
    return lines


def mdoc(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text[0] in ".'" else text


def manual_with(path, nouns):
    """Between the marks, a line for each noun."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for n in nouns:
        begin, end = f'.\\" made by src/api/gen_calls.py: {n.noun}\n', '.\\" end\n'
        at = text.index(begin) + len(begin)
        text = text[:at] + "\n".join(n.manual()) + "\n" + text[text.index(end, at):]
        begin = f'.\\" made by src/api/gen_calls.py: verbs of {n.noun}\n'
        at = text.index(begin) + len(begin)
        rest = text[text.index(end, at):]
        text = text[:at]
        by_hand = re.findall(f"Cm {n.noun} ([a-z]+(?: , [a-z]+)*)", text + rest)
        by_hand = " , ".join(by_hand).split(" , ")
        for call in [*n.calls.values(), *n.without.values()]:
            if call.word not in by_hand:
                text += "\n".join(n.verb_manual(call)) + "\n"
        text += rest
    return text


def names_with(path, nouns):
    """Behind the mark, the names of the calls, in order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    at = text.index(MADE) + len(MADE)
    names = sorted(name for n in nouns for name in n.exported())
    return text[:at] + "".join(f"    {name};\n" for name in names) + text[text.index("local:\n", at):]


def comment(text):
    lines = textwrap.wrap(text, 94)
    return [f"/* {lines[0]}"] + [f" * {l}" for l in lines[1:-1]] + [f" * {lines[-1]} */"]


def member(declared, help_):
    line = f"    {declared}; /* {help_} */"
    if len(line) <= 100:
        return [line]
    wrapped = textwrap.wrap(help_, 88)
    if len(wrapped) == 1:
        return [f"    /* {help_} */", f"    {declared};"]
    return ([f"    /* {wrapped[0]}"] + [f"     * {w}" for w in wrapped[1:-1]] +
            [f"     * {wrapped[-1]} */", f"    {declared};"])


def laid_out(start, args, end):
    lines = [start]
    for i, arg in enumerate(args):
        arg += end if i == len(args) - 1 else ","
        if len(lines[-1]) + 1 + len(arg) > 100:
            lines.append(" " * len(start) + arg)
        else:
            lines[-1] += arg if lines[-1].endswith("(") else " " + arg
    return lines


def header_with(path, made):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before = text[:text.index(BEGIN)] if BEGIN in text else \
        text[:text.rindex("#ifdef __cplusplus\n}")]
    after = text[text.rindex("#ifdef __cplusplus\n}"):]
    return before + "\n".join(made) + "\n\n" + after


def other_headers(nouns, newer, to):
    for n in nouns:
        if newer:
            n.later.append("int64_t later")
        else:
            n.lists = {which: names[:-1] for which, names in n.lists.items()}
        path = os.path.join(to, HEADERS[n.noun] + ".h")
        text = header_with(path, n.header())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    library, sources, check = Library(sys.argv[1]), sys.argv[2], "--check" in sys.argv
    here = os.path.join(sources, "src", "api")
    nouns = [Noun(here, noun, library) for noun in HEADERS]
    if sys.argv[3:4] in (["--older"], ["--newer"]):
        other_headers(nouns, sys.argv[3] == "--newer", sys.argv[4])
        return 0
    files = {os.path.join(sources, "tests", "model", "calls_gen.h"): tried(nouns)}
    for n in nouns:
        path = os.path.join(sources, "include", "usher", HEADERS[n.noun] + ".h")
        files[path] = header_with(path, n.header()).split("\n")[:-1]
        files[os.path.join(here, f"{n.noun}_gen.h")] = n.made()
        files[os.path.join(here, f"usher_{n.noun}.3")] = gen_manual.page(n)
    manual = os.path.join(sources, "src", "cli", "usher.1")
    files[manual] = manual_with(manual, nouns).split("\n")[:-1]
    names = os.path.join(sources, "src", "libusher.map")
    files[names] = names_with(names, nouns).split("\n")[:-1]
    files = {name: "\n".join(lines) + "\n" for name, lines in files.items()}
    return (gen_fields.write(gen_fields.made(sources), check, "src/api/gen_fields.py") |
            gen_fields.write(files, check, "src/api/gen_calls.py"))


if __name__ == "__main__":
    sys.exit(main())
