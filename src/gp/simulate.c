/* Data from a known Gaussian process: inputs uniform on [0, 1]^D, y = f(x) + noise.
   Up to EXACT_ROWS rows f is an exact draw (Cholesky of the prior covariance).  Beyond, f is a sum of F random Fourier
   features (Rahimi and Recht 2007), f(x) = sqrt(2 v / F) sum_j cos(w_j'x + b_j), which has the kernel's covariance in
   expectation and costs F D per row whatever the number of rows; rows are made and written block by block, each a
   function of (seed, row), so that the first rows are the same whatever the length. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/formats/writer.h"
#include "data/text/number.h"
#include "gp/gp.h"
#include "linalg/linalg.h"

enum { EXACT_ROWS = 4000, BLOCK = 1024 };
enum { SUB_INPUT = 1, SUB_NOISE, SUB_LATENT, SUB_FREQUENCY, SUB_PHASE };

typedef struct simulation {
    const settings *s;
    uint64_t seed;
    int64_t n, D, F;
    double noise_sd, amplitude;
    kernel *kernel;
    double *f;         /* exact: n values of f */
    double *w, *phase; /* features: w[D,F], phase[F] */
    double *X, *rows;  /* a block */
    writer *writer;
} simulation;

static double number(const simulation *m, uint64_t sub, uint64_t i, bool normal)
{
    random_stream r = {m->seed, RANDOM_SIMULATE, sub};
    return normal ? random_normal(r, i) : random_uniform(r, i);
}

static void fill_inputs(const simulation *m, int64_t first, int64_t count, double *X)
{
#pragma omp parallel for
    for (int64_t i = 0; i < count * m->D; i++) X[i] = number(m, SUB_INPUT, (uint64_t)(first * m->D + i), false);
}

static anygp_status draw_exactly(simulation *m, anygp_error *e)
{
    int64_t n = m->n;
    double *K = mem_alloc(n * n, sizeof *K), *X = mem_alloc(n * m->D, sizeof *X), *diag = mem_alloc(n, sizeof *diag),
           jitter;
    anygp_status status = ANYGP_OK;
    m->f = mem_alloc(n, sizeof *m->f);
    if (!K || !X || !diag || !m->f) status = fail_memory(e, "the draw", 8.0 * (double)n * (double)n);
    if (!status) {
        fill_inputs(m, 0, n, X);
        for (int64_t i = 0; i < n; i++) m->f[i] = number(m, SUB_LATENT, (uint64_t)i, true);
        if (!kernel_gram_sym(m->kernel, n, X, m->D, K, n))
            status = fail_memory(e, "kernel tiles", 0);
        else if (!la_cholesky(n, K, n, 0, diag, &jitter))
            status =
                fail_with(e, ANYGP_ERR_NUMERIC, "the kernel's covariance at these inputs is not positive definite");
        else
            la_trmm(LA_LEFT, LA_N, n, 1, 1, K, n, m->f, n);
    }
    free(K);
    free(X);
    free(diag);
    return status;
}

static anygp_status draw_features(simulation *m, anygp_error *e)
{
    random_stream r = {m->seed, RANDOM_SIMULATE, SUB_FREQUENCY};
    double origin;
    m->w = mem_alloc(m->D * m->F, sizeof *m->w);
    m->phase = mem_alloc(m->F, sizeof *m->phase);
    double *x = mem_zeroed(m->D, sizeof *x);
    bool ok = m->w && m->phase && x;
    for (int64_t j = 0; ok && j < m->F; j++) {
        if (!kernel_spectral(m->kernel, r, (uint64_t)j, m->w + j * m->D)) {
            free(x);
            return fail_with(
                e, ANYGP_ERR_ARGUMENT,
                "more than %d rows can be drawn from stationary kernels only; use --rows %d or another kernel",
                EXACT_ROWS, EXACT_ROWS);
        }
        m->phase[j] = 2 * PI * number(m, SUB_PHASE, (uint64_t)j, false);
    }
    if (ok) kernel_diag(m->kernel, 1, x, m->D, &origin);
    free(x);
    if (!ok) return fail_memory(e, "the features", 8.0 * (double)m->F * (double)(m->D + 1));
    m->amplitude = sqrt(2 * origin / (double)m->F);
    return ANYGP_OK;
}

static double feature_sum(const simulation *m, const double *x)
{
    double sum = 0;
    for (int64_t j = 0; j < m->F; j++) {
        double t = m->phase[j];
        for (int64_t d = 0; d < m->D; d++) t += m->w[j * m->D + d] * x[d];
        sum += cos(t);
    }
    return m->amplitude * sum;
}

static anygp_status write_blocks(simulation *m, anygp_error *e)
{
    double white = m->f ? 0 : sqrt(kernel_white(m->kernel)); /* an exact draw has it in f */
    for (int64_t first = 0; first < m->n; first += BLOCK) {
        int64_t count = m->n - first < BLOCK ? m->n - first : BLOCK;
        TRY(settings_check_stop(m->s, e));
        fill_inputs(m, first, count, m->X);
#pragma omp parallel for
        for (int64_t i = 0; i < count; i++) {
            const double *x = m->X + i * m->D;
            double *row = m->rows + i * (m->D + 1);
            uint64_t id = (uint64_t)(first + i);
            for (int64_t d = 0; d < m->D; d++) row[d] = x[d];
            row[m->D] = (m->f ? m->f[id] : feature_sum(m, x)) + m->noise_sd * number(m, SUB_NOISE, 2 * id, true) +
                        white * number(m, SUB_NOISE, 2 * id + 1, true);
        }
        TRY(writer_rows(m->writer, count, m->rows, e));
    }
    return ANYGP_OK;
}

/* x1 .. xD, y */
static anygp_status open_writer(simulation *m, const char *out, anygp_error *e)
{
    enum { WIDTH = 24 };
    char *text = mem_alloc((m->D + 1) * WIDTH, 1);
    const char **names = mem_alloc(m->D + 1, sizeof *names);
    anygp_status status = text && names ? ANYGP_OK : fail_memory(e, "column names", 0);
    for (int64_t d = 0; d <= m->D && !status; d++) {
        names[d] = text + d * WIDTH;
        if (d < m->D)
            snprintf(text + d * WIDTH, WIDTH, "x%lld", (long long)d + 1);
        else
            snprintf(text + d * WIDTH, WIDTH, "y");
    }
    if (!status) status = writer_open(out, m->D + 1, names, &m->writer, e);
    free(names);
    free(text);
    return status;
}

static anygp_status parse(simulation *m, anygp_error *e)
{
    kernel_input *in = mem_alloc(m->D, sizeof *in);
    char *names = mem_alloc(m->D * 24, 1);
    anygp_status status = in && names ? ANYGP_OK : fail_memory(e, "the inputs", 0);
    for (int64_t d = 0; d < m->D && !status; d++) {
        snprintf(names + d * 24, 24, "x%lld", (long long)d + 1);
        in[d] = (kernel_input){names + d * 24, d, INPUT_NUMBER, d};
    }
    const char *text = settings_given(m->s, SET_KERNEL) ? settings_text(m->s, SET_KERNEL) : "matern52(lengthscale=0.3)";
    if (!status) status = kernel_parse(text, in, m->D, m->D, &m->kernel, e);
    free(in);
    free(names);
    return status;
}

/* --inputs, which names columns to a fit and counts them here. */
static anygp_status count_inputs(const settings *s, int64_t *inputs, anygp_error *e)
{
    enum { INPUTS_MOST = 100000 };
    const char *text = settings_text(s, SET_INPUTS);
    double count = 1;
    *inputs = 1;
    if (!*text) return ANYGP_OK;
    bool number = cell_classify(text, text + strlen(text), &count) == CELL_NUMBER && count == floor(count);
    if (!number || count < 1 || count > INPUTS_MOST)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inputs: '%.80s' is not a whole number between 1 and %d", text,
                         INPUTS_MOST);
    *inputs = (int64_t)count;
    return ANYGP_OK;
}

anygp_status gp_simulate_file(const settings *s, const char *out, anygp_error *e)
{
    double noise = settings_number(s, SET_NOISE);
    int64_t inputs;
    TRY(count_inputs(s, &inputs, e));
    simulation m = {.s = s,
                    .seed = (uint64_t)settings_integer(s, SET_SEED),
                    .n = settings_integer(s, SET_ROWS),
                    .D = inputs,
                    .F = settings_integer(s, SET_FEATURES),
                    .noise_sd = sqrt(isnan(noise) ? 0.01 : noise)};
    anygp_status status = ANYGP_OK;
    TRY_DONE(parse(&m, e));
    m.X = mem_alloc(BLOCK * m.D, sizeof(double));
    m.rows = mem_alloc(BLOCK * (m.D + 1), sizeof(double));
    if (!m.X || !m.rows) {
        status = fail_memory(e, "a block of rows", 16.0 * BLOCK * (double)m.D);
        goto done;
    }
    TRY_DONE(m.n <= EXACT_ROWS ? draw_exactly(&m, e) : draw_features(&m, e));
    TRY_DONE(open_writer(&m, out, e));
    TRY_DONE(write_blocks(&m, e));
    status = writer_close(m.writer, e);
    m.writer = NULL;
done:
    writer_abort(m.writer);
    kernel_free(m.kernel);
    double *const owned[] = {m.f, m.w, m.phase, m.X, m.rows};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    return status;
}
