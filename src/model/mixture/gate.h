/* Gates of a mixture of K experts: the probability g_i(x) that row x is expert i's (003, eq. 21 and 24).

   z are the number columns of x in units of their spread, from their mean; text columns are not among them.
       softmax      g_i = exp(theta_i'phi) / sum_j exp(theta_j'phi),  phi = (1, z), or (1, z, z^2 - 1);  theta ~ N(0, 1/RIDGE)
       gp           the same with functions of z instead: E log softmax of GPs h_i(z) with a variational q [gate_gp.c]
       generative   g_i = pi_i N(z; c_i, S_i) / sum_j pi_j N(z; c_j, S_j): what is learned is the density of (x, y), and p(x) counts
       stick        g_i = v_i(z) prod over j before i of (1 - v_j(z)): one after the other takes its share of what is left, and experts
                    that are not needed get none [gate_stick.c]
   With one expert a gate has no parameters.

   Learning takes sums over rows, with r_ni the responsibilities and w_n the weights of rows, and a step of size rho, where 1 is the
   M-step of EM: the objective sum_n w_n sum_i r_ni log g_i(x_n) + log prior never falls for it if the sums are over all rows.
       softmax      theta += rho (B + RIDGE)^-1 (sum w (r - g) phi' - RIDGE theta),   B = sum w phi phi' / 2,
                    since the negative Hessian is at most B for each expert (Boehning 1992); B is a running mean over the steps
       generative   closed form from N_i = sum w r, sum w r z, sum w r z z', of which running means that forget are kept: steps of
                    size rho (Cappe and Moulines 2009).  Priors: pi ~ Dirichlet, (c_i, S_i) normal-inverse-Wishart, worth a few rows.
   Cost: softmax p^2 + 2 p K per row and p^3 / 3 per step, generative K d^2 per row and K d^3 per step. */
#ifndef MODEL_MIXTURE_GATE_H
#define MODEL_MIXTURE_GATE_H

#include "model/model.h"

enum { GATE_PLACES = 48, GATE_PLACES_MOST = 64 }; /* of gp */
typedef enum gate_kind { GATE_LINEAR, GATE_SQUARE, GATE_GENERATIVE, GATE_GP, GATE_STICK } gate_kind;

typedef struct gate gate;

/* What tells the kinds apart; none is called where K is 1. */
typedef struct gate_ops {
    int64_t (*size)(const gate *g);      /* numbers that say what it is, */
    int64_t (*stat_size)(const gate *g); /* sums over rows, */
    int64_t (*work)(const gate *g, int64_t n);
    /* log of g_i(x) or, for a generative gate, of pi_i N(z; c_i, S_i): out[n, K] from Z[d, n].  What it leaves in work the next
       one finds. */
    void (*logs)(const gate *g, int64_t n, const double *Z, double *work, double *out);
    /* Adds the rows' sums, with wr[n, K] = w r. */
    void (*add)(const gate *g, int64_t n, const double *Z, const double *w, const double *wr, const double *logs,
                double *work, double *stat);
    void (*move)(gate *g, const double *stat, double rho);
    double (*log_prior)(const gate *g);
    void (*select)(const gate *g, int64_t K, const int64_t *kept, double *value); /* values for some of the experts */
    /* From clusters of a sample of n rows of total weight `total`: the one of each. */
    void (*start)(gate *g, int64_t n, const double *Z, const int64_t *cluster, double total);
    bool (*is_sound)(const gate *g); /* numbers that were read */
    /* Half of one expert's gate for another, instead of its own; and one expert's for another, of weights a and b of `total`. */
    void (*split)(gate *g, int64_t from, int64_t to);
    void (*merge)(gate *g, int64_t from, int64_t into, double a, double b, double total);
    void (*exchange)(gate *g, int64_t a, int64_t b); /* NULL, or: two experts change their numbers */
    /* NULL, or: logs for predictions, up to what all experts have in common; and what is made from the values once they are there. */
    void (*predicted)(const gate *g, int64_t n, const double *Z, double *work, double *out);
    anygp_status (*ready)(gate *g, anygp_error *e);
    anygp_status (*place)(gate *g, int64_t n, const double *Z, uint64_t seed, anygp_error *e); /* NULL, or: places */
} gate_ops;

struct gate {
    gate_kind kind;
    const gate_ops *ops;
    int64_t K, D, d;
    int64_t M;      /* gp: places */
    kernel *kernel; /* gp: of the functions; else NULL */
    double *L;      /* gp: M x M, of the kernel at the places */
    double *frame;  /* D x 2: mean and spread of each column; a spread of 0: it is not seen */
    double *value;  /* ops->size */
    double *sums;   /* ops->stat_size: what running means there are */
    double *room;
    int64_t seen; /* steps */
};

extern const gate_ops gate_softmax, gate_generative, gate_gp, gate_stick;

/* Columns from the means and spreads frame[D, 2]; places: for gp, how many at most. */
anygp_status gate_init(gate *g, gate_kind kind, int64_t K, int64_t D, const double *frame, int64_t places,
                       anygp_error *e);
/* After values have come from elsewhere. */
anygp_status gate_ready(gate *g, anygp_error *e);
/* A copy, for the K experts in `kept`. */
anygp_status gate_select(const gate *from, int64_t K, const int64_t *kept, gate *to, anygp_error *e);
void gate_clear(gate *g); /* accepts a half-built one */
static inline int64_t gate_features(const gate *g)
{
    return 1 + (g->kind == GATE_GP ? g->M : g->kind == GATE_SQUARE ? 2 * g->d : g->d);
}

int64_t gate_work(const gate *g, int64_t n);
int64_t gate_stat_size(const gate *g);
double gate_log_prior(const gate *g);
/* As ops->logs, add and move, for rows X[n,D]; with one expert they have nothing to do. */
void gate_logs(const gate *g, int64_t n, const double *X, int64_t ldx, double *work, double *out);
void gate_add(const gate *g, int64_t n, const double *w, const double *wr, const double *logs, double *work,
              double *stat);
void gate_move(gate *g, const double *stat, double rho);
static inline void gate_split(gate *g, int64_t from, int64_t to) { g->ops->split(g, from, to); }
static inline void gate_merge(gate *g, int64_t from, int64_t into, double a, double b, double total)
{
    g->ops->merge(g, from, into, a, b, total);
}
static inline void gate_exchange(gate *g, int64_t a, int64_t b) { g->ops->exchange(g, a, b); }
/* Places among these rows, once, before gate_start. */
anygp_status gate_place(gate *g, int64_t n, const double *X, uint64_t seed, anygp_error *e);
anygp_status gate_start(gate *g, int64_t n, const double *X, const int64_t *cluster, double total, anygp_error *e);
/* g_i(x), which add up to 1: out[n, K]. */
void gate_weights(const gate *g, int64_t n, const double *X, int64_t ldx, double *work, double *out);

void gate_save(const gate *g, checkpoint *to);
bool gate_restore(gate *g, const checkpoint *from);
/* "gate" and "gate_frame" in the model file. */
void gate_arrays(gate *g, array_list *list);
anygp_status gate_load(gate *g, gate_kind kind, int64_t K, int64_t D, named_array *list, int64_t count, anygp_error *e);

#endif
