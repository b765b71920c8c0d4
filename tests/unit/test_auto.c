/* What --model auto and --inducing auto decide, as functions of what is known: no clock, no fit. */
#include <math.h>
#include <string.h>

#include "gp/auto.h"
#include "gp/fit_blocks.h"
#include "inducing/choose.h"
#include "inducing/greedy.h"
#include "linalg/linalg.h"
#include "support.h"

/* A machine with 10^11 operations and 10^9 kernel entries per second. */
static auto_facts facts(double rows)
{
    return (auto_facts){.rows = rows,
                        .distinct = rows,
                        .inputs = 8,
                        .targets = 1,
                        .latents = 1,
                        .params = 10,
                        .gaussian = true,
                        .in_memory = true,
                        .batch = 1024,
                        .threads = 2,
                        .seconds = 300,
                        .bytes = 8e9,
                        .products = 1e11,
                        .entries = 1e9};
}

/* Each class has a q of its own: there are fewer inducing inputs for the same rows. */
static void many_classes_have_fewer_inducing_inputs(void **state)
{
    (void)state;
    static const struct {
        double rows;
        int64_t latents, inducing;
    } cases[] = {{150, 3, 32}, {300, 10, 32}, {600, 10, 64}, {1400, 10, 128}, {150, 1, 128}, {1400, 1, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        auto_facts f = facts(cases[i].rows);
        auto_plan p;
        f.gaussian = false, f.latents = cases[i].latents;
        auto_decide(&f, &p);
        assert_int_equal(p.sets[0] + p.sets[1], cases[i].inducing);
    }
}

static void choices_are_as_documented(void **state)
{
    (void)state;
    static const struct {
        double rows, seconds, bytes;
        bool other_likelihood, in_file;
        const char *model;
        int64_t least, most; /* inducing inputs */
    } cases[] = {
        {50, 300, 8e9, false, false, "exact", 0, 0},        {4000, 300, 8e9, false, false, "exact", 0, 0},
        {4000, 300, 8e9, false, true, "vfe", 512, 1024},  /* a file: not all rows at once */
        {4000, 300, 1e8, false, false, "vfe", 256, 1024}, /* 8 n^2 bytes are too many */
        {4000, 5, 8e9, false, false, "vfe", 256, 1024},   /* n^3 is too long */
        {36000, 300, 8e9, false, false, "vfe", 1024, 1024}, {36000, 3000, 8e9, false, false, "exact", 0, 0},
        {36000, 3000, 8e9, false, true, "vfe", 2048, 2048}, {120000, 3000, 8e9, false, false, "vfe", 1024, 2048},
        {12000, 300, 8e9, false, false, "exact", 0, 0},   /* by iteration */
        {12000, 300, 1e9, false, false, "exact", 0, 0},   /* with little memory too */
        {36000, 300, 5e7, false, false, "vfe", 128, 256}, /* M^2 bytes per thread */
        {1e7, 300, 8e9, false, true, "svgp", 128, 512},   /* passes are too long */
        {4000, 300, 8e9, true, false, "svgp", 512, 1024},   {36000, 60, 8e9, true, false, "svgp", 256, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        auto_facts f = facts(cases[i].rows);
        auto_plan p;
        f.seconds = cases[i].seconds, f.bytes = cases[i].bytes;
        f.gaussian = !cases[i].other_likelihood, f.in_memory = !cases[i].in_file;
        auto_decide(&f, &p);
        bool steps = !strcmp(cases[i].model, "svgp") && !strcmp(p.model->name, "solve"); /* its larger brother */
        if (strcmp(p.model->name, cases[i].model) && !steps)
            fail_msg("row %d of the table: %s for %s", (int)i, p.model->name, cases[i].model);
        int64_t M = p.sets[0] + p.sets[1];
        if (M < cases[i].least || M > (steps ? 2 : 1) * cases[i].most)
            fail_msg("row %d of the table: %d inducing inputs", (int)i, (int)M);
    }
}

/* Whatever it decides keeps to the budget by its own account, unless nothing does. */
static void promise_is_within_the_budget(void **state)
{
    (void)state;
    for (double rows = 10; rows < 1e8; rows *= 3)
        for (double seconds = 10; seconds < 1e5; seconds *= 3)
            for (int gaussian = 0; gaussian < 2; gaussian++) {
                auto_facts f = facts(rows);
                auto_plan p;
                f.seconds = seconds, f.gaussian = gaussian, f.products = 4e10;
                auto_decide(&f, &p);
                assert_true(p.seconds > 0 && p.bytes > 0 && p.iterations > 0 && *p.reason);
                bool smallest = p.model == &model_svgp && p.sets[0] == 128;
                if (!smallest) assert_true(p.seconds <= seconds && p.bytes <= f.bytes);
                assert_true(gaussian || p.model == &model_svgp || p.model == &model_solve);
            }
}

static void more_time_never_chooses_a_smaller_model(void **state)
{
    (void)state;
    int64_t last = 0;
    for (double seconds = 1; seconds < 1e4; seconds *= 2) {
        auto_facts f = facts(1e5);
        auto_plan p;
        f.seconds = seconds, f.gaussian = false;
        auto_decide(&f, &p);
        assert_true(p.sets[0] + p.sets[1] >= last);
        last = p.sets[0] + p.sets[1];
    }
    assert_true(last >= 2048);
}

/* For vfe an additional target costs less than its own pass, but more than nothing; for exact as much as the first. */
static void targets_share_the_passes_of_vfe(void **state)
{
    (void)state;
    double seconds[2];
    for (int k = 0; k < 2; k++) {
        auto_facts f = facts(36000);
        auto_plan p;
        f.targets = k == 0 ? 1 : 5, f.inducing = 512, f.sets = 1, f.iterations = 50;
        auto_decide(&f, &p);
        assert_ptr_equal(p.model, &model_vfe);
        assert_int_equal(p.iterations, 50);
        seconds[k] = p.seconds;
    }
    assert_true(seconds[1] > seconds[0] && seconds[1] < 1.5 * seconds[0]);
}

static void second_set_fills_the_room_between_two_sizes(void **state)
{
    (void)state;
    bool solve = false, svgp = false;
    for (double seconds = 20; seconds < 2000; seconds *= 1.05) {
        auto_facts f = facts(1e5);
        auto_plan p;
        f.seconds = seconds, f.gaussian = false;
        auto_decide(&f, &p);
        solve |= p.model == &model_solve, svgp |= p.model == &model_svgp;
        if (p.model == &model_solve) assert_true(p.set_count == 2 && p.sets[0] == p.sets[1]);
    }
    assert_true(solve && svgp);
}

static void given_numbers_are_kept(void **state)
{
    (void)state;
    auto_facts f = facts(36000);
    auto_plan p;
    f.inducing = 100, f.sets = 1, f.iterations = 7;
    auto_decide(&f, &p);
    assert_ptr_equal(p.model, &model_vfe);
    assert_int_equal(p.set_count, 0); /* what the user said stays */
    assert_int_equal(p.iterations, 7);
    f.inducing = 200, f.sets = 2;
    auto_decide(&f, &p);
    assert_ptr_equal(p.model, &model_solve);
    f = facts(100), f.places_given = true;
    auto_decide(&f, &p);
    assert_ptr_not_equal(p.model, &model_exact);
}

static void repeated_rows_are_exact_whatever_their_number(void **state)
{
    (void)state;
    auto_facts f = facts(1e6);
    auto_plan p;
    f.distinct = 500;
    auto_decide(&f, &p);
    assert_ptr_equal(p.model, &model_exact);
}

/* ------------------------------------------------------------------------------------------ race */

static bool listed(const auto_plan *list, int count, const model_ops *m)
{
    bool found = false;
    for (int i = 0; i < count; i++) found |= list[i].model == m;
    return found;
}

static void candidates_are_what_the_model_table_allows(void **state)
{
    (void)state;
    auto_plan list[AUTO_ENTRANTS_MOST];
    auto_facts f = facts(36000);
    int count = auto_plans(&f, list);
    assert_true(count == 5 && listed(list, count, &model_grbcm) && listed(list, count, &model_vfe) &&
                listed(list, count, &model_pic) && listed(list, count, &model_fitc) &&
                listed(list, count, &model_vecchia));
    f.part = 500; /* blocks are asked for */
    count = auto_plans(&f, list);
    assert_false(listed(list, count, &model_vecchia) || listed(list, count, &model_grbcm));
    f.part = 0, f.in_memory = false; /* all but vecchia stream */
    assert_int_equal(auto_plans(&f, list), 4);
    f = facts(150000); /* too many for predictions of grbcm */
    assert_false(listed(list, auto_plans(&f, list), &model_grbcm));
    f = facts(36000), f.in_memory = false;
    f.gaussian = false;
    count = auto_plans(&f, list);
    for (int i = 0; i < count; i++) assert_non_null(list[i].model->steps);
    f = facts(1000);
    assert_int_equal(auto_plans(&f, list), 1);
    assert_ptr_equal(list[0].model, &model_exact);
    f = facts(1e7); /* whole passes over these are too long for vfe */
    count = auto_plans(&f, list);
    assert_non_null(list[0].model->steps);
}

/* The rows are part of a pic model: where they do not fit, others do. */
static void pic_is_left_out_where_its_rows_do_not_fit(void **state)
{
    (void)state;
    auto_plan list[AUTO_ENTRANTS_MOST];
    auto_facts f = facts(1e6);
    f.in_memory = false, f.seconds = 1e4, f.bytes = 1e9;
    assert_true(listed(list, auto_plans(&f, list), &model_pic));
    f.bytes = 7e7;
    int count = auto_plans(&f, list);
    assert_false(listed(list, count, &model_pic));
    assert_true(list[0].bytes <= f.bytes);
}

static void more_time_makes_larger_blocks(void **state)
{
    (void)state;
    int64_t last = 0, first = 0;
    for (double seconds = 4; seconds < 1e4; seconds *= 2) {
        auto_plan list[AUTO_ENTRANTS_MOST];
        auto_facts f = facts(1e5);
        f.seconds = seconds;
        int count = auto_plans(&f, list);
        for (int i = 0; i < count; i++) {
            if (list[i].model != &model_pic) continue;
            assert_true(list[i].part >= last);
            last = list[i].part, first = first ? first : last;
        }
    }
    assert_true(first > 0 && last > first);
}

static void race_is_a_small_part_of_the_time_or_none(void **state)
{
    (void)state;
    int raced = 0, skipped = 0;
    for (double rows = 300; rows < 1e8; rows *= 3)
        for (double seconds = 0.3; seconds < 1e4; seconds *= 3) {
            auto_plan list[AUTO_ENTRANTS_MOST];
            auto_race r;
            auto_facts f = facts(rows);
            f.seconds = seconds, f.distinct = 1e5; /* not exact */
            int count = auto_plans(&f, list);
            auto_race_plan(&f, list, count, &r);
            raced += !*r.skipped, skipped += *r.skipped != 0;
            if (!*r.skipped) assert_true(r.seconds <= 0.2 * seconds && r.held * rows >= 100 && r.held * rows <= 2000);
        }
    assert_true(raced > 0 && skipped > 0);
}

static void what_the_user_gives_is_not_raced_against(void **state)
{
    (void)state;
    auto_plan list[AUTO_ENTRANTS_MOST];
    auto_race r;
    auto_facts f = facts(36000);
    f.part = 90, f.iterations = 3;
    int count = auto_plans(&f, list);
    auto_race_plan(&f, list, count, &r);
    assert_true(!*r.skipped && r.part == 90);
    assert_int_equal(auto_race_iterations(&f, &model_vfe, 10), 3);
    assert_int_equal(auto_polish_passes(&f, &r, &model_pic), 0);
    f.inducing = 30, f.sets = 1;
    auto_race_plan(&f, list, auto_plans(&f, list), &r);
    assert_true(*r.skipped && list[0].model == &model_vfe);
}

static void on_maps_neighbours_are_taken_without_a_race(void **state)
{
    (void)state;
    int maps = 0, others = 0;
    for (int64_t inputs = 1; inputs < 6; inputs++)
        for (double seconds = 1; seconds < 1e4; seconds *= 2) {
            auto_plan list[AUTO_ENTRANTS_MOST];
            auto_race r;
            auto_facts f = facts(950000);
            f.inputs = inputs, f.distinct = f.rows, f.in_memory = true, f.seconds = seconds, f.bytes = 16e9;
            int count = auto_plans(&f, list), vecchia = 0;
            auto_race_plan(&f, list, count, &r);
            for (int i = 1; i < count; i++)
                if (list[i].model == &model_vecchia) vecchia = i;
            if (!*r.skipped || !vecchia) continue;
            assert_int_equal(r.otherwise, inputs <= 3 ? vecchia : 0);
            *(inputs <= 3 ? &maps : &others) += 1;
        }
    assert_true(maps > 0 && others > 0);
}

static void winner_is_the_best_or_the_first_of_equals(void **state)
{
    (void)state;
    const auto_score clear[] = {{-0.4, 0.2}, {-0.9, 0.11}, {0.5, 0.4}}, same[] = {{-0.4, 0.2}, {-0.405, 0.2005}},
                     by_rmse[] = {{-0.4, 0.2}, {-0.405, 0.15}}, one[] = {{NAN, NAN}, {3, 1}, {NAN, NAN}},
                     none[] = {{NAN, NAN}, {NAN, NAN}};
    assert_int_equal(auto_winner(clear, 3, 1000), 1);
    assert_int_equal(auto_winner(same, 2, 1000), 0);
    assert_int_equal(auto_winner(same, 2, 1000000), 1); /* with this many rows the difference counts */
    assert_int_equal(auto_winner(by_rmse, 2, 1000), 1);
    assert_int_equal(auto_winner(one, 3, 1000), 1);
    assert_int_equal(auto_winner(none, 2, 1000), -1);
}

/* Processors of this decade, quiet or shared, are of one class: the plans for them are equal. */
static void plans_do_not_hang_on_how_busy_the_machine_is(void **state)
{
    (void)state;
    for (double part = 0.4; part <= 2.6; part *= 1.1) assert_true(auto_rate_class(part * 3e10, 3e10) == 3e10);
    assert_true(auto_rate_class(3e9, 3e10) < 1e10 && auto_rate_class(3e11, 3e10) > 1e11);
}

/* ---------------------------------------------------------------------------------------- growth */

static grow_stage stage(int64_t M, double value)
{
    return (grow_stage){
        .inducing = M, .value = value, .gap = NAN, .seconds = 1, .left = 100, .worth = 1, .allowed = 1, .places = 9999};
}

static void growth_goes_on_while_it_gains_and_may(void **state)
{
    (void)state;
    char why[120];
    grow_stage a = stage(128, -1), b = stage(256, -0.9), c;
    assert_false(grow_ends(NULL, &a, why, sizeof why));
    assert_false(grow_ends(&a, &b, why, sizeof why));
    const struct {
        size_t field;
        double value;
        const char *says;
    } ends[] = {{offsetof(grow_stage, value), -0.995, "gained"},
                {offsetof(grow_stage, gap), 0.005, "log evidence"},
                {offsetof(grow_stage, left), 4, "are left"},
                {offsetof(grow_stage, bytes), 2, "GB"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        c = b;
        *(double *)((char *)&c + ends[i].field) = ends[i].value;
        assert_true(grow_ends(&a, &c, why, sizeof why));
        assert_non_null(strstr(why, ends[i].says));
    }
    c = b, c.places = 256;
    assert_true(grow_ends(&a, &c, why, sizeof why));
    c = b, c.stopped = true;
    assert_true(grow_ends(&a, &c, why, sizeof why));
    c = b, c.left = 4, c.worth = 0.25; /* a part of the next stage is enough */
    assert_false(grow_ends(&a, &c, why, sizeof why));
}

enum { N = 400, PLACES = 7, MORE = 150 };

typedef struct line {
    double x[N];
} line;

static double k(double a, double b) { return exp(-fabs(a - b) / 0.05); }
static void line_diag(void *ctx, double *diag)
{
    (void)ctx;
    for (int i = 0; i < N; i++) diag[i] = 1;
}
static void line_columns(void *ctx, int64_t count, const int64_t *row, double *out)
{
    const line *l = ctx;
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < N; i++) out[i + j * N] = k(l->x[i], l->x[row[j]]);
}

/* The pivots, more than a look ahead has columns for, against a factorisation of the whole matrix, one pivot after the other;
   the first few are given from outside. */
static void greedy_after_given_pivots_is_the_plain_factorisation(void **state)
{
    (void)state;
    static line l;
    static double C[N][N], before[N * PLACES];
    int64_t chosen[MORE], count;
    fill_normal(3, N, l.x);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) C[i][j] = k(l.x[i], l.x[j]);
    for (int m = 0; m < PLACES + MORE; m++) {
        int p = m < PLACES ? 11 * m : 0;
        for (int i = 0; m >= PLACES && i < N; i++)
            if (C[i][i] > C[p][p]) p = i;
        if (m == PLACES)
            assert_int_equal(
                greedy_more(N, PLACES, before, MORE, line_diag, line_columns, &l, 0, NULL, chosen, &count, NULL),
                ANYGP_OK);
        if (m >= PLACES) assert_int_equal(chosen[m - PLACES], p);
        double l_p[N], pivot = C[p][p];
        for (int i = 0; i < N; i++) l_p[i] = C[i][p] / sqrt(pivot);
        for (int i = 0; i < N && m < PLACES; i++) before[i + m * N] = l_p[i];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) C[i][j] -= l_p[i] * l_p[j];
        for (int i = 0; i < N; i++) C[i][p] = C[p][i] = 0;
    }
    assert_int_equal(count, MORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_classes_have_fewer_inducing_inputs),
        cmocka_unit_test(choices_are_as_documented),
        cmocka_unit_test(promise_is_within_the_budget),
        cmocka_unit_test(more_time_never_chooses_a_smaller_model),
        cmocka_unit_test(targets_share_the_passes_of_vfe),
        cmocka_unit_test(second_set_fills_the_room_between_two_sizes),
        cmocka_unit_test(given_numbers_are_kept),
        cmocka_unit_test(repeated_rows_are_exact_whatever_their_number),
        cmocka_unit_test(candidates_are_what_the_model_table_allows),
        cmocka_unit_test(pic_is_left_out_where_its_rows_do_not_fit),
        cmocka_unit_test(more_time_makes_larger_blocks),
        cmocka_unit_test(race_is_a_small_part_of_the_time_or_none),
        cmocka_unit_test(what_the_user_gives_is_not_raced_against),
        cmocka_unit_test(on_maps_neighbours_are_taken_without_a_race),
        cmocka_unit_test(winner_is_the_best_or_the_first_of_equals),
        cmocka_unit_test(plans_do_not_hang_on_how_busy_the_machine_is),
        cmocka_unit_test(growth_goes_on_while_it_gains_and_may),
        cmocka_unit_test(greedy_after_given_pivots_is_the_plain_factorisation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
