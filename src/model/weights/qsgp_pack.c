/* Checkpoints of qsgp. */
#include <float.h>
#include <string.h>

#include "model/weights/qsgp_state.h"

static int64_t kernel_numbers(const qsgp_state *q) { return kernel_count(q->first); }

static int64_t row_numbers(const qsgp_state *s)
{
    return s->problem->blocks->count * s->problem->blocks->largest * s->q.C;
}

/* No step moves a cell without a look at its squares. */
static void mark_cells(qsgp_state *s)
{
    for (int64_t i = 0; i < s->q.cells.count; i++)
        if (s->looked[i] != s->q.seen[i]) changes_mark(&s->cells, i), s->looked[i] = s->q.seen[i];
}

anygp_status qsgp_save(void *state, checkpoint *to, anygp_error *e)
{
    qsgp_state *s = state;
    const qsgp *q = &s->q;
    (void)e;
    mark_cells(s);
    int64_t m = q->cells.m, width = q->cells.width, largest = s->problem->blocks->largest;
    checkpoint_put_parts(to, "v", m * q->V, q->v, width * q->V, &s->cells);
    checkpoint_put_parts(to, "square", m * q->C, q->square, width * q->C, &s->cells);
    checkpoint_put_parts(to, "seen", q->cells.count, q->seen, 1, &s->cells);
    checkpoint_put(to, "a", q->P * q->V, q->a);
    checkpoint_put(to, "control", q->P * q->cells.D, q->Xp);
    checkpoint_put(to, "control weights", q->P, q->wp);
    if (s->alpha) checkpoint_put_parts(to, "alpha", row_numbers(s), s->alpha, largest * q->C, &s->blocks);
    checkpoint_put(to, "damping", q->C, s->damping);
    checkpoint_put_integer(to, "stale", s->stale);
    if (q->s) checkpoint_put_parts(to, "s", m * q->C, q->s, width * q->C, &s->cells);
    if (q->s) checkpoint_put_parts(to, "b", m * q->C, s->turns.b, width * q->C, &s->cells);
    if (s->sum) checkpoint_put_parts(to, "adagrad", m * q->V, s->sum, width * q->V, &s->cells);
    checkpoint_put(to, "first", kernel_numbers(s), kernel_values(s->first));
    checkpoint_put_number(to, "size", s->size);
    checkpoint_put_number(to, "top", s->top);
    checkpoint_put_number(to, "prior", s->prior);
    checkpoint_put_number(to, "curve", s->curve);
    ascent_save(&s->up, to);
    return ANYGP_OK;
}

static bool at_least(int64_t n, const double *x, double least)
{
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] >= least)) return false;
    return true;
}

/* Diagonals of dense columns are positive, and nothing is above them. */
static bool is_lower(const qsgp *q)
{
    for (int64_t j = 0; j < q->K; j++)
        for (int64_t k = 0; k < q->V; k++) {
            int64_t r = k % (1 + q->K) - 1;
            if ((r == j && !(q->v[j * q->V + k] > 0)) || (r > j && q->v[j * q->V + k] != 0)) return false;
        }
    return true;
}

bool qsgp_restore(void *state, hyper *h, const checkpoint *from)
{
    qsgp_state *s = state;
    qsgp *q = &s->q;
    int64_t stale = 0;
    bool known = checkpoint_get_integer(from, "stale", &stale);
    s->stale = stale;
    return known && checkpoint_get_finite(from, "damping", q->C, s->damping) && at_least(q->C, s->damping, 0) &&
           (!s->alpha || checkpoint_get_finite(from, "alpha", row_numbers(s), s->alpha)) &&
           checkpoint_get_finite(from, "v", q->cells.m * q->V, q->v) && is_lower(q) &&
           checkpoint_get_finite(from, "square", q->cells.m * q->C, q->square) &&
           at_least(q->cells.m * q->C, q->square, 0) && checkpoint_get_finite(from, "seen", q->cells.count, q->seen) &&
           at_least(q->cells.count, q->seen, 0) && checkpoint_get_finite(from, "a", q->P * q->V, q->a) &&
           checkpoint_get_finite(from, "control", q->P * q->cells.D, q->Xp) &&
           checkpoint_get_finite(from, "control weights", q->P, q->wp) &&
           (!q->s ||
            (checkpoint_get_finite(from, "s", q->cells.m * q->C, q->s) && at_least(q->cells.m * q->C, q->s, DBL_MIN) &&
             checkpoint_get_finite(from, "b", q->cells.m * q->C, s->turns.b))) &&
           (!s->sum || (checkpoint_get_finite(from, "adagrad", q->cells.m * q->V, s->sum) &&
                        at_least(q->cells.m * q->V, s->sum, 0))) &&
           checkpoint_get_finite(from, "first", kernel_numbers(s), kernel_values(s->first)) &&
           checkpoint_get_finite(from, "size", 1, &s->size) && checkpoint_get_finite(from, "top", 1, &s->top) &&
           s->size >= 0 && s->top >= 0 && checkpoint_get_finite(from, "prior", 1, &s->prior) && s->prior >= 0 &&
           checkpoint_get_finite(from, "curve", 1, &s->curve) && s->curve >= 0 && ascent_restore(&s->up, h, from);
}
