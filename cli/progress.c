#include "cli.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;
static bool line_shown, terminal;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* The first Ctrl-C asks for an orderly end; a second one ends the program. */
static void catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void progress_end(void)
{
    if (line_shown) fputs("\r\033[K", stderr);
    line_shown = false;
}

/* What is left: of the time limit if there is one, else of the iterations at the present pace. */
static double seconds_left(const anygp_progress *p)
{
    double pace = p->iteration > 0 ? p->seconds / (double)p->iteration * (double)(p->iterations - p->iteration) : NAN;
    double limit = p->time_limit - p->seconds;
    return isnan(limit) ? pace : isnan(pace) ? limit : fmin(limit, pace);
}

static int on_progress(void *ctx, const anygp_progress *p)
{
    (void)ctx;
    if (terminal) {
        double left = seconds_left(p);
        fprintf(stderr, "\r\033[K%s %lld/%lld", p->stage, (long long)p->iteration, (long long)p->iterations);
        if (p->restarts > 0)
            fprintf(stderr, " (run %lld of %lld)", (long long)p->restart + 1, (long long)p->restarts + 1);
        if (!isnan(p->objective)) fprintf(stderr, "  log evidence %.6g", p->objective);
        if (!isnan(p->rmse)) fprintf(stderr, "  loo rmse %.4g", p->rmse);
        fprintf(stderr, "  %.1f s", p->seconds);
        if (!isnan(left)) fprintf(stderr, ", at most %.0f s left", left < 0 ? 0 : left);
        fflush(stderr);
        line_shown = true;
    }
    return interrupted;
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

void notes_attach(anygp_settings *s, bool quiet) { anygp_on_log(s, quiet ? on_warning_only : on_log, NULL); }

void progress_attach(anygp_settings *s, bool quiet)
{
    notes_attach(s, quiet);
    terminal = !quiet && isatty(STDERR_FILENO);
    catch_interrupt();
    anygp_on_progress(s, on_progress, NULL);
}
