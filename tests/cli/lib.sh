# SPDX-License-Identifier: MIT
# What the tests beside this file share: they begin with `. "$(dirname "$0")/lib.sh"` and end
# with `finish`.  The program is $USHER; everything happens in a directory of its own, which
# is gone afterwards.
#
#   STORES      the stores to try: memory, SQLite, then those in $USHER_TEST_STORES, URLs of
#               Redis servers without options, each under a prefix of its own; those of Redis
#               with clock=given, so that versions begin at 1 as on the others
#   redis_too   adds a Redis server of our own to STORES; on a socket file, gone with us
set -u
: "${USHER:=usher}"
command -v "$USHER" >/dev/null || {
    echo "no program: $USHER"
    exit 99
}
LC_ALL=C
export LC_ALL
unset USHER_STORE NO_COLOR
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-cli.XXXXXX") || exit 99
redis_pid=
gone() {
    if [ -n "$redis_pid" ]; then
        kill "$redis_pid" 2>/dev/null
        wait "$redis_pid" 2>/dev/null
    fi
    rm -rf "$dir"
}
trap gone EXIT
trap 'exit 99' HUP INT TERM
test_file=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$dir" || exit 99
failed=0
number_of_check=0

STORES=memory:
if [ "${WITH_SQLITE:-yes}" = yes ]; then
    STORES="$STORES sqlite:$dir/store.db"
fi
for store in ${USHER_TEST_STORES-}; do
    STORES="$STORES $store?prefix=cli$$&clock=given"
done

# start_redis ARGUMENT...: a Redis server in $dir; 1 if it ended at once, as when its port is
# taken.  It is $USHER_REDIS_SERVER, else redis-server, else redis-check-rdb: the same program,
# which looks at its name, and on Debian comes without the daemon.
start_redis() {
    server=${USHER_REDIS_SERVER:-$(command -v redis-server || command -v redis-check-rdb)}
    ln -sf "$server" redis-server || exit 99
    set -- ./redis-server --dir "$dir" --save '' --appendonly yes --appendfsync no "$@"
    # It dies with us even if we are killed, where there is setpriv.
    if command -v setpriv >/dev/null; then
        set -- setpriv --pdeathsig KILL "$@"
    fi
    "$@" >redis.log 2>&1 &
    redis_pid=$!
    tries=0
    until grep -q 'eady to accept connections' redis.log; do
        tries=$((tries + 1))
        kill -0 "$redis_pid" 2>/dev/null || return 1
        if [ $tries -gt 600 ]; then
            echo 'the Redis server does not start within 30 seconds:'
            tail -5 redis.log
            exit 1
        fi
        sleep 0.05
    done
}

# Is there a Redis to test with?  If not, that is said, and it is a failure where nothing may
# be skipped.
have_redis() {
    [ "${WITH_REDIS:-yes}" = yes ] || return 1
    if [ -n "${USHER_REDIS_SERVER-}" ] || command -v redis-server >/dev/null ||
        command -v redis-check-rdb >/dev/null; then
        return 0
    fi
    echo 'SKIPPED on Redis, for there is no redis-server'
    [ "${USHER_NO_SKIP-}" != 1 ] || exit 1
    return 1
}

# For a script that is of no use without a server and redis-cli.
redis_and_client() {
    [ "${WITH_REDIS:-yes}" = yes ] || {
        echo 'the program is built without Redis'
        exit 77
    }
    have_redis || exit 77
    command -v redis-cli >/dev/null || {
        echo 'there is no redis-cli'
        exit 77
    }
}

redis_too() {
    have_redis || return 0
    if ! start_redis --port 0 --unixsocket "$dir/redis.sock"; then
        echo 'the Redis server ended at once:'
        tail -5 redis.log
        exit 1
    fi
    STORES="$STORES redis+unix://$dir/redis.sock?clock=given"
}

# mask: epochs are drawn by chance; E is one, also in the id of a room of a queue, 0 is that of a
# pool which is not there; D is a digest, T a time of these years.
mask() {
    sed -e 's/"now":1[0-9]\{12\}/"now":T/g' \
        -e 's/"epoch":"0\{16\}"/"epoch":"0"/g' -e 's/"epoch":"[0-9a-f]\{16\}"/"epoch":"E"/g' \
        -e 's/"[0-9a-f]\{16\}\(\.[0-9.]*"\)/"E\1/g' \
        -e 's/"digest":"[0-9a-f]\{32\}"/"digest":"D"/g'
}

wrong() {
    failed=1
    printf 'not so: %s\n' "$1"
}

# expect RC COMMAND...: ends with RC and prints what is on standard input: its standard
# output, epochs masked, then its standard error, each line behind "! ".  Its own standard
# input is the file `in' if there is one.
expect() {
    number_of_check=$((number_of_check + 1))
    wanted=$1
    shift
    cat >wanted.txt
    [ -f in ] || : >in
    "$@" <in >out.txt 2>err.txt
    got=$?
    { mask <out.txt && sed 's/^/! /' err.txt; } >got.txt
    if [ "$got" != "$wanted" ]; then
        wrong "check $number_of_check ends with $wanted (but with $got): $*"
    fi
    if ! cmp -s wanted.txt got.txt; then
        wrong "check $number_of_check prints the lines marked - (not those marked +): $*"
        diff -u wanted.txt got.txt | sed 1,2d
    fi
}

# talk STORE: a talk with the shell on standard input: what is said, each line behind "> ",
# and what is answered; epochs and digests masked.  With USHER_RECORD=yes what memory answers is
# written into the test in place of what stands there: for answers that a change of the tables
# changes.  Read the difference.
talk() {
    number_of_check=$((number_of_check + 1))
    cat >talk.txt
    sed -n 's/^> //p' talk.txt >said.txt
    "$USHER" -s "$1" shell <said.txt >out.txt 2>err.txt
    got=$?
    [ "$got" = 0 ] || wrong "talk $number_of_check with $1 ends with 0 (but with $got)"
    [ ! -s err.txt ] || wrong "talk $number_of_check with $1 says nothing else: $(cat err.txt)"
    mask <out.txt >got.txt
    # Each answer behind what it answers.
    awk 'NR == FNR { if (!sub(/^> /, "")) next; said[++n] = $0; next }
         { print "> " said[++i]; print }
         END { while (i < n) print "> " said[++i] }' talk.txt got.txt >both.txt
    if [ "${USHER_RECORD-}" = yes ]; then
        case $1 in memory:*) ;; *) return 0 ;; esac
        PYTHONDONTWRITEBYTECODE=1 python3 - "$test_file" <<'END' || exit 99
import sys
name = sys.argv[1]
text, was, is_ = (open(path, encoding="utf-8").read() for path in (name, "talk.txt", "both.txt"))
open(name, "w", encoding="utf-8").write(text.replace("\n" + was, "\n" + is_))
END
        return 0
    fi
    if ! cmp -s talk.txt both.txt; then
        wrong "talk $number_of_check with $1 has the answers marked - (not those marked +)"
        diff -u talk.txt both.txt | sed 1,2d
    fi
}

# lines RC COMMAND...: standard input is the command's; only its exit code is compared.  What
# it prints is in out.txt and err.txt.
lines() {
    number_of_check=$((number_of_check + 1))
    wanted=$1
    shift
    "$@" >out.txt 2>err.txt
    got=$?
    if [ "$got" != "$wanted" ]; then
        wrong "check $number_of_check ends with $wanted (but with $got): $*"
        sed 's/^/! /' err.txt
    fi
}

# holds FILE TEXT: TEXT stands in FILE.
holds() {
    number_of_check=$((number_of_check + 1))
    if ! grep -qF -e "$2" "$1"; then
        wrong "check $number_of_check: $1 has \`$2' in it, but:"
        sed 's/^/    /' "$1" | head -20
    fi
}

# sessions FILE: the sessions of a document.  said.N is a command, which follows `    $ `, with its
# here-document; want.N is the answer that the document shows.  Prints how many there are.
sessions() {
    awk -v dir="$dir" '
        /^    \$ / {
            n++
            print substr($0, 7) >(dir "/said." n)
            printf "" >(dir "/want." n)
            here = match($0, /<<\047[A-Z]+\047/) ? substr($0, RSTART + 3, RLENGTH - 4) : ""
            open = 1
            next
        }
        open && /^    / {
            line = substr($0, 5)
            print line >(dir (here == "" ? "/want." : "/said.") n)
            if (line == here)
                here = ""
            next
        }
        { open = 0 }
        END { print n + 0 }' "$1"
}

# alike WANT GOT: the files have the same lines, where … in WANT matches any text.
alike() {
    awk -v want="$1" '
        function pattern(s) {
            gsub(/[][\\.*^$+?(){}|]/, "\\\\&", s)
            gsub(/…/, ".*", s)
            return "^" s "$"
        }
        BEGIN {
            while ((getline line <want) > 0)
                wanted[++n] = pattern(line)
        }
        FNR > n || $0 !~ wanted[FNR] { differs = 1 }
        END { exit differs || NR != n }' "$2"
}

finish() {
    if [ "$number_of_check" -eq 0 ]; then
        wrong 'something was checked'
    fi
    exit "$failed"
}
