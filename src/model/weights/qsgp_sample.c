/* Rows and cells of a step (qsgp.h). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/random.h"
#include "model/weights/qsgp.h"

void qsgp_sample_clear(qsgp_sample *s)
{
    void *const owned[] = {s->X, s->XT, s->y, s->w, s->place, s->cell, s->in};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    block_buffer_clear(&s->buffer);
    *s = (qsgp_sample){0};
}

/* ------------------------------------------------------------------------------------------------ cells */

static anygp_status cell_room(qsgp_sample *s, int64_t count, anygp_error *e)
{
    if (count <= s->cell_room) return ANYGP_OK;
    free(s->cell);
    free(s->in);
    s->cell = mem_alloc(count, sizeof *s->cell);
    s->in = mem_alloc(count, sizeof *s->in);
    s->cell_room = s->cell && s->in ? count : 0;
    return s->cell_room ? ANYGP_OK : fail_memory(e, "the sample", 9.0 * (double)count);
}

/* `per` different cells of `count`, in increasing order. */
static void draw(uint64_t seed, uint64_t sub, int64_t count, int64_t per, int64_t *cell)
{
    for (int64_t i = 0; i < per; i++) cell[i] = random_shuffled((random_stream){seed, RANDOM_CELLS, sub}, count, i);
    qsort(cell, (size_t)per, sizeof *cell, by_integer);
}

static void take_all(qsgp_sample *s, int64_t count)
{
    for (int64_t i = 0; i < count; i++) s->cell[i] = i, s->in[i] = 3;
    s->count = count, s->over = 1;
}

/* The union of two ordered lists in cell[per], cell[2 per ...], the second of which ends the room. */
static void unite(qsgp_sample *s, int64_t per)
{
    const int64_t *i = s->cell + per, *j = s->cell + 2 * per, *i_end = j, *j_end = j + per;
    for (s->count = 0; i < i_end || j < j_end; s->count++) {
        bool of_i = j == j_end || (i < i_end && *i <= *j), of_j = i == i_end || (j < j_end && *j <= *i);
        s->cell[s->count] = of_i ? *i : *j; /* the place was read already */
        s->in[s->count] = (uint8_t)(of_i + 2 * of_j);
        i += of_i, j += of_j;
    }
}

anygp_status qsgp_sample_cells(const qsgp *q, uint64_t seed, uint64_t t, bool both, qsgp_sample *s, anygp_error *e)
{
    int64_t count = q->cells.count, per = q->per;
    TRY(cell_room(s, per == count ? count : 3 * per, e));
    if (per == count) return take_all(s, count), ANYGP_OK;
    s->over = (double)count / (double)per;
    if (both) {
        draw(seed, 2 + 2 * t, count, per, s->cell);
        memset(s->in, 3, (size_t)per);
        s->count = per;
        return ANYGP_OK;
    }
    draw(seed, 2 + 2 * t, count, per, s->cell + per);
    draw(seed, 3 + 2 * t, count, per, s->cell + 2 * per);
    unite(s, per);
    return ANYGP_OK;
}

anygp_status qsgp_sample_given(const qsgp *q, int64_t count, const int64_t *cell, const uint8_t *in, double over,
                               qsgp_sample *s, anygp_error *e)
{
    (void)q;
    TRY(cell_room(s, count, e));
    memcpy(s->cell, cell, (size_t)count * sizeof *cell);
    memcpy(s->in, in, (size_t)count);
    s->count = count, s->over = over;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- rows */

static anygp_status row_room(qsgp_sample *s, int64_t rows, int64_t D, int64_t Q, anygp_error *e)
{
    if (rows <= s->room) return ANYGP_OK;
    double **const array[] = {&s->X, &s->XT, &s->y, &s->w};
    const int64_t width[] = {D, D, Q, 1};
    bool ok = true;
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        free(*array[i]);
        ok = (*array[i] = mem_doubles(rows, width[i])) && ok;
    }
    free(s->place);
    s->place = mem_alloc(rows, sizeof *s->place);
    ok = ok && s->place;
    s->room = ok ? rows : 0;
    return ok ? ANYGP_OK : fail_memory(e, "the rows of a step", 8.0 * (double)(rows * (2 * D + Q + 1)));
}

static anygp_status take_blocks(row_blocks *b, int64_t count, const int64_t *which, qsgp_sample *s, anygp_error *e)
{
    s->n = 0, s->Q = b->Q, s->index = 0;
    for (int64_t i = 0; i < count; i++) {
        row_block r;
        TRY(blocks_get(b, which ? which[i] : i, &s->buffer, &r, e));
        memcpy(s->X + s->n * b->D, r.X, (size_t)(r.n * b->D) * sizeof *s->X);
        memcpy(s->y + s->n * b->Q, r.y, (size_t)(r.n * b->Q) * sizeof *s->y);
        memcpy(s->w + s->n, r.w, (size_t)r.n * sizeof *s->w);
        for (int64_t k = 0; k < r.n; k++) s->place[s->n + k] = r.index * b->largest + k;
        if (i == 0) s->index = r.index * b->largest;
        s->n += r.n;
    }
    return ANYGP_OK;
}

static void take_places(const qsgp *q, qsgp_sample *s)
{
    int64_t D = q->cells.D, at = s->n + s->P;
    for (int64_t i = 0; s->R && i < s->count; i++) {
        int64_t size = cell_size(&q->cells, s->cell[i]);
        memcpy(s->X + at * D, q->cells.Z + cell_first(&q->cells, s->cell[i]) * D, (size_t)(size * D) * sizeof *s->X);
        at += size;
    }
}

static void transpose(int64_t n, int64_t D, const double *X, double *XT)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++) XT[i + d * n] = X[i * D + d];
}

anygp_status qsgp_sample_rows(const qsgp *q, row_blocks *b, int64_t count, const int64_t *which, double scale,
                              bool control, qsgp_sample *s, anygp_error *e)
{
    int64_t D = q->cells.D;
    s->P = control ? q->P : 0, s->R = 0, s->scale = scale;
    for (int64_t i = 0; !qsgp_diagonal_prior(q) && i < s->count; i++) s->R += cell_size(&q->cells, s->cell[i]);
    TRY(row_room(s, count * b->largest + s->P + s->R, D, b->Q, e));
    TRY(take_blocks(b, count, which, s, e));
    s->rows = s->n + s->P + s->R;
    if (s->P) memcpy(s->X + s->n * D, q->Xp, (size_t)(s->P * D) * sizeof *s->X);
    take_places(q, s);
    transpose(s->rows, D, s->X, s->XT);
    return ANYGP_OK;
}

anygp_status qsgp_sample_places(const qsgp *q, uint64_t seed, uint64_t t, int64_t count, qsgp_sample *s, anygp_error *e)
{
    int64_t D = q->cells.D, m = q->cells.m;
    double sum = 0;
    if (count > m) count = m;
    TRY(row_room(s, count, D, 1, e));
    s->n = s->rows = count, s->P = s->R = 0, s->Q = 1, s->index = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t j = random_shuffled((random_stream){seed, RANDOM_CELLS, 2 + 2 * t}, m, i);
        s->place[i] = j, s->y[i] = q->Yz[j], s->w[i] = q->wz[j];
        memcpy(s->X + i * D, q->Z + j * D, (size_t)D * sizeof *s->X);
        sum += s->w[i];
    }
    s->scale = q->N / sum;
    transpose(s->rows, D, s->X, s->XT);
    return ANYGP_OK;
}
