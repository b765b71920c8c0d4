/* Opening and closing a scene, names, and the columns that matter. */
#include "report/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "draw/draw.h"

/* -------------------------------------------------------------------------------------- names */

enum {
    LONG_NAME = 24,
    FIRST_PART = 8,
    WORD_MOST = 12
}; /* bytes: what a picture has room for, and what is kept of its beginning */

static const input_spec *input_at(const scene *c, int64_t j) { return schema_at(&c->g->schema, j); }

const char *scene_input(const scene *c, int64_t j, char label[SCENE_LABEL])
{
    const input_spec *in = input_at(c, j);
    if (in->name && *in->name)
        snprintf(label, SCENE_LABEL, "%.100s", in->name);
    else
        snprintf(label, SCENE_LABEL, "column %lld", (long long)in->number);
    return label;
}

/* How many bytes the names of two columns have in common at their beginning, at most: to there a name tells nothing. */
static size_t common_beginning(const scene *c, int64_t j, const char *name)
{
    size_t most = 0;
    for (int64_t k = 0; k < c->D; k++) {
        const char *other = input_at(c, k)->name;
        size_t n = 0;
        while (k != j && other && name[n] && name[n] == other[n]) n++;
        if (n > most) most = n;
    }
    return most;
}

/* Back to where a word begins, or a character. */
static size_t word_begin(const char *name, size_t at)
{
    size_t back = at, least = at > WORD_MOST ? at - WORD_MOST : 0;
    while (back > least && !strchr("_ .-:/", name[back - 1])) back--;
    if (back == least) back = at;
    while (back > 0 && ((unsigned char)name[back] & 0xc0) == 0x80) back--;
    return back;
}

const char *scene_short_input(const scene *c, int64_t j, char label[SCENE_LABEL])
{
    const char *name = input_at(c, j)->name;
    size_t begin = name && strlen(name) > LONG_NAME ? word_begin(name, common_beginning(c, j, name)) : 0;
    if (begin <= LONG_NAME / 2) return scene_input(c, j, label);
    size_t first = word_begin(name, FIRST_PART);
    snprintf(label, SCENE_LABEL, "%.*s\xe2\x80\xa6%.90s", (int)first, name, name + begin);
    return label;
}

static const char *with_unit(cell_notation n, const char *unit, char label[SCENE_LABEL])
{
    const char *sign = *unit ? unit : n == NOTATION_PERCENT || n == NOTATION_PERCENT_COMMA ? "%" : "";
    size_t used = strlen(label);
    if (*sign) snprintf(label + used, SCENE_LABEL - used, " (%s)", sign);
    return label;
}

const char *scene_axis(const scene *c, int64_t j, char label[SCENE_LABEL])
{
    const input_spec *in = input_at(c, j);
    scene_short_input(c, j, label);
    return with_unit(in->notation, in->unit, label);
}

const char *scene_target_axis(const scene *c, char label[SCENE_LABEL])
{
    scene_target(c, label);
    return with_unit(c->g->schema.target_notation, c->g->schema.target_unit, label);
}

const char *scene_target(const scene *c, char label[SCENE_LABEL])
{
    const schema *s = &c->g->schema;
    if (s->target && *s->target)
        snprintf(label, SCENE_LABEL, "%.100s", s->target);
    else
        snprintf(label, SCENE_LABEL, "target");
    return label;
}

bool scene_is_text(const scene *c, int64_t j) { return input_at(c, j)->text; }
bool scene_is_date(const scene *c, int64_t j) { return notation_is_date(input_at(c, j)->notation); }

const char *scene_number(const scene *c, int64_t j, double value, char label[SCENE_LABEL])
{
    enum { TO_THE_DAY = 2, TO_THE_MINUTE };
    if (scene_is_date(c, j) && fabs(value) < 3.6e6)
        date_text(value, value == floor(value) ? TO_THE_DAY : TO_THE_MINUTE, label, SCENE_LABEL);
    else
        number_text(value, 5, label, SCENE_LABEL);
    return label;
}

const char *scene_level(const scene *c, int64_t j, double x, char label[SCENE_LABEL])
{
    const input_spec *in = input_at(c, j);
    int64_t k = (int64_t)x;
    const char *name = k >= 0 && k < in->levels ? in->level[k] : "(new category)";
    snprintf(label, SCENE_LABEL, "%.100s", *name ? name : "(missing)");
    return label;
}

/* Of column j; degrees where it is one of a place. */
static target_scale unit_at(const scene *c, int64_t j)
{
    const input_spec *in = input_at(c, j);
    if (!sphere_has(&c->g->schema.sphere, j)) return (target_scale){in->shift, in->scale};
    double range = in->upper - in->lower;
    return range > 0 ? (target_scale){(in->lower + in->upper) / 2, range / 4} : (target_scale){in->fill, 1};
}

double scene_value(const scene *c, int64_t j, double x)
{
    target_scale u = unit_at(c, j);
    return scene_is_text(c, j) ? x : u.shift + u.scale * x;
}

double scene_place(const scene *c, int64_t j, double x)
{
    target_scale u = unit_at(c, j);
    return scene_is_text(c, j) ? x : schema_scale(x, u.shift, u.scale);
}

/* Longitudes are in the range that the training rows had: around 0, or around 180. */
void scene_from_model(const scene *c, const double *model, double *x)
{
    const schema *s = &c->g->schema;
    double lon, lat;
    int64_t plain = s->sphere.on ? s->sphere.at : s->D;
    if (plain) memcpy(x, model, (size_t)plain * sizeof *x);
    if (!s->sphere.on) return;
    sphere_from_model(&s->sphere, model + plain, &lon, &lat);
    if (s->input[s->sphere.lon].upper > 180 && lon < 0) lon += 360;
    if (s->input[s->sphere.lon].upper > 360 && lon < s->input[s->sphere.lon].lower) lon += 360;
    x[plain] = scene_place(c, plain, lon), x[plain + 1] = scene_place(c, plain + 1, lat);
}

void scene_to_model(const scene *c, const double *x, double *model)
{
    const schema *s = &c->g->schema;
    int64_t plain = s->sphere.on ? s->sphere.at : s->D;
    if (plain) memcpy(model, x, (size_t)plain * sizeof *x);
    if (s->sphere.on)
        sphere_to_model(&s->sphere, scene_value(c, plain, x[plain]), scene_value(c, plain + 1, x[plain + 1]),
                        model + plain);
}

bool scene_is_class(const scene *c) { return gp_is_class(c->g); }
bool scene_is_count(const scene *c) { return c->g->likelihood->ops->target == TARGET_COUNT; }

int64_t scene_some(const scene *c, int64_t most, int64_t *rows)
{
    int64_t m = c->n < most ? c->n : most;
    random_subset((random_stream){.use = RANDOM_REPORT, .sub = 1}, c->n, m, rows);
    return m;
}

/* ------------------------------------------------------------------- typical values and ranges */

static const double TAIL = 0.01; /* of the rows that a range leaves out on either side */

static double most_frequent(int64_t m, const double *sorted)
{
    double best = sorted[0];
    for (int64_t i = 0, first = 0, longest = 0; i < m; i++) {
        if (sorted[i] != sorted[first]) first = i;
        if (i - first + 1 > longest) longest = i - first + 1, best = sorted[i];
    }
    return best;
}

static void describe_column(scene *c, int64_t j, int64_t m, const int64_t *rows, double *sorted)
{
    int64_t D = c->D;
    for (int64_t i = 0; i < m; i++) sorted[i] = c->X[rows[i] * D + j];
    qsort(sorted, (size_t)m, sizeof *sorted, by_double);
    int64_t tail = (int64_t)(TAIL * (double)m);
    c->from[j] = sorted[tail], c->to[j] = sorted[m - 1 - tail];
    c->typical[j] = scene_is_text(c, j) ? most_frequent(m, sorted) : sorted[m / 2];
}

/* Without rows, what the model knows of those it was fitted to: columns were brought to mean 0 and sd 1. */
static void assume_column(scene *c, int64_t j)
{
    const input_spec *in = input_at(c, j);
    c->typical[j] = in->text ? 0 : scene_place(c, j, in->fill);
    if (!isfinite(c->typical[j])) c->typical[j] = 0;
    c->from[j] = in->text ? 0 : c->typical[j] - 2;
    c->to[j] = in->text ? (double)(in->levels - 1) : c->typical[j] + 2;
}

static anygp_status describe_columns(scene *c, anygp_error *e)
{
    enum { ENOUGH = 2000 };
    int64_t D = c->D, *rows = mem_alloc(ENOUGH, sizeof *rows);
    double *sorted = mem_alloc(ENOUGH, sizeof *sorted);
    if (rows && sorted) {
        int64_t m = scene_some(c, ENOUGH, rows);
        for (int64_t j = 0; j < D; j++) m ? describe_column(c, j, m, rows, sorted) : assume_column(c, j);
    }
    bool ok = rows && sorted;
    free(rows);
    free(sorted);
    return ok ? ANYGP_OK : fail_memory(e, "the inputs of a report", 16.0 * ENOUGH);
}

/* ---------------------------------------------------------------------------- which inputs matter */

typedef struct ranked_column {
    double less; /* minus what it is ranked by */
    int64_t j;
} ranked_column;

static anygp_status sort_columns(scene *c, const double *by, anygp_error *e)
{
    int64_t D = c->D;
    ranked_column *list = mem_alloc(D, sizeof *list);
    if (!list) return fail_memory(e, "the inputs of a report", 16.0 * (double)D);
    for (int64_t j = 0; j < D; j++) list[j] = (ranked_column){-by[j] + 0.0, j};
    qsort(list, (size_t)D, sizeof *list, by_double);
    for (int64_t j = 0; j < D; j++) c->ranked[j] = list[j].j;
    free(list);
    return ANYGP_OK;
}

enum { STOPS = 5 };

/* How far the prediction moves while one input goes through its range and all others are typical. */
static anygp_status movements(scene *c, double *moved, anygp_error *e)
{
    int64_t D = c->D, K = scene_is_class(c) ? c->g->schema.classes : 1;
    double *X = mem_doubles(STOPS, D), *out = mem_doubles(STOPS, K);
    anygp_status status = X && out ? ANYGP_OK : fail_memory(e, "the inputs of a report", 8.0 * STOPS * (double)(D + K));
    for (int64_t j = 0; j < D && !ANYGP_FAILED(status); j++) {
        for (int64_t i = 0; i < STOPS; i++) {
            double share = (double)i / (STOPS - 1), x = c->from[j] + share * (c->to[j] - c->from[j]);
            memcpy(X + i * D, c->typical, (size_t)D * sizeof *X);
            X[i * D + j] = scene_is_text(c, j) ? floor(x) : x;
        }
        status = K > 1 ? scene_ask_classes(c, STOPS, X, out, e) : scene_ask(c, STOPS, X, out, NULL, NULL, e);
        moved[j] = 0;
        for (int64_t k = 0; k < K && !ANYGP_FAILED(status); k++) {
            double low = out[k * STOPS], high = low;
            for (int64_t i = 1; i < STOPS; i++)
                low = fmin(low, out[i + k * STOPS]), high = fmax(high, out[i + k * STOPS]);
            moved[j] += high - low;
        }
    }
    free(X);
    free(out);
    return status;
}

/* By length-scales where the columns have their own; else by what the prediction does. */
static anygp_status rank_columns(scene *c, anygp_error *e)
{
    int64_t D = c->D;
    kernel *k = c->g->posterior->kernel;
    double *moved = mem_alloc(D, sizeof *moved);
    if (!moved) return fail_memory(e, "the inputs of a report", 8.0 * (double)D);
    kernel_closeness(k, kernel_values(k), c->relevance);
    for (int64_t j = 1; j < D; j++) c->scaled = c->scaled || fabs(c->relevance[j] / c->relevance[0] - 1) > 1e-9;
    for (int64_t j = 0; j < D; j++)
        if (!isfinite(c->relevance[j])) c->relevance[j] = 0;
    anygp_status status = c->scaled ? sort_columns(c, c->relevance, e) : movements(c, moved, e);
    if (!c->scaled && !ANYGP_FAILED(status)) status = sort_columns(c, moved, e);
    free(moved);
    return status;
}

/* -------------------------------------------------------------------------------- open and close */

static anygp_status open_columns(scene *c, anygp_error *e)
{
    int64_t D = c->D;
    double **const owned[] = {&c->typical, &c->from, &c->to, &c->relevance};
    bool ok = (c->ranked = mem_zeroed(D, sizeof *c->ranked)) != NULL;
    for (int i = 0; i < 4; i++) ok = (*owned[i] = mem_zeroed(c->g->schema.D, sizeof(double))) && ok;
    if (!ok) return fail_memory(e, "the inputs of a report", 40.0 * (double)D);
    TRY(describe_columns(c, e));
    return rank_columns(c, e);
}

anygp_status scene_open(const gp_set *m, int64_t target, const settings *s, const char *path, double held, bool fitted,
                        scene **out, anygp_error *e)
{
    scene *c = calloc(1, sizeof *c);
    anygp_status status;
    *out = NULL;
    if (!c) return fail_memory(e, "a report", sizeof *c);
    const gp *g = m->gp[target];
    c->fit = m->settings;
    c->standard = settings_is(m->settings, SET_STANDARDIZE, "both") || settings_is(m->settings, SET_STANDARDIZE, "x");
    c->D = scene_columns(g);
    c->g = g, c->s = s, c->path = path, c->held = held, c->fitted = fitted;
    TRY_DONE(predictor_new(g, gp_block_budget(s), &c->predictor, e));
    if (path) TRY_DONE(scene_read(c, e));
    TRY_DONE(scene_predict(c, e));
    TRY_DONE(open_columns(c, e));
    *out = c;
    return status;
done:
    scene_close(c);
    return status;
}

void scene_close(scene *c)
{
    if (!c) return;
    double *const owned[] = {c->X,       c->exposure, c->y,     c->mean,        c->variance, c->low,
                             c->high,    c->below,    c->up_to, c->log_density, c->P,        c->unexplained,
                             c->typical, c->from,     c->to,    c->relevance,   c->model_X};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    predictor_free(c->predictor);
    free(c->number);
    free(c->ranked);
    free(c);
}
