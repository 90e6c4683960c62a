/* SPDX-License-Identifier: MIT */
/* wallboard.html, as bytes (embed-page.sh), and its policy: it may run its own script and connect
 * to its server.  tests/cli/served_wallboard.py prints the hashes if they are wrong. */
#ifndef USHER_SERVE_WALLBOARD_H
#define USHER_SERVE_WALLBOARD_H

#include <stddef.h>

extern const unsigned char usher__wallboard[];
extern const size_t usher__wallboard_size;

#define WALLBOARD_POLICY                                                 \
    "default-src 'none'; "                                               \
    "script-src 'sha256-Sw97EgJ2VW9eQUf8Q8VxLm4npHNa4R/vYRoj6ABymLU='; " \
    "style-src 'sha256-FcuHdmTWHsJKSkMwnsfLb1MBDHVQOaRCtFtSJayw23M='; "  \
    "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"

#endif
