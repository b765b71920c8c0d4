/* A comparison as a page and as JSON. */
#ifndef IO_COMPARE_PAGE_H
#define IO_COMPARE_PAGE_H

#include "gp/compare.h"

/* *text is freed by free(). */
anygp_status compare_page(const gp_compare *c, bool json, char **text, anygp_error *e);

#endif
