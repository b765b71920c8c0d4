/* liblbfgs behind one function, for the test of evaluation counts; linked only where it is installed. */
#include <stddef.h>
#include <stdint.h>

#include <lbfgs.h>

typedef struct peer {
    double (*f)(void *, const double *, double *);
    void *ctx;
} peer;

void peer_minimize(int64_t n, double *x, double (*f)(void *, const double *, double *), void *ctx);

static double evaluate(void *p, const double *x, double *g, const int n, const double step)
{
    (void)n, (void)step;
    const peer *o = p;
    return o->f(o->ctx, x, g);
}

/* x: 16-byte aligned */
void peer_minimize(int64_t n, double *x, double (*f)(void *, const double *, double *), void *ctx)
{
    peer o = {f, ctx};
    lbfgs_parameter_t how;
    lbfgs_parameter_init(&how);
    how.m = 10;
    how.epsilon = 1e-6;
    lbfgs((int)n, x, NULL, evaluate, NULL, &o, &how);
}
