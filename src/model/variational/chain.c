/* What the blocks of a variational model share, and its head; notation and equations in chain.h, the pass over rows in
   chain_rows.c. */
#include "model/variational/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---------------------------------------------------------------------------------------- state */

/* The likelihoods of all targets, as they are before h is known. */
static bool place_likelihoods(chain *s, const problem *p)
{
    if (!(s->like = mem_zeroed(s->T, sizeof *s->like))) return false;
    for (int64_t t = 0; t < s->T; t++) s->like[t] = *p->likelihood;
    s->each = p->likelihood->latents;
    s->Q = s->T * p->likelihood->columns;
    s->gaussian = likelihood_is_gaussian(p->likelihood);
    return true;
}

/* Functions of x as wide as x at points, without a mean of their own: the draw of the layer before is added to them. */
static anygp_status open_inner(chain *s, const hyper *h, int64_t i, anygp_error *e)
{
    static const basis none = {0};
    chain_prior q = chain_prior_of(h, i);
    int64_t M = q.set.M, D = h->D;
    if (!(s->R[i] = mem_zeroed(D * M * M, sizeof(double))))
        return fail_memory(e, "an inner layer", 8.0 * (double)(D * M * M));
    layer_shape shape = {.kind = &inducing_points,
                         .mean = &none,
                         .D = D,
                         .C = D,
                         .M = M,
                         .params = kernel_count(q.kernel),
                         .learned = q.learned,
                         .noisy = true,
                         .R = s->R[i]};
    return layer_init(&s->at[i], &shape, e);
}

static anygp_status open_last(chain *s, const problem *p, const hyper *h, bool orthogonal, anygp_error *e)
{
    int64_t O = orthogonal && p->set_count > 1 ? h->M - p->sets[0] : 0;
    layer_shape shape = {.kind = h->kind,
                         .mean = p->mean,
                         .D = h->D,
                         .C = s->T * s->each,
                         .M = h->M - O,
                         .O = O,
                         .params = hyper_kernel_params(h),
                         .learned = h->learn_Z,
                         .sets = p->sets,
                         .set_count = p->set_count,
                         .noisy = !s->gaussian};
    return layer_init(s->f, &shape, e);
}

anygp_status chain_init(chain *s, const problem *p, const hyper *h, bool orthogonal, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    *s = (chain){.h = h, .L = chain_layers(h), .T = p->targets > 1 ? p->targets : 1, .rows = p->blocks->largest};
    s->at = mem_zeroed(s->L, sizeof *s->at);
    s->R = mem_zeroed(s->L, sizeof *s->R);
    s->f = s->at ? s->at + s->L - 1 : NULL;
    s->s = chain_spreads(h);
    if (!s->at || !s->R || !place_likelihoods(s, p)) status = fail_memory(e, "the model", sizeof(layer));
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < s->L - 1; i++) status = open_inner(s, h, i, e);
    if (!ANYGP_FAILED(status)) status = open_last(s, p, h, orthogonal, e);
    if (ANYGP_FAILED(status)) chain_clear(s);
    return status;
}

anygp_status chain_extend(chain *s, const problem *p, const hyper *h, anygp_error *e)
{
    layer former = *s->f;
    anygp_status status = open_last(s, p, h, false, e);
    if (!ANYGP_FAILED(status) && !layer_take_q(s->f, &former)) status = fail_memory(e, "the inducing variables", 0);
    layer_clear(&former);
    return status;
}

void chain_clear(chain *s)
{
    for (int64_t i = 0; s->at && i < s->L; i++) layer_clear(&s->at[i]);
    for (int64_t i = 0; s->R && i < s->L - 1; i++) free(s->R[i]);
    free(s->at);
    free(s->R);
    free(s->like);
    *s = (chain){0};
}

void chain_learn(chain *s, bool learn)
{
    for (int64_t i = 0; i < s->L; i++) s->at[i].learn = learn;
}

/* -------------------------------------------------------------------------------------- prepare */

void chain_take_values(chain *s, const hyper *h)
{
    s->h = h;
    for (int64_t t = 0; t < s->T; t++) {
        likelihood *l = &s->like[t];
        for (int64_t i = 0; i < l->params; i++) l->value[i] = h->like[t * l->params + i];
        if (s->gaussian) l->value[0] += kernel_white(h->kernel);
    }
}

bool chain_prepare(chain *s, const hyper *h, bool grow, double *jitter)
{
    chain_take_values(s, h);
    for (int64_t i = 0; i < s->L; i++) {
        chain_prior q = chain_prior_of(h, i);
        if (!layer_prepare(&s->at[i], q.kernel, q.set, grow, jitter)) return false;
        if (i < s->L - 1) chain_take_inner(s, h, i);
    }
    return true;
}

void chain_take_factor(chain *s, const hyper *h, const double *L)
{
    chain_take_values(s, h);
    layer_take_factor(s->f, h->kernel, hyper_set_of(h), L);
}

/* ----------------------------------------------------------------------------------------- head */

double chain_kl(const chain *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->L; i++) sum += layer_kl(&s->at[i]);
    return sum;
}

static void copy(int64_t n, const double *from, double *to)
{
    if (n) memcpy(to, from, (size_t)n * sizeof *to);
}

bool chain_gradient(chain *s, chain_stat *stat, double *gp)
{
    for (int64_t i = 0; i < s->L; i++) {
        layer *l = &s->at[i];
        chain_prior q = chain_prior_of(s->h, i);
        double white = *stat->at[i].white;
        for (int64_t t = 0; l == s->f && s->gaussian && t < s->T; t++) white += stat->like[t];
        if (!layer_finish(l, &stat->at[i], white)) return false;
        copy(l->params, stat->at[i].kernel, gp + q.at_kernel);
        copy(l->variables, stat->at[i].variables, gp + q.at_variables);
        if (l != s->f && !chain_inner_gradient(s, i, &stat->at[i], gp)) return false;
    }
    copy(s->h->likes, stat->like, gp + hyper_kernel_params(s->h));
    return true;
}
