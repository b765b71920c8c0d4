/* Between data units, in which users write and read, and the model units of standardised data: predictions, scores, kernels and
   likelihoods. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gp/fit.h"

/* ------------------------------------------------------------------------- predictions and scores */

target_scale gp_latent_unit(const gp *g, int64_t c)
{
    bool scaled = c == 0 && g->likelihood->ops->target == TARGET_REAL;
    return scaled ? (target_scale){g->schema.y_shift, g->schema.y_scale} : (target_scale){0, 1};
}

target_scale gp_target_unit(const gp *g) { return gp_latent_unit(g, 0); }

void unit_means(target_scale u, int64_t n, const double *model, double *data)
{
    for (int64_t i = 0; i < n; i++) data[i] = u.shift + u.scale * model[i];
}

void unit_variances(target_scale u, int64_t n, const double *model, double *data)
{
    double square = u.scale * u.scale;
    for (int64_t i = 0; i < n; i++) data[i] = square * model[i];
}

double unit_variance(target_scale u, double model) { return model * u.scale * u.scale; }

double unit_log_density(target_scale u, double model) { return model - log(u.scale); }

train_scores fit_scores_to_data(const schema *s, train_scores m)
{
    double shift = log(s->y_scale) - s->y_log_slope;
    return (train_scores){
        .rmse = m.rmse * s->y_scale, .mnlp = m.mnlp + shift, .mell = m.mell - shift, .coverage = m.coverage};
}

train_scores fit_scores_to_model(const schema *s, train_scores d)
{
    double shift = log(s->y_scale) - s->y_log_slope;
    return (train_scores){
        .rmse = d.rmse / s->y_scale, .mnlp = d.mnlp - shift, .mell = d.mell + shift, .coverage = d.coverage};
}

/* ------------------------------------------------------------------------- kernels and likelihoods */

/* The unit of parameter p: data units = model units times this. */
static double unit_of(const schema *s, const kernel_param *p)
{
    return kernel_param_unit(p, p->column >= 0 ? schema_at(s, p->column)->scale : 1, s->y_scale);
}

/* Parameter i of l, data units = y_scale^power * model units + shift.  Positive ones of real targets have the unit of y to some
   power; their real ones are logarithms of variances; those of counts and classes have none. */
typedef struct param_unit {
    double y_scale, shift;
    int power;
} param_unit;

static param_unit param_unit_of(const likelihood *l, int64_t i, double y_scale)
{
    bool of_y = l->ops->target == TARGET_REAL, log_variance = of_y && l->param[i].real;
    return (param_unit){y_scale, log_variance ? 2 * log(y_scale) : 0, of_y && !log_variance ? l->param[i].power : 0};
}

static double param_to_data(param_unit u, double value)
{
    for (int k = 0; k < u.power; k++) value *= u.y_scale;
    return value + u.shift;
}

static double param_to_model(param_unit u, double value)
{
    double scale = 1;
    for (int k = 0; k < u.power; k++) scale *= u.y_scale;
    return (value - u.shift) / scale;
}

double gp_likelihood_value(const gp *g, int64_t i)
{
    double value = param_to_data(param_unit_of(g->likelihood, i, g->schema.y_scale), g->likelihood->value[i]);
    return fmin(fmax(value, -DBL_MAX), DBL_MAX);
}

double gp_noise(const gp *g) { return gp_is_gaussian(g) ? gp_likelihood_value(g, 0) : 0; }

void gp_given_likelihood_to_model_units(likelihood *l, const schema *s)
{
    for (int64_t i = 0; i < l->params; i++)
        if (l->param[i].given) l->value[i] = param_to_model(param_unit_of(l, i, s->y_scale), l->value[i]);
}

void gp_given_likelihood_of_target(const likelihood *l, const schema *first, const schema *s, double *values)
{
    for (int64_t i = 0; i < l->params; i++)
        if (l->param[i].given)
            values[i] = param_to_model(param_unit_of(l, i, s->y_scale),
                                       param_to_data(param_unit_of(l, i, first->y_scale), l->value[i]));
}

anygp_status gp_likelihood_text(const gp *g, int digits, char **text, anygp_error *e)
{
    double values[LIKELIHOOD_PARAMS];
    for (int64_t i = 0; i < g->likelihood->params; i++) values[i] = gp_likelihood_value(g, i);
    return likelihood_format(g->likelihood, values, digits, text, e);
}

/* inner: its variances have no unit. */
static anygp_status kernel_text(const gp *g, const kernel *k, bool inner, int digits, char **text, anygp_error *e)
{
    int64_t P = kernel_count(k);
    double *values = mem_alloc(P, sizeof *values);
    if (!values) return fail_memory(e, "the kernel's text", 8.0 * (double)P);
    for (int64_t i = 0; i < P; i++) {
        const kernel_param *p = kernel_param_at(k, i);
        double unit = inner && p->role == ROLE_VARIANCE ? 1 : unit_of(&g->schema, p);
        double value = kernel_values((kernel *)k)[i] * unit;
        values[i] = fmin(fmax(value, -DBL_MAX), DBL_MAX); /* inputs of 1e308 have a length-scale beyond it */
    }
    anygp_status status = kernel_format(k, values, digits, text, e);
    free(values);
    return status;
}

anygp_status gp_kernel_text(const gp *g, int digits, char **text, anygp_error *e)
{
    return kernel_text(g, g->posterior->kernel, false, digits, text, e);
}

anygp_status gp_inner_kernel_text(const gp *g, int64_t i, int digits, char **text, anygp_error *e)
{
    const posterior *p = g->posterior;
    const kernel *k = p->ops->inner_kernel ? p->ops->inner_kernel(p, i) : NULL;
    *text = NULL;
    return k ? kernel_text(g, k, !p->noises, digits, text, e) : ANYGP_OK; /* experts have the units of y */
}

double gp_expert_noise(const gp *g, int64_t s)
{
    const posterior *p = g->posterior;
    const kernel *k = s > 0 ? p->ops->inner_kernel(p, s - 1) : p->kernel;
    return unit_variance(gp_target_unit(g), fmax(p->noises[s] - kernel_white(k), 0));
}

static anygp_status tie_sphere(const schema *s, kernel **k, anygp_error *e)
{
    char lon[96], lat[96];
    if (kernel_tie(*k, s->sphere.at, SPHERE_COLUMNS)) return ANYGP_OK;
    kernel_free(*k);
    *k = NULL;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "kernel: with --sphere the columns %s and %s are one place, so dims have both or neither",
                     schema_label(&s->input[s->sphere.lon], lon), schema_label(&s->input[s->sphere.lat], lat));
}

anygp_status gp_parse_kernel(const char *text, const schema *s, kernel **out, anygp_error *e)
{
    kernel_input *in = mem_alloc(s->inputs, sizeof *in);
    if (!in) return fail_memory(e, "the kernel", (double)s->inputs * sizeof *in);
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        in[i] = (kernel_input){c->name, c->number,
                               c->position < 0 ? INPUT_CONSTANT
                               : c->text       ? INPUT_TEXT
                                               : INPUT_NUMBER,
                               c->position};
        if (s->sphere.on && i == s->sphere.lat) in[i].kind = INPUT_PAIR;
    }
    anygp_status status = kernel_parse(text, in, s->inputs, s->D, out, e);
    free(in);
    return !ANYGP_FAILED(status) && s->sphere.on ? tie_sphere(s, out, e) : status;
}

const char *gp_default_kernel(const schema *s)
{
    int64_t numbers = 0, texts = 0;
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].position >= 0) s->input[i].text ? texts++ : numbers++;
    if (s->sphere.on && numbers == 2) return texts == 0 ? "matern52(iso)" : "matern52(iso) * categorical";
    return texts == 0 ? "matern52" : numbers == 0 ? "categorical" : "matern52 * categorical";
}

void gp_given_to_model_units(kernel *k, const schema *s)
{
    for (int64_t i = 0; i < kernel_count(k); i++) {
        const kernel_param *p = kernel_param_at(k, i);
        if (p->given) kernel_values(k)[i] /= unit_of(s, p);
    }
}
