/* How many rows there is time for, in models of neighbours (vecchia.h): order and lists take no part in a pass over blocks, which hears
   of a time limit, so what they will take is known beforehand, from some of the rows.

   Of n0 < n1 rows they take t0 and t1 seconds, and so about t1 (n / n1)^p for n of them, p = log(t1 / t0) / log(n1 / n0): a little above 1
   for few inputs, 2 for many and by correlation. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "data/neighbours/neighbours.h"
#include "data/partition/select.h"
#include "model/local/vecchia.h"

enum { FEW = 1000, SOME = 4000 };
static const double FLATTEST = 1.05, STEEPEST = 2;

/* Seconds for the order and the lists of this many rows at random. */
static anygp_status try_some(const problem *p, const merged *m, const kernel *k, int64_t near, int64_t n,
                             double *seconds, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int64_t d, *chosen = mem_alloc(2 * n, sizeof *chosen), *order = chosen + n;
    merged some = {0};
    near_rows lists = {0};
    double *places = NULL;
    if (!chosen) return fail_memory(e, "the order of the rows", 16.0 * (double)n);
    TRY_DONE(merged_select(m, select_random(m->n, n, p->seed, chosen), chosen, &some, e));
    double began = clock_seconds();
    near_metric by = vecchia_metric(k, n);
    if (!(places = vecchia_places(k, n, m->D, some.X, &d))) {
        status = fail_memory(e, "the order of the rows", 8.0 * (double)(n * m->D));
        goto done;
    }
    TRY_DONE(vecchia_order(p, n, d, places, &by, NULL, order, e));
    TRY_DONE(neighbours_in_order(n, d, places, &by, order, near, comm_self(), &lists, e));
    *seconds = fmax(clock_seconds() - began, 1e-6);
done:
    near_rows_clear(&lists);
    merged_clear(&some);
    free(places);
    free(chosen);
    return status;
}

anygp_status vecchia_rows_in_time(const problem *p, const merged *m, const kernel *k, int64_t near, double share,
                                  int64_t least, int64_t *rows, anygp_error *e)
{
    double left = deadline_left(p->pass), few, some, found = (double)m->n;
    *rows = m->n;
    if (left == INFINITY || m->n <= 2 * SOME || m->n <= least || p->near.given) return ANYGP_OK;
    TRY(try_some(p, m, k, near, FEW, &few, e));
    TRY(try_some(p, m, k, near, SOME, &some, e));
    double power = fmin(fmax(log(some / few) / log((double)SOME / FEW), FLATTEST), STEEPEST);
    found = SOME * pow(share * fmax(left, 0) / some, 1 / power);
    if (p->comm->size > 1) TRY(p->comm->broadcast(p->comm->ctx, 0, sizeof found, &found, e));
    *rows = found < (double)least ? least : found < (double)m->n ? (int64_t)found : m->n;
    return ANYGP_OK;
}
