/* Fits and predictions through the public interface that fail the test when they fail. */
#ifndef TEST_FIT_SUPPORT_H
#define TEST_FIT_SUPPORT_H

#include "anygp/anygp.h"
#include "support.h"

/* pairs: name, value, ..., NULL */
static inline anygp_settings *settings_with(const char *const *pairs)
{
    anygp_settings *s = anygp_settings_new();
    anygp_error e;
    for (; pairs && pairs[0]; pairs += 2)
        if (anygp_set(s, pairs[0], pairs[1], &e)) fail_msg("%s", e.text);
    return s;
}

static inline anygp_model *fit_arrays(int64_t n, int64_t d, const double *X, const double *y, const double *w,
                                      const char *const *pairs)
{
    anygp_settings *s = settings_with(pairs);
    anygp_data *data;
    anygp_model *m;
    anygp_error e;
    if (anygp_data_new(n, d, X, d, y, w, &data, &e) || ANYGP_FAILED(anygp_fit(s, data, &m, &e))) fail_msg("%s", e.text);
    anygp_data_free(data);
    anygp_settings_free(s);
    return m;
}

static inline void predict(const anygp_model *m, int64_t n, const double *X, double *mean, double *variance)
{
    anygp_error e;
    if (anygp_predict(m, n, X, anygp_model_inputs(m), 0, mean, variance, &e)) fail_msg("%s", e.text);
}

#endif
