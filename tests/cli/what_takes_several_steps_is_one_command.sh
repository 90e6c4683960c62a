#!/bin/sh
# SPDX-License-Identifier: MIT
# More than a step of the library does: whoever asks for it gets one answer, and what must hold to
# begin with need not hold between.
. "$(dirname "$0")/lib.sh"
redis_too

N=2500
awk -v n=$N 'BEGIN { for (i = 1; i <= n; i++) print i }' >numbers
for store in $STORES; do
    {
        echo 'number import p numbers up=1 now=1000'
        awk -v n=$N 'BEGIN { for (i = 1; i <= n; i++) print "number call p owner=o" i " node=pbx lease=" (i % 2 ? 5000 : 0) " now=1000" }'
        printf '%s\n' "number renew p node=pbx lease=60000 if-version=$((3 * N)) now=2000" \
            "number free p all=1 if-version=$((3 * N)) now=3000" \
            "number free p all=1 if-version=$((4 * N)) now=3000" \
            'number free p all=1 now=3000'
    } >in
    lines 0 "$USHER" -s "$store" shell <in
    tail -4 out.txt | mask >got
    mv got out.txt
    holds out.txt '{"status":"ok","epoch":"E","version":'"$((4 * N)),\"due\":6000,\"now\":2000,\"renewed\":$N,"
    holds out.txt '{"status":"stale","epoch":"E","version":'"$((4 * N)),"
    holds out.txt '{"status":"ok","epoch":"E","version":'"$((5 * N)),\"due\":6000,\"now\":3000,\"freed\":$N,"
    holds out.txt '{"status":"same","epoch":"E","version":'"$((5 * N)),\"due\":6000,\"now\":3000,\"freed\":0,"
done
finish
