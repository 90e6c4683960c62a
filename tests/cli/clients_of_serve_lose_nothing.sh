#!/bin/sh
# SPDX-License-Identifier: MIT
# The clients of examples/clients with servers that are killed, silent, and put back into their past.
here=$(cd "$(dirname "$0")" && pwd)

command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
for way in threads asyncio; do
    python3 -B "$here/../clients/own.py" "usher.py with $way" python3 "$here/../clients/usher_py.py" $way || exit 1
done
