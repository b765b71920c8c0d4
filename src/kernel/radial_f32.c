/* radial.c in float. */
#define REAL_FLOAT
#include "kernel/radial.c"
