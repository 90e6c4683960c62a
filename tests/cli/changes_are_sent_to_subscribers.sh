#!/bin/sh
# SPDX-License-Identifier: MIT
# Clients of Redis subscribe to the changes of scopes, and miss none.
command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
exec python3 -B "$(dirname "$0")/served_subscriptions.py"
