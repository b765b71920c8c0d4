/* The formats with a fixed layout, built here byte by byte, and LIBSVM. */
#include "data_support.h"

#include <hdf5.h>
#include <zlib.h>

typedef struct bytes {
    unsigned char b[8192];
    size_t n;
} bytes;

static void add(bytes *to, const void *from, size_t n)
{
    assert_true(to->n + n <= sizeof to->b);
    memcpy(to->b + to->n, from, n);
    to->n += n;
}

static void add_number(bytes *to, uint64_t v, int size, bool big)
{
    for (int i = 0; i < size; i++) to->b[to->n++] = (unsigned char)(v >> 8 * (big ? size - 1 - i : i));
}

static rows_read read_as(const bytes *f, const char *name) { return read_bytes(f->b, f->n, name, NULL, 5, NULL); }

/* ------------------------------------------------------------------------------------------------ .npy */

static bytes npy_start(int version, const char *dictionary)
{
    bytes f = {.n = 0};
    add(&f, "\x93NUMPY", 6);
    add_number(&f, (uint64_t)version, 1, false);
    add_number(&f, 0, 1, false);
    add_number(&f, strlen(dictionary), version == 1 ? 2 : 4, false);
    add(&f, dictionary, strlen(dictionary));
    return f;
}

static bytes npy(const char *descr, const char *order, const char *shape)
{
    char text[256];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }   \n", descr, order, shape);
    return npy_start(1, text);
}

static void npy_of_every_type_and_byte_order(void **state)
{
    static const char *const types[] = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    (void)state;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int big = 0; big < 2; big++) {
            char descr[4] = {big ? '>' : '<', types[k][0], types[k][1], 0};
            int size = types[k][1] - '0', is_signed = types[k][0] == 'i', is_bool = types[k][0] == 'b';
            bytes f = npy(descr, "False", "(2, 2)");
            add_number(&f, 1, size, big);
            add_number(&f, is_bool ? 0 : 100, size, big);
            add_number(&f, is_bool ? 1 : UINT64_MAX, size, big);
            add_number(&f, 0, size, big);
            rows_read t = read_as(&f, "t.npy");
            double last = is_bool ? 1 : is_signed ? -1 : pow(2, 8 * size) - 1;
            if (size == 8 && !is_signed) last = 18446744073709551616.0;
            check_values(t, 2, 2, 1, is_bool ? 0 : 100, last, 0);
            assert_int_equal(t.announced, 2);
        }
}

static void add_float(bytes *f, double x, int size, bool big)
{
    float single = (float)x;
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &single, 4);
    memcpy(&bits64, &x, 8);
    add_number(f, size == 4 ? bits32 : bits64, size, big);
}

static void npy_of_floats_in_both_orders_and_versions(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++)
        for (int size = 4; size <= 8; size += 4)
            for (int big = 0; big < 2; big++)
                for (int fortran = 0; fortran < 2; fortran++) {
                    char text[128];
                    snprintf(text, sizeof text, "{'shape': (7, 3), 'fortran_order': %s, \"descr\": '%cf%d'}\n",
                             fortran ? "True" : "False", big ? '>' : '<', size);
                    bytes f = npy_start(version, text);
                    double expected[21];
                    for (int i = 0; i < 21; i++) expected[i] = i == 4 ? NAN : i * 1.5 - 7;
                    for (int i = 0; i < 21; i++) add_float(&f, expected[fortran ? i % 7 * 3 + i / 7 : i], size, big);
                    rows_read t = read_as(&f, "t.npy");
                    check_values_at(&t, 7, 3, expected, __FILE__, __LINE__);
                    assert_int_equal(t.target, 2);
                }
}

static void npy_of_one_dimension_is_one_column(void **state)
{
    (void)state;
    bytes f = npy("<f8", "True", "(3,)");
    for (int i = 0; i < 3; i++) add_float(&f, i + 0.5, 8, false);
    rows_read t = read_as(&f, "t.npy");
    check_values(t, 3, 1, 0.5, 1.5, 2.5);
    t = read_as(&f, "standard input"); /* known by its first bytes */
    check_values(t, 3, 1, 0.5, 1.5, 2.5);
}

/* Floats are compared with the sign as a float has it. */
static void signs_for_missing_values_in_floats(void **state)
{
    static const double cells[] = {0.1, 1e20, -INFINITY, 7};
    (void)state;
    bytes f = npy("<f4", "False", "(4,)");
    for (int i = 0; i < 4; i++) add_float(&f, cells[i], 4, false);
    FILE *out = fopen("f4.npy", "wb");
    assert_true(out && fwrite(f.b, 1, f.n, out) == f.n && fclose(out) == 0);
    read_options o = {.na = "0.1, 1e20,-inf,1e300"};
    table *d;
    anygp_error e;
    if (table_read("f4.npy", &o, &d, &e)) fail_msg("%s", e.text);
    assert_true(isnan(d->values[0]) && isnan(d->values[1]) && isnan(d->values[2]) && d->values[3] == 7);
    table_free(d);
}

static void packed_fortran_npy_is_kept_in_memory(void **state)
{
    (void)state;
    bytes f = npy("<f8", "True", "(3, 2)");
    for (int i = 0; i < 6; i++) add_float(&f, i, 8, false);
    gzFile z = gzopen("f.npy.gz", "w");
    gzwrite(z, f.b, (unsigned)f.n);
    gzclose(z);
    table *d;
    anygp_error e;
    assert_int_equal(table_read("f.npy.gz", NULL, &d, &e), ANYGP_OK);
    assert_int_equal(d->rows, 3);
    assert_true(d->values[0] == 0 && d->values[1] == 3 && d->values[5] == 5);
    table_free(d);
}

static void hostile_npy_is_refused(void **state)
{
    static const struct {
        const char *descr, *order, *shape, *words;
    } heads[] = {
        {"|O", "False", "(2,)", "type '|O'"},
        {"<f2", "False", "(2,)", "type '<f2'"},
        {"<c16", "False", "(2,)", "type '<c16'"},
        {"<f8", "False", "(2, 2, 2)", "3 dimensions"},
        {"<f8", "False", "()", "0 dimensions"},
        {"<f8", "False", "(3037000500, 3037000500)", "no file can hold"},
        {"<f8", "False", "(1000, 1000)", "too short"},
        {"<f8", "True", "(1000, 1000)", "too short"},
        {"<f8", "False", "(99999999999999999999,)", "header is damaged"},
        {"<f8", "False", "(-1,)", "header is damaged"},
        {"<f8", "Maybe", "(1,)", "header is damaged"},
        {"<f8", "False", "(1,", "header is damaged"},
        {"<f8", "False", "(0, 3)", "no data rows"},
        {"<f8", "False", "(3, 0)", "columns"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        bytes f = npy(heads[i].descr, heads[i].order, heads[i].shape);
        rows_read t = read_as(&f, "t.npy");
        check_refused(t, heads[i].words);
    }
    rows_read t = read_text("\x93NUMPX", "t.npy");
    check_refused(t, "not a NumPy array");
    bytes f = npy("<f8", "False", "(2, 1)");
    add_float(&f, 1, 8, false);
    add_float(&f, INFINITY, 8, false);
    t = read_as(&f, "t.npy");
    check_refused(t, "t.npy, row 2, column 0: an infinite number");
}

/* ------------------------------------------------------------------------------------------------ .npz */

typedef struct archive {
    bytes file, directory;
    int count;
} archive;

static void add_entry(archive *a, const char *name, const bytes *data, bool packed, bool zip64)
{
    bytes body = *data;
    if (packed) {
        z_stream z = {0};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (Bytef *)(uintptr_t)data->b;
        z.avail_in = (uInt)data->n;
        z.next_out = body.b;
        z.avail_out = sizeof body.b;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        body.n = z.total_out;
        deflateEnd(&z);
    }
    size_t at = a->file.n;
    bytes *f = &a->file, *d = &a->directory;
    add(f, "PK\3\4\x14\0\0\0", 8);
    add_number(f, packed ? 8 : 0, 2, false);
    add_number(f, 0, 8, false); /* time, date, checksum */
    add_number(f, body.n, 4, false);
    add_number(f, data->n, 4, false);
    add_number(f, strlen(name), 2, false);
    add_number(f, 3, 2, false); /* an extra field of no meaning */
    add(f, name, strlen(name));
    add(f, "xyz", 3);
    add(f, body.b, body.n);
    add(d, "PK\1\2\x14\0\x14\0\0\0", 10);
    add_number(d, packed ? 8 : 0, 2, false);
    add_number(d, 0, 8, false);
    add_number(d, zip64 ? 0xffffffff : body.n, 4, false);
    add_number(d, zip64 ? 0xffffffff : data->n, 4, false);
    add_number(d, strlen(name), 2, false);
    add_number(d, zip64 ? 28 : 0, 2, false);
    add_number(d, 0, 8, false);
    add_number(d, 0, 2, false);
    add_number(d, zip64 ? 0xffffffff : at, 4, false);
    add(d, name, strlen(name));
    if (zip64) {
        add_number(d, 1, 2, false);
        add_number(d, 24, 2, false);
        add_number(d, data->n, 8, false);
        add_number(d, body.n, 8, false);
        add_number(d, at, 8, false);
    }
    a->count++;
}

static const bytes *finish(archive *a, bool zip64)
{
    bytes *f = &a->file;
    size_t at = f->n;
    add(f, a->directory.b, a->directory.n);
    if (zip64) {
        size_t end = f->n;
        add(f, "PK\6\6", 4);
        add_number(f, 44, 8, false);
        add_number(f, 0, 4, false); /* versions */
        add_number(f, 0, 8, false); /* disks */
        add_number(f, (uint64_t)a->count, 8, false);
        add_number(f, (uint64_t)a->count, 8, false);
        add_number(f, a->directory.n, 8, false);
        add_number(f, at, 8, false);
        add(f, "PK\6\7\0\0\0\0", 8);
        add_number(f, end, 8, false);
        add_number(f, 1, 4, false);
    }
    add(f, "PK\5\6\0\0\0\0", 8);
    add_number(f, zip64 ? 0xffff : (uint64_t)a->count, 2, false);
    add_number(f, zip64 ? 0xffff : (uint64_t)a->count, 2, false);
    add_number(f, zip64 ? 0xffffffff : a->directory.n, 4, false);
    add_number(f, zip64 ? 0xffffffff : at, 4, false);
    add_number(f, 7, 2, false);
    add(f, "comment", 7);
    return f;
}

static bytes small_array(int rows, int cols, double first, bool fortran)
{
    char shape[32];
    if (cols > 1)
        snprintf(shape, sizeof shape, "(%d, %d)", rows, cols);
    else
        snprintf(shape, sizeof shape, "(%d,)", rows);
    bytes f = npy("<f8", fortran ? "True" : "False", shape);
    for (int k = 0; k < rows * cols; k++) {
        int i = fortran ? k % rows : k / cols, j = fortran ? k / rows : k % cols;
        add_float(&f, first + 10 * i + j, 8, false);
    }
    return f;
}

static void npz_puts_y_behind_X(void **state)
{
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        bool packed = variant & 1, zip64 = variant & 2, fortran = variant & 4;
        archive a = {.count = 0};
        bytes y = small_array(3, 1, 7, false), X = small_array(3, 2, 1, fortran), other = small_array(5, 1, 0, false);
        add_entry(&a, "y.npy", &y, packed, zip64);
        add_entry(&a, "X_test.npy", &other, packed, zip64);
        add_entry(&a, "X.npy", &X, packed, zip64);
        add_entry(&a, "readme.txt", &other, false, false);
        const bytes *f = finish(&a, zip64);
        reader *r;
        rows_read t = read_bytes(f->b, f->n, "t.npz", NULL, 2, &r);
        check_values(t, 3, 3, 1, 2, 7, 11, 12, 17, 21, 22, 27);
        assert_int_equal(t.target, 2);
        assert_null(reader_column(r, 0)->name);
        assert_string_equal(reader_column(r, 2)->name, "y");
        reader_close(r);
    }
}

static bytes text_bytes(const char *text)
{
    bytes f = {.n = 0};
    add(&f, text, strlen(text));
    return f;
}

static void zip_of_one_table_is_that_table(void **state)
{
    (void)state;
    bytes table_text = text_bytes("x,y\n1,2\n3,x\n"), lines = text_bytes("{\"x\": 1}\n");
    for (int variant = 0; variant < 4; variant++) {
        archive a = {.count = 0};
        add_entry(&a, "folder/", &(bytes){.n = 0}, false, false);
        add_entry(&a, "__MACOSX/._t.csv", &lines, false, false);
        add_entry(&a, variant & 2 ? "t.jsonl" : "folder/t.csv", variant & 2 ? &lines : &table_text, variant & 1, false);
        rows_read t = read_as(finish(&a, false), "t.zip");
        if (variant & 2)
            check_values(t, 1, 1, 1);
        else
            check_refused(t, "t.zip:folder/t.csv, line 3 (data row 2), column 'y': 'x' is not a number");
    }
    archive two = {.count = 0};
    add_entry(&two, "a.csv", &table_text, false, false);
    add_entry(&two, "b.csv", &table_text, true, false);
    rows_read t = read_as(finish(&two, false), "two.zip");
    check_refused(t, "two.zip holds 2 files: a.csv, b.csv; a .zip must hold one table");
}

static void json_lines_are_rows(void **state)
{
    (void)state;
    reader *r;
    const char *text = "{\"a b\": 1.5, \"k\": \"x, \\\"q\\\"\", \"y\": -2e3}\r\n\n{\"y\": null, \"k\": \"z\"}\n{\"k\": "
                       "\"x, \\\"q\\\"\", \"y\": 7, \"a b\": 9007199254740993}";
    rows_read t = read_bytes(text, strlen(text), "t.jsonl", NULL, 2, &r);
    check_values(t, 3, 3, 1.5, 0, -2000, NAN, 1, NAN, 9007199254740993.0, 0, 7);
    assert_string_equal(reader_column(r, 0)->name, "a b");
    assert_string_equal(reader_column(r, 1)->level[0], "x, \"q\"");
    reader_close(r);
    t = read_text("{\"x\": 1}\n{\"x\": 2, \"z\": 3}\n", "t.jsonl");
    check_refused(t, "t.jsonl, line 2: the first line does not have the key (give it null there): 'z'");
    t = read_text("{\"x\": [1]}\n", "t.ndjson");
    check_refused(t, "line 1: a row must be flat");
    t = read_text("{\"x\": 1}\n[1]\n", "t.jsonl");
    check_refused(t, "line 2: every line must be one JSON object");
    t = read_text("{\"x\": 1}\n{\"x\": 2}\n{\"x\": \"a\"}\n", "t.jsonl");
    check_refused(t, "line 3 (data row 3)");
    t = read_text("\n", "t.jsonl");
    check_refused(t, "is empty");
}

static void other_formats_are_refused_with_a_way_out(void **state)
{
    (void)state;
    const struct {
        const char *name, *words;
    } cases[] = {{"a.parquet", "a Parquet file, which anygp does not read; make a text table of it: python3"},
                 {"a.xlsx", "an Excel workbook"},
                 {"a.feather", "a Feather file"},
                 {"a.json", "one object per line"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rows_read t = read_text("PAR1", cases[i].name);
        check_refused(t, cases[i].words);
    }
}

static void npz_of_other_arrays_takes_them_in_order(void **state)
{
    (void)state;
    archive a = {.count = 0};
    bytes p = small_array(2, 1, 5, false), q = small_array(2, 2, 1, false);
    add_entry(&a, "lat.npy", &p, false, false);
    add_entry(&a, "pos.npy", &q, true, false);
    const bytes *f = finish(&a, false);
    reader *r;
    rows_read t = read_bytes(f->b, f->n, "standard input", NULL, 9, &r);
    check_values(t, 2, 3, 5, 1, 2, 15, 11, 12);
    assert_string_equal(reader_column(r, 0)->name, "lat");
    assert_string_equal(reader_column(r, 2)->name, "pos_1");
    assert_int_equal(t.target, 2);
    reader_close(r);

    archive x = {.count = 0};
    add_entry(&x, "X.npy", &q, false, false);
    f = finish(&x, false);
    t = read_as(f, "t.npz");
    check_values(t, 2, 2, 1, 2, 11, 12);
    assert_int_equal(t.target, -1);
}

static void damaged_npz_is_refused(void **state)
{
    (void)state;
    archive a = {.count = 0};
    bytes y = small_array(3, 1, 7, false), X = small_array(2, 2, 1, false);
    add_entry(&a, "y.npy", &y, false, false);
    add_entry(&a, "X.npy", &X, false, false);
    const bytes *f = finish(&a, false);
    rows_read t = read_as(f, "t.npz");
    check_refused(t, "arrays of 2 and of 3 rows");
    for (size_t n = 0; n < f->n; n += 7) {
        t = read_bytes(f->b, n, "t.npz", NULL, 5, NULL);
        assert_true(ANYGP_FAILED(t.status));
    }
}

/* -------------------------------------------------------------------------------------------------- idx */

static bytes idx(int type, int dims, const uint32_t *shape)
{
    bytes f = {.n = 0};
    add_number(&f, (uint64_t)type << 8 | (uint64_t)dims, 4, true);
    for (int k = 0; k < dims; k++) add_number(&f, shape[k], 4, true);
    return f;
}

static void idx_of_every_type(void **state)
{
    static const struct {
        int type, size;
        double last;
    } types[] = {{8, 1, 255}, {9, 1, -1}, {0xb, 2, -1}, {0xc, 4, -1}};
    (void)state;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        bytes f = idx(types[k].type, 2, (uint32_t[]){2, 2});
        for (int i = 0; i < 3; i++) add_number(&f, (uint64_t)i, types[k].size, true);
        add_number(&f, UINT64_MAX, types[k].size, true);
        rows_read t = read_as(&f, "t.idx");
        check_values(t, 2, 2, 0, 1, 2, types[k].last);
    }
    for (int size = 4; size <= 8; size += 4) {
        bytes f = idx(size == 4 ? 0xd : 0xe, 3, (uint32_t[]){1, 2, 2});
        for (int i = 0; i < 4; i++) add_float(&f, i - 1.25, size, true);
        rows_read t = read_as(&f, "standard input");
        check_values(t, 1, 4, -1.25, -0.25, 0.75, 1.75);
        assert_int_equal(t.target, -1);
    }
}

static void images_bring_their_labels(void **state)
{
    (void)state;
    bytes images = idx(8, 3, (uint32_t[]){2, 1, 2}), labels = idx(8, 1, (uint32_t[]){2});
    for (uint64_t i = 1; i <= 4; i++) add_number(&images, i, 1, true);
    add_number(&labels, 9, 1, true);
    add_number(&labels, 8, 1, true);
    put_file("train-images-idx3-ubyte", images.b, images.n);
    gzFile z = gzopen("train-labels-idx1-ubyte.gz", "w");
    gzwrite(z, labels.b, (unsigned)labels.n);
    gzclose(z);
    table *d;
    anygp_error e;
    assert_int_equal(table_read("train-images-idx3-ubyte", NULL, &d, &e), ANYGP_OK);
    assert_int_equal(d->rows, 2);
    assert_int_equal(d->cols, 3);
    assert_int_equal(d->target, 2);
    const double expected[] = {1, 2, 9, 3, 4, 8};
    assert_memory_equal(d->values, expected, sizeof expected);
    assert_string_equal(d->columns[2].name, "label");
    table_free(d);
}

static void damaged_idx_is_refused(void **state)
{
    (void)state;
    bytes f = idx(8, 3, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX});
    rows_read t = read_as(&f, "t.idx");
    check_refused(t, "no file can hold");
    f = idx(8, 2, (uint32_t[]){3, 3});
    t = read_as(&f, "t.idx");
    check_refused(t, "too short");
    f = idx(7, 2, (uint32_t[]){3, 3});
    t = read_as(&f, "t.idx");
    check_refused(t, "not an idx file");
    t = read_bytes("", 0, "t.idx", NULL, 5, NULL);
    check_refused(t, "not an idx file");
}

/* ----------------------------------------------------------------------------------------------- LIBSVM */

static void libsvm_is_dense_with_the_label_last(void **state)
{
    (void)state;
    const char *text = "# a comment\n+1 1:0.5 3:-2e1  # more\n\n-1 qid:7 2:1\r\n2.5\n";
    rows_read t = read_text(text, "t.libsvm");
    check_values(t, 3, 4, 0.5, 0, -20, 1, 0, 1, 0, -1, 0, 0, 0, 2.5);
    assert_int_equal(t.target, 3);
    assert_int_equal(t.announced, 3);
    t = read_text(text, "standard input"); /* known by its shape */
    check_values(t, 3, 4, 0.5, 0, -20, 1, 0, 1, 0, -1, 0, 0, 0, 2.5);
    read_options o = {.width = 5};
    t = read_bytes("1 2:3", 5, "t.svm", &o, 1, NULL);
    check_values(t, 1, 6, 0, 3, 0, 0, 0, 1);
}

static void mistakes_in_libsvm_are_named(void **state)
{
    static const struct {
        const char *text, *words;
    } files[] = {
        {"1 1:2\n1 a:3\n", "line 2: 'a:3' is not of the form"},
        {"1 0:2\n", "indices begin at 1"},
        {"1 2:1 2:1\n", "not above the one before"},
        {"1 3:1 2:1\n", "not above the one before"},
        {"1 2:x\n", "'x' is not a number"},
        {"1 2:inf\n", "not a finite number"},
        {"a 2:1\n", "'a' is not a number"},
        {"1 99999999999999999999:1\n", "too many for dense inputs"},
        {"1 2\n", "'2' is not of the form"},
        {"", "no data rows"},
        {"# only this\n", "no data rows"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        rows_read t = read_text(files[i].text, "t.libsvm");
        check_refused(t, files[i].words);
    }
}

/* ------------------------------------------------------------------------------------------------- HDF5 */

static void put_dataset(hid_t file, const char *name, int dims, const hsize_t *shape, hid_t type, const double *values)
{
    hid_t space = H5Screate_simple(dims, shape, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void put_names(hid_t file, const char *set, hsize_t n, bool variable, const void *names, size_t size)
{
    hid_t object = H5Oopen(file, set, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, variable ? H5T_VARIABLE : size);
    hid_t attribute = H5Acreate2(object, "columns", type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, names) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Oclose(object);
}

static void hdf5_follows_the_convention_of_npz(void **state)
{
    (void)state;
    const double X[] = {1, 2, 3, 4, 5, 6}, y[] = {7, 8, 9};
    for (int variable = 0; variable < 2; variable++) {
        hid_t file = H5Fcreate("t.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        put_dataset(file, "X", 2, (hsize_t[]){3, 2}, H5T_IEEE_F32BE, X);
        put_dataset(file, "y", 1, (hsize_t[]){3}, H5T_STD_I16LE, y);
        put_dataset(file, "a", 1, (hsize_t[]){6}, H5T_IEEE_F64LE, X);
        if (variable)
            put_names(file, "X", 2, true, (const char *[]){"one", "two"}, 0);
        else
            put_names(file, "X", 2, false, "oneXtwo", 4);
        H5Fclose(file);
        table *d;
        anygp_error e;
        assert_int_equal(table_read("t.h5", NULL, &d, &e), ANYGP_OK);
        const double expected[] = {1, 2, 7, 3, 4, 8, 5, 6, 9};
        assert_int_equal(d->rows, 3);
        assert_int_equal(d->cols, 3);
        assert_memory_equal(d->values, expected, sizeof expected);
        assert_int_equal(d->target, 2);
        assert_string_equal(d->columns[0].name, variable ? "one" : "oneX");
        assert_string_equal(d->columns[1].name, "two");
        assert_string_equal(d->columns[2].name, "y");
        table_free(d);
    }
}

static void hdf5_of_one_dataset_is_a_table_from_anywhere(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4, 5, NAN};
    hid_t file = H5Fcreate("one.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put_dataset(file, "things", 2, (hsize_t[]){2, 3}, H5T_IEEE_F64LE, values);
    H5Fclose(file);
    static unsigned char image[65536];
    FILE *f = fopen("one.h5", "r");
    size_t n = fread(image, 1, sizeof image, f);
    fclose(f);
    rows_read t = read_bytes(image, n, "standard input", NULL, 1, NULL);
    check_values_at(&t, 2, 3, values, __FILE__, __LINE__);
    assert_int_equal(t.target, 2);
    put_file("no.h5", "not one", 7);
    table *d;
    anygp_error e;
    assert_int_equal(table_read("no.h5", NULL, &d, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "not an HDF5 file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_of_every_type_and_byte_order),
        cmocka_unit_test(npy_of_floats_in_both_orders_and_versions),
        cmocka_unit_test(npy_of_one_dimension_is_one_column),
        cmocka_unit_test(packed_fortran_npy_is_kept_in_memory),
        cmocka_unit_test(hostile_npy_is_refused),
        cmocka_unit_test(signs_for_missing_values_in_floats),
        cmocka_unit_test(npz_puts_y_behind_X),
        cmocka_unit_test(npz_of_other_arrays_takes_them_in_order),
        cmocka_unit_test(zip_of_one_table_is_that_table),
        cmocka_unit_test(json_lines_are_rows),
        cmocka_unit_test(other_formats_are_refused_with_a_way_out),
        cmocka_unit_test(damaged_npz_is_refused),
        cmocka_unit_test(idx_of_every_type),
        cmocka_unit_test(images_bring_their_labels),
        cmocka_unit_test(damaged_idx_is_refused),
        cmocka_unit_test(libsvm_is_dense_with_the_label_last),
        cmocka_unit_test(mistakes_in_libsvm_are_named),
        cmocka_unit_test(hdf5_follows_the_convention_of_npz),
        cmocka_unit_test(hdf5_of_one_dataset_is_a_table_from_anywhere),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
