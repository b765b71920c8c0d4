/* Rows and a likelihood for a chain of layers, on the fixture of sparse_support.h: what the tests of chains share. */
#ifndef TEST_CHAIN_STAGE_H
#define TEST_CHAIN_STAGE_H

#include "sparse_support.h"

#include <math.h>

#include "linalg/linalg.h"
#include "model/variational/chain.h"

/* Targets y[ROWS] that the likelihood can have, from those of the fixture; blocks, hyperparameters and problem for them. */
static inline void stage_rows(fixture *f, likelihood *like, double *y, const char *expression, const char *name,
                              int64_t classes, mean_kind mean, bool weights)
{
    anygp_error e;
    setup(f, &model_dtc, expression, mean, weights, true);
    model_dtc.close(f->state), f->state = NULL;
    assert_int_equal(likelihood_parse(name, like, &e), ANYGP_OK);
    assert_int_equal(likelihood_open(like, classes, false, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++) {
        y[i] = f->y[i];
        if (like->ops->target == TARGET_COUNT) y[i] = floor(fabs(3 * f->y[i]));
        if (like->ops->target == TARGET_CLASS) y[i] = (double)(i % like->classes);
    }
    if (like->ops->start) like->ops->start(like, ROWS, y, f->w);
    blocks_free(f->blocks);
    assert_int_equal(blocks_of_arrays(BLOCKS, f->start, D, 1, f->X, y, f->w, &f->blocks, &e), ANYGP_OK);
    assert_int_equal(hyper_set_likelihood(&f->h, like, 1, false, &e), ANYGP_OK);
    f->p.blocks = f->blocks, f->p.likelihood = like;
}

/* Some q that is no special one. */
static inline void scatter_layer(layer *s)
{
    for (int64_t i = 0; i < s->C * s->K; i++) {
        gauss *q = &s->q[i];
        int64_t n = q->M;
        double *R = calloc((size_t)(n * n), sizeof *R), *Lambda = calloc((size_t)(n * n), sizeof *Lambda),
               *theta = calloc((size_t)n, sizeof *theta);
        fill_normal(100 + (uint64_t)i, n * n, R);
        fill_normal(200 + (uint64_t)i, n, theta);
        la_syrk(LA_N, n, n, 0.7, R, n, 0, Lambda, n);
        for (int64_t j = 0; j < n; j++) Lambda[j + j * n] += 1;
        assert_true(layer_q_set(s, q, Lambda, theta));
        free(R);
        free(Lambda);
        free(theta);
    }
}

#endif
