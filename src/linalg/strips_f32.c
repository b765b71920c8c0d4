/* strips.c in float. */
#define REAL_FLOAT
#include "linalg/strips.c"
