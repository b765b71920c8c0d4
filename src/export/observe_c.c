/* From the latents of a row to its target, as C: the closed forms of the likelihoods (src/likelihood). */
#include <math.h>
#include <string.h>

#include "export/export.h"

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
                     "a model with a %s likelihood cannot be exported as C, since its class probabilities have no "
                     "closed form; those that can are gaussian, laplace, studentt, heteroscedastic, poisson, negbin, "
                     "bernoulli and ordinal, and JSON has the latent functions of all",
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
    if (strstr(c->formula, "classes"))
        fprintf(f, "    static const int classes = %lld;\n", (long long)g->schema.classes);
    fputs(c->formula, f);
    if (!classes) c_units(f, g);
    fputs("}\n\n", f);
}
