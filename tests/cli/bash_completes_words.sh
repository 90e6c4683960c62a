#!/bin/sh
# SPDX-License-Identifier: MIT
# contrib/bash-completion: bash completes nouns, verbs, arguments, their values, options, names of scopes
# and topics, by its function and at a terminal that script(1) makes.  Nothing is created by Tab.
. "$(dirname "$0")/lib.sh"
command -v bash >/dev/null || {
    echo 'there is no bash'
    exit 77
}
case $USHER in
*/*) USHER=$(cd "$OLDPWD" && cd "$(dirname "$USHER")" && pwd)/$(basename "$USHER") ;;
esac
mkdir bin
ln -s "$(command -v "$USHER")" bin/usher
PATH=$dir/bin:$PATH
file=$(cd "$OLDPWD" && cd "${top_srcdir:-.}" && pwd)/contrib/bash-completion/usher
export file

# What bash calls for a line with the cursor at its end; the choices are joined by |.
cat >choices <<'END'
. "$file"
[[ $(complete -p usher) == *'-F _usher usher' ]] || echo 'usher is not completed by _usher'
[[ -z ${3-} ]] || COMP_WORDBREAKS=$3
COMP_LINE="$1 after the cursor" COMP_POINT=${#1}
_usher usher
IFS='|'
printf '%s\n' "${COMPREPLY[*]}"
END
completes() { # LINE CHOICES [DELIMITERS]
    number_of_check=$((number_of_check + 1))
    got=$(bash choices "$@")
    [ "$got" = "$2" ] || wrong "\`$1' has the choices $2: $got"
}

completes 'usher nu' 'number '
completes 'usher number re' 'reg |renew '
completes 'usher room sn' 'snapshot '
completes 'usher serial jo' 'journal '
completes 'usher number set p or' 'order='
completes 'usher number set p order=' 'longest-idle |most-recent |random '
completes 'usher number set p order=l' 'longest-idle '
completes 'usher number set p order=l' 'order=longest-idle ' ' '
completes 'usher number import p FILE up=' '0 |1 '
completes 'usher room list m' 'max='
completes 'usher --js' '--json '
completes 'usher check ' '--repair '
completes 'usher --json number ch' 'changes '
completes 'usher replay day.csv --form' '--format='
completes 'usher replay day.csv --format=' 'technion |csv '
completes 'usher replay ' '' # bash completes names of files
completes 'usher tables id --m' '--markdown '
completes 'usher help nu' 'number '
completes 'usher help stor' 'stores '
completes 'usher help queue app' 'apply '
completes 'usher watch q' 'queue/'
completes 'usher scopes s' 'serial '
completes 'usher top nu' 'number |number/'
completes 'usher top --on' '--once '
completes 'usher top ' 'number |queue |room |serial |id |number/|queue/|room/|serial/|id/'
completes 'usher -s sq' 'sqlite:'
completes 'usher --store=mem' 'memory:'
completes "usher number reg 'a" ''
completes 'usher tango ' ''
lines 2 "$USHER" complete
holds err.txt 'takes one argument'

if [ "${WITH_SQLITE:-yes}" = yes ]; then
    completes 'usher number reg s' ''
    completes "usher -s sqlite:$dir/none.db number reg " ''
    [ ! -e usher.db ] && [ ! -e none.db ] || wrong 'Tab creates no store'
    USHER_STORE=sqlite:$dir/some.db
    export USHER_STORE
    for name in sales sales-north a:b 'two words' 'c$d'; do
        lines 0 "$USHER" number add "$name" 1
    done
    lines 0 "$USHER" number reg sales 1
    completes 'usher number reg s' 'sales |sales-north '
    completes 'usher number reg sales' 'sales |sales-north '
    completes 'usher number reg ' 'a:b |sales |sales-north ' # others need quotes
    completes 'usher number reg a:' 'b '
    # what a list has: numbers, agents, users; a key otherwise
    lines 0 "$USHER" number add sales +49301
    lines 0 "$USHER" queue set desk ttl=10m
    lines 0 "$USHER" queue login desk ann lanes=day
    lines 0 "$USHER" queue apply desk max lane=day
    lines 0 "$USHER" queue apply desk zoe lane=day
    completes 'usher number unreg sales ' '+49301 |1 '
    completes 'usher number unreg sales +' '+49301 '
    completes 'usher number hangup sales +49301 t' 'token='
    completes 'usher queue pause desk ' 'ann '
    completes 'usher queue leave desk ' 'zoe '
    completes 'usher queue accept desk ann ' 'zoe '
    completes 'usher queue alive desk agent=' 'ann '
    completes 'usher queue list desk lane=' 'day '
    completes 'usher queue pause none ' 'token=|if-version=|epoch=|reason=|actor=|now=|req='
    completes 'usher drop number/sales-' 'number/sales-north '
    completes "usher -s sqlite:$dir/none.db number reg " ''
    completes "usher number call p -s 'sqlite:$dir/some.db' o" 'owner='
fi

if command -v script >/dev/null && [ "${WITH_SQLITE:-yes}" = yes ]; then
    number_of_check=$((number_of_check + 1))
    mkfifo keys
    TERM=xterm script -qec "env PS1='ready> ' bash --norc --noprofile -i" /dev/null <keys >talk.txt 2>&1 &
    pid=$!
    exec 3>keys
    until_shown() { # TEXT
        tries=0
        until grep -qaF -e "$1" talk.txt; do
            tries=$((tries + 1))
            [ $tries -le 1200 ] || { wrong "the terminal shows \`$1' within a minute: $(cat talk.txt)"; break; }
            sleep 0.05
        done
    }
    until_shown 'ready> '
    printf '. "$file"; echo is${file:0:0}set\n' >&3
    until_shown 'isset'
    printf 'usher nu\tcal\tsales ow\tann lea\t10m\n' >&3
    until_shown 'ok: 1, token '
    printf 'exit\n' >&3
    exec 3>&-
    wait "$pid" || :
fi
finish
