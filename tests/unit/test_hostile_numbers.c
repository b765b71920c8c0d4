/* Numbers in model files and checkpoints that no run has written, under a checksum that is right: what comes is a sentence, or
   finite predictions, marginal and joint. */
#include "data_support.h"

#include <ctype.h>

#include <xxhash.h>

#include "anygp/anygp.h"
#include "io/model_file.h"

enum { N = 40, D = 2, NEW = 3, DRAWS = 2, CHANGES_OF_A_MODEL = 160, CHANGES_OF_A_CHECKPOINT = 60, STEPS_MORE = 3 };

typedef struct scene {
    const char *model, *likelihood, *mean, *inducing, *others; /* others: NAME=VALUE, or "" */
} scene;

static const scene scenes[] = {
    {"exact", "gaussian", "linear", "", ""},
    {"fitc", "gaussian", "constant", "6", ""},
    {"pic", "gaussian", "zero", "6", "blocks=3"},
    {"vfe", "gaussian", "zero", "6", ""},
    {"pic+", "gaussian", "zero", "6", "blocks=3"},
    {"fitc+", "gaussian", "zero", "6", "learn=batch"},
    {"svgp", "heteroscedastic", "zero", "6", ""},
    {"svgp", "softmax", "zero", "6", ""},
    {"solve", "poisson", "zero", "4+3", ""},
    {"odvgp", "studentt", "zero", "4+3", ""},
    {"ivsgpr", "gaussian", "zero", "6", ""},
    {"svdgp", "gaussian", "linear", "12/5", "kernel=rbf"},
    {"svdgp-sga", "bernoulli", "zero", "12/5", "kernel=rbf"},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static uint64_t draw(uint64_t stream, uint64_t i, uint64_t below)
{
    uint64_t key[2] = {stream, i};
    return XXH64(key, sizeof key, 7) % below;
}

/* ------------------------------------------------------------------------------------------------ runs */

static anygp_data *make_data(const char *kind)
{
    double X[N * D], y[N];
    anygp_data *data = NULL;
    bool counts = !strcmp(kind, "poisson"), two = !strcmp(kind, "bernoulli"), three = !strcmp(kind, "softmax");
    for (int i = 0; i < N; i++) {
        X[i * D] = sin(3.0 * i), X[i * D + 1] = cos(2.0 * i);
        y[i] = X[i * D] * X[i * D + 1] + 0.1 * sin(40.0 * i);
        if (counts) y[i] = floor(3 + 2 * y[i]);
        if (two) y[i] = y[i] > 0;
        if (three) y[i] = i % 3;
    }
    assert_int_equal(anygp_data_new(N, D, X, D, y, NULL, &data, NULL), ANYGP_OK);
    return data;
}

/* The caller wants it to stop once it has been asked so many times after the start was found. */
static int count_down(void *ctx, const anygp_progress *p)
{
    int *left = ctx;
    return !strcmp(p->stage, "learning") && --*left <= 0;
}

static void set(anygp_settings *s, const char *name, const char *value)
{
    anygp_error e = {.text = ""};
    if (*value && anygp_set(s, name, value, &e) != ANYGP_OK) fail_msg("%s", e.text);
}

static anygp_status run_scene(const scene *c, bool resume, int *steps, anygp_model **m, anygp_error *e)
{
    anygp_settings *s = anygp_settings_new();
    anygp_data *data = make_data(c->likelihood);
    char other[32] = "", *value;
    set(s, "model", c->model), set(s, "likelihood", c->likelihood), set(s, "mean", c->mean);
    set(s, "inducing", c->inducing), set(s, "threads", "1"), set(s, "time", "20s"), set(s, "iters", "1000000");
    set(s, "checkpoint", resume ? "1000s" : "0s"), set(s, "output", "run.agp"), set(s, "resume", resume ? "yes" : "no");
    if (!strcmp(c->model, "exact")) set(s, "restarts", "50");
    snprintf(other, sizeof other, "%s", c->others);
    if ((value = strchr(other, '='))) *value++ = 0, set(s, other, value);
    anygp_on_progress(s, count_down, steps);
    anygp_status status = anygp_fit(s, data, m, e);
    anygp_settings_free(s);
    anygp_data_free(data);
    return status;
}

/* ----------------------------------------------------------------------------------------- predictions */

static void check_all(const char *what, anygp_status status, const anygp_error *e, int64_t n, const double *x)
{
    if (ANYGP_FAILED(status) && !e->text[0]) fail_msg("%s: refused without a sentence", what);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++)
        if (!isfinite(x[i])) fail_msg("%s: number %lld is %g", what, (long long)i, x[i]);
}

/* Near the data, between them and far away. */
static void check_predictions(const anygp_model *m)
{
    static const double X[NEW * D] = {0.1, 0.2, 0.5, -0.5, 30, -20};
    double mean[NEW], variance[NEW], cov[NEW * NEW], draws[NEW * DRAWS], P[NEW * 3];
    for (unsigned flags = 0; flags <= ANYGP_LATENT; flags += ANYGP_LATENT) {
        anygp_error e = {.text = ""};
        anygp_status status = anygp_predict(m, NEW, X, D, flags, mean, variance, &e);
        check_all("mean", status, &e, NEW, mean);
        check_all("variance", status, &e, NEW, variance);
        status = anygp_predict_joint(m, 0, NEW, X, D, flags, mean, cov, &e);
        check_all("joint mean", status, &e, NEW, mean);
        check_all("covariance", status, &e, NEW * NEW, cov);
        status = anygp_sample(m, 0, NEW, X, D, flags, 1, DRAWS, draws, &e);
        check_all("draws", status, &e, NEW * DRAWS, draws);
    }
    anygp_error e = {.text = ""};
    if (anygp_classes(m, 0) > 3) return;
    anygp_status status = anygp_predict_proba(m, 0, NEW, X, D, P, &e);
    check_all("probabilities", status, &e, NEW * anygp_classes(m, 0), P);
    char *text;
    for (int json = 0; json < 2; json++)
        if (anygp_info(m, json, &text, &e) == ANYGP_OK) anygp_text_free(text);
}

/* ---------------------------------------------------------------------------------------- model files */

typedef struct bytes {
    unsigned char *at;
    size_t size;
} bytes;

static const double wild[] = {0,        -0.0,   -1,      1,       -3.5,
                              1e300,    -1e300, 1e-300,  -1e-300, 1e17,
                              0x1p62,   0x1p63, -0x1p63, 1e155,   4503599627370497.5,
                              INFINITY, NAN};
enum { WILD = sizeof wild / sizeof *wild };

static uint64_t word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* One double behind the header becomes another. */
static void change_cell(bytes *b, uint64_t which)
{
    size_t data = 8 + word_at(b->at), cells = (b->size - data) / 8;
    unsigned char *cell = b->at + data + 8 * draw(1, which, cells);
    double x;
    memcpy(&x, cell, sizeof x);
    uint64_t k = draw(2, which, WILD + 3);
    x = k < WILD ? wild[k] : k == WILD ? -x : k == WILD + 1 ? x * 1e12 : x * 1e-12;
    memcpy(cell, &x, sizeof x);
}

static bool of_a_number(char c) { return isdigit((unsigned char)c) || (c && strchr("+-.e", c)); }

/* One number of the header, which is text, becomes another. */
static void change_text(bytes *b, uint64_t which)
{
    static const char *const texts[] = {"0",   "-1",   "1e300", "-1e300", "1e-300", "1e17", "9223372036854775807",
                                        "0.5", "1e999"};
    size_t length = word_at(b->at), count = 0, at[4096], end = 0;
    char *header = (char *)b->at + 8;
    for (size_t i = 1; i < length && count < 4096; i++) {
        if (!isdigit((unsigned char)header[i]) || !strchr(":,=[( ", header[i - 1])) continue;
        at[count++] = i;
        while (i < length && of_a_number(header[i])) i++;
    }
    size_t from = at[draw(3, which, count)];
    for (end = from; end < length && of_a_number(header[end]);) end++;
    const char *text = texts[draw(4, which, sizeof texts / sizeof *texts)];
    size_t added = strlen(text), now = length - (end - from) + added, padded = (now + 7) / 8 * 8;
    unsigned char *changed = malloc(b->size + 64);
    memcpy(changed + 8, header, from);
    memcpy(changed + 8 + from, text, added);
    memcpy(changed + 8 + from + added, header + end, length - end);
    memset(changed + 8 + now, ' ', padded - now);
    memcpy(changed + 8 + padded, b->at + 8 + length, b->size - 8 - length);
    memcpy(changed, &(uint64_t){padded}, 8);
    b->size = b->size - length + padded;
    free(b->at);
    b->at = changed;
}

static gp_set *read_sealed(bytes *b, anygp_error *e)
{
    char digits[17];
    int64_t place;
    gp_set *m = NULL;
    FILE *f = fmemopen(b->at, b->size, "rb");
    assert_non_null(f);
    if (model_file_checksum(f, digits, &place)) memcpy(b->at + place, digits, 16);
    if (model_file_read_stream(f, "changed", 0, &m, e) != ANYGP_OK) m = NULL;
    fclose(f);
    return m;
}

static bytes written(const anygp_model *m)
{
    char *at = NULL;
    size_t size = 0;
    anygp_error e = {.text = ""};
    FILE *f = open_memstream(&at, &size);
    assert_non_null(f);
    if (model_file_write_stream(m, f, &e) != ANYGP_OK) fail_msg("%s", e.text);
    fclose(f);
    return (bytes){(unsigned char *)at, size};
}

static void changed_model_files_are_refused_or_predict_finite_numbers(void **state)
{
    (void)state;
    int read = 0, refused = 0;
    for (int c = 0; c < SCENES; c++) {
        anygp_model *m = NULL;
        anygp_error e = {.text = ""};
        int steps = 4;
        if (ANYGP_FAILED(run_scene(&scenes[c], false, &steps, &m, &e))) fail_msg("%s: %s", scenes[c].model, e.text);
        bytes whole = written(m);
        anygp_model_free(m);
        for (uint64_t k = 0; k < CHANGES_OF_A_MODEL; k++) {
            uint64_t which = (uint64_t)c * CHANGES_OF_A_MODEL + k;
            bytes b = {memcpy(malloc(whole.size), whole.at, whole.size), whole.size};
            k % 2 ? change_cell(&b, which) : change_text(&b, which);
            e.text[0] = 0;
            gp_set *changed = read_sealed(&b, &e);
            if (changed)
                check_predictions(changed), gp_set_free(changed), read++;
            else
                assert_true(e.text[0]), refused++;
            free(b.at);
        }
        free(whole.at);
    }
    assert_true(read > SCENES && refused > SCENES); /* both roads were taken */
}

/* ---------------------------------------------------------------------------------------- checkpoints */

static bytes file_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    bytes b = {.size = (size_t)ftell(f)};
    rewind(f);
    b.at = malloc(b.size);
    assert_int_equal(fread(b.at, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

enum { HEAD = 16, ENTRY = 48, ARRAY = 0, INTEGER = 1 };

/* The payload of entry `wanted` of those that are numbers; NULL: there are not so many. */
static unsigned char *payload_of(const bytes *b, uint64_t wanted, uint64_t *type, uint64_t *length)
{
    for (size_t at = HEAD; at + ENTRY + 8 <= b->size;) {
        *type = word_at(b->at + at + 32), *length = word_at(b->at + at + 40);
        bool number = *type == ARRAY || *type == INTEGER;
        if (number && *length > 0 && wanted-- == 0) return b->at + at + ENTRY;
        at += ENTRY + *length * (number ? 8 : 1);
    }
    return NULL;
}

static void change_checkpoint(bytes *b, uint64_t which)
{
    static const int64_t counters[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX - 1, INT64_C(1) << 51, 0, 1000};
    uint64_t type = 0, length = 0, entries = 0;
    while (payload_of(b, entries, &type, &length)) entries++;
    unsigned char *cell = payload_of(b, draw(5, which, entries), &type, &length);
    cell += 8 * draw(6, which, length);
    if (type == INTEGER)
        memcpy(cell, &counters[draw(7, which, sizeof counters / sizeof *counters)], 8);
    else
        memcpy(cell, &wild[draw(8, which, WILD)], 8);
    uint64_t sum = XXH64(b->at, b->size - 8, 0);
    memcpy(b->at + b->size - 8, &sum, 8);
}

static void changed_checkpoints_are_refused_or_lead_to_finite_predictions(void **state)
{
    (void)state;
    int resumed = 0, refused = 0;
    for (int c = 0; c < SCENES; c++) {
        anygp_model *m = NULL;
        anygp_error e = {.text = ""};
        int steps = 6;
        if (ANYGP_FAILED(run_scene(&scenes[c], false, &steps, &m, &e))) fail_msg("%s: %s", scenes[c].model, e.text);
        anygp_model_free(m);
        bytes whole = file_of("run.agp.checkpoint");
        for (uint64_t k = 0; k < CHANGES_OF_A_CHECKPOINT; k++) {
            bytes b = {memcpy(malloc(whole.size), whole.at, whole.size), whole.size};
            change_checkpoint(&b, (uint64_t)c * CHANGES_OF_A_CHECKPOINT + k);
            put_file("run.agp.checkpoint", (const char *)b.at, b.size);
            free(b.at);
            e.text[0] = 0, m = NULL, steps = STEPS_MORE;
            if (ANYGP_FAILED(run_scene(&scenes[c], true, &steps, &m, &e))) {
                assert_true(e.text[0]), refused++;
                continue;
            }
            bytes saved = written(m);
            gp_set *again = read_sealed(&saved, &e);
            if (!again) fail_msg("%s: %s", scenes[c].model, e.text);
            check_predictions(again), resumed++;
            gp_set_free(again);
            anygp_model_free(m);
            free(saved.at);
        }
        free(whole.at);
    }
    assert_true(resumed > SCENES && refused > SCENES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_model_files_are_refused_or_predict_finite_numbers),
        cmocka_unit_test(changed_checkpoints_are_refused_or_lead_to_finite_predictions),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
