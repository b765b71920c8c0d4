/* Threads as ranks: a rank adds its part at a barrier. */
#ifndef TEST_RANK_SUPPORT_H
#define TEST_RANK_SUPPORT_H

#include "support.h"

#include <pthread.h>
#include <string.h>

#include "comm/comm.h"

typedef struct team {
    int size;
    pthread_barrier_t barrier;
    double sum[4096];
    unsigned char bytes[1 << 17];
} team;

typedef struct rank_thread {
    team *t;
    int rank;
} rank_thread;

static inline anygp_status team_sum(void *ctx, int64_t n, double *x, anygp_error *e)
{
    const rank_thread *m = ctx;
    (void)e;
    assert_true(n <= 4096);
    pthread_barrier_wait(&m->t->barrier);
    if (m->rank == 0) memset(m->t->sum, 0, sizeof m->t->sum);
    for (int r = 0; r < m->t->size; r++) {
        pthread_barrier_wait(&m->t->barrier);
        for (int64_t i = 0; r == m->rank && i < n; i++) m->t->sum[i] += x[i];
    }
    pthread_barrier_wait(&m->t->barrier);
    memcpy(x, m->t->sum, (size_t)n * sizeof *x);
    return ANYGP_OK;
}

static inline anygp_status team_broadcast(void *ctx, int root, int64_t bytes, void *data, anygp_error *e)
{
    const rank_thread *m = ctx;
    (void)e;
    assert_true(bytes <= 1 << 17);
    pthread_barrier_wait(&m->t->barrier);
    if (m->rank == root) memcpy(m->t->bytes, data, (size_t)bytes);
    pthread_barrier_wait(&m->t->barrier);
    memcpy(data, m->t->bytes, (size_t)bytes);
    return ANYGP_OK;
}

static inline void team_open(team *t, int size)
{
    t->size = size;
    assert_int_equal(pthread_barrier_init(&t->barrier, NULL, (unsigned)size), 0);
}

static inline void team_close(team *t) { pthread_barrier_destroy(&t->barrier); }

/* `own` must outlive it. */
static inline comm team_comm(team *t, int rank, rank_thread *own)
{
    *own = (rank_thread){t, rank};
    return (comm){.ctx = own, .rank = rank, .size = t->size, .sum = team_sum, .broadcast = team_broadcast};
}

#endif
