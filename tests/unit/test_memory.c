#include "support.h"

#include <string.h>

#include "base/memory.h"

static void products_that_overflow_are_refused(void **state)
{
    (void)state;
    size_t out;
    assert_true(size_mul(3, 5, &out) && out == 15);
    assert_true(size_mul(0, INT64_MAX, &out) && out == 0);
    assert_false(size_mul(-1, 5, &out));
    assert_false(size_mul(5, -1, &out));
    assert_false(size_mul(INT64_MAX, 8, &out));
    assert_false(size_mul(INT64_C(1) << 32, INT64_C(1) << 32, &out));
    assert_null(mem_alloc(INT64_MAX, 8));
    assert_null(mem_alloc(-1, 8));
}

static void blocks_are_aligned_and_zeroed(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 200; count += 13) {
        unsigned char *p = mem_zeroed(count, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % MEM_ALIGN, 0);
        for (int64_t i = 0; i < 3 * count; i++) assert_int_equal(p[i], 0);
        free(p);
    }
    char *copy = mem_strdup("matern52");
    assert_string_equal(copy, "matern52");
    free(copy);
    assert_null(mem_strdup(NULL));
}

/* Slices of many sizes, each filled with its own byte: none may touch another. */
static void arena_slices_do_not_overlap(void **state)
{
    (void)state;
    enum { SLICES = 300 };
    arena *a = arena_new();
    for (int round = 0; round < 3; round++) {
        unsigned char *p[SLICES];
        int64_t size[SLICES];
        for (int i = 0; i < SLICES; i++) {
            size[i] = i % 50 == 7 ? (int64_t)1 << (15 + i / 50 + round) : 1 + 97 * (i % 11);
            p[i] = arena_alloc(a, size[i], 1);
            assert_non_null(p[i]);
            assert_int_equal((uintptr_t)p[i] % MEM_ALIGN, 0);
            memset(p[i], i % 251, (size_t)size[i]);
        }
        for (int i = 0; i < SLICES; i++)
            for (int64_t j = 0; j < size[i]; j += 61) assert_int_equal(p[i][j], i % 251);
        arena_reset(a);
    }
    arena_free(a);
}

static void reset_hands_out_the_same_memory(void **state)
{
    (void)state;
    arena *a = arena_new();
    double *first[20];
    for (int run = 0; run < 3; run++) {
        arena_reset(a);
        for (int i = 0; i < 20; i++) {
            double *p = arena_alloc(a, 100 * i, 37 * sizeof *p);
            if (run == 0) first[i] = p;
            assert_ptr_equal(p, first[i]);
        }
    }
    arena_free(a);
}

static void an_arena_refuses_what_overflows_and_goes_on(void **state)
{
    (void)state;
    arena *a = arena_new();
    assert_non_null(arena_alloc(a, 10, 8));
    assert_null(arena_alloc(a, INT64_MAX, 8));
    assert_non_null(arena_alloc(a, 1, 1));
    arena_free(a);
    arena_free(NULL);
}

static void some_memory_is_available(void **state)
{
    (void)state;
    assert_true(memory_available() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_overflow_are_refused),
        cmocka_unit_test(blocks_are_aligned_and_zeroed),
        cmocka_unit_test(arena_slices_do_not_overlap),
        cmocka_unit_test(reset_hands_out_the_same_memory),
        cmocka_unit_test(an_arena_refuses_what_overflows_and_goes_on),
        cmocka_unit_test(some_memory_is_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
