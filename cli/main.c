#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0 done, 1 the input or the options are wrong, 2 internal. */
static int exit_status(anygp_status status) { return !ANYGP_FAILED(status) ? 0 : status == ANYGP_ERR_INTERNAL ? 2 : 1; }

/* Threads that spin while they wait win little on a quiet machine and cost several times the run on a busy one.  The
   OpenMP run time reads that wish when it is loaded, before main, so the program starts itself again with it set; where
   that fails it goes on as it is. */
static void wait_asleep(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    if (!setenv("OMP_WAIT_POLICY", "passive", 1)) execv("/proc/self/exe", argv);
}

static anygp_status run(const command *c, int argc, char **argv, anygp_error *e)
{
    options o = {0};
    anygp_status status = options_parse(c, argc, argv, &o, e);
    if (!ANYGP_FAILED(status)) {
        if (o.help)
            help_command(stdout, c);
        else
            status = c->run(&o, e);
    }
    options_free(&o);
    return status;
}

static anygp_status unknown(const char *word, anygp_error *e)
{
    if (word[0] == '-') return complain(e, ANYGP_ERR_ARGUMENT, "unknown option %.80s; see anygp --help", word);
    return complain(e, ANYGP_ERR_ARGUMENT,
                    "unknown command '%.80s'; the commands are fit, predict, eval, info and simulate", word);
}

int main(int argc, char **argv)
{
    anygp_error e = {0};
    const char *word = argc > 1 ? argv[1] : "--help";
    anygp_status status = ANYGP_OK;
    if (!strcmp(word, "--version") || !strcmp(word, "-V"))
        printf("anygp %s\n", anygp_version());
    else if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        help_program(stdout);
    else {
        const command *c = command_find(word);
        if (c) wait_asleep(argv);
        status = c ? run(c, argc - 2, argv + 2, &e) : unknown(word, &e);
    }
    progress_end();
    if (!ANYGP_FAILED(status) && (fflush(stdout) || ferror(stdout)))
        status = complain(&e, ANYGP_ERR_FILE, "standard output cannot be written; is the disk full?");
    if (ANYGP_FAILED(status)) print_sentence("", e.text);
    return exit_status(status);
}
