/* Arrays in memory or in the pages of a scratch file: the same to whoever uses them. */
#include "support.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mapped.h"
#include "base/memory.h"

enum { ROWS = 200001, COLS = 3 };

static void check_array(bool on_disk)
{
    anygp_error e;
    double *x, *y;
    assert_int_equal(mapped_doubles(on_disk, ROWS, COLS, "the numbers", &x, &e), ANYGP_OK);
    assert_int_equal((uintptr_t)x % MEM_ALIGN, 0);
    mapped_expect(x, true);
    for (int64_t i = 0; i < ROWS * COLS; i++) assert_true(x[i] == 0);
    for (int64_t i = 0; i < ROWS * COLS; i++) x[i] = (double)i - 0.5;
    assert_int_equal(mapped_copied(on_disk, ROWS, COLS, x, "the numbers", &y, &e), ANYGP_OK);
    mapped_expect(x, false);
    for (int64_t i = 0; i < ROWS * COLS; i++) assert_true(x[i] == (double)i - 0.5);
    assert_memory_equal(x, y, ROWS * COLS * sizeof *x);
    mapped_free(x);
    assert_true(y[ROWS * COLS - 1] == ROWS * COLS - 1.5);
    mapped_free(y);
    mapped_free(NULL);
}

static void an_array_is_the_same_in_memory_and_on_disk(void **state)
{
    (void)state;
    check_array(false);
    check_array(true);
}

static void an_empty_array_has_a_place(void **state)
{
    (void)state;
    anygp_error e;
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        double *x;
        assert_int_equal(mapped_doubles(on_disk, 0, 5, "nothing", &x, &e), ANYGP_OK);
        assert_non_null(x);
        mapped_free(x);
    }
}

/* More than any disk has: a sentence, and no page that has no place. */
static void space_that_is_not_there_is_refused_at_once(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    double *x = (double *)&e;
    assert_int_equal(mapped_doubles(true, INT64_C(1) << 30, INT64_C(1) << 28, "the weights", &x, &e), ANYGP_ERR_FILE);
    assert_null(x);
    assert_non_null(strstr(e.text, "the weights: a scratch file of 2.31e+09 GB cannot be made in "));
    assert_non_null(strstr(e.text, "TMPDIR"));
    assert_int_equal(mapped_doubles(true, INT64_MAX, 8, "the weights", &x, &e), ANYGP_ERR_MEMORY);
    assert_int_equal(mapped_doubles(false, INT64_MAX / 16, 1, "the weights", &x, &e), ANYGP_ERR_MEMORY);
    assert_null(x);
}

static int files_in(const char *directory)
{
    int count = 0;
    DIR *d = opendir(directory);
    assert_non_null(d);
    while (readdir(d)) count++;
    closedir(d);
    return count - 2;
}

static void the_file_is_in_tmpdir_and_has_no_name(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    char here[] = "/tmp/mappedXXXXXX", was[256], *before = getenv("TMPDIR");
    double *x;
    snprintf(was, sizeof was, "%s", before ? before : "");
    assert_non_null(mkdtemp(here));
    setenv("TMPDIR", here, 1);
    assert_int_equal(mapped_doubles(true, 100, 1, "the numbers", &x, &e), ANYGP_OK);
    assert_int_equal(files_in(here), 0);
    assert_int_equal(rmdir(here), 0);
    x[99] = 3;
    mapped_free(x);
    assert_int_equal(mapped_doubles(true, 100, 1, "the numbers", &x, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, here));
    if (before)
        setenv("TMPDIR", was, 1);
    else
        unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_is_the_same_in_memory_and_on_disk),
        cmocka_unit_test(an_empty_array_has_a_place),
        cmocka_unit_test(space_that_is_not_there_is_refused_at_once),
        cmocka_unit_test(the_file_is_in_tmpdir_and_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
