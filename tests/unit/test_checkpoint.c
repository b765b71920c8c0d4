#include "data_support.h"

#include <sys/stat.h>

#include <xxhash.h>

#include "params/checkpoint.h"

enum { FILE_MOST = 4096, HEAD = 16, ENTRY = 48, ARRAY_AT = HEAD, NUMBER_AT = ARRAY_AT + ENTRY + 24 };

static const double VALUES[3] = {-0.0, 0x1.fffffffffffffp-1022, INFINITY};

static checkpoint *small_checkpoint(void)
{
    checkpoint *c = checkpoint_new();
    assert_non_null(c);
    checkpoint_put(c, "q.theta1", 3, VALUES);
    checkpoint_put_number(c, "rho", 0.1);
    checkpoint_put_integer(c, "seed", INT64_MIN + 1);
    checkpoint_put_text(c, "settings", "kernel=rbf;model=pic+");
    return c;
}

static size_t bytes_of(const char *path, unsigned char *bytes)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(bytes, 1, FILE_MOST, f);
    fclose(f);
    return n;
}

/* Writes the small checkpoint to "small" and hands back its bytes. */
static size_t small_bytes(unsigned char *bytes)
{
    anygp_error e;
    checkpoint *c = small_checkpoint();
    assert_int_equal(checkpoint_write(c, "small", &e), ANYGP_OK);
    checkpoint_free(c);
    return bytes_of("small", bytes);
}

static void put_word(unsigned char *at, uint64_t word)
{
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(word >> (8 * i));
}

static void seal(unsigned char *bytes, size_t size) { put_word(bytes + size - 8, XXH64(bytes, size - 8, 0)); }

static void check_refused_bytes_at(const unsigned char *bytes, size_t size, const char *words, int line)
{
    anygp_error e = {.text = ""};
    checkpoint *c = (checkpoint *)&e;
    FILE *f = fmemopen((void *)(uintptr_t)bytes, size, "rb");
    assert_non_null(f);
    anygp_status status = checkpoint_read_stream(f, "changed", &c, &e);
    fclose(f);
    if (status != ANYGP_ERR_FILE || !strstr(e.text, words)) print_error("line %d: %d, '%s'\n", line, status, e.text);
    _assert_true(status == ANYGP_ERR_FILE && strstr(e.text, words) && strstr(e.text, "changed") && !c, words, __FILE__,
                 line);
}
#define check_refused_bytes(bytes, size, words) check_refused_bytes_at((bytes), (size), (words), __LINE__)

/* ------------------------------------------------------------------------------------ there and back */

static void what_was_put_comes_back_bit_by_bit(void **state)
{
    (void)state;
    unsigned char bytes[FILE_MOST];
    double values[3], number;
    int64_t integer;
    anygp_error e;
    checkpoint *c;
    small_bytes(bytes);
    assert_int_equal(checkpoint_read("small", false, &c, &e), ANYGP_OK);
    assert_int_equal(checkpoint_count(c, "q.theta1"), 3);
    assert_true(checkpoint_get(c, "q.theta1", 3, values));
    assert_memory_equal(values, VALUES, sizeof values);
    assert_true(checkpoint_get_number(c, "rho", &number) && number == 0.1);
    assert_true(checkpoint_get_integer(c, "seed", &integer) && integer == INT64_MIN + 1);
    assert_string_equal(checkpoint_text(c, "settings"), "kernel=rbf;model=pic+");
    checkpoint_free(c);
}

static void other_names_sizes_and_types_are_not_there(void **state)
{
    (void)state;
    checkpoint *c = small_checkpoint();
    double values[4] = {7, 7, 7, 7};
    int64_t integer = 7;
    assert_false(checkpoint_get(c, "q.theta1", 2, values));
    assert_false(checkpoint_get(c, "q.theta1", 4, values));
    assert_false(checkpoint_get(c, "q.theta2", 3, values));
    assert_false(checkpoint_get(c, "seed", 1, values));
    assert_false(checkpoint_get_number(c, "seed", values));
    assert_false(checkpoint_get_integer(c, "rho", &integer));
    assert_null(checkpoint_text(c, "rho"));
    assert_int_equal(checkpoint_count(c, "settings"), -1);
    assert_int_equal(checkpoint_count(c, "nothing"), -1);
    assert_true(values[0] == 7 && integer == 7);
    checkpoint_free(c);
}

static void empty_things_come_back_empty(void **state)
{
    (void)state;
    anygp_error e;
    checkpoint *c = checkpoint_new(), *back;
    assert_int_equal(checkpoint_write(c, "empty", &e), ANYGP_OK);
    assert_int_equal(checkpoint_read("empty", false, &back, &e), ANYGP_OK);
    assert_int_equal(checkpoint_count(back, "a"), -1);
    checkpoint_free(back);
    checkpoint_put(c, "a", 0, NULL);
    checkpoint_put_text(c, "name of thirty-one characters..", "");
    assert_int_equal(checkpoint_write(c, "empty", &e), ANYGP_OK);
    assert_int_equal(checkpoint_read("empty", false, &back, &e), ANYGP_OK);
    assert_int_equal(checkpoint_count(back, "a"), 0);
    assert_true(checkpoint_get(back, "a", 0, NULL));
    assert_string_equal(checkpoint_text(back, "name of thirty-one characters.."), "");
    checkpoint_free(back);
    checkpoint_free(c);
    checkpoint_free(NULL);
}

static void same_contents_have_the_same_bytes(void **state)
{
    (void)state;
    unsigned char a[FILE_MOST], b[FILE_MOST];
    size_t n = small_bytes(a);
    assert_int_equal(small_bytes(b), n);
    assert_memory_equal(a, b, n);
}

/* --------------------------------------------------------------------------------- failures of writing */

static void check_not_written(checkpoint *c, anygp_status status, const char *words)
{
    anygp_error e = {.text = ""};
    assert_int_equal(checkpoint_write(c, "unwritten", &e), status);
    assert_non_null(strstr(e.text, words));
    assert_int_equal(access("unwritten", F_OK), -1);
    checkpoint_free(c);
}

static void failure_of_a_put_shows_in_the_write(void **state)
{
    (void)state;
    checkpoint *c = small_checkpoint();
    checkpoint_put_number(c, "rho", 0.2);
    checkpoint_put_number(c, "tau", 0.2);
    check_not_written(c, ANYGP_ERR_INTERNAL, "'rho' twice");
    checkpoint_put_number(c = checkpoint_new(), "a name of thirty-two characters!", 1);
    check_not_written(c, ANYGP_ERR_INTERNAL, "1 to 31 characters");
    checkpoint_put_number(c = checkpoint_new(), "", 1);
    check_not_written(c, ANYGP_ERR_INTERNAL, "1 to 31 characters");
    checkpoint_put(c = checkpoint_new(), "huge", INT64_MAX / 2, VALUES);
    check_not_written(c, ANYGP_ERR_MEMORY, "memory");
    checkpoint_put_number(NULL, "rho", 1);
    check_not_written(NULL, ANYGP_ERR_MEMORY, "memory");
}

/* Two for each of the classes that a target may have. */
static void any_number_of_names_comes_back(void **state)
{
    (void)state;
    enum { NAMES = 20000 };
    char name[16];
    int64_t integer;
    anygp_error e;
    checkpoint *c = checkpoint_new(), *back;
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%d", i);
        checkpoint_put_integer(c, name, -i);
    }
    assert_int_equal(checkpoint_write(c, "many", &e), ANYGP_OK);
    assert_int_equal(checkpoint_read("many", false, &back, &e), ANYGP_OK);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_true(checkpoint_get_integer(back, name, &integer) && integer == -i);
    }
    checkpoint_free(c);
    checkpoint_free(back);
}

static void former_file_stays_when_the_new_one_cannot_be_written(void **state)
{
    (void)state;
    unsigned char before[FILE_MOST], after[FILE_MOST];
    anygp_error e = {.text = ""};
    size_t n = small_bytes(before);
    checkpoint *c = small_checkpoint();
    assert_int_equal(checkpoint_write(c, "no/such/directory", &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "no/such/directory"));
    if (access("/dev/full", W_OK) == 0) assert_int_equal(checkpoint_write(c, "/dev/full", &e), ANYGP_ERR_FILE);
    checkpoint_put_number(c, "step", 1);
    checkpoint_put_number(c, "step", 2);
    assert_int_equal(checkpoint_write(c, "small", &e), ANYGP_ERR_INTERNAL);
    assert_int_equal(bytes_of("small", after), n);
    assert_memory_equal(before, after, n);
    checkpoint_free(c);
}

/* --------------------------------------------------------------------------------- failures of reading */

static void file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[FILE_MOST];
    size_t n = small_bytes(bytes);
    for (size_t size = 1; size < n; size++) check_refused_bytes(bytes, size, size < 8 ? "not a checkpoint" : "damaged");
}

static void any_flipped_bit_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[FILE_MOST];
    size_t n = small_bytes(bytes);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            bytes[i] ^= (unsigned char)(1 << bit);
            check_refused_bytes(bytes, n, i < 8 ? "not a checkpoint" : "damaged");
            bytes[i] ^= (unsigned char)(1 << bit);
        }
}

static void bytes_behind_the_end_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[FILE_MOST] = {0};
    size_t n = small_bytes(bytes);
    check_refused_bytes(bytes, n + 1, "after its last entry");
    seal(bytes, n + 8);
    check_refused_bytes(bytes, n + 8, "after its last entry");
}

/* With a checksum that is right, so that each check is reached. */
static void lies_with_a_right_checksum_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t word;
        const char *words;
    } lies[] = {
        {8, 5, "cut short"},
        {8, 3, "after its last entry"},
        {8, UINT64_MAX, "too many entries"},
        {ARRAY_AT, 0, "name in it is not valid"},
        {ARRAY_AT + 24, 'x', "name in it is not valid"},
        {ARRAY_AT + 32, 3, "no known type"},
        {ARRAY_AT + 32, 1, "no known type"},
        {ARRAY_AT + 40, UINT64_MAX, "cut short"},
        {ARRAY_AT + 40, UINT64_C(1) << 61, "cut short"},
        {ARRAY_AT + 40, INT64_MAX, "cut short"},
        {ARRAY_AT + 40, 60, "cut short"},
    };
    unsigned char bytes[FILE_MOST], changed[FILE_MOST];
    size_t n = small_bytes(bytes);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(changed, bytes, n);
        put_word(changed + lies[i].at, lies[i].word);
        seal(changed, n);
        check_refused_bytes(changed, n, lies[i].words);
    }
    memcpy(changed, bytes, n);
    memcpy(changed + NUMBER_AT, changed + ARRAY_AT, 32);
    seal(changed, n);
    check_refused_bytes(changed, n, "comes twice");
    bytes[n - 8 - 4] = 0; /* inside the text, which is last */
    seal(bytes, n);
    check_refused_bytes(bytes, n, "text in it is not valid");
}

static void other_files_are_not_checkpoints(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    checkpoint *c;
    check_refused_bytes((const unsigned char *)"x,y\n1,2\n3,4\n", 12, "not a checkpoint");
    put_file("nothing", "", 0);
    assert_int_equal(checkpoint_read("nothing", false, &c, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "nothing is not a checkpoint"));
    assert_int_equal(checkpoint_read("missing", false, &c, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "missing"));
    assert_int_equal(mkdir("directory", 0777), 0);
    assert_int_equal(checkpoint_read("directory", false, &c, &e), ANYGP_ERR_FILE);
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_comes_back_bit_by_bit),
        cmocka_unit_test(other_names_sizes_and_types_are_not_there),
        cmocka_unit_test(empty_things_come_back_empty),
        cmocka_unit_test(same_contents_have_the_same_bytes),
        cmocka_unit_test(failure_of_a_put_shows_in_the_write),
        cmocka_unit_test(any_number_of_names_comes_back),
        cmocka_unit_test(former_file_stays_when_the_new_one_cannot_be_written),
        cmocka_unit_test(file_cut_anywhere_is_refused),
        cmocka_unit_test(any_flipped_bit_is_refused),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(lies_with_a_right_checksum_are_refused),
        cmocka_unit_test(other_files_are_not_checkpoints),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
