/* Model files of local models in which one array is damaged: it is missing, it has another shape, a number is not finite, or an index leads
   nowhere.  The checksum is put right, so that what lies behind it is reached.  Each is refused with one sentence; other numbers may load,
   and then predict without a crash. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "fit_support.h"
#include "io/model_file.h"

enum { ROWS = 60, D = 2, NEW = 5, ARRAYS_MOST = 32, OPTIONS_MOST = 10, INDEX_ARRAYS = 4 };

typedef struct damage_case {
    const char *model;
    const char *options[OPTIONS_MOST];
    const char *index[INDEX_ARRAYS]; /* arrays that begin and end with an index or a count */
    const char *older[INDEX_ARRAYS]; /* arrays that had one column less in files of earlier versions */
    const char *spare[INDEX_ARRAYS]; /* arrays that such a model may be without */
} damage_case;

static const damage_case cases[] = {
    {"vecchia", {"neighbors", "6"}, {"facts"}, {"facts"}, {NULL}},
    {"vecchia", {"neighbors", "6", "inducing", "5", "mean", "linear"}, {"facts"}, {"facts"}, {NULL}},
    {"vnngp", {"neighbors", "6", "likelihood", "studentt"}, {"facts"}, {"facts"}, {NULL}},
    {"nene", {"neighbors", "6"}, {"facts"}, {"facts"}, {NULL}},
    {"lagp", {"neighbors", "10"}, {"facts"}, {"facts"}, {NULL}},
    {"lma", {"inducing", "6", "blocks", "5"}, {"start"}, {NULL}, {NULL}},
    {"lma(order=2)", {"inducing", "6", "blocks", "5", "mean", "constant"}, {"start"}, {NULL}, {NULL}},
    {"hier", {"inducing", "6", "blocks", "5"}, {"start"}, {NULL}, {NULL}},
    {"nle", {"blocks", "4", "experts", "own"}, {"start"}, {NULL}, {"own"}},
    {"grbcm", {"blocks", "4", "communication", "10"}, {"start"}, {NULL}, {NULL}},
    {"npae", {"blocks", "4"}, {"start"}, {NULL}, {NULL}},
    {"patchwork", {"blocks", "3"}, {"start", "sides"}, {NULL}, {NULL}},
    {"tree", {"inducing", "15", "blocks", "5"}, {"groups", "sizes"}, {NULL}, {"parents"}},
    {"moe", {"inducing", "6", "blocks", "3", "batch", "30"}, {NULL}, {NULL}, {NULL}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* An array of the file, as the header has it. */
typedef struct listed {
    char name[32];
    long long shape[2], from, end;
    int rank;
    const char *at, *behind; /* its entry in the header */
} listed;

typedef struct file {
    char *bytes; /* 8 bytes, header, numbers */
    size_t size, header;
    int count;
    listed array[ARRAYS_MOST];
} file;

static void list_arrays(file *f)
{
    const char *p = f->bytes + 8;
    uint64_t length;
    memcpy(&length, f->bytes, 8);
    f->header = (size_t)length, f->count = 0;
    while ((p = memmem(p, (size_t)(f->bytes + 8 + f->header - p), "\"0/", 3))) {
        listed *a = &f->array[f->count++];
        assert_true(f->count <= ARRAYS_MOST);
        a->at = p, a->rank = 2;
        int got =
            sscanf(p, "\"0/%31[^\"]\": {\"dtype\": \"F64\", \"shape\": [%lld, %lld], \"data_offsets\": [%lld, %lld]}",
                   a->name, &a->shape[0], &a->shape[1], &a->from, &a->end);
        if (got != 5) {
            a->rank = 1;
            got = sscanf(p, "\"0/%31[^\"]\": {\"dtype\": \"F64\", \"shape\": [%lld], \"data_offsets\": [%lld, %lld]}",
                         a->name, &a->shape[0], &a->from, &a->end);
            assert_int_equal(got, 4);
        }
        p = a->behind = strchr(p, '}') + 1;
    }
}

/* Reads the file with the bytes of its header from .. end replaced by text; cell: this number too has `value`, unless it is -1. */
static anygp_status read_with(const file *f, const char *from, const char *end, const char *text, int64_t cell,
                              double value, gp_set **out, anygp_error *e)
{
    size_t before = (size_t)(from - f->bytes - 8), behind = (size_t)(f->bytes + 8 + f->header - end),
           fill = (8 - (before + strlen(text) + behind) % 8) % 8, head = before + strlen(text) + behind + fill,
           numbers = f->size - 8 - f->header;
    char *bytes = malloc(8 + head + numbers), *p = bytes + 8, digits[17];
    uint64_t length = head;
    int64_t at;
    assert_non_null(bytes);
    memcpy(bytes, &length, 8);
    p = mempcpy(p, f->bytes + 8, before);
    p = mempcpy(p, text, strlen(text));
    p = mempcpy(p, end, behind);
    memset(p, ' ', fill);
    memcpy(p + fill, f->bytes + 8 + f->header, numbers);
    if (cell >= 0) memcpy(bytes + 8 + head + 8 * cell, &value, 8);
    FILE *stream = fmemopen(bytes, 8 + head + numbers, "rb");
    assert_non_null(stream);
    assert_true(model_file_checksum(stream, digits, &at));
    memcpy(bytes + at, digits, 16);
    anygp_status status = model_file_read_stream(stream, "the file", 0, out, e);
    fclose(stream);
    free(bytes);
    return status;
}

static void must_be_refused(const file *f, const listed *a, const char *what, const char *entry, int64_t cell,
                            double value)
{
    gp_set *m = NULL;
    anygp_error e = {0};
    anygp_status status = entry ? read_with(f, a->at, a->behind, entry, cell, value, &m, &e)
                                : read_with(f, a->at, a->at, "", cell, value, &m, &e);
    if (status != ANYGP_ERR_FILE) fail_msg("%s of %s: status %d, %s", what, a->name, (int)status, e.text);
    if (!*e.text || strchr(e.text, '\n') || m) fail_msg("%s of %s: '%s'", what, a->name, e.text);
}

static void entry_of(const listed *a, const char *name, long long rows, long long cols, long long end, char *out,
                     size_t size)
{
    char shape[48];
    if (a->rank == 1)
        snprintf(shape, sizeof shape, "%lld", rows);
    else
        snprintf(shape, sizeof shape, "%lld, %lld", rows, cols);
    snprintf(out, size, "\"0/%s\": {\"dtype\": \"F64\", \"shape\": [%s], \"data_offsets\": [%lld, %lld]}", name, shape,
             a->from, end);
}

static bool is_among(const char *name, const char *const *list)
{
    for (int i = 0; i < INDEX_ARRAYS && list[i]; i++)
        if (!strcmp(name, list[i])) return true;
    return false;
}

static void refuses_shapes(const file *f, const listed *a, bool older, bool spare)
{
    char entry[256];
    long long s0 = a->shape[0], s1 = a->shape[1];
    entry_of(a, "nothing", s0, s1, a->end, entry, sizeof entry);
    if (!spare) must_be_refused(f, a, "absence", entry, -1, 0);
    if (a->rank == 1) {
        entry_of(a, a->name, s0 - 1, 0, a->end - 8, entry, sizeof entry);
        must_be_refused(f, a, "one number less", entry, -1, 0);
        return;
    }
    entry_of(a, a->name, s0, s1 - 1, a->from + 8 * s0 * (s1 - 1), entry, sizeof entry);
    if (!older) must_be_refused(f, a, "one column less", entry, -1, 0);
    entry_of(a, a->name, s0 - 1, s1, a->from + 8 * (s0 - 1) * s1, entry, sizeof entry);
    must_be_refused(f, a, "one row less", entry, -1, 0);
    if (s0 == s1) return;
    entry_of(a, a->name, s1, s0, a->end, entry, sizeof entry);
    must_be_refused(f, a, "rows for columns", entry, -1, 0);
}

/* A number that no model has there: refused, or a model that predicts something or says why not. */
static void survives(const file *f, const listed *a, int64_t cell, double value, const double *places)
{
    gp_set *m = NULL;
    anygp_error e = {0};
    double mean[NEW], variance[NEW];
    anygp_status status = read_with(f, a->at, a->at, "", cell, value, &m, &e);
    if (ANYGP_FAILED(status)) {
        assert_null(m);
        assert_true(*e.text && !strchr(e.text, '\n'));
        return;
    }
    anygp_predict(m, NEW, places, D, 0, mean, variance, &e);
    gp_set_free(m);
}

static void refuses_numbers(const file *f, const listed *a, bool index, const double *places)
{
    static const double not_finite[] = {NAN, INFINITY, -INFINITY}, nowhere[] = {-1, 1e9 + 1, 1e300, 0.5},
                        odd[] = {0, -1, 1e9, 1e300, -1e300, 1e-300, 0.5};
    int64_t first = a->from / 8, last = a->end / 8 - 1;
    const int64_t cells[] = {first, (first + last) / 2, last};
    for (int i = 0; i < 3 && last >= first; i++) {
        for (int k = 0; k < 3; k++) must_be_refused(f, a, "a number", NULL, cells[i], not_finite[k]);
        for (int k = 0; k < 4 && index && i != 1; k++) must_be_refused(f, a, "an index", NULL, cells[i], nowhere[k]);
        for (int k = 0; k < 7; k++) survives(f, a, cells[i], odd[k], places);
    }
}

static void damaged_arrays_are_refused(void **state)
{
    const damage_case *c = &cases[(uintptr_t)*state];
    const char *pairs[OPTIONS_MOST + 8] = {"model", c->model, "iters", "2", "threads", "1"};
    double X[ROWS * D], y[ROWS], places[NEW * D];
    anygp_error e;
    file f = {0};
    gp_set *same = NULL;
    for (int i = 0; c->options[i]; i++) pairs[6 + i] = c->options[i];
    fill_normal(1, ROWS * D, X), fill_normal(2, ROWS, y), fill_normal(3, NEW * D, places);
    for (int i = 0; i < ROWS; i++) y[i] = sin(2 * X[i * D]) + X[i * D + 1] + 0.1 * y[i];
    anygp_model *m = fit_arrays(ROWS, D, X, y, NULL, pairs);
    FILE *stream = open_memstream(&f.bytes, &f.size);
    assert_int_equal(model_file_write_stream(m, stream, &e), ANYGP_OK);
    fclose(stream);
    anygp_model_free(m);
    list_arrays(&f);
    assert_true(f.count > 0);
    assert_int_equal(read_with(&f, f.bytes + 8, f.bytes + 8, "", -1, 0, &same, &e), ANYGP_OK);
    gp_set_free(same);
    for (int i = 0; c->index[i]; i++) { /* the table speaks of arrays that are there */
        int k = 0;
        while (k < f.count && strcmp(f.array[k].name, c->index[i])) k++;
        assert_true(k < f.count);
    }
    for (int k = 0; k < f.count; k++) {
        const listed *a = &f.array[k];
        refuses_shapes(&f, a, is_among(a->name, c->older), is_among(a->name, c->spare));
        refuses_numbers(&f, a, is_among(a->name, c->index), places);
    }
    free(f.bytes);
}

int main(void)
{
    struct CMUnitTest tests[CASES];
    for (size_t i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].model, damaged_arrays_are_refused, NULL, NULL, (void *)(uintptr_t)i};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
