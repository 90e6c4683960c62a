#!/bin/sh
# SPDX-License-Identifier: MIT
# README to the letter: a Debian 12 with nothing but its base (debootstrap, in a namespace of its
# own), this tree, and each line of README's blocks as it is printed.  Lines after a `$' have the
# output that stands below them, … for anything.
#   tests/bare-root.sh              all of it, `./bootstrap check' included, as an ordinary user
#                                   who may use sudo
#   tests/bare-root.sh --as-root    the same as root, without sudo, with the rights that root has in
#                                   a container without privileges
#   tests/bare-root.sh --no-check   without that line and without those of the example with a cluster,
#                                   whose servers it installs; says so
# Needs root, debootstrap and a mirror: $USHER_DEBIAN_MIRROR, or the one that apt here uses.
# $USHER_DEBIAN is another release.  Run by hand and by `make check-long'; it skips nothing: where
# it cannot run, it fails.
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
release=${USHER_DEBIAN:-bookworm}

die() {
    echo "bare-root: $*" >&2
    exit 1
}

# Within the root, as root: gives up rights, or makes the user and becomes it.
if [ "${1-}" = --inside ]; then
    mount -t proc proc /proc
    if [ "$2" = root ]; then
        # What container engines leave to root when nothing is asked for.
        rights=-all
        for right in chown dac_override fowner fsetid kill setgid setuid setpcap \
            net_bind_service net_raw sys_chroot mknod audit_write setfcap; do
            rights=$rights,+$right
        done
        mv /usher /home/usher
        cd /home/usher
        # Nothing of the environment here: it names files that the root does not have.
        exec env -i HOME=/home PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            setpriv --inh-caps=-all --bounding-set="$rights" sh -eu /steps.sh
    fi
    useradd -m -s /bin/sh somebody
    echo 'somebody ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/somebody
    mv /usher /home/somebody/usher
    chown -R somebody:somebody /home/somebody
    exec su - somebody -c 'cd usher && sh -eu /steps.sh'
fi

check=yes
user=somebody packages=--include=sudo
for argument; do
    case $argument in
    --no-check) check=no ;;
    --as-root) user=root packages=--exclude=sudo ;;
    *) die "unknown argument $argument" ;;
    esac
done
[ "$(id -u)" = 0 ] || die 'needs root, to make a root file system and enter it'
command -v debootstrap >/dev/null || die 'needs debootstrap'
command -v unshare >/dev/null || die 'needs unshare'
mirror=${USHER_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep '/debian/*$' | head -n 1)}
[ -n "$mirror" ] || die 'no mirror of Debian is known: set USHER_DEBIAN_MIRROR'

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/usher-bare.XXXXXX")
root=$dir/root
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

debootstrap --variant=minbase "$packages" "$release" "$root" "$mirror" >"$dir/debootstrap.log" 2>&1 ||
    { tail -n 20 "$dir/debootstrap.log"; die 'debootstrap failed'; }
echo "deb $mirror $release main" >"$root/etc/apt/sources.list"
# What this machine needs in order to reach the mirror.
apt-config dump | grep -E '^Acquire::(http|https|Check)' >"$root/etc/apt/apt.conf.d/90here" || :
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/usher"
(cd "$top_srcdir" && tar -cf - --exclude=./build --exclude=./.git --exclude=./configure \
    --exclude=./build-aux --exclude=./autom4te.cache --exclude='Makefile.in' .) |
    tar -xf - -C "$root/usher"
cp "$0" "$root/bare-root.sh"
chmod 755 "$dir" "$root"

# README as a script.  A block of code is what is indented by four, or stands between ```c and ```:
# the first of these is calls.c, the others are parts of a function.
FILES=$dir/files
export FILES
awk -v check="$check" -v user="$user" '
    function quote(s) {
        gsub(/\047/, "\047\\\047\047", s)
        return "\047" s "\047"
    }
    # What is printed: … is anything.
    function pattern(s) {
        gsub(/[][\\.*^$+?(){}|]/, "\\\\&", s)
        gsub(/…/, ".*", s)
        return s
    }
    function end_of_session() {
        if (session == "")
            return
        print "cat >said <<\047END OF SESSION\047\n" session "END OF SESSION"
        print "set +e; . ./said >got; set -e; cat got" # here: an export is for the sessions after it
        print "[ \"$(wc -l <got)\" -eq " answers + 0 " ] || { echo \"not so many lines\"; exit 1; }"
        for (i = 1; i <= answers; i++)
            print "sed -n " i "p got | grep -qxE -e " quote(answer[i]) " || { echo \"line " i " is another\"; exit 1; }"
        session = ""
        answers = 0
    }
    /^```c$/ { c = 1; name = ++snippets == 1 ? "calls.c" : "part" snippets ".c"; text = ""; next }
    /^```$/ && c {
        c = 0
        if (snippets > 1)
            text = "#include <stdio.h>\n#include <usher/usher.h>\nvoid part(struct usher_engine *e);\nvoid part(struct usher_engine *e)\n{\n" text "}\n"
        print "cat >" name " <<\047END OF FILE\047\n" text "END OF FILE" > ENVIRON["FILES"]
        if (snippets > 1)
            parts = parts " " name
        next
    }
    c { text = text $0 "\n"; next }
    /^    \$ / {
        end_of_session()
        session = substr($0, 7) "\n"
        here = match($0, /<<\047[A-Z]+\047/) ? substr($0, RSTART + 3, RLENGTH - 4) : ""
        next
    }
    session != "" && /^    / {
        line = substr($0, 5)
        if (here != "") {
            session = session line "\n"
            if (line == here)
                here = ""
        } else {
            answer[++answers] = pattern(line)
        }
        next
    }
    { end_of_session() }
    /^    [^ ]/ {
        line = substr($0, 5)
        lines++
        if (user == "root")
            gsub(/sudo /, "", line)
        print "echo " quote("---- " line)
        if (check == "no" && line ~ /^(\.\/bootstrap check|sh examples\/cluster\.sh)/)
            print "echo LEFT OUT, because of --no-check"
        else
            print line
        next
    }
    END {
        end_of_session()
        if (parts != "")
            print "cc -c" parts " $(pkg-config --cflags usher)"
        if (lines < 5 || snippets < 2) {
            print "README has not the blocks that are looked for" > "/dev/stderr"
            exit 1
        }
    }' "$top_srcdir/README.md" >"$dir/lines" || die 'README cannot be read'
{ cat "$dir/files" "$dir/lines"; echo 'echo every line works'; } >"$root/steps.sh"

unshare --mount --pid --fork --kill-child sh -c '
    mount --make-rprivate /
    mount --rbind /dev "$1/dev"
    exec chroot "$1" sh /bare-root.sh --inside "$2"' sh "$root" "$user" </dev/null >"$dir/out" 2>&1 && rc=0 || rc=$?
cat "$dir/out"
[ "$rc" = 0 ] || die "a line of README failed (exit $rc)"
grep -qx 'every line works' "$dir/out" || die 'not all lines were tried'
