/* How the inputs of rows compare with those of the training rows: the sums, row by row, and what they come to. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gp/check.h"

static const double FAR = 4; /* training standard deviations from the training mean */

anygp_status input_sums_open(input_sums *u, const schema *s, anygp_error *e)
{
    *u = (input_sums){.s = s};
    double **const columns[] = {&u->sum, &u->square, &u->far, &u->unseen};
    bool ok = true;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        ok = (*columns[i] = mem_zeroed(s->D, sizeof(double))) && ok;
    return ok ? ANYGP_OK : fail_memory(e, "the check", 32.0 * (double)s->D);
}

void input_sums_clear(input_sums *u)
{
    double *const owned[] = {u->sum, u->square, u->far, u->unseen};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

void input_sums_add(input_sums *u, const double *x)
{
    bool far = false;
    for (int64_t j = 0; j < u->s->D; j++) {
        const input_spec *in = schema_at(u->s, j);
        if (in->text)
            u->unseen[j] += x[j] >= (double)in->levels;
        else {
            u->sum[j] += x[j], u->square[j] += x[j] * x[j];
            u->far[j] += fabs(x[j]) > FAR;
            far |= fabs(x[j]) > FAR;
        }
    }
    u->far_rows += far;
    u->rows++;
}

int64_t input_sums_count(const schema *s) { return s->D - (s->sphere.on ? SPHERE_COLUMNS - 1 : 0); }

/* A place is one input: how far the mean of its columns has moved, and their spread. */
static void finish_sphere(const input_sums *u, double n, bool scaled, check_input *in)
{
    const sphere_spec *p = &u->s->sphere;
    double mean = 0, variance = 0;
    *in = (check_input){.spec = &u->s->input[p->lon], .known = scaled};
    for (int64_t j = p->at; j < p->at + SPHERE_COLUMNS; j++) {
        double m = u->sum[j] / n;
        mean += m * m, variance += fmax(u->square[j] / n - m * m, 0) / SPHERE_COLUMNS;
        in->far = fmax(in->far, u->far[j] / n);
    }
    in->mean = sqrt(mean), in->sd = sqrt(variance);
}

void input_sums_finish(const input_sums *u, const settings *fitted, check_input *list, double *far)
{
    bool scaled = settings_is(fitted, SET_STANDARDIZE, "both") || settings_is(fitted, SET_STANDARDIZE, "x");
    double n = fmax(u->rows, 1);
    for (int64_t j = 0; j < input_sums_count(u->s); j++) {
        double mean = u->sum[j] / n;
        list[j] =
            (check_input){.spec = schema_at(u->s, j), .mean = mean, .far = u->far[j] / n, .unseen = u->unseen[j] / n};
        list[j].sd = sqrt(fmax(u->square[j] / n - mean * mean, 0));
        list[j].known = list[j].spec->text || scaled;
    }
    if (u->s->sphere.on) finish_sphere(u, n, scaled, &list[u->s->sphere.at]);
    *far = scaled ? u->far_rows / n : NAN;
}
