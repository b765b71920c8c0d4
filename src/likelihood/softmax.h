/* The draws by which softmax predicts, the same for every row and every call: SOFTMAX_PAIRS strata of the normal in an order of each
   class, and their mirror images.  For those who compute the same elsewhere. */
#ifndef LIKELIHOOD_SOFTMAX_H
#define LIKELIHOOD_SOFTMAX_H

#include <stdint.h>

enum { SOFTMAX_PAIRS = 512 };
double softmax_stratum(int64_t i);         /* the middle of stratum i, as a quantile of N(0, 1) */
int64_t softmax_met(int64_t c, int64_t k); /* the stratum of draw k for class c */

#endif
