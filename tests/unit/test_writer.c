#include "data_support.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/atomic_file.h"
#include "data/formats/writer.h"

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* How many names the current directory holds. */
static int names_here(void)
{
    FILE *p = popen("ls -A | wc -l", "r");
    int n = -1;
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static void check_contents(const char *path, const char *expected)
{
    char text[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    assert_string_equal(text, expected);
}

/* ---------------------------------------------------------------------------------------- atomic files */

static void file_appears_only_when_committed(void **state)
{
    (void)state;
    atomic_file *f;
    anygp_error e;
    int before = names_here();
    assert_int_equal(atomic_open("a.txt", &f, &e), ANYGP_OK);
    fprintf(atomic_stream(f), "new");
    assert_false(exists("a.txt"));
    assert_int_equal(atomic_commit(f, &e), ANYGP_OK);
    check_contents("a.txt", "new");
    assert_int_equal(atomic_open("a.txt", &f, &e), ANYGP_OK);
    fprintf(atomic_stream(f), "newer");
    atomic_abort(f);
    check_contents("a.txt", "new");
    assert_int_equal(names_here(), before + 1);
    atomic_abort(NULL);
}

static void permissions_and_links_are_kept(void **state)
{
    (void)state;
    atomic_file *f;
    anygp_error e;
    struct stat st;
    put_file("real.txt", "old", 3);
    assert_int_equal(chmod("real.txt", 0640), 0);
    assert_int_equal(symlink("real.txt", "link.txt"), 0);
    assert_int_equal(atomic_open("link.txt", &f, &e), ANYGP_OK);
    fprintf(atomic_stream(f), "new");
    assert_int_equal(atomic_commit(f, &e), ANYGP_OK);
    check_contents("real.txt", "new");
    assert_int_equal(lstat("link.txt", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat("real.txt", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    mode_t mask = umask(027);
    assert_int_equal(atomic_open("fresh.txt", &f, &e), ANYGP_OK);
    assert_int_equal(atomic_commit(f, &e), ANYGP_OK);
    umask(mask);
    assert_int_equal(stat("fresh.txt", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void full_disk_is_a_sentence(void **state)
{
    (void)state;
    atomic_file *f;
    anygp_error e;
    assert_int_equal(atomic_open("/dev/full", &f, &e), ANYGP_OK);
    fprintf(atomic_stream(f), "something");
    assert_int_equal(atomic_commit(f, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, strerror(ENOSPC)));
    assert_true(exists("/dev/full"));
    assert_int_equal(atomic_open("/dev/null", &f, &e), ANYGP_OK);
    fprintf(atomic_stream(f), "something");
    assert_int_equal(atomic_commit(f, &e), ANYGP_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

static void places_that_cannot_be_written(void **state)
{
    (void)state;
    atomic_file *f;
    anygp_error e;
    assert_int_equal(atomic_open("nowhere/a.txt", &f, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "make its directory first"));
    assert_null(f);
    assert_int_equal(atomic_open(".", &f, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "is a directory"));
    if (geteuid() == 0) return; /* nothing is read-only to root */
    assert_int_equal(mkdir("closed", 0500), 0);
    assert_int_equal(atomic_open("closed/a.txt", &f, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "may write to"));
}

/* Begins to write path in a separate process, which ends silently once the pipe is closed. */
static pid_t writing_child(const char *path, int *hold)
{
    int began[2], waits[2];
    char byte;
    assert_true(pipe(began) == 0 && pipe(waits) == 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        atomic_file *f;
        anygp_error e;
        close(waits[1]);
        if (atomic_open(path, &f, &e) != ANYGP_OK || write(began[1], "x", 1) != 1) _exit(1);
        while (read(waits[0], &byte, 1) > 0) continue;
        _exit(0);
    }
    close(began[1]), close(waits[0]);
    assert_int_equal(read(began[0], &byte, 1), 1);
    close(began[0]);
    *hold = waits[1];
    return child;
}

static void write_whole(const char *path)
{
    atomic_file *f;
    anygp_error e;
    assert_int_equal(atomic_open(path, &f, &e), ANYGP_OK);
    assert_int_equal(atomic_commit(f, &e), ANYGP_OK);
}

static void what_a_killed_process_left_is_removed(void **state)
{
    (void)state;
    int hold, before = names_here();
    put_file("k.txt.0-1-0.tmp", "", 0);
    put_file("k.txt.zzzzzzzz-1-0.tmp", "", 0);
    put_file("k.txt.tmp", "", 0);
    pid_t child = writing_child("k.txt", &hold);
    write_whole("k.txt");
    assert_int_equal(names_here(), before + 5); /* it lives */
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(hold);
    write_whole("k");
    assert_int_equal(names_here(), before + 6); /* of another file */
    write_whole("k.txt");
    assert_int_equal(names_here(), before + 5);
    assert_int_equal(mkdir("below", 0777), 0);
    child = writing_child("below/k.txt", &hold);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(hold);
    write_whole("below/k.txt");
    assert_int_equal(unlink("below/k.txt"), 0);
    assert_int_equal(rmdir("below"), 0);
}

/* --------------------------------------------------------------------------------------------- writers */

enum { ROWS = 40000, COLS = 3 };

static double value_at(int64_t k)
{
    random_stream s = {.seed = 3, .use = RANDOM_TEST, .sub = 9};
    double x = random_normal(s, (uint64_t)k);
    return k % 3 == 0 ? x : k % 3 == 1 ? round(x * 100) / 100 : round(x * 1e3) * pow(10, (double)(k % 40) - 20);
}

static void check_there_and_back(const char *path, bool named)
{
    static const char *const names[COLS] = {"mean", "a \"b\", c", "y"};
    double *values = malloc(ROWS * COLS * sizeof *values);
    for (int64_t k = 0; k < ROWS * COLS; k++) values[k] = value_at(k);
    writer *w;
    anygp_error e;
    table *t;
    assert_int_equal(writer_open(path, COLS, named ? names : NULL, &w, &e), ANYGP_OK);
    for (int64_t i = 0, n; i < ROWS; i += n) {
        n = i % 1000 == 0 ? 1 : 9999;
        if (n > ROWS - i) n = ROWS - i;
        assert_int_equal(writer_rows(w, n, values + i * COLS, &e), ANYGP_OK);
    }
    assert_false(exists(path));
    assert_int_equal(writer_close(w, &e), ANYGP_OK);
    assert_int_equal(table_read(path, NULL, &t, &e), ANYGP_OK);
    assert_int_equal(t->rows, ROWS);
    assert_int_equal(t->cols, COLS);
    assert_memory_equal(t->values, values, ROWS * COLS * sizeof *values);
    for (int j = 0; named && j < COLS; j++) assert_string_equal(t->columns[j].name, names[j]);
    table_free(t);
    free(values);
    assert_int_equal(remove(path), 0);
}

static void every_format_reads_back_to_the_same_bits(void **state)
{
    (void)state;
    check_there_and_back("t.csv", true);
    check_there_and_back("t.csv", false);
    check_there_and_back("t.tsv", true);
    check_there_and_back("t.csv.gz", true);
    check_there_and_back("t.npy", false);
    check_there_and_back("t.h5", true);
    check_there_and_back("t.h5", false);
}

static void csv_is_plain(void **state)
{
    (void)state;
    writer *w;
    anygp_error e;
    const double rows[] = {1, 0.1, -2.5e-7, 1e22, NAN, 3};
    assert_int_equal(writer_open("p.csv", 3, (const char *[]){"a", "b", "c"}, &w, &e), ANYGP_OK);
    assert_int_equal(writer_rows(w, 2, rows, &e), ANYGP_OK);
    assert_int_equal(writer_close(w, &e), ANYGP_OK);
    check_contents("p.csv", "a,b,c\n1,0.1,-2.5e-7\n1e22,nan,3\n");
}

static void abandoned_and_failed_writers_leave_nothing(void **state)
{
    static const char *const paths[] = {"x.csv", "x.csv.gz", "x.npy", "x.h5"};
    (void)state;
    writer *w;
    anygp_error e;
    const double row[] = {1, 2};
    int before = names_here();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(writer_open(paths[i], 2, NULL, &w, &e), ANYGP_OK);
        assert_int_equal(writer_rows(w, 1, row, &e), ANYGP_OK);
        writer_abort(w);
    }
    assert_int_equal(names_here(), before);
    assert_int_equal(writer_open("nowhere/x.csv", 2, NULL, &w, &e), ANYGP_ERR_FILE);
    assert_null(w);
    assert_int_equal(writer_open("/dev/full", 2, NULL, &w, &e), ANYGP_OK);
    anygp_status status = writer_rows(w, 1, row, &e);
    if (ANYGP_FAILED(status))
        writer_abort(w);
    else
        status = writer_close(w, &e);
    assert_int_equal(status, ANYGP_ERR_FILE);
    writer_abort(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_appears_only_when_committed),
        cmocka_unit_test(permissions_and_links_are_kept),
        cmocka_unit_test(full_disk_is_a_sentence),
        cmocka_unit_test(places_that_cannot_be_written),
        cmocka_unit_test(what_a_killed_process_left_is_removed),
        cmocka_unit_test(every_format_reads_back_to_the_same_bits),
        cmocka_unit_test(csv_is_plain),
        cmocka_unit_test(abandoned_and_failed_writers_leave_nothing),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
