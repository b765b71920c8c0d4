#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* 0 done, 1 the input or the options are wrong, 2 internal; stopped without a result: the status a shell gives for the signal. */
static int exit_status(anygp_status status)
{
    if (status == ANYGP_ERR_STOPPED) return 128 + signal_received();
    return !ANYGP_FAILED(status) ? 0 : status == ANYGP_ERR_INTERNAL ? 2 : 1;
}

/* A file opened where standard input, output or error is closed would take its number, and messages for standard
   error would end up in it.  The replacement can be neither read (0) nor written (1), so that using these gives an
   error. */
static void fill_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd) _exit(1);
}

/* Beyond a limit on file sizes (ulimit -f) a write should fail, which is reported, and not end the program. */
static void survive_size_limits(void) { signal(SIGXFSZ, SIG_IGN); }

/* Threads that spin while they wait gain little on an idle machine and make a run several times longer on a busy one.  The
   OpenMP run time reads the setting when it is loaded, before main, so the program restarts itself with it set; if
   that fails it continues as it is.  It has to come before MPI, which must not be started twice.  The second time its name in lists of processes
   would be "exe", which nobody looks for. */
static void wait_asleep(char **argv)
{
    prctl(PR_SET_NAME, "anygp");
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    if (!setenv("OMP_WAIT_POLICY", "passive", 1)) execv("/proc/self/exe", argv);
}

static anygp_status run(const command *c, int argc, char **argv, anygp_error *e)
{
    options o = {0};
    anygp_status status = options_parse(c, argc, argv, &o, e);
    if (!ANYGP_FAILED(status)) {
        if (o.help && anygp_world_rank() == 0)
            help_command(stdout, c, o.help_all);
        else if (!o.help)
            status = c->run(&o, e);
    }
    options_free(&o);
    return status;
}

/* The command that has the most letters in common with `word` from the first on, at least two of them; or NULL. */
static const char *command_like(const char *word)
{
    const char *best = NULL;
    size_t most = 1;
    for (int i = 0; i < command_count; i++) {
        size_t n = 0;
        while (word[n] && word[n] == commands[i].name[n]) n++;
        if (n > most) most = n, best = commands[i].name;
    }
    return best;
}

static anygp_status unknown(const char *word, anygp_error *e)
{
    if (word[0] == '-') return complain(e, ANYGP_ERR_ARGUMENT, "unknown option %.80s; see anygp --help", word);
    const char *near = command_like(word);
    if (near)
        return complain(e, ANYGP_ERR_ARGUMENT, "unknown command '%.80s'; did you mean %s? See anygp --help", word,
                        near);
    char list[400] = "";
    for (int i = 0; i < command_count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0                   ? ""
                 : i + 1 == command_count ? " and "
                                          : ", ",
                 commands[i].name);
    }
    return complain(e, ANYGP_ERR_ARGUMENT, "unknown command '%.80s'; the commands are %s", word, list);
}

/* Started together by a program that cannot talk to the others, each would fit alone and overwrite the model of the others. */
static anygp_status check_together(const command *c, anygp_error *e)
{
    const char *open_mpi = getenv("OMPI_COMM_WORLD_SIZE"), *other = getenv("PMI_SIZE");
    const char *started = open_mpi ? open_mpi : other ? other : "1";
    if (!c->together || anygp_world_size() > 1 || atoi(started) < 2) return ANYGP_OK;
    return complain(e, ANYGP_ERR_ARGUMENT,
                    "%.10s processes were started, but this program was built without MPI; use the one that make mpi "
                    "builds",
                    started);
}

/* The vector code was chosen when the program was loaded, where nothing could be said (base/simd.c). */
static anygp_status check_simd(anygp_error *e)
{
    static const char *const names[] = {"avx512", "avx2", "baseline"};
    const char *text = getenv("ANYGP_SIMD");
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (!strcmp(text, names[i])) return ANYGP_OK;
    if (!text) return ANYGP_OK;
    return complain(e, ANYGP_ERR_ARGUMENT,
                    "ANYGP_SIMD=%.40s in the environment: use avx512, avx2 or baseline, or unset it", text);
}

static anygp_status dispatch(const command *c, int argc, char **argv, anygp_error *e)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (anygp_world_rank() > 0 && !(c && c->together)) return ANYGP_OK;
    if (!strcmp(word, "--version") || !strcmp(word, "-V"))
        printf("anygp %s\n", anygp_version());
    else if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        help_program(stdout);
    else if (!c)
        return unknown(word, e);
    else {
        anygp_status status = check_simd(e);
        if (!ANYGP_FAILED(status)) status = check_together(c, e);
        return ANYGP_FAILED(status) ? status : run(c, argc - 2, argv + 2, e);
    }
    return ANYGP_OK;
}

/* A failure ends all processes of a run: the others may be waiting for this one in a sum.  Usually all fail in the same way (a
   missing file), and rank 0 reports it for all: the others wait a second, in which they are ended, before
   they report what only they can know. */
static void tell_failure(anygp_status status, const char *text)
{
    char kind[32] = "";
    int rank = anygp_world_rank();
    if (rank > 0) snprintf(kind, sizeof kind, "rank %d: ", rank), sleep(1);
    print_sentence(kind, text);
    anygp_world_abort(status);
}

int main(int argc, char **argv)
{
    anygp_error e = {0};
    const command *c = argc > 1 ? command_find(argv[1]) : NULL;
    fill_standard_files();
    survive_size_limits();
    if (c) wait_asleep(argv);
    anygp_status status = anygp_world_begin(&argc, &argv, &e);
    if (!ANYGP_FAILED(status)) status = dispatch(c, argc, argv, &e);
    progress_end();
    signals_release();
    if ((fflush(stdout) || ferror(stdout)) && !ANYGP_FAILED(status))
        status = complain(&e, ANYGP_ERR_FILE, "standard output cannot be written; is the disk full?");
    if (ANYGP_FAILED(status)) tell_failure(status, e.text);
    anygp_world_end();
    return !ANYGP_FAILED(status) ? check_verdict() : exit_status(status);
}
