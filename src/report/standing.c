/* Scores of the model beside those of the mean and of a linear model, on the same rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "gp/linear_model.h"
#include "report/report.h"

typedef struct score_line {
    const char *name, *meaning;
} score_line;

static const score_line number_lines[] = {
    {"rmse", "root mean squared error"},
    {"mae", "mean absolute error"},
    {"smse", "share of the variance that is left"},
    {"mnlp", "mean negative log density"},
    {"coverage95", "share of targets in 95 % intervals"},
    {"width95", "mean width of 95 % intervals"},
};
static const score_line class_lines[] = {
    {"accuracy", "share of rows whose class is right"},
    {"logloss", "mean negative log probability"},
    {"brier", "mean squared error of the probabilities"},
    {"auc", "area under the ROC curve"},
};

double standing_value(const standing *t, const char *name, int side)
{
    for (int i = 0; i < t->rows; i++)
        if (!strcmp(t->row[i].name, name)) return t->row[i].value[side];
    return NAN;
}

static void open_rows(const scene *c, standing *t)
{
    const score_line *list = scene_is_class(c) ? class_lines : number_lines;
    t->rows = (int)(scene_is_class(c) ? sizeof class_lines / sizeof *class_lines
                                      : sizeof number_lines / sizeof *number_lines);
    for (int i = 0; i < t->rows; i++) t->row[i] = (standing_row){list[i].name, list[i].meaning, {NAN, NAN, NAN}};
}

static void fill_column(standing *t, int side, const gp_scores *s)
{
    for (int i = 0; i < t->rows; i++) t->row[i].value[side] = gp_score_named(s, t->row[i].name);
}

/* ------------------------------------------------------------------------------------ numbers */

static gp_scores listed(const regression_scores *acc)
{
    gp_scores s = {0};
    s.count = regression_scores_list(acc, s.list);
    return s;
}

/* Of normals; of counts rounded ones, so that their probabilities can be compared.  room[4 n]: for counts. */
static gp_scores normal_scores(const scene *c, const double *mean, const double *variance, double *room)
{
    const schema *s = &c->g->schema;
    int64_t n = c->n;
    regression_scores acc;
    regression_scores_begin(&acc, s->y_mean, s->y_sd);
    if (!scene_is_count(c)) return regression_scores_add(&acc, n, c->y, mean, variance, NULL), listed(&acc);
    predicted p = {mean, room, room + n, room + 2 * n, room + 3 * n, NULL};
    rounded_normal(n, c->y, mean, variance, room + n, room + 2 * n, room);
    for (int64_t i = 0; i < n; i++) room[3 * n + i] = 2 * Z95 * sqrt(variance[i]);
    regression_scores_add_predicted(&acc, n, c->y, &p, NULL);
    return listed(&acc);
}

static gp_scores own_scores(const scene *c, double *width)
{
    const schema *s = &c->g->schema;
    regression_scores acc;
    if (gp_is_normal(c->g)) return normal_scores(c, c->mean, c->variance, NULL);
    regression_scores_begin(&acc, s->y_mean, s->y_sd);
    for (int64_t i = 0; i < c->n; i++) width[i] = c->high[i] - c->low[i];
    predicted p = {c->mean, c->log_density, c->below, c->up_to, width, NULL};
    regression_scores_add_predicted(&acc, c->n, c->y, &p, NULL);
    return listed(&acc);
}

static anygp_status number_standing(const scene *c, standing *t, anygp_error *e)
{
    const schema *s = &c->g->schema;
    double *mean = mem_alloc(c->n, sizeof *mean), *variance = mem_alloc(c->n, sizeof *variance);
    double *room = mem_doubles(c->n, 4);
    anygp_status status = mean && variance && room ? ANYGP_OK : fail_memory(e, "scores", 48.0 * (double)c->n);
    if (!ANYGP_FAILED(status)) {
        bool linear;
        gp_scores own = t->own = own_scores(c, mean);
        fill_column(t, STANDING_MODEL, &own);
        for (int64_t i = 0; i < c->n; i++) mean[i] = s->y_mean, variance[i] = s->y_sd * s->y_sd;
        own = normal_scores(c, mean, variance, room);
        fill_column(t, STANDING_MEAN, &own);
        status = linear_number_folds(c, mean, variance, &linear, e);
        own = normal_scores(c, mean, variance, room);
        if (!ANYGP_FAILED(status) && linear) fill_column(t, STANDING_LINEAR, &own);
    }
    free(room);
    free(mean);
    free(variance);
    return status;
}

/* ------------------------------------------------------------------------------------ classes */

static anygp_status class_column(const scene *c, const double *P, standing *t, int side, anygp_error *e)
{
    int64_t *label = mem_alloc(c->n, sizeof *label);
    class_scores *acc = class_scores_new(c->g->schema.classes);
    anygp_status status = label && acc ? ANYGP_OK : fail_memory(e, "scores", 8.0 * (double)c->n);
    gp_scores s = {0};
    for (int64_t i = 0; i < c->n && !ANYGP_FAILED(status); i++) label[i] = (int64_t)c->y[i];
    if (!ANYGP_FAILED(status)) status = class_scores_add(acc, c->n, label, P, c->n, NULL, e);
    if (!ANYGP_FAILED(status)) status = class_scores_list(acc, s.list, &s.count, e);
    if (!ANYGP_FAILED(status)) fill_column(t, side, &s);
    if (!ANYGP_FAILED(status) && side == STANDING_MODEL) t->own = s;
    class_scores_free(acc);
    free(label);
    return status;
}

/* The shares of the classes among these rows, for all of them. */
static void frequencies(const scene *c, double *P)
{
    int64_t K = c->g->schema.classes;
    for (int64_t k = 0; k < K; k++) {
        double rows = 0;
        for (int64_t i = 0; i < c->n; i++) rows += (int64_t)c->y[i] == k;
        for (int64_t i = 0; i < c->n; i++) P[i + k * c->n] = rows / (double)c->n;
    }
}

static anygp_status class_standing(const scene *c, standing *t, anygp_error *e)
{
    double *P = mem_doubles(c->n, c->g->schema.classes);
    bool linear = false;
    anygp_status status;
    if (!P) return fail_memory(e, "scores", 8.0 * (double)c->n * (double)c->g->schema.classes);
    TRY_DONE(class_column(c, c->P, t, STANDING_MODEL, e));
    frequencies(c, P);
    TRY_DONE(class_column(c, P, t, STANDING_MEAN, e));
    TRY_DONE(linear_class_folds(c, P, &linear, e));
    if (linear) status = class_column(c, P, t, STANDING_LINEAR, e);
done:
    free(P);
    return status;
}

/* ------------------------------------------------------------------------------------ of the fit */

/* The mean's follow from the ratios that the model's are given in. */
static void fit_standing(const scene *c, standing *t)
{
    const gp *g = c->g;
    const gp_scores *s = gp_best_scores(g);
    t->rows_of = !s               ? NULL
                 : s == &g->valid ? "rows that the fit held out"
                 : s == &g->loo   ? "each training row predicted from all others"
                                  : "rows that the model was fitted to";
    if (!s) return;
    fill_column(t, STANDING_MODEL, s);
    for (int i = 0; i < t->rows; i++) {
        standing_row *r = &t->row[i];
        if (!strcmp(r->name, "rmse"))
            r->value[STANDING_MEAN] = r->value[STANDING_MODEL] / sqrt(gp_score_named(s, "nmse"));
        if (!strcmp(r->name, "mnlp") && !scene_is_count(c))
            r->value[STANDING_MEAN] = r->value[STANDING_MODEL] - gp_score_named(s, "msll");
        if (!strcmp(r->name, "logloss") && s->trivial > 0) r->value[STANDING_MEAN] = s->trivial;
    }
}

anygp_status standing_make(const scene *c, standing *t, anygp_error *e)
{
    *t = (standing){0};
    open_rows(c, t);
    if (!c->labelled) return fit_standing(c, t), ANYGP_OK;
    t->rows_of = "these rows";
    return scene_is_class(c) ? class_standing(c, t, e) : number_standing(c, t, e);
}
