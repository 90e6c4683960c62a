# SPDX-License-Identifier: MIT
"""The manual pages of section 3, one for each noun: usher_NOUN(3), from the same lines of NOUN.txt
and the same fields as the headers.  gen_calls.py writes them."""
import re

DATE = "November 28, 2026"


def text(words):
    """Escape a text for mdoc.  Names of arguments (@name) are set as such."""
    words = words.replace("\\", "\\e")
    words = re.sub(r"@(\w+)", r"\\fI\1\\fR", words)
    return "\\&" + words if words[:1] in (".", "'") else words


def sentences(words):
    """A line for each sentence, as mdoc wants it."""
    parts = re.split(r"(?<=[.])\s+(?=[A-Z@])", " ".join(words).strip())
    return [text(part) for part in parts if part]


def described(doc):
    """The docstring of a call: paragraphs, and lists of statuses or of members."""
    lines, words, listed = [], [], False
    for line in doc + [""]:
        status = re.match(r"(USHER_\w+(?:, USHER_\w+)*)(?:  +(.*))?$|([a-z_]+)  +(.*)$", line)
        if status and (status[2] or status[3] or listed or not words):
            lines += sentences(words) if words else []
            words = []
            if not listed:
                lines.append(".Bl -tag -width Ds -compact")
                listed = True
            lines.append(f".It Dv {status[1]}" if status[1] else f".It Fa {status[3]}")
            lines += sentences([status[2] or status[4] or ""])
        elif listed and line.startswith(" "):
            lines += sentences([line.strip()])
        elif line:
            if listed:
                lines.append(".El")
                listed = False
            words.append(line)
        else:
            if words:
                lines += sentences(words)
                words = []
                lines.append(".Pp")
            elif listed:
                lines += [".El", ".Pp"]
                listed = False
    while lines and lines[-1] == ".Pp":
        lines.pop()
    return lines


def members(struct):
    """The members of a struct as NAME and comment, from the lines of its declaration."""
    found, comment = [], []
    for line in struct:
        line = line.strip()
        whole = re.match(r"(?:/\*(.*?)\*/)?\s*(\S.*;)(?:\s*/\*(.*)\*/)?$", line)
        if line.startswith(("/*", "*")):
            comment.append(line.strip("/* "))
        elif whole and not line.startswith(("struct usher_", "}")) or \
                whole and re.match(r"struct usher_text \w+;", line):
            found.append((whole[2].rstrip(";"), (whole[3] or " ".join(comment)).strip()))
            comment = []
        elif line == "};":
            break
    return found


def mapping(noun):
    """The verbs of usher(1) whose function does not have their name."""
    lines = [".Pp", "The verb", f".Li {noun.noun} VERB", "of", ".Xr usher 1",
             "is the function", f".Fn usher_{noun.noun}_VERB ."]
    for call in noun.calls.values():
        if call.name != call.word:
            lines += ["The verb", f".Li {call.word}", "is", f".Fn usher_{noun.noun}_{call.name} ."]
    for word in noun.without:
        lines += ["The verb", f".Li {word}", "is"] + \
            ([".Fn usher_drop ."] if word in ("drop", "delete") else
             ["a command of the engine: it has no function."])
    return lines


def page(noun):
    """The lines of usher_NOUN(3)."""
    n = noun.noun
    name = f"usher_{n}"
    which = [w for w in ("options", "settings", "answer", "row", "statistics") if w in noun.lists]
    lines = ['.\\" SPDX-License-Identifier: MIT',
             f'.\\" Made by src/api/gen_calls.py from {n}.txt: do not edit.',
             f".Dd {DATE}", f".Dt {name.upper()} 3", ".Os", ".Sh NAME"]
    calls = list(noun.calls.values())
    lines += [f".Nm {name}", f".Nd functions of the noun {n}", ".Sh LIBRARY",
              "usher (\\fBpkg-config --cflags --libs usher\\fR)", ".Sh SYNOPSIS", ".In usher/usher.h"]
    for call in calls:
        args, start = noun.prototype(call)
        lines += [".Ft enum usher_status", f".Fo {start[len('enum usher_status '):-1]}"]
        lines += [f'.Fa "{arg}"' for arg in args] + [".Fc"]
    lines += [".Sh DESCRIPTION",
              f"Each function gives one command to a {noun.scope}, and returns when the store has",
              "answered it.",
              f"The arguments are the engine, the name of the {noun.scope}, the subject of the command,",
              "the options",
              ".Pq may be Dv NULL ,",
              "and where to write the answer",
              ".Pq may be Dv NULL .",
              "A reply belongs to the caller, who releases it with",
              ".Fn usher_reply_done .",
              "With the option",
              ".Fa post",
              "the function returns at once, and",
              ".Fn usher_collect",
              "returns the answer.", "Any thread may call them."]
    lines += mapping(noun) + [".Bl -tag -width Ds"]
    for call in calls:
        lines.append(f".It Fn {name}_{call.name}")
        lines += described(list(call.doc))
        takes = [noun.fields[f].member() for f in noun.lists["options"] if f in call.options]
        if takes:
            lines += [".Pp", "Options: " + text(", ".join(takes)) + "."]
    lines.append(".El")
    titles = {"options": "OPTIONS", "settings": "SETTINGS", "answer": "ANSWER", "row": "ROWS",
              "statistics": "STATISTICS"}
    about = {"options": "0 or NULL means that a member is not given.",
             "settings": "A member that is not given keeps its value, or gets its default.",
             "answer": "The answer is written for every status.",
             "row": "A reply has rows; texts belong to the reply.",
             "statistics": "A figure that does not exist is USHER_NONE."}
    for w in which:
        lines += [f".Sh {titles[w]}", f".Vt struct {name}_{w} ,", "initialised with",
                  f".Dv {name.upper()}_{w.upper()}_INIT .", about[w],
                  ".Bl -tag -width Ds -compact"]
        for declared, help_ in members(noun.declarations[w]):
            lines += [f".It Fa {declared}"] + (sentences([help_]) if help_ else [])
        lines.append(".El")
    lines += [".Sh RETURN VALUES",
              "Besides the statuses above, each function may return",
              ".Dv USHER_INVALID , USHER_UNAVAILABLE",
              ".Pq nothing changed ,",
              ".Dv USHER_UNKNOWN",
              ".Pq no answer: the command may have been applied ,",
              ".Dv USHER_LOST",
              "and",
              ".Dv USHER_NOMEM .",
              ".Fn usher_message",
              "has the details.",
              ".Sh SEE ALSO", ".Xr usher 1 ,", ".Xr usher 3"]
    return lines
