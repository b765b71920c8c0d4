/* New rows for a posterior that keeps its rows: what vecchia_update.c and near_update.c share, all of it but the end. */
#ifndef MODEL_LOCAL_VECCHIA_UPDATE_H
#define MODEL_LOCAL_VECCHIA_UPDATE_H

#include "model/local/vecchia_posterior.h"

typedef struct vecchia_update {
    const model_ops *self;
    const vecchia_posterior *from;
    int64_t n, room;   /* new rows */
    double *X, *y, *w; /* the old rows, and behind them the new ones */
} vecchia_update;

anygp_status vecchia_update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                 anygp_error *e);
anygp_status vecchia_update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                                const int64_t *ids, anygp_error *e);
double vecchia_update_held(const void *state);
void vecchia_update_close(void *state);
/* The rows, all of them, with equal ones merged; data: room, which has to outlive out. */
anygp_status vecchia_update_merge(const vecchia_update *u, dataset *data, merged *out, anygp_error *e);
/* What is the same in the new posterior. */
vecchia_rows vecchia_update_rows(const vecchia_update *u, const merged *m);

#endif
