/* The pictures of a comparison. */
#ifndef REPORT_COMPARE_FIGURES_H
#define REPORT_COMPARE_FIGURES_H

#include "draw/draw.h"
#include "gp/compare.h"

/* Score against time, the lines that no other beats joined by steps; *unnamed: points whose name found no place. */
anygp_status compare_frontier(const gp_compare *c, figures *f, int64_t *unnamed, anygp_error *e);
/* The score of every part, its mean and standard deviation, a row per line; for folds. */
anygp_status compare_spread(const gp_compare *c, figures *f, anygp_error *e);
/* The candidates of every step of a search, and those it took. */
anygp_status compare_path(const gp_compare *c, figures *f, anygp_error *e);

/* The highest mnlp on an axis: far worse ones would leave no room for the others, and are drawn at the edge. */
double compare_axis_top(const gp_compare *c);

#endif
