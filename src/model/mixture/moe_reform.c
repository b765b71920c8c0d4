/* Splits and merges of experts (moe.h).  At some steps a pass over some rows, always the same, tells
       N_i = sum w r_i,   S_ij = sum w r_i E_j   (how well expert j explains the rows of expert i)
   An expert of less than a few rows is dead, and begins anew as half of the expert with the lowest S_ii / N_i; two experts of which one
   explains the other's rows as well, (S_ii - S_ij) / N_i < SAME, are merged, and the one that is free then begins anew as well.
   Halves are clusters of the expert's residuals (regimes over each other), or else of its inputs (regimes side by side).
   What is proposed takes a few steps over these rows, with hyperparameters as they are but for the noise, and stays where the bound over
   them is above that of the same steps without it; else all is as it was, to the last bit (Ueda and others 2000). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/kmeans.h"
#include "model/mixture/moe_trials.h"

enum { TRIAL_STEPS = 6, MERGE_STEPS = 15, TRIAL_ROWS = 4096, FIRST_LOOK = 20 };
static const double FEW = 5;          /* rows of an expert that is not dead */
static const double SAME = 0.1;       /* nats per row */
static const double LAST = 0.6;       /* share of the run after which there is no time to learn from a change; */
static const double LAST_MERGE = 0.8; /* merges of experts that are not needed leave less to learn */
static const double GAIN = 1e-9;      /* of the bound, that is more than rounding */

bool moe_looks(const moe_state *s, const step_context *c)
{
    int64_t t = FIRST_LOOK;
    while (t < c->t) t += moe_finds(&s->kind) ? t / 2 : t;
    return s->K > 1 && t == c->t && c->share < (moe_finds(&s->kind) ? LAST_MERGE : LAST);
}

/* ------------------------------------------------------------------------------------- what there is */

static anygp_status open_rows(reform *r, const step_context *c, anygp_error *e)
{
    const row_blocks *b = r->s->problem->blocks;
    int64_t largest = b->largest > 0 ? b->largest : 1, count = (TRIAL_ROWS + largest - 1) / largest;
    bool all = !c->which || count >= b->count;
    r->rows = (step_context){.seed = c->seed,
                             .t = c->t,
                             .count = all ? b->count : count,
                             .scale = all ? 1 : (double)b->count / (double)count,
                             .rho = 1,
                             .settle = c->learn || c->settle};
    if (all) return ANYGP_OK;
    if (!(r->which = mem_alloc(count, sizeof *r->which)))
        return fail_memory(e, "the rows of a trial", 8.0 * (double)count);
    for (int64_t i = 0; i < count; i++) r->which[i] = i; /* blocks are of rows at random */
    r->rows.which = r->which;
    return ANYGP_OK;
}

/* N and S now; *value the bound over these rows. */
static anygp_status look(reform *r, double *value, anygp_error *e)
{
    moe_state *s = r->s;
    moe_stat stat;
    s->looking = true;
    anygp_status status = moe_value(s, r->h, &r->rows, &stat, value, e);
    if (!ANYGP_FAILED(status)) {
        memcpy(r->N, stat.rows, (size_t)s->K * sizeof *r->N);
        memcpy(r->S, stat.cross, (size_t)(s->K * s->K) * sizeof *r->S);
    }
    s->looking = false;
    return status;
}

/* ------------------------------------------------------------------------------------------- trials */

anygp_status reform_keep(reform *r, int64_t k, anygp_error *e)
{
    const hyper *h = reform_hyper(r, k);
    checkpoint_free(r->was), free(r->was_Z);
    r->was = checkpoint_new(), r->was_Z = mem_copied(h->M, h->D, h->Z);
    if (!r->was || !r->was_Z) return fail_memory(e, "the experts", 8.0 * (double)(h->M * h->D));
    return moe_save(r->s, r->was, e);
}

static anygp_status back(reform *r, int64_t k, anygp_error *e)
{
    if (r->adopted >= 0) moe_adopt(r->s, r->h, r->adopted), r->adopted = -1;
    hyper *h = reform_hyper(r, k);
    memcpy(h->Z, r->was_Z, (size_t)(h->M * h->D) * sizeof *h->Z);
    return moe_restore(r->s, r->h, r->was) ? ANYGP_OK : fail_memory(e, "the experts", 0);
}

/* After the first step: two experts are one. */
static void complete_join(reform *r)
{
    const moe_change *c = &r->s->change;
    moe_adopt(r->s, r->h, r->adopted = c->to);
    gate_merge(&r->s->gate, c->from, c->to, r->N[c->from], r->N[c->to], r->s->problem->blocks->total);
}

/* Steps from here, and the bound that they lead to; -INFINITY where they break down. */
static anygp_status advance(reform *r, double *value, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int steps = moe_finds(&r->s->kind) ? MERGE_STEPS : TRIAL_STEPS; /* sticks take longer to follow */
    for (int i = 0; i < steps && status == ANYGP_OK; i++) {
        status = moe_move(r->s, r->h, &r->rows, false, value, e);
        if (status == ANYGP_OK && r->s->change.kind == MOE_JOIN) complete_join(r);
        r->s->change.kind = MOE_UNCHANGED;
    }
    r->s->change.kind = MOE_UNCHANGED;
    if (status == ANYGP_OK) status = look(r, value, e);
    if (status == ANYGP_ERR_NUMERIC) *value = -INFINITY, status = ANYGP_OK;
    return status;
}

anygp_status reform_judge(reform *r, int64_t k, double margin, bool *stays, anygp_error *e)
{
    double value;
    TRY(advance(r, &value, e));
    *stays = value > r->base + margin + GAIN * fabs(r->base);
    if (!*stays) return back(r, k, e);
    r->adopted = -1;
    r->base = value, r->changed = true;
    memcpy(r->s->usual, r->N, (size_t)r->s->K * sizeof *r->N);
    return ANYGP_OK;
}

/* The same steps without a change; N and S are those after them, but the state is as it was. */
static anygp_status find_base(reform *r, anygp_error *e)
{
    double before, after;
    TRY(reform_keep(r, 0, e));
    TRY(look(r, &before, e));
    TRY(advance(r, &after, e));
    r->base = fmax(before, after);
    return back(r, 0, e);
}

/* -------------------------------------------------------------------------------------------- splits */

/* Rows of expert `from` in memory, in two clusters: expert[i] becomes `to` for those of the second.  *found: 2, or fewer. */
static anygp_status halve(reform *r, moe_change *c, const double *residual, int64_t *expert, int64_t *found,
                          anygp_error *e)
{
    const moe_state *s = r->s;
    const dataset *d = s->problem->rows->data;
    int64_t wide = c->by_residual ? 1 : s->D, n = 0, at = 0;
    double *F = mem_doubles(d->n, wide > 0 ? wide : 1);
    int64_t *half = mem_alloc(d->n, sizeof *half);
    anygp_status status = F && half ? ANYGP_OK : fail_memory(e, "the clusters", 8.0 * (double)(d->n * (wide + 1)));
    for (int64_t i = 0; i < d->n && !ANYGP_FAILED(status); i++)
        if (expert[i] == c->from) moe_features(s, c, d->X + i * s->D, residual[i], F + n++ * wide);
    *found = 0;
    if (!ANYGP_FAILED(status) && n >= 2 && wide > 0)
        status = kmeans(n, wide, F, wide, 2, &(kmeans_options){.seed = s->problem->seed}, s->halves, found, half, e);
    for (int64_t i = 0; i < d->n && !ANYGP_FAILED(status) && *found == 2; i++)
        if (expert[i] == c->from && half[at++] == 1) expert[i] = c->to;
    free(F);
    free(half);
    return status;
}

/* Halves, and places for the second, by the rows of rank 0. */
static anygp_status plan_split(reform *r, moe_change *c, double *Z, int64_t *places, int64_t *found, anygp_error *e)
{
    moe_state *s = r->s;
    const dataset *d = s->problem->rows->data;
    int64_t *expert = mem_alloc(d->n, sizeof *expert);
    double *residual = mem_alloc(d->n, sizeof *residual);
    anygp_status status = expert && residual ? ANYGP_OK : fail_memory(e, "the clusters", 16.0 * (double)d->n);
    if (!ANYGP_FAILED(status)) status = moe_assign(s, d, c->from, expert, residual, e);
    if (!ANYGP_FAILED(status)) status = halve(r, c, residual, expert, found, e);
    if (!ANYGP_FAILED(status) && *found == 2 && !s->problem->places_given)
        status = moe_choose_places(s, c->to, expert, Z, places, e);
    free(expert);
    free(residual);
    return status;
}

/* Expert `to` as one half of `from`: its kernel and noise, and places among the rows of that half. */
static void take_over(reform *r, const moe_change *c, int64_t places, const double *Z)
{
    const hyper *from = reform_hyper(r, c->from);
    hyper *to = reform_hyper(r, c->to);
    svgp_state *q = r->s->expert[c->to];
    for (int64_t i = 0; i < to->count; i++) hyper_set(to, i, hyper_get(from, i));
    int64_t count = places < to->M ? places : to->M;
    memcpy(to->Z, Z, (size_t)(count * to->D) * sizeof *Z);
    if (q->up.n > 0) hyper_begin(to, q->up.u);
    q->prepared = false;
}

static anygp_status split(reform *r, moe_change c, bool *stays, anygp_error *e)
{
    moe_state *s = r->s;
    const comm *world = s->problem->comm;
    int64_t said[2] = {0, 0}; /* places, clusters */
    double *Z = mem_doubles(s->problem->subset, s->D > 0 ? s->D : 1);
    anygp_status status = Z ? ANYGP_OK : fail_memory(e, "the inducing inputs", 8.0 * (double)s->problem->subset);
    *stays = false;
    if (world->rank == 0 && Z) status = plan_split(r, &c, Z, &said[0], &said[1], e);
    TRY_DONE(moe_agree(world, status, e));
    TRY_DONE(moe_share(world, 2, said, e));
    TRY_DONE(moe_share(world, said[0] * s->D, Z, e));
    TRY_DONE(moe_share(world, 2 * (s->D + 1), s->halves, e));
    if (said[1] < 2) goto done;
    TRY_DONE(reform_keep(r, c.to, e));
    take_over(r, &c, said[0], Z);
    gate_split(&s->gate, c.from, c.to);
    s->change = c;
    status = reform_judge(r, c.to, r->price, stays, e);
done:
    free(Z);
    return status;
}

/* The living expert that explains its rows worst; -1: there is none. */
static int64_t worst(const reform *r)
{
    int64_t found = -1, K = r->s->K;
    double least = INFINITY;
    for (int64_t k = 0; k < K; k++) {
        double mean = r->S[k + k * K] / r->N[k];
        if (r->N[k] >= 2 * FEW && mean < least) least = mean, found = k;
    }
    return found;
}

static anygp_status revive(reform *r, int64_t dead, anygp_error *e)
{
    int64_t from = worst(r);
    bool stays = false;
    for (int way = 0; way < 2 && !stays && from >= 0; way++)
        TRY(split(r, (moe_change){.kind = MOE_SPLIT, .from = from, .to = dead, .by_residual = way == 0}, &stays, e));
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------------- merges */

/* The expert whose rows another one explains as well, or -1.  Not the first, whose values are the run's. */
static int64_t alike(const reform *r, int64_t *other)
{
    int64_t K = r->s->K, found = -1;
    double least = SAME;
    for (int64_t i = 1; i < K; i++)
        for (int64_t j = 0; j < K; j++) {
            double loss = (r->S[i + i * K] - r->S[i + j * K]) / r->N[i];
            if (i != j && r->N[i] >= FEW && r->N[j] >= FEW && loss < least) least = loss, found = i, *other = j;
        }
    return found;
}

static anygp_status merge(reform *r, int64_t from, int64_t into, bool *stays, anygp_error *e)
{
    moe_state *s = r->s;
    TRY(reform_keep(r, from, e));
    gate_merge(&s->gate, from, into, r->N[from], r->N[into], s->problem->blocks->total);
    return reform_judge(r, from, 0, stays, e);
}

/* ------------------------------------------------------------------------------------------------ all */

static int64_t find_dead(const reform *r)
{
    for (int64_t k = 0; k < r->s->K; k++)
        if (r->N[k] < FEW) return k;
    return -1;
}

/* Half a logarithm of the rows for each hyperparameter that an expert learns, as their posterior would have it (Schwarz 1978): the bound
   does not count them. */
static double price_of(const reform *r)
{
    int64_t learned = 0;
    for (int64_t i = 0; i < r->h->count; i++) learned += hyper_facts(r->h, i)->free;
    return 0.5 * (double)learned * log(fmax(r->s->problem->blocks->total, 1));
}

static anygp_status find_number(reform *r, anygp_error *e)
{
    r->price = price_of(r);
    TRY(find_base(r, e));
    TRY(moe_join(r, e));
    int64_t dead = find_dead(r);
    return dead >= 0 ? revive(r, dead, e) : ANYGP_OK;
}

static anygp_status change(reform *r, anygp_error *e)
{
    double now;
    int64_t other = 0;
    TRY(look(r, &now, e));
    if (moe_finds(&r->s->kind)) return find_number(r, e);
    int64_t dead = find_dead(r), same = dead < 0 ? alike(r, &other) : -1;
    bool joined = false;
    if (dead < 0 && same < 0) return ANYGP_OK;
    TRY(find_base(r, e));
    if (same >= 0) TRY(merge(r, same, other, &joined, e));
    return dead >= 0 || joined ? revive(r, joined ? same : dead, e) : ANYGP_OK;
}

anygp_status moe_reform(moe_state *s, hyper *h, const step_context *c, bool *changed, anygp_error *e)
{
    reform r = {.s = s, .h = h, .adopted = -1};
    anygp_status status = open_rows(&r, c, e);
    if (!ANYGP_FAILED(status)) status = change(&r, e);
    *changed = r.changed;
    s->change.kind = MOE_UNCHANGED;
    checkpoint_free(r.was);
    free(r.was_Z);
    free(r.which);
    return status;
}
