/* Predictions of the sparse priors (000, appendix D.4), in the whitened space: q(v) = N(m, (B B')^-1), a = features of x,
       mean = a'm,   variance = [k(x,x) - |a|^2] + |B^-1 a|^2          (86)
   What the models keep of the bracket:
       sor          nothing                                              (88)
       fic          as it is, but different rows are independent given v
       dtc, fitc, pitc, vfe, pep   k(x,x') - a'a', also between rows
       pic, lma     what is left of it given the rows of the block      (84; sparse_pic.c) */
#ifndef MODEL_SPARSE_SPARSE_POSTERIOR_H
#define MODEL_SPARSE_SPARSE_POSTERIOR_H

#include "model/sparse/sparse.h"

typedef enum sparse_test { TEST_NOTHING, TEST_DIAGONAL, TEST_EXACT, TEST_BLOCK } sparse_test;

/* A member of the family: model_ops.family points to one. */
typedef struct sparse_kind {
    sparse_kept kept;
    double power; /* of a kept diagonal */
    sparse_test test;
    sparse_form form;
    int64_t order;      /* of a Markov chain of blocks; 0: none [lma.c] */
    bool tighter;       /* tight.h */
    sparse_terms terms; /* of a combination; then `kept` does not count */
} sparse_kind;

typedef struct pic_rows pic_rows; /* sparse_pic.c */

typedef struct sparse_posterior {
    posterior base; /* base.n: places */
    sparse_test test;
    int64_t Mt;
    inducing_set u;
    double *m, *B;  /* Mt, Mt x Mt */
    double *J;      /* Mt x Mt: the factor of I + S, where V has another form, whose factor is B; else NULL */
    double *set;    /* M: in that case, the set of each inducing input */
    double sums[3]; /* l, q and the original rows behind m and B: with them new rows can be added */
    pic_rows *rows; /* pic only */
} sparse_posterior;

enum { SUM_L, SUM_Q, SUM_ROWS };

/* Copies what it needs of s, and m and B. */
anygp_status sparse_posterior_new(const sparse_kind *kind, const sparse *s, const double *m, const double *B,
                                  const double sums[3], posterior **out, anygp_error *e);
anygp_status sparse_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                         int64_t count, posterior **out, anygp_error *e);
anygp_status sparse_load_within(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                                named_array *list, int64_t count, posterior **out, anygp_error *e);
extern const update_ops sparse_updates;                                                 /* sparse_update.c */
model_cost sparse_cost(const model_ops *self, const cost_facts *f, const cost_size *s); /* sparse_cost.c */

/* The chain of blocks, from their means or, where they have names that the user gave, by these: the block at each place [lma.c]. */
anygp_status lma_chain(row_blocks *b, const int64_t *ids, int64_t **chain, anygp_error *e);

/* ------------------------------------------------------------------------------ pic [sparse_pic.c] */

/* The training rows of every block, and the router to it.  ids: names of the blocks, or NULL for 0, 1, ... */
anygp_status pic_rows_new(row_blocks *b, const router *route, const int64_t *ids, pic_rows **out, anygp_error *e);
void pic_rows_free(pic_rows *r); /* accepts NULL */
void pic_rows_limit(pic_rows *r,
                    double memory); /* bytes that may be used, where the machine has more: before any prediction */
void pic_arrays(pic_rows *r, array_list *list);
int64_t pic_blocks(const pic_rows *r, const double **names);
/* Takes the arrays' memory over on success. */
anygp_status pic_load(int64_t D, int64_t order, named_array *list, int64_t count, pic_rows **out, anygp_error *e);

/* Blocks along a chain, whose rows pic_rows_new() got in its order: a row is then predicted from those of its block and `order` on either
   side.  chain: the block at each place. */
anygp_status pic_rows_chain(pic_rows *r, int64_t order, const int64_t *chain, anygp_error *e);

/* All rows X[n,D], and for one of block b: the first of them that it is predicted from, how many, and their factor L_G (n x n) with L_G^-1 y
   after it, which the caller frees; false: no memory, or no factor. */
const router *pic_rows_all(const pic_rows *r, int64_t *n, const double **X);
bool pic_rows_given(const sparse_posterior *p, int64_t b, int64_t *first, int64_t *n, double **factor);

/* What an update needs in addition: the rows as blocks, in the order of the chain (r outlives those), and the router to them. */
anygp_status pic_rows_blocks(const pic_rows *r, row_blocks **out, anygp_error *e);
const router *pic_rows_router(const pic_rows *r);
int64_t pic_rows_place(const pic_rows *r, int64_t block); /* in the chain; a block that is not there comes last */

/* given[n]: the block of each row; NULL: the one it is routed to.  A[Mt,n] of rows X goes in; what multiplies v given the block's rows comes out.  mean[n] gets the blocks' share of the
   mean, variance (n, or NULL) what is left of k - |a|^2, cov (n x n lower triangle, or NULL) the same between rows of one
   block.  Work: that of sparse_work. */
anygp_status pic_correct(const sparse_posterior *p, int64_t n, const double *X, int64_t ldx, const int64_t *given,
                         double *A, double *mean, double *variance, double *cov, int64_t ldc, anygp_error *e);

#endif
