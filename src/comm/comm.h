/* What the library asks of a group of processes: a table of callbacks.  Drivers sum over ranks through it, so no model
   knows how many there are.  self.c is the group of one; an MPI group fills the same table. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include <stdint.h>

#include "base/error.h"

typedef struct comm {
    void *ctx;
    int rank, size; /* 0 <= rank < size */
    /* x[n] becomes the sum over all ranks, the same bits on each */
    anygp_status (*sum)(void *ctx, int64_t n, double *x, anygp_error *e);
    /* `bytes` of `data` become those of rank `root` */
    anygp_status (*broadcast)(void *ctx, int root, int64_t bytes, void *data, anygp_error *e);
    anygp_status (*barrier)(void *ctx, anygp_error *e);
    /* Tells the other ranks that this one cannot go on; the caller then returns its error as always. */
    void (*abort)(void *ctx, anygp_status status);
} comm;

const comm *comm_self(void);

#endif
