/* Maps over two inputs: mean and standard deviation, or the probability of each class; other inputs are typical. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "report/picture.h"

enum { SIDE = 48, DOTS = 300 };

static bool is_number(const scene *c, int64_t j) { return j >= 0 && !scene_is_text(c, j); }

/* The column of X that is called so; -1: none. */
static int64_t column_called(const scene *c, const char *name, size_t length)
{
    for (int64_t j = 0; j < c->D; j++) {
        char label[SCENE_LABEL];
        const input_spec *in = schema_at(&c->g->schema, j);
        snprintf(label, sizeof label, "%lld", (long long)in->number);
        const char *called = in->name ? in->name : label;
        if ((strlen(called) == length && !strncmp(called, name, length)) ||
            (strlen(label) == length && !strncmp(label, name, length)))
            return j;
    }
    return -1;
}

/* Names may have commas in them: every comma is tried. */
static bool named_columns(const scene *c, const char *text, int64_t places[2])
{
    for (const char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
        places[0] = column_called(c, text, (size_t)(comma - text));
        places[1] = column_called(c, comma + 1, strlen(comma + 1));
        if (is_number(c, places[0]) && is_number(c, places[1]) && places[0] != places[1]) return true;
    }
    return false;
}

anygp_status map_columns(const scene *c, int64_t places[2], bool *found, anygp_error *e)
{
    const char *text = settings_text(c->s, SET_MAP);
    const sphere_spec *sphere = &c->g->schema.sphere;
    places[0] = sphere->on ? sphere->at : 0, places[1] = places[0] + 1;
    *found = *text ? named_columns(c, text, places) : sphere->on || (c->D == 2 && is_number(c, 0) && is_number(c, 1));
    if (*found || !*text) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_ARGUMENT,
        "map: '%.80s' does not name two different inputs of the model that are numbers; write --map NAME,NAME", text);
}

static bool applies(const scene *c)
{
    int64_t places[2];
    bool found, ranged = c->n > 0 || c->standard;
    return ranged && !ANYGP_FAILED(map_columns(c, places, &found, NULL)) && found &&
           c->to[places[0]] > c->from[places[0]] && c->to[places[1]] > c->from[places[1]];
}

/* The places: SIDE x SIDE middles of cells. */
static void place_cells(const scene *c, const int64_t places[2], double *X)
{
    int64_t D = c->D;
    for (int64_t cell = 0; cell < SIDE * SIDE; cell++) {
        const int64_t at[2] = {cell % SIDE, cell / SIDE};
        memcpy(X + cell * D, c->typical, (size_t)D * sizeof *X);
        for (int a = 0; a < 2; a++) {
            double from = c->from[places[a]], to = c->to[places[a]];
            X[cell * D + places[a]] = from + ((double)at[a] + 0.5) / SIDE * (to - from);
        }
    }
}

static axis side_of(const scene *c, int64_t j, const char *label)
{
    return (axis){.low = scene_value(c, j, c->from[j]),
                  .high = scene_value(c, j, c->to[j]),
                  .dates = scene_is_date(c, j),
                  .label = label};
}

/* dots: also where rows are. */
static void draw_map(const scene *c, figures *f, const char *title, const int64_t places[2], const double *value,
                     const axis *range, bool dots)
{
    char name[2][SCENE_LABEL];
    int64_t rows[DOTS], m = dots ? scene_some(c, DOTS, rows) : 0, D = c->D;
    double x[DOTS], y[DOTS];
    axis scale = range ? *range : axis_over(NULL, SIDE * SIDE, value);
    panel p =
        panel_begin(figures_add(f, FIGURE_WIDTH, 360, title), side_of(c, places[0], scene_axis(c, places[0], name[0])),
                    side_of(c, places[1], scene_axis(c, places[1], name[1])), 0, NULL, &scale);
    panel_heat(&p, SIDE, SIDE, value, &scale);
    for (int64_t i = 0; i < m; i++) {
        x[i] = scene_value(c, places[0], c->X[rows[i] * D + places[0]]);
        y[i] = scene_value(c, places[1], c->X[rows[i] * D + places[1]]);
    }
    panel_dots(&p, COLOUR_BLACK, 1.9, m, x, y); /* an edge, for bright ground */
    panel_dots(&p, COLOUR_WHITE, 1.2, m, x, y);
}

static anygp_status map_numbers(scene *c, figures *f, const int64_t places[2], const double *X, double *room,
                                anygp_error *e)
{
    char target[SCENE_LABEL], title[SCENE_LABEL + 64];
    double *mean = room, *low = mean + SIDE * SIDE, *high = low + SIDE * SIDE;
    TRY(scene_ask(c, SIDE * SIDE, X, mean, low, high, e));
    for (int64_t i = 0; i < SIDE * SIDE; i++) high[i] = (high[i] - low[i]) / (2 * Z95);
    snprintf(title, sizeof title, "Mean of %s", scene_target(c, target));
    draw_map(c, f, title, places, mean, NULL, false);
    snprintf(title, sizeof title, "Standard deviation of %s%s", scene_band_is_latent(c) ? "the mean" : target,
             c->n ? ", and rows" : "");
    draw_map(c, f, title, places, high, NULL, true);
    return ANYGP_OK;
}

static anygp_status map_classes(scene *c, figures *f, const int64_t places[2], const double *X, double *P,
                                anygp_error *e)
{
    const schema *s = &c->g->schema;
    const axis range = {.low = 0, .high = 1};
    TRY(scene_ask_classes(c, SIDE * SIDE, X, P, e));
    for (int64_t k = s->classes == 2 ? 1 : 0; k < s->classes && k < CLASSES_SHOWN; k++) {
        char title[SCENE_LABEL + 64];
        snprintf(title, sizeof title, "Probability of %.100s", s->class_name[k]);
        draw_map(c, f, title, places, P + k * SIDE * SIDE, &range, true);
    }
    return ANYGP_OK;
}

static anygp_status draw(scene *c, figures *f, anygp_error *e)
{
    int64_t places[2], K = scene_is_class(c) ? c->g->schema.classes : 3;
    bool found;
    TRY(map_columns(c, places, &found, e));
    double *X = mem_doubles(SIDE * SIDE, c->D), *room = mem_doubles(SIDE * SIDE, K);
    anygp_status status = X && room ? ANYGP_OK : fail_memory(e, "a map", 8.0 * SIDE * SIDE * (double)(c->D + K));
    if (!ANYGP_FAILED(status)) {
        place_cells(c, places, X);
        status = scene_is_class(c) ? map_classes(c, f, places, X, room, e) : map_numbers(c, f, places, X, room, e);
    }
    free(X);
    free(room);
    return status;
}

const picture picture_map = {
    .name = "map",
    .title = "Maps",
    .help = "mean and standard deviation over two inputs; --map a,b names them",
    .reading = "Other inputs are at their medians. Where a map has white dots, they are rows: far from them the model "
               "knows least.",
    .needs = "two inputs that are numbers, or --map a,b",
    .applies = applies,
    .draw = draw,
};
