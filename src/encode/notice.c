/* SPDX-License-Identifier: MIT */
/* Notices out of what logs and other notices hold. */
#include "config.h"

#include <string.h>

#include "core/pack.h"
#include "change/thread.h"
#include "change/hooks.h"
#include "change/request_cache.h"

enum usher_status usher_notice_read(enum usher_noun noun, const struct usher_text *scope,
                                    uint64_t epoch, const struct usher_text *value,
                                    struct usher_notice *ret_notice)
{
    struct usher_unpacker u;

    usher__message_clear();
    if (scope == NULL || value == NULL || ret_notice == NULL) {
        usher__message_set("notice read: an argument is NULL");
        return USHER_INVALID;
    }
    u = usher__unpacker(value->data, value->size);
    memset(ret_notice, 0, sizeof *ret_notice);
    if (value->size == 0 || !usher__notice_unpack(&u, ret_notice) || u.at != u.end) {
        usher__message_set("notice read: malformed notice");
        return USHER_INVALID;
    }
    ret_notice->noun = noun;
    ret_notice->scope = *scope;
    ret_notice->epoch = epoch;
    usher__notice_publish(ret_notice);
    return USHER_OK;
}

enum usher_subject usher_notice_subject(const struct usher_notice *notice)
{
    const struct usher__hooks *hooks = usher__hooks((unsigned)notice->noun);

    return notice->subject.size != 0 && notice->verb != USHER_NOTICE_LOST && hooks->subject != NULL
               ? hooks->subject(notice)
               : USHER_SUBJECT_NONE;
}
