#include "data/rows_inside.h"

anygp_status rows_blocks(rows *r, const rows_part *part, const dataset *sample, const block_plan *plan,
                         row_blocks **out, router **route, anygp_error *e)
{
    row_units u;
    row_blocks *b = NULL;
    *out = NULL;
    if (route) *route = NULL;
    TRY(row_units_make(part, sample, &u, e));
    TRY(run_blocks(r, &u, plan, &b, e));
    b->total = sample->total;
    if (plan->keep > 0) return blocks_keep(b, plan->keep, out, e);
    *out = b;
    return ANYGP_OK;
}
