/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "serve/metrics.h"

#include <inttypes.h>

#include <usher/command.h>

static const enum usher_status statuses[FIGURES_STATUSES] = {
#define USHER__S(name, code, word, text) USHER_##name,
    USHER_STATUS_MAP(USHER__S)
#undef USHER__S
};

static const int64_t bounds_us[FIGURES_BOUNDS] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 1000000, 10000000,
};

void usher__figures_count(struct figures *f, uint32_t verb, enum usher_status status)
{
    unsigned i = 0;

    while (i + 1 < FIGURES_STATUSES && statuses[i] != status)
        i++;
    f->commands++;
    if (verb >> 8 < FIGURES_NOUNS && (verb & 0xffu) < FIGURES_VERBS)
        f->by[verb >> 8][verb & 0xffu][i]++;
    else
        f->invalid++;
}

void usher__figures_took(struct figures *f, int64_t us, uint64_t n)
{
    unsigned i = 0;

    while (i < FIGURES_BOUNDS && us > bounds_us[i])
        i++;
    f->within[i] += n;
    f->micros += (uint64_t)us * n;
}

/* ---- INFO --------------------------------------------------------------------------------- */

/* @word and _, with _ for a blank; nothing if there is none. */
static void info_word(struct out *to, const char *word)
{
    for (const char *c = word; *c != '\0'; c++)
        usher__out_put(to, *c == ' ' ? "_" : c, 1);
    if (*word != '\0')
        usher__out_put(to, "_", 1);
}

void usher__figures_info(const struct figures *f, int64_t now_ms, uint64_t clients_max,
                         struct out *to)
{
    uint32_t verb = 0;
    struct usher_verb_about about = { .size = sizeof about };

    usher__out_print(to,
                     "# Server\r\nusher_version:%s\r\nuptime_in_seconds:%" PRId64 "\r\n\r\n"
                     "# Clients\r\nconnected_clients:%" PRIu64 "\r\nmaxclients:%" PRIu64 "\r\n"
                     "output_bytes:%" PRIu64 "\r\noutput_bytes_of_one:%" PRIu64 "\r\n"
                     "subscriptions:%" PRIu64 "\r\ntended_scopes:%" PRIu64 "\r\n\r\n",
                     usher_version(), (now_ms - f->began_ms) / 1000, f->clients, clients_max,
                     f->out_bytes, f->out_most, f->subscriptions, f->tended);
    usher__out_print(
        to,
        "# Stats\r\ntotal_connections_received:%" PRIu64 "\r\nrejected_connections:%" PRIu64 "\r\n"
        "total_commands_processed:%" PRIu64 "\r\nrounds:%" PRIu64 "\r\n"
        "invalid_commands:%" PRIu64 "\r\nprotocol_errors:%" PRIu64 "\r\nauth_failures:%" PRIu64
        "\r\nslow_clients_closed:%" PRIu64 "\r\nidle_clients_closed:%" PRIu64 "\r\n"
        "notices_told:%" PRIu64 "\r\ngaps_told:%" PRIu64 "\r\n\r\n# Commandstats\r\n",
        f->accepted, f->rejected, f->commands, f->rounds, f->invalid, f->protocol, f->unwanted,
        f->slow, f->idle, f->notices, f->gaps);
    while ((verb = usher_next_verb(verb)) != 0)
        for (unsigned i = 0; i < FIGURES_STATUSES; i++) {
            uint64_t n = f->by[verb >> 8][verb & 0xffu][i];

            if (n > 0 && usher_about_verb(verb, &about)) {
                info_word(to, about.noun);
                info_word(to, about.word);
                usher__out_print(to, "%s:%" PRIu64 "\r\n", usher_status_word(statuses[i]), n);
            }
        }
}

/* ---- Prometheus --------------------------------------------------------------------------- */

static void one(struct out *to, const char *name, const char *type, const char *help, uint64_t n)
{
    usher__out_print(to, "# HELP usher_%s %s\n# TYPE usher_%s %s\nusher_%s %" PRIu64 "\n", name,
                     help, name, type, name, n);
}

static void by_verb(const struct figures *f, struct out *to)
{
    uint32_t verb = 0;
    struct usher_verb_about about = { .size = sizeof about };

    usher__out_print(to, "# HELP usher_commands_total Commands, by their answers.\n"
                         "# TYPE usher_commands_total counter\n");
    while ((verb = usher_next_verb(verb)) != 0)
        for (unsigned i = 0; i < FIGURES_STATUSES; i++) {
            uint64_t n = f->by[verb >> 8][verb & 0xffu][i];

            if (n > 0 && usher_about_verb(verb, &about))
                usher__out_print(to,
                                 "usher_commands_total{noun=\"%s\",verb=\"%s\",status=\"%s\"} "
                                 "%" PRIu64 "\n",
                                 about.noun, about.word, usher_status_word(statuses[i]), n);
        }
}

static void seconds(const struct figures *f, struct out *to)
{
    uint64_t n = 0;

    usher__out_print(to, "# HELP usher_command_seconds From having been read to the answer.\n"
                         "# TYPE usher_command_seconds histogram\n");
    for (unsigned i = 0; i < FIGURES_BOUNDS; i++) {
        n += f->within[i];
        usher__out_print(to, "usher_command_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                         (double)bounds_us[i] / 1e6, n);
    }
    n += f->within[FIGURES_BOUNDS];
    usher__out_print(to,
                     "usher_command_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                     "usher_command_seconds_sum %.6f\nusher_command_seconds_count %" PRIu64 "\n",
                     n, (double)f->micros / 1e6, n);
}

/* Commands of the store that failed. */
static void failures(struct usher_engine *e, struct out *to)
{
    uint64_t unknown = 0, unavailable = 0;

    (void)usher_failures(e, &unknown, &unavailable);
    usher__out_print(to,
                     "# HELP usher_store_failures_total Commands that the store did not answer.\n"
                     "# TYPE usher_store_failures_total counter\n"
                     "usher_store_failures_total{reason=\"unavailable\"} %" PRIu64 "\n"
                     "usher_store_failures_total{reason=\"unknown\"} %" PRIu64 "\n",
                     unavailable, unknown);
}

void usher__figures_metrics(struct usher_engine *e, const struct figures *f, struct out *to)
{
    usher__out_print(to,
                     "# HELP usher_build_info 1, with the version of the program.\n"
                     "# TYPE usher_build_info gauge\nusher_build_info{version=\"%s\"} 1\n",
                     usher_version());
    one(to, "clients", "gauge", "Clients connected.", f->clients);
    one(to, "subscriptions", "gauge", "Channels that clients subscribe to.", f->subscriptions);
    one(to, "viewers", "gauge", "Streams of /events.", f->viewers);
    one(to, "tended_scopes", "gauge", "Scopes that change in time.", f->tended);
    one(to, "output_bytes", "gauge", "Bytes waiting for readers.", f->out_bytes);
    one(to, "output_largest_bytes", "gauge", "Bytes waiting for the slowest reader.", f->out_most);
    one(to, "connections_total", "counter", "Clients accepted.", f->accepted);
    one(to, "connections_rejected_total", "counter", "Clients refused at the limit.", f->rejected);
    one(to, "slow_clients_closed_total", "counter", "Closed for not reading.", f->slow);
    one(to, "idle_clients_closed_total", "counter", "Closed for not sending.", f->idle);
    one(to, "protocol_errors_total", "counter", "Closed for a fault in the protocol.", f->protocol);
    one(to, "auth_failures_total", "counter", "Wrong passwords.", f->unwanted);
    one(to, "invalid_commands_total", "counter", "Texts that were no command.", f->invalid);
    one(to, "rounds_total", "counter", "Batches.", f->rounds);
    one(to, "notices_total", "counter", "Notices sent.", f->notices);
    one(to, "gaps_total", "counter", "Gaps sent.", f->gaps);
    failures(e, to);
    by_verb(f, to);
    seconds(f, to);
}
