/* SPDX-License-Identifier: MIT */
/*
 * The store of a server: usher+unix:PATH and usher+tcp:HOST:PORT.
 *
 * Commands are sent in the words of its protocol, and their replies come packed, so the program
 * prints them as it prints those of its own engine.  One connection; commands may be sent ahead of
 * their replies.  Nothing of a reply is trusted.
 */
#ifndef USHER_CLI_REMOTE_H
#define USHER_CLI_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/command.h>
#include <usher/store/operation.h>

#define REMOTE_MESSAGE_MAX 192
#define REMOTE_SECRET_MAX 512

struct remote;

/* A value of an answer. */
struct remote_value {
    enum {
        REMOTE_NULL,
        REMOTE_TEXT,
        REMOTE_INT,
        REMOTE_BOOL,
        REMOTE_ERROR,
        REMOTE_LIST,
        REMOTE_MAP
    } type;
    struct usher_text text; /* ends with a NUL */
    int64_t number;
    size_t n; /* of a list; of a map, keys and values */
    struct remote_value *of;
};

/* Return whether @url is of a server. */
bool usher__remote_is(const char *url);

/* Connect to the server @url.  USHER_OK, or the reason is in @message. */
enum usher_status usher__remote_open(const char *url, struct remote **ret,
                                     char message[REMOTE_MESSAGE_MAX]);
/* NULL is allowed. */
void usher__remote_close(struct remote *r);

/* Execute @n commands.  Each has a reply, also if the server does not answer; the caller releases
 * it. */
void usher__remote_execute(struct remote *r, const struct usher_operation *commands,
                           struct usher_reply **ret_replies, size_t n);

/* Send @n words and read the answer, which the caller frees.  @long_ms: the deadline of its first
 * byte, 0: that of the URL, which is the deadline of the rest.  Return USHER_OK if the answer is a
 * map with the keys @needs, up to NULL; else the status and the message of the failure. */
enum usher_status usher__remote_ask(struct remote *r, const char *const *words, size_t n,
                                    int64_t long_ms, const char *const *needs,
                                    struct remote_value *ret, char message[REMOTE_MESSAGE_MAX]);
void usher__remote_value_free(struct remote_value *v);
/* Return the value of @key in the map @v; NULL: it has none of that type. */
const struct remote_value *usher__remote_get(const struct remote_value *v, const char *key,
                                             int type);

/* Subscribe to @scope, which is NOUN/NAME, on a connection of its own.  Return false if there is
 * none. */
bool usher__remote_listen(struct remote *r, const char *scope);
/* Wait at most @ms, or until the server has sent something to that connection.  Return false if the
 * connection has ended: its subscriptions have to be made again. */
bool usher__remote_wait(struct remote *r, int64_t ms);

/* Read the first line of @path, which only its owner may read or write.  NULL, or the fault. */
const char *usher__secret_read(const char *path, char secret[REMOTE_SECRET_MAX]);

#endif
