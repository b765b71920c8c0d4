/* Whether a series has a trend.  Without a prior mean a forecast returns to the mean of the training rows as soon as they end.  So where
   auto fits an exact model to one input that is a number, and neither --mean nor --kernel is given, it makes two fits, without a prior
   mean and with a linear one, whose coefficients are integrated out, and keeps the one with more log evidence. */
#include <math.h>

#include "base/clock.h"
#include "gp/auto.h"

static const double LEAST_GAIN = 2;  /* nats */
static const double MOST_TIME = 0.1; /* of the time: what one fit may be predicted to take */

/* The column of the only input, if that is a number; else -1. */
static int64_t one_number(const fit_task *f)
{
    const table *t = f->data->table;
    int64_t inputs = 0, number = -1;
    for (int64_t j = 0; j < t->cols; j++) {
        if (f->columns->skip[j] || j == f->columns->weights) continue;
        inputs++;
        if (t->columns[j].kind != COLUMN_TEXT && !f->columns->category[j]) number = j;
    }
    return inputs == 1 ? number : -1;
}

bool auto_may_have_trend(const fit_task *f, const model_ops *m, double seconds)
{
    static const setting_id alone[] = {SET_MEAN, SET_KERNEL, SET_TRACE, SET_CHECKPOINT, SET_RESUME, SET_FIX};
    double limit = settings_number(f->s, SET_TIME);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (settings_changed(f->s, alone[i])) return false;
    return m == &model_exact && f->columns->targets == 1 && one_number(f) >= 0 &&
           seconds <= MOST_TIME * (isnan(limit) ? auto_seconds_default() : limit);
}

/* *g: the fit without a mean, which is replaced by the better one. */
static anygp_status try_trend(fit_task *f, double began, gp **g, anygp_error *e)
{
    gp *linear = NULL;
    fit_task other = *f;
    anygp_error why;
    settings *s = settings_copy(f->later);
    if (!s) return fail_memory(e, "the settings", 0);
    settings_on_log(s, NULL, NULL);
    other.s = other.later = s;
    other.limit = fmax(f->limit - (clock_seconds() - began), 0);
    anygp_status status = settings_set(s, setting_at(SET_MEAN)->name, "linear", &why);
    if (!ANYGP_FAILED(status)) status = fit_listed(&other, &linear, &why);
    bool better = !ANYGP_FAILED(status) && linear->objective > (*g)->objective + LEAST_GAIN;
    if (better) {
        settings_log(f->s, ANYGP_NOTE,
                     "the series has a trend: with --mean linear the log evidence is %.4g, without it %.4g",
                     linear->objective, (*g)->objective);
        gp *former = *g;
        *g = linear, linear = former;
        status = settings_set(f->set->settings, setting_at(SET_MEAN)->name, "linear", e);
    }
    gp_free(linear);
    settings_free(s);
    return better && ANYGP_FAILED(status) ? status : ANYGP_OK;
}

anygp_status auto_fit(fit_task *f, gp **out, anygp_error *e)
{
    double began = clock_seconds();
    TRY(fit_listed(f, out, e));
    bool asked = *f->promise.reason && out[0]->status == ANYGP_OK;
    if (!asked || !auto_may_have_trend(f, f->choice.model, f->promise.seconds / 2)) return ANYGP_OK;
    TRY(try_trend(f, began, out, e));
    auto_tell_season(f, one_number(f));
    return ANYGP_OK;
}
