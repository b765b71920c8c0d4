/* A condensed posterior, where there is one, has the marginals of the posterior it was made of. */
#ifndef CONDENSED_SUPPORT_H
#define CONDENSED_SUPPORT_H

#include <stdlib.h>

#include "support.h"

#include "model/model.h"

/* At n rows of X.  False: there is none. */
static inline bool check_condensed(const posterior *p, int64_t n, const double *X, int64_t ldx)
{
    posterior *q = p->ops->condense ? p->ops->condense(p) : NULL;
    if (!q) return false;
    int64_t cells = n * (p->latents ? p->latents : 1), work = p->ops->work_doubles(p, n);
    if (q->ops->work_doubles(q, n) > work) work = q->ops->work_doubles(q, n);
    double *room = malloc((size_t)(work + 5 * cells) * sizeof *room), *mean = room + work, *variance = mean + 2 * cells;
    double *alone = variance + 2 * cells;
    assert_int_equal(p->ops->marginal(p, n, X, ldx, room, mean, variance, NULL), ANYGP_OK);
    assert_int_equal(q->ops->marginal(q, n, X, ldx, room, mean + cells, variance + cells, NULL), ANYGP_OK);
    assert_int_equal(q->ops->marginal(q, n, X, ldx, room, alone, NULL, NULL), ANYGP_OK);
    for (int64_t i = 0; i < cells; i++) {
        check_close(mean[cells + i], mean[i], 1e-9);
        check_close(alone[i], mean[i], 1e-9);
        check_close(variance[cells + i], variance[i], 1e-9);
    }
    free(room);
    q->ops->free(q);
    return true;
}

#endif
