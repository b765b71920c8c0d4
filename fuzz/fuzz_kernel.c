/* Any bytes as a kernel expression: it parses or is refused with a sentence; what parses is written back, parses
   again to the same text, and its entries are never NaN. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const kernel_input inputs[] = {
    {"lon", 0, INPUT_NUMBER, 0},     {"lat", 1, INPUT_NUMBER, 1}, {"air time", 3, INPUT_NUMBER, 2},
    {"unit", 4, INPUT_CONSTANT, -1}, {"city", 5, INPUT_TEXT, 3},  {NULL, 6, INPUT_NUMBER, 4},
};
enum { N_IN = sizeof inputs / sizeof *inputs, D = 5 };

static void require(int holds)
{
    if (!holds) abort();
}

static char *written(const kernel *k)
{
    char *text = NULL;
    kernel *c = kernel_copy(k);
    require(c && kernel_format(c, kernel_values(c), 17, &text, NULL) == ANYGP_OK);
    kernel_free(c);
    return text;
}

static void use(const kernel *k)
{
    static const double X[] = {0, 1, -2, 3, 0.5, 1, 1e300, 0, 3, 1e-300};
    double K[4], d[2];
    if (kernel_count(k) > 10000) return;
    require(kernel_gram_sym(k, 2, X, D, K, 2));
    kernel_diag(k, 2, X, D, d);
    require(!isnan(K[0]) && !isnan(K[1]) && !isnan(K[3]) && !isnan(d[0]) && !isnan(d[1]));
}

static void round_trip(const kernel *k)
{
    kernel *again;
    anygp_error e;
    char *first = written(k), *second;
    require(kernel_parse(first, inputs, N_IN, D, &again, &e) == ANYGP_OK);
    require(kernel_count(again) == kernel_count(k));
    second = written(again);
    require(!strcmp(first, second));
    free(first);
    free(second);
    kernel_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kernel *k;
    anygp_error e = {0};
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (kernel_parse(text, inputs, N_IN, D, &k, &e) == ANYGP_OK) {
        round_trip(k);
        use(k);
    } else {
        require(k == NULL && e.text[0] && !strchr(e.text, '\n'));
    }
    kernel_free(k);
    free(text);
    return 0;
}
