#!/bin/sh
# SPDX-License-Identifier: MIT
# usher serve with clients that are slow, gone, wrong or many, and when it is stopped or killed.
command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
exec python3 -B "$(dirname "$0")/served_whatever_comes.py"
