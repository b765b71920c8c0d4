/* The columns of a model: those it takes, and those of its predictions, as a file of predictions has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/memory.h"
#include "gp/gp.h"

/* -------------------------------------------------------------------------------------------- inputs */

static const input_spec *input_of(const anygp_model *m, int64_t i)
{
    return m && i >= 0 && i < m->gp[0]->schema.inputs ? &m->gp[0]->schema.input[i] : NULL;
}

const char *anygp_input_name(const anygp_model *m, int64_t i)
{
    const input_spec *c = input_of(m, i);
    return c && c->name ? c->name : "";
}

int64_t anygp_input_categories(const anygp_model *m, int64_t i)
{
    const input_spec *c = input_of(m, i);
    return c && c->text ? c->levels : 0;
}

const char *anygp_input_category(const anygp_model *m, int64_t i, int64_t k)
{
    const input_spec *c = input_of(m, i);
    return c && c->text && k >= 0 && k < c->levels ? c->level[k] : NULL;
}

void anygp_input_scale(const anygp_model *m, int64_t i, double *centre, double *spread)
{
    const input_spec *c = input_of(m, i);
    *centre = c ? c->shift : 0, *spread = c && c->position >= 0 ? c->scale : 0;
    if (!c || !sphere_takes(&m->gp[0]->schema.sphere, i)) return;
    *centre = (c->lower + c->upper) / 2, *spread = (c->upper - c->lower) / 4; /* degrees */
}

/* ------------------------------------------------------------------------------------------- outputs */

/* Target and number within it of column i; false: there is none. */
static bool place_of(const anygp_model *m, unsigned flags, int64_t i, int64_t *target, int64_t *within)
{
    for (*target = 0; m && i >= 0 && *target < m->targets; ++*target) {
        int64_t width = output_width(m->gp[*target], flags & ANYGP_LATENT);
        if (i < width) return *within = i, true;
        i -= width;
    }
    return false;
}

int64_t anygp_output_count(const anygp_model *m, unsigned flags)
{
    int64_t count = 0;
    for (int64_t t = 0; m && t < m->targets; t++) count += output_width(m->gp[t], flags & ANYGP_LATENT);
    return count;
}

void anygp_output_name(const anygp_model *m, unsigned flags, int64_t i, char *buffer, size_t size)
{
    int64_t t, within;
    if (size == 0) return;
    buffer[0] = 0;
    if (!place_of(m, flags, i, &t, &within)) return;
    char *name = output_name(m, t, flags & ANYGP_LATENT, within);
    if (name) snprintf(buffer, size, "%s", name);
    free(name);
}

const char *anygp_output_text(const anygp_model *m, unsigned flags, int64_t i, double value)
{
    int64_t t, within;
    if (!place_of(m, flags, i, &t, &within) || within > 0 || (flags & ANYGP_LATENT)) return NULL;
    const schema *s = &m->gp[t]->schema;
    return s->class_text && value >= 0 && value < (double)s->classes ? s->class_name[(int64_t)value] : NULL;
}

/* Columns of one target: out[n, width] with leading dimension n; a block of the predictor at a time. */
static anygp_status fill(predictor *p, const gp *g, const row_batch *b, bool latent, double *out, anygp_error *e)
{
    int64_t width = output_width(g, latent), most = predictor_block(p);
    double *block = mem_doubles(most, width);
    anygp_status status = block ? ANYGP_OK : fail_memory(e, "the predictions", 8.0 * (double)(most * width));
    for (int64_t i = 0; i < b->n && !ANYGP_FAILED(status); i += most) {
        int64_t n = b->n - i < most ? b->n - i : most;
        row_batch part = {.n = n,
                          .rows = b->rows + i * b->ld,
                          .ld = b->ld,
                          .number = {i, NULL},
                          .exposure = b->exposure ? b->exposure + i : NULL};
        status = output_block(p, g, &part, latent, block, e);
        for (int64_t k = 0; k < width && !ANYGP_FAILED(status); k++)
            memcpy(out + i + k * b->n, block + k * n, (size_t)n * sizeof *out);
    }
    free(block);
    return status;
}

anygp_status anygp_predict_output(const anygp_model *m, int64_t n, const double *X, int64_t ldx, const double *exposure,
                                  unsigned flags, double *out, anygp_error *e)
{
    TRY(api_check_rows(m, 0, n, X, ldx, flags, e));
    NEED(out);
    row_batch b = {.n = n, .rows = X, .ld = ldx};
    anygp_status status = ANYGP_OK;
    for (int64_t t = 0; t < m->targets && !ANYGP_FAILED(status); t++) {
        const gp *g = m->gp[t];
        api_session s;
        b.exposure = g->likelihood->ops->exposure ? exposure : NULL;
        TRY(api_check_exposure(m, t, n, b.exposure, e));
        status = api_session_begin(m, t, &b, true, &s, e);
        if (!ANYGP_FAILED(status)) status = fill(s.p, g, &b, flags & ANYGP_LATENT, out, e);
        status = api_session_end(&s, status);
        out += n * output_width(g, flags & ANYGP_LATENT);
    }
    return status;
}
