/* A table of the inverse dynamics of the arm in arm.h: 21 inputs (positions, velocities, accelerations) and 7 torques with noise.
       arm ROWS SEED >arm.csv
   Rows are moments of smooth motions, drawn at random: in each of 60 motions a joint follows four waves around a place of its own,
   and a motion has a speed of its own.  Build: cc -O2 arm.c -lm. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "arm.h"

enum { MOTIONS = 60, WAVES = 4 };

typedef struct motion {
    double speed, centre[JOINTS], amplitude[JOINTS][WAVES], frequency[JOINTS][WAVES], phase[JOINTS][WAVES];
} motion;

static const double TURN = 6.28318530717958648, SECONDS = 60, FRICTION = 0.4, NOISE = 0.02;

/* splitmix64 */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    double r = sqrt(-2 * log(uniform(state)));
    return r * cos(TURN * uniform(state));
}

static motion draw_motion(uint64_t *state)
{
    motion m = {.speed = 0.4 + 1.6 * uniform(state)};
    for (int j = 0; j < JOINTS; j++) {
        m.centre[j] = 2 * uniform(state) - 1;
        for (int k = 0; k < WAVES; k++) {
            m.amplitude[j][k] = 0.5 * uniform(state) / (k + 1);
            m.frequency[j][k] = m.speed * (0.1 + 0.2 * (k + uniform(state)));
            m.phase[j][k] = TURN * uniform(state);
        }
    }
    return m;
}

/* row: positions, velocities, accelerations. */
static void at_time(const motion *m, double t, double *row)
{
    for (int j = 0; j < JOINTS; j++) {
        double q = m->centre[j], velocity = 0, acceleration = 0;
        for (int k = 0; k < WAVES; k++) {
            double a = m->amplitude[j][k], w = TURN * m->frequency[j][k], angle = w * t + m->phase[j][k];
            q += a * sin(angle), velocity += a * w * cos(angle), acceleration -= a * w * w * sin(angle);
        }
        row[j] = q, row[JOINTS + j] = velocity, row[2 * JOINTS + j] = acceleration;
    }
}

static void write_header(void)
{
    for (int k = 0; k < 4; k++)
        for (int j = 1; j <= JOINTS; j++)
            printf("%s%d%c", (const char *[]){"q", "v", "a", "t"}[k], j, k == 3 && j == JOINTS ? '\n' : ',');
}

int main(int count, char **argument)
{
    long rows = count == 3 ? strtol(argument[1], NULL, 10) : 0;
    uint64_t state = count == 3 ? strtoull(argument[2], NULL, 10) : 0;
    static motion motions[MOTIONS];
    if (rows < 1) return fputs("usage: arm ROWS SEED\n", stderr), 1;
    for (int i = 0; i < MOTIONS; i++) motions[i] = draw_motion(&state);
    write_header();
    for (long i = 0; i < rows; i++) {
        double row[3 * JOINTS], torque[JOINTS];
        const motion *m = &motions[(int)(MOTIONS * uniform(&state))];
        at_time(m, SECONDS * uniform(&state), row);
        arm_torques(row, row + JOINTS, row + 2 * JOINTS, FRICTION, torque);
        for (int j = 0; j < 3 * JOINTS; j++) printf("%.6g,", row[j]);
        for (int j = 0; j < JOINTS; j++)
            printf("%.6g%c", torque[j] + NOISE * normal(&state), j + 1 < JOINTS ? ',' : '\n');
    }
    return 0;
}
