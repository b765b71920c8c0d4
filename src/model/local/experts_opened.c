/* The part of a row of nle where updates have opened parts (experts.h).  A part is opened where a new row is farther from the centre of each part
   than twice its radius (experts_update.c): so the rows that were there before are nearer to their own centres than to the new
   one, and stay in their parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/distance.h"
#include "model/local/experts.h"
#include "model/local/vecchia.h"

int64_t experts_nearest_opened(int64_t d, const double *place, int64_t stride, const double *centre, int64_t part,
                               int64_t first, int64_t count)
{
    bool empty = centre[part * stride + d] < 0;
    double least = empty ? INFINITY : row_distance(d, place, centre + part * stride);
    for (int64_t k = first; k < count; k++) {
        double r = row_distance(d, place, centre + k * stride);
        if (r < least) least = r, part = k;
    }
    return part;
}

anygp_status experts_route(const experts_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t *block,
                           anygp_error *e)
{
    int64_t D = p->base.D, d;
    TRY(router_route(p->route, n, X, ldx, block, e));
    if (!p->opened) return ANYGP_OK;
    double *rows = mem_doubles(n, D), *places = NULL;
    for (int64_t i = 0; rows && i < n; i++) memcpy(rows + i * D, X + i * ldx, (size_t)D * sizeof *X);
    if (rows) places = vecchia_places(p->base.kernel, n, D, rows, &d);
    for (int64_t i = 0; places && i < n; i++)
        block[i] =
            experts_nearest_opened(d, places + i * d, d + 1, p->opened, block[i], router_blocks(p->route), p->count);
    bool ok = places != NULL;
    free(rows);
    free(places);
    return ok ? ANYGP_OK : fail_memory(e, "the parts of the rows", 16.0 * (double)n * (double)D);
}
