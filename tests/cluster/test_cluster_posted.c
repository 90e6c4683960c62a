/* SPDX-License-Identifier: MIT */
/* The cases of a cluster again, with commands that are posted and collected. */
#define POSTED
#include "test_cluster_cases.c" /* NOLINT(bugprone-suspicious-include) */
