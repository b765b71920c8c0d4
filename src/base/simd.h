/* A loop marked SIMD inside a function marked VECTORISED is compiled for AVX-512, AVX2 and the baseline, and the right one is
   chosen when the program is loaded.  Elsewhere it is the same loop, scalar. */
#ifndef BASE_SIMD_H
#define BASE_SIMD_H

#include <stdint.h> /* brings __GLIBC__ */

/* Not under the sanitizer: ifunc resolvers run before it is ready. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) &&                           \
    !defined(__SANITIZE_ADDRESS__)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

#if defined(__clang__) /* warns of each loop it was asked to vectorise and did not */
#define SIMD
#define SIMD_SUM(...)
#else
#define SIMD _Pragma("omp simd")
#define SIMD_SUM(...) _Pragma(SIMD_TEXT(omp simd reduction(+ : __VA_ARGS__)))
#define SIMD_TEXT(...) #__VA_ARGS__
#endif

#endif
