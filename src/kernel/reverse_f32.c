/* reverse.c in float. */
#define REAL_FLOAT
#include "kernel/reverse.c"
