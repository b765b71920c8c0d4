/* Which classes are taken for which. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/report_classes.h"
#include "report/picture.h"

enum { NAMED = 30, NUMBERED = 12 };

int64_t classes_top(const scene *c, int64_t i)
{
    int64_t best = 0;
    for (int64_t k = 1; k < c->g->schema.classes; k++)
        if (c->P[i + k * c->n] > c->P[i + best * c->n]) best = k;
    return best;
}

anygp_status classes_confusion(const scene *c, double **counts, anygp_error *e)
{
    int64_t K = c->g->schema.classes;
    double *N = mem_zeroed(K * K, sizeof *N);
    if (!N) return fail_memory(e, "the classes", 8.0 * (double)K * (double)K);
    for (int64_t i = 0; i < c->n; i++) N[(int64_t)c->y[i] * K + classes_top(c, i)]++;
    *counts = N;
    return ANYGP_OK;
}

static void draw_cells(const panel *p, int64_t K, const double *N)
{
    double wide = (p->right - p->left) / (double)K, high = panel_row_height(p);
    FILE *f = canvas_stream(p->c);
    for (int64_t t = 0; t < K && f; t++) {
        double all = 0;
        for (int64_t k = 0; k < K; k++) all += N[t * K + k];
        for (int64_t k = 0; k < K; k++) {
            char text[32];
            double x = p->left + wide * (double)k, y = p->top + high * (double)t;
            if (N[t * K + k] > 0)
                fprintf(f,
                        "<rect class=\"f%d\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                        "height=\"%.1f\"/>\n",
                        t == k ? COLOUR_BLUE : COLOUR_ORANGE, 0.08 + 0.52 * N[t * K + k] / all, x + 0.5, y + 0.5,
                        wide - 1, high - 1);
            if (K > NUMBERED) continue;
            number_text(N[t * K + k], 6, text, sizeof text);
            if (text_width(text, TEXT_TICK) < wide - 2)
                canvas_text(p->c, x + wide / 2, y + high / 2 + 4, ANCHOR_MIDDLE, TEXT_TICK, false, text);
        }
    }
}

/* The numbers of the classes under their columns, where there is room. */
static void draw_columns(const panel *p, int64_t K)
{
    double wide = (p->right - p->left) / (double)K;
    for (int64_t k = 0; k < K; k++) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)k + 1);
        if (text_width(text, TEXT_TICK) + 2 > wide && k % 5) continue;
        canvas_text(p->c, p->left + wide * ((double)k + 0.5), p->bottom + 18, ANCHOR_MIDDLE, TEXT_TICK, false, text);
    }
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    const schema *s = &c->g->schema;
    int64_t K = s->classes;
    double *N = NULL;
    char(*label)[SCENE_LABEL] = mem_alloc(NAMED, sizeof *label);
    const char *name[NAMED];
    if (!label) return fail_memory(e, "a picture", 0);
    anygp_status status = classes_confusion(c, &N, e);
    if (!ANYGP_FAILED(status)) {
        for (int64_t k = 0; k < K && k < NAMED; k++) {
            snprintf(label[k], SCENE_LABEL, "%lld: %.100s", (long long)k + 1, s->class_name[k]);
            name[k] = label[k];
        }
        axis across = {.label = "predicted class"}; /* no range and so no ticks: its numbers are drawn below */
        axis up = {.low = 0, .high = 1, .names = K < NAMED ? K : 0, .name = name, .label = "true class"};
        double height = fmin(fmax(120 + 26.0 * (double)K, 260), 640);
        panel p =
            panel_begin(figures_add(f, FIGURE_WIDTH, height, "True class (rows) against predicted class (columns)"),
                        across, up, 0, NULL, NULL);
        p.y.names = K;
        draw_cells(&p, K, N);
        if (K <= NAMED) draw_columns(&p, K);
    }
    free(N);
    free(label);
    return status;
}

const picture picture_confusion = {
    .name = "confusion",
    .title = "Confusion of classes",
    .help = "how often each class is taken for each other",
    .reading = "Each line is a true class; the numbers count rows by the most probable class. All that is not on the "
               "diagonal is an error.",
    .needs = "rows with a target that is a class",
    .applies = picture_has_classes,
    .draw = draw,
};
