#include "gp/ranks.h"

anygp_status ranks_least(const comm *c, int64_t *block, anygp_error *e)
{
    for (int rank = 0; rank < c->size && c->size > 1; rank++) {
        int64_t theirs = *block;
        TRY(c->broadcast(c->ctx, rank, sizeof theirs, &theirs, e));
        if (theirs < *block) *block = theirs;
    }
    return ANYGP_OK;
}

anygp_status ranks_agree(const comm *c, anygp_status status, anygp_error *said, anygp_error *e)
{
    double first = ANYGP_FAILED(status) ? c->rank : c->size;
    for (int rank = 0; rank < c->size; rank++) {
        double failed = first == rank;
        TRY(c->sum(c->ctx, 1, &failed, e));
        if (failed == 0) continue;
        TRY(c->broadcast(c->ctx, rank, sizeof *said, said, e));
        return fail_with(e, said->status, "%s", said->text);
    }
    return ANYGP_OK;
}
