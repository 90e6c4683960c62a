/* SPDX-License-Identifier: MIT */
/* See stores.h. */
#include "lib/test.h"

#include "lib/stores.h"

#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

struct test_store stores[STORES_MAX];
unsigned n_stores;

static bool memory_fresh(char url[STORE_URL_MAX])
{
    (void)snprintf(url, STORE_URL_MAX, "memory:");
    return true;
}

#ifdef USHER_WITH_SQLITE
static char directory[256];
static unsigned files;

static void file_remove(void)
{
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    char path[300];

    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        (void)snprintf(path, sizeof path, "%s/%u.db%s", directory, files, tails[i]);
        (void)unlink(path);
    }
}

static bool sqlite_fresh(char url[STORE_URL_MAX])
{
    file_remove();
    files++;
    (void)snprintf(url, STORE_URL_MAX, "sqlite:%s/%u.db?sync=off", directory, files);
    return true;
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *server;

static bool redis_fresh(char url[STORE_URL_MAX])
{
    char of_server[REDIS_URL_MAX];

    if (!redis_do_ok(server, "FLUSHALL", NULL))
        return false;
    (void)snprintf(url, STORE_URL_MAX, "%s", redis_server_url(server, of_server));
    return true;
}
#endif

static bool takes_part(const char *name)
{
    const char *only = getenv("USHER_STORES");

    return only == NULL || strstr(only, name) != NULL;
}

static void add(const char *name, bool (*fresh)(char url[STORE_URL_MAX]))
{
    stores[n_stores].name = name;
    stores[n_stores++].fresh = fresh;
}

int stores_start(void)
{
    if (takes_part("memory"))
        add("memory", memory_fresh);
#ifdef USHER_WITH_SQLITE
    if (takes_part("sqlite")) {
        const char *tmp = getenv("TMPDIR");

        (void)snprintf(directory, sizeof directory, "%s/usher-stores-XXXXXX",
                       tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
        if (mkdtemp(directory) == NULL) {
            perror(directory);
            directory[0] = '\0';
            return 1;
        }
        add("sqlite", sqlite_fresh);
    }
#endif
#ifdef USHER_WITH_REDIS
    if (takes_part("redis")) {
        server = redis_server_start(NULL);
        if (server != NULL)
            add("redis", redis_fresh);
        else
            print_message("without Redis: %s\n", redis_reason());
    }
#endif
    return 0;
}

void stores_stop(void)
{
#ifdef USHER_WITH_SQLITE
    if (directory[0] != '\0') {
        file_remove();
        (void)rmdir(directory);
    }
#endif
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
}

const struct test_store *stores_named(const char *name)
{
    for (unsigned i = 0; i < n_stores; i++)
        if (strcmp(stores[i].name, name) == 0)
            return &stores[i];
    return NULL;
}

void stores_skip(const char *name)
{
    if (getenv("USHER_NO_SKIP") != NULL && takes_part(name))
        fail_msg("no %s", name);
    skip();
}

struct usher_engine *engine_on_store(const struct test_store *store)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[STORE_URL_MAX];
    struct usher_engine *e = NULL;

    opt.clock_given = true;
    if (!store->fresh(url) || usher_open(url, &opt, &e) != USHER_OK)
        fail_msg("%s: %s", store->name, usher_message());
    return e;
}
