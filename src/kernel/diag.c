/* k(x_i, x_i) and its reverse: the expression evaluated on runs of rows, on the stack of the machine. */
#include "kernel/tile.h"

enum { RUN = 16 };

static int64_t run_length(int64_t n, int64_t i) { return n - i < RUN ? n - i : RUN; }

static void leaf_diag(const leaf *l, int64_t n, const double *X, int64_t ldx, double *out)
{
    if (l->kind->diag) {
        l->kind->diag(l, n, X, ldx, out);
        return;
    }
    double v = 0;
    for (int64_t i = 0; i < l->count[0]; i++) v += l->p[i];
    for (int64_t i = 0; i < n; i++) out[i] = v;
}

static void leaf_diag_reverse(const leaf *l, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                              double *gX, int64_t ldgx)
{
    if (l->kind->diag_reverse) {
        l->kind->diag_reverse(l, n, X, ldx, g, gp, gX, ldgx);
        return;
    }
    for (int64_t i = 0; gp && i < n; i++)
        for (int64_t j = 0; j < l->count[0]; j++) gp[j] += g[i];
}

/* value[node] for a run of rows. */
static void diag_values(const kernel *k, int64_t n, const double *X, int64_t ldx, double value[][RUN])
{
    for (int64_t a = 0; a < k->n_nodes; a++) {
        const kernel_node *d = &k->nodes[a];
        if (d->op == NODE_LEAF)
            leaf_diag(&k->leaves[d->leaf], n, X, ldx, value[a]);
        else if (d->op == NODE_SUM)
            for (int64_t i = 0; i < n; i++) value[a][i] = value[d->left][i] + value[d->right][i];
        else
            for (int64_t i = 0; i < n; i++) value[a][i] = value[d->left][i] * value[d->right][i];
    }
}

void kernel_diag(const kernel *k, int64_t n, const double *X, int64_t ldx, double *diag)
{
    double value[MAX_NODES][RUN];
    for (int64_t i = 0; i < n; i += RUN) {
        int64_t run = run_length(n, i);
        diag_values(k, run, X + i * ldx, ldx, value);
        for (int64_t r = 0; r < run; r++) diag[i + r] = value[k->n_nodes - 1][r];
    }
}

static void diag_push_down(const kernel *k, int64_t n, const double *X, int64_t ldx, double value[][RUN],
                           double adjoint[][RUN], double *gp, double *gX, int64_t ldgx)
{
    for (int64_t a = k->n_nodes - 1; a >= 0; a--) {
        const kernel_node *d = &k->nodes[a];
        if (d->op == NODE_LEAF) {
            const leaf *l = &k->leaves[d->leaf];
            leaf_diag_reverse(l, n, X, ldx, adjoint[a], gp ? gp + l->first : NULL, gX, ldgx);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            bool sum = d->op == NODE_SUM;
            adjoint[d->left][i] = adjoint[a][i] * (sum ? 1 : value[d->right][i]);
            adjoint[d->right][i] = adjoint[a][i] * (sum ? 1 : value[d->left][i]);
        }
    }
}

void kernel_diag_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                         double *gX, int64_t ldgx)
{
    double value[MAX_NODES][RUN], adjoint[MAX_NODES][RUN];
    for (int64_t i = 0; i < n; i += RUN) {
        int64_t run = run_length(n, i);
        diag_values(k, run, X + i * ldx, ldx, value);
        for (int64_t r = 0; r < run; r++) adjoint[k->n_nodes - 1][r] = g[i + r];
        diag_push_down(k, run, X + i * ldx, ldx, value, adjoint, gp, gX ? gX + i * ldgx : NULL, ldgx);
    }
}
