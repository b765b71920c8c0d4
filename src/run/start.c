/* The search for a starting point, by the exact evidence of a few hundred rows that show every scale (start_rows.c).
       lengths     all length-scales together, by halves from several times the spread of the inputs down to the spacing of the
                   rows, each with some noise levels: a profile of the evidence, which often has several maxima
       cycles      periods and frequencies by half cycles over the extent of the data
       leaves      the length-scales of one leaf of the kernel, then those of one column, longer and shorter by themselves
       a brief look   where time ends before the profile does: the same profile of so few rows that it costs next to nothing
       finalists   the best point so far and the other maxima of the profile: where there are several, each is the start of a
                   short climb, and the best end is taken */
#include "run/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "run/climb.h"
#include "run/plan.h"

enum {
    SCAN_ROWS = 300,
    LOOK_ROWS = 120,   /* of a brief look */
    LENGTHS_MOST = 24, /* of the profile */
    FINALISTS = 3,
    FINAL_ITERATIONS = 15,
    APART_MOST = 32,   /* length-scales up to which each is looked at by itself, */
    APART_WIDELY = 12, /* and up to which at many values */
    CYCLES_MOST = 100,
    CYCLES_SCANNED = 8
};

static bool is_length(const hyper *h, int64_t i)
{
    return i < hyper_kernel_params(h) && kernel_param_at(h->kernel, i)->role == ROLE_LENGTH;
}

/* Length-scales of a leaf move together, by much, and each by itself, as do all others, by less: their scale is why runs
   end in different optima. */
void start_perturb(hyper *h, uint64_t seed, int64_t restart)
{
    static const double SCALES_SD = 2.5;
    random_stream s = {seed, RANDOM_RESTART, (uint64_t)restart};
    for (int64_t i = 0; i < h->count; i++) {
        const param_facts *p = hyper_facts(h, i);
        if (!p->free) continue;
        double move = random_normal(s, (uint64_t)i);
        if (is_length(h, i))
            move += SCALES_SD * random_normal(s, (uint64_t)(h->count + kernel_param_at(h->kernel, i)->leaf));
        hyper_set(h, i, p->lower + (hyper_get(h, i) - p->lower) * exp(move));
    }
}

/* --------------------------------------------------------------------------------------- scans */

typedef struct scan {
    void *state; /* the exact model on the subset */
    hyper *h;
    double best;
    double *best_value;         /* natural parameters at the best */
    double *first;              /* natural parameters the scan started from */
    double value[LENGTHS_MOST]; /* the profile: the best evidence at each of `lengths` length-scales, */
    double *at;                 /* and the natural parameters of it, one after the other */
    int lengths;
    bool (*stop)(void *ctx); /* asked before each trial; then nothing more is tried, */
    void *ctx;
    bool cut; /* and the profile is not complete */
} scan;

static bool movable(const hyper *h, int64_t i)
{
    const param_facts *q = hyper_facts(h, i);
    return q->free && !q->given;
}

static void try_here(scan *s)
{
    double jitter = 0, value;
    if ((s->cut = s->cut || s->stop(s->ctx))) return;
    if (!model_exact.evaluate(s->state, s->h, true, &jitter, &value, NULL)) return;
    value += hyper_log_prior(s->h, NULL);
    if (!(value > s->best)) return;
    s->best = value;
    hyper_natural(s->h, s->best_value);
}

static void set_all(hyper *h, const double *values)
{
    for (int64_t i = 0; i < h->count; i++) hyper_set(h, i, values[i]);
}

static const double noise_factors[] = {1, 0.1, 0.01, 5};
enum { NOISES = 4 };

/* A climb takes logarithms of what parameters are above their bounds. */
static void set_above_bound(hyper *h, int64_t i, double value)
{
    static const double ABOVE = 1.01;
    hyper_set(h, i, fmax(value, ABOVE * hyper_facts(h, i)->lower));
}

/* Lengths and noise at the start's times these factors; the rest stays as it is. */
static void set_lengths_and_noise(scan *s, double length, double noise)
{
    int64_t P = hyper_kernel_params(s->h);
    for (int64_t i = 0; i < P; i++)
        if (movable(s->h, i) && is_length(s->h, i)) set_above_bound(s->h, i, s->first[i] * length);
    if (movable(s->h, P)) set_above_bound(s->h, P, s->first[P] * noise);
}

static bool moves_lengths(const hyper *h)
{
    bool any = false;
    for (int64_t i = 0; i < hyper_kernel_params(h); i++) any |= movable(h, i) && is_length(h, i);
    return any;
}

/* Distance of rows that are next to each other, in length-scales of the start: for every row that to the nearest other one, and of
   these the lowest decile. */
static anygp_status spacing(const scan *s, const merged *m, double *out, anygp_error *e)
{
    double *weight = mem_alloc(m->D, sizeof *weight), *nearest = mem_alloc(m->n, sizeof *nearest);
    anygp_status status = weight && nearest ? ANYGP_OK : fail_memory(e, "a scan", 8.0 * (double)(m->D + m->n));
    int64_t count = 0;
    if (!ANYGP_FAILED(status)) kernel_closeness(s->h->kernel, s->first, weight);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < m->n; i++) {
        double least = INFINITY;
        for (int64_t k = 0; k < m->n; k++) {
            double sum = 0;
            for (int64_t j = 0; j < m->D; j++) {
                double d = weight[j] * (m->X[i * m->D + j] - m->X[k * m->D + j]);
                sum += d * d;
            }
            if (k != i && sum > 0) least = fmin(least, sum);
        }
        if (isfinite(least)) nearest[count++] = sqrt(least);
    }
    if (count) qsort(nearest, (size_t)count, sizeof *nearest, by_double);
    *out = count ? nearest[count / 10] : 1;
    free(weight);
    free(nearest);
    return status;
}

/* The profile: by halves, down to the first length-scale below the spacing. */
static void scan_lengths_and_noise(scan *s, double spacing)
{
    static const double LONGEST = 4, SHORTEST = 0.2;
    double best = -INFINITY, shortest = fmin(spacing, SHORTEST), length = LONGEST;
    int most = moves_lengths(s->h) ? LENGTHS_MOST : 1, winner = 0;
    if (most == 1) length = 1;
    for (s->lengths = 0; s->lengths < most && (s->lengths == 0 || 2 * length > shortest); length /= 2) {
        s->best = -INFINITY;
        for (int b = 0; b < NOISES; b++) {
            set_lengths_and_noise(s, length, noise_factors[b]);
            try_here(s);
        }
        s->value[s->lengths] = s->best;
        memcpy(s->at + s->lengths * s->h->count, s->best_value, (size_t)s->h->count * sizeof(double));
        if (s->best > best) best = s->best, winner = s->lengths;
        s->lengths++;
    }
    s->best = best;
    memcpy(s->best_value, s->at + winner * s->h->count, (size_t)s->h->count * sizeof(double));
    set_all(s->h, s->best_value);
}

/* Extent of a column, or of the widest one (-1). */
static double extent(const merged *m, int64_t dim)
{
    double widest = 0;
    for (int64_t j = dim < 0 ? 0 : dim; j < (dim < 0 ? m->D : dim + 1); j++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < m->n; i++) low = fmin(low, m->X[i * m->D + j]), high = fmax(high, m->X[i * m->D + j]);
        widest = fmax(widest, high - low);
    }
    return widest;
}

/* The evidence has a narrow ridge at each number of cycles over the data, so every half cycle is tried; and where
   a short length-scale explains the cycles instead, only longer ones let them show. */
static void scan_cycles(scan *s, const merged *m, int64_t i, int lengths, int noises)
{
    static const double length_factors[] = {1, 2.5};
    const kernel_param *p = kernel_param_at(s->h->kernel, i);
    double range = extent(m, p->column);
    if (!(range > 0)) return;
    for (int a = 0; a < lengths; a++)
        for (int b = 0; b < noises; b++) {
            set_lengths_and_noise(s, length_factors[a], noise_factors[b]);
            for (double cycles = 0.5; cycles <= fmin(CYCLES_MOST, 0.5 * (double)m->n); cycles += 0.5) {
                hyper_set(s->h, i, p->role == ROLE_PERIOD ? range / cycles : cycles / range);
                try_here(s);
            }
        }
    set_all(s->h, s->best_value);
}

/* A smooth cycle also shows at twice or three times its period, with a shape of the same roughness: try the shorter
   ones with a smoother shape. */
static void scan_harmonics(scan *s, int64_t i)
{
    double period = hyper_get(s->h, i);
    int64_t leaf = kernel_param_at(s->h->kernel, i)->leaf;
    for (int divide = 1; divide <= 3; divide++)
        for (int smooth = 1; smooth <= 4; smooth *= 2) {
            set_all(s->h, s->best_value);
            hyper_set(s->h, i, period / divide);
            for (int64_t j = 0; j < hyper_kernel_params(s->h); j++) {
                const kernel_param *p = kernel_param_at(s->h->kernel, j);
                if (p->leaf == leaf && p->role == ROLE_SHAPE && movable(s->h, j))
                    hyper_set(s->h, j, s->first[j] * smooth);
            }
            try_here(s);
        }
    set_all(s->h, s->best_value);
}

static bool is_cycle(const hyper *h, int64_t i)
{
    param_role role = kernel_param_at(h->kernel, i)->role;
    return movable(h, i) && (role == ROLE_PERIOD || role == ROLE_FREQUENCY);
}

static void scan_all_cycles(scan *s, const merged *m)
{
    int64_t count = 0;
    for (int64_t i = 0; i < hyper_kernel_params(s->h); i++) count += is_cycle(s->h, i);
    if (count > CYCLES_SCANNED) return;
    for (int64_t i = 0; i < hyper_kernel_params(s->h); i++)
        if (is_cycle(s->h, i)) {
            scan_cycles(s, m, i, 2, count == 1 ? 3 : 1);
            if (kernel_param_at(s->h->kernel, i)->role == ROLE_PERIOD) scan_harmonics(s, i);
        }
}

/* ------------------------------------------------------------------------------------------- apart */

/* Factor k of those that lengths are tried at by themselves: the nearest to 1 first. */
static double apart(int k) { return pow(4, (k / 2 + 1) * (k % 2 ? 1 : -1)); }

/* From the best point so far: the lengths of a leaf, or only one of them, times factor; the noise as it is, and lower
   where that may have been what they explain. */
static void try_scaled(scan *s, int64_t leaf, int64_t only, double factor)
{
    int64_t P = hyper_kernel_params(s->h);
    for (double noise = 1; noise > 0.05; noise *= 0.1) {
        set_all(s->h, s->best_value);
        for (int64_t i = 0; i < P; i++)
            if (movable(s->h, i) && is_length(s->h, i) && kernel_param_at(s->h->kernel, i)->leaf == leaf &&
                (only < 0 || only == i))
                set_above_bound(s->h, i, s->best_value[i] * factor);
        if (movable(s->h, P)) set_above_bound(s->h, P, s->best_value[P] * noise);
        try_here(s);
    }
}

/* What is smooth in one term, or in most inputs, may be rough in another. */
static void scan_apart(scan *s)
{
    int64_t lengths = 0, leaves = 0, last = -1;
    for (int64_t i = 0; i < hyper_kernel_params(s->h); i++) {
        if (!movable(s->h, i) || !is_length(s->h, i)) continue;
        int64_t leaf = kernel_param_at(s->h->kernel, i)->leaf;
        lengths++, leaves += leaf != last, last = leaf;
    }
    int each = lengths > APART_WIDELY ? 2 : 6;
    if (lengths < 2 || lengths > APART_MOST) return;
    last = -1;
    for (int64_t i = 0; i < hyper_kernel_params(s->h); i++) {
        if (!movable(s->h, i) || !is_length(s->h, i)) continue;
        int64_t leaf = kernel_param_at(s->h->kernel, i)->leaf;
        for (int k = 0; k < each && leaves > 1 && leaf != last; k++) try_scaled(s, leaf, -1, apart(k));
        for (int k = 0; k < each && lengths > leaves; k++) try_scaled(s, leaf, i, apart(k));
        last = leaf;
    }
    set_all(s->h, s->best_value);
}

/* --------------------------------------------------------------------------------------- finalists */

static bool is_maximum(const scan *s, int a)
{
    return isfinite(s->value[a]) && (a == 0 || s->value[a] > s->value[a - 1]) &&
           (a == s->lengths - 1 || s->value[a] > s->value[a + 1]);
}

/* The highest maximum of the profile below `value`; -1: there is none. */
static int next_maximum(const scan *s, double value)
{
    int found = -1;
    for (int a = 0; a < s->lengths; a++)
        if (is_maximum(s, a) && s->value[a] < value && (found < 0 || s->value[a] > s->value[found])) found = a;
    return found;
}

/* Each climbs from where it stands; s->best and s->best_value become those of the best end. */
static anygp_status climb_finalists(scan *s, const problem *small, const train_options *o, anygp_error *e)
{
    int a = next_maximum(s, INFINITY), other = a < 0 ? -1 : next_maximum(s, s->value[a]);
    double best = -INFINITY, end;
    anygp_status stopped = ANYGP_OK;
    if (other < 0) return ANYGP_OK;
    double *from = mem_copied(s->h->count, 1, s->best_value);
    if (!from) return fail_memory(e, "a scan", 8.0 * (double)s->h->count);
    anygp_status status = ANYGP_OK;
    const double *start = from;
    for (int k = 0; k < FINALISTS && start && !stopped && !s->stop(s->ctx); k++) {
        set_all(s->h, start);
        TRY_DONE(start_climb_exact(small, s->h, o, FINAL_ITERATIONS, &end, &stopped, e));
        if (end > best) best = end, hyper_natural(s->h, s->best_value);
        start = other < 0 ? NULL : s->at + other * s->h->count;
        if (other >= 0) other = next_maximum(s, s->value[other]);
    }
done:
    set_all(s->h, s->best_value);
    free(from);
    return status;
}

static bool never(void *ctx) { return (void)ctx, false; }

/* What claims little: lengths are long, and the noise is as large as the target. */
static const double UNSEEN_LENGTH = 4, UNSEEN_NOISE = 10;

/* The profile of a few rows, whatever the time: a model that ends with length-scales nobody looked at may be worse than none.  So few rows
   also tell of what is only noise, so that they have to say it with some confidence, in nats; else s->best is no number. */
static anygp_status look_briefly(scan *s, const problem *p, anygp_error *e)
{
    merged few = {0};
    problem small = *p;
    scan look = *s;
    double shortest;
    anygp_status status;
    static const double CONFIDENCE = 5;
    small.rows = &few, look.state = NULL, look.stop = never, look.cut = false, look.best = -INFINITY;
    set_all(s->h, s->first);
    hyper_natural(s->h, s->best_value);
    TRY_DONE(start_rows(p, LOOK_ROWS, s->h->unit, &few, e));
    TRY_DONE(model_exact.open(&model_exact, &small, s->h, &look.state, e));
    TRY_DONE(spacing(&look, &few, &shortest, e));
    scan_lengths_and_noise(&look, shortest);
    double found = look.best;
    look.best = -INFINITY, look.best_value = look.at; /* the profile is no longer needed */
    set_lengths_and_noise(&look, UNSEEN_LENGTH, UNSEEN_NOISE);
    try_here(&look);
    s->best = found > look.best + CONFIDENCE ? found : -INFINITY;
    set_all(s->h, s->best_value);
done:
    model_exact.close(look.state);
    merged_clear(&few);
    return status;
}

anygp_status start_from_data(const problem *p, hyper *h, const train_options *o, bool (*stop)(void *ctx), void *ctx,
                             anygp_error *e)
{
    merged few = {0};
    scan s = {.h = h, .best = -INFINITY, .stop = stop, .ctx = ctx};
    anygp_status status = ANYGP_OK;
    double shortest;
    TRY_DONE(start_rows(p, SCAN_ROWS, h->unit, &few, e));
    problem small = *p;
    small.rows = &few;
    TRY_DONE(model_exact.open(&model_exact, &small, h, &s.state, e));
    s.best_value = mem_alloc(h->count, sizeof(double));
    s.first = mem_alloc(h->count, sizeof(double));
    s.at = mem_doubles(LENGTHS_MOST, h->count);
    if (!s.best_value || !s.first || !s.at) {
        status = fail_memory(e, "a scan", 8.0 * (LENGTHS_MOST + 2) * (double)h->count);
        goto done;
    }
    hyper_natural(h, s.first);
    hyper_natural(h, s.best_value);
    TRY_DONE(spacing(&s, &few, &shortest, e));
    scan_lengths_and_noise(&s, shortest);
    if (s.cut) TRY_DONE(look_briefly(&s, p, e));
    scan_all_cycles(&s, &few);
    scan_apart(&s);
    TRY_DONE(climb_finalists(&s, &small, o, e));
    if (s.best == -INFINITY) set_lengths_and_noise(&s, UNSEEN_LENGTH, UNSEEN_NOISE);
done:
    model_exact.close(s.state);
    merged_clear(&few);
    free(s.best_value);
    free(s.first);
    free(s.at);
    return status;
}
