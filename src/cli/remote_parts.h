/* SPDX-License-Identifier: MIT */
/* Parts of the client of `usher serve` (remote.c): its URL, and commands as words. */
#ifndef USHER_CLI_REMOTE_PARTS_H
#define USHER_CLI_REMOTE_PARTS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "cli/remote.h"

#define REMOTE_WHAT_MAX 256

/* The address of a server, and the options of its URL. */
struct remote_place {
    struct sockaddr_storage address;
    socklen_t size;
    bool file;                  /* a socket file */
    char what[REMOTE_WHAT_MAX]; /* in messages */
    int64_t timeout_ms;
    char secret[REMOTE_SECRET_MAX]; /* "": none */
};

/* Return NULL, or the fault in @url. */
const char *usher__remote_place(const char *url, struct remote_place *p);

/* Bytes that grow; those from `from` to `end` are used. */
struct bytes {
    char *data;
    size_t room, from, end;
};

/* Return the place after the end, with at least @size bytes. */
char *usher__bytes_space(struct bytes *b, size_t size);
void usher__bytes_put(struct bytes *b, const char *text);
/* Append a text as a word of a command. */
void usher__bytes_word(struct bytes *b, const char *text, size_t size);
/* Append a command. */
void usher__bytes_command(struct bytes *to, const struct usher_operation *op);

#endif
