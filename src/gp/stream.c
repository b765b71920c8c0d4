/* A file of rows to a file of predictions, or to scores, a block at a time: memory does not grow with the rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/writer.h"
#include "gp/gp.h"

static const double Z95 = 1.959963984540054; /* normal quantile of 0.975 */

/* Half of what may be used. */
static double half_of_memory(const settings *s)
{
    return (settings_given(s, SET_MEMORY) ? settings_number(s, SET_MEMORY) : (double)memory_available()) / 2;
}

static double block_budget(const settings *s) { return fmin(half_of_memory(s), 256e6); /* more does not help */ }

/* ------------------------------------------------------------------------------ names of columns */

static void names_free(char **names, int64_t n)
{
    for (int64_t i = 0; names && i < n; i++) free(names[i]);
    free(names);
}

/* suffixes for each target, prefixed by its name where there are several */
static char **column_names(const gp_set *m, int64_t per_target, const char *(*suffix)(int64_t i, char *buffer))
{
    char **names = mem_zeroed(m->targets * per_target, sizeof *names), buffer[32];
    for (int64_t k = 0; names && k < m->targets; k++) {
        const schema *s = &m->gp[k]->schema;
        for (int64_t i = 0; i < per_target; i++) {
            const char *end = suffix(i, buffer);
            size_t size = (s->target ? strlen(s->target) : 24) + strlen(end) + 2;
            char *name = names[k * per_target + i] = malloc(size);
            if (!name) return names_free(names, m->targets * per_target), NULL;
            if (m->targets == 1)
                snprintf(name, size, "%s", end);
            else if (s->target)
                snprintf(name, size, "%s_%s", s->target, end);
            else
                snprintf(name, size, "y%lld_%s", (long long)s->target_number, end);
        }
    }
    return names;
}

static const char *moment_name(int64_t i, char *buffer)
{
    static const char *const names[] = {"mean", "variance", "lo95", "hi95"};
    (void)buffer;
    return names[i];
}

static const char *sample_name(int64_t i, char *buffer)
{
    snprintf(buffer, 32, "sample%lld", (long long)i + 1);
    return buffer;
}

/* ------------------------------------------------------------------------------------- marginals */

typedef struct stream {
    binding *binding;
    block_file *blocks;
    writer *writer;
    predictor **predictor; /* targets */
    int64_t block;
    double *rows, *mean, *variance, *table;
} stream;

static void stream_close(stream *st, int64_t targets)
{
    for (int64_t k = 0; st->predictor && k < targets; k++) predictor_free(st->predictor[k]);
    free(st->predictor);
    free(st->rows);
    free(st->mean);
    free(st->variance);
    free(st->table);
    binding_close(st->binding);
    block_file_close(st->blocks);
    writer_abort(st->writer);
}

static anygp_status stream_open(stream *st, const gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    int64_t T = m->targets;
    TRY(binding_open(m, in, s, &st->binding, e));
    TRY(block_file_open(m, settings_text(s, SET_BLOCKS_FROM), in, &st->blocks, e));
    if (!(st->predictor = mem_zeroed(T, sizeof *st->predictor))) return fail_memory(e, "prediction", 0);
    for (int64_t k = 0; k < T; k++) {
        TRY(predictor_new(m->gp[k], block_budget(s) / (double)T, &st->predictor[k], e));
        int64_t block = predictor_block(st->predictor[k]);
        st->block = k == 0 || block < st->block ? block : st->block;
    }
    int64_t inputs = m->gp[0]->schema.inputs;
    st->rows = mem_doubles(st->block, inputs);
    st->mean = mem_alloc(st->block, sizeof(double));
    st->variance = mem_alloc(st->block, sizeof(double));
    st->table = mem_doubles(st->block, 4 * T);
    if (st->rows && st->mean && st->variance && st->table) return ANYGP_OK;
    return fail_memory(e, "a block of rows", 8.0 * (double)st->block * (double)(inputs + 2 + 4 * T));
}

static anygp_status predict_block(stream *st, const gp_set *m, int64_t n, int64_t first_row, bool latent,
                                  anygp_error *e)
{
    int64_t T = m->targets;
    for (int64_t k = 0; k < T; k++) {
        TRY(predictor_run(st->predictor[k], n, st->rows, m->gp[0]->schema.inputs, &(row_numbers){first_row, NULL},
                          block_file_of(st->blocks, k), latent, st->mean, st->variance, e));
        for (int64_t i = 0; i < n; i++) {
            double *cell = st->table + (i * T + k) * 4, half = Z95 * sqrt(st->variance[i]);
            cell[0] = st->mean[i], cell[1] = st->variance[i];
            cell[2] = st->mean[i] - half, cell[3] = st->mean[i] + half;
        }
    }
    return writer_rows(st->writer, n, st->table, e);
}

static anygp_status open_named_writer(const gp_set *m, const char *out, int64_t per_target,
                                      const char *(*suffix)(int64_t, char *), writer **w, anygp_error *e)
{
    char **names = column_names(m, per_target, suffix);
    if (!names) return fail_memory(e, "column names", 0);
    anygp_status status = writer_open(out, m->targets * per_target, (const char *const *)names, w, e);
    names_free(names, m->targets * per_target);
    return status;
}

static anygp_status predict_marginals(const gp_set *m, const settings *s, const char *in, const char *out,
                                      anygp_error *e)
{
    stream st = {0};
    anygp_status status = ANYGP_OK;
    bool latent = settings_number(s, SET_LATENT) == 1;
    int64_t got = 0;
    TRY_DONE(stream_open(&st, m, s, in, e));
    TRY_DONE(open_named_writer(m, out, 4, moment_name, &st.writer, e));
    for (;;) {
        int64_t first = binding_row_number(st.binding);
        TRY_DONE(binding_next(st.binding, st.block, st.rows, NULL, &got, e));
        if (got == 0) break;
        TRY_DONE(block_file_next(st.blocks, got, e));
        TRY_DONE(predict_block(&st, m, got, first, latent, e));
    }
    TRY_DONE(block_file_end(st.blocks, e));
    writer *w = st.writer;
    st.writer = NULL;
    status = writer_close(w, e);
done:
    stream_close(&st, m->targets);
    return status;
}

/* ----------------------------------------------------------------------------------------- draws */

/* All rows of the file: joint draws need them together, in at most `most` bytes. */
static anygp_status read_all(binding *b, const gp *g, double most, double **rows, int64_t *n, anygp_error *e)
{
    int64_t inputs = g->schema.inputs, capacity = 0, got;
    *n = 0;
    do {
        if (gp_joint_bytes(g, *n) > most)
            return fail_with(e, ANYGP_ERR_MEMORY, "joint draws at %lld rows or more need over %.3g GB; use fewer rows",
                             (long long)*n, most / 1e9);
        if (*n + 256 > capacity) {
            size_t cells;
            capacity = 2 * capacity + 1024;
            double *grown = size_mul(capacity, inputs + 1, &cells) ? realloc(*rows, cells * sizeof *grown) : NULL;
            if (!grown) return fail_memory(e, "the rows", 8.0 * (double)capacity * (double)inputs);
            *rows = grown;
        }
        TRY(binding_next(b, 256, *rows + *n * inputs, NULL, &got, e));
        *n += got;
    } while (got > 0);
    return ANYGP_OK;
}

static anygp_status write_draws(writer *w, int64_t n, int64_t T, int64_t S, const double *draws, anygp_error *e)
{
    double *row = mem_alloc(T * S, sizeof *row);
    anygp_status status = row ? ANYGP_OK : fail_memory(e, "a row", 8.0 * (double)(T * S));
    for (int64_t i = 0; i < n && !ANYGP_FAILED(status); i++) {
        for (int64_t c = 0; c < T * S; c++) row[c] = draws[i + c * n];
        status = writer_rows(w, 1, row, e);
    }
    free(row);
    return status;
}

static anygp_status predict_draws(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int64_t inputs = m->gp[0]->schema.inputs, S = settings_integer(s, SET_SAMPLES), T = m->targets, n = 0;
    double *rows = NULL, *draws = NULL;
    binding *b = NULL;
    block_file *blocks = NULL;
    writer *w = NULL;
    TRY_DONE(binding_open(m, in, s, &b, e));
    TRY_DONE(block_file_open(m, settings_text(s, SET_BLOCKS_FROM), in, &blocks, e));
    TRY_DONE(read_all(b, m->gp[0], half_of_memory(s), &rows, &n, e));
    TRY_DONE(block_file_next(blocks, n, e));
    TRY_DONE(block_file_end(blocks, e));
    if (!(draws = mem_doubles(n, T * S))) {
        status = fail_memory(e, "the draws", 8.0 * (double)n * (double)(T * S));
        goto done;
    }
    for (int64_t k = 0; k < T; k++)
        TRY_DONE(gp_sample(m->gp[k], n, rows, inputs, block_file_of(blocks, k), settings_number(s, SET_LATENT) == 1,
                           (uint64_t)(settings_integer(s, SET_SEED) + k), S, draws + k * S * n, e));
    TRY_DONE(open_named_writer(m, out, S, sample_name, &w, e));
    TRY_DONE(write_draws(w, n, T, S, draws, e));
    status = writer_close(w, e);
    w = NULL;
done:
    writer_abort(w);
    binding_close(b);
    block_file_close(blocks);
    free(rows);
    free(draws);
    return status;
}

anygp_status gp_predict_file(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e)
{
    return settings_integer(s, SET_SAMPLES) > 0 ? predict_draws(m, s, in, out, e) : predict_marginals(m, s, in, out, e);
}

/* ---------------------------------------------------------------------------------------- scores */

static anygp_status find_labels(const gp_set *m, const settings *s, const binding *b, int64_t *target, int64_t *weights,
                                anygp_error *e)
{
    *weights = -1;
    for (int64_t k = 0; k < m->targets; k++) {
        const schema *c = &m->gp[k]->schema;
        if ((target[k] = binding_target(b, k)) < 0)
            return fail_with(e, ANYGP_ERR_DATA,
                             "the file has no target column%s%.80s%s to score against; anygp predict needs none",
                             c->target ? " '" : "", c->target ? c->target : "", c->target ? "'" : "");
    }
    return settings_given(s, SET_WEIGHTS) ? binding_column(b, settings_text(s, SET_WEIGHTS), weights, e) : ANYGP_OK;
}

/* Rows of the file to the scorers of all targets. */
static anygp_status score_file(const gp_set *m, binding *b, block_file *blocks, scorer **r, const int64_t *target,
                               int64_t weights, double *rows, int64_t block, anygp_error *e)
{
    int64_t inputs = m->gp[0]->schema.inputs, wide = binding_columns(b), got;
    do {
        const double *cells;
        int64_t first = binding_row_number(b);
        TRY(binding_next(b, block, rows, &cells, &got, e));
        TRY(block_file_next(blocks, got, e));
        for (int64_t i = 0; i < got; i++)
            for (int64_t k = 0; k < m->targets; k++) {
                const int64_t *in = block_file_of(blocks, k);
                TRY(scorer_add(r[k], rows + i * inputs, cells[i * wide + target[k]],
                               weights < 0 ? 1 : cells[i * wide + weights], first + i, in ? in[i] : -1, e));
            }
    } while (got > 0);
    return block_file_end(blocks, e);
}

anygp_status gp_eval_file(const gp_set *m, const settings *s, const char *in, const char *blocks, gp_scores *scores,
                          anygp_error *e)
{
    enum { BLOCK = 256 };
    anygp_status status = ANYGP_OK;
    int64_t T = m->targets, inputs = m->gp[0]->schema.inputs, weights;
    scorer **r = mem_zeroed(T, sizeof *r);
    int64_t *target = mem_alloc(T, sizeof *target);
    double *rows = mem_doubles(BLOCK, inputs);
    binding *b = NULL;
    block_file *of = NULL;
    if (!r || !target || !rows) {
        status = fail_memory(e, "a block of rows", 8.0 * BLOCK * (double)inputs);
        goto done;
    }
    TRY_DONE(binding_open(m, in, s, &b, e));
    TRY_DONE(block_file_open(m, blocks, in, &of, e));
    TRY_DONE(find_labels(m, s, b, target, &weights, e));
    for (int64_t k = 0; k < T; k++)
        TRY_DONE(scorer_new(m->gp[k], block_budget(s) / (double)T, settings_number(s, SET_LATENT) == 1, &r[k], e));
    TRY_DONE(score_file(m, b, of, r, target, weights, rows, BLOCK, e));
    for (int64_t k = 0; k < T; k++) {
        TRY_DONE(scorer_finish(r[k], &scores[k], e));
        if (scores[k].count > 1) continue;
        status = fail_with(e, ANYGP_ERR_DATA, "%.200s has no row with a target to score", in);
        goto done;
    }
done:
    for (int64_t k = 0; r && k < T; k++) scorer_free(r[k]);
    free(r);
    free(target);
    free(rows);
    binding_close(b);
    block_file_close(of);
    return status;
}
