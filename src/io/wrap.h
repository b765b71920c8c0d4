/* Lines that fit a screen. */
#ifndef IO_WRAP_H
#define IO_WRAP_H

#include <stdio.h>

/* The lines of text, those with more characters than `width` broken after semicolons, else at blanks, else after commas; what follows a
   break is indented.  A word that is longer than that stays whole. */
void wrap_lines(const char *text, int width, int indent, FILE *out);

#endif
