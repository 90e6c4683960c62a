#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-lua.sh FILE.lua...: prints lua_text.c, the files as C strings under the names that
# they have without folder and suffix.  The C side is declared in lua_text.h.
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
    # "?" for the sake of trigraphs.
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/	/\\t/g' \
        -e 's/^/     "/' -e 's/$/\\n"/' "$file"
    echo '    },'
done
echo '    {0, 0},'
echo '};'
