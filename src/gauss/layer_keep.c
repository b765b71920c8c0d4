/* q as it was before a step that may have to be taken back, and in a checkpoint. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gauss/layer.h"
#include "linalg/linalg.h"

static const double FAR = 0.03;

int64_t layer_kept_size(const layer *l)
{
    int64_t size = l->Mt * l->C;
    for (int64_t i = 0; i < l->C * l->K; i++) size += l->q[i].M * (l->q[i].M + 1);
    return size;
}

/* Natural parameters of all q one after the other, then the means. */
void layer_keep(const layer *l, double *kept)
{
    for (int64_t i = 0; i < l->C * l->K; i++) {
        gauss_keep(&l->q[i], kept);
        kept += l->q[i].M * (l->q[i].M + 1);
    }
    memcpy(kept, l->m, (size_t)(l->Mt * l->C) * sizeof *kept);
}

void layer_take_back(layer *l, const double *kept)
{
    for (int64_t i = 0; i < l->C * l->K; i++) {
        gauss *q = &l->q[i];
        layer_q_set(l, q, kept, kept + q->M * q->M);
        kept += q->M * (q->M + 1);
    }
}

bool layer_far_moved(const layer *l, const double *kept)
{
    const double *before = kept + layer_kept_size(l) - l->Mt * l->C;
    double change = 0, size = 0;
    for (int64_t i = 0; i < l->Mt * l->C; i++) {
        change += pow(l->m[i] - before[i], 2);
        size += before[i] * before[i];
    }
    return !(change <= FAR * FAR * (1 + size));
}

bool layer_take_q(layer *l, const layer *from)
{
    int64_t n = l->Mt, m = from->Mt;
    double *Lambda = mem_doubles(n, n), *theta = mem_alloc(n, sizeof *theta);
    bool ok = Lambda && theta;
    for (int64_t c = 0; ok && c < l->C; c++) {
        memset(Lambda, 0, (size_t)(n * n) * sizeof *Lambda);
        memset(theta, 0, (size_t)n * sizeof *theta);
        for (int64_t j = 0; j < m; j++)
            memcpy(Lambda + j + j * n, from->q[c].Lambda + j + j * m, (size_t)(m - j) * sizeof *Lambda);
        for (int64_t j = m; j < n; j++) Lambda[j + j * n] = 1;
        memcpy(theta, from->q[c].theta, (size_t)m * sizeof *theta);
        layer_q_set(l, &l->q[c], Lambda, theta);
    }
    free(Lambda);
    free(theta);
    return ok;
}

void layer_save(const layer *l, checkpoint *to)
{
    char name[24];
    for (int64_t i = 0; i < l->C * l->K; i++) {
        snprintf(name, sizeof name, "%lld", (long long)i);
        gauss_save(&l->q[i], name, to);
    }
}

bool layer_restore(layer *l, const checkpoint *from)
{
    char name[24];
    bool ok = true;
    int former = la_threads(layer_threads(l));
    for (int64_t i = 0; ok && i < l->C * l->K; i++) {
        snprintf(name, sizeof name, "%lld", (long long)i);
        ok = gauss_restore(&l->q[i], l->spare, name, from);
    }
    la_threads(former);
    return ok;
}
