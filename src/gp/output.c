/* The columns of a predictions file that one target has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "data/text/number.h"
#include "gp/gp.h"

typedef enum output_kind { MOMENTS, CLASSES, LATENTS } output_kind;
enum { MOMENT_COLUMNS = 4 };

static output_kind kind_of(const gp *g, bool latent)
{
    return latent && gp_latents(g) > 1 ? LATENTS : !latent && gp_is_class(g) ? CLASSES : MOMENTS;
}

int64_t output_width(const gp *g, bool latent)
{
    output_kind kind = kind_of(g, latent);
    return kind == CLASSES ? 1 + g->schema.classes : kind == LATENTS ? 2 * gp_latents(g) : MOMENT_COLUMNS;
}

int output_suffix(const gp *g, bool latent, int64_t i, char *buffer, size_t size)
{
    static const char *const moments[] = {"mean", "variance", "lo95", "hi95"};
    output_kind kind = kind_of(g, latent);
    if (kind == MOMENTS) return snprintf(buffer, size, "%s", moments[i]);
    if (kind == LATENTS) return snprintf(buffer, size, "%s_%lld", moments[i % 2], (long long)i / 2 + 1);
    return i == 0 ? snprintf(buffer, size, "label") : snprintf(buffer, size, "p_%s", g->schema.class_name[i - 1]);
}

char *output_named(const gp_set *m, int64_t target, const char *suffix)
{
    const schema *s = &m->gp[target]->schema;
    size_t size = (s->target ? strlen(s->target) : 24) + strlen(suffix) + 2;
    char *name = malloc(size);
    if (!name) return NULL;
    if (m->targets == 1)
        snprintf(name, size, "%s", suffix);
    else if (s->target)
        snprintf(name, size, "%s_%s", s->target, suffix);
    else
        snprintf(name, size, "y%lld_%s", (long long)s->target_number, suffix);
    return name;
}

char *output_name(const gp_set *m, int64_t target, bool latent, int64_t i)
{
    const gp *g = m->gp[target];
    size_t size = (size_t)output_suffix(g, latent, i, NULL, 0) + 1;
    char *suffix = malloc(size), *name = NULL;
    if (suffix) output_suffix(g, latent, i, suffix, size), name = output_named(m, target, suffix);
    free(suffix);
    return name;
}

/* ---------------------------------------------------------------------------------------- cells */

/* Normal, by one component: gaussian targets, and f always. */
static anygp_status normal_columns(predictor *p, const row_batch *b, bool latent, double *out, anygp_error *e)
{
    int64_t n = b->n;
    TRY(predictor_run(p, b, latent, out, out + n, e));
    for (int64_t i = 0; i < n; i++) {
        double half = Z95 * sqrt(out[i + n]);
        out[i + 2 * n] = out[i] - half, out[i + 3 * n] = out[i] + half;
    }
    TRY(predictor_check(b, n, out + 2 * n, e));
    return predictor_check(b, n, out + 3 * n, e);
}

static anygp_status observed_columns(predictor *p, const gp *g, const row_batch *b, bool latent, double *out,
                                     anygp_error *e)
{
    latents f;
    observer o = gp_observer(g, latent);
    int64_t n = b->n;
    TRY(predictor_latents(p, b, !latent, &f, e));
    observe_moments(&o, &f, b->exposure, out, out + n);
    observe_quantile(&o, &f, b->exposure, 0.025, out + 2 * n);
    observe_quantile(&o, &f, b->exposure, 0.975, out + 3 * n);
    for (int64_t c = 0; c < MOMENT_COLUMNS; c++) TRY(predictor_check(b, n, out + c * n, e));
    return ANYGP_OK;
}

static anygp_status latent_columns(predictor *p, const gp *g, const row_batch *b, double *out, anygp_error *e)
{
    latents f;
    int64_t n = b->n;
    TRY(predictor_latents(p, b, false, &f, e));
    for (int64_t c = 0; c < gp_latents(g); c++) {
        double *mean = out + 2 * c * n, *variance = mean + n;
        observer o = gp_latent_observer(g, c);
        latents one = latents_one(&f, c);
        observe_moments(&o, &one, NULL, mean, variance);
        TRY(predictor_check(b, n, mean, e));
        TRY(predictor_check(b, n, variance, e));
    }
    return ANYGP_OK;
}

double label_cell(const schema *s, int64_t k)
{
    const char *name = s->class_name[k];
    double x;
    if (!s->class_text && cell_classify(name, name + strlen(name), &x) == CELL_NUMBER) return x;
    return (double)k;
}

/* The most probable class, the first on ties. */
static anygp_status class_columns(predictor *p, const gp *g, const row_batch *b, double *out, anygp_error *e)
{
    int64_t n = b->n;
    double *P = out + n;
    TRY(predictor_classes(p, b, P, n, e));
    for (int64_t i = 0; i < n; i++) {
        int64_t top = 0;
        for (int64_t k = 1; k < g->schema.classes; k++)
            if (P[i + k * n] > P[i + top * n]) top = k;
        out[i] = label_cell(&g->schema, top);
    }
    return ANYGP_OK;
}

anygp_status output_block(predictor *p, const gp *g, const row_batch *b, bool latent, double *out, anygp_error *e)
{
    output_kind kind = kind_of(g, latent);
    if (kind == CLASSES) return class_columns(p, g, b, out, e);
    if (kind == LATENTS) return latent_columns(p, g, b, out, e);
    bool normal = gp_components(g) == 1 && (latent || gp_is_normal(g));
    return normal ? normal_columns(p, b, latent, out, e) : observed_columns(p, g, b, latent, out, e);
}
