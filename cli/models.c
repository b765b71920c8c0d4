#include <string.h>

#include "cli.h"

static const char *field(int64_t i, const char *name) { return anygp_model_field(i, name); }
static bool is(int64_t i, const char *name, const char *value) { return !strcmp(field(i, name), value); }

/* How --inducing is written for it. */
static const char *inducing(int64_t i)
{
    return is(i, "inducing", "one")        ? "M"
           : is(i, "inducing", "sets")     ? "M+M2"
           : is(i, "inducing", "pair")     ? "Ma/Mb"
           : is(i, "inducing", "optional") ? "0 or M"
                                           : "-";
}

/* ------------------------------------------------------------------------------------------ table */

/* One letter per ability, each in its own column. */
static void abilities(int64_t i, char text[5])
{
    const bool can[4] = {is(i, "targets", "several"), is(i, "anytime", "yes"), is(i, "update", "yes"),
                         is(i, "joint", "yes")};
    for (int k = 0; k < 4; k++) text[k] = can[k] ? "t+uj"[k] : '.';
    text[4] = 0;
}

static void expressions(FILE *f, const char *between)
{
    bool first = true;
    for (int64_t i = 0; i < anygp_model_count(); i++)
        if (*field(i, "expression")) fprintf(f, "%s%s", first ? "" : between, field(i, "expression")), first = false;
}

/* In lines that fit a screen, after `lead`. */
static void expression_lines(FILE *f, const char *lead)
{
    enum { WIDTH = 100 };
    size_t used = strlen(lead);
    bool first = true;
    fputs(lead, f);
    for (int64_t i = 0; i < anygp_model_count(); i++) {
        const char *text = field(i, "expression");
        if (!*text) continue;
        bool wrap = !first && used + strlen(text) + 3 > WIDTH;
        fprintf(f, "%s%s", first ? "" : wrap ? ",\n  " : ", ", text);
        used = (wrap ? 2 : used + 2) + strlen(text), first = false;
    }
}

void models_table(FILE *f)
{
    char can[5], learned[16];
    fprintf(f, "%-15s %-8s %-8s %-6s %-4s %-11s %s\n", "model", "noise", "inducing", "rows", "can", "cost", "summary");
    for (int64_t i = 0; i < anygp_model_count(); i++) {
        abilities(i, can);
        snprintf(learned, sizeof learned, "%s%s", inducing(i), is(i, "learned", "yes") ? "*" : "");
        fprintf(f, "%-15s %-8s %-8s %-6s %-4s %-11s %s\n", field(i, "name"), field(i, "likelihoods"), learned,
                field(i, "rows"), can, field(i, "cost"), field(i, "summary"));
    }
    fputs("\nnoise     gaussian: real targets with Gaussian noise; any: every likelihood\n"
          "inducing  how --inducing is written; *: inducing inputs are learned\n"
          "rows      all at once in memory, in blocks (from a file of any size), or in parts of the input space\n"
          "can       t: several targets in one fit, +: anytime as NAME+, u: update, j: joint draws\n"
          "cost      of a pass over n rows or a step over b rows; m: inducing inputs or rows of the subset,\n"
          "          d: inputs, j: rows per block, o: inducing inputs of the mean only,\n          ma/mb: bases of "
          "mean/covariance\n\n",
          f);
    expression_lines(f, "With options: ");
    fputs(".\nauto chooses among them.\n", f);
}

/* ------------------------------------------------------------------------------------------- JSON */

void print_json_text(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            fprintf(f, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, f);
    }
    fputc('"', f);
}

void models_json(FILE *f)
{
    static const char *const texts[] = {"name",     "summary", "expression", "likelihoods", "targets",
                                        "inducing", "rows",    "learning",   "cost"};
    static const char *const flags[] = {"learned", "anytime", "update", "joint", "mean", "weights"};
    for (int64_t i = 0; i < anygp_model_count(); i++) {
        fputs(i ? ",\n {" : "[{", f);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            fprintf(f, "%s\"%s\": ", k ? ", " : "", texts[k]);
            print_json_text(f, field(i, texts[k]));
        }
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            fprintf(f, ", \"%s\": %s", flags[k], is(i, flags[k], "yes") ? "true" : "false");
        fputc('}', f);
    }
    fputs("]\n", f);
}

/* ------------------------------------------------------------------------------------------- page */

static bool all(const char *name)
{
    bool every = true;
    for (int64_t i = 0; i < anygp_model_count(); i++) every = every && is(i, name, "yes");
    return every;
}

/* vfe_tight and svdgp-sga are on the pages of vfe and svdgp. */
static int page_length(const char *name) { return (int)strcspn(name, "_-"); }

void models_page(FILE *f)
{
    fputs("# Models\n\nGenerated from the library's table of models by `make docs`; `anygp models` prints the same, "
          "`anygp "
          "models "
          "--json` prints it for programs, and in C\n`anygp_model_field` returns it. `--model auto` chooses among them "
          "([auto](auto.md)).\n\n"
          "| model | what it is | likelihoods | targets in one fit | inducing inputs | rows | learns by | `NAME+` | "
          "`update` "
          "| joint draws | cost |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
          f);
    for (int64_t i = 0; i < anygp_model_count(); i++) {
        const char *name = field(i, "name");
        fprintf(f, "| [%s](%.*s.md) | %s | %s | %s | %s%s | %s | %s | %s | %s | %s | %s |\n", name, page_length(name),
                name, field(i, "summary"), field(i, "likelihoods"), field(i, "targets"),
                is(i, "inducing", "none") ? "none" : inducing(i), is(i, "learned", "yes") ? ", learned" : "",
                field(i, "rows"), field(i, "learning"), field(i, "anytime"), field(i, "update"), field(i, "joint"),
                field(i, "cost"));
    }
    fputs(
        "\n- **likelihoods**: gaussian (real targets with Gaussian noise), or any of [these](likelihoods.md).\n"
        "- **targets in one fit**: several targets share the kernel and the inducing inputs; otherwise each target is "
        "fitted "
        "on its own.\n"
        "- **inducing inputs**: how `--inducing` is written. `M`: one set; `0 or M`: none, unless a number is given; "
        "`M+M2`: the sizes of several sets; `Ma/Mb`: "
        "bases of the "
        "mean, and inducing inputs of the\n  covariance. Learned inducing inputs move unless `--fix inducing` is "
        "given.\n"
        "- **rows**: all at once, in memory; blocks, so that a file of any size can be [streamed](running.md); or "
        "parts, which are "
        "[blocks](blocks.md) of the input space.\n"
        "- **learns by** passes over all rows (L-BFGS), or by steps over some of them. None: the hyperparameters are "
        "given.\n"
        "- **NAME+** runs [anytime](anytime.md). **update** takes [new rows](updating.md) without the old ones.\n"
        "- **cost** of a pass over n rows, or of a step over b rows, with d inputs, m inducing inputs or rows of the "
        "subset, j rows per block,\n  k neighbours, q places on borders of cells, o inducing inputs of the mean only, "
        "ma and mb bases of mean and "
        "covariance.\n\n",
        f);
    if (all("weights") && all("mean")) fputs("All of them take weights and a prior mean. ", f);
    fputs("With options a model is written as in `", f);
    expressions(f, "` or `");
    fputs("`.\n", f);
}
