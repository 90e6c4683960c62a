/* SPDX-License-Identifier: MIT */
/* The URL of a Redis store: the servers, the user, and the options.  Everything in it is hostile.
 */
#include "config.h"

#include "redis.h"

#include <string.h>

#include "store.h"

static bool decimal(const char *text, size_t size, int64_t max, int64_t *ret)
{
    int64_t value = 0;

    if (size == 0 || size > 9)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret = value;
    return value <= max;
}

static bool part(const char *from, size_t size, char *to, size_t room)
{
    return usher_url_unescape(from, size, to, room) == USHER_OK;
}

/* [user[:password]@]; *@ret_rest is the rest. */
static const char *user(struct usher__redis *r, const char *text, size_t size,
                        struct usher__redis_conn_options *o, const char **ret_rest)
{
    const char *at = NULL, *colon;

    *ret_rest = text;
    for (const char *p = text; p < text + size; p++)
        if (*p == '@')
            at = p;
    if (at == NULL)
        return NULL;
    colon = memchr(text, ':', (size_t)(at - text));
    if (!part(text, (size_t)((colon != NULL ? colon : at) - text), r->user, sizeof r->user))
        return "user";
    if (colon != NULL &&
        !part(colon + 1, (size_t)(at - colon - 1), r->password, sizeof r->password))
        return "password";
    if (r->user[0] != '\0')
        o->user = r->user;
    if (colon != NULL)
        o->password = r->password;
    *ret_rest = at + 1;
    return NULL;
}

/* host[:port]; IPv6 in brackets. */
static const char *address(const char *host, const char *end, uint16_t usual_port,
                           struct usher__redis_address *to)
{
    const char *colon;
    int64_t port;

    if (host < end && *host == '[') {
        const char *close = memchr(host, ']', (size_t)(end - host));

        if (close == NULL || close == host + 1 ||
            !part(host + 1, (size_t)(close - host - 1), to->host, sizeof to->host))
            return "host";
        colon = close + 1 < end ? close + 1 : NULL;
        if (colon != NULL && *colon != ':')
            return "host";
    } else {
        colon = memchr(host, ':', (size_t)(end - host));
        if (!part(host, (size_t)((colon != NULL ? colon : end) - host), to->host, sizeof to->host))
            return "host";
    }
    for (const char *p = to->host; *p != '\0'; p++)
        if ((unsigned char)*p <= 0x20 || *p == 0x7f)
            return "host";
    if (to->host[0] == '\0')
        memcpy(to->host, "127.0.0.1", 10);
    to->port = usual_port;
    if (colon != NULL) {
        if (!decimal(colon + 1, (size_t)(end - colon - 1), 65535, &port) || port == 0)
            return "port";
        to->port = (uint16_t)port;
    }
    return NULL;
}

/* [user[:password]@]address[,address…] */
static const char *authority(struct usher__redis *r, const char *text, size_t size,
                             uint16_t usual_port, struct usher__redis_conn_options *o)
{
    const char *host, *end = text + size, *fault = user(r, text, size, o, &host);

    while (fault == NULL) {
        const char *comma = memchr(host, ',', (size_t)(end - host));

        if (r->n_hosts == USHER__REDIS_HOSTS_MAX)
            return "list of hosts (there are more than 32)";
        if (comma != NULL && (comma == host || comma + 1 == end))
            return "host";
        fault = address(host, comma != NULL ? comma : end, usual_port, &r->hosts[r->n_hosts++]);
        if (comma == NULL)
            break;
        host = comma + 1;
    }
    memcpy(r->host, r->hosts[0].host, sizeof r->host);
    o->host = r->host;
    o->port = r->hosts[0].port;
    return fault;
}

/* /NAME: of the master that Sentinels watch. */
static const char *master_name(struct usher__redis *r, const char *slash)
{
    if (slash == NULL || !part(slash + 1, strlen(slash + 1), r->sentinel, sizeof r->sentinel) ||
        r->sentinel[0] == '\0')
        return "name of the master (redis+sentinel://HOST[:PORT],…/NAME)";
    for (const char *p = r->sentinel; *p != '\0'; p++)
        if (*p < 0x21 || *p > 0x7e || *p == '/')
            return "name of the master";
    return NULL;
}

static bool is_file_option(const char *key)
{
    return strcmp(key, "ca") == 0 || strcmp(key, "cert") == 0 || strcmp(key, "key") == 0;
}

bool usher__redis_is_tls_option(const char *key)
{
    return is_file_option(key) || strcmp(key, "tls-name") == 0;
}

/* An option of `rediss:`.  Returns the fault, or NULL. */
static const char *tls_option(struct usher__redis *r, const struct usher_url_option *option,
                              struct usher__redis_conn_options *o)
{
    size_t size = strlen(option->value);
    bool is_ca = strcmp(option->key, "ca") == 0, is_cert = strcmp(option->key, "cert") == 0;
    char *file = is_ca ? r->ca : is_cert ? r->cert : r->key;

    if (is_file_option(option->key)) {
        if (size == 0 || size >= USHER__REDIS_FILE_MAX)
            return is_ca ? "file of ca=" : is_cert ? "file of cert=" : "file of key=";
        memcpy(file, option->value, size + 1);
        *(is_ca ? &o->tls.ca : is_cert ? &o->tls.cert : &o->tls.key) = file;
        return NULL;
    }
    for (const char *p = option->value; *p != '\0'; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && !(*p >= '0' && *p <= '9') &&
            strchr(".-_:", *p) == NULL)
            return "name in tls-name=";
    if (size == 0 || size >= sizeof r->tls_name || option->value[0] == '.')
        return "name in tls-name=";
    memcpy(r->tls_name, option->value, size + 1);
    o->tls.name = r->tls_name;
    return NULL;
}

const char *usher__redis_parse(struct usher__redis *r, struct usher_url *url)
{
    struct usher__redis_conn_options *o = &r->options;
    const char *rest = url->rest, *slash, *fault;
    bool sentinels = strstr(url->scheme, "+sentinel") != NULL;

    memcpy(r->client_name, "usher", 6);
    o->client_name = r->client_name;
    o->over_tls = strncmp(url->scheme, "rediss", 6) == 0;
    if (strncmp(rest, "//", 2) != 0)
        return "URL (no // after the scheme)";
    rest += 2;
    if (strcmp(url->scheme, "redis+unix") == 0) {
        fault = user(r, rest, strcspn(rest, "/"), o, &rest);
        if (fault != NULL)
            return fault;
        if (!part(rest, strlen(rest), r->host, sizeof r->host) || r->host[0] != '/')
            return "path of the socket";
        o->unix_path = r->host;
    } else {
        slash = strchr(rest, '/');
        fault = authority(r, rest, slash != NULL ? (size_t)(slash - rest) : strlen(rest),
                          sentinels ? 26379 : 6379, o);
        if (fault == NULL && sentinels)
            fault = master_name(r, slash);
        if (fault != NULL)
            return fault;
        if (!sentinels && slash != NULL && slash[1] != '\0' &&
            !decimal(slash + 1, strlen(slash + 1), 1000000, &o->db))
            return "number of the database";
    }
    for (size_t i = 0; i < url->n_options; i++) {
        struct usher_url_option *option = &url->options[i];

        if (option->used) /* an option of the engine */
            continue;
        option->used = true;
        if (strcmp(option->key, "db") == 0) {
            if (o->db != 0 || !decimal(option->value, strlen(option->value), 1000000, &o->db))
                return "number of the database";
        } else if (strcmp(option->key, "prefix") == 0) {
            size_t size = strlen(option->value);

            for (const char *p = option->value; *p != '\0'; p++)
                if ((unsigned char)*p < 0x21 || *p == 0x7f || *p == '{' || *p == '}')
                    return "prefix";
            if (size > USHER__REDIS_PREFIX_MAX)
                return "prefix";
            memcpy(r->prefix, option->value, size + 1);
        } else if (strcmp(option->key, "password-file") == 0) {
            size_t size = strlen(option->value);

            if (o->password != NULL)
                return "option password-file= (there is a password, too)";
            if (size == 0 || size >= sizeof r->password_file)
                return "file of password-file=";
            memcpy(r->password_file, option->value, size + 1);
        } else if (strcmp(option->key, "name") == 0) {
            size_t size = strlen(option->value);

            for (const char *p = option->value; *p != '\0'; p++)
                if (*p < 0x21 || *p > 0x7e)
                    return "name";
            if (size == 0 || size >= sizeof r->client_name)
                return "name";
            memcpy(r->client_name, option->value, size + 1);
        } else if (o->over_tls && usher__redis_is_tls_option(option->key)) {
            fault = tls_option(r, option, o);
            if (fault != NULL)
                return fault;
        } else if (strcmp(option->key, "timeout") != 0) {
            option->used = false;
        }
    }
    if (r->password_file[0] != '\0' || (r->ask_password != NULL && o->password == NULL))
        o->password = r->password; /* when it is known */
    else
        r->ask_password = NULL;
    if (o->db != 0 && strstr(url->scheme, "+cluster") != NULL)
        return "number of the database (a cluster has only 0)";
    if (o->over_tls && o->tls.key != NULL && o->tls.cert == NULL)
        return "option key= without cert=";
    for (size_t i = 0; o->over_tls && o->tls.name == NULL && i < r->n_hosts; i++)
        if (r->hosts[i].host[0] == '.') /* for OpenSSL it matches any name with this end */
            return "host";
    if (o->over_tls && o->tls.name == NULL)
        o->tls.name = o->host;
    return NULL;
}
