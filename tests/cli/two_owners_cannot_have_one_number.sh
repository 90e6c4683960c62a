#!/bin/sh
# SPDX-License-Identifier: MIT
# One number, two owners: ok, ok, ok, then the same token again, then nothing.
. "$(dirname "$0")/lib.sh"
redis_too

for store in $STORES; do
    talk "$store" <<'EOF'
> number add p 100
{"status":"ok","epoch":"E","version":1,"due":null,"state":"idle+down"}
> number reg p 100
{"status":"ok","epoch":"E","version":2,"due":null,"state":"idle+up"}
> number call p owner=a
{"status":"ok","epoch":"E","version":3,"due":null,"number":"100","token":"3","until":null,"state":"busy+up"}
> number call p owner=a
{"status":"same","epoch":"E","version":3,"due":null,"number":"100","token":"3","until":null,"state":"busy+up"}
> number call p owner=b
{"status":"empty","epoch":"E","version":3,"due":null,"why":"busy","next":null}
EOF
    if [ "$(grep -c '"epoch":"0000' out.txt)" -ne 0 ] ||
        [ "$(sed 's/.*"epoch":"\([^"]*\)".*/\1/' out.txt | sort -u | wc -l)" -ne 1 ]; then
        wrong "the pool has one epoch on $store, and it is not 0"
    fi
done
finish
