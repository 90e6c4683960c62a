#!/bin/sh
# SPDX-License-Identifier: MIT
# scopes: of every noun, in pages; all of them alike on every store, a page by its cursor.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted_talk <<'EOF'
> scopes
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[],"next":null,"partial":false}
> number add p 1 now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number add p 2 now=1000
{"status":"ok","epoch":"E","version":2,"due":null,"state":"idle+down"}
> number add "a/b \" c" 1 now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> queue login q ann now=1000
{"status":"ok","epoch":"E","version":1,"due":16000,"now":1000,"agent":"ann","state":"idle","rooms":["E.1.1"],"token":"1"}
> queue apply q zoe now=1000
{"status":"ok","epoch":"E","version":3,"due":16000,"now":1000,"place":"room","room":"E.1.1","agent":"ann","token":"3","visit":"E.3","visit_token":"2"}
> room open hall linger=1000 now=1000
{"status":"ok","epoch":"E","version":1,"due":2000,"now":1000,"state":"open","capacity":0,"linger":1000,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> id create d now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"next":1,"max":512,"step":512,"start":1,"by":1,"limit":"9223372036854775807","step_first":512,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> scopes
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[{"scope":"number/a/b \" c","epoch":"E","version":1,"due":null,"items":1},{"scope":"number/p","epoch":"E","version":2,"due":null,"items":2},{"scope":"queue/q","epoch":"E","version":3,"due":16000,"items":2},{"scope":"room/hall","epoch":"E","version":1,"due":2000,"items":0},{"scope":"id/d","epoch":"E","version":1,"due":null,"items":0}],"next":null,"partial":false}
> scopes serial
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[],"next":null,"partial":false}
> scopes rooms
{"status":"invalid","message":"noun is none of number, queue, room, serial, id"}
> scopes max=10001
{"status":"invalid","message":"max is not a number from 1 to 10000"}
EOF
# Where scopes have an order a name is a cursor.
cat >wanted_names <<'EOF'
> scopes max=2
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[{"scope":"number/a/b \" c","epoch":"E","version":1,"due":null,"items":1},{"scope":"number/p","epoch":"E","version":2,"due":null,"items":2}],"next":"number/p","partial":false}
> scopes max=2 after=number/p
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[{"scope":"queue/q","epoch":"E","version":3,"due":16000,"items":2},{"scope":"room/hall","epoch":"E","version":1,"due":2000,"items":0}],"next":"room/hall","partial":false}
> scopes after=number/o number
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[{"scope":"number/p","epoch":"E","version":2,"due":null,"items":2}],"next":null,"partial":false}
> scopes after=p
{"status":"invalid","message":"scopes: after is not NOUN/NAME"}
> scopes after=rooms/a
{"status":"invalid","message":"scopes: after is not NOUN/NAME"}
> scopes after=number/
{"status":"invalid","message":"scopes: after is empty"}
EOF

for store in $STORES; do
    case $store in
    *clock=given*) url=$store ;;
    *) url="$store?clock=given" ;;
    esac
    case $store in
    redis*) talk "$url" <wanted_talk ;;
    *) cat wanted_talk wanted_names | talk "$url" ;;
    esac
done

# On Redis a cursor is a text of its own, and a name is refused.  Pages end, and miss nothing.
for store in $STORES; do
    case $store in
    redis*) ;;
    *) continue ;;
    esac
    expect 2 "$USHER" -s "$store" scopes after=number/p <<'EOF'
! usher: invalid: scopes: after is no cursor of a Redis store: give `next` of a page
EOF
    next= && : >pages.txt
    for page in 1 2 3 4 5 6 7 8; do
        # shellcheck disable=SC2086
        lines 0 "$USHER" --json -s "$store" scopes max=2 ${next:+"after=$next"}
        tr '{' '\n' <out.txt | sed -n 's/^"scope":"\([a-z]*\).*/\1/p' >>pages.txt
        next=$(sed -n 's/.*"next":"\([^"]*\)".*/\1/p' out.txt)
        [ -n "$next" ] || break
    done
    [ "$page" -le 4 ] || wrong 'five scopes take three pages, or a last empty one'
    [ "$(sort pages.txt | tr '\n' ' ')" = 'id number number queue room ' ] || wrong 'the pages are the list'
done

if [ "${WITH_SQLITE:-yes}" = yes ]; then
    unset USHER_STORE
    expect 1 "$USHER" scopes -s sqlite:none.db <<'EOF'
! usher: missing: open: sqlite: ./none.db: there is no such store
EOF
    [ ! -e none.db ] || wrong 'nothing is made'
    "$USHER" -s sqlite:a.db number add p 1 now=1000 >/dev/null
    expect 0 "$USHER" scopes -s sqlite:a.db max=1 <<'EOF'
ok: 1 scope; number/p, version 1, 1 number
EOF
fi
# `check` counts the same scopes: not the index of rooms, nor a room that is closed.
for store in $STORES; do
    case $store in
    memory:) continue ;;
    redis*) store="$store&prefix=count" ;;
    *) store="$store-count" ;;
    esac
    for line in 'number add p 1' 'room open hall' 'room open attic' 'room close attic' 'id create d'; do
        # shellcheck disable=SC2086
        lines 0 "$USHER" -s "$store" $line
    done
    lines 0 "$USHER" -s "$store" scopes
    holds out.txt 'ok: 3 scopes; '
    lines 0 "$USHER" -s "$store" check
    holds out.txt 'ok: 0 faults in 3 scopes'
done
finish
