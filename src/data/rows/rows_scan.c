/* One pass over all rows: what they say of the columns.

   With weights w, cells x and a shift a near the mean (that of the sample) each rank sums, in extended precision,
       W = sum w,   S = sum w (x - a),   Q = sum w (x - a)^2
   over its share of the rows, so that mean = a + S / W and variance = (Q - S^2 / W) / W lose nothing to cancellation.
   Sums of another shift b = a + t are moved:  S + t W,  Q + 2 t S + t^2 W.
   The sums of all ranks are gathered bit for bit and added in the order of the rows, on each rank alike.  O(n columns).
   For targets that are classes the labels are collected instead, and each rank learns those of the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/rows/rows_inside.h"
#include "data/table/dataset_targets.h"
#include "data/table/intake.h"

typedef struct column_sum {
    long double shift; /* NaN until there is one */
    long double weight, sum, squares;
    long double first, largest;   /* of the present cells, if weight > 0 */
    long double lower, upper;     /* their range */
    long double differs, missing; /* 0 or 1: some present cell is not `first`; some cell is missing */
} column_sum;

typedef struct tally {
    long double used, no_target, no_weight, total;
    long double digest_high, digest_low; /* 32 bits each, so that a sum over ranks is exact */
    /* Targets, the same transformed, log g' of their transforms g; inputs; the columns of the sphere. */
    column_sum sum[];
} tally;

typedef struct scan {
    row_source *r;
    const rows_part *part;
    row_units u; /* before the columns are known */
    const comm *c;
    dataset *d;
    int64_t inputs, targets;
    int64_t before; /* sums before those of the inputs */
    int64_t sums;   /* all */
    int64_t fields; /* of the tally, long doubles */
    tally *mine, *all;
    uint64_t digest;  /* of this rank's rows */
    class_set *seen;  /* targets, where they are classes; else NULL */
    double *flags;    /* ranks */
    double *gathered; /* ranks x fields x 3 */
    int64_t n;        /* rows of the sample */
    double *cells;    /* n x columns, raw */
} scan;

/* ------------------------------------------------------------------------------------- together */

/* Every rank fails if one does, with the message of the first: the first bad row's, since shares follow each other. */
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
    a->lower = fminl(a->lower, b->lower), a->upper = fmaxl(a->upper, b->upper);
}

static void add_tally(tally *a, const tally *b, int64_t sums)
{
    a->used += b->used, a->total += b->total;
    a->no_target += b->no_target, a->no_weight += b->no_weight;
    a->digest_high += b->digest_high, a->digest_low += b->digest_low;
    for (int64_t j = 0; j < sums; j++) add_sums(&a->sum[j], &b->sum[j]);
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
        add_tally(s->all, s->mine, s->sums);
    }
    return ANYGP_OK;
}

/* The labels of target t that rank `root` has, to all.  A rank without memory for them continues, and reports it at the end. */
static anygp_status spread_labels(scan *s, int64_t t, int root, double *room, anygp_status *mine, anygp_error *said,
                                  anygp_error *e)
{
    const comm *c = s->c;
    int64_t n = s->seen[t].seen.count;
    for (int64_t i = 0; c->rank == root && i < n; i++) room[i] = class_set_at(&s->seen[t], i);
    TRY(c->broadcast(c->ctx, root, sizeof n, &n, e));
    TRY(c->broadcast(c->ctx, root, n * (int64_t)sizeof *room, room, e));
    for (int64_t i = 0; i < n && !ANYGP_FAILED(*mine); i++)
        *mine = class_set_add(&s->seen[t], room[i], dataset_target(s->d, t), said);
    return ANYGP_OK;
}

/* A rank never has more labels than one above the limit: the one that was refused. */
static anygp_status gather_labels(scan *s, anygp_error *e)
{
    anygp_status mine = ANYGP_OK;
    anygp_error said = {0};
    double *room = s->gathered;
    for (int64_t t = 0; t < s->targets; t++)
        for (int rank = 0; rank < s->c->size; rank++) TRY(spread_labels(s, t, rank, room, &mine, &said, e));
    return agree(s, mine, &said, e);
}

/* --------------------------------------------------------------------------------------- sample */

/* Rank 0 reads, the others get. */
static anygp_status share_sample(scan *s, int64_t wanted, anygp_error *e)
{
    const comm *c = s->c;
    anygp_error said = {0};
    anygp_status status = ANYGP_OK;
    if (c->rank == 0) status = rows_sample(s->r, &s->u, wanted, &s->n, &s->cells, &s->d->number, &said);
    TRY(agree(s, status, &said, e));
    TRY(c->broadcast(c->ctx, 0, sizeof s->n, &s->n, e));
    if (c->rank > 0) s->cells = mem_doubles(s->n, s->r->cols), s->d->number = mem_alloc(s->n, sizeof *s->d->number);
    if (!s->cells || !s->d->number)
        status = fail_memory(&said, "a sample of the rows", 8.0 * (double)s->n * (double)s->r->cols);
    TRY(agree(s, status, &said, e));
    TRY(c->broadcast(c->ctx, 0, s->n * (int64_t)sizeof *s->d->number, s->d->number, e));
    return c->broadcast(c->ctx, 0, s->n * s->r->cols * (int64_t)sizeof *s->cells, s->cells, e);
}

/* The mean of the sample's present cells; for equal cells exactly their value. */
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
    column_sum *x = s->mine->sum + s->before;
    for (int64_t t = s->targets; t < s->sums; t++) s->mine->sum[t].shift = NAN;
    for (int64_t t = 0; t < s->targets; t++) s->mine->sum[t].shift = sample_mean(s, s->part->y.target[t]);
    for (int64_t j = 0; j < s->inputs; j++) x[j].shift = sample_mean(s, s->d->schema.input[j].number);
}

/* ----------------------------------------------------------------------------------------- pass */

static void add_cell(column_sum *c, double x, double w)
{
    if (c->weight == 0) {
        if (isnan(c->shift)) c->shift = x;
        c->first = c->largest = c->lower = c->upper = x;
    }
    long double t = x - c->shift;
    c->weight += w;
    c->sum += w * t;
    c->squares += w * t * t;
    if (x != c->first) c->differs = 1;
    if (fabs(x) > fabsl(c->largest)) c->largest = x;
    if (x < c->lower) c->lower = x;
    if (x > c->upper) c->upper = x;
}

/* y transformed by g, and log g'(y). */
static void add_transformed(scan *s, int64_t t, double y, double w)
{
    warp g = target_warp(&s->part->y, t);
    column_sum *sum = s->mine->sum + s->targets + t;
    add_cell(sum, warp_forward(&g, y), w);
    add_cell(sum + s->targets, warp_log_slope(&g, y), w);
}

static anygp_status add_targets(scan *s, const double *row, double w, anygp_error *e)
{
    for (int64_t t = 0; t < s->targets; t++) {
        double y = row[s->part->y.target[t]];
        if (s->seen)
            TRY(class_set_add(&s->seen[t], y, dataset_target(s->d, t), e));
        else
            add_cell(&s->mine->sum[t], y, w);
        if (s->part->y.warp) add_transformed(s, t, y, w);
    }
    return ANYGP_OK;
}

/* Missing cells are filled with the mean of the other rows, which have no part in the moments. */
static void add_place(scan *s, const double *row, double w)
{
    const schema *c = &s->d->schema;
    double lon = row[c->input[c->sphere.lon].number], lat = row[c->input[c->sphere.lat].number];
    double place[SPHERE_COLUMNS];
    if (isnan(lon) || isnan(lat)) return;
    sphere_place(lon, lat, place);
    for (int k = 0; k < SPHERE_COLUMNS; k++) add_cell(&s->mine->sum[s->before + s->inputs + k], place[k], w);
}

static void add_inputs(scan *s, const double *row, double w)
{
    column_sum *sum = s->mine->sum + s->before;
    for (int64_t j = 0; j < s->inputs; j++) {
        double x = row[s->u.x[j].number];
        if (isnan(x))
            sum[j].missing = 1;
        else
            add_cell(&sum[j], x, w);
    }
    if (s->d->schema.sphere.on) add_place(s, row, w);
}

static anygp_status add_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    scan *s = ctx;
    row_use use = row_units_use(&s->u, number, row);
    if (row_refused(use)) return row_units_refuse(&s->u, &s->d->schema, use, number, row, e);
    s->mine->no_weight += use == ROW_NO_WEIGHT;
    s->mine->no_target += use == ROW_NO_TARGET;
    if (use != ROW_USED) return ANYGP_OK;
    double w = row_units_weight(&s->u, row);
    s->mine->used += 1;
    s->digest += intake_digest(row, s->r->cols, number);
    s->mine->total += w;
    add_inputs(s, row, w);
    return add_targets(s, row, w, e);
}

static anygp_status scan_share(scan *s, anygp_error *e)
{
    int64_t first, end;
    rows_share(s->r, s->c, &first, &end);
    TRY(rows_walk(s->r, first, end, add_row, s, e));
    s->mine->digest_high = (long double)(s->digest >> 32), s->mine->digest_low = (long double)(s->digest & UINT32_MAX);
    return ANYGP_OK;
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

static anygp_status settle_inputs(scan *s, anygp_error *e)
{
    dataset *d = s->d;
    schema *c = &d->schema;
    const column_sum *x = s->all->sum + s->before;
    bool moved = false;
    for (int64_t j = 0; j < s->inputs; j++) {
        bool known = x[j].weight > 0 && !c->input[j].text;
        c->input[j].lower = known ? (double)x[j].lower : NAN, c->input[j].upper = known ? (double)x[j].upper : NAN;
        bool place = sphere_takes(&c->sphere, j), differs = x[j].differs > 0;
        moved |= place && differs;
        TRY(intake_input(c, j, moments_of(&x[j], s->all->total).mean, differs && !place, x[j].missing > 0, e));
    }
    c->sphere.on = moved; /* a single place is constant */
    if (moved) schema_place_sphere(c);
    d->D = c->D;
    TRY(schema_index(c, e));
    d->x_moments = mem_zeroed(d->D, sizeof *d->x_moments);
    if (!d->x_moments) return fail_memory(e, "column scales", (double)d->D * sizeof *d->x_moments);
    for (int64_t j = 0; j < d->D; j++)
        d->x_moments[j] =
            schema_at(c, j)->text
                ? (column_moments){.variance = 1}
                : moments_of(&x[sphere_has(&c->sphere, j) ? s->inputs + j - c->sphere.at : c->at[j]], s->all->total);
    return ANYGP_OK;
}

static anygp_status settle_targets(scan *s, anygp_error *e)
{
    if (s->seen) return dataset_settle_classes(s->d, s->r->columns, s->seen, e);
    const column_sum *sum = s->all->sum;
    for (int64_t t = 0, T = s->targets; t < T; t++) {
        dataset_take_target(s->d, t, moments_of(&sum[t], s->all->total));
        if (s->part->y.warp)
            dataset_take_transformed(s->d, t, moments_of(&sum[T + t], s->all->total),
                                     moments_of(&sum[2 * T + t], s->all->total).mean);
    }
    return ANYGP_OK;
}

/* X takes the place of the raw cells: column j of a row was never before place j, and a row never before its row of X. */
static anygp_status settle_sample(scan *s, anygp_error *e)
{
    dataset *d = s->d;
    row_units u;
    d->n = s->n;
    d->y = mem_doubles(d->n, d->Q);
    d->w = mem_alloc(d->n, sizeof *d->w);
    if (!d->y || !d->w) return fail_memory(e, "the target", 8.0 * (double)d->n * (double)(d->Q + 1));
    TRY(row_units_make(d, s->part, s->r->columns, NULL, &u, e));
    d->X = s->cells;
    s->cells = NULL;
    for (int64_t i = 0; i < d->n; i++)
        row_units_convert(&u, d->X + i * s->r->cols, d->X + i * d->D, d->y + i * d->Q, d->w + i);
    row_units_clear(&u);
    return ANYGP_OK;
}

static anygp_status settle(scan *s, anygp_error *e)
{
    dataset *d = s->d;
    d->used = (int64_t)s->all->used;
    d->no_target = (int64_t)s->all->no_target;
    d->no_weight = (int64_t)s->all->no_weight;
    d->total = (double)s->all->total;
    d->digest = ((uint64_t)s->all->digest_high << 32) + (uint64_t)s->all->digest_low;
    if (d->used == 0) return intake_nothing_left(s->r->count, d->no_target, d->no_weight, e);
    TRY(settle_inputs(s, e));
    TRY(settle_targets(s, e));
    return settle_sample(s, e);
}

/* What is gathered: the sums of all ranks, or the labels of one. */
static int64_t gathered_most(const scan *s)
{
    int64_t sums = s->c->size * 3 * s->fields;
    return s->part->y.classes && sums <= CLASSES_MOST ? CLASSES_MOST + 1 : sums;
}

/* Where among the inputs its two columns are. */
static void find_sphere(schema *c, const int64_t places[2])
{
    c->sphere = (sphere_spec){.on = true, .lon = -1, .lat = -1, .at = -1, .scale = 1};
    for (int64_t i = 0; i < c->inputs; i++) {
        if (c->input[i].number == places[0]) c->sphere.lon = i;
        if (c->input[i].number == places[1]) c->sphere.lat = i;
    }
    c->sphere.on = c->sphere.lon >= 0 && c->sphere.lat >= 0;
}

static anygp_status prepare(scan *s, anygp_error *e)
{
    const rows_part *p = s->part;
    TRY(dataset_take_columns(s->d, s->r->columns, s->r->cols, &p->y, p->skip_column, e));
    if (p->sphere) find_sphere(&s->d->schema, p->sphere);
    TRY(row_units_make_raw(&s->d->schema, p, s->r->columns, &s->u, e));
    s->inputs = s->d->schema.inputs;
    s->targets = p->y.targets;
    s->before = (p->y.warp ? 3 : 1) * s->targets;
    s->sums = s->before + s->inputs + (p->sphere ? SPHERE_COLUMNS : 0);
    size_t sums = (size_t)s->sums * sizeof(column_sum);
    s->fields = (int64_t)((sizeof(tally) + sums) / sizeof(long double));
    s->mine = mem_zeroed(s->fields, sizeof(long double));
    s->all = mem_zeroed(s->fields, sizeof(long double));
    s->flags = mem_alloc(s->c->size, sizeof *s->flags);
    s->gathered = mem_doubles(gathered_most(s), 1);
    s->seen = p->y.classes ? mem_zeroed(s->targets, sizeof *s->seen) : NULL;
    if (s->mine && s->all && s->flags && s->gathered && (s->seen || !p->y.classes)) return ANYGP_OK;
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
    if (s->seen) TRY(gather_labels(s, e));
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
    class_sets_free(s.seen, s.targets);
    row_units_clear(&s.u);
    free(s.mine);
    free(s.all);
    free(s.flags);
    free(s.gathered);
    free(s.cells);
    if (ANYGP_FAILED(status)) dataset_clear(d);
    return status;
}
