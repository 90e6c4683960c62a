#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-lua.sh FILE.lua...: prints lua_text.c, the files as C strings under the names that
# they have without folder and suffix.  The C side is declared in lua_text.h.
#
# Without comments, but for marks (--@WORD), without empty lines, and one blank a step of
# indentation instead of four: they make up a good part of the library.
#
# The names of records come from src/core/NOUN_records.def (of the noun that the name of the file
# begins with) and common_records.def.  The loaded script has only their values, as before:
#
#   r.N_CALLS       r.n0     a number of a record; N_GRANT_LO is the second one of a pair
#   K.N_CALLS       'n0'     its name as a text
#   K.KIND_NUMBER   '1'      a kind; with a text beside it one text: K.KIND_NUMBER .. 'n' is '1n'
#   f[F_SEATED]     f[2]     a figure: its place in an array of Lua
#
# A name that no row has is an error.
set -eu
LC_ALL=C
export LC_ALL

# names FILE: prints it with the values of the names of records.
names() {
    noun=${1##*/}
    noun=${noun%.lua}
    noun=${noun%%_*}
    awk -v rows="src/core/common_records.def src/core/${noun}_records.def" '
        function fail(text) {
            printf "%s\n", text | "cat >&2"
            close("cat >&2")
            failed = 1
            exit 1
        }
        function define(name, value) {
            if (name in values && values[name] != value)
                fail(def ": two values of " name)
            values[name] = value
        }
        function ends(text, with) {
            return substr(text, length(text) - length(with) + 1) == with
        }
        # The value of word, which stands after done; left is the rest of the line.
        function filled(word) {
            constant = ends(done, "K.")
            if (constant && word ~ /^KIND_/) {
                if (!(word in values))
                    fail(FILENAME ":" FNR ": no kind " word)
                done = substr(done, 1, length(done) - 2)
                value = "\047" values[word] "\047"
                if (ends(done, "\047 .. ")) {
                    done = substr(done, 1, length(done) - 5)
                    value = substr(value, 2)
                }
                if (substr(left, 1, 5) == " .. \047") {
                    left = substr(left, 6)
                    value = substr(value, 1, length(value) - 1)
                }
                return value
            }
            if (word in values && constant) {
                done = substr(done, 1, length(done) - 2)
                return "\047" values[word] "\047"
            }
            if (word in values)
                return values[word]
            if (ends(done, ".") && !constant && word ~ /^[A-Z][A-Z0-9]*_[A-Z0-9_]*$/)
                fail(FILENAME ":" FNR ": no name " word)
            return word
        }
        BEGIN {
            n = split(rows, defs, " ")
            for (i = 1; i <= n; i++) {
                def = defs[i]
                while ((getline line < def) > 0) {
                    split(line, row, /[(,] */)
                    if (row[1] == "RECORD")
                        define("KIND_" row[2], row[3])
                    else if (row[1] == "N" || row[1] == "AS" || row[1] == "ALSO") {
                        define(row[3], "n" row[4])
                        if (row[5] == "WIDE")
                            define(row[3] "_LO", "n" row[4] + 1)
                    } else if (row[1] == "FIGURE")
                        define(row[2], row[3] + 1)
                }
                close(def)
            }
        }
        /^ *--/ {
            print
            next
        }
        {
            done = ""
            left = $0
            while (match(left, /[A-Za-z_][A-Za-z0-9_]*/)) {
                word = substr(left, RSTART, RLENGTH)
                done = done substr(left, 1, RSTART - 1)
                left = substr(left, RSTART + RLENGTH)
                value = filled(word)
                done = done value
            }
            print done left
        }
        END { exit failed }' "$1"
}

echo '/* Made by embed-lua.sh. */'
echo '#include "config.h"'
echo
echo '#include "lua_text.h"'
echo
echo '#pragma GCC diagnostic ignored "-Woverlength-strings"'
echo
echo 'const struct usher__redis_lua_text usher__redis_lua_texts[] = {'
for file; do
    name=${file##*/}
    printf '    {"%s",\n' "${name%.lua}"
    text=$(names "$file")
    # A comment behind code is left where it has a quote: it could be the end of a text.
    # "?" for the sake of trigraphs.
    printf '%s\n' "$text" | sed -e '/^ *--@/b end' -e '/^ *--/d' -e '/^ *$/d' -e "s/ \{1,\}-- [^'\"]*\$//" \
        -e ': step' -e 's/^\(	*\)    /\1	/' -e 't step' -e ': blank' -e 's/^\( *\)	/\1 /' -e 't blank' \
        -e ': end' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/	/\\t/g' \
        -e 's/^/     "/' -e 's/$/\\n"/'
    echo '    },'
done
echo '    {0, 0},'
echo '};'
