/* Student's t with m degrees of freedom as a mixture of normals: t = z / sqrt(lambda), lambda ~ Gamma(m/2, m/2).  With u = log lambda its density is
       g(u) = c exp(m/2 (u - e^u)),
   smooth and falling fast on both sides, so that the trapezoid rule with spacing h over g converges geometrically in 1/h: errors are as
   |Gamma(m/2 + 2 pi i / h)| / Gamma(m/2).  The range ends where g, and on the left g e^-u, which the variance of t rests on, is so small a share of its
   largest value that 12 scales out the density is still that of t to 1e-5; nearer, and in the distribution function, quantiles and variance, the
   difference is smaller. */
#include <math.h>

#include "model/local/lagp_posterior.h"

enum { FEW = 8, COMPONENTS = 32 }; /* below FEW degrees of freedom the range is long */

int64_t student_count(int64_t freedom) { return freedom < FEW ? STUDENT_MOST : COMPONENTS; }

/* log g, but for c, plus what the variance makes of it on the left. */
static double height(double freedom, double u) { return freedom / 2 * (u - exp(u) + 1) - fmin(u, 0); }

/* Tails that fall as a power need little; a wide range would leave wide spaces. */
static double lowest(double freedom) { return freedom < FEW ? -14 : -fmin(40, 2 * freedom); }

/* Where the height falls below that, between 0 and far. */
static double end_of(double freedom, double far)
{
    enum { HALVES = 50 };
    double near = 0, end = lowest(freedom);
    for (int i = 0; i < HALVES; i++) {
        double middle = (near + far) / 2;
        *(height(freedom, middle) > end ? &near : &far) = middle;
    }
    return far;
}

void student_components(double freedom, int64_t S, double *variance, double *weight)
{
    static const double LEFT = 20,
                        RIGHT =
                            5; /* the height there is below the end for all degrees of freedom from STUDENT_LEAST on */
    double sum = 0;
    if (!(freedom > 0)) {
        for (int64_t s = 0; s < S; s++) variance[s] = 1, weight[s] = 1 / (double)S;
        return;
    }
    double low = end_of(freedom, -LEFT * freedom / (freedom - 2)), high = end_of(freedom, RIGHT);
    for (int64_t s = 0; s < S; s++) {
        double u = low + (high - low) * (double)s / (double)(S - 1);
        variance[s] = exp(-u), weight[s] = exp(freedom / 2 * (u - exp(u) + 1)), sum += weight[s];
    }
    for (int64_t s = 0; s < S; s++) weight[s] /= sum;
}
