/* A group of processes over MPI: the only file that sees mpi.h.

   Sums are a reduction to rank 0 and a broadcast from there, not MPI_Allreduce: the standard only recommends that an
   Allreduce give every rank the same bits, and ranks whose sums differ in the last one take different branches and wait
   for each other forever.  Of R ranks the slowest passes on n numbers 2 log2(R) times, twice as often as it might; a
   pass over the data sums M^2 numbers once.

   MPI counts with int, so long arrays go in pieces.  All calls come from the thread that joined. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

#include "base/memory.h"
#include "comm/comm_transport.h"

enum { PIECE = 1 << 20 }; /* numbers a message */

typedef struct group {
    MPI_Comm ranks; /* a copy of our own of everybody's, so that no message of the host program is taken for ours */
    int rank;
    bool started_here; /* MPI was; else it is the host program's to end */
} group;

static anygp_status check(int code, const char *what, anygp_error *e)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return ANYGP_OK;
    MPI_Error_string(code, text, &length);
    return fail_with(e, ANYGP_ERR_INTERNAL, "%s over the processes of this run failed: %s", what, text);
}

static int piece_of(int64_t left, int64_t most) { return (int)(left < most ? left : most); }

/* ------------------------------------------------------------------------------------ the table */

static anygp_status broadcast(void *ctx, int root, int64_t bytes, void *data, anygp_error *e)
{
    const group *g = ctx;
    const int64_t most = PIECE * (int64_t)sizeof(double);
    for (int64_t i = 0; i < bytes; i += most)
        TRY(check(MPI_Bcast((char *)data + i, piece_of(bytes - i, most), MPI_BYTE, root, g->ranks), "a broadcast", e));
    return ANYGP_OK;
}

static anygp_status sum(void *ctx, int64_t n, double *x, anygp_error *e)
{
    const group *g = ctx;
    for (int64_t i = 0; i < n; i += PIECE) {
        double *from = g->rank == 0 ? MPI_IN_PLACE : x + i;
        double *to = g->rank == 0 ? x + i : NULL;
        TRY(check(MPI_Reduce(from, to, piece_of(n - i, PIECE), MPI_DOUBLE, MPI_SUM, 0, g->ranks), "a sum", e));
    }
    return broadcast(ctx, 0, n * (int64_t)sizeof *x, x, e);
}

static anygp_status barrier(void *ctx, anygp_error *e)
{
    const group *g = ctx;
    return check(MPI_Barrier(g->ranks), "a barrier", e);
}

/* The code becomes mpirun's exit status: that of the program. */
static void end_all(void *ctx, anygp_status status)
{
    const group *g = ctx;
    MPI_Abort(g->ranks, status == ANYGP_ERR_INTERNAL ? 2 : 1);
}

/* ------------------------------------------------------------------------------- join and leave */

/* By what mpirun (Open MPI), or a launcher that speaks PMI or PMIx (MPICH, Slurm), leaves in the environment: to start
   MPI only to learn that there are no other processes takes a good part of a second. */
static bool launched(void)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    int running = 0, over = 0;
    MPI_Initialized(&running);
    MPI_Finalized(&over);
    if (running || over) return !over;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (getenv(marks[i])) return true;
    return false;
}

/* A fair part of the processors that the ranks of this machine may use together, and never more than this one may use:
   a launcher that binds each rank to processors of its own has shared them out already. */
static int share_of_processors(MPI_Comm ranks, int rank)
{
    MPI_Comm machine;
    cpu_set_t own, together;
    int neighbours = 1;
    if (sched_getaffinity(0, sizeof own, &own)) CPU_ZERO(&own);
    if (MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine)) return 1;
    MPI_Comm_size(machine, &neighbours);
    if (MPI_Allreduce(&own, &together, sizeof own, MPI_BYTE, MPI_BOR, machine)) together = own;
    MPI_Comm_free(&machine);
    int part = CPU_COUNT(&together) / neighbours, most = CPU_COUNT(&own);
    if (part > most) part = most;
    return part > 0 ? part : 1;
}

static anygp_status join_group(group *g, comm *out, anygp_error *e)
{
    int rank = 0, size = 1;
    TRY(check(MPI_Comm_dup(MPI_COMM_WORLD, &g->ranks), "the first exchange", e));
    MPI_Comm_set_errhandler(g->ranks, MPI_ERRORS_RETURN);
    MPI_Comm_rank(g->ranks, &rank);
    MPI_Comm_size(g->ranks, &size);
    g->rank = rank;
    *out = (comm){.ctx = g,
                  .rank = rank,
                  .size = size,
                  .processors = share_of_processors(g->ranks, rank),
                  .sum = sum,
                  .broadcast = broadcast,
                  .barrier = barrier,
                  .abort = end_all};
    return ANYGP_OK;
}

static void leave(comm *c)
{
    group *g = c->ctx;
    if (g->ranks != MPI_COMM_NULL) MPI_Comm_free(&g->ranks);
    if (g->started_here) MPI_Finalize();
    free(g);
}

static anygp_status join(int *argc, char ***argv, comm *out, anygp_error *e)
{
    int running = 0, level;
    MPI_Initialized(&running);
    group *g = mem_alloc(1, sizeof *g);
    if (!g) return fail_memory(e, "the group of processes", sizeof *g);
    *g = (group){.ranks = MPI_COMM_NULL};
    anygp_status status =
        running ? ANYGP_OK : check(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level), "the start", e);
    g->started_here = !running && status == ANYGP_OK;
    if (!ANYGP_FAILED(status)) status = join_group(g, out, e);
    if (ANYGP_FAILED(status)) leave(&(comm){.ctx = g});
    return status;
}

const transport transport_mpi = {.launched = launched, .join = join, .leave = leave};
