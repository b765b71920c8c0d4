/* The model reader: bytes with their checksum put right, so that what lies behind it is reached; a model that loads
   must predict finite numbers or fail with a sentence. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anygp/anygp.h"
#include "io/model_file.h"

#ifndef FUZZ_ENTRY
#define FUZZ_ENTRY LLVMFuzzerTestOneInput
#endif

static void use_model(const anygp_model *m)
{
    int64_t inputs = anygp_model_inputs(m);
    double mean[2], variance[2], *X = calloc((size_t)(2 * inputs + 1), sizeof *X);
    char *text;
    anygp_error e;
    for (int64_t t = 0; X && t < anygp_model_targets(m) && t < 3; t++) {
        double *P = calloc((size_t)(2 * anygp_classes(m, t) + 1), sizeof *P);
        anygp_predict_target(m, t, 2, X, inputs, 0, mean, variance, &e);
        if (P) anygp_predict_proba(m, t, 2, X, inputs, P, &e);
        free(P);
    }
    for (int json = 0; json < 2; json++)
        if (anygp_info(m, json, &text, &e) == ANYGP_OK) anygp_text_free(text);
    free(X);
}

int FUZZ_ENTRY(const uint8_t *data, size_t size);
int FUZZ_ENTRY(const uint8_t *data, size_t size)
{
    char digits[17];
    int64_t at;
    anygp_error e;
    gp_set *m;
    if (size == 0) return 0;
    uint8_t *bytes = malloc(size);
    FILE *f = bytes ? fmemopen(memcpy(bytes, data, size), size, "rb") : NULL;
    if (f) {
        if (model_file_checksum(f, digits, &at)) memcpy(bytes + at, digits, 16);
        if (model_file_read_stream(f, "fuzz", 0, &m, &e) == ANYGP_OK) use_model(m), gp_set_free(m);
        fclose(f);
    }
    free(bytes);
    return 0;
}
