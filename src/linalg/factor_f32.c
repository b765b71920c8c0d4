/* factor.c in float. */
#define REAL_FLOAT
#include "linalg/factor.c"
