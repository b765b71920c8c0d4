#include "cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;
static const char *last_words;
static bool line_shown, terminal;

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

void progress_end(void)
{
    if (line_shown) fputs("\r\033[K", stderr);
    line_shown = false;
}

/* What is left: of the time limit if there is one, else of the iterations at the present pace. */
static double seconds_left(const anygp_progress *p)
{
    double pace = p->iteration > 0 && p->iterations > 0
                      ? p->seconds / (double)p->iteration * (double)(p->iterations - p->iteration)
                      : NAN;
    double limit = p->time_limit - p->seconds;
    return isnan(limit) ? pace : isnan(pace) ? limit : fmin(limit, pace);
}

static int on_progress(void *ctx, const anygp_progress *p)
{
    (void)ctx;
    if (terminal) {
        double left = seconds_left(p);
        fprintf(stderr, "\r\033[K%s %lld", p->stage, (long long)p->iteration);
        if (p->iterations > 0) fprintf(stderr, "/%lld", (long long)p->iterations);
        if (p->restarts > 0)
            fprintf(stderr, " (run %lld of %lld)", (long long)p->restart + 1, (long long)p->restarts + 1);
        if (!isnan(p->objective)) fprintf(stderr, "  objective %.6g", p->objective);
        if (!isnan(p->rmse)) fprintf(stderr, "  rmse %.4g", p->rmse);
        fprintf(stderr, "  %.1f s", p->seconds);
        if (!isnan(left)) fprintf(stderr, ", at most %.0f s left", left < 0 ? 0 : left);
        fflush(stderr);
        line_shown = true;
    }
    return interrupted != 0;
}

static int on_stop(void *ctx)
{
    (void)ctx;
    return interrupted != 0;
}

void print_sentence(const char *kind, const char *text)
{
    fprintf(stderr, "anygp: %s", kind);
    for (; *text; text++) fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, stderr);
    fputc('\n', stderr);
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
    terminal = !quiet && anygp_world_rank() == 0 && isatty(STDERR_FILENO);
    catch_signals(checkpoint && *checkpoint);
    anygp_on_progress(s, on_progress, NULL);
}
