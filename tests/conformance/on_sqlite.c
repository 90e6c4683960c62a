/* SPDX-License-Identifier: MIT */
/* Each test has a file of its own in one directory, which is gone afterwards. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/suite.h"

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

static const struct backend under_test = { "sqlite", true, true, start, fresh, stop, NULL };

int main(int argc, char **argv)
{
    return suite_main(&under_test, argc, argv);
}
