/* SPDX-License-Identifier: MIT */
/*
 * fake -- see fake.h.
 *
 * One thread runs a poll() loop.  It holds the lock except inside poll(), so whatever a test sets
 * is either before or after a step of the loop.  Sockets belong to the thread alone: to have them
 * closed, or written to, the test asks and waits for the loop's next turn (proxy.c does the same).
 *
 * A reply is appended to the earlier ones at once.  A connection that is held keeps the place from
 * which nothing may be sent yet; one that is mute drops its replies.
 */
#include "config.h"

#include "lib/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/pack.h"
#include "core/sha1.h"
#include "core/verbs.h"
#include "change/request_cache.h"

#define READ_MAX 65536
#define WORDS_MAX 1024 /* of a command */
#define WORD_MAX ((size_t)16 << 20)
#define SHOWN_WORDS 16 /* in the journal */
#define SHOWN_MAX 80
#define TEXT_MAX 1024 /* of a reply that is not a list */
#define CALL_HEAD 24  /* see pack_call() in pipeline.c */
#define CALL_MAX 127

struct bytes {
    char *p;
    size_t n, room;
};

struct word {
    const char *p;
    size_t n;
};

struct rule {
    struct rule *next;
    char *match, *with; /* NULL: any */
    char *text;         /* NULL: none */
    size_t size, bytes;
    unsigned skip, times; /* what is left of them */
    bool forever;
    enum fake_action action;
};

struct conn {
    struct conn *next;
    int fd, node;
    unsigned number;
    struct bytes in, out;
    size_t held_from; /* in @out, if @held */
    bool held, mute;
    bool asking;          /* the last command was ASKING */
    bool ending, is_over; /* closed when @out is sent; now */
};

struct node {
    int listener, port;
    char id[41];
    int master;       /* FAKE_NO_NODE: it is one */
    unsigned lives;   /* as a master */
    uint64_t version; /* commands that were run */
    unsigned connections;
    bool down, is_down; /* wanted, and so */
    bool release, drop;
    bool knows_any; /* script; else those in @scripts */
    char (*scripts)[41];
    size_t n_scripts;
    struct rule *rules;
    char **lines;
    unsigned n_lines, lines_room;
    int8_t owner[FAKE_SLOTS], went_to[FAKE_SLOTS];
    bool imports[FAKE_SLOTS];
};

struct fake {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turned; /* @turns or a journal changed */
    int wake[2];
    struct conn *conns; /* the thread's */

    /* under the lock */
    bool stop;
    uint64_t asked, turns; /* the loop has done all that was asked before @turns */
    int n;
    struct node *node;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "fake: %s: %s\n", what, strerror(errno));
    abort();
}

static void *grow(void *p, size_t size)
{
    p = realloc(p, size);
    if (p == NULL)
        die("realloc");
    return p;
}

static char *copy_of(const char *p, size_t n)
{
    char *copy = grow(NULL, n + 1);

    if (n > 0)
        memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

/* ---- bytes --------------------------------------------------------------------------- */

static void put(struct bytes *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    if (n > b->room - b->n) {
        b->room = (b->n + n) * 2;
        b->p = grow(b->p, b->room);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void drop(struct bytes *b, size_t n)
{
    b->n -= n;
    if (b->n > 0)
        memmove(b->p, b->p + n, b->n);
}

static void putf(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void putf(struct bytes *b, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text) {
        errno = EMSGSIZE;
        die("putf");
    }
    put(b, text, (size_t)n);
}

static void put_bulk(struct bytes *b, const void *p, size_t n)
{
    putf(b, "$%zu\r\n", n);
    put(b, p, n);
    put(b, "\r\n", 2);
}

static void put_text(struct bytes *b, const char *text)
{
    put_bulk(b, text, strlen(text));
}

/* ---- commands ------------------------------------------------------------------------ */

/* Read the number after a type byte, up to CR LF, and move *@at past it.  Returns 1; 0 if more
 * bytes are needed; -1 if it is no number. */
static int read_count(const struct bytes *b, size_t *at, char type, size_t max, size_t *ret)
{
    const char *line = b->p + *at, *cr;
    size_t left = b->n - *at, n = 0;

    if (left == 0)
        return 0;
    if (line[0] != type)
        return -1;
    cr = memchr(line, '\r', left);
    if (cr == NULL || (size_t)(cr - line) + 2 > left)
        return left > 32 ? -1 : 0;
    if (cr - line < 2 || cr - line > 10 || cr[1] != '\n')
        return -1;
    for (const char *p = line + 1; p < cr; p++) {
        if (*p < '0' || *p > '9')
            return -1;
        n = n * 10 + (size_t)(*p - '0');
    }
    *at += (size_t)(cr - line) + 2;
    *ret = n;
    return n <= max ? 1 : -1;
}

/* A whole command at the front of @b: *@ret_used bytes.  As read_count(). */
static int read_command(const struct bytes *b, struct word words[WORDS_MAX], size_t *ret_n,
                        size_t *ret_used)
{
    size_t at = 0;
    int found = read_count(b, &at, '*', WORDS_MAX, ret_n);

    for (size_t i = 0; found == 1 && i < *ret_n; i++) {
        found = read_count(b, &at, '$', WORD_MAX, &words[i].n);
        if (found == 1 && b->n - at < words[i].n + 2)
            found = 0;
        if (found != 1)
            break;
        words[i].p = b->p + at;
        at += words[i].n + 2;
    }
    *ret_used = at;
    return found == 1 && *ret_n == 0 ? -1 : found;
}

static bool word_is(const struct word *w, const char *text)
{
    return w->n == strlen(text) && strncasecmp(w->p, text, w->n) == 0;
}

/* @words begin with those of @match. */
static bool begin_with(const struct word *words, size_t n, const char *match)
{
    for (size_t i = 0; *match != '\0'; i++) {
        size_t size = strcspn(match, " ");

        if (i == n || words[i].n != size || strncasecmp(words[i].p, match, size) != 0)
            return false;
        match += size;
        match += *match == ' ';
    }
    return true;
}

static bool one_has(const struct word *words, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (memmem(words[i].p, words[i].n, text, strlen(text)) != NULL)
            return true;
    return false;
}

/* The same of a line of the journal. */
static bool line_begins_with(const char *line, const char *match)
{
    size_t size = match != NULL ? strlen(match) : 0;

    if (match == NULL)
        return true;
    line = strchr(line, ' ') + 1;
    return strncasecmp(line, match, size) == 0 && (line[size] == ' ' || line[size] == '\0');
}

static void journal(struct fake *f, struct node *node, const struct conn *c,
                    const struct word *words, size_t n)
{
    struct bytes line = { NULL, 0, 0 };

    putf(&line, "%u", c->number);
    for (size_t i = 0; i < n && i < SHOWN_WORDS; i++) {
        put(&line, " ", 1);
        for (size_t k = 0; k < words[i].n && k < SHOWN_MAX; k++) {
            bool shows = words[i].p[k] > 0x20 && words[i].p[k] < 0x7f;

            put(&line, shows ? words[i].p + k : "?", 1);
        }
    }
    put(&line, "", 1);
    if (node->n_lines == node->lines_room) {
        node->lines_room = node->lines_room * 2 + 64;
        node->lines = grow(node->lines, node->lines_room * sizeof *node->lines);
    }
    node->lines[node->n_lines++] = line.p;
    pthread_cond_broadcast(&f->turned);
}

/* ---- slots --------------------------------------------------------------------------- */

/* CRC-16/XMODEM bit by bit: the library's has a table. */
static int slot_of(const char *p, size_t n)
{
    const char *open = memchr(p, '{', n), *close = NULL;
    unsigned crc = 0;

    if (open != NULL)
        close = memchr(open, '}', n - (size_t)(open - p));
    if (close != NULL && close > open + 1) {
        p = open + 1;
        n = (size_t)(close - p);
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned)(unsigned char)p[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000u) != 0 ? crc << 1 ^ 0x1021u : crc << 1;
        crc &= 0xffffu;
    }
    return (int)(crc % FAKE_SLOTS);
}

static void put_node(struct bytes *b, const struct node *node)
{
    putf(b, "*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%s\r\n*0\r\n", node->port, node->id);
}

/* CLUSTER SLOTS as @seen_by has it. */
static void put_slots(struct fake *f, const struct node *seen_by, struct bytes *b)
{
    struct bytes rows = { NULL, 0, 0 };
    int first = 0, n = 0;

    for (int slot = 1; slot <= FAKE_SLOTS; slot++) {
        int owner = seen_by->owner[first], replicas = 0;

        if (slot < FAKE_SLOTS && seen_by->owner[slot] == owner)
            continue;
        if (owner != FAKE_NO_NODE) {
            for (int i = 0; i < f->n; i++)
                replicas += f->node[i].master == owner;
            putf(&rows, "*%d\r\n:%d\r\n:%d\r\n", 3 + replicas, first, slot - 1);
            put_node(&rows, &f->node[owner]);
            for (int i = 0; i < f->n; i++)
                if (f->node[i].master == owner)
                    put_node(&rows, &f->node[i]);
            n++;
        }
        first = slot;
    }
    putf(b, "*%d\r\n", n);
    put(b, rows.p, rows.n);
    free(rows.p);
}

/* May @node run what has the keys @words?  If not, puts what it says instead. */
static bool keys_are_here(struct fake *f, int node, const struct word *words, size_t n, bool asked,
                          struct bytes *b)
{
    const struct node *me = &f->node[node];
    int slot = n > 0 ? slot_of(words[0].p, words[0].n) : 0;
    int owner = me->owner[slot];

    if (n == 0)
        return true;
    for (size_t i = 1; i < n; i++) {
        if (slot_of(words[i].p, words[i].n) != slot) {
            putf(b, "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
            return false;
        }
    }
    if (owner == node && me->went_to[slot] != FAKE_NO_NODE)
        putf(b, "-ASK %d 127.0.0.1:%d\r\n", slot, f->node[me->went_to[slot]].port);
    else if (owner == node || (asked && me->imports[slot]))
        return true;
    else if (owner == FAKE_NO_NODE)
        putf(b, "-CLUSTERDOWN Hash slot not served\r\n");
    else
        putf(b, "-MOVED %d 127.0.0.1:%d\r\n", slot, f->node[owner].port);
    return false;
}

/* ---- answers of scripts --------------------------------------------------------------- */

size_t fake_answer(enum usher_verb verb, uint64_t epoch, uint64_t version, char to[FAKE_ANSWER_MAX])
{
    const struct usher__noun *noun = usher__noun((unsigned)verb >> 8);
    unsigned char packed[FAKE_ANSWER_MAX - 32];
    struct usher__packer p = { packed, sizeof packed, 0 };
    struct usher_result reply;
    char digits[17];
    int head;

    if (noun == NULL || usher__verb((unsigned)verb) == NULL) {
        errno = EINVAL;
        die("no such verb");
    }
    memset(&reply, 0, sizeof reply);
    reply.noun = (enum usher_noun)noun->noun;
    if (reply.noun == USHER_NUMBER) {
        reply.of.number.token = version;
        reply.of.number.number_size = 1;
        memcpy(reply.of.number.number, "1", 2);
    }
    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)epoch);
    usher__pack_array(&p, 8 + usher__fields_count(noun, verb));
    usher__pack_uint(&p, USHER_OK);
    usher__pack_text(&p, digits, 16);
    usher__pack_uint(&p, version);
    usher__pack_int(&p, -1); /* due */
    usher__pack_uint(&p, 0); /* now */
    usher__pack_uint(&p, 0);
    usher__pack_array(&p, 0);
    usher__pack_array(&p, 0);
    usher__fields_pack(&p, noun, verb, &reply);
    head = snprintf(to, 32, "$%zu\r\n", p.n);
    if (p.n > p.size || head < 0 || (size_t)head + p.n + 2 > FAKE_ANSWER_MAX) {
        errno = EMSGSIZE;
        die("fake_answer");
    }
    memcpy(to + head, packed, p.n);
    memcpy(to + (size_t)head + p.n, "\r\n", 2);
    return (size_t)head + p.n + 2;
}

/* Takes a value of MessagePack, of the kinds that commands are made of, off the front of *@w. */
static bool skip_value(struct word *w)
{
    static const uint8_t sizes[] = { 1, 2, 4, 8, 1, 2, 4, 8 }; /* of 0xcc to 0xd3 */
    unsigned code = w->n > 0 ? (unsigned char)w->p[0] : 0xc1;
    size_t size = 1, digits = 0;

    if (code >= 0xa0 && code <= 0xbf)
        size += code & 0x1fu;
    else if (code >= 0xcc && code <= 0xd3)
        size += sizes[code - 0xcc];
    else if (code >= 0xd9 && code <= 0xdb)
        digits = (size_t)1 << (code - 0xd9);
    else if (code >= 0x80 && code <= 0xdf && code != 0xc0)
        return false;
    if (w->n < size + digits)
        return false;
    if (digits > 0) {
        size_t length = 0;

        for (size_t i = 0; i < digits; i++)
            length = length << 8 | (unsigned char)w->p[1 + i];
        if (length > w->n - size - digits)
            return false;
        size += digits + length;
    }
    if (w->n < size)
        return false;
    w->p += size;
    w->n -= size;
    return true;
}

/* A number of MessagePack that is not negative. */
static bool take_number(struct word *w, uint64_t *ret)
{
    struct usher_unpacker u = { (const unsigned char *)w->p, (const unsigned char *)w->p + w->n };

    if (!usher_unpack_uint(&u, ret))
        return false;
    w->p = (const char *)u.at;
    w->n = (size_t)(u.end - u.at);
    return true;
}

/* The verbs of a call as pack_call() of the store makes it; 0: it is none. */
static size_t verbs_of(struct word w, enum usher_verb verbs[CALL_MAX])
{
    size_t n = w.n > CALL_HEAD ? (unsigned char)w.p[0] : 0;

    if (n == 0 || n > CALL_MAX || (unsigned char)w.p[3] != 0xcd)
        return 0;
    w.p += CALL_HEAD;
    w.n -= CALL_HEAD;
    for (size_t i = 0; i < n; i++) {
        uint64_t values, verb;

        if (!take_number(&w, &values) || values == 0 || !take_number(&w, &verb))
            return 0;
        while (--values > 0)
            if (!skip_value(&w))
                return 0;
        /* of number_fast.h */
        if (verb == 1)
            verb = USHER_NUMBER_CALL;
        else if (verb == 2)
            verb = USHER_NUMBER_HANGUP;
        if (verb > UINT16_MAX || usher__verb((unsigned)verb) == NULL)
            return 0;
        verbs[i] = (enum usher_verb)verb;
    }
    return n;
}

static bool knows_script(const struct node *node, const struct word *sha)
{
    for (size_t i = 0; i < node->n_scripts; i++)
        if (word_is(sha, node->scripts[i]))
            return true;
    return node->knows_any;
}

/* Another text has another one.  It is not the real one: nothing here has a use for that. */
static void load_script(struct node *node, const struct word *text, char digits[41])
{
    struct word sha = { digits, 40 };

    (void)snprintf(digits, 41, "%013llx%027zx",
                   (unsigned long long)usher__sha1_52(text->p, text->n), text->n);
    if (node->knows_any || !knows_script(node, &sha)) {
        node->scripts = grow(node->scripts, (node->n_scripts + 1) * sizeof *node->scripts);
        memcpy(node->scripts[node->n_scripts++], digits, 41);
    }
}

static void put_loaded(struct node *node, const struct word *text, struct bytes *b)
{
    char digits[41];

    load_script(node, text, digits);
    put_text(b, digits);
}

static void run_script(struct fake *f, int node, const struct word *words, size_t n, bool asked,
                       struct bytes *b)
{
    struct node *me = &f->node[node];
    enum usher_verb verbs[CALL_MAX];
    char digits[41];
    size_t keys = 0, calls = 0;

    for (size_t i = 0; n > 2 && i < words[2].n && i < 4; i++)
        keys = keys * 10 + (size_t)(words[2].p[i] - '0');
    if (n < 3 || keys > n - 3) {
        putf(b, "-ERR Number of keys can't be greater than number of args\r\n");
        return;
    }
    if (!keys_are_here(f, node, words + 3, keys, asked, b))
        return;
    if (begin_with(words, n, "EVAL")) {
        load_script(me, &words[1], digits);
    } else if (!knows_script(me, &words[1])) {
        putf(b, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
        return;
    }
    if (n > 3 + keys)
        calls = verbs_of(words[3 + keys], verbs);
    if (calls == 0) { /* by hand */
        me->version++;
        putf(b, "*6\r\n$6\r\nstatus\r\n$2\r\nok\r\n$5\r\nepoch\r\n$16\r\n%016llx\r\n",
             (unsigned long long)FAKE_EPOCH(node));
        put_text(b, "version");
        putf(b, "$20\r\n%020llu\r\n", (unsigned long long)me->version);
        return;
    }
    if (calls > 1)
        putf(b, "*%zu\r\n", calls);
    for (size_t i = 0; i < calls; i++) {
        char answer[FAKE_ANSWER_MAX];

        put(b, answer, fake_answer(verbs[i], FAKE_EPOCH(node), ++me->version, answer));
    }
}

/* ---- what a healthy node says ----------------------------------------------------------- */

static void put_info(struct fake *f, int node, struct bytes *b)
{
    const struct node *me = &f->node[node];
    struct bytes text = { NULL, 0, 0 };
    int replicas = 0;

    for (int i = 0; i < f->n; i++)
        replicas += f->node[i].master == node;
    putf(&text,
         "# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\ntcp_port:%d\r\n"
         "# Memory\r\nmaxmemory_policy:noeviction\r\n"
         "# Persistence\r\nloading:0\r\naof_enabled:1\r\n# Replication\r\n",
         me->port);
    if (me->master != FAKE_NO_NODE)
        putf(&text,
             "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:%d\r\n"
             "master_link_status:up\r\n",
             f->node[me->master].port);
    else
        putf(&text, "role:master\r\n");
    /* what the scripts look at are the first digits */
    node = me->master != FAKE_NO_NODE ? me->master : node;
    putf(&text,
         "connected_slaves:%d\r\nmaster_replid:%04x%04x%032x\r\n# Cluster\r\n"
         "cluster_enabled:1\r\n",
         replicas, (unsigned)node + 1, f->node[node].lives, 0xfa4eu);
    put_bulk(b, text.p, text.n);
    free(text.p);
}

static void put_time(struct bytes *b)
{
    struct timespec t;
    char s[24], us[24];

    clock_gettime(CLOCK_REALTIME, &t);
    (void)snprintf(s, sizeof s, "%lld", (long long)t.tv_sec);
    (void)snprintf(us, sizeof us, "%ld", t.tv_nsec / 1000);
    putf(b, "*2\r\n");
    put_text(b, s);
    put_text(b, us);
}

static void put_cluster_info(const struct node *me, struct bytes *b)
{
    char text[160];
    int n = 0;

    for (int slot = 0; slot < FAKE_SLOTS; slot++)
        n += me->owner[slot] != FAKE_NO_NODE;
    (void)snprintf(text, sizeof text,
                   "cluster_enabled:1\r\ncluster_state:%s\r\ncluster_slots_assigned:%d\r\n",
                   n == FAKE_SLOTS ? "ok" : "fail", n);
    put_text(b, text);
}

/* Constant answers. */
static const struct {
    const char *words, *reply;
} constants[] = {
    { "PING", "+PONG\r\n" },
    { "AUTH", "+OK\r\n" },
    { "CLIENT", "+OK\r\n" },
    { "ASKING", "+OK\r\n" },
    { "READONLY", "+OK\r\n" },
    { "READWRITE", "+OK\r\n" },
    { "SCRIPT FLUSH", "+OK\r\n" },
    { "SELECT 0", "+OK\r\n" },
    { "SELECT", "-ERR SELECT is not allowed in cluster mode\r\n" },
    { "CONFIG GET", "*2\r\n$11\r\nappendfsync\r\n$6\r\nalways\r\n" },
    { "WAIT", ":0\r\n" },
    { "DBSIZE", ":0\r\n" },
    { "SCAN", "*2\r\n$1\r\n0\r\n*0\r\n" },
    { "HSCAN", "*2\r\n$1\r\n0\r\n*0\r\n" },
};

static void answer(struct fake *f, int node, const struct word *words, size_t n, bool asked,
                   struct bytes *b)
{
    struct node *me = &f->node[node];

    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (begin_with(words, n, constants[i].words)) {
            put(b, constants[i].reply, strlen(constants[i].reply));
            return;
        }
    }
    if (begin_with(words, n, "EVALSHA") || begin_with(words, n, "EVAL"))
        run_script(f, node, words, n, asked, b);
    else if (begin_with(words, n, "SCRIPT LOAD") && n == 3)
        put_loaded(me, &words[2], b);
    else if (begin_with(words, n, "INFO"))
        put_info(f, node, b);
    else if (begin_with(words, n, "TIME"))
        put_time(b);
    else if (begin_with(words, n, "CLUSTER SLOTS"))
        put_slots(f, me, b);
    else if (begin_with(words, n, "CLUSTER MYID"))
        put_text(b, me->id);
    else if (begin_with(words, n, "CLUSTER INFO"))
        put_cluster_info(me, b);
    else
        putf(b, "-ERR unknown command '%.*s', with args beginning with: \r\n",
             words[0].n < 64 ? (int)words[0].n : 64, words[0].p);
}

/* ---- rules --------------------------------------------------------------------------- */

/* The rule that decides about @words, and is used by that; NULL: none. */
static const struct rule *rule_for(struct node *node, const struct word *words, size_t n)
{
    for (struct rule *r = node->rules; r != NULL; r = r->next) {
        if ((!r->forever && r->times == 0) ||
            (r->match != NULL && !begin_with(words, n, r->match)) ||
            (r->with != NULL && !one_has(words, n, r->with)))
            continue;
        if (r->skip > 0) {
            r->skip--;
            continue;
        }
        if (!r->forever)
            r->times--;
        return r;
    }
    return NULL;
}

static void hold(struct conn *c)
{
    if (c->held)
        return;
    c->held = true;
    c->held_from = c->out.n;
}

static void take_command(struct fake *f, struct conn *c, const struct word *words, size_t n)
{
    struct node *node = &f->node[c->node];
    const struct rule *r = rule_for(node, words, n);
    enum fake_action action = r != NULL ? r->action : FAKE_PASS;
    bool asked = c->asking;
    struct bytes reply = { NULL, 0, 0 };

    if (action == FAKE_RESET) {
        struct linger now = { 1, 0 };

        (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        if (c->held)
            c->out.n = c->held_from;
        c->held = false;
        c->ending = true;
        return;
    }
    journal(f, node, c, words, n);
    c->asking = begin_with(words, n, "ASKING"); /* for the next one only */
    if (action == FAKE_SILENT)
        c->mute = true;
    if (action == FAKE_HOLD)
        hold(c);
    if (action == FAKE_ERROR)
        put(&reply, "-", 1);
    if (action == FAKE_REPLY || action == FAKE_ERROR || (action == FAKE_CUT && r->text != NULL))
        put(&reply, r->text, r->size);
    else
        answer(f, c->node, words, n, asked, &reply);
    if (action == FAKE_ERROR)
        put(&reply, "\r\n", 2);
    if (action == FAKE_CLOSE)
        reply.n = 0;
    if (action == FAKE_CUT && r->bytes < reply.n)
        reply.n = r->bytes;
    c->ending = action == FAKE_CLOSE || action == FAKE_CUT;
    if (!c->mute)
        put(&c->out, reply.p, reply.n);
    free(reply.p);
}

/* ---- connections ------------------------------------------------------------------------ */

static void take_commands(struct fake *f, struct conn *c)
{
    struct word words[WORDS_MAX];
    size_t n = 0, used = 0;
    int found = 1;

    while (!c->ending && (found = read_command(&c->in, words, &n, &used)) == 1) {
        take_command(f, c, words, n);
        drop(&c->in, used);
    }
    if (found < 0) {
        putf(&c->out, "-ERR Protocol error: expected a list of words\r\n");
        c->ending = true;
    }
}

static bool is_fatal(ssize_t n)
{
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void serve(struct fake *f, struct conn *c, short events)
{
    char buf[READ_MAX];
    size_t ready;
    ssize_t n;

    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
        n = recv(c->fd, buf, sizeof buf, 0);
        if (n > 0 && !c->ending) {
            put(&c->in, buf, (size_t)n);
            take_commands(f, c);
        }
        c->is_over = is_fatal(n);
    }
    ready = c->held ? c->held_from : c->out.n;
    if (ready > 0 && !c->is_over) {
        n = send(c->fd, c->out.p, ready, MSG_NOSIGNAL);
        if (n > 0) {
            drop(&c->out, (size_t)n);
            c->held_from -= c->held ? (size_t)n : 0;
        }
        c->is_over = is_fatal(n);
    }
    if (c->ending && !c->held && c->out.n == 0) {
        /* Unread bytes would turn the close into a reset. */
        while (recv(c->fd, buf, sizeof buf, 0) > 0)
            continue;
        c->is_over = true;
    }
}

static void conn_free(struct conn *c)
{
    (void)close(c->fd);
    free(c->in.p);
    free(c->out.p);
    free(c);
}

/* Return a socket bound to @port (0: any) that does not listen: connecting is refused, and no other
 * process gets the port. */
static int bind_port(int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

    if (fd < 0)
        return -1;
    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void accept_one(struct fake *f, int node)
{
    struct conn *c;
    int fd = accept(f->node[node].listener, NULL, NULL), one = 1;

    if (fd < 0)
        return;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c = grow(NULL, sizeof *c);
    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->node = node;
    c->number = ++f->node[node].connections;
    c->next = f->conns;
    f->conns = c;
    pthread_cond_broadcast(&f->turned);
}

/* ---- the loop -------------------------------------------------------------------------- */

/* Carry out the requests made since the last turn. */
static void obey(struct fake *f)
{
    struct conn **at = &f->conns, *c;

    for (int i = 0; i < f->n; i++) {
        struct node *node = &f->node[i];

        if (node->down == node->is_down)
            continue;
        if (node->down) {
            (void)close(node->listener);
            node->listener = bind_port(node->port);
        }
        if (node->listener < 0 || (!node->down && listen(node->listener, 64) != 0))
            die("port");
        node->is_down = node->down;
    }
    while ((c = *at) != NULL) {
        const struct node *node = &f->node[c->node];

        if (node->release) {
            c->held = false;
            serve(f, c, 0);
        }
        if (c->is_over || node->drop || f->stop) {
            *at = c->next;
            conn_free(c);
        } else {
            at = &c->next;
        }
    }
    for (int i = 0; i < f->n; i++)
        f->node[i].release = f->node[i].drop = false;
    f->turns = f->asked;
    pthread_cond_broadcast(&f->turned);
}

static void *loop(void *payload)
{
    struct fake *f = payload;
    struct pollfd *fds = NULL;
    char drain[64];

    pthread_mutex_lock(&f->lock);
    for (;;) {
        struct conn *c;
        size_t n = 1 + (size_t)f->n;

        obey(f);
        if (f->stop)
            break;
        for (c = f->conns; c != NULL; c = c->next)
            n++;
        fds = grow(fds, n * sizeof *fds);
        fds[0] = (struct pollfd){ f->wake[0], POLLIN, 0 };
        for (int i = 0; i < f->n; i++)
            fds[1 + i] =
                (struct pollfd){ f->node[i].is_down ? -1 : f->node[i].listener, POLLIN, 0 };
        n = 1 + (size_t)f->n;
        for (c = f->conns; c != NULL; c = c->next) {
            bool to_send = (c->held ? c->held_from : c->out.n) > 0;

            fds[n++] = (struct pollfd){ c->fd, (short)(POLLIN | (to_send ? POLLOUT : 0)), 0 };
        }

        pthread_mutex_unlock(&f->lock);
        if (poll(fds, (nfds_t)n, -1) < 0 && errno != EINTR)
            die("poll");
        pthread_mutex_lock(&f->lock);

        if (fds[0].revents != 0 && read(f->wake[0], drain, sizeof drain) < 0 && errno != EAGAIN)
            die("read");
        /* A request that came since then goes first: start another turn. */
        if (f->turns != f->asked || f->stop)
            continue;
        n = 1 + (size_t)f->n;
        for (c = f->conns; c != NULL; c = c->next, n++)
            if (fds[n].revents != 0)
                serve(f, c, fds[n].revents);
        for (int i = 0; i < f->n; i++)
            if (fds[1 + i].revents != 0)
                accept_one(f, i);
    }
    pthread_mutex_unlock(&f->lock);
    free(fds);
    return NULL;
}

/* ---- for the test ---------------------------------------------------------------------- */

static void knock(struct fake *f)
{
    if (write(f->wake[1], "", 1) < 0 && errno != EAGAIN)
        die("write");
}

/* With the lock held: wakes the loop and waits until it has turned. */
static void ask(struct fake *f)
{
    uint64_t mine = ++f->asked;

    knock(f);
    while (f->turns < mine)
        pthread_cond_wait(&f->turned, &f->lock);
}

/* Locks.  The nodes that @node means are from *@first up to @return. */
static int begin(struct fake *f, int node, int *first)
{
    if (node < FAKE_ALL || node >= f->n) {
        errno = EINVAL;
        die("no such node");
    }
    pthread_mutex_lock(&f->lock);
    *first = node == FAKE_ALL ? 0 : node;
    return node == FAKE_ALL ? f->n : node + 1;
}

static void rules_free(struct node *node)
{
    while (node->rules != NULL) {
        struct rule *r = node->rules;

        node->rules = r->next;
        free(r->match);
        free(r->with);
        free(r->text);
        free(r);
    }
}

static void node_done(struct node *node)
{
    if (node->listener >= 0)
        (void)close(node->listener);
    rules_free(node);
    for (unsigned i = 0; i < node->n_lines; i++)
        free(node->lines[i]);
    free(node->lines);
    free(node->scripts);
}

/* Free everything but the thread. */
static void fake_free(struct fake *f)
{
    for (int i = 0; i < f->n; i++)
        node_done(&f->node[i]);
    for (int i = 0; i < 2; i++)
        if (f->wake[i] >= 0)
            (void)close(f->wake[i]);
    free(f->node);
    free(f);
}

static bool node_begin(struct node *node, int i, int nodes)
{
    struct sockaddr_in a;
    socklen_t len = sizeof a;

    node->master = FAKE_NO_NODE;
    node->knows_any = true;
    (void)snprintf(node->id, sizeof node->id, "%040x", 0xfa4e0000u + (unsigned)i);
    for (int slot = 0; slot < FAKE_SLOTS; slot++) {
        node->went_to[slot] = FAKE_NO_NODE;
        for (int k = 0; k < nodes; k++)
            if (slot >= k * FAKE_SLOTS / nodes)
                node->owner[slot] = (int8_t)k;
    }
    node->listener = bind_port(0);
    if (node->listener < 0 || listen(node->listener, 64) != 0 ||
        getsockname(node->listener, (struct sockaddr *)&a, &len) != 0)
        return false;
    node->port = ntohs(a.sin_port);
    return true;
}

struct fake *fake_start(int nodes)
{
    struct fake *f = grow(NULL, sizeof *f);
    pthread_condattr_t attr;
    sigset_t all, old;
    bool good = true;

    if (nodes < 1 || nodes > FAKE_NODES_MAX) {
        errno = EINVAL;
        die("fake_start");
    }
    memset(f, 0, sizeof *f);
    f->node = grow(NULL, (size_t)nodes * sizeof *f->node);
    memset(f->node, 0, (size_t)nodes * sizeof *f->node);
    f->wake[0] = f->wake[1] = -1;
    for (; f->n < nodes && good; f->n++)
        good = node_begin(&f->node[f->n], f->n, nodes);
    if (!good || pipe(f->wake) != 0) {
        fake_free(f);
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        if (fcntl(f->wake[i], F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(f->wake[i], F_SETFL, O_NONBLOCK) != 0)
            die("fcntl");
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->turned, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the test's threads */
    errno = pthread_create(&f->thread, NULL, loop, f);
    if (errno != 0)
        die("pthread_create");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return f;
}

void fake_stop(struct fake *f)
{
    if (f == NULL)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    knock(f);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->turned);
    pthread_mutex_destroy(&f->lock);
    fake_free(f);
}

int fake_port(const struct fake *f, int node)
{
    return f->node[node].port;
}

const char *fake_id(const struct fake *f, int node)
{
    return f->node[node].id;
}

const char *fake_url(const struct fake *f, char buf[FAKE_URL_MAX])
{
    size_t n = (size_t)snprintf(buf, FAKE_URL_MAX, "redis+cluster://");

    for (int i = 0; i < f->n; i++)
        n += (size_t)snprintf(buf + n, FAKE_URL_MAX - n, "%s127.0.0.1:%d", i > 0 ? "," : "",
                              f->node[i].port);
    return buf;
}

int fake_slot(const char *key)
{
    return slot_of(key, strlen(key));
}

void fake_give(struct fake *f, int seen_by, int first, int last, int owner)
{
    int i, end = begin(f, seen_by, &i);

    if (first < 0 || last >= FAKE_SLOTS || owner < FAKE_NO_NODE || owner >= f->n) {
        errno = EINVAL;
        die("fake_give");
    }
    for (; i < end; i++)
        for (int slot = first; slot <= last; slot++)
            f->node[i].owner[slot] = (int8_t)owner;
    pthread_mutex_unlock(&f->lock);
}

void fake_migrate(struct fake *f, int slot, int from, int to)
{
    int i;

    if (slot < 0 || slot >= FAKE_SLOTS || from < 0 || from >= f->n || to < 0 || to >= f->n) {
        errno = EINVAL;
        die("fake_migrate");
    }
    (void)begin(f, FAKE_ALL, &i);
    f->node[from].went_to[slot] = (int8_t)to;
    f->node[to].imports[slot] = true;
    pthread_mutex_unlock(&f->lock);
}

void fake_migrated(struct fake *f, int slot, int owner)
{
    int i, end;

    fake_give(f, FAKE_ALL, slot, slot, owner);
    for (end = begin(f, FAKE_ALL, &i); i < end; i++) {
        f->node[i].went_to[slot] = FAKE_NO_NODE;
        f->node[i].imports[slot] = false;
    }
    pthread_mutex_unlock(&f->lock);
}

void fake_follow(struct fake *f, int node, int master)
{
    int i;

    if (node < 0 || master < FAKE_NO_NODE || master >= f->n || master == node) {
        errno = EINVAL;
        die("fake_follow");
    }
    (void)begin(f, node, &i);
    f->node[node].lives += master == FAKE_NO_NODE && f->node[node].master != FAKE_NO_NODE;
    f->node[node].master = master;
    pthread_mutex_unlock(&f->lock);
}

void fake_flush_scripts(struct fake *f, int node)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++) {
        f->node[i].knows_any = false;
        f->node[i].n_scripts = 0;
    }
    pthread_mutex_unlock(&f->lock);
}

void fake_rule(struct fake *f, int node, const struct fake_rule *rule)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++) {
        struct rule *r = grow(NULL, sizeof *r), **last = &f->node[i].rules;

        memset(r, 0, sizeof *r);
        if (rule->match != NULL)
            r->match = copy_of(rule->match, strlen(rule->match));
        if (rule->with != NULL)
            r->with = copy_of(rule->with, strlen(rule->with));
        if (rule->text != NULL) {
            r->size = rule->size > 0 ? rule->size : strlen(rule->text);
            r->text = copy_of(rule->text, r->size);
        }
        r->bytes = rule->bytes;
        r->skip = rule->skip;
        r->times = rule->times;
        r->forever = rule->times == 0;
        r->action = rule->action;
        while (*last != NULL)
            last = &(*last)->next;
        *last = r;
    }
    pthread_mutex_unlock(&f->lock);
}

void fake_error(struct fake *f, int node, const char *match, unsigned times, const char *format,
                ...)
{
    struct fake_rule r = { .match = match, .times = times, .action = FAKE_ERROR };
    char text[TEXT_MAX];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    r.text = text;
    fake_rule(f, node, &r);
}

void fake_clear(struct fake *f, int node)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++)
        rules_free(&f->node[i]);
    pthread_mutex_unlock(&f->lock);
}

void fake_release(struct fake *f, int node)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++)
        f->node[i].release = true;
    ask(f);
    pthread_mutex_unlock(&f->lock);
}

void fake_drop(struct fake *f, int node)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++)
        f->node[i].drop = true;
    ask(f);
    pthread_mutex_unlock(&f->lock);
}

void fake_down(struct fake *f, int node, bool down)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++) {
        f->node[i].down = down;
        f->node[i].drop |= down;
    }
    ask(f);
    pthread_mutex_unlock(&f->lock);
}

static unsigned seen(const struct fake *f, int first, int end, const char *match)
{
    unsigned n = 0;

    for (int i = first; i < end; i++)
        for (unsigned k = 0; k < f->node[i].n_lines; k++)
            n += line_begins_with(f->node[i].lines[k], match);
    return n;
}

unsigned fake_seen(struct fake *f, int node, const char *match)
{
    int i, end = begin(f, node, &i);
    unsigned n = seen(f, i, end, match);

    pthread_mutex_unlock(&f->lock);
    return n;
}

bool fake_wait_seen(struct fake *f, int node, const char *match, unsigned n, int timeout_ms)
{
    struct timespec until;
    int i, end;
    bool done;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    end = begin(f, node, &i);
    while (!(done = seen(f, i, end, match) >= n) &&
           pthread_cond_timedwait(&f->turned, &f->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&f->lock);
    return done;
}

unsigned fake_connections(struct fake *f, int node)
{
    int i, end = begin(f, node, &i);
    unsigned n = 0;

    for (; i < end; i++)
        n += f->node[i].connections;
    pthread_mutex_unlock(&f->lock);
    return n;
}

const char *fake_line(struct fake *f, int node, unsigned i)
{
    int first;
    const char *line;

    (void)begin(f, node, &first);
    line = i < f->node[first].n_lines ? f->node[first].lines[i] : NULL;
    pthread_mutex_unlock(&f->lock);
    return line;
}

void fake_forget(struct fake *f, int node)
{
    int i, end = begin(f, node, &i);

    for (; i < end; i++) {
        for (unsigned k = 0; k < f->node[i].n_lines; k++)
            free(f->node[i].lines[k]);
        f->node[i].n_lines = 0;
    }
    pthread_mutex_unlock(&f->lock);
}
