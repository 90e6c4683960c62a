#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-lua.sh FILE.lua...: prints lua_text.c, the files as C strings under the names that
# they have without folder and suffix.  The C side is declared in lua_text.h.
#
# Without comments, but for marks (--@WORD), without empty lines, and one blank a step of
# indentation instead of four: they make up a good part of the library.
set -eu
LC_ALL=C
export LC_ALL

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
    # A comment behind code is left where it has a quote: it could be the end of a text.
    # "?" for the sake of trigraphs.
    sed -e '/^ *--@/b end' -e '/^ *--/d' -e '/^ *$/d' -e "s/ \{1,\}-- [^'\"]*\$//" \
        -e ': step' -e 's/^\(	*\)    /\1	/' -e 't step' -e ': blank' -e 's/^\( *\)	/\1 /' -e 't blank' \
        -e ': end' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/	/\\t/g' \
        -e 's/^/     "/' -e 's/$/\\n"/' "$file"
    echo '    },'
done
echo '    {0, 0},'
echo '};'
