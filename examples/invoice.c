/* SPDX-License-Identifier: MIT */
/*
 * invoice -- gap-free numbers for invoices that stand in a database of the application's own.
 *
 *     cc invoice.c $(pkg-config --cflags --libs usher sqlite3) -o invoice
 *     ./invoice sqlite:numbers.db books.db
 *
 * The number is held for the invoice until the books have decided.  No clock decides: a program
 * that dies in between leaves a hold, and settle() asks the books what became of it.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include <usher/usher.h>

/* ---- the books ---- */

/* 1: @id stands there (with @serial, if that is not NULL), 0: it does not, -1: not known. */
static int entered(sqlite3 *books, const char *id, const char *serial)
{
    sqlite3_stmt *st = NULL;
    int found = -1;

    if (sqlite3_prepare_v2(books,
                           "SELECT count(*) FROM invoice WHERE id = ?1 AND serial = "
                           "ifnull(?2, serial)",
                           -1, &st, NULL) == SQLITE_OK &&
        sqlite3_bind_text(st, 1, id, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
        sqlite3_bind_text(st, 2, serial, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        found = sqlite3_column_int(st, 0);
    (void)sqlite3_finalize(st);
    return found;
}

static int enter(sqlite3 *books, const char *id, const char *serial)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(books, "INSERT INTO invoice VALUES (?, ?)", -1, &st, NULL);

    if (rc == SQLITE_OK && sqlite3_bind_text(st, 1, id, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
        sqlite3_bind_text(st, 2, serial, -1, SQLITE_TRANSIENT) == SQLITE_OK)
        rc = sqlite3_step(st);
    (void)sqlite3_finalize(st);
    return rc == SQLITE_DONE ? 1 : entered(books, id, serial);
}

/* ---- one invoice ---- */

/* 0: @id has a number and stands in the books.  @dies: the program ends in between. */
static int invoice(struct usher_engine *e, sqlite3 *books, const char *id, bool dies)
{
    struct usher_serial_options opt = USHER_SERIAL_OPTIONS_INIT;
    struct usher_serial_answer a = USHER_SERIAL_ANSWER_INIT;
    int stands = entered(books, id, NULL);

    if (stands != 0)
        return stands < 0; /* it has its number */
    opt.lease_ms = USHER_NONE;
    /* the owner is the invoice: asked again it has the number that it holds */
    if (!USHER_IS_DONE(usher_serial_reserve(e, "invoice", id, &opt, &a))) {
        fprintf(stderr, "%s: %s\n", id, usher_message());
        return 1;
    }
    stands = enter(books, id, a.serial);
    if (stands == 0) {
        (void)usher_serial_return(e, "invoice", a.serial, a.token, NULL, NULL);
        return 1;
    }
    if (stands < 0 || dies)
        return 1; /* settle() will look */
    (void)usher_serial_confirm(e, "invoice", a.serial, a.token, NULL, NULL);
    printf("%s is %s\n", id, a.serial);
    return 0;
}

/* When the program starts: what was left open by one that died. */
static void settle(struct usher_engine *e, sqlite3 *books)
{
    struct usher_serial_options opt = USHER_SERIAL_OPTIONS_INIT;
    struct usher_serial_row row = USHER_SERIAL_ROW_INIT;
    struct usher_reply *page = NULL, *before;
    bool done;

    do {
        before = page;
        done = USHER_IS_DONE(usher_serial_holds(e, "invoice", &opt, &page));
        usher_reply_done(before); /* opt.after was in it */
        for (size_t i = 0; done && usher_serial_row_of(page, i, &row); i++) {
            int stands = row.owner != NULL ? entered(books, row.owner, row.serial) : 0;

            if (stands > 0) {
                (void)usher_serial_confirm(e, "invoice", row.serial, row.token, NULL, NULL);
                printf("%s was entered before, as %s\n", row.owner, row.serial);
            } else if (stands == 0) {
                (void)usher_serial_return(e, "invoice", row.serial, row.token, NULL, NULL);
            }
        }
        opt.after = done ? usher_reply_text(page, USHER_ANSWER, USHER_FIELD_AFTER, NULL) : NULL;
    } while (opt.after != NULL);
    usher_reply_done(page);
}

int main(int argc, char **argv)
{
    struct usher_serial_settings rule = USHER_SERIAL_SETTINGS_INIT;
    struct usher_engine *e;
    sqlite3 *books = NULL;
    int rc = 1;

    if (usher_open(argc > 1 ? argv[1] : "memory:", NULL, &e) != USHER_OK) {
        fprintf(stderr, "invoice: %s\n", usher_message());
        return 1;
    }
    rule.prefix = "INV-";
    rule.width = 5;
    rule.mode = USHER_SERIAL_MODE_GAPFREE;
    if (sqlite3_open(argc > 2 ? argv[2] : ":memory:", &books) == SQLITE_OK &&
        sqlite3_exec(books,
                     "CREATE TABLE IF NOT EXISTS invoice (id TEXT PRIMARY KEY, serial UNIQUE)",
                     NULL, NULL, NULL) == SQLITE_OK &&
        USHER_IS_DONE(usher_serial_set(e, "invoice", &rule, NULL, NULL))) {
        settle(e, books);
        (void)invoice(e, books, "order-1", false);
        (void)invoice(e, books, "order-2", true);
        settle(e, books); /* as the program does that is started next */
        rc = invoice(e, books, "order-3", false);
    } else {
        fprintf(stderr, "invoice: %s\n", usher_message());
    }
    (void)sqlite3_close(books);
    usher_close(e);
    return rc;
}
