#!/bin/sh
# SPDX-License-Identifier: MIT
# help: an overview, every noun, verb, argument and topic; what is close to a wrong word.
. "$(dirname "$0")/lib.sh"

lines 0 "$USHER" help
cp out.txt overview
for word in number check tables lua replay trace watch version help shell stores json exit import \
    arguments examples; do
    grep -q "^  $word " overview || grep -q "^  $word\$" overview ||
        wrong "the overview tells of $word"
    lines 0 "$USHER" help $word
    [ -s out.txt ] || wrong "there is help on $word"
done
for word in authority ids lanes names notices replica serials store; do
    lines 0 "$USHER" help $word
    [ -s out.txt ] || wrong "there is help on $word"
done
# Each topic stands there once, and says what it is about.
sed '1,/^More: /d' overview | sed '/^$/d' >topics
[ -s topics ] || wrong 'the overview lists topics'
grep -vE '^  [a-z]+ +[^ ].{6,}' topics && wrong 'each topic says what it is about'
[ -z "$(awk '{ print $1 }' topics | sort | uniq -d)" ] || wrong 'no topic is listed twice'
lines 0 "$USHER" -h
cmp overview out.txt || wrong 'help, -h and --help are the same'
lines 0 "$USHER" --help
cmp overview out.txt || wrong 'help, -h and --help are the same'

# Behind a verb it is help on the verb, and nothing is made.
for words in 'queue set' 'room open' 'queue apply' 'room patrol' 'number import' 'serial rule' replay watch \
    trace shell check queue; do
    lines 0 "$USHER" help $words
    cp out.txt wanted.txt
    for option in --help -h; do
        lines 0 "$USHER" -s "sqlite:$dir/none.db" $words $option
        cmp -s wanted.txt out.txt || wrong "$words $option is help"
    done
done
lines 0 "$USHER" -s "sqlite:$dir/none.db" queue login desk --help
holds out.txt 'usher queue login Q AGENT'
lines 0 "$USHER" -s "sqlite:$dir/none.db" replay day.csv --help
[ ! -e none.db ] || wrong 'no store is made'
lines 0 "$USHER" -s memory: --json queue login desk agent=--help
holds out.txt '"agent":"--help"'
printf 'room open r\n' | "$USHER" -s "sqlite:$dir/room.db" shell >out.txt
lines 0 "$USHER" -s "sqlite:$dir/room.db" --json room set r motto --help
holds out.txt '"value":"--help"'
lines 2 "$USHER" tango --help
holds err.txt 'no help on `tango`'
lines 0 "$USHER" help room patrol
for key in worker batch every lease; do
    grep -q "^  $key  *[a-z].* .* " out.txt || wrong "patrol says what $key does"
done
lines 0 "$USHER" help watch
for key in since max once every for; do
    grep -q "^  --$key" out.txt || wrong "watch says what --$key does"
done

lines 0 "$USHER" lua --help
for noun in number queue room serial id; do
    grep -qE "^  EVALSHA sha 3 (\{[a-z]+\}:$noun) \1:index \1:held [a-z]+ " out.txt || wrong "keys of $noun by hand"
done
lines 0 "$USHER" help serial take
holds out.txt '(1 to 1000000)'

verbs=$(sed -n 's/^  number *\(add .*\)/\1/p' overview)
[ "$(echo "$verbs" | wc -w)" -ge 15 ] || wrong "there are 15 verbs at least: $verbs"
lines 0 "$USHER" help number
cp out.txt number
for verb in $verbs; do
    holds number "  number $verb POOL"
    lines 0 "$USHER" help number "$verb"
    holds out.txt "usher number $verb POOL"
done
lines 0 "$USHER" help number set
for key in order lease rest daily zone strict sticky sticky-max requests; do
    holds out.txt "$key="
    # what it does, not its word once more
    grep -q "^  $key  *[a-z0-9].* .* " out.txt || wrong "set says what $key does"
done
lines 0 "$USHER" help number renew
holds out.txt '  busy+up    holder   busy+up    ok       (the hold is extended)'
holds out.txt 'owner= takes it back'
holds out.txt '  idle+down  any      busy+down  ok       (taken back: the call goes on)'
lines 0 "$USHER" help call
holds out.txt '  busy+up    any      busy+up    refused  (two calls never share a number)'
for file in overview number out.txt; do
    if grep -q '?' "$file"; then
        wrong "$file has no ? in it, which stands for a word that is not known"
    fi
    if awk 'length > 100' "$file" | grep -q .; then
        wrong "$file has no line of more than 100 bytes"
    fi
done

holds_all() { for word; do holds out.txt "$word"; done; }
lines 0 "$USHER" help number set
holds_all 'sticky=MS' '5m, 2h, 1d; default 7d)' '(default longest-idle)' '(-1440 to 1440; default 0)'
lines 0 "$USHER" help number call
holds_all 'group=A,B,*' 'never (ms, or 90s, 5m, 2h, 1d)'
lines 0 "$USHER" help room set
holds_all 'FIELD VALUE [if=IF] [FIELD=VALUE...]' 'up to 32 of them'
for noun in queue room serial id; do
    for verb in $(sed -n "/^Other commands/q; s/^  $noun  *\([a-z].*\)/\1/p" overview); do
        lines 0 "$USHER" help $noun "$verb"
        awk 'length > 100' out.txt | grep . && wrong "help on $noun $verb is 100 bytes wide at most"
    done
done

page=${top_srcdir:-.}/src/cli/usher.1
for verb in $verbs; do
    grep -q "Cm number $verb Ar pool" "$page" || wrong "the manual page tells of $verb"
done
for word in $(sed -n '/^Other commands/,/^Options/s/^  \([a-z]*\) .*/\1/p' overview); do
    grep -q "^\.It Cm $word\$" "$page" || wrong "the manual page tells of $word"
done

expect 2 "$USHER" help nmber <<'EOF'
! usher: invalid: no help on `nmber`; did you mean `number`?
EOF
expect 2 "$USHER" help tango <<'EOF'
! usher: invalid: no help on `tango`; `usher help` lists topics
EOF
expect 2 "$USHER" help number tango <<'EOF'
! usher: invalid: no help on `tango`; `usher help` lists topics
EOF
expect 2 "$USHER" replya day.csv <<'EOF'
! usher: invalid: unknown command `replya`; did you mean `replay`?
EOF
lines 0 "$USHER" version
grep -q '^usher [0-9]*\.[0-9]*\.[0-9]* (stores: memory.*)$' out.txt || wrong 'version says which'
lines 0 "$USHER" --version
grep -q '^usher [0-9]' out.txt || wrong '--version says which'
finish
