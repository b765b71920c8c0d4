/* mirror.c in float. */
#define REAL_FLOAT
#include "linalg/mirror.c"
