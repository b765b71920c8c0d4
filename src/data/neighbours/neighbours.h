/* Nearest rows in Euclidean distance, ties to the lower number: by a kd-tree for few inputs, by matrix products for many; by another metric
   (near_metric.h; NULL: Euclidean) from tiles of all pairs.  The same on any number of threads. */
#ifndef DATA_NEIGHBOURS_NEIGHBOURS_H
#define DATA_NEIGHBOURS_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stop.h"
#include "comm/comm.h"
#include "data/neighbours/kd_tree.h"
#include "data/neighbours/near_metric.h"

/* Lists of at most k rows each: list i is row[i k] .. row[i k + count[i] - 1], nearest first.  Whoever has them made says where they are to
   be and who may end the search, which then fails with fail_stopped(). */
typedef struct near_rows {
    int64_t n, k;
    int32_t *row, *count;
    int32_t *
        walk; /* n: the rows, leaf after leaf of the tree that found the lists, so that rows near each other are; NULL: no tree */
    bool on_disk;     /* where the lists are (base/mapped.h) */
    stop_watch *stop; /* NULL: nobody */
} near_rows;

/* For each row of X[n,D], row-major, the k nearest among those before it. */
anygp_status neighbours_earlier(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t k, near_rows *out,
                                anygp_error *e);
/* The same for the rows in this order: lists and their rows are numbered by it.  Each rank of c, all of which call it, finds its share. */
anygp_status neighbours_in_order(int64_t n, int64_t D, const double *X, const near_metric *by, const int64_t *order,
                                 int64_t k, const comm *c, near_rows *out, anygp_error *e);
/* For each of m rows, which[m] (NULL: all n), the k nearest among all others; by shares too. */
anygp_status neighbours_other(int64_t n, int64_t D, const double *X, const near_metric *by, int64_t m,
                              const int64_t *which, int64_t k, const comm *c, near_rows *out, anygp_error *e);
void near_rows_clear(near_rows *l);

/* For other rows: what is searched, X[n,D], which has to outlive it. */
typedef struct near_search {
    int64_t n, D;
    const double *X;
    near_metric by;
    kd_tree tree; /* for few inputs and Euclidean distance; else unused */
} near_search;

anygp_status near_search_open(int64_t n, int64_t D, const double *X, const near_metric *by, near_search *s,
                              anygp_error *e);
void near_search_clear(near_search *s);
/* The k rows nearest to each of x[m,D], before[i] (NULL: all) of them at most in question: rows[m,k], count[m]. */
anygp_status near_search_find(const near_search *s, int64_t m, const double *x, const int64_t *before, int64_t k,
                              int32_t *rows, int32_t *count, anygp_error *e);
/* The same, with a way to go through the queries, so that each finds what it needs in the cache, and somebody who may end it; NULL, NULL. */
anygp_status near_search_find_along(const near_search *s, int64_t m, const double *x, const int64_t *before, int64_t k,
                                    const int32_t *walk, stop_watch *stop, int32_t *rows, int32_t *count,
                                    anygp_error *e);

/* Lists of the k rows nearest to each of x[m,D], rows[m,k] and count[m], become rows[m,most]: for rows in gaps, with up to three inputs,
   more rows on all sides instead, NEAR_GAP times as many in the middle of a wide one, but `most` at most; the others stay as they
   are [directions.c].  Rows to predict that lie close together in a gap have the same list.  leader[m], if not NULL: -1 where the list stays;
   else the first row with the same list, which alone has it. */
enum { NEAR_GAP = 8, NEAR_GAPS = 3, NEAR_SIDED = 3 /* inputs: more have too many sides to look to */ };
#define NEAR_WIDE 0.3 /* rows on a side are this share of their distance from x apart */
#define NEAR_CELL 0.5 /* of the distance of the nearest row: within this, rows to predict may have one list */
/* Where the nearest row is farther away than the first of a pair times the distance of the k-th, the list has the second times k rows; the
   widest gaps come first. */
extern const double near_gaps[NEAR_GAPS][2];
anygp_status near_search_spread(const near_search *s, int64_t m, const double *x, int64_t k, int64_t most,
                                int32_t *rows, int32_t *count, int32_t *leader, anygp_error *e);
/* Whether it may change a list. */
bool near_search_spreads(const near_search *s, int64_t k);

#endif
