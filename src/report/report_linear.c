/* The linear model on the rows of a scene, by five-fold cross-validation: each fifth is predicted from the other four. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/linear_model.h"
#include "report/report.h"

enum { FOLDS = 5, LEAST_ROWS = 20 };

typedef struct folds {
    const scene *c;
    linear_model *model;
    int64_t *order;  /* the rows at random; folds are runs of them */
    double *model_X; /* on a sphere, where rows of the scene are not as the model has them; or NULL */
} folds;

static void folds_clear(folds *f)
{
    linear_free(f->model);
    free(f->order);
    free(f->model_X);
}

static linear_rows fold_rows(const folds *f, int64_t k)
{
    const scene *c = f->c;
    int64_t first = k * c->n / FOLDS, stop = (k + 1) * c->n / FOLDS;
    return (linear_rows){.n = stop - first,
                         .list = f->order + first,
                         .X = f->model_X ? f->model_X : c->X,
                         .y = c->y,
                         .exposure = scene_is_count(c) ? c->exposure : NULL};
}

static anygp_status folds_make(folds *f, const scene *c, anygp_error *e)
{
    const schema *s = &c->g->schema;
    *f = (folds){.c = c};
    if (c->n < LEAST_ROWS) return ANYGP_OK;
    if (!(f->order = mem_alloc(c->n, sizeof *f->order))) return fail_memory(e, "a linear model", 8.0 * (double)c->n);
    random_permutation((random_stream){.use = RANDOM_REPORT, .sub = 2}, c->n, f->order);
    if (s->sphere.on) {
        if (!(f->model_X = mem_doubles(c->n, s->D))) return fail_memory(e, "a linear model", 8.0 * (double)c->n);
        for (int64_t i = 0; i < c->n; i++) scene_to_model(c, c->X + i * c->D, f->model_X + i * s->D);
    }
    TRY(linear_new(s, FOLDS, &f->model, e));
    for (int64_t k = 0; k < FOLDS && f->model; k++) {
        linear_rows r = fold_rows(f, k);
        linear_add(f->model, k, &r);
    }
    return ANYGP_OK;
}

static bool solve_fold(folds *f, int64_t k) { return f->model && linear_solve(f->model, k); }

anygp_status linear_number_folds(const scene *c, double *mean, double *variance, bool *done, anygp_error *e)
{
    folds f;
    anygp_status status = folds_make(&f, c, e);
    *done = !ANYGP_FAILED(status);
    for (int64_t k = 0; k < FOLDS && *done; k++) {
        if (!(*done = solve_fold(&f, k))) break;
        linear_rows r = fold_rows(&f, k);
        linear_numbers(f.model, &r, mean, variance);
    }
    folds_clear(&f);
    return status;
}

anygp_status linear_class_folds(const scene *c, double *P, bool *done, anygp_error *e)
{
    folds f;
    anygp_status status = folds_make(&f, c, e);
    *done = !ANYGP_FAILED(status);
    for (int64_t k = 0; k < FOLDS && *done; k++) {
        if (!(*done = solve_fold(&f, k))) break;
        linear_rows r = fold_rows(&f, k);
        linear_classes(f.model, &r, P, c->n);
    }
    folds_clear(&f);
    return status;
}
