/* Prints docs/settings.md or docs/models.md, or writes the files that are installed beside the program (man pages, completion of shells)
   into a directory; run by the build, never installed. */
#include <string.h>

#include "cli.h"

/* DIRECTORY/NAME for writing; NULL, and said: it cannot be made. */
static FILE *file_in(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    if (!f) perror(path);
    return f;
}

static int done(FILE *f) { return fclose(f) ? perror("make_docs"), 1 : 0; }

static int write_man(const char *directory)
{
    FILE *f = file_in(directory, "anygp.1");
    if (!f) return 1;
    man_program(f);
    int failed = done(f);
    for (int i = 0; i < command_count && !failed; i++) {
        char name[64];
        snprintf(name, sizeof name, "anygp-%s.1", commands[i].name);
        if (!(f = file_in(directory, name))) return 1;
        man_command(f, &commands[i]);
        failed = done(f);
    }
    return failed;
}

static int write_completion(const char *directory)
{
    for (const completion_shell *s = completion_shells; s->name; s++) {
        FILE *f = file_in(directory, s->file);
        if (!f) return 1;
        s->write(f);
        if (done(f)) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "man") && argc == 3) return write_man(argv[2]);
    if (!strcmp(what, "completion") && argc == 3) return write_completion(argv[2]);
    if (!strcmp(what, "settings"))
        help_settings(stdout);
    else if (!strcmp(what, "models"))
        models_page(stdout);
    else
        return fprintf(stderr, "usage: make_docs settings|models, or man|completion DIRECTORY\n"), 1;
    return 0;
}
