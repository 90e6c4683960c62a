#!/bin/sh
# SPDX-License-Identifier: MIT
# The metrics of usher serve have Prometheus' format, and those of contrib exist.
command -v python3 >/dev/null || {
    echo 'there is no python3'
    exit 77
}
exec python3 -B "$(dirname "$0")/served_metrics.py"
