/* Decoupled Gaussian processes (model/svdgp.h) against dense algebra, differences and expectations over all samples. */
#include "svdgp_support.h"

static const variant variants[] = {
    {"rbf(ard)", MEAN_ZERO, false, 1}, {"rbf", MEAN_LINEAR, true, 1}, {"matern52 + linear", MEAN_CONSTANT, false, 2}};

#define FOR_EACH_VARIANT(v) for (const variant *v = variants; v < variants + sizeof variants / sizeof *variants; v++)

/* ------------------------------------------------------------------------------------- differences */

typedef struct along {
    fixture *f;
    double *x; /* the number that moves */
} along;

static double at(void *ctx, const double *x)
{
    along *a = ctx;
    *a->x = *x;
    return objective(a->f, 0, NULL, NULL);
}

static void check_gradient(fixture *f, int64_t n, double *x, const double *gradient, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        double here = x[i];
        along a = {f, &x[i]};
        double difference = central_difference(at, &a, &here, 0, 1e-5);
        check_close_at(gradient[i], difference, 2e-7, what, __FILE__, __LINE__);
        x[i] = here;
    }
}

/* The gradients of the sums are those in a and L themselves: the preconditioner is off. */
static void gradients_equal_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        double *g;
        setup(&f, v, false);
        svdgp *s = &f.s;
        s->precondition = false;
        objective(&f, 0, NULL, &g);
        svdgp_layout o = svdgp_layout_of(s);
        check_gradient(&f, MA * s->C, s->a.x, g + o.a, "a");
        check_gradient(&f, s->p * s->C, s->trend.x, g + o.trend, "trend");
        check_gradient(&f, MA * D, s->alpha.x, g + o.alpha, "alpha");
        check_gradient(&f, MB * D, s->beta.x, g + o.beta, "beta");
        if (s->widths) check_gradient(&f, MA * D, s->alpha_width.x, g + o.alpha_width, "alpha's widths");
        if (s->widths) check_gradient(&f, MB * D, s->beta_width.x, g + o.beta_width, "beta's widths");
        check_gradient(&f, kernel_count(f.h.kernel), kernel_values(f.h.kernel), g + o.kernel, "kernel");
        check_gradient(&f, f.h.likes, f.h.like, g + o.like, "likelihood");
        for (int64_t c = 0; c < s->C; c++)
            for (int64_t i = 0, k = 0; i < s->Mt; i++)
                for (int64_t j = 0; j <= i; j++, k++)
                    check_gradient(&f, 1, s->L[c].x + k, g + o.S + c * s->Mt * s->Mt + i + j * s->Mt, "L");
        free(g);
        teardown(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_central_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
