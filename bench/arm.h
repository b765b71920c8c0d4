/* Inverse dynamics of an arm with seven revolute joints: the torques for given positions, velocities and accelerations, by the
   recursive Newton-Euler equations (Luh, Walker and Paul 1980; notation of Craig, "Introduction to robotics", section 6.5).

   Frame i is fixed to link i, its z axis is joint i, and it is reached from frame i-1 by a rotation `twist` about x, a step `along`
   the new z and the rotation q_i about it: R_i = Rx(twist) Rz(q), P_i = Rx(twist) (0, 0, along)', both as seen from frame i-1.
   Outward, in the frame of each link:
       w_i  = R'w + q. z,      w._i = R'w. + R'w x q. z + q.. z,      v._i = R'(w. x P + w x (w x P) + v.)
       F_i  = m (v. + w. x c + w x (w x c)),      N_i = I w. + w x I w
   and inward:
       f_i = R f + F_i,      n_i = N_i + R n + c x F_i + P x R f,      torque_i = n_i z + friction q.
   Gravity is an acceleration g of the base upwards.  Lengths in m, masses in kg, inertias in kg m^2 about the centre of mass; the
   sizes are those of a light arm of 1.2 m. */
#ifndef BENCH_ARM_H
#define BENCH_ARM_H

#include <math.h>

enum { JOINTS = 7 };

typedef struct vec {
    double x, y, z;
} vec;

typedef struct limb {
    double twist, along; /* rad, m */
    double mass;
    vec centre;  /* of mass, in the link's frame */
    vec inertia; /* about it, along the axes of the frame */
} limb;

static const double ARM_GRAVITY = 9.81, ARM_RIGHT = 1.57079632679489662;

static inline limb arm_link(int i)
{
    static const double twist[JOINTS] = {0, 1, -1, -1, 1, 1, -1}, along[JOINTS] = {0.31, 0, 0.40, 0, 0.39, 0, 0.08};
    static const double mass[JOINTS] = {2.7, 2.7, 2.6, 2.6, 1.7, 1.6, 0.4};
    static const vec centre[JOINTS] = {{0.001, -0.06, -0.05}, {0.001, 0.05, 0.06}, {-0.001, 0.06, -0.05},
                                       {0.001, -0.05, 0.06},  {0, -0.04, -0.08},   {0.002, -0.01, 0.01},
                                       {0.004, -0.003, 0.01}};
    static const vec inertia[JOINTS] = {{0.016, 0.008, 0.015},   {0.016, 0.015, 0.008}, {0.015, 0.008, 0.014},
                                        {0.015, 0.014, 0.008},   {0.009, 0.004, 0.008}, {0.003, 0.003, 0.0025},
                                        {0.0005, 0.0004, 0.0006}};
    return (limb){twist[i] * ARM_RIGHT, along[i], mass[i], centre[i], inertia[i]};
}

static inline vec add(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vec times(double s, vec a) { return (vec){s * a.x, s * a.y, s * a.z}; }
static inline double inner(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline vec along_axes(vec I, vec w) { return (vec){I.x * w.x, I.y * w.y, I.z * w.z}; }

/* From a link's frame to the one before it, R v, and back, R'v. */
static inline vec outer_to_inner(limb l, double q, vec v)
{
    double x = cos(q) * v.x - sin(q) * v.y, y = sin(q) * v.x + cos(q) * v.y;
    return (vec){x, cos(l.twist) * y - sin(l.twist) * v.z, sin(l.twist) * y + cos(l.twist) * v.z};
}

static inline vec inner_to_outer(limb l, double q, vec v)
{
    double y = cos(l.twist) * v.y + sin(l.twist) * v.z, z = -sin(l.twist) * v.y + cos(l.twist) * v.z;
    return (vec){cos(q) * v.x + sin(q) * y, -sin(q) * v.x + cos(q) * y, z};
}

/* P: the origin of a link's frame, as seen from the one before it. */
static inline vec arm_origin(limb l) { return (vec){0, -sin(l.twist) * l.along, cos(l.twist) * l.along}; }

static inline void arm_torques(const double *q, const double *velocity, const double *acceleration, double friction,
                               double *torque)
{
    vec F[JOINTS], N[JOINTS], w = {0, 0, 0}, dw = {0, 0, 0}, dv = {0, 0, ARM_GRAVITY}, f = {0, 0, 0}, n = {0, 0, 0};
    for (int i = 0; i < JOINTS; i++) {
        limb l = arm_link(i);
        vec P = arm_origin(l), c = l.centre, spin = {0, 0, velocity[i]};
        dv = inner_to_outer(l, q[i], add(dv, add(cross(dw, P), cross(w, cross(w, P)))));
        w = inner_to_outer(l, q[i], w);
        dw = add(inner_to_outer(l, q[i], dw), add(cross(w, spin), (vec){0, 0, acceleration[i]}));
        w = add(w, spin);
        F[i] = times(l.mass, add(dv, add(cross(dw, c), cross(w, cross(w, c)))));
        N[i] = add(along_axes(l.inertia, dw), cross(w, along_axes(l.inertia, w)));
    }
    for (int i = JOINTS - 1; i >= 0; i--) {
        /* f and n are those of link i + 1, in the frame of link i */
        vec P = i + 1 < JOINTS ? arm_origin(arm_link(i + 1)) : (vec){0, 0, 0};
        n = add(add(N[i], n), add(cross(arm_link(i).centre, F[i]), cross(P, f)));
        f = add(f, F[i]);
        torque[i] = n.z + friction * velocity[i];
        n = outer_to_inner(arm_link(i), q[i], n);
        f = outer_to_inner(arm_link(i), q[i], f);
    }
}

/* A vector of the frame of link i, and the place of a point of it, as seen from the base. */
static inline vec arm_direction(const double *q, int i, vec v)
{
    for (; i >= 0; i--) v = outer_to_inner(arm_link(i), q[i], v);
    return v;
}

static inline vec arm_place(const double *q, int i, vec v)
{
    for (; i >= 0; i--) v = add(arm_origin(arm_link(i)), outer_to_inner(arm_link(i), q[i], v));
    return v;
}

#endif
