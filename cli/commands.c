#define _GNU_SOURCE /* flock */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        anygp_status try_status_ = (call);                                                                             \
        if (ANYGP_FAILED(try_status_)) return try_status_;                                                             \
    } while (0)

/* -------------------------------------------------------------------------------------- output */

static double score_named(const anygp_scores *s, int64_t target, const char *name)
{
    for (int64_t i = 0; i < anygp_scores_count(s, target); i++)
        if (!strcmp(anygp_scores_name(s, target, i), name)) return anygp_scores_value(s, target, i);
    return NAN;
}

static void print_json_number(double x)
{
    if (isfinite(x))
        printf("%.17g", x);
    else
        printf("null");
}

static void print_scores_json(const anygp_scores *s, int64_t target)
{
    printf("{");
    for (int64_t i = 0; i < anygp_scores_count(s, target); i++) {
        printf("%s", i ? ", " : ""), print_json_text(stdout, anygp_scores_name(s, target, i)), printf(": ");
        print_json_number(anygp_scores_value(s, target, i));
    }
    printf("}");
}

static anygp_status print_info(const anygp_model *m, bool json, anygp_error *e)
{
    char *text;
    TRY(anygp_info(m, json, &text, e));
    fputs(text, stdout);
    if (json) putchar('\n');
    anygp_text_free(text);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ fit */

/* kind: what the scores are for; counted: with the number of rows before it. */
static void print_fit_line(const anygp_model *m, const char *kind, bool counted, const anygp_scores *s)
{
    for (int64_t t = 0; t < anygp_model_targets(m); t++) {
        const char *name = anygp_model_target_name(m, t);
        if (anygp_scores_count(s, t) < 2) continue;
        printf("%s%s", name, *name ? ", " : "");
        if (counted) printf("%.15g rows ", score_named(s, t, "n"));
        printf("%s: ", kind);
        if (anygp_classes(m, t))
            printf("accuracy %.2f %%, logloss %.5g\n", 100 * score_named(s, t, "accuracy"),
                   score_named(s, t, "logloss"));
        else
            printf("rmse %.5g, mnlp %.5g, 95 %% intervals cover %.1f %%\n", score_named(s, t, "rmse"),
                   score_named(s, t, "mnlp"), 100 * score_named(s, t, "coverage95"));
    }
}

static anygp_status report_scores(const anygp_model *m, const char *kind, const char *label, bool counted,
                                  anygp_error *e)
{
    anygp_scores *s = NULL;
    TRY(anygp_model_scores(m, kind, &s, e));
    print_fit_line(m, label, counted, s);
    anygp_scores_free(s);
    return ANYGP_OK;
}

/* Options are those of all targets: one piece of advice at a time. */
static anygp_status print_advice(const anygp_model *m, anygp_error *e)
{
    bool said = false;
    for (int64_t t = 0; t < anygp_model_targets(m) && !said; t++) {
        char *text;
        TRY(anygp_advice(m, t, &text, e));
        if ((said = *text)) printf("try next: %s\n", text);
        anygp_text_free(text);
    }
    return ANYGP_OK;
}

static anygp_status print_fit(const options *o, const anygp_model *m, anygp_status how, anygp_error *e)
{
    bool automatic = !strcmp(anygp_get(o->settings, "valid"), "auto");
    if (o->json) return print_info(m, true, e);
    TRY(report_scores(m, "leave_one_out", "leave-one-out", false, e));
    TRY(report_scores(m, "valid", automatic ? "held out" : "validation", automatic, e));
    TRY(report_scores(m, "training", "it was fitted on", true, e));
    printf("%s%s\n",
           how == ANYGP_OK           ? "wrote "
           : how == ANYGP_TIME_LIMIT ? "time limit reached; wrote the best model so far to "
                                     : "stopped; wrote the best model so far to ",
           o->output);
    return o->quiet ? ANYGP_OK : print_advice(m, e);
}

/* Checks everything that can be checked before an hour of training.  Only rank 0 writes, so only it checks the outputs. */
static anygp_status check_fit(const options *o, const char *trace, anygp_error *e)
{
    const anygp_settings *s = o->settings;
    const char *const files[] = {
        o->path[0], anygp_get(s, "valid"), anygp_get(s, "inducing-from"), anygp_get(s, "blocks-from"), o->output,
        trace,      anygp_get(s, "report")};
    if (!o->output) return complain(e, ANYGP_ERR_ARGUMENT, "where should the model go? Add -o MODEL");
    if (anygp_world_size() > 1 && !path_is_file(o->path[0]))
        return complain(e, ANYGP_ERR_ARGUMENT, "standard input reaches only one of the %d processes; give a file",
                        anygp_world_size());
    TRY(paths_distinct(files, 4, 7, e));
    if (anygp_world_rank() > 0) return ANYGP_OK;
    TRY(path_check_writable(o->output, e));
    TRY(report_check_name(anygp_get(s, "report"), e));
    TRY(path_check_writable(anygp_get(s, "report"), e));
    return path_check_writable(trace, e);
}

/* Every rank holds the same model; one of them writes it and reports. */
static anygp_status finish_fit(const options *o, const anygp_model *m, anygp_status how, anygp_error *e)
{
    if (anygp_world_rank() > 0) return ANYGP_OK;
    TRY(anygp_save(m, o->output, e));
    TRY(print_fit(o, m, how, e));
    return fit_report(o, m, e);
}

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time limit is that of the program: the time spent on reading counts. */
static anygp_status charge_reading(const options *o, double seconds, anygp_error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", seconds);
    return anygp_set(o->settings, "spent", text, e);
}

const own_option fit_options[] = {
    {"live", "[PORT]",
     "a page on this machine that shows the training and can stop it; without PORT: any that is free"},
    {NULL, NULL, NULL}};

static anygp_status fit(const options *o, anygp_error *e)
{
    const char *trace = anygp_get(o->settings, "trace");
    anygp_data *data = NULL;
    anygp_model *m = NULL;
    TRY(check_fit(o, trace, e));
    TRY(anygp_set(o->settings, "output", o->output, e));
    progress_attach(o->settings, o->quiet);
    anygp_watch_scores(o->settings, o->own[FIT_LIVE] != NULL);
    if (o->own[FIT_LIVE] && anygp_world_rank() == 0) TRY(live_begin(o->own[FIT_LIVE], e));
    double began = wall_seconds();
    anygp_status status = anygp_data_read(o->path[0], o->settings, &data, e), how = ANYGP_OK;
    if (!ANYGP_FAILED(status)) status = charge_reading(o, wall_seconds() - began, e);
    if (!ANYGP_FAILED(status)) status = how = anygp_fit(o->settings, data, &m, e);
    progress_end();
    live_end();
    anygp_data_free(data);
    if (!ANYGP_FAILED(status)) status = finish_fit(o, m, how, e);
    anygp_model_free(m);
    return status;
}

/* -------------------------------------------------------------------------------- predict, eval */

/* Several processes share the rows of a file; what comes through a pipe reaches rank 0 alone. */
static anygp_status predict(const options *o, anygp_error *e)
{
    const char *const files[] = {o->path[0], o->path[1], anygp_get(o->settings, "blocks-from"), o->output};
    bool first = anygp_world_rank() == 0, shared = !o->path[1] || path_is_file(o->path[1]);
    anygp_model *m = NULL;
    if (!first && !shared) return ANYGP_OK;
    TRY(paths_distinct(files, 3, 4, e));
    if (first) TRY(path_check_writable(o->output, e));
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_load_with(o->path[0], o->settings, &m, e);
    if (!ANYGP_FAILED(status))
        status = (shared ? anygp_predict_file_shared : anygp_predict_file)(m, o->settings, o->path[1], o->output, e);
    anygp_model_free(m);
    return status;
}

/* Its name or, without a header, its number among the targets. */
static const char *target_label(const anygp_model *m, int64_t target, char number[24])
{
    const char *name = anygp_model_target_name(m, target);
    snprintf(number, 24, "%lld", (long long)target);
    return *name ? name : number;
}

/* The longest name of its scores, and at least 11. */
static int scores_width(const anygp_scores *s, int64_t target)
{
    size_t width = 11;
    for (int64_t i = 0; i < anygp_scores_count(s, target); i++) {
        size_t n = strlen(anygp_scores_name(s, target, i));
        if (n > width && n <= 40) width = n;
    }
    return (int)width;
}

static void print_scores(const options *o, const anygp_model *m, const anygp_scores *s)
{
    int64_t T = anygp_model_targets(m);
    char number[24];
    if (o->json && T > 1) printf("{\"targets\": {");
    for (int64_t t = 0; t < T; t++) {
        const char *name = target_label(m, t, number);
        if (o->json) {
            if (T > 1) printf("%s", t ? ", " : ""), print_json_text(stdout, name), printf(": ");
            print_scores_json(s, t);
            continue;
        }
        if (T > 1) printf("%s\n", name);
        for (int64_t i = 0; i < anygp_scores_count(s, t); i++)
            printf("%s%-*s %.6g\n", T > 1 ? "  " : "", scores_width(s, t), anygp_scores_name(s, t, i),
                   anygp_scores_value(s, t, i));
    }
    if (o->json) printf("%s\n", T > 1 ? "}}" : "");
}

static anygp_status eval(const options *o, anygp_error *e)
{
    bool first = anygp_world_rank() == 0, shared = path_is_file(o->path[1]);
    anygp_model *m = NULL;
    anygp_scores *s = NULL;
    if (!first && !shared) return ANYGP_OK;
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_load_with(o->path[0], o->settings, &m, e);
    if (!ANYGP_FAILED(status))
        status = (shared ? anygp_eval_file_shared : anygp_eval_file)(m, o->settings, o->path[1], &s, e);
    if (!ANYGP_FAILED(status) && first) print_scores(o, m, s);
    anygp_scores_free(s);
    anygp_model_free(m);
    return status;
}

/* --------------------------------------------------------------------------------------- update */

/* before: scores of the new rows under the model that had not seen them, or NULL. */
static anygp_status report_update(const options *o, const anygp_model *m, const char *output,
                                  const anygp_scores *before, anygp_error *e)
{
    if (o->json) return print_info(m, true, e);
    if (before) print_fit_line(m, "before they were added", true, before);
    printf("wrote %s\n", output);
    return ANYGP_OK;
}

/* One update of a model at a time: each one begins with what the one before has written.  The lock is on the file that the
   name stands for now; the update before replaces it, and then the new one has to be locked.  File systems without locks
   are used without. */
static anygp_status lock_model(const options *o, int *fd, anygp_error *e)
{
    bool told = false;
    for (;;) {
        struct stat locked, named;
        *fd = open(o->path[0], O_RDONLY | O_CLOEXEC);
        if (*fd < 0) return ANYGP_OK; /* loading it says why */
        while (flock(*fd, LOCK_EX | LOCK_NB) && (errno == EWOULDBLOCK || errno == EINTR)) {
            if (!told && !o->quiet)
                fprintf(stderr, "anygp: another update of %s is under way; this one waits for it\n", o->path[0]);
            told = true;
            if (signal_received()) return complain(e, ANYGP_ERR_STOPPED, "stopped while waiting for another update");
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        }
        if (fstat(*fd, &locked) || stat(o->path[0], &named)) return ANYGP_OK;
        if (locked.st_dev == named.st_dev && locked.st_ino == named.st_ino) return ANYGP_OK;
        close(*fd);
    }
}

/* The model is replaced in one step, or stays as it is. */
static anygp_status update_locked(const options *o, anygp_error *e)
{
    const char *output = o->output ? o->output : o->path[0];
    const char *const read[] = {o->path[1], anygp_get(o->settings, "blocks-from"), output};
    anygp_model *m = NULL;
    TRY(paths_distinct(read, 2, 3, e));
    TRY(path_check_writable(output, e));
    anygp_scores *before = NULL;
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_load_with(o->path[0], o->settings, &m, e);
    if (!ANYGP_FAILED(status) && o->json) status = anygp_update_file(m, o->settings, o->path[1], e);
    if (!ANYGP_FAILED(status) && !o->json) status = anygp_update_scored(m, o->settings, o->path[1], &before, e);
    if (!ANYGP_FAILED(status)) status = anygp_save(m, output, e);
    if (!ANYGP_FAILED(status)) status = report_update(o, m, output, before, e);
    anygp_scores_free(before);
    anygp_model_free(m);
    return status;
}

/* A model that is written elsewhere can be updated by several at once. */
static anygp_status update(const options *o, anygp_error *e)
{
    int fd = -1;
    notes_attach(o->settings, true); /* signals, while it waits */
    anygp_status status = o->output && !path_same_file(o->output, o->path[0]) ? ANYGP_OK : lock_model(o, &fd, e);
    anygp_on_log(o->settings, NULL, NULL);
    if (!ANYGP_FAILED(status)) status = update_locked(o, e);
    if (fd >= 0) close(fd);
    return status;
}

/* ----------------------------------------------------------- info, look, models, simulate, convert */

static anygp_status info(const options *o, anygp_error *e)
{
    anygp_model *m = NULL;
    anygp_status status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) status = print_info(m, o->json, e);
    anygp_model_free(m);
    return status;
}

static anygp_status look(const options *o, anygp_error *e)
{
    char *text;
    notes_attach(o->settings, o->quiet);
    TRY(anygp_look_file(o->settings, o->path[0], o->json, &text, e));
    fputs(text, stdout);
    if (o->json) putchar('\n');
    anygp_text_free(text);
    return ANYGP_OK;
}

static anygp_status models(const options *o, anygp_error *e)
{
    (void)e;
    if (o->json)
        models_json(stdout);
    else
        models_table(stdout);
    return ANYGP_OK;
}

static anygp_status simulate(const options *o, anygp_error *e)
{
    TRY(path_check_writable(o->output, e));
    notes_attach(o->settings, o->quiet);
    return anygp_simulate_file(o->settings, o->output, e);
}

static anygp_status convert(const options *o, anygp_error *e)
{
    TRY(paths_distinct(o->path, 1, 2, e));
    TRY(path_check_writable(o->path[1], e));
    notes_attach(o->settings, o->quiet);
    return anygp_convert_file(o->settings, o->path[0], o->path[1], e);
}

/* In the order in which a new user meets them; help, man pages and completion follow it. */
const command commands[] = {
    {"look", "l", "look DATA [--json] [options]",
     "show the columns of a table, what a fit makes of them and what may be wrong", 1, 1, false, true, false, look},
    {"plan", "fn", "plan DATA [--time T] [options of fit]", "what each model would cost here, before one is fitted", 1,
     1, false, true, false, command_plan},
    {"fit", "fF", "fit DATA -o MODEL [options]", "train a model on a table and write it to a file", 1, 1, true, true,
     true, fit},
    {"predict", "p", "predict MODEL DATA|--grid NxM [-o CSV] [options]",
     "mean, variance and 95 % interval of every row, or label and class probabilities", 1, 2, true, false, true,
     predict},
    {"eval", "eE", "eval MODEL DATA [--json] [options]", "score a model on labelled data", 2, 2, false, true, true,
     eval},
    {"report", "r", "report MODEL [DATA] -o HTML [options]", "write a page with scores, pictures and warnings", 1, 2,
     true, false, false, command_report},
    {"plot", "g", "plot MODEL [DATA] --what NAME [-o SVG|PNG]", "draw one of the pictures of a report", 1, 2, true,
     false, false, command_plot},
    {"check", "e", "check MODEL DATA [--json] [options]",
     "whether a model is still right on these rows: calibration, drift, extrapolation", 2, 2, false, true, false,
     command_check},
    {"compare", "fk", "compare DATA [--models A,B,...] [--folds N] [-o BEST] [options of fit]",
     "fit several models, or kernels, under equal limits and score them on the same rows", 1, 1, true, true, false,
     command_compare},
    {"update", "u", "update MODEL DATA [-o MODEL2] [options]", "add new rows to a fitted model, without fitting again",
     2, 2, true, true, false, update},
    {"info", "", "info MODEL [--json]", "show what is in a model file", 1, 1, false, true, false, info},
    {"export", "", "export MODEL -o FILE.c|FILE.json [--header FILE.h]",
     "write a model as C without dependencies, or as JSON for other languages", 1, 1, true, false, false,
     command_export},
    {"serve", "", "serve MODEL [--port N] [options]", "answer predictions over HTTP, in JSON and CSV", 1, 1, false,
     false, false, command_serve},
    {"simulate", "s", "simulate [-o CSV] [options]", "draw data of any size from a known Gaussian process", 0, 0, true,
     false, false, simulate},
    {"convert", "c", "convert IN OUT [options]", "convert a table to another format: .h5, .npy, .csv, .tsv", 2, 2,
     false, false, false, convert},
    {"models", "", "models [--json]", "list the models, what each one takes and what it costs", 0, 0, false, true,
     false, models},
    {"kernels", "", "kernels [--json]", "list the kernels and their options", 0, 0, false, true, false, kernels},
    {"likelihoods", "", "likelihoods [--json]", "list the likelihoods: what kinds of target there are", 0, 0, false,
     true, false, likelihoods},
    {"completion", "", "completion bash|zsh|fish", "print a script that completes commands and options in a shell", 1,
     1, false, false, false, completion},
};
const int command_count = (int)(sizeof commands / sizeof *commands);

const command *command_find(const char *name)
{
    for (int i = 0; i < command_count; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}
