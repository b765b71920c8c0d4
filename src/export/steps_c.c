/* The steps of a recipe as C. */
#include <math.h>
#include <stdlib.h>

#include "export/export.h"

void c_array(FILE *f, const char *prefix, const char *name, int64_t count, const double *values)
{
    fprintf(f, "static const double %s_%s[] = {", prefix, name);
    for (int64_t i = 0; i < count; i++) fprintf(f, "%s%.17g", i == 0 ? "\n    " : i % 5 ? ", " : ",\n    ", values[i]);
    fprintf(f, "%s};\n\n", count ? "" : "0");
}

/* One step with what is written again and again, as text. */
typedef struct writing {
    FILE *f;
    const char *prefix;
    const recipe *r;
    const recipe_step *s;
    const char *more; /* behind places that move on with a step's rows: "" or " + q * 12" */
    char to[96], from[96], array[96], other[96], input[64], kernel[160], n[24];
} writing;

static void place_text(const recipe *r, const char *prefix, place p, char out[96])
{
    const char *name = recipe_place_name(r, p);
    if (p.in > 0 && p.at)
        snprintf(out, 96, "%.40s_%s + %lld", prefix, name, (long long)p.at);
    else if (p.in > 0)
        snprintf(out, 96, "%.40s_%s", prefix, name);
    else if (p.at)
        snprintf(out, 96, "%s + %lld", name, (long long)p.at);
    else
        snprintf(out, 96, "%s", name);
}

static writing writing_of(FILE *f, const char *prefix, const recipe *r, const recipe_step *s)
{
    writing w = {.f = f, .prefix = prefix, .r = r, .s = s, .more = ""};
    place_text(r, prefix, s->to, w.to);
    place_text(r, prefix, s->from, w.from);
    place_text(r, prefix, s->array, w.array);
    place_text(r, prefix, s->other, w.other);
    snprintf(w.input, sizeof w.input, "%s", s->input ? recipe_vector_name(-1 - s->input) : "x");
    snprintf(w.kernel, sizeof w.kernel, "%.100s_%s%lld", prefix, s->op == STEP_LEFT ? "left" : "kernel",
             (long long)s->kernel + 1);
    if (s->n == LISTED)
        snprintf(w.n, sizeof w.n, "count");
    else
        snprintf(w.n, sizeof w.n, "%lld", (long long)s->n);
    return w;
}

/* --------------------------------------------------------------------------------- what is not a call */

/* An rbf at places with widths of their own: inducing/functions.h. */
static void c_scaled(const writing *w, const char *input, const char *to)
{
    const recipe_step *s = w->s;
    const kernel *k = w->r->kernels[s->kernel];
    int64_t D = s->width, *length = malloc((size_t)(D + 1) * sizeof *length);
    if (!length || !kernel_as_rbf(k, length)) {
        free(length);
        return;
    }
    fprintf(w->f,
            "    {\n        const double *z = %s, *width = %s;\n        int i;\n"
            "        for (i = 0; i < %s; i++) {\n            double e = 0, c, u;\n",
            w->array, w->other, w->n);
    for (int64_t d = 0; d < D; d++)
        if (length[d] >= 0)
            fprintf(w->f,
                    "            c = exp(width[i * %lld + %lld]), u = (z[i * %lld + %lld] - (%s)[%lld]) / %.17g;\n"
                    "            e += u * u / (1 + c * c) - 0.5 * log(2 * c / (1 + c * c));\n",
                    (long long)D, (long long)d, (long long)D, (long long)d, input, (long long)d,
                    kernel_values((kernel *)k)[length[d]]);
    fprintf(w->f, "            (%s)[i] = %.17g * exp(-e);\n        }\n    }\n", to, kernel_values((kernel *)k)[0]);
    free(length);
}

static void c_basis(const writing *w, const char *input, const char *to)
{
    const basis *mean = &w->r->g->posterior->mean;
    for (int64_t k = 0; k < w->s->n; k++) {
        fprintf(w->f, "    (%s)[%lld] = %.17g", to, (long long)k, w->s->factor);
        if (mean->column[k] >= 0) fprintf(w->f, " * (%s)[%lld]", input, (long long)mean->column[k]);
        fputs(";\n", w->f);
    }
}

/* Steps that may work on several rows. */
static void c_at_rows(const writing *w)
{
    const recipe_step *s = w->s;
    char to[160], input[128];
    long long width = s->width;
    bool several = s->rows != 0;
    if (several) fputs("    for (q = 0; q < count; q++) {\n", w->f);
    snprintf(to, sizeof to, several ? "%s + q * %lld" : "%s", w->to, (long long)s->n);
    snprintf(input, sizeof input, several ? "%s + q * %lld" : "%s", w->input, width);
    switch (s->op) {
    case STEP_KERNEL:
    case STEP_LEFT:
        fprintf(w->f, "    covariances(%s, %s, %s, %lld, %s, %s);\n", w->kernel, w->n, w->array, width, input, to);
        break;
    case STEP_WAVES:
        fprintf(w->f, "    waves(%lld, %s, %s, %lld, %s, %s);\n", (long long)s->n / 2, w->array, w->other, width, input,
                to);
        break;
    case STEP_SCALED: c_scaled(w, input, to); break;
    case STEP_BASIS: c_basis(w, input, to); break;
    default: fprintf(w->f, "    solve(%s, %s, %s);\n", w->n, w->array, to); break;
    }
    if (several) fputs("    }\n", w->f);
}

static void c_near(const writing *w)
{
    const recipe_step *s = w->s;
    bool euclidean = s->other.in != 0;
    fprintf(w->f, "    count = %s(%lld, %lld, %lld, %s, %s, x, list, distance);\n", euclidean ? "near" : "correlated",
            (long long)s->n, (long long)s->from_n, (long long)s->width, w->array, euclidean ? w->other : w->kernel);
}

static void c_around(const writing *w)
{
    const recipe_step *s = w->s;
    fprintf(w->f, "    count = around(%lld, count, %s, %.17g, %lld, %lld, %s, %s, x, list, distance);\n",
            (long long)s->n, w->from, s->factor, (long long)s->from_n, (long long)s->width, w->array, w->other);
}

static void c_agree(const writing *w)
{
    const recipe_step *s = w->s;
    long long c = s->slot, of = s->of;
    bool own = s->rule & RULE_OWN;
    fprintf(w->f,
            "    {\n        const double *sum = %s;\n"
            "        int known = !(s[%lld] > 0);\n",
            w->from, of);
    if (own || s->rule & RULE_OBSERVED) fprintf(w->f, "        double extra = %.17g;\n", s->factor);
    if (own) fputs("        if (sum[1] > 0 && sum[1] - sum[1] == 0) extra = sum[3] / sum[1];\n", w->f);
    fprintf(w->f,
            "        m[%lld] = m[%lld] + (known ? 0 : sum[2] / sum[1]);\n"
            "        s[%lld] = known ? 0 : %s / sum[1];\n",
            c, of, c, s->rule & RULE_NORMAL ? "sum[0]" : "1");
    if (s->rule & RULE_OBSERVED) fprintf(w->f, "        s[%lld] = fmax(s[%lld] - extra, 0);\n", c, c);
    if (w->r->noisy) fputs("        noise[0] = extra;\n", w->f);
    fputs("    }\n", w->f);
}

/* k(z_r, z_c), with what the mean's functions have in common. */
static void c_prior_covariance(const writing *w)
{
    const recipe_step *s = w->s;
    const basis *mean = &w->r->g->posterior->mean;
    fprintf(w->f, "%s(z + r * %lld, z + c * %lld)", w->kernel, (long long)s->width, (long long)s->width);
    for (int64_t k = 0; k < mean->p; k++) {
        fprintf(w->f, " + %.17g", s->factor);
        if (mean->column[k] >= 0)
            fprintf(w->f, " * z[r * %lld + %lld] * z[c * %lld + %lld]", (long long)s->width, (long long)mean->column[k],
                    (long long)s->width, (long long)mean->column[k]);
    }
}

static int64_t c_nested_work(int64_t Q)
{
    int64_t size = (int64_t)ceil(sqrt((double)Q));
    return Q * (Q + 1) / 2 + 2 * Q + 2 * size * (size + 4);
}

static void c_nested(const writing *w)
{
    const recipe_step *s = w->s;
    long long Q = s->from_n, of = s->of, c = s->slot;
    fprintf(w->f,
            "    {\n        const double *z = %s, *start = %s, *u = %s;\n"
            "        double K[%lld], lambda[%lld], work[%lld];\n"
            "        int i, j, r, c, at = 0;\n"
            "        for (i = 0; i < %lld; i++)\n"
            "            for (j = 0; j <= i; j++, at++) {\n"
            "                K[at] = i == j ? s[%lld + i] : 0;\n"
            "                for (r = (int)start[i]; i != j && r < (int)start[i + 1]; r++)\n"
            "                    for (c = (int)start[j]; c < (int)start[j + 1]; c++)\n"
            "                        K[at] += u[r] * u[c] * (",
            w->array, w->other, w->from, Q * (Q + 1) / 2, Q, (long long)c_nested_work(Q), Q, of + 1);
    c_prior_covariance(w);
    fprintf(w->f,
            ");\n            }\n"
            "        %s(%lld, K, s + %lld, s[%lld], work, lambda);\n"
            "        m[%lld] = dot(%lld, lambda, m + %lld);\n"
            "        s[%lld] = fmax(s[%lld] - 2 * dot(%lld, lambda, s + %lld) + form(K, 0, %lld, lambda, 0, %lld, "
            "lambda), 0);\n"
            "    }\n",
            s->rule & RULE_LEVELS ? "weigh_groups" : "weigh_experts", Q, of + 1, of, c, Q, of + 1, c, of, Q, of + 1, Q,
            Q);
}

static void c_design(const writing *w)
{
    const recipe_step *s = w->s;
    fprintf(w->f,
            "    {\n        double work[%lld];\n"
            "        count = design(%s, count, %lld, %s, %s, x, %lld, %lld, list, work);\n    }\n",
            (long long)(w->r->list * (s->n + 4)), w->kernel, (long long)s->width, w->array, w->other, (long long)s->n,
            (long long)s->from_n);
}

static void c_square(const writing *w)
{
    double factor = w->s->factor;
    fprintf(w->f, "    s[%lld] %c= ", (long long)w->s->slot, factor < 0 ? '-' : '+');
    if (fabs(factor) != 1) fprintf(w->f, "%.17g * ", fabs(factor));
    fprintf(w->f, "dot(%s, %s, %s);\n", w->n, w->from, w->s->array.in ? w->array : w->from);
}

static void c_mean(const writing *w)
{
    fprintf(w->f, "    m[%lld] += ", (long long)w->s->slot);
    if (w->s->factor != 1) fprintf(w->f, "%.17g * ", w->s->factor);
    fprintf(w->f, "dot(%s, %s, %s);\n", w->n, w->array, w->from);
}

static void c_gate(const writing *w)
{
    const recipe_step *s = w->s;
    fprintf(w->f, "    gate(%lld, m + %lld, ", (long long)s->n, (long long)s->of);
    if (s->factor > 0)
        fprintf(w->f, "1 / sqrt(1 + %.17g * s[%lld])", s->factor, (long long)s->of);
    else
        fputs("1", w->f);
    fputs(", weight);\n", w->f);
}

static void c_augment(const writing *w)
{
    const recipe_step *s = w->s;
    fprintf(w->f,
            "    {\n        double k = %s(x, x), below = dot(%s, %s, %s) + %.17g * k;\n"
            "        if (below > 0) s[%lld] += %.17g * k * k / below;\n    }\n",
            w->kernel, w->n, w->from, w->from, s->factor, (long long)s->slot, s->factor);
}

/* -------------------------------------------------------------------------------------------- a step */

static void c_frame(const writing *w)
{
    fprintf(w->f, "    frame(%lld, %s, %s, %s, %s);\n", (long long)w->s->width, w->array, w->other, w->input, w->to);
}

static void c_copy(const writing *w) { fprintf(w->f, "    copy(%s, %s, %s);\n", w->n, w->from, w->to); }

/* The helper that has the name of the step: a vector by an array, in place; and from one vector to another. */
static void c_in_place(const writing *w)
{
    fprintf(w->f, "    %s(%s, %s, %s);\n", step_kinds[w->s->op].name, w->n, w->array, w->to);
}

static void c_from_to(const writing *w)
{
    char m[24];
    snprintf(m, sizeof m, w->s->from_n == LISTED ? "count" : "%lld", (long long)w->s->from_n);
    fprintf(w->f, "    %s(%s, %s, %s, %s, %s);\n", step_kinds[w->s->op].name, w->n, m, w->array, w->from, w->to);
}

static void c_shift(const writing *w)
{
    if (w->s->factor != 0) fprintf(w->f, "    m[%lld] += %.17g;\n", (long long)w->s->slot, w->s->factor);
}

static void c_clear(const writing *w)
{
    fprintf(w->f, "    m[%lld] = s[%lld] = 0;\n", (long long)w->s->slot, (long long)w->s->slot);
}

static void c_prior(const writing *w)
{
    fprintf(w->f, "    s[%lld] = %s(%s, %s);\n", (long long)w->s->slot, w->kernel, w->input, w->input);
}

static void c_floor(const writing *w)
{
    long long c = w->s->slot, of = w->s->of;
    if (w->s->factor == 0)
        fprintf(w->f, "    s[%lld] = fmax(s[%lld], 0);\n", c, c);
    else
        fprintf(w->f, "    s[%lld] = fmax(s[%lld], %.17g * s[%lld]);\n", c, c, w->s->factor, of);
}

static void c_same(const writing *w)
{
    fprintf(w->f, "    s[%lld] = s[%lld];\n", (long long)w->s->slot, (long long)w->s->of);
}

static void c_route(const writing *w)
{
    fprintf(w->f, "    part = route(%lld, %s, %lld, x);\n", (long long)w->s->width, w->array, (long long)w->s->from_n);
    if (w->s->other.in) fprintf(w->f, "    part = (int)(%s)[part];\n", w->other);
}

static void c_gather(const writing *w)
{
    fprintf(w->f, "    gather(%s, %lld, %s, list, %s);\n", w->n, (long long)w->s->from_n, w->array, w->to);
}

static void c_gram(const writing *w)
{
    fprintf(w->f, "    gram(%s, %s, %s, %lld, %s, %.17g, %s);\n", w->kernel, w->n, w->array, (long long)w->s->width,
            w->s->other.in ? w->other : "0", w->s->factor, w->to);
}

static void c_less(const writing *w)
{
    fprintf(w->f, "    less(%s, %lld, %s, %s);\n", w->n, (long long)w->s->from_n, w->array, w->to);
}

static void c_factor(const writing *w) { fprintf(w->f, "    if (!factor(%s, %s)) m[0] = NAN;\n", w->n, w->to); }

static void c_open(const writing *w)
{
    fprintf(w->f, "    (%s)[0] = (%s)[2] = (%s)[3] = 0, (%s)[1] = ", w->to, w->to, w->to, w->to);
    if (w->s->rule & RULE_PRIOR)
        fprintf(w->f, "1 / (s[%lld] + %.17g);\n", (long long)w->s->of, w->s->factor);
    else
        fputs("0;\n", w->f);
}

static void c_join(const writing *w)
{
    const recipe_step *s = w->s;
    fprintf(w->f, "    join(%d, %d, s[%lld] + %.17g, m[%lld], s[%lld] + %.17g, %.17g, %s);\n",
            !!(s->rule & RULE_ENTROPY), !!(s->rule & RULE_PRIOR), (long long)s->of, s->factor, (long long)s->slot,
            (long long)s->slot, s->factor, s->plus, w->to);
}

static void c_noise(const writing *w)
{
    fprintf(w->f, "    noise[%lld] = %.17g;\n", (long long)w->s->slot, w->s->factor);
}

static void c_pass(const writing *w)
{
    fprintf(w->f, "    pass(%s, %s, %s, %s, m + %lld, s + %lld, %.17g, %s);\n", w->n, w->input, w->array, w->other,
            (long long)w->s->slot, (long long)w->s->slot, w->s->factor, w->to);
}

static void (*const writers[STEPS])(const writing *w) = {
    [STEP_KERNEL] = c_at_rows,  [STEP_LEFT] = c_at_rows,  [STEP_SCALED] = c_at_rows, [STEP_WAVES] = c_at_rows,
    [STEP_BASIS] = c_at_rows,   [STEP_SOLVE] = c_at_rows, [STEP_FRAME] = c_frame,    [STEP_COPY] = c_copy,
    [STEP_BACK] = c_in_place,   [STEP_ROOT] = c_in_place, [STEP_WEIGH] = c_in_place, [STEP_TAKE] = c_from_to,
    [STEP_MIX] = c_from_to,     [STEP_TIMES] = c_from_to, [STEP_MEAN] = c_mean,      [STEP_SHIFT] = c_shift,
    [STEP_CLEAR] = c_clear,     [STEP_PRIOR] = c_prior,   [STEP_SQUARE] = c_square,  [STEP_FLOOR] = c_floor,
    [STEP_SAME] = c_same,       [STEP_ROUTE] = c_route,   [STEP_NEAR] = c_near,      [STEP_DESIGN] = c_design,
    [STEP_AROUND] = c_around,   [STEP_GATHER] = c_gather, [STEP_GRAM] = c_gram,      [STEP_LESS] = c_less,
    [STEP_FACTOR] = c_factor,   [STEP_OPEN] = c_open,     [STEP_JOIN] = c_join,      [STEP_AGREE] = c_agree,
    [STEP_NESTED] = c_nested,   [STEP_NOISE] = c_noise,   [STEP_PASS] = c_pass,      [STEP_GATE] = c_gate,
    [STEP_AUGMENT] = c_augment,
};

/* ---------------------------------------------------------------------------------------- all of them */

static void c_locals(FILE *f, const recipe *r)
{
    bool several = false,
         unsure = r->list > 0 || recipe_has(r, STEP_ROUTE); /* a compiler is, about what is written first */
    for (int64_t i = 0; i < r->n_steps; i++) several = several || r->steps[i].rows != 0;
    for (int v = 0; v < RECIPE_VECTORS; v++)
        if (r->vector[v])
            fprintf(f, "    double %s[%lld]%s;\n", recipe_vector_name(v), (long long)r->vector[v],
                    unsure ? " = {0}" : "");
    fprintf(f, "    double m[%lld], s[%lld];\n    int o;\n", (long long)r->slots, (long long)r->slots);
    if (recipe_has(r, STEP_ROUTE)) fputs("    int part;\n", f);
    if (r->list)
        fprintf(f, "    double distance[%lld];\n    int list[%lld], count;\n", (long long)r->list, (long long)r->list);
    if (several) fputs("    int q;\n", f);
    fprintf(f, "    for (o = 0; o < %lld; o++) m[o] = s[o] = 0;\n", (long long)r->slots);
}

/* Between steps for different rows or purposes. */
static void c_guard(FILE *f, const recipe_step *before, const recipe_step *s)
{
    bool was = before && (before->late || before->part >= 0), is = s && (s->late || s->part >= 0);
    if (before && s && before->late == s->late && before->part == s->part) return;
    if (was) fputs("    }\n", f);
    if (!is) return;
    if (s->late && s->part >= 0)
        fprintf(f, "    if (variance && part == %lld) {\n", (long long)s->part);
    else if (s->late)
        fputs("    if (variance) {\n", f);
    else
        fprintf(f, "    if (part == %lld) {\n", (long long)s->part);
}

void c_steps(FILE *f, const char *prefix, const recipe *r)
{
    long long outputs = r->latents * r->components;
    fprintf(f, "static void %s_steps(const double *x, double *mean, double *variance%s%s)\n{\n", prefix,
            r->components > 1 ? ", double *weight" : "", r->noisy ? ", double *noise" : "");
    c_locals(f, r);
    if (!r->n_steps) fputs("    (void)x;\n", f);
    if (r->components > 1 && !r->weighted)
        fprintf(f, "    for (o = 0; o < %lld; o++) weight[o] = 1.0 / %lld;\n", (long long)r->components,
                (long long)r->components);
    const recipe_step *before = NULL;
    for (int64_t i = 0; i < r->n_steps; before = &r->steps[i++]) {
        writing w = writing_of(f, prefix, r, &r->steps[i]);
        c_guard(f, before, &r->steps[i]);
        writers[w.s->op](&w);
    }
    c_guard(f, before, NULL);
    fprintf(f, "    for (o = 0; o < %lld; o++) mean[o] = m[o];\n", outputs);
    double factor = gp_calibration(r->g);
    fprintf(f, "    for (o = 0; variance && o < %lld; o++) variance[o] = fmax(s[o]", outputs);
    if (factor != 1) fprintf(f, " * %.17g", factor);
    fputs(", 0);\n}\n\n", f);
}
