/* The command-line program.  It uses the public header only; options come from the library's settings table.
       main.c      statuses, dispatch, several processes
       options.c   words of the command line -> settings, paths, switches
       commands.c  one function per command; cmd_*.c for those with a file of their own
       paths.c     whether files are the same, and whether they can be written
       progress.c  progress while training, notes, Ctrl-C
       progress_line.c  what a line of progress says
       help.c      --help of the program and of each command; the same table makes docs/settings.md,
       man.c       the man pages, and
       completion.c  the completion of shells
       models.c    the list of models: as a table, as JSON, as a page of the documentation
       lists.c     those of kernels and likelihoods
       report.c    reports and pictures
       export.c    export, a model as C or JSON
       live.c      fit --live, a page while training
       serve.c     serve, predictions over HTTP; its parts are in serve.h */
#ifndef CLI_H
#define CLI_H

#include <anygp/anygp.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct options {
    anygp_settings *settings;
    const char *path[2]; /* the command's arguments */
    int paths;
    const char *output; /* -o */
    const char *own[8]; /* values of the command's own options, in their order; NULL: not given */
    bool json, quiet, help, help_all;
} options;

/* An option that is no setting of the library.  argument "": a flag; "[PORT]": a number that may be left out. */
typedef struct own_option {
    const char *name, *argument, *help;
} own_option;

typedef struct command {
    const char *name;
    const char *letters; /* it takes the settings whose `commands` has one of these */
    const char *usage;
    const char *summary;
    int least, most; /* arguments */
    bool writes;     /* takes -o */
    bool json;       /* takes --json */
    bool together;   /* run by every process that mpirun started; others are left to rank 0 */
    anygp_status (*run)(const options *o, anygp_error *e);
} command;

const own_option *command_own(const command *c); /* ended by a name that is NULL; NULL: it has none */
extern const own_option export_options[];        /* export.c */
anygp_status command_export(const options *o, anygp_error *e);
extern const own_option serve_options[]; /* serve.c, or serve_missing.c where it could not be built */
anygp_status command_serve(const options *o, anygp_error *e);

extern const own_option fit_options[]; /* commands.c */
enum { FIT_LIVE };
/* fit --live [live.c]: a page while training; port "": any that is free. */
anygp_status live_begin(const char *port, anygp_error *e);
bool live_report(const anygp_progress *p); /* whether the page asks to stop */
void live_end(void);
extern const char live_page[];

extern const command commands[];
extern const int command_count;
const command *command_find(const char *name);
const char *command_output_help(const command *c);

/* Whether the command has setting number i for an option. */
bool command_takes(const command *c, int64_t i);

anygp_status command_plan(const options *o, anygp_error *e);    /* cmd_plan.c */
anygp_status command_compare(const options *o, anygp_error *e); /* cmd_compare.c */
anygp_status command_check(const options *o, anygp_error *e);   /* cmd_check.c */

anygp_status options_parse(const command *c, int argc, char **argv, options *o, anygp_error *e);
void options_free(options *o);

bool path_is_file(const char *path); /* not standard input or output, nor nothing */
bool path_same_file(const char *a, const char *b);
/* Refuses a name among the outputs, those behind the first `inputs`, that stands twice. */
anygp_status paths_distinct(const char *const *paths, int inputs, int count, anygp_error *e);
anygp_status path_check_writable(const char *path, anygp_error *e);

void help_program(FILE *f);
void help_command(FILE *f, const command *c, bool all); /* what fits a screen, or all options in full */
void help_settings(FILE *f);                            /* docs/settings.md */

void man_program(FILE *f);
void man_command(FILE *f, const command *c);

typedef struct completion_shell {
    const char *name, *file; /* file: as the shell looks for it */
    void (*write)(FILE *f);
} completion_shell;
extern const completion_shell completion_shells[]; /* ends with name NULL */
anygp_status completion(const options *o, anygp_error *e);

anygp_status kernels(const options *o, anygp_error *e);
anygp_status likelihoods(const options *o, anygp_error *e);

void models_table(FILE *f);
void models_json(FILE *f);
void models_page(FILE *f); /* docs/models.md */

void print_json_text(FILE *f, const char *s); /* quoted */

/* One line on standard error.  Names from files come here too, so control characters become question marks. */
void print_sentence(const char *kind, const char *text);

anygp_status command_report(const options *o, anygp_error *e);
anygp_status command_plot(const options *o, anygp_error *e);
anygp_status report_check_name(const char *path, anygp_error *e); /* refuses .pdf and the like */
anygp_status fit_report(const options *o, const anygp_model *m,
                        anygp_error *e); /* fit --report, once the model is written */

/* Notes and warnings on standard error; Ctrl-C and SIGTERM end the reading of files. */
void notes_attach(anygp_settings *s, bool quiet);
/* The same, with a progress line; Ctrl-C also ends training with the best model so far.  With several processes only
   rank 0 prints; it also reports if the run is ended from outside. */
void progress_attach(anygp_settings *s, bool quiet);
void progress_end(void);    /* clears the line */
int signal_received(void);  /* that asked for an end; 0: none */
void signals_release(void); /* from here on SIGCONT and SIGTERM are not reported */

int check_verdict(void); /* of anygp check: the status of the program if nothing fails; 0 for other commands */

anygp_status complain(anygp_error *e, anygp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
