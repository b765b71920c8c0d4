/* Classes:  P(y | f) = exp(f_y) / sum_c exp(f_c), C latents.  With p_c(f) and L = log sum exp(f_c),
       E = mu_y - E[L],   dE/dmu_c = 1(y = c) - E[p_c],   dE/dvar_c = -E[p_c (1 - p_c)] / 2   (Bonnet, Price: never positive)
   by Monte Carlo with f_c = mu_c +- sd_c z_c in antithetic pairs: the linear part of L is exact.  The z of a row are a function of
   (stream, row, class).
   Predictions use other draws, the same for every row and every call: SOFTMAX_PAIRS strata of the normal, each met
   once by each class in an order of its own (a Latin hypercube), and their mirror images.

   Hot path: classes are walked outside, `lanes` (rows x draws of a tile) inside, so that all loops are long and vectorise.  Per
   row and pair C normals and 2 C exponentials; tiles of F[C, lanes] stay within TILE doubles of stack. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/vector.h"
#include "likelihood/parts.h"
#include "likelihood/softmax.h"
#include "base/special.h"

enum {
    TILE = 32768,              /* doubles: 256 KiB */
    BLOCK_NORMALS = 8,         /* of one block of random words */
    GROUP = 2 * BLOCK_NORMALS, /* draws made at once */
    TILE_ROWS = 64,
    LANES = GROUP * TILE_ROWS,
};

static const likelihood_option options[] = {{.kind = OPTION_SAMPLES, .param = {.name = "samples"}}};

static int64_t tile_rows(int64_t C)
{
    int64_t rows = TILE / (C * GROUP);
    return rows < 1 ? 1 : rows < TILE_ROWS ? rows : TILE_ROWS;
}

/* ------------------------------------------------------------------------------------------ numbers */

/* Two uniforms in (0, 1) of one word, where Box and Muller's radius and angle come from. */
static void split_word(uint64_t word, double *u, double *v)
{
    *u = ((double)(word >> 32) + 0.5) * 0x1p-32;
    *v = ((double)(word & UINT64_C(0xffffffff)) + 0.5) * 0x1p-32;
}

VECTORISED static void box_muller(int64_t n, const double *restrict u, const double *restrict v, double *restrict z)
{
    SIMD for (int64_t k = 0; k < n; k++)
    {
        double radius = sqrt(-2 * log(u[k]));
        z[k] = radius * cos(2 * PI * v[k]);
        z[k + n] = radius;
    }
    SIMD for (int64_t k = 0; k < n; k++) z[k + n] *= sin(2 * PI * v[k]); /* in one loop they would be scalar sincos */
}

/* Where z comes from: a stream, from row `row` on, or the strata of predictions. */
typedef struct normals {
    random_stream stream;
    int64_t row;
    const double *strata;  /* SOFTMAX_PAIRS quantiles; NULL: the stream */
    const uint16_t *order; /* SOFTMAX_PAIRS for each class: the strata as it meets them; NULL: no memory for it */
} normals;

/* z[BLOCK_NORMALS, rows] of class c, group g of the rows' draws. */
static void stream_normals(const normals *s, int64_t rows, int64_t C, int64_t c, int64_t g, double *z)
{
    double u[LANES / 4], v[LANES / 4];
    random_stream group = {.seed = s->stream.seed, .use = s->stream.use, .sub = s->stream.sub + ((uint64_t)g << 48)};
    for (int64_t i = 0; i < rows; i++) {
        uint64_t word[4];
        random_words(group, (uint64_t)((s->row + i) * C + c), word);
        for (int64_t k = 0; k < 4; k++) split_word(word[k], &u[k * rows + i], &v[k * rows + i]);
    }
    box_muller(4 * rows, u, v, z);
}

double softmax_stratum(int64_t i) { return normal_quantile(((double)i + 0.5) / SOFTMAX_PAIRS); }

/* Each class meets the strata in an order of its own. */
int64_t softmax_met(int64_t c, int64_t k)
{
    random_stream s = {.use = RANDOM_SAMPLE, .sub = (uint64_t)c};
    return random_shuffled(s, SOFTMAX_PAIRS, k);
}

static uint16_t *strata_order(int64_t C)
{
    uint16_t *order = mem_alloc(C, SOFTMAX_PAIRS * sizeof *order);
    for (int64_t i = 0; order && i < C * SOFTMAX_PAIRS; i++)
        order[i] = (uint16_t)softmax_met(i / SOFTMAX_PAIRS, i % SOFTMAX_PAIRS);
    return order;
}

static void strata_normals(const normals *s, int64_t rows, int64_t c, int64_t g, double *z)
{
    for (int64_t k = 0; k < BLOCK_NORMALS; k++) {
        int64_t draw = g * BLOCK_NORMALS + k;
        double q = s->strata[s->order ? s->order[c * SOFTMAX_PAIRS + draw] : softmax_met(c, draw)];
        for (int64_t i = 0; i < rows; i++) z[k * rows + i] = q;
    }
}

/* --------------------------------------------------------------------------------------- arithmetic */

/* f[pair, row] = mu + sd z, and below them mu - sd z; most = the larger of itself and f. */
VECTORISED static void place(int64_t pairs, int64_t rows, const double *restrict mu, const double *restrict var,
                             const double *restrict z, double *restrict f, double *restrict most)
{
    int64_t lanes = pairs * rows;
    for (int64_t k = 0; k < pairs; k++) {
        const double *zk = z + k * rows;
        double *up = f + k * rows, *down = up + lanes, *most_up = most + k * rows, *most_down = most_up + lanes;
        SIMD for (int64_t i = 0; i < rows; i++)
        {
            double step = sqrt(var[i]) * zk[i];
            up[i] = mu[i] + step;
            down[i] = mu[i] - step;
            most_up[i] = at_least(most_up[i], up[i]);
            most_down[i] = at_least(most_down[i], down[i]);
        }
    }
}

/* f = exp(f - most), added to sum. */
VECTORISED static void exponentiate(int64_t lanes, const double *restrict most, double *restrict f,
                                    double *restrict sum)
{
    SIMD for (int64_t k = 0; k < lanes; k++)
    {
        f[k] = exp_minus(most[k] - f[k]);
        sum[k] += f[k];
    }
}

/* p[rows] += share of f[draws, rows] in sum, spread[rows] += share (1 - share). */
VECTORISED static void add_shares(int64_t draws, int64_t rows, const double *restrict f, const double *restrict inverse,
                                  double *restrict p, double *restrict spread)
{
    for (int64_t k = 0; k < draws; k++) {
        const double *fk = f + k * rows, *over = inverse + k * rows;
        SIMD for (int64_t i = 0; i < rows; i++)
        {
            double share = fk[i] * over[i];
            p[i] += share;
            spread[i] += share * (1 - share);
        }
    }
}

/* value[rows] += most + log(sum), and sum is inverted. */
VECTORISED static void finish_sums(int64_t draws, int64_t rows, const double *restrict most, double *restrict sum,
                                   double *restrict value)
{
    for (int64_t k = 0; k < draws; k++) {
        const double *m = most + k * rows;
        double *s = sum + k * rows;
        SIMD for (int64_t i = 0; i < rows; i++)
        {
            value[i] += m[i] + log(s[i]);
            s[i] = 1 / s[i];
        }
    }
}

/* ------------------------------------------------------------------------------------- expectations */

typedef struct tile {
    int64_t C, rows;
    int64_t ld, ldp; /* of mu and var, of what is summed over draws */
    const double *mu, *var;
    double f[TILE], most[LANES], sum[LANES], value[TILE_ROWS]; /* value: sum over draws of L */
} tile;

static void tile_reset(tile *t, int64_t draws)
{
    for (int64_t k = 0; k < draws * t->rows; k++) t->most[k] = -INFINITY, t->sum[k] = 0;
}

/* Adds one group of draws: L to t->value, shares to p and spread (rows x C, ldp). */
static void tile_group(tile *t, const normals *s, int64_t g, int64_t pairs, double *p, double *spread)
{
    double z[LANES];
    int64_t lanes = 2 * pairs * t->rows;
    tile_reset(t, 2 * pairs);
    for (int64_t c = 0; c < t->C; c++) {
        if (s->strata)
            strata_normals(s, t->rows, c, g, z);
        else
            stream_normals(s, t->rows, t->C, c, g, z);
        place(pairs, t->rows, t->mu + c * t->ld, t->var + c * t->ld, z, t->f + c * lanes, t->most);
    }
    for (int64_t c = 0; c < t->C; c++) exponentiate(lanes, t->most, t->f + c * lanes, t->sum);
    finish_sums(2 * pairs, t->rows, t->most, t->sum, t->value);
    for (int64_t c = 0; c < t->C; c++)
        add_shares(2 * pairs, t->rows, t->f + c * lanes, t->sum, p + c * t->ldp, spread + c * t->ldp);
}

/* All draws of a tile's rows: sums over them of L, of the shares p and of p (1 - p). */
static void tile_sums(tile *t, const normals *s, int64_t pairs, double *p, double *spread)
{
    memset(t->value, 0, sizeof t->value);
    for (int64_t c = 0; c < t->C; c++)
        for (int64_t i = 0; i < t->rows; i++) p[i + c * t->ldp] = spread[i + c * t->ldp] = 0;
    for (int64_t g = 0; g * BLOCK_NORMALS < pairs; g++) {
        int64_t rest = pairs - g * BLOCK_NORMALS;
        tile_group(t, s, g, rest < BLOCK_NORMALS ? rest : BLOCK_NORMALS, p, spread);
    }
}

/* Sums over draws in dmu (of p) and dvar (of p (1 - p)) become the weighted derivatives; returns the weighted values. */
static double tile_finish(const tile *t, const double *Y, const double *w, int64_t samples, double *dmu, double *dvar)
{
    double scale = 1 / (double)samples, sum = 0;
    for (int64_t c = 0; c < t->C; c++)
        for (int64_t i = 0; i < t->rows; i++) {
            double weight = weight_at(w, i);
            dmu[i + c * t->ld] = weight * ((double)(c == (int64_t)Y[i]) - scale * dmu[i + c * t->ld]);
            dvar[i + c * t->ld] *= -0.5 * weight * scale;
        }
    for (int64_t i = 0; i < t->rows; i++)
        sum += weight_at(w, i) * (t->mu[i + (int64_t)Y[i] * t->ld] - scale * t->value[i]);
    return sum;
}

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t row, double *dmu, double *dvar,
                     double *dparam)
{
    (void)dparam;
    tile t = {.C = l->latents, .ld = ld, .ldp = ld};
    int64_t most = tile_rows(t.C);
    double sum = 0;
    for (int64_t i = 0; i < n; i += t.rows) {
        normals s = {.stream = random, .row = row + i};
        t.rows = n - i < most ? n - i : most, t.mu = mu + i, t.var = var + i;
        tile_sums(&t, &s, l->samples / 2, dmu + i, dvar + i);
        sum += tile_finish(&t, Y + i, w ? w + i : NULL, l->samples, dmu + i, dvar + i);
    }
    return sum;
}

/* -------------------------------------------------------------------------------------- predictions */

/* Sums over the draws of predictions, p[rows, C] with leading dimension rows, of the tile at mu, var. */
static void tile_predict(tile *t, const uint16_t *order, double *p)
{
    double strata[SOFTMAX_PAIRS], spread[TILE / GROUP];
    for (int64_t k = 0; k < SOFTMAX_PAIRS; k++) strata[k] = softmax_stratum(k);
    normals s = {.strata = strata, .order = order};
    t->ldp = t->rows;
    tile_sums(t, &s, SOFTMAX_PAIRS, p, spread);
}

static void probabilities(const likelihood *l, int64_t n, const double *mu, const double *var, int64_t ld, double *P,
                          int64_t ldp)
{
    tile t = {.C = l->latents, .ld = ld};
    int64_t most = tile_rows(t.C);
    double p[TILE / GROUP];
    uint16_t *order = strata_order(t.C);
    for (int64_t i = 0; i < n; i += t.rows) {
        t.rows = n - i < most ? n - i : most, t.mu = mu + i, t.var = var + i;
        tile_predict(&t, order, p);
        for (int64_t c = 0; c < t.C; c++)
            for (int64_t k = 0; k < t.rows; k++) P[i + k + c * ldp] = p[k + c * t.rows] / (2 * SOFTMAX_PAIRS);
    }
    free(order);
}

/* Where every share underflows, the predictive is exp of the mean's logarithm, as accurately as such a number can be. */
static double log_share_at_mean(const likelihood *l, int64_t y, const double *mu, int64_t ld)
{
    double f[LIKELIHOOD_LATENTS];
    for (int64_t c = 0; c < l->latents; c++) f[c] = mu[c * ld];
    return f[y] - log_sum_exp(l->latents, f);
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    tile t = {.C = l->latents, .ld = ld};
    int64_t most = tile_rows(t.C);
    double p[TILE / GROUP];
    uint16_t *order = strata_order(t.C);
    for (int64_t i = 0; i < n; i += t.rows) {
        t.rows = n - i < most ? n - i : most, t.mu = mu + i, t.var = var + i;
        tile_predict(&t, order, p);
        for (int64_t k = 0; k < t.rows; k++) {
            int64_t y = (int64_t)Y[i + k];
            double mean = p[k + y * t.rows] / (2 * SOFTMAX_PAIRS);
            out[i + k] = mean > 1e-290 ? log(mean) : log_share_at_mean(l, y, mu + i + k, ld);
        }
    }
    free(order);
}

/* The largest of f_c + Gumbel noise is a draw of the class; u from the row's own words. */
static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure;
    for (int64_t i = 0; i < n; i++) {
        double best = -INFINITY;
        for (int64_t c = 0; c < l->latents; c++) {
            double u = random_uniform(random, (uint64_t)(i * l->latents + c)), g = f[i + c * ld] - log(-log(u));
            if (g > best) best = g, y[i] = (double)c;
        }
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    return f[(int64_t)y[0]] - log_sum_exp(l->latents, f);
}

const likelihood_ops likelihood_softmax = {
    .name = "softmax",
    .summary = "classes, one function each",
    .target = TARGET_CLASS,
    .concave = true,
    .most_classes = LIKELIHOOD_LATENTS,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .expect = expect,
    .log_predictive = log_predictive,
    .probabilities = probabilities,
    .draw = draw,
    .density = density,
};
