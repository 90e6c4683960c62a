/* SPDX-License-Identifier: MIT */
/* The messages of a connection. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "conn_parts.h"

/* Shorter passwords, in bytes, are short ones for usher__redis_conn_say_reply(). */
#define SHORT_PASSWORD 6

/* Not strerror(): it depends on the locale and, on some systems, is not thread-safe. */
static const char *errno_text(int e)
{
    /* clang-format off */
    switch (e) {
    case ECONNREFUSED:  return "connection refused";
    case ECONNRESET:    return "connection reset by the server";
    case ECONNABORTED:  return "connection aborted";
    case EPIPE:         return "connection closed by the server";
    case ETIMEDOUT:     return "timed out";
    case EHOSTUNREACH:  return "no route to the host";
    case ENETUNREACH:   return "network unreachable";
    case EADDRNOTAVAIL: return "address not available";
    case EAFNOSUPPORT:  return "address family not supported";
    case ENOENT:        return "no such socket file";
    case ENOTSOCK:      return "not a socket";
    case EACCES:
    case EPERM:         return "permission denied";
    case EMFILE:
    case ENFILE:        return "too many open files";
    case ENOBUFS:
    case ENOMEM:        return "the system is out of memory";
    default:            return "system error";
    }
    /* clang-format on */
}

struct line {
    char *text;
    size_t size, len;
};

static void line_add(struct line *l, const char *p, size_t n)
{
    for (size_t i = 0; i < n && l->len + 1 < l->size; i++) {
        if (p[i] == '\r' || p[i] == '\n' || p[i] == '\t')
            l->text[l->len++] = ' ';
        else if (p[i] >= 0x20 && p[i] < 0x7f)
            l->text[l->len++] = p[i];
        else
            l->text[l->len++] = '?';
    }
    l->text[l->len] = '\0';
}

static void line_add_str(struct line *l, const char *s)
{
    line_add(l, s, strlen(s));
}

static void line_add_u64(struct line *l, uint64_t v)
{
    char buf[20];
    char *p = digits(buf + sizeof buf, v);

    line_add(l, p, (size_t)(buf + sizeof buf - p));
}

static struct line message_begin(struct usher__redis_conn *c)
{
    struct line l = { c->message, sizeof c->message / 2, 0 };

    /* A long host name must leave space for the rest of the message. */
    line_add_str(&l, "redis ");
    if (c->opt.unix_path != NULL) {
        line_add_str(&l, c->opt.unix_path);
    } else {
        bool v6 = strchr(c->opt.host, ':') != NULL;

        line_add_str(&l, v6 ? "[" : "");
        line_add_str(&l, c->opt.host);
        line_add_str(&l, v6 ? "]:" : ":");
        line_add_u64(&l, c->opt.port);
    }
    l.size = sizeof c->message;
    line_add_str(&l, ": ");
    return l;
}

void usher__redis_conn_say(struct usher__redis_conn *c, const char *what, const char *detail)
{
    struct line l = message_begin(c);

    line_add_str(&l, what);
    line_add_str(&l, detail);
}

void usher__redis_conn_say_errno(struct usher__redis_conn *c, const char *what, int e)
{
    struct line l = message_begin(c);

    line_add_str(&l, what);
    line_add_str(&l, errno_text(e));
    line_add_str(&l, " (errno ");
    line_add_u64(&l, e < 0 ? 0 : (uint64_t)e);
    line_add_str(&l, ")");
}

/* Return the size of @text up to the arguments of the command, which an error may repeat. */
static size_t without_arguments(const char *text, size_t len)
{
    static const char words[] = ", with args beginning with";
    size_t i = 0;

    while (i < len &&
           (len - i < sizeof words - 1 || memcmp(text + i, words, sizeof words - 1) != 0))
        i++;
    return i;
}

/* Append @text with "***" for each argument in quotes that is equal to @secret. */
static void line_add_quoting(struct line *l, const char *text, size_t len, const char *secret)
{
    size_t n = strlen(secret);

    for (size_t i = 0; i < len; i++) {
        line_add(l, text + i, 1);
        if (len - i >= n + 2 && strchr("'\"`", text[i]) != NULL && text[i + n + 1] == text[i] &&
            memcmp(text + i + 1, secret, n) == 0) {
            line_add_str(l, "***");
            i += n;
        }
    }
}

/*
 * Servers and proxies repeat the arguments of commands that they refuse.  A text that contains the
 * password is not shown.  A short password may be part of any word.  Omitting such a text, or these
 * bytes of it, would hide why a command was refused, and reveal the password.  So a short password
 * is left out only if it is an argument in quotes.
 */
void usher__redis_conn_say_reply(struct usher__redis_conn *c, const char *text, size_t len)
{
    const char *secret = c->opt.password != NULL ? c->opt.password : "";
    struct line l = message_begin(c);
    size_t begin = l.len, n = strlen(secret);

    len = without_arguments(text, len);
    if (n > 0 && n < SHORT_PASSWORD) {
        line_add_quoting(&l, text, len, secret);
        return;
    }
    line_add(&l, text, len);
    if (n > 0 &&
        (contains(text, len, secret, n) || contains(l.text + begin, l.len - begin, secret, n))) {
        l.len = begin;
        line_add_str(&l, "an error that repeats the password");
    }
}

const char *usher__redis_conn_message(const struct usher__redis_conn *c)
{
    return c->message;
}

void usher__redis_conn_refuse(struct usher__redis_conn *c, const char *why)
{
    usher__redis_conn_say(c, why, "");
}

void usher__redis_conn_note(struct usher__redis_conn *c, const char *line)
{
    struct line l = { c->message, sizeof c->message, 0 };

    line_add_str(&l, line);
}

const char *usher__redis_conn_explain(struct usher__redis_conn *c, const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        usher__redis_conn_say_reply(c, reply->str, reply->len);
    else
        usher__redis_conn_say(c, "a reply of the wrong type", "");
    return c->message;
}
