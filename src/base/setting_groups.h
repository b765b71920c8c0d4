/* The settings in groups, as --help shows them; setting_groups_list.h is the table. */
#ifndef BASE_SETTING_GROUPS_H
#define BASE_SETTING_GROUPS_H

#include <stdbool.h>

#include "base/settings.h"

setting_id setting_listed(int64_t k); /* the k-th, 0 <= k < SETTING_COUNT, in that order; those in no group come last */
const char *setting_group(setting_id id); /* the title; "Other": it is in none */
const char *setting_brief(setting_id id); /* one line; "": the first clause of its help will do */
bool setting_common(setting_id id);       /* most people need it */

#endif
