/* A file of rows to a file of predictions.
       stream.c        mean and variance, or labels and probabilities, a block at a time
       stream_draws.c  joint draws
       stream_sheet.c  the columns of the file */
#ifndef GP_STREAM_H
#define GP_STREAM_H

#include "data/formats/writer.h"
#include "gp/feed.h"

/* What the file shows for every target: marginals, or S draws. */
typedef struct sheet {
    const gp_set *m;
    bool latent;
    bool parts;            /* the experts' predictions too */
    int64_t samples;       /* S; 0: marginals */
    int64_t kept, *keep;   /* columns of the rows that come first: how many, and which */
    int64_t width, widest; /* the latter: of the targets' */
    char **name;           /* width */
    column *cells;         /* width: those with labels are text */
} sheet;

anygp_status sheet_make(sheet *t, const feed *f, const settings *s, anygp_error *e);
/* Labels are texts where the format has them; else the indices of the classes, as info lists them. */
anygp_status sheet_open(const sheet *t, const settings *s, const char *out, writer **w, anygp_error *e);
void sheet_clear(sheet *t);
int64_t sheet_own_width(const sheet *t, int64_t target); /* without the columns of experts */
int64_t sheet_width_of(const sheet *t, int64_t target);
/* From the rows cells[n, columns] to the front of those of the table. */
void sheet_place_kept(const sheet *t, const feed *f, int64_t n, const double *cells, double *to);

/* The share of the memory that may be used. */
static inline double stream_memory(const settings *s) { return settings_memory(s) / 2; }

anygp_status stream_draws(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e);

#endif
