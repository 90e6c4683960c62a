/* SPDX-License-Identifier: MIT */
/*
 * The bytes are those of an event (usher_event_pack()) and of a reply (usher_reply_pack()), as a
 * client gets them from a network.  What must hold:
 *
 *   status  OK or INVALID
 *   safe    texts end with a NUL where their size says; all can be written in each form, read into
 *           the structs of each noun, and given to a replica
 *   again   a reply that was read, packed and read again has the same bytes
 */
#include "fuzz/fuzz.h"

#include <usher/replica.h>

static const enum usher_form forms[] = { USHER_FORM_JSON, USHER_FORM_PACKED, USHER_FORM_RESP2,
                                         USHER_FORM_RESP3 };
#define FORMS (sizeof forms / sizeof *forms)

static void look_at_notice(const struct usher_notice *n, struct usher_replica *r)
{
    struct usher_notice one;
    char text[64];
    size_t at = 0;

    for (size_t i = 0; i < FORMS; i++)
        (void)usher_notice_write(n, forms[i], text, sizeof text);
    (void)usher_notice_subject(n);
    while (usher_room_presence(n, &at, &one))
        (void)usher_notice_subject(&one);
    (void)usher_replica_notice(r, n);
    (void)usher_replica_heartbeat(r, n->epoch, n->version, n->mark);
}

static void look_at_values(const struct usher_reply *reply, size_t row)
{
    size_t n;
    const struct usher_value *v = usher_reply_values(reply, row, &n);

    for (size_t i = 0; i < n; i++)
        must_hold(v[i].text == NULL || v[i].text[v[i].size] == '\0', "safe: text");
}

static void look_at_structs(const struct usher_reply *reply)
{
    struct usher_number_answer number = USHER_NUMBER_ANSWER_INIT;
    struct usher_queue_answer queue = USHER_QUEUE_ANSWER_INIT;
    struct usher_queue_row queue_row = USHER_QUEUE_ROW_INIT;
    struct usher_room_answer room = USHER_ROOM_ANSWER_INIT;
    struct usher_room_row room_row = USHER_ROOM_ROW_INIT;
    struct usher_serial_answer serial = USHER_SERIAL_ANSWER_INIT;
    struct usher_id_answer id = USHER_ID_ANSWER_INIT;

    must_hold(usher_number_answer_of(reply, &number) + usher_queue_answer_of(reply, &queue) +
                      usher_room_answer_of(reply, &room) + usher_serial_answer_of(reply, &serial) +
                      usher_id_answer_of(reply, &id) <=
                  1,
              "safe: noun");
    (void)usher_queue_row_of(reply, 0, &queue_row);
    (void)usher_room_row_of(reply, 0, &room_row);
}

static void look_at_reply(const struct usher_reply *reply, struct usher_replica *r)
{
    struct usher_replica_question q;
    unsigned char *bytes[2] = { NULL, NULL };
    struct usher_reply *again;
    size_t size, length;
    char text[64];

    must_hold(reply->message != NULL && reply->tag == NULL, "safe: message");
    look_at_values(reply, USHER_ANSWER);
    for (size_t i = 0; i < reply->n_rows; i++)
        look_at_values(reply, i);
    for (size_t i = 0; i < FORMS; i++) {
        length = usher_reply_write(reply, forms[i], text, sizeof text);
        must_hold(usher_reply_write(reply, forms[i], NULL, 0) == length, "safe: length");
    }
    look_at_structs(reply);
    usher_replica_ask(r, &q);
    (void)usher_replica_answer(r, q.ticket, reply);

    size = usher_reply_pack(reply, NULL, 0);
    for (int i = 0; i < 2; i++) {
        bytes[i] = malloc(size);
        must_hold(bytes[i] != NULL, "memory");
    }
    (void)usher_reply_pack(reply, bytes[0], size);
    must_hold(usher_reply_unpack(bytes[0], size, &again) == USHER_OK, "again: status");
    must_hold(usher_reply_pack(again, bytes[1], size) == size, "again: size");
    must_hold(memcmp(bytes[0], bytes[1], size) == 0, "again: bytes");
    usher_reply_done(again);
    free(bytes[0]);
    free(bytes[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct usher_notice notice;
    struct usher_reply *reply;
    struct usher_replica *r;
    enum usher_status status;
    uint32_t kind = 0;

    must_hold(usher_replica_open("r", NULL, &r) == USHER_OK, "open");
    status = usher_event_unpack(data, size, &kind, &notice);
    must_hold(status == USHER_OK || status == USHER_INVALID, "status");
    if (status == USHER_OK) {
        must_hold(kind == USHER_EVENT_NOTICE || kind == USHER_EVENT_GAP, "safe: kind");
        look_at_notice(&notice, r);
    }
    status = usher_reply_unpack(data, size, &reply);
    must_hold(status == USHER_OK || status == USHER_INVALID, "status");
    must_hold((status == USHER_OK) == (reply != NULL), "status: reply");
    if (status == USHER_OK)
        look_at_reply(reply, r);
    usher_reply_done(reply);
    usher_replica_close(r);
    return 0;
}
