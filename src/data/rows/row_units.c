#include "data/rows/row_units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/table/dataset_targets.h"
#include "data/table/intake.h"
#include "data/text/number.h"

static const double WEIGHT_MOST = 1e15;

/* -------------------------------------------------------------------------------------------- use */

static double chance(uint64_t seed, int64_t row)
{
    return random_uniform((random_stream){seed, RANDOM_SPLIT, 0}, (uint64_t)row);
}

bool rows_held(uint64_t seed, int64_t row, double share) { return share > 0 && chance(seed, row) < share; }

static bool is_in(const rows_part *p, int64_t row)
{
    if (p->hold_out <= 0 && p->below <= 0) return true;
    double x = chance(p->seed, row);
    return x >= p->hold_out && (p->below <= 0 || x < p->below);
}

static double weight_of(const double *row, const target_columns *y)
{
    double w = y->weights < 0 ? 1 : row[y->weights];
    return y->factor ? w * y->factor(y->factor_ctx, row[y->target[0]]) : w;
}

static bool some_missing(const double *row, const target_columns *y)
{
    for (int64_t t = 0; t < y->targets; t++)
        if (isnan(row[y->target[t]])) return true;
    return false;
}

/* The column of a target that cannot be squared, or -1. */
static int64_t large_target(const double *row, const target_columns *y)
{
    for (int64_t t = 0; t < y->targets && !y->classes && !y->scored; t++)
        if (fabs(row[y->target[t]]) > TARGET_LARGEST) return y->target[t];
    return -1;
}

/* By the likelihood, or by the transform. */
static const char *objection_to(const target_columns *y, int64_t t, double value)
{
    const char *wrong = y->objection ? y->objection(y->objection_ctx, value) : NULL;
    return wrong || !y->warp ? wrong : warp_objection(&y->warp[t], value);
}

/* The first target that there is an objection to, and which; -1: none. */
static int64_t bad_target(const double *row, const target_columns *y, const char **wrong)
{
    for (int64_t t = 0; t < y->targets && !y->classes; t++)
        if ((*wrong = objection_to(y, t, row[y->target[t]]))) return y->target[t];
    return -1;
}

static bool bad_exposure(const double *row, const target_columns *y)
{
    return y->exposure >= 0 && intake_exposure(row[y->exposure]);
}

static bool unknown_class(const row_units *u, const double *row)
{
    for (int64_t t = 0; t < u->part.y.targets && u->codes; t++)
        if (class_code(&u->codes[t], row[u->target[t]]) < 0) return true;
    return false;
}

static row_use use_of_targets(const row_units *u, const double *row)
{
    const target_columns *y = &u->part.y;
    const char *wrong;
    double w = weight_of(row, y);
    if (!(w >= 0 && w <= WEIGHT_MOST)) return ROW_BAD_WEIGHT;
    if (w == 0) return ROW_NO_WEIGHT;
    if (some_missing(row, y)) return ROW_NO_TARGET;
    if (bad_exposure(row, y)) return ROW_BAD_EXPOSURE;
    if (large_target(row, y) >= 0) return ROW_LARGE_TARGET;
    if (bad_target(row, y, &wrong) >= 0) return ROW_BAD_TARGET;
    return unknown_class(u, row) ? ROW_UNKNOWN_CLASS : ROW_USED;
}

/* The cells of longitude and latitude: of the columns of X, or where all columns count as inputs, by their inputs. */
static const cell_units *sphere_cell(const row_units *u, bool lat)
{
    const sphere_spec *s = &u->sphere;
    return &u->x[s->at >= 0 ? s->at + lat : lat ? s->lat : s->lon];
}

static const cell_units *off_sphere(const row_units *u, const double *row)
{
    if (!u->sphere.on) return NULL;
    const cell_units *lon = sphere_cell(u, false), *lat = sphere_cell(u, true);
    double a = row[lon->number], b = row[lat->number];
    if (!isnan(a) && !sphere_longitude(a)) return lon;
    return isnan(b) || sphere_latitude(b) ? NULL : lat;
}

/* The first input that cannot be used, or NULL. */
static const cell_units *bad_input(const row_units *u, const double *row)
{
    for (int64_t j = 0; j < u->D; j++) {
        double x = row[u->x[j].number];
        if (!isfinite(x) && !(isnan(x) && u->fill_missing)) return &u->x[j];
    }
    return off_sphere(u, row);
}

row_use row_units_use(const row_units *u, int64_t number, const double *row)
{
    if (!is_in(&u->part, number)) return ROW_HELD_OUT;
    row_use use = u->part.y.targets               ? use_of_targets(u, row)
                  : bad_exposure(row, &u->part.y) ? ROW_BAD_EXPOSURE
                                                  : ROW_USED;
    return use == ROW_USED && bad_input(u, row) ? ROW_BAD_INPUT : use;
}

/* -------------------------------------------------------------------------------------- sentences */

/* "'age'" or "2" where there is no name. */
static const char *label_of(const row_units *u, int64_t j, char *buffer)
{
    return schema_label(&(input_spec){.name = u->columns ? u->columns[j].name : NULL, .number = j}, buffer);
}

/* "a, b, c" or "a, b, ...". */
static void list_classes(const schema *s, char *to, size_t size)
{
    size_t used = 0;
    for (int64_t k = 0; k < s->classes; k++) {
        const char *name = s->class_name[k];
        bool fits = used + strlen(name) + sizeof ", ..." + 1 < size;
        used += (size_t)snprintf(to + used, size - used, "%s%s", k ? ", " : "", fits ? name : "...");
        if (!fits) return;
    }
}

static anygp_status refuse_class(const row_units *u, const schema *s, int64_t number, const double *row, anygp_error *e)
{
    char list[200] = "", printed[NUMBER_TEXT_MOST + 1];
    double cell = row[u->target[0]];
    const column *c = u->columns ? &u->columns[u->target[0]] : NULL;
    bool text = c && c->kind == COLUMN_TEXT && cell >= 0 && cell < (double)c->levels; /* arrays have any number there */
    list_classes(s, list, sizeof list);
    printed[number_print(cell, printed)] = 0;
    return fail_with(e, ANYGP_ERR_DATA, "row %lld: the model does not know the label '%.80s'; its classes are %s",
                     (long long)number + 1, text ? c->level[(int64_t)cell] : printed, list);
}

static anygp_status refuse_target(const row_units *u, int64_t number, const double *row, anygp_error *e)
{
    char label[96];
    const char *wrong = "";
    int64_t j = bad_target(row, &u->part.y, &wrong);
    return fail_with(e, ANYGP_ERR_DATA, "row %lld, column %s: the target %.15g %s", (long long)number + 1,
                     label_of(u, j, label), row[j], wrong);
}

static anygp_status refuse_input(const row_units *u, const schema *s, int64_t number, const double *row, anygp_error *e)
{
    char label[96];
    const cell_units *c = bad_input(u, row);
    bool missing = isnan(row[c->number]);
    if (isfinite(row[c->number]))
        return fail_with(e, ANYGP_ERR_DATA,
                         "row %lld, column %s: %.15g is no %s; correct it, drop the row, or fit without --sphere",
                         (long long)number + 1, schema_label(&s->input[c->input], label), row[c->number],
                         c->input == u->sphere.lat ? "latitude, which is from -90 to 90 degrees"
                                                   : "longitude, which is from -180 to below 540 degrees");
    return fail_with(e, ANYGP_ERR_DATA, "row %lld, column %s: the input is %s", (long long)number + 1,
                     schema_label(&s->input[c->input], label),
                     missing ? "missing; fill it, drop the row, or use --missing mean"
                             : "infinite; correct it, or drop the row");
}

anygp_status row_units_refuse(const row_units *u, const schema *s, row_use use, int64_t number, const double *row,
                              anygp_error *e)
{
    const target_columns *y = &u->part.y;
    long long place = (long long)number + 1;
    char label[96];
    if (use == ROW_BAD_WEIGHT)
        return fail_with(e, ANYGP_ERR_DATA, "row %lld has the weight %g; weights must be numbers from 0 to 1e15", place,
                         weight_of(row, y));
    if (use == ROW_BAD_EXPOSURE)
        return fail_with(e, ANYGP_ERR_DATA, "row %lld, column %s: the exposure %s; correct it, or drop the row", place,
                         label_of(u, y->exposure, label), intake_exposure(row[y->exposure]));
    if (use == ROW_LARGE_TARGET)
        return fail_with(e, ANYGP_ERR_DATA, "row %lld: the target %g is too large (over %g); rescale the target column",
                         place, row[large_target(row, y)], TARGET_LARGEST);
    if (use == ROW_BAD_TARGET) return refuse_target(u, number, row, e);
    return use == ROW_UNKNOWN_CLASS ? refuse_class(u, s, number, row, e) : refuse_input(u, s, number, row, e);
}

/* ------------------------------------------------------------------------------------- conversion */

double row_units_weight(const row_units *u, const double *row) { return weight_of(row, &u->part.y); }

static double filled(const cell_units *c, const double *row) { return intake_cell(row[c->number], c->fill); }

void row_units_inputs(const row_units *u, const double *row, double *x)
{
    const sphere_spec *s = &u->sphere;
    double lon = s->on ? filled(sphere_cell(u, false), row) : 0, lat = s->on ? filled(sphere_cell(u, true), row) : 0;
    for (int64_t j = 0; j < u->D; j++) {
        const cell_units *c = &u->x[j];
        if (sphere_has(s, j)) continue;
        double cell = row[c->number];
        if (c->level && !isnan(cell)) cell = c->level[(int64_t)cell];
        double scaled = schema_scale(intake_cell(cell, c->fill), c->shift, c->scale);
        x[j] = scaled > u->most ? u->most : scaled < -u->most ? -u->most : scaled;
    }
    if (s->on) sphere_to_model(s, lon, lat, x + s->at);
}

void row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w)
{
    const target_columns *c = &u->part.y;
    targets_take(c, u->codes, row, y);
    for (int64_t t = 0, width = target_width(c); t < c->targets; t++) {
        warp g = c->scored ? (warp){0} : target_warp(c, t);
        y[t * width] = schema_scale(warp_forward(&g, y[t * width]), u->unit[t].shift, u->unit[t].scale);
    }
    *w = weight_of(row, c);
    row_units_inputs(u, row, x);
}

anygp_status row_units_take(const row_units *u, const schema *s, int64_t number, const double *row, double *x,
                            double *y, double *w, row_use *use, anygp_error *e)
{
    *use = row_units_use(u, number, row);
    if (row_refused(*use)) return row_units_refuse(u, s, *use, number, row, e);
    if (*use == ROW_USED) row_units_convert(u, row, x, y, w);
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- making */

void row_units_clear(row_units *u)
{
    target_codes_free(u->codes, u->part.y.targets);
    free(u->x);
    free(u->target);
    free(u->unit);
    *u = (row_units){0};
}

/* Inputs that have a position, or all. */
static anygp_status take_inputs(const schema *s, bool all, const int64_t *column_of, row_units *u, anygp_error *e)
{
    u->fill_missing = s->fill_missing;
    u->sphere = s->sphere;
    if (all) u->sphere.at = -1;
    if (!(u->x = mem_alloc(s->inputs + 1, sizeof *u->x)))
        return fail_memory(e, "column scales", (double)s->inputs * sizeof *u->x);
    for (int64_t k = 0, n = all ? s->inputs : s->D; k < n; k++) {
        int64_t i = all ? k : s->at[k]; /* the sphere's third column: latitude again */
        const input_spec *c = &s->input[i];
        int64_t number = column_of ? column_of[i] : c->number;
        u->x[u->D++] = (cell_units){number, i, c->shift, c->scale, c->fill, NULL};
    }
    return ANYGP_OK;
}

static anygp_status take_targets(const rows_part *part, row_units *u, anygp_error *e)
{
    int64_t T = part->y.targets;
    u->part = *part;
    u->part.y.targets = 0;
    u->target = mem_alloc(T, sizeof *u->target);
    u->unit = mem_alloc(T, sizeof *u->unit);
    if (!u->target || !u->unit) return fail_memory(e, "the targets", 24.0 * (double)T);
    if (T) memcpy(u->target, part->y.target, (size_t)T * sizeof *u->target);
    for (int64_t t = 0; t < T; t++) u->unit[t] = (target_scale){0, 1};
    u->part.y.targets = T, u->part.y.target = u->target;
    u->Q = target_numbers(&u->part.y);
    return ANYGP_OK;
}

anygp_status row_units_make_raw(const schema *s, const rows_part *part, const column *columns, row_units *u,
                                anygp_error *e)
{
    *u = (row_units){.columns = columns, .most = INFINITY};
    anygp_status status = take_inputs(s, true, NULL, u, e);
    if (!ANYGP_FAILED(status)) status = take_targets(part, u, e);
    if (ANYGP_FAILED(status)) row_units_clear(u);
    return status;
}

anygp_status row_units_make(const dataset *d, const rows_part *part, const column *columns, const int64_t *column_of,
                            row_units *u, anygp_error *e)
{
    *u = (row_units){.columns = columns, .most = INFINITY};
    anygp_status status = take_inputs(&d->schema, false, column_of, u, e);
    if (!ANYGP_FAILED(status)) status = take_targets(part, u, e);
    for (int64_t t = 0; !ANYGP_FAILED(status) && t < part->y.targets && !part->y.scored; t++) {
        const schema *s = dataset_target(d, t);
        u->unit[t] = (target_scale){s->y_shift, s->y_scale};
    }
    if (!ANYGP_FAILED(status)) status = target_codes_make(d, columns, &u->part.y, &u->codes, e);
    if (ANYGP_FAILED(status)) row_units_clear(u);
    return status;
}

anygp_status row_units_follow(row_units *u, const schema *s, anygp_error *e)
{
    return u->codes ? class_codes_follow(u->codes, s, &u->columns[u->target[0]], e) : ANYGP_OK;
}
