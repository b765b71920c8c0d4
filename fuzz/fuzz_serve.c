/* Any bytes as the body of a request to `anygp serve`: rows, or a sentence.  The first byte chooses between /predict and /update. */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/serve_rows.c"
#include "../cli/serve_scan.c"

#ifndef FUZZ_ENTRY
#define FUZZ_ENTRY LLVMFuzzerTestOneInput
#endif
int FUZZ_ENTRY(const uint8_t *data, size_t size);

anygp_status complain(anygp_error *e, anygp_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return e->status = status;
}

static const char *fuzz_name(const void *ctx, int64_t i) { return ((const char *const *)ctx)[i]; }
static int64_t fuzz_categories(const void *ctx, int64_t i) { return (void)ctx, i == 2 ? 2 : 0; }
static const char *fuzz_category(const void *ctx, int64_t i, int64_t k)
{
    return (void)ctx, (void)i, k ? "red" : "blue";
}

static void serve_require(int holds)
{
    if (!holds) abort();
}

static int64_t no_categories(const void *ctx, int64_t i) { return (void)ctx, (void)i, 0; }

/* Numbers alone are read without a tree of values: to the same bits. */
static void check_numbers(row_shape shape, const char *body, size_t size)
{
    row_request fast, slow;
    anygp_error e = {0};
    shape.categories = no_categories;
    if (!rows_from_numbers(shape.inputs, body, size, &fast)) return;
    serve_require(!ANYGP_FAILED(rows_from_tree(&shape, body, size, &slow, &e)));
    serve_require(fast.n == slow.n && fast.mean_only == slow.mean_only && !slow.table);
    serve_require(!memcmp(fast.X, slow.X, (size_t)(fast.n * shape.inputs) * sizeof *fast.X));
    row_request_clear(&fast);
    row_request_clear(&slow);
}

int FUZZ_ENTRY(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"size", "the \"age\"", "colour"};
    row_shape shape = {3, fuzz_name, fuzz_categories, fuzz_category, names};
    anygp_error e = {0};
    if (size == 0) return 0;
    const char *body = (const char *)data + 1;
    if (data[0] == 'u') {
        char *text = NULL;
        bool ok = !ANYGP_FAILED(table_from_json(body, size - 1, &text, &e));
        serve_require(ok ? text && *text : !text && e.text[0]);
        free(text);
        return 0;
    }
    check_numbers(shape, body, size - 1);
    row_request r;
    bool ok = !ANYGP_FAILED(rows_from_json(&shape, body, size - 1, &r, &e));
    serve_require(ok ? r.n > 0 && r.X : !r.X && !r.table && e.text[0]);
    for (int64_t i = 0; ok && i < r.n * shape.inputs; i++) serve_require(!isinf(r.X[i]));
    row_request_clear(&r);
    return 0;
}
