/* Which places on the borders each cell of patchwork has (patchwork.h). */
#include "model/local/patchwork.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

void patch_borders_clear(patch_borders *b)
{
    border_points_clear(&b->at);
    free(b->start);
    free(b->place);
    free(b->sign);
    *b = (patch_borders){0};
}

anygp_status patch_borders_index(patch_borders *b, int64_t D, int64_t P, anygp_error *e)
{
    int64_t q = b->at.count;
    b->D = D, b->cells = P;
    b->start = mem_zeroed(P + 2, sizeof *b->start);
    b->place = mem_alloc(2 * q, sizeof *b->place), b->sign = mem_alloc(2 * q, sizeof *b->sign);
    if (!b->start || !b->place || !b->sign) {
        patch_borders_clear(b);
        return fail_memory(e, "the borders of the cells", 32.0 * (double)q);
    }
    for (int64_t i = 0; i < 2 * q; i++) b->start[(int64_t)b->at.side[i] + 2]++; /* counts, then first places: */
    for (int64_t k = 0; k < P; k++) b->start[k + 2] += b->start[k + 1];
    for (int64_t i = 0; i < 2 * q; i++) {
        int64_t to = b->start[(int64_t)b->at.side[i] + 1]++;
        b->place[to] = i / 2, b->sign[to] = i % 2 ? -1 : 1;
    }
    for (int64_t k = 0; k < P; k++)
        if (patch_places(b, k) > b->largest) b->largest = patch_places(b, k);
    return ANYGP_OK;
}

void patch_places_of(const patch_borders *b, int64_t k, double *X)
{
    for (int64_t i = 0; i < patch_places(b, k); i++)
        memcpy(X + i * b->D, b->at.X + b->place[b->start[k] + i] * b->D, (size_t)b->D * sizeof *X);
}

bool patch_factor(int64_t q, double jitter, double mean, double *S)
{
    for (int64_t i = 0; i < q; i++) S[i + i * q] += jitter * mean;
    return la_factor(q, S, q);
}
