/* Two inputs that are coordinates of a place in one unit, by their names: whether they have one length-scale or one each, where the user gave no
   kernel.  The evidence of exact models of a subset decides: one length-scale, unless the other is better by more than log(n) / 2, the price of a
   parameter (Schwarz 1978). */
#include <math.h>
#include <strings.h>

#include "gp/fit.h"

static const char *const pairs[][2] = {
    {"x", "y"},           {"east", "north"},       {"easting", "northing"}, {"utm_x", "utm_y"},
    {"utme", "utmn"},     {"x_km", "y_km"},        {"x_m", "y_m"},          {"e", "n"},
    {"xcoord", "ycoord"}, {"east_km", "north_km"}, {"xloc", "yloc"}};
enum { LEAST = 20 };

/* The two inputs of the table; false: there are more, or fewer. */
static bool two_numbers(const table *t, const fit_columns *c, const column *found[2])
{
    int64_t count = 0;
    for (int64_t j = 0; j < t->cols; j++) {
        if (c->skip[j] || j == c->weights) continue;
        if (t->columns[j].kind != COLUMN_NUMBER || c->category[j] || count == 2) return false;
        found[count++] = &t->columns[j];
    }
    return count == 2 && found[0]->name && found[1]->name;
}

static bool are_places(const column *const two[2])
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int k = 0; k < 2; k++)
            if (!strcasecmp(two[k]->name, pairs[i][0]) && !strcasecmp(two[1 - k]->name, pairs[i][1])) return true;
    return false;
}

static anygp_status compare(fit_subset *u, const warp *g, double *each, double *one, anygp_error *e)
{
    *each = fit_subset_evidence(u, g);
    TRY(fit_subset_kernel(u, "matern52(iso)", e));
    *one = fit_subset_evidence(u, g);
    return ANYGP_OK;
}

anygp_status fit_isotropic(const gp_data *data, const fit_columns *c, const settings *s, settings **out, anygp_error *e)
{
    const column *two[2];
    fit_subset u;
    double each = NAN, one = NAN;
    *out = NULL;
    if (settings_given(s, SET_KERNEL) || settings_changed(s, SET_LIKELIHOOD) || c->targets > 1) return ANYGP_OK;
    if (!two_numbers(data->table, c, two) || !are_places(two) || fit_columns_sphere(c)) return ANYGP_OK;
    TRY(fit_subset_take(data, s, c, 0, &u, e));
    warp g = c->warp ? c->warp[0] : (warp){0};
    anygp_status status = u.rows.rows < LEAST ? ANYGP_OK : compare(&u, &g, &each, &one, e);
    double n = u.total;
    fit_subset_clear(&u);
    if (ANYGP_FAILED(status) || !(one + 0.5 * log(n) > each)) return status;
    if (!(*out = settings_copy(s))) return fail_memory(e, "the settings", 0);
    settings_log(s, ANYGP_NOTE,
                 "'%s' and '%s' are coordinates of a place and get one length-scale: log evidence of %.15g rows %.1f, "
                 "with one each %.1f; --kernel matern52 gives each its own",
                 two[0]->name, two[1]->name, n, one, each);
    return settings_set(*out, "kernel", "matern52(iso)", e);
}
