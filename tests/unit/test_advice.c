/* What a fit advises: only options that its model takes, only when a figure speaks for them, the most pressing first. */
#include <string.h>

#include "gp/fit.h"
#include "support.h"

typedef struct scene {
    gp g;
    settings *s;
    likelihood like;
    train_step trace[100];
    char name[64];
    bool resumable;
    char *text; /* the advice, of the caller */
} scene;

/* A fit of 1000 rows by this model, of which there is nothing to say. */
static void open_scene(scene *c, const model_ops *m)
{
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", m->name);
    assert_int_equal(likelihood_parse("gaussian", &c->like, NULL), ANYGP_OK);
    c->s = settings_new();
    assert_int_equal(settings_set(c->s, "model", m->name, NULL), ANYGP_OK);
    c->g = (gp){.model = m,
                .name = c->name,
                .likelihood = &c->like,
                .rows = 1000,
                .objective_rows = 1000,
                .inducing = 64,
                .iterations = 40,
                .bounds = {.tighter = NAN, .upper = NAN},
                .steps = 100,
                .trace = c->trace};
}

static void scored(scene *c, double coverage)
{
    c->g.loo = (gp_scores){.count = 2, .list = {{"n", 1000}, {"coverage95", coverage}}};
}

static void close_scene(scene *c) { settings_free(c->s); }

static char *advice(scene *c)
{
    assert_int_equal(gp_advice(&c->g, c->s, c->resumable, &c->text, NULL), ANYGP_OK);
    return c->text;
}

static void expect(scene *c, const char *start)
{
    char *text = advice(c);
    if (*start ? strncmp(text, start, strlen(start)) : *text) fail_msg("'%s', not '%s'", text, start);
    free(text);
}

static void nothing_is_said_of_a_fit_without_a_fault(void **state)
{
    (void)state;
    for (int64_t i = 0; i < model_count(); i++) {
        scene c;
        open_scene(&c, model_at(i));
        scored(&c, 0.95);
        expect(&c, "");
        close_scene(&c);
    }
}

static void a_figure_speaks_for_each(void **state)
{
    (void)state;
    scene c;
    open_scene(&c, &model_exact);
    scored(&c, 0.8);
    expect(&c, "--calibrate loo, since the 95 % intervals cover only 80.0 %");
    c.g.status = ANYGP_TIME_LIMIT;
    settings_set(c.s, "time", "60s", NULL);
    expect(&c, "--time 120s, since the time limit ended the run");
    c.resumable = true;
    expect(&c, "--time 120s --resume, since");
    snprintf(c.g.promise.reason, sizeof c.g.promise.reason, "exact, since");
    expect(&c, "--time 120s, since"); /* auto may choose otherwise */
    close_scene(&c);

    open_scene(&c, &model_vfe);
    scored(&c, 0.8); /* it has no leave-one-out */
    expect(&c, "");
    c.g.objective = -1500, c.g.bounds.upper = -1100;
    expect(&c, ""); /* which may be far off */
    c.g.bounds.upper = -500;
    expect(&c, "--inducing 128, since 64 leave the bound up to 1 nats per row");
    c.g.bounds.tighter = -1499;
    expect(&c, "--inducing 128, since 64 leave the bound up to 1 nats per row");
    c.g.bounds.tighter = -1400;
    expect(&c, "--inducing 128, since 64 leave the bound at least 0.1 nats per row");
    c.g.rows = 100;
    expect(&c, ""); /* there are no more rows than that */
    close_scene(&c);

    open_scene(&c, &model_exact);
    for (int i = 0; i < 100; i++) c.trace[i].objective = i;
    expect(&c, ""); /* it converged */
    c.g.iterations = 200;
    expect(&c, "--iters 400, since the objective was still rising after 200");
    close_scene(&c);
}

/* Sets what comes before the comma: --name value, or --flag. */
static void follow(scene *c, char *text)
{
    char *more = NULL;
    assert_non_null(strstr(text, ", since"));
    *strstr(text, ", since") = 0;
    for (char *word = strtok_r(text, " ", &more); word; word = strtok_r(NULL, " ", &more)) {
        assert_int_equal(strncmp(word, "--", 2), 0);
        const char *value = strcmp(word, "--resume") ? strtok_r(NULL, " ", &more) : "yes";
        assert_int_equal(settings_set(c->s, word + 2, value, NULL), ANYGP_OK);
    }
}

/* Whatever is wrong with it: the advice passes the checks that a fit by this model begins with. */
static void every_model_takes_what_it_is_advised(void **state)
{
    (void)state;
    for (int64_t i = 0; i < model_count(); i++)
        for (int fault = 0; fault < 3; fault++) {
            scene c;
            model_choice choice = {0};
            anygp_error e = {.text = ""};
            open_scene(&c, model_at(i));
            c.resumable = i % 2;
            c.g.status = fault == 0 ? ANYGP_TIME_LIMIT : ANYGP_OK;
            if (fault == 1) scored(&c, 0.5);
            if (fault == 2) c.g.bounds.upper = 1e4;
            char *text = advice(&c);
            if (*text) {
                follow(&c, text);
                if (ANYGP_FAILED(choice_parse(c.s, &choice, &e)) ||
                    ANYGP_FAILED(choice_check_rows(&choice, c.s, false, &e)))
                    fail_msg("%s: %s", c.name, e.text);
                model_free(choice.model);
            }
            free(text);
            close_scene(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_of_a_fit_without_a_fault),
        cmocka_unit_test(a_figure_speaks_for_each),
        cmocka_unit_test(every_model_takes_what_it_is_advised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
