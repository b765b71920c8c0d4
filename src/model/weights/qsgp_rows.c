/* What the rows of a sample say: the expected log likelihood given F, and its slopes R (qsgp.h). */
#include <math.h>
#include <string.h>

#include "base/special.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp.h"

/* The prior's control variate for one vector, Fi, Fj and a at control rows; x[2 P]: room.  Its value; R accumulates. */
static double nystrom(const qsgp *q, const double *Fi, const double *Fj, const double *a, double *Ri, double *Rj,
                      double *x)
{
    int64_t P = q->P;
    double *y = x + P, value = 0;
    for (int64_t i = 0; i < P; i++) x[i] = Fi[i] - a[i], y[i] = Fj[i] - a[i];
    for (int k = 0; k < 2; k++) {
        la_trsv(LA_N, P, q->Lpp, P, x + k * P);
        la_trsv(LA_T, P, q->Lpp, P, x + k * P);
    }
    for (int64_t i = 0; i < P; i++) {
        value += 0.5 * (x[i] * Fj[i] + y[i] * a[i]); /* x Fj + y a = Fi'M Fj - a'M Fj + a'M Fj - a'M a */
        Ri[i] += 0.5 * y[i], Rj[i] += 0.5 * x[i];
    }
    return value;
}

/* One vector of a Gaussian target: its share of the value, and R. */
static void gaussian_vector(qsgp_pass *p, int64_t k, const double *y, int64_t ldy, double *value, double *dnoise)
{
    const qsgp *q = p->q;
    const qsgp_sample *s = p->s;
    int64_t rows = s->rows, size = rows * q->V, at = k * rows;
    const double *Fi = p->F + at, *Fj = Fi + size, *a = q->a ? q->a + k * q->P : NULL;
    double *Ri = p->R + at, *Rj = Ri + size, noise = qsgp_noise(q, k / (1 + q->K)), sum = 0, control = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double w = 0.5 * s->scale * s->w[i] / noise, t = y ? y[i * ldy] : 0;
        sum += w * (t * t - t * (Fi[i] + Fj[i]) + Fi[i] * Fj[i]);
        Ri[i] = w * (t - Fj[i]), Rj[i] = w * (t - Fi[i]);
    }
    for (int64_t i = 0; i < s->P; i++) {
        double w = 0.5 * q->N * q->wp[i] / noise, fi = Fi[s->n + i], fj = Fj[s->n + i];
        control += w * (fi * fj - a[i] * a[i]);
        Ri[s->n + i] = w * (fj - a[i]), Rj[s->n + i] = w * (fi - a[i]);
    }
    if (s->P && q->Lpp) control += nystrom(q, Fi + s->n, Fj + s->n, a, Ri + s->n, Rj + s->n, q->Lpp + s->P * s->P);
    for (int64_t i = s->n + s->P; i < rows; i++) Ri[i] = Rj[i] = 0;
    *value += control - sum;
    *dnoise += sum / noise;
}

static void gaussian_rows(qsgp_pass *p)
{
    const qsgp *q = p->q;
    const qsgp_sample *s = p->s;
    double weights = 0;
    for (int64_t i = 0; i < s->n; i++) weights += s->scale * s->w[i];
    for (int64_t t = 0; t < q->T; t++) {
        double noise = qsgp_noise(q, t);
        p->value -= 0.5 * weights * (LOG_2PI + log(noise));
        p->like[t] = -0.5 * weights / noise;
        for (int64_t k = 0; k <= q->K; k++)
            gaussian_vector(p, t * (1 + q->K) + k, k == 0 ? s->y + t : NULL, s->Q, &p->value, &p->like[t]);
        for (int64_t i = 0; i < s->n; i++) p->weight[t * s->n + i] = s->scale * s->w[i];
    }
}

/* Any other likelihood: R_i and R_j are halves of the slope in the mean. */
static void other_rows(qsgp_pass *p)
{
    const qsgp *q = p->q;
    const qsgp_sample *s = p->s;
    int64_t n = s->n, rows = s->rows, size = rows * q->V;
    for (int64_t i = 0; i < n * q->C; i++) p->S[i] += q->white;
    for (int64_t t = 0; t < q->T; t++) {
        const likelihood *l = &q->like[t];
        for (int64_t i = 0; i < n; i++)
            memcpy(p->Y + i * l->columns, s->y + i * s->Q + t * l->columns, (size_t)l->columns * sizeof *p->Y);
        double *mean = p->F + 2 * size, *dmu = p->R + 2 * size, *dvar = p->weight + t * q->each * n;
        for (int64_t c = 0; c < q->each; c++)
            memcpy(mean + c * n, p->F + (t * q->each + c) * rows, (size_t)n * sizeof *mean);
        double *slope = p->like + t * l->params;
        p->value += s->scale * l->ops->expect(l, n, p->Y, s->w, mean, p->S + t * q->each * n, n, p->random, s->index,
                                              dmu, dvar, slope);
        for (int64_t i = 0; i < l->params; i++) slope[i] *= s->scale;
        for (int64_t c = 0; c < q->each; c++)
            for (int64_t i = 0; i < n; i++) {
                int64_t at = (t * q->each + c) * rows + i;
                p->R[at] = p->R[size + at] = 0.5 * s->scale * dmu[c * n + i];
                dvar[c * n + i] *= -2 * s->scale;
            }
    }
}

void qsgp_expect(qsgp_pass *p)
{
    const qsgp *q = p->q;
    int64_t size = p->s->rows * q->V;
    p->value = p->white = 0;
    memset(p->like, 0, (size_t)(q->T * q->like->params) * sizeof *p->like);
    memset(p->R, 0, (size_t)(2 * size) * sizeof *p->R);
    if (q->gaussian)
        gaussian_rows(p);
    else
        other_rows(p);
    for (int64_t i = 0; i < p->s->n * q->C && !q->gaussian; i++) p->white -= 0.5 * p->weight[i];
    for (int64_t i = 0; i < size; i++) p->R[2 * size + i] = p->R[i] + p->R[size + i];
}
