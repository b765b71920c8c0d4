/* What a canvas is, for the files of this folder. */
#ifndef DRAW_CANVAS_H
#define DRAW_CANVAS_H

#include "draw/draw.h"

struct canvas {
    double width, height;
    char *title;
    FILE *f; /* the elements drawn so far; NULL: out of memory */
    char *text;
    size_t size;
    int64_t boxes, room;
    text_box *box;
    bool failed;
};

#endif
