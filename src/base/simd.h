/* A loop marked SIMD inside a function marked VECTORISED is compiled for AVX-512, AVX2 and the baseline, and the right one is
   chosen when the program is loaded; ANYGP_SIMD in the environment can ask for less (simd.c).  Elsewhere it is the same loop, scalar.
   scripts/vectorised.sh proves from the compiler's report that every such loop is one of vectors. */
#ifndef BASE_SIMD_H
#define BASE_SIMD_H

#include <stdint.h> /* brings __GLIBC__ */

/* Not under the sanitizer: ifunc resolvers run before it is ready.  SIMD_ONE_COPY: for scripts/vectorised.sh. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) &&                           \
    !defined(__SANITIZE_ADDRESS__) && !defined(SIMD_ONE_COPY)
#define SIMD_COPIES
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

/* Where the width of the vectors is part of the source: functions marked SIMD_WIDE are for AVX-512, and may be called if simd_is_wide(). */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define SIMD_WIDE __attribute__((target("arch=x86-64-v4")))
static inline int simd_is_wide(void) { return __builtin_cpu_supports("x86-64-v4"); }
#endif

#if defined(__clang__) /* warns of each loop it was asked to vectorise and did not */
#define SIMD
#define SIMD_SUM(...)
#else
#define SIMD _Pragma("omp simd")
#define SIMD_SUM(...) _Pragma(SIMD_TEXT(omp simd reduction(+ : __VA_ARGS__)))
#define SIMD_TEXT(...) #__VA_ARGS__
#endif

/* For tiles that stay in registers: functions and loops whose counts are constants. */
#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

typedef enum simd_level { SIMD_BASELINE, SIMD_AVX2, SIMD_AVX512 } simd_level;
simd_level simd_chosen(void);            /* of the copies that run; without copies what the processor has */
const char *simd_name(simd_level level); /* as ANYGP_SIMD has it */

#endif
