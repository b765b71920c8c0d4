/* Labels in, probabilities out: two classes in the plane, by a variational model.
       cc classify.c $(pkg-config --cflags --libs anygp) -lm */
#include <anygp/anygp.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 200, PLACES = 3, CLASSES = 2 };

/* Points of a spiral, all over the square; inside the circle or not. */
static void make_rows(double X[ROWS][2], double y[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        double radius = 2 * sqrt((i + 0.5) / ROWS), angle = 2.4 * i;
        X[i][0] = radius * cos(angle), X[i][1] = radius * sin(angle);
        y[i] = radius < 1.2; /* an index into the names of the classes */
    }
}

static anygp_status fit(const anygp_settings *settings, anygp_model **model, anygp_error *e)
{
    static const char *const names[CLASSES] = {"outside", "inside"};
    double X[ROWS][2], y[ROWS];
    anygp_data *data = NULL;
    make_rows(X, y);
    anygp_status status = anygp_data_new(ROWS, 2, X[0], 2, y, NULL, &data, e);
    if (!ANYGP_FAILED(status)) status = anygp_data_categories(data, 2, CLASSES, names, e);
    if (!ANYGP_FAILED(status)) status = anygp_fit(settings, data, model, e);
    anygp_data_free(data);
    return status;
}

int main(void)
{
    const double at[PLACES][2] = {{0, 0}, {1.2, 0}, {0, -1.9}};
    double p[PLACES * CLASSES]; /* column-major: class k of place i is p[i + k * PLACES] */
    anygp_error e;
    anygp_model *model = NULL;
    anygp_settings *settings = anygp_settings_new();
    anygp_status status = anygp_set(settings, "likelihood", "bernoulli", &e);
    if (!ANYGP_FAILED(status)) status = anygp_set(settings, "inducing", "30", &e);
    if (!ANYGP_FAILED(status)) status = fit(settings, &model, &e);
    if (!ANYGP_FAILED(status)) status = anygp_predict_proba(model, 0, PLACES, at[0], 2, p, &e);
    if (ANYGP_FAILED(status))
        fprintf(stderr, "%s\n", e.text);
    else
        for (int i = 0; i < PLACES; i++) {
            printf("(%4.1f, %4.1f)", at[i][0], at[i][1]);
            for (int k = 0; k < anygp_classes(model, 0); k++)
                printf("  %s %.2f", anygp_class_name(model, 0, k), p[i + k * PLACES]);
            printf("\n");
        }

    anygp_model_free(model);
    anygp_settings_free(settings);
    return ANYGP_FAILED(status);
}
