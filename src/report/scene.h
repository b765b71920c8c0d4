/* What the pictures of one target are drawn from: the fitted model, and rows of a table with what the model says about them.
       scene.c          opening and closing; names; typical values and ranges of the inputs; which inputs matter
       scene_rows.c     the rows, or a sample of them where there are many
       scene_predict.c  what the model says about these rows, and about other places
   Inputs are held in model units; scene_value turns one of them into data units.  A place on the sphere, three columns of X at the end of a
   row, is held as its longitude and its latitude: from the middle of their range, in quarters of it. */
#ifndef REPORT_SCENE_H
#define REPORT_SCENE_H

#include "gp/gp.h"

enum { SCENE_ROWS_MOST = 20000 }; /* more rows than that are sampled */

typedef struct scene {
    const gp *g;
    const settings *fit; /* of the fit */
    const settings *s;   /* of the report */
    bool standard;       /* the fit standardised the inputs */
    const char *path;    /* the table; NULL: none */
    predictor *predictor;

    int64_t file_rows; /* of the table, or of the part of it that is looked at */
    int64_t usable;    /* those with all that is needed; n of them are here */
    int64_t incomplete, unlabelled;
    double held;   /* only this share of the rows was looked at: those that the fit held out; 0: all */
    bool fitted;   /* the rows are those that the model was fitted to */
    bool labelled; /* they have targets */

    int64_t D; /* columns of a row here */
    int64_t n;
    int64_t *number;                      /* in the table, from 0 */
    double *X;                            /* n x D */
    double *exposure;                     /* n */
    double *y;                            /* n; of classes the index */
    double *mean, *variance, *low, *high; /* of y; the 95 % interval.  NULL for classes, as are the next */
    double *below, *up_to, *log_density;  /* P(y' < y), P(y' <= y), log p(y); labelled only */
    double *P;                            /* n x classes, column-major */
    double *unexplained;                  /* n: what is left of the prior variance of the first latent */

    double *typical, *from, *to; /* D: median or most frequent category; where nearly all of the values lie */
    double *relevance;           /* D: 1 over the length-scale, of the standardised column; 0: it has none */
    bool scaled;                 /* they differ */
    int64_t *ranked;             /* D: columns of X, those that matter most first */
    double *model_X;             /* to work with, where rows are not as the model has them */
    int64_t model_rows;          /* room in it */
} scene;

static inline int64_t scene_columns(const gp *g) { return g->schema.D - g->schema.sphere.on; }

/* path: NULL, or a table.  held: look only at the rows of this share, which the fit held out. */
anygp_status scene_open(const gp_set *m, int64_t target, const settings *s, const char *path, double held, bool fitted,
                        scene **out, anygp_error *e);
void scene_close(scene *c); /* accepts NULL */

/* Steps of scene_open. */
anygp_status scene_read(scene *c, anygp_error *e);
anygp_status scene_predict(scene *c, anygp_error *e);

/* --------------------------------------------------------------------------------- what it has */

enum { SCENE_LABEL = 128 };
const char *scene_input(const scene *c, int64_t j, char label[SCENE_LABEL]); /* column j of X */
/* The same for pictures: of a long name the part that other inputs share is left out: average_...03_in_building_B. */
const char *scene_short_input(const scene *c, int64_t j, char label[SCENE_LABEL]);
const char *scene_axis(const scene *c, int64_t j, char label[SCENE_LABEL]); /* with its unit, if it is known */
const char *scene_target(const scene *c, char label[SCENE_LABEL]);
const char *scene_target_axis(const scene *c, char label[SCENE_LABEL]);
const char *scene_level(const scene *c, int64_t j, double x, char label[SCENE_LABEL]); /* of a text column */
bool scene_is_text(const scene *c, int64_t j);
bool scene_is_date(const scene *c, int64_t j);
/* A value in data units, as people write it: a date where the column has dates. */
const char *scene_number(const scene *c, int64_t j, double value, char label[SCENE_LABEL]);
void scene_from_model(const scene *c, const double *model, double *x); /* a row, and back */
void scene_to_model(const scene *c, const double *x, double *model);
double scene_value(const scene *c, int64_t j, double x); /* from model units */
double scene_place(const scene *c, int64_t j, double x); /* to them */
bool scene_is_class(const scene *c);
bool scene_is_count(const scene *c);

/* m of the n rows, chosen at random but always the same, in order; all of them where there are not more. */
int64_t scene_some(const scene *c, int64_t most, int64_t *rows);

/* ------------------------------------------------------------------------- what the model says */

/* Whether a band is that of f (the uncertainty of the curve) or of y. */
bool scene_band_is_latent(const scene *c);
/* At n places in model units: mean of y, and unless NULL the ends of the band.  Not for classes. */
anygp_status scene_ask(scene *c, int64_t n, const double *X, double *mean, double *low, double *high, anygp_error *e);
anygp_status scene_ask_classes(scene *c, int64_t n, const double *X, double *P, anygp_error *e);
/* P(y' <= k) of counts at rows[m] of the scene. */
anygp_status scene_ask_counts(scene *c, int64_t m, const int64_t *rows, double k, double *out, anygp_error *e);

#endif
