/* The conversion of a raw row into the units of a fitted model. */
#include <stdlib.h>

#include "gp/fit.h"

/* Inputs absurdly far away are pulled in to where their squares are still numbers. */
static const double X_MOST = 1e150;

static rows_part part_of(const gp *g, const row_places *p)
{
    const likelihood *l = g->likelihood;
    bool labelled = p->target >= 0, counts = l->ops->target == TARGET_COUNT;
    return (rows_part){.y = {.targets = labelled,
                             .target = &p->target,
                             .weights = p->weights,
                             .exposure = g->schema.exposed ? p->exposure : -1,
                             .exposed = g->schema.exposed,
                             .classes = labelled && g->schema.classes > 0,
                             .scored = p->scored,
                             .objection = counts ? fit_objection : NULL,
                             .objection_ctx = l,
                             .warp = warp_is(&g->schema.warp) ? &g->schema.warp : NULL},
                       .hold_out = p->hold_out,
                       .below = p->below,
                       .seed = p->seed};
}

anygp_status gp_row_units(const gp *g, const row_places *p, row_units *u, anygp_error *e)
{
    const dataset d = {.schema = g->schema, .D = g->schema.D, .targets = 1, .Q = 1};
    const rows_part part = part_of(g, p);
    TRY(row_units_make(&d, &part, p->columns, p->input, u, e));
    for (int64_t j = 0; p->in_order && j < u->D; j++) u->x[j].number = u->x[j].input;
    u->most = X_MOST;
    return ANYGP_OK;
}

static anygp_status take_inputs(const gp *g, const row_batch *b, const row_units *u, double *X, anygp_error *e)
{
    for (int64_t i = 0; i < b->n; i++) {
        const double *row = b->rows + i * b->ld;
        row_use use = row_units_use(u, i, row);
        if (use != ROW_USED)
            return row_units_refuse(u, &g->schema, use, b->number.number ? b->number.number[i] : b->number.first + i,
                                    row, e);
        row_units_inputs(u, row, X + i * u->D);
    }
    return ANYGP_OK;
}

anygp_status gp_take_inputs(const gp *g, const row_batch *b, double *X, anygp_error *e)
{
    row_units own;
    if (b->units) return take_inputs(g, b, b->units, X, e);
    TRY(gp_row_units(g, &(row_places){.in_order = true, .target = -1, .weights = -1, .exposure = -1}, &own, e));
    anygp_status status = take_inputs(g, b, &own, X, e);
    row_units_clear(&own);
    return status;
}

/* ----------------------------------------------------------------------------------------- whole files */

static anygp_status read_inputs(binding *in, const gp *g, int64_t *n, double **X, anygp_error *e)
{
    enum { CHUNK = 1024 };
    int64_t D = g->schema.D, room = 0, got = 0;
    do {
        const double *cells;
        TRY(binding_next(in, CHUNK, &cells, &got, e));
        if (*n + got > room) {
            room = 2 * room + CHUNK;
            double *grown = realloc(*X, (size_t)(room * D + 1) * sizeof *grown);
            if (!grown) return fail_memory(e, "the rows of a file", 8.0 * (double)room * (double)D);
            *X = grown;
        }
        row_batch b = {
            .n = got, .rows = cells, .ld = binding_columns(in), .units = binding_units(in, 0), .number = {*n, NULL}};
        TRY(gp_take_inputs(g, &b, *X + *n * D, e));
        *n += got;
    } while (got > 0);
    return ANYGP_OK;
}

anygp_status gp_read_inputs(const gp *g, const char *path, const settings *s, int64_t *n, double **X, anygp_error *e)
{
    gp plain = *g, *list[1] = {&plain};
    gp_set set = {.targets = 1, .gp = list};
    binding *in = NULL;
    plain.schema.exposed = false; /* only inputs */
    *n = 0, *X = NULL;
    TRY(binding_open(&set, path, s, &in, e));
    anygp_status status = read_inputs(in, g, n, X, e);
    binding_close(in);
    if (ANYGP_FAILED(status)) free(*X), *X = NULL;
    return status;
}
