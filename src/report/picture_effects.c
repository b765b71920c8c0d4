/* The effect of each input: the prediction while one input goes through its range and the others stay as they are.  Two ways: all
   others typical (median, most frequent category), with the band; and averaged over rows, each with its own other inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/picture.h"

/* A single input, often time, is looked at closely. */
enum { STOPS = 41, STOPS_ALONE = 401, ROWS = 100, LEVELS_MOST = 12 };

/* Without rows the ranges rest on what the fit knows of columns that were standardised. */
static bool applies(const scene *c) { return c->D > 0 && (c->n > 0 || c->standard); }

/* One input: where it goes, and what is predicted there. */
typedef struct effect {
    int64_t j, stops;
    double at[STOPS_ALONE], mean[STOPS_ALONE], low[STOPS_ALONE], high[STOPS_ALONE]; /* at: model units */
    double average[STOPS_ALONE];
    double *X, *out;
    double *P; /* stops x classes */
} effect;

/* Where missing inputs are filled, the last category of texts stands for them, whether any was missing or not. */
static int64_t levels_met(const scene *c, int64_t j, const input_spec *in)
{
    int64_t last = in->levels - 1;
    if (last < 1 || *in->level[last] || c->n == 0) return in->levels;
    for (int64_t i = 0; i < c->n; i++)
        if (c->X[i * c->D + j] == (double)last) return in->levels;
    return last;
}

static void place_stops(const scene *c, effect *t)
{
    const input_spec *in = schema_at(&c->g->schema, t->j);
    int64_t levels = in->text ? levels_met(c, t->j, in) : 0;
    t->stops = in->text ? levels < LEVELS_MOST ? levels : LEVELS_MOST : c->D == 1 ? STOPS_ALONE : STOPS;
    if (!in->text && !(c->to[t->j] > c->from[t->j])) t->stops = 1;
    for (int64_t i = 0; i < t->stops; i++) {
        double share = t->stops > 1 ? (double)i / (double)(t->stops - 1) : 0;
        t->at[i] = in->text ? (double)i : c->from[t->j] + share * (c->to[t->j] - c->from[t->j]);
    }
}

static anygp_status ask_typical(scene *c, effect *t, anygp_error *e)
{
    int64_t D = c->D;
    for (int64_t i = 0; i < t->stops; i++) {
        memcpy(t->X + i * D, c->typical, (size_t)D * sizeof *t->X);
        t->X[i * D + t->j] = t->at[i];
    }
    if (scene_is_class(c)) return scene_ask_classes(c, t->stops, t->X, t->P, e);
    return scene_ask(c, t->stops, t->X, t->mean, t->low, t->high, e);
}

/* The mean of the predictions for m rows with this input replaced, at every other stop of a curve; straight lines between them. */
static anygp_status ask_average(scene *c, effect *t, int64_t m, const int64_t *rows, anygp_error *e)
{
    int64_t D = c->D, step = t->stops == STOPS ? 2 : 1;
    for (int64_t i = 0; i < t->stops; i += step) {
        for (int64_t r = 0; r < m; r++) {
            memcpy(t->X + r * D, c->X + rows[r] * D, (size_t)D * sizeof *t->X);
            t->X[r * D + t->j] = t->at[i];
        }
        TRY(scene_ask(c, m, t->X, t->out, NULL, NULL, e));
        t->average[i] = 0;
        for (int64_t r = 0; r < m; r++) t->average[i] += t->out[r] / (double)m;
    }
    for (int64_t i = 1; step == 2 && i < t->stops; i += 2) t->average[i] = (t->average[i - 1] + t->average[i + 1]) / 2;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- drawing */

static axis axis_of(const effect *t, const char *label, bool averaged)
{
    axis a = {.low = NAN, .high = NAN, .label = label};
    for (int64_t i = 0; i < t->stops; i++) {
        axis_include(&a, t->mean[i]), axis_include(&a, t->low[i]), axis_include(&a, t->high[i]);
        if (averaged) axis_include(&a, t->average[i]);
    }
    axis_widen(&a, 0.04);
    return a;
}

static int legend_of(const scene *c, bool averaged, mark shape, legend_entry legend[3])
{
    legend[0] = (legend_entry){shape, COLOUR_BLUE, "others typical"};
    legend[1] = (legend_entry){MARK_BAND, COLOUR_BLUE,
                               scene_band_is_latent(c) ? "95 % band of the curve" : "95 % interval of the target"};
    legend[2] = (legend_entry){shape == MARK_LINE ? MARK_DASHES : MARK_DOT, COLOUR_ORANGE, "averaged over rows"};
    return averaged ? 3 : 2;
}

static void draw_curve(const scene *c, canvas *to, const effect *t, const char *input, const char *target,
                       bool averaged)
{
    legend_entry legend[3];
    double x[STOPS_ALONE];
    int entries = legend_of(c, averaged, MARK_LINE, legend);
    for (int64_t i = 0; i < t->stops; i++) x[i] = scene_value(c, t->j, t->at[i]);
    axis across = axis_over(input, t->stops, x);
    across.dates = scene_is_date(c, t->j);
    panel p = panel_begin(to, across, axis_of(t, target, averaged), entries, legend, NULL);
    panel_band(&p, COLOUR_BLUE, t->stops, x, t->low, t->high);
    panel_line(&p, COLOUR_BLUE, false, t->stops, x, t->mean);
    if (averaged) panel_line(&p, COLOUR_ORANGE, true, t->stops, x, t->average);
    if (t->stops == 1) panel_dots(&p, COLOUR_BLUE, 3, 1, x, t->mean);
}

typedef struct level_names {
    char label[LEVELS_MOST][SCENE_LABEL];
    const char *name[LEVELS_MOST];
} level_names;

/* Rows instead of an axis; the names must outlive it. */
static axis name_levels(const scene *c, const effect *t, level_names *n)
{
    for (int64_t i = 0; i < t->stops; i++) n->name[i] = scene_level(c, t->j, t->at[i], n->label[i]);
    return (axis){.low = 0, .high = 1, .names = t->stops, .name = n->name};
}

/* A row for each category. */
static void draw_levels(const scene *c, canvas *to, const effect *t, const char *target, bool averaged)
{
    legend_entry legend[3];
    level_names names;
    int entries = legend_of(c, averaged, MARK_DOT, legend);
    panel p = panel_begin(to, axis_of(t, target, averaged), name_levels(c, t, &names), entries, legend, NULL);
    for (int64_t i = 0; i < t->stops; i++) {
        double y = panel_row(&p, i), half = fmin(0.3 * panel_row_height(&p), 8);
        canvas_rect(p.c, "band f0", panel_x(&p, t->low[i]), y - half, panel_x(&p, t->high[i]), y + half);
        canvas_dot(p.c, "f0", panel_x(&p, t->mean[i]), y, 4);
        if (averaged) canvas_dot(p.c, "f1", panel_x(&p, t->average[i]), y, 3);
    }
}

static int64_t class_legend(const scene *c, mark shape, legend_entry legend[CLASSES_SHOWN])
{
    const schema *s = &c->g->schema;
    int64_t K = s->classes < CLASSES_SHOWN ? s->classes : CLASSES_SHOWN;
    for (int64_t k = 0; k < K; k++) legend[k] = (legend_entry){shape, (colour)k, s->class_name[k]};
    return K;
}

/* The probability of each class. */
static void draw_class_curves(const scene *c, canvas *to, const effect *t, const char *input)
{
    legend_entry legend[CLASSES_SHOWN];
    double x[STOPS_ALONE];
    int64_t K = class_legend(c, MARK_LINE, legend);
    for (int64_t i = 0; i < t->stops; i++) x[i] = scene_value(c, t->j, t->at[i]);
    axis up = {.low = 0, .high = 1, .label = "probability"};
    axis across = axis_over(input, t->stops, x);
    across.dates = scene_is_date(c, t->j);
    panel p = panel_begin(to, across, up, (int)K, legend, NULL);
    for (int64_t k = 0; k < K; k++) {
        panel_line(&p, (colour)k, false, t->stops, x, t->P + k * t->stops);
        if (t->stops == 1) panel_dots(&p, (colour)k, 3, 1, x, t->P + k * t->stops);
    }
}

/* A row for each category of the input. */
static void draw_class_levels(const scene *c, canvas *to, const effect *t)
{
    legend_entry legend[CLASSES_SHOWN];
    level_names names;
    int64_t K = class_legend(c, MARK_DOT, legend);
    axis across = {.low = 0, .high = 1.02, .label = "probability"};
    panel p = panel_begin(to, across, name_levels(c, t, &names), (int)K, legend, NULL);
    for (int64_t i = 0; i < t->stops; i++)
        for (int64_t k = 0; k < K; k++) {
            char style[8];
            snprintf(style, sizeof style, "f%d", (int)k);
            canvas_dot(p.c, style, panel_x(&p, t->P[i + k * t->stops]), panel_row(&p, i), 4);
        }
}

/* What is left out is said. */
static void name_effect(const scene *c, const effect *t, const char *input, char *title, size_t size)
{
    int64_t levels = schema_at(&c->g->schema, t->j)->levels, classes = c->g->schema.classes;
    int n = snprintf(title, size, "Effect of %s", input);
    if (scene_is_text(c, t->j) && levels > t->stops)
        n += snprintf(title + n, size - (size_t)n, ", %lld of %lld categories", (long long)t->stops, (long long)levels);
    if (classes > CLASSES_SHOWN)
        snprintf(title + n, size - (size_t)n, ", %d of %lld classes", CLASSES_SHOWN, (long long)classes);
}

static void draw_effect(const scene *c, figures *f, const effect *t, bool averaged)
{
    char input[SCENE_LABEL], target[SCENE_LABEL], title[SCENE_LABEL + 80];
    name_effect(c, t, scene_short_input(c, t->j, input), title, sizeof title);
    scene_axis(c, t->j, input);
    scene_target_axis(c, target);
    bool text = scene_is_text(c, t->j);
    double height = text ? fmax(150, 110 + 20.0 * (double)t->stops) : FIGURE_HEIGHT;
    canvas *to = figures_add(f, FIGURE_WIDTH, height, title);
    if (scene_is_class(c) && text)
        draw_class_levels(c, to, t);
    else if (scene_is_class(c))
        draw_class_curves(c, to, t, input);
    else if (text)
        draw_levels(c, to, t, target, averaged);
    else
        draw_curve(c, to, t, input, target, averaged);
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    int64_t D = c->D, rows[ROWS], m = scene_some(c, ROWS, rows);
    int64_t most = STOPS_ALONE, K = scene_is_class(c) ? c->g->schema.classes : 1;
    effect *t = calloc(1, sizeof *t);
    anygp_status status = ANYGP_OK;
    bool averaged = m > 1 && D > 1 && !scene_is_class(c);
    if (t) t->X = mem_doubles(most, D), t->out = mem_alloc(most, sizeof *t->out), t->P = mem_doubles(STOPS_ALONE, K);
    if (!t || !t->X || !t->out || !t->P) status = fail_memory(e, "a picture", 8.0 * (double)most * (double)D);
    for (int64_t k = 0; k < D && k < EFFECTS_MOST && !ANYGP_FAILED(status); k++) {
        t->j = c->ranked[k];
        place_stops(c, t);
        if (t->stops == 0) continue;
        status = ask_typical(c, t, e);
        if (averaged && !ANYGP_FAILED(status)) status = ask_average(c, t, m, rows, e);
        if (!ANYGP_FAILED(status)) draw_effect(c, f, t, averaged);
    }
    if (t) free(t->X), free(t->out), free(t->P);
    free(t);
    return status;
}

const picture picture_effects = {
    .name = "effects",
    .title = "Effect of each input",
    .help = "the prediction along each of the 12 most relevant inputs, with its band",
    .reading =
        "The other inputs are at their medians or most frequent categories. The orange curve of a number or a count is "
        "averaged "
        "over 100 rows instead, each with its own other inputs; where it has another shape, inputs act together.",
    .needs = "rows, or a fit with standardised inputs",
    .applies = applies,
    .draw = draw,
};
