#!/bin/sh
# SPDX-License-Identifier: MIT
# drop: a scope of any noun with all that is in it, if that is what is meant.
. "$(dirname "$0")/lib.sh"
redis_too

for store in $STORES; do
    case $store in
    *clock=given*) url=$store ;;
    *) url="$store?clock=given" ;;
    esac
    talk "$url" <<'END'
> number add p/q 1 group=a now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number reg p/q 1 now=1000
{"status":"ok","epoch":"E","version":2,"due":null,"state":"idle+up"}
> number call p/q now=1000
{"status":"ok","epoch":"E","version":3,"due":null,"number":"1","token":"3","until":null,"state":"busy+up"}
> drop number/p/q
{"status":"refused","message":"not a terminal: to erase number/p/q, add --yes"}
> drop number/p/q --yes
{"status":"ok","epoch":"0","version":0,"due":null,"dropped":2}
> drop --yes number/p/q
{"status":"same","epoch":"0","version":0,"due":null,"dropped":0}
> number hangup p/q 1 token=3
{"status":"missing","epoch":"0","version":0,"due":null,"state":"nodata","until":null}
> number add p/q 1 now=1000
{"status":"ok","epoch":"E","version":5,"due":null,"state":"idle+down"}
> number drop p/q if-version=4
{"status":"stale","epoch":"E","version":5,"due":null}
> number drop p/q if-version=5
{"status":"ok","epoch":"E","version":6,"due":null,"dropped":1,"more":false}
> queue login d ann now=1000
{"status":"ok","epoch":"E","version":1,"due":16000,"now":1000,"agent":"ann","state":"idle","rooms":["E.1.1"],"token":"1"}
> queue set d archive=5 now=1000
{"status":"ok","epoch":"E","version":2,"due":16000,"now":1000,"ttl":15000,"trigger":"auto","strategy":"longest-idle","offer":0,"wrapup":0,"limit":0,"maxwait":0,"grace":0,"requeue":"front","history":1000,"zone":0,"service":20000,"requests":10000,"archive":5,"log":0,"again":5000,"strict":0,"mode":"open","push":0}
> queue apply d zoe now=1000
{"status":"ok","epoch":"E","version":4,"due":16000,"now":1000,"place":"room","room":"E.1.1","agent":"ann","token":"4","visit":"E.4","visit_token":"3"}
> queue leave d zoe now=1000
{"status":"ok","epoch":"E","version":5,"due":16000,"now":1000,"user":"zoe","agent":"ann","room":"E.1.1","token":"4","visit":"E.4","state":"idle"}
> drop queue/d --yes
{"status":"refused","message":"drop queue/d: 1 ended visits are not yet in the history: drain them, or set archive=0"}
> queue set d archive=0 now=1000
{"status":"ok","epoch":"E","version":6,"due":16000,"now":1000,"ttl":15000,"trigger":"auto","strategy":"longest-idle","offer":0,"wrapup":0,"limit":0,"maxwait":0,"grace":0,"requeue":"front","history":1000,"zone":0,"service":20000,"requests":10000,"archive":0,"log":0,"again":5000,"strict":0,"mode":"open","push":0}
> drop queue/d --yes
{"status":"ok","epoch":"0","version":0,"due":null,"dropped":5}
> room open hall now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"state":"open","capacity":0,"linger":0,"ttl":0,"away":0,"grace":0,"log":256,"requests":10000,"presence":0,"push":0}
> drop room/hall --yes
{"status":"ok","epoch":"0","version":0,"due":null,"dropped":1}
> drop room/hall --yes
{"status":"same","epoch":"0","version":0,"due":null,"dropped":0}
> serial rule inv width=4 now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"prefix":"","suffix":"","date":"","width":4,"base":0,"start":1,"step":1,"radix":10,"check":"none","max":"9223372036854775807","critical":0,"batch":1000,"reset":"none","zone":0,"stamp":"take","mode":"queue","overflow":"refuse","lease":300000,"requests":10000,"authority":0,"log":0,"push":0,"cur":0}
> serial take inv now=1000
{"status":"ok","epoch":"E","version":2,"due":null,"serials":["0001"]}
> drop serial/inv --yes
{"status":"ok","epoch":"0","version":0,"due":null,"dropped":1}
> id create d now=1000
{"status":"ok","epoch":"E","version":1,"due":null,"next":1,"max":512,"step":512,"start":1,"by":1,"limit":"9223372036854775807","step_first":512,"step_max":1000000,"life":0,"managed":0,"requests":10000,"log":0}
> drop id/d --yes
{"status":"ok","epoch":"0","version":0,"due":null,"dropped":1}
> scopes
{"status":"ok","epoch":"0","version":0,"due":null,"scopes":[],"next":null,"partial":false}
> drop rooms/a --yes
{"status":"invalid","message":"`rooms/a` is not NOUN/NAME"}
> drop number/ --yes
{"status":"invalid","message":"`number/` is not NOUN/NAME"}
> drop
{"status":"invalid","message":"NOUN/NAME is missing"}
> drop number/p number/q
{"status":"invalid","message":"`number/q` is not an argument of `drop`"}
END
done

if [ "${WITH_SQLITE:-yes}" = yes ]; then
    unset USHER_STORE
    expect 1 "$USHER" -s sqlite:none.db drop number/p --yes <<'END'
! usher: missing: open: sqlite: ./none.db: there is no such store
END
    [ ! -e none.db ] || wrong 'nothing is made'
    "$USHER" -s sqlite:a.db number add p 1 >/dev/null
    expect 1 "$USHER" -s sqlite:a.db drop number/p <<'END'
! usher: refused: not a terminal: to erase number/p, add --yes
END
    expect 0 "$USHER" -s sqlite:a.db drop number/p --yes <<'END'
ok: number/p is gone, with 1 record
END
    expect 0 "$USHER" -s sqlite:a.db --json drop number/p --yes <<'END'
{"status":"same","epoch":"0","version":0,"due":null,"dropped":0}
END
    expect 0 "$USHER" -s sqlite:a.db drop number/p --yes <<'END'
same: number/p is not there
END
    # a person is asked
    if command -v script >/dev/null; then
        for answer in n y; do
            "$USHER" -s sqlite:a.db number add p 1 >/dev/null
            echo "$answer" |
                script -qec "'$USHER' -s sqlite:a.db drop number/p" /dev/null >said.txt 2>&1
            holds said.txt 'drop number/p with all that is in it? [y/N] '
            [ $answer = y ] || holds said.txt 'refused: not confirmed: number/p was not erased'
        done
        holds said.txt 'ok: number/p is gone, with 1 record'
    fi
fi
finish
