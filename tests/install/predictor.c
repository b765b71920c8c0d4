/* predictor MODEL X...: mean and variance of y at one row, by a library that can do nothing but predict. */
#include <anygp/anygp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    anygp_error e;
    anygp_model *m;
    double x[16], mean, variance;
    for (int j = 2; j < argc && j < 18; j++) x[j - 2] = atof(argv[j]);
    if (ANYGP_FAILED(anygp_load(argv[1], &m, &e)) ||
        ANYGP_FAILED(anygp_predict(m, 1, x, argc - 2, 0, &mean, &variance, &e))) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    for (int digits = 1; digits <= 17; digits++) { /* the shortest text that is this number, as the program prints it */
        char text[2][40];
        snprintf(text[0], sizeof text[0], "%.*g", digits, mean);
        snprintf(text[1], sizeof text[1], "%.*g", digits, variance);
        if (digits == 17 || (atof(text[0]) == mean && atof(text[1]) == variance)) {
            printf("%s,%s\n", text[0], text[1]);
            break;
        }
    }
    anygp_model_free(m);
    return 0;
}
