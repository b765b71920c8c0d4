#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "cli.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { INDENT = 27, WIDTH_LEAST = 60, WIDTH_MOST = 100, SCREEN = 40 };

static const char *field(int64_t i, const char *name) { return anygp_setting_field(i, name); }

/* By what the usage has after -o. */
const char *command_output_help(const command *c)
{
    static const char *const kinds[][2] = {
        {"CSV", "output file (.csv, .tsv, .npy, .h5); default: standard output"},
        {"MODEL", "the model file"},
        {"BEST", "keep the best model in this file"},
        {"HTML", "the page"},
        {"FILE.c|FILE.json", "the source file, .c or .json"},
        {"MODEL2", "the new model file; default: replace MODEL"},
    };
    const char *word = strstr(c->usage, "-o ");
    size_t n = word ? strcspn(word += 3, " ]") : 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (n == strlen(kinds[k][0]) && !strncmp(word, kinds[k][0], n)) return kinds[k][1];
    return "the file to write";
}

/* Columns of a line: those of a terminal, in a file as many as read well. */
static int width_of(FILE *f)
{
    struct winsize size;
    int file = fileno(f);
    if (file < 0 || !isatty(file) || ioctl(file, TIOCGWINSZ, &size) || size.ws_col == 0) return WIDTH_MOST;
    return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col > WIDTH_MOST ? WIDTH_MOST : size.ws_col;
}

/* Text wrapped at the width from `column` on, further lines indented; the column where it ends. */
static int wrapped(FILE *f, const char *text, int column, int indent)
{
    const int width = width_of(f);
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

void help_program(FILE *f)
{
    enum { NAMES = 16 };
    fprintf(f, "anygp %s: Gaussian processes on large data\n\n", anygp_version());
    for (int i = 0; i < command_count; i++) {
        fprintf(f, "  %-*s", NAMES - 2, commands[i].name);
        wrapped(f, commands[i].summary, NAMES, NAMES);
        fputc('\n', f);
    }
    fputc('\n', f);
    wrapped(f,
            "DATA is .csv or .tsv (plain or .gz), .jsonl, .npy, .npz, .h5, .libsvm or idx, also in a .zip; - is "
            "standard input. The target is the last column unless --target names another; --likelihood says whether it "
            "is a number, a count or a class.",
            0, 0);
    fprintf(f, "\n\nA first fit:\n"
               "  anygp simulate --rows 500 --inputs 2 -o train.csv\n"
               "  anygp fit train.csv -o model.agp\n"
               "  anygp predict model.agp train.csv -o predictions.csv\n\n"
               "anygp COMMAND --help shows the options of a command.\n");
}

/* ---------------------------------------------------------------------------------------- one command */

typedef enum detail {
    COMMON,
    BRIEF,
    FULL
} detail; /* the most needed options in a line each, all of them, all in full */

static bool shown(const command *c, int64_t i, detail d)
{
    return command_takes(c, i) && (d != COMMON || !strcmp(field(i, "common"), "yes"));
}

static void option_line(FILE *f, int64_t i, detail d)
{
    char flag[64], preset[64];
    snprintf(flag, sizeof flag, "--%s %s", field(i, "name"), field(i, "argument"));
    snprintf(preset, sizeof preset, "[%s]", field(i, "default"));
    fprintf(f, "  %-24s ", flag);
    int column = wrapped(f, field(i, d == FULL ? "help" : "brief"), INDENT, INDENT);
    bool flag_only = !*field(i, "argument"), fits = column + 1 + (int)strlen(preset) <= width_of(f) && !flag_only;
    if (*field(i, "default") && (d == FULL || fits)) wrapped(f, preset, column, INDENT);
    fputc('\n', f);
}

/* The options in their groups; how many lines that takes if every option takes one.  f NULL: only counts. */
static int options_in_groups(FILE *f, const command *c, detail d)
{
    const char *group = "";
    int lines = 0;
    for (int64_t k = 0; k < anygp_setting_count(); k++) {
        int64_t i = anygp_setting_listed(k);
        if (!shown(c, i, d)) continue;
        bool begins = strcmp(group, field(i, "group")) != 0;
        group = field(i, "group");
        if (f && begins) fprintf(f, "%s:\n", group);
        if (f) option_line(f, i, d);
        lines += 1 + begins;
    }
    return lines;
}

static void own_options(FILE *f, const command *c)
{
    const own_option *own = command_own(c);
    if (own) fputs("Other options:\n", f);
    for (; own && own->name; own++) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s %s", own->name, own->argument);
        fprintf(f, "  %-24s ", flag);
        wrapped(f, own->help, INDENT, INDENT);
        fputc('\n', f);
    }
}

static void switches(FILE *f, const command *c, bool more)
{
    own_options(f, c);
    fputs("Output:\n", f);
    if (c->writes) {
        fprintf(f, "  %-24s ", "-o FILE");
        wrapped(f, command_output_help(c), INDENT, INDENT);
        fputc('\n', f);
    }
    if (c->json) fprintf(f, "  %-24s %s\n", "--json", "write a JSON object to standard output");
    fprintf(f, "  %-24s %s\n", "-q, --quiet", "no progress and no notes");
    if (more) fprintf(f, "  %-24s %s\n", "--help-all", "show every option, in full");
}

void help_command(FILE *f, const command *c, bool all)
{
    enum { OTHER_LINES = 8 };
    detail d = all ? FULL : options_in_groups(NULL, c, BRIEF) + OTHER_LINES <= SCREEN ? BRIEF : COMMON;
    fprintf(f, "usage: anygp %s\n", c->usage);
    wrapped(f, c->summary, 0, 0);
    fputc('\n', f);
    int lines = options_in_groups(f, c, d);
    switches(f, c, !all && lines > 0);
    if (d == COMMON) {
        char more[160];
        snprintf(more, sizeof more, "These are the options that most fits need; anygp %s --help-all shows all of them.",
                 c->name);
        wrapped(f, more, 0, 0);
        fputc('\n', f);
    }
}

/* ------------------------------------------------------------------------------------- docs/settings.md */

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

static void commands_of(FILE *f, int64_t i)
{
    bool first = true;
    for (int k = 0; k < command_count; k++)
        if (command_takes(&commands[k], i)) fprintf(f, "%s%s", first ? "" : ", ", commands[k].name), first = false;
}

void help_settings(FILE *f)
{
    const char *group = "";
    fputs(
        "# Settings\n\nGenerated from the library's settings table by `make docs`. The names are the options of the "
        "command line (`--name`), the first\n"
        "argument of `anygp_set`, and the keys of `settings` in a model file. `anygp COMMAND --help` shows those that "
        "most people need, `--help-all` shows all.\n",
        f);
    for (int64_t k = 0; k < anygp_setting_count(); k++) {
        int64_t i = anygp_setting_listed(k);
        if (strcmp(group, field(i, "group")))
            fprintf(f, "\n## %s\n\n| name | commands | type | default | meaning |\n| --- | --- | --- | --- | --- |\n",
                    group = field(i, "group"));
        fprintf(f, "| %s | ", field(i, "name"));
        commands_of(f, i);
        fputs(" |", f);
        cell(f, *field(i, "choices") ? field(i, "choices") : field(i, "type"));
        cell(f, field(i, "default"));
        cell(f, field(i, "help"));
        fputc('\n', f);
    }
}
