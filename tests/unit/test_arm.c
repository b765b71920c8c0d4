/* The arm of bench/arm.h by another road: energies from places alone, as functions of time, by central differences. */
#include "../../bench/arm.h"
#include "support.h"

/* The last argument is a time; positions are smooth functions of it. */
static void positions(double t, double *q)
{
    for (int j = 0; j < JOINTS; j++) q[j] = 0.3 * j - 1 + 0.8 * sin((1 + 0.3 * j) * t + j);
}

static double potential(const double *q)
{
    double sum = 0;
    for (int i = 0; i < JOINTS; i++) sum += ARM_GRAVITY * arm_link(i).mass * arm_place(q, i, arm_link(i).centre).z;
    return sum;
}

static vec difference(vec after, vec before, double h) { return times(1 / (2 * h), add(after, times(-1, before))); }

/* Of the motion of the axes e_k of a link: w = sum_k e_k x e_k. / 2; back in the link's frame, where the inertia is diagonal. */
static double kinetic(double t)
{
    const vec axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double h = 1e-5;
    double before[JOINTS], now[JOINTS], after[JOINTS], sum = 0;
    positions(t - h, before), positions(t, now), positions(t + h, after);
    for (int i = 0; i < JOINTS; i++) {
        limb l = arm_link(i);
        vec v = difference(arm_place(after, i, l.centre), arm_place(before, i, l.centre), h), w = {0, 0, 0};
        for (int k = 0; k < 3; k++)
            w = add(
                w, times(0.5, cross(arm_direction(now, i, axes[k]), difference(arm_direction(after, i, axes[k]),
                                                                               arm_direction(before, i, axes[k]), h))));
        vec own = {inner(w, arm_direction(now, i, axes[0])), inner(w, arm_direction(now, i, axes[1])),
                   inner(w, arm_direction(now, i, axes[2]))};
        sum += 0.5 * (l.mass * inner(v, v) + inner(own, along_axes(l.inertia, own)));
    }
    return sum;
}

static double energy(double t)
{
    double q[JOINTS];
    positions(t, q);
    return kinetic(t) + potential(q);
}

static void torques_at_rest_are_the_slope_of_the_potential_energy(void **unused)
{
    (void)unused;
    double q[JOINTS], zero[JOINTS] = {0}, torque[JOINTS];
    positions(0.7, q);
    arm_torques(q, zero, zero, 0, torque);
    for (int j = 0; j < JOINTS; j++) {
        double h = 1e-5, place = q[j];
        q[j] = place + h;
        double up = potential(q);
        q[j] = place - h;
        double down = potential(q);
        q[j] = place;
        check_close(torque[j], (up - down) / (2 * h), 1e-7);
    }
}

static void power_of_the_torques_is_the_growth_of_the_energy(void **unused)
{
    (void)unused;
    for (double t = 0.1; t < 3; t += 0.4) {
        double q[JOINTS], v[JOINTS], a[JOINTS], torque[JOINTS], power = 0, h = 1e-3;
        positions(t, q);
        for (int j = 0; j < JOINTS; j++) {
            double rate = 1 + 0.3 * j;
            v[j] = 0.8 * rate * cos(rate * t + j), a[j] = -0.8 * rate * rate * sin(rate * t + j);
        }
        arm_torques(q, v, a, 0, torque);
        for (int j = 0; j < JOINTS; j++) power += torque[j] * v[j];
        check_close(power, (8 * (energy(t + h) - energy(t - h)) - energy(t + 2 * h) + energy(t - 2 * h)) / (12 * h),
                    1e-5);
    }
}

/* Between two motions with the same positions and velocities, which differ in one acceleration each: the mass matrix. */
static void the_mass_matrix_is_symmetric(void **unused)
{
    (void)unused;
    double q[JOINTS], v[JOINTS], M[JOINTS][JOINTS], bias[JOINTS], a[JOINTS] = {0};
    positions(0.2, q), positions(1.1, v);
    arm_torques(q, v, a, 0, bias);
    for (int i = 0; i < JOINTS; i++) {
        a[i] = 1;
        arm_torques(q, v, a, 0, M[i]);
        a[i] = 0;
        for (int j = 0; j < JOINTS; j++) M[i][j] -= bias[j];
    }
    for (int i = 0; i < JOINTS; i++)
        for (int j = 0; j < i; j++) check_close(M[i][j], M[j][i], 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(torques_at_rest_are_the_slope_of_the_potential_energy),
                                       cmocka_unit_test(power_of_the_torques_is_the_growth_of_the_energy),
                                       cmocka_unit_test(the_mass_matrix_is_symmetric)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
