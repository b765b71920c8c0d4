/* profiles.c in float. */
#define REAL_FLOAT
#include "kernel/profiles.c"
