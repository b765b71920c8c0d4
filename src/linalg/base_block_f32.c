/* base_block.c in float. */
#define REAL_FLOAT
#include "linalg/base_block.c"
