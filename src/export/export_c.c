/* A model as C99: tables, one function per target that follows its recipe, and functions for callers around it. */
#define _GNU_SOURCE /* open_memstream */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anygp/anygp.h"
#include "export/export.h"

typedef struct writer {
    FILE *f;
    const gp_set *m;
    const char *name;
    const recipe *r; /* of each target */
} writer;

/* Text in a comment or between quotes: what could end these becomes a question mark. */
static void c_text(FILE *f, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        fputc(*c < ' ' || *c == 127 || strchr("\"\\?*/", *c) ? '?' : *c, f);
}

static void c_quoted(FILE *f, const char *text)
{
    fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ' || *c >= 127 || strchr("\"\\?", *c))
            fprintf(f, "\\%03o", *c);
        else
            fputc(*c, f);
    fputc('"', f);
}

/* -------------------------------------------------------------------------------------------- inputs */

static void input_lines(FILE *f, const schema *s)
{
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        fprintf(f, "       x[%lld]  ", (long long)i);
        c_text(f, c->name ? c->name : "");
        fprintf(f, "%s\n",
                c->text           ? ", a text: the number of its category"
                : c->position < 0 ? ", constant in the training rows and not used"
                                  : "");
    }
}

/* From a row of the data to model units; 0: a value is missing that cannot be filled in. */
static void c_inputs(FILE *f, const char *prefix, const schema *s)
{
    fprintf(f, "static int %s_units(const double *row, double *x)\n{\n", prefix);
    if (s->D) {
        fputs("    static const int input[] = {", f);
        for (int64_t j = 0; j < s->D; j++) fprintf(f, "%s%lld", j ? ", " : "", (long long)s->at[j]);
        fputs("};\n", f);
    }
    const char *const tables[] = {"shift", "scale", "fill"};
    for (int t = 0; t < 2 + s->fill_missing && s->D; t++) {
        fprintf(f, "    static const double %s[] = {", tables[t]);
        for (int64_t j = 0; j < s->D; j++) {
            const input_spec *c = schema_at(s, j);
            fprintf(f, "%s%.17g", j ? ", " : "", t == 0 ? c->shift : t == 1 ? c->scale : c->fill);
        }
        fputs("};\n", f);
    }
    if (s->D)
        fprintf(f,
                "    int j;\n"
                "    for (j = 0; j < %lld; j++) {\n"
                "        double cell = row[input[j]];\n"
                "        if (cell != cell) %s;\n"
                "        cell = (double)(((long double)cell - (long double)shift[j]) / (long double)scale[j]);\n"
                "        x[j] = fmax(-1e150, fmin(cell, 1e150));\n"
                "    }\n",
                (long long)s->D, s->fill_missing ? "cell = fill[j]" : "return 0");
    else
        fputs("    (void)row, (void)x;\n", f);
    fputs("    return 1;\n}\n\n", f);
}

static bool has_text(const schema *s)
{
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].text) return true;
    return false;
}

static void c_categories(const writer *w)
{
    const schema *s = &w->m->gp[0]->schema;
    if (!has_text(s)) return;
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        if (!c->text) continue;
        fprintf(w->f, "static const char *const %s_levels%lld[] = {", w->name, (long long)i);
        for (int64_t k = 0; k < c->levels; k++) fputs(k ? ", " : "", w->f), c_quoted(w->f, c->level[k]);
        fprintf(w->f, "%s};\n", c->levels ? "" : "0");
    }
    fprintf(w->f, "\nint %s_category(int input, const char *text)\n{\n    int k;\n", w->name);
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].text)
            fprintf(w->f,
                    "    for (k = 0; input == %lld && k < %lld; k++)\n"
                    "        if (!strcmp(%s_levels%lld[k], text)) return k;\n"
                    "    if (input == %lld) return %lld;\n",
                    (long long)i, (long long)s->input[i].levels, w->name, (long long)i, (long long)i,
                    (long long)s->input[i].levels);
    fputs("    return 0;\n}\n\n", w->f);
}

/* ------------------------------------------------------------------------------------ for the callers */

static void suffix_of(const writer *w, int64_t t, char out[24])
{
    if (w->m->targets > 1)
        snprintf(out, 24, "_%lld", (long long)t + 1);
    else
        out[0] = 0;
}

static bool counts(const gp *g) { return g->likelihood->ops->target == TARGET_COUNT; }

static void declare_target(FILE *f, const writer *w, int64_t t)
{
    const gp *g = w->m->gp[t];
    char at[24];
    suffix_of(w, t, at);
    fputs("\n/* ", f);
    c_text(f, g->schema.target ? g->schema.target : "the target");
    if (gp_is_class(g)) {
        fprintf(f, ": one of %lld classes, and the probability of each. */\n", (long long)g->schema.classes);
        fprintf(f, "extern const char *const %s_class%s[%lld];\n", w->name, at, (long long)g->schema.classes);
        fprintf(f, "void %s_classes%s(const double *x, double *p);\n", w->name, at);
    } else {
        fprintf(f, ": mean and variance of a new observation; variance may be a null pointer%s. */\n",
                counts(g) ? ".  Exposed: for another exposure than 1" : "");
        fprintf(f, "double %s_mean%s(const double *x);\n", w->name, at);
        fprintf(f, "void %s_predict%s(const double *x, double *mean, double *variance);\n", w->name, at);
        if (counts(g))
            fprintf(f, "void %s_exposed%s(const double *x, double exposure, double *mean, double *variance);\n",
                    w->name, at);
    }
    fprintf(f, "/* Mean and variance of the function itself%s. */\n",
            gp_latents(g) > 1 ? ", for each of its latent functions" : "");
    fprintf(f, "void %s_latent%s(const double *x, double *mean, double *variance);\n", w->name, at);
}

static void declarations(FILE *f, const writer *w)
{
    const schema *s = &w->m->gp[0]->schema;
    fprintf(f, "#define %s_INPUTS %lld\n", w->name, (long long)s->inputs);
    fprintf(f, "/* A row x, in the units of the data:\n");
    input_lines(f, s);
    fprintf(f, "   A missing value is NaN%s */\n",
            s->fill_missing ? ", and is filled in." : "; the result is then NaN.");
    if (has_text(s))
        fprintf(f,
                "/* The number of a category of input x[input]; a text that no training row had is one of its own. */\n"
                "int %s_category(int input, const char *text);\n",
                w->name);
    for (int64_t t = 0; t < w->m->targets; t++) declare_target(f, w, t);
}

/* Arrays for what c_steps leaves besides means and variances, and the arguments that pass them on. */
static void c_extra(const writer *w, const recipe *r)
{
    if (r->components > 1) fprintf(w->f, "    double weight[%lld];\n", (long long)r->components);
    if (r->noisy) fprintf(w->f, "    double noise[%lld];\n", (long long)r->components);
}

static const char *extra_arguments(const recipe *r, bool declared)
{
    bool weight = r->components > 1;
    if (declared)
        return weight && r->noisy ? ", double *weight, double *noise"
               : weight           ? ", double *weight"
               : r->noisy         ? ", double *noise"
                                  : "";
    return weight && r->noisy ? ", weight, noise" : weight ? ", weight" : r->noisy ? ", noise" : "";
}

static void c_latent(const writer *w, int64_t t, const char *prefix, const char *at)
{
    const gp *g = w->m->gp[t];
    const recipe *r = &w->r[t];
    FILE *f = w->f;
    target_scale u = gp_target_unit(g);
    long long C = r->latents, S = r->components, D = (long long)g->schema.D;
    fprintf(f, "void %s_latent%s(const double *row, double *mean, double *variance)\n{\n", w->name, at);
    if (S > 1) fprintf(f, "    double mu[%lld], var[%lld];\n", S * C, S * C);
    c_extra(w, r);
    fprintf(f, "    double x[%lld];\n    int c, known = %s_units(row, x);\n", D ? D : 1, prefix);
    if (S > 1)
        fprintf(f,
                "    if (known) %s_steps(x, mu, variance ? var : 0%s);\n"
                "    for (c = 0; known && c < %lld; c++)\n"
                "        mixture(%lld, %lld, weight, mu + c, var + c, mean + c, variance ? variance + c : 0);\n",
                prefix, extra_arguments(r, false), C, S, C);
    else
        fprintf(f, "    if (known) %s_steps(x, mean, variance%s);\n", prefix, extra_arguments(r, false));
    fprintf(f,
            "    for (c = 0; !known && c < %lld; c++) mean[c] = NAN;\n"
            "    for (c = 0; variance && !known && c < %lld; c++) variance[c] = NAN;\n"
            "    mean[0] = %.17g + %.17g * mean[0];\n"
            "    if (variance) variance[0] *= %.17g;\n}\n\n",
            C, C, u.shift, u.scale, u.scale * u.scale);
}

/* Latents as y sees them, in mu and var, from a row. */
static void c_seen(const writer *w, int64_t t, const char *prefix)
{
    const gp *g = w->m->gp[t];
    const recipe *r = &w->r[t];
    long long cells = r->latents * r->components, D = (long long)g->schema.D;
    double white = r->noisy ? 0 : kernel_white(g->posterior->kernel);
    fprintf(w->f,
            "static int %s_seen(const double *row, double *mu, double *var%s)\n{\n"
            "    double x[%lld];\n",
            prefix, extra_arguments(r, true), D ? D : 1);
    if (white > 0) fputs("    int c;\n", w->f);
    fprintf(w->f, "    if (!%s_units(row, x)) return 0;\n    %s_steps(x, mu, var%s);\n", prefix, prefix,
            extra_arguments(r, false));
    if (white > 0) fprintf(w->f, "    for (c = 0; c < %lld; c++) var[c] += %.17g;\n", cells, white);
    fputs("    return 1;\n}\n\n", w->f);
}

static void c_classes(const writer *w, int64_t t, const char *prefix, const char *at)
{
    const gp *g = w->m->gp[t];
    const recipe *r = &w->r[t];
    long long K = (long long)g->schema.classes, C = r->latents, S = r->components;
    FILE *f = w->f;
    fprintf(f, "const char *const %s_class%s[%lld] = {", w->name, at, K);
    for (int64_t k = 0; k < g->schema.classes; k++) fputs(k ? ", " : "", f), c_quoted(f, g->schema.class_name[k]);
    fprintf(f,
            "};\n\nvoid %s_classes%s(const double *row, double *p)\n{\n"
            "    double mu[%lld], var[%lld];\n",
            w->name, at, S * C, S * C);
    c_extra(w, r);
    if (S > 1) fprintf(f, "    double one[%lld];\n    int s;\n", K);
    fprintf(f,
            "    int k, known = %s_seen(row, mu, var%s);\n"
            "    for (k = 0; k < %lld; k++) p[k] = known ? 0 : NAN;\n",
            prefix, extra_arguments(r, false), K);
    if (S > 1)
        fprintf(f,
                "    for (s = 0; known && s < %lld; s++) {\n"
                "        %s_observe(mu + s * %lld, var + s * %lld, one);\n"
                "        for (k = 0; k < %lld; k++) p[k] += weight[s] * one[k];\n    }\n}\n\n",
                S, prefix, C, C, K);
    else
        fprintf(f, "    if (known) %s_observe(mu, var, p);\n}\n\n", prefix);
}

static void c_observed(const writer *w, const recipe *r, const char *prefix, const char *first)
{
    long long C = r->latents, S = r->components;
    if (S > 1)
        fprintf(w->f,
                "    if (!%s_seen(row, mu, var%s)) return;\n"
                "    for (s = 0; s < %lld; s++) %s_observe(%smu + s * %lld, var + s * %lld, &m[s], &v[s]);\n"
                "    mixture(%lld, 1, weight, m, v, mean, variance);\n}\n\n",
                prefix, extra_arguments(r, false), S, prefix, r->noisy ? "noise[s], " : first, C, C, S);
    else
        fprintf(w->f, "    if (%s_seen(row, mu, var%s)) %s_observe(%smu, var, mean, variance);\n}\n\n", prefix,
                extra_arguments(r, false), prefix, r->noisy ? "noise[0], " : first);
}

static void c_moments(const writer *w, int64_t t, const char *prefix, const char *at)
{
    const gp *g = w->m->gp[t];
    const recipe *r = &w->r[t];
    FILE *f = w->f;
    long long C = r->latents, S = r->components;
    const char *exposed = counts(g) ? "double exposure, " : "";
    fprintf(f,
            "void %s_%s%s(const double *row, %sdouble *mean, double *variance)\n{\n"
            "    double mu[%lld], var[%lld], unused;\n",
            w->name, counts(g) ? "exposed" : "predict", at, exposed, S * C, S * C);
    c_extra(w, r);
    if (S > 1) fprintf(f, "    double m[%lld], v[%lld];\n    int s;\n", S, S);
    fputs("    *mean = NAN;\n"
          "    if (!variance) variance = &unused;\n"
          "    *variance = NAN;\n",
          f);
    c_observed(w, r, prefix, counts(g) ? "exposure, " : "");
    if (counts(g))
        fprintf(f,
                "void %s_predict%s(const double *row, double *mean, double *variance)\n{\n"
                "    %s_exposed%s(row, 1, mean, variance);\n}\n\n",
                w->name, at, w->name, at);
    fprintf(f, "double %s_mean%s(const double *row)\n{\n", w->name, at);
    if (counts(g) || c_is_log(g)) /* it depends on the variance of f */
        fprintf(f, "    double mean;\n    %s_predict%s(row, &mean, 0);\n    return mean;\n}\n\n", w->name, at);
    else
        fprintf(f, "    double mean[%lld];\n    %s_latent%s(row, mean, 0);\n    return mean[0];\n}\n\n", C, w->name,
                at);
}

static void c_target(const writer *w, int64_t t)
{
    const gp *g = w->m->gp[t];
    const recipe *r = &w->r[t];
    char prefix[160], at[24];
    snprintf(prefix, sizeof prefix, "%.100s_t%lld", w->name, (long long)t + 1);
    suffix_of(w, t, at);
    for (int64_t i = 0; i < r->n_arrays; i++)
        c_array(w->f, prefix, r->arrays[i].name, r->arrays[i].count, r->arrays[i].values);
    c_kernels(w->f, prefix, r);
    c_inputs(w->f, prefix, &g->schema);
    c_steps(w->f, prefix, r);
    c_latent(w, t, prefix, at);
    c_observe(w->f, prefix, g, r->noisy);
    c_seen(w, t, prefix);
    (gp_is_class(g) ? c_classes : c_moments)(w, t, prefix, at);
}

/* -------------------------------------------------------------------------------------------- the whole */

static void c_source(const writer *w, const char *header)
{
    fprintf(w->f, "/* A Gaussian process written by anygp %s: C99, no library but libm, no allocation. */\n",
            anygp_version());
    fputs("#include <math.h>\n", w->f);
    if (has_text(&w->m->gp[0]->schema)) fputs("#include <string.h>\n", w->f);
    fputc('\n', w->f);
    if (header)
        fprintf(w->f, "#include \"%s\"\n", header);
    else
        declarations(w->f, w);
    fputc('\n', w->f);
    c_helpers(w->f, w->m->targets, w->r);
    c_categories(w);
    for (int64_t t = 0; t < w->m->targets; t++) c_target(w, t);
}

static void c_header(const writer *w)
{
    fprintf(w->f, "/* Declarations of a Gaussian process written by anygp %s. */\n", anygp_version());
    fprintf(w->f, "#ifndef %s_H\n#define %s_H\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", w->name, w->name);
    declarations(w->f, w);
    fputs("\n#ifdef __cplusplus\n}\n#endif\n#endif\n", w->f);
}

static anygp_status in_memory(writer w, const char *header, bool is_header, char **text, anygp_error *e)
{
    size_t size = 0;
    *text = NULL;
    if (!(w.f = open_memstream(text, &size))) return fail_memory(e, "the exported model", 0);
    if (is_header)
        c_header(&w);
    else
        c_source(&w, header);
    bool ok = !ferror(w.f);
    if (fclose(w.f) == 0 && ok) return ANYGP_OK;
    free(*text);
    *text = NULL;
    return fail_memory(e, "the exported model", (double)size);
}

anygp_status export_c(const gp_set *m, const char *name, const char *header, char **source, char **declarations_text,
                      anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    recipe *r = calloc((size_t)m->targets, sizeof *r);
    writer w = {.m = m, .name = name, .r = r};
    *source = NULL;
    if (declarations_text) *declarations_text = NULL;
    if (!r) return fail_memory(e, "the exported model", (double)m->targets * sizeof *r);
    for (int64_t t = 0; t < m->targets; t++) {
        TRY_DONE(c_check_likelihood(m->gp[t], e));
        TRY_DONE(recipe_of(m->gp[t], &r[t], e));
    }
    TRY_DONE(in_memory(w, header, false, source, e));
    if (declarations_text) TRY_DONE(in_memory(w, NULL, true, declarations_text, e));
done:
    for (int64_t t = 0; t < m->targets; t++) recipe_clear(&r[t]);
    free(r);
    if (ANYGP_FAILED(status)) free(*source), *source = NULL;
    return status;
}
