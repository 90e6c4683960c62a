/* SPDX-License-Identifier: MIT */
/*
 * A program of one version with the library of another: see check-versions.sh.
 *
 * Every struct of the calls is given and filled.  The bytes after it are the program's and keep
 * their value; members that both versions have are filled.  The program does not use the last
 * member of a struct, which an older version lacks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <usher/command.h>
#include <usher/usher.h>

#define BEHIND 512
#define MARK 0xa5

static unsigned bad, checks;

static void check_at(int line, bool good, const char *what)
{
    checks++;
    if (good)
        return;
    bad++;
    (void)printf("line %d: %s: %s\n", line, what, usher_message());
}
#define CHECK(x) check_at(__LINE__, x, #x)

/* One of the program's structs, and the program's own bytes after it. */
#define GUARDED(type, init)           \
    struct {                          \
        struct type it;               \
        unsigned char behind[BEHIND]; \
    } type = { .it = init };          \
    memset(type.behind, MARK, sizeof type.behind)

static bool untouched(const unsigned char *behind)
{
    for (size_t i = 0; i < BEHIND; i++)
        if (behind[i] != MARK)
            return false;
    return true;
}
#define UNTOUCHED(type)                        \
    do {                                       \
        CHECK(untouched(type.behind));         \
        CHECK(type.it.size == sizeof type.it); \
        NOT_SAID(type);                        \
    } while (0)

#ifdef VERSION_newer
/* A member that this library lacks is left alone in a struct that it fills, and refused in one that
 * it is given. */
#define LATER_IS(type, value) (type.it.later = (value))
#define NOT_SAID(type) CHECK(type.it.later == 0)
#define REFUSED(type, call)             \
    do {                                \
        type.it.later = 1;              \
        CHECK((call) == USHER_INVALID); \
        type.it.later = 0;              \
    } while (0)
#else
#define NOT_SAID(type) (void)0
#define REFUSED(type, call) (void)0
#endif

static void numbers(struct usher_engine *e)
{
    GUARDED(usher_number_options, USHER_NUMBER_OPTIONS_INIT);
    GUARDED(usher_number_settings, USHER_NUMBER_SETTINGS_INIT);
    GUARDED(usher_number_answer, USHER_NUMBER_ANSWER_INIT);
    GUARDED(usher_number_row, USHER_NUMBER_ROW_INIT);
    GUARDED(usher_number_statistics, USHER_NUMBER_STATISTICS_INIT);
    struct usher_reply *reply = NULL;

    usher_number_settings.it.rest_ms = 7000;
    usher_number_options.it.now_ms = 1000;
    REFUSED(usher_number_settings,
            usher_number_set(e, "p", &usher_number_settings.it, &usher_number_options.it, NULL));
    CHECK(usher_number_set(e, "p", &usher_number_settings.it, &usher_number_options.it, &reply) ==
          USHER_OK);
    usher_number_settings.it.rest_ms = 0;
    CHECK(usher_number_settings_of(reply, &usher_number_settings.it));
    CHECK(usher_number_settings.it.rest_ms == 7000);
    CHECK(usher_number_settings.it.sticky_max == 10000);
    UNTOUCHED(usher_number_settings);
    usher_reply_done(reply);
    /* as it came back it can be given again */
    CHECK(usher_number_set(e, "p", &usher_number_settings.it, NULL, NULL) == USHER_SAME);
    usher_number_options.it.group = "g";
    CHECK(usher_number_add(e, "p", "100", &usher_number_options.it, &usher_number_answer.it) ==
          USHER_OK);
    UNTOUCHED(usher_number_answer);
    usher_number_options.it.group = NULL;
    CHECK(usher_number_reg(e, "p", "100", &usher_number_options.it, NULL) == USHER_OK);
    usher_number_options.it.groups = "h,g";
    usher_number_options.it.node = "pbx";
    REFUSED(usher_number_options, usher_number_call(e, "p", "ann", &usher_number_options.it, NULL));
    CHECK(usher_number_call(e, "p", "ann", &usher_number_options.it, &usher_number_answer.it) ==
          USHER_OK);
    CHECK(strcmp(usher_number_answer.it.number, "100") == 0 && usher_number_answer.it.token == 4);
    UNTOUCHED(usher_number_answer);
    usher_number_options.it.groups = usher_number_options.it.node = NULL;
    CHECK(usher_number_list(e, "p", &usher_number_options.it, &reply) == USHER_OK);
    CHECK(usher_number_row_of(reply, 0, &usher_number_row.it));
    CHECK(strcmp(usher_number_row.it.owner, "ann") == 0 && usher_number_row.it.token == 4);
    UNTOUCHED(usher_number_row);
    usher_reply_done(reply);
    CHECK(usher_number_stats(e, "p", &usher_number_options.it, &reply) == USHER_OK);
    CHECK(usher_number_statistics_of(reply, &usher_number_statistics.it));
    CHECK(usher_number_statistics.it.total == 1 && usher_number_statistics.it.busy_up == 1);
    UNTOUCHED(usher_number_statistics);
    usher_reply_done(reply);
}

static void queues(struct usher_engine *e)
{
    GUARDED(usher_queue_options, USHER_QUEUE_OPTIONS_INIT);
    GUARDED(usher_queue_settings, USHER_QUEUE_SETTINGS_INIT);
    GUARDED(usher_queue_answer, USHER_QUEUE_ANSWER_INIT);
    GUARDED(usher_queue_row, USHER_QUEUE_ROW_INIT);
    GUARDED(usher_queue_statistics, USHER_QUEUE_STATISTICS_INIT);
    struct usher_reply *reply = NULL;

    usher_queue_options.it.now_ms = 1000;
    usher_queue_settings.it.ttl_ms = USHER_NONE;
    usher_queue_settings.it.strategy = USHER_QUEUE_STRATEGY_LEVEL;
    REFUSED(usher_queue_settings, usher_queue_set(e, "q", &usher_queue_settings.it, NULL, NULL));
    CHECK(usher_queue_set(e, "q", &usher_queue_settings.it, &usher_queue_options.it, &reply) ==
          USHER_OK);
    CHECK(usher_queue_settings_of(reply, &usher_queue_settings.it));
    CHECK(usher_queue_settings.it.ttl_ms == USHER_NONE &&
          usher_queue_settings.it.strategy == USHER_QUEUE_STRATEGY_LEVEL &&
          usher_queue_settings.it.history == 1000);
    UNTOUCHED(usher_queue_settings);
    usher_reply_done(reply);
    CHECK(usher_queue_set(e, "q", &usher_queue_settings.it, NULL, NULL) == USHER_SAME);
    usher_queue_options.it.capacity = 2;
    usher_queue_options.it.level = 3;
    REFUSED(usher_queue_options, usher_queue_login(e, "q", "ann", &usher_queue_options.it, NULL));
    CHECK(usher_queue_login(e, "q", "ann", &usher_queue_options.it, &usher_queue_answer.it) ==
          USHER_OK);
    CHECK(usher_queue_answer.it.rooms == 2);
    UNTOUCHED(usher_queue_answer);
    usher_queue_options.it.capacity = usher_queue_options.it.level = 0;
    CHECK(usher_queue_apply(e, "q", "bob", &usher_queue_options.it, &usher_queue_answer.it) ==
          USHER_OK);
    CHECK(strcmp(usher_queue_answer.it.agent, "ann") == 0);
    UNTOUCHED(usher_queue_answer);
    CHECK(usher_queue_agents(e, "q", &usher_queue_options.it, &reply) == USHER_OK);
    CHECK(usher_queue_row_of(reply, 0, &usher_queue_row.it));
    CHECK(strcmp(usher_queue_row.it.agent, "ann") == 0 && usher_queue_row.it.level == 3 &&
          usher_queue_row.it.used_rooms == 1);
    UNTOUCHED(usher_queue_row);
    usher_reply_done(reply);
    CHECK(usher_queue_stats(e, "q", &usher_queue_options.it, &reply) == USHER_OK);
    CHECK(usher_queue_statistics_of(reply, &usher_queue_statistics.it));
    CHECK(usher_queue_statistics.it.seated == 1 && usher_queue_statistics.it.agents == 1);
    UNTOUCHED(usher_queue_statistics);
    usher_reply_done(reply);
}

static void rooms(struct usher_engine *e)
{
    static const struct usher_text blue = { "blue", 4 };
    GUARDED(usher_room_options, USHER_ROOM_OPTIONS_INIT);
    GUARDED(usher_room_settings, USHER_ROOM_SETTINGS_INIT);
    GUARDED(usher_room_answer, USHER_ROOM_ANSWER_INIT);
    GUARDED(usher_room_row, USHER_ROOM_ROW_INIT);
    struct usher_reply *reply = NULL;

    usher_room_options.it.now_ms = 1000;
    usher_room_settings.it.capacity = 9;
    REFUSED(usher_room_settings, usher_room_open(e, "r", &usher_room_settings.it, NULL, NULL));
    CHECK(usher_room_open(e, "r", &usher_room_settings.it, &usher_room_options.it, &reply) ==
          USHER_OK);
    CHECK(usher_room_settings_of(reply, &usher_room_settings.it));
    CHECK(usher_room_settings.it.capacity == 9 &&
          usher_room_settings.it.log == USHER_ROOM_LOG_DEFAULT);
    UNTOUCHED(usher_room_settings);
    usher_reply_done(reply);
    CHECK(usher_room_open(e, "r", &usher_room_settings.it, NULL, NULL) == USHER_SAME);
    REFUSED(usher_room_options, usher_room_join(e, "r", "ann", &usher_room_options.it, NULL));
    CHECK(usher_room_join(e, "r", "ann", &usher_room_options.it, &usher_room_answer.it) ==
          USHER_OK);
    CHECK(usher_room_answer.it.members == 1);
    UNTOUCHED(usher_room_answer);
    CHECK(usher_room_set(e, "r", "sky", &blue, &usher_room_options.it, &usher_room_answer.it) ==
          USHER_OK);
    UNTOUCHED(usher_room_answer);
    CHECK(usher_room_snapshot(e, "r", &usher_room_options.it, &reply) == USHER_OK);
    CHECK(usher_room_row_of(reply, 0, &usher_room_row.it));
    CHECK(usher_room_row.it.kind == USHER_ROOM_ROW_FIELD && usher_room_row.it.value.size == 4);
    UNTOUCHED(usher_room_row);
    usher_reply_done(reply);
}

static void serials(struct usher_engine *e)
{
    GUARDED(usher_serial_options, USHER_SERIAL_OPTIONS_INIT);
    GUARDED(usher_serial_settings, USHER_SERIAL_SETTINGS_INIT);
    GUARDED(usher_serial_answer, USHER_SERIAL_ANSWER_INIT);
    GUARDED(usher_serial_row, USHER_SERIAL_ROW_INIT);
    GUARDED(usher_serial_statistics, USHER_SERIAL_STATISTICS_INIT);
    struct usher_reply *reply = NULL;

    usher_serial_options.it.now_ms = 1000;
    usher_serial_settings.it.width = 4;
    usher_serial_settings.it.mode = USHER_SERIAL_MODE_GAPFREE;
    REFUSED(usher_serial_settings, usher_serial_set(e, "s", &usher_serial_settings.it, NULL, NULL));
    CHECK(usher_serial_set(e, "s", &usher_serial_settings.it, &usher_serial_options.it, &reply) ==
          USHER_OK);
    CHECK(usher_serial_settings_of(reply, &usher_serial_settings.it));
    CHECK(usher_serial_settings.it.width == 4 && usher_serial_settings.it.lease_ms == 300000);
    UNTOUCHED(usher_serial_settings);
    CHECK(usher_serial_set(e, "s", &usher_serial_settings.it, NULL, NULL) == USHER_SAME);
    usher_reply_done(reply); /* which has the texts of the settings */
    usher_serial_options.it.lease_ms = 5000;
    REFUSED(usher_serial_options,
            usher_serial_reserve(e, "s", "ann", &usher_serial_options.it, NULL));
    CHECK(usher_serial_reserve(e, "s", "ann", &usher_serial_options.it, &usher_serial_answer.it) ==
          USHER_OK);
    CHECK(strcmp(usher_serial_answer.it.serial, "0001") == 0 &&
          usher_serial_answer.it.until_ms == 6000);
    UNTOUCHED(usher_serial_answer);
    usher_serial_options.it.lease_ms = 0;
    CHECK(usher_serial_parse(e, "s", "0001", &usher_serial_options.it, &usher_serial_answer.it) ==
          USHER_OK);
    CHECK(usher_serial_answer.it.number_made == 1);
    UNTOUCHED(usher_serial_answer);
    CHECK(usher_serial_holds(e, "s", &usher_serial_options.it, &reply) == USHER_OK);
    CHECK(usher_serial_row_of(reply, 0, &usher_serial_row.it));
    CHECK(strcmp(usher_serial_row.it.serial, "0001") == 0 && usher_serial_row.it.until_ms == 6000);
    UNTOUCHED(usher_serial_row);
    usher_reply_done(reply);
    CHECK(usher_serial_stats(e, "s", &usher_serial_options.it, &reply) == USHER_OK);
    CHECK(usher_serial_statistics_of(reply, &usher_serial_statistics.it));
    CHECK(usher_serial_statistics.it.held == 1);
    UNTOUCHED(usher_serial_statistics);
    usher_reply_done(reply);
}

static void ids(struct usher_engine *e)
{
    GUARDED(usher_id_options, USHER_ID_OPTIONS_INIT);
    GUARDED(usher_id_settings, USHER_ID_SETTINGS_INIT);
    GUARDED(usher_id_answer, USHER_ID_ANSWER_INIT);
    GUARDED(usher_id_row, USHER_ID_ROW_INIT);
    struct usher_reply *reply = NULL;

    usher_id_options.it.now_ms = 1000;
    usher_id_settings.it.start = 50;
    REFUSED(usher_id_settings, usher_id_create(e, "d", &usher_id_settings.it, NULL, NULL));
    CHECK(usher_id_create(e, "d", &usher_id_settings.it, &usher_id_options.it, &reply) == USHER_OK);
    CHECK(usher_id_settings_of(reply, &usher_id_settings.it));
    CHECK(usher_id_settings.it.start == 50 && usher_id_settings.it.by == 1);
    UNTOUCHED(usher_id_settings);
    usher_reply_done(reply);
    CHECK(usher_id_create(e, "d", &usher_id_settings.it, NULL, NULL) == USHER_SAME);
    REFUSED(usher_id_options, usher_id_next(e, "d", 3, &usher_id_options.it, NULL));
    CHECK(usher_id_next(e, "d", 3, &usher_id_options.it, &usher_id_answer.it) == USHER_OK);
    CHECK(usher_id_answer.it.first == 50 && usher_id_answer.it.n == 3);
    UNTOUCHED(usher_id_answer);
    CHECK(usher_id_stats(e, "d", &usher_id_options.it, &reply) == USHER_OK);
    CHECK(usher_id_row_of(reply, 0, &usher_id_row.it));
    CHECK(usher_id_row.it.next == 53 && usher_id_row.it.issued == 3);
    UNTOUCHED(usher_id_row);
    usher_reply_done(reply);
}

/* Options of another version, by size: they have no version of their own among the headers. */
static void options(void)
{
    struct {
        struct usher_options it;
        int64_t later;
    } opt = { .it = USHER_OPTIONS_INIT };
    struct {
        struct usher_ids_options it;
        int64_t later;
    } segment = { .it = USHER_IDS_OPTIONS_INIT };
    struct usher_engine *e = NULL;
    struct usher_ids *ids = NULL;

    /* shorter: the rest is not read */
    opt.it.size = offsetof(struct usher_options, skew_ms);
    opt.it.skew_ms = -1;
    CHECK(usher_open("memory:", &opt.it, &e) == USHER_OK);
    CHECK(usher_id_create(e, "i", NULL, NULL, NULL) == USHER_OK);
    segment.it.size = offsetof(struct usher_ids_options, chunk);
    segment.it.chunk = -1;
    CHECK(usher_ids_open(e, "i", &segment.it, &ids) == USHER_OK);
    usher_ids_close(ids);

    /* longer: what this version does not know is refused */
    segment.it.chunk = 0;
    segment.it.size = sizeof segment;
    CHECK(usher_ids_open(e, "i", &segment.it, &ids) == USHER_OK);
    usher_ids_close(ids);
    segment.later = 1;
    CHECK(usher_ids_open(e, "i", &segment.it, &ids) == USHER_INVALID);
    usher_close(e);
    opt.it.skew_ms = 0;
    opt.it.size = sizeof opt;
    CHECK(usher_open("memory:", &opt.it, &e) == USHER_OK);
    usher_close(e);
    opt.later = 1;
    CHECK(usher_open("memory:", &opt.it, &e) == USHER_INVALID);
}

int main(void)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;

    opt.clock_given = true;
    if (usher_open("memory:", &opt, &e) != USHER_OK) {
        (void)printf("open: %s\n", usher_message());
        return 1;
    }
    numbers(e);
    queues(e);
    rooms(e);
    serials(e);
    ids(e);
    usher_close(e);
    options();
    (void)printf("%zu bytes of an answer of numbers: %u checks, %u failed\n",
                 sizeof(struct usher_number_answer), checks, bad);
    return bad != 0;
}
