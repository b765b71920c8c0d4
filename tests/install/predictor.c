/* predictor MODEL X...: mean and variance of y at one row, by a library that can do nothing but predict. */
#include <anygp/anygp.h>
#include <stdio.h>
#include <stdlib.h>

/* The shortest text that is this number, as the program prints it. */
static void print_shortest(double value, char end)
{
    char text[40];
    int digits = 1;
    do snprintf(text, sizeof text, "%.*g", digits, value);
    while (digits++ < 17 && atof(text) != value);
    printf("%s%c", text, end);
}

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
    print_shortest(mean, ',');
    print_shortest(variance, '\n');
    anygp_model_free(m);
    return 0;
}
