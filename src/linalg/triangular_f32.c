/* triangular.c in float. */
#define REAL_FLOAT
#include "linalg/triangular.c"
