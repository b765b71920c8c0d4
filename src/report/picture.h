/* The pictures of a report, one file each; pictures.c lists them.  A new one is a file with its `picture`, and a line in that list. */
#ifndef REPORT_PICTURE_H
#define REPORT_PICTURE_H

#include "draw/draw.h"
#include "report/scene.h"

typedef struct picture {
    const char *name;    /* for plot --what */
    const char *title;   /* of its section in a report */
    const char *help;    /* one line: what it shows */
    const char *reading; /* how to read it, for the report */
    const char *needs;   /* what is missing where it does not apply */
    bool (*applies)(const scene *c);
    anygp_status (*draw)(scene *c, figures *f, anygp_error *e);
} picture;

extern const picture picture_observed, picture_calibration, picture_pit, picture_residuals, picture_relevance,
    picture_effects, picture_map, picture_trace, picture_confusion, picture_reliability, picture_roc, picture_rootogram;

int64_t picture_count(void);
const picture *picture_at(int64_t i);
const picture *picture_find(const char *name); /* NULL: there is none */

/* What several of them ask. */
bool picture_has_numbers(const scene *c); /* labelled rows whose target is a number or a count */
bool picture_has_classes(const scene *c); /* labelled rows whose target is a class */

void page_figures(FILE *f, const figures *list); /* side by side, in a page */

/* The usual size of a figure. */
#define FIGURE_WIDTH 420.0
#define FIGURE_HEIGHT 300.0

/* At most so many inputs get a figure of their own. */
enum { EFFECTS_MOST = 12, RESIDUALS_MOST = 5, CLASSES_SHOWN = 6 };

/* The share of the n rows whose central interval of probability `level` holds their target. */
double calibration_covered(const scene *c, double level);
enum { CALIBRATION_LEVELS = 8 };
extern const double calibration_levels[CALIBRATION_LEVELS]; /* 50 to 99 % */
/* share[bins]: of the mass of the probability integral transform in each. */
void pit_shares(const scene *c, int64_t bins, double *share);
/* The columns of a map, of X: those that the setting map names, or the two that there are; false and NULL: none. */
anygp_status map_columns(const scene *c, int64_t column[2], bool *found, anygp_error *e);

#endif
