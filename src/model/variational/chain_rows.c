/* The pass over rows of a variational model: expected log likelihood, natural gradient of q and, where hyperparameters are
   learned, the adjoints, all at once; equations in chain.h. */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/variational/chain.h"

static int64_t params_of(const chain *s) { return s->T * s->like->params; }
static bool has_stat(const chain *s, int64_t i) { return i == s->L - 1 || s->at[i].learn; }

void chain_stat_place(const chain *s, double *at, chain_stat *stat)
{
    stat->value = at;
    stat->like = at + 1;
    at = stat->like + params_of(s);
    for (int64_t i = 0; i < s->L; i++) {
        if (!has_stat(s, i)) continue;
        stat->at[i] = layer_stat_place(&s->at[i], at);
        at += layer_stat_size(&s->at[i]);
    }
    stat->f = &stat->at[s->L - 1];
}

static int64_t stat_size(const void *shared)
{
    const chain *s = shared;
    int64_t size = 1 + params_of(s);
    for (int64_t i = 0; i < s->L && !s->value_only; i++) size += has_stat(s, i) ? layer_stat_size(&s->at[i]) : 0;
    return size;
}

/* ------------------------------------------------------------------------------------ workspace */

/* n rows. */
typedef struct pieces {
    layer_pieces at[CHAIN_LAYERS_MOST];
    double *X[CHAIN_LAYERS_MOST];    /* n x D: what goes into a layer; the first is the block's */
    double *Xbar[CHAIN_LAYERS_MOST]; /* its adjoint; the first has none */
    double *Y;                       /* n x columns of one target */
} pieces;

static pieces place(const chain *s, const row_block *b, double *work)
{
    pieces p = {.X = {(double *)b->X}};
    for (int64_t i = 0; i < s->L; i++) {
        p.at[i] = layer_place(&s->at[i], b->n, work);
        work += layer_work(&s->at[i], b->n);
    }
    for (int64_t i = 1; i < s->L; i++) {
        p.X[i] = work, p.Xbar[i] = work + b->n * s->f->D;
        work += 2 * b->n * s->f->D;
    }
    p.Y = work;
    return p;
}

static int64_t work_doubles(const void *shared, int64_t n)
{
    const chain *s = shared;
    int64_t size = n * (s->like->columns + 2 * (s->L - 1) * s->f->D);
    for (int64_t i = 0; i < s->L; i++) size += layer_work(&s->at[i], n);
    return size;
}

static int64_t keep_nothing(const void *shared, int64_t n) { return (void)shared, (void)n, 0; }

/* --------------------------------------------------------------------------------- between layers */

/* e of function c of layer i at a row. */
static double noise(const chain *s, const row_block *b, int64_t i, int64_t j, int64_t c)
{
    random_stream r = {s->random.seed, RANDOM_LAYERS, s->random.sub};
    uint64_t row = (uint64_t)(b->index * s->rows + b->first + j);
    return random_normal(r, (row * (uint64_t)s->L + (uint64_t)i) * (uint64_t)s->f->D + (uint64_t)c);
}

static double sd_of(const layer_pieces *p, int64_t at) { return sqrt(fmax(p->var[at], 0)); }

/* What goes into layer i + 1: a draw from layer i. */
static void draw(const chain *s, const row_block *b, int64_t i, const pieces *p)
{
    const layer_pieces *q = &p->at[i];
    int64_t n = b->n, D = s->f->D;
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; c < D; c++) {
            int64_t at = j + c * n;
            double step = q->mu[at] + sd_of(q, at) * noise(s, b, i, j, c);
            p->X[i + 1][j * D + c] = p->X[i][j * D + c] + s->s[c] * step;
        }
}

/* From the adjoint of what went into layer i + 1 to dmu and dvar of layer i; a variance of 0 has no derivative that can be used. */
static void undraw(const chain *s, const row_block *b, int64_t i, const pieces *p)
{
    const layer_pieces *q = &p->at[i];
    int64_t n = b->n, D = s->f->D;
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; c < D; c++) {
            int64_t at = j + c * n;
            double bar = p->Xbar[i + 1][j * D + c], sd = sd_of(q, at);
            if (i > 0) p->Xbar[i][j * D + c] = bar;
            bar *= s->s[c];
            q->dmu[at] = bar;
            q->dvar[at] = sd > 0 ? bar * noise(s, b, i, j, c) / (2 * sd) : 0;
        }
}

/* ------------------------------------------------------------------------------------ likelihood */

static anygp_status expectations(const chain *s, const row_block *b, const pieces *p, chain_stat *stat, anygp_error *e)
{
    int64_t n = b->n, columns = s->like->columns;
    const layer_pieces *f = &p->at[s->L - 1];
    for (int64_t t = 0; t < s->T; t++) {
        const likelihood *l = &s->like[t];
        const double *y = b->y;
        int64_t at = t * s->each * n;
        if (s->T > 1) {
            for (int64_t i = 0; i < n; i++)
                memcpy(p->Y + i * columns, b->y + i * s->Q + t * columns, (size_t)columns * sizeof(double));
            y = p->Y;
        }
        *stat->value +=
            l->ops->expect(l, n, y, b->w, f->mu + at, f->var + at, n, s->random, b->index * s->rows + b->first,
                           f->dmu + at, f->dvar + at, stat->like + t * l->params);
    }
    return isfinite(*stat->value) ? ANYGP_OK
                                  : fail_with(e, ANYGP_ERR_NUMERIC,
                                              "the expected log likelihood of block %lld of the rows is not a number",
                                              (long long)b->index);
}

/* ------------------------------------------------------------------------------------------ pass */

static anygp_status forward(const chain *s, const row_block *b, const pieces *p, anygp_error *e)
{
    for (int64_t i = 0; i < s->L; i++) {
        TRY(layer_forward(&s->at[i], b->n, p->X[i], &p->at[i], s->value_only, e));
        if (i < s->L - 1) draw(s, b, i, p);
    }
    return ANYGP_OK;
}

/* Layers below the last one are gone to only while learning. */
static anygp_status reverse(const chain *s, const row_block *b, const pieces *p, chain_stat *stat, anygp_error *e)
{
    size_t bytes = (size_t)(b->n * s->f->D) * sizeof(double);
    if (s->L > 1) memset(p->Xbar[s->L - 1], 0, bytes);
    TRY(layer_reverse(s->f, b->n, p->X[s->L - 1], &p->at[s->L - 1], stat->f, p->Xbar[s->L - 1], e));
    for (int64_t i = s->L - 2; i >= 0 && s->f->learn; i--) {
        undraw(s, b, i, p);
        TRY(layer_reverse(&s->at[i], b->n, p->X[i], &p->at[i], &stat->at[i], p->Xbar[i], e));
    }
    return ANYGP_OK;
}

anygp_status chain_marginals(const chain *s, const row_block *b, double *work, const double **mu, const double **var,
                             anygp_error *e)
{
    pieces p = place(s, b, work);
    *mu = p.at[s->L - 1].mu, *var = p.at[s->L - 1].var;
    return forward(s, b, &p, e);
}

anygp_status chain_add_rows(const chain *s, const row_block *b, double *work, double *at, anygp_error *e)
{
    pieces p = place(s, b, work);
    chain_stat stat;
    chain_stat_place(s, at, &stat);
    TRY(expectations(s, b, &p, &stat, e));
    return s->value_only ? ANYGP_OK : reverse(s, b, &p, &stat, e);
}

static anygp_status stat_rows(const void *shared, const row_block *b, double *work, double *keep, double *at,
                              anygp_error *e)
{
    const double *mu, *var;
    (void)keep;
    TRY(chain_marginals(shared, b, work, &mu, &var, e));
    return chain_add_rows(shared, b, work, at, e);
}

static double multiplications(const void *shared, int64_t n)
{
    const chain *s = shared;
    double sum = 0;
    for (int64_t i = 0; i < s->L; i++) sum += layer_multiplications(&s->at[i], n, s->value_only);
    return sum;
}

const block_model chain_rows = {.rows_alone = true,
                                .stat_size = stat_size,
                                .work_doubles = work_doubles,
                                .keep_doubles = keep_nothing,
                                .work = multiplications,
                                .stat = stat_rows};
