/* Completion for three shells, from the tables of commands, settings, models, kernels and likelihoods: a new one is completed without a
   line here.  Each option takes a word of a list, a file, anything, or nothing (a flag). */
#include <string.h>

#include "cli.h"

static const char *field(int64_t i, const char *name) { return anygp_setting_field(i, name); }
static bool is(int64_t i, const char *name, const char *value) { return !strcmp(field(i, name), value); }

/* Settings whose values are names from another table. */
static const struct names {
    const char *setting, *besides; /* besides: a value that is no name */
    int64_t (*count)(void);
    const char *(*field)(int64_t i, const char *field);
} tables[] = {{"model", "auto", anygp_model_count, anygp_model_field},
              {"kernel", "", anygp_kernel_count, anygp_kernel_field},
              {"likelihood", "", anygp_likelihood_count, anygp_likelihood_field}};

static const struct names *table_of(int64_t i)
{
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (is(i, "name", tables[k].setting)) return &tables[k];
    return NULL;
}

static bool takes_word(int64_t i) { return table_of(i) || *field(i, "choices"); }
static bool takes_file(int64_t i) { return strstr(field(i, "argument"), "FILE") != NULL; }
static bool takes_value(int64_t i) { return !is(i, "type", "flag"); }

/* The third word of the usage, where that is one of a list: "bash|zsh|fish"; *length 0: the arguments are files. */
static const char *argument_list(const command *c, size_t *length)
{
    const char *first = c->usage + strcspn(c->usage, " ");
    first += *first == ' ';
    *length = strcspn(first, " ");
    if (!memchr(first, '|', *length) || *first == '[') *length = 0;
    return first;
}

typedef void (*writer)(FILE *f, const char *text, size_t length);

static void plainly(FILE *f, const char *text, size_t length) { fprintf(f, "%.*s", (int)length, text); }

/* For zsh, which evaluates its lists: a backslash before whatever is not part of a name. */
static void escaped(FILE *f, const char *text, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,";
    for (size_t i = 0; i < length; i++) fprintf(f, strchr(plain, text[i]) ? "%c" : "\\%c", text[i]);
}

/* Words that are separated by a character in `text`, with blanks between. */
static void split(FILE *f, const char *text, size_t length, char at, writer w)
{
    for (const char *end = text + length; text < end;) {
        const char *stop = memchr(text, at, (size_t)(end - text));
        size_t n = (size_t)((stop ? stop : end) - text);
        w(f, text, n);
        text += n + 1;
        if (text < end) fputc(' ', f);
    }
}

static void words_of(FILE *f, int64_t i, writer w)
{
    const struct names *t = table_of(i);
    if (!t) {
        split(f, field(i, "choices"), strlen(field(i, "choices")), ' ', w);
        return;
    }
    w(f, t->besides, strlen(t->besides));
    for (int64_t k = 0; k < t->count(); k++) {
        const char *name = t->field(k, "name");
        if (k || *t->besides) fputc(' ', f);
        w(f, name, strlen(name));
    }
}

/* Inside single quotes; `special` gets a backslash. */
static void quoted(FILE *f, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, f);
        else if (strchr(special, *text))
            fprintf(f, "\\%c", *text);
        else
            fputc(*text, f);
    }
}

/* ---------------------------------------------------------------------------------------------- bash */

static void bash_values(FILE *f)
{
    for (int64_t i = 0; i < anygp_setting_count(); i++) {
        if (!*field(i, "commands") || !takes_value(i)) continue;
        fprintf(f, "    --%s) ", field(i, "name"));
        if (takes_file(i))
            fputs("files=yes ;;\n", f);
        else if (takes_word(i))
            fputs("words='", f), words_of(f, i, plainly), fputs("' ;;\n", f);
        else
            fputs("return ;;\n", f);
    }
    fputs("    -o) files=yes ;;\n", f);
}

static void bash_command(FILE *f, const command *c)
{
    size_t n;
    const char *list = argument_list(c, &n);
    fprintf(f, "    %s)\n        options='", c->name);
    for (int64_t k = 0; k < anygp_setting_count(); k++) {
        int64_t i = anygp_setting_listed(k);
        if (command_takes(c, i)) fprintf(f, "--%s ", field(i, "name"));
    }
    for (const own_option *own = command_own(c); own && own->name; own++) fprintf(f, "--%s ", own->name);
    fprintf(f, "%s%s-q --quiet --help --help-all'\n        ", c->writes ? "-o " : "", c->json ? "--json " : "");
    if (n)
        fputs("arguments='", f), split(f, list, n, '|', plainly), fputs("' ;;\n", f);
    else
        fputs(c->most > 0 ? "arguments=files ;;\n" : "arguments= ;;\n", f);
}

static void bash_script(FILE *f)
{
    fputs("# bash completion for anygp, made by: anygp completion bash\n"
          "_anygp() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= files= options= arguments=\n"
          "    COMPREPLY=()\n"
          "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          f);
    for (int i = 0; i < command_count; i++) bash_command(f, &commands[i]);
    fputs("    esac\n"
          "    case $prev in\n",
          f);
    bash_values(f);
    fputs("    *) if ((COMP_CWORD == 1)); then\n            words='", f);
    for (int i = 0; i < command_count; i++) fprintf(f, "%s ", commands[i].name);
    fputs("--help --version'\n"
          "        elif [[ $cur == -* ]]; then words=$options\n"
          "        elif [[ $arguments == files ]]; then files=yes\n"
          "        else words=$arguments; fi ;;\n"
          "    esac\n"
          "    if [[ $files ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "    fi\n"
          "}\n"
          "complete -F _anygp anygp\n",
          f);
}

/* ----------------------------------------------------------------------------------------------- zsh */

static const char ZSH_QUOTE[] = "'\\''", ZSH_SPECIAL[] = ":[]\\";

static void zsh_setting(FILE *f, int64_t i)
{
    bool repeats = is(i, "type", "list");
    fprintf(f, " \\\n            '%s--%s%s[", repeats ? "*" : "", field(i, "name"), takes_value(i) ? "=" : "");
    quoted(f, field(i, "brief"), ZSH_SPECIAL, ZSH_QUOTE);
    fputc(']', f);
    if (takes_value(i)) {
        fputc(':', f), quoted(f, field(i, "argument"), ZSH_SPECIAL, ZSH_QUOTE), fputc(':', f);
        if (takes_file(i))
            fputs("_files", f);
        else if (takes_word(i))
            fputc('(', f), words_of(f, i, escaped), fputc(')', f);
    }
    fputc('\'', f);
}

static void zsh_command(FILE *f, const command *c)
{
    size_t n;
    const char *list = argument_list(c, &n);
    fprintf(f, "        %s) _arguments -s", c->name);
    for (int64_t k = 0; k < anygp_setting_count(); k++)
        if (command_takes(c, anygp_setting_listed(k))) zsh_setting(f, anygp_setting_listed(k));
    for (const own_option *own = command_own(c); own && own->name; own++) {
        fprintf(f, " \\\n            '--%s%s[", own->name, *own->argument ? "=" : "");
        quoted(f, own->help, ZSH_SPECIAL, ZSH_QUOTE);
        fprintf(f, "]%s'", *own->argument ? ":value:_files" : "");
    }
    if (c->writes)
        fputs(" \\\n            '-o[", f), quoted(f, command_output_help(c), ZSH_SPECIAL, ZSH_QUOTE),
            fputs("]:FILE:_files'", f);
    if (c->json) fputs(" \\\n            '--json[write a JSON object to standard output]'", f);
    fputs(" \\\n            '(-q --quiet)'{-q,--quiet}'[no progress and no notes]'"
          " \\\n            '--help[show the options that most people need]'"
          " \\\n            '--help-all[show every option]'",
          f);
    if (n)
        fputs(" \\\n            '1:argument:(", f), split(f, list, n, '|', escaped), fputs(")'", f);
    else if (c->most > 0)
        fputs(" \\\n            '*:file:_files'", f);
    fputs(" ;;\n", f);
}

static void zsh_script(FILE *f)
{
    fputs("#compdef anygp\n# zsh completion for anygp, made by: anygp completion zsh\n"
          "_anygp() {\n"
          "    local -a commands=(\n",
          f);
    for (int i = 0; i < command_count; i++)
        fprintf(f, "        '%s:", commands[i].name), quoted(f, commands[i].summary, ":\\", ZSH_QUOTE), fputs("'\n", f);
    fputs("    )\n"
          "    if ((CURRENT == 2)); then _describe command commands; return; fi\n"
          "    local command=$words[2]\n"
          "    shift words; ((CURRENT--))\n"
          "    case $command in\n",
          f);
    for (int i = 0; i < command_count; i++) zsh_command(f, &commands[i]);
    fputs("    esac\n}\n"
          "if [[ $funcstack[1] == _anygp ]]; then _anygp \"$@\"; else compdef _anygp anygp; fi\n",
          f);
}

/* ---------------------------------------------------------------------------------------------- fish */

static void fish_begin(FILE *f, const command *c)
{
    fprintf(f, "complete -c anygp -n '__fish_seen_subcommand_from %s'", c->name);
}

static void fish_described(FILE *f, const char *text)
{
    fputs(" -d '", f), quoted(f, text, "\\", "\\'"), fputs("'\n", f);
}

static void fish_setting(FILE *f, const command *c, int64_t i)
{
    fish_begin(f, c);
    fprintf(f, " -l %s", field(i, "name"));
    if (takes_file(i))
        fputs(" -r -F", f);
    else if (takes_value(i))
        fputs(" -x", f);
    if (takes_value(i) && !takes_file(i) && takes_word(i)) fputs(" -a '", f), words_of(f, i, plainly), fputc('\'', f);
    fish_described(f, field(i, "brief"));
}

static void fish_command(FILE *f, const command *c)
{
    size_t n;
    const char *list = argument_list(c, &n);
    fputs("complete -c anygp -n __fish_use_subcommand", f);
    fprintf(f, " -a %s", c->name), fish_described(f, c->summary);
    for (int64_t k = 0; k < anygp_setting_count(); k++)
        if (command_takes(c, anygp_setting_listed(k))) fish_setting(f, c, anygp_setting_listed(k));
    for (const own_option *own = command_own(c); own && own->name; own++) {
        fish_begin(f, c);
        fprintf(f, " -l %s%s", own->name, *own->argument ? " -r -F" : "");
        fish_described(f, own->help);
    }
    if (c->writes) fish_begin(f, c), fputs(" -s o -r -F", f), fish_described(f, command_output_help(c));
    if (c->json) fish_begin(f, c), fputs(" -l json", f), fish_described(f, "write a JSON object to standard output");
    fish_begin(f, c), fputs(" -s q -l quiet", f), fish_described(f, "no progress and no notes");
    fish_begin(f, c), fputs(" -l help", f), fish_described(f, "show the options that most people need");
    fish_begin(f, c), fputs(" -l help-all", f), fish_described(f, "show every option");
    if (n)
        fish_begin(f, c), fputs(" -a '", f), split(f, list, n, '|', plainly), fputs("'\n", f);
    else if (c->most > 0)
        fish_begin(f, c), fputs(" -F\n", f);
}

static void fish_script(FILE *f)
{
    fputs("# fish completion for anygp, made by: anygp completion fish\ncomplete -c anygp -f\n", f);
    for (int i = 0; i < command_count; i++) fish_command(f, &commands[i]);
}

/* ------------------------------------------------------------------------------------------- command */

const completion_shell completion_shells[] = {{"bash", "anygp", bash_script},
                                              {"zsh", "_anygp", zsh_script},
                                              {"fish", "anygp.fish", fish_script},
                                              {NULL, NULL, NULL}};

anygp_status completion(const options *o, anygp_error *e)
{
    for (const completion_shell *s = completion_shells; s->name; s++)
        if (!strcmp(s->name, o->path[0])) return s->write(stdout), ANYGP_OK;
    return complain(e, ANYGP_ERR_ARGUMENT, "there is no completion for '%.40s'; the shells are bash, zsh and fish",
                    o->path[0]);
}
