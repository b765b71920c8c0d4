/* The linear model of a comparison: the closed form of linear_model.h, which reports show too, from the training rows of a part, scored on its
   test rows.  A model of the mean alone, not fitted any further, tells how the columns become inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/constants.h"
#include "base/memory.h"
#include "gp/compare.h"
#include "gp/fit.h"
#include "gp/linear_model.h"
#include "predict/scores.h"

enum { CHUNK = 256 };

typedef struct linear_run {
    const gp *g; /* the mean */
    linear_model *model;
    row_units units;
    bool test;
    int64_t n;                            /* rows that wait in the next five */
    double *X, *y, *w, *exposure, *spare; /* spare: predictions, 6 x CHUNK, or of classes K x CHUNK */
    regression_scores numbers;
    class_scores *classes;
} linear_run;

static anygp_status make_room(linear_run *r, anygp_error *e)
{
    const schema *s = &r->g->schema;
    r->X = mem_doubles(CHUNK, s->D), r->y = mem_doubles(CHUNK, 3), r->spare = mem_doubles(CHUNK, s->classes + 6);
    if (s->classes > 0) r->classes = class_scores_new(s->classes);
    if (!r->X || !r->y || !r->spare || (s->classes > 0 && !r->classes)) return fail_memory(e, "a linear model", 0);
    r->w = r->y + CHUNK, r->exposure = r->w + CHUNK;
    regression_scores_begin(&r->numbers, s->y_mean, s->y_sd);
    return ANYGP_OK;
}

static void clear(linear_run *r)
{
    linear_free(r->model);
    class_scores_free(r->classes);
    row_units_clear(&r->units);
    free(r->X);
    free(r->y);
    free(r->spare);
}

/* ------------------------------------------------------------------------------------------ a block */

static void score_numbers(linear_run *r, const linear_rows *rows)
{
    double *mean = r->spare, *variance = mean + CHUNK, *density = variance + CHUNK, *below = density + CHUNK,
           *up_to = below + CHUNK, *width = up_to + CHUNK;
    linear_numbers(r->model, rows, mean, variance);
    if (r->g->likelihood->ops->target != TARGET_COUNT) {
        regression_scores_add(&r->numbers, r->n, r->y, mean, variance, r->w);
        return;
    }
    predicted p = {mean, density, below, up_to, width, NULL};
    rounded_normal(r->n, r->y, mean, variance, below, up_to, density);
    for (int64_t i = 0; i < r->n; i++) width[i] = 2 * Z95 * sqrt(variance[i]);
    regression_scores_add_predicted(&r->numbers, r->n, r->y, &p, r->w);
}

static anygp_status score_classes(linear_run *r, const linear_rows *rows, anygp_error *e)
{
    int64_t label[CHUNK];
    for (int64_t i = 0; i < r->n; i++) label[i] = (int64_t)r->y[i];
    linear_classes(r->model, rows, r->spare, CHUNK);
    return class_scores_add(r->classes, r->n, label, r->spare, CHUNK, r->w, e);
}

/* The rows that wait are learned from, or scored. */
static anygp_status use_rows(linear_run *r, anygp_error *e)
{
    bool counts = r->g->likelihood->ops->target == TARGET_COUNT;
    const linear_rows rows = {.n = r->n, .X = r->X, .y = r->y, .w = r->w, .exposure = counts ? r->exposure : NULL};
    anygp_status status = ANYGP_OK;
    if (!r->test)
        linear_add(r->model, 0, &rows);
    else if (r->g->schema.classes > 0)
        status = score_classes(r, &rows, e);
    else
        score_numbers(r, &rows);
    r->n = 0;
    return status;
}

static anygp_status take_row(linear_run *r, const row_units *u, int64_t number, const double *row, anygp_error *e)
{
    double y[2] = {0, 1};
    row_use use = row_units_use(u, number, row);
    if (row_refused(use)) return row_units_refuse(u, &r->g->schema, use, number, row, e);
    if (use != ROW_USED) return ANYGP_OK;
    row_units_convert(u, row, r->X + r->n * r->g->schema.D, y, r->w + r->n);
    r->y[r->n] = y[0], r->exposure[r->n] = y[1];
    return ++r->n == CHUNK ? use_rows(r, e) : ANYGP_OK;
}

/* -------------------------------------------------------------------------------------------- tables */

static anygp_status see_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    linear_run *r = ctx;
    return take_row(r, &r->units, number, row, e);
}

static anygp_status walk_table(linear_run *r, const comparison *c, const table *t, anygp_error *e)
{
    const schema *s = &r->g->schema;
    const row_places p = {.columns = t->columns,
                          .target = s->target_number,
                          .weights = c->weights,
                          .exposure = s->exposure,
                          .scored = true,
                          .below = 1,
                          .seed = c->seed};
    row_units_clear(&r->units);
    r->units = (row_units){0};
    TRY(gp_row_units(r->g, &p, &r->units, e));
    TRY(gp_data_walk(&(gp_data){t, NULL}, see_row, r, e));
    return r->n ? use_rows(r, e) : ANYGP_OK;
}

static anygp_status walk_file(linear_run *r, const comparison *c, const gp_set *m, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    binding *b = NULL;
    int64_t got = 1;
    TRY(binding_open(m, c->file, c->s, &b, e));
    TRY_DONE(binding_labels(b, true, "to score against", e));
    while (got) {
        const double *cells;
        int64_t first = binding_row_number(b);
        TRY_DONE(binding_next(b, CHUNK, &cells, &got, e));
        for (int64_t i = 0; i < got; i++)
            TRY_DONE(take_row(r, binding_units(b, 0), first + i, cells + i * binding_columns(b), e));
    }
    if (r->n) status = use_rows(r, e);
done:
    binding_close(b);
    return status;
}

anygp_status compare_linear(const comparison *c, const gp_set *mean, const table *train, const table *test,
                            gp_scores *scores, double *seconds, bool *done, anygp_error *e)
{
    linear_run r = {.g = mean->gp[0]};
    anygp_status status = ANYGP_OK;
    double began = clock_seconds();
    *done = false;
    TRY_DONE(linear_new(&r.g->schema, 1, &r.model, e));
    if (!r.model) goto done;
    TRY_DONE(make_room(&r, e));
    TRY_DONE(walk_table(&r, c, train, e));
    if (!linear_solve(r.model, -1)) goto done;
    *seconds += clock_seconds() - began;
    r.test = true;
    TRY_DONE(*c->file ? walk_file(&r, c, mean, e) : walk_table(&r, c, test, e));
    *scores = (gp_scores){0};
    if (r.classes)
        status = class_scores_list(r.classes, scores->list, &scores->count, e);
    else
        scores->count = regression_scores_list(&r.numbers, scores->list);
    *done = true;
done:
    clear(&r);
    return status;
}
