/* points: u_m = f(z_m).  Any kernel; K_uu and K_uf are the kernel's own matrices. */
#include "inducing/inducing.h"
#include "inducing/whiten.h"

/* K_uu without the white terms: a place is not a row. */
static bool prepare(inducing_set *v, bool grow, double *jitter)
{
    double white = kernel_white(v->kernel);
    if (!kernel_gram_sym(v->kernel, v->M, v->set.Z, v->D, v->L, v->M)) return false;
    for (int64_t i = 0; i < v->M; i++) v->L[i + i * v->M] -= white;
    return whiten_factor(v, grow, jitter);
}

static bool cross(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *K, int64_t ldk)
{
    return kernel_gram(v->kernel, v->M, v->set.Z, v->D, n, X, ldx, K, ldk);
}

static bool cross_reverse(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *G, int64_t ldg,
                          inducing_grad g)
{
    return kernel_gram_reverse(v->kernel, v->M, v->set.Z, v->D, n, X, ldx, G, ldg, g.kernel, g.Z, v->D, g.X, v->D);
}

static bool finish(const inducing_set *v, double *E, double white, inducing_grad g)
{
    double trace = whiten_bar(v, E);
    return kernel_gram_sym_reverse(v->kernel, v->M, v->set.Z, v->D, E, v->M, g.kernel, g.Z, v->D) &&
           white_reverse(v, white - trace, g.kernel);
}

static bool pair(const inducing_set *v, function_set o, double *K, int64_t ldk)
{
    return kernel_gram(v->kernel, v->M, v->set.Z, v->D, o.M, o.Z, v->D, K, ldk);
}

static bool pair_reverse(const inducing_set *v, function_set o, double *G, int64_t ldg, inducing_grad g,
                         inducing_grad go)
{
    return kernel_gram_reverse(v->kernel, v->M, v->set.Z, v->D, o.M, o.Z, v->D, G, ldg, g.kernel, g.Z, v->D, go.Z,
                               v->D);
}

const inducing_ops inducing_points = {.name = "points",
                                      .summary = "values of the function at places of their own",
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
