/* The low-rank-cum-Markov approximation (Low, Yu, Chen and Jaillet 2015; 003, section V-B, [162]): inducing inputs for what all rows share,
   and a Markov chain of order B over the blocks for what they leave, R = K - Q.  Block i is given the B blocks before it:
       y_i | v, y_i-B .. y_i-1  ~  N(A_i'v + H_i (y - A'v)_given, G_ii - H_i G_given,i),    H_i = G_i,given G_given^-1,   G = R + noise
   so that the statistics are those of blocks with given rows (sparse_given.c) and the head is that of the sparse priors.  The density is
   the same with the B following blocks given: a chain is Markov in both directions.
   B = 0 is pic; with B + 1 blocks it is exact.

   The chain goes from the block whose mean is farthest from the mean of all to the nearest that is left, and so on: for one input from end
   to end.  Blocks that are given by the user come in the order of their names.

   Predictions: a row is given v and the training rows of its block and of B blocks on either side (sparse_pic.c), which is all that a chain
   of order B knows about it.

   Cost of an evaluation: as pic with blocks of (B + 1) J rows, of which there are as many as before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/neighbours/order.h"
#include "data/rows/rows.h"
#include "model/made.h"

enum { ORDER_MOST = 20 };

typedef struct named_block {
    int64_t name, block;
} named_block;

static int by_name(const void *a, const void *b)
{
    const named_block *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static anygp_status chain_of_names(int64_t P, const int64_t *ids, int64_t *order, anygp_error *e)
{
    named_block *list = mem_alloc(P, sizeof *list);
    if (!list) return fail_memory(e, "the blocks", 16.0 * (double)P);
    for (int64_t i = 0; i < P; i++) list[i] = (named_block){ids[i], i};
    qsort(list, (size_t)P, sizeof *list, by_name);
    for (int64_t i = 0; i < P; i++) order[i] = list[i].block;
    free(list);
    return ANYGP_OK;
}

static anygp_status chain_of_means(row_blocks *b, int64_t *order, anygp_error *e)
{
    double *means = mem_doubles(b->count, b->D);
    if (!means) return fail_memory(e, "the means of the blocks", 8.0 * (double)b->count * (double)b->D);
    anygp_status status = rows_block_means(b, means, e);
    if (!ANYGP_FAILED(status)) status = order_path(b->count, b->D, means, order, e);
    free(means);
    return status;
}

anygp_status lma_chain(row_blocks *b, const int64_t *ids, int64_t **out, anygp_error *e)
{
    int64_t *order = mem_alloc(b->count, sizeof *order);
    if (!order) return fail_memory(e, "the blocks", 8.0 * (double)b->count);
    anygp_status status = ids ? chain_of_names(b->count, ids, order, e) : chain_of_means(b, order, e);
    if (ANYGP_FAILED(status))
        free(order);
    else
        *out = order;
    return status;
}

/* ----------------------------------------------------------------------------------- lma(order=B) */

anygp_status made_lma(scanner *s, made_model **out, anygp_error *e)
{
    double order;
    int64_t at;
    made_model *m = NULL;
    TRY(made_number(s, "order", "an order", &at, &order));
    if (!(order >= 0 && order <= ORDER_MOST && order == floor(order)))
        return scan_fail(s, at, "the order of lma is a whole number from 0 (pic) to 20", "%g is not an order", order);
    TRY(made_new(&model_lma, sizeof m->kind.sparse, &m, e));
    m->kind.sparse.order = (int64_t)order;
    char *to = stpcpy(m->name, "lma(order=");
    to += number_print(order, to);
    strcpy(to, ")");
    *out = m;
    return ANYGP_OK;
}
