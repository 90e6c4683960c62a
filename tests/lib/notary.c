/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "notary.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Under the lock.  NULL: it is not there. */
static struct usher_authority_entry *find(struct notary *n, enum usher_noun noun,
                                          const struct usher_text *name)
{
    for (int i = 0; i < n->n; i++)
        if (n->of[i].noun == noun && n->of[i].name_size == name->size &&
            memcmp(n->of[i].name, name->data, name->size) == 0)
            return &n->of[i].entry;
    return NULL;
}

static struct usher_authority_entry *make(struct notary *n, enum usher_noun noun,
                                          const struct usher_text *name)
{
    if (n->n == NOTARY_NAMES)
        return NULL;
    n->of[n->n].noun = noun;
    n->of[n->n].name_size = name->size;
    memcpy(n->of[n->n].name, name->data, name->size);
    n->of[n->n].entry.max = 0;
    n->of[n->n].entry.data_size = 0;
    return &n->of[n->n++].entry;
}

static enum usher_status reserve(struct usher_authority *a, const struct usher_authority_want *want,
                                 int64_t deadline_ms, struct usher_authority_range *ret_range,
                                 char message[192])
{
    struct notary *n = (struct notary *)a;
    int delay = atomic_load(&n->delay_ms);
    struct timespec ts = { delay / 1000, (long)(delay % 1000) * 1000000 };
    enum usher_status status = (enum usher_status)atomic_load(&n->answer);
    struct usher_authority_entry *entry;
    int64_t from, to;

    (void)deadline_ms;
    if (want->n > 0)
        (void)atomic_fetch_add(&n->requests, 1);
    if (delay > 0)
        (void)nanosleep(&ts, NULL);
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "the notary is out");
        return status;
    }
    (void)pthread_mutex_lock(&n->lock);
    entry = find(n, want->noun, &want->name);
    if (entry == NULL)
        entry = make(n, want->noun, &want->name);
    if (entry == NULL) {
        (void)pthread_mutex_unlock(&n->lock);
        return USHER_NOMEM;
    }
    from = to = entry->max > want->floor ? entry->max : want->floor;
    if (from < want->limit)
        to = want->n < want->limit - from ? from + want->n : want->limit;
    else if (want->n > 0)
        status = USHER_FULL;
    entry->max = to;
    if (want->data.data != NULL) {
        entry->data_size = want->data.size;
        memcpy(entry->data, want->data.data, want->data.size);
    }
    if (status == USHER_OK) {
        ret_range->from = from;
        ret_range->to = to;
    }
    (void)pthread_mutex_unlock(&n->lock);
    return status;
}

static enum usher_status read_entry(struct usher_authority *a, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    struct usher_authority_entry *ret_entry, char message[192])
{
    struct notary *n = (struct notary *)a;
    enum usher_status status = (enum usher_status)atomic_load(&n->answer);
    const struct usher_authority_entry *entry;

    (void)deadline_ms;
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "the notary is out");
        return USHER_UNAVAILABLE;
    }
    (void)pthread_mutex_lock(&n->lock);
    entry = find(n, noun, name);
    if (entry != NULL)
        *ret_entry = *entry;
    (void)pthread_mutex_unlock(&n->lock);
    return entry != NULL ? USHER_OK : USHER_MISSING;
}

static enum usher_status release(struct usher_authority *a, enum usher_noun noun,
                                 const struct usher_text *name, int64_t from, int64_t to,
                                 int64_t deadline_ms, char message[192])
{
    struct notary *n = (struct notary *)a;
    struct usher_authority_entry *entry;
    enum usher_status status = USHER_MISSING;

    (void)deadline_ms;
    (void)message;
    (void)pthread_mutex_lock(&n->lock);
    entry = find(n, noun, name);
    if (entry != NULL)
        status = entry->max == to ? USHER_OK : USHER_STALE;
    if (status == USHER_OK)
        entry->max = from;
    (void)pthread_mutex_unlock(&n->lock);
    return status;
}

static void close_notary(struct usher_authority *a)
{
    (void)a; /* the test's */
}

static const struct usher_authority_ops ops = {
    .size = sizeof(struct usher_authority_ops),
    .name = "notary",
    .reserve = reserve,
    .read = read_entry,
    .release = release,
    .close = close_notary,
};

void notary_init(struct notary *n)
{
    memset(n, 0, sizeof *n);
    n->base.ops = &ops;
    (void)pthread_mutex_init(&n->lock, NULL);
}

void notary_done(struct notary *n)
{
    (void)pthread_mutex_destroy(&n->lock);
}
