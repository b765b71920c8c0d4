/* The list of pictures, in the order in which a report shows them. */
#include "report/picture.h"

#include <string.h>

static const picture *const list[] = {
    &picture_observed,  &picture_calibration, &picture_pit, &picture_rootogram,
    &picture_confusion, &picture_reliability, &picture_roc, &picture_residuals,
    &picture_relevance, &picture_effects,     &picture_map, &picture_trace,
};

int64_t picture_count(void) { return (int64_t)(sizeof list / sizeof *list); }
const picture *picture_at(int64_t i) { return list[i]; }

const picture *picture_find(const char *name)
{
    for (int64_t i = 0; i < picture_count(); i++)
        if (!strcmp(list[i]->name, name)) return list[i];
    return NULL;
}

bool picture_has_numbers(const scene *c) { return c->labelled && !scene_is_class(c); }
bool picture_has_classes(const scene *c) { return c->labelled && scene_is_class(c); }
