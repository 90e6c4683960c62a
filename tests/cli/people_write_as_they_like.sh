#!/bin/sh
# SPDX-License-Identifier: MIT
# Durations with units, and options behind the command.
. "$(dirname "$0")/lib.sh"

said() {
    printf '%s\n' "$1" | "$USHER" -s memory: shell >out.txt
    holds out.txt "$2"
}
said 'number set p lease=90s rest=5m sticky=1d' '"lease":90000,"rest":300000,'
said 'number set p lease=90s rest=5m sticky=1d' '"sticky":86400000,'
said 'number set p lease=2h rest=1500ms' '"lease":7200000,"rest":1500,'
said 'number set p sticky=36500d' '"sticky":3153600000000,'
said 'number set p lease=0s' '"lease":0,"rest":0,'

if [ "${WITH_SQLITE:-yes}" = yes ]; then
    unset USHER_STORE
    expect 0 "$USHER" number add p 1 now=1000 -s sqlite:a.db <<'EOF'
ok: 1 is idle+down
EOF
    expect 0 "$USHER" number --store sqlite:a.db show p 1 --json now=1000 <<'EOF'
{"status":"ok","epoch":"E","version":1,"due":null,"number":"1","state":"idle+down","group":null,"owner":null,"token":"0","until":null,"calls_today":0,"used":null,"resting":false,"capped":false,"age":0,"node":null}
EOF
    expect 0 "$USHER" check --store=sqlite:a.db <<'EOF'
ok: 0 faults in 1 scopes
EOF
    # a word that looks like an option, as a name
    expect 0 "$USHER" -s sqlite:a.db number add p number=-s now=1000 <<'EOF'
ok: -s is idle+down
EOF
    expect 0 "$USHER" number add p now=1000 -s sqlite:a.db -- --json <<'EOF'
ok: --json is idle+down
EOF
    expect 0 "$USHER" -s sqlite:a.db number add p now=1000 -- -- <<'EOF'
ok: -- is idle+down
EOF
    printf '%s\n' 'number fly' 'number add p 2 now=1000' >lines.txt
    lines 2 "$USHER" shell -s sqlite:a.db -e <lines.txt
    lines 0 "$USHER" shell -s sqlite:a.db <lines.txt
    "$USHER" number add p 3 -s 2>err.txt
    [ $? -eq 2 ] || wrong 'an option without its value is wrong'
    holds err.txt 'option -s needs a value'
fi
finish
