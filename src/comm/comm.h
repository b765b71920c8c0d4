/* What the library needs from a group of processes: a table of callbacks.  Drivers sum over ranks through it, so no model
   knows how many there are.  self.c is the group of one; mpi.c fills the same table.

   sum, broadcast and barrier are called by all ranks, in the same order and with the same sizes: a rank that returns
   before one of them leaves the others waiting in it.  What decides how many follow (a time limit, Ctrl-C, a failure
   that may concern only one rank) is therefore summed or broadcast first. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include <stdint.h>

#include "base/error.h"

typedef struct comm {
    void *ctx;
    int rank, size; /* 0 <= rank < size */
    int processors; /* this rank's share of its machine's; 0: all that the process may use */
    /* x[n] becomes the sum over all ranks, the same bits on each */
    anygp_status (*sum)(void *ctx, int64_t n, double *x, anygp_error *e);
    /* `bytes` of `data` become those of rank `root` */
    anygp_status (*broadcast)(void *ctx, int root, int64_t bytes, void *data, anygp_error *e);
    anygp_status (*barrier)(void *ctx, anygp_error *e);
    /* Tells the other ranks that this one cannot continue.  It may end this process with them, so it is for the program,
       once its error has been reported; a driver just returns its error. */
    void (*abort)(void *ctx, anygp_status status);
} comm;

const comm *comm_self(void);

/* The group this process belongs to: comm_self() unless comm_world_begin has joined those it was started with. */
const comm *comm_world(void);
/* Joins them, if a launcher such as mpirun started this process and the library was built for that; else does nothing.
   argc and argv may be NULL. */
anygp_status comm_world_begin(int *argc, char ***argv, anygp_error *e);
void comm_world_end(void); /* waits for the others; afterwards the process is alone */

#endif
