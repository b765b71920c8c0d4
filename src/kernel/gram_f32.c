/* gram.c in float. */
#define REAL_FLOAT
#include "kernel/gram.c"
