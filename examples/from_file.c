/* A table on disk -> a model file -> loaded again, as another program would -> predictions for a second table.
       from_file train.csv model.agp test.csv predictions.csv */
#include <anygp/anygp.h>
#include <stdio.h>

/* Trains on a table and writes the model; the last column is the target. */
static anygp_status train(const char *table, const char *model_path, anygp_error *e)
{
    anygp_data *data = NULL;
    anygp_model *model = NULL;
    anygp_settings *settings = anygp_settings_new();
    anygp_status status = anygp_set(settings, "kernel", "matern32", e);
    if (!ANYGP_FAILED(status)) status = anygp_data_read(table, settings, &data, e);
    if (!ANYGP_FAILED(status)) status = anygp_fit(settings, data, &model, e);
    if (!ANYGP_FAILED(status)) status = anygp_save(model, model_path, e);
    anygp_model_free(model);
    anygp_data_free(data);
    anygp_settings_free(settings);
    return status;
}

/* Needs only the model file: it holds the columns, their units and the posterior. */
static anygp_status apply(const char *model_path, const char *table, const char *out, anygp_error *e)
{
    anygp_model *model = NULL;
    anygp_scores *scores = NULL;
    anygp_status status = anygp_load(model_path, &model, e);
    if (!ANYGP_FAILED(status)) status = anygp_predict_file(model, NULL, table, out, e);
    if (!ANYGP_FAILED(status)) status = anygp_eval_file(model, NULL, table, &scores, e);
    for (int64_t i = 0; i < anygp_scores_count(scores, 0); i++)
        printf("%-10s %.4g\n", anygp_scores_name(scores, 0, i), anygp_scores_value(scores, 0, i));
    anygp_scores_free(scores);
    anygp_model_free(model);
    return status;
}

int main(int argc, char **argv)
{
    anygp_error e;
    if (argc != 5) return fprintf(stderr, "usage: from_file TRAIN MODEL TEST PREDICTIONS\n"), 1;
    anygp_status status = train(argv[1], argv[2], &e);
    if (!ANYGP_FAILED(status)) status = apply(argv[2], argv[3], argv[4], &e);
    if (ANYGP_FAILED(status)) fprintf(stderr, "%s\n", e.text);
    return ANYGP_FAILED(status);
}
