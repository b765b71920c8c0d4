/* Prints the man page, docs/settings.md or docs/models.md; run by the build, never installed. */
#include <string.h>

#include "cli.h"

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "man"))
        help_man(stdout);
    else if (!strcmp(what, "settings"))
        help_settings(stdout);
    else if (!strcmp(what, "models"))
        models_page(stdout);
    else
        return fprintf(stderr, "usage: make_docs man|settings|models\n"), 1;
    return 0;
}
