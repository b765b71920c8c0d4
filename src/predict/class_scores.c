/* Classification scores.  All but the AUC stream; the AUC needs ranks over all rows and so keeps every score. */
#include "predict/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

enum { ECE_BINS = 15 };

typedef struct ece_bin {
    exact_sum weight, correct, confidence;
} ece_bin;

/* Weights of the rows of a class, of those predicted as it, and of those that are both. */
typedef struct class_tally {
    exact_sum rows, predicted, right;
} class_tally;

struct class_scores {
    int64_t classes, ranked; /* columns of p kept for ranks: one for two classes, else all */
    class_tally *tally;      /* classes */
    exact_sum weight, correct, logloss, brier;
    ece_bin bins[ECE_BINS];
    /* rows kept for ranks, `capacity` allocated: p of row i in kept[i*ranked ...] */
    int64_t rows, capacity;
    double *kept, *weights;
    int64_t *labels;
};

class_scores *class_scores_new(int64_t classes)
{
    class_scores *s = calloc(1, sizeof *s);
    if (!s || !(s->tally = mem_zeroed(classes, sizeof *s->tally))) return free(s), NULL;
    s->classes = classes, s->ranked = classes == 2 ? 1 : classes;
    return s;
}

void class_scores_free(class_scores *s)
{
    if (!s) return;
    free(s->tally);
    free(s->kept);
    free(s->weights);
    free(s->labels);
    free(s);
}

/* ------------------------------------------------------------------------------------------- adding rows */

static void *grown(void *p, int64_t count, int64_t width, size_t size)
{
    size_t items, bytes;
    if (!size_mul(count, width, &items) || !size_mul((int64_t)items, (int64_t)size, &bytes)) return NULL;
    return realloc(p, bytes ? bytes : 1);
}

/* Room for n more rows; doubling keeps the copies linear in the total. */
static bool reserve(class_scores *s, int64_t n)
{
    if (n <= s->capacity - s->rows) return true;
    int64_t capacity = s->rows + n > 2 * s->capacity ? s->rows + n : 2 * s->capacity;
    double *kept = grown(s->kept, capacity, s->ranked, sizeof *kept);
    if (kept) s->kept = kept;
    double *weights = grown(s->weights, capacity, 1, sizeof *weights);
    if (weights) s->weights = weights;
    int64_t *labels = grown(s->labels, capacity, 1, sizeof *labels);
    if (labels) s->labels = labels;
    if (!kept || !weights || !labels) return false;
    s->capacity = capacity;
    return true;
}

static void keep_for_ranks(class_scores *s, int64_t label, const double *p, int64_t ldp, double w)
{
    int64_t first = s->classes - s->ranked; /* two classes: only the second one's probability */
    for (int64_t c = 0; c < s->ranked; c++) s->kept[s->rows * s->ranked + c] = p[(first + c) * ldp];
    s->labels[s->rows] = label;
    s->weights[s->rows++] = w;
}

static int64_t top_class(int64_t classes, const double *p, int64_t ldp)
{
    int64_t top = 0;
    for (int64_t c = 1; c < classes; c++)
        if (p[c * ldp] > p[top * ldp]) top = c;
    return top;
}

static double brier_of(int64_t classes, int64_t label, const double *p, int64_t ldp)
{
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        double d = p[c * ldp] - (c == label);
        sum += d * d;
    }
    return classes == 2 ? 0.5 * sum : sum;
}

/* Bins are (b/15, (b+1)/15]. */
static ece_bin *bin_of(class_scores *s, double confidence)
{
    int b = (int)ceil(fmin(fmax(confidence, 0), 1) * ECE_BINS) - 1;
    return &s->bins[b > 0 ? b : 0];
}

static void add_row(class_scores *s, int64_t label, const double *p, int64_t ldp, double w)
{
    int64_t top = top_class(s->classes, p, ldp);
    double correct = top == label ? w : 0;
    ece_bin *b = bin_of(s, p[top * ldp]);
    exact_add(&s->weight, w);
    exact_add(&s->correct, correct);
    exact_add(&s->tally[label].rows, w);
    exact_add(&s->tally[label].right, correct);
    exact_add(&s->tally[top].predicted, w);
    exact_add(&s->logloss, -w * log(fmax(p[label * ldp], 1e-15)));
    exact_add(&s->brier, w * brier_of(s->classes, label, p, ldp));
    exact_add(&b->weight, w);
    exact_add(&b->correct, correct);
    exact_add(&b->confidence, w * p[top * ldp]);
    keep_for_ranks(s, label, p, ldp, w);
}

anygp_status class_scores_add(class_scores *s, int64_t n, const int64_t *label, const double *p, int64_t ldp,
                              const double *weight, anygp_error *e)
{
    if (!reserve(s, n)) return fail_memory(e, "the ranks of the AUC", 8.0 * (double)(s->rows + n) * (double)s->ranked);
    for (int64_t i = 0; i < n; i++) {
        double w = weight ? weight[i] : 1;
        if (w > 0 && isfinite(w) && label[i] >= 0 && label[i] < s->classes) add_row(s, label[i], p + i, ldp, w);
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------------- the scores */

double class_scores_trivial(const class_scores *s)
{
    double N = exact_value(s->weight), sum = 0, *of = mem_zeroed(s->classes, sizeof *of);
    for (int64_t i = 0; of && i < s->rows; i++) of[s->labels[i]] += s->weights[i] / N;
    for (int64_t c = 0; of && c < s->classes; c++) sum -= of[c] > 0 ? of[c] * log(of[c]) : 0;
    free(of);
    return sum;
}

class_score class_scores_of(const class_scores *s, int64_t c)
{
    const class_tally *t = &s->tally[c];
    double rows = exact_value(t->rows), as_it = exact_value(t->predicted), right = exact_value(t->right);
    return (class_score){rows > 0 ? right / rows : NAN, as_it > 0 ? right / as_it : NAN, rows};
}

static double mean_recall(const class_scores *s)
{
    double sum = 0, count = 0;
    for (int64_t c = 0; c < s->classes; c++) {
        class_score one = class_scores_of(s, c);
        if (one.rows > 0) sum += one.recall, count++;
    }
    return sum / count;
}

static double calibration_error(const class_scores *s)
{
    double sum = 0;
    for (int b = 0; b < ECE_BINS; b++)
        sum += fabs(exact_value(s->bins[b].correct) - exact_value(s->bins[b].confidence));
    return sum / exact_value(s->weight);
}

typedef struct ranked {
    double p, positive, negative; /* score, first for by_double(); weight if the row is of the class, weight if not */
} ranked;

/* P(score of a positive > score of a negative) + P(equal)/2 by one sweep over sorted scores; NaN if one kind is
   missing. */
static double area(int64_t n, ranked *r)
{
    qsort(r, (size_t)n, sizeof *r, by_double);
    exact_sum wins = {0}, below = {0}, positives = {0};
    for (int64_t i = 0, end; i < n; i = end) {
        double positive = 0, negative = 0;
        for (end = i; end < n && r[end].p == r[i].p; end++) positive += r[end].positive, negative += r[end].negative;
        exact_add(&wins, positive * (exact_value(below) + 0.5 * negative));
        exact_add(&below, negative);
        exact_add(&positives, positive);
    }
    return exact_value(wins) / (exact_value(positives) * exact_value(below));
}

/* Column c of the kept scores against its class. */
static double area_of_column(const class_scores *s, int64_t c, ranked *r)
{
    int64_t class = s->classes - s->ranked + c;
    for (int64_t i = 0; i < s->rows; i++) {
        bool is = s->labels[i] == class;
        r[i] = (ranked){s->kept[i * s->ranked + c], is ? s->weights[i] : 0, is ? 0 : s->weights[i]};
    }
    return area(s->rows, r);
}

static double mean_area(const class_scores *s, ranked *r)
{
    double sum = 0;
    int64_t defined = 0;
    for (int64_t c = 0; c < s->ranked; c++) {
        double a = area_of_column(s, c, r);
        if (isfinite(a)) sum += a, defined++;
    }
    return defined ? sum / (double)defined : 0.5;
}

anygp_status class_scores_list(const class_scores *s, score *out, int *count, anygp_error *e)
{
    double N = exact_value(s->weight);
    *count = 1;
    out[0] = (score){"n", N};
    if (!(N > 0)) return ANYGP_OK;
    ranked *r = mem_alloc(s->rows, sizeof *r);
    if (!r) return fail_memory(e, "the ranks of the AUC", (double)s->rows * sizeof *r);
    const score list[CLASS_SCORES] = {
        {"accuracy", exact_value(s->correct) / N},
        {"balanced_accuracy", mean_recall(s)},
        {"logloss", exact_value(s->logloss) / N},
        {"mnlp", exact_value(s->logloss) / N},
        {"brier", exact_value(s->brier) / N},
        {"ece", calibration_error(s)},
        {"auc", mean_area(s, r)},
        {"n", N},
    };
    memcpy(out, list, sizeof list);
    *count = CLASS_SCORES;
    free(r);
    return ANYGP_OK;
}
