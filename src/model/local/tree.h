/* tree (Bui and Turner 2014; 003 [167], section V-B): inducing variables in groups, one per part of the input space, joined along a tree:
       p(u) = p(u_root) prod_k p(u_k | u_parent(k)),      f_k | u_k as under the Gaussian process, parts independent given u.
   The whole covariance of a part's rows given u_k is kept.  With u_k = L_k v_k every v_k is N(0, I), and
       v_k | v_p ~ N(C v_p, Q),   C = L_k^-1 K_kp L_p^-T,   Q = I - C C' = R R'
   so that the rows' statistics S_k, b_k, l_k, q_k are those of pitc in each part (sparse.h).

   Up, from the leaves: with S and b of a group and what its children sent,
       F = I + R'S R,   P = R F^-1 R' = (Q^-1 + S)^-1,   Y = S - S P S,   H = C - P S C
   the parent gets C'Y C and H'b; at the root C = 0 and Q = I.  The log evidence is
       -(n log 2 pi + sum_k (l_k + q_k + log|F_k| - b_k'P_k b_k)) / 2.
   Down, from the root:   m_k = H m_p + P b,    V_k = H V_p H' + P.
   No Q is inverted: groups may be nearly the same.

   Reverse.  At the maximum over q(v) only p(v_k | v_p) depends on C; with a = b - S P b - Y C m_p and X = Y C V_p
       Cbar = a m_p' - X - a a'C + Y C - X C'Y C.
   It goes to K_kp, and, as C is made like the features of rows, to L_k and L_p by E_k += Cbar C', E_p += Cbar'C.  The rest is the reverse
   of pitc's statistics at N(m_k, V_k).

   Predictions: of the row's part, a'm_k and k - |a|^2 + a'V_k a.  Jointly, given the rows v is a tree as before, v_k | v_p ~ N(H v_p + P b, P),
   so that with r_k = a and r_p = H'r_k up to the root
       cov(v_g, v_k) a = V_g r_g for g = k and the groups above it, and H_g times that of the parent for all others;
   rows of one part also share k - a'a'.

   New rows of a part are a block of their own given u_k, as in pitc: their statistics are added to those of its group, and messages go again.

   The tree is the shortest one that joins the means of the groups' places.  Any group can be the root: conditionals are exact, so the
   density is the same.  A part that got no inducing input belongs to the group of the nearest part that did.

   Cost: that of pitc with m = M / parts, and m^3 for every group. */
#ifndef MODEL_LOCAL_TREE_H
#define MODEL_LOCAL_TREE_H

#include "model/sparse/sparse_posterior.h"

/* A group of inducing variables. */
typedef struct tree_group {
    int64_t m, parent; /* variables; -1: the root */
    int64_t *member;   /* m: places in Z */
    hyper h;           /* a view of the hyperparameters with its own places */
    sparse s;
    double *C, *Cbar;      /* m x m_parent; NULL: the root */
    double *R, *P, *Y, *H; /* m x m, m x m, m x m, m x m_parent */
    double *S, *b;         /* m x m (both triangles), m: with the children's messages */
    double *V, *mean, *a;  /* m x m, m, m */
    int64_t stat, adjoint; /* where its own are */
} tree_group;

typedef struct tree_groups {
    int64_t count, M, parts, most; /* groups, inducing inputs, parts, variables of the largest group */
    tree_group *at;
    int64_t *order;        /* count: parents come before their children */
    int64_t *of;           /* parts: the group of each */
    int64_t few;           /* rows of a part that the sums are of; 0: all */
    int64_t stat, adjoint; /* sizes */
    double *work[2];       /* most x most */
} tree_groups;

/* Room of a group whose m and parent are known, and of its statistics behind those of the ones before. */
anygp_status tree_group_open(tree_groups *t, tree_group *g, const basis *mean, const hyper *h, anygp_error *e);
anygp_status tree_room(tree_groups *t, anygp_error *e); /* for the messages */

/* Groups for the places of h, by the route. */
anygp_status tree_open(tree_groups *t, const problem *p, const hyper *h, anygp_error *e);
void tree_clear(tree_groups *t); /* accepts a half-built one */

/* L, C and R at h.  False: a matrix has no factor at this jitter. */
bool tree_prepare(tree_groups *t, const hyper *h, double jitter);
/* C and R alone, from the L that there are. */
bool tree_join(tree_groups *t);
/* The log evidence but for its constant from the sums; m and V of all groups.  With `gradient` also what the reverses need. */
bool tree_messages(tree_groups *t, double *stat, bool gradient, double *value);
/* From the summed adjoints, which are used up, to gp[hyper_size(h)]. */
bool tree_finish(tree_groups *t, const hyper *h, double *adjoint, double *gp);

/* The rows' statistics for a block of the driver: block b is of group t->of[b] [tree.c]. */
extern const block_model tree_parts;

/* What the rows said, for predictions of several rows and for new rows. */
typedef struct tree_sums {
    double *parent; /* count: of each group; -1: the root */
    double *S, *b;  /* the groups' own statistics one after the other: m x m (lower triangle), m */
    double all[3];  /* l and q of all parts, original rows */
} tree_sums;

/* After the messages, which leave V and m: the posterior, with sums from `stat`, of this many rows in all. */
anygp_status tree_to_posterior(tree_groups *t, double *stat, double rows, const router *route, posterior **out,
                               anygp_error *e);
extern const update_ops tree_update_ops; /* [tree_update.c] */
anygp_status tree_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e);

#endif
