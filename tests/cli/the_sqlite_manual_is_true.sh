#!/bin/sh
# SPDX-License-Identifier: MIT
# usher-sqlite(7): each command line of the page does what the page says.
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=.}"
[ "${WITH_SQLITE:-yes}" = yes ] || {
    echo 'the program is built without SQLite'
    exit 77
}
page=$top_srcdir/backends/sqlite/usher-sqlite.7

# `usher', and `sqlite3', which Python can replace.
mkdir bin
ln -s "$(command -v "$USHER")" bin/usher
if ! command -v sqlite3 >/dev/null; then
    command -v python3 >/dev/null || {
        echo 'there is neither sqlite3 nor python3'
        exit 77
    }
    cat >bin/sqlite3 <<'END'
#!/usr/bin/env python3
import sqlite3, sys
args = [a for a in sys.argv[1:] if a != "-readonly"]
db = sqlite3.connect(args[0], isolation_level=None)
if len(args) == 1:
    pass
elif args[1].startswith(".backup "):
    with sqlite3.connect(args[1].split()[1]) as copy:
        db.backup(copy)
else:
    for row in db.execute(args[1]):
        print("|".join("" if v is None else str(v) for v in row))
END
    chmod +x bin/sqlite3
fi
PATH=$dir/bin:$PATH
export PATH

# line PATTERN: the one command line of the page with this text.
line() {
    sed -n -e 's/^\.Dl //' -e 't found' -e b -e ':found' -e 's/\\(dq/"/g' -e p "$page" | grep -F -e "$1"
}

# do_line PATTERN: run it.
do_line() {
    line "$1" >line.sh
    [ "$(wc -l <line.sh)" = 1 ] || wrong "the page has one line with $1"
    lines 0 sh -e line.sh
}

# token OWNER: call a number, and print the token.
token() {
    usher -s sqlite:shop.db --json number call desk "owner=$1" | sed -n 's/.*"token":"\([0-9]*\)".*/\1/p'
}

printf '+4911\n+4912\n+4913\n' | usher -s sqlite:shop.db number import desk - up=1 >/dev/null
ann=$(token ann)
for way in '.backup' 'VACUUM INTO'; do
    rm -f shop.bak
    do_line "$way"
    do_line 'shop.bak check'
    lines 0 usher -s sqlite:shop.bak number list desk
    holds out.txt '3 numbers'
    holds out.txt 'ann'
done
bob=$(token bob)

# A copy in the place of the file: the programs notice.
do_line 'mv shop.db shop.old'
lines 3 usher -s sqlite:shop.db number hangup desk +4912 "token=$bob"
holds err.txt 'lost'
lines 0 usher -s sqlite:shop.db number hangup desk +4911 "token=$ann"

# A copy over the file: noticed if a new file is made of it.
eve=$(token eve)
cp shop.bak shop.db
rm -f shop.db-wal shop.db-shm
do_line 'mv new.db shop.db'
lines 3 usher -s sqlite:shop.db number hangup desk +4912 "token=$eve"
holds err.txt 'lost'

do_line 'shop.db VACUUM'
lines 0 usher -s sqlite:shop.db check
line '-readonly' | sed 's/$/ "SELECT pool, version > 0 FROM pool"/' >line.sh
lines 0 sh -e line.sh
[ "$(cat out.txt)" = 'desk|1' ] || wrong "a view answers: $(cat out.txt)"

# The queries: the block after `history allows'.  The third erases visits older than 400 days.
echo +49301 | usher -s sqlite:usher.db number import desk - up=1 >/dev/null
usher -s sqlite:usher.db number call desk owner=ann >/dev/null
usher -s sqlite:usher.db shell >/dev/null <<'END'
queue login help ann
queue apply help bob
queue leave help bob
END
awk '/^sqlite3 usher.db/ { on = 1 } /^\.Ed/ { on = 0 } on' "$page" >queries.sh
[ "$(grep -c '^sqlite3' queries.sh)" = 3 ] || wrong 'the page has three queries'
lines 0 sh -e queries.sh
[ "$(sed -E 's/^[0-9]{4}-[0-9]{2}-[0-9]{2}\|ann\|1\|[0-9.]+$/a visit of ann/' out.txt)" = "a visit of ann
+49301|ann|" ] || wrong "the queries print a visit and a call, but: $(cat out.txt)"
lines 0 usher -s sqlite:usher.db queue history help
holds out.txt 'bob'

finish
