/* The help of a setting, with the lists it speaks of: {models} and {likelihoods} come from their tables. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/name_list.h"
#include "model/model.h"

static const char *likelihood_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return likelihood_at(i)->name;
}

static char *model_list(void) { return model_names(NULL, ", "); }
static char *likelihood_list(void) { return name_list(likelihood_count(), likelihood_name, NULL, ", "); }

static const struct {
    const char *mark;
    char *(*list)(void);
} lists[] = {{"{models}", model_list}, {"{likelihoods}", likelihood_list}};

static const char *texts[SETTING_COUNT]; /* made once, for as long as the process lives */

static const char *filled_in(const char *help)
{
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const char *at = strstr(help, lists[k].mark);
        if (!at) continue;
        char *list = lists[k].list(), *text = NULL;
        size_t size = list ? strlen(help) + strlen(list) + 1 : 0;
        if (list && (text = malloc(size)))
            snprintf(text, size, "%.*s%s%s", (int)(at - help), help, list, at + strlen(lists[k].mark));
        free(list);
        return text ? text : help;
    }
    return help;
}

static void make_texts(void)
{
    for (setting_id i = 0; i < SETTING_COUNT; i++) texts[i] = filled_in(setting_at(i)->help);
}

const char *api_setting_help(setting_id i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_texts);
    return texts[i];
}
