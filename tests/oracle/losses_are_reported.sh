#!/bin/sh
# SPDX-License-Identifier: MIT
# The oracle of losses (oracle.py): $USHER_FAULTS faults (10; with USHER_LONG 260).
set -u
if [ "${WITH_REDIS:-yes}" != yes ] || [ "${WITH_SQLITE:-yes}" != yes ]; then
    echo 'the program is built without Redis or without SQLite'
    exit 77
fi
if [ -n "${USHER_LONG-}" ]; then
    faults=260
else
    faults=10
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
cd "$(dirname "$0")" || exit 99
python3 -m unittest -q test_journal || exit 1
exec python3 oracle.py --faults="${USHER_FAULTS:-$faults}" --verbose
