#!/bin/sh
# SPDX-License-Identifier: MIT
# The verbs of id, byte for byte but for the epoch, alike on every store; and the same state.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted_talk <<'EOT'
> id next t now=1000
{"status":"missing","epoch":"0","version":0,"due":null}
> id show t
{"status":"missing","epoch":"0","version":0,"due":null}
> id set t step=5
{"status":"missing","epoch":"0","version":0,"due":null}
> id delete t
{"status":"same","epoch":"0","version":0,"due":null}
> id create t now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"next":1,"max":512,"step":512,"start":1,"by":1,"limit":"9223372036854775807","step_first":512,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> id create t now=1000
{"status":"same","epoch":"E","version":1,"due":null,"next":1,"max":512,"step":512,"start":1,"by":1,"limit":"9223372036854775807","step_first":512,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> id create t step=7 now=1000
{"status":"refused","epoch":"E","version":1,"due":null,"next":1,"max":512,"step":512,"start":1,"by":1,"limit":"9223372036854775807","step_first":512,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> id next t now=1000
{"status":"ok","epoch":"E","version":2,"due":null,"first":1,"n":1,"by":1,"token":"2"}
> id next t n=600 now=2000 req=a
{"status":"ok","epoch":"E","version":3,"due":null,"first":2,"n":600,"by":1,"token":"3"}
> id next t n=600 now=2000 req=a
{"status":"ok","epoch":"E","version":3,"due":null,"first":2,"n":600,"by":1,"token":"3","repeated":true}
> id show t
{"status":"ok","epoch":"E","version":3,"due":null,"next":602,"max":1024,"step":512,"start":1,"by":1,"limit":"9223372036854775807","issued":601,"segments":2,"began":2000,"lasted":1000,"managed":0}
> id return t 502 100 token=2 now=2000
{"status":"stale","epoch":"E","version":3,"due":null,"first":502,"n":100,"next":602,"max":1024,"step":512}
> id return t 502 100 token=3 epoch=0123456789abcdef now=2000
{"status":"stale","epoch":"E","version":3,"due":null}
> id return t 502 100 token=3 now=2000
{"status":"ok","epoch":"E","version":4,"due":null,"first":502,"n":100,"next":502,"max":1024,"step":512}
> id return t 502 100 token=3 now=2000
{"status":"same","epoch":"E","version":4,"due":null,"first":502,"n":100,"next":502,"max":1024,"step":512}
> id set t next=500 now=2000
{"status":"refused","epoch":"E","version":4,"due":null,"next":502,"max":1024,"step":512,"start":1,"by":1,"limit":"9223372036854775807","step_first":512,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0,"why":"back"}
> id set t next=9007199254740993 step=10 now=2000
{"status":"ok","epoch":"E","version":5,"due":null,"next":"9007199254740993","max":1024,"step":10,"start":1,"by":1,"limit":"9223372036854775807","step_first":10,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> id next t now=2000
{"status":"ok","epoch":"E","version":6,"due":null,"first":"9007199254740993","n":1,"by":1,"token":"6"}
> id set t limit=9007199254740995 now=2000
{"status":"ok","epoch":"E","version":7,"due":null,"next":"9007199254740994","max":"9007199254740995","step":10,"start":1,"by":1,"limit":"9007199254740995","step_first":10,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> id next t n=3 now=2000
{"status":"full","epoch":"E","version":7,"due":null,"first":"9007199254740994","n":2,"next":"9007199254740994","max":"9007199254740995","step":10}
> id next t n=2 now=2000
{"status":"ok","epoch":"E","version":8,"due":null,"first":"9007199254740994","n":2,"by":1,"token":"8"}
> id next t now=2000
{"status":"full","epoch":"E","version":8,"due":null,"first":null,"n":0,"next":null,"max":"9007199254740995","step":10}
> id install t 1 1 now=2000
{"status":"refused","epoch":"E","version":8,"due":null,"first":1,"n":1,"next":null,"max":"9007199254740995","step":10}
> id delete t now=2000
{"status":"ok","epoch":"E","version":9,"due":null}
> id next t now=2000
{"status":"missing","epoch":"E","version":9,"due":null}
> id create m managed=1 start=3 by=5 step=2 now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"next":3,"max":null,"step":2,"start":3,"by":5,"limit":"9223372036854775807","step_first":2,"step_max":1000000,"life":0,"managed":1,"requests":10000,"log":0}
> id next m now=1000
{"status":"empty","epoch":"E","version":1,"due":null,"next":3,"max":null,"step":2}
> id install m 13 3 now=1000
{"status":"ok","epoch":"E","version":2,"due":null,"first":13,"n":3,"next":13,"max":23,"step":2}
> id install m 28 3 now=1000
{"status":"stale","epoch":"E","version":2,"due":null,"first":28,"n":3,"next":13,"max":23,"step":2}
> id next m n=3 now=1000
{"status":"ok","epoch":"E","version":3,"due":null,"first":13,"n":3,"by":5,"token":"3"}
> id next m now=1000
{"status":"empty","epoch":"E","version":3,"due":null,"next":28,"max":23,"step":2}
> id next m n=0
{"status":"invalid","message":"n is not a number from 1 to 1000000000"}
> id next m n=1000000001
{"status":"invalid","message":"n is not a number from 1 to 1000000000"}
> id create x start=9223372036854775808
{"status":"invalid","message":"start is not a number from 0 to 9223372036854775807"}
> id create x by=0
{"status":"invalid","message":"by is not a number from 1 to 1000000"}
> id create x start=10 limit=9
{"status":"invalid","message":"limit is below start"}
> id return m 1 1
{"status":"invalid","message":"token is missing"}
> id next
{"status":"invalid","message":"name is missing"}
> id nxt m
{"status":"invalid","message":"`id` has no verb `nxt`; did you mean `next`?"}
EOT

for store in $STORES; do
    talk "$store" <wanted_talk
    lines 0 "$USHER" -s "$store" check
done
lines 0 "$USHER" -s memory: id create t start=41
holds out.txt 'ok: next 41, segment up to 552, step 512'
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    lines 0 "$USHER" -s "sqlite:$dir/plain.db" id create t start=9999999999999999
    lines 0 "$USHER" -s "sqlite:$dir/plain.db" id next t n=3
    holds out.txt 'ok: 9999999999999999 to 10000000000000001, 3 ids'
    lines 0 "$USHER" -s "sqlite:$dir/plain.db" id next t
    holds out.txt 'ok: 10000000000000002'
    lines 1 "$USHER" -s "sqlite:$dir/plain.db" id next u
    holds out.txt 'missing: there is no dispenser u'
    lines 1 "$USHER" -s "sqlite:$dir/plain.db" id create t by=2
    holds out.txt 'refused: it is there with other settings: next 10000000000000003, '
    lines 1 "$USHER" -s "sqlite:$dir/plain.db" id set t next=5
    holds out.txt 'refused: ids never go back: next 10000000000000003, '
    lines 0 "$USHER" -s "sqlite:$dir/plain.db" id create site start=2 by=2
    lines 1 "$USHER" -s "sqlite:$dir/plain.db" id set site by=3
    holds out.txt 'refused: by can only become a multiple of itself, or ids of another start would'
    lines 0 "$USHER" -s "sqlite:$dir/plain.db" id set site next=9
    holds out.txt 'ok: next 10, '
    lines 0 "$USHER" -s "sqlite:$dir/plain.db" --json id digest t
    holds out.txt '"version":3,"due":null,"digest":"'
fi
finish
