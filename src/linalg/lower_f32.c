/* lower.c in float. */
#define REAL_FLOAT
#include "linalg/lower.c"
