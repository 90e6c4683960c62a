/* SPDX-License-Identifier: MIT */
/*
 * Two processes follow the log of one scope that both write to: each is notified of each change
 * once, in order, its own and the other's, even if it closes its engine in the middle and resumes.
 */
#include "lib/test.h"

#include <sys/wait.h>

#include <usher/command.h>

#include "lib/command_line.h"
#include "lib/stores.h"

#define CHANGES 60 /* by each */

/* One of them.  Says what is wrong, or NULL. */
struct process {
    const char *url, *what;
    char who; /* 'a', 'b' */
    struct usher_engine *e;
    struct usher_watcher *watcher;
    uint64_t last_version; /* version */
    unsigned of_other;     /* changes */
};

static bool wrong(struct process *p, const char *what)
{
    p->what = what;
    return false;
}

static bool follow(struct process *p)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.timeout_ms = 60000; /* a loaded machine is no fault */
    opt.clock_given = true; /* versions begin at 1 */
    if (usher_open(p->url, &opt, &p->e) != USHER_OK ||
        usher_watch_events(p->e, USHER_NUMBER, "p", USHER_WATCH_SINCE | USHER_WATCH_ALL,
                           p->last_version, NULL, &p->watcher) != USHER_OK)
        return wrong(p, usher_message());
    return true;
}

static bool collect_one(struct process *p, int64_t timeout_ms)
{
    const struct usher_event *event = usher_collect(p->e, timeout_ms);
    const struct usher_notice *n;

    if (event == NULL)
        return timeout_ms == 0 || wrong(p, "nothing is told");
    n = event->notice;
    if (event->kind != USHER_EVENT_NOTICE)
        return wrong(p, "something is missing");
    if (n->version != p->last_version + 1 || n->before != p->last_version)
        return wrong(p, "not in order, or twice");
    p->of_other += n->subject.size != 0 && n->subject.data[0] != p->who;
    p->last_version = n->version;
    usher_event_done(event);
    return true;
}

static bool run(struct process *p)
{
    struct usher_result r;

    if (!follow(p))
        return false;
    for (int i = 0; i < CHANGES; i++) {
        enum usher_status status = line_execute(p->e, &r, "number add p %c%d", p->who, i);

        usher_result_done(&r);
        if (status != USHER_OK)
            return wrong(p, "a change is not made");
        if (!collect_one(p, 0))
            return false;
        if (i == CHANGES / 2) { /* notices that were not collected are sent again */
            usher_close(p->e);
            if (!follow(p))
                return false;
        }
    }
    while (p->last_version < 1 + 2 * CHANGES)
        if (!collect_one(p, 60000))
            return false;
    usher_close(p->e);
    return p->of_other == CHANGES || wrong(p, "not all of the other");
}

static void both(const struct test_store *store)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[STORE_URL_MAX];
    struct process a = { url, NULL, 'a', NULL, NULL, 1, 0 }, b = a;
    struct usher_engine *e;
    struct usher_result r;
    int status;
    pid_t pid;

    b.who = 'b';
    opt.clock_given = true;
    assert_true(store->fresh(url));
    assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
    assert_int_equal(line_execute(e, &r, "number set p log=%d", 2 * CHANGES), USHER_OK);
    usher_result_done(&r);
    usher_close(e);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!run(&b))
            (void)fprintf(stderr, "%s: the other process: %s\n", store->name, b.what);
        _exit(b.what != NULL);
    }
    if (!run(&a))
        fail_msg("%s: %s", store->name, a.what);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST(each_process_receives_changes_of_the_other)
{
    for (unsigned i = 0; i < n_stores; i++)
        if (strcmp(stores[i].name, "memory") != 0)
            both(&stores[i]);
}

TEST_PROGRAM(stores_start, stores_stop);
