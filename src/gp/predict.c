/* Rows to predictions in data units, block by block. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "base/special.h"
#include "gp/gp.h"

/* ------------------------------------------------------------------------------ numbers of rows */

static long long row_number(const row_numbers *r, int64_t i)
{
    return (long long)(r->number ? r->number[i] : r->first + i) + 1;
}

static anygp_status too_far(const row_numbers *number, int64_t i, anygp_error *e)
{
    return fail_with(
        e, ANYGP_ERR_NUMERIC,
        "row %lld: the prediction is too large to be written; its inputs are far outside the training data",
        row_number(number, i));
}

anygp_status predictor_check(const row_batch *b, int64_t n, const double *x, anygp_error *e)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return too_far(&b->number, i, e);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- latents */

struct predictor {
    const gp *g;
    double bytes;
    int64_t block, seen;
    posterior *condensed; /* once the rows seen are many, where the posterior has it */
    posterior *lean;      /* for means alone, where there is one and the predictor is kept */
    bool kept;            /* between calls */
    row_units units;      /* of rows in the order of the schema, where it is kept */
    double *X, *work;
    int64_t work_room;
    double *mean,
        *variance;  /* block x C x S; mean: not for normal predictions, whose means go straight to the caller's array */
    double *weight; /* block x S, where components have weights; else NULL */
    double *spare;  /* block, the same */
    double *noise;  /* block x S: variance of y beyond f, where it is not the same everywhere; else NULL */
    double *scale;  /* block: factors of the variances, where they vary over the inputs; else NULL */
};

enum { BLOCK_LEAST = 16, BLOCK_MOST = 2048 };
static const double CONDENSED_BYTES = 256e6; /* that a condensed posterior may always have */

/* Doubles for a row's latents and what is computed from them. */
static int64_t latent_doubles(const gp *g) { return gp_is_normal(g) ? 1 : 2 * gp_latents(g) * gp_components(g) + 1; }

/* Besides, the caller holds the row as read and as passed on. */
double predictor_row_bytes(const gp *g)
{
    const posterior *q = g->posterior;
    int64_t given = 2 * g->schema.inputs + (gp_is_gaussian(g) ? 0 : g->schema.classes);
    return 8.0 * (double)(q->ops->work_doubles(q, 1) + g->schema.D + latent_doubles(g) + given);
}

anygp_status predictor_new(const gp *g, double bytes, predictor **out, anygp_error *e)
{
    const posterior *q = g->posterior;
    double row = predictor_row_bytes(g);
    int64_t width = gp_latents(g) * gp_components(g);
    TRY(posterior_ready(q, e));
    predictor *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "prediction", sizeof *p);
    double fits = bytes / row;
    p->g = g, p->bytes = bytes;
    p->block = fits < BLOCK_LEAST ? BLOCK_LEAST : fits > BLOCK_MOST ? BLOCK_MOST : (int64_t)fits;
    p->X = mem_alloc(p->block * g->schema.D, sizeof(double));
    p->work_room = q->ops->work_doubles(q, p->block);
    p->work = mem_alloc(p->work_room, sizeof(double));
    p->variance = mem_doubles(p->block, width);
    if (q->ops->marginal_noise) p->noise = mem_doubles(p->block, gp_components(g));
    if (g->local) p->scale = mem_alloc(p->block, sizeof(double));
    bool ok = p->X && p->work && p->variance && (p->noise || !q->ops->marginal_noise) && (p->scale || !g->local);
    if (!gp_is_normal(g)) {
        p->mean = mem_doubles(p->block, width);
        p->spare = mem_alloc(p->block, sizeof(double));
        if (q->ops->weights) p->weight = mem_doubles(p->block, gp_components(g));
        ok = ok && p->mean && p->spare && (p->weight || !q->ops->weights);
    }
    if (ok) return *out = p, ANYGP_OK;
    predictor_free(p);
    return fail_memory(e, "prediction", row * BLOCK_LEAST);
}

void predictor_free(predictor *p)
{
    if (!p) return;
    double *const owned[] = {p->X, p->work, p->mean, p->variance, p->weight, p->spare, p->noise, p->scale};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    posterior *forms[] = {p->condensed, p->lean};
    posteriors_free(2, forms);
    row_units_clear(&p->units);
    free(p);
}

int64_t predictor_block(const predictor *p) { return p->block; }

/* Rows i .. i+n-1 of b. */
static row_batch part_of(const row_batch *b, int64_t D, int64_t i, int64_t n)
{
    return (row_batch){n,
                       b->X ? b->X + i * D : NULL,
                       b->X ? NULL : b->rows + i * b->ld,
                       b->ld,
                       b->units,
                       {b->number.first + i, b->number.number ? b->number.number + i : NULL},
                       b->block ? b->block + i : NULL,
                       b->exposure ? b->exposure + i : NULL};
}

/* Another form of the posterior, with workspace for it too; NULL: there is none. */
static posterior *with_room(predictor *p, posterior *form)
{
    int64_t room = form ? form->ops->work_doubles(form, p->block) : 0;
    if (room <= p->work_room) return form;
    double *work = mem_alloc(room, sizeof *work);
    if (!work) return form->ops->free(form), NULL;
    free(p->work);
    p->work = work, p->work_room = room;
    return form;
}

static void condense_now(predictor *p)
{
    const posterior *q = p->g->posterior;
    double bytes = 8.0 * (double)q->n * (double)q->n * (double)gp_latents(p->g);
    if (p->condensed || !q->ops->condense || bytes > fmax(p->bytes, CONDENSED_BYTES)) return;
    p->condensed = with_room(p, q->ops->condense(q));
}

/* Condensing takes the time of about MANY rows per inducing input, and a square matrix per latent: it is done once as many
   rows have been predicted without it, or are about to be with a block that is full, and where there is room.  Not in a predictor that is kept: there the same row would get other
   last digits after some calls. */
static void condense(predictor *p, int64_t n)
{
    enum { MANY = 2 };
    int64_t rows = p->seen + (n == BLOCK_MOST ? n : 0);
    if (p->kept || rows < MANY * p->g->posterior->n) return;
    p->seen = INT64_MIN; /* once */
    condense_now(p);
}

static anygp_status ask(predictor *p, const posterior *q, const row_batch *b, const double *X, double *mean,
                        double *variance, anygp_error *e)
{
    int64_t D = p->g->schema.D;
    if (p->noise) return q->ops->marginal_noise(q, b->n, X, D, b->block, p->work, mean, variance, p->noise, e);
    return b->block ? q->ops->marginal_in(q, b->n, X, D, b->block, p->work, mean, variance, e)
                    : q->ops->marginal(q, b->n, X, D, p->work, mean, variance, e);
}

static anygp_status take_inputs(predictor *p, const row_batch *b, anygp_error *e)
{
    row_batch given = *b;
    if (!given.units && p->kept) given.units = &p->units;
    return gp_take_inputs(p->g, &given, p->X, e);
}

/* Marginals in model units, for rows in the blocks that are given or that they are routed to. */
static anygp_status marginals(predictor *p, const row_batch *b, double *mean, double *variance, anygp_error *e)
{
    if (!b->block) condense(p, b->n), p->seen += b->n;
    const posterior *q = b->block || p->noise   ? p->g->posterior
                         : !variance && p->lean ? p->lean
                         : p->condensed         ? p->condensed
                                                : p->g->posterior;
    const double *X = b->X ? b->X : p->X;
    if (!b->X) TRY(take_inputs(p, b, e));
    TRY(ask(p, q, b, X, mean, variance, e));
    double factor = gp_calibration(p->g);
    int64_t cells = variance && factor != 1 ? b->n * gp_latents(p->g) * gp_components(p->g) : 0;
    for (int64_t i = 0; i < cells; i++) variance[i] *= factor;
    if (!p->scale || !variance) return ANYGP_OK;
    TRY(local_scale_at(p->g->local, p->g->posterior->kernel, b->n, X, p->scale, e));
    for (int64_t i = 0; i < b->n; i++) variance[i] *= p->scale[i];
    return ANYGP_OK;
}

anygp_status predictor_latents(predictor *p, const row_batch *b, bool observed, latents *out, anygp_error *e)
{
    int64_t stride = b->n * gp_latents(p->g), S = gp_components(p->g), cells = stride * S;
    const posterior *q = p->g->posterior;
    double white = observed ? kernel_white(q->kernel) : 0;
    TRY(marginals(p, b, p->mean, p->variance, e));
    for (int64_t i = 0; i < cells; i++) {
        if (!isfinite(p->mean[i]) || !isfinite(p->variance[i])) return too_far(&b->number, i % b->n, e);
        double own = q->noises ? q->noises[i / stride] : p->noise ? p->noise[i] : white;
        p->variance[i] = fmax(p->variance[i], 0) + (observed ? own : white);
    }
    if (p->weight) q->ops->weights(q, b->n, b->X ? b->X : p->X, p->g->schema.D, p->work, p->weight);
    *out = (latents){b->n, p->mean, p->variance, b->n, S, stride, p->weight};
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------- kept between calls */

enum { KEPT_ROWS = 64 };
static const double KEPT_BYTES = 4e6; /* of workspace, where BLOCK_LEAST rows do not need more */

bool predictor_keeps(const row_batch *b) { return b->n <= KEPT_ROWS && !b->block && !b->X && !b->units; }

static anygp_status kept_new(const gp *g, predictor **out, anygp_error *e)
{
    const posterior *q = g->posterior;
    const row_places places = {.in_order = true, .target = -1, .weights = -1, .exposure = -1};
    TRY(predictor_new(g, fmin(KEPT_ROWS * predictor_row_bytes(g), KEPT_BYTES), out, e));
    (*out)->kept = true;
    if (q->ops->condense_mean) (*out)->lean = with_room(*out, q->ops->condense_mean(q));
    anygp_status status = gp_row_units(g, &places, &(*out)->units, e);
    if (ANYGP_FAILED(status)) predictor_free(*out), *out = NULL;
    return status;
}

anygp_status predictor_take_kept(const gp *g, predictor **out, anygp_error *e)
{
    *out = atomic_exchange(&((gp *)g)->kept, NULL); /* a cache: the gp stays what it is */
    return *out ? ANYGP_OK : kept_new(g, out, e);
}

void predictor_give_back(predictor *p)
{
    if (p) predictor_free(atomic_exchange(&((gp *)p->g)->kept, p));
}

anygp_status predictor_prepare(const gp *g, anygp_error *e)
{
    predictor *p;
    TRY(predictor_take_kept(g, &p, e));
    condense_now(p);
    predictor_give_back(p);
    return ANYGP_OK;
}

double predictor_work(const gp *g, int64_t n, bool variances)
{
    double rows = (double)g->posterior->n, width = (double)(gp_latents(g) * gp_components(g));
    return (double)n * rows * (variances ? rows * width : (double)g->schema.D + width);
}

/* -------------------------------------------------------------------------- one number per row */

static anygp_status run_normal(predictor *p, const row_batch *b, bool latent, double *mean, double *variance,
                               double *noise, anygp_error *e)
{
    const gp *g = p->g;
    double same = gp_observation_variance(g);
    TRY(marginals(p, b, mean, variance ? p->variance : NULL, e));
    unit_means(gp_target_unit(g), b->n, mean, mean);
    TRY(predictor_check(b, b->n, mean, e));
    if (!variance) return ANYGP_OK;
    for (int64_t k = 0; k < b->n; k++) { /* fmax ignores NaN */
        double more = p->noise ? p->noise[k] : p->scale ? same * p->scale[k] : same;
        if (!isnan(p->variance[k])) p->variance[k] = fmax(p->variance[k], 0) + (latent ? 0 : more);
        if (noise) noise[k] = unit_variance(gp_target_unit(g), more);
    }
    unit_variances(gp_target_unit(g), b->n, p->variance, variance);
    return predictor_check(b, b->n, variance, e);
}

static anygp_status run_observed(predictor *p, const row_batch *b, bool latent, double *mean, double *variance,
                                 anygp_error *e)
{
    latents f;
    observer o = gp_observer(p->g, latent);
    double *v = variance ? variance : p->spare;
    TRY(predictor_latents(p, b, !latent, &f, e));
    observe_moments(&o, &f, b->exposure, mean, v);
    TRY(predictor_check(b, b->n, mean, e));
    return predictor_check(b, b->n, v, e);
}

/* What a call for one number per row cannot give. */
static anygp_status one_number(const gp *g, bool latent, anygp_error *e)
{
    if (latent && gp_latents(g) > 1)
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "the model has %lld latent functions, and one was asked for; a file of predictions has them all",
            (long long)gp_latents(g));
    if (!latent && gp_is_class(g))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "the target is one of %lld classes and has no mean; ask for their probabilities",
                         (long long)g->schema.classes);
    return ANYGP_OK;
}

anygp_status predictor_run(predictor *p, const row_batch *b, bool latent, double *mean, double *variance,
                           anygp_error *e)
{
    return predictor_run_noise(p, b, latent, mean, variance, NULL, e);
}

anygp_status predictor_run_noise(predictor *p, const row_batch *b, bool latent, double *mean, double *variance,
                                 double *noise, anygp_error *e)
{
    bool normal = gp_is_normal(p->g);
    TRY(one_number(p->g, latent, e));
    for (int64_t i = 0; i < b->n; i += p->block) {
        row_batch part = part_of(b, p->g->schema.D, i, b->n - i < p->block ? b->n - i : p->block);
        double *v = variance ? variance + i : NULL;
        TRY(normal ? run_normal(p, &part, latent, mean + i, v, noise ? noise + i : NULL, e)
                   : run_observed(p, &part, latent, mean + i, v, e));
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------- quantiles */

static anygp_status normal_quantiles(predictor *p, const row_batch *b, bool latent, int64_t count, const double *at,
                                     double *out, anygp_error *e)
{
    int64_t n = b->n;
    double *mean = mem_doubles(n, 2), *variance = mean + n;
    if (!mean) return fail_memory(e, "the quantiles", 16.0 * (double)n);
    anygp_status status = predictor_run(p, b, latent, mean, variance, e);
    for (int64_t k = 0; k < count && !ANYGP_FAILED(status); k++) {
        double z = normal_quantile(at[k]);
        for (int64_t i = 0; i < n; i++) out[i + k * n] = mean[i] + z * sqrt(variance[i]);
    }
    free(mean);
    return status;
}

/* One block of rows; out has ldo rows. */
static anygp_status observed_quantiles(predictor *p, const row_batch *b, bool latent, int64_t count, const double *at,
                                       double *out, int64_t ldo, anygp_error *e)
{
    latents f;
    observer o = gp_observer(p->g, latent);
    TRY(predictor_latents(p, b, !latent, &f, e));
    for (int64_t k = 0; k < count; k++) observe_quantile(&o, &f, b->exposure, at[k], out + k * ldo);
    return ANYGP_OK;
}

anygp_status predictor_quantiles(predictor *p, const row_batch *b, bool latent, int64_t count, const double *at,
                                 double *out, anygp_error *e)
{
    bool normal = gp_is_normal(p->g);
    TRY(one_number(p->g, latent, e));
    if (normal) TRY(normal_quantiles(p, b, latent, count, at, out, e));
    for (int64_t i = 0; !normal && i < b->n; i += p->block) {
        row_batch part = part_of(b, p->g->schema.D, i, b->n - i < p->block ? b->n - i : p->block);
        TRY(observed_quantiles(p, &part, latent, count, at, out + i, b->n, e));
    }
    for (int64_t k = 0; k < count; k++) TRY(predictor_check(b, b->n, out + k * b->n, e));
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- classes */

anygp_status predictor_classes(predictor *p, const row_batch *b, double *P, int64_t ldp, anygp_error *e)
{
    if (!gp_is_class(p->g))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "the target is a number and not a class; ask for its mean and variance");
    observer o = gp_observer(p->g, false);
    for (int64_t i = 0; i < b->n; i += p->block) {
        latents f;
        row_batch part = part_of(b, p->g->schema.D, i, b->n - i < p->block ? b->n - i : p->block);
        TRY(predictor_latents(p, &part, true, &f, e));
        observe_classes(&o, &f, P + i, ldp);
        for (int64_t k = 0; k < p->g->schema.classes; k++) TRY(predictor_check(&part, part.n, P + i + k * ldp, e));
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------- committees */

int64_t gp_experts(const gp *g)
{
    const posterior *q = g->posterior;
    return q->ops->experts ? q->ops->experts(q) : 0;
}

anygp_status gp_check_experts(const gp *g, anygp_error *e)
{
    if (gp_experts(g) > 0) return ANYGP_OK;
    char *list = model_names(model_has_opinions, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "parts: a model of the kind %s has no experts; those that have are %s", g->name,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

/* A block of rows, with room[n, 3 M]; out has ldo rows. */
static anygp_status opinions_of(predictor *p, const row_batch *b, bool latent, double *room, double *out, int64_t ldo,
                                anygp_error *e)
{
    const gp *g = p->g;
    const posterior *q = g->posterior;
    int64_t n = b->n, M = gp_experts(g);
    double *mean = room, *variance = mean + n * M, *weight = variance + n * M;
    if (!b->X) TRY(take_inputs(p, b, e));
    TRY(q->ops->opinions(q, n, b->X ? b->X : p->X, g->schema.D, p->work, mean, variance, weight, e));
    for (int64_t k = 0; k < M; k++) {
        double *to = out + OPINION_COLUMNS * k * ldo, *sd = to + ldo, *share = sd + ldo;
        unit_means(gp_target_unit(g), n, mean + k * n, to);
        double noise = q->ops->expert_noise ? q->ops->expert_noise(q, k) : gp_noise_by(g, k);
        for (int64_t j = 0; j < n; j++) sd[j] = fmax(variance[k * n + j], 0) + (latent ? 0 : noise);
        unit_variances(gp_target_unit(g), n, sd, sd);
        for (int64_t j = 0; j < n; j++) sd[j] = sqrt(sd[j]), share[j] = weight[k * n + j];
        for (int64_t c = 0; c < OPINION_COLUMNS; c++) TRY(predictor_check(b, n, to + c * ldo, e));
    }
    return ANYGP_OK;
}

anygp_status predictor_opinions(predictor *p, const row_batch *b, bool latent, double *out, anygp_error *e)
{
    int64_t most = b->n < p->block ? b->n : p->block, M = gp_experts(p->g);
    double *room = mem_doubles(most, OPINION_COLUMNS * M);
    anygp_status status = ANYGP_OK;
    if (!room) return fail_memory(e, "the experts' predictions", 24.0 * (double)most * (double)M);
    for (int64_t i = 0; i < b->n && !ANYGP_FAILED(status); i += p->block) {
        row_batch part = part_of(b, p->g->schema.D, i, b->n - i < p->block ? b->n - i : p->block);
        status = opinions_of(p, &part, latent, room, out + i, b->n, e);
    }
    free(room);
    return status;
}
