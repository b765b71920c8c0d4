/* One Gaussian q(v) = N(m, V) over M whitened variables, prior N(0, I), in one of two forms:
       by precision    Lambda = V^-1 = F F', theta = Lambda m        natural steps, exact for statistics of Gaussian noise
       by covariance   V = R R'                                      R and m are parameters that an optimiser moves (layer.h)
   A natural step of size 0 < rho <= 1 towards statistics S (lower triangle) and b, from a prior with Lambda_0, theta_0:
       Lambda <- (1 - rho) Lambda + rho (Lambda_0 + S),      theta <- (1 - rho) theta + rho (theta_0 + b [+ S m])
   (000, eq. 24-26; with S m where S and b are derivatives at m).  The plain step of 000 (eq. 14, 17, 18) is in plain.c.
   What a step computes is in spare room until it is known to be a distribution; only then does it become q.

   Matrices are M x M, column-major.  Cost of a step: M^3 / 3, and M^3 / 3 for the trace of V where that is kept. */
#ifndef GAUSS_GAUSS_H
#define GAUSS_GAUSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "params/checkpoint.h"

/* Room for the next q, whose squares change places with those of the old one; between steps nothing is in it. */
typedef struct gauss_spare {
    double *Lambda, *F;
    double *work; /* 3 M */
} gauss_spare;

typedef struct gauss {
    int64_t M;
    double *Lambda; /* lower triangle; NULL: by covariance */
    double *theta;
    double *F;    /* factor of Lambda, zeros above */
    double *T;    /* of la_trsm_prepare(F); NULL: not kept */
    double *m;    /* its own, or a part of a table of means */
    double *R;    /* by covariance: lower triangle, zeros above, positive diagonal; not its own.  Else NULL */
    double *V;    /* both triangles; NULL unless gauss_hold_V asked for it */
    double trace; /* of V, where T is kept */
    bool lazy;    /* natural steps leave F and m to gauss_ready(): for S that is positive semidefinite */
    bool stale;   /* they are to be made from Lambda and theta */
    gauss_spare own;
} gauss;

/* The prior N(0, I).  A single one: m and spare room are its own. */
anygp_status gauss_init(gauss *q, int64_t M, anygp_error *e);
/* One of several: squares have `room` to a side, m[M] is the caller's, T and the trace are kept.  False: no memory. */
bool gauss_init_part(gauss *q, int64_t M, int64_t room, double *m);
void gauss_clear(gauss *q); /* accepts a half-built one */
bool gauss_spare_init(gauss_spare *s, int64_t room);
void gauss_spare_clear(gauss_spare *s);

/* In what follows spare NULL is q's own. */

/* From Lambda (lower triangle read) and theta only, to the same bits as every step that arrives at them.  False: they are not
   a distribution, and q is as before. */
bool gauss_set(gauss *q, gauss_spare *spare, const double *Lambda, const double *theta);

/* Natural parameters of a prior; Lambda NULL: N(0, I / scale). */
typedef struct gauss_prior {
    const double *Lambda, *theta;
    double scale;
} gauss_prior;

/* S and b at the mean, halved up to `halvings` times until Lambda is positive definite.  False: as for gauss_set. */
bool gauss_move(gauss *q, gauss_spare *spare, gauss_prior prior, double rho, int halvings, const double *S,
                const double *b);
/* Statistics that do not depend on q; in M^2 operations where it is lazy. */
bool natural_step(gauss *q, double rho, double prior, const double *S, const double *b);
/* The same by plain gradients of the mean and covariance of u = L v; *taken gets the step after halving, 0 where it fails. */
bool plain_step(gauss *q, double rho, double prior, const double *L, int64_t ldl, const double *S, const double *b,
                double *taken);
/* q from theta and the Lambda in its own spare room; false: they are not a distribution, and q is as before. */
bool gauss_take_next(gauss *q, const double *theta);
/* F and m of a lazy q; everything below needs them.  False: Lambda is not positive definite. */
bool gauss_ready(gauss *q);

/* U[M,n] <- V^1/2' U, so that |u|^2 = u'Vu, and U <- V^1/2 U after it gives V U.  n vectors with leading dimension ldu. */
void gauss_half(const gauss *q, int64_t n, double *U, int64_t ldu);
void gauss_other_half(const gauss *q, int64_t n, double *U, int64_t ldu);

void gauss_covariance(const gauss *q, double *V); /* both triangles */
double gauss_kl(const gauss *q);                  /* to N(0, I); where the trace is not kept, in its own spare room */
bool gauss_hold_V(gauss *q, gauss_spare *spare);  /* from here on, until it is dropped.  False: no memory */
void gauss_drop_V(gauss *q, gauss_spare *spare);

/* Natural parameters, kept[M (M + 1)]. */
void gauss_keep(const gauss *q, double *kept);
/* Under names that end in `name`; false: from another run. */
void gauss_save(const gauss *q, const char *name, checkpoint *to);
bool gauss_restore(gauss *q, gauss_spare *spare, const char *name, const checkpoint *from);

#endif
