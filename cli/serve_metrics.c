/* Counts and times of requests, for GET /metrics, in the text format of Prometheus.
   The time of a request runs from when its first bytes could be read to when its last are with the kernel.  Bytes come between two looks
   of the loop (serve_loop.c), at a time that nobody notes; what counts is the earliest that it can have been, so that no wait for the
   loop is left out, and a request may be counted as up to one look slower than it was.  A request that was sent before the answer to the
   former one of its connection counts from its turn.  Not in it is what the loop cannot know: how long its thread, once woken, waited for
   a processor.  The kernel counts that, and it stands beside the histogram. */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>
#include <string.h>

#include "serve_request.h"

static const struct {
    double most;
    const char *text;
} edge[SERVE_EDGES] = {{25e-6, "0.000025"}, {50e-6, "0.00005"}, {1e-4, "0.0001"}, {25e-5, "0.00025"}, {5e-4, "0.0005"},
                       {1e-3, "0.001"},     {25e-4, "0.0025"},  {5e-3, "0.005"},  {1e-2, "0.01"},     {25e-3, "0.025"},
                       {5e-2, "0.05"},      {1e-1, "0.1"},      {0.25, "0.25"},   {0.5, "0.5"},       {1, "1"},
                       {2.5, "2.5"},        {10, "10"}};

void count_request(serve_counts *n, double seconds)
{
    int k = 0;
    while (k < SERVE_EDGES && seconds > edge[k].most) k++;
    n->requests++;
    n->took[k]++;
    n->nanoseconds += (long long)(1e9 * seconds);
}

/* Seconds that the calling thread has waited for a processor while it could have run; false: this kernel does not count them. */
static bool waited_for_processor(double *seconds)
{
    unsigned long long waited = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    bool ok = f && fscanf(f, "%*u %llu", &waited) == 1;
    if (f) fclose(f);
    *seconds = 1e-9 * (double)waited;
    return ok;
}

static void put_head(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP anygp_%s %s\n# TYPE anygp_%s %s\n", name, help, name, type);
}

static void put_counts(FILE *f, const server *s)
{
    const serve_counts *n = s->counts;
    const struct {
        const char *name, *type, *help;
        long long value;
    } list[] = {{"requests_total", "counter", "requests answered", n->requests},
                {"refused_total", "counter", "requests that were refused (4xx)", n->refused},
                {"failed_total", "counter", "requests that failed here (5xx)", n->failed},
                {"rows_total", "counter", "rows predicted for JSON requests", n->rows},
                {"batches_total", "counter", "batches in which they were predicted", n->batches},
                {"reloads_total", "counter", "times that a replaced model file was loaded", n->reloads},
                {"updates_total", "counter", "updates of the model", n->updates},
                {"waiting", "gauge", "requests in the queue", n->waiting},
                {"connections", "gauge", "open connections", n->connections},
                {"uptime_seconds", "gauge", "since the start", (long long)(time(NULL) - s->began)}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        put_head(f, list[i].name, list[i].type, list[i].help);
        fprintf(f, "anygp_%s %lld\n", list[i].name, list[i].value);
    }
}

static void put_times(FILE *f, const serve_counts *n)
{
    long long sum = 0;
    double waited;
    put_head(f, "request_seconds", "histogram", "time from the first bytes of a request to the last of its answer");
    for (int k = 0; k < SERVE_EDGES; k++)
        fprintf(f, "anygp_request_seconds_bucket{le=\"%s\"} %lld\n", edge[k].text, sum += n->took[k]);
    sum += n->took[SERVE_EDGES];
    fprintf(f, "anygp_request_seconds_bucket{le=\"+Inf\"} %lld\n", sum);
    fprintf(f, "anygp_request_seconds_sum %.9f\nanygp_request_seconds_count %lld\n", 1e-9 * (double)n->nanoseconds,
            sum);
    if (!waited_for_processor(&waited)) return;
    put_head(f, "processor_wait_seconds_total", "counter",
             "time that the serving thread was ready to run and other processes had the processors");
    fprintf(f, "anygp_processor_wait_seconds_total %.9f\n", waited);
}

enum MHD_Result send_metrics(request *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return MHD_NO;
    put_counts(f, r->s);
    put_times(f, r->s->counts);
    if (fclose(f)) return free(text), MHD_NO;
    return send_text(r, 200, "text/plain; version=0.0.4", text, size, MHD_RESPMEM_MUST_FREE);
}
