/* The group of processes that a launcher such as mpirun started, as a program sees it. */
#include "comm/comm.h"

anygp_status anygp_world_begin(int *argc, char ***argv, anygp_error *e) { return comm_world_begin(argc, argv, e); }
void anygp_world_end(void) { comm_world_end(); }

int anygp_world_rank(void) { return comm_world()->rank; }
int anygp_world_size(void) { return comm_world()->size; }

void anygp_world_abort(anygp_status status)
{
    const comm *c = comm_world();
    c->abort(c->ctx, status);
}
