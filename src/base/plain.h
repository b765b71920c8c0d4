/* Numbers in sentences. */
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H

#include <math.h>

/* The digits with which "%.*g" shows x without an exponent, where it is not below 1e-4: at least so many, and all before the point. */
static inline int plain_digits(double x, int least)
{
    double size = fabs(x) + 0.5; /* it may be rounded up */
    int before = size >= 1 && size < 1e15 ? (int)floor(log10(size)) + 1 : 1;
    return before > least ? before : least;
}

#endif
