/* Models over blocks: rows of a table or of a file, reached block by block.
       scan     columns and moments of all rows, a sample of them in memory
       start    hyperparameters and inducing inputs from the sample
       blocks   the rows in model units
       train    batch or anytime */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "gp/fit_blocks.h"
#include "gp/shares.h"
#include "run/treed.h"

enum {
    SAMPLE_LEAST = 20000, /* rows in memory to start from */
    SAMPLE_A_BLOCK = 25,  /* and so many for each block of a partition */
    SAMPLE_A_POINT = 10,  /* or inducing input */
    ROWS_A_BLOCK = 1000,  /* where rows stand alone, */
    ROWS_A_SAMPLE = 256   /* and where a step takes some of them at random */
};

static void block_fit_clear(block_fit *b)
{
    train_result_clear(&b->result);
    valid_rows_free(b->valid);
    free(b->given);
    free(b->ids);
    free(b->start);
    router_free(b->route);
    blocks_free(b->blocks);
    basis_clear(&b->mean);
    hyper_clear(&b->h);
    merged_clear(&b->distinct);
    dataset_clear(&b->d);
    rows_close(b->table_rows);
}

/* ---------------------------------------------------------------------------------------- sizes */

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t fit_block_rows(const model_ops *m, int64_t M, int64_t batch, int64_t part)
{
    if (model_over_parts(m)) return part > 0 ? part : blocks_part_rows(M);
    if (!model_by_steps(m) || batch == 0) return ROWS_A_BLOCK;
    return batch < ROWS_A_SAMPLE ? batch : batch / ceil_div(batch, ROWS_A_SAMPLE);
}

static int64_t default_blocks(const block_fit *b)
{
    int64_t rows = fit_block_rows(b->g->model, b->M, settings_integer(b->f->s, SET_BATCH), b->f->part);
    return ceil_div(rows_count(b->source), rows);
}

static int64_t sample_size(const block_fit *b)
{
    int64_t n = SAMPLE_LEAST, parts = SAMPLE_A_BLOCK * b->P;
    bool drawn =
        b->g->model->variables && !model_has_inducing(b->g->model); /* basis functions, not places among rows */
    int64_t points = drawn ? 0 : SAMPLE_A_POINT * b->M;
    if (points > n) n = points;
    return model_over_parts(b->g->model) && parts > n ? parts : n;
}

/* ------------------------------------------------------------------------------------ the files */

/* A category that no row has would be mistaken for any other new one later. */
static anygp_status check_levels(const schema *s, int64_t n, const double *Z, anygp_error *e)
{
    char label[96];
    for (int64_t i = 0; i < n * s->D; i++) {
        const input_spec *c = schema_at(s, i % s->D);
        if (c->text && Z[i] >= (double)c->levels)
            return fail_with(e, ANYGP_ERR_DATA,
                             "inducing-from: row %lld, column %s: no row of the data has this category",
                             (long long)(i / s->D) + 1, schema_label(c, label));
    }
    return ANYGP_OK;
}

anygp_status fit_read_inducing(const fit_task *f, const dataset *d, hyper *h, int64_t *M, anygp_error *e)
{
    const gp plain = {.schema = d->schema, .likelihood = (likelihood *)f->like};
    double *Z = NULL;
    TRY(gp_read_inputs(&plain, settings_text(f->s, SET_INDUCING_FROM), f->s, M, &Z, e));
    anygp_status status = check_levels(&d->schema, *M, Z, e);
    if (!ANYGP_FAILED(status)) status = hyper_set_inducing(h, *M, d->D, Z, !f->choice.fix_inducing, e);
    free(Z);
    return status;
}

anygp_status blocks_from_file(const char *path, const settings *s, int64_t n, int64_t **out, anygp_error *e)
{
    read_options o = gp_side_options(s);
    table *t = NULL;
    TRY(table_read(path, &o, &t, e));
    anygp_status status = ANYGP_OK;
    int64_t *ids = NULL;
    if (t->cols != 1 || t->rows != n)
        status = fail_with(e, ANYGP_ERR_DATA,
                           "%.200s has %lld rows and %lld columns; it needs one column and %lld rows, "
                           "the block of each row of the data",
                           path, (long long)t->rows, (long long)t->cols, (long long)n);
    else if (!(ids = mem_alloc(n, sizeof *ids)))
        status = fail_memory(e, "the blocks of the rows", 8.0 * (double)n);
    else
        status = block_names_of(n, t->values, path, 0, ids, e);
    table_free(t);
    if (ANYGP_FAILED(status))
        free(ids);
    else
        *out = ids;
    return status;
}

/* Inducing inputs to choose; for a pair, those of the covariance, since the mean's are rows it meets. */
static int64_t wanted_inducing(const block_fit *b)
{
    const model_choice *c = &b->f->choice;
    if (!model_takes_pair(c->model)) return choice_subset(c);
    return c->set_count > 1 ? c->sets[1] : MODEL_COVARIANCE_BASES;
}

/* --------------------------------------------------------------------------------------- blocks */

/* Distances per second of k-means, about.  It may take a share of a time limit; else a kd-tree cuts, which is nearly free. */
static const double DISTANCES = 3e8, CUT_SHARE = 0.1;
enum { CUT_ROUNDS = 21 }; /* of k-means, and its start */

static bool means_take_too_long(const block_fit *b)
{
    double sample = CUT_ROUNDS * (double)b->d.n + (double)rows_count(b->source);
    return !settings_changed(b->f->s, SET_PARTITION) && sample * (double)b->P / DISTANCES > CUT_SHARE * b->f->limit;
}

/* Multiplications per second of short climbs, about. */
static const double TREE_RATE = 2e9;

static int on_tree(void *ctx, const train_step *step)
{
    const block_fit *b = ctx;
    anygp_progress progress = {.stage = "cutting the rows",
                               .objective = step->objective,
                               .seconds = step->seconds,
                               .time_limit = isinf(b->f->limit) ? NAN : b->f->limit,
                               .rmse = NAN,
                               .mnlp = NAN,
                               .coverage = NAN};
    return settings_progress(b->f->s, &progress);
}

/* Blocks where the evidence asks for them, by the rows of the sample. */
static anygp_status cut_by_evidence(block_fit *b, int64_t cap, router **out, anygp_error *e)
{
    double share = (double)b->d.n / (double)rows_count(b->source);
    const problem p = {
        .rows = &b->distinct, .mean = &b->mean, .seed = b->part.seed, .comm = comm_world(), .likelihood = b->f->like};
    const treed_options o = {.cap = (int64_t)ceil(share * (double)cap),
                             .most = CUT_SHARE * b->f->limit * TREE_RATE,
                             .report = on_tree,
                             .ctx = b};
    treed_report r;
    TRY(treed_cuts(&p, &b->h, &o, out, &r, e));
    settings_log(b->f->s, ANYGP_NOTE, "the evidence asked for %lld of the %lld cuts that were offered to it%s",
                 (long long)r.made, (long long)r.judged, r.ended ? "; there was no time to look at all parts" : "");
    return ANYGP_OK;
}

static plan_kind plan_of(const block_fit *b)
{
    const settings *s = b->f->s;
    if (b->given && !model_is_mixture(b->g->model)) return PLAN_GIVEN;
    if (b->g->model->steps && settings_integer(s, SET_BATCH) > 0) return PLAN_RANDOM;
    if (!model_over_parts(b->g->model)) return PLAN_RUNS;
    if (b->d.D == 0) return PLAN_RANDOM; /* there is no space to cut */
    if (settings_is(s, SET_PARTITION, "tree")) return PLAN_ROUTED;
    if (b->g->model->needs.cells) return PLAN_KDTREE;
    return settings_is(s, SET_PARTITION, "kdtree")   ? PLAN_KDTREE
           : means_take_too_long(b)                  ? PLAN_KDTREE
           : settings_is(s, SET_PARTITION, "random") ? PLAN_RANDOM
                                                     : PLAN_KMEANS;
}

/* The blocks of a mixture are what its experts begin with: of each row of the sample.  Rows are read in blocks of another kind. */
static anygp_status start_from_given(block_fit *b, const char *path, anygp_error *e)
{
    const settings *s = b->f->s;
    int64_t rows = rows_count(b->source), asked = settings_integer(s, SET_BLOCKS), *names, count = 0;
    if (!(b->start = mem_alloc(b->d.n, sizeof *b->start)) || !(names = mem_alloc(rows, sizeof *names)))
        return fail_memory(e, "the blocks of the rows", 8.0 * (double)rows);
    memcpy(names, b->given, (size_t)rows * sizeof *names);
    qsort(names, (size_t)rows, sizeof *names, by_integer);
    for (int64_t i = 0; i < rows; i++)
        if (i == 0 || names[i] != names[count - 1]) names[count++] = names[i];
    for (int64_t i = 0; i < b->d.n; i++) {
        const int64_t *name = &b->given[b->d.number[i]];
        b->start[i] = (const int64_t *)bsearch(name, names, (size_t)count, sizeof *names, by_integer) - names;
    }
    free(names);
    b->experts = count;
    if (!settings_given(s, SET_BLOCKS) || asked == count) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "blocks: %.200s has %lld blocks, and %lld experts are asked for; leave --blocks out", path,
                     (long long)count, (long long)asked);
}

static anygp_status make_blocks(block_fit *b, anygp_error *e)
{
    const char *from = settings_text(b->f->s, SET_BLOCKS_FROM);
    const model_ops *m = b->g->model;
    if (*from) TRY(blocks_from_file(from, b->f->s, rows_count(b->source), &b->given, e));
    if (*from) TRY(fit_admits_given_blocks(m, from, rows_count(b->source), b->given, e));
    if (*from && model_is_mixture(m)) TRY(start_from_given(b, from, e));
    if (settings_given(b->f->s, SET_BLOCKS))
        TRY(fit_admits_blocks(m, settings_integer(b->f->s, SET_BLOCKS), b->d.used, e));
    /* A busy machine may take longer than was thought. */
    const deadline cut = {.began = clock_seconds(), .limit = 2 * CUT_SHARE * b->f->limit};
    block_plan plan = {.kind = plan_of(b),
                       .until = &cut,
                       .blocks = b->P,
                       .cap = PART_OVERSIZE * ceil_div(rows_count(b->source), b->P),
                       .given = b->given,
                       .ids = &b->ids,
                       .seed = b->part.seed,
                       .keep = ROWS_SHARE * settings_memory(b->f->s)};
    if (plan.kind == PLAN_KDTREE && !settings_changed(b->f->s, SET_PARTITION) && !b->g->model->needs.cells)
        settings_log(b->f->s, ANYGP_NOTE,
                     "the rows are cut into blocks by a kd-tree: k-means would take too much of the time limit");
    router **route = model_over_parts(b->g->model) ? &b->route : NULL; /* for random blocks: a pass over all rows */
    router *tree = NULL;
    if (plan.kind == PLAN_ROUTED) TRY(cut_by_evidence(b, plan.cap, &tree, e));
    plan.routed = tree;
    anygp_status status = rows_blocks(b->source, &b->part, &b->d, &plan, &b->blocks, route, e);
    router_free(tree);
    return status;
}

static bool has_text(const schema *s)
{
    bool text = false;
    for (int64_t j = 0; j < s->D; j++) text |= schema_at(s, j)->text;
    return text;
}

/* Where the model wants an inducing input in each block: at the mean of its rows, or, as there is no mean of categories, at as many
   places chosen in the usual way. */
static anygp_status place_at_centres(block_fit *b, anygp_error *e)
{
    const settings *s = b->f->s;
    bool given = settings_given(s, SET_INDUCING) || settings_given(s, SET_INDUCING_FROM);
    if (!b->g->model->needs.centres || given) return ANYGP_OK;
    int64_t count = b->blocks->count, D = b->d.D;
    b->centred = true;
    b->M = count < b->distinct.n ? count : b->distinct.n;
    if (D == 0 || has_text(&b->d.schema)) return ANYGP_OK;
    double *Z = mem_doubles(count, D);
    if (!Z) return fail_memory(e, "the inducing inputs", 8.0 * (double)count * (double)D);
    anygp_status status = rows_block_means(b->blocks, Z, e);
    b->M = count;
    if (!ANYGP_FAILED(status)) status = hyper_set_inducing(&b->h, count, D, Z, !b->f->choice.fix_inducing, e);
    free(Z);
    return status;
}

/* ------------------------------------------------------------------------------------------ fit */

static anygp_status open_rows(block_fit *b, anygp_error *e)
{
    const fit_task *f = b->f;
    const settings *s = f->s;
    if (!f->data->file) TRY(rows_open_table(f->data->table, &b->table_rows, e));
    b->source = f->data->file ? f->data->file : b->table_rows;
    b->part = (rows_part){.y = fit_columns_some(f->columns, f->target, f->together, &f->choice.like),
                          .skip_column = f->columns->skip,
                          .sphere = fit_columns_sphere(f->columns),
                          .hold_out = f->hold_out,
                          .seed = (uint64_t)settings_integer(s, SET_SEED)};
    b->M = wanted_inducing(b);
    bool given = settings_given(s, SET_BLOCKS) && !model_is_mixture(b->g->model);
    b->P = given ? settings_integer(s, SET_BLOCKS) : default_blocks(b);
    if (b->P > rows_count(b->source)) b->P = rows_count(b->source);
    return ANYGP_OK;
}

static anygp_status check_noise(const block_fit *b, anygp_error *e)
{
    bool gaussian = likelihood_is_gaussian(&b->f->choice.like);
    if (!gaussian || b->h.like[0] > 0 || kernel_white(b->h.kernel) > 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "noise 0 is fixed, but %s needs noise; give a positive --noise",
                     b->g->model->name);
}

/* Hyperparameters that the user neither gave nor asked to keep. */
static void note_not_learned(const block_fit *b)
{
    if (!b->f->choice.not_learned) return; /* a likelihood may have no parameter to look at */
    bool given = hyper_facts(&b->h, hyper_kernel_params(&b->h))->given;
    for (int64_t i = 0; i < hyper_kernel_params(&b->h); i++)
        given = given && (hyper_facts(&b->h, i)->given || kernel_param_at(b->h.kernel, i)->fixed);
    if (!given)
        settings_log(b->f->s, ANYGP_NOTE,
                     "a combination learns nothing: hyperparameters that --kernel and --noise do not give stay at "
                     "their defaults");
}

/* Fewer than were asked for. */
static void note_inducing(const block_fit *b)
{
    const settings *s = b->f->s;
    int64_t got = b->g->inducing;
    if (!model_has_inducing(b->g->model) || b->f->choice.grow || b->centred || settings_given(s, SET_INDUCING_FROM) ||
        model_takes_pair(b->g->model) || got >= choice_subset(&b->f->choice))
        return;
    if (choice_grow(&b->f->choice, s) > 0)
        settings_log(s, ANYGP_NOTE,
                     "the run ended with %lld of %lld inducing inputs; for more of them take more steps (--iters) or a "
                     "larger --grow",
                     (long long)got, (long long)choice_subset(&b->f->choice));
    else
        settings_log(s, ANYGP_NOTE, "the rows%s have only %lld different place%s for inducing inputs",
                     model_is_mixture(b->g->model) ? " of the first expert" : "", (long long)got, got == 1 ? "" : "s");
}

/* As many as there are rows for; what is too much is taken from the last sets.  One number stands for two halves. */
static void share_out_sets(block_fit *b)
{
    const model_choice *c = &b->f->choice;
    if (model_takes_pair(c->model)) {
        b->sets[0] = c->set_count > 0 ? c->sets[0] : c->model->subset, b->sets[1] = b->M, b->set_count = 2;
        if (c->set_count == 2 && b->M == c->sets[0] + c->sets[1])
            b->sets[1] = c->sets[1]; /* places of both are given */
        return;
    }
    int64_t halves[2] = {b->M - b->M / 2, b->M / 2}, wanted = c->set_count > 1 ? c->set_count : 2;
    const int64_t *size = c->set_count > 1 ? c->sets : halves;
    b->set_count = model_takes_sets(c->model) ? model_share_sets(b->M, wanted, size, b->sets) : 0;
}

/* Why the inducing inputs are where they are. */
static void note_places(const block_fit *b)
{
    const inducing_start *p = &b->result.places;
    bool greedy = p->how && !strcmp(p->how, "greedy");
    char other[80] = "";
    if (!p->how || isnan(p->share) || model_is_mixture(b->g->model)) return; /* experts have their own places */
    if (!isnan(p->other))
        snprintf(other, sizeof other, " (%s: %.2g %%)", greedy ? "k-means" : "greedy conditional variance",
                 100 * p->other);
    int64_t grow = choice_grow(&b->f->choice, b->f->s);
    bool first = !model_takes_pair(b->g->model) && grow > 0 && grow < b->h.M;
    settings_log(
        b->f->s, ANYGP_NOTE,
        "%s%lld inducing inputs were chosen by %s among %lld rows, where they leave %.2g %% of the prior variance "
        "unexplained%s",
        first ? "the first " : "", (long long)(first ? grow : b->h.M),
        greedy                      ? "greedy conditional variance"
        : !strcmp(p->how, "kmeans") ? "k-means"
                                    : p->how,
        (long long)b->distinct.n, 100 * p->share, other);
}

static expert_choice expert_choice_of(const block_fit *b)
{
    const settings *s = b->f->s;
    const model_ops *m = b->g->model;
    bool counted = model_is_mixture(m) && settings_given(s, SET_BLOCKS);
    return (expert_choice){
        .count = counted ? settings_integer(s, SET_BLOCKS) : b->experts,
        .most = settings_given(s, SET_EXPERTS_MOST) ? settings_integer(s, SET_EXPERTS_MOST) : b->experts,
        .start = b->start,
        .communication = settings_given(s, SET_COMMUNICATION) ? settings_integer(s, SET_COMMUNICATION) : 0,
        .near = settings_given(s, SET_NEAR) ? settings_integer(s, SET_NEAR) : 0,
        .observed = settings_is(s, SET_AGGREGATE, "y"),
        .own = settings_is(s, SET_EXPERTS, "own")};
}

anygp_status block_fit_train(block_fit *b, anygp_error *e)
{
    const fit_task *f = b->f;
    const settings *s = f->s;
    share_out_sets(b);
    problem p = {.rows = &b->distinct,
                 .mean = &b->mean,
                 .seed = b->part.seed,
                 .subset = b->M,
                 .select = choice_select(&f->choice, s),
                 .grow = choice_grow(&f->choice, s),
                 .comm = comm_world(),
                 .experts = expert_choice_of(b),
                 .learn_inducing = !f->choice.fix_inducing,
                 .places_given = settings_given(s, SET_INDUCING_FROM),
                 .fix = settings_text(f->s, SET_FIX),
                 .likelihood = f->like,
                 .targets = f->together,
                 .blocks = b->blocks,
                 .route = b->route,
                 .block_ids = b->ids,
                 .sets = b->sets,
                 .set_count = b->set_count,
                 .memory = settings_memory(s),
                 .mixed = settings_is(s, SET_PRECISION, "mixed") && choice_can_float(&f->choice),
                 .leave_out_inputs = fit_leaves_inputs(f)};
    double have = settings_memory(s), rows_kept = ROWS_SHARE * have;
    TRY(fit_check_memory(f, b->g->model, &p, ROWS_SHARE, e));
    if (!f->choice.anytime) p.keep = fmax(0, fmin(KEEP_SHARE * have, have - rows_kept - model_bytes(b->g->model, &p)));
    TRY(fit_train(f, b->all, &b->d, &p, &b->h, settings_scores_watched(s) ? b->valid : NULL, &b->result, e));
    for (int64_t t = 0; t < f->together; t++) {
        TRY(fit_describe(f, &b->d, &b->h, t, b->all[t], e));
        b->all[t]->blocks = b->blocks->count;
        if (model_whole_loo(b->all[t]->model)) TRY(fit_calibrate(b->f, b->all[t], &b->result.loo, e));
        fit_keep_result(b->all[t], &b->d, &b->result, t);
    }
    return ANYGP_OK;
}

/* What is learned begins where a fit before this one ended: its kernel, and its noise for all targets. */
static void begin_at(block_fit *b, const posterior *start)
{
    hyper *h = &b->h;
    int64_t kernels = hyper_kernel_params(h);
    for (int64_t i = 0; start && i < h->count; i++)
        if (hyper_facts(h, i)->free) hyper_set(h, i, i < kernels ? kernel_values(start->kernel)[i] : start->noise);
    if (start) b->f->started = true;
}

static bool scores_on_the_way(const block_fit *b)
{
    return (b->f->choice.anytime || b->g->model->steps) && settings_scores_watched(b->f->s);
}

anygp_status fit_blocks(const fit_task *task, gp **g, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    fit_task mine_task = *task, *f = &mine_task;
    block_fit b = {.f = f, .all = g, .g = g[0]};
    kernel *k = NULL;
    TRY_DONE(open_rows(&b, e));
    choice_note_unused(&f->choice, f->s);
    TRY_DONE(
        rows_scan(b.source, &b.part, settings_is(f->s, SET_MISSING, "mean"), sample_size(&b), comm_world(), &b.d, e));
    TRY_DONE(fit_admits_rows(b.g->model, &b.d, e));
    fit_note_what_was_left_out(f, &b.d, b.d.used > 1 && b.d.y_moments.variance == 0);
    TRY_DONE(fit_kernel(f, &b.d, &k, e));
    TRY_DONE(fit_admits_kernel(f, b.g->model, k, &b.d, e));
    TRY_DONE(fit_likelihood(f, &b.d, b.part.y.exposure >= 0, &b.like, e));
    kernel *mine = k;
    k = NULL; /* fit_hyper() takes it over */
    TRY_DONE(fit_hyper(f, &b.d, mine, &b.h, &b.mean, e));
    begin_at(&b, f->start);
    TRY_DONE(check_noise(&b, e));
    note_not_learned(&b);
    TRY_DONE(dataset_merge(&b.d, !kernel_has_white(mine), &b.distinct, e));
    if (f->choice.grow) b.M = GROW_FIRST;
    if (b.M > b.distinct.n && !model_draws_inducing(b.g->model)) b.M = b.distinct.n;
    if (settings_given(f->s, SET_INDUCING_FROM)) TRY_DONE(fit_read_inducing(f, &b.d, &b.h, &b.M, e));
    TRY_DONE(make_blocks(&b, e));
    TRY_DONE(place_at_centres(&b, e));
    gp plain = {.schema = b.d.schema, .likelihood = (likelihood *)f->like};
    if (f->choice.grow ? b.g->model->steps != NULL : scores_on_the_way(&b))
        TRY_DONE(valid_rows_read(&plain, f->data, f->columns->weights, f->hold_out, f->s, &b.valid, e));
    TRY_DONE(f->choice.grow ? grow_run(&b, e) : block_fit_train(&b, e));
    note_inducing(&b);
    note_places(&b);
    for (int64_t t = 0; t < f->together; t++) fit_warn_of_rates(f, &b.d, g[t], t);
done:
    kernel_free(k);
    block_fit_clear(&b);
    return status;
}
