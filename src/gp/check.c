/* One pass over the file: memory does not grow with its rows. */
#include "gp/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/seen.h"

enum { CHUNK = 256 };

/* The sums of one target, and its rows of the chunk. */
typedef struct target_sums {
    predictor *predictor;
    scorer *scorer;
    check_sums sums;
    double new_labels, asked;
    double *y, *w, *exposure, *mean, *variance, *prior, *P;
    bool *labelled;
} target_sums;

typedef struct checking {
    const gp_set *m;
    const settings *s;
    gp_check *out;
    binding *binding;
    target_sums *sums; /* targets */
    input_sums inputs;
    double *X; /* CHUNK x D, in model units */
    int64_t *number;
    const double **row; /* CHUNK: the cells */
    int64_t n;
    uint64_t digest; /* of all rows [seen.h] */
} checking;

void gp_check_clear(gp_check *c)
{
    free(c->input);
    free(c->target);
    c->input = NULL, c->target = NULL;
}

static void sums_clear(target_sums *t)
{
    double *const owned[] = {t->y, t->w, t->exposure, t->mean, t->variance, t->prior, t->P};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(t->labelled);
    predictor_free(t->predictor);
    scorer_free(t->scorer);
}

static void checking_close(checking *c)
{
    for (int64_t t = 0; c->sums && t < c->m->targets; t++) sums_clear(&c->sums[t]);
    input_sums_clear(&c->inputs);
    free(c->X);
    free(c->sums);
    free(c->number);
    free(c->row);
    binding_close(c->binding);
}

static anygp_status open_target(checking *c, int64_t t, anygp_error *e)
{
    const gp *g = c->m->gp[t];
    target_sums *u = &c->sums[t];
    double **const columns[] = {&u->y, &u->w, &u->exposure, &u->mean, &u->variance, &u->prior};
    double bytes = gp_block_budget(c->s) / (double)(2 * c->m->targets);
    bool ok = (u->labelled = mem_zeroed(CHUNK, sizeof *u->labelled));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) ok = (*columns[i] = mem_doubles(CHUNK, 1)) && ok;
    if (gp_is_class(g)) ok = (u->P = mem_doubles(CHUNK, g->schema.classes)) && ok;
    if (!ok) return fail_memory(e, "the check", 8.0 * CHUNK * 7);
    TRY(predictor_new(g, bytes, &u->predictor, e));
    return c->out->labelled ? scorer_new(g, comm_self(), bytes, false, &u->scorer, e) : ANYGP_OK;
}

/* Without a target there is still something to say about the inputs. */
static anygp_status look_for_labels(checking *c, anygp_error *e)
{
    anygp_error why;
    anygp_status status = binding_labels(c->binding, true, "to check against", &why);
    if (ANYGP_FAILED(status) && (status == ANYGP_ERR_MEMORY || settings_given(c->s, SET_WEIGHTS))) {
        if (e) *e = why;
        return status;
    }
    c->out->labelled = !ANYGP_FAILED(status);
    if (!c->out->labelled) memcpy(c->out->unlabelled, why.text, sizeof c->out->unlabelled - 1);
    return ANYGP_OK;
}

static anygp_status checking_open(checking *c, const char *in, anygp_error *e)
{
    const schema *s = &c->m->gp[0]->schema;
    gp_check *out = c->out;
    out->inputs = input_sums_count(s), out->targets = c->m->targets;
    out->input = mem_zeroed(s->D, sizeof *out->input);
    out->target = mem_zeroed(c->m->targets, sizeof *out->target);
    c->sums = mem_zeroed(c->m->targets, sizeof *c->sums);
    bool ok = out->input && out->target && c->sums;
    TRY(input_sums_open(&c->inputs, s, e));
    ok = (c->X = mem_doubles(CHUNK, s->D)) && (c->number = mem_alloc(CHUNK, sizeof *c->number)) &&
         (c->row = mem_alloc(CHUNK, sizeof *c->row)) && ok;
    if (!ok) return fail_memory(e, "the check", 8.0 * CHUNK * (double)s->D);
    TRY(binding_open(c->m, in, c->s, &c->binding, e));
    TRY(look_for_labels(c, e));
    for (int64_t t = 0; t < c->m->targets; t++) TRY(open_target(c, t, e));
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ inputs */

/* The rows of a chunk that can be predicted, into X. */
static void take_inputs(checking *c, int64_t got, int64_t first, const double *cells)
{
    const row_units *u = binding_units(c->binding, 0);
    int64_t D = c->m->gp[0]->schema.D, wide = binding_columns(c->binding);
    c->n = 0;
    for (int64_t i = 0; i < got; i++) {
        double *x = c->X + c->n * D;
        bool good = true;
        row_units_inputs(u, cells + i * wide, x);
        for (int64_t j = 0; j < D; j++) good &= isfinite(x[j]) != 0;
        c->out->rows++, c->out->bad += !good;
        if (!good) continue;
        input_sums_add(&c->inputs, x);
        c->row[c->n] = cells + i * wide, c->number[c->n++] = first + i;
    }
}

/* ----------------------------------------------------------------------------------------- targets */

static void take_labels(checking *c, int64_t t)
{
    const row_units *u = binding_units(c->binding, t);
    target_sums *v = &c->sums[t];
    int64_t D = c->m->gp[t]->schema.D;
    for (int64_t i = 0; i < c->n; i++) {
        double y[2] = {0, 1};
        row_use use = row_units_use(u, c->number[i], c->row[i]);
        v->labelled[i] = use == ROW_USED;
        v->new_labels += use == ROW_UNKNOWN_CLASS;
        v->asked += use == ROW_USED || use == ROW_UNKNOWN_CLASS;
        if (use == ROW_USED) row_units_convert(u, c->row[i], c->X + i * D, y, &v->w[i]);
        v->y[i] = y[0], v->exposure[i] = y[1];
    }
}

/* The variance of the first latent in model units. */
static anygp_status latent_variance(const gp *g, target_sums *v, const row_batch *b, double *variance, anygp_error *e)
{
    latents f;
    double scale = gp_target_unit(g).scale;
    if (gp_is_normal(g)) {
        TRY(predictor_run(v->predictor, b, true, v->mean, variance, e));
        for (int64_t i = 0; i < b->n; i++) variance[i] /= scale * scale;
        return ANYGP_OK;
    }
    TRY(predictor_latents(v->predictor, b, false, &f, e));
    memcpy(variance, f.variance, (size_t)b->n * sizeof *variance);
    return ANYGP_OK;
}

/* How uncertain f is beside its prior. */
static anygp_status see_latents(checking *c, int64_t t, const row_batch *b, anygp_error *e)
{
    const gp *g = c->m->gp[t];
    target_sums *v = &c->sums[t];
    TRY(latent_variance(g, v, b, v->variance, e));
    kernel_diag(g->posterior->kernel, b->n, b->X, g->schema.D, v->prior);
    for (int64_t i = 0; i < b->n; i++) check_sums_row(&v->sums, v->prior[i] > 0 ? v->variance[i] / v->prior[i] : 0);
    return ANYGP_OK;
}

static double standardised(const target_sums *v, double y, int64_t k)
{
    return (y - v->mean[k]) / sqrt(fmax(v->variance[k], 1e-300));
}

/* Of g(y), where y was transformed by g: there the residuals are normal. */
static anygp_status transformed_moments(const gp *g, target_sums *v, const row_batch *b, anygp_error *e)
{
    observer o = gp_observer(g, false);
    latents f;
    TRY(predictor_latents(v->predictor, b, true, &f, e));
    o.warp = (warp){0};
    observe_moments(&o, &f, NULL, v->mean, v->variance);
    return ANYGP_OK;
}

/* Predictions of the rows from `at` on, as many as one call takes. */
static anygp_status see_block(checking *c, int64_t t, int64_t at, int64_t n, anygp_error *e)
{
    const gp *g = c->m->gp[t];
    target_sums *v = &c->sums[t];
    int64_t D = g->schema.D;
    row_batch b = {.n = n,
                   .X = c->X + at * D,
                   .number = {0, c->number + at},
                   .exposure = g->schema.exposed ? v->exposure + at : NULL};
    TRY(see_latents(c, t, &b, e));
    if (!c->out->labelled) return ANYGP_OK;
    if (gp_is_class(g))
        TRY(predictor_classes(v->predictor, &b, v->P, n, e));
    else if (warp_is(&g->schema.warp))
        TRY(transformed_moments(g, v, &b, e));
    else
        TRY(predictor_run(v->predictor, &b, false, v->mean, v->variance, e));
    for (int64_t k = 0; k < n; k++) {
        int64_t i = at + k;
        if (!v->labelled[i]) continue;
        if (gp_is_class(g))
            check_sums_class(&v->sums, g->schema.classes, v->P + k, n, (int64_t)v->y[i], v->w[i]);
        else
            check_sums_number(&v->sums, standardised(v, warp_forward(&g->schema.warp, v->y[i]), k), v->w[i]);
        TRY(scorer_add(v->scorer, &(labelled_row){b.X + k * D, v->y[i], v->exposure[i], v->w[i], c->number[i], -1}, e));
    }
    return ANYGP_OK;
}

static anygp_status see_target(checking *c, int64_t t, anygp_error *e)
{
    int64_t most = predictor_block(c->sums[t].predictor);
    for (int64_t i = 0; i < c->n; i++) c->sums[t].exposure[i] = 1, c->sums[t].w[i] = 1;
    if (c->out->labelled) take_labels(c, t);
    for (int64_t at = 0, n; at < c->n; at += n) {
        n = c->n - at < most ? c->n - at : most;
        TRY(see_block(c, t, at, n, e));
    }
    return ANYGP_OK;
}

static anygp_status read_rows(checking *c, anygp_error *e)
{
    int64_t got;
    do {
        const double *cells;
        int64_t first = binding_row_number(c->binding);
        TRY(settings_check_stop(c->s, e));
        TRY(binding_next(c->binding, CHUNK, &cells, &got, e));
        take_inputs(c, got, first, cells);
        c->digest += seen_rows(c->m, c->binding, got, cells);
        for (int64_t t = 0; t < c->m->targets && c->n > 0; t++) TRY(see_target(c, t, e));
    } while (got > 0);
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- results */

static anygp_status finish_target(checking *c, int64_t t, anygp_error *e)
{
    target_sums *v = &c->sums[t];
    gp_scores scores = {0};
    if (v->scorer) TRY(scorer_finish(v->scorer, &scores, e));
    check_sums_finish(&v->sums, c->m->gp[t], &scores, &c->out->target[t]);
    c->out->target[t].new_labels = v->asked > 0 ? v->new_labels / v->asked : 0;
    return ANYGP_OK;
}

anygp_status gp_check_file(const gp_set *m, const settings *s, const char *in, gp_check *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    checking c = {.m = m, .s = s, .out = out};
    *out = (gp_check){0};
    TRY_DONE(checking_open(&c, in, e));
    TRY_DONE(read_rows(&c, e));
    if (out->rows == out->bad) {
        status = fail_with(e, ANYGP_ERR_DATA, "%.200s has no row that can be predicted", in);
        goto done;
    }
    input_sums_finish(&c.inputs, m->settings, out->input, &out->far);
    for (int64_t t = 0; t < m->targets; t++) TRY_DONE(finish_target(&c, t, e));
    check_judge(out);
    seen_note(m, s, c.digest, in);
done:
    checking_close(&c);
    if (ANYGP_FAILED(status)) gp_check_clear(out);
    return status;
}
