/* SPDX-License-Identifier: MIT */
/*
 * calls -- operations on an engine, one function a verb, for tests in which threads, loads and
 * random programs make commands.  A test that executes fixed commands uses lines
 * (command_line.h).  tests/model/test_calls.c tests the calls that programs make.
 *
 * Each function returns the status of the reply, or USHER_INVALID if the engine is none.  After a
 * failure usher_message() returns the reason.  Results (ret_…) are written on success only.  A
 * struct usher_result is the caller's to give back.  A text that is NULL, and a number that is 0,
 * are not given, except where a comment says so.
 */
#ifndef USHER_TESTS_LIB_CALLS_H
#define USHER_TESTS_LIB_CALLS_H

#include <usher/replica.h>
#include <usher/store/operation.h>

/* ---- numbers ------------------------------------------------------------------------ */

struct ask_number_hold {
    uint64_t token;
    int64_t until_ms; /* 0: until hangup */
    uint64_t epoch, version;
    char number[USHER_NAME_MAX + 1];
};

struct ask_number_call_options {
    const char *number, *groups, *sticky;
    int64_t lease_ms; /* 0: the pool's; < 0: until hangup */
    const char *request, *node;
};

enum usher_status ask_number_add(struct usher_engine *e, const char *pool, const char *number,
                                 const char *group);
enum usher_status ask_number_del(struct usher_engine *e, const char *pool, const char *number);
enum usher_status ask_number_reg(struct usher_engine *e, const char *pool, const char *number);
enum usher_status ask_number_unreg(struct usher_engine *e, const char *pool, const char *number);

/* @opt may be NULL. */
enum usher_status ask_number_call(struct usher_engine *e, const char *pool, const char *owner,
                                  const struct ask_number_call_options *opt,
                                  struct ask_number_hold *ret_hold);

/* @rest_ms < 0: the pool's. */
enum usher_status ask_number_hangup(struct usher_engine *e, const char *pool, const char *number,
                                    uint64_t token, int64_t rest_ms);

/* @lease_ms 0: as its last lease; < 0: until hangup.  @ret_until_ms may be NULL. */
enum usher_status ask_number_renew(struct usher_engine *e, const char *pool, const char *number,
                                   uint64_t token, int64_t lease_ms, int64_t *ret_until_ms);

/* Renew @hold by @owner, or take the number back if the store has lost the hold.  @opt may be
 * NULL; its lease_ms and node are given. */
enum usher_status ask_number_renew_as(struct usher_engine *e, const char *pool, const char *owner,
                                      const struct ask_number_call_options *opt,
                                      struct ask_number_hold *hold);

/* These repeat the command until all is done.  ret_… may be NULL. */
enum usher_status ask_number_renew_node(struct usher_engine *e, const char *pool, const char *node,
                                        int64_t lease_ms, uint64_t *ret_renewed);
enum usher_status ask_number_free(struct usher_engine *e, const char *pool, const char *owner,
                                  const char *number, uint64_t *ret_freed);
enum usher_status ask_number_free_all(struct usher_engine *e, const char *pool,
                                      uint64_t *ret_freed);
enum usher_status ask_number_free_node(struct usher_engine *e, const char *pool, const char *node,
                                       uint64_t *ret_freed);
enum usher_status ask_number_sweep(struct usher_engine *e, const char *pool, uint64_t *ret_expired);

enum usher_status ask_number_show(struct usher_engine *e, const char *pool, const char *number,
                                  struct usher_result *ret_reply);

/* @state < 0: any. */
enum usher_status ask_number_list(struct usher_engine *e, const char *pool, int state,
                                  const char *owner, const char *after, size_t max,
                                  struct usher_result *ret_reply);

/* The busy numbers of @node, which may be NULL. */
enum usher_status ask_number_list_node(struct usher_engine *e, const char *pool, const char *node,
                                       struct usher_result *ret_reply);

enum usher_status ask_number_stats(struct usher_engine *e, const char *pool,
                                   struct usher_number_result_statistics *ret_stats);
enum usher_status ask_number_set(struct usher_engine *e, const char *pool, uint64_t given,
                                 struct usher_number_result_settings *inout);

struct ask_number_bulk_counts {
    uint64_t ok, same, other; /* other: missing or refused */
};

/* One command @verb for each of @n numbers, 64 at a time, up to the first that fails.  @ret_counts
 * may be NULL. */
enum usher_status ask_number_bulk(struct usher_engine *e, enum usher_verb verb, const char *pool,
                                  const char *const *numbers, size_t n, const char *group,
                                  struct ask_number_bulk_counts *ret_counts);

/* ---- queues ------------------------------------------------------------------------- */

struct ask_queue_seat {
    enum usher_queue_place place;
    int64_t index;    /* QUEUE: users ahead in its lane; else -1 */
    int64_t until_ms; /* OFFER: its end */
    uint64_t token;   /* ROOM, OFFER: version of the match */
    uint64_t epoch, version;
    char room[USHER_QUEUE_ROOM_MAX]; /* ROOM, OFFER; else "" */
    char agent[USHER_NAME_MAX + 1];
};

struct ask_queue_apply_options {
    const char *lane;
    int64_t priority, since_ms;
    const char *request;
};

struct ask_queue_visit_filter {
    const char *user, *agent;
    int64_t since_ms, until_ms; /* until_ms 0: not given */
};

enum usher_status ask_queue_set(struct usher_engine *e, const char *queue, uint64_t given,
                                struct usher_queue_result_settings *inout);

/* @capacity 0: 1.  @lanes NULL: all.  @ret_login may be NULL. */
enum usher_status ask_queue_login(struct usher_engine *e, const char *queue, const char *agent,
                                  int64_t capacity, const char *lanes, int64_t level,
                                  uint64_t *ret_login);

/* @opt may be NULL. */
enum usher_status ask_queue_apply(struct usher_engine *e, const char *queue, const char *user,
                                  const struct ask_queue_apply_options *opt,
                                  struct ask_queue_seat *ret_seat);
enum usher_status ask_queue_where(struct usher_engine *e, const char *queue, const char *user,
                                  struct ask_queue_seat *ret_seat);
enum usher_status ask_queue_leave(struct usher_engine *e, const char *queue, const char *user);
enum usher_status ask_queue_finish(struct usher_engine *e, const char *queue, const char *room,
                                   const char *user, uint64_t token);

/* @filter may be NULL. */
enum usher_status ask_queue_history(struct usher_engine *e, const char *queue,
                                    const struct ask_queue_visit_filter *filter, const char *after,
                                    size_t max, struct usher_result *ret_reply);
enum usher_status ask_queue_drain(struct usher_engine *e, const char *queue, uint64_t *ret_moved);
enum usher_status ask_queue_stats(struct usher_engine *e, const char *queue, const char *lane,
                                  struct usher_queue_result_statistics *ret_stats);

/* ---- rooms -------------------------------------------------------------------------- */

/* @settings NULL: the defaults.  Repeated while the last room of the name is erased. */
enum usher_status ask_room_open(struct usher_engine *e, const char *room,
                                const struct usher_room_result_settings *settings);

/* Repeated until all is erased. */
enum usher_status ask_room_close(struct usher_engine *e, const char *room);
enum usher_status ask_room_unlock(struct usher_engine *e, const char *room);

/* Values and fields may be NULL. */
enum usher_status ask_room_set(struct usher_engine *e, const char *room, const char *field,
                               const struct usher_text *value, const struct usher_text *expected);
enum usher_status ask_room_join(struct usher_engine *e, const char *room, const char *member,
                                const struct usher_text *fields);
enum usher_status ask_room_leave(struct usher_engine *e, const char *room, const char *member);

/* @ban_ms < 0: not given. */
enum usher_status ask_room_kick(struct usher_engine *e, const char *room, const char *member,
                                int64_t ban_ms);

/* ret_… may be NULL. */
enum usher_status ask_room_alive(struct usher_engine *e, const char *room, const char *member,
                                 uint64_t *ret_epoch, uint64_t *ret_version, uint64_t *ret_mark);
enum usher_status ask_room_member(struct usher_engine *e, const char *room, const char *member,
                                  const char *field, const struct usher_text *value,
                                  const struct usher_text *expected);
enum usher_status ask_room_all(struct usher_engine *e, const char *room, const char *field,
                               const struct usher_text *value);
enum usher_status ask_room_role(struct usher_engine *e, const char *room, const char *role,
                                const char *member, const char *expected);
enum usher_status ask_room_share(struct usher_engine *e, const char *room, const char *member,
                                 const char *share, const struct usher_text *fields);
enum usher_status ask_room_unshare(struct usher_engine *e, const char *room, const char *share);

enum usher_status ask_room_snapshot(struct usher_engine *e, const char *room, uint64_t after,
                                    uint64_t since, size_t max, struct usher_result *ret_reply);

/* @since is given even if it is 0. */
enum usher_status ask_room_changes(struct usher_engine *e, const char *room, uint64_t since,
                                   size_t max, struct usher_result *ret_reply);
enum usher_status ask_room_sweep(struct usher_engine *e, const char *room, int64_t ttl_ms,
                                 struct usher_result *ret_reply);

/* Give @r the answer @result to its question @q, as a client gets it: in the bytes of a reply. */
enum usher_replica_next replica_take(struct usher_replica *r,
                                     const struct usher_replica_question *q,
                                     const struct usher_result *result);

/* ---- serials ------------------------------------------------------------------------ */

struct ask_serial_hold {
    uint64_t token;
    int64_t until_ms;
    int64_t number; /* k */
    uint64_t epoch, version;
    char serial[USHER_SERIAL_TEXT_MAX + 1];
};

struct ask_serial_found {
    enum usher_serial_state state;
    int64_t number; /* k */
    uint64_t token; /* of its last hold, if that is known; else 0 */
    int64_t until_ms;
    char owner[USHER_NAME_MAX + 1];
    char serial[USHER_SERIAL_TEXT_MAX + 1];
};

/* @given 0: read it. */
enum usher_status ask_serial_rule(struct usher_engine *e, const char *rule, uint64_t given,
                                  struct usher_serial_form *inout);
enum usher_status ask_serial_delete(struct usher_engine *e, const char *rule);
enum usher_status ask_serial_fill(struct usher_engine *e, const char *rule, int64_t n);
enum usher_status ask_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                  const char *request, struct usher_result *ret_reply);
enum usher_status ask_serial_check(struct usher_engine *e, const char *rule,
                                   struct usher_serial_stock *ret_stock);
enum usher_status ask_serial_tick(struct usher_engine *e, const char *rule);

/* @ret_max may be NULL. */
enum usher_status ask_serial_setmax(struct usher_engine *e, const char *rule, int64_t step,
                                    int64_t *ret_max);
enum usher_status ask_serial_setmaxcur(struct usher_engine *e, const char *rule, int64_t cur);

/* @lease_ms < 0: none. */
enum usher_status ask_serial_reserve(struct usher_engine *e, const char *rule, const char *owner,
                                     int64_t lease_ms, const char *request,
                                     struct ask_serial_hold *ret_hold);
enum usher_status ask_serial_confirm(struct usher_engine *e, const char *rule, const char *serial,
                                     uint64_t token);
enum usher_status ask_serial_renew(struct usher_engine *e, const char *rule, const char *serial,
                                   uint64_t token, int64_t lease_ms);
enum usher_status ask_serial_return(struct usher_engine *e, const char *rule, const char *serial,
                                    uint64_t token);
enum usher_status ask_serial_void(struct usher_engine *e, const char *rule, const char *serial,
                                  uint64_t token);
enum usher_status ask_serial_number(struct usher_engine *e, const char *rule, const char *serial,
                                    struct ask_serial_found *ret_number);
enum usher_status ask_serial_holds(struct usher_engine *e, const char *rule, const char *owner,
                                   size_t max, struct usher_result *ret_reply);

/* Repeated until all is done. */
enum usher_status ask_serial_sweep(struct usher_engine *e, const char *rule);

/* ---- ids ---------------------------------------------------------------------------- */

/* @settings may be NULL. */
enum usher_status ask_id_create(struct usher_engine *e, const char *name, uint64_t given,
                                const struct usher_id_result_settings *settings);

/* *@ret_range is written after USHER_FULL, too. */
enum usher_status ask_id_next(struct usher_engine *e, const char *name, int64_t n,
                              const char *request, struct usher_id_range *ret_range);
enum usher_status ask_id_return(struct usher_engine *e, const char *name,
                                const struct usher_id_range *range);
enum usher_status ask_id_show(struct usher_engine *e, const char *name,
                              struct usher_id_result_row *ret_row);

/* After USHER_REFUSED @inout->why is written. */
enum usher_status ask_id_set(struct usher_engine *e, const char *name, uint64_t given,
                             struct usher_id_result_settings *inout, int64_t next);
enum usher_status ask_id_delete(struct usher_engine *e, const char *name);

/* @max < 0: not given. */
enum usher_status ask_id_install(struct usher_engine *e, const char *name, int64_t first, int64_t n,
                                 int64_t max);

#endif
