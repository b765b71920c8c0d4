/* The jitter, relative to the mean diagonal, of a matrix that has no Cholesky factor: ten times as much at each attempt, from
   JITTER_FIRST.  A factorisation multiplies it for the last time at JITTER_MOST, so it ends at 1e-2; a run that goes on with
   more jitter keeps it within JITTER_MOST.  docs/numerics.md has the policy. */
#ifndef LINALG_JITTER_H
#define LINALG_JITTER_H

#define JITTER_FIRST 1e-10
#define JITTER_MOST 1e-3

static inline double jitter_next(double relative) { return relative > 0 ? 10 * relative : JITTER_FIRST; }

#endif
