/* Every file of the fuzzers' corpora through the fuzz targets themselves, with any compiler. */
#include "support.h"

#include <dirent.h>
#include <string.h>

#define FUZZ_ENTRY fuzz_csv
#include "../../fuzz/fuzz_csv.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_npy
#include "../../fuzz/fuzz_npy.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_libsvm
#include "../../fuzz/fuzz_libsvm.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_idx
#include "../../fuzz/fuzz_idx.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_model
#include "../../fuzz/fuzz_model.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_checkpoint
#include "../../fuzz/fuzz_checkpoint.c"
#undef FUZZ_ENTRY
#define FUZZ_ENTRY fuzz_serve
#include "../../fuzz/fuzz_serve.c"
#undef FUZZ_ENTRY

enum { FILE_MOST = 1 << 20 };

static void run_file(const char *path, int (*target)(const uint8_t *, size_t))
{
    static uint8_t bytes[FILE_MOST];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(bytes, 1, FILE_MOST, f);
    fclose(f);
    uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees one byte too many */
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    target(exact, n);
    free(exact);
}

static void run_corpus(const char *name, int (*target)(const uint8_t *, size_t))
{
    char path[4096];
    int count = 0;
    snprintf(path, sizeof path, "%s/fuzz/corpus/%s", ANYGP_SOURCE_DIR, name);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/fuzz/corpus/%s/%s", ANYGP_SOURCE_DIR, name, entry->d_name);
        run_file(path, target);
        count++;
    }
    closedir(d);
    assert_true(count > 0);
}

static void corpus_of_csv(void **state) { (void)state, run_corpus("csv", fuzz_csv); }
static void corpus_of_npy(void **state) { (void)state, run_corpus("npy", fuzz_npy); }
static void corpus_of_libsvm(void **state) { (void)state, run_corpus("libsvm", fuzz_libsvm); }
static void corpus_of_idx(void **state) { (void)state, run_corpus("idx", fuzz_idx); }
static void corpus_of_model(void **state) { (void)state, run_corpus("model", fuzz_model); }
static void corpus_of_checkpoint(void **state) { (void)state, run_corpus("checkpoint", fuzz_checkpoint); }
static void corpus_of_serve(void **state) { (void)state, run_corpus("serve", fuzz_serve); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_of_csv),   cmocka_unit_test(corpus_of_npy),   cmocka_unit_test(corpus_of_libsvm),
        cmocka_unit_test(corpus_of_idx),   cmocka_unit_test(corpus_of_model), cmocka_unit_test(corpus_of_checkpoint),
        cmocka_unit_test(corpus_of_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
