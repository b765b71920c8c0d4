/* HDF5 files that are damaged, that claim too much, or that lead to other files. */
#include "data_support.h"

#include <fcntl.h>
#include <hdf5.h>
#include <pthread.h>

#include "data/formats/writer.h"

enum { ROWS = 40, COLS = 3 };

static void put_columns(hid_t set)
{
    hsize_t n = COLS;
    static const char *const names[COLS] = {"one", "two", "three"};
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t attribute = H5Acreate2(set, "columns", type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, names) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* X and y of a small table; packed in chunks, or plain. */
static void make_file(const char *path, bool packed)
{
    double X[ROWS * COLS], y[ROWS];
    fill_normal(1, ROWS * COLS, X);
    fill_normal(2, ROWS, y);
    hsize_t shape[2] = {ROWS, COLS}, chunk[2] = {16, COLS};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, NULL),
          line = H5Screate_simple(1, shape, NULL);
    if (packed) H5Pset_chunk(layout, 2, chunk), H5Pset_deflate(layout, 6);
    hid_t a = H5Dcreate2(file, "X", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    hid_t b = H5Dcreate2(file, "y", H5T_IEEE_F32BE, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(a, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, X) >= 0);
    assert_true(H5Dwrite(b, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, y) >= 0);
    put_columns(a);
    H5Dclose(a), H5Dclose(b), H5Sclose(space), H5Sclose(line), H5Pclose(layout), H5Fclose(file);
}

static size_t take_file(const char *path, unsigned char *bytes, size_t most)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(bytes, 1, most, f);
    fclose(f);
    assert_true(n > 0 && n < most);
    return n;
}

/* -------------------------------------------------------------------------------------------------- damage */

/* A few bytes changed, or the end cut off; some hundred bytes at the start say where everything is. */
static size_t damage(unsigned char *bytes, size_t n, uint64_t number)
{
    random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = number};
    int64_t changes = 1 + random_below(s, 0, 8);
    if (number % 10 == 0) return (size_t)random_below(s, 1, (int64_t)n);
    for (int64_t k = 0; k < changes; k++) {
        uint64_t i = 10 * (uint64_t)k + 1;
        int64_t span = random_below(s, i, 2) ? (int64_t)n : 1500;
        static const unsigned char extremes[] = {0, 1, 127, 128, 254, 255};
        bool extreme = random_below(s, i + 1, 2);
        bytes[random_below(s, i + 2, span)] =
            extreme ? extremes[random_below(s, i + 3, 6)] : (unsigned char)random_below(s, i + 4, 256);
    }
    return n;
}

/* Reads what it can; a failure has a sentence of one line. */
static void read_damaged(const unsigned char *bytes, size_t n)
{
    reader *r;
    anygp_error e = {.text = ""};
    int64_t got = 1, cells = 0;
    anygp_status status = reader_open_memory(bytes, n, "damaged.h5", NULL, &r, &e);
    double *rows =
        !status && reader_columns(r) <= 1 << 16 ? malloc(sizeof *rows * 7 * (size_t)reader_columns(r)) : NULL;
    while (!status && rows && got > 0 && cells < CELLS_MOST) {
        status = reader_next(r, 7, rows, &got, &e);
        cells += got * reader_columns(r);
    }
    if (status) assert_true(ANYGP_FAILED(status) && e.text[0] && !strchr(e.text, '\n') && strstr(e.text, "damaged.h5"));
    free(rows);
    reader_close(r);
}

static void damaged_files_are_read_or_refused(void **state)
{
    enum { EACH = 150, MOST = 1 << 16 };
    static unsigned char whole[MOST], bytes[MOST];
    (void)state;
    int former = dup(STDERR_FILENO), said = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(said, STDERR_FILENO); /* the library must not speak */
    for (int packed = 0; packed < 2; packed++) {
        make_file("whole.h5", packed);
        size_t n = take_file("whole.h5", whole, MOST);
        for (uint64_t k = 0; k < EACH; k++) {
            memcpy(bytes, whole, n);
            read_damaged(bytes, damage(bytes, n, 2 * k + (uint64_t)packed));
        }
    }
    dup2(former, STDERR_FILENO);
    assert_int_equal(lseek(said, 0, SEEK_END), 0);
    close(former);
    close(said);
}

/* --------------------------------------------------------------------------------------------------- claims */

static void refused_with(const char *path, const char *sentence)
{
    table *t;
    anygp_error e;
    assert_int_equal(table_read(path, NULL, &t, &e), ANYGP_ERR_DATA);
    if (!strstr(e.text, sentence)) fail_msg("%s", e.text);
}

static void rows_that_were_never_written_are_refused(void **state)
{
    (void)state;
    for (int width = 1; width < 3; width++) {
        hsize_t shape[2] = {(hsize_t)1 << 50, (hsize_t)width}, chunk[2] = {1024, (hsize_t)width};
        hid_t file = H5Fcreate("claims.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, NULL);
        H5Pset_chunk(layout, 2, chunk);
        hid_t set = H5Dcreate2(file, "data", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
        H5Dclose(set), H5Sclose(space), H5Pclose(layout), H5Fclose(file);
        refused_with("claims.h5", "claims 1125899906842624 x");
    }
}

/* ---------------------------------------------------------------------------------------------- other files */

static table *read_following(const char *path)
{
    table *t;
    anygp_error e = {.text = ""};
    read_options o = READ_DEFAULTS;
    o.follow = true;
    if (table_read(path, &o, &t, &e)) fail_msg("%s", e.text);
    return t;
}

static void external_links_are_followed_on_request_only(void **state)
{
    (void)state;
    make_file("other.h5", false);
    hid_t file = H5Fcreate("links.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Lcreate_external("other.h5", "/X", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    refused_with("links.h5", "dataset X leads to another file (an external link)");
    table *t = read_following("links.h5");
    assert_int_equal(t->rows, ROWS);
    assert_int_equal(t->cols, COLS);
    table_free(t);
    file = H5Fcreate("soft.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT); /* a link to a link */
    H5Lcreate_external("other.h5", "/", file, "away", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/away/X", file, "data", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    refused_with("soft.h5", "leads to another file");
}

/* A link beside X and y, which are in the file, is of no concern. */
static void links_that_are_not_needed_are_passed_over(void **state)
{
    (void)state;
    make_file("beside.h5", true);
    hid_t file = H5Fopen("beside.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/X", file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    table *t;
    anygp_error e;
    assert_int_equal(table_read("beside.h5", NULL, &t, &e), ANYGP_OK);
    assert_int_equal(t->cols, COLS + 1);
    assert_string_equal(t->columns[1].name, "two");
    table_free(t);
}

static void external_storage_is_read_on_request_only(void **state)
{
    const double values[] = {1, 2, 3, 4};
    hsize_t n = 4;
    (void)state;
    put_file("numbers", (const char *)values, sizeof values);
    hid_t file = H5Fcreate("storage.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &n, NULL);
    H5Pset_external(layout, "numbers", 0, sizeof values);
    hid_t set = H5Dcreate2(file, "data", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Dclose(set), H5Sclose(space), H5Pclose(layout), H5Fclose(file);
    refused_with("storage.h5", "external storage");
    table *t = read_following("storage.h5");
    assert_memory_equal(t->values, values, sizeof values);
    table_free(t);
}

static void virtual_datasets_are_read_on_request_only(void **state)
{
    hsize_t shape[2] = {ROWS, COLS};
    (void)state;
    make_file("other.h5", false);
    hid_t file = H5Fcreate("virtual.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, NULL);
    assert_true(H5Pset_virtual(layout, space, "other.h5", "/X", space) >= 0);
    hid_t set = H5Dcreate2(file, "data", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Dclose(set), H5Sclose(space), H5Pclose(layout), H5Fclose(file);
    refused_with("virtual.h5", "a virtual dataset");
    double X[ROWS * COLS];
    fill_normal(1, ROWS * COLS, X);
    table *t = read_following("virtual.h5");
    assert_memory_equal(t->values, X, sizeof X);
    table_free(t);
}

/* -------------------------------------------------------------------------------------------------- reading */

enum { LONG = 30000, WIDE = 5 };
static double cell(int64_t i, int64_t j) { return (double)(i * WIDE + j); }

static void make_long_file(const char *path)
{
    writer *w;
    anygp_error e;
    double *row = malloc(sizeof *row * WIDE * LONG);
    for (int64_t k = 0; k < WIDE * LONG; k++) row[k] = (double)k;
    assert_int_equal(writer_open(path, WIDE, NULL, &w, &e), ANYGP_OK);
    assert_int_equal(writer_rows(w, LONG, row, &e), ANYGP_OK);
    assert_int_equal(writer_close(w, &e), ANYGP_OK);
    free(row);
}

/* Blocks in order, in advance, and from anywhere, are the rows they should be. */
static int64_t read_about(reader *r, uint64_t stream)
{
    random_stream s = {.seed = 3, .use = RANDOM_TEST, .sub = stream};
    static _Thread_local double rows[LONG * WIDE];
    int64_t wrong = 0, place = 0, got;
    for (uint64_t k = 0; k < 60; k++) {
        int64_t n = random_below(s, 3 * k, 3) ? 1 + random_below(s, 3 * k + 1, 100) : LONG;
        if (random_below(s, 3 * k, 4) == 0) {
            place = random_below(s, 3 * k + 2, LONG + 1);
            if (reader_seek(r, place, NULL)) return -1;
        }
        if (reader_next(r, n, rows, &got, NULL)) return -1;
        wrong += got != (n < LONG - place ? n : LONG - place);
        for (int64_t i = 0; i < got * WIDE; i++) wrong += rows[i] != cell(place + i / WIDE, i % WIDE);
        place += got;
    }
    return wrong;
}

/* A reader forks.  The address sanitizer's allocator, unlike that of the C library, may be locked by another thread in that moment, and stays
   so in the child: under it threads take turns. */
#ifdef __SANITIZE_ADDRESS__
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static void turn_begin(void) { pthread_mutex_lock(&turn); }
static void turn_end(void) { pthread_mutex_unlock(&turn); }
#else
static void turn_begin(void) {}
static void turn_end(void) {}
#endif

static void *read_by_itself(void *ctx)
{
    int64_t *wrong = ctx;
    reader *r;
    turn_begin();
    *wrong = reader_open("long.h5", NULL, &r, NULL) ? -1 : read_about(r, (uint64_t)*wrong);
    reader_close(r);
    turn_end();
    return NULL;
}

static void readers_of_one_file_do_not_disturb_each_other(void **state)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    int64_t wrong[THREADS] = {1, 2, 3};
    (void)state;
    make_long_file("long.h5");
    for (int k = 0; k < THREADS; k++) assert_false(pthread_create(&thread[k], NULL, read_by_itself, &wrong[k]));
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        assert_int_equal(wrong[k], 0);
    }
}

/* Many runs or few, short, long or empty, in any order, between reads that go on where the last one stopped. */
static void runs_are_the_rows_one_would_read_alone(void **state)
{
    static const char *const paths[] = {"long.npy", "long.h5"};
    static double rows[4 * LONG * WIDE];
    (void)state;
    for (size_t f = 0; f < sizeof paths / sizeof *paths; f++) {
        reader *r;
        random_stream s = {.seed = 4, .use = RANDOM_TEST};
        uint64_t k = 0;
        make_long_file(paths[f]);
        assert_int_equal(reader_open(paths[f], NULL, &r, NULL), ANYGP_OK);
        for (int round = 0; round < 40; round++) {
            row_run run[200];
            int count = (int)random_below(s, k++, round % 2 ? 200 : 9);
            int64_t at = 0, got, longest = round % 3 ? 40 : 4 * LONG / 200;
            for (int j = 0; j < count; j++) {
                run[j].n = random_below(s, k++, longest);
                run[j].first = random_below(s, k++, LONG - run[j].n);
            }
            assert_int_equal(reader_runs(r, count, run, rows, NULL), ANYGP_OK);
            for (int j = 0; j < count; j++)
                for (int64_t i = 0; i < run[j].n * WIDE; i++)
                    assert_true(rows[at++] == cell(run[j].first + i / WIDE, i % WIDE));
            if (count == 0) continue;
            int64_t next = run[count - 1].first + run[count - 1].n, n = LONG - next < 2000 ? LONG - next : 2000;
            assert_int_equal(reader_next(r, n, rows, &got, NULL), ANYGP_OK);
            assert_int_equal(got, n);
            for (int64_t i = 0; i < n * WIDE; i++) assert_true(rows[i] == cell(next + i / WIDE, i % WIDE));
        }
        anygp_error e;
        assert_int_equal(reader_runs(r, 2, (row_run[]){{0, 5}, {LONG - 3, 4}}, rows, &e), ANYGP_ERR_DATA);
        assert_non_null(strstr(e.text, "cut short"));
        reader_close(r);
    }
}

static int stop_now(void *ctx)
{
    (void)ctx;
    return 1;
}

static void reading_can_be_stopped(void **state)
{
    static const char *const paths[] = {"long.npy", "long.h5"};
    (void)state;
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        reader *r;
        anygp_error e;
        double row[WIDE];
        int64_t got;
        make_long_file(paths[k]);
        assert_int_equal(reader_open(paths[k], NULL, &r, &e), ANYGP_OK);
        assert_int_equal(reader_next(r, 1, row, &got, &e), ANYGP_OK);
        reader_stop(r, (stop_poll){stop_now, NULL});
        anygp_status status = ANYGP_OK;
        while (!status && got > 0) status = reader_next(r, 1, row, &got, &e);
        assert_int_equal(status, ANYGP_ERR_STOPPED);
        reader_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_read_or_refused),
        cmocka_unit_test(rows_that_were_never_written_are_refused),
        cmocka_unit_test(external_links_are_followed_on_request_only),
        cmocka_unit_test(links_that_are_not_needed_are_passed_over),
        cmocka_unit_test(external_storage_is_read_on_request_only),
        cmocka_unit_test(virtual_datasets_are_read_on_request_only),
        cmocka_unit_test(readers_of_one_file_do_not_disturb_each_other),
        cmocka_unit_test(runs_are_the_rows_one_would_read_alone),
        cmocka_unit_test(reading_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
