#!/bin/sh
# SPDX-License-Identifier: MIT
# 0 ok and same; 1 other answers of the store; 2 wrong words; 3 no store.  Without --json,
# answers go to standard output and failures to standard error.
. "$(dirname "$0")/lib.sh"

if [ "${WITH_SQLITE:-yes}" = yes ]; then
    USHER_STORE=sqlite:exit.db
    export USHER_STORE
    expect 0 "$USHER" number add p 100 now=1000 <<'EOF'
ok: 100 is idle+down
EOF
    expect 0 "$USHER" number add p 100 now=1000 <<'EOF'
same: 100 is idle+down
EOF
    expect 1 "$USHER" number call p number=100 now=1000 <<'EOF'
refused: 100 is idle+down
EOF
    expect 1 "$USHER" number call p now=1000 <<'EOF'
empty: none is registered
EOF
    expect 1 "$USHER" number show p 101 now=1000 <<'EOF'
missing: 101
EOF
    expect 0 "$USHER" number reg p 100 now=1000 <<'EOF'
ok: 100 is idle+up
EOF
    expect 0 "$USHER" number call p owner='a b' now=1000 lease=500 <<'EOF'
ok: 100, token 3, held until 1970-01-01T00:00:01.500Z
EOF
    expect 1 "$USHER" number hangup p 100 token=2 now=1000 <<'EOF'
stale: 100 is busy+up, owner a b, held until 1970-01-01T00:00:01.500Z
EOF
    expect 1 "$USHER" --json number hangup p 100 token=2 now=1000 <<'EOF'
{"status":"stale","epoch":"E","version":3,"due":1500,"now":1000,"state":"busy+up","until":1500,"owner":"a b"}
EOF
    expect 0 "$USHER" number renew p 100 token=3 owner='a b' node=m now=1000 <<'EOF'
same: 100 is busy+up under token 3, held until 1970-01-01T00:00:01.500Z
EOF
    expect 0 "$USHER" number show p 100 now=1000 <<'EOF'
ok: 100 busy+up, owner a b, token 3, for 0 s, held until 1970-01-01T00:00:01.500Z, 1 calls today, last used 1970-01-01T00:00:01.000Z
EOF
    expect 1 "$USHER" number call p now=1000 <<'EOF'
empty: all are busy, one may be free at 1970-01-01T00:00:01.500Z
EOF
    expect 0 "$USHER" number list p now=1000 <<'EOF'
ok: 1 number; 100 busy+up, owner a b, token 3, for 0 s, held until 1970-01-01T00:00:01.500Z, 1 calls today, last used 1970-01-01T00:00:01.000Z
EOF
    expect 0 "$USHER" number stats p now=1400 <<'EOF'
ok: 1 numbers: 0 idle+up (0 resting, 0 capped), 0 idle+down, 1 busy+up, 0 busy+down; today 1 calls, 3 refused; longest hold 400 ms
EOF
    expect 0 "$USHER" number free p all=1 now=1400 <<'EOF'
ok: 1 freed
EOF
    lines 0 "$USHER" number set p rest=5 now=1400
    holds out.txt 'ok: order=longest-idle lease=0 rest=5 daily=0'
    expect 0 "$USHER" check <<'EOF'
ok: 0 faults in 1 scopes
EOF
    expect 0 "$USHER" --json check <<'EOF'
{"status":"ok","faults":0,"repaired":0,"scopes":1,"found":[],"partial":false}
EOF
    # The option goes before the variable.
    expect 1 "$USHER" -s memory: number show p 100 <<'EOF'
missing: there is no pool p
EOF
    unset USHER_STORE
fi
expect 2 "$USHER" -s memory: number add p <<'EOF'
! usher: invalid: number is missing
EOF
expect 2 "$USHER" -s memory: --json number add p <<'EOF'
{"status":"invalid","message":"number is missing"}
EOF
expect 2 "$USHER" <<'EOF'
! usher: invalid: command is missing; try `usher help`
EOF
expect 2 "$USHER" -s <<'EOF'
! usher: invalid: option -s needs a value
EOF
expect 2 "$USHER" --jsn number stats p <<'EOF'
! usher: invalid: unknown option --jsn; `usher help` lists the options
EOF
expect 2 "$USHER" -ez number stats p <<'EOF'
! usher: invalid: unknown option -z; `usher help` lists the options
EOF
expect 2 "$USHER" --store= number stats p <<'EOF'
! usher: invalid: open: store URL has no scheme (as in `sqlite:usher.db`)
EOF
lines 3 sh -c '"$0" help >/dev/full' "$USHER"
holds err.txt 'usher: unavailable: standard output cannot be written'
finish
