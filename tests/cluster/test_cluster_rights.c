/* SPDX-License-Identifier: MIT */
/*
 * The rights that a user of a cluster needs, as backends/redis/README.md lists them.  With all of
 * them everything works, also while a slot moves.  With one missing, either everything works or an
 * error names it.  R12 of the specification of the Redis store.
 */
#include "lib/test.h"

#include "lib/command_line.h"
#include "lib/servers.h"
#include "lib/util.h"

#define POOLS 12 /* some on each node */

TEST_CLUSTER(cluster, 3, NULL);

static const char *const rights[] = {
    "+evalsha", "+script|load", "+time",          "+exists",       "+hget",   "+hmget",
    "+hset",    "+hdel",        "+zadd",          "+zrem",         "+info",   "+zrangebylex",
    "+scan",    "+hscan",       "+cluster|slots", "+cluster|myid", "+asking", "+zrevrangebylex",
};
#define RIGHTS (sizeof rights / sizeof *rights)

static void user_has(const char *leave_out)
{
    const char *argv[RIGHTS + 10] = {
        "ACL",         "SETUSER",           "least",           "reset", "on", ">s3cret",
        "~{*}:number", "~{*}:number:index", "~{*}:number:held"
    };
    size_t sizes[RIGHTS + 10];
    int n = 9;

    for (size_t i = 0; i < RIGHTS; i++)
        if (leave_out == NULL || strcmp(rights[i], leave_out) != 0)
            argv[n++] = rights[i];
    for (int i = 0; i < n; i++)
        sizes[i] = strlen(argv[i]);
    for (int i = 0; i < cluster->nodes; i++) {
        redisReply *reply = redis_do_argv(cluster->node[i], n, argv, sizes);

        assert_true(reply != NULL && reply->type == REDIS_REPLY_STATUS);
        freeReplyObject(reply);
    }
}

/* Execute a command unless @why has an error; return its first error, or "". */
static const char *done(struct usher_engine *e, char why[256], const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static const char *done(struct usher_engine *e, char why[256], const char *format, ...)
{
    struct usher_result r;
    char text[128];
    va_list ap;

    if (why[0] != '\0')
        return why;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (!USHER_IS_DONE(line_execute(e, &r, "%s", text)))
        (void)snprintf(why, 256, "%.80s: %s (%.150s)", text, usher_status_word(r.status),
                       r.message);
    usher_result_done(&r);
    return why;
}

/* Execute commands on a pool whose slot is being migrated, after its keys have moved. */
static void while_a_slot_moves(struct usher_engine *e, char why[256])
{
    static unsigned times;
    struct redis_move m = { .cluster = cluster };
    char pool[32], key[48];
    redisReply *reply;

    (void)snprintf(pool, sizeof pool, "moving%u", times++);
    (void)snprintf(key, sizeof key, "{%s}", pool);
    reply = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", key, NULL);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_INTEGER);
    m.slot = (int)reply->integer;
    freeReplyObject(reply);
    m.source = redis_cluster_owner(cluster, cluster->node[0], m.slot);
    m.target = m.source == cluster->node[0] ? cluster->node[1] : cluster->node[0];
    (void)done(e, why, "number add %s 1", pool);
    assert_true(redis_move_begin(&m));
    for (size_t i = 0; i < 3; i++) {
        static const char *const ends[] = { "", ":index", ":held" };

        (void)snprintf(key, sizeof key, "{%s}:number%s", pool, ends[i]);
        assert_true(redis_move_key(&m, key));
    }
    (void)done(e, why, "number reg %s 1", pool); /* ASK */
    assert_true(redis_move_end(&m));
    (void)done(e, why, "number call %s", pool); /* MOVED */
}

/* Execute all kinds of commands; return the first error, or "". */
static void try_all(const char *leave_out, char why[256])
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    uint64_t faults = 0;
    char url[128], digest[33];

    why[0] = '\0';
    user_has(leave_out);
    options.timeout_ms = 3000;
    (void)snprintf(url, sizeof url, "redis+cluster://least:s3cret@127.0.0.1:%d",
                   redis_server_port(cluster->node[0]));
    if (usher_open(url, &options, &e) != USHER_OK) {
        (void)snprintf(why, 256, "%s", usher_message());
        return;
    }
    for (unsigned i = 0; i < POOLS; i++) {
        (void)done(e, why, "number add p%u 1", i);
        (void)done(e, why, "number reg p%u 1", i);
        (void)done(e, why, "number call p%u owner=ann", i);
        (void)done(e, why, "number free p%u owner=ann", i);
        (void)done(e, why, "number del p%u 1", i);
    }
    if (why[0] == '\0')
        while_a_slot_moves(e, why);
    if (why[0] == '\0' && check_faults(e, NULL, NULL, &faults) != USHER_OK)
        (void)snprintf(why, 256, "%s", usher_message());
    if (why[0] == '\0' && usher_digest(e, USHER_NUMBER, "p0", digest) != USHER_OK)
        (void)snprintf(why, 256, "%s", usher_message());
    assert_int_equal(faults, 0);
    usher_close(e);
}

TEST(a_user_with_all_documented_rights_can_do_everything)
{
    char why[256];

    try_all(NULL, why);
    if (why[0] != '\0')
        fail_msg("%s", why);
}

TEST(an_error_names_the_missing_right)
{
    /* requested, but not required */
    static const char *const unneeded[] = { "+cluster|myid", "+info", "+time" };
    struct usher_engine *e;
    char url[REDIS_URL_MAX];

    for (size_t i = 0; i < RIGHTS; i++) {
        bool needed = true;
        char why[256], word[32];

        for (size_t k = 0; k < sizeof unneeded / sizeof *unneeded; k++)
            needed = needed && strcmp(rights[i], unneeded[k]) != 0;
        try_all(rights[i], why);
        print_message("without %s: %s\n", rights[i], why[0] != '\0' ? why : "all works");
        if (needed != (why[0] != '\0'))
            fail_msg("without %s: %s", rights[i], needed ? "all works" : why);
        /* by its name, in upper or lower case */
        (void)snprintf(word, sizeof word, "%s", rights[i] + 1);
        word[strcspn(word, "|")] = '\0';
        if (strcmp(word, "script") == 0) /* EVAL is tried last */
            (void)snprintf(word, sizeof word, "eval");
        if (needed && strcasestr(why, word) == NULL)
            fail_msg("without %s: %s", rights[i], why);
        assert_null(strstr(why, "s3cret"));
    }
    /* no command is half done */
    assert_int_equal(usher_open(redis_cluster_url(cluster, url), NULL, &e), USHER_OK);
    audit(e);
    usher_close(e);
}
