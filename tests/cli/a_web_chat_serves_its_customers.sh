#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/webchat: customers are served, by one agent at a time, while its servers are killed.
[ "${WITH_SQLITE:-yes}" = yes ] || {
    echo 'left out: the chat uses SQLite'
    exit 77
}
command -v node >/dev/null || {
    echo 'there is no node'
    exit 77
}
exec node "$(dirname "$0")/../clients/webchat.js"
