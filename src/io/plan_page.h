/* The plan of a fit as a page and as JSON. */
#ifndef IO_PLAN_PAGE_H
#define IO_PLAN_PAGE_H

#include "gp/plans.h"

/* *text is freed by free(). */
anygp_status plan_page(const gp_plan *p, bool json, char **text, anygp_error *e);

#endif
