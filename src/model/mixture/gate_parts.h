/* What gates by a softmax share: gate_softmax.c has it, and gate_gp.c uses it too.  theta[p, K] stands first among the values. */
#ifndef MODEL_MIXTURE_GATE_PARTS_H
#define MODEL_MIXTURE_GATE_PARTS_H

#include "model/mixture/gate.h"

/* The first feature of all rows: sd of the prior of the constant, where theta has unit precision. */
static inline double gate_constant(const gate *g) { return g->kind == GATE_GP ? 3 : 1; }

int64_t softmax_stat_size(const gate *g);
int64_t softmax_work(const gate *g, int64_t n);
void softmax_logs(int64_t n, int64_t K, double *out); /* from exponents out[n, K] to the logs of their softmax */
/* As in gate_ops, with phi[p, n] first in work; move with prior precision `ridge` of theta. */
void softmax_add(const gate *g, int64_t n, const double *Z, const double *w, const double *wr, const double *at,
                 double *work, double *stat);
void softmax_move(gate *g, const double *stat, double ridge, double rho);
void softmax_select(const gate *g, int64_t K, const int64_t *kept, double *value);
void softmax_split(gate *g, int64_t from, int64_t to);
void softmax_merge(gate *g, int64_t from, int64_t into, double a, double b, double total);
void softmax_centre(gate *g); /* theta to a sum of 0 over the experts */

#endif
