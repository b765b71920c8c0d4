/* The places of a grid: N1 x N2 x ... of them along the inputs that vary, the first of which runs fastest,
       x_i(k) = lower + (upper - lower) k / (N_i - 1),    k = 0 ... N_i - 1,
   between the limits that are given, or over the range of the training rows, which the model file has.  The other inputs, which are
   constant in the training rows, keep their value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scanner.h"
#include "gp/feed.h"

static const double PLACES_MOST = 1e12;
enum { SIDE_MOST = 1000000000 };

typedef struct side {
    int64_t input, count;
    double lower, upper;
    cell_notation notation; /* limits of dates and times are written as such */
} side;

struct grid {
    int64_t inputs, sides, next, total;
    side *side;      /* sides */
    bool *varies;    /* inputs */
    double *fixed;   /* inputs: where the others stay */
    int64_t *number; /* inputs: of their columns in the training file */
    column *columns; /* inputs: the names are the schema's */
};

void grid_free(grid *g)
{
    if (!g) return;
    free(g->side);
    free(g->varies);
    free(g->fixed);
    free(g->number);
    free(g->columns);
    free(g);
}

/* ----------------------------------------------------------------------------------------- text */

static anygp_status take_count(scanner *s, int64_t *count)
{
    double x;
    scan_blanks(s);
    int64_t at = s->at;
    TRY(scan_number(s, &x));
    if (!(x >= 1 && x <= SIDE_MOST && x == floor(x)))
        return scan_fail(s, at, NULL, "the number of places along an input is a whole number from 1 to %d", SIDE_MOST);
    *count = (int64_t)x;
    return ANYGP_OK;
}

static const char limits_hint[] = "limits are written as in 100x100:0,10,40,50";

static anygp_status take_limit(scanner *s, cell_notation n, double *x)
{
    if (!notation_is_calendar(n)) return scan_number(s, x);
    const char *begin = s->text + s->at, *end = begin + strcspn(begin, ",");
    if (!notation_read(n, NULL, begin, end, x))
        return scan_fail(s, s->at,
                         n == NOTATION_TIME ? "write it as 14:30" : "write it as 2024-03-01 or 2024-03-01 14:30",
                         "expected %s", notation_noun(n));
    s->at = end - s->text;
    return ANYGP_OK;
}

static anygp_status take_limits(scanner *s, side *d, bool first)
{
    if (!first && !scan_take(s, ','))
        return scan_fail(s, s->at, limits_hint, "expected a comma and the limits of the next input");
    scan_blanks(s);
    int64_t at = s->at;
    TRY(take_limit(s, d->notation, &d->lower));
    if (!scan_take(s, ',')) return scan_fail(s, s->at, limits_hint, "expected a comma and the upper limit");
    scan_blanks(s);
    TRY(take_limit(s, d->notation, &d->upper));
    if (!isfinite(d->lower) || !isfinite(d->upper) || !(d->lower <= d->upper))
        return scan_fail(s, at, NULL, "the lower limit %g is not below the upper limit %g", d->lower, d->upper);
    return ANYGP_OK;
}

/* Counts, and limits where they are given; as many sides as the model has inputs that vary. */
static anygp_status read_text(grid *g, const char *text, bool *limits, anygp_error *e)
{
    scanner s = scan_text("grid", text, e);
    int64_t read = 0;
    double total = 1;
    do {
        int64_t count = 0;
        TRY(take_count(&s, &count));
        if (read < g->sides) g->side[read].count = count;
        total *= (double)count, read++;
    } while (scan_take(&s, 'x'));
    if (read != g->sides)
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "grid: '%.80s' has %lld side%s, and the model has %lld input%s that vary; for a grid over some "
            "of them make a table of places, with values for the others",
            text, (long long)read, read == 1 ? "" : "s", (long long)g->sides, g->sides == 1 ? "" : "s");
    if (total > PLACES_MOST) return fail_with(e, ANYGP_ERR_ARGUMENT, "grid: %.3g places are too many", total);
    g->total = (int64_t)total;
    *limits = scan_take(&s, ':');
    for (int64_t i = 0; *limits && i < g->sides; i++) TRY(take_limits(&s, &g->side[i], i == 0));
    return scan_end(&s);
}

/* ---------------------------------------------------------------------------------------- model */

/* A column may be constant for one target and not for another. */
static bool varies(const gp_set *m, int64_t input)
{
    for (int64_t t = 0; t < m->targets; t++)
        if (m->gp[t]->schema.input[input].position >= 0) return true;
    return false;
}

static anygp_status list_inputs(const gp_set *m, grid *g, anygp_error *e)
{
    const schema *s = &m->gp[0]->schema;
    char label[96];
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        g->columns[i] = (column){.name = c->name, .kind = COLUMN_NUMBER, .notation = c->notation};
        g->number[i] = c->number;
        g->varies[i] = varies(m, i);
        g->fixed[i] = c->text ? 0 : c->fill;
        if (!g->varies[i]) continue;
        if (c->text)
            return fail_with(e, ANYGP_ERR_ARGUMENT,
                             "grid: the input %s has categories, which have no range; make a table of places instead",
                             schema_label(c, label));
        g->side[g->sides++] = (side){.input = i, .lower = c->lower, .upper = c->upper, .notation = c->notation};
    }
    return ANYGP_OK;
}

static anygp_status check_ranges(const grid *g, anygp_error *e)
{
    for (int64_t i = 0; i < g->sides; i++)
        if (isnan(g->side[i].lower))
            return fail_with(
                e, ANYGP_ERR_ARGUMENT,
                "grid: the model file does not have the range of its inputs, as files of earlier versions; "
                "give limits, such as --grid 100x100:0,10,40,50");
    return ANYGP_OK;
}

anygp_status grid_new(const gp_set *m, const char *text, grid **out, anygp_error *e)
{
    int64_t inputs = m->gp[0]->schema.inputs;
    bool limits = false;
    grid *g = calloc(1, sizeof *g);
    if (!g) return fail_memory(e, "the grid", sizeof *g);
    g->inputs = inputs;
    g->side = mem_zeroed(inputs, sizeof *g->side);
    g->varies = mem_zeroed(inputs, sizeof *g->varies);
    g->fixed = mem_zeroed(inputs, sizeof *g->fixed);
    g->columns = mem_zeroed(inputs, sizeof *g->columns);
    g->number = mem_zeroed(inputs, sizeof *g->number);
    bool ok = g->side && g->varies && g->fixed && g->columns && g->number;
    anygp_status status = ok ? list_inputs(m, g, e) : fail_memory(e, "the grid", 64.0 * (double)inputs);
    if (!ANYGP_FAILED(status)) status = read_text(g, text, &limits, e);
    if (!ANYGP_FAILED(status) && !limits) status = check_ranges(g, e);
    if (ANYGP_FAILED(status))
        grid_free(g);
    else
        *out = g;
    return status;
}

/* ---------------------------------------------------------------------------------------- places */

static double place_of(const side *d, int64_t k)
{
    if (d->count == 1) return 0.5 * d->lower + 0.5 * d->upper;
    double share = (double)k / (double)(d->count - 1);
    return (1 - share) * d->lower + share * d->upper;
}

int64_t grid_next(grid *g, int64_t most, double *rows)
{
    int64_t got = g->total - g->next < most ? g->total - g->next : most;
    for (int64_t r = 0; r < got; r++) {
        double *row = rows + r * g->inputs;
        int64_t rest = g->next + r;
        for (int64_t i = 0; i < g->inputs; i++) row[i] = g->fixed[i];
        for (int64_t i = 0; i < g->sides; rest /= g->side[i++].count)
            row[g->side[i].input] = place_of(&g->side[i], rest % g->side[i].count);
    }
    g->next += got;
    return got;
}

int64_t grid_row_number(const grid *g) { return g->next; }
const column *grid_columns(const grid *g) { return g->columns; }
int64_t grid_column_number(const grid *g, int64_t input) { return g->number[input]; }
bool grid_has(const grid *g, int64_t input) { return g->varies[input]; }
