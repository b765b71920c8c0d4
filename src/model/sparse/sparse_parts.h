/* What the forward and reverse of the sparse priors share: places in their workspace.  Private to sparse*.c and tight.c. */
#ifndef MODEL_SPARSE_SPARSE_PARTS_H
#define MODEL_SPARSE_SPARSE_PARTS_H

#include "model/sparse/sparse.h"

/* Diagonal G, n rows: A diag(w/g)^1/2 (Mt x n), g, y (w/g)^1/2 (n x T), d = k - |a|^2 where the diagonal is kept. */
typedef struct rows_parts {
    double *A, *g, *y, *d;
} rows_parts;

/* Whole G: A L_G^-T (Mt x n), L_G (n x n), L_G^-1 y. */
typedef struct whole_parts {
    double *A, *G, *y;
} whole_parts;

/* For the reverse of n rows with a whole G: A G^-1 and then A (Mt x n), V A G^-1 and then Abar (Mt x n), -2 A Gbar (M x n), both
   triangles of Gbar, r. */
typedef struct whole_adjoints {
    double *R, *T, *F, *Gbar, *r;
} whole_adjoints;

/* Parts of the flat vector of adjoints, described in sparse_reverse.c; noise: T of them.  C: NULL where there is none. */
typedef struct adjoint_parts {
    double *gp, *noise, *white, *variables, *C;
} adjoint_parts;

adjoint_parts adjoint_place(const sparse *s, double *at);
bool sparse_has_C(const sparse *s);
/* From Abar (Mt x n, its first M rows), which is used up, and dbar (NULL: nothing is kept of the diagonal) to the kernel and the
   inducing variables. */
anygp_status reverse_features(const sparse *s, const row_block *b, double *Abar, const double *dbar,
                              const adjoint_parts *a, anygp_error *e);

rows_parts rows_place(const sparse *s, int64_t n, double *at);
whole_parts whole_place(const sparse *s, int64_t n, double *at);
anygp_status rows_forward(const sparse *s, const row_block *b, rows_parts *r, anygp_error *e);
/* For several targets [sparse_many.c]: Abar[Mt,n] and dbar[n].  R: n x T of workspace. */
void rows_adjoints_many(const sparse *s, const row_block *b, const rows_parts *r, double *R, double *Abar,
                        double *dbar);
/* Of row j, from a'V a and the residual y - a'm, both times w/g: the noise's adjoint, and dbar[j] where the diagonal is kept. */
double rows_gbar(const sparse *s, const row_block *b, const rows_parts *r, int64_t j, double aVa, double rest,
                 double *dbar);
/* rho_t = s_0 / s_t; 1 where there is one target. */
double sparse_share_of(const sparse *s, int64_t t);

/* What is float stands in the place of its counterpart in double. */
static inline float *in_float(double *place) { return (float *)(void *)place; }

/* A of a block in float. */
anygp_status sparse_features_f32(const sparse *s, const row_block *b, float *A, anygp_error *e);
/* In float [sparse_f32.c], A in the place of r->A: A itself and d; A scaled, of row j; S and b of a piece, with work[Mt,Mt] in
   float; and the reverse, T[Mt,n] and U[M,n] being room as in rows_reverse. */
anygp_status rows_features_f32(const sparse *s, const row_block *b, const rows_parts *r, anygp_error *e);
void rows_scale_f32(const sparse *s, const rows_parts *r, int64_t j, double root);
void rows_sums_f32(const sparse *s, const row_block *b, const rows_parts *r, double *work, double *stat);
anygp_status rows_reverse_f32(const sparse *s, const row_block *b, const rows_parts *r, double *T, double *dbar,
                              double *U, double *work, const adjoint_parts *a, anygp_error *e);

anygp_status whole_forward(const sparse *s, const row_block *b, whole_parts *w, anygp_error *e);
/* Its steps: K + noise / w in G, and G's factor in its place once Q has been taken off. */
anygp_status whole_covariance(const sparse *s, const row_block *b, double *G, anygp_error *e);
anygp_status whole_factor(const row_block *b, double *G, anygp_error *e);
/* G^-1 in Gbar, both triangles, from its factor G; NUMERIC: it has none. */
anygp_status whole_inverse(const row_block *b, const double *G, double *Gbar, anygp_error *e);
/* The adjoints of the noise and of what the kernel's reverse has in excess. */
void whole_noise(const sparse *s, const row_block *b, const double *Gbar, const adjoint_parts *a);
/* The same in float [sparse_whole_f32.c]: A in the place of w->A, and R, T and F in theirs; room[whole_room_f32] is workspace. */
int64_t whole_room_f32(const sparse *s, int64_t n);
anygp_status whole_forward_f32(const sparse *s, const row_block *b, whole_parts *w, double *room, anygp_error *e);
void whole_sums_f32(const sparse *s, const row_block *b, const whole_parts *w, double *room, double *stat);
anygp_status whole_reverse_f32(const sparse *s, const row_block *b, const whole_parts *w, const whole_adjoints *to,
                               double *room, const adjoint_parts *a, anygp_error *e);

int64_t rows_keep(const void *shared, int64_t n);
int64_t whole_keep(const void *shared, int64_t n);
int64_t rows_work(const void *shared, int64_t n);
int64_t whole_work(const void *shared, int64_t n);
int64_t sparse_stat_size(const void *shared);
int64_t sparse_adjoint_size(const void *shared);
anygp_status rows_reverse(const void *shared, const row_block *b, double *work, const double *keep, double *adjoint,
                          anygp_error *e);
anygp_status whole_reverse(const void *shared, const row_block *b, double *work, const double *keep, double *adjoint,
                           anygp_error *e);

#endif
