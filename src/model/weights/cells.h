/* Basis functions phi_1 .. phi_m of a weight-space model, in cells of `width` consecutive ones.  They are never stored: a cell is a
   function of (seed, index of the cell, kernel), and is made again with the same bits whenever a step or a prediction wants it.

   fourier   waves of the kernel (kernel/spectral.h) with random frequencies, in pairs: a cell of width w has the cosines of w / 2 waves
             and then their sines, a_i cos w_i'x and a_i sin w_i'x.  The prior of the weights is N(0, I): S = I
   hadamard  the same with the frequencies of hadamard.h, a transform for each cell, of one stationary kernel
   kernel    k(z_j, x) at places z_j, which are rows of the training set and are kept.  The prior is N(0, K_zz^-1): S = K_zz

   Shapes: a tile T[n,w] is column-major with leading dimension ldt: a column per basis function, a row per row of the data. */
#ifndef MODEL_WEIGHTS_CELLS_H
#define MODEL_WEIGHTS_CELLS_H

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/spectral.h"

typedef enum cells_kind { CELLS_FOURIER, CELLS_KERNEL, CELLS_HADAMARD } cells_kind;

static inline bool cells_are_waves(cells_kind kind) { return kind != CELLS_KERNEL; }

enum { CELL_WIDTH = 64 }; /* at most, but for hadamard */

typedef struct cells {
    cells_kind kind;
    int64_t m, D;
    int64_t width, count; /* functions of a cell, the last of which may have fewer; cells */
    uint64_t seed;
    bool orthogonal; /* frequencies of a cell, within blocks of D */
    const double *Z; /* kernel: m x D, row-major, the caller's */
} cells;

static inline int64_t cell_first(const cells *c, int64_t cell) { return cell * c->width; }
static inline int64_t cell_size(const cells *c, int64_t cell)
{
    int64_t left = c->m - cell * c->width;
    return left < c->width ? left : c->width;
}

/* The width of cells over D inputs where samples of `batch` functions are wanted: several cells in each, none above CELL_WIDTH; for hadamard
   as many as a transform makes. */
int64_t cells_width(cells_kind kind, int64_t D, int64_t batch);
/* Rows of a tile, of so many at most, that stay in a near cache. */
int64_t cells_piece(cells_kind kind, int64_t rows);
/* Doubles for each function at hand (cells_hand_take). */
double cells_doubles(cells_kind kind, int64_t D);

/* Rows that features are wanted at. */
typedef struct cell_rows {
    int64_t n, D;
    const double *X;  /* n x D, row-major */
    const double *XT; /* n x D, column-major with leading dimension ld; for waves */
    int64_t ld;
} cell_rows;

/* Some cells at hand, with what their functions need. */
typedef struct cells_hand {
    const cells *of;
    const kernel *kernel;
    int64_t count;       /* cells at hand; */
    const int64_t *cell; /* which, the caller's */
    int64_t room;        /* cells that there is room for */
    spectral waves;      /* fourier: count x width / 2 of them, those of the first cell first */
    double *Z;           /* their standard frequencies */
    int64_t *number;     /* and numbers */
    double *scale;       /* hadamard: count x width / 2, of products in turns; */
    double *over;        /* D: 1 / l, 0 for inputs that the kernel does not have; */
    double amplitude;    /* the same for all waves */
} cells_hand;

/* Refused with a sentence: a kernel without a spectral density. */
anygp_status cells_hand_open(cells_hand *h, const cells *c, const kernel *k, anygp_error *e);
void cells_hand_clear(cells_hand *h); /* accepts a half-built one */
/* `count` cells at the values that the kernel has now. */
anygp_status cells_hand_take(cells_hand *h, int64_t count, const int64_t *cell, anygp_error *e);

/* T = features of cell number `slot` of the hand.  False: no memory. */
bool cells_fill(const cells_hand *h, int64_t slot, const cell_rows *r, double *T, int64_t ldt);

/* Frequencies W[w/2, D] and amplitudes of the waves of cell number `slot`: T is a cos W'x, then a sin W'x.  False: no memory. */
bool cells_waves(const cells_hand *h, int64_t slot, double *W, double *amplitude);

/* S[n] += d t^2 */
void cells_add_squares(int64_t n, double d, const double *t, double *S);

/* sum of w t^2 */
double cells_weigh_squares(int64_t n, const double *w, const double *t);

/* The unit of the square of function f: a^2 for waves, 1 for kernel. */
double cells_scale(const cells_hand *h, int64_t slot, int64_t f);
/* s_jj of function f of a cell, in the prior that belongs to the basis. */
double cells_prior(const cells_hand *h, int64_t slot, int64_t f);

/* fourier: from Tbar, which is used up, to Wbar[w/2, D] and abar[w/2] of the cell, which accumulate. */
void cells_reverse(const cells_hand *h, int64_t slot, const cell_rows *r, const double *T, int64_t ldt, double *Tbar,
                   double *Wbar, double *abar);

#endif
