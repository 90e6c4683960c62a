/* SPDX-License-Identifier: MIT */
/*
 * Erlang A: with n agents and j callers in front of it, a caller is served when j + 1 callers have
 * left, j of them by a service or a hang-up.  So its wait is a sum of exponential times with the
 * rates c, c + theta, ... c + j theta, where c = n mu, and it stays for all of it.  The share W(j)
 * that is served within t has the recursion
 *
 *   W(0) = c / (c + theta) - B(0)                      B(0) = c / (c + theta) exp(-(c + theta) t)
 *   W(j) = W(j-1) (c + j theta) / (c + (j+1) theta) - B(j)
 *   B(j) = B(j-1) (1 - exp(-theta t)) (c + j theta)^2 / (j theta (c + (j+1) theta))
 *
 * by integration by parts.  B is kept as a logarithm, because exp(-c t) is 0 in a large centre.
 */
#include "config.h"

#include "lab/erlang.h"

#include <math.h>

#define NEGLIGIBLE 1e-15
#define LARGE 1e100
#define WAITING_MAX 100000 /* a longer queue is one that serves no caller in time */

double usher__erlang_b(double offered, uint64_t n)
{
    double b = 1;

    for (uint64_t k = 1; k <= n; k++)
        b = offered * b / ((double)k + offered * b);
    return b;
}

static struct erlang_level erlang_c(const struct erlang *e, uint64_t n, double within_s)
{
    double offered = e->lambda / e->mu, b = usher__erlang_b(offered, n), free = (double)n - offered;
    struct erlang_level level = { 1, 0, 0 };

    if (free <= 0)
        return level;
    level.waits = (double)n * b / ((double)n - offered * (1 - b));
    level.in_time = 1 - level.waits * exp(-free * e->mu * within_s);
    return level;
}

struct erlang_level usher__erlang(const struct erlang *e, uint64_t n, double within_s)
{
    struct erlang_level level = { 0, 0, 0 };
    double c = (double)n * e->mu, theta = e->theta, stays = -expm1(-theta * within_s);
    /* weights of the states, where that of n busy agents and no waiting caller is 1 */
    double weight = 1, sum, waiting = 0, in_time = 0, gave_up = 0;
    double w = 0, log_b = 0, next;

    if (theta <= 0)
        return erlang_c(e, n, within_s);
    if (n == 0)
        return (struct erlang_level){ 1, 0, 1 };
    sum = 1 / usher__erlang_b(e->lambda / e->mu, n);
    if (isinf(sum))
        return (struct erlang_level){ 0, 1, 0 };
    for (uint64_t waiters = 0;; waiters++) {
        double j = (double)waiters;

        /* callers hang up as fast as they come too many */
        if (waiters > WAITING_MAX)
            return (struct erlang_level){ 1, 0, 1 - c / e->lambda };
        next = c + (j + 1) * theta;
        if (waiters == 0) {
            log_b = log(c / next) - next * within_s;
            w = c / next;
        } else {
            log_b += log(stays * (c + j * theta) / (j * theta) * (c + j * theta) / next);
            w *= (c + j * theta) / next;
            sum += weight;
        }
        w -= exp(log_b);
        waiting += weight;
        in_time += weight * (w > 0 ? w : 0);
        gave_up += weight * j * theta / e->lambda;
        weight *= e->lambda / next;
        if (weight > LARGE) {
            weight /= LARGE;
            sum /= LARGE;
            waiting /= LARGE;
            in_time /= LARGE;
            gave_up /= LARGE;
        }
        if (weight < NEGLIGIBLE * sum && e->lambda < next)
            break;
    }
    level.waits = waiting / sum;
    level.in_time = 1 - (waiting - in_time) / sum;
    level.gave_up = gave_up / sum;
    return level;
}
