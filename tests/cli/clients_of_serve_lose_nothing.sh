#!/bin/sh
# SPDX-License-Identifier: MIT
# The clients of examples/clients with servers that are killed, silent, and put back into their past.
here=$(cd "$(dirname "$0")" && pwd)

# there PROGRAM: if not, that is a failure where nothing may be skipped.
there() {
    command -v "$1" >/dev/null && return 0
    echo "SKIPPED, for there is no $1"
    [ "${USHER_NO_SKIP-}" != 1 ] || exit 1
    return 1
}

there python3 || exit 77
if there node; then
    python3 -B "$here/../clients/own.py" usher.js node "$here/../clients/usher_js.js" || exit 1
    node "$here/../clients/usher_js_more.js" || exit 1
fi
for way in threads asyncio; do
    python3 -B "$here/../clients/own.py" "usher.py with $way" python3 "$here/../clients/usher_py.py" $way || exit 1
done
