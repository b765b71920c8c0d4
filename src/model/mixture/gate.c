/* What all gates have (gate.h): the columns they see, files, checkpoints. */
#include "model/mixture/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const gate_ops *ops_of(gate_kind kind)
{
    static const gate_ops *const kinds[] = {[GATE_LINEAR] = &gate_softmax,
                                            [GATE_SQUARE] = &gate_softmax,
                                            [GATE_GENERATIVE] = &gate_generative,
                                            [GATE_GP] = &gate_gp,
                                            [GATE_STICK] = &gate_stick};
    return kinds[kind];
}

static int64_t room_of(const gate *g)
{
    int64_t p = gate_features(g);
    return p * (p + g->K) + g->d * (g->d + 1);
}

static void count_columns(gate *g)
{
    g->d = 0;
    for (int64_t j = 0; j < g->D; j++) g->d += g->frame[2 * j + 1] > 0;
}

static bool allocate(gate *g)
{
    int64_t size = g->K > 1 ? g->ops->size(g) : 0, sums = gate_stat_size(g);
    g->value = mem_zeroed(size, sizeof *g->value);
    g->sums = mem_zeroed(sums, sizeof *g->sums);
    g->room = mem_zeroed(room_of(g), sizeof *g->room);
    return g->value && g->sums && g->room;
}

static anygp_status no_memory(const gate *g, anygp_error *e)
{
    return fail_memory(e, "the gate", 8.0 * (double)(gate_stat_size(g) + room_of(g)));
}

anygp_status gate_init(gate *g, gate_kind kind, int64_t K, int64_t D, const double *frame, int64_t places,
                       anygp_error *e)
{
    *g = (gate){.kind = kind, .ops = ops_of(kind), .K = K, .D = D};
    if (!(g->frame = mem_copied(2, D, frame))) return no_memory(g, e);
    count_columns(g);
    g->M = kind == GATE_GP && K > 1 && g->d > 0 ? places : 0;
    if (allocate(g)) return ANYGP_OK;
    gate_clear(g);
    return no_memory(g, e);
}

anygp_status gate_select(const gate *from, int64_t K, const int64_t *kept, gate *to, anygp_error *e)
{
    TRY(gate_init(to, from->kind, K, from->D, from->frame, from->M, e));
    if (K > 1) from->ops->select(from, K, kept, to->value);
    anygp_status status = gate_ready(to, e);
    if (ANYGP_FAILED(status)) gate_clear(to);
    return status;
}

anygp_status gate_ready(gate *g, anygp_error *e) { return g->K > 1 && g->ops->ready ? g->ops->ready(g, e) : ANYGP_OK; }

void gate_clear(gate *g)
{
    double **const owned[] = {&g->frame, &g->value, &g->sums, &g->room, &g->L};
    kernel_free(g->kernel), g->kernel = NULL;
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(*owned[i]), *owned[i] = NULL;
}

/* ------------------------------------------------------------------------------------------ rows */

int64_t gate_stat_size(const gate *g) { return g->K > 1 ? g->ops->stat_size(g) : 0; }
int64_t gate_work(const gate *g, int64_t n) { return g->K > 1 ? n * g->d + g->ops->work(g, n) : 0; }
double gate_log_prior(const gate *g) { return g->K > 1 ? g->ops->log_prior(g) : 0; }

static void take_columns(const gate *g, int64_t n, const double *X, int64_t ldx, double *Z)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < g->D; j++)
            if (g->frame[2 * j + 1] > 0) *Z++ = (X[i * ldx + j] - g->frame[2 * j]) / g->frame[2 * j + 1];
}

void gate_logs(const gate *g, int64_t n, const double *X, int64_t ldx, double *work, double *out)
{
    if (g->K == 1) {
        for (int64_t i = 0; i < n; i++) out[i] = 0;
        return;
    }
    take_columns(g, n, X, ldx, work);
    g->ops->logs(g, n, work, work + n * g->d, out);
}

void gate_add(const gate *g, int64_t n, const double *w, const double *wr, const double *logs, double *work,
              double *stat)
{
    if (g->K > 1) g->ops->add(g, n, work, w, wr, logs, work + n * g->d, stat);
}

void gate_move(gate *g, const double *stat, double rho)
{
    if (g->K == 1) return;
    g->ops->move(g, stat, rho);
    g->seen++;
}

anygp_status gate_start(gate *g, int64_t n, const double *X, const int64_t *cluster, double total, anygp_error *e)
{
    if (g->K == 1) return ANYGP_OK;
    double *Z = mem_doubles(n, g->d > 0 ? g->d : 1);
    if (!Z) return fail_memory(e, "the gate", 8.0 * (double)n * (double)g->d);
    take_columns(g, n, X, g->D, Z);
    g->ops->start(g, n, Z, cluster, total);
    free(Z);
    return ANYGP_OK;
}

anygp_status gate_place(gate *g, int64_t n, const double *X, uint64_t seed, anygp_error *e)
{
    if (g->K == 1 || !g->ops->place || g->M == 0) return ANYGP_OK;
    double *Z = mem_doubles(n, g->d);
    if (!Z) return fail_memory(e, "the gate", 8.0 * (double)n * (double)g->d);
    take_columns(g, n, X, g->D, Z);
    anygp_status status = g->ops->place(g, n, Z, seed, e);
    free(Z);
    return status;
}

/* Far away every exponent may be beyond what can be computed: then all experts count the same. */
void gate_weights(const gate *g, int64_t n, const double *X, int64_t ldx, double *work, double *out)
{
    int64_t K = g->K;
    if (K > 1 && g->ops->predicted) {
        take_columns(g, n, X, ldx, work);
        g->ops->predicted(g, n, work, work + n * g->d, out);
    } else
        gate_logs(g, n, X, ldx, work, out);
    for (int64_t i = 0; i < n; i++) {
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < K; k++) most = fmax(most, out[i + k * n]);
        for (int64_t k = 0; k < K; k++) {
            double *g_k = &out[i + k * n];
            *g_k = isfinite(most) ? exp(*g_k - most) : 1;
            if (!(*g_k >= 0)) *g_k = 0;
            sum += *g_k;
        }
        for (int64_t k = 0; k < K; k++) out[i + k * n] /= sum;
    }
}

/* --------------------------------------------------------------------------------- checkpoints, files */

void gate_save(const gate *g, checkpoint *to)
{
    if (g->K == 1) return;
    checkpoint_put(to, "gate", g->ops->size(g), g->value);
    checkpoint_put(to, "gate_sums", gate_stat_size(g), g->sums);
    checkpoint_put_integer(to, "gate_seen", g->seen);
}

bool gate_restore(gate *g, const checkpoint *from)
{
    if (g->K == 1) return true;
    return checkpoint_get_finite(from, "gate", g->ops->size(g), g->value) &&
           checkpoint_get_finite(from, "gate_sums", gate_stat_size(g), g->sums) &&
           checkpoint_get_counter(from, "gate_seen", 0, &g->seen) && g->ops->is_sound(g) &&
           !ANYGP_FAILED(gate_ready(g, NULL));
}

void gate_arrays(gate *g, array_list *list)
{
    if (g->K == 1) return;
    array_list_add(list, (named_array){"gate", g->ops->size(g), 1, g->value, false});
    array_list_add(list, (named_array){"gate_frame", 2, g->D, g->frame, false});
}

static anygp_status damaged(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's gate is not valid; it is damaged");
}

anygp_status gate_load(gate *g, gate_kind kind, int64_t K, int64_t D, named_array *list, int64_t count, anygp_error *e)
{
    static const double none[2] = {0, 0};
    if (K == 1) return gate_init(g, kind, 1, 0, none, 0, e);
    named_array *value = named_array_need(list, count, "gate", e);
    named_array *frame = value ? named_array_need(list, count, "gate_frame", e) : NULL;
    if (!frame) return ANYGP_ERR_FILE;
    if (frame->rows != 2 || frame->cols != D) return damaged(e);
    for (int64_t j = 0; j < D; j++)
        if (!isfinite(frame->values[2 * j]) || !(frame->values[2 * j + 1] >= 0) || !isfinite(frame->values[2 * j + 1]))
            return damaged(e);
    int64_t places = 0, size;
    do { /* as many as make the numbers that there are */
        TRY(gate_init(g, kind, K, D, frame->values, places, e));
        size = g->ops->size(g);
        if (kind != GATE_GP || g->d == 0 || size >= value->rows || places == GATE_PLACES_MOST) break;
        gate_clear(g);
    } while (++places);
    bool ok = value->rows == size && value->cols == 1;
    for (int64_t i = 0; ok && i < size; i++) ok = isfinite(value->values[i]);
    if (ok) memcpy(g->value, value->values, (size_t)size * sizeof *g->value);
    if (ok && g->ops->is_sound(g) && !ANYGP_FAILED(gate_ready(g, NULL))) return ANYGP_OK;
    gate_clear(g);
    return damaged(e);
}
