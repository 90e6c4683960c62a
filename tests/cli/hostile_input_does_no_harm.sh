#!/bin/sh
# SPDX-License-Identifier: MIT
# NUL bytes, garbage, and lines of any length: one object a line, and it goes on.
. "$(dirname "$0")/lib.sh"

printf 'number show p a\0b\nnumber show p 1\n' >in
expect 0 "$USHER" -s memory: shell <<'EOF'
{"status":"invalid","message":"line contains a NUL byte"}
{"status":"missing","epoch":"0","version":0,"due":null,"number":"1","state":"nodata"}
EOF

# 10 MB in one line; then one of 1 MiB with 200,000 words, which is one too long for show.
{
    printf 'number show p '
    head -c 10000000 /dev/zero | tr '\0' x
    printf '\nnumber show p 1'
    awk 'BEGIN { for (i = 0; i < 200000; i++) printf " %d", i % 10 }'
    printf '\nnumber show p 2\n'
} >in
expect 0 "$USHER" -s memory: shell <<'EOF'
{"status":"invalid","message":"line is longer than 1048576 bytes"}
{"status":"invalid","message":"`0`: too many arguments for `number show`"}
{"status":"missing","epoch":"0","version":0,"due":null,"number":"2","state":"nodata"}
EOF

# The program itself is as good garbage as any, and has a line for each of our checks.
head -c 300000 "$USHER" >in
lines 0 "$USHER" -s memory: shell <in
if grep -qv '^{"status":"[a-z]*",.*}$' out.txt; then
    wrong 'garbage is answered by objects only'
fi
if grep -q '"status":"ok"' out.txt; then
    wrong 'garbage is not taken for a command'
fi

# Answers are valid UTF-8 in ASCII escapes where the input was not.
printf 'number show p "\303\251"\n\377\376\001 \355\240\200\n' >in
expect 0 "$USHER" -s memory: shell <<'EOF'
{"status":"missing","epoch":"0","version":0,"due":null,"number":"é","state":"nodata"}
{"status":"invalid","message":"unknown command `\u00ff\u00fe\u0001`; `usher help` lists the commands"}
EOF

# Errors for people have no control characters either.
: >in
expect 2 "$USHER" -s memory: "$(printf 'a\033[2Jb\377')" <<'EOF'
! usher: invalid: unknown command `a\x1b[2Jb\xff`; `usher help` lists the commands
EOF
finish
