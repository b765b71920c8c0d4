/* Steps of a mixture of experts (moe.h): one pass over the sample's rows, then those of every expert, as svgp has them, and of the
   gate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/mixture/moe.h"

enum { STARTING = 10 };            /* steps over samples whose r is that of the clusters */
static const double MEMORY = 0.05; /* share of a step in the experts' usual weights */
static const double FEWEST = 1;    /* weight of the rows below which an expert learns no hyperparameters */

static hyper *hyper_of(moe_state *s, hyper *h, int64_t k) { return k == 0 ? h : &s->h[k]; }

/* Whether the spare expert learns in the place of expert k. */
static bool is_replaced(const moe_state *s, int64_t k) { return s->change.kind == MOE_JOIN && k == s->change.to; }
static svgp_state *learning(const moe_state *s, int64_t k) { return is_replaced(s, k) ? s->spare : s->expert[k]; }

/* Places, length-scales and noise of the first expert are not those of all rows, which h has. */
anygp_status moe_begin(void *state, hyper *h, double jitter, anygp_error *e)
{
    moe_state *s = state;
    const hyper *first = &s->h[0];
    if (s->K > 1) {
        TRY(hyper_set_inducing(h, first->M, first->D, first->Z, first->learn_Z, e));
        for (int64_t i = 0; i < h->count; i++) hyper_set(h, i, hyper_get(first, i));
    }
    for (int64_t k = 0; k < s->K; k++) TRY(svgp_begin(s->expert[k], hyper_of(s, h, k), jitter, e));
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- steps */

/* Sums over the rows: those of the gate and of all experts at s->stat, each expert's also where its step looks for them. */
static anygp_status statistics(moe_state *s, const hyper *h, const step_context *c, bool learn, moe_stat *stat,
                               anygp_error *e)
{
    for (int64_t k = 0; k < s->K; k++) TRY(svgp_before_rows(s->expert[k], k == 0 ? h : &s->h[k], c, learn, e));
    if (s->change.kind == MOE_JOIN) TRY(svgp_before_rows(s->spare, &s->spare_h, c, learn, e));
    TRY(driver_stat(s->driver, s, c->count, c->which, c->scale, s->stat, e));
    moe_stat_place(s, s->stat, stat);
    for (int64_t k = 0; k < s->K; k++) {
        svgp_state *q = learning(s, k);
        memcpy(q->stat, stat->expert[k], (size_t)chain_rows.stat_size(&q->s) * sizeof *q->stat);
    }
    memcpy(s->rows, stat->rows, (size_t)s->K * sizeof *s->rows);
    return ANYGP_OK;
}

anygp_status moe_move(moe_state *s, hyper *h, const step_context *c, bool learn, double *value, anygp_error *e)
{
    moe_stat stat;
    TRY(statistics(s, h, c, learn, &stat, e));
    *value = *stat.value + gate_log_prior(&s->gate);
    for (int64_t k = 0; k < s->K; k++) {
        step_context mine = *c;
        svgp_state *q = learning(s, k);
        hyper *own_h = is_replaced(s, k) ? &s->spare_h : hyper_of(s, h, k);
        double own;
        q->rows = s->K == 1 ? s->problem->blocks->total : s->rows[k];
        if (s->rows[k] < FEWEST) mine.settle = false;
        TRY(svgp_after_rows(q, own_h, &mine, learn && s->rows[k] >= FEWEST, &own, e));
        *value += own;
    }
    gate_move(&s->gate, stat.gate, c->rho);
    return ANYGP_OK;
}

/* Two experts and their hyperparameters; what refers to where these were is made again. */
static void swap_experts(svgp_state **a, hyper *ha, svgp_state **b, hyper *hb)
{
    svgp_state *state = *a;
    hyper h = *ha;
    *a = *b, *b = state;
    *ha = *hb, *hb = h;
    (*a)->up.list = &ha->all, (*b)->up.list = &hb->all;
    (*a)->prepared = (*b)->prepared = false;
}

static void swap_numbers(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double was = a[i];
        a[i] = b[i], b[i] = was;
    }
}

void moe_adopt(moe_state *s, hyper *h, int64_t k)
{
    swap_experts(&s->spare, &s->spare_h, &s->expert[k], hyper_of(s, h, k));
}

void moe_put_first(moe_state *s, hyper *h, int64_t k)
{
    swap_experts(&s->expert[0], h, &s->expert[k], &s->h[k]);
    gate_exchange(&s->gate, 0, k);
    swap_numbers(s->centres, s->centres + k * (s->D + 1), s->D + 1);
    int64_t name = s->name[0];
    s->name[0] = s->name[k], s->name[k] = name;
    swap_numbers(&s->usual[0], &s->usual[k], 1);
    swap_numbers(&s->rows[0], &s->rows[k], 1);
}

/* The run's own values are those of an expert that has rows. */
static void keep_first_alive(moe_state *s, hyper *h)
{
    int64_t largest = 0;
    for (int64_t k = 1; k < s->K; k++)
        if (s->usual[k] > s->usual[largest]) largest = k;
    if (s->usual[0] < FEWEST && s->usual[largest] >= FEWEST && h->M == s->h[largest].M) moe_put_first(s, h, largest);
}

anygp_status moe_step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    moe_state *s = state;
    bool changed;
    s->by_centres = false;
    if (moe_looks(s, c)) TRY(moe_reform(s, h, c, &changed, e));
    s->by_centres = s->K > 1 && c->t < (c->which ? STARTING : 1);
    TRY(moe_move(s, h, c, c->learn && h->free > 0, value, e));
    double share = fmax(MEMORY, 1 / ((double)c->t + 1));
    for (int64_t k = 0; k < s->K; k++) s->usual[k] += share * (s->rows[k] - s->usual[k]);
    if (moe_finds(&s->kind)) keep_first_alive(s, h);
    return ANYGP_OK;
}

anygp_status moe_value(moe_state *s, const hyper *h, const step_context *c, moe_stat *stat, double *value,
                       anygp_error *e)
{
    TRY(statistics(s, h, c, false, stat, e));
    *value = *stat->value + gate_log_prior(&s->gate);
    for (int64_t k = 0; k < s->K; k++) *value += *stat->expert[k] - chain_kl(&s->expert[k]->s);
    return isfinite(*value) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
}

anygp_status moe_bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    moe_state *s = state;
    moe_stat stat;
    s->by_centres = false;
    return moe_value(s, h, &(step_context){.scale = 1, .seed = s->problem->seed}, &stat, value, e);
}

/* ------------------------------------------------------------------------------------- checkpoints */

typedef struct prefix {
    char text[8];
} prefix;

static prefix prefix_of(int64_t k)
{
    prefix p;
    snprintf(p.text, sizeof p.text, "%d.", (int)k % 100 + 1);
    return p;
}

anygp_status moe_save(void *state, checkpoint *to, anygp_error *e)
{
    moe_state *s = state;
    for (int64_t k = 0; k < s->K; k++) {
        checkpoint *part = checkpoint_new();
        anygp_status status = part ? svgp_save(s->expert[k], part, e) : fail_memory(e, "a checkpoint", 0);
        if (!ANYGP_FAILED(status) && k > 0) /* where splits have put them; the first expert's are the run's */
            checkpoint_put(part, "Z", s->h[k].M * s->h[k].D, s->h[k].Z);
        if (!ANYGP_FAILED(status)) checkpoint_put_all(to, prefix_of(k).text, part);
        checkpoint_free(part);
        TRY(status);
    }
    gate_save(&s->gate, to);
    checkpoint_put(to, "usual", s->K, s->usual);
    return ANYGP_OK;
}

bool moe_restore(void *state, hyper *h, const checkpoint *from)
{
    moe_state *s = state;
    for (int64_t k = 0; k < s->K; k++) {
        checkpoint *part = checkpoint_part(from, prefix_of(k).text);
        if (part && k > 0 && !checkpoint_get_finite(part, "Z", s->h[k].M * s->h[k].D, s->h[k].Z))
            return checkpoint_free(part), false;
        bool ok = part && svgp_restore(s->expert[k], hyper_of(s, h, k), part);
        checkpoint_free(part);
        if (!ok) return false;
    }
    return checkpoint_get_finite(from, "usual", s->K, s->usual) && gate_restore(&s->gate, from);
}
