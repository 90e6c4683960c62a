/* SPDX-License-Identifier: MIT */
/* The cases of a cluster once more, where nobody waits: commands are posted and collected. */
#define POSTED
#include "test_cluster_cases.c" /* NOLINT(bugprone-suspicious-include) */
