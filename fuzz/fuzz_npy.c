/* .npy and .npz, which is a zip of them: zip's first bytes tell. */
#include "fuzz_reader.h"

#ifndef FUZZ_ENTRY
#define FUZZ_ENTRY LLVMFuzzerTestOneInput
#endif

int FUZZ_ENTRY(const uint8_t *data, size_t size);
int FUZZ_ENTRY(const uint8_t *data, size_t size)
{
    return fuzz_reader(data, size, size > 1 && data[0] == 'P' ? "fuzz.npz" : "fuzz.npy");
}
