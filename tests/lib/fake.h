/* SPDX-License-Identifier: MIT */
/*
 * fake -- nodes of a Redis Cluster that send the replies a test sets: those that real servers
 * seldom send, and those of other versions.
 *
 * Each node listens on a free port of 127.0.0.1 and speaks RESP2.  Without rules it looks like a
 * healthy master: it answers the handshake of a client, has a slot map, and redirects.  Calls of
 * our scripts get a plain `ok` whose epoch is FAKE_EPOCH(node) and whose version counts the
 * commands that this node has run, so a test sees which node ran which command.  A node keeps no
 * data.  A reply that a test makes up replaces all that:
 *
 *     struct fake *f = fake_start(3);
 *     fake_error(f, 1, "EVALSHA", 1, "ASK %d 127.0.0.1:%d", slot, fake_port(f, 2));
 *     ... node 1 sends the next call of a script on to node 2 ...
 *     assert_int_equal(fake_seen(f, 2, "ASKING"), 1);
 *
 * A rule is for the commands that begin with its words.  The first rule of a node that fits and is
 * not used up decides.  A command is journalled before it is answered.  proxy.h is for faults
 * between a client and a real server.
 *
 * One thread of its own serves all nodes.  Every function may be called from any thread; what it
 * sets holds for all commands that were not yet taken in.  Without memory, or for a node that does
 * not exist, a function aborts.
 */
#ifndef USHER_TESTS_FAKE_H
#define USHER_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

#define FAKE_NODES_MAX 16
#define FAKE_SLOTS 16384
#define FAKE_ALL (-1)     /* instead of a node: each of them, or all together */
#define FAKE_NO_NODE (-1) /* as an owner or a master: none */
#define FAKE_URL_MAX 512
#define FAKE_EPOCH(node) ((uint64_t)(node) + 1)

struct fake;

/* Start nodes that share the slots evenly in order, as those of redis_cluster_start(), each with
 * that map.  Returns NULL if there is no free port. */
struct fake *fake_start(int nodes);
void fake_stop(struct fake *f); /* takes NULL */

int fake_port(const struct fake *f, int node);
const char *fake_id(const struct fake *f, int node); /* 40 digits */
/* redis+cluster://127.0.0.1:port,127.0.0.1:port...; returns @buf. */
const char *fake_url(const struct fake *f, char buf[FAKE_URL_MAX]);
int fake_slot(const char *key);

/* ---- their slot maps and roles ---- */

/* Set the map of @seen_by: @owner has the slots @first to @last. */
void fake_give(struct fake *f, int seen_by, int first, int last, int owner);

/* Move the keys of @slot from @from to @to, which accepts commands after ASKING; the owner of the
 * slot stays. */
void fake_migrate(struct fake *f, int slot, int from, int to);
/* End the migration: every map names @owner. */
void fake_migrated(struct fake *f, int slot, int owner);

/* Make @node a replica of @master.  FAKE_NO_NODE makes it a master with a new replication id. */
void fake_follow(struct fake *f, int node, int master);

/* Let @node forget all scripts, so that they must be loaded again.  Before, it knows any. */
void fake_flush_scripts(struct fake *f, int node);

/* ---- their behaviour ---- */

enum fake_action {
    FAKE_REPLY,  /* send @text, which is RESP */
    FAKE_ERROR,  /* send the error @text, which has no dash and no line end */
    FAKE_PASS,   /* as without a rule: for those before another rule */
    FAKE_HOLD,   /* as without a rule, but neither this nor what follows on the connection before
                  * fake_release() */
    FAKE_SILENT, /* this and all that follows on the connection is taken, and never answered */
    FAKE_CUT,    /* send the first @bytes bytes of @text (NULL: of its own reply), close */
    FAKE_CLOSE,  /* run it, close without an answer */
    FAKE_RESET   /* break the connection as if it had not been read: it is not run and not in the
                  * journal */
};

struct fake_rule {
    const char *match; /* words that the command begins with, in any case; NULL: any command */
    const char *with;  /* and that are in one of its words; NULL: anything */
    unsigned skip;     /* number of matching commands that pass first */
    unsigned times;    /* number of commands after those that the rule is for; 0: no limit */
    enum fake_action action;
    const char *text; /* all texts are copied */
    size_t size;      /* of @text; 0: up to its NUL */
    size_t bytes;
};

/* Append a rule to those of @node.  FAKE_ALL: to those of each node, with a count for each. */
void fake_rule(struct fake *f, int node, const struct fake_rule *r);
/* Append a rule that sends an error. */
void fake_error(struct fake *f, int node, const char *match, unsigned times, const char *format,
                ...) __attribute__((format(printf, 5, 6)));
void fake_clear(struct fake *f, int node); /* no rules any more */
void fake_release(struct fake *f, int node);

/* These return when the effect is there. */
void fake_drop(struct fake *f, int node);            /* all its connections are closed */
void fake_down(struct fake *f, int node, bool down); /* and further ones refused */

/* ---- the commands that they received ---- */

/* Return the number of commands that begin with the words @match; NULL: any. */
unsigned fake_seen(struct fake *f, int node, const char *match);
/* Wait until there are at least @n of them. */
bool fake_wait_seen(struct fake *f, int node, const char *match, unsigned n, int timeout_ms);
/* Return the number of accepted connections. */
unsigned fake_connections(struct fake *f, int node);

/* Command @i of those that came to @node: the number of its connection, from 1, then its words.
 * An unprintable byte is '?', and the rest of many or long words is left out.  NULL if @node has
 * received fewer.  Lives until fake_forget() or fake_stop(). */
const char *fake_line(struct fake *f, int node, unsigned i);
void fake_forget(struct fake *f, int node);

/* ---- answers of scripts ---- */

#define FAKE_ANSWER_MAX 512

/* Write the RESP of the script's answer to one command @verb, without rows.  Returns its size. */
size_t fake_answer(enum usher_verb verb, uint64_t epoch, uint64_t version,
                   char to[FAKE_ANSWER_MAX]);

#endif
