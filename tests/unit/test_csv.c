#include "data_support.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include "base/threads.h"

static rows_read csv(const char *text) { return read_text(text, "t.csv"); }

static void delimiters_are_found(void **state)
{
    (void)state;
    rows_read t = csv("1,2,3\n4,5,6\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    assert_int_equal(t.target, 2);
    assert_int_equal(t.announced, -1);
    t = csv("1;2;3\n4;5;6\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    t = csv("1|2| 3\n4 |5|6\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    t = csv("1\t2\t3\n4\t5\t6\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    t = csv("  1   2 \t3\n4 5 6  \r\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    t = csv("1, 2 ,\t3\n 4 ,5, 6\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    t = csv("1\n2\n3\n");
    check_values(t, 3, 1, 1, 2, 3);
    t = read_text("a b\tc d\n1\t2\n", "t.tsv");
    check_values(t, 1, 2, 1, 2);
}

static void line_ends_of_every_kind(void **state)
{
    (void)state;
    rows_read t = csv("1,2\r\n3,4\r\n");
    check_values(t, 2, 2, 1, 2, 3, 4);
    t = csv("1,2\r3,4\r5,6");
    check_values(t, 3, 2, 1, 2, 3, 4, 5, 6);
    t = csv("1,2\n3,4");
    check_values(t, 2, 2, 1, 2, 3, 4);
    t = csv("\n\n1,2\n\n  \n3,4\n\r\n\n");
    check_values(t, 2, 2, 1, 2, 3, 4);
    t = csv("\xef\xbb\xbf"
            "1,2\n3,4\n");
    check_values(t, 2, 2, 1, 2, 3, 4);
}

static void missing_cells_are_nan(void **state)
{
    (void)state;
    rows_read t = csv("a,b,c\n1,,3\nNA,n/a,nan\n?,.,None\n4,5,6\n7,8,\n");
    check_values(t, 5, 3, 1, NAN, 3, NAN, NAN, NAN, NAN, NAN, NAN, 4, 5, 6, 7, 8, NAN);
}

static void check_names(const char *text, int64_t cols, const char *const *names)
{
    reader *r;
    read_bytes(text, strlen(text), "t.csv", NULL, 16, &r);
    assert_int_equal(reader_columns(r), cols);
    for (int64_t j = 0; j < cols; j++) {
        if (names[j])
            assert_string_equal(reader_column(r, j)->name, names[j]);
        else
            assert_null(reader_column(r, j)->name);
    }
    reader_close(r);
}

static void headers_are_found(void **state)
{
    (void)state;
    check_names("a,b\n1,2\n", 2, (const char *[]){"a", "b"});
    check_names("1,2\n3,4\n", 2, (const char *[]){NULL, NULL});
    check_names("age,2019,2020\n1,2,3\n4,5,6\n", 3, (const char *[]){"age", "2019", "2020"});
    check_names("colour,size\nred,large\nblue,small\n", 2, (const char *[]){"colour", "size"});
    check_names("red,1\nblue,2\n", 2, (const char *[]){NULL, NULL});
    check_names(",a,NA\n1,2,3\n", 3, (const char *[]){NULL, "a", "NA"});
    check_names("x,x,x_2,x\n1,2,3,4\n", 4, (const char *[]){"x", "x_2", "x_2_2", "x_3"});
    check_names("\"a, \"\"b\"\"\",\"c\nd\"\n1,2\n", 2, (const char *[]){"a, \"b\"", "c\nd"});
}

static void header_can_be_forced(void **state)
{
    (void)state;
    const char *text = "1,2\n3,4\n";
    read_options o = {.header = 1};
    rows_read t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 1, 2, 3, 4);
    text = "a,1\nb,2\n";
    o.header = 0;
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 0, 1, 1, 2);
}

static void texts_become_categories_in_order_of_appearance(void **state)
{
    (void)state;
    const char *text = "kind,x\nb,1\n\"a, \"\"q\"\"\",2\nb,3\nNA,4\n c ,5\n\"a, \"\"q\"\"\",6\n";
    reader *r;
    for (int64_t block = 1; block < 8; block++) {
        rows_read t = read_bytes(text, strlen(text), "t.csv", NULL, block, &r);
        check_values(t, 6, 2, 0, 1, 1, 2, 0, 3, NAN, 4, 2, 5, 1, 6);
        const column *c = reader_column(r, 0);
        assert_int_equal(c->kind, COLUMN_TEXT);
        assert_int_equal(c->levels, 3);
        assert_string_equal(c->level[0], "b");
        assert_string_equal(c->level[1], "a, \"q\"");
        assert_string_equal(c->level[2], "c");
        assert_int_equal(reader_column(r, 1)->kind, COLUMN_NUMBER);
        assert_int_equal(reader_row_number(r), 6);
        reader_close(r);
    }
}

/* The first column, which is called k, is text; the others are found out. */
static anygp_status first_is_text(const void *ctx, const column *columns, int64_t cols, column_wish *wish,
                                  anygp_error *e)
{
    (void)ctx, (void)cols, (void)e;
    if (!strcmp(columns[0].name, "k")) wish[0].kind = COLUMN_TEXT;
    return ANYGP_OK;
}

static anygp_status all_numbers(const void *ctx, const column *columns, int64_t cols, column_wish *wish, anygp_error *e)
{
    (void)ctx, (void)columns, (void)e;
    for (int64_t j = 0; j < cols; j++) wish[j].kind = COLUMN_NUMBER;
    return ANYGP_OK;
}

static void kinds_can_be_forced(void **state)
{
    (void)state;
    const char *text = "k,x\n3,1\n2,2\n3,3\n";
    read_options o = {.header = -1, .wishes = first_is_text};
    rows_read t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 3, 2, 0, 1, 1, 2, 0, 3);
    o.wishes = all_numbers;
    text = "k,x\na,1\nb,2\n";
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_refused(t, "'a' is not a number");
}

static anygp_status any_notation(const void *ctx, const column *columns, int64_t cols, column_wish *wish,
                                 anygp_error *e)
{
    (void)ctx, (void)columns, (void)e;
    for (int64_t j = 0; j < cols; j++)
        wish[j].notations = NOTATION_BIT(NOTATION_DATE) | NOTATIONS_POINT | NOTATIONS_COMMA;
    return ANYGP_OK;
}

static void notations_are_found_from_the_first_rows(void **state)
{
    (void)state;
    read_options o = {.header = -1, .wishes = any_notation};
    const char *text = "d,p,m,g\n1970-01-02,5%,$1,950\n,10%,\"$1,000\",\"1,234.5\"\n1970-01-11,NA,2,7\n";
    reader *r;
    rows_read t = read_bytes(text, strlen(text), "t.csv", &o, 2, &r);
    check_values(t, 3, 4, 1, 5, 1, 950, NAN, 10, 1000, 1234.5, 10, NAN, 2, 7);
    assert_int_equal(reader_column(r, 0)->notation, NOTATION_DATE);
    assert_int_equal(reader_column(r, 3)->notation, NOTATION_GROUPED);
    assert_string_equal(reader_column(r, 3)->shown, "1,234.5");
    assert_int_equal(reader_column(r, 3)->shown_row, 1);
    reader_close(r);
    text = "x;y\n1,5;2\n0,25;3\n"; /* no group of three digits: a decimal comma */
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 1.5, 2, 0.25, 3);
    text = "x;y\n1,500;2\n0,250;3\n"; /* no group begins with 0 */
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 1.5, 2, 0.25, 3);
    text = "x;y\n1,500;2,750\n2,250;0,125\n"; /* another column tells */
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 1.5, 2.75, 2.25, 0.125);
    text = "x;y\n1,500;2.5\n2,250;3\n"; /* and here that commas are between thousands */
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 1500, 2.5, 2250, 3);
    text = "x;y\n1,500;2\n2,250;3\n"; /* either */
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 0, 2, 1, 3);
    o.decimal = ',';
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 1.5, 2, 2.25, 3);
    text = "x;y\n1.500;2\n0;3\n";
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_refused(t, "'1.500' is not a number with a decimal comma");
    o.decimal = 0;
    text = "d,y\n2024-01-01,1\n2024-01-02,2\nsoon,3\n";
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_refused(t, "'soon' is not a date");
    text = "2024-01-01,10%\n2024-01-02,20%\n"; /* no header */
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 19723, 10, 19724, 20);
}

static void lines_are_skipped_and_comments_passed_over(void **state)
{
    (void)state;
    read_options o = {.header = -1, .skip = 2, .comment = '#'};
    const char *text = "made by \"us\n\n# a \"comment\nx,y\n1,2\n # another\n\n#\n3,4\n#end";
    for (int64_t block = 1; block < 4; block++) {
        rows_read t = read_bytes(text, strlen(text), "t.csv", &o, block, NULL);
        check_values(t, 2, 2, 1, 2, 3, 4);
    }
    o.skip = 50;
    rows_read t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_refused(t, "--skip 50 leaves nothing");
    o.skip = 0, o.comment = 0;
    text = "k,x\n#1,1\n#2,2\n";
    t = read_bytes(text, strlen(text), "t.csv", &o, 8, NULL);
    check_values(t, 2, 2, 0, 1, 1, 2);
}

static void quoted_cells_hold_delimiters_and_line_ends(void **state)
{
    (void)state;
    rows_read t = csv("x,y,z\n\"1\",\"2\" , \"3\"\n4,\"5\",6\n");
    check_values(t, 2, 3, 1, 2, 3, 4, 5, 6);
    t = csv("x,y\n\"a\n,b\",1\nc,2\n\"a\n,b\",3\n");
    check_values(t, 3, 2, 0, 1, 1, 2, 0, 3);
    t = csv("x,y\n5\" pipe,1\nd,2\n");
    check_values(t, 2, 2, 0, 1, 1, 2);
}

static void mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    rows_read t = csv("age,y\n1,2\n\n3,4\nabc,5\n6,7\n8,9\n");
    check_refused(t, "t.csv, line 5 (data row 3), column 'age': 'abc' is not a number");
    t = csv("1,2\n3,4\n5,inf\n");
    check_refused(t, "line 3 (data row 3), column 1: 'inf' is not a finite number");
    t = csv("1,2\n3,1e999\n");
    check_refused(t, "line 2 (data row 2), column 1: '1e999' is not a finite number");
    t = csv("a,b,c\n1,2,3\n4,5\n6,7,8\n");
    check_refused(t, "line 3 (data row 2): 2 cells where 3 are expected");
    t = csv("a,b,c\n1,2,3\n4,5,6,7\n");
    check_refused(t, "4 cells where 3 are expected");
    t = csv("a,b\n1,2\n\"3,4\n5,6\n");
    check_refused(t, "line 3: a quote opened in this record is never closed");
    t = csv("a,b\n1,2\n\"3\"x,4\n5,6\n");
    check_refused(t, "the quote is not closed, or text follows it");
    t = csv("\"\"b\",2\n1,2\n");
    check_refused(t, "a quote in the first record");
    t = csv("a\n\"x\ny\"\n\"z\"\n\"w\nw\"w\n");
    check_refused(t, "line 5");
}

static void lines_are_counted_inside_quotes_too(void **state)
{
    (void)state;
    const char *text = "k,x\n\"a\nb\",1\n\n\"c\nd\",2\ne,oops\ne,3\ne,4\n";
    for (int64_t block = 1; block < 5; block++) {
        rows_read t = read_bytes(text, strlen(text), "t.csv", NULL, block, NULL);
        check_refused(t, "line 7 (data row 3), column 'x': 'oops'");
    }
}

static void files_without_rows_are_refused(void **state)
{
    (void)state;
    rows_read t = csv("");
    check_refused(t, "is empty");
    t = csv("\n\n  \n");
    check_refused(t, "is empty");
    t = csv("\xef\xbb\xbf");
    check_refused(t, "is empty");
    t = csv("a,b,c\n");
    check_refused(t, "no data rows");
    t = csv("a,b,c\n\n\n");
    check_refused(t, "no data rows");
    t = read_bytes("1,2\n3,\0\n", 8, "t.csv", NULL, 8, NULL);
    check_refused(t, "zero bytes");
    t = read_bytes("\xff\xfe"
                   "1\0,\0",
                   6, "t.csv", NULL, 8, NULL);
    check_refused(t, "UTF-16");
}

static void extreme_numbers_are_kept(void **state)
{
    (void)state;
    rows_read t = csv("1e308,1e-308,4.9e-324\n-1e308,+1.5D2,0\n");
    check_values(t, 2, 3, 1e308, 1e-308, 4.9e-324, -1e308, 150, 0);
}

/* ------------------------------------------------------------------------------------------- large ones */

static double cell_of(int64_t i, int64_t j) { return (double)((i * 37 + j * 11) % 2003) / 8 - 100; }

/* A table of known cells, with blank lines; with texts and quotes if asked for. */
static char *make_table(int64_t rows, int64_t cols, bool texts, size_t *size)
{
    char *text = malloc((size_t)(rows * (cols + 2) * 24)), *t = text;
    assert_non_null(text);
    for (int64_t i = 0; i < rows; i++) {
        if (i % 97 == 5) *t++ = '\n';
        for (int64_t j = 0; j < cols; j++) t += sprintf(t, "%s%.17g", j ? "," : "", cell_of(i, j));
        if (texts) t += sprintf(t, i % 3 ? ",k%d" : ",\"k%d\"", (int)(i * i % 1009));
        *t++ = '\n';
    }
    *size = (size_t)(t - text);
    return text;
}

static void check_large(bool texts, int64_t block)
{
    enum { ROWS = 30000, COLS = 5 };
    size_t size;
    char *text = make_table(ROWS, COLS, texts, &size);
    int64_t cols = COLS + texts, total = 0, got;
    double *rows = malloc((size_t)(block * cols) * sizeof *rows);
    reader *r;
    anygp_error e;
    assert_int_equal(reader_open_memory(text, size, "t.csv", NULL, &r, &e), ANYGP_OK);
    for (; assert_int_equal(reader_next(r, block, rows, &got, &e), ANYGP_OK), got > 0; total += got) {
        assert_true(got == block || total + got == ROWS);
        for (int64_t i = 0; i < got; i++) {
            for (int64_t j = 0; j < COLS; j++) assert_true(rows[i * cols + j] == cell_of(total + i, j));
            if (!texts) continue;
            char name[16];
            int64_t k = (total + i) * (total + i) % 1009;
            snprintf(name, sizeof name, "k%d", (int)k);
            assert_string_equal(reader_column(r, COLS)->level[(int64_t)rows[i * cols + COLS]], name);
        }
    }
    assert_int_equal(total, ROWS);
    reader_close(r);
    free(rows);
    free(text);
}

static void blocks_and_threads_do_not_change_the_rows(void **state)
{
    (void)state;
    int former = threads_enter(4);
    for (int texts = 0; texts < 2; texts++) {
        check_large(texts, 1000);
        check_large(texts, 40000);
    }
    threads_enter(1);
    check_large(false, 777);
    threads_enter(former);
}

static void mistake_far_into_the_file_has_its_line(void **state)
{
    (void)state;
    size_t size;
    char *text = make_table(20000, 4, false, &size);
    int64_t line = 1;
    char *p = text;
    for (; line < 15001; p++) line += *p == '\n';
    p = strchr(p, ',') + 1;
    *p = 'x';
    anygp_error e;
    reader *r;
    int64_t got;
    double *rows = malloc(20000 * 4 * sizeof *rows);
    assert_int_equal(reader_open_memory(text, size, "t.csv", NULL, &r, &e), ANYGP_OK);
    assert_int_equal(reader_next(r, 20000, rows, &got, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "line 15001 "));
    assert_non_null(strstr(e.text, "column 1: 'x"));
    reader_close(r);
    free(rows);
    free(text);
}

static void a_hundred_thousand_columns(void **state)
{
    (void)state;
    enum { WIDE = 100000 };
    char *text = malloc(WIDE * 40), *t = text;
    for (int j = 0; j < WIDE; j++) t += sprintf(t, "name %d%c", j, j == WIDE - 1 ? '\n' : ',');
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < WIDE; j++) t += sprintf(t, "%d%c", j + i, j == WIDE - 1 ? '\n' : ',');
    put_file("wide.csv", text, (size_t)(t - text));
    table *d;
    anygp_error e;
    assert_int_equal(table_read("wide.csv", NULL, &d, &e), ANYGP_OK);
    assert_int_equal(d->cols, WIDE);
    assert_int_equal(d->rows, 3);
    for (int j = 0; j < WIDE; j++) assert_true(d->values[2 * WIDE + j] == j + 2);
    assert_string_equal(d->columns[WIDE - 1].name, "name 99999");
    table_free(d);
    free(text);
}

/* ------------------------------------------------------------------------------------- files and pipes */

static void check_table(const char *path, int64_t rows, int64_t cols)
{
    table *d;
    anygp_error e;
    anygp_status status = table_read(path, NULL, &d, &e);
    if (ANYGP_FAILED(status)) print_error("%s\n", e.text);
    assert_int_equal(status, ANYGP_OK);
    assert_int_equal(d->rows, rows);
    assert_int_equal(d->cols, cols);
    assert_int_equal(d->target, cols - 1);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) assert_true(d->values[i * cols + j] == cell_of(i, j));
    table_free(d);
}

static void put_gzip(const char *name, const char *text, size_t size)
{
    gzFile z = gzopen(name, "w");
    assert_non_null(z);
    assert_true(gzwrite(z, text, (unsigned)size) == (int)size);
    gzclose(z);
}

static void plain_and_gzip_and_pipe_are_the_same(void **state)
{
    (void)state;
    size_t size;
    char *text = make_table(9000, 7, false, &size);
    put_file("t.csv", text, size);
    check_table("t.csv", 9000, 7);
    put_gzip("t.csv.gz", text, size);
    check_table("t.csv.gz", 9000, 7);
    assert_int_equal(rename("t.csv.gz", "t.dat"), 0); /* gzip is known by its bytes */
    check_table("t.dat", 9000, 7);
    int saved = dup(0), ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (size_t done = 0, k; done < size; done += k) {
            ssize_t n = write(ends[1], text + done, size - done < 5000 ? size - done : 5000);
            if (n < 0) _exit(1);
            k = (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], 0);
    close(ends[0]);
    check_table("-", 9000, 7);
    waitpid(child, NULL, 0);
    dup2(saved, 0);
    close(saved);
    free(text);
}

static void joined_and_damaged_gzip(void **state)
{
    (void)state;
    put_gzip("a.gz", "1,2\n", 4);
    put_gzip("b.gz", "3,4\n", 4);
    assert_int_equal(system("cat a.gz b.gz > ab.csv.gz"), 0);
    table *d;
    anygp_error e;
    assert_int_equal(table_read("ab.csv.gz", NULL, &d, &e), ANYGP_OK);
    assert_int_equal(d->rows, 2);
    assert_true(d->values[3] == 4);
    table_free(d);
    assert_int_equal(truncate("ab.csv.gz", 18), 0);
    assert_int_equal(table_read("ab.csv.gz", NULL, &d, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "cut short"));
    assert_null(d);
}

static void files_that_cannot_be_opened(void **state)
{
    (void)state;
    table *d;
    anygp_error e;
    assert_int_equal(table_read("nowhere/t.csv", NULL, &d, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "nowhere/t.csv"));
    assert_int_equal(table_read(".", NULL, &d, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "directory"));
}

/* ---------------------------------------------------------------------------------------------- columns */

static void columns_are_found_by_name_then_number(void **state)
{
    (void)state;
    column c[] = {{.name = "alpha"}, {.name = "beta"}, {.name = "1"}, {.name = "y"}};
    int64_t j;
    anygp_error e;
    assert_int_equal(column_find(c, 4, "beta", &j, &e), ANYGP_OK);
    assert_int_equal(j, 1);
    assert_int_equal(column_find(c, 4, "1", &j, &e), ANYGP_OK); /* a name goes before a number */
    assert_int_equal(j, 2);
    assert_int_equal(column_find(c, 4, "-1", &j, &e), ANYGP_OK);
    assert_int_equal(j, 3);
    assert_int_equal(column_find(c, 4, "0", &j, &e), ANYGP_OK);
    assert_int_equal(j, 0);
    assert_int_equal(column_find(c, 4, "4", &j, &e), ANYGP_ERR_DATA);
    assert_int_equal(column_find(c, 4, "-5", &j, &e), ANYGP_ERR_DATA);
    assert_int_equal(column_find(c, 4, "betta", &j, &e), ANYGP_ERR_DATA);
    assert_string_equal(e.text, "there is no column 'betta'; did you mean 'beta'? The columns are: alpha, beta, 1, y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delimiters_are_found),
        cmocka_unit_test(line_ends_of_every_kind),
        cmocka_unit_test(missing_cells_are_nan),
        cmocka_unit_test(headers_are_found),
        cmocka_unit_test(header_can_be_forced),
        cmocka_unit_test(texts_become_categories_in_order_of_appearance),
        cmocka_unit_test(kinds_can_be_forced),
        cmocka_unit_test(notations_are_found_from_the_first_rows),
        cmocka_unit_test(lines_are_skipped_and_comments_passed_over),
        cmocka_unit_test(quoted_cells_hold_delimiters_and_line_ends),
        cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(lines_are_counted_inside_quotes_too),
        cmocka_unit_test(files_without_rows_are_refused),
        cmocka_unit_test(extreme_numbers_are_kept),
        cmocka_unit_test(blocks_and_threads_do_not_change_the_rows),
        cmocka_unit_test(mistake_far_into_the_file_has_its_line),
        cmocka_unit_test(a_hundred_thousand_columns),
        cmocka_unit_test(plain_and_gzip_and_pipe_are_the_same),
        cmocka_unit_test(joined_and_damaged_gzip),
        cmocka_unit_test(files_that_cannot_be_opened),
        cmocka_unit_test(columns_are_found_by_name_then_number),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
