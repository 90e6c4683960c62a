#!/bin/sh
# SPDX-License-Identifier: MIT
# A queue by hand, with the same answers on every store: one agent and three users, then
# offers, what operators do, and what is wrong.
. "$(dirname "$0")/lib.sh"
redis_too

cat >wanted_talk <<'END'
> queue apply desk u1 now=1000
{"status":"empty","epoch":"0","version":0,"due":null,"why":"no-agent"}
> queue login desk ann now=1000
{"status":"ok","epoch":"E","version":1,"due":16000,"now":1000,"agent":"ann","state":"idle","rooms":["E.1.1"],"token":"1"}
> queue apply desk u1 now=1001
{"status":"ok","epoch":"E","version":3,"due":16000,"now":1001,"place":"room","room":"E.1.1","agent":"ann","token":"3","visit":"E.3","visit_token":"2"}
> queue apply desk u2 now=1002
{"status":"ok","epoch":"E","version":4,"due":16000,"now":1002,"place":"queue","index":0,"wait":null,"visit_token":"4"}
> queue apply desk u3 now=1003
{"status":"ok","epoch":"E","version":5,"due":16000,"now":1003,"place":"queue","index":1,"wait":null,"visit_token":"5"}
> queue apply desk u2 now=1004
{"status":"same","epoch":"E","version":5,"due":16000,"now":1004,"place":"queue","index":0,"wait":null,"visit_token":"4"}
> queue alive desk user=u1 now=15000
{"status":"ok","epoch":"E","version":5,"due":16000,"now":15000,"place":"room","room":"E.1.1","agent":"ann","token":"3","visit":"E.3","lane":"default","since":1001,"visit_token":"2"}
> queue alive desk user=u3 now=15000
{"status":"ok","epoch":"E","version":5,"due":16000,"now":15000,"place":"queue","index":1,"wait":null,"waiting":2,"lane":"default","since":1003,"visit_token":"5"}
> queue alive desk agent=ann now=15000
{"status":"ok","epoch":"E","version":5,"due":16000,"now":15000,"agent":"ann","state":"busy","lanes":"*","until":null,"rooms":[{"room":"E.1.1","user":"u1","state":"seated","lane":"default","matched":1001,"until":null,"token":"3","visit":"E.3"}],"token":"1"}
> queue where desk u3 now=17000
{"status":"ok","epoch":"E","version":6,"due":30000,"now":17000,"place":"queue","index":0,"wait":null,"waiting":1,"lane":"default","since":1003,"visit_token":"5"}
> queue room desk ann now=17000
{"status":"ok","epoch":"E","version":6,"due":30000,"now":17000,"agent":"ann","state":"busy","lanes":"*","until":null,"rooms":[{"room":"E.1.1","user":"u1","state":"seated","lane":"default","matched":1001,"until":null,"token":"3","visit":"E.3"}],"token":"1"}
> queue finish desk 1.1 now=18000
{"status":"ok","epoch":"E","version":8,"due":30000,"now":18000,"user":"u1","agent":"ann","room":"E.1.1","token":"3","visit":"E.3","state":"busy"}
> queue where desk u3 now=18000
{"status":"ok","epoch":"E","version":8,"due":30000,"now":18000,"place":"room","room":"E.1.1","agent":"ann","token":"8","visit":"E.8","lane":"default","since":1003,"visit_token":"5"}
> queue alive desk user=u3 now=29000
{"status":"ok","epoch":"E","version":8,"due":30000,"now":29000,"place":"room","room":"E.1.1","agent":"ann","token":"8","visit":"E.8","lane":"default","since":1003,"visit_token":"5"}
> queue where desk u3 now=33000
{"status":"ok","epoch":"E","version":10,"due":44000,"now":33000,"place":"queue","index":0,"wait":null,"waiting":1,"lane":"default","since":1003,"visit_token":"5"}
> queue where desk u2 now=33000
{"status":"missing","epoch":"E","version":10,"due":44000,"now":33000,"place":"none","outcome":"lost","finished":16004}
> queue list desk now=33000
{"status":"ok","epoch":"E","version":10,"due":44000,"now":33000,"users":[{"user":"u3","state":"waiting","lane":"default","priority":0,"since":1003,"applied":33000,"agent":null,"room":null,"matched":null,"until":null,"visit_token":"5"}],"next":null}
> queue agents desk now=33000
{"status":"ok","epoch":"E","version":10,"due":44000,"now":33000,"agents":[],"next":null}
> queue history desk now=33000
{"status":"ok","epoch":"E","version":10,"due":44000,"now":33000,"visits":[{"user":"u3","lane":"default","priority":0,"applied":1003,"outcome":"requeued","seated":18000,"wait":16997,"agent":"ann","room":"E.1.1","finished":33000,"talk":15000,"since":1003,"version":9,"visit":"E.8"},{"user":"u1","lane":"default","priority":0,"applied":1001,"outcome":"seated","seated":1001,"wait":0,"agent":"ann","room":"E.1.1","finished":18000,"talk":16999,"since":1001,"version":7,"visit":"E.3"},{"user":"u2","lane":"default","priority":0,"applied":1002,"outcome":"lost","seated":null,"wait":15002,"agent":null,"room":null,"finished":16004,"talk":0,"since":1002,"version":6,"visit":null}],"next":null}
> queue stats desk now=33000
{"status":"ok","epoch":"E","version":10,"due":44000,"now":33000,"waiting":1,"seated":0,"agents":0,"longest_wait":0,"longest_since":31997,"seated_today":2,"abandoned_today":1,"service_level":1.0000,"timeout_today":0,"finished_today":2,"wait":8498,"talk":15999,"offered":0,"away":0,"agents_idle":0,"agents_offered":0,"agents_busy":0,"agents_wrapup":0,"agents_paused":0,"dropped_today":0,"visits":3,"arrived_today":3,"within_today":2,"abandoned_within_today":1,"service_seated":1.0000,"arrived_total":3,"seated_total":2,"within_total":2,"abandoned_total":1,"abandoned_within_total":1,"timeout_total":0,"finished_total":2,"dropped_total":0,"wait_total":16997,"talk_total":31999,"mode":"open","paused_by":[]}
> queue lanes desk now=33000
{"status":"ok","epoch":"E","version":10,"due":44000,"now":33000,"lanes":[{"lane":"default","waiting":1,"longest_wait":0,"offered":0,"seated":0,"away":0,"seated_today":2,"abandoned_today":1,"timeout_today":0,"finished_today":2,"arrived_today":3,"within_today":2,"abandoned_within_today":1,"service_level":1.0000,"wait":8498,"talk":15999}],"next":null}
> queue set desk offer=5000 now=33000
{"status":"ok","epoch":"E","version":11,"due":44000,"now":33000,"ttl":15000,"trigger":"auto","strategy":"longest-idle","offer":5000,"wrapup":0,"limit":0,"maxwait":0,"grace":0,"requeue":"front","history":1000,"zone":0,"service":20000,"requests":10000,"archive":0,"log":0,"again":5000,"strict":0,"mode":"open","push":0}
> queue login desk bob capacity=2 lanes=default,vip now=34000
{"status":"ok","epoch":"E","version":13,"due":39000,"now":34000,"agent":"bob","state":"offered","rooms":["E.12.1","E.12.2"],"token":"12"}
> queue where desk u3 now=34000
{"status":"ok","epoch":"E","version":13,"due":39000,"now":34000,"place":"offer","room":"E.12.1","agent":"bob","until":39000,"token":"13","visit":"E.13","lane":"default","since":1003,"visit_token":"5"}
> queue accept desk bob u3 now=34000
{"status":"ok","epoch":"E","version":14,"due":39000,"now":34000,"user":"u3","agent":"bob","room":"E.12.1","token":"13","visit":"E.13","state":"busy"}
> queue apply desk u4 lane=vip priority=5 now=35000
{"status":"ok","epoch":"E","version":16,"due":39000,"now":35000,"place":"offer","room":"E.12.2","agent":"bob","until":40000,"token":"16","visit":"E.16","visit_token":"15"}
> queue pause desk bob now=35000
{"status":"ok","epoch":"E","version":17,"due":39000,"now":35000,"agent":"bob","state":"pausing","rooms":["E.12.1","E.12.2"],"token":"12"}
> queue reject desk bob u4 now=35000
{"status":"ok","epoch":"E","version":18,"due":39000,"now":35000,"user":"u4","agent":"bob","room":"E.12.2","token":"16","visit":"E.16","state":"pausing"}
> queue pull desk bob now=35000
{"status":"refused","epoch":"E","version":18,"due":39000,"now":35000,"matched":[],"message":"the agent is not open: full, paused or in wrap-up"}
> queue move desk u4 priority=9 now=35000
{"status":"ok","epoch":"E","version":19,"due":39000,"now":35000,"place":"queue","index":0,"wait":null,"visit_token":"15"}
> queue ready desk bob now=35000
{"status":"ok","epoch":"E","version":21,"due":39000,"now":35000,"agent":"bob","state":"busy","rooms":["E.12.1","E.12.2"],"token":"12"}
> queue leave desk u4 now=35000
{"status":"ok","epoch":"E","version":22,"due":39000,"now":35000,"user":"u4","agent":"bob","room":"E.12.2","token":"21","visit":"E.21","state":"busy"}
> queue free desk bob now=35000
{"status":"ok","epoch":"E","version":23,"due":39000,"now":35000,"agent":"bob","state":"idle","rooms":["E.12.1","E.12.2"],"freed":1,"token":"12"}
> queue pull desk bob now=35000
{"status":"empty","epoch":"E","version":23,"due":39000,"now":35000,"matched":[],"why":"no-user"}
> queue match desk now=35000
{"status":"same","epoch":"E","version":23,"due":39000,"now":35000,"matched":[],"more":false}
> queue sweep desk now=35000
{"status":"same","epoch":"E","version":23,"due":39000,"now":35000,"expired":0,"matched":[],"more":false}
> queue logout desk bob now=35000
{"status":"ok","epoch":"E","version":24,"due":39000,"now":35000,"agent":"bob","state":"gone","rooms":[]}
> queue apply desk u5 now=35000
{"status":"empty","epoch":"E","version":24,"due":39000,"now":35000,"why":"no-agent"}
> queue alive desk now=35000
{"status":"invalid","message":"exactly one of agent and user is required"}
> queue apply desk u5 priority=1001
{"status":"invalid","message":"priority is not a number from 0 to 1000"}
> queue fly desk
{"status":"invalid","message":"`queue` has no verb `fly`; `usher help queue` lists them"}
> check
{"status":"ok","faults":0,"repaired":0,"scopes":1,"found":[],"partial":false}
END
for store in $STORES; do
    talk "$store" <wanted_talk
done

# 0 is a time: who was seated at it was seated, and of who never was `seated` is null.
cat >wanted_early <<'END'
> queue login early ann now=0
{"status":"ok","epoch":"E","version":1,"due":15000,"now":0,"agent":"ann","state":"idle","rooms":["E.1.1"],"token":"1"}
> queue apply early u1 now=0
{"status":"ok","epoch":"E","version":3,"due":15000,"now":0,"place":"room","room":"E.1.1","agent":"ann","token":"3","visit":"E.3","visit_token":"2"}
> queue apply early u2 now=0
{"status":"ok","epoch":"E","version":4,"due":15000,"now":0,"place":"queue","index":0,"wait":null,"visit_token":"4"}
> queue leave early u2 now=3000
{"status":"ok","epoch":"E","version":5,"due":15000,"now":3000,"user":"u2","agent":null,"room":null}
> queue leave early u1 now=5000
{"status":"ok","epoch":"E","version":6,"due":15000,"now":5000,"user":"u1","agent":"ann","room":"E.1.1","token":"3","visit":"E.3","state":"idle"}
> queue history early now=5000
{"status":"ok","epoch":"E","version":6,"due":15000,"now":5000,"visits":[{"user":"u1","lane":"default","priority":0,"applied":0,"outcome":"seated","seated":0,"wait":0,"agent":"ann","room":"E.1.1","finished":5000,"talk":5000,"since":0,"version":6,"visit":"E.3"},{"user":"u2","lane":"default","priority":0,"applied":0,"outcome":"left","seated":null,"wait":3000,"agent":null,"room":null,"finished":3000,"talk":0,"since":0,"version":5,"visit":null}],"next":null}
END
for store in $STORES; do
    talk "$store" <wanted_early
done

# Ended visits go into one file from every store; one process a command, as from a script.
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    for store in $STORES; do
        case $store in
        memory:) continue ;; # nothing of it is left for the next command
        *\?*) with="$store&history=sqlite:$dir/visits.db" ;;
        *) with="$store?history=sqlite:$dir/visits.db" ;;
        esac
        for words in "set ttl=0" "login kit" "apply v1" "apply v2" "leave v1" "leave v2"; do
            lines 0 "$USHER" -s "$with" queue ${words%% *} nights $(echo "$words" | cut -s -d' ' -f2-)
        done
        lines 0 "$USHER" -s "$with" --json queue history nights agent=kit max=1
        holds out.txt '"user":"v2"'
        holds out.txt '"next":"'
        lines 0 "$USHER" -s "$with" --json queue history nights user=v1
        holds out.txt '"user":"v1"'
        lines 0 "$USHER" -s "$with" --json queue drain nights
        holds out.txt '"status":"same"'
        lines 0 "$USHER" -s "$store" --json queue stats nights
        holds out.txt '"visits":0'
    done
    # an SQLite store has them in its own file, whatever the queue keeps
    store=sqlite:$dir/own.db
    for words in "set history=0 ttl=0" "login kit" "apply v1" "apply v2" "leave v1" "leave v2"; do
        lines 0 "$USHER" -s "$store" queue ${words%% *} days $(echo "$words" | cut -s -d' ' -f2-)
    done
    lines 0 "$USHER" -s "$store" --json queue history days
    holds out.txt '"visits":[{"user":"v2"'
    holds out.txt ',{"user":"v1"'
    holds out.txt '"next":null'
    lines 0 "$USHER" -s "$store" --json queue history days user=v1
    holds out.txt '"visits":[{"user":"v1"'
    lines 0 "$USHER" -s "$store" --json queue stats days
    holds out.txt '"visits":0'
    lines 0 "$USHER" -s "$store" check
    lines 3 "$USHER" -s "memory:?history=sqlite:/nowhere/visits.db" queue history nights
    holds err.txt 'history: cannot be opened: no such directory'
fi

# Versions of an SQLite store begin at 1, and each of these commands makes one, apply two.
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    store=sqlite:$dir/tokens.db
    for words in "login kit session=one" "login kit session=two" "apply v1" "login kit"; do
        lines 0 "$USHER" -s "$store" queue ${words%% *} late $(echo "$words" | cut -s -d' ' -f2-)
    done
    holds out.txt 'same: kit is busy'
    holds out.txt ', token 2'
    lines 1 "$USHER" -s "$store" queue logout late kit token=1
    holds out.txt 'stale: the token is of another login of kit'
    lines 1 "$USHER" -s "$store" queue alive late agent=kit token=1
    holds out.txt 'stale: the token is of another login of kit'
    lines 1 "$USHER" -s "$store" queue leave late v1 token=2
    holds out.txt 'stale: the token is of another visit of v1'
    lines 1 "$USHER" -s "$store" queue accept late kit v1 token=3
    holds out.txt 'stale: the token is of another offer of v1'
    lines 0 "$USHER" -s "$store" queue set late strict=1
    lines 2 "$USHER" -s "$store" queue leave late v1
    holds err.txt 'token is missing: the queue is strict'
    lines 0 "$USHER" -s "$store" queue where late v1
    holds out.txt ', token 4, visit token 3'
    lines 0 "$USHER" -s "$store" queue leave late v1 token=3
fi

for machine in agent user; do
    lines 0 "$USHER" tables "$machine" --dot
    holds out.txt digraph
done
finish
