/* What is shown of a run that is under way: on a terminal one line that is drawn again and again, else a plain line now and then. */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H

#include <anygp/anygp.h>
#include <stdbool.h>
#include <stddef.h>

enum { PROGRESS_NARROW = 40 }; /* columns that a line needs; in fewer, plain lines */

/* The line for a terminal of so many columns, the last of which stays empty; NAN and zeros of p are left out. */
void progress_text(const anygp_progress *p, int columns, char *out, size_t size);
/* The same as one plain line of any length. */
void progress_sentence(const anygp_progress *p, char *out, size_t size);
/* Whether a plain line is due after so many seconds of the run; *next is when (0 at first): the first after half a minute, then every
   half minute, later after a tenth of the time so far. */
bool progress_due(double seconds, double *next);

double progress_seconds_left(const anygp_progress *p); /* at most; NaN: not known */

#endif
