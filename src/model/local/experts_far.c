/* Experts that need not be asked (experts.h).  For a kernel that falls with distance, k(x, z) over the rows z of an expert is at most
   k = k(x, z'), z' the place of the expert's box that is nearest to x.  With J rows and l the least eigenvalue of Ky, at least the noise,
       v_0 - v_k = k_k'Ky^-1 k_k <= J k^2 / l,       |m_k| = |k_k'alpha| <= sqrt(J) k |alpha|
   Where that leaves an expert no weight, and for weights of 1 no mean either, it is taken to know nothing but the prior.  This holds for
   rules that have the prior as a factor; a product divides by the sum of all weights, however small, and a communication expert
   makes rows far apart depend on each other. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/experts.h"

static const double FAINT = 1e-12; /* a weight, or a mean relative to the prior's standard deviation */

/* Of expert k: its box, low and high, then l / J and sqrt(J) |alpha|. */
static double *reach_of(const experts_posterior *p, int64_t k) { return p->reach + k * 2 * (p->base.D + 1); }

static void find_one(const experts_posterior *p, int64_t k)
{
    const posterior *b = &p->base;
    int64_t D = b->D;
    double *low = reach_of(p, k), *high = low + D, *bound = high + D, most = 0;
    expert x = expert_at(p, k);
    for (int64_t d = 0; d < D; d++) low[d] = INFINITY, high[d] = -INFINITY;
    for (int64_t i = 0; i < x.n; i++) {
        most = fmax(most, x.w[i]);
        for (int64_t d = 0; d < D; d++) low[d] = fmin(low[d], x.X[i * D + d]), high[d] = fmax(high[d], x.X[i * D + d]);
    }
    bound[0] = x.n > 0 ? (b->noise / most + kernel_white(b->kernel)) / (double)x.n : 0;
    bound[1] = sqrt((double)x.n) * la_norm(x.n, x.alpha);
}

anygp_status experts_find_reach(experts_posterior *p, anygp_error *e)
{
    const posterior *b = &p->base;
    const aggregation *g = &p->rule;
    if (g->levels || !g->prior || g->communication || b->mean.p > 0 || b->D == 0 || !kernel_falls(b->kernel))
        return ANYGP_OK;
    p->reach = mem_doubles(p->count, 2 * (b->D + 1));
    if (!p->reach) return fail_memory(e, "the experts", 16.0 * (double)p->count * (double)(b->D + 1));
    for (int64_t k = 0; k < p->count; k++) find_one(p, k);
    return ANYGP_OK;
}

bool expert_is_far(const experts_posterior *p, int64_t k, const double *x, double v0)
{
    enum { DIMS = 64 };
    int64_t D = p->base.D;
    const double *low = reach_of(p, k), *high = low + D, *bound = high + D;
    double place[DIMS];
    if (D > DIMS) return false; /* with so many inputs nothing is far */
    for (int64_t d = 0; d < D; d++) place[d] = fmin(fmax(x[d], low[d]), high[d]);
    double most = kernel_reference(p->base.kernel, x, place, false);
    if (!(most * most < FAINT * v0 * bound[0])) return false;
    return p->rule.entropy || most * bound[1] < FAINT * sqrt(v0);
}
