/* Shared by the tests of src/data: tables from bytes in memory, and files in a directory of their own. */
#ifndef TEST_DATA_SUPPORT_H
#define TEST_DATA_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "data/formats/reader.h"

enum { CELLS_MOST = 4096 };

/* One plain target, for target_columns. */
#define ONE(column, weight)                                                                                            \
    {                                                                                                                  \
        .targets = 1, .target = (const int64_t[]){column}, .weights = (weight), .exposure = -1                         \
    }

typedef struct rows_read {
    anygp_status status;
    anygp_error error;
    int64_t rows, cols, target, announced;
    double values[CELLS_MOST];
} rows_read;

/* Reads everything, `block` rows at a time; the reader stays open in *keep if that is not NULL. */
static inline rows_read read_bytes(const void *bytes, size_t size, const char *name, const read_options *o,
                                   int64_t block, reader **keep)
{
    rows_read t = {0};
    reader *r = NULL;
    int64_t got = 1;
    t.status = reader_open_memory(bytes, size, name, o, &r, &t.error);
    if (!ANYGP_FAILED(t.status)) {
        t.cols = reader_columns(r);
        t.target = reader_target(r);
        t.announced = reader_rows(r);
    }
    while (!ANYGP_FAILED(t.status) && got > 0) {
        assert_true((t.rows + block) * t.cols <= CELLS_MOST);
        t.status = reader_next(r, block, t.values + t.rows * t.cols, &got, &t.error);
        t.rows += got;
    }
    if (keep)
        *keep = r;
    else
        reader_close(r);
    return t;
}

static inline rows_read read_text(const char *text, const char *name)
{
    return read_bytes(text, strlen(text), name, NULL, 64, NULL);
}

/* Equal bits, except that any NaN stands for any other. */
static inline void check_values_at(const rows_read *t, int64_t rows, int64_t cols, const double *expected,
                                   const char *file, int line)
{
    if (ANYGP_FAILED(t->status)) print_error("%s:%d: %s\n", file, line, t->error.text);
    _assert_int_equal(t->status, ANYGP_OK, file, line);
    _assert_int_equal((unsigned long long)t->rows, (unsigned long long)rows, file, line);
    _assert_int_equal((unsigned long long)t->cols, (unsigned long long)cols, file, line);
    for (int64_t i = 0; i < rows * cols; i++) {
        if (t->values[i] == expected[i] || (isnan(t->values[i]) && isnan(expected[i]))) continue;
        print_error("%s:%d: value %d is %.17g instead of %.17g\n", file, line, (int)i, t->values[i], expected[i]);
        _fail(file, line);
    }
}
#define check_values(t, rows, cols, ...)                                                                               \
    check_values_at(&(t), (rows), (cols), (const double[]){__VA_ARGS__}, __FILE__, __LINE__)

/* The reading failed with `status` and a sentence that holds `words`. */
static inline void check_refused_at(const rows_read *t, anygp_status status, const char *words, const char *file,
                                    int line)
{
    if (t->status != status || !strstr(t->error.text, words))
        print_error("%s:%d: status %d, sentence '%s'\n", file, line, t->status, t->error.text);
    _assert_int_equal(t->status, status, file, line);
    _assert_true(strstr(t->error.text, words) != NULL, words, file, line);
}
#define check_refused(t, words) check_refused_at(&(t), ANYGP_ERR_DATA, (words), __FILE__, __LINE__)

/* A fresh directory in the current one, entered. */
static inline int enter_directory(void **state)
{
    static char name[] = "data-test-XXXXXX";
    *state = mkdtemp(name);
    return *state && chdir(name) == 0 ? 0 : -1;
}

static inline int leave_directory(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    return chdir("..") == 0 && system(command) == 0 ? 0 : -1;
}

static inline void put_file(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fwrite(bytes, 1, size, f) == size);
    assert_int_equal(fclose(f), 0);
}

#endif
