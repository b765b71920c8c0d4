/* Arrays in, predictions with error bars out.
       cc minimal.c $(pkg-config --cflags --libs anygp) -lm */
#include <anygp/anygp.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    double x[40], y[40], at[3] = {0.5, 2.5, 9.0}, mean[3], variance[3];
    for (int i = 0; i < 40; i++) {
        x[i] = 0.15 * i;
        y[i] = sin(x[i]) + 0.3 * fmod(7.13 * i * i, 1) - 0.15; /* a curve, and something like noise */
    }

    anygp_error e;
    anygp_data *data = NULL;
    anygp_model *model = NULL;
    anygp_settings *settings = anygp_settings_new(); /* defaults; anygp_set(settings, "kernel", "rbf", &e) */
    anygp_status status = anygp_data_new(40, 1, x, 1, y, NULL, &data, &e);
    if (!ANYGP_FAILED(status)) status = anygp_fit(settings, data, &model, &e);
    if (!ANYGP_FAILED(status)) status = anygp_predict(model, 3, at, 1, 0, mean, variance, &e);
    if (ANYGP_FAILED(status))
        fprintf(stderr, "%s\n", e.text);
    else
        for (int i = 0; i < 3; i++)
            printf("y(%.1f) is %6.3f, give or take %.3f\n", at[i], mean[i], 1.96 * sqrt(variance[i]));

    anygp_model_free(model);
    anygp_data_free(data);
    anygp_settings_free(settings);
    return ANYGP_FAILED(status);
}
