#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "progress_line.h"

static volatile sig_atomic_t interrupted;
static const char *last_words;
static bool line_shown, shows;

static void on_interrupt(int signal_number) { interrupted = signal_number; }

int signal_received(void) { return interrupted; }

/* mpirun ends the rest of a run when one process has died or aborted, and also on Ctrl-C: SIGCONT, a second later
   SIGTERM, and SIGKILL at once, so that there is no time to finish a model and hardly any to print.  A thread that sleeps
   when SIGTERM comes is run at once, a busy one may not be; if SIGCONT was meant to continue the run, it continues after the pause.
   nanosleep, write and _exit may be called here, little else may. */
static void on_continue(int signal_number)
{
    int before = errno;
    (void)signal_number;
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    errno = before;
}

static void on_lost_run(int signal_number)
{
    (void)signal_number;
    if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0) _exit(1);
    _exit(1);
}

static void on_signal(int signal_number, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal_number, &action, NULL);
}

/* The first Ctrl-C or SIGTERM asks for an orderly end; a second one ends the program. */
static void catch_ends(void)
{
    on_signal(SIGINT, on_interrupt, (int)SA_RESETHAND);
    on_signal(SIGTERM, on_interrupt, (int)SA_RESETHAND);
}

/* In a run of several processes SIGUSR1 asks, which mpirun passes on to all. */
static void catch_signals(bool checkpointed)
{
    if (anygp_world_size() == 1) return; /* see notes_attach() */
    last_words = checkpointed ? "anygp: another process of the run ended, or the run was stopped; start it again with "
                                "--resume to continue from the last checkpoint\n"
                              : "anygp: another process of the run ended, or the run was stopped; no model was "
                                "written (with --checkpoint, --resume could continue it)\n";
    on_signal(SIGINT, on_interrupt, (int)SA_RESETHAND);
    on_signal(SIGUSR1, on_interrupt, (int)SA_RESETHAND);
    if (anygp_world_rank() != 0) return;
    on_signal(SIGCONT, on_continue, SA_RESTART);
    on_signal(SIGTERM, on_lost_run, (int)SA_RESETHAND);
}

void signals_release(void)
{
    on_signal(SIGCONT, SIG_DFL, 0);
    on_signal(SIGTERM, SIG_DFL, 0);
}

/* ------------------------------------------------------------------------------------- progress */

void progress_end(void)
{
    if (line_shown) fputs("\r\033[K", stderr);
    line_shown = false;
}

/* Of the terminal as it is now: its window may have another size than a moment ago.  0: it is none that a line can be drawn on again. */
static int columns(void)
{
    struct winsize size;
    const char *kind = getenv("TERM");
    if (!isatty(STDERR_FILENO) || !kind || !*kind || !strcmp(kind, "dumb")) return 0;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0) return 80;
    return size.ws_col < PROGRESS_NARROW ? 0 : size.ws_col;
}

static double seconds_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void) { return seconds_by(CLOCK_MONOTONIC); }

/* A run that is short by itself, and long only because the machine is busy, writes no lines into someone's log. */
static bool has_worked(void)
{
    static const double LEAST = 10; /* seconds of processors */
    return seconds_by(CLOCK_PROCESS_CPUTIME_ID) >= LEAST;
}

/* Ten times a second is as much as anyone reads. */
static void show(const anygp_progress *p)
{
    static double next_plain, next_draw;
    char text[512];
    int width = columns();
    if (width > 0 && now() >= next_draw) {
        progress_text(p, width, text, sizeof text);
        fprintf(stderr, "\r\033[K%s", text);
        fflush(stderr);
        line_shown = true, next_draw = now() + 0.1;
    } else if (width == 0 && has_worked() && progress_due(p->seconds, &next_plain)) {
        progress_end();
        progress_sentence(p, text, sizeof text);
        print_sentence("", text);
    }
}

static struct {
    anygp_progress report;
    double at; /* when it came; 0: none has */
} last;

static int on_progress(void *ctx, const anygp_progress *p)
{
    (void)ctx;
    last.report = *p, last.at = now();
    if (shows) show(p);
    return live_report(p) || interrupted != 0;
}

/* Asked inside long work too, where the time goes on while nothing else does. */
static int on_stop(void *ctx)
{
    (void)ctx;
    if (shows && last.at > 0) {
        anygp_progress p = last.report;
        p.seconds += now() - last.at;
        show(&p);
    }
    return interrupted != 0;
}

/* In one piece, so that what other processes print does not come in between. */
void print_sentence(const char *kind, const char *text)
{
    char line[4096];
    snprintf(line, sizeof line - 1, "anygp: %s%s", kind, text);
    size_t n = strlen(line);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 32 || line[i] == 127) line[i] = '?';
    line[n] = '\n';
    fwrite(line, 1, n + 1, stderr);
}

static void on_log(void *ctx, anygp_log_level level, const char *text)
{
    (void)ctx;
    progress_end();
    print_sentence(level == ANYGP_WARNING ? "warning: " : "", text);
}

static void on_warning_only(void *ctx, anygp_log_level level, const char *text)
{
    if (level == ANYGP_WARNING) on_log(ctx, level, text);
}

void notes_attach(anygp_settings *s, bool quiet)
{
    anygp_on_stop(s, on_stop, NULL);
    if (anygp_world_size() == 1) catch_ends();
    if (anygp_world_rank() == 0) anygp_on_log(s, quiet ? on_warning_only : on_log, NULL);
}

void progress_attach(anygp_settings *s, bool quiet)
{
    notes_attach(s, quiet);
    const char *checkpoint = anygp_get(s, "checkpoint");
    shows = !quiet && anygp_world_rank() == 0;
    catch_signals(checkpoint && *checkpoint);
    anygp_on_progress(s, on_progress, NULL);
}
