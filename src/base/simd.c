/* Which of the copies of VECTORISED functions run: those the processor has, or fewer where ANYGP_SIMD in the environment says avx2 or
   baseline, so that all copies can be tested and measured on one machine.

   gcc's resolvers run while the program is being relocated, before libc has an environment or anything of ours has run.  Each of them
   first calls libgcc's __cpu_indicator_init, which the linker replaces by the one here (--wrap in CMakeLists.txt).  It hides the levels
   that are not wanted from the processor's description.  It must not call libc, so the environment is read from /proc. */
#include "base/simd.h"

#ifdef SIMD_COPIES

#include <fcntl.h>
#include <sys/syscall.h>

enum { VALUE_MOST = 15, WORDS = 3 };

extern unsigned __cpu_features2[WORDS] __attribute__((visibility("hidden"))); /* libgcc's */
int __real___cpu_indicator_init(void);
int __wrap___cpu_indicator_init(void);

static long system_call(long number, long a, const void *b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

/* A scan of the environment, entry by entry, for one that begins with NAME. */
static const char NAME[] = "ANYGP_SIMD=";

typedef struct scan {
    int at; /* place in the entry; -1: it is another one */
    char value[VALUE_MOST + 1];
} scan;

static void take(scan *s, char c)
{
    int length = (int)sizeof NAME - 1;
    if (c == 0)
        s->at = 0;
    else if (s->at >= length && s->at < length + VALUE_MOST)
        s->value[s->at++ - length] = c;
    else if (s->at >= 0 && s->at < length && c == NAME[s->at])
        s->at++;
    else
        s->at = -1;
}

static int same(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static simd_level wanted(void)
{
    char buffer[1024];
    scan s = {0};
    long got, file = system_call(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return SIMD_AVX512;
    while ((got = system_call(SYS_read, file, buffer, sizeof buffer, 0)) > 0)
        for (long i = 0; i < got; i++) take(&s, buffer[i]);
    system_call(SYS_close, file, 0, 0, 0);
    return same(s.value, "baseline") ? SIMD_BASELINE : same(s.value, "avx2") ? SIMD_AVX2 : SIMD_AVX512;
}

/* Bits of the description without which the processor no longer has this level are cleared: found by trying each, since their numbers
   are the compiler's own affair. */
static void hide(int (*has)(void))
{
    for (int bit = 0; bit < 32 * WORDS && has(); bit++) {
        unsigned *word = &__cpu_features2[bit / 32], former = *word;
        *word &= ~(1u << bit % 32);
        __asm__ volatile("" ::: "memory"); /* the compiler takes the description for a constant */
        if (has()) *word = former;
        __asm__ volatile("" ::: "memory");
    }
}

static int has_avx512(void) { return __builtin_cpu_supports("x86-64-v4") != 0; }
static int has_avx2(void) { return __builtin_cpu_supports("x86-64-v3") != 0; }

int __wrap___cpu_indicator_init(void)
{
    static int done;
    int result = __real___cpu_indicator_init();
    if (done) return result;
    done = 1;
    simd_level level = wanted();
    if (level < SIMD_AVX512) hide(has_avx512);
    if (level < SIMD_AVX2) hide(has_avx2);
    return result;
}

simd_level simd_chosen(void)
{
    __builtin_cpu_init();
    return has_avx512() ? SIMD_AVX512 : has_avx2() ? SIMD_AVX2 : SIMD_BASELINE;
}

#else

#ifdef __x86_64__ /* one copy: a program that asks what the processor has, linked with --wrap too, gets the plain answer */
int __real___cpu_indicator_init(void);
int __wrap___cpu_indicator_init(void);
int __wrap___cpu_indicator_init(void) { return __real___cpu_indicator_init(); }
#endif

/* What the processor has, for those who have copies of their own, such as the BLAS. */
simd_level simd_chosen(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) return SIMD_AVX512;
    if (__builtin_cpu_supports("avx2")) return SIMD_AVX2;
#endif
    return SIMD_BASELINE;
}

#endif

static const char *const names[] = {"baseline", "avx2", "avx512"};

const char *simd_name(simd_level level) { return names[level]; }
