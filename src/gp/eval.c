/* A labelled file, or labelled arrays, to scores, a block at a time: memory does not grow with the rows.  Over several processes each reads
   all rows of the file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/labelled_arrays.h"
#include "gp/seen.h"

enum { CHUNK = 256 };

typedef struct evaluation {
    const gp_set *m;
    const settings *s;
    const comm *comm;
    binding *binding;
    block_file *blocks;
    scorer **scorer; /* targets */
    labelled_arrays a;
    uint64_t digest; /* of the rows of a file [seen.h] */
} evaluation;

static void evaluation_close(evaluation *v)
{
    for (int64_t k = 0; v->scorer && k < v->m->targets; k++) scorer_free(v->scorer[k]);
    free(v->scorer);
    binding_close(v->binding);
    block_file_close(v->blocks);
    labelled_arrays_close(&v->a);
}

static anygp_status scorers_open(evaluation *v, const settings *s, anygp_error *e)
{
    int64_t T = v->m->targets;
    v->scorer = mem_zeroed(T, sizeof *v->scorer);
    if (!v->scorer) return fail_memory(e, "scores", 8.0 * (double)T);
    for (int64_t k = 0; k < T; k++)
        TRY(scorer_new(v->m->gp[k], v->comm, gp_block_budget(s) / (double)T, settings_number(s, SET_LATENT) == 1,
                       &v->scorer[k], e));
    return ANYGP_OK;
}

static anygp_status evaluation_open(evaluation *v, const settings *s, const char *in, const char *blocks,
                                    anygp_error *e)
{
    TRY(binding_open(v->m, in, s, &v->binding, e));
    TRY(block_file_open(v->m, s, blocks, in, &v->blocks, e));
    TRY(binding_labels(v->binding, true, "to score against; anygp predict needs none", e));
    return scorers_open(v, s, e);
}

/* Rows of the file to the scorer of target k. */
static anygp_status score_chunk(evaluation *v, int64_t k, int64_t n, int64_t first, const double *cells, anygp_error *e)
{
    const row_units *units = binding_units(v->binding, k);
    const int64_t *in = block_file_of(v->blocks, k), wide = binding_columns(v->binding);
    for (int64_t i = 0; i < n; i++)
        TRY(scorer_take(v->scorer[k], units, first + i, cells + i * wide, in ? in[i] : -1, e));
    return ANYGP_OK;
}

static anygp_status score_file(evaluation *v, anygp_error *e)
{
    int64_t got;
    do {
        const double *cells;
        int64_t first = binding_row_number(v->binding);
        TRY(settings_check_stop(v->s, e));
        TRY(binding_next(v->binding, CHUNK, &cells, &got, e));
        TRY(block_file_next(v->blocks, got, e));
        v->digest += seen_rows(v->m, v->binding, got, cells);
        for (int64_t k = 0; k < v->m->targets; k++) TRY(score_chunk(v, k, got, first, cells, e));
    } while (got > 0);
    return block_file_end(v->blocks, e);
}

static anygp_status score_arrays(evaluation *v, const double *Y, anygp_error *e)
{
    labelled_arrays *a = &v->a;
    for (int64_t k = 0; k < v->m->targets; k++) {
        TRY(labelled_arrays_target(a, k, Y + k * a->n, true, e));
        for (int64_t first = 0; first < a->n; first += a->room) {
            int64_t n = a->n - first < a->room ? a->n - first : a->room;
            TRY(settings_check_stop(v->s, e));
            labelled_arrays_take(a, first, n);
            for (int64_t i = 0; i < n; i++)
                TRY(scorer_take(v->scorer[k], &a->units, first + i, a->cells + i * a->wide, -1, e));
        }
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ class by class */

void gp_class_scores_clear(gp_class_scores *c)
{
    for (int64_t i = 0; c->name && i < c->count; i++) free(c->name[i]);
    free(c->name);
    free(c->value);
    *c = (gp_class_scores){0};
}

/* False: out of memory. */
static bool add_class_score(gp_class_scores *c, const char *what, const char *class, double value)
{
    size_t size = strlen(what) + strlen(class) + 2;
    if (isnan(value)) return true;
    char *name = malloc(size);
    if (!name) return false;
    snprintf(name, size, "%s_%s", what, class);
    c->name[c->count] = name;
    c->value[c->count++] = value;
    return true;
}

static anygp_status list_classes(const scorer *r, const schema *s, gp_class_scores *out, anygp_error *e)
{
    enum { CLASSES_LISTED = 100 };
    const class_scores *all = scorer_classes(r);
    if (!all || s->classes > CLASSES_LISTED) return ANYGP_OK;
    out->name = mem_zeroed(2 * s->classes, sizeof *out->name);
    out->value = mem_doubles(2 * s->classes, 1);
    bool ok = out->name && out->value;
    for (int64_t k = 0; ok && k < s->classes; k++) {
        class_score one = class_scores_of(all, k);
        ok = add_class_score(out, "recall", s->class_name[k], one.recall) &&
             add_class_score(out, "precision", s->class_name[k], one.precision);
    }
    return ok ? ANYGP_OK : fail_memory(e, "scores", 32.0 * (double)s->classes);
}

static anygp_status list_scores(const evaluation *v, const char *in, gp_scores *scores, gp_class_scores *by_class,
                                anygp_error *e)
{
    for (int64_t k = 0; k < v->m->targets; k++) {
        TRY(scorer_finish(v->scorer[k], &scores[k], e));
        if (by_class) TRY(list_classes(v->scorer[k], &v->m->gp[k]->schema, &by_class[k], e));
        if (scores[k].count <= 1) return fail_with(e, ANYGP_ERR_DATA, "%.200s has no row with a target to score", in);
    }
    return ANYGP_OK;
}

anygp_status gp_eval_rows(const gp_set *m, const settings *s, int64_t n, const double *rows, int64_t ld,
                          const double *Y, const double *weights, const double *exposure, gp_scores *scores,
                          gp_class_scores *by_class, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    evaluation v = {.m = m, .s = s, .comm = comm_self()};
    v.a = (labelled_arrays){.m = m, .n = n, .ld = ld, .rows = rows, .weights = weights, .exposure = exposure};
    TRY_DONE(labelled_arrays_open(&v.a, CHUNK, e));
    TRY_DONE(scorers_open(&v, s, e));
    TRY_DONE(score_arrays(&v, Y, e));
    TRY_DONE(list_scores(&v, "the array", scores, by_class, e));
done:
    evaluation_close(&v);
    return status;
}

anygp_status gp_eval_file(const gp_set *m, const settings *s, const comm *c, const char *in, const char *blocks,
                          gp_scores *scores, gp_class_scores *by_class, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    evaluation v = {.m = m, .s = s, .comm = c};
    TRY_DONE(evaluation_open(&v, s, in, blocks, e));
    TRY_DONE(score_file(&v, e));
    TRY_DONE(list_scores(&v, in, scores, by_class, e));
    seen_note(m, s, v.digest, in);
done:
    evaluation_close(&v);
    return status;
}
