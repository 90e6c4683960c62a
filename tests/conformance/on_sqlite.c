/* SPDX-License-Identifier: MIT */
/* Each test has a file of its own in one directory, which is gone afterwards. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "conformance/suite.h"
#include "lib/budget.h"

static char directory[256];
static unsigned files;

static int start(void)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(directory, sizeof directory, "%s/usher-conformance-XXXXXX",
                   tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        directory[0] = '\0';
        return 1;
    }
    return 0;
}

static bool fresh(char url[BACKEND_URL_MAX])
{
    (void)snprintf(url, BACKEND_URL_MAX, "sqlite:%s/%u.db?sync=off", directory, files++);
    return true;
}

static void stop(void)
{
    DIR *d = directory[0] != '\0' ? opendir(directory) : NULL;
    const struct dirent *entry;
    char path[600];

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] != '.')
            (void)unlink(path);
    }
    (void)closedir(d);
    (void)rmdir(directory);
}

/* Rows of all tables. */
static size_t left(const char *url)
{
    const char *path = strchr(url, ':') + 1;
    char file[BACKEND_URL_MAX];
    sqlite3 *db;
    sqlite3_stmt *st;
    size_t n = SIZE_MAX;

    (void)snprintf(file, sizeof file, "%.*s", (int)strcspn(path, "?"), path);
    if (sqlite3_open(file, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "SELECT (SELECT count(*) FROM scope) + (SELECT count(*) FROM record)",
                           -1, &st, NULL) == SQLITE_OK) {
        if (sqlite3_step(st) == SQLITE_ROW)
            n = (size_t)sqlite3_column_int64(st, 0);
        (void)sqlite3_finalize(st);
    }
    (void)sqlite3_close(db);
    return n;
}

const struct backend under_test = { "sqlite", true, true, start, fresh,
                                    stop,     NULL, left, true,  budget_wrapped };
