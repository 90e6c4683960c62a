#!/bin/sh
# SPDX-License-Identifier: MIT
# With usher+unix:PATH the program does over a server what it does over the store.
command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
exec python3 -B "$(dirname "$0")/served_store.py"
