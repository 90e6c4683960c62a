/* SPDX-License-Identifier: MIT */
/*
 * Direct calls of the scripts, with the keys of the scope declared, on a single server and on a
 * node of a cluster: rule 16 of the specification of the Redis store.
 *
 * With the one key {scope} a script derives the three keys itself.  While the slot moves, a call
 * with that key, which does not exist, is redirected to the target, where a second scope would
 * begin.
 */
#include "lib/test.h"

#include <usher/usher.h>

#include "../backends/redis/script.h"
#include "lib/servers.h"
#include "lib/util.h"

static struct redis_server *single;
static struct redis_cluster *cluster;

/* Direct calls of each noun, and the status of the answer.  The calls give the time, and '@' is the
 * token of the previous answer. */
static const struct typed {
    const char *noun;
    struct {
        const char *words, *status;
    } line[12];
} nouns[] = {
    { "number",
      { { "add 101 now 1000", "ok" },
        { "add 101 now 1000", "same" },
        { "reg 101 now 1000", "ok" },
        { "call owner ann lease 60000 now 2000 req r1", "ok" },
        { "call owner ann lease 60000 now 2000 req r1", "ok" },
        { "stats now 2000", "ok" },
        { "hangup 101 token @ now 3000", "ok" },
        { "call 101 now 3000", "ok" },
        { "changes now 3000", "refused" },
        { "list owner ann node x", "invalid" },
        { "fly 101", "invalid" } } },
    { "queue",
      { { "set limit 10 now 1000", "ok" },
        { "login ann now 1000", "ok" },
        { "apply zoe now 2000", "ok" },
        { "apply pia lane x now 2000", "ok" },
        { "where zoe now 2000", "ok" },
        { "changes now 2000", "refused" },
        { "pull ann now 2000", "refused" },
        { "alive now 2000", "invalid" },
        { "leave zoe now 3000", "ok" },
        { "logout ann now 3000", "ok" } } },
    { "room",
      { { "open log 10 now 1000", "ok" },
        { "join ann now 1000", "ok" },
        { "set title x now 1000", "ok" },
        { "member bob title x now 1000", "missing" },
        { "role host bob now 1000", "missing" },
        { "show now 1000", "ok" },
        { "leave ann now 2000", "ok" } } },
    { "rooms",
      { { "put hall now 1000", "ok" },
        { "put hall created 1000 now 1000", "ok" },
        { "find hall now 1000", "ok" },
        { "find none now 1000", "missing" } } },
    { "serial",
      { { "rule width 4 mode 2 now 1000", "ok" },
        { "reserve owner ann now 1000", "ok" },
        { "confirm 0001 token @ now 2000", "ok" },
        { "holds now 2000", "ok" },
        /* the last of many arguments */
        { "holds after x now 2000", "invalid" },
        { "setmax 0 now 2000", "invalid" } } },
    { "id",
      { { "create step 10 now 1000", "ok" },
        { "next n 5 now 1000", "ok" },
        { "return 1 5 now 1000", "invalid" },
        { "show now 1000", "ok" } } },
};
#define NOUNS (sizeof nouns / sizeof *nouns)

static const char scope[] = "p";

/* ---- calls ----------------------------------------------------------------------------- */

/* Load the script of @noun into @s; store its SHA-1. */
static void load(struct redis_server *s, const char *noun, char sha[41])
{
    size_t size;
    char *text;
    redisReply *reply;

    assert_int_equal(usher_lua(noun, NULL, 0, &size), USHER_OK);
    text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(usher_lua(noun, text, size + 1, &size), USHER_OK);
    reply = redis_do(s, "SCRIPT", "LOAD", text, NULL);
    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_STRING || reply->len != 40)
        fail_msg("%s: %s", noun, reply->str != NULL ? reply->str : "no name");
    memcpy(sha, reply->str, 41);
    freeReplyObject(reply);
    free(text);
}

/* Call EVALSHA with the words of @text. */
static redisReply *type(redisContext *c, const char *sha, const char *text)
{
    const char *words[32] = { "EVALSHA", sha };
    char copy[512], *rest = copy;
    redisReply *reply;
    int n = 2;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        assert_true(n < 32);
        words[n++] = word;
    }
    reply = redisCommandArgv(c, n, words, NULL);
    assert_non_null(reply);
    return reply;
}

/* "3 t:{tag}:noun t:{tag}:noun:index t:{tag}:noun:held WORDS" */
static const char *declared(const char *prefix, const char *tag, const char *noun,
                            const char *words)
{
    static char text[512];

    (void)snprintf(text, sizeof text, "3 %s{%s}:%s %s{%s}:%s:index %s{%s}:%s:held %s", prefix, tag,
                   noun, prefix, tag, noun, prefix, tag, noun, words);
    return text;
}

static const char *one_key(const char *prefix, const char *tag, const char *words)
{
    static char text[512];

    (void)snprintf(text, sizeof text, "1 %s{%s} %s", prefix, tag, words);
    return text;
}

/* Return the value of @name in @reply.  It begins with names and values; rows of a list follow. */
static const char *value_of(const redisReply *reply, const char *name)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        fail_msg("no answer of the script: %s", reply->str != NULL ? reply->str : "a number");
    assert_true(reply->elements >= 4);
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (reply->element[i]->type == REDIS_REPLY_STRING &&
            strcmp(reply->element[i]->str, name) == 0)
            return reply->element[i + 1]->str;
    return "";
}

/* Check that @reply has @status and @words in its message; free it. */
static void assert_answer(redisReply *reply, const char *what, const char *status,
                          const char *words)
{
    if (strcmp(value_of(reply, "status"), status) != 0 ||
        strstr(value_of(reply, "message"), words) == NULL)
        fail_msg("%s: %s (%s), not %s (%s)", what, value_of(reply, "status"),
                 value_of(reply, "message"), status, words);
    freeReplyObject(reply);
}

/* Check that @reply is an error with @words; free it. */
static void assert_error(redisReply *reply, const char *words)
{
    if (reply->type != REDIS_REPLY_ERROR || strstr(reply->str, words) == NULL)
        fail_msg("expected an error with \"%s\", got type %d: %s", words, reply->type,
                 reply->str != NULL ? reply->str : "-");
    freeReplyObject(reply);
}

/* Return the number at *@at and move *@at past it. */
static unsigned long long digits(const char **at)
{
    char *end;
    unsigned long long n = strtoull(*at, &end, 10);

    *at = end;
    return n;
}

/* Append @text to @to, versions and tokens after @base. */
static void write_text(const char *text, unsigned long long base, char *to, size_t size)
{
    size_t n = strlen(to);

    while (*text != '\0') {
        const char *from = text;
        bool is_number = *text >= '0' && *text <= '9';
        unsigned long long v = is_number ? digits(&text) : 0;

        if (v > base && v < base + 1000)
            n += (size_t)snprintf(to + n, size - n, "+%llu", v - base);
        else
            n += (size_t)snprintf(to + n, size - n, "%.*s", is_number ? (int)(text - from) : 1,
                                  from);
        text += is_number ? 0 : 1;
        assert_true(n < size);
    }
    n += (size_t)snprintf(to + n, size - n, " ");
    assert_true(n < size);
}

static void write_array(const redisReply *reply, const char *epoch, unsigned long long base,
                        char *to, size_t size)
{
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *e = reply->element[i];
        char number[24];

        if (e->type == REDIS_REPLY_ARRAY) {
            write_text("[", base, to, size);
            write_array(e, epoch, base, to, size);
            write_text("]", base, to, size);
        } else if (e->type == REDIS_REPLY_INTEGER) {
            (void)snprintf(number, sizeof number, "%lld", e->integer);
            write_text(number, base, to, size);
        } else if (e->type == REDIS_REPLY_STRING) {
            bool drawn = epoch != NULL && strncmp(e->str, epoch, 16) == 0;

            write_text(e->str + (drawn ? 16 : 0), base, to, size);
        } else {
            fail_msg("value %zu is of type %d", i, e->type);
        }
    }
}

/* Write all but the epoch, which is random; names of rooms begin with it.  Versions and tokens are
 * written as differences to *@base, the version before the first one (0: set it from @reply). */
static void write_down(const redisReply *reply, unsigned long long *base, char *to, size_t size)
{
    bool drawn = strcmp(reply->element[2]->str, "epoch") == 0;
    size_t n;

    if (*base == 0)
        *base = strtoull(value_of(reply, "version"), NULL, 10) - 1;
    write_array(reply, drawn ? reply->element[3]->str : NULL, *base, to, size);
    n = strlen(to);
    (void)snprintf(to + n, size - n, "\n");
}

/* ---- a server, or the node of a cluster that has the slot ------------------------------ */

static int slot_of(const char *tag)
{
    redisReply *reply = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", tag, NULL);
    int slot;

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    slot = (int)reply->integer;
    freeReplyObject(reply);
    return slot;
}

static struct redis_server *owner_of(const char *tag)
{
    struct redis_server *s = redis_cluster_owner(cluster, cluster->node[0], slot_of(tag));

    assert_non_null(s);
    return s;
}

static redisContext *connected(struct redis_server *s)
{
    redisContext *c = redis_server_connect(s);

    assert_non_null(c);
    return c;
}

/* ---- tests ----------------------------------------------------------------------------- */

/* Execute the calls of a noun; append the answers to @answers.  The library finds no fault. */
static void call_all(struct redis_server *s, const struct typed *noun, bool by_one, char *answers,
                     size_t size)
{
    redisContext *c = connected(s);
    char sha[41], url[REDIS_URL_MAX], token[24] = "";
    unsigned long long base = 0;
    struct usher_engine *e;
    uint64_t faults = 1;

    assert_true(redis_do_ok(s, "FLUSHALL", NULL));
    load(s, noun->noun, sha);
    answers[0] = '\0';
    for (size_t i = 0; noun->line[i].words != NULL; i++) {
        const char *words = noun->line[i].words, *at = strchr(words, '@');
        char line[128];
        redisReply *reply;

        (void)snprintf(line, sizeof line, "%.*s%s%s", at != NULL ? (int)(at - words) : 127, words,
                       at != NULL ? token : "", at != NULL ? at + 1 : "");
        reply =
            type(c, sha, by_one ? one_key("", scope, line) : declared("", scope, noun->noun, line));
        if (strcmp(value_of(reply, "status"), noun->line[i].status) != 0)
            fail_msg("%s %s: %s %s", noun->noun, line, value_of(reply, "status"),
                     value_of(reply, "message"));
        write_down(reply, &base, answers, size);
        if (strtoull(value_of(reply, "token"), NULL, 10) > 0)
            (void)snprintf(token, sizeof token, "%s", value_of(reply, "token"));
        freeReplyObject(reply);
    }
    assert_int_equal(redis_server_keys(s), 3);
    redisFree(c);
    if (s != single) /* the audit is of a whole cluster */
        return;
    if (usher_open(redis_server_url(s, url), NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_OK);
    /* a direct call writes a room or its entry in the index, not both */
    assert_int_equal(faults, strcmp(noun->noun, "room") == 0);
    usher_close(e);
}

TEST(each_noun_can_be_called_directly_with_its_keys)
{
    for (const struct typed *noun = nouns; noun < nouns + NOUNS; noun++) {
        char one[8192], three[8192], node[8192];

        call_all(single, noun, true, one, sizeof one);
        call_all(single, noun, false, three, sizeof three);
        call_all(owner_of(scope), noun, false, node, sizeof node);
        assert_string_equal(three, one);
        assert_string_equal(node, one);
    }
}

/* The error has the right form of the call, and nothing is written. */
TEST(a_direct_call_with_one_key_is_refused_on_a_cluster)
{
    struct redis_server *node = owner_of(scope);

    assert_true(redis_do_ok(node, "FLUSHALL", NULL));
    for (const struct typed *noun = nouns; noun < nouns + NOUNS; noun++) {
        redisContext *c = connected(node);
        char sha[41], form[256];

        load(node, noun->noun, sha);
        for (size_t i = 0; noun->line[i].words != NULL; i++) {
            const char *words = noun->line[i].words;

            if (strcmp(noun->line[i].status, "invalid") == 0 || strchr(words, '@') != NULL)
                continue;
            (void)snprintf(form, sizeof form,
                           ": EVALSHA sha 3 t:{p}:%s t:{p}:%s:index t:{p}:%s:held %.*s", noun->noun,
                           noun->noun, noun->noun, (int)strcspn(words, " "), words);
            assert_answer(type(c, sha, one_key("t:", scope, words)), words, "invalid", form);
            /* the node still runs scripts: on Valkey 9.1 a call for keys of two slots would have
             * stopped them */
            assert_answer(type(c, sha, declared("t:", scope, noun->noun, noun->line[0].words)),
                          words, "ok", "");
            assert_true(redis_do_ok(node, "FLUSHALL", NULL));
        }
        redisFree(c);
    }
    assert_int_equal(redis_server_keys(node), 0);
}

#define DO \
    "+evalsha +exists +hget +hmget +hset +hdel +zadd +zrem +zrangebylex +zrevrangebylex +time"

/* A script identifies the server by INFO or CLUSTER INFO, whichever the user may call. */
TEST(a_cluster_is_detected_by_info_or_cluster_info)
{
    static const struct {
        const char *keys, *more;
        bool on_single;
    } users[] = {
        { "~* ", "+info", true },
        /* any scope, with one of the two, or neither */
        { "~t:{*} ~t:{*}:number ~t:{*}:number:index ~t:{*}:number:held ", "+info", true },
        { "~t:{*} ~t:{*}:number ~t:{*}:number:index ~t:{*}:number:held ", "+cluster|info", true },
        { "~t:{*} ~t:{*}:number ~t:{*}:number:index ~t:{*}:number:held ", "", false },
        /* one scope only */
        { "~t:{p} ~t:{p}:number ~t:{p}:number:index ~t:{p}:number:held ", "+info", true },
        { "~t:{p} ~t:{p}:number ~t:{p}:number:index ~t:{p}:number:held ", "", false },
    };
    struct redis_server *servers[] = { single, owner_of(scope) };

    for (size_t k = 0; k < 2; k++) {
        char sha[41];

        load(servers[k], "number", sha);
        for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
            redisContext *c = connected(servers[k]);
            bool goes = k == 0 && users[i].on_single;
            char rule[512];
            redisReply *reply;

            assert_true(redis_do_ok(servers[k], "FLUSHALL", NULL));
            (void)snprintf(rule, sizeof rule, "ACL SETUSER desk reset on >secret %s%s %s",
                           users[i].keys, DO, users[i].more);
            reply = redisCommand(c, rule);
            assert_true(reply != NULL && reply->type == REDIS_REPLY_STATUS);
            freeReplyObject(reply);
            freeReplyObject(redisCommand(c, "AUTH desk secret"));
            assert_answer(type(c, sha, one_key("t:", scope, "add 1")), rule,
                          goes ? "ok" : "invalid", goes ? "" : "EVALSHA sha 3 t:{p}:number ");
            assert_int_equal(redis_server_keys(servers[k]), goes ? 3 : 0);
            /* the form with all keys needs no more rights than the library */
            assert_answer(type(c, sha, declared("t:", scope, "number", "add 2")), rule, "ok", "");
            assert_int_equal(redis_server_keys(servers[k]), 3);
            redisFree(c);
        }
    }
}

TEST(keys_that_are_no_scope_are_named_and_not_written)
{
    static const struct {
        const char *text, *words;
    } slips[] = {
        { "0 add 1", "a scope has 3 keys, not 0: {desk}:number {desk}:number:index" },
        { "1 p add 1", "key 1 has no name in braces, as in {desk}:number: p" },
        { "1 {} add 1", "key 1 has no name in braces" },
        { "1 {p add 1", "key 1 has no name in braces" },
        { "1 }p{ add 1", "key 1 has no name in braces" },
        { "1 {p}x add 1",
          "a scope has 3 keys, not 1: {p}:number {p}:number:index {p}:number:held" },
        { "1 {p}:number add 1", "a scope has 3 keys, not 1" },
        { "1 {p}{q} add 1", "a scope has 3 keys, not 1" },
        { "1 {p}:number {p}:number:index {p}:number:held add 1", "a scope has 3 keys, not 1" },
        { "2 {p}:number {p}:number:index add 1", "a scope has 3 keys, not 2" },
        { "2 {p}:number {p}:number:index {p}:number:held add 1", "a scope has 3 keys, not 2" },
        { "4 {p}:number {p}:number:index {p}:number:held {p}:x add 1", "3 keys, not 4" },
        { "3 {p}:number {p}:number:index add 1", "key 3 is add, not {p}:number:held" },
        { "3 {p}:number {p}:number:held {p}:number:index add 1",
          "key 2 is {p}:number:held, not {p}:number:index" },
        { "3 {p}:number:index {p}:number {p}:number:held add 1",
          "key 1 is {p}:number:index, not {p}:number" },
        { "3 {p}:number {q}:number:index {p}:number:held add 1",
          "key 2 is {q}:number:index, not {p}:number:index" },
        { "3 {p}:number {p}:number:index {q}:number:held add 1",
          "key 3 is {q}:number:held, not {p}:number:held" },
        { "3 {p}:queue {p}:queue:index {p}:queue:held add 1",
          "key 1 is {p}:queue, not {p}:number" },
        { "3 {p}:number {p}:queue:index {p}:number:held add 1", "key 2 is {p}:queue:index" },
        { "3 t:{p}:number {p}:number:index {p}:number:held add 1",
          "key 2 is {p}:number:index, not t:{p}:number:index" },
        { "3 p:number p:number:index p:number:held add 1", "key 1 has no name in braces" },
        { "3 {p} {p}:index {p}:held add 1", "key 1 is {p}, not {p}:number" },
        { "3 {p\1}:number {p\1}:number:index {p\1}:number:held add 1", "is not a name" },
        { "3 {p}:number {p}:number:index {p}:number:held add 1 group a:b", "both are reserved" },
        { "3 {p}:number {p}:number:index {p}:number:held call group a,b*", "both are reserved" },
        { "3 {p}:number {p}:number:index {p}:number:held", "unknown verb" },
        { "3 {p}:number {p}:number:index {p}:number:held ADD 1", "unknown verb" },
        { "3 {p}:number {p}:number:index {p}:number:held ad-d 1", "unknown verb" },
        { "1 {p} HANGUP 1", "unknown verb" },
        { "3 {p}:number {p}:number:index {p}:number:held add", "number is missing" },
        /* like a call of the library, but none */
        { "3 {p}:number {p}:number:index {p}:number:held "
          "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
          "unknown verb" },
        { "3 {p}:number {p}:number:index add 1234567890123456789012345678901234567890 group g",
          "key 3 is add" },
        { "3 {p}:number {p}:number:index {p}:number:held a\1\1\315\1", "unknown verb" },
        { "3 {p}:number {p}:number:index {p}:number:held \1", "unknown verb" },
    };
    redisContext *c = connected(single);
    char sha[41], text[512];

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    load(single, "number", sha);
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        assert_answer(type(c, sha, slips[i].text), slips[i].text, "invalid", slips[i].words);
    /* keys of another noun */
    for (const struct typed *noun = nouns; noun < nouns + NOUNS; noun++) {
        const char *other = noun->noun[0] == 'i' ? "number" : "id";

        load(single, noun->noun, sha);
        (void)snprintf(text, sizeof text, "key 1 is {p}:%s, not {p}:%s", other, noun->noun);
        assert_answer(type(c, sha, declared("", scope, other, noun->line[0].words)), noun->noun,
                      "invalid", text);
    }
    assert_int_equal(redis_server_keys(single), 0);
    redisFree(c);
}

static redisReply *asking(redisContext *c, const char *sha, const char *text)
{
    redisReply *reply = redisCommand(c, "ASKING");

    assert_true(reply != NULL && reply->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    return type(c, sha, text);
}

/* At each stage, both forms of a call on both nodes, as by a client that follows ASK. */
TEST(a_scope_is_not_created_twice_while_its_slot_moves)
{
    struct redis_server *source = owner_of("moving"),
                        *target = cluster->node[source == cluster->node[0] ? 1 : 0];
    redisContext *from = connected(source), *to = connected(target);
    struct redis_move move = { cluster, source, target, slot_of("moving"), "", "" };
    char sha[41], epoch[24];
    redisReply *reply;

    assert_true(redis_do_ok(source, "FLUSHALL", NULL));
    assert_true(redis_do_ok(target, "FLUSHALL", NULL));
    load(source, "number", sha);
    load(target, "number", sha);
    reply = type(from, sha, declared("", "moving", "number", "add 5551"));
    (void)snprintf(epoch, sizeof epoch, "%s", value_of(reply, "epoch"));
    assert_answer(reply, "add", "ok", "");
    assert_true(redis_move_begin(&move));

    /* all three keys still on the source: the one key does not exist, so it is redirected to the
     * target */
    assert_error(type(from, sha, one_key("", "moving", "add 7777")), "ASK ");
    assert_answer(asking(to, sha, one_key("", "moving", "add 7777")), "add", "invalid",
                  "EVALSHA sha 3 {moving}:number ");
    assert_error(asking(to, sha, declared("", "moving", "number", "add 7777")), "TRYAGAIN");
    assert_int_equal(redis_server_keys(target), 0);
    assert_answer(type(from, sha, declared("", "moving", "number", "reg 5551")), "reg", "ok", "");

    /* keys on both nodes: either node refuses */
    assert_true(redis_move_key(&move, "{moving}:number"));
    assert_error(type(from, sha, declared("", "moving", "number", "call")), "TRYAGAIN");
    assert_error(asking(to, sha, declared("", "moving", "number", "call")), "TRYAGAIN");
    assert_true(redis_move_key(&move, "{moving}:number:index"));
    assert_error(type(from, sha, declared("", "moving", "number", "call")), "TRYAGAIN");
    assert_error(asking(to, sha, declared("", "moving", "number", "call")), "TRYAGAIN");
    assert_answer(asking(to, sha, one_key("", "moving", "call")), "call", "invalid", "EVALSHA");
    assert_true(redis_move_key(&move, "{moving}:number:held"));
    assert_error(type(from, sha, declared("", "moving", "number", "call")), "ASK ");
    reply = asking(to, sha, declared("", "moving", "number", "call"));
    assert_string_equal(value_of(reply, "epoch"), epoch);
    assert_string_equal(value_of(reply, "number"), "5551");
    assert_answer(reply, "call", "ok", "");

    assert_true(redis_move_end(&move));
    assert_error(type(from, sha, declared("", "moving", "number", "hangup 5551")), "MOVED ");
    reply = type(to, sha, declared("", "moving", "number", "hangup 5551"));
    assert_string_equal(value_of(reply, "epoch"), epoch);
    assert_answer(reply, "hangup", "ok", "");
    assert_int_equal(redis_server_keys(source), 0);
    assert_int_equal(redis_server_keys(target), 3);
    redisFree(from);
    redisFree(to);
}

/* The first call of each line has the request id.  The second one has it as well, and other
 * arguments, or the same ones in another order. */
static const struct {
    const char *noun, *begin, *first, *second;
    bool same;
} repeats[] = {
    { "number", "stats", "add 101 req a", "add 102 req a", false },
    { "number", "stats", "add 103 req b", "add 103 req b group g", false },
    { "number", "reg 101", "call owner ann lease 60000 req c", "call lease 60000 req c owner ann",
      true },
    { "number", "reg 103", "call owner bob node x req d", "call owner x node bob req d", false },
    { "queue", "login ann", "apply zoe req a", "apply pia req a", false },
    { "queue", "stats", "apply max lane x req b", "apply max lane xx req b", false },
    { "room", "open", "set title x req a", "set title y req a", false },
    { "room", "show", "set title xy req b", "set titlex y req b", false },
    { "serial", "rule max 9223372036854775807", "take n 2 req a", "take n 3 req a", false },
    { "serial", "show", "setmaxcur 9223372036854770000 req b",
      "setmaxcur 9223372036854770001 req b", false },
    { "serial", "show", "setmaxcur 9223372036854770002 req c",
      "setmaxcur 09223372036854770002 req c", true },
    { "id", "create", "next n 5 req a", "next n 6 req a", false },
    { "id", "show", "next n 5 req b", "next req b n 05", true },
    { "id", "show", "next n 5 req c", "next req c", false },
};

TEST(a_request_id_belongs_to_its_arguments)
{
    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) {
        redisContext *c = connected(single);
        const char *noun = repeats[i].noun;
        char sha[41], version[24];
        redisReply *reply;

        load(single, noun, sha);
        freeReplyObject(type(c, sha, declared("", scope, noun, repeats[i].begin)));
        reply = type(c, sha, declared("", scope, noun, repeats[i].first));
        (void)snprintf(version, sizeof version, "%s", value_of(reply, "version"));
        assert_answer(reply, repeats[i].first, "ok", "");
        reply = type(c, sha, declared("", scope, noun, repeats[i].first));
        if (strcmp(value_of(reply, "version"), version) != 0)
            fail_msg("%s %s: done twice", noun, repeats[i].first);
        assert_answer(reply, repeats[i].first, "ok", "");
        reply = type(c, sha, declared("", scope, noun, repeats[i].second));
        if (repeats[i].same)
            assert_string_equal(value_of(reply, "version"), version);
        assert_answer(reply, repeats[i].second, repeats[i].same ? "ok" : "invalid",
                      repeats[i].same ? "" : "request id was used with other arguments");
        redisFree(c);
    }
}

/* The library computes another fingerprint, so its calls and direct calls with one request id are
 * compared by verb alone. */
TEST(a_request_id_of_the_library_is_compared_by_verb)
{
    struct usher_id_options opt = USHER_ID_OPTIONS_INIT;
    struct usher_id_answer answer = USHER_ID_ANSWER_INIT;
    redisContext *c = connected(single);
    char sha[41], url[REDIS_URL_MAX], first[24];
    struct usher_engine *e;
    redisReply *reply;

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    load(single, "id", sha);
    assert_answer(type(c, sha, declared("", scope, "id", "create")), "create", "ok", "");
    if (usher_open(redis_server_url(single, url), NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());

    reply = type(c, sha, declared("", scope, "id", "next n 5 req direct"));
    (void)snprintf(first, sizeof first, "%s", value_of(reply, "first"));
    freeReplyObject(reply);
    opt.request = "direct";
    assert_int_equal(usher_id_next(e, scope, 6, &opt, &answer), USHER_OK);
    assert_true(answer.repeated);
    assert_int_equal(answer.first, strtoll(first, NULL, 10));
    assert_int_equal(answer.n, 5);

    opt.request = "library";
    assert_int_equal(usher_id_next(e, scope, 7, &opt, &answer), USHER_OK);
    assert_false(answer.repeated);
    reply = type(c, sha, declared("", scope, "id", "next n 8 req library"));
    assert_int_equal(strtoll(value_of(reply, "first"), NULL, 10), answer.first);
    assert_string_equal(value_of(reply, "n"), "7");
    freeReplyObject(reply);
    assert_int_equal(usher_id_next(e, scope, 8, &opt, &answer), USHER_INVALID);
    assert_answer(type(c, sha, declared("", scope, "id", "set step 9 req library")), "set",
                  "invalid", "request id was used for `next`");
    usher_close(e);
    redisFree(c);
}

/* Run @line as the library understands it.  Its answer is in @answer as JSON. */
static void run(struct usher_engine *e, const char *line, char *answer, size_t size)
{
    char room[2048 + 1024];
    struct usher_command command;
    struct usher_reply *reply = NULL;
    size_t n;

    if (usher_command_parse(line, strlen(line), room, sizeof room, &command) != USHER_OK ||
        usher_execute(e, &command, 1, 0, &reply) != USHER_OK)
        fail_msg("%s: %s", line, usher_message());
    n = usher_reply_write(reply, USHER_FORM_JSON, answer, size);
    assert_true(n < size);
    usher_reply_done(reply);
}

/* Write the texts of the array @name as JSON; "" if there is no such name. */
static void texts_of(const redisReply *reply, const char *name, char *to, size_t size)
{
    size_t n = 0;

    to[0] = '\0';
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *all = reply->element[i + 1];

        if (strcmp(reply->element[i]->str, name) != 0)
            continue;
        assert_int_equal(all->type, REDIS_REPLY_ARRAY);
        for (size_t k = 0; k < all->elements; k++) {
            n += (size_t)snprintf(to + n, size - n, "%c\"%s\"", k == 0 ? '[' : ',',
                                  all->element[k]->str);
            assert_true(n + 2 < size);
        }
        (void)snprintf(to + n, size - n, "]");
        return;
    }
}

/* Formats as the library parses them.  A direct call has the code of the check digit. */
static const struct {
    const char *format, *check;
    unsigned code;
} formats[] = {
    { "", "none", 0 },
    { " prefix=INV- date=%Y- width=5 suffix=/x", "none", 0 },
    { " prefix=A1 date=%y%m%d.%j.%H%M%S%% zone=-330 width=3", "luhn", 1 },
    { " date=%Y%j width=12 zone=1440 base=7", "mod11-2", 2 },
    { " prefix=0 date=Q%m width=4 radix=36 step=97 base=1000003", "mod37-2", 3 },
    { " radix=16 width=20 suffix=*", "none", 0 },
    { " width=40 date=%d", "damm", 4 },
    { " prefix=9 date=%Y", "verhoeff", 5 },
};

TEST(serials_are_printed_as_by_the_library)
{
    static const char *const at[] = { "0", "951782400000", "1709251199999", "1735689599000" };
    static const char *const reached[] = { "0", "99990", "999999980", "12345678901234567" };
    char sha[41], url[REDIS_URL_MAX], line[256], direct[256], printed[4096], again[4096];
    static char answer[8192];
    redisContext *c = connected(single);
    struct usher_engine *e;
    redisReply *reply;

    load(single, "serial", sha);
    if (usher_open(redis_server_url(single, url), NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        assert_true(redis_do_ok(single, "FLUSHALL", NULL));
        (void)snprintf(line, sizeof line, "serial rule q%s check=%s overflow=widen now=0",
                       formats[f].format, formats[f].check);
        run(e, line, answer, sizeof answer);
        (void)snprintf(direct, sizeof direct, "rule%s check=%u overflow=2 now=0", formats[f].format,
                       formats[f].code);
        for (char *word = direct; (word = strchr(word, '=')) != NULL;)
            *word = ' ';
        assert_answer(type(c, sha, declared("", scope, "serial", direct)), direct, "ok", "");
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            (void)snprintf(line, sizeof line, "serial setmaxcur q %s now=%s", reached[i], at[i]);
            if (i > 0)
                run(e, line, answer, sizeof answer);
            (void)snprintf(direct, sizeof direct, "setmaxcur %s now %s", reached[i], at[i]);
            if (i > 0)
                assert_answer(type(c, sha, declared("", scope, "serial", direct)), direct, "ok",
                              "");
            (void)snprintf(line, sizeof line, "serial take q n=32 now=%s", at[i]);
            run(e, line, answer, sizeof answer);
            (void)snprintf(direct, sizeof direct, "take n 32 now %s req r%zu", at[i], i);
            reply = type(c, sha, declared("", scope, "serial", direct));
            texts_of(reply, "serials", printed, sizeof printed);
            if (printed[0] == '\0' || strstr(answer, printed) == NULL)
                fail_msg("%s: %s\nthe library: %s", direct, printed, answer);
            assert_string_equal(value_of(reply, "serial"), "");
            freeReplyObject(reply);
            reply = type(c, sha, declared("", scope, "serial", direct));
            texts_of(reply, "serials", again, sizeof again);
            assert_string_equal(again, printed);
            freeReplyObject(reply);
        }
    }
    usher_close(e);
    redisFree(c);
}

TEST(single_serials_and_the_ends_of_many_are_printed)
{
    static const struct {
        const char *words, *name, *serial;
    } lines[] = {
        { "rule prefix A width 4 overflow 2 stamp 2 date %Y- batch 5 now 0", "serial", "" },
        { "take now 1000", "serial", "A1970-0001" },
        { "take n 1000 now 31536000000", "last", "" },
        { "take n 1001 now 63072000000", "first", "A1971-1002" },
        { "take n 1001 now 63072000000", "last", "A1972-3003" },
        { "delete", "serial", "" },
        { "rule prefix B mode 2 width 4 now 0", "serial", "" },
        { "reserve owner ann now 1000", "serial", "B3004" },
        { "confirm B3004 token @ now 1000", "serial", "B3004" },
        { "show serial B3004 now 1000", "serial", "B3004" },
    };
    redisContext *c = connected(single);
    char sha[41], line[128], token[24] = "";

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    load(single, "serial", sha);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *words = lines[i].words, *at = strchr(words, '@');
        redisReply *reply;

        (void)snprintf(line, sizeof line, "%.*s%s%s", at != NULL ? (int)(at - words) : 127, words,
                       at != NULL ? token : "", at != NULL ? at + 1 : "");
        reply = type(c, sha, declared("", scope, "serial", line));
        if (strcmp(value_of(reply, "status"), "ok") != 0 ||
            strcmp(value_of(reply, lines[i].name), lines[i].serial) != 0)
            fail_msg("%s: %s %s %s, not %s", line, value_of(reply, "status"), lines[i].name,
                     value_of(reply, lines[i].name), lines[i].serial);
        (void)snprintf(token, sizeof token, "%s", value_of(reply, "token"));
        freeReplyObject(reply);
    }
    redisFree(c);
}

/* Return whether each text in @reply is UTF-8. */
static bool is_utf8(const redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *e = reply->element[i];
        size_t left = 0;

        if (e->type == REDIS_REPLY_ARRAY && !is_utf8(e))
            return false;
        for (size_t k = 0; e->type == REDIS_REPLY_STRING && k < e->len; k++) {
            unsigned char c = (unsigned char)e->str[k];

            if (left > 0 ? c >> 6 != 2 : c >= 0x80 && (c < 0xc2 || c > 0xf4))
                return false;
            left = left > 0 ? left - 1 : c < 0xc2 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        }
        if (left > 0)
            return false;
    }
    return true;
}

/* Calls and a part of their answers, as write_array() writes it. */
static const struct {
    const char *noun, *words, *part;
} rows[] = {
    { "number", "set log 10 now 1000", " lease_max 0 outage 0 " },
    { "number", "add 101 group g now 1000", "" },
    { "number", "reg 101 now 1000", "" },
    { "number", "call owner ann lease 60000 now 2000", "" },
    { "number", "list now 3000",
      " rows [ [ number 101 group g owner ann state busy+up resting 0 token +4 until 62000 "
      "calls_today 1 used 2000 capped 0 age 1000 node  ] ] " },
    { "number", "stats now 3000", " total 1 idle_up 0 idle_down 0 busy_up 1 " },
    { "number", "changes since @ now 3000",
      " rows [ [ version +4 verb call subject 101 from 2 to 4 data [ group g ] owner ann time 2000 token +4 "
      "until 62000 ] ] " },
    { "queue", "set log 10 now 1000", " limit 0 " },
    { "queue", "login ann now 1000", "" },
    { "queue", "apply zoe now 2000", "" },
    { "queue", "apply pia now 2000", "" },
    { "queue", "list now 2000", " rows [ [ user pia agent  lane default state waiting " },
    { "queue", "room ann now 2000",
      " rows [ [ room .+2.1 visit .+4 user zoe lane default lanes * state seated " },
    { "queue", "where pia now 2000", " lane default " },
    { "queue", "where pia now 2000", " since 2000 waiting 1 " },
    { "queue", "agents now 2000",
      " rows [ [ reason  agent ann lanes * login +2 state busy logged_in 1000 " },
    { "queue", "changes now 2000", " verb apply subject zoe " },
    { "room", "open log 10 now 1000", " capacity 0 linger 0 " },
    { "room", "join ann now 1000", "" },
    { "room", "member ann color red now 1000", "" },
    { "room", "set title \xe2\x82\xac now 1000", "" },
    { "room", "set logo \xe2\xc2\x80\x82\xac now 1000", "" },
    { "room", "snapshot now 1000",
      " kind field state absent name title owner  value \xe2\x82\xac " },
    { "room", "snapshot now 1000", " name logo owner  value_hex e2c28082ac " },
    { "room", "snapshot now 1000",
      " [ kind member state here name ann owner  value [ color red ] version " },
    { "room", "changes now 1000", " data [ color red ] owner  time 1000 was " },
    { "room", "changes now 1000",
      " verb set subject logo from 0 to 0 data [ logo_hex e2c28082ac ] " },
    { "rooms", "put hall created 1000 now 1000", " token +1 more 0 " },
    { "rooms", "find hall now 1000", " rows [ [ room hall state open created 1000 token +1 ] ] " },
    { "serial", "rule prefix \xc3\xa9 width 4 mode 2 log 10 now 1000",
      " prefix \xc3\xa9 suffix  date  base 0 step 1 width 4 radix 10 check 0 " },
    { "serial", "reserve owner ann now 1000",
      " serial \xc3\xa9"
      "0001 " },
    { "serial", "holds now 2000",
      " rows [ [ serial \xc3\xa9"
      "0001 number 1 n 1 at 1000 token +2 until 301000 state held owner ann "
      "] ] " },
    { "serial", "changes now 2000", " verb reserve subject " },
    { "id", "create log 10 now 1000", " start 1 " },
    { "id", "next n 5 now 1000", "" },
    { "id", "changes now 1000", " data [ first 1 n 5 ] " },
};

TEST(rows_of_answers_have_names_and_are_utf8)
{
    redisContext *c = connected(single);
    unsigned long long base = 0;
    const char *noun = "";
    char sha[41], said[8192], line[128], before[24] = "";

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *words = rows[i].words, *at = strchr(words, '@');
        redisReply *reply;

        if (strcmp(noun, rows[i].noun) != 0) {
            noun = rows[i].noun;
            base = 0;
            load(single, noun, sha);
        }
        (void)snprintf(line, sizeof line, "%.*s%s%s", at != NULL ? (int)(at - words) : 127, words,
                       at != NULL ? before : "", at != NULL ? at + 1 : "");
        reply = type(c, sha, declared("", scope, noun, line));
        said[0] = '\0';
        write_down(reply, &base, said, sizeof said);
        if (strcmp(value_of(reply, "status"), "ok") != 0 || strstr(said, rows[i].part) == NULL)
            fail_msg("%s %s: %s\nnot %s", noun, line, said, rows[i].part);
        if (!is_utf8(reply))
            fail_msg("%s %s: an answer that is not UTF-8", noun, line);
        (void)snprintf(before, sizeof before, "%llu",
                       strtoull(value_of(reply, "version"), NULL, 10) - 1);
        freeReplyObject(reply);
    }
    redisFree(c);
}

/* Values of any bytes: what JSON escapes, other UTF-8, and what is no UTF-8. */
static const struct {
    const char *data;
    size_t size;
} values[] = {
    { "", 0 },
    { "plain", 5 },
    { "\"\\/\x01\t\n\x1f\x7f", 8 },
    { "a\0b", 3 },
    { "\xc2\x84\xc2\x85\xc2\x86 \xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 19 },
    { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xee\x80\x80\xf4\x8f\xbf\xbf", 16 },
    { "\xff", 1 },
    { "\xff\xfe", 2 },
    { "\xff\xfe\xfd", 3 },
    { "\xff\xfe\xfd\0", 4 },
    { "\xed\xa0\x80", 3 },
    { "\xc0\x80", 2 },
    { "\xe2\x80", 2 },
    { "\xf4\x90\x80\x80", 4 },
    { "\xe2\xc2\x80\x82\xac", 5 },
};

/* A change of a scope (NULL: none), and a read of it, as direct calls.  The library reads the same
 * scope. */
static const struct {
    const char *noun, *write, *read;
} same[] = {
    { "room", "open log 100 now 1000", "show" },
    { "room", "join ann now 1000", "snapshot" },
    { "room", "member ann title mine now 1000", "snapshot" },
    { "room", "all title ours now 1000", "snapshot" },
    { "room", "all other yours now 1000", "snapshot" },
    { "room", "member ann title again now 1000", "snapshot" },
    { "room", "role host ann now 1000", "snapshot" },
    { "room", "share ann screen now 1000", "changes" },
    { "room", NULL, "snapshot max 2" },
    { "room", NULL, "snapshot versions 1" },
    { "number", "set log 100 now 1000", "stats" },
    { "number", "add 1\xe2\x80\xa8 now 1000", "list" },
    { "number", "reg 1\xe2\x80\xa8 now 1000", "changes" },
    { "number", "call owner \"x now 1000", "show 1\xe2\x80\xa8" },
    { "queue", "set log 100 history 10 now 1000", "stats" },
    { "queue", "login ann now 1000", "agents" },
    { "queue", "apply zoe now 2000", "list" },
    { "queue", NULL, "room ann" },
    { "queue", NULL, "where zoe" },
    { "queue", NULL, "changes" },
    { "queue", "leave zoe now 2500", "history" },
    { "queue", "login ben now 2600", "changes" },
    { "queue", "pause ben now 2600", "changes" },
    { "queue", "alive agent ann now 10000", "agents" },
    { "queue", "alive agent ann now 18000", "agents" }, /* ben is gone */
    { "queue", "logout ben now 18000", "changes" },     /* so the notice has no token */
    { "serial", "rule prefix A width 4 mode 2 max 9223372036854775807 log 9 now 1000", "show" },
    { "serial", "reserve owner ann now 1000", "holds" },
    { "serial", NULL, "show serial A0001" },
    { "serial", NULL, "parse A0001" },
    { "serial", NULL, "check" },
    { "serial", NULL, "changes" },
    { "id", "create start 9007199254740992 limit 9007199254740993 log 9 now 1000", "show" },
    { "id", "next now 1000", "show" },
    { "id", "next now 1000", "changes" },
};

/* Check that a direct call @words with json=1 returns the same bytes as the library. */
static void assert_same(struct usher_engine *e, redisContext *c, const char *sha, const char *noun,
                        const char *words)
{
    char line[256], library[16384], *at;
    size_t verb = strcspn(words, " ");
    redisReply *reply;

    /* `show serial X' is `number show p X' there: the first argument may stand in its place */
    (void)snprintf(line, sizeof line, "%s %.*s %s now=3000 %s", noun, (int)verb, words, scope,
                   words[verb] != '\0' ? words + verb + 1 : "");
    for (at = strstr(line, "max "); at != NULL; at = NULL)
        at[3] = '=';
    for (at = strstr(line, "versions "); at != NULL; at = NULL)
        at[8] = '=';
    for (at = strstr(line, "serial A"); at != NULL; at = NULL)
        at[6] = '=';
    run(e, line, library, sizeof library);
    (void)snprintf(line, sizeof line, "%s now 3000 json 1", words);
    reply = type(c, sha, declared("", scope, noun, line));
    if (reply->type != REDIS_REPLY_STRING)
        fail_msg("%s %s: %s", noun, words, reply->str != NULL ? reply->str : "no JSON");
    if (strcmp(reply->str, library) != 0)
        fail_msg("%s %s\ndirect:  %s\nlibrary: %s", noun, words, reply->str, library);
    freeReplyObject(reply);
}

TEST(json_is_that_of_the_library)
{
    redisContext *c = connected(single);
    char sha[41], url[REDIS_URL_MAX], field[8];
    struct usher_engine *e;
    redisReply *reply;

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    if (usher_open(redis_server_url(single, url), NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        load(single, same[i].noun, sha);
        if (same[i].write != NULL)
            assert_answer(type(c, sha, declared("", scope, same[i].noun, same[i].write)),
                          same[i].write, "ok", "");
        assert_same(e, c, sha, same[i].noun, same[i].read);
    }
    load(single, "room", sha);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        (void)snprintf(field, sizeof field, "f%zu", i);
        reply = redisCommand(c, "EVALSHA %s 1 {%s} set %s %b now 2000", sha, scope, field,
                             values[i].data, values[i].size);
        assert_answer(reply, field, "ok", "");
    }
    assert_same(e, c, sha, "room", "get");
    assert_same(e, c, sha, "room", "snapshot");
    assert_same(e, c, sha, "room", "changes");
    usher_close(e);
    redisFree(c);
}

/* A wrong call with json=1 is answered in JSON, too. */
TEST(wrong_calls_are_answered_in_json)
{
    static const struct {
        const char *words, *answer;
    } calls[] = {
        { "fly json 1", "{\"status\":\"invalid\",\"message\":\"unknown verb\"}" },
        { "add json 1 json 1",
          "{\"status\":\"invalid\",\"message\":\"1 is not an argument of `add`\"}" },
        { "add 101 colour red json 1",
          "{\"status\":\"invalid\",\"message\":\"colour is not an argument of `add`\"}" },
        { "add 101 json 1 group a group b",
          "{\"status\":\"invalid\",\"message\":\"group is given twice\"}" },
        { "add 101 json 1 json 1", "{\"status\":\"invalid\",\"message\":\"json is given twice\"}" },
        { "add 101 group \xff json 1",
          "{\"status\":\"invalid\",\"message\":\"group is not a name\"}" },
        { "add 101 \xff x json 1",
          "{\"status\":\"invalid\",\"message\":\"? is not an argument of `add`\"}" },
    };
    redisContext *c = connected(single);
    char sha[41];
    redisReply *reply;

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    load(single, "number", sha);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        reply = type(c, sha, declared("", scope, "number", calls[i].words));
        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        assert_string_equal(reply->str, calls[i].answer);
        freeReplyObject(reply);
    }
    reply = type(c, sha, "2 {p}:number {p}:number:index add 101 json 1");
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_non_null(strstr(reply->str, "{\"status\":\"invalid\",\"message\":\"a scope has 3 keys"));
    freeReplyObject(reply);
    assert_answer(type(c, sha, declared("", scope, "number", "add 101 json 2")), "json 2",
                  "invalid", "json is not a number from 0 to 1");
    assert_answer(type(c, sha, declared("", scope, "number", "stats json 0")), "json 0", "missing",
                  "");
    assert_int_equal(redis_server_keys(single), 0);
    redisFree(c);
}

/* The scripts that the library loads cannot read a direct call. */
TEST(scripts_of_the_library_refuse_direct_calls)
{
    redisContext *c = connected(single);

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    for (size_t i = 0; i < NOUNS; i++) {
        char *text, named[64];
        size_t size, direct;
        redisReply *reply;

        assert_int_equal(usher__redis_script(nouns[i].noun, NULL, 0, &size), USHER_OK);
        assert_int_equal(usher_lua(nouns[i].noun, NULL, 0, &direct), USHER_OK);
        assert_true(size < direct);
        text = malloc(size + 1);
        assert_non_null(text);
        assert_int_equal(usher__redis_script(nouns[i].noun, text, size + 1, &size), USHER_OK);
        (void)snprintf(named, sizeof named, "load that of `usher lua %s`", nouns[i].noun);
        reply = redisCommand(c, "EVAL %s 3 {p}:%s {p}:%s:index {p}:%s:held show", text,
                             nouns[i].noun, nouns[i].noun, nouns[i].noun);
        assert_answer(reply, nouns[i].noun, "invalid", named);
        free(text);
    }
    assert_int_equal(redis_server_keys(single), 0);
    redisFree(c);
}

static void keep_fault(void *payload, const char *line)
{
    (void)snprintf(payload, 128, "%s", line);
}

/* `room open` returns the place of the room's entry.  usher_check() reports a room without an
 * entry, and the library lists the room after a second call has written the entry. */
TEST(a_room_is_listed_after_a_second_call)
{
    static const char *const names[] = { "r",       "hall",
                                         "class-7", "\xc3\xa9t\xc3\xa9",
                                         "a room",  "1234567890123456789012345678901234567890" };
    static const char *const prefixes[] = { "", "t:" };
    redisContext *c = connected(single);
    char room_sha[41], rooms_sha[41], server[REDIS_URL_MAX], url[REDIS_URL_MAX + 16];

    load(single, "room", room_sha);
    load(single, "rooms", rooms_sha);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
            char hash[128], index[144], held[144], created[24], fault[128] = "", expected[128],
                                                                line[128], answer[1024];
            struct usher_engine *e;
            uint64_t faults = 0;
            struct usher_reply *list;
            redisReply *reply;

            assert_true(redis_do_ok(single, "FLUSHALL", NULL));
            (void)snprintf(url, sizeof url, "%s?prefix=%s", redis_server_url(single, server),
                           prefixes[k]);
            if (usher_open(url, NULL, &e) != USHER_OK)
                fail_msg("%s", usher_message());
            (void)snprintf(hash, sizeof hash, "%s{%s}", prefixes[k], names[i]);
            /* the partition in which the library puts it */
            (void)snprintf(line, sizeof line, "room open '%s'", names[i]);
            run(e, line, answer, sizeof answer);
            reply = redisCommand(c, "EVALSHA %s 1 %s show", room_sha, hash);
            (void)snprintf(index, sizeof index, "%s", value_of(reply, "index"));
            assert_answer(reply, "show", "ok", "");
            reply = redisCommand(c, "EXISTS %s", index);
            assert_int_equal(reply->integer, 1);
            freeReplyObject(reply);
            assert_true(redis_do_ok(single, "FLUSHALL", NULL));

            reply = redisCommand(c, "EVALSHA %s 1 %s open", room_sha, hash);
            (void)snprintf(hash, sizeof hash, "%s", value_of(reply, "index"));
            (void)snprintf(created, sizeof created, "%s", value_of(reply, "created"));
            assert_answer(reply, "open", "ok", "");
            (void)snprintf(expected, sizeof expected, "room/%s: is not in the index of rooms",
                           names[i]);
            assert_int_equal(check_faults(e, keep_fault, fault, &faults), USHER_OK);
            assert_int_equal(faults, 1);
            assert_string_equal(fault, expected);

            (void)snprintf(index, sizeof index, "%s:index", hash);
            (void)snprintf(held, sizeof held, "%s:held", hash);
            assert_answer(redisCommand(c, "EVALSHA %s 3 %s %s %s put %s created %s", rooms_sha,
                                       hash, index, held, names[i], created),
                          "put", "ok", "");
            assert_int_equal(check_faults(e, keep_fault, fault, &faults), USHER_OK);
            assert_int_equal(faults, 0);
            assert_int_equal(usher_room_list(e, NULL, &list), USHER_OK);
            assert_int_equal(list->n_rows, 1);
            assert_string_equal(usher_reply_text(list, 0, USHER_FIELD_NAME, NULL), names[i]);
            assert_int_equal(usher_reply_int(list, 0, USHER_FIELD_SINCE),
                             strtoll(created, NULL, 10));
            usher_reply_done(list);
            usher_close(e);
        }
    redisFree(c);
}

/* Return the time to live of the keys, which all have the same; -1: none; -2: no keys. */
static long long time_to_live(redisContext *c)
{
    static const char *const ends[] = { "", ":index", ":held" };
    long long first = 0;

    for (size_t i = 0; i < 3; i++) {
        redisReply *reply = redisCommand(c, "PTTL {%s}:room%s", scope, ends[i]);
        long long ttl = reply->integer;

        freeReplyObject(reply);
        if (i == 0)
            first = ttl;
        else if (first < 0 ? ttl != first : ttl > first || ttl < first - 60000)
            fail_msg("%s lives for %lld ms, and the hash for %lld", ends[i], ttl, first);
    }
    return first;
}

/* Direct calls keep bans over close and open, as the library does.  While the room is closed, the
 * keys have a time to live. */
TEST(keys_of_bans_of_a_closed_room_expire)
{
    redisContext *c = connected(single);
    const long long ban = 86400000, kept = 3600000;
    char sha[41];

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    load(single, "room", sha);
    assert_answer(type(c, sha, declared("", scope, "room", "open")), "open", "ok", "");
    assert_answer(type(c, sha, declared("", scope, "room", "join ann")), "join", "ok", "");
    assert_answer(type(c, sha, declared("", scope, "room", "kick ann ban 86400000")), "kick", "ok",
                  "");
    assert_answer(type(c, sha, declared("", scope, "room", "kick eve ban 1000000")), "kick", "ok",
                  "");
    assert_int_equal(time_to_live(c), -1);
    assert_answer(type(c, sha, declared("", scope, "room", "close ban 5")), "close", "invalid",
                  "ban is not 0");
    assert_answer(type(c, sha, declared("", scope, "room", "close")), "close", "ok", "");
    assert_true(time_to_live(c) > kept && time_to_live(c) <= ban + kept);
    assert_answer(type(c, sha, declared("", scope, "room", "join ann")), "join", "missing", "");
    assert_answer(type(c, sha, declared("", scope, "room", "open capacity 7")), "open", "ok", "");
    assert_int_equal(time_to_live(c), -1);
    assert_answer(type(c, sha, declared("", scope, "room", "join ann")), "join", "refused",
                  "banned");
    assert_answer(type(c, sha, declared("", scope, "room", "close")), "close", "ok", "");
    assert_answer(type(c, sha, declared("", scope, "room", "kick ann ban 0")), "kick", "ok", "");
    /* eve's alone is left */
    assert_true(time_to_live(c) > kept && time_to_live(c) <= 1000000 + kept);
    assert_answer(type(c, sha, declared("", scope, "room", "close ban 0")), "close", "ok", "");
    assert_int_equal(time_to_live(c), -2);
    redisFree(c);
}

/* The damage is reported, and no script ends between its writes. */
TEST(a_damaged_format_is_reported)
{
    static const char damage[] =
        "local t = redis.call('HGET', KEYS[1], '1:rule') "
        "return redis.call('HSET', KEYS[1], '1:rule', string.sub(t, 1, 70) .. 'x')";
    redisContext *c = connected(single);
    char sha[41], key[16];

    assert_true(redis_do_ok(single, "FLUSHALL", NULL));
    load(single, "serial", sha);
    assert_answer(type(c, sha, declared("", scope, "serial", "rule prefix A")), "rule", "ok", "");
    (void)snprintf(key, sizeof key, "{%s}:serial", scope);
    freeReplyObject(redisCommand(c, "EVAL %s 1 %s", damage, key));
    assert_answer(type(c, sha, declared("", scope, "serial", "take n 2")), "take", "ok",
                  "the store is damaged");
    redisFree(c);
}

static int program_begin(void)
{
    single = redis_server_start(NULL);
    cluster = single != NULL ? redis_cluster_start(2, 0, NULL) : NULL;
    return cluster != NULL ? 0 : redis_skip();
}

static void program_end(void)
{
    redis_cluster_stop(cluster);
    redis_server_stop(single);
}

TEST_PROGRAM(program_begin, program_end);
