/* The state of a run as one array, for a checkpoint:
       gamma, jitter, rows that are bases, the oldest witness, where the mean's system is; of each segment: rows, whether it has
       running means, x and those; then the rows that are bases. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "params/adam.h"
#include "model/decoupled/svdgp_state.h"

enum { HEAD = 11, SEGMENTS = 13 };

static void list_segments(svdgp_state *q, segment *list[SEGMENTS])
{
    svdgp *s = &q->s;
    segment *const all[SEGMENTS] = {&s->a,          &s->trend, &s->alpha,   &s->alpha_width, &s->beta,
                                    &s->beta_width, &q->u,     &q->witness, &q->base,        &q->residual,
                                    &q->direction,  &q->sum,   &q->rz};
    memcpy(list, all, sizeof all);
}

static segment *segment_at(svdgp_state *q, int64_t i)
{
    segment *list[SEGMENTS];
    list_segments(q, list);
    return i < SEGMENTS ? list[i] : &q->s.L[i - SEGMENTS];
}

static int64_t segment_size(const segment *g)
{
    return 2 + g->rows * g->width + (g->age ? g->rows * (2 * g->width + 1) : 0);
}

static int64_t packed_size(svdgp_state *q)
{
    int64_t size = HEAD + 2 * q->s.rows.count;
    for (int64_t i = 0; i < SEGMENTS + q->s.C; i++) size += segment_size(segment_at(q, i));
    return size;
}

static double *put(double *to, const double *from, int64_t n)
{
    if (n) memcpy(to, from, (size_t)n * sizeof *to);
    return to + n;
}

static void pack(svdgp_state *q)
{
    double *at = q->packed;
    *at++ = q->gamma, *at++ = q->s.jitter, *at++ = (double)q->s.rows.count;
    const svdgp_solve *v = &q->solve;
    *at++ = (double)q->oldest, *at++ = v->stage, *at++ = (double)v->blocks, *at++ = (double)v->iterations;
    *at++ = (double)v->begun, *at++ = v->sum_value, *at++ = isnan(v->value) ? 0 : v->value, *at++ = !isnan(v->value);
    for (int64_t i = 0; i < SEGMENTS + q->s.C; i++) {
        const segment *g = segment_at(q, i);
        *at++ = (double)g->rows, *at++ = g->age != NULL;
        at = put(at, g->x, g->rows * g->width);
        if (!g->age) continue;
        at = put(at, g->first, g->rows * g->width);
        at = put(at, g->second, g->rows * g->width);
        at = put(at, g->age, g->rows);
    }
    for (int64_t m = 0; m < q->s.rows.count; m++)
        *at++ = (double)(q->s.rows.id[m] >> 32), *at++ = (double)(q->s.rows.id[m] & UINT32_MAX);
}

anygp_status svdgp_save(void *state, checkpoint *to, anygp_error *e)
{
    svdgp_state *q = state;
    int64_t size = packed_size(q);
    double length = (double)size;
    TRY(svdgp_room(&q->packed, &q->packed_room, size, e));
    pack(q);
    checkpoint_put(to, "svdgp_size", 1, &length);
    checkpoint_put(to, "svdgp", size, q->packed);
    return ANYGP_OK;
}

/* What is still to be read; every take is checked against it. */
typedef struct reading {
    const double *at;
    int64_t left;
} reading;

static const double *take(reading *r, int64_t n)
{
    const double *here = r->at;
    if (n < 0 || n > r->left) return NULL;
    r->at += n, r->left -= n;
    return here;
}

static anygp_status damaged(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the checkpoint's state of svdgp is not complete; start the run again");
}

static bool is_whole(double x, double most) { return x >= 0 && x <= most && x == floor(x); }

static bool none_negative(int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] >= 0)) return false;
    return true;
}

static anygp_status take_segment(reading *r, segment *g, anygp_error *e)
{
    const double *head = take(r, 2);
    if (!head || !is_whole(head[0], (double)r->left + 1)) return damaged(e);
    int64_t rows = (int64_t)head[0], size = rows * g->width;
    const double *x = take(r, size);
    if (!x) return damaged(e);
    segment_clear(g);
    TRY(segment_append(g, rows, x, e));
    if (head[1] == 0) return ANYGP_OK;
    const double *first = take(r, size), *second = take(r, size), *age = take(r, rows);
    if (!first || !second || !age || !adam_means_are_sound(size, first, second) || !none_negative(rows, age))
        return damaged(e);
    TRY(segment_begin(g, e));
    put(g->first, first, size), put(g->second, second, size), put(g->age, age, rows);
    return ANYGP_OK;
}

static anygp_status take_rows(reading *r, int64_t count, int64_t blocks, id_table *rows, anygp_error *e)
{
    const double *pairs = take(r, 2 * count);
    int64_t index;
    if (!pairs) return damaged(e);
    id_table_clear(rows);
    for (int64_t m = 0; m < count; m++) {
        if (!is_whole(pairs[2 * m], (double)blocks - 1) || !is_whole(pairs[2 * m + 1], UINT32_MAX)) return damaged(e);
        TRY(id_table_index(rows, svdgp_row((int64_t)pairs[2 * m], (int64_t)pairs[2 * m + 1]), &index, e));
        if (index != m) return damaged(e);
    }
    return ANYGP_OK;
}

/* Sizes that the rest of the state takes for granted. */
static bool consistent(const svdgp_state *q, const hyper *h)
{
    const svdgp *s = &q->s;
    const segment *const solve[] = {&q->base, &q->residual, &q->direction, &q->sum};
    int64_t Ma = s->a.rows, Mb = s->beta.rows, Mt = s->p + Mb;
    bool ok = s->alpha.rows == Ma && s->alpha_width.rows == (s->alpha_widths ? Ma : 0) && s->trend.rows == s->p &&
              s->beta_width.rows == (s->widths ? Mb : 0) && q->u.rows == h->free && s->rows.count <= Ma;
    ok &= q->oldest >= 0 && q->oldest <= q->witness.rows;
    for (int i = 0; q->solve.stage != SOLVE_NONE && i < 4; i++) ok &= solve[i]->rows == q->base.rows;
    ok &= q->solve.stage == SOLVE_NONE || (q->rz.rows == 2 && q->base.rows >= s->p);
    for (int64_t c = 0; c < s->C; c++) ok &= s->L[c].rows == Mt * (Mt + 1) / 2;
    return ok;
}

static anygp_status unpack(svdgp_state *q, const hyper *h, int64_t size, anygp_error *e)
{
    reading r = {q->packed, size};
    const double *head = take(&r, HEAD);
    if (!head || !(head[0] >= 0) || !(head[1] >= 0 && head[1] <= 1) || !is_whole(head[2], (double)r.left) ||
        !is_whole(head[3], (double)r.left) || !is_whole(head[4], SOLVE_PRODUCT) ||
        !is_whole(head[5], (double)q->problem->blocks->count) || !is_whole(head[6], 1e9) || !is_whole(head[7], 1e15))
        return damaged(e);
    q->gamma = head[0], q->s.jitter = head[1], q->oldest = (int64_t)head[3];
    q->solve = (svdgp_solve){(int)head[4],     (int64_t)head[5], (int64_t)head[6],
                             (int64_t)head[7], head[8],          head[10] != 0 ? head[9] : NAN};
    q->witness.width = svdgp_witness_width(&q->s) - 1;
    q->base.width = q->residual.width = q->direction.width = q->sum.width = q->rz.width = q->s.C;
    for (int64_t i = 0; i < SEGMENTS + q->s.C; i++) TRY(take_segment(&r, segment_at(q, i), e));
    TRY(take_rows(&r, (int64_t)head[2], q->problem->blocks->count, &q->s.rows, e));
    return consistent(q, h) ? ANYGP_OK : damaged(e);
}

bool svdgp_restore(void *state, hyper *h, const checkpoint *from)
{
    svdgp_state *q = state;
    double size;
    anygp_error unused;
    svdgp_solve_drop(q);
    if (!checkpoint_get_finite(from, "svdgp_size", 1, &size) || !(size >= HEAD && size < 1e15)) return false;
    if (ANYGP_FAILED(svdgp_room(&q->packed, &q->packed_room, (int64_t)size, &unused))) return false;
    if (!checkpoint_get_finite(from, "svdgp", (int64_t)size, q->packed) ||
        ANYGP_FAILED(unpack(q, h, (int64_t)size, &unused)))
        return false;
    hyper_unpack(h, q->u.x);
    return true;
}
