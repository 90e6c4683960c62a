/* SPDX-License-Identifier: MIT */
/*
 * main() of a fuzz target without libFuzzer: runs each file named, and each file in each
 * folder named, through it once.  Words that begin with - are libFuzzer's and are skipped.
 * What is wrong aborts; the file is named before.
 */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, room = 0, n;

    if (f == NULL) {
        perror(path);
        return -1;
    }
    do {
        if (size == room) {
            uint8_t *more = realloc(data, room * 2 + 4096);

            if (more == NULL)
                abort();
            data = more;
            room = room * 2 + 4096;
        }
        n = fread(data + size, 1, room - size, f);
        size += n;
    } while (n > 0);
    (void)fclose(f);
    /* of exactly this size, so that a sanitizer sees a step beyond */
    if (size > 0) {
        uint8_t *fit = realloc(data, size);

        data = fit != NULL ? fit : data;
    }
    fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

/* How many files were run, -1: one could not be read. */
static int run_path(const char *path)
{
    struct stat st;
    struct dirent **names;
    int n, runs = 0;

    if (stat(path, &st) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode))
        return run_file(path);
    n = scandir(path, &names, NULL, alphasort);
    if (n < 0) {
        perror(path);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        char inside[4096];

        if (names[i]->d_name[0] != '.' && runs >= 0) {
            int more;

            (void)snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
            more = run_path(inside);
            runs = more < 0 ? -1 : runs + more;
        }
        free(names[i]);
    }
    free(names);
    return runs;
}

int main(int argc, char **argv)
{
    int runs = 0;

    for (int i = 1; i < argc; i++) {
        int more;

        if (argv[i][0] == '-')
            continue;
        more = run_path(argv[i]);
        if (more < 0)
            return 1;
        runs += more;
    }
    fprintf(stderr, "%d inputs\n", runs);
    return runs > 0 ? 0 : 1;
}
