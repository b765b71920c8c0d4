/* The type of numbers in the files of this folder that are compiled twice: once as they are, in double, and once in float by the
   file of the same name with _f32 behind it, which defines REAL_FLOAT and includes it.  There the names in f32_names.h have _f32 behind them too.
   Inputs, parameters and gradients are double in both; tiles, and sums within one, are real.

   Float tiles exist for kernels that are functions of a distance in fewer than WIDE_LEAST dims.  Other leaves are computed in double and
   rounded (leaf.c), so that every expression has both. */
#ifndef KERNEL_REAL_H
#define KERNEL_REAL_H

#ifdef REAL_FLOAT

typedef float real;
#define OWN_PROFILE profile_f32
#define REAL_UNDERFLOW 87   /* exp(-87) is still normal */
#define REAL_POW2_LEAST 125 /* and so is 2^-125 */
#define REAL_TINY 1e-37f
#define LIMIT_DISTANCE 1e15f /* squares of differences are finite in any number of dims */
#define LIMIT_VALUE 1e37f    /* of a product of kernels */
#else

typedef double real;
#define OWN_PROFILE profile
#define REAL_UNDERFLOW 700
#define REAL_POW2_LEAST 1020
#define REAL_TINY 1e-300
#define LIMIT_DISTANCE 1e140 /* squares of differences are finite in any number of dims */
#define LIMIT_VALUE 1e300    /* of a product of kernels */

#endif

#endif
