#include "base/setting_groups.h"

static const struct entry {
    const char *title; /* NULL: it is a setting */
    setting_id id;
    bool common;
    const char *brief;
} entries[] = {
#define TITLE(text) {text, SETTING_COUNT, false, ""},
#define S(id, common, brief) {NULL, SET_##id, common, brief},
#include "base/setting_groups_list.h"
#undef TITLE
#undef S
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* -1: in no group. */
static int place_of(setting_id id)
{
    for (int i = 0; i < ENTRIES; i++)
        if (!entries[i].title && entries[i].id == id) return i;
    return -1;
}

setting_id setting_listed(int64_t k)
{
    for (int i = 0; i < ENTRIES; i++)
        if (!entries[i].title && k-- == 0) return entries[i].id;
    for (setting_id id = 0; id < SETTING_COUNT; id++)
        if (place_of(id) < 0 && k-- == 0) return id;
    return SETTING_COUNT;
}

const char *setting_group(setting_id id)
{
    int at = place_of(id);
    while (at >= 0 && !entries[at].title) at--;
    return at < 0 ? "Other" : entries[at].title;
}

const char *setting_brief(setting_id id)
{
    int at = place_of(id);
    return at < 0 ? "" : entries[at].brief;
}

bool setting_common(setting_id id)
{
    int at = place_of(id);
    return at >= 0 && entries[at].common;
}
