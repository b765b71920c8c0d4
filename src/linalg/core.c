/* An OpenBLAS older than the processor does not know its model number and falls back to SSE3 kernels, five times
   slower than the processor allows.  OpenBLAS chooses its kernels when it is loaded, and again when asked: so where it chose
   something old on a processor that has AVX2 or AVX-512, it is asked again by name, once, while this library is loaded and
   nothing has called BLAS yet.  So it is where ANYGP_SIMD asks for older kernels (base/simd.c).  A user's OPENBLAS_CORETYPE is respected;
   with another BLAS nothing happens. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/simd.h"

extern char *openblas_get_corename(void) __attribute__((weak));
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

#if defined(__x86_64__)

/* By simd_level. */
static const char *const best_core[] = {"Prescott", "Haswell", "SkylakeX"};

static int is_old(const char *name)
{
    static const char *const old[] = {"Prescott",   "Core2",     "Penryn",       "Dunnington", "Nehalem", "Katmai",
                                      "Coppermine", "Northwood", "Banias",       "Unknown",    "Generic", "Atom",
                                      "Nano",       "Opteron",   "Opteron_SSE3", "Barcelona"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (!strcasecmp(name, old[i])) return 1;
    return 0;
}

__attribute__((constructor)) static void choose_core(void)
{
    simd_level level = simd_chosen();
    if (!openblas_get_corename || !gotoblas_dynamic_init || !gotoblas_dynamic_quit || getenv("OPENBLAS_CORETYPE"))
        return;
    if (!getenv("ANYGP_SIMD") && (level == SIMD_BASELINE || !is_old(openblas_get_corename()))) return;
    if (setenv("OPENBLAS_CORETYPE", best_core[level], 1)) return;
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv("OPENBLAS_CORETYPE");
}

#endif
