/* SPDX-License-Identifier: MIT */
/*
 * Requests of Redis' protocol: bytes in, words out.  No I/O and no memory of its own.
 *
 *   *2\r\n$4\r\nPING\r\n$2\r\nhi\r\n      an array of texts, as programs send it
 *   PING "hi"\n                           inline: a line, as people type it, quoted as in the shell
 *
 * Nothing is kept between two calls: bytes that are no whole command yet are looked at again with
 * those that come, but not before there are as many as are known to be needed.  How long a command
 * and how many its words may be is bounded, and so is the work that its sender can cause.
 */
#ifndef USHER_SERVE_RESP_H
#define USHER_SERVE_RESP_H

#include <stdbool.h>
#include <stddef.h>

#define RESP_LINE_MAX 65536 /* bytes of an inline command */

struct resp_limits {
    size_t words, bytes; /* of one command */
};

struct resp_command {
    char **word;  /* each ends with a NUL */
    size_t *size; /* without it */
    size_t n;     /* 0: nothing to be done */
};

enum resp_result { RESP_COMMAND, RESP_MORE, RESP_FAULT };

/*
 * The command at @data.  RESP_COMMAND: it has *@ret_size bytes, and its words stand there, in
 * place: there are NULs now where lines ended.  RESP_MORE: it is not whole, and @data is as it was;
 * *@ret_size bytes are needed, perhaps more.  RESP_FAULT: it is none, and *@ret_fault says why.
 *
 * @command has room for @limits->words words, @line for RESP_LINE_MAX + 1 bytes.
 */
enum resp_result usher__resp_parse(char *data, size_t size, const struct resp_limits *limits,
                                   char *line, struct resp_command *command, size_t *ret_size,
                                   const char **ret_fault);

#endif
