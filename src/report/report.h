/* What a report is made of, and the files that are written. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "gp/compare.h"
#include "report/scene.h"

/* One page for all targets.  in: a table, or NULL; out: a file, or NULL for standard output. */
anygp_status report_write(const gp_set *m, const settings *s, const char *in, const char *out, anygp_error *e);
/* The picture called `what`, of the first target or of that which the setting target names; .svg or .png by the ending of `out`. */
anygp_status plot_write(const gp_set *m, const settings *s, const char *in, const char *what, const char *out,
                        anygp_error *e);
/* The pictures that apply, one line each: name and what it shows; freed by free(). */
anygp_status plot_list(const gp_set *m, const settings *s, const char *in, char **text, anygp_error *e);

/* Scores beside those of the mean (or the frequencies of the classes) and of a linear model; NaN: not known. */
enum { STANDING_MODEL, STANDING_MEAN, STANDING_LINEAR, STANDING_COLUMNS, STANDING_ROWS = 8 };
typedef struct standing_row {
    const char *name, *meaning;
    double value[STANDING_COLUMNS];
} standing_row;
typedef struct standing {
    const char *rows_of; /* whose scores these are, in words */
    int rows;
    standing_row row[STANDING_ROWS];
    gp_scores own; /* all scores of the model on rows with targets */
} standing;
anygp_status standing_make(const scene *c, standing *t, anygp_error *e);
double standing_value(const standing *t, const char *name, int column); /* NaN: not known */

/* Five-fold predictions of linear regression: mean[n], variance[n]; of linear discriminants: P[n, K].  *done is false where the rows are
   too few or the columns too many. */
anygp_status linear_number_folds(const scene *c, double *mean, double *variance, bool *done, anygp_error *e);
anygp_status linear_class_folds(const scene *c, double *P, bool *done, anygp_error *e);

/* The rows that surprised most: at most `most` of them, the most surprising first; how many. */
typedef struct surprise {
    double less; /* minus how surprising it is */
    int64_t row; /* of the scene */
} surprise;
enum { SURPRISES = 10 };
anygp_status surprises_find(const scene *c, surprise list[SURPRISES], int64_t *count, anygp_error *e);
anygp_status surprises_table(const scene *c, FILE *f, anygp_error *e);

/* What may be wrong, one item <li> per sentence; how many. */
int warnings_write(const scene *c, const standing *t, FILE *f);

/* A comparison as such a page: the table, score against time, the spread over folds, the path of a search for kernels. */
anygp_status compare_report_write(const gp_compare *c, const char *out, anygp_error *e);

void page_style(FILE *f);                    /* the rules of the page, without <style> */
void page_begin(FILE *f, const char *title); /* up to <main> */
void page_end(FILE *f);                      /* from the footer on */

#endif
