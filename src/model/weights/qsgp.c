/* Parameters of a quadruply stochastic Gaussian process (qsgp.h). */
#include "model/weights/qsgp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "base/random.h"
#include "linalg/linalg.h"

/* A mean of cos^2 and sin^2 over many places. */
static const double HALF = 0.5;

static const char *name_of(const qsgp_kind *k) { return k->relevance ? "qsrvm" : "qsgp"; }

int64_t qsgp_batch(const qsgp_kind *k, int64_t m)
{
    int64_t batch = k->batch ? k->batch : qsgp_in_turn(k) ? QSRVM_BATCH : QSGP_BATCH;
    return batch < m ? batch : m;
}

int64_t qsgp_control(const qsgp_kind *k, int64_t m)
{
    if (qsgp_batch(k, m) == m || qsgp_in_turn(k)) return 0;
    return k->control >= 0 ? k->control : QSGP_CONTROL;
}

/* Steps that have the whole function at their rows need no help with it. */
static anygp_status check_turns(const qsgp_kind *kind, anygp_error *e)
{
    if (!qsgp_in_turn(kind) || (kind->control < 0 && kind->dense == 0)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "model: qsrvm takes %s with steps=plain or steps=adagrad only; its block steps have no use for "
                     "it, so leave it out",
                     kind->dense ? "dense" : "control");
}

static anygp_status check_sizes(const qsgp_kind *kind, const problem *p, int64_t m, anygp_error *e)
{
    if (kind->batch > m)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "model: %s has %lld basis functions, and batch=%lld asks for more of them in a step; give a "
                         "smaller batch or more --inducing",
                         name_of(kind), (long long)m, (long long)kind->batch);
    if (kind->dense > m)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "model: %s has %lld basis functions, and dense=%lld asks for more columns of its covariance",
                         name_of(kind), (long long)m, (long long)kind->dense);
    if (kind->control > p->rows->data->n)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "model: control=%lld asks for more control rows than the %lld rows there are; give fewer",
                         (long long)kind->control, (long long)p->rows->data->n);
    return ANYGP_OK;
}

/* Waves need a kernel that has a spectral density. */
static anygp_status check_kernel(const qsgp_kind *kind, const kernel *k, anygp_error *e)
{
    spectral s;
    if (!cells_are_waves(kind->basis)) return ANYGP_OK;
    TRY(spectral_open(&s, k, e));
    spectral_clear(&s);
    return ANYGP_OK;
}

static anygp_status check_likelihood(const qsgp_kind *kind, const likelihood *l, anygp_error *e)
{
    if (!l->ops->concave)
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "likelihood: %s is not log-concave, and samples of basis functions give no lower bound for it; use "
            "--model svgp",
            l->ops->name);
    if (likelihood_is_gaussian(l) || kind->dense == 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "model: dense columns of the covariance are for gaussian targets; for %s leave dense out",
                     l->ops->name);
}

anygp_status qsgp_admits(const model_ops *self, const model_scope *q, anygp_error *e)
{
    const qsgp_kind *kind = self->family;
    TRY(check_kernel(kind, q->kernel, e));
    return check_likelihood(kind, q->likelihood, e);
}

static anygp_status place_likelihoods(qsgp *q, const problem *p, anygp_error *e)
{
    q->T = p->targets > 1 ? p->targets : 1, q->each = p->likelihood->latents, q->C = q->T * q->each;
    q->gaussian = likelihood_is_gaussian(p->likelihood);
    q->like = mem_alloc(q->T, sizeof *q->like);
    if (!q->like) return fail_memory(e, "the model", sizeof *q->like);
    for (int64_t t = 0; t < q->T; t++) q->like[t] = *p->likelihood;
    return ANYGP_OK;
}

/* The prior: mu = 0 and, for the first K functions, c_rr = 1. */
static void start(qsgp *q)
{
    double first = cells_are_waves(q->cells.kind) ? HALF : 0;
    for (int64_t j = 0; j < q->cells.m * q->C; j++) q->square[j] = first;
    for (int64_t r = 0; r < q->K; r++)
        for (int64_t c = 0; c < q->C; c++) q->v[r * q->V + c * (1 + q->K) + 1 + r] = 1;
}

/* Rows as places: all of them, or some at random. */
static anygp_status take_places(qsgp *q, const problem *p, anygp_error *e)
{
    const merged *rows = p->rows;
    int64_t m = q->cells.m, D = q->cells.D, *chosen = mem_alloc(m, sizeof *chosen);
    bool all = m == rows->n && rows->data->n == rows->data->used && q->T == 1 && q->gaussian && !q->s;
    anygp_status status = ANYGP_OK;
    if (!chosen) TRY_DONE(fail_memory(e, "the places", 8.0 * (double)m));
    TRY_DONE(mapped_doubles(q->on_disk, m, D, "the places", &q->Z, e));
    if (all) TRY_DONE(mapped_copied(q->on_disk, m, 1, rows->y, "the places", &q->Yz, e));
    if (all) TRY_DONE(mapped_copied(q->on_disk, m, 1, rows->c, "the places", &q->wz, e));
    random_subset((random_stream){p->seed, RANDOM_CELLS, UINT64_MAX - 2}, rows->n, m, chosen);
    for (int64_t i = 0; i < m; i++) memcpy(q->Z + i * D, rows->X + chosen[i] * D, (size_t)D * sizeof *q->Z);
    q->cells.Z = q->Z;
done:
    free(chosen);
    return status;
}

/* S = diag(s): every function is out. */
static anygp_status take_precisions(qsgp *q, const problem *p, anygp_error *e)
{
    int64_t size = q->cells.m * q->C, Q = dataset_numbers(p->rows->data);
    const dataset *d = p->rows->data;
    TRY(mapped_doubles(q->on_disk, q->cells.m, q->C, "the precisions", &q->s, e));
    q->power = mem_alloc(q->C, sizeof *q->power);
    if (!q->power) return fail_memory(e, "the precisions", 8.0 * (double)q->C);
    for (int64_t i = 0; i < size; i++) q->s[i] = QSRVM_OUT;
    for (int64_t c = 0; c < q->C; c++) {
        double sum = 0, total = 0;
        for (int64_t i = 0; q->gaussian && i < d->n; i++)
            sum += d->w[i] * d->y[i * Q + c] * d->y[i * Q + c], total += d->w[i];
        q->power[c] = sum > 0 ? sum / total : 1;
    }
    return ANYGP_OK;
}

anygp_status qsgp_init(qsgp *q, const qsgp_kind *kind, const problem *p, int64_t D, anygp_error *e)
{
    int64_t m = p->subset;
    *q = (qsgp){.K = kind->dense, .N = p->blocks->total, .on_disk = p->on_disk};
    if (cells_are_waves(kind->basis)) m += m % 2;
    if (kind->basis == CELLS_KERNEL && m > p->rows->n) m = p->rows->n;
    TRY(check_sizes(kind, p, m, e));
    TRY(check_turns(kind, e));
    TRY(place_likelihoods(q, p, e));
    int64_t batch = qsgp_batch(kind, m), width = cells_width(kind->basis, D, batch);
    q->cells = (cells){.kind = kind->basis,
                       .m = m,
                       .D = D,
                       .width = width,
                       .count = (m + width - 1) / width,
                       .seed = p->seed,
                       .orthogonal = !strcmp(p->select, "orthogonal")};
    q->per = batch == m ? q->cells.count : (batch + width - 1) / width;
    q->V = q->C * (1 + q->K);
    TRY(mapped_doubles(q->on_disk, m, q->V, "the weights", &q->v, e));
    TRY(mapped_doubles(q->on_disk, m, q->C, "the weights", &q->square, e));
    mapped_expect(q->v, q->per < q->cells.count);
    mapped_expect(q->square, q->per < q->cells.count);
    TRY(mapped_doubles(q->on_disk, q->cells.count, 1, "the weights", &q->seen, e));
    if (kind->relevance) TRY(take_precisions(q, p, e));
    q->P = q->gaussian && q->per < q->cells.count ? qsgp_control(kind, m) : 0;
    if (q->P > p->rows->n) q->P = p->rows->n;
    start(q);
    return kind->basis == CELLS_KERNEL ? take_places(q, p, e) : ANYGP_OK;
}

void qsgp_clear(qsgp *q)
{
    void *const owned[] = {q->like, q->Xp, q->wp, q->a, q->power, q->Lpp}, *const large[] = {q->v, q->square, q->seen,
                                                                                             q->Z, q->Yz,     q->wz,
                                                                                             q->s};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) mapped_free(large[i]);
    *q = (qsgp){0};
}

void qsgp_take_values(qsgp *q, const hyper *h)
{
    q->white = kernel_white(h->kernel);
    for (int64_t t = 0; t < q->T; t++) {
        likelihood *l = &q->like[t];
        for (int64_t i = 0; i < l->params; i++) l->value[i] = h->like[t * l->params + i];
        if (q->gaussian) l->value[0] += q->white;
    }
}

double qsgp_prior(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c)
{
    return q->s ? q->s[(cell_first(&q->cells, h->cell[slot]) + f) * q->C + c] : cells_prior(h, slot, f);
}

double qsgp_information(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c)
{
    int64_t j = cell_first(&q->cells, h->cell[slot]) + f;
    return q->N * cells_scale(h, slot, f) * q->square[j * q->C + c] / qsgp_noise(q, c);
}

double qsgp_diagonal(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c)
{
    int64_t j = cell_first(&q->cells, h->cell[slot]) + f;
    if (j < q->K) return 0;
    return 1 / (qsgp_prior(q, h, slot, f, c) + qsgp_information(q, h, slot, f, c));
}
