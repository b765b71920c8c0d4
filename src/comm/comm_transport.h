/* How a process joins the others it was started with.  One file per transport fills this table; world.c lists them. */
#ifndef COMM_COMM_TRANSPORT_H
#define COMM_COMM_TRANSPORT_H

#include <stdbool.h>

#include "comm/comm.h"

typedef struct transport {
    bool (*launched)(void); /* was this process started as one of several?  Asked before anything is begun, so cheap. */
    anygp_status (*join)(int *argc, char ***argv, comm *out, anygp_error *e);
    void (*leave)(comm *group); /* once all ranks have come here */
} transport;

extern const transport transport_mpi;

#endif
