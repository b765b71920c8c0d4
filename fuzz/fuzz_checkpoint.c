/* The reader of checkpoints: bytes with their checksum put right, so that what lies behind it is reached; what comes is
   a sentence, or a checkpoint whose names are each of one type. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "params/checkpoint.h"

#ifndef FUZZ_ENTRY
#define FUZZ_ENTRY LLVMFuzzerTestOneInput
#endif

/* The names that the corpus uses, asked for as everything they could be. */
static void use_checkpoint(const checkpoint *c)
{
    static const char *const names[] = {"a", "b", "t", "adam.first", "no such name"};
    double values[4], number;
    int64_t integer;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t count = checkpoint_count(c, names[i]);
        const char *text = checkpoint_text(c, names[i]);
        if (text && (strlen(text) > 1 << 20 || count >= 0)) abort();
        if (count >= 0 && count <= 4 && !checkpoint_get(c, names[i], count, values)) abort();
        if (checkpoint_get_number(c, names[i], &number) && checkpoint_get_integer(c, names[i], &integer)) abort();
    }
}

int FUZZ_ENTRY(const uint8_t *data, size_t size);
int FUZZ_ENTRY(const uint8_t *data, size_t size)
{
    anygp_error e = {.text = ""};
    checkpoint *c;
    if (size == 0) return 0;
    uint8_t *bytes = malloc(size);
    FILE *f = bytes ? fmemopen(memcpy(bytes, data, size), size, "rb") : NULL;
    if (f) {
        uint64_t sum = size >= 8 ? XXH64(bytes, size - 8, 0) : 0;
        for (size_t i = 0; size >= 8 && i < 8; i++) bytes[size - 8 + i] = (uint8_t)(sum >> (8 * i));
        if (checkpoint_read_stream(f, "fuzz", &c, &e) == ANYGP_OK)
            use_checkpoint(c);
        else if (!e.text[0] || c)
            abort();
        checkpoint_free(c);
        fclose(f);
    }
    free(bytes);
    return 0;
}
