/* test_exp.c in float. */
#define REAL_FLOAT
#include "test_exp.c"
