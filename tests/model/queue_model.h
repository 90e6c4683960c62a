/* SPDX-License-Identifier: MIT */
/*
 * queue_model -- queues, obviously right rather than fast.
 *
 * Executes the same commands as an engine and fills in the same replies (but for `epoch`,
 * which is 1 for every queue, and 1 more for each that was dropped, and `message`, which stays
 * empty).  It shares no code with the library: arrays, linear search, one `if` a rule of
 * queue_verbs.def.  The time is always the command's.
 *
 * It watches itself: an agent takes no user while one with a better place waits that it has not
 * refused, each user that applied is here or has ended, and no open agent and waiting user are left
 * that could be matched.  queue_model_fault() says which does not hold.
 *
 * The structs are open so that tests can look inside.  Everything in them belongs to the
 * model; running out of memory aborts.
 */
#ifndef USHER_TESTS_QUEUE_MODEL_H
#define USHER_TESTS_QUEUE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "model/model.h"

struct queue_model_agent {
    struct model_text id;
    enum usher_queue_agent_state state;
    int64_t state_since;
    uint64_t login; /* version */
    int64_t login_at;
    int64_t capacity, level;
    size_t lanes_size;
    char lanes[USHER_LIST_TEXT_MAX + 1]; /* "A,B" or "*" */
    struct model_text session;           /* "": none */
    uint64_t session_version;            /* at which it began: the token of the login */
    bool asked;                          /* for a pause */
    struct model_text reason;            /* of the pause; size 0: none */
    bool leaving;                        /* its users go one by one */
    enum usher_queue_agent_state going;  /* its state until then */
    int64_t wrap, beat;                  /* deadlines, 0: none */
    uint64_t changed, matched;           /* versions: see queue_verbs.def */
    int64_t served;
};

struct queue_model_user {
    struct model_text id, lane;
    enum usher_queue_user_state state;
    int64_t priority, since;
    uint64_t version; /* of apply */
    int64_t applied;
    int64_t beat, patience, end; /* deadlines, 0: none */
    /* OFFERED, SEATED: the agent, the room, and the time */
    struct model_text agent;
    uint64_t login, token;
    int64_t no, matched;
    uint64_t key; /* of its refusals: the version of the first; 0: it has none */
};

/* An agent that was silent while it was paused, or that went in its wrap-up. */
struct queue_model_absent {
    struct model_text id;
    int64_t wrap;   /* the end of its wrap-up; 0: it was paused */
    uint64_t token; /* of the login that is over */
    struct model_text reason;
};

/* An agent has refused a user, or missed it. */
struct queue_model_refusal {
    struct model_text user, agent;
    uint64_t key, version;
    int64_t at, until; /* until: when the agent may be asked again; 0: now */
};

/* Refusals of a visit that has ended, which are still there. */
struct queue_model_waste {
    uint64_t key, version;
    int64_t at;
};

/* The record of a stay that is over, or of a wait that led to none: for sums. */
struct queue_model_stay {
    struct model_text lane;
    uint64_t version; /* of its end */
    enum usher_queue_outcome outcome;
    bool had_room;
    int64_t wait, talk;
};

/* The events that figures count. */
enum queue_model_counts {
    MODEL_ARRIVED,
    MODEL_SEATED,
    MODEL_ABANDONED,
    MODEL_TIMEOUT,
    MODEL_FINISHED, /* DROPPED, too */
    MODEL_DROPPED
};

/* An event that the figures count: figures are sums of these. */
struct queue_model_event {
    struct model_text lane;
    uint64_t version;
    enum queue_model_counts what;
    int64_t ms;           /* of a wait, or in a room */
    bool within;          /* `service` of that time */
    int64_t day, quarter; /* of its lane */
};

struct queue_model_lane {
    struct model_text id;
    uint64_t came;      /* version */
    int64_t day;        /* of the figures: its midnight, in minutes */
    int64_t quarter;    /* of the last figure, since 1970 */
    bool earlier;       /* it has figures of more than that: a record */
    int64_t pace, last; /* 16 * ms between seatings, 0: not known; the last one */
};

struct queue_model_visit {
    struct model_text user, agent, lane;
    enum usher_queue_outcome outcome;
    uint64_t version, login, token;
    int64_t no, priority, since, applied, seated, end;
    bool had_room;
};

/* A row with room for its texts. */
struct queue_model_row {
    struct model_text user, agent, lane;
    size_t lanes_size;
    char lanes[USHER_LIST_TEXT_MAX + 1];
    struct usher_queue_result_row row; /* texts not set */
};

struct queue_model_request {
    struct model_text id;
    uint64_t asked; /* gen_asked() */
    int64_t at;
    struct usher_result answer; /* without rows */
    struct queue_model_row *rows;
    size_t n_rows;
};

struct queue_model_queue {
    struct model_text name;
    bool exists;
    uint64_t epoch; /* the next one has one more */
    bool dropping;  /* it is there for `drop` alone */
    size_t left;    /* records then */
    uint64_t version;
    int64_t clock;
    struct usher_queue_result_settings set;
    struct model_text reason; /* of the mode; size 0: none */
    struct model_log log;
    struct queue_model_agent *agents; /* any order */
    size_t n_agents;
    struct queue_model_user *users; /* any order */
    size_t n_users;
    struct queue_model_absent *absent; /* oldest first */
    size_t n_absent;
    struct queue_model_refusal *refusals; /* any order */
    size_t n_refusals;
    struct queue_model_waste *waste;
    size_t n_waste;
    struct queue_model_lane *lanes;
    size_t n_lanes;
    struct queue_model_visit *visits; /* oldest first */
    size_t n_visits;
    struct queue_model_stay *stays; /* all there ever were */
    size_t n_stays;
    struct queue_model_event *events; /* likewise */
    size_t n_events;
    bool lanes_removed;                   /* what they have counted is a record */
    struct queue_model_request *requests; /* oldest first */
    size_t n_requests;
    int64_t gap_from, gap_to; /* the last outage */
    int64_t behind;           /* what was due by then may not have been applied */
    /* The counters by which the model checks itself. */
    uint64_t applied, ended;
    const char *fault;
};

struct queue_model {
    struct queue_model_queue *queues;
    size_t n_queues;
    /* Called for each change, like a watcher of an engine; may be NULL. */
    void (*notify)(void *payload, const struct usher_notice *notice);
    void *payload;
};

struct queue_model *queue_model_open(void);
struct queue_model *queue_model_copy(const struct queue_model *m); /* without the watcher */
void queue_model_close(struct queue_model *m);

/* Rows of the reply go back with queue_model_reply_done(), not with usher_result_done(). */
void queue_model_execute(struct queue_model *m, const struct usher_operation *c,
                         struct usher_result *r);
void queue_model_reply_done(struct usher_result *r);

/* NULL if there is none. */
const struct queue_model_queue *queue_model_queue(const struct queue_model *m, const char *name,
                                                  size_t size);
const struct queue_model_agent *queue_model_agent(const struct queue_model_queue *q, const char *id,
                                                  size_t size);
const struct queue_model_user *queue_model_user(const struct queue_model_queue *q, const char *id,
                                                size_t size);

/* NULL, or what does not add up: the figures of each lane are those of the stays that ended and of
 * the seated users, and as many visits ended as began and are not here. */
const char *queue_model_sums(const struct queue_model *m);

/* Is @a before @b among those that are open? */
bool queue_model_before(const struct queue_model_queue *q, const struct queue_model_agent *a,
                        const struct queue_model_agent *b);

/* NULL, or the invariant that does not hold. */
const char *queue_model_fault(const struct queue_model *m);

#endif
