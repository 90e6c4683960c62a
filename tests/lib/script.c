/* SPDX-License-Identifier: MIT */
/* See script.h. */
#include "lib/test.h"

#include "lib/script.h"

#include "lib/command_line.h"
#include "lib/util.h"

#define NOW " now=17000000" /* and five digits: milliseconds from then */

const struct script scripts[SCRIPTS] = {
    { USHER_NUMBER,
      "p",
      {
          "number add p n1 group=g" NOW "00000",
          "number add p n2 req=r1" NOW "00010",
          "number reg p n1" NOW "00020",
          "number reg p n2" NOW "00030",
          "number call p owner=ann lease=60000" NOW "00040",
          "number call p req=r2 sticky=peer" NOW "00050",
          "number hangup p n1 rest=100" NOW "00060",
          "number unreg p n2" NOW "00070",
          "number call p owner=bob" NOW "00200",
          "number del p n2" NOW "00210",
          "number hangup p n1 req=r3" NOW "00220",
      } },
    { USHER_QUEUE,
      "desk",
      {
          "queue set desk ttl=20000 grace=3000 history=2" NOW "00000",
          "queue login desk a1 capacity=2 lanes=default,x" NOW "00010",
          "queue apply desk u1 lane=x priority=2" NOW "00020", /* and seated, in 2.1 */
          "queue apply desk u2 req=r1" NOW "00030",
          "queue apply desk u3" NOW "00040", /* waits */
          "queue apply desk u4 lane=x priority=5" NOW "00050",
          "queue move desk u3 priority=9 lane=x" NOW "00070",
          "queue finish desk 2.1 req=r2" NOW "00080", /* u3 is seated */
          "queue leave desk u4" NOW "00090",
          "queue set desk offer=400 wrapup=500 again=10" NOW "00100",
          "queue apply desk u5" NOW "00110",
          "queue login desk a2 level=1" NOW "00120", /* u5 is offered */
          "queue reject desk a2 u5" NOW "00130",     /* u5 waits */
          "queue sweep desk" NOW "00140",            /* a2 is asked again for u5 */
          "queue apply desk u6" NOW "00145",
          "queue accept desk a2 u5" NOW "00150",
          "queue logout desk a1" NOW "00160", /* u2 and u3 wait again */
          "queue free desk a2" NOW "00170",   /* and is offered u3 */
          "queue set desk trigger=timer offer=0" NOW "00180",
          "queue login desk a3 capacity=2" NOW "00190",
          "queue match desk" NOW "00200", /* u2 and u6 are seated */
          "queue sweep desk" NOW "30000", /* an outage: heartbeats move */
          "queue sweep desk" NOW "70000", /* no heartbeat came */
      } },
    { USHER_ROOM,
      "lounge",
      {
          "room open lounge ttl=3000 grace=500 capacity=5" NOW "00000",
          "room join lounge m1 name=1" NOW "00010",
          "room join lounge m2 req=r1" NOW "00020",
          "room role lounge r1 m1" NOW "00030",
          "room share lounge m1 s1 page=1" NOW "00040",
          "room share lounge m2 s2" NOW "00050",
          "room set lounge f1 1 other=2" NOW "00060",
          "room member lounge m2 mood 3" NOW "00070",
          "room all lounge hand 1" NOW "00080",
          "room role lounge r1 m2" NOW "00090",
          "room unshare lounge s2" NOW "00100",
          "room unset lounge f1" NOW "00110",
          "room alive lounge m1" NOW "00120",
          "room kick lounge m2 ban=1000" NOW "00130",
          "room lock lounge" NOW "00140",
          "room leave lounge m1" NOW "00150",
          "room unlock lounge" NOW "00160",
          "room join lounge m3" NOW "00170",
          "room sweep lounge" NOW "02000", /* the ban is over */
          "room join lounge m4" NOW "02010",
          "room sweep lounge" NOW "04000", /* and so is m3 */
          "room sweep lounge" NOW "09000", /* and m4 */
          "room close lounge" NOW "09010", /* a step */
          "room close lounge" NOW "09011",
          "room open lounge" NOW "09020",
      } },
    { USHER_SERIAL,
      "order",
      {
          "serial rule order prefix=A date=%Y%m%d critical=2 batch=5 max=40 stamp=fill" NOW "00000",
          "serial fill order 4" NOW "00010",
          "serial take order n=3" NOW "00020",
          "serial take order n=3 req=r1" NOW "00030", /* more are made */
          "serial tick order" NOW "00040",
          "serial setmax order 20" NOW "00050",
          "serial take order n=9" NOW "00060",
          "serial setmaxcur order 70" NOW "00070",
          "serial delete order" NOW "00080",
          "serial rule order prefix=C" NOW "00090",
          "serial take order" NOW "00100",
      } },
    { USHER_SERIAL,
      "bill",
      {
          "serial rule bill prefix=B mode=gapfree" NOW "00000",
          "serial reserve bill owner=ann lease=500" NOW "00010",
          "serial reserve bill owner=bob req=r1" NOW "00020",
          "serial reserve bill owner=cid" NOW "00030",
          "serial return bill B2 token=3" NOW "00040",
          "serial reserve bill owner=dan" NOW "00050", /* the one that came back */
          "serial confirm bill B2 token=6 req=r2" NOW "00060",
          "serial void bill B3 token=4" NOW "00070",
          "serial sweep bill" NOW "01000", /* ann's comes back */
          "serial reserve bill owner=eve" NOW "01010",
      } },
    { USHER_ID,
      "ids",
      {
          "id create ids step=300" NOW "00000",
          "id next ids n=7" NOW "00010",
          "id return ids 4 4 token=2" NOW "00020",
          "id next ids req=r1" NOW "00030",
          "id set ids step=50 by=3" NOW "00040",
          "id next ids n=700" NOW "00050",
          "id set ids next=5000" NOW "00060",
          "id next ids" NOW "00070",
          "id delete ids" NOW "00080",
          "id create ids managed=1" NOW "00090",
          "id install ids 10 5" NOW "00100",
          "id next ids n=3" NOW "00110",
      } },
};

/* Returns the status, and the answer as it is kept. */
static enum usher_status run(struct usher_engine *e, const char *text, char answer[SCRIPT_ANSWER])
{
    struct line line;
    struct usher_result reply;
    enum usher_status status;
    char *whole;

    line_read(&line, text);
    (void)usher_operate(e, &line.c, &reply, 1);
    status = reply.status;
    /* the answer has nothing that was not done */
    if (line.c.verb == USHER_ROOM_SWEEP)
        assert_true(reply.of.room.n_rows <= reply.of.room.count);
    whole = line_answer(&line.c, &reply);
    (void)snprintf(answer, SCRIPT_ANSWER, "%s", whole);
    free(whole);
    usher_result_done(&reply);
    line_done(&line);
    return status;
}

enum usher_status script_execute(struct usher_engine *e, const char *text)
{
    char answer[SCRIPT_ANSWER];

    return run(e, text, answer);
}

enum usher_status script_run(struct usher_engine *e, const struct script *s, unsigned i,
                             const struct script_notes *notes)
{
    char answer[SCRIPT_ANSWER];
    enum usher_status status = run(e, s->lines[i], answer);

    if (status == USHER_OK && notes != NULL && strcmp(answer, notes->answer[i + 1]) != 0)
        fail_msg("%s: %s, not %s", s->lines[i], answer, notes->answer[i + 1]);
    return status;
}

static void digest(struct usher_engine *e, const struct script *s, char d[33])
{
    if (usher_digest(e, s->noun, s->scope, d) != USHER_OK)
        fail_msg("%s", usher_message());
}

/* No time passes by that. */
static void visits(struct usher_engine *e, const struct script *s, char answer[SCRIPT_ANSWER])
{
    char text[80];
    enum usher_status status;

    answer[0] = '\0';
    if (s->noun != USHER_QUEUE)
        return;
    (void)snprintf(text, sizeof text, "queue history %s" NOW "00000", s->scope);
    status = run(e, text, answer);
    if (status != USHER_OK && status != USHER_MISSING)
        fail_msg("%s: %s", text, answer);
}

void script_take_notice(void *payload, const struct usher_notice *notice)
{
    *(uint64_t *)payload = notice->version;
}

struct last_notice {
    uint64_t version;
    bool ended;
};

static void take_last(void *payload, const struct usher_notice *notice)
{
    struct last_notice *h = payload;

    h->version = notice->version;
    h->ended |=
        notice->verb == USHER_QUEUE_REQUEUE || strcmp(usher_verb_word(notice->verb), "expire") == 0;
}

void script_record(struct usher_engine *e, const struct script *s, struct script_notes *notes)
{
    struct usher_watcher *watch = NULL;
    struct last_notice last_notice = { 0, false };

    memset(notes, 0, sizeof *notes);
    assert_int_equal(usher_watch(e, s->noun, NULL, take_last, &last_notice, &watch), USHER_OK);
    digest(e, s, notes->digest[0]);
    visits(e, s, notes->visits[0]);
    for (unsigned i = 0; s->lines[i] != NULL; i++) {
        last_notice.ended = false;
        if (run(e, s->lines[i], notes->answer[i + 1]) != USHER_OK)
            fail_msg("%s: %s", s->lines[i], notes->answer[i + 1]);
        digest(e, s, notes->digest[i + 1]);
        /* or a test could not see whether it was applied */
        if (strcmp(notes->digest[i + 1], notes->digest[i]) == 0)
            fail_msg("%s: changes nothing", s->lines[i]);
        visits(e, s, notes->visits[i + 1]);
        notes->last_version[i + 1] = last_notice.version;
        notes->ended[i + 1] = last_notice.ended;
        notes->n = i + 1;
    }
    usher_unwatch(e, watch);
}

static void count_fault(void *payload, const char *line)
{
    unsigned *n = payload;

    if (strstr(line, "is in the index of rooms, but there is no such room") != NULL)
        return;
    print_error("audit: %s\n", line);
    ++*n;
}

void script_audit(struct usher_engine *e)
{
    uint64_t faults;
    unsigned n = 0;

    assert_int_equal(check_faults(e, count_fault, &n, &faults), USHER_OK);
    assert_int_equal(n, 0);
}

unsigned script_check(struct usher_engine *e, const struct script *s,
                      const struct script_notes *notes, unsigned least, unsigned most)
{
    unsigned at = least;
    char d[33], visits_now[SCRIPT_ANSWER];

    script_audit(e);
    digest(e, s, d);
    while (at <= most && strcmp(d, notes->digest[at]) != 0)
        at++;
    if (at > most) {
        for (unsigned i = 0; i <= notes->n; i++)
            if (strcmp(d, notes->digest[i]) == 0)
                print_error("it is as after line %u\n", i);
        fail_msg("%s %s: not as after lines %u to %u (%s)", usher_noun_word(s->noun), s->scope,
                 least, most, most > 0 ? s->lines[most - 1] : "none");
    }
    visits(e, s, visits_now);
    if (strcmp(visits_now, notes->visits[at]) != 0)
        fail_msg("after line %u history returns %s, not %s", at, visits_now, notes->visits[at]);
    return at;
}
