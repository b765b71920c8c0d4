/* The group this process belongs to.  A process can be a member only once, whoever asks, so the group belongs to the process
   and not to a handle: with it the library keeps as much outside handles as MPI itself does. */
#include <stddef.h>

#include "comm/comm_transport.h"

static const transport *const transports[] = {
#ifdef ANYGP_MPI
    &transport_mpi,
#endif
    NULL};

static const transport *joined; /* NULL: alone */
static comm world;              /* while joined */

const comm *comm_world(void) { return joined ? &world : comm_self(); }

anygp_status comm_world_begin(int *argc, char ***argv, anygp_error *e)
{
    if (joined) return ANYGP_OK;
    for (const transport *const *t = transports; *t; t++) {
        if (!(*t)->launched()) continue;
        TRY((*t)->join(argc, argv, &world, e));
        joined = *t;
        break;
    }
    return ANYGP_OK;
}

void comm_world_end(void)
{
    if (joined) joined->leave(&world);
    joined = NULL;
}
