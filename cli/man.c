/* The man pages: anygp(1), and anygp-COMMAND(1) for each command, from the tables of commands and settings. */
#include <string.h>

#include "cli.h"

static const char *field(int64_t i, const char *name) { return anygp_setting_field(i, name); }

/* A text with the characters troff would take for its own escaped. */
static void troff(FILE *f, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", f);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", f);
        else if (*text == '-')
            fputs("\\-", f);
        else if (*text == '\'')
            fputs("\\(aq", f);
        else
            fputc(*text, f);
    }
}

static void named(FILE *f, const char *name, const char *summary)
{
    fputs(".TH ", f);
    for (const char *at = name; *at; at++) fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, f);
    fprintf(f, " 1 \"\" \"anygp %s\" \"User Commands\"\n.SH NAME\n", anygp_version());
    troff(f, name), fputs(" \\- ", f), troff(f, summary), fputc('\n', f);
}

static void usage(FILE *f, const command *c)
{
    size_t n = strlen(c->name);
    fputs(".B anygp ", f), troff(f, c->name), fputc('\n', f);
    if (c->usage[n] == ' ') troff(f, c->usage + n + 1), fputc('\n', f);
}

static void option(FILE *f, const char *flag, const char *argument)
{
    fputs(".TP\n\\fB", f), troff(f, flag), fputs("\\fR", f);
    if (*argument) fputs(" \\fI", f), troff(f, argument), fputs("\\fR", f);
    fputc('\n', f);
}

static void setting(FILE *f, int64_t i)
{
    char flag[64];
    snprintf(flag, sizeof flag, "--%s", field(i, "name"));
    option(f, flag, field(i, "argument"));
    troff(f, field(i, "help"));
    if (*field(i, "choices")) fputs("; one of: ", f), troff(f, field(i, "choices"));
    if (*field(i, "default")) fputs(" (default: ", f), troff(f, field(i, "default")), fputc(')', f);
    fputc('\n', f);
}

static void switches(FILE *f, const command *c)
{
    fputs(".SS Output\n", f);
    if (c->writes) option(f, "-o", "FILE"), troff(f, command_output_help(c)), fputc('\n', f);
    if (c->json) option(f, "--json", ""), fputs("write a JSON object to standard output\n", f);
    option(f, "-q, --quiet", ""), fputs("no progress and no notes\n", f);
    option(f, "-h, --help", ""), fputs("show the options that most people need\n", f);
    option(f, "--help-all", ""), fputs("show every option\n", f);
}

static void ending(FILE *f)
{
    fputs(".SH EXIT STATUS\n0: done, also when stopped by Ctrl\\-C or \\-\\-time.\n1: the input or the options are "
          "wrong; "
          "one sentence on standard error says where and what to do.\n2: an internal error.\n130, 143: stopped by "
          "Ctrl\\-C or SIGTERM before there was a result; nothing was written.\n"
          "anygp check: 0 fine, 2 watch, 3 refit, 1 any error.\n",
          f);
}

static void see_also(FILE *f, const command *but)
{
    bool first = !but;
    fputs(but ? ".SH SEE ALSO\n.BR anygp (1)" : ".SH SEE ALSO\n", f);
    for (int i = 0; i < command_count; i++) {
        if (&commands[i] == but) continue;
        fprintf(f, "%s.BR anygp\\-%s (1)", first ? "" : ",\n", commands[i].name);
        first = false;
    }
    fputc('\n', f);
}

void man_program(FILE *f)
{
    named(f, "anygp", "Gaussian processes on large data");
    fputs(".SH SYNOPSIS\n", f);
    for (int i = 0; i < command_count; i++) fputs(i ? ".br\n" : "", f), usage(f, &commands[i]);
    fputs(".SH DESCRIPTION\nOne command fits a Gaussian process to a table, one predicts with error bars.\nTraining "
          "can be stopped at any moment and leaves a valid model.\nInputs and target are standardised inside; "
          "everything is reported in the units of the data.\n.SH COMMANDS\n",
          f);
    for (int i = 0; i < command_count; i++)
        option(f, commands[i].name, ""), troff(f, commands[i].summary), fputc('\n', f);
    ending(f);
    see_also(f, NULL);
}

void man_command(FILE *f, const command *c)
{
    char name[64];
    const char *group = "";
    snprintf(name, sizeof name, "anygp-%s", c->name);
    named(f, name, c->summary);
    fputs(".SH SYNOPSIS\n", f);
    usage(f, c);
    fputs(".SH OPTIONS\n", f);
    for (int64_t k = 0; k < anygp_setting_count(); k++) {
        int64_t i = anygp_setting_listed(k);
        if (!command_takes(c, i)) continue;
        if (strcmp(group, field(i, "group"))) fprintf(f, ".SS %s\n", group = field(i, "group"));
        setting(f, i);
    }
    for (const own_option *own = command_own(c); own && own->name; own++) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s", own->name);
        option(f, flag, own->argument), troff(f, own->help), fputc('\n', f);
    }
    switches(f, c);
    ending(f);
    see_also(f, c);
}
