/* Every model's training, stopped at every moment (models_support.h): a checkpoint is written after each of the first
   iterations or steps, and a run that continues from any of them ends with the bits of one that was never stopped.  A
   checkpoint that cannot be written is reported, and changes nothing. */
#include "models_support.h"

static const char checkpoint_file[] = "model.checkpoint";
enum { MOMENTS = 64 };

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    char bytes[4096];
    size_t n;
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void name_moment(int k, char name[32]) { snprintf(name, 32, "moment%d", k); }

/* Keeps every checkpoint there is.  The one that a report finds was written after the report before. */
static int keep_moments(void *ctx, const anygp_progress *p)
{
    int *count = ctx;
    char name[32];
    (void)p;
    if (access(checkpoint_file, F_OK) != 0 || *count == MOMENTS) return 0;
    name_moment((*count)++, name);
    copy_file(checkpoint_file, name);
    unlink(checkpoint_file);
    return 0;
}

typedef enum way { PLAIN, SAVED, STOPPED, RESUMED } way;

/* Leaves memory behind in which every number is NaN: what is written without having been set shows. */
static void spoil_memory(void)
{
    enum { SIZES = 8, EACH = 32 };
    void *block[SIZES][EACH];
    for (int k = 0; k < SIZES; k++)
        for (int i = 0; i < EACH; i++) {
            assert_non_null(block[k][i] = malloc((size_t)64 << k));
            memset(block[k][i], 0xff, (size_t)64 << k);
        }
    for (int k = 0; k < SIZES; k++)
        for (int i = 0; i < EACH; i++) free(block[k][i]);
}

/* Long enough for all that a run does on its way: a restart; for steps, hyperparameters begin to move after 20 (anytime) or 10 of
   them, and stay from about three quarters on. */
static void fit_way(const subject *s, way how, anygp_progress_fn progress, void *ctx, outcome *o)
{
    const char *steps = s->anytime ? "32" : "16", *pairs[8];
    bool passes = !s->anytime && !by_steps(s->ops);
    int n = 0;
    pairs[n++] = passes ? "restarts" : "iters", pairs[n++] = passes ? "1" : steps;
    if (how != PLAIN) pairs[n++] = "output", pairs[n++] = "model";
    if (how == SAVED || how == STOPPED) pairs[n++] = "checkpoint", pairs[n++] = how == SAVED ? "0s" : "1h";
    if (how == RESUMED) pairs[n++] = "resume", pairs[n++] = "yes";
    pairs[n] = NULL;
    spoil_memory();
    fit_rows(s, ROWS, pairs, progress, ctx, o);
}

static anygp_model *fit_or_fail(const subject *s, way how, anygp_progress_fn progress, void *ctx)
{
    outcome o;
    fit_way(s, how, progress, ctx, &o);
    if (!o.model) fail_msg("%s: %s", s->name, o.e.text);
    return o.model;
}

static void goes_on_from_every_moment(const subject *s)
{
    int count = 0;
    anygp_model *m = fit_or_fail(s, PLAIN, NULL, NULL);
    answers whole = ask(m);
    anygp_model_free(m);
    m = fit_or_fail(s, SAVED, keep_moments, &count);
    answers saved = ask(m);
    anygp_model_free(m);
    check_same_bits(s, "a run that writes checkpoints", &whole, &saved);
    /* What learns nothing is one evaluation, or a few steps. */
    int least = !learns(s->ops) && !s->anytime ? 0 : 3;
    if (count < least) fail_msg("%s wrote %d checkpoints", s->name, count);
    for (int k = 0; k < count; k++) {
        char name[32], what[64];
        name_moment(k, name);
        copy_file(name, checkpoint_file);
        m = fit_or_fail(s, RESUMED, NULL, NULL);
        answers again = ask(m);
        snprintf(what, sizeof what, "resumed from checkpoint %d of %d, it", k + 1, count);
        check_same_bits(s, what, &whole, &again);
        anygp_model_free(m);
        unlink(checkpoint_file);
    }
    unlink("model");
}

static void a_run_goes_on_from_every_checkpoint_to_the_same_bits(void **unused)
{
    (void)unused;
    for_each_subject(true, goes_on_from_every_moment);
}

/* -------------------------------------------------------------------------------------- stopped */

static int64_t stop_at;

static int stop_there(void *ctx, const anygp_progress *p)
{
    (void)ctx;
    return !strcmp(p->stage, "learning") && p->iteration >= stop_at;
}

/* Long before a checkpoint is due. */
static void goes_on_where_it_was_stopped(const subject *s)
{
    static const int64_t stops[] = {1, 3, 11, 22};
    if (!learns(s->ops)) return;
    anygp_model *m = fit_or_fail(s, PLAIN, NULL, NULL);
    answers whole = ask(m);
    int64_t most = s->anytime ? 22 : by_steps(s->ops) ? 11 : 3;
    anygp_model_free(m);
    for (size_t i = 0; i < sizeof stops / sizeof *stops && stops[i] <= most; i++) {
        char what[64];
        stop_at = stops[i];
        snprintf(what, sizeof what, "stopped at iteration %d and resumed, it", (int)stop_at);
        m = fit_or_fail(s, STOPPED, stop_there, NULL);
        if (gp_of(m)->status != ANYGP_INTERRUPTED) fail_msg("%s was not stopped", s->name);
        ask(m); /* finite, or it fails */
        anygp_model_free(m);
        m = fit_or_fail(s, RESUMED, NULL, NULL);
        answers again = ask(m);
        check_same_bits(s, what, &whole, &again);
        anygp_model_free(m);
        unlink(checkpoint_file);
    }
}

static void a_run_that_was_stopped_goes_on_to_the_same_bits(void **unused)
{
    (void)unused;
    for_each_subject(true, goes_on_where_it_was_stopped);
}

/* --------------------------------------------------------------------------- what cannot be written */

static const char told[] = "training goes on without a checkpoint";

static void goes_on_without(const subject *s)
{
    static const char *const nowhere[] = {"checkpoint", "0s", "output", "no/such/directory/model", NULL};
    outcome o;
    anygp_model *m = fit_subject(s, NULL);
    answers whole = ask(m);
    anygp_model_free(m);
    fit_rows(s, ROWS, nowhere, NULL, NULL, &o);
    if (!o.model) fail_msg("%s ends where no checkpoint can be written: %s", s->name, o.e.text);
    const char *note = strstr(o.notes, told);
    bool saves = !(!learns(s->ops) && !s->anytime);
    if (!!note != saves) fail_msg("%s says of a checkpoint that cannot be written: %s", s->name, o.notes);
    if (note && strstr(note + 1, told)) fail_msg("%s says it more than once", s->name);
    if (note && !strstr(note, "no/such/directory")) fail_msg("%s does not say where: %s", s->name, note);
    answers alone = ask(o.model);
    check_same_bits(s, "a run whose checkpoints cannot be written", &whole, &alone);
    anygp_model_free(o.model);
}

static void a_checkpoint_that_cannot_be_written_is_told_once_and_changes_nothing(void **unused)
{
    (void)unused;
    for_each_subject(false, goes_on_without);
}

/* ------------------------------------------------------------------------------------ of another model */

static int stop_at_once(void *ctx, const anygp_progress *p)
{
    (void)ctx;
    return p->iteration >= 2;
}

static const subject *other; /* whose checkpoint lies there */

static void refuses_the_checkpoint_of_another(const subject *s)
{
    outcome o;
    if (!strcmp(s->name, other->name)) return;
    fit_way(s, RESUMED, NULL, NULL, &o);
    if (o.model) fail_msg("%s goes on from the checkpoint of %s", s->name, other->name);
    if (!strstr(o.e.text, checkpoint_file)) fail_msg("%s: %s", s->name, o.e.text);
}

static void a_checkpoint_of_another_model_is_refused(void **unused)
{
    (void)unused;
    subject s = {.ops = model_at(0), .likelihood = "gaussian", .targets = 1};
    strcpy(s.name, model_at(0)->name);
    other = &s;
    anygp_model_free(fit_or_fail(&s, SAVED, stop_at_once, NULL));
    assert_int_equal(access(checkpoint_file, F_OK), 0);
    for_each_subject(false, refuses_the_checkpoint_of_another);
}

/* --------------------------------------------------------------------------------------- where to write */

static char home[4096];

/* In memory where that can be: hundreds of files that are synced take long on a busy disk. */
static int enter_memory(void **state)
{
    static char memory[] = "/dev/shm/anygp-test-XXXXXX", here[] = "models-test-XXXXXX";
    if (!getcwd(home, sizeof home)) return -1;
    *state = mkdtemp(memory);
    if (!*state) *state = mkdtemp(here);
    return *state && chdir(*state) == 0 ? 0 : -1;
}

static int leave_memory(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    return chdir(home) == 0 && system(command) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_on_from_every_checkpoint_to_the_same_bits),
        cmocka_unit_test(a_run_that_was_stopped_goes_on_to_the_same_bits),
        cmocka_unit_test(a_checkpoint_that_cannot_be_written_is_told_once_and_changes_nothing),
        cmocka_unit_test(a_checkpoint_of_another_model_is_refused),
    };
    return cmocka_run_group_tests(tests, enter_memory, leave_memory);
}
