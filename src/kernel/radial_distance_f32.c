/* radial_distance.c in float. */
#define REAL_FLOAT
#include "kernel/radial_distance.c"
