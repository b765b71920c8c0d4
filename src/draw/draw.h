/* Pictures as SVG.  A figure is one plot with its texts; a picture is a list of figures, side by side on a page or stacked in a file.

       canvas    lines, shapes and texts in pixels; remembers the box of every text, so that tests can prove that none overlap
       ticks     good numbers for an axis
       panel     axes, title and legend around a plot area, and what is drawn in data units inside it
       figures   a picture: figures to one SVG file, or one by one into a page

   Colours are classes of a style sheet (draw_style), which has a light and a dark set; they are those of Okabe and Ito, which the
   colour-blind can tell apart.  A number that is not finite is not drawn.  Memory that runs out is remembered and reported once, by
   figures_failed. */
#ifndef DRAW_DRAW_H
#define DRAW_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* -------------------------------------------------------------------------------------- canvas */

typedef struct text_box {
    double left, top, right, bottom;
} text_box;

typedef struct canvas canvas;

typedef enum text_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } text_anchor;

/* Sizes of text, in pixels of the figure. */
#define TEXT_TITLE 13.0
#define TEXT_LABEL 12.0
#define TEXT_TICK 11.0

/* The palette: what a mark's colour is called. */
typedef enum colour {
    COLOUR_BLUE,
    COLOUR_ORANGE,
    COLOUR_GREEN,
    COLOUR_PURPLE,
    COLOUR_SKY,
    COLOUR_RED,
    COLOUR_WHITE,
    COLOUR_BLACK,
    COLOURS
} colour;

double text_width(const char *text, double size); /* an upper estimate, by average widths of characters */
/* The text, or as much of its start as fits with an ellipsis; into `to`. */
const char *text_fitted(const char *text, double size, double width, char *to, size_t room);
/* With <, >, &, quotes and control characters replaced, so that any text is one of XML. */
void text_escaped(FILE *f, const char *text);

double canvas_width(const canvas *c);
double canvas_height(const canvas *c);
const char *canvas_title(const canvas *c);
int64_t canvas_boxes(const canvas *c, const text_box **list);
FILE *canvas_stream(canvas *c); /* for marks of many pieces */

void canvas_line(canvas *c, const char *style, double x1, double y1, double x2, double y2);
void canvas_rect(canvas *c, const char *style, double left, double top, double right, double bottom);
void canvas_dot(canvas *c, const char *style, double x, double y, double radius);
/* y: of the base line; up: turned to read from bottom to top. */
void canvas_text(canvas *c, double x, double y, text_anchor anchor, double size, bool up, const char *text);

/* --------------------------------------------------------------------------------------- ticks */

enum { TICKS_MOST = 16, TICK_LABEL = 24 };
typedef struct ticks {
    int count;
    double at[TICKS_MOST];
    char label[TICKS_MOST][TICK_LABEL];
} ticks;

/* At most `most` (at least 2 of them where the range allows) multiples of 1, 2 or 5 times a power of ten from low to high. */
void ticks_linear(double low, double high, int most, ticks *t);
/* Powers of ten, and where these are few 2 and 5 times them; 0 < low < high. */
void ticks_log(double low, double high, int most, ticks *t);

/* The numbers are days since 1970-01-01: at most `most` seconds, minutes, hours, days, months or years, written as dates. */
void ticks_dates(double low, double high, int most, ticks *t);
/* Such a number as 2024, 2024-03, 2024-03-01, 2024-03-01 12:30, 2024-03-01 12:30:00: 0 to 4 parts after the year. */
void date_text(double days, int parts, char *to, size_t room);

/* A number for people: so many significant digits, and no exponent where it can be read without. */
void number_text(double x, int digits, char *to, size_t room);

/* --------------------------------------------------------------------------------------- panel */

typedef struct axis {
    double low, high;
    bool log;
    bool dates; /* days since 1970-01-01 */
    const char *label;
    /* y only: rows of bars, from the top; their names stand where ticks would */
    int64_t names;
    const char *const *name;
} axis;

/* Room around what has been seen; one value, or none, gets a range of its own. */
axis axis_over(const char *label, int64_t n, const double *values);
void axis_include(axis *a, double value);
void axis_widen(axis *a, double share); /* room of that share of the range on either side */

typedef enum mark { MARK_DOT, MARK_LINE, MARK_DASHES, MARK_BAND, MARK_BAR } mark;
typedef struct legend_entry {
    mark mark;
    colour colour;
    const char *text;
} legend_entry;

typedef struct panel {
    canvas *c;
    double left, top, right, bottom; /* of the plot area, pixels */
    axis x, y;
} panel;

/* legend[entries] may be NULL.  scale: NULL, or the range of a colour bar at the right. */
panel panel_begin(canvas *c, axis x, axis y, int entries, const legend_entry *legend, const axis *scale);

double panel_x(const panel *p, double x);
double panel_y(const panel *p, double y);
double panel_row(const panel *p, int64_t i); /* the middle of row i of names, pixels */
double panel_row_height(const panel *p);

void panel_dots(const panel *p, colour k, double radius, int64_t n, const double *x, const double *y);
void panel_line(const panel *p, colour k, bool dashes, int64_t n, const double *x, const double *y);
void panel_steps(const panel *p, colour k, int64_t n, const double *x, const double *y);
void panel_band(const panel *p, colour k, int64_t n, const double *x, const double *low, const double *high);
void panel_spans(const panel *p, colour k, int64_t n, const double *x, const double *low, const double *high);
void panel_bar(const panel *p, colour k, double left, double right, double low, double high);
void panel_guide(const panel *p, double x1, double y1, double x2, double y2); /* dashes in grey */
/* The name of each point beside it (NULL: none), the first ones before the others, where it meets no text and no point; how many found no
   place and are left out. */
int64_t panel_names(const panel *p, int64_t n, const double *x, const double *y, const char *const *name);
/* value[nx, ny]: row by row from the bottom, cells of equal size over the whole area; colours over `scale`. */
void panel_heat(const panel *p, int64_t nx, int64_t ny, const double *value, const axis *scale);

/* ------------------------------------------------------------------------------------- figures */

typedef struct figures figures;
figures *figures_new(void);
void figures_free(figures *f);
/* Draws on what is returned; never NULL once there is an f.  title: what it shows. */
canvas *figures_add(figures *f, double width, double height, const char *title);
int64_t figures_count(const figures *f);
const canvas *figures_at(const figures *f, int64_t i);
bool figures_failed(const figures *f);
/* One figure as an element of a page that has draw_style(). */
void figure_inline(FILE *to, const canvas *c);
/* All of them as one SVG file; dark: whether it follows the reader's preference, which some programs cannot read. */
void figures_write(FILE *to, const figures *f, bool dark);
void draw_style(FILE *to, bool dark); /* the rules, without <style> */

/* The picture as PNG, twice the size of its pixels; false: this build has no way to, or the library is not there, and *why says so. */
bool figures_png(FILE *to, const figures *f, const char **why);

#endif
