#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count the sentences that are not plain English, in comments, documents, help texts, messages and
names of tests.

    prose.py [DIR]                counts by folder and by kind, and the rate for each 1,000 words
    prose.py [DIR] --list [PATH]  each place: file:line: kind: text
    prose.py [DIR] --change BASE  only in lines that were added since the commit BASE
    prose.py [DIR] --total        one line: faults, words, faults for each 1,000 words
    prose.py [DIR] --check FILE   fails if a file has more faults than FILE allows (check-prose.sh)
    prose.py [DIR] --lower FILE   writes the counts of today into FILE, but none that is higher

A hit is a place to rewrite, not always an error.  There is no way to mark one as wanted, because a
sentence can always be written differently.
"""
import os, re, subprocess, sys

KINDS = [
    ('subject',  re.compile(r"^(Who|What|Whoever|Whatever|Whose|Whom|Of|Nor|Where)\b(?!.*\?\s*$)")),
    ('tell',     re.compile(r"\b(told|tells?|telling|hears?|heard|hearing)\b", re.I)),
    ('behind',   re.compile(r"\bbehind\b", re.I)),
    ('nobody',   re.compile(r"\b(nobody|somebody|whoever|anybody|everybody|whom|nobody's|somebody's|anybody's)\b", re.I)),
    ('he',       re.compile(r"\b(he|his|him|himself)\b")),
    ('archaic',  re.compile(r"\b(anew|dear|meanwhile|hence|thereby|thereof|whence|of use|as ever|will do|such and such|aloud)\b", re.I)),
    ('so-many',  re.compile(r"\bso (many|much|long|often)\b(?! (as|that)\b)", re.I)),
    ('for',      re.compile(r",\s+for\s+(it|they|there|the|a|an|what|who|that|this|these|those|all|nothing|no|each|then|one)\b")),
    ('who-is',   re.compile(r"(?<!those )(?<!anyone )(?<!one )\bwho (is|are|was|has|have|had|comes?|goes|asks?|waits?|shows?|types?|reads?|writes?|looks?|makes?|gives?|takes?|knows?|wants?|may|can|does|did)\b", re.I)),
]
LONG = 40  # words in one sentence
SKIP = re.compile(r"(^|/)(tests/data|tests/fuzz|m4|build|_build|_inst|\.git|autom4te\.cache|build-aux)/|LICENSE$|made_|_gen\.h$|fields\.h$|lua_text\.c$")
CODE = {'.c', '.h', '.def', '.lua'}
DOCS = {'.md', '.1', '.3', '.5', '.7', '.8', '.txt'}


def files(top):
    """The files of the tree: those of git, or in an unpacked tarball all."""
    if os.path.exists(os.path.join(top, '.git')):
        run = subprocess.run(['git', '-C', top, 'ls-files', '-co', '--exclude-standard'], capture_output=True, text=True, check=True)
        out = run.stdout.split('\n')
    else:
        out = [os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names]
    return sorted(f for f in out if f and not SKIP.search(f) and os.path.isfile(os.path.join(top, f)))


def c_parts(text):
    """(line, prose) of comments, string literals with at least four words, and names of tests."""
    i, n, line = 0, len(text), 1
    while i < n:
        c = text[i]
        if c == '\n':
            line += 1; i += 1
        elif text.startswith('/*', i):
            j = text.find('*/', i + 2); j = n if j < 0 else j
            yield line, re.sub(r'\n[ \t]*\*?[ \t]?', '\n', text[i + 2:j]), 'comment'
            line += text.count('\n', i, j); i = j + 2
        elif text.startswith('//', i):
            j = text.find('\n', i); j = n if j < 0 else j
            yield line, text[i + 2:j], 'comment'; i = j
        elif c == '"':
            j = i + 1
            while j < n and text[j] != '"' and text[j] != '\n':
                j += 2 if text[j] == '\\' else 1
            s = text[i + 1:j]
            if len(re.findall(r'[A-Za-z]{2,}', s)) >= 4:
                yield line, s.replace('\\n', '\n'), 'string'
            i = j + 1
        elif c == "'":
            j = i + 1
            while j < n and text[j] != "'" and text[j] != '\n':
                j += 2 if text[j] == '\\' else 1
            i = j + 1
        else:
            i += 1


def lua_parts(text):
    block, start = [], 0
    for k, l in enumerate(text.split('\n'), 1):
        m = re.search(r'--\s?(.*)$', l)
        if m:
            if not block: start = k
            block.append(m[1])
            if l.lstrip().startswith('--'): continue
        if block:
            yield start, '\n'.join(block), 'comment'; block = []
    if block: yield start, '\n'.join(block), 'comment'


def md_parts(text, man, api=False):
    fence, block, start = False, [], 0
    for k, l in enumerate(text.split('\n'), 1):
        if api and re.match(r'[a-z]+( [A-Z_=]+)+$|note [A-Z_]+ ', l):  # src/api: names, or a sentence of its own
            if block: yield start, '\n'.join(block), 'document'
            block, l = [], re.sub(r'^note [A-Z_]+ |^[a-z]+( [A-Z_=]+)+$', '', l)
        if l.startswith('```') or (man and l.startswith(('.Bd', '.Ed'))):
            fence = not fence; l = ''
        if fence or (not man and l.startswith('    ')): l = ''
        if man and l.startswith('.'):
            l = re.sub(r'^\.(Sy|Em|Nm|Ar|Fl|Pa|Li|Dl|Cm)\b', '', l) if re.match(r'\.(Sy|Em|Nm|Pa)\b', l) else ''
        if man: l = l.replace('\\&', '').replace('\\-', '-')
        if l.strip() == '' or (not man and re.match(r'\s*([-*#|]|\d+\.)', l) and block):
            if block: yield start, '\n'.join(block), 'document'
            block = []
        if l.strip():
            if not block: start = k
            block.append(re.sub(r'^\s*([-*#>|]+|\d+\.)\s*', '', l))
    if block: yield start, '\n'.join(block), 'document'


def parts(path, text):
    ext = os.path.splitext(path)[1]
    if ext in ('.c', '.h', '.def'):
        yield from c_parts(text)
        if '/tests/' in '/' + path:
            for m in re.finditer(r'^(?:static void |(?:TEST\w*|ON|ROUNDS_OF)\()(\w+)(?:\(void \*\*|[,)])', text, re.M):
                yield text.count('\n', 0, m.start()) + 1, m[1].replace('_', ' ').capitalize(), 'test'
    elif ext == '.lua': yield from lua_parts(text)
    elif ext in DOCS: yield from md_parts(text, ext not in ('.md', '.txt'), ext == '.txt')


def sentences(line, prose):
    """(line, sentence): split at stops; a blank line or a list mark ends one, too."""
    pos = 0
    for m in re.finditer(r'.+?(?:[.!?:;](?=\s|$)|\n\s*\n|\n\s*(?=[-*] )|$)', prose, re.S):
        s = m.group(0)
        lead = len(s) - len(s.lstrip())
        at = line + prose.count('\n', 0, m.start() + lead)
        flat = re.sub(r'`[^`]*`', 'CODE', ' '.join(s.split())).strip(' *-|>').replace('**', '')
        if flat: yield at, flat
        pos = m.end()


def scan(top, only=None, added=None):
    words, hits = {}, []
    for f in files(top):
        if os.path.splitext(f)[1] not in CODE | DOCS: continue
        if only and not f.startswith(only): continue
        if added is not None and f not in added: continue
        text = open(os.path.join(top, f), encoding='utf-8', errors='replace').read()
        for line, prose, kind in parts(f, text):
            for at, s in sentences(line, prose):
                if added is not None and at not in added[f]: continue
                n = len(re.findall(r"[A-Za-z][A-Za-z'-]*", s))
                words[f] = words.get(f, 0) + n
                for name, rx in KINDS:
                    for _ in rx.finditer(s): hits.append((f, at, name, s))
                if n > LONG: hits.append((f, at, 'long', s))
    return words, hits


def added_lines(top, base):
    out, f, n = {}, None, 0
    for l in subprocess.run(['git', '-C', top, 'diff', '-U0', base], capture_output=True, text=True, errors='replace').stdout.split('\n'):
        if l.startswith('+++ '): f = l[6:] if l.startswith('+++ b/') else None
        elif l.startswith('@@'): n = int(re.search(r'\+(\d+)', l)[1])
        elif l.startswith('+') and f: out.setdefault(f, set()).add(n); n += 1
    return out


def folder(f):
    p = f.split('/')
    return p[0] if len(p) == 1 else '/'.join(p[:2]) if len(p) > 2 or p[0] in ('include',) else p[0]


def counts(top):
    now = {}
    for f, *_ in scan(top)[1]:
        now[f] = now.get(f, 0) + 1
    return now


def allowed(path):
    with open(path, encoding='utf-8') as lines:
        return {f: int(n) for f, n in (line.split() for line in lines if not line.startswith('#'))}


def check(top, path):
    now, most = counts(top), allowed(path)
    worse = [f for f in sorted(now) if now[f] > most.get(f, 0)]
    for f in worse:
        print(f'{f}: {now[f]} places are not plain English, allowed are {most.get(f, 0)}')
        for _, at, name, text in [h for h in scan(top, f)[1] if h[0] == f]:
            print(f'    {f}:{at}: {name}: {text[:120]}')
    return 1 if worse else 0


def lower(top, path):
    now, most = counts(top), allowed(path) if os.path.exists(path) else None
    with open(path, 'w', encoding='utf-8') as to:
        print('# Places of a file that are not plain English: they may only become fewer (check-prose.sh).', file=to)
        for f in sorted(now):
            n = now[f] if most is None else min(now[f], most.get(f, 0))
            if n:
                print(f, n, file=to)


def main():
    a = sys.argv[1:]
    top = a.pop(0) if a and not a[0].startswith('--') else '.'
    if '--change' in a:
        base = a[a.index('--change') + 1]
        words, hits = scan(top, added=added_lines(top, base))
        for f, at, name, s in hits[:400]: print(f'{f}:{at}: {name}: {s[:140]}')
        print(f'{len(hits)} places in {sum(words.values())} added words')
        return
    if '--check' in a:
        sys.exit(check(top, a[a.index('--check') + 1]))
    if '--lower' in a:
        return lower(top, a[a.index('--lower') + 1])
    if '--list' in a:
        i = a.index('--list'); only = a[i + 1] if len(a) > i + 1 else None
        words, hits = scan(top, only)
        for f, at, name, s in hits: print(f'{f}:{at}: {name}: {s[:160]}')
        return
    words, hits = scan(top)
    total, w = len(hits), sum(words.values())
    if '--total' in a:
        print(f'{total} faults in {w} words: {1000 * total / max(w, 1):.1f} for each 1,000'); return
    names = [k for k, _ in KINDS] + ['long']
    rows = {}
    for f, n in words.items(): rows.setdefault(folder(f), [0, {}])[0] += n
    for f, _, name, _ in hits:
        d = rows[folder(f)][1]; d[name] = d.get(name, 0) + 1
    print(f"{'folder':22}{'words':>8}{'faults':>8}{'/1000':>7}  " + ' '.join(f'{k:>8}' for k in names))
    for k, (n, d) in sorted(rows.items(), key=lambda r: -sum(r[1][1].values())):
        s = sum(d.values())
        print(f'{k:22}{n:8}{s:8}{1000 * s / max(n, 1):7.1f}  ' + ' '.join(f'{d.get(x, 0):8}' for x in names))
    print(f"{'sum':22}{w:8}{total:8}{1000 * total / max(w, 1):7.1f}  " + ' '.join(f'{sum(r[1].get(x, 0) for r in rows.values()):8}' for x in names))


main()
