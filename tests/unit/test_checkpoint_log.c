/* What has changed since a checkpoint was written whole goes to a log beside it.  A log that ends anywhere, which is what a killed process
   leaves, is the checkpoint that was saved last before; one that was changed is refused. */
#include "data_support.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "params/checkpoint.h"

enum { COUNT = CHECKPOINT_LARGE + 5, EACH = 16, LOG_MOST = 1 << 14, RECORDS = 3, LOG_HEAD = 24, RECORD_HEAD = 24 };

/* A state that moves: a large array, and numbers beside it. */
typedef struct moving {
    double *v, *few; /* few: a number for each part */
    int64_t count, t;
    changes parts;
    checkpoint_trail trail;
} moving;

static void begin_state(moving *s, int64_t count)
{
    *s = (moving){.v = calloc((size_t)count, sizeof *s->v), .count = count};
    assert_true(changes_init(&s->parts, (count + EACH - 1) / EACH));
    s->few = calloc((size_t)s->parts.parts, sizeof *s->few);
    assert_true(s->v && s->few);
}

static void end_state(moving *s)
{
    free(s->v);
    free(s->few);
    changes_clear(&s->parts);
}

/* A step moves two parts, the last of all every other time. */
static void move_state(moving *s)
{
    int64_t part[2] = {(7 * s->t) % s->parts.parts, s->t % 2 ? s->parts.parts - 1 : 11};
    s->t++;
    for (int k = 0; k < 2; k++) {
        changes_mark(&s->parts, part[k]);
        s->few[part[k]] += 1;
        for (int64_t i = part[k] * EACH; i < (part[k] + 1) * EACH && i < s->count; i++)
            s->v[i] += 0.1 * (double)(s->t + i);
    }
}

static anygp_status save_state(moving *s, bool *whole, anygp_error *e)
{
    checkpoint *c = checkpoint_new();
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)s->t, "abcdefgh");
    checkpoint_put_integer(c, "t", s->t);
    checkpoint_put_parts(c, "v", s->count, s->v, EACH, &s->parts);
    checkpoint_put_parts(c, "few", s->parts.parts, s->few, 1, &s->parts);
    checkpoint_put_text(c, "text", text);
    anygp_status status = checkpoint_save(c, &s->trail, "state", whole, e);
    checkpoint_free(c);
    return status;
}

static bool saved_whole(moving *s)
{
    anygp_error e = {.text = ""};
    bool whole;
    if (save_state(s, &whole, &e)) fail_msg("%s", e.text);
    assert_int_equal(s->parts.count, 0);
    return whole;
}

/* The state of step t, as it should come back. */
static void check_read(int64_t count, int64_t t, bool on_disk)
{
    anygp_error e = {.text = ""};
    checkpoint *c;
    moving s;
    int64_t is;
    double *v = calloc((size_t)count, sizeof *v);
    begin_state(&s, count);
    while (s.t < t) move_state(&s);
    if (checkpoint_read("state", on_disk, &c, &e)) fail_msg("%s", e.text);
    assert_true(checkpoint_get_integer(c, "t", &is));
    assert_int_equal(is, t);
    assert_int_equal(strlen(checkpoint_text(c, "text")), t < 8 ? t : 8);
    assert_true(checkpoint_get(c, "v", count, v));
    assert_memory_equal(v, s.v, (size_t)count * sizeof *v);
    assert_true(checkpoint_get(c, "few", s.parts.parts, v));
    assert_memory_equal(v, s.few, (size_t)s.parts.parts * sizeof *v);
    checkpoint_free(c);
    free(v);
    end_state(&s);
}

static size_t bytes_of(const char *path, unsigned char *bytes, size_t most)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, most, f);
    fclose(f);
    return n;
}

/* A file of its own, since some file systems write one that is cut and filled again to the disk at once. */
static void put_log(const unsigned char *log, size_t size)
{
    unlink("state.log");
    put_file("state.log", log, size);
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

/* A whole one after the first step and a record after each of RECORDS more; where each ends in the log. */
static size_t make_log(unsigned char log[LOG_MOST], int64_t end[RECORDS + 1])
{
    moving s;
    checkpoint_remove("state");
    begin_state(&s, COUNT);
    move_state(&s);
    assert_true(saved_whole(&s));
    assert_int_equal(size_of("state.log"), -1);
    end[0] = 0;
    for (int k = 1; k <= RECORDS; k++) {
        move_state(&s);
        assert_false(saved_whole(&s));
        end[k] = size_of("state.log");
        assert_true(end[k] > end[k - 1]);
    }
    end_state(&s);
    return bytes_of("state.log", log, LOG_MOST);
}

static void changes_come_back_bit_by_bit(void **state)
{
    (void)state;
    unsigned char log[LOG_MOST];
    int64_t end[RECORDS + 1];
    make_log(log, end);
    check_read(COUNT, 1 + RECORDS, false);
    check_read(COUNT, 1 + RECORDS, true);
}

static void a_log_that_ends_anywhere_is_the_checkpoint_before(void **state)
{
    (void)state;
    unsigned char log[LOG_MOST];
    int64_t end[RECORDS + 1], done = 0;
    size_t n = make_log(log, end);
    for (size_t size = 0; size <= n; size++) {
        while (done < RECORDS && (int64_t)size >= end[done + 1]) done++;
        put_log(log, size);
        check_read(COUNT, 1 + done, false);
    }
    assert_int_equal(done, RECORDS);
    memset(log + end[2], 0,
           (size_t)(end[3] - end[2])); /* a file system may leave zeros in place of what was not written */
    put_log(log, n);
    check_read(COUNT, RECORDS, false);
}

static void refuse(const char *words)
{
    anygp_error e = {.text = ""};
    checkpoint *c = (checkpoint *)&e;
    assert_int_equal(checkpoint_read("state", false, &c, &e), ANYGP_ERR_FILE);
    if (!strstr(e.text, words)) fail_msg("%s", e.text);
    assert_null(c);
}

static void any_flipped_bit_of_the_log_is_refused(void **state)
{
    (void)state;
    unsigned char log[LOG_MOST];
    int64_t end[RECORDS + 1];
    size_t n = make_log(log, end);
    for (size_t i = 0; i < n; i++) {
        unsigned char bit = (unsigned char)(1 << i % 8);
        log[i] ^= bit;
        put_log(log, n);
        refuse("the checkpoint state is damaged: ");
        log[i] ^= bit;
    }
    put_log(log, n);
    check_read(COUNT, 1 + RECORDS, false);
}

static uint64_t word_at(const unsigned char *at)
{
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | at[i];
    return word;
}

static void put_word(unsigned char *at, uint64_t word)
{
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(word >> (8 * i));
}

/* With checksums that are right, so that each check is reached. */
static void lies_in_the_log_with_right_checksums_are_refused(void **state)
{
    (void)state;
    enum { BODY = LOG_HEAD + RECORD_HEAD, T = BODY + 8, V = T + 48 + 8 };
    static const struct {
        int at;
        uint64_t word;
        const char *words;
    } lies[] = {
        {BODY, 5, "cut short"},
        {BODY, 3, "bytes after the last entry"},
        {T, 'u', "another name or type"},
        {T, 0, "name in it is not valid"},
        {T + 32, 0, "another name or type"},
        {T + 32, 4, "no known type"},
        {T + 40, 2, "no known type"},
        {V, 'w', "an array that is not there"},
        {V + 40, COUNT - 1, "an array that is not there"},
        {V + 40, UINT64_MAX, "an array that is not there"},
        {V + 48, 0, "parts that do not fit"},
        {V + 48, COUNT + 1, "parts that do not fit"},
        {V + 48, UINT64_MAX, "parts that do not fit"},
        {V + 56, UINT64_MAX, "parts that do not fit"},
        {V + 64, COUNT / EACH + 1, "parts that do not fit"},
        {V + 64, UINT64_MAX, "parts that do not fit"},
    };
    unsigned char log[LOG_MOST], changed[LOG_MOST];
    int64_t end[RECORDS + 1];
    make_log(log, end);
    uint64_t base = word_at(log + 8);
    assert_int_equal(word_at(log + V), 'v');
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(changed, log, sizeof log);
        put_word(changed + lies[i].at, lies[i].word);
        put_word(changed + end[1] - 8, XXH64(changed + LOG_HEAD, (size_t)end[1] - 8 - LOG_HEAD, base));
        put_log(changed, (size_t)end[1]);
        refuse(lies[i].words);
    }
}

static void a_log_of_an_earlier_file_does_not_count(void **state)
{
    (void)state;
    unsigned char log[LOG_MOST];
    int64_t end[RECORDS + 1];
    size_t n = make_log(log, end);
    moving s;
    begin_state(&s, COUNT);
    while (s.t < 6) move_state(&s);
    assert_true(saved_whole(&s)); /* another process, which has not read it */
    assert_int_equal(size_of("state.log"), -1);
    put_log(log, n); /* killed before it could be removed */
    check_read(COUNT, 6, false);
    move_state(&s);
    assert_false(saved_whole(&s));
    check_read(COUNT, 7, false);
    end_state(&s);
}

static void a_log_that_would_be_larger_than_the_file_makes_a_new_file(void **state)
{
    (void)state;
    moving s;
    int folds = 0;
    begin_state(&s, COUNT);
    checkpoint_remove("state");
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < 100; i++) move_state(&s);
        bool whole = saved_whole(&s);
        folds += whole;
        assert_true(size_of("state.log") <= size_of("state") + 100);
        assert_true(whole == (size_of("state.log") < 0));
        if (k % 5 == 4) check_read(COUNT, s.t, false);
    }
    assert_in_range(folds, 2, 4);
    end_state(&s);
}

static void bytes_of_a_change_do_not_grow_with_the_array(void **state)
{
    (void)state;
    int64_t bytes[2];
    for (int k = 0; k < 2; k++) {
        moving s;
        begin_state(&s, k ? 100 * COUNT : COUNT);
        assert_true(saved_whole(&s));
        s.t = 2;
        move_state(&s);
        assert_false(saved_whole(&s));
        bytes[k] = size_of("state.log");
        end_state(&s);
    }
    assert_int_equal(bytes[0], bytes[1]);
}

static void files_that_someone_took_away_are_written_anew(void **state)
{
    (void)state;
    moving s;
    begin_state(&s, COUNT);
    checkpoint_remove("state");
    move_state(&s), assert_true(saved_whole(&s));
    move_state(&s), assert_false(saved_whole(&s));
    unlink("state.log");
    move_state(&s), assert_true(saved_whole(&s));
    move_state(&s), assert_false(saved_whole(&s));
    unlink("state");
    move_state(&s), assert_true(saved_whole(&s));
    check_read(COUNT, s.t, false);
    checkpoint_remove("state");
    assert_true(size_of("state") < 0 && size_of("state.log") < 0);
    end_state(&s);
}

/* A limit on the size of files stands for a full disk: the log stays as it was, and the next checkpoint has what this one had. */
static void a_change_that_cannot_be_written_is_written_next_time(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    struct rlimit before, low;
    moving s;
    bool whole;
    checkpoint_remove("state");
    begin_state(&s, COUNT);
    move_state(&s), assert_true(saved_whole(&s));
    for (int k = 0; k < 3; k++) move_state(&s), assert_false(saved_whole(&s));
    int64_t size = size_of("state.log");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before, low.rlim_cur = (rlim_t)size + 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    move_state(&s);
    anygp_status status = save_state(&s, &whole, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "state.log cannot be written"));
    assert_int_equal(size_of("state.log"), size);
    assert_int_equal(s.parts.count, 2);
    check_read(COUNT, s.t - 1, false);
    move_state(&s), assert_false(saved_whole(&s));
    check_read(COUNT, s.t, false);
    end_state(&s);
}

static void parts_that_do_not_fit_show_in_the_write(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    moving s;
    bool whole;
    checkpoint_trail trail = {0};
    begin_state(&s, COUNT);
    checkpoint *c = checkpoint_new();
    checkpoint_put_parts(c, "v", COUNT, s.v, 2 * EACH, &s.parts);
    assert_int_equal(checkpoint_save(c, &trail, "unwritten", &whole, &e), ANYGP_ERR_INTERNAL);
    assert_int_equal(size_of("unwritten"), -1);
    checkpoint_free(c);
    assert_int_equal(checkpoint_save(NULL, &trail, "unwritten", &whole, &e), ANYGP_ERR_MEMORY);
    end_state(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_come_back_bit_by_bit),
        cmocka_unit_test(a_log_that_ends_anywhere_is_the_checkpoint_before),
        cmocka_unit_test(any_flipped_bit_of_the_log_is_refused),
        cmocka_unit_test(lies_in_the_log_with_right_checksums_are_refused),
        cmocka_unit_test(a_log_of_an_earlier_file_does_not_count),
        cmocka_unit_test(a_log_that_would_be_larger_than_the_file_makes_a_new_file),
        cmocka_unit_test(bytes_of_a_change_do_not_grow_with_the_array),
        cmocka_unit_test(files_that_someone_took_away_are_written_anew),
        cmocka_unit_test(a_change_that_cannot_be_written_is_written_next_time),
        cmocka_unit_test(parts_that_do_not_fit_show_in_the_write),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
