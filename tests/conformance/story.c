/* SPDX-License-Identifier: MIT */
/* See story.h. */
#include "lib/test.h"

#include "conformance/story.h"

int queue_set_up(void **state)
{
    return fixture_begin(state, USHER_QUEUE, "desk", NULL);
}

/* ---- commands in words ------------------------------------------------------------- */

/* "AGENT.N" as the store calls it. */
static char *room_named(struct fixture *f, const char *word, char to[USHER_QUEUE_ROOM_MAX])
{
    const char *dot = strrchr(word, '.');

    (void)snprintf(to, USHER_QUEUE_ROOM_MAX, "%s", word);
    for (unsigned i = 0; dot != NULL && i < f->n_agents; i++)
        if (strlen(f->agents[i].name) == (size_t)(dot - word) &&
            memcmp(f->agents[i].name, word, (size_t)(dot - word)) == 0)
            (void)snprintf(to, USHER_QUEUE_ROOM_MAX, "%" PRIu64 "%s", f->agents[i].login, dot);
    return to;
}

/* "verb …": the queue is "desk". */
static void read_line(struct fixture *f, struct said *s, const char *line,
                      char room[USHER_QUEUE_ROOM_MAX])
{
    int verb = (int)strcspn(line, " ");
    char whole[1200];

    (void)snprintf(whole, sizeof whole, "%.*s desk%s", verb, line, line + verb);
    said_line(s, USHER_QUEUE, whole);
    if (s->c.verb == USHER_QUEUE_FINISH)
        s->c.arg.queue.room = text(room_named(f, s->c.arg.queue.room.data, room));
}

void add(char *to, size_t size, const char *format, ...)
{
    size_t n = strlen(to);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(to + n, size - n, format, args);
    va_end(args);
}

/* The answer in short. */
static void say(const struct usher_operation *c, const struct usher_result *r, char *to,
                size_t size)
{
    const struct usher_queue_result *q = &r->of.queue;
    bool alive_agent = c->verb == USHER_QUEUE_ALIVE && c->arg.queue.agent.data != NULL;

    (void)snprintf(to, size, "%s", usher_status_word(r->status));
    if (r->status >= USHER_INVALID)
        return;
    switch (c->verb) {
    case USHER_QUEUE_LOGIN:
    case USHER_QUEUE_LOGOUT:
    case USHER_QUEUE_PAUSE:
    case USHER_QUEUE_READY:
    case USHER_QUEUE_FREE:
    case USHER_QUEUE_ROOM:
        alive_agent = true;
        break;
    case USHER_QUEUE_APPLY:
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_MOVE:
    case USHER_QUEUE_ALIVE:
        if (alive_agent || !USHER_IS_DONE(r->status))
            break;
        add(to, size, " %s", usher_queue_place_word(q->place));
        if (q->place == USHER_QUEUE_PLACE_QUEUE)
            add(to, size, " %" PRId64, q->index);
        else if (q->agent_size != 0)
            add(to, size, " %s", q->agent);
        break;
    case USHER_QUEUE_LEAVE:
    case USHER_QUEUE_FINISH:
    case USHER_QUEUE_ACCEPT:
    case USHER_QUEUE_REJECT:
        if (q->user_size != 0)
            add(to, size, " %s", q->user);
        if (q->agent_size != 0)
            add(to, size, " %s", q->agent);
        break;
    case USHER_QUEUE_STATS:
        if (q->user_size != 0)
            add(to, size, " %s", q->user);
        break;
    case USHER_QUEUE_SWEEP:
    case USHER_QUEUE_DRAIN:
        add(to, size, " %" PRIu64, q->count);
        break;
    default:
        break;
    }
    if (alive_agent && USHER_IS_DONE(r->status))
        add(to, size, " %s", usher_queue_agent_state_word(q->state));
    for (size_t i = 0; i < q->n_rows; i++) {
        const struct usher_queue_result_row *row = &q->rows[i];

        add(to, size, " %.*s", (int)row->user.size, row->user.size != 0 ? row->user.data : "");
        if (c->verb == USHER_QUEUE_AGENTS)
            add(to, size, "%.*s:%s", (int)row->agent.size, row->agent.data,
                usher_queue_agent_state_word((enum usher_queue_agent_state)row->state));
        else if (c->verb == USHER_QUEUE_LANES)
            add(to, size, "%.*s:%" PRId64 ",%" PRId64 ",%" PRId64, (int)row->lane.size,
                row->lane.data, row->priority, row->until_ms, row->capacity);
        else if (c->verb == USHER_QUEUE_HISTORY || c->verb == USHER_QUEUE_DRAIN)
            add(to, size, ":%s", usher_queue_outcome_word((enum usher_queue_outcome)row->state));
        else if (c->verb == USHER_QUEUE_MATCH || c->verb == USHER_QUEUE_PULL ||
                 c->verb == USHER_QUEUE_SWEEP)
            add(to, size, ">%.*s", (int)row->agent.size, row->agent.data);
        else if (c->verb == USHER_QUEUE_STATS)
            add(to, size, "*%" PRId64, row->served);
        else if (alive_agent && row->user.size == 0)
            add(to, size, "-");
    }
    if (q->more)
        add(to, size, " …");
}

void command(struct fixture *f, const char *format, ...)
{
    char line[1024], room[USHER_QUEUE_ROOM_MAX];
    struct said s;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    read_line(f, &s, line, room);
    (void)execute(f, &s.c);
    say(&s.c, &f->r, f->said, sizeof f->said);
    if (s.c.verb == USHER_QUEUE_LOGIN && f->r.status == USHER_OK) {
        unsigned i = 0;

        while (i < f->n_agents && strcmp(f->agents[i].name, f->r.of.queue.agent) != 0)
            i++;
        if (i == AGENTS_MAX)
            return; /* its rooms have no names here */
        if (i == f->n_agents)
            f->n_agents++;
        (void)snprintf(f->agents[i].name, sizeof f->agents[i].name, "%.31s", f->r.of.queue.agent);
        f->agents[i].login = f->r.of.queue.login;
    }
}

void story_at(struct fixture *f, const char *file, int at, const struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (lines[i].command[0] == '+') {
            f->now += strtoll(lines[i].command, NULL, 10);
            continue;
        }
        command(f, "%s", lines[i].command);
        if (strcmp(f->said, lines[i].want) != 0) {
            print_error("%s:%d: line %zu: %s\n  said   %s  (%s)\n  wanted %s\n", file, at, i + 1,
                        lines[i].command, f->said, f->r.message, lines[i].want);
            fail();
        }
    }
}
