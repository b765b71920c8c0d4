/* Fisher's information of Vecchia's approximation (sparse_information.c). */
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/local/vecchia_state.h"

/* From a sample of the groups, the same in every call: a step needs no more, while from half as many, learning takes more evaluations
   than the information saves. */
bool vecchia_information(void *state, const hyper *h, double *F)
{
    enum { SAMPLED = 256 };
    vecchia_state *q = state;
    int64_t P = hyper_kernel_params(h) + 1, all = q->a.blocks->count, some = all < SAMPLED ? all : SAMPLED;
    if (hyper_kernel_params(h) > INFORMATION_MOST || h->count != P) return false;
    const block_model *m = kernel_has_lanes(h->kernel) ? &sparse_lanes_information : &sparse_given_information;
    sparse_information f = {0};
    driver *d = NULL;
    double *sums = mem_alloc(P * P + 1, sizeof *sums);
    int64_t *which = mem_alloc(some, sizeof *which);
    anygp_status status = vecchia_prepare(q, h, q->jitter, NULL);
    if (!ANYGP_FAILED(status)) status = sums && which ? sparse_information_open(&q->s, &f, NULL) : ANYGP_ERR_MEMORY;
    if (which) random_subset((random_stream){q->problem->seed, RANDOM_INFORMATION, 0}, all, some, which);
    if (!ANYGP_FAILED(status)) status = driver_open(m, q->a.blocks, q->problem->comm, 0, &d, NULL);
    if (!ANYGP_FAILED(status)) status = driver_stat(d, &f, some, which, 1, sums, NULL);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < P * P; i++) F[i] = sums[i] * (double)q->learned->n / sums[P * P];
    driver_close(d);
    sparse_information_clear(&f);
    free(which);
    free(sums);
    return !ANYGP_FAILED(status);
}
