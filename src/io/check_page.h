/* A check of a model as a page and as JSON. */
#ifndef IO_CHECK_PAGE_H
#define IO_CHECK_PAGE_H

#include "gp/check.h"

/* *text is freed by free(). */
anygp_status check_page(const gp_check *c, bool json, char **text, anygp_error *e);

#endif
