/* A fitted model whose likelihood or posterior is then replaced, and its predictions and scores by files. */
#ifndef TEST_PREDICT_SUPPORT_H
#define TEST_PREDICT_SUPPORT_H

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "fit_support.h"
#include "gp/gp.h"

enum { N = 30, NEW = 7 };

static const double new_x[NEW] = {-1.5, -0.4, 0.1, 0.3, 0.9, 1.7, 2.5};

/* y around 5 with sd about 3: model units are not data units. */
static inline void training_rows(double *x, double *y)
{
    fill_normal(3, N, x);
    fill_normal(4, N, y);
    for (int i = 0; i < N; i++) y[i] = 5 + 4 * sin(2 * x[i]) + 0.4 * y[i];
}

static inline anygp_model *fitted(void)
{
    double x[N], y[N];
    anygp_data *data;
    anygp_model *m;
    anygp_error e;
    training_rows(x, y);
    const char *const pairs[] = {"model", "exact", "kernel", "rbf(lengthscale=0.8)", "fix", "all",
                                 "noise", "0.2",   NULL};
    anygp_settings *s = settings_with(pairs);
    assert_int_equal(anygp_data_new(N, 1, x, 1, y, NULL, &data, &e), ANYGP_OK);
    assert_int_equal(anygp_data_name(data, 0, "x", &e), ANYGP_OK);
    assert_int_equal(anygp_data_name(data, 1, "y", &e), ANYGP_OK);
    assert_int_equal(anygp_fit(s, data, &m, &e), ANYGP_OK);
    anygp_data_free(data);
    anygp_settings_free(s);
    return m;
}

/* The likelihood of the text, in the place of gaussian noise. */
static inline void attach(gp *g, const char *text, int64_t classes, bool exposure)
{
    anygp_error e;
    if (likelihood_parse(text, g->likelihood, &e)) fail_msg("%s", e.text);
    if (likelihood_open(g->likelihood, classes, exposure, &e)) fail_msg("%s", e.text);
}

static inline void name_classes(gp *g, int64_t classes, const char *const *names, bool text)
{
    schema *s = &g->schema;
    s->classes = classes, s->class_text = text;
    s->class_name = mem_zeroed(classes, sizeof *s->class_name);
    for (int64_t k = 0; k < classes; k++) s->class_name[k] = mem_strdup(names[k]);
}

static inline double score_of(const gp_scores *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->list[i].name, name)) return s->list[i].value;
    return NAN;
}

/* ---------------------------------------------------------------------------------------- files */

/* Writes `text` to a new file whose name is made from path, which ends in XXXXXX. */
static inline void write_file(char *path, const char *text)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *f = fdopen(file, "w");
    fputs(text, f);
    fclose(f);
}

static inline char *read_text(const char *path)
{
    char *text = calloc(1, 1 << 16);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

typedef struct notes {
    int count;
    char last[512];
} notes;

static inline void take_note(void *ctx, anygp_log_level level, const char *text)
{
    notes *n = ctx;
    (void)level;
    n->count++;
    snprintf(n->last, sizeof n->last, "%s", text);
}

/* The predictions file for a table of these lines; the caller frees it. */
static inline char *predicted_file(const anygp_model *m, const char *lines, const char *const *pairs, notes *said)
{
    char in[] = "test_predict_XXXXXX", out[] = "test_predict_XXXXXX";
    anygp_settings *s = settings_with(pairs);
    anygp_error e;
    write_file(in, lines);
    write_file(out, "");
    if (said) anygp_on_log(s, take_note, said);
    if (anygp_predict_file(m, s, in, out, &e)) fail_msg("%s", e.text);
    char *text = read_text(out);
    unlink(in);
    unlink(out);
    anygp_settings_free(s);
    return text;
}

/* Cell `place` of row `row` (from 0, below the header). */
static inline double cell_of(const char *text, int row, int place)
{
    for (int i = 0; i <= row; i++) text = strchr(text, '\n') + 1;
    for (int j = 0; j < place; j++) text = strchr(text, ',') + 1;
    return strtod(text, NULL);
}

/* pairs: settings, as settings_with has them. */
static inline anygp_status eval_with(const anygp_model *m, const char *lines, const char *const *pairs,
                                     gp_scores *scores, anygp_error *e)
{
    char in[] = "test_predict_XXXXXX";
    write_file(in, lines);
    anygp_settings *s = settings_with(pairs);
    anygp_status status = gp_eval_file(m, s, comm_self(), in, "", scores, NULL, e);
    anygp_settings_free(s);
    unlink(in);
    return status;
}

static inline anygp_status eval_text(const anygp_model *m, const char *lines, gp_scores *scores, anygp_error *e)
{
    return eval_with(m, lines, NULL, scores, e);
}

#endif
