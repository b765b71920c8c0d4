/* Rows to predict: those of a file that is bound to the model [bind.c], or the places of a grid [grid.c]. */
#ifndef GP_FEED_H
#define GP_FEED_H

#include "gp/bind_live.h"

typedef struct grid grid;

/* --grid: `text` over the inputs of the models that vary; the others stay where they always were. */
anygp_status grid_new(const gp_set *m, const char *text, grid **out, anygp_error *e);
void grid_free(grid *g); /* accepts NULL */
/* The next places, rows[got, inputs] in the order of the model's inputs. */
int64_t grid_next(grid *g, int64_t most, double *rows);
int64_t grid_row_number(const grid *g);    /* rows delivered so far */
const column *grid_columns(const grid *g); /* inputs: their names */
int64_t grid_column_number(const grid *g, int64_t input);
bool grid_has(const grid *g, int64_t input); /* it varies: the input is one of the coordinates */

typedef struct feed {
    int64_t columns;
    binding *binding; /* one of the two */
    grid *grid;
    double *cells; /* of the grid: room for some rows */
    int64_t room;
} feed; /* {0} to begin with */

/* in: NULL where the settings name a grid. */
anygp_status feed_open(feed *f, const gp_set *m, const settings *s, const char *in, anygp_error *e);
void feed_close(feed *f);
/* The next rows, (*cells)[got, columns]; live: through a pipe, as soon as there is one. */
anygp_status feed_next(feed *f, int64_t most, bool live, const double **cells, int64_t *got, anygp_error *e);
int64_t feed_row_number(const feed *f);
bool feed_is_live(const feed *f);
const row_units *feed_units(const feed *f, int64_t target); /* NULL: the rows are the inputs in their order */
void feed_exposure(feed *f, int64_t n, const double *cells, double *exposure);
/* Its columns; of texts the levels grow with the rows. */
const column *feed_columns(const feed *f);
int64_t feed_column_number(const feed *f, int64_t j); /* of column j in its file; for a grid, in the training file */
/* --keep: mark[columns] gets which of them are written beside the predictions; the coordinates of a grid, where it is not given. */
anygp_status feed_kept(const feed *f, const settings *s, bool *mark, anygp_error *e);

#endif
