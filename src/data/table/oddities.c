/* Extreme values far from all others (oddities.h): three passes over the rows, so that a value of 1e300 does not drown the
   variance of the rest. */
#include "data/table/oddities.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { ROWS_LEAST = 20, REPEATED_SDS = 10, ALONE_SDS = 1000, CODES_MOST = 8 };

typedef struct extreme {
    double value;
    int64_t times, row;
} extreme;

typedef struct column_view {
    extreme low, high;
    int64_t present, inner; /* cells; those between the extremes */
    int codes; /* how many different whole numbers these are; above CODES_MOST: more, or not only whole ones */
    double code[CODES_MOST];
    double sum, squares; /* of the inner ones; squares of their deviations */
} column_view;

static void meet(extreme *x, double cell, int64_t row, bool beyond)
{
    if (x->times == 0 || beyond)
        *x = (extreme){cell, 1, row};
    else
        x->times += cell == x->value;
}

static void see_extremes(column_view *v, double cell, int64_t row)
{
    v->present++;
    meet(&v->low, cell, row, cell < v->low.value);
    meet(&v->high, cell, row, cell > v->high.value);
}

static void see_code(column_view *v, double cell)
{
    if (v->codes > CODES_MOST) return;
    for (int k = 0; k < v->codes; k++)
        if (v->code[k] == cell) return;
    if (cell != floor(cell) || v->codes == CODES_MOST)
        v->codes = CODES_MOST + 1;
    else
        v->code[v->codes++] = cell;
}

typedef enum view_pass { PASS_EXTREMES, PASS_SUM, PASS_SQUARES } view_pass;

static void see_cell(column_view *v, view_pass pass, double cell, int64_t row)
{
    if (isnan(cell)) return;
    if (pass == PASS_EXTREMES) {
        see_extremes(v, cell, row);
        return;
    }
    if (cell == v->low.value || cell == v->high.value) return;
    double t = cell - v->sum / (double)v->inner;
    if (pass == PASS_SUM)
        v->sum += cell, v->inner++, see_code(v, cell);
    else
        v->squares += t * t;
}

/* 99, -9999 and the like. */
static bool is_nines(double x)
{
    for (double nines = 99; nines < 1e16; nines = 10 * nines + 9)
        if (fabs(x) == nines) return true;
    return false;
}

/* Of a few codes, such as the zones 3, 7, 12 and 40, one may be far from the others and mean no less. */
static oddity judge(const column_view *v, const extreme *x)
{
    if (v->codes <= CODES_MOST && x->times > 1 && x->value >= 0 && !is_nines(x->value)) return (oddity){0};
    double mean = v->sum / (double)v->inner, sd = sqrt(v->squares / (double)v->inner);
    double sds = fabs(x->value - mean) / sd, least = x->times > 1 ? REPEATED_SDS : ALONE_SDS;
    if (!(sd > 0) || !isfinite(sds) || sds < least) return (oddity){0};
    return (oddity){x->value, x->times, x->row, sds};
}

/* The farther one, if both are far. */
static oddity judge_column(const column_view *v)
{
    if (v->present < ROWS_LEAST || 2 * v->inner < v->present) return (oddity){0};
    oddity low = judge(v, &v->low), high = judge(v, &v->high);
    return high.sds > low.sds ? high : low;
}

anygp_status oddities_find(int64_t rows, int64_t cols, const double *values, const bool *look, oddity *out,
                           anygp_error *e)
{
    column_view *v = mem_zeroed(cols, sizeof *v);
    if (!v) return fail_memory(e, "the columns", (double)cols * sizeof *v);
    for (view_pass pass = PASS_EXTREMES; pass <= PASS_SQUARES; pass++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                if (look[j]) see_cell(&v[j], pass, values[i * cols + j], i);
    for (int64_t j = 0; j < cols; j++) out[j] = look[j] ? judge_column(&v[j]) : (oddity){0};
    free(v);
    return ANYGP_OK;
}
