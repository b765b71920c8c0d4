/* The steps of a recipe as C, and the few functions that they call. */
#include <stdlib.h>

#include "export/export.h"

void c_array(FILE *f, const char *prefix, const char *name, int64_t count, const double *values)
{
    fprintf(f, "static const double %s_%s[] = {", prefix, name);
    for (int64_t i = 0; i < count; i++) fprintf(f, "%s%.17g", i == 0 ? "\n    " : i % 5 ? ", " : ",\n    ", values[i]);
    fprintf(f, "%s};\n\n", count ? "" : "0");
}

bool recipe_has(const recipe *r, step_op op)
{
    for (int64_t i = 0; i < r->n_steps; i++)
        if (r->steps[i].op == op) return true;
    return false;
}

static bool uses(int64_t targets, const recipe *r, step_op op)
{
    for (int64_t t = 0; t < targets; t++)
        if (recipe_has(&r[t], op)) return true;
    return false;
}

/* Each once, and only those that are called: an unused static function is a warning. */
void c_helpers(FILE *f, int64_t targets, const recipe *r)
{
    if (uses(targets, r, STEP_SOLVE))
        fputs("/* v = L^-1 v */\n"
              "static void solve(int n, const double *L, double *v)\n{\n"
              "    int i, j;\n"
              "    for (i = 0; i < n; L += ++i) {\n"
              "        double s = v[i];\n"
              "        for (j = 0; j < i; j++) s -= L[j] * v[j];\n"
              "        v[i] = s / L[i];\n"
              "    }\n}\n\n",
              f);
    if (uses(targets, r, STEP_ROOT))
        fputs("/* v = R'v */\n"
              "static void root(int n, const double *R, double *v)\n{\n"
              "    int i, j;\n"
              "    for (i = 0; i < n; R += ++i) {\n"
              "        double s = v[i];\n"
              "        for (j = 0; j < i; j++) v[j] += R[j] * s;\n"
              "        v[i] = R[i] * s;\n"
              "    }\n}\n\n",
              f);
    if (uses(targets, r, STEP_MEAN) || uses(targets, r, STEP_SQUARE) || uses(targets, r, STEP_TAKE))
        fputs("static double dot(int n, const double *a, const double *b)\n{\n"
              "    double s = 0;\n"
              "    int i;\n"
              "    for (i = 0; i < n; i++) s += a[i] * b[i];\n"
              "    return s;\n}\n\n",
              f);
}

/* An rbf at places with widths of their own: inducing/functions.h. */
static void c_scaled(FILE *f, const char *prefix, const recipe *r, const recipe_step *s)
{
    const kernel *k = r->g->posterior->kernel;
    int64_t D = r->g->schema.D, *length = malloc((size_t)(D + 1) * sizeof *length);
    if (!length || !kernel_as_rbf(k, length)) {
        free(length);
        return;
    }
    fprintf(f,
            "    for (i = 0; i < %lld; i++) {\n"
            "        double e = 0, c, u;\n",
            (long long)s->n);
    for (int64_t d = 0; d < D; d++)
        if (length[d] >= 0)
            fprintf(f,
                    "        c = exp(%s_%s[i * %lld + %lld]), u = (%s_%s[i * %lld + %lld] - x[%lld]) / %.17g;\n"
                    "        e += u * u / (1 + c * c) - 0.5 * log(2 * c / (1 + c * c));\n",
                    prefix, r->arrays[s->other].name, (long long)D, (long long)d, prefix, r->arrays[s->array].name,
                    (long long)D, (long long)d, (long long)d, kernel_values((kernel *)k)[length[d]]);
    fprintf(f, "        %s[%lld + i] = %.17g * exp(-e);\n    }\n", recipe_vector_name(s->vector), (long long)s->at,
            kernel_values((kernel *)k)[0]);
    free(length);
}

static void c_step(FILE *f, const char *prefix, const recipe *r, const recipe_step *s)
{
    const char *v = recipe_vector_name(s->vector), *array = r->n_arrays ? r->arrays[s->array].name : "";
    long long n = s->n, at = s->at, D = r->g->schema.D, c = s->latent;
    switch (s->op) {
    case STEP_KERNEL:
    case STEP_LEFT:
        fprintf(f, "    for (i = 0; i < %lld; i++) %s[%lld + i] = %s_%s(x, %s_%s + i * %lld);\n", n, v, at, prefix,
                s->op == STEP_LEFT ? "left" : "kernel", prefix, array, D);
        break;
    case STEP_SCALED: c_scaled(f, prefix, r, s); break;
    case STEP_WAVES:
        fprintf(f,
                "    for (i = 0; i < %lld; i++) {\n"
                "        double turns = remainder(dot(%lld, %s_%s + i * %lld, x) / 6.283185307179586, 1);\n"
                "        %s[%lld + i] = %s_%s[i] * cos(6.283185307179586 * turns);\n"
                "        %s[%lld + i] = %s_%s[i] * sin(6.283185307179586 * turns);\n    }\n",
                n / 2, D, prefix, array, D, v, at, prefix, r->arrays[s->other].name, v, at + n / 2, prefix,
                r->arrays[s->other].name);
        break;
    case STEP_BASIS:
        for (int64_t k = 0; k < s->n; k++) {
            int64_t of = r->g->posterior->mean.column[k];
            fprintf(f, "    %s[%lld] = %.17g", v, at + (long long)k, s->factor);
            if (of >= 0) fprintf(f, " * x[%lld]", (long long)of);
            fputs(";\n", f);
        }
        break;
    case STEP_COPY:
        fprintf(f, "    for (i = 0; i < %lld; i++) %s[%lld + i] = %s[%lld + i];\n", n, v, at,
                recipe_vector_name(s->from), (long long)s->from_at);
        break;
    case STEP_SOLVE:
    case STEP_ROOT: fprintf(f, "    %s(%lld, %s_%s, %s + %lld);\n", step_name(s->op), n, prefix, array, v, at); break;
    case STEP_TAKE:
        fprintf(f, "    for (i = 0; i < %lld; i++) %s[%lld + i] -= dot(%lld, %s_%s + i * %lld, %s + %lld);\n", n, v, at,
                (long long)s->from_n, prefix, array, (long long)s->from_n, recipe_vector_name(s->from),
                (long long)s->from_at);
        break;
    case STEP_MEAN: fprintf(f, "    mean[%lld] += dot(%lld, %s_%s, %s + %lld);\n", c, n, prefix, array, v, at); break;
    case STEP_PRIOR: fprintf(f, "    variance[%lld] = %s_kernel(x, x);\n", c, prefix); break;
    case STEP_SQUARE:
        fprintf(f, "    variance[%lld] %c= dot(%lld, %s + %lld, %s + %lld);\n", c, s->factor < 0 ? '-' : '+', n, v, at,
                v, at);
        break;
    case STEP_FLOOR: fprintf(f, "    variance[%lld] = fmax(variance[%lld], 0);\n", c, c); break;
    case STEP_SAME: fprintf(f, "    variance[%lld] = variance[0];\n", c); break;
    }
}

void c_steps(FILE *f, const char *prefix, const recipe *r)
{
    int64_t C = gp_latents(r->g);
    bool loops = false;
    for (int64_t i = 0; i < r->n_steps; i++)
        loops = loops || r->steps[i].op <= STEP_WAVES || r->steps[i].op == STEP_COPY || r->steps[i].op == STEP_TAKE;
    fprintf(f, "static void %s_steps(const double *x, double *mean, double *variance)\n{\n", prefix);
    for (int v = 0; v < RECIPE_VECTORS; v++)
        if (r->vector[v]) fprintf(f, "    double %s[%lld];\n", recipe_vector_name(v), (long long)r->vector[v]);
    if (loops) fputs("    int i;\n", f);
    fprintf(f, "    int c;\n    for (c = 0; c < %lld; c++) mean[c] = 0;\n", (long long)C);
    if (!r->n_steps) fputs("    (void)x;\n", f);
    for (int64_t i = 0; i <= r->n_steps; i++) {
        if (i == r->mean_steps)
            fprintf(f, "    if (!variance) return;\n    for (c = 0; c < %lld; c++) variance[c] = 0;\n", (long long)C);
        if (i < r->n_steps) c_step(f, prefix, r, &r->steps[i]);
    }
    double factor = gp_calibration(r->g);
    fprintf(f, "    for (c = 0; c < %lld; c++) variance[c] = fmax(variance[c]", (long long)C);
    if (factor != 1) fprintf(f, " * %.17g", factor);
    fputs(", 0);\n}\n\n", f);
}
