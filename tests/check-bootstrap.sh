#!/bin/sh
# SPDX-License-Identifier: MIT
# What ./bootstrap does around the builds, in a folder where every program that it calls is a stand-in.
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/usher-bootstrap.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

die() {
    echo "check-bootstrap: $*"
    cat "$dir/out" "$dir/err" 2>/dev/null
    exit 1
}

mkdir "$dir/tree"
cp "$top_srcdir/bootstrap" "$dir/tree/"

# bootstrap ARGUMENT...: its output is in out and err, its exit code in $rc.
bootstrap() {
    rc=0
    (cd "$dir/tree" && sh ./bootstrap "$@") >"$dir/out" 2>"$dir/err" || rc=$?
}

# The sources are configured: both commands report it, and what to do, before they install or build anything.
: >"$dir/tree/config.status"
for command in demo check; do
    bootstrap "$command"
    [ "$rc" = 1 ] || die "$command: exit code $rc in a configured source folder"
    grep -q 'make distclean' "$dir/err" || die "$command does not report that make distclean is needed"
    grep -q 'mkdir -p build/mine' "$dir/err" || die "$command does not report how to build elsewhere"
    [ ! -d "$dir/tree/build" ] || die "$command began to build"
done
rm "$dir/tree/config.status"

# Stand-ins. make "runs" 20 tests, and that of musl after them: the second one leaves a part out, and
# the third one fails if $dir/fails is there.  It then waits until ./bootstrap has reported it.
mkdir "$dir/bin"
for name in $(sed -n 's/^cmd:\([^ ,]*\).*/\1/p' "$top_srcdir/bootstrap" | sort -u) pkg-config sudo apt-get musl-gcc; do
    printf '#!/bin/sh\nexit 0\n' >"$dir/bin/$name"
done
sed '/^chars:- /d' "$top_srcdir/bootstrap" >"$dir/tree/bootstrap"
cat >"$dir/bin/make" <<'END'
#!/bin/sh
case " $* " in
*' build/demo '*)
    printf '#!/bin/sh\ncase $* in *replay*) : >day.db ;; esac\n' >build/demo/usher
    chmod +x build/demo/usher
    exit 0
    ;;
*' check '*) ;;
*) exit 0 ;;
esac
[ "${*#*TESTS=}" = "$*" ] || exit 0
cd build/gcc
mkdir -p tests
echo "$USHER_NO_SKIP $USHER_LEAVE_OUT" >../../../switches
ends() { # RESULT NAME
    echo ":global-test-result: $1" >"tests/$2.trs"
    echo "$1: tests/$2"
}
echo fine >tests/one.log
ends PASS one
echo 'left out: no network namespaces here: Operation not permitted' >tests/two.log
ends PASS two
failures=0
: >tests/three.log
if [ -f ../../../fails ]; then
    failures=1
    ends FAIL three
    tries=0
    until grep -q 'FAILED: tests/three$' ../../../err || [ "$tries" = 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ "$tries" = 600 ] || echo yes >../../../reported
else
    ends PASS three
fi
i=3
while [ "$i" -lt 20 ]; do
    i=$((i + 1))
    : >"tests/t$i.log"
    ends PASS "t$i"
done
printf '# PASS: %d\n# SKIP: 0\n# FAIL: %d\n' $((20 - failures)) "$failures" >test-suite.log
exit "$failures"
END
chmod +x "$dir/bin/"*
for file in configure.ac Makefile.am Makefile.in; do
    : >"$dir/tree/$file"
done
printf '#!/bin/sh\n: >Makefile\n' >"$dir/tree/configure"
chmod +x "$dir/tree/configure"
PATH=$dir/bin:$PATH
unset CI USHER_NO_SKIP USHER_LEAVE_OUT JOBS

# A part that the machine forbids is left out and listed; the last line keeps its form.
bootstrap check
[ "$rc" = 0 ] || die "exit code $rc with a part left out"
[ "$(tail -n 1 "$dir/out")" = '21 passed, 0 failed' ] || die 'the last line is another'
grep -qx 'tests/two: no network namespaces here: Operation not permitted' "$dir/out" ||
    die 'what was left out is not listed'
[ "$(cat "$dir/switches")" = '1 1' ] || die 'the tests may not leave anything out'
grep -q 'build/gcc: 20 tests have ended' "$dir/err" || die 'no progress is reported'

# In CI nothing may be left out.
for setting in CI=true USHER_NO_SKIP=1; do
    (export "$setting"; bootstrap check; exit "$rc") || die "$setting: exit code $?"
    [ "$(cat "$dir/switches")" = '1 0' ] || die "$setting: the tests may leave something out"
done

# The demo keeps its store, and the last line names it.
mkdir "$dir/tree/examples"
cp "$top_srcdir/examples/demo.sh" "$dir/tree/examples/"
bootstrap demo
[ "$rc" = 0 ] || die "demo: exit code $rc"
[ -f "$dir/tree/build/demo/day.db" ] || die 'the demo does not keep its store'
tail -n 1 "$dir/err" | grep -q 'usher -s sqlite:build/demo/day.db scopes' ||
    die 'the last line of the demo does not name its store'

# A failure is named when it happens.
: >"$dir/fails"
bootstrap check
[ "$rc" = 1 ] || die "exit code $rc after a failure"
[ -f "$dir/reported" ] || die 'the failure was not reported while the other tests ran'
[ "$(tail -n 1 "$dir/out")" = '20 passed, 1 failed' ] || die 'the last line does not count the failure'

# The packages are built, left out with the reason, or broken.
rm "$dir/fails"
mkdir "$dir/tree/tests"
for result in '0 1 passed, 0 failed' '77 0 passed, 0 failed' '1 0 passed, 1 failed'; do
    printf 'echo no debootstrap here\nexit %d\n' "${result%% *}" >"$dir/tree/tests/packages.sh"
    bootstrap check packages
    [ "$(tail -n 1 "$dir/out")" = "${result#* }" ] || die "packages.sh with $result"
    if [ "${result%% *}" = 77 ]; then
        grep -qx 'tests/packages.sh: no debootstrap here' "$dir/out" || die 'it is not listed that packages were left out'
    fi
done
