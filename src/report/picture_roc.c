/* Rows found against false alarms, as the threshold on the probability of a class falls. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "report/report_classes.h"
#include "report/picture.h"

typedef struct roc_row {
    double less; /* minus the probability of the class */
    bool is;
} roc_row;

/* Rows of equal probability are one step. */
static int64_t walk(int64_t n, const roc_row *list, double positives, double *wrong, double *right, double *auc)
{
    double found = 0, alarms = 0;
    int64_t points = 1;
    wrong[0] = right[0] = *auc = 0;
    for (int64_t i = 0; i < n; i++) {
        found += list[i].is, alarms += !list[i].is;
        if (i + 1 < n && list[i + 1].less == list[i].less) continue;
        wrong[points] = alarms / ((double)n - positives), right[points] = found / positives;
        *auc += (wrong[points] - wrong[points - 1]) * (right[points] + right[points - 1]) / 2;
        points++;
    }
    return points;
}

anygp_status classes_roc(const scene *c, int64_t k, double **wrong, double **right, int64_t *points, double *auc,
                         anygp_error *e)
{
    roc_row *list = mem_alloc(c->n, sizeof *list);
    double positives = 0;
    *points = 0, *auc = 0.5;
    *wrong = mem_alloc(c->n + 1, sizeof **wrong), *right = mem_alloc(c->n + 1, sizeof **right);
    bool ok = list && *wrong && *right;
    for (int64_t i = 0; ok && i < c->n; i++) {
        list[i] = (roc_row){-c->P[i + k * c->n], (int64_t)c->y[i] == k};
        positives += list[i].is;
    }
    if (ok && positives > 0 && positives < (double)c->n) {
        qsort(list, (size_t)c->n, sizeof *list, by_double);
        *points = walk(c->n, list, positives, *wrong, *right, auc);
    }
    free(list);
    if (ok) return ANYGP_OK;
    free(*wrong), free(*right);
    *wrong = *right = NULL;
    return fail_memory(e, "a picture", 32.0 * (double)c->n);
}

/* At most so many points of a curve are drawn. */
static int64_t thinned(int64_t n, double *x, double *y)
{
    enum { DRAWN = 400 };
    if (n <= DRAWN) return n;
    for (int64_t i = 0; i < DRAWN; i++) {
        int64_t from = i * (n - 1) / (DRAWN - 1);
        x[i] = x[from], y[i] = y[from];
    }
    return DRAWN;
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    const schema *s = &c->g->schema;
    int64_t first = s->classes == 2 ? 1 : 0,
            K = s->classes - first < CLASSES_SHOWN ? s->classes - first : CLASSES_SHOWN;
    double *x[CLASSES_SHOWN] = {0}, *y[CLASSES_SHOWN] = {0};
    int64_t n[CLASSES_SHOWN] = {0};
    char text[CLASSES_SHOWN][SCENE_LABEL];
    legend_entry legend[CLASSES_SHOWN];
    char title[64] = "ROC curve";
    if (s->classes > CLASSES_SHOWN)
        snprintf(title, sizeof title, "ROC curve, %d of %lld classes", CLASSES_SHOWN, (long long)s->classes);
    anygp_status status = ANYGP_OK;
    for (int64_t k = 0; k < K && !ANYGP_FAILED(status); k++) {
        double auc;
        status = classes_roc(c, first + k, &x[k], &y[k], &n[k], &auc, e);
        snprintf(text[k], sizeof text[k], n[k] ? "%.60s: area %.3f" : "%.60s: no such row, or no other",
                 s->class_name[first + k], auc);
        legend[k] = (legend_entry){MARK_LINE, (colour)k, text[k]};
    }
    if (!ANYGP_FAILED(status)) {
        axis across = {.low = 0, .high = 1, .label = "false alarms, share of the other rows"};
        axis up = {.low = 0, .high = 1, .label = "found, share of the class"};
        panel p = panel_begin(figures_add(f, FIGURE_WIDTH, 360, title), across, up, (int)K, legend, NULL);
        panel_guide(&p, 0, 0, 1, 1);
        for (int64_t k = 0; k < K; k++) panel_line(&p, (colour)k, false, thinned(n[k], x[k], y[k]), x[k], y[k]);
    }
    for (int64_t k = 0; k < K; k++) free(x[k]), free(y[k]);
    return status;
}

const picture picture_roc = {
    .name = "roc",
    .title = "ROC curve",
    .help = "found rows against false alarms, for each class against the rest",
    .reading = "The nearer a curve comes to the upper left corner, the better the class is told from the rest; the "
               "dashed line is guessing.",
    .needs = "rows with a target that is a class",
    .applies = picture_has_classes,
    .draw = draw,
};
