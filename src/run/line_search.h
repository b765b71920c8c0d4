/* Step length along a descent direction by the strong Wolfe conditions, one trial at a time.
   With phi(a) = f(x + a d), a step is accepted when
       phi(a) <= phi(0) + c1 a phi'(0)   and   |phi'(a)| <= c2 |phi'(0)|,           c1 = 1e-4, c2 = 0.9.
   Near the optimum the first one drowns in the rounding of f; there the approximate form of Hager and Zhang
   (2005, eq. 4.1) replaces it: phi(a) <= phi(0) + noise and phi'(a) <= (2 c1 - 1) phi'(0).

   The caller owns the vectors and evaluates; this knows numbers only:
       line_begin(&s, f, slope, first, cap);
       do evaluate phi at s.trial; while ((r = line_tell(&s, f, slope)) == LINE_MORE);                     */
#ifndef RUN_LINE_SEARCH_H
#define RUN_LINE_SEARCH_H

#include <stdbool.h>

typedef enum line_result {
    LINE_MORE,     /* evaluate at `trial` and tell */
    LINE_ACCEPT,   /* `trial` is the step */
    LINE_DECREASE, /* no Wolfe point was found, but `low` decreases f enough: take it */
    LINE_FAILED    /* no step decreases f */
} line_result;

typedef struct line_point {
    double a, f, slope;
} line_point;

typedef struct line_search {
    double trial;           /* where to evaluate next */
    line_point start;       /* a = 0 */
    line_point low;         /* the best point of sufficient decrease so far; `start` until there is one */
    line_point high;        /* the other end of the bracket; meaningful if `bracketed` */
    bool bracketed, walled; /* walled: f is not finite at high.a, which then only bounds the step */
    double cap;             /* largest step allowed */
    double noise;           /* differences of f below this are rounding */
    double width;           /* of the bracket one trial ago */
    int trials;
} line_search;

/* f and slope (negative) at a = 0; the first trial; the largest step. */
void line_begin(line_search *s, double f, double slope, double first, double cap);

/* What phi and phi' were at s->trial; numbers that are not finite mean "too far". */
line_result line_tell(line_search *s, double f, double slope);

/* True if the point last told has become `low`, so that its gradient is worth keeping. */
bool line_trial_is_low(const line_search *s, double told);

#endif
