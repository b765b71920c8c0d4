/* q as it was before a step that may have to be taken back. */
#include <math.h>
#include <string.h>

#include "model/svgp.h"

static const double FAR = 0.03;

int64_t svgp_kept_size(const svgp *s)
{
    int64_t size = s->Mt * s->C;
    for (int64_t i = 0; i < s->C * s->K; i++) size += s->q[i].M * (s->q[i].M + 1);
    return size;
}

/* Natural parameters of all q one after the other, then the means. */
void svgp_keep(const svgp *s, double *kept)
{
    for (int64_t i = 0; i < s->C * s->K; i++) {
        const svgp_q *q = &s->q[i];
        memcpy(kept, q->Lambda, (size_t)(q->M * q->M) * sizeof *kept);
        memcpy(kept + q->M * q->M, q->theta, (size_t)q->M * sizeof *kept);
        kept += q->M * (q->M + 1);
    }
    memcpy(kept, s->m, (size_t)(s->Mt * s->C) * sizeof *kept);
}

void svgp_take_back(svgp *s, const double *kept)
{
    for (int64_t i = 0; i < s->C * s->K; i++) {
        svgp_q *q = &s->q[i];
        svgp_q_set(s, q, kept, kept + q->M * q->M);
        kept += q->M * (q->M + 1);
    }
}

bool svgp_far_moved(const svgp *s, const double *kept)
{
    const double *before = kept + svgp_kept_size(s) - s->Mt * s->C;
    double change = 0, size = 0;
    for (int64_t i = 0; i < s->Mt * s->C; i++) {
        change += pow(s->m[i] - before[i], 2);
        size += before[i] * before[i];
    }
    return !(change <= FAR * FAR * (1 + size));
}
