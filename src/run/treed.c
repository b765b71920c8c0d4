/* The greedy search for a tree of cuts (treed.h). */
#include "run/treed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "run/start.h"

enum {
    PLACES = 3,
    FINEST = 128,
    LEAST_ROWS = 20,
    LEAST_A_COLUMN = 4,
    RANK_ITERATIONS = 6,
    JUDGE_ITERATIONS = 20,
    EVALUATION = 2
};
static const double CUT_A = 0.5, CUT_B = 2;

typedef struct search {
    const problem *p;
    const treed_options *o;
    train_options train;
    treed_report *report;
    router *r;
    double work;
    int64_t *order, *right; /* n: the rows, those of a node together; room */
    double *along;          /* n of room */
} search;

/* Rows order[first .. first + n - 1]. */
typedef struct span {
    int64_t first, n;
} span;

typedef struct cut {
    int64_t column;
    double value;
} cut;

static bool over(search *s)
{
    if (s->work <= s->o->most) return false;
    return s->report->ended = true;
}

/* ----------------------------------------------------------------------------------------- evidence */

/* `most` of the rows of a span, evenly over the list. */
static int64_t some_of(const search *s, span a, int64_t most, int64_t *chosen)
{
    int64_t k = a.n < most ? a.n : most;
    for (int64_t i = 0; i < k; i++) chosen[i] = s->order[a.first + i * a.n / k];
    return k;
}

/* E of k chosen rows, from h, which moves there. */
static anygp_status evidence(search *s, int64_t k, const int64_t *chosen, int64_t iterations, hyper *h, double *value,
                             anygp_error *e)
{
    merged few = {0};
    anygp_status stopped = ANYGP_OK, status = merged_select(s->p->rows, k, chosen, &few, e);
    problem small = *s->p;
    small.rows = &few;
    if (!ANYGP_FAILED(status)) status = start_climb_exact(&small, h, &s->train, iterations, value, &stopped, e);
    s->work += (double)(iterations * EVALUATION) * pow((double)k, 3);
    if (stopped == ANYGP_INTERRUPTED) s->work = INFINITY;
    merged_clear(&few);
    return status;
}

/* E per row of some rows of a span, from h, which stays. */
static anygp_status rank_side(search *s, span a, const hyper *h, double *value, anygp_error *e)
{
    int64_t chosen[TREED_RANK], k = some_of(s, a, TREED_RANK, chosen);
    hyper own = {0};
    anygp_status status = hyper_copy(h, &own, e);
    if (!ANYGP_FAILED(status)) status = evidence(s, k, chosen, RANK_ITERATIONS, &own, value, e);
    if (!ANYGP_FAILED(status)) *value *= (double)a.n / (double)k;
    hyper_clear(&own);
    return status;
}

/* -------------------------------------------------------------------------------------------- places */

static const double *row_of(const search *s, int64_t i) { return s->p->rows->X + s->order[i] * s->p->rows->D; }

/* The place that leaves `target` rows to the left, about; false: all rows are equal here. */
static bool place_of(const search *s, span a, int64_t j, int64_t target, cut *c)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < a.n; i++) {
        double x = s->along[i] = row_of(s, a.first + i)[j];
        low = fmin(low, x), high = fmax(high, x);
    }
    if (!(low < high)) return false;
    *c = (cut){j, cut_between(a.n, s->along, target)};
    return true;
}

/* Rows that go left first, both in their order; how many. */
static int64_t send_rows(const search *s, span a, const cut *c)
{
    int64_t lefts = 0, rights = 0, *order = s->order + a.first;
    for (int64_t i = 0; i < a.n; i++) {
        int64_t row = order[i];
        if (s->p->rows->X[row * s->p->rows->D + c->column] <= c->value)
            order[lefts++] = row;
        else
            s->right[rights++] = row;
    }
    memcpy(order + lefts, s->right, (size_t)rights * sizeof *order);
    return lefts;
}

/* Rows that either side needs for hyperparameters of its own. */
static int64_t least_rows(const search *s)
{
    int64_t least = LEAST_A_COLUMN * (s->p->rows->D + 1);
    return least > LEAST_ROWS ? least : LEAST_ROWS;
}

typedef struct width {
    double narrow; /* minus its extent in length-scales */
    int64_t column;
} width;

/* The columns to look at, the widest first; how many. */
static anygp_status wide_columns(const search *s, span a, const hyper *h, int64_t columns[TREED_COLUMNS],
                                 int64_t *count, anygp_error *e)
{
    int64_t D = s->p->rows->D;
    double *weight = mem_alloc(D, sizeof *weight);
    width *w = mem_alloc(D, sizeof *w);
    anygp_status status = weight && w ? ANYGP_OK : fail_memory(e, "the columns", 24.0 * (double)D);
    if (!ANYGP_FAILED(status)) {
        kernel_closeness(h->kernel, kernel_values(h->kernel), weight);
        for (int64_t j = 0; j < D; j++) {
            double low = INFINITY, high = -INFINITY;
            for (int64_t i = 0; i < a.n; i++)
                low = fmin(low, row_of(s, a.first + i)[j]), high = fmax(high, row_of(s, a.first + i)[j]);
            w[j] = (width){-(high - low) * weight[j], j};
        }
        if (D > TREED_COLUMNS) qsort(w, (size_t)D, sizeof *w, by_double);
        *count = D < TREED_COLUMNS ? D : TREED_COLUMNS;
        for (int64_t j = 0; j < *count; j++) columns[j] = w[j].column;
    }
    free(weight);
    free(w);
    return status;
}

/* The best place so far, by E of some rows of either side. */
typedef struct best_place {
    cut c;
    double value;
    int64_t target;      /* rows to the left, about */
    int64_t least, seen; /* rows that either side needs; places looked at */
} best_place;

static anygp_status try_place(search *s, span a, int64_t j, int64_t target, const hyper *h, best_place *b,
                              bool *different, anygp_error *e)
{
    cut c;
    double left, right;
    if (!(*different = place_of(s, a, j, target, &c))) return ANYGP_OK;
    int64_t n = send_rows(s, a, &c);
    if (n < b->least || a.n - n < b->least) return ANYGP_OK;
    TRY(rank_side(s, (span){a.first, n}, h, &left, e));
    TRY(rank_side(s, (span){a.first + n, a.n - n}, h, &right, e));
    if (b->seen++ == 0 || left + right > b->value) b->value = left + right, b->c = c, b->target = target;
    return ANYGP_OK;
}

/* Quarters of the rows along each column; then the best of them is moved by an eighth, a sixteenth, ... */
static anygp_status best_cut(search *s, span a, const hyper *h, best_place *b, anygp_error *e)
{
    int64_t columns[TREED_COLUMNS], count = 0;
    bool different = true;
    TRY(wide_columns(s, a, h, columns, &count, e));
    for (int64_t j = 0; j < count; j++) {
        different = true;
        for (int64_t q = 1; q <= PLACES && different && !over(s); q++)
            TRY(try_place(s, a, columns[j], a.n * q / (PLACES + 1), h, b, &different, e));
    }
    for (int64_t step = a.n / 8; b->seen > 0 && step > a.n / FINEST && !over(s); step /= 2) {
        int64_t from = b->target, j = b->c.column;
        TRY(try_place(s, a, j, from - step, h, b, &different, e));
        TRY(try_place(s, a, j, from + step, h, b, &different, e));
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------------- nodes */

static double log_odds(int64_t depth, int64_t places)
{
    double p = CUT_A * pow(1 + (double)depth, -CUT_B), below = CUT_A * pow(2 + (double)depth, -CUT_B);
    return log(p / (1 - p)) + 2 * log1p(-below) - log((double)places);
}

/* The sides of a cut, with the hyperparameters of each. */
typedef struct sides {
    span left, right;
    hyper h[2];
} sides;

static void sides_clear(sides *b)
{
    hyper_clear(&b->h[0]);
    hyper_clear(&b->h[1]);
}

/* E of the chosen rows, and of those on either side by themselves; h moves to the best of all of them. */
static anygp_status judge(search *s, span a, const cut *c, hyper *h, sides *b, double *gain, anygp_error *e)
{
    int64_t chosen[TREED_JUDGE], part[2][TREED_JUDGE], n[2] = {0}, k = some_of(s, a, TREED_JUDGE, chosen);
    double whole, half[2] = {0};
    for (int64_t i = 0; i < k; i++) {
        int side = !(s->p->rows->X[chosen[i] * s->p->rows->D + c->column] <= c->value);
        part[side][n[side]++] = chosen[i];
    }
    TRY(evidence(s, k, chosen, JUDGE_ITERATIONS, h, &whole, e));
    for (int i = 0; i < 2; i++) {
        TRY(hyper_copy(h, &b->h[i], e));
        if (n[i] > 0) TRY(evidence(s, n[i], part[i], JUDGE_ITERATIONS, &b->h[i], &half[i], e));
    }
    *gain = n[0] > 0 && n[1] > 0 ? half[0] + half[1] - whole : -INFINITY;
    return ANYGP_OK;
}

static anygp_status cut_node(search *s, int64_t block, span a, int64_t depth, hyper *h, anygp_error *e)
{
    bool forced = a.n > s->o->cap;
    sides b = {.h = {{.M = 0}}};
    best_place best = {.least = forced ? 1 : least_rows(s)};
    double gain;
    if (over(s) || (!forced && (a.n < 2 * least_rows(s) || h->free == 0))) return ANYGP_OK;
    TRY(best_cut(s, a, h, &best, e));
    if (best.seen == 0 || over(s)) return ANYGP_OK;
    const cut c = best.c;
    int64_t n = send_rows(s, a, &c);
    b.left = (span){a.first, n}, b.right = (span){a.first + n, a.n - n};
    anygp_status status = judge(s, a, &c, h, &b, &gain, e);
    bool wanted = !ANYGP_FAILED(status) && gain + log_odds(depth, best.seen) > 0;
    s->report->judged += !forced, s->report->made += !forced && wanted;
    if (!ANYGP_FAILED(status) && (forced || wanted)) {
        int64_t other = router_blocks(s->r), below = forced ? 0 : depth + 1;
        TRY_DONE(router_cut(s->r, block, c.column, c.value, e));
        TRY_DONE(cut_node(s, block, b.left, below, &b.h[0], e));
        TRY_DONE(cut_node(s, other, b.right, below, &b.h[1], e));
    }
done:
    sides_clear(&b);
    return status;
}

/* -------------------------------------------------------------------------------------------- search */

static bool enough(void *ctx)
{
    (void)ctx;
    return false;
}

static anygp_status search_tree(search *s, const hyper *from, anygp_error *e)
{
    hyper h = {0};
    anygp_status status;
    TRY_DONE(hyper_copy(from, &h, e));
    h.all.prior = true; /* which each part pays for its hyperparameters */
    if (h.free > 0) TRY_DONE(start_from_data(s->p, &h, &s->train, enough, NULL, e));
    TRY_DONE(cut_node(s, 0, (span){0, s->p->rows->n}, 0, &h, e));
done:
    hyper_clear(&h);
    return status;
}

static anygp_status on_first_rank(const problem *p, const hyper *h, const treed_options *o, router *r,
                                  treed_report *report, anygp_error *e)
{
    int64_t n = p->rows->n;
    problem alone = *p;
    alone.comm = comm_self();
    search s = {.p = &alone, .o = o, .report = report, .r = r};
    s.train = (train_options){.iterations = INT64_MAX,
                              .jitter = model_exact.jitter,
                              .time_limit = INFINITY,
                              .began = clock_seconds(),
                              .report = o->report,
                              .ctx = o->ctx,
                              .save_every = INFINITY};
    s.order = mem_alloc(n, sizeof *s.order), s.right = mem_alloc(n, sizeof *s.right);
    s.along = mem_alloc(n, sizeof *s.along);
    anygp_status status = s.order && s.right && s.along ? ANYGP_OK : fail_memory(e, "the cuts", 24.0 * (double)n);
    for (int64_t i = 0; s.order && i < n; i++) s.order[i] = i;
    if (!ANYGP_FAILED(status)) status = search_tree(&s, h, e);
    free(s.order);
    free(s.right);
    free(s.along);
    return status;
}

/* Rank 0's tree, to all. */
static anygp_status share(const comm *c, int64_t D, router **r, treed_report *report, anygp_error *e)
{
    int64_t size[2];
    if (c->size == 1) return ANYGP_OK;
    const double *values = router_values(*r, &size[0], &size[1]);
    TRY(c->broadcast(c->ctx, 0, sizeof size, size, e));
    TRY(c->broadcast(c->ctx, 0, sizeof *report, report, e));
    double *all = mem_doubles(size[0], size[1]);
    if (!all) return fail_memory(e, "the cuts", 8.0 * (double)size[0] * (double)size[1]);
    if (c->rank == 0) memcpy(all, values, (size_t)(size[0] * size[1]) * sizeof *all);
    router *made = NULL;
    anygp_status status = c->broadcast(c->ctx, 0, size[0] * size[1] * (int64_t)sizeof *all, all, e);
    if (!ANYGP_FAILED(status)) status = router_from_values(size[0], size[1], all, D, &made, e);
    free(all);
    if (ANYGP_FAILED(status)) return status;
    router_free(*r);
    *r = made;
    return ANYGP_OK;
}

anygp_status treed_cuts(const problem *p, const hyper *h, const treed_options *o, router **out, treed_report *r,
                        anygp_error *e)
{
    router *made = NULL;
    *r = (treed_report){0}, *out = NULL;
    TRY(router_whole(p->rows->D, &made, e));
    anygp_status status = p->comm->rank == 0 ? on_first_rank(p, h, o, made, r, e) : ANYGP_OK;
    if (!ANYGP_FAILED(status)) status = share(p->comm, p->rows->D, &made, r, e);
    if (ANYGP_FAILED(status))
        router_free(made);
    else
        *out = made;
    return status;
}
