/* SPDX-License-Identifier: MIT */
/*
 * left_out -- the end of a test of cmocka that needs what this machine forbids, and what no package
 * brings: a namespace, a mount.
 *
 * The test is skipped, and its log has a line "left out: REASON".  With USHER_NO_SKIP=1 it fails,
 * except with USHER_LEAVE_OUT=1: `./bootstrap check` sets both outside of CI, and lists the lines.
 */
#ifndef USHER_TESTS_LEFT_OUT_H
#define USHER_TESTS_LEFT_OUT_H

void left_out(const char *reason);

#endif
