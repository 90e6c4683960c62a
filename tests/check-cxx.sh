#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public function links and runs from C++.  The list of them is made from the headers, so
# none is forgotten: a program takes each one's address and calls it, with arguments that are zero,
# then with pointers to storage, then to storage that begins as a command does.  A function that
# needs something to point at ends its own process only, and has to return in one of the three.
# Then the same program hands out a thing of each noun.  No type stands behind a function of the same
# name, and all enums but masks are as wide as an int, also where enums are short.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CXX=c++}" "${PKG_CONFIG:=pkg-config}"
if [ -z "$CXX" ]; then
    echo "no C++ compiler"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

names=$(sh "$top_srcdir/tests/check-exports.sh" --list)
count=$(printf '%s\n' "$names" | wc -l)

{
    for file in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
        echo "#include <${file#"$top_srcdir/include/"}>"
    done
    cat <<'END'
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool points;
static struct alignas(64) { char bytes[1 << 16]; } storage;

template <class T> struct argument { static T make() { return T(); } };
template <class T> struct argument<T *> {
    static T *make() { return points ? reinterpret_cast<T *>(&storage) : nullptr; }
};
template <class R, class... A> struct argument<R (*)(A...)> {
    static auto make() -> R (*)(A...) { return nullptr; }
};
template <class R, class... A> static void call(R (*function)(A...))
{
    (void)function(argument<A>::make()...);
}

template <class F> static bool returns(F function, int way)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        const struct rlimit none = { 0, 0 };
        struct usher_operation c = usher_operation();

        (void)setrlimit(RLIMIT_CORE, &none);
        (void)alarm(30);
        points = way > 0;
        c.verb = USHER_NUMBER_STATS;
        if (way == 2)
            std::memcpy(&storage, &c, sizeof c);
        call(function);
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int n, bad;

template <class F> static void attempt(F function, const char *name)
{
    n++;
    if (returns(function, 0) || returns(function, 1) || returns(function, 2))
        return;
    std::printf("%s does not return from C++\n", name);
    bad++;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    std::printf("%s: %s\n", what, usher_message());
    bad++;
}

static void one_of_each_noun()
{
    struct usher_engine *e = nullptr;
    struct usher_number_answer hold = USHER_NUMBER_ANSWER_INIT;
    struct usher_queue_answer seat = USHER_QUEUE_ANSWER_INIT;
    struct usher_serial_settings rule = USHER_SERIAL_SETTINGS_INIT;
    struct usher_serial_row row = USHER_SERIAL_ROW_INIT;
    struct usher_reply *reply = nullptr;
    struct usher_ids *ids = nullptr;
    int64_t id = 0;

    must(usher_open("memory:", nullptr, &e) == USHER_OK, "open");
    must(usher_number_add(e, "pool", "100", nullptr, nullptr) == USHER_OK, "number add");
    must(usher_number_reg(e, "pool", "100", nullptr, nullptr) == USHER_OK, "number reg");
    must(usher_number_call(e, "pool", "ann", nullptr, &hold) == USHER_OK &&
             std::strcmp(hold.number, "100") == 0, "number call");
    must(usher_queue_login(e, "queue", "bob", nullptr, nullptr) == USHER_OK, "queue login");
    must(usher_queue_apply(e, "queue", "eve", nullptr, &seat) == USHER_OK &&
             seat.place == USHER_QUEUE_PLACE_ROOM &&
             std::strcmp(usher_queue_place_word(seat.place), "room") == 0, "queue apply");
    must(usher_room_open(e, "room", nullptr, nullptr, nullptr) == USHER_OK, "room open");
    must(usher_room_close(e, "room", nullptr, nullptr) == USHER_OK, "room close");
    rule.width = 4;
    rule.mode = USHER_SERIAL_MODE_QUEUE; // a code needs no cast
    rule.check = USHER_SERIAL_CHECK_OFF;
    must(usher_serial_set(e, "rule", &rule, nullptr, nullptr) == USHER_OK, "serial rule");
    must(usher_serial_fill(e, "rule", 1, nullptr, nullptr) == USHER_OK, "serial fill");
    must(usher_serial_take(e, "rule", 1, nullptr, &reply) == USHER_OK &&
             usher_serial_row_of(reply, 0, &row) && std::strcmp(row.serial, "0001") == 0,
         "serial take");
    usher_reply_done(reply);
    must(usher_id_create(e, "ids", nullptr, nullptr, nullptr) == USHER_OK, "id create");
    must(usher_ids_open(e, "ids", nullptr, &ids) == USHER_OK, "ids open");
    must(usher_ids_next(ids, &id) == USHER_OK && id == 1, "ids next");
    usher_ids_close(ids);
    usher_close(e);
}

END
    # a type that is hidden is none without its keyword
    for file in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
        sed -n 's/^\(struct\|enum\) \(usher_[a-z_0-9]*\) {.*/static \2 *a_\2;/p' "$file"
    done | tee "$dir/types"
    cat <<'END'

int main()
{
END
    sed 's/.* \*\(.*\);/    (void)\1;/' "$dir/types"
    printf '%s\n' "$names" | sed 's/.*/    attempt(\&&, "&");/'
    cat <<'END'
    one_of_each_noun();
    std::printf("%d functions\n", n);
    return bad != 0;
}
END
} >"$dir/all.cc"

# Built with the one that is there; the archive needs what the library was made of, too.
set -- "$top_builddir/.libs/libusher.so"
if [ ! -e "$1" ]; then
    # shellcheck disable=SC2046
    set -- "$top_builddir/.libs/libusher.a" \
        $($PKG_CONFIG --libs $(sed -n 's/^Requires.private: //p' "$top_builddir/usher.pc")) -lm
fi
# CXX may be several words.
# shellcheck disable=SC2086
$CXX -std=c++11 -Wall -Wextra -Werror -Wno-missing-field-initializers -I"$top_srcdir/include" \
    -o "$dir/all" "$dir/all.cc" "$@" -pthread
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$dir/all" >"$dir/out" || {
    cat "$dir/out"
    exit 1
}
cat "$dir/out"
grep -qx "$count functions" "$dir/out"
[ "$(wc -l <"$dir/types")" -ge 100 ]

{
    for file in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
        echo "#include <${file#"$top_srcdir/include/"}>"
    done
    for file in "$top_srcdir"/include/usher/*.h "$top_srcdir"/include/usher/store/*.h; do
        sed -n 's/^enum \(usher_[a-z_0-9]*\) {.*/static_assert(sizeof(\1) == sizeof(int), "\1 is short");/p' "$file"
    done | sed '/_given)/d'
} >"$dir/wide.cc"
# shellcheck disable=SC2086
$CXX -std=c++11 -fshort-enums -I"$top_srcdir/include" -fsyntax-only "$dir/wide.cc"
