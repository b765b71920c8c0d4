/* What --model auto has to know before it decides (the rows, the kernel, how fast this machine is), and what comes of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "gp/auto.h"
#include "gp/shares.h"

enum {
    SMALL = 500,   /* rows up to which measuring would take longer than the fit: common rates are assumed */
    SAMPLE = 20000 /* rows in memory where all of them would be too many */
};
static const double
    SHORT = 0.1,     /* of the budget: a fit that is predicted to be shorter is not cut off, nor depends on the clock */
    RACE_MOST = 0.6; /* of the time, whatever a race was predicted to take */

/* ------------------------------------------------------------------------------------------- data */

/* A kernel and its parameters over the rows, for their number and its speed. */
static anygp_status look_at_kernel(const fit_task *task, dataset *d, bool exposure, auto_facts *a, anygp_error *e)
{
    fit_task one = *task, *f = &one;
    likelihood like;
    anygp_status status = ANYGP_OK;
    merged distinct = {0};
    hyper h = {0};
    basis mean = {0};
    kernel *k = NULL;
    one.together = 1;
    TRY_DONE(fit_kernel(f, d, &k, e));
    TRY_DONE(fit_likelihood(f, d, exposure, &like, e));
    a->latents = like.latents;
    kernel *mine = k;
    k = NULL; /* fit_hyper() takes it over */
    TRY_DONE(fit_hyper(f, d, mine, &h, &mean, e));
    a->params = h.free;
    if (d->used > SMALL || a->measure) TRY_DONE(auto_rates(h.kernel, d, a, e));
    if (d->used > SMALL) auto_rates_classes(a);
    if (d->n < d->used) goto done;
    TRY_DONE(dataset_merge(d, !kernel_has_white(h.kernel), &distinct, e));
    a->distinct = fmax(a->distinct, (double)distinct.n);
done:
    merged_clear(&distinct);
    basis_clear(&mean);
    hyper_clear(&h);
    kernel_free(k);
    return status;
}

/* One target: all its rows where they fit beside the table, so that equal ones are seen. */
static anygp_status look_at_target(const fit_task *f, row_source *rows, int64_t target, auto_facts *a, dataset *seen,
                                   anygp_error *e)
{
    rows_part part = {.y = fit_columns_some(f->columns, target, 1, &f->choice.like),
                      .skip_column = f->columns->skip,
                      .sphere = fit_columns_sphere(f->columns),
                      .hold_out = f->hold_out,
                      .seed = (uint64_t)settings_integer(f->s, SET_SEED)};
    int64_t all = rows_count(rows);
    bool whole = a->in_memory && 16.0 * (double)all * (double)(f->data->table->cols + 2) < ROWS_SHARE * a->bytes;
    dataset d = {0};
    anygp_status status = ANYGP_OK;
    TRY_DONE(rows_scan(rows, &part, settings_is(f->s, SET_MISSING, "mean"), whole ? all : SAMPLE, comm_world(), &d, e));
    a->rows = fmax(a->rows, (double)d.used);
    a->inputs = d.D;
    double before = a->distinct;
    TRY_DONE(look_at_kernel(f, &d, part.y.exposure >= 0, a, e));
    if (a->distinct == before && d.n < d.used) a->distinct = fmax(before, (double)d.used);
    if (a->measure && target == 0) *seen = d, d = (dataset){0};
done:
    dataset_clear(&d);
    return status;
}

static anygp_status look_at_rows(const fit_task *f, auto_facts *a, dataset *seen, anygp_error *e)
{
    row_source *table_rows = NULL;
    anygp_status status = ANYGP_OK;
    if (!f->data->file) TRY(rows_open_table(f->data->table, &table_rows, e));
    row_source *rows = f->data->file ? f->data->file : table_rows;
    for (int64_t t = 0; t < f->columns->targets && !ANYGP_FAILED(status); t++)
        status = look_at_target(f, rows, t, a, seen, e);
    rows_close(table_rows);
    return status;
}

/* All ranks go by what rank 0 found. */
static anygp_status agree(auto_facts *a, anygp_error *e)
{
    const comm *c = comm_world();
    return c->size == 1 ? ANYGP_OK : c->broadcast(c->ctx, 0, sizeof *a, a, e);
}

/* Without --memory what the machine has left changes all the time: a power of two of it. */
static double steady_memory(const settings *s)
{
    double bytes = settings_memory(s);
    return settings_given(s, SET_MEMORY) ? bytes : exp2(floor(log2(bytes)));
}

/* Rows of a block, where the user says how many blocks; those of a file are taken as they are. */
static int64_t part_of_settings(const fit_task *f)
{
    double rows = (double)f->data->table->rows, blocks = settings_number(f->s, SET_BLOCKS);
    return settings_given(f->s, SET_BLOCKS) ? (int64_t)ceil(rows / blocks) : 0;
}

static auto_facts facts_of_settings(const fit_task *f)
{
    const settings *s = f->s;
    double limit = settings_number(s, SET_TIME);
    int64_t given = settings_integer(s, SET_ITERS);
    auto_facts a = {.targets = f->columns->targets,
                    .gaussian = likelihood_is_gaussian(&f->choice.like),
                    .in_memory = !f->data->file,
                    .places_given = settings_given(s, SET_INDUCING_FROM),
                    .grows = f->choice.grow,
                    .sets = f->choice.set_count,
                    .part = part_of_settings(f),
                    .iterations = settings_changed(s, SET_ITERS) ? given > 0 ? given : 1 : 0,
                    .batch = settings_integer(s, SET_BATCH),
                    .threads = threads_max(),
                    .seconds = isnan(limit) ? auto_seconds_default() : limit,
                    .bytes = steady_memory(s)};
    auto_rates_usual(&a);
    for (int64_t k = 0; k < f->choice.set_count; k++) a.inducing += f->choice.sets[k];
    return a;
}

/* ----------------------------------------------------------------------------------------- answer */

/* " with 128 inducing inputs and 36 blocks" */
static void describe_size(const fit_task *f, const auto_facts *a, const auto_plan *p, char text[96])
{
    char blocks[40] = "";
    *text = 0;
    if (!model_has_inducing(p->model)) return;
    if (p->part > 0) snprintf(blocks, sizeof blocks, " and %.0f blocks", ceil(a->rows / (double)p->part));
    if (f->choice.grow)
        snprintf(text, 96, " with a growing number of inducing inputs");
    else if (p->set_count == 2)
        snprintf(text, 96, " with %lld+%lld inducing inputs", (long long)p->sets[0], (long long)p->sets[1]);
    else if (p->set_count == 1)
        snprintf(text, 96, " with %lld inducing inputs%s", (long long)p->sets[0], blocks);
    else if (*blocks)
        snprintf(text, 96, " with%s", blocks + 4);
}

/* Whether another short fit had a better mnlp, though not by enough to count. */
static bool is_close(const auto_outcome *o, int count)
{
    bool close = false;
    for (int i = 0; i < count; i++) close |= o->score[i].mnlp < o->score[o->winner].mnlp;
    return close;
}

/* " and of short fits it had the best mnlp on 1000 rows held out: pic -0.72, vfe -0.41" */
static void describe_race(const auto_race *r, const auto_outcome *o, const auto_plan *list, int count, char *text,
                          size_t room)
{
    *text = 0;
    if (*r->skipped && r->wanted) snprintf(text, room, "; no other model was tried: %s", r->skipped);
    if (!o->ran) return;
    size_t used = (size_t)snprintf(
        text, room, " and of short fits%s %s mnlp on %lld rows held out:", o->cut ? ", which the time cut short," : "",
        is_close(o, count) ? "none had a clearly better" : "it had the best", (long long)o->held);
    for (int k = 0; k < count && used < room; k++) {
        int i = k == 0 ? o->winner : k <= o->winner ? k - 1 : k; /* the winner first */
        used += (size_t)snprintf(text + used, room - used, "%s %s %.3g", k ? "," : "", list[i].model->name,
                                 o->score[i].mnlp);
    }
}

/* spent: seconds that the race was predicted to take, which are part of what is promised. */
static void say(fit_task *f, const auto_facts *a, const auto_plan *p, const char *race, double spent)
{
    bool grows = model_has_inducing(p->model) && f->choice.grow; /* until that gains little: it takes what it takes */
    char size[96];
    describe_size(f, a, p, size);
    double seconds = spent + p->seconds * (auto_may_have_trend(f, p->model, p->seconds) ? 2 : 1);
    if (!grows) f->promise = (gp_promise){.seconds = seconds, .bytes = p->bytes};
    snprintf(f->promise.reason, sizeof f->promise.reason, "%s%s, %s%s", p->model->name, size, p->reason, race);
    if (grows)
        settings_log(f->s, ANYGP_NOTE, "auto: %s", f->promise.reason);
    else
        settings_log(f->s, ANYGP_NOTE, "auto: %s; about %.*f s and %.2g GB", f->promise.reason, seconds < 10 ? 2 : 0,
                     seconds, p->bytes / 1e9);
}

void auto_apply(fit_task *f, const auto_plan *p)
{
    model_choice *c = &f->choice;
    choice_take(c, f->s, p->model);
    if (c->grow && model_has_inducing(p->model)) return; /* its size and time come of themselves */
    for (int64_t k = 0; k < p->set_count; k++) c->sets[k] = p->sets[k];
    if (p->set_count) c->set_count = p->set_count;
    if (!settings_given(f->s, SET_BLOCKS)) f->part = p->part;
}

/* Passes go on until they converge or the time is over.  Steps have a schedule with an end: by the clock, where the user gave a
   time, else by the number that was planned, so that the result is the same every time. */
static void limit(fit_task *f, const auto_plan *p)
{
    bool timed = settings_given(f->s, SET_TIME);
    if (p->model->steps && !timed && !settings_changed(f->s, SET_ITERS)) f->iterations = p->iterations;
    if (!timed && !f->choice.grow && p->seconds > SHORT * auto_seconds_default()) f->budget = auto_seconds_default();
}

/* Rows that the fit will hold out for its score are not for the race either: see valid_settle(). */
static double share_to_hold(const fit_task *f, const auto_facts *a)
{
    bool scored = f->valid == VALID_AUTO && !settings_given(f->s, SET_BLOCKS_FROM);
    return scored && a->rows > 0 ? valid_auto_rows(a->rows) / a->rows : f->hold_out;
}

double auto_race_most(const auto_facts *a) { return RACE_MOST * a->seconds; }

anygp_status auto_hold_race(const fit_task *f, const auto_outlook *o, double seconds, auto_outcome *out, anygp_error *e)
{
    fit_task racing = *f;
    *out = (auto_outcome){.winner = o->race.otherwise};
    if (*o->race.skipped) return ANYGP_OK;
    racing.hold_out = share_to_hold(f, &o->facts);
    return auto_race_run(&racing, &o->facts, &o->race, o->list, o->count, seconds, out, e);
}

anygp_status auto_look(const fit_task *f, bool measure, auto_outlook *o, anygp_error *e)
{
    auto_facts *a = &o->facts;
    *a = facts_of_settings(f);
    a->measure = measure;
    o->seen = (dataset){0};
    TRY(look_at_rows(f, a, &o->seen, e));
    TRY(agree(a, e));
    o->count = auto_plans(a, o->list);
    auto_race_plan(a, o->list, o->count, &o->race);
    return ANYGP_OK;
}

/* Bytes that have to be allowed for this plan: with more of them a fit also holds more rows. */
static double bytes_enough(const auto_facts *a, const auto_plan *p)
{
    auto_facts more = *a;
    more.bytes = p->bytes;
    for (int i = 0; i < 100; i++) {
        double need = auto_bytes(&more, p->model, p->sets[0] + p->sets[1], p->part);
        if (need <= more.bytes) break;
        more.bytes = 1.02 * need;
    }
    return more.bytes;
}

static anygp_status check_bytes(const fit_task *f, const auto_facts *a, const auto_plan *p, anygp_error *e)
{
    char memory[FIT_MEMORY_TEXT];
    double enough = bytes_enough(a, p);
    if (p->bytes <= a->bytes) return ANYGP_OK;
    fit_memory_text(enough, memory);
    return fail_with(e, ANYGP_ERR_MEMORY,
                     "the smallest model, %s with %lld inducing inputs, needs about %.2g GB, and %.2g GB are "
                     "allowed; use --memory %s%s",
                     p->model->name, (long long)p->sets[0], enough / 1e9, a->bytes / 1e9, memory,
                     settings_given(f->s, SET_INDUCING) ? ", or fewer --inducing" : ", or give --model and --inducing");
}

anygp_status auto_choose(fit_task *f, anygp_error *e)
{
    auto_outlook o;
    auto_outcome outcome;
    char said[240];
    double began = clock_seconds();
    if (f->choice.model) return ANYGP_OK;
    TRY(auto_look(f, false, &o, e));
    TRY(check_bytes(f, &o.facts, &o.list[0], e));
    double most = fmax(auto_race_most(&o.facts) - (clock_seconds() - began), 0);
    TRY(auto_hold_race(f, &o, most, &outcome, e));
    f->start = outcome.start;
    describe_race(&o.race, &outcome, o.list, o.count, said, sizeof said);
    say(f, &o.facts, &o.list[outcome.winner], said, outcome.ran ? o.race.seconds : 0);
    auto_apply(f, &o.list[outcome.winner]);
    limit(f, &o.list[outcome.winner]);
    return ANYGP_OK;
}
