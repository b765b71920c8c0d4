/* Repeated rows of inputs become one row with a count; see dataset.h for the algebra.  O(n log n) by row hashes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/memory.h"
#include "data/table/dataset.h"

void merged_clear(merged *m)
{
    free(m->own);
    free(m->y);
    free(m->c);
    free(m->group);
    *m = (merged){0};
}

typedef struct keyed_row {
    uint64_t hash;
    int64_t row;
} keyed_row;

static int by_hash(const void *a, const void *b)
{
    const keyed_row *p = a, *q = b;
    if (p->hash != q->hash) return p->hash < q->hash ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static bool same_inputs(const dataset *d, int64_t a, int64_t b)
{
    return !memcmp(d->X + a * d->D, d->X + b * d->D, (size_t)d->D * sizeof(double));
}

/* first[i]: the first row with the same inputs as row i.  Rows of one hash are compared with the distinct rows seen
   under that hash, so that a collision never merges. */
static bool first_equals(const dataset *d, int64_t *first)
{
    keyed_row *key = mem_alloc(d->n, sizeof *key);
    if (!key) return false;
    for (int64_t i = 0; i < d->n; i++)
        key[i] = (keyed_row){XXH64(d->X + i * d->D, (size_t)d->D * sizeof(double), 0), i};
    qsort(key, (size_t)d->n, sizeof *key, by_hash);
    for (int64_t i = 0; i < d->n; i++) {
        int64_t row = key[i].row, candidate = row;
        for (int64_t j = i - 1; j >= 0 && key[j].hash == key[i].hash && candidate == row; j--)
            if (same_inputs(d, key[j].row, row)) candidate = first[key[j].row];
        first[row] = candidate;
    }
    free(key);
    return true;
}

/* all: the groups are the rows of d. */
static anygp_status merged_alloc(merged *m, int64_t n, const dataset *d, bool all, anygp_error *e)
{
    *m = (merged){.n = n, .D = d->D, .data = d};
    m->own = all ? NULL : mem_doubles(n, d->D);
    m->X = all ? d->X : m->own;
    m->y = mem_zeroed(n, sizeof *m->y);
    m->c = mem_zeroed(n, sizeof *m->c);
    m->group = mem_alloc(d->n, sizeof *m->group);
    if (m->X && m->y && m->c && m->group) return ANYGP_OK;
    merged_clear(m);
    return fail_memory(e, "the training rows", 8.0 * (double)n * (double)(d->D + 2));
}

/* Counts, means and sums of squares from the group of each row; X is already in place. */
static void accumulate(merged *m)
{
    const dataset *d = m->data;
    int64_t Q = dataset_numbers(d);
    for (int64_t i = 0; i < d->n; i++) {
        int64_t g = m->group[i];
        if (g < 0) continue;
        m->c[g] += d->w[i];
        m->y[g] += d->w[i] / m->c[g] * (d->y[i * Q] - m->y[g]);
    }
    for (int64_t i = 0; i < d->n; i++)
        if (m->group[i] >= 0) m->SS += d->w[i] * pow(d->y[i * Q] - m->y[m->group[i]], 2);
    m->plain = true;
    for (int64_t g = 0; g < m->n; g++) {
        m->plain &= m->c[g] == 1;
        m->total += m->c[g];
        m->extra += m->c[g] - 1;
        m->log_c += log(m->c[g]);
    }
}

anygp_status dataset_merge(const dataset *d, bool merge, merged *out, anygp_error *e)
{
    int64_t *first = mem_alloc(d->n, sizeof *first), *id = mem_alloc(d->n, sizeof *id), distinct = 0;
    anygp_status status = ANYGP_OK;
    if (!first || !id) {
        status = fail_memory(e, "the row list", 16.0 * (double)d->n);
        goto done;
    }
    for (int64_t i = 0; i < d->n; i++) first[i] = i;
    merge = merge && dataset_numbers(d) == 1 && d->schema.classes == 0;
    if (merge && !first_equals(d, first)) {
        status = fail_memory(e, "the row list", 16.0 * (double)d->n);
        goto done;
    }
    for (int64_t i = 0; i < d->n; i++) id[i] = first[i] == i ? distinct++ : -1;
    TRY_DONE(merged_alloc(out, distinct, d, distinct == d->n, e));
    for (int64_t i = 0; i < d->n; i++) {
        int64_t g = out->group[i] = id[first[i]];
        if (first[i] == i && out->own) memcpy(out->own + g * d->D, d->X + i * d->D, (size_t)d->D * sizeof(double));
    }
    accumulate(out);
done:
    free(first);
    free(id);
    return status;
}

anygp_status merged_select(const merged *m, int64_t k, const int64_t *chosen, merged *out, anygp_error *e)
{
    TRY(merged_alloc(out, k, m->data, false, e));
    int64_t *renamed = mem_alloc(m->n, sizeof *renamed);
    if (!renamed) {
        merged_clear(out);
        return fail_memory(e, "the row list", 8.0 * (double)m->n);
    }
    for (int64_t g = 0; g < m->n; g++) renamed[g] = -1;
    for (int64_t j = 0; j < k; j++) {
        renamed[chosen[j]] = j;
        memcpy(out->own + j * m->D, m->X + chosen[j] * m->D, (size_t)m->D * sizeof(double));
    }
    for (int64_t i = 0; i < m->data->n; i++) out->group[i] = m->group[i] < 0 ? -1 : renamed[m->group[i]];
    accumulate(out);
    free(renamed);
    return ANYGP_OK;
}
