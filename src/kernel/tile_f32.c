/* tile.c in float. */
#define REAL_FLOAT
#include "kernel/tile.c"
