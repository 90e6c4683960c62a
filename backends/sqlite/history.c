/* SPDX-License-Identifier: MIT */
/* A file beside the stores' (aux_db.h) with one table: history_table.h. */
#include "config.h"

#include "history.h"

#include "aux_db.h"
#include "history_table.h"

struct history {
    struct usher_history base;
    struct usher__aux_db aux;
};

static const struct usher__aux_db_kind kind = {
    .what = "a history",
    .application = 0x75736868, /* "ushh" */
    .format = 3,
    .schema = USHER__VISIT_TABLE,
};

static enum usher_status put(struct usher_history *base, const struct usher_text *queue,
                             uint64_t epoch, const struct usher_queue_result_row *visits, size_t n,
                             int64_t deadline_ms, char message[192])
{
    struct usher__aux_db *s = &((struct history *)base)->aux;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__aux_db_begin(s, true, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__aux_db_prepare(s, USHER__VISIT_ADD, &st, message);
    if (status == USHER_OK) {
        for (size_t i = 0; i < n && rc == SQLITE_DONE; i++)
            rc = usher__visit_add(st, queue, epoch, &visits[i]);
        status = usher__aux_db_finish(s, st, rc, message);
    }
    return usher__aux_db_end(s, status, message);
}

static enum usher_status read_visits(struct usher_history *base,
                                     const struct usher_history_query *query, int64_t deadline_ms,
                                     usher_history_fn *fn, void *payload, char message[192])
{
    struct usher__aux_db *s = &((struct history *)base)->aux;
    enum usher_status status = usher__aux_db_begin(s, false, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__visits_read(s->db, query, fn, payload, message);
    return usher__aux_db_end(s, status, message);
}

/* ---- the interface ------------------------------------------------------------------ */

static void close_history(struct usher_history *base)
{
    struct history *h = (struct history *)base;

    usher__aux_db_close(&h->aux, h, sizeof *h, false);
}

static void forget_history(struct usher_history *base)
{
    struct history *h = (struct history *)base;

    usher__aux_db_close(&h->aux, h, sizeof *h, true);
}

static const struct usher_history_ops ops = {
    .size = sizeof(struct usher_history_ops),
    .name = "sqlite",
    .put = put,
    .read = read_visits,
    .close = close_history,
    .forget = forget_history,
};

enum usher_status usher__sqlite_history(const char *path, const struct usher_allocator *alloc,
                                        struct usher_history **ret_history, char message[192])
{
    enum usher_status status;
    struct history *h = usher__aux_db_new(&kind, path, alloc, sizeof *h,
                                          offsetof(struct history, aux), &status, message);

    if (h != NULL) {
        h->base.ops = &ops;
        *ret_history = &h->base;
    }
    return status;
}
