#define _GNU_SOURCE /* O_TMPFILE */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        anygp_status try_status_ = (call);                                                                             \
        if (ANYGP_FAILED(try_status_)) return try_status_;                                                             \
    } while (0)

/* ---------------------------------------------------------------------------------------- paths */

static bool is_file(const char *path) { return path && *path && strcmp(path, "-") != 0; }

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The directory a path lies in; false if there is none. */
static bool directory_of(const char *path, struct stat *st)
{
    char directory[4096];
    int n = snprintf(directory, sizeof directory, "%.*s.", (int)(last_part(path) - path), path);
    return n < (int)sizeof directory && !stat(directory, st);
}

/* Whether two names are one file: an existing one, or one to be made. */
static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    if (!is_file(a) || !is_file(b)) return false;
    bool both_exist = !stat(a, &sa) && !stat(b, &sb);
    if (both_exist && !S_ISREG(sa.st_mode)) return false; /* a device can be written twice */
    if (!both_exist && (strcmp(last_part(a), last_part(b)) || !directory_of(a, &sa) || !directory_of(b, &sb)))
        return false;
    return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static anygp_status distinct(const char *const *paths, int inputs, int count, anygp_error *e)
{
    for (int i = 0; i < count; i++)
        for (int j = i + 1 > inputs ? i + 1 : inputs; j < count; j++)
            if (same_file(paths[i], paths[j]))
                return complain(e, ANYGP_ERR_ARGUMENT, "%.200s would be %s; give each output a name of its own",
                                paths[j], i < inputs ? "both read and written" : "written twice");
    return ANYGP_OK;
}

/* Whether a file can be created in a directory.  One without a name, if the system has them: a process that is killed at the
   wrong moment leaves nothing behind. */
static bool can_hold_files(const char *directory, char *probe)
{
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
#else
    (void)directory;
#endif
    if (fd < 0 && (fd = mkstemp(probe)) >= 0) unlink(probe);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* Can the result be written there, under a longer name first? */
static anygp_status check_writable(const char *path, anygp_error *e)
{
    struct stat st;
    char probe[4096], directory[4096];
    if (!is_file(path) || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) return ANYGP_OK;
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return complain(e, ANYGP_ERR_FILE, "%.200s is a directory; give a file name", path);
    int n = snprintf(probe, sizeof probe, "%s.01234567-01234567-0.tmp", path);
    if (n >= (int)sizeof probe || (stat(probe, &st) && errno == ENAMETOOLONG))
        return complain(e, ANYGP_ERR_ARGUMENT, "the file name is too long");
    snprintf(probe, sizeof probe, "%s.XXXXXX", path);
    snprintf(directory, sizeof directory, "%.*s.", (int)(last_part(path) - path), path);
    if (!can_hold_files(directory, probe))
        return complain(e, ANYGP_ERR_FILE, "%.200s cannot be written: the directory is missing or read-only", path);
    return ANYGP_OK;
}

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
        printf("%s\"%s\": ", i ? ", " : "", anygp_scores_name(s, target, i));
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

static anygp_status report_fit(const options *o, const anygp_model *m, anygp_status how, anygp_error *e)
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
    return ANYGP_OK;
}

/* Checks everything that can be checked before an hour of training.  Only rank 0 writes, so only it checks the outputs. */
static anygp_status check_fit(const options *o, const char *trace, anygp_error *e)
{
    const anygp_settings *s = o->settings;
    const char *const files[] = {
        o->path[0], anygp_get(s, "valid"), anygp_get(s, "inducing-from"), anygp_get(s, "blocks-from"), o->output,
        trace};
    if (!o->output) return complain(e, ANYGP_ERR_ARGUMENT, "where should the model go? Add -o MODEL");
    if (anygp_world_size() > 1 && !is_file(o->path[0]))
        return complain(e, ANYGP_ERR_ARGUMENT, "standard input reaches only one of the %d processes; give a file",
                        anygp_world_size());
    TRY(distinct(files, 4, 6, e));
    if (anygp_world_rank() > 0) return ANYGP_OK;
    TRY(check_writable(o->output, e));
    return check_writable(trace, e);
}

/* Every rank holds the same model; one of them writes it and reports. */
static anygp_status finish_fit(const options *o, const anygp_model *m, const char *trace, anygp_status how,
                               anygp_error *e)
{
    if (anygp_world_rank() > 0) return ANYGP_OK;
    TRY(anygp_save(m, o->output, e));
    if (is_file(trace)) TRY(anygp_save_trace(m, trace, e));
    return report_fit(o, m, how, e);
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

static anygp_status fit(const options *o, anygp_error *e)
{
    const char *trace = anygp_get(o->settings, "trace");
    anygp_data *data = NULL;
    anygp_model *m = NULL;
    TRY(check_fit(o, trace, e));
    TRY(anygp_set(o->settings, "output", o->output, e));
    progress_attach(o->settings, o->quiet);
    double began = wall_seconds();
    anygp_status status = anygp_data_read(o->path[0], o->settings, &data, e), how = ANYGP_OK;
    if (!ANYGP_FAILED(status)) status = charge_reading(o, wall_seconds() - began, e);
    if (!ANYGP_FAILED(status)) status = how = anygp_fit(o->settings, data, &m, e);
    progress_end();
    anygp_data_free(data);
    if (!ANYGP_FAILED(status)) status = finish_fit(o, m, trace, how, e);
    anygp_model_free(m);
    return status;
}

/* -------------------------------------------------------------------------------- predict, eval */

static anygp_status predict(const options *o, anygp_error *e)
{
    const char *const files[] = {o->path[0], o->path[1], anygp_get(o->settings, "blocks-from"), o->output};
    anygp_model *m = NULL;
    TRY(distinct(files, 3, 4, e));
    TRY(check_writable(o->output, e));
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) status = anygp_predict_file(m, o->settings, o->path[1], o->output, e);
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
            printf("%s%-11s %.6g\n", T > 1 ? "  " : "", anygp_scores_name(s, t, i), anygp_scores_value(s, t, i));
    }
    if (o->json) printf("%s\n", T > 1 ? "}}" : "");
}

static anygp_status eval(const options *o, anygp_error *e)
{
    anygp_model *m = NULL;
    anygp_scores *s = NULL;
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) status = anygp_eval_file(m, o->settings, o->path[1], &s, e);
    if (!ANYGP_FAILED(status)) print_scores(o, m, s);
    anygp_scores_free(s);
    anygp_model_free(m);
    return status;
}

/* --------------------------------------------------------------------------------------- update */

/* before: scores of the new rows under the model that had not seen them; NULL: none, and why. */
static anygp_status report_update(const options *o, const anygp_model *m, const char *output,
                                  const anygp_scores *before, const char *why, anygp_error *e)
{
    if (o->json) return print_info(m, true, e);
    if (before)
        print_fit_line(m, "before they were added", true, before);
    else if (!o->quiet)
        fprintf(stderr, "anygp: no score for the new rows: %s\n", why);
    printf("wrote %s\n", output);
    return ANYGP_OK;
}

/* Errors in the rows are reported by the update. */
static anygp_scores *score_new_rows(const options *o, const anygp_model *m, anygp_error *why)
{
    anygp_scores *s = NULL;
    if (o->json) return NULL;
    if (is_file(o->path[1]))
        anygp_eval_file(m, o->settings, o->path[1], &s, why);
    else
        complain(why, ANYGP_ERR_FILE, "standard input can be read only once");
    return s;
}

/* The model is replaced in one step, or stays as it is. */
static anygp_status update(const options *o, anygp_error *e)
{
    const char *output = o->output ? o->output : o->path[0];
    const char *const read[] = {o->path[1], anygp_get(o->settings, "blocks-from"), output};
    anygp_model *m = NULL;
    TRY(distinct(read, 2, 3, e));
    TRY(check_writable(output, e));
    anygp_error why = {0};
    anygp_scores *before = NULL;
    anygp_status status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) before = score_new_rows(o, m, &why); /* its notes would repeat those of the update */
    notes_attach(o->settings, o->quiet);
    if (!ANYGP_FAILED(status)) status = anygp_update_file(m, o->settings, o->path[1], e);
    if (!ANYGP_FAILED(status)) status = anygp_save(m, output, e);
    if (!ANYGP_FAILED(status)) status = report_update(o, m, output, before, why.text, e);
    anygp_scores_free(before);
    anygp_model_free(m);
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
    TRY(check_writable(o->output, e));
    notes_attach(o->settings, o->quiet);
    return anygp_simulate_file(o->settings, o->output, e);
}

static anygp_status convert(const options *o, anygp_error *e)
{
    TRY(distinct(o->path, 1, 2, e));
    TRY(check_writable(o->path[1], e));
    notes_attach(o->settings, o->quiet);
    return anygp_convert_file(o->settings, o->path[0], o->path[1], e);
}

const command commands[] = {
    {"fit", 'f', "fit DATA -o MODEL [options]", "train a model on a table and write it to a file", 1, 1, true, true,
     true, fit},
    {"predict", 'p', "predict MODEL DATA [-o CSV] [options]",
     "mean, variance and 95 % interval of every row, or label and class probabilities", 2, 2, true, false, false,
     predict},
    {"eval", 'e', "eval MODEL DATA [--json] [options]", "score a model on labelled data", 2, 2, false, true, false,
     eval},
    {"update", 'u', "update MODEL DATA [-o MODEL2] [options]", "add new rows to a sparse model, without the old ones",
     2, 2, true, true, false, update},
    {"info", 'i', "info MODEL [--json]", "show what is in a model file", 1, 1, false, true, false, info},
    {"models", 'm', "models [--json]", "list the models, what each one takes and what it costs", 0, 0, false, true,
     false, models},
    {"simulate", 's', "simulate [-o CSV] [options]", "draw data of any size from a known Gaussian process", 0, 0, true,
     false, false, simulate},
    {"convert", 'c', "convert IN OUT [options]", "convert a table to another format: .h5, .npy, .csv, .tsv", 2, 2,
     false, false, false, convert},
    {"look", 'l', "look DATA [--json] [options]",
     "show the columns of a table, what a fit makes of them and what may be wrong", 1, 1, false, true, false, look},
};
const int command_count = (int)(sizeof commands / sizeof *commands);

const command *command_find(const char *name)
{
    for (int i = 0; i < command_count; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}
