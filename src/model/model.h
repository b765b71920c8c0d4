/* What a model is: an objective in the hyperparameters, and a posterior that predicts.
   One const table per model, one list of them in table.c.  A model knows nothing of files, units, optimisers, clocks
   or printing: rows come merged and standardised, predictions leave in model units. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "data/dataset.h"
#include "model/basis.h"
#include "model/hyper.h"

/* The training problem; everything outlives the model's state. */
typedef struct problem {
    const merged *rows;
    const basis *mean;
    uint64_t seed;
    int64_t subset;     /* sod: rows wanted */
    const char *select; /* sod: random, kmeans or greedy */
} problem;

/* Closed-form leave-one-out predictions of y, one for each original row (model units). */
typedef struct leave_one_out {
    int64_t n;
    double *y, *mean, *variance, *weight;
} leave_one_out;

/* An array that goes into the model file under this name; column-major. */
typedef struct named_array {
    const char *name;
    int64_t rows, cols;
    double *values;
    bool lower; /* square, zeros above the diagonal: stored packed */
} named_array;

const named_array *named_array_find(const named_array *list, int64_t count, const char *name);
enum { MODEL_ARRAYS_MAX = 16 };

typedef struct posterior posterior;

typedef struct posterior_ops {
    /* Marginals of f at X[n,D]: mean[n] and, unless NULL, variance[n].  work: work_doubles(p, n). */
    int64_t (*work_doubles)(const posterior *p, int64_t n);
    anygp_status (*marginal)(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e);
    /* The joint distribution of f: mean[n] and the lower triangle of covariance[n,n]. */
    anygp_status (*joint)(const posterior *p, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e);
    int64_t (*arrays)(posterior *p, named_array *list);
    void (*free)(posterior *p);
} posterior_ops;

/* What every posterior starts with. */
struct posterior {
    const posterior_ops *ops;
    kernel *kernel; /* its own */
    double noise;
    basis mean; /* its own */
    int64_t D;
    int64_t n; /* rows it rests on: the distinct training rows, or a subset of them */
};

typedef struct model_ops {
    const char *name;
    const char *summary;
    const char *objective; /* its name: "log evidence" */

    /* Bytes the model will hold at most while training on these rows, and how many of them a step works on. */
    double (*bytes)(const problem *p);
    int64_t (*size)(const problem *p);
    /* Workspace, sized once.  h: for choices that need a kernel; not kept. */
    anygp_status (*open)(const problem *p, const hyper *h, void **state, anygp_error *e);
    /* Objective at h and, if gp is not NULL, its gradient in the h->count natural parameters.  Jitter is `*jitter`
       times the mean diagonal; with `grow` it may be raised on failure.  False: not finite here. */
    bool (*evaluate)(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
    /* Leave-one-out at the last evaluate with gradient; the arrays belong to the state.  NULL: the model has none. */
    const leave_one_out *(*loo)(void *state, const hyper *h);
    /* The posterior at h; takes what it can from the state, which can only be closed afterwards. */
    anygp_status (*posterior)(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
    double (*rows)(const void *state); /* original rows the objective is a total of */
    void (*close)(void *state);

    /* From the arrays of a file back to a posterior: takes kernel, mean and the arrays' memory over (and sets them to
       NULL) on success only. */
    anygp_status (*load)(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                         posterior **out, anygp_error *e);
} model_ops;

extern const model_ops model_exact, model_sod;

const model_ops *model_find(const char *name); /* NULL: no such model */
int64_t model_count(void);
const model_ops *model_at(int64_t i);

#endif
