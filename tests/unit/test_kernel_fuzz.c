/* The corpus of the kernel fuzzer, through the same target. */
#include "support.h"

#include <dirent.h>
#include <string.h>

#include "../../fuzz/fuzz_kernel.c"

static int64_t run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, n);
    return 1;
}

static void corpus_parses_or_is_refused_with_a_sentence(void **state)
{
    (void)state;
    static const char folder[] = ANYGP_SOURCE_DIR "/fuzz/corpus/kernel";
    char path[8192];
    int64_t files = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        files += run_file(path);
    }
    closedir(d);
    assert_true(files >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_parses_or_is_refused_with_a_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
