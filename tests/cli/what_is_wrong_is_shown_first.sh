#!/bin/sh
# SPDX-License-Identifier: MIT
# usher top.
command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
exec python3 -B "$(dirname "$0")/top.py"
