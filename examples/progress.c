/* Training that is watched and bounded: a callback sees every step, a time limit ends it with the best model so
   far.  Then joint draws of the function, which marginal error bars cannot give: here, where its maximum lies. */
#include <anygp/anygp.h>
#include <math.h>
#include <stdio.h>

enum { N = 60, GRID = 50, DRAWS = 200 };

static int watch(void *ctx, const anygp_progress *p)
{
    int *steps = (int *)ctx;
    ++*steps;
    printf("%-14s step %2lld, log evidence %8.3f\n", p->stage, (long long)p->iteration, p->objective);
    return 0; /* anything else stops the training */
}

static anygp_status learn(int *steps, anygp_model **model, anygp_error *e)
{
    double x[N], y[N];
    anygp_data *data = NULL;
    anygp_settings *settings = anygp_settings_new();
    for (int i = 0; i < N; i++) {
        x[i] = (double)i / N;
        y[i] = sin(6 * x[i]) + fmod(7.13 * i * i, 1) - 0.5;
    }
    anygp_on_progress(settings, watch, steps);
    anygp_status status = anygp_set(settings, "time", "10s", e);
    if (!ANYGP_FAILED(status)) status = anygp_data_new(N, 1, x, 1, y, NULL, &data, e);
    if (!ANYGP_FAILED(status)) status = anygp_fit(settings, data, model, e);
    anygp_data_free(data);
    anygp_settings_free(settings);
    return status;
}

/* Mean and standard deviation of the place of the maximum, over joint draws of f. */
static anygp_status find_maximum(const anygp_model *model, anygp_error *e)
{
    static double grid[GRID], draws[GRID * DRAWS];
    double sum = 0, squares = 0;
    for (int i = 0; i < GRID; i++) grid[i] = (double)i / GRID;
    anygp_status status = anygp_sample(model, 0, GRID, grid, 1, ANYGP_LATENT, 1, DRAWS, draws, e);
    if (ANYGP_FAILED(status)) return status;
    for (int s = 0; s < DRAWS; s++) {
        const double *f = draws + s * GRID;
        int best = 0;
        for (int i = 1; i < GRID; i++)
            if (f[i] > f[best]) best = i;
        sum += grid[best];
        squares += grid[best] * grid[best];
    }
    double mean = sum / DRAWS;
    printf("the maximum lies at %.3f, sd %.3f\n", mean, sqrt(fmax(0, squares / DRAWS - mean * mean)));
    return ANYGP_OK;
}

int main(void)
{
    int steps = 0;
    anygp_error e;
    anygp_model *model = NULL;
    anygp_status status = learn(&steps, &model, &e);
    if (!ANYGP_FAILED(status)) {
        printf("%d reports; %s\n", steps, anygp_status_text(status));
        status = find_maximum(model, &e);
    }
    if (ANYGP_FAILED(status)) fprintf(stderr, "%s\n", e.text);
    anygp_model_free(model);
    return ANYGP_FAILED(status);
}
