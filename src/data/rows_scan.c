/* One pass over all rows: what they say of the columns.

   With weights w, cells x and a shift a near the mean (that of the sample) each rank sums, in extended precision,
       W = sum w,   S = sum w (x - a),   Q = sum w (x - a)^2
   over its share of the rows, so that mean = a + S / W and variance = (Q - S^2 / W) / W lose nothing to cancellation.
   Sums of another shift b = a + t are moved:  S + t W,  Q + 2 t S + t^2 W.
   The sums of all ranks are gathered bit for bit and added in the order of the rows, on each rank alike.  O(n columns). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/intake.h"
#include "data/rows_inside.h"

typedef struct column_sum {
    long double shift; /* NaN until there is one */
    long double weight, sum, squares;
    long double first, largest;   /* of the present cells, if weight > 0 */
    long double differs, missing; /* 0 or 1: some present cell is not `first`; some cell is missing */
} column_sum;

typedef struct tally {
    long double used, no_target, no_weight, total;
    column_sum y, x[]; /* inputs */
} tally;

typedef struct scan {
    row_source *r;
    const rows_part *part;
    const comm *c;
    dataset *d;
    int64_t inputs, fields; /* of the tally, long doubles */
    tally *mine, *all;
    double *flags;    /* ranks */
    double *gathered; /* ranks x fields x 3 */
    int64_t n;        /* rows of the sample */
    double *cells;    /* n x columns, raw */
} scan;

/* ------------------------------------------------------------------------------------- together */

/* Every rank fails if one does, with the sentence of the first: the first bad row's, since shares follow each other. */
static anygp_status agree(scan *s, anygp_status mine, anygp_error *said, anygp_error *e)
{
    int root = 0, size = s->c->size;
    for (int k = 0; k < size; k++) s->flags[k] = k == s->c->rank && ANYGP_FAILED(mine);
    TRY(s->c->sum(s->c->ctx, size, s->flags, e));
    while (root < size && s->flags[root] == 0) root++;
    if (root == size) return ANYGP_OK;
    TRY(s->c->broadcast(s->c->ctx, root, sizeof *said, said, e));
    return fail_with(e, said->status, "%s", said->text);
}

/* A long double as three doubles: value = (high + low) 2^exponent. */
static void pack(long double v, double *to)
{
    int exponent;
    long double m = frexpl(v, &exponent);
    to[0] = (double)m;
    to[1] = (double)(m - to[0]);
    to[2] = exponent;
}

static long double unpack(const double *from) { return ldexpl((long double)from[0] + from[1], (int)from[2]); }

static void add_sums(column_sum *a, const column_sum *b)
{
    a->missing = fmaxl(a->missing, b->missing);
    if (b->weight == 0) return;
    if (a->weight == 0) {
        long double missing = a->missing;
        *a = *b;
        a->missing = missing;
        return;
    }
    long double t = b->shift - a->shift;
    a->squares += b->squares + 2 * t * b->sum + t * t * b->weight;
    a->sum += b->sum + t * b->weight;
    a->weight += b->weight;
    if (b->differs > 0 || b->first != a->first) a->differs = 1;
    if (fabsl(b->largest) > fabsl(a->largest)) a->largest = b->largest;
}

static void add_tally(tally *a, const tally *b, int64_t inputs)
{
    a->used += b->used, a->total += b->total;
    a->no_target += b->no_target, a->no_weight += b->no_weight;
    add_sums(&a->y, &b->y);
    for (int64_t j = 0; j < inputs; j++) add_sums(&a->x[j], &b->x[j]);
}

/* A sum of zeros and one value is that value: the one callback that adds also gathers. */
static anygp_status gather(scan *s, anygp_error *e)
{
    int64_t each = 3 * s->fields;
    long double *value = (long double *)s->mine;
    memset(s->gathered, 0, (size_t)(s->c->size * each) * sizeof *s->gathered);
    for (int64_t k = 0; k < s->fields; k++)
        pack(isnan(value[k]) ? 0 : value[k], s->gathered + s->c->rank * each + 3 * k);
    TRY(s->c->sum(s->c->ctx, s->c->size * each, s->gathered, e));
    memset(s->all, 0, sizeof(long double) * (size_t)s->fields);
    for (int rank = 0; rank < s->c->size; rank++) {
        for (int64_t k = 0; k < s->fields; k++) value[k] = unpack(s->gathered + rank * each + 3 * k);
        add_tally(s->all, s->mine, s->inputs);
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- sample */

/* Rank 0 reads, the others get. */
static anygp_status share_sample(scan *s, int64_t wanted, anygp_error *e)
{
    const comm *c = s->c;
    anygp_error said = {0};
    anygp_status status = ANYGP_OK;
    if (c->rank == 0) status = rows_sample(s->r, s->part, wanted, &s->n, &s->cells, &said);
    TRY(agree(s, status, &said, e));
    TRY(c->broadcast(c->ctx, 0, sizeof s->n, &s->n, e));
    if (c->rank > 0 && !(s->cells = mem_doubles(s->n, s->r->cols)))
        status = fail_memory(&said, "a sample of the rows", 8.0 * (double)s->n * (double)s->r->cols);
    TRY(agree(s, status, &said, e));
    return c->broadcast(c->ctx, 0, s->n * s->r->cols * (int64_t)sizeof *s->cells, s->cells, e);
}

/* The mean of the sample's present cells; of equal cells exactly their value. */
static long double sample_mean(const scan *s, int64_t j)
{
    long double first = NAN, sum = 0;
    int64_t present = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double x = s->cells[i * s->r->cols + j];
        if (isnan(x)) continue;
        if (present++ == 0) first = x;
        sum += x - first;
    }
    return present ? first + sum / (long double)present : NAN;
}

static void begin_sums(scan *s)
{
    s->mine->y.shift = sample_mean(s, s->part->target);
    for (int64_t j = 0; j < s->inputs; j++) s->mine->x[j].shift = sample_mean(s, s->d->schema.input[j].number);
}

/* ----------------------------------------------------------------------------------------- pass */

static void add_cell(column_sum *c, double x, double w)
{
    if (c->weight == 0) {
        if (isnan(c->shift)) c->shift = x;
        c->first = c->largest = x;
    }
    long double t = x - c->shift;
    c->weight += w;
    c->sum += w * t;
    c->squares += w * t * t;
    if (x != c->first) c->differs = 1;
    if (fabs(x) > fabsl(c->largest)) c->largest = x;
}

static anygp_status add_row(scan *s, int64_t number, const double *row, anygp_error *e)
{
    const rows_part *part = s->part;
    row_use use = intake_row(row, part->target, part->weights);
    TRY(intake_check(use, row, part->target, part->weights, number, e));
    s->mine->no_weight += use == ROW_NO_WEIGHT;
    s->mine->no_target += use == ROW_NO_TARGET;
    if (use != ROW_USED) return ANYGP_OK;
    double w = intake_weight(row, part->weights);
    s->mine->used += 1;
    s->mine->total += w;
    add_cell(&s->mine->y, row[part->target], w);
    for (int64_t j = 0; j < s->inputs; j++) {
        const input_spec *c = &s->d->schema.input[j];
        double x = row[c->number];
        if (!isnan(x))
            add_cell(&s->mine->x[j], x, w);
        else if (s->d->schema.fill_missing)
            s->mine->x[j].missing = 1;
        else
            return intake_missing(c, number, e);
    }
    return ANYGP_OK;
}

static anygp_status scan_share(scan *s, anygp_error *e)
{
    row_source *r = s->r;
    int64_t chunk = rows_chunk(r), first = r->count / s->c->size * s->c->rank, end = first + r->count / s->c->size;
    if (s->c->rank == s->c->size - 1) end = r->count;
    double *room = rows_room(r, chunk);
    anygp_status status = room ? ANYGP_OK : fail_memory(e, "rows of a file", 8.0 * (double)chunk * (double)r->cols);
    for (int64_t i = first; i < end && !ANYGP_FAILED(status); i += chunk) {
        const double *at;
        int64_t n = end - i < chunk ? end - i : chunk;
        TRY_DONE(rows_fetch(r, i, n, room, &at, e));
        for (int64_t k = 0; k < n; k++)
            if (!rows_held(s->part->seed, i + k, s->part->hold_out)) TRY_DONE(add_row(s, i + k, at + k * r->cols, e));
    }
done:
    free(room);
    return status;
}

/* -------------------------------------------------------------------------------------- results */

/* Missing cells are filled with the mean: they add weight, and nothing to the squares. */
static column_moments moments_of(const column_sum *c, long double total)
{
    if (c->weight == 0) return (column_moments){0};
    long double squares = c->squares - c->sum * c->sum / c->weight;
    return (column_moments){.mean = (double)(c->shift + c->sum / c->weight),
                            .variance = c->differs > 0 && squares > 0 ? squares / total : 0,
                            .largest = (double)c->largest};
}

static anygp_status settle_columns(scan *s, anygp_error *e)
{
    dataset *d = s->d;
    schema *c = &d->schema;
    for (int64_t j = 0; j < s->inputs; j++) {
        const column_sum *x = &s->all->x[j];
        TRY(intake_input(c, j, moments_of(x, s->all->total).mean, x->differs > 0, x->missing > 0, e));
    }
    d->D = c->D;
    TRY(schema_index(c, e));
    d->x_moments = mem_zeroed(d->D, sizeof *d->x_moments);
    if (!d->x_moments) return fail_memory(e, "column scales", (double)d->D * sizeof *d->x_moments);
    for (int64_t j = 0; j < d->D; j++)
        d->x_moments[j] =
            schema_at(c, j)->text ? (column_moments){.variance = 1} : moments_of(&s->all->x[c->at[j]], s->all->total);
    dataset_take_target(d, moments_of(&s->all->y, s->all->total));
    return ANYGP_OK;
}

/* X takes the place of the raw cells: column j of a row was never before place j, and a row never before its row of X. */
static anygp_status settle_sample(scan *s, anygp_error *e)
{
    dataset *d = s->d;
    d->n = s->n;
    d->y = mem_alloc(d->n, sizeof *d->y);
    d->w = mem_alloc(d->n, sizeof *d->w);
    if (!d->y || !d->w) return fail_memory(e, "the target", 16.0 * (double)d->n);
    d->X = s->cells;
    s->cells = NULL;
    for (int64_t i = 0; i < d->n; i++) {
        const double *row = d->X + i * s->r->cols;
        d->y[i] = row[s->part->target];
        d->w[i] = intake_weight(row, s->part->weights);
        for (int64_t j = 0; j < d->D; j++) {
            const input_spec *c = schema_at(&d->schema, j);
            d->X[i * d->D + j] = intake_cell(row[c->number], c->fill);
        }
    }
    return ANYGP_OK;
}

static anygp_status settle(scan *s, anygp_error *e)
{
    dataset *d = s->d;
    d->used = (int64_t)s->all->used;
    d->no_target = (int64_t)s->all->no_target;
    d->no_weight = (int64_t)s->all->no_weight;
    d->total = (double)s->all->total;
    if (d->used == 0) return intake_nothing_left(s->r->count, d->no_target, d->no_weight, e);
    TRY(settle_columns(s, e));
    return settle_sample(s, e);
}

static anygp_status prepare(scan *s, anygp_error *e)
{
    schema *c = &s->d->schema;
    const rows_part *p = s->part;
    TRY(intake_columns(s->r->columns, s->r->cols, p->target, p->weights, p->skip_column, c, e));
    s->inputs = c->inputs;
    s->fields = (int64_t)((sizeof(tally) + (size_t)s->inputs * sizeof(column_sum)) / sizeof(long double));
    s->mine = mem_zeroed(s->fields, sizeof(long double));
    s->all = mem_zeroed(s->fields, sizeof(long double));
    s->flags = mem_alloc(s->c->size, sizeof *s->flags);
    s->gathered = mem_doubles(s->c->size, 3 * s->fields);
    if (s->mine && s->all && s->flags && s->gathered) return ANYGP_OK;
    return fail_memory(e, "the sums over the columns", 24.0 * (double)s->c->size * (double)s->fields);
}

static anygp_status run(scan *s, int64_t sample, anygp_error *e)
{
    anygp_error said = {0};
    TRY(share_sample(s, sample, e));
    begin_sums(s);
    anygp_status status = scan_share(s, &said);
    TRY(agree(s, status, &said, e));
    TRY(gather(s, e));
    return settle(s, e);
}

anygp_status rows_scan(row_source *r, const rows_part *part, bool fill_missing, int64_t sample, const comm *c,
                       dataset *d, anygp_error *e)
{
    scan s = {.r = r, .part = part, .c = c, .d = d};
    *d = (dataset){.schema.fill_missing = fill_missing};
    anygp_status status = prepare(&s, e);
    if (!ANYGP_FAILED(status))
        status = run(&s, sample, e);
    else if (status == ANYGP_ERR_MEMORY)
        c->abort(c->ctx, status);
    free(s.mine);
    free(s.all);
    free(s.flags);
    free(s.gathered);
    free(s.cells);
    if (ANYGP_FAILED(status)) dataset_clear(d);
    return status;
}
