#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-page.sh FILE.html: prints the file as a C array of bytes, usher__wallboard.
set -eu
echo '#include "serve/wallboard.h"'
echo 'const unsigned char usher__wallboard[] = {'
od -An -v -tx1 "$1" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
echo '};'
echo 'const size_t usher__wallboard_size = sizeof usher__wallboard;'
