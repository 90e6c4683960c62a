/* SPDX-License-Identifier: MIT */
/* See workload.h. */
#include "config.h"

#include "lib/workload.h"
#include "lib/util.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned workload_below(uint64_t *random, unsigned n)
{
    return (unsigned)(next_random(random) % n);
}

void workload_put(char to[WORKLOAD_LINE], const char *format, ...)
{
    size_t n = strlen(to);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(to + n, WORKLOAD_LINE - n, format, args);
    va_end(args);
}

static void number_line(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random)
{
    unsigned i = workload_below(random, WORKLOAD_NAMES), k = workload_below(random, 26);

    if (k < 7)
        workload_put(to, "number call p owner=o%u lease=%u", workload_below(random, 9),
                     workload_below(random, 3) * 2000);
    else if (k < 9)
        workload_put(to, "number call p number=n%u owner=o9 node=m%u", i, i % 2);
    else if (k < 14)
        workload_put(to, "number hangup p n%u token=%" PRIu64 " rest=%u", i, c->number[i],
                     workload_below(random, 3) * 500);
    else if (k < 16 && workload_below(random, 4) != 0)
        workload_put(to, "number renew p n%u token=%" PRIu64, i, c->number[i]);
    else if (k < 16) /* a token of what was lost, above all versions: taken back */
        workload_put(to, "number renew p n%u token=%" PRIu64 " owner=o%u node=m%u lease=2000", i,
                     UINT64_MAX, workload_below(random, 9), i % 2);
    else if (k < 17)
        workload_put(to, "number %s p n%u", workload_below(random, 2) == 0 ? "unreg" : "del", i);
    else if (k < 18)
        workload_put(to, "number add p n%u group=g", i);
    else if (k < 19)
        workload_put(to, "number reg p n%u", i);
    else if (k < 20)
        workload_put(to, "number sweep p");
    else if (k < 21)
        workload_put(to, "number lift p n%u", i);
    else if (k < 22)
        workload_put(to, "number move p n%u%s", i,
                     workload_below(random, 2) == 0 ? " group=h" : "");
    else if (k < 23)
        workload_put(to, "number renew p node=m%u", i % 2);
    else if (k < 24)
        workload_put(to, "number set p lease-max=%u", workload_below(random, 3) * 1500);
    else
        workload_put(to, "number show p n%u", i);
}

static void queue_line(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random)
{
    static const char *const of_agent[] = { "logout", "pause", "ready", "free", "pull" };
    unsigned agent = workload_below(random, WORKLOAD_NAMES / 2),
             user = workload_below(random, 2 * WORKLOAD_NAMES);
    unsigned k = workload_below(random, 29);

    if (k < 4)
        workload_put(to, "queue login desk a%u capacity=2 lanes=%s level=%u", agent,
                     agent == 0 ? "*" : "default,x", agent);
    else if (k < 10)
        workload_put(to, "queue apply desk u%u lane=%s priority=%u", user,
                     workload_below(random, 3) == 0 ? "x" : "default", workload_below(random, 3));
    else if (k < 13)
        workload_put(to, "queue finish desk %" PRIu64 ".%u", c->login[agent],
                     1 + workload_below(random, 2));
    else if (k < 15)
        workload_put(to, "queue accept desk a%u u%u", agent, user);
    else if (k < 16)
        workload_put(to, "queue reject desk a%u u%u", agent, user);
    else if (k < 18)
        workload_put(to, "queue leave desk u%u", user);
    else if (k < 19)
        workload_put(to, "queue %s desk a%u", of_agent[workload_below(random, 5)], agent);
    else if (k < 21)
        workload_put(to, "queue alive desk %s%u",
                     workload_below(random, 2) == 0 ? "agent=a" : "user=u",
                     workload_below(random, WORKLOAD_NAMES));
    else if (k < 22)
        workload_put(to, "queue set desk offer=%u wrapup=%u", workload_below(random, 2) * 400,
                     workload_below(random, 2) * 300);
    else if (k < 23)
        workload_put(to, "queue move desk u%u priority=%u lane=x", user, workload_below(random, 3));
    else if (k < 24)
        workload_put(to, "queue match desk");
    else if (k < 26)
        workload_put(to, "queue where desk u%u", user);
    else if (k < 28)
        workload_put(to, "queue room desk a%u", agent);
    else
        workload_put(to, "queue stats desk");
}

static void room_line(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random)
{
    unsigned member = workload_below(random, WORKLOAD_NAMES), k = workload_below(random, 26);

    (void)c;
    if (k < 5)
        workload_put(to, "room join lounge m%u name=%u", member, workload_below(random, 9));
    else if (k < 7)
        workload_put(to, "room leave lounge m%u", member);
    else if (k < 11)
        workload_put(to, "room set lounge f%u %u other=%u", workload_below(random, 3),
                     workload_below(random, 99), workload_below(random, 99));
    else if (k < 13)
        workload_put(to, "room role lounge r%u m%u", workload_below(random, 2), member);
    else if (k < 15)
        workload_put(to, "room share lounge m%u s%u page=%u", member, workload_below(random, 4),
                     workload_below(random, 9));
    else if (k < 16)
        workload_put(to, "room unshare lounge s%u", workload_below(random, 4));
    else if (k < 18)
        workload_put(to, "room member lounge m%u mood %u", member, workload_below(random, 9));
    else if (k < 20)
        workload_put(to, "room alive lounge m%u", member);
    else if (k < 21)
        workload_put(to, "room all lounge hand %u", workload_below(random, 2));
    else if (k < 22)
        workload_put(to, "room kick lounge m%u ban=%u", member, workload_below(random, 2) * 1000);
    else if (k < 23)
        workload_put(to, "room %s lounge", workload_below(random, 2) == 0 ? "lock" : "unlock");
    else if (k < 24)
        workload_put(to, workload_below(random, 4) == 0
                             ? "room close lounge"
                             : "room open lounge ttl=3000 grace=500 capacity=5");
    else
        workload_put(to, "room get lounge");
}

static void stock_line(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random)
{
    unsigned k = workload_below(random, 12);

    (void)c;
    if (k < 6)
        workload_put(to, "serial take order n=%u", 1 + workload_below(random, 4));
    else if (k < 8)
        workload_put(to, "serial fill order %u", 1 + workload_below(random, 9));
    else if (k < 9)
        workload_put(to, "serial tick order");
    else if (k < 10)
        workload_put(to, "serial setmax order %u", 1 + workload_below(random, 50));
    else
        workload_put(to, "serial check order");
}

static void bill_line(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random)
{
    static const char *const verbs[] = { "confirm", "confirm", "return", "void", "renew" };
    unsigned k = workload_below(random, 11);

    if (k < 5)
        workload_put(to, "serial reserve bill owner=o%u lease=%u", workload_below(random, 5),
                     500 + workload_below(random, 2) * 5000);
    else if (k < 9 && c->serial[0] != '\0')
        workload_put(to, "serial %s bill %s token=%" PRIu64, verbs[workload_below(random, 5)],
                     c->serial, c->serial_token);
    else if (k < 10)
        workload_put(to, "serial sweep bill");
    else
        workload_put(to, "serial holds bill");
}

static void id_line(char to[WORKLOAD_LINE], const struct workload *c, uint64_t *random)
{
    unsigned k = workload_below(random, 11);

    if (k < 7)
        workload_put(to, "id next ids n=%u", 1 + workload_below(random, 700));
    else if (k < 9 && c->id_n > 1)
        workload_put(to, "id return ids %" PRId64 " %" PRId64 " token=%" PRIu64, c->id + 1,
                     c->id_n - 1, c->id_token);
    else if (k < 10)
        workload_put(to, "id set ids step=%u", 100 + workload_below(random, 500));
    else
        workload_put(to, "id show ids");
}

const struct workload_scope workload_scopes[WORKLOAD_SCOPES] = {
    { USHER_NUMBER, "p", number_line },  { USHER_QUEUE, "desk", queue_line },
    { USHER_ROOM, "lounge", room_line }, { USHER_SERIAL, "order", stock_line },
    { USHER_SERIAL, "bill", bill_line }, { USHER_ID, "ids", id_line },
};

const char *const workload_begin[] = {
    "number add p n0 group=g",
    "number add p n1 group=g",
    "number add p n2",
    "number add p n3",
    "number reg p n0",
    "number reg p n1",
    "number reg p n2",
    "number reg p n3",
    "queue set desk ttl=4000 grace=500 history=20",
    "room open lounge ttl=3000 grace=500 capacity=5",
    "serial rule order prefix=A width=6 date=%Y%m%d critical=5 batch=50 max=100000",
    "serial rule bill prefix=B width=6 mode=gapfree",
    "id create ids step=300",
};

const unsigned workload_n_begin = sizeof workload_begin / sizeof *workload_begin;

void workload_learn(struct workload *c, const struct usher_operation *command,
                    const struct usher_result *r)
{
    if (!USHER_IS_DONE(r->status))
        return;
    switch (command->verb) {
    case USHER_NUMBER_CALL:
    case USHER_NUMBER_RENEW:
        c->number[atoi(r->of.number.number + 1) % WORKLOAD_NAMES] = r->of.number.token;
        break;
    case USHER_QUEUE_LOGIN:
        c->login[atoi(r->of.queue.agent + 1) % WORKLOAD_NAMES] = r->of.queue.login;
        break;
    case USHER_SERIAL_RESERVE:
        if (usher_serial_text(r, 0, c->serial, sizeof c->serial) == 0)
            c->serial[0] = '\0';
        c->serial_token = r->of.serial.token;
        break;
    case USHER_ID_NEXT:
        c->id = r->of.id.first;
        c->id_n = r->of.id.n;
        c->id_token = r->of.id.token;
        break;
    default:
        break;
    }
}
