/* Cholesky factors and what is done with them.  Level-3 reverses (Giles 2008; Murray 2016, arXiv:1602.07527). */
#include "tape/ops.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ L L' = A + j I, j = r mean(diag A)

   Reverse, with Phi(X) the lower triangle of X, its diagonal halved, and P = Phi(L' dL):
       S = 1/2 L^-T (P + P') L^-1,        dA += S + (r/n) trace(S) I,
   the last term because the jitter follows the diagonal.  That formula takes 3 n^3 operations; it is used on diagonal
   blocks D only, and with the blocks around them,

       L = [ .  .  . ]     dC = dC D^-1;    dB -= dC R;    dD -= dC' C;    S by the formula from D, dD;
           [ R  D  . ]     dR -= dC' B + 2 S R,
           [ B  C  . ]     from the last block of columns to the first (Murray, sec. 4.2): 2/3 n^3 in all.      */

enum { BLOCK = 64 };

static double mean_diagonal(int64_t n, const double *A)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += A[i * (n + 1)] / (double)n;
    return sum;
}

/* A + jitter I in place; *relative is what was asked for, then what it took. */
static bool factor(const tape *t, int64_t m, double *A, double *diag, double *relative)
{
    double mean = mean_diagonal(m, A), added;
    *relative = t->relative;
    if (t->grow) {
        if (!la_cholesky(m, A, m, t->relative, diag, &added)) return false;
        *relative = added > 0 ? added / mean : 0;
        return true;
    }
    for (int64_t i = 0; i < m; i++) A[i * (m + 1)] += t->relative * mean;
    return la_factor(m, A, m);
}

static void cholesky_forward(tape *t, node *n)
{
    int64_t m = n->rows;
    double *diag = tape_doubles(t, m, 1);
    if (!diag) return;
    memcpy(n->value, n->inputs[0]->value, (size_t)node_size(n) * sizeof(double));
    if (!factor(t, m, n->value, diag, &n->scalar)) {
        tape_fail(t, ANYGP_ERR_NUMERIC, "a %lld x %lld covariance matrix is not positive definite", (long long)m,
                  (long long)m);
        return;
    }
    la_zero_upper(m, n->value, m);
    t->jitter = fmax(t->jitter, n->scalar);
}

/* S[b,b] = 1/2 D^-T (P + P') D^-1, P = Phi(D' dD); leading dimension of D and dD: n */
static void reverse_diagonal_block(int64_t n, int64_t b, const double *D, const double *dD, double *S)
{
    for (int64_t c = 0; c < b; c++) memcpy(S + c * b, dD + c * n, (size_t)b * sizeof *S);
    la_zero_upper(b, S, b);
    la_trmm(LA_LEFT, LA_T, b, b, 1, D, n, S, b);
    la_mirror(b, S, b); /* P + P': twice a halved diagonal is the diagonal */
    la_trsm(LA_LEFT, LA_T, b, b, 0.5, D, n, S, b);
    la_trsm(LA_RIGHT, LA_N, b, b, 1, D, n, S, b);
}

/* Columns j .. k-1.  G goes from dL to the adjoint of A's lower triangle, where an element below the diagonal stands
   for itself and its mirror image. */
static void reverse_columns(int64_t n, int64_t j, int64_t k, const double *L, double *G, double *S)
{
    int64_t b = k - j, below = n - k;
    const double *D = L + j * (n + 1), *R = L + j, *B = L + k, *C = L + k + j * n;
    double *dD = G + j * (n + 1), *dR = G + j, *dB = G + k, *dC = G + k + j * n;
    la_trsm(LA_RIGHT, LA_N, below, b, 1, D, n, dC, n);
    la_gemm(LA_N, LA_N, below, j, b, -1, dC, n, R, n, 1, dB, n);
    la_gemm(LA_T, LA_N, b, b, below, -1, dC, n, C, n, 1, dD, n);
    reverse_diagonal_block(n, b, D, dD, S);
    la_gemm(LA_T, LA_N, b, j, below, -1, dC, n, B, n, 1, dR, n);
    la_gemm(LA_N, LA_N, b, j, b, -2, S, b, R, n, 1, dR, n);
    for (int64_t c = 0; c < b; c++)
        for (int64_t i = c; i < b; i++) dD[i + c * n] = S[i + c * b] * (i == c ? 1 : 2);
}

/* dA += G, half of each element below the diagonal on either side */
static void add_symmetric(int64_t n, const double *G, double *dA)
{
    for (int64_t j = 0; j < n; j++) {
        dA[j * (n + 1)] += G[j * (n + 1)];
        for (int64_t i = j + 1; i < n; i++) {
            dA[i + j * n] += 0.5 * G[i + j * n];
            dA[j + i * n] += 0.5 * G[i + j * n];
        }
    }
}

static void cholesky_reverse(tape *t, node *n)
{
    int64_t m = n->rows;
    double *dA = tape_grad(t, n->inputs[0]), *S = tape_doubles(t, BLOCK, BLOCK), *G = tape_doubles(t, m, m);
    if (!dA || !S || !G) return;
    memcpy(G, n->adjoint, (size_t)node_size(n) * sizeof *G);
    for (int64_t k = m, j; k > 0; k = j) {
        j = (k - 1) / BLOCK * BLOCK;
        reverse_columns(m, j, k, n->value, G, S);
    }
    double through_jitter = n->scalar * mean_diagonal(m, G);
    add_symmetric(m, G, dA);
    for (int64_t i = 0; i < m; i++) dA[i * (m + 1)] += through_jitter;
}

/* ------------------------------------------- X = L^-1 B;  G = L^-T dX;  dB += G;  dL -= lower(G X') */

static void solve_lower_forward(tape *t, node *n)
{
    (void)t;
    const node *L = n->inputs[0];
    memcpy(n->value, n->inputs[1]->value, (size_t)node_size(n) * sizeof(double));
    la_trsm(LA_LEFT, LA_N, n->rows, n->cols, 1, L->value, L->rows, n->value, n->rows);
}

static void solve_lower_reverse(tape *t, node *n)
{
    node *L = n->inputs[0];
    int64_t m = n->rows, c = n->cols;
    double *dL = tape_grad(t, L), *dB = tape_grad(t, n->inputs[1]);
    double *G = tape_doubles(t, m, c), *outer = dL ? tape_doubles(t, m, m) : NULL;
    if (!G || (dL && !outer)) return;
    memcpy(G, n->adjoint, (size_t)node_size(n) * sizeof *G);
    la_trsm(LA_LEFT, LA_T, m, c, 1, L->value, m, G, m);
    if (dB) la_axpy(m * c, 1, G, dB);
    if (!dL) return;
    la_gemm(LA_N, LA_T, m, m, c, 1, G, m, n->value, m, 0, outer, m);
    add_lower(m, -1, outer, dL);
}

/* -------------------------------------------------------------- 2 sum log L_ii;  dL_ii += 2 ds / L_ii */

static void logdet_forward(tape *t, node *n)
{
    (void)t;
    const node *L = n->inputs[0];
    n->value[0] = la_logdet(L->rows, L->value, L->rows);
}

static void logdet_reverse(tape *t, node *n)
{
    node *L = n->inputs[0];
    double *dL = tape_grad(t, L), ds = n->adjoint[0];
    for (int64_t i = 0, step = L->rows + 1; dL && i < L->rows; i++) dL[i * step] += 2 * ds / L->value[i * step];
}

/* ----------------------------------------- A + diag(d);  dA += dC;  dd_i += dC_ii, summed where d is a scalar */

static void add_diagonal_forward(tape *t, node *n)
{
    (void)t;
    const node *d = n->inputs[1];
    memcpy(n->value, n->inputs[0]->value, (size_t)node_size(n) * sizeof(double));
    for (int64_t i = 0; i < n->rows; i++) n->value[i * (n->rows + 1)] += d->value[node_is_scalar(d) ? 0 : i];
}

static void add_diagonal_reverse(tape *t, node *n)
{
    node *d = n->inputs[1];
    double *dA = tape_grad(t, n->inputs[0]), *dd = tape_grad(t, d);
    if (dA) la_axpy(node_size(n), 1, n->adjoint, dA);
    for (int64_t i = 0; dd && i < n->rows; i++) dd[node_is_scalar(d) ? 0 : i] += n->adjoint[i * (n->rows + 1)];
}

/* -------------------------------------------------------------------------------------------- the table */

enum { CHOLESKY, SOLVE_LOWER, LOGDET, ADD_DIAGONAL };

static const tape_op OPS[] = {
    [CHOLESKY] = {"cholesky", cholesky_forward, cholesky_reverse},
    [SOLVE_LOWER] = {"solve_lower", solve_lower_forward, solve_lower_reverse},
    [LOGDET] = {"logdet", logdet_forward, logdet_reverse},
    [ADD_DIAGONAL] = {"add_diagonal", add_diagonal_forward, add_diagonal_reverse},
};

const tape_op_list tape_ops_factor = {OPS, sizeof OPS / sizeof *OPS};

static bool square(const node *A) { return A->rows == A->cols; }

node *tape_cholesky(tape *t, node *A)
{
    return tape_finish(t, tape_begin(t, &OPS[CHOLESKY], square(A), A->rows, A->cols, 1, &A));
}

node *tape_solve_lower(tape *t, node *L, node *B)
{
    bool fit = square(L) && L->rows == B->rows;
    return tape_finish(t, tape_begin(t, &OPS[SOLVE_LOWER], fit, B->rows, B->cols, 2, (node *[]){L, B}));
}

node *tape_logdet(tape *t, node *L) { return tape_finish(t, tape_begin(t, &OPS[LOGDET], square(L), 1, 1, 1, &L)); }

node *tape_add_diagonal(tape *t, node *A, node *d)
{
    bool fit = square(A) && (node_is_scalar(d) || node_size(d) == A->rows);
    return tape_finish(t, tape_begin(t, &OPS[ADD_DIAGONAL], fit, A->rows, A->cols, 2, (node *[]){A, d}));
}
