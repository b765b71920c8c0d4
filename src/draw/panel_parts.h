/* Shared by the files of this folder that draw panels. */
#ifndef DRAW_PANEL_PARTS_H
#define DRAW_PANEL_PARTS_H

#include "draw/draw.h"

/* The mark of an entry, from x on, at the height y. */
void legend_mark(canvas *c, const legend_entry *l, double x, double y);

#endif
