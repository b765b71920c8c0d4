/* left: u_m = g(z_m), where the kernel is a sum k = k_g + k_l and f = g + l: values of the left term alone.  K_uu and K_uf are matrices of
   k_g; what they leave of f has l in it.  Of a kernel that is no sum they are points. */
#include <stdlib.h>

#include "base/memory.h"
#include "inducing/inducing.h"
#include "inducing/whiten.h"
#include "linalg/linalg.h"

static bool prepare(inducing_set *v, bool grow, double *jitter)
{
    return kernel_left_gram(v->kernel, v->M, v->set.Z, v->D, v->M, v->set.Z, v->D, v->L, v->M) &&
           whiten_factor(v, grow, jitter);
}

static bool cross(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *K, int64_t ldk)
{
    return kernel_left_gram(v->kernel, v->M, v->set.Z, v->D, n, X, ldx, K, ldk);
}

static bool cross_reverse(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *G, int64_t ldg,
                          inducing_grad g)
{
    return kernel_left_gram_reverse(v->kernel, v->M, v->set.Z, v->D, n, X, ldx, G, ldg, g.kernel, g.Z, v->D, g.X, v->D);
}

/* A place is a row and a column of K_uu, whose adjoint is symmetric: its gradient is twice that of the row. */
static bool finish(const inducing_set *v, double *E, double white, inducing_grad g)
{
    int64_t M = v->M, size = g.Z ? M * v->D : 0;
    double *rows = g.Z ? mem_zeroed(size, sizeof *rows) : NULL;
    if (g.Z && !rows) return false;
    (void)whiten_bar(v, E);
    la_mirror(M, E, M);
    bool ok = kernel_left_gram_reverse(v->kernel, M, v->set.Z, v->D, M, v->set.Z, v->D, E, M, g.kernel, rows, v->D,
                                       NULL, v->D);
    for (int64_t i = 0; i < size; i++) g.Z[i] += 2 * rows[i];
    free(rows);
    return ok && white_reverse(v, white, g.kernel);
}

static bool pair(const inducing_set *v, function_set o, double *K, int64_t ldk)
{
    return kernel_left_gram(v->kernel, v->M, v->set.Z, v->D, o.M, o.Z, v->D, K, ldk);
}

static bool pair_reverse(const inducing_set *v, function_set o, double *G, int64_t ldg, inducing_grad g,
                         inducing_grad go)
{
    return kernel_left_gram_reverse(v->kernel, v->M, v->set.Z, v->D, o.M, o.Z, v->D, G, ldg, g.kernel, g.Z, v->D, go.Z,
                                    v->D);
}

const inducing_ops inducing_left = {.name = "left",
                                    .summary = "values of the left term of the kernel at places of their own",
                                    .noun = "inducing input",
                                    .nouns = "inducing inputs",
                                    .each = 1,
                                    .prepare = prepare,
                                    .features = whiten_features,
                                    .reverse = whiten_reverse,
                                    .finish = finish,
                                    .cross = cross,
                                    .cross_reverse = cross_reverse,
                                    .pair = pair,
                                    .pair_reverse = pair_reverse};
