#include "progress_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is left: of the time limit if there is one, else of the iterations at the present pace. */
double progress_seconds_left(const anygp_progress *p)
{
    double pace = p->iteration > 0 && p->iterations > 0
                      ? p->seconds / (double)p->iteration * (double)(p->iterations - p->iteration)
                      : NAN;
    double limit = p->time_limit - p->seconds;
    double left = fmin(limit, pace); /* the one that is a number */
    return left < 0 ? 0 : left;
}

/* The share that is done, of the iterations or of the time; NaN: not known. */
static double share_done(const anygp_progress *p)
{
    double steps = p->iterations > 0 ? (double)p->iteration / (double)p->iterations : NAN;
    double share = fmax(steps, p->seconds / p->time_limit); /* the one that is a number */
    return share > 1 ? 1 : share;
}

/* "45 s", "12 min", "3.2 h". */
static void duration(double seconds, char *out, size_t size)
{
    if (seconds < 120)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(out, size, "%.0f min", seconds / 60);
    else
        snprintf(out, size, "%.1f h", seconds / 3600);
}

/* ------------------------------------------------------------------------------------------- pieces */

/* In the order of the line. */
enum { STAGE, RUN, OBJECTIVE, SCORE, SECONDS, LEFT, PIECES };
enum { PIECE = 48 };
/* Which go first where there is no room for all. */
static const int least_needed[] = {RUN, SECONDS, OBJECTIVE, SCORE, LEFT};

static void fill(const anygp_progress *p, char piece[PIECES][PIECE])
{
    memset(piece, 0, PIECES * sizeof *piece);
    if (p->iterations > 0)
        snprintf(piece[STAGE], PIECE, "%s %lld/%lld", p->stage, (long long)p->iteration, (long long)p->iterations);
    else
        snprintf(piece[STAGE], PIECE, "%s %lld", p->stage, (long long)p->iteration);
    if (p->restarts > 0)
        snprintf(piece[RUN], PIECE, "run %lld of %lld", (long long)p->restart + 1, (long long)p->restarts + 1);
    if (!isnan(p->objective)) snprintf(piece[OBJECTIVE], PIECE, "objective %.6g", p->objective);
    if (!isnan(p->rmse))
        snprintf(piece[SCORE], PIECE, "rmse %.4g", p->rmse);
    else if (!isnan(p->mnlp))
        snprintf(piece[SCORE], PIECE, "mnlp %.4g", p->mnlp);
    duration(p->seconds, piece[SECONDS], PIECE);
    char left[24];
    duration(progress_seconds_left(p), left, sizeof left);
    if (!isnan(progress_seconds_left(p))) snprintf(piece[LEFT], PIECE, "at most %s left", left);
}

static size_t join(char piece[PIECES][PIECE], const char *between, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (int k = 0; k < PIECES; k++)
        if (*piece[k] && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? between : "", piece[k]);
    return used;
}

void progress_sentence(const anygp_progress *p, char *out, size_t size)
{
    char piece[PIECES][PIECE];
    fill(p, piece);
    join(piece, ", ", out, size);
}

/* ---------------------------------------------------------------------------------------------- line */

/* "[=====>    ] 50 %  " in so many columns, where that is enough for one; how many it has. */
static size_t bar(double share, size_t columns, char *out)
{
    enum { LEAST = 8, MOST = 30, AROUND = 10 };
    if (isnan(share) || columns < LEAST + AROUND) return *out = 0, 0;
    size_t cells = columns - AROUND < MOST ? columns - AROUND : MOST, done = (size_t)(share * (double)cells);
    char *at = out;
    *at++ = '[';
    for (size_t k = 0; k < cells; k++) *at++ = k < done ? '=' : k == done ? '>' : ' ';
    return (size_t)(at - out) + (size_t)sprintf(at, "] %3.0f %%  ", 100 * share);
}

void progress_text(const anygp_progress *p, int columns, char *out, size_t size)
{
    char piece[PIECES][PIECE], text[PIECES * (PIECE + 2)], drawn[64];
    size_t room = (size_t)(columns - 1), used;
    fill(p, piece);
    for (size_t k = 0; (used = join(piece, "  ", text, sizeof text)) > room; k++) {
        if (k == sizeof least_needed / sizeof *least_needed) {
            text[used = room] = 0;
            break;
        }
        *piece[least_needed[k]] = 0;
    }
    bar(share_done(p), room - used, drawn);
    snprintf(out, size, "%s%s", drawn, text);
}

bool progress_due(double seconds, double *next)
{
    static const double FIRST = 30, LEAST = 30, SHARE = 0.1;
    if (*next == 0) *next = FIRST;
    if (!(seconds >= *next)) return false;
    *next = seconds + fmax(LEAST, SHARE * seconds);
    return true;
}
