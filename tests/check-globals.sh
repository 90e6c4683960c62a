#!/bin/sh
# SPDX-License-Identifier: MIT
# The library has no writable variables, so two engines in one process share nothing.  Tables
# of pointers (.data.rel.ro) are written by the loader only.  What is allowed is named here.
# Nor does it call functions that start threads, handle signals, print, end the process or change
# the locale.
set -eu
: "${top_builddir:=.}" "${OBJDUMP:=objdump}"

# section:name; `usher__this_thread' is what usher_message() shows to the calling thread, and which hooks and
# stores it is inside of.  The others come from the compiler's start files.
allowed='
.tbss:usher__this_thread
.bss:completed
.data:__dso_handle
.data:__TMC_END__
.bss:__TMC_END__
'

file=$top_builddir/.libs/libusher.so
[ -f "$file" ] || file=$top_builddir/.libs/libusher.a
[ -f "$file" ] || file=$top_builddir/libusher.a

# A line is: address, flags, section, TAB, size, perhaps .hidden, name.
objects=$($OBJDUMP -t "$file" | awk -F '\t' '
    NF == 2 {
        n = split($1, left, " ")
        m = split($2, right, " ")
        if (left[n] != right[m])        # a section is no object
            print left[n] ":" right[m]
    }' | sed 's/\.[0-9]*$//' | sort -u)
if [ -z "$objects" ]; then
    echo "$file has no symbols: stripped, or compiled for optimisation at link time"
    exit 77
fi
wrong=$(printf '%s\n' "$objects" |
    grep -E '^(\.data|\.data\.rel|\.data\.rel\.local|\.bss|\.tdata|\.tbss|\*COM\*):' |
    grep -vxF "$allowed" || :)
if [ -n "$wrong" ]; then
    printf 'writable variables in %s:\n%s\n' "$file" "$wrong"
    exit 1
fi
calls=$($OBJDUMP -tT "$file" 2>/dev/null | awk '/\*UND\*/ { sub(/@.*/, "", $NF); print $NF }' | sort -u)
wrong=$(printf '%s\n' "$calls" |
    grep -xE 'pthread_create|thrd_create|v?f?printf|puts|putchar|fputs|fputc|fwrite|perror|stdout|stderr|signal|sigaction|sigprocmask|pthread_sigmask|_?exit|abort|setlocale|uselocale' || :)
if [ -n "$wrong" ]; then
    printf 'the library must not use these:\n%s\n' "$wrong"
    exit 1
fi
