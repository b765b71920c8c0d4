/* What a comparison advises. */
#include "support.h"

#include <stdlib.h>

#include "gp/compare.h"

static char *advice(const gp_compare *c)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    compare_say_advice(f, c);
    fclose(f);
    return text;
}

static void check_advice(const gp_compare *c, const char *expected)
{
    char *text = advice(c);
    assert_string_equal(text, expected);
    free(text);
}

static compare_line line_of(const char *name, double mnlp, double seconds, bool baseline)
{
    compare_line l = {.mnlp = mnlp, .seconds = seconds, .parts = 1, .baseline = baseline};
    snprintf(l.name, sizeof l.name, "%s", name);
    snprintf(l.model, sizeof l.model, "%s", name);
    return l;
}

/* A model that is as good and much faster is named; one that is little faster, much worse or a baseline is not. */
static void faster_equals_are_named(void **state)
{
    (void)state;
    compare_line line[] = {line_of("svgp", 3.311, 4, false), line_of("vfe", 3.313, 3, false),
                           line_of("exact", 3.315, 0.5, false), line_of("linear", 3.316, 0.1, true)};
    gp_compare c = {.count = 4, .line = line, .best_line = 0};
    check_advice(&c, "best: svgp; exact is within 0.01 nats of it in 0.5 s; to fit one to all rows: anygp fit DATA -o "
                     "MODEL --model NAME");
    line[2].mnlp = 3.4;
    check_advice(&c, "best: svgp; to fit it to all rows: anygp fit DATA -o MODEL --model svgp");
    c.options = true;
    check_advice(&c,
                 "best: svgp; to fit it to all rows: anygp fit DATA -o MODEL --model svgp, with the other options as "
                 "here");
    line[0].inducing = 128;
    check_advice(&c, "best: svgp; to fit it to all rows: anygp fit DATA -o MODEL --model svgp --inducing 128, with the "
                     "other options as here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(faster_equals_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
