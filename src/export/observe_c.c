/* From the latents of a row to its target, as C: the closed forms of the likelihoods (src/likelihood), and their rules where there are
   none. */
#include <math.h>
#include <string.h>

#include "export/export.h"
#include "likelihood/softmax.h"

/* Formulas in mu[c], var[c] (variances of the latents as y sees them), value[], exposure. */
typedef struct observe_code {
    const char *name, *formula;
} observe_code;

#define BOUNDED(x, most) "fmax(-" most ", fmin(" x ", " most "))"
#define COUNTS(offset, growth)                                                                                         \
    "    double log_mean = " BOUNDED(                                                                                  \
        "log(exposure) + " offset " + mu[0] + 0.5 * var[0]",                                                           \
        "300.0") ";\n"                                                                                                 \
                 "    double grown = " growth                                                                          \
                 ", spread = grown > 1 ? grown + log1p(-exp(-grown)) : log(expm1(grown));\n"                           \
                 "    *mean = exp(log_mean);\n"                                                                        \
                 "    *variance = *mean + exp(fmin(2 * log_mean + spread, 600.0));\n"

static const observe_code codes[] = {
    {"gaussian", "    *mean = mu[0];\n    *variance = var[0] + value[0];\n"},
    {"laplace", "    *mean = mu[0];\n    *variance = var[0] + 2 * value[0] * value[0];\n"},
    {"studentt", "    *mean = mu[0];\n"
                 "    *variance = var[0] + value[0] * value[0] * value[1] / fmax(value[1] - 2, 1e-12);\n"},
    {"heteroscedastic", "    *mean = mu[0];\n"
                        "    *variance = var[0] + exp(" BOUNDED("value[0] + mu[1] + 0.5 * var[1]", "300.0") ");\n"},
    {"poisson", COUNTS("value[0]", "var[0]")},
    {"negbin", COUNTS("value[1]", "var[0] + log1p(value[0])")},
    {"probit", "    p[1] = 0.5 * erfc(-mu[0] / sqrt(1 + var[0]) / sqrt(2.0));\n"
               "    p[0] = 0.5 * erfc(mu[0] / sqrt(1 + var[0]) / sqrt(2.0));\n"},
    /* The trapezoidal rule over ten standard deviations, with steps that resolve the normal and the logistic function. */
    {"logit", "    double sd = sqrt(var[0]), sign = mu[0] < 0 ? 1 : -1, sum = 0, all = 0, less;\n"
              "    int steps = (int)(25 * fmin(fmax(sd, 1), 1e4)), i;\n"
              "    for (i = -steps; i <= steps; i++) {\n"
              "        double t = 10.0 * i / steps, w = exp(-0.5 * t * t), s = sign * (mu[0] + sd * t);\n"
              "        sum += w * (s < 0 ? exp(s) / (1 + exp(s)) : 1 / (1 + exp(-s)));\n"
              "        all += w;\n"
              "    }\n"
              "    less = fmin(sum / all, 0.5);\n"
              "    p[0] = sign > 0 ? 1 - less : less;\n"
              "    p[1] = sign > 0 ? less : 1 - less;\n"},
    {"ordinal", "    double edge = value[0], below = 0, sd = sqrt(1 + var[0]);\n"
                "    int k;\n"
                "    for (k = 0; k < classes - 1; k++) {\n"
                "        double under = 0.5 * erfc(-(edge - mu[0]) / sd / sqrt(2.0));\n"
                "        p[k] = under - below, below = under;\n"
                "        if (k + 1 < classes - 1) edge += value[k + 1];\n"
                "    }\n"
                "    p[classes - 1] = 0.5 * erfc((edge - mu[0]) / sd / sqrt(2.0));\n"},
    /* The draws of predictions and their mirror images, for which there are tables. */
    {"softmax", "    double up[classes], down[classes];\n"
                "    int c, k;\n"
                "    for (c = 0; c < classes; c++) p[c] = 0;\n"
                "    for (k = 0; k < pairs; k++) {\n"
                "        double most_up = -INFINITY, most_down = -INFINITY, sum_up = 0, sum_down = 0;\n"
                "        for (c = 0; c < classes; c++) {\n"
                "            double step = sqrt(var[c]) * strata[met[c][k]];\n"
                "            up[c] = mu[c] + step, down[c] = mu[c] - step;\n"
                "            most_up = fmax(most_up, up[c]), most_down = fmax(most_down, down[c]);\n"
                "        }\n"
                "        for (c = 0; c < classes; c++) {\n"
                "            sum_up += up[c] = exp(up[c] - most_up);\n"
                "            sum_down += down[c] = exp(down[c] - most_down);\n"
                "        }\n"
                "        for (c = 0; c < classes; c++) p[c] += (up[c] / sum_up + down[c] / sum_down) / (2 * pairs);\n"
                "    }\n"},
    /* P(f_y is the largest): Gauss-Legendre on panels that are a share of what bends in them [likelihood/robustmax.c]. */
    {"robustmax",
     "    static const double node[6] = {0.12523340851146891, 0.36783149899818018, 0.58731795428661748,\n"
     "                                   0.76990267419430469, 0.90411725637047491, 0.98156063424671924};\n"
     "    static const double share[6] = {0.24914704581340277, 0.23349253653835481, 0.20316742672306592,\n"
     "                                    0.16007832854334622, 0.10693932599531843, 0.047175336386511828};\n"
     "    double sd[classes], sum = 0;\n"
     "    int rival[classes], c, y, r, k;\n"
     "    for (c = 0; c < classes; c++) sd[c] = sqrt(fmax(var[c], 1e-12));\n"
     "    for (y = 0; y < classes; y++) {\n"
     "        double low = mu[y] - 7 * sd[y], end = low, a, b, to;\n"
     "        int rivals = 0;\n"
     "        for (c = 0; c < classes; c++)\n"
     "            if (c != y) low = fmax(low, mu[c] - 7 * sd[c]);\n"
     "        for (c = 0; c < classes; c++)\n"
     "            if (c != y && mu[c] + 6.5 * sd[c] > low) end = fmax(end, mu[c] + 6.5 * sd[c]), rival[rivals++] = c;\n"
     "        to = fmin(mu[y] + 7 * sd[y], fmax(low, end));\n"
     "        p[y] = 0.5 * erfc(-(mu[y] - fmax(low, to)) / sd[y] / sqrt(2.0));\n"
     "        for (a = low; a < to; a = b) {\n"
     "            double narrow = sd[y], bending = 0;\n"
     "            for (r = 0; r < rivals; r++)\n"
     "                if (mu[rival[r]] + 6.5 * sd[rival[r]] > a) narrow = fmin(narrow, sd[rival[r]]), bending++;\n"
     "            b = a + 4 * narrow / sqrt(1 + 2 * log(fmax(bending, 1)));\n"
     "            if (!(b > a && b < to)) b = to;\n"
     "            for (k = 0; k < 12; k++) {\n"
     "                double f = 0.5 * (a + b) + 0.5 * (b - a) * node[k / 2] * (k % 2 ? 1 : -1), z = (f - mu[y]) / "
     "sd[y];\n"
     "                double won = share[k / 2] * 0.5 * (b - a) / sd[y] * exp(-0.5 * z * z) / 2.5066282746310005;\n"
     "                for (r = 0; r < rivals; r++)\n"
     "                    won *= 0.5 * erfc(-(f - mu[rival[r]]) / sd[rival[r]] / sqrt(2.0));\n"
     "                p[y] += won;\n"
     "            }\n"
     "        }\n"
     "        sum += p[y] = fmin(p[y], 1);\n"
     "    }\n"
     "    for (y = 0; y < classes; y++)\n"
     "        p[y] = p[y] / sum * (1 - value[0]) + (1 - p[y] / sum) * value[0] / (classes - 1);\n"},
};

static const observe_code *code_of(const gp *g)
{
    const likelihood *l = g->likelihood;
    const char *name = strcmp(l->ops->name, "bernoulli") ? l->ops->name : l->link ? "probit" : "logit";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(codes[i].name, name)) return &codes[i];
    return NULL;
}

bool c_is_log(const gp *g) { return warp_is(&g->schema.warp) && !strcmp(warp_name(&g->schema.warp), "log"); }

anygp_status c_check_likelihood(const gp *g, anygp_error *e)
{
    if (warp_is(&g->schema.warp) && !(c_is_log(g) && gp_is_gaussian(g)))
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "a model of a target transformed by %s with a %s likelihood cannot be exported as C, since its "
            "moments are integrals; log with gaussian can, and JSON has the function of the transformed target",
            warp_name(&g->schema.warp), g->likelihood->ops->name);
    if (code_of(g)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "a model with a %s likelihood cannot be exported as C; JSON has its latent functions",
                     g->likelihood->ops->name);
}

static void c_units(FILE *f, const gp *g)
{
    target_scale u = gp_target_unit(g);
    fprintf(f, "    *mean = %.17g + %.17g * *mean;\n    *variance = %.17g * *variance;\n", u.shift, u.scale,
            u.scale * u.scale);
    if (c_is_log(g)) /* y = exp of what is normal */
        fputs("    *mean = exp(*mean + *variance / 2);\n    *variance = *mean * *mean * expm1(*variance);\n", f);
}

static void c_strata(FILE *f, int64_t classes)
{
    fprintf(f, "    enum { pairs = %d };\n    static const double strata[pairs] = {", SOFTMAX_PAIRS);
    for (int64_t i = 0; i < SOFTMAX_PAIRS; i++)
        fprintf(f, "%s%.17g", i ? i % 6 ? ", " : ",\n        " : "", softmax_stratum(i));
    fputs("};\n    static const unsigned short met[classes][pairs] = {\n", f);
    for (int64_t c = 0; c < classes; c++)
        for (int64_t k = 0; k < SOFTMAX_PAIRS; k++)
            fprintf(f, "%s%lld%s", k ? k % 24 ? ", " : ",\n         " : "        {", (long long)softmax_met(c, k),
                    k + 1 < SOFTMAX_PAIRS ? ""
                    : c + 1 < classes     ? "},\n"
                                          : "}};\n");
}

void c_observe(FILE *f, const char *prefix, const gp *g, bool noisy)
{
    static const observe_code with_noise = {"gaussian", "    *mean = mu[0];\n    *variance = var[0] + noise;\n"};
    const likelihood *l = g->likelihood;
    const observe_code *c = noisy ? &with_noise : code_of(g);
    bool classes = gp_is_class(g), exposure = strstr(c->formula, "exposure") != NULL;
    fprintf(f, "/* %s */\nstatic void %s_observe(%sconst double *mu, const double *var, %s)\n{\n", l->ops->name, prefix,
            exposure ? "double exposure, "
            : noisy  ? "double noise, "
                     : "",
            classes ? "double *p" : "double *mean, double *variance");
    if (strstr(c->formula, "value[")) {
        fprintf(f, "    static const double value[] = {");
        for (int64_t i = 0; i < l->params; i++) fprintf(f, "%s%.17g", i ? ", " : "", l->value[i]);
        fprintf(f, "};\n");
    }
    if (strstr(c->formula, "classes")) fprintf(f, "    enum { classes = %lld };\n", (long long)g->schema.classes);
    if (strstr(c->formula, "strata")) c_strata(f, g->schema.classes);
    fputs(c->formula, f);
    if (!classes) c_units(f, g);
    fputs("}\n\n", f);
}
