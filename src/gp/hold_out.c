/* --valid: which rows are held out of the training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "data/table/classes.h"
#include "gp/fit.h"

static uint64_t seed_of(const settings *s) { return (uint64_t)settings_integer(s, SET_SEED); }

anygp_status valid_parse(const settings *s, valid_kind *kind, double *share, anygp_error *e)
{
    const char *text = settings_text(s, SET_VALID);
    char *end;
    c_locale l = c_locale_enter();
    double value = strtod(text, &end);
    c_locale_leave(l);
    *share = 0;
    *kind = !strcmp(text, "auto") ? VALID_AUTO : !*text || !strcmp(text, "none") ? VALID_NONE : VALID_FILE;
    if (*kind != VALID_FILE || end == text || *end) return ANYGP_OK;
    if (!(value >= 0 && value < 1))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "valid: %.40s is not a file, nor a fraction between 0 and 1", text);
    *kind = value > 0 ? VALID_SHARE : VALID_NONE, *share = value;
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------- what auto holds out */

enum { AUTO_LEAST = 50, AUTO_SOME = 100 };
static const double GROW_HELD = 0.05, LIST_HELD = 0.1; /* of the rows */

double valid_auto_rows(double n)
{
    if (n < AUTO_LEAST) return 0;
    return n < 10 * AUTO_SOME ? n / 10 : fmin(VALID_AUTO_MOST, fmax(AUTO_SOME, n / 20));
}

anygp_status gp_data_walk(const gp_data *data, rows_visitor see, void *ctx, anygp_error *e)
{
    row_source *own = NULL;
    if (!data->file) TRY(rows_open_table(data->table, &own, e));
    anygp_status status = rows_walk(data->file ? data->file : own, 0, data->table->rows, see, ctx, e);
    rows_close(own);
    return status;
}

typedef struct target_count {
    int64_t target;
    double rows;
} target_count;

static anygp_status count_target(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    target_count *c = ctx;
    (void)number, (void)e;
    c->rows += !isnan(row[c->target]);
    return ANYGP_OK;
}

/* Each rank counts its share of a file that stays on disk. */
static anygp_status count_in_file(row_source *r, target_count *n, anygp_error *e)
{
    const comm *c = comm_world();
    int64_t first, end;
    rows_share(r, c, &first, &end);
    anygp_status status = rows_walk(r, first, end, count_target, n, e);
    double sum[2] = {n->rows, ANYGP_FAILED(status)};
    TRY(c->sum(c->ctx, 2, sum, e));
    n->rows = sum[0];
    if (sum[1] == 0 || ANYGP_FAILED(status)) return status;
    return fail_with(e, ANYGP_ERR_FILE, "another process could not read its rows");
}

/* The labels of one target: for rows that would be held out, and for the others. */
typedef struct label_watch {
    int64_t target;
    uint64_t seed;
    double share;
    class_set held, left;
} label_watch;

static anygp_status watch_label(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    label_watch *w = ctx;
    double y = row[w->target];
    if (isnan(y)) return ANYGP_OK;
    return class_set_note(rows_held(w->seed, number, w->share) ? &w->held : &w->left, y, e);
}

/* Whether every class that a held-out row has is left among the others: otherwise a model would not know it. */
static anygp_status classes_stay(const fit_task *f, int64_t target, double share, bool *stay, anygp_error *e)
{
    label_watch w = {.target = f->columns->target[target], .seed = seed_of(f->s), .share = share};
    anygp_status status = gp_data_walk(f->data, watch_label, &w, e);
    *stay = class_set_within(&w.held, &w.left);
    class_set_clear(&w.held);
    class_set_clear(&w.left);
    return status;
}

/* A block that the user named must not lose its last row, nor a class: then nothing is held out. */
static anygp_status settle_auto(fit_task *f, anygp_error *e)
{
    target_count n = {.target = f->columns->target[0]};
    bool classes = f->choice.like.ops->target == TARGET_CLASS, stay = true;
    if (model_whole_loo(f->choice.model) || settings_given(f->s, SET_BLOCKS_FROM)) return ANYGP_OK;
    TRY(f->data->file ? count_in_file(f->data->file, &n, e) : gp_data_walk(f->data, count_target, &n, e));
    double share = n.rows > 0 ? valid_auto_rows(n.rows) / n.rows : 0;
    for (int64_t t = 0; classes && share > 0 && stay && t < f->columns->targets; t++)
        TRY(classes_stay(f, t, share, &stay, e));
    if (!stay)
        settings_log(f->s, ANYGP_NOTE,
                     "no rows are held out for a score, since a class would have none left to learn from");
    else
        f->hold_out = share;
    return ANYGP_OK;
}

/* What grows by steps has to be scored on the way. */
static void settle_growth(fit_task *f)
{
    if (!f->choice.grow || !f->choice.model->steps || f->valid == VALID_FILE || f->valid == VALID_SHARE) return;
    f->hold_out = GROW_HELD;
    settings_log(f->s, ANYGP_NOTE, "%.0f %% of the rows are held out to see how many inducing inputs are enough",
                 100 * GROW_HELD);
}

/* Numbers of blocks are compared by held-out rows. */
static void settle_list(fit_task *f)
{
    int64_t numbers[SETTING_COUNTS_MOST];
    if (settings_counts(f->s, SET_BLOCKS, numbers) < 2 || f->valid == VALID_FILE || f->hold_out > 0) return;
    f->hold_out = LIST_HELD;
    settings_log(f->s, ANYGP_NOTE, "%.0f %% of the rows are held out to choose the number of blocks", 100 * LIST_HELD);
}

anygp_status valid_settle(fit_task *f, anygp_error *e)
{
    int64_t rows = f->data->table->rows, i = 0;
    if (f->valid == VALID_AUTO) TRY(settle_auto(f, e));
    settle_growth(f);
    settle_list(f);
    while (i < rows && rows_held(seed_of(f->s), i, f->hold_out)) i++;
    if (i < rows) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "valid: all %lld rows were held out; hold out a smaller share",
                     (long long)rows);
}

anygp_status valid_check_file(const settings *s, anygp_error *e)
{
    const char *path = settings_text(s, SET_VALID);
    reader *r = NULL;
    read_options o = gp_read_options(s);
    if (!strcmp(path, "-")) return ANYGP_OK;
    anygp_status status = reader_open(path, &o, &r, e);
    reader_close(r);
    return status;
}
