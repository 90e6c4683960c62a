/* SPDX-License-Identifier: MIT */
/* Classes of errors: what an answer of a server means for the command. */
#include "config.h"

#include <string.h>

#include "conn_parts.h"

struct text {
    const char *p;
    size_t n;
};

static bool skip(struct text *t, const char *prefix)
{
    size_t n = strlen(prefix);

    if (t->n < n || memcmp(t->p, prefix, n) != 0)
        return false;
    t->p += n;
    t->n -= n;
    return true;
}

static bool skip_number(struct text *t)
{
    size_t n = 0;

    while (n < t->n && t->p[n] >= '0' && t->p[n] <= '9')
        n++;
    t->p += n;
    t->n -= n;
    return n > 0;
}

/* Return whether the first word of @t is in @list, whose words are separated and enclosed by
 * spaces. */
static bool word_in(const struct text *t, const char *list)
{
    size_t n = 0;
    const char *end;

    while (n < t->n && t->p[n] != ' ')
        n++;
    for (const char *s = list + 1; *s != '\0'; s = end + 1) {
        end = strchr(s, ' ');
        if ((size_t)(end - s) == n && memcmp(s, t->p, n) == 0)
            return true;
    }
    return false;
}

static bool begins_with_one_of(const struct text *t, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct text rest = *t;

        if (skip(&rest, list[i]))
            return true;
    }
    return false;
}

static bool holds(const struct text *t, const char *words)
{
    return contains(t->p, t->n, words, strlen(words));
}

static bool holds_one_of(const struct text *t, const char *const *list, size_t n)
{
    size_t i = 0;

    while (i < n && !holds(t, list[i]))
        i++;
    return i < n;
}

/* Classify an error about the state of the server inside a script.  redis.call() of a write checks
 * the state only before the first write of a script: READONLY, OOM, MISCONF and NOREPLICAS in Redis
 * 7, OOM in 6.2.  Redis 6.2 checks the others each time, but they cannot change while a script
 * runs, except one: see raised_62(). */
static enum usher__redis_class classify_inside(const struct text *t)
{
    if (word_in(t, " NOREPLICAS "))
        return USHER__REDIS_RETRY;
    return word_in(t, " READONLY OOM MISCONF ") ? USHER__REDIS_REFUSED : USHER__REDIS_SCRIPT_ERROR;
}

/* "@user_script: 1: -CODE text" */
static enum usher__redis_class classify_62(struct text *t)
{
    return skip(t, "@user_script: ") && skip_number(t) && skip(t, ": -")
               ? classify_inside(t)
               : USHER__REDIS_SCRIPT_ERROR;
}

/* Likewise for an error that redis.call() raised anywhere in the script.  Another thread of the
 * server flushes the append-only file, and may fail between two writes. */
static enum usher__redis_class raised_62(struct text *t)
{
    return holds(t, "-MISCONF Errors writing to the AOF file") ? USHER__REDIS_SCRIPT_ERROR
                                                               : classify_62(t);
}

/*
 * Return whether the server certainly refused the command before it ran a script.  Servers report
 * the failure of a command inside a script in the same words, and an unknown server may omit that
 * it was in a script.  So only unambiguous errors count.
 */
static bool at_the_door(const struct text *t)
{
    /* clang-format off */
    static const char *const never_ran[] = {
        "ERR Error compiling script",
        "ERR Protocol error",
        "ERR max number of clients",
        "ERR This instance has cluster support disabled",
    };
    static const char *const of_a_command[] = {
        "ERR unknown command",
        "ERR wrong number of arguments",
        "NOPERM ",
    };
    /* the commands that are sent, except SCAN and HSCAN; 6.2 names only the container of a
     * subcommand */
    static const char *const ours[] = {
        "'evalsha'", "'EVALSHA'", "`EVALSHA`",
        "'eval'", "'EVAL'", "`EVAL`",
        "'script|load'", "'script'", "'SCRIPT'", "`SCRIPT`",
        "'asking'", "'ASKING'", "`ASKING`",
    };
    /* clang-format on */

    if (begins_with_one_of(t, never_ran, sizeof never_ran / sizeof *never_ran))
        return true;
    /* keys, databases, and the error of lua/rights.lua */
    if (word_in(t, " NOPERM ") && (holds(t, " to access ") || holds(t, " the user lacks ")))
        return true;
    return begins_with_one_of(t, of_a_command, sizeof of_a_command / sizeof *of_a_command) &&
           holds_one_of(t, ours, sizeof ours / sizeof *ours);
}

enum usher__redis_class usher__redis_classify(const struct redisReply *reply)
{
    struct text t = { reply->str, reply->len };

    if (reply->type != REDIS_REPLY_ERROR)
        return USHER__REDIS_OK;

    /* 7.0: "CODE text script: <sha>, on @user_script:1."; Valkey 9.1 has no sha:
     * "CODE text script: on @user_script:1." */
    if (holds(&t, " script: ") && holds(&t, "on @user_script:"))
        return classify_inside(&t);

    /* 6.2: "ERR Error running script (call to f_<sha>): @user_script:1: @user_script: 1:
     * -CODE text", and only errors of redis.call() itself have the dash. */
    if (skip(&t, "ERR Error running script")) {
        const char *colon;

        if (!skip(&t, " (call to f_") || (colon = memchr(t.p, ')', t.n)) == NULL)
            return USHER__REDIS_SCRIPT_ERROR;
        t.n -= (size_t)(colon - t.p);
        t.p = colon;
        return skip(&t, "): @user_script:") && skip_number(&t) && skip(&t, ": ")
                   ? raised_62(&t)
                   : USHER__REDIS_SCRIPT_ERROR;
    }
    if (holds(&t, "@user_script")) /* lua/dispatch.lua returns it before it has written anything */
        return classify_62(&t);

    if (word_in(&t, " LOADING BUSY TRYAGAIN CLUSTERDOWN MASTERDOWN NOREPLICAS "))
        return USHER__REDIS_RETRY;
    if (word_in(&t, " NOSCRIPT "))
        return USHER__REDIS_NOSCRIPT;
    if (word_in(&t, " MOVED "))
        return USHER__REDIS_MOVED;
    if (word_in(&t, " ASK "))
        return USHER__REDIS_ASK;
    if (word_in(&t, " READONLY OOM MISCONF NOAUTH WRONGPASS CROSSSLOT DENIED ") || at_the_door(&t))
        return USHER__REDIS_REFUSED;
    return USHER__REDIS_SCRIPT_ERROR;
}
