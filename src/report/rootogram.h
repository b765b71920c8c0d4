/* The numbers of a rootogram. */
#ifndef REPORT_ROOTOGRAM_H
#define REPORT_ROOTOGRAM_H

#include "report/scene.h"

enum { ROOTOGRAM_BINS = 30 };
typedef struct rootogram {
    int64_t bins, rows;
    double width; /* of a bin; bin b has the counts b width .. (b + 1) width - 1 */
    double observed[ROOTOGRAM_BINS], expected[ROOTOGRAM_BINS];
} rootogram;
anygp_status rootogram_make(scene *c, rootogram *r, anygp_error *e);

#endif
