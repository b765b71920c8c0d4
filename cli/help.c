#include "cli.h"

#include <string.h>

static const char *field(int64_t i, const char *name) { return anygp_setting_field(i, name); }

static bool taken(int64_t i, char letter) { return strchr(field(i, "commands"), letter) != NULL; }

void help_program(FILE *f)
{
    fprintf(f, "anygp %s: Gaussian processes on large data\n\n", anygp_version());
    for (int i = 0; i < command_count; i++) fprintf(f, "  anygp %-40s %s\n", commands[i].usage, commands[i].summary);
    fprintf(f, "\nDATA is .csv or .tsv (plain or .gz), .jsonl, .npy, .npz, .h5, .libsvm or idx, also in a .zip; - is "
               "standard input.\n"
               "The target is the last column unless --target names another; --likelihood says whether it is a number, "
               "a count or a class.\n\n"
               "A first fit:\n"
               "  anygp simulate --rows 500 --inputs 2 -o train.csv\n"
               "  anygp fit train.csv -o model.agp\n"
               "  anygp predict model.agp train.csv -o predictions.csv\n\n"
               "anygp COMMAND --help lists the options of a command.\n");
}

/* Text wrapped at `width` from `column` on, further lines indented; the column where it ends. */
static int wrapped(FILE *f, const char *text, int column, int indent, int width)
{
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > width)
            fprintf(f, "\n%*s", indent, ""), column = indent;
        else if (column > indent)
            fputc(' ', f), column++;
        fprintf(f, "%.*s", n, text);
        column += n;
        text += n + (text[n] == ' ');
    }
    return column;
}

void help_command(FILE *f, const command *c)
{
    enum { INDENT = 27, WIDTH = 110 };
    fprintf(f, "usage: anygp %s\n%s\n", c->usage, c->summary);
    for (int64_t i = 0; i < anygp_setting_count(); i++) {
        char flag[64], preset[64];
        if (!taken(i, c->letter)) continue;
        snprintf(flag, sizeof flag, "--%s %s", field(i, "name"), field(i, "argument"));
        fprintf(f, "  %-24s ", flag);
        int column = wrapped(f, field(i, "help"), INDENT, INDENT, WIDTH);
        snprintf(preset, sizeof preset, "[%s]", field(i, "default"));
        if (*field(i, "default")) wrapped(f, preset, column, INDENT, WIDTH);
        fputc('\n', f);
    }
    if (c->writes)
        fprintf(f, "  %-24s %s\n", "-o FILE",
                !strcmp(c->name, "fit")      ? "the model file"
                : !strcmp(c->name, "update") ? "the new model file; default: replace MODEL"
                                             : "output file (.csv, .tsv, .npy, .h5); default: standard output");
    if (c->json) fprintf(f, "  %-24s %s\n", "--json", "write a JSON object to standard output");
    fprintf(f, "  %-24s %s\n", "-q, --quiet", "no progress and no notes");
}

/* ------------------------------------------------------------------------------------- man page */

/* A text with the characters troff would take for its own escaped. */
static void troff(FILE *f, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", f);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", f);
        else if (*text == '-')
            fputs("\\-", f);
        else
            fputc(*text, f);
    }
}

void help_man(FILE *f)
{
    fprintf(f, ".TH ANYGP 1 \"\" \"anygp %s\"\n.SH NAME\nanygp \\- Gaussian processes on large data\n.SH SYNOPSIS\n",
            anygp_version());
    for (int i = 0; i < command_count; i++)
        fputs(i ? ".br\n.B anygp " : ".B anygp ", f), troff(f, commands[i].usage), fputc('\n', f);
    fputs(".SH DESCRIPTION\nOne command fits a Gaussian process to a table, one predicts with error bars.  Training "
          "can be stopped at any moment\n"
          "and leaves a valid model.  Inputs and target are standardised inside; everything is reported in the data's "
          "units.\n",
          f);
    for (int i = 0; i < command_count; i++) {
        const command *c = &commands[i];
        fputs(".SS ", f), troff(f, c->usage), fputc('\n', f), troff(f, c->summary), fputc('\n', f);
        for (int64_t k = 0; k < anygp_setting_count(); k++) {
            if (!taken(k, c->letter)) continue;
            fputs(".TP\n.B \\-\\-", f), troff(f, field(k, "name")), fputs(" \\fI", f), troff(f, field(k, "argument")),
                fputs("\\fR\n", f);
            troff(f, field(k, "help"));
            if (*field(k, "default")) fputs(" (default: ", f), troff(f, field(k, "default")), fputc(')', f);
            fputc('\n', f);
        }
    }
    fputs(".SH EXIT STATUS\n0: done, also when stopped by Ctrl\\-C or \\-\\-time.  1: the input or the options are "
          "wrong; one sentence on standard\n"
          "error says where and what to do.  2: an internal error.  130, 143: stopped by Ctrl\\-C or SIGTERM before "
          "there was\n"
          "a result; nothing was written.\n",
          f);
}

/* A text in a cell of a Markdown table, where a bar would end it. */
static void cell(FILE *f, const char *text)
{
    fputc(' ', f);
    for (; *text; text++) {
        if (*text == '|') fputc('\\', f);
        fputc(*text, f);
    }
    fputs(" |", f);
}

void help_settings(FILE *f)
{
    fputs("# Settings\n\nGenerated from the library's settings table by `make docs`. The names are the options of the "
          "command line (`--name`), the first\n"
          "argument of `anygp_set`, and the keys of `settings` in a model file.\n\n| name | commands | type | default "
          "| meaning |\n| --- | --- | --- | --- | --- |\n",
          f);
    for (int64_t i = 0; i < anygp_setting_count(); i++) {
        fprintf(f, "| %s | ", field(i, "name"));
        bool first = true;
        for (int k = 0; k < command_count; k++)
            if (taken(i, commands[k].letter)) fprintf(f, "%s%s", first ? "" : ", ", commands[k].name), first = false;
        fputs(" |", f);
        cell(f, *field(i, "choices") ? field(i, "choices") : field(i, "type"));
        cell(f, field(i, "default"));
        cell(f, field(i, "help"));
        fputc('\n', f);
    }
}
