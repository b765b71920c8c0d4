/* How well the rows of an update are predicted by the model that has not seen them: a fair test.  It is worked out on the way, so
   that rows that can be read only once have it too.  What keeps it from being worked out does not keep the update from its end. */
#ifndef GP_UPDATE_SCORE_H
#define GP_UPDATE_SCORE_H

#include "gp/gp.h"

typedef struct update_score {
    const gp_set *m;
    scorer **scorer;    /* targets */
    block_file *blocks; /* --blocks-from, read by the names of the model's blocks */
    bool fails;
    anygp_error why;
} update_score;

/* The binding has its labels already.  in: its file. */
void update_score_open(update_score *u, const gp_set *m, const settings *s, const char *in, binding *b);
void update_score_rows(update_score *u, const binding *b, int64_t n, int64_t first, const double *cells);
/* Before the model is replaced.  scores[targets]; a warning where they are much worse than those of the fit. */
bool update_score_finish(update_score *u, const settings *s, gp_scores *scores);
void update_score_clear(update_score *u);

#endif
