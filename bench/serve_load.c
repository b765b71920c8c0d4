/* Load for `anygp serve` on this machine: single-row requests over keep-alive connections, each with some of them on the way.
       serve_load PORT INPUTS SECONDS THREADS CONNECTIONS DEPTH [RATE [PID]] [--all]
   CONNECTIONS for each thread, DEPTH requests on the way for each connection (1: an answer is read before the next request is sent).
   RATE, requests per second over all; 0 or none: as fast as answers come.  With a rate, a request is due at a time that does not depend
   on answers, and its latency is counted from there, whether or not a connection was free: a slow server cannot hide.  What of it had
   passed when the request was sent is printed too: that is for want of a connection, or because this program had no processor, and the
   time that it waited for one stands at the end of the line, with what a hypervisor took from all processors.
   PID: the server's, whose processor time is printed beside this program's own.  --all: mean, variance and interval, not the mean alone.
   Only 127.0.0.1 is contacted. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MOST = 64, BUFFER = 65536, BUCKETS = 4096 };

typedef struct connection {
    int fd;
    int waiting;            /* answers */
    double due[DEPTH_MOST]; /* of these, a ring */
    int first;
    size_t filled;
    char in[BUFFER];
} connection;

typedef struct load {
    int port, inputs, connections, depth;
    double seconds, rate;
    const char *request;
    size_t size;
} load;

typedef struct client {
    pthread_t thread;
    const load *l;
    long long done, bad;
    long long histogram[BUCKETS], late[BUCKETS]; /* of latencies, and of what passed before the request was sent */
    double most, took, waited;
} client;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* -------------------------------------------------------------------------------------------- latencies */

/* In steps of 1 % from a microsecond. */
static int bucket_of(double seconds)
{
    double x = 1e-6;
    int low = 0, high = BUCKETS - 1; /* 1.01^k is looked up by halves: no library but libc */
    static double edge[BUCKETS];
    if (!edge[1])
        for (int k = 0; k < BUCKETS; k++, x *= 1.01) edge[k] = x;
    while (low < high) {
        int middle = (low + high) / 2;
        if (edge[middle] < seconds)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double edge_of(int bucket)
{
    double x = 1e-6;
    while (bucket-- > 0) x *= 1.01;
    return x;
}

static double quantile(const long long *histogram, long long all, double p)
{
    long long below = 0;
    for (int k = 0; k < BUCKETS; k++)
        if ((double)(below += histogram[k]) >= p * (double)all) return 1e3 * edge_of(k);
    return 0;
}

/* ------------------------------------------------------------------------------------------ connections */

static void open_connection(connection *c, int port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof a)) give_up("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* `count` requests in one write. */
static void send_requests(connection *c, const load *l, int count, double due)
{
    size_t left = l->size * (size_t)count;
    const char *at = l->request;
    for (int i = 0; i < count; i++) c->due[(c->first + c->waiting++) % DEPTH_MOST] = due;
    while (left > 0) {
        ssize_t n = write(c->fd, at, left);
        if (n < 0) give_up("write");
        at += n, left -= (size_t)n;
    }
}

/* The length of the first answer in the buffer, 0: it is not complete; *ok: status 200. */
static size_t answer_length(const connection *c, bool *ok)
{
    const char *end = memmem(c->in, c->filled, "\r\n\r\n", 4), *length;
    if (!end) return 0;
    size_t head = (size_t)(end - c->in) + 4;
    *ok = !memcmp(c->in, "HTTP/1.1 200", 12);
    length = memmem(c->in, head, "Content-Length: ", 16);
    if (!length) give_up("an answer without Content-Length");
    size_t all = head + (size_t)atol(length + 16);
    return all <= c->filled ? all : 0;
}

/* How many answers came. */
static int read_answers(client *k, connection *c)
{
    ssize_t n = read(c->fd, c->in + c->filled, BUFFER - c->filled);
    int came = 0;
    bool ok;
    if (n <= 0) give_up("the server closed a connection");
    c->filled += (size_t)n;
    double t = now();
    for (size_t size; (size = answer_length(c, &ok)) > 0; came++) {
        double latency = t - c->due[c->first];
        k->histogram[bucket_of(latency)]++, k->done++, k->bad += !ok;
        if (latency > k->most) k->most = latency;
        c->first = (c->first + 1) % DEPTH_MOST, c->waiting--;
        memmove(c->in, c->in + size, c->filled -= size);
    }
    return came;
}

/* ----------------------------------------------------------------------------------------------- a thread */

/* As the server's thread does (cli/serve_loop.c): what is measured with should wait as little as what is measured. */
static void take_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } a = {0};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) || a.policy != SCHED_OTHER) return;
    a.size = sizeof a, a.runtime = 500000;
    syscall(SYS_sched_setattr, 0, &a, 0);
}

/* Seconds that this thread was ready to run while other processes had the processors; 0: the kernel does not count them. */
static double waited_for_processor(void)
{
    unsigned long long waited = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (f && fscanf(f, "%*u %llu", &waited) != 1) waited = 0;
    if (f) fclose(f);
    return 1e-9 * (double)waited;
}

/* Requests that are due go to connections that have room; how many went. */
static long long send_due(client *k, connection *c, long long sent, double began, int *next)
{
    const load *l = k->l;
    double t = now();
    for (int tried = 0; tried < l->connections && began + (double)sent / l->rate <= t;) {
        connection *x = &c[*next];
        *next = (*next + 1) % l->connections;
        if (x->waiting >= l->depth) {
            tried++;
            continue;
        }
        double due = began + (double)sent++ / l->rate;
        k->late[bucket_of(now() - due)]++;
        send_requests(x, l, 1, due);
        tried = 0;
    }
    return sent;
}

static void *run(void *ctx)
{
    client *k = ctx;
    const load *l = k->l;
    connection *c = calloc((size_t)l->connections, sizeof *c);
    int poll = epoll_create1(0), next = 0;
    struct epoll_event ready[64];
    take_short_slices();
    if (!c || poll < 0) give_up("a client");
    for (int i = 0; i < l->connections; i++) {
        open_connection(&c[i], l->port);
        epoll_ctl(poll, EPOLL_CTL_ADD, c[i].fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &c[i]});
    }
    double began = now(), end = began + l->seconds, waited = waited_for_processor();
    long long sent = 0;
    for (int i = 0; l->rate == 0 && i < l->connections; i++) send_requests(&c[i], l, l->depth, began);
    while (now() < end) {
        if (l->rate > 0) sent = send_due(k, c, sent, began, &next);
        double wait = l->rate > 0 ? began + (double)sent / l->rate - now() : 0.1;
        wait = wait < 0 ? 0.001 : wait > 0.1 ? 0.1 : wait;
        struct timespec limit = {.tv_nsec = (long)(1e9 * wait)};
        int n = epoll_pwait2(poll, ready, 64, &limit, NULL);
        for (int i = 0; i < n; i++) {
            int came = read_answers(k, ready[i].data.ptr);
            if (came && l->rate == 0) send_requests(ready[i].data.ptr, l, came, now());
        }
    }
    k->took = now() - began, k->waited = waited_for_processor() - waited;
    for (int i = 0; i < l->connections; i++) close(c[i].fd);
    close(poll);
    free(c);
    return NULL;
}

/* --------------------------------------------------------------------------------------------- all of them */

static double seconds_of(int pid)
{
    char path[64], text[1024], *at;
    unsigned long long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f || !fgets(text, sizeof text, f) || !(at = strrchr(text, ')'))) give_up(path);
    sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel);
    fclose(f);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* Taken from the processors of this machine by its host, since the start. */
static double stolen_seconds(void)
{
    unsigned long long stolen = 0;
    FILE *f = fopen("/proc/stat", "r");
    if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) != 1) stolen = 0;
    if (f) fclose(f);
    return (double)stolen / (double)sysconf(_SC_CLK_TCK);
}

static double own_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static char *make_request(int inputs, int depth, bool all, size_t *size)
{
    char body[8192] = "{\"rows\": [[", *text;
    for (int i = 0; i < inputs; i++)
        sprintf(body + strlen(body), "%s%.4f", i ? ", " : "", 0.1 + 0.8 * (i + 1) / (inputs + 1));
    strcat(body, all ? "]]}" : "]], \"only\": \"mean\"}");
    size_t room = strlen(body) + 200;
    if (!(text = malloc(room * (size_t)depth))) give_up("memory");
    *size = (size_t)sprintf(text, "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                            strlen(body), body);
    for (int i = 1; i < depth; i++) memcpy(text + *size * (size_t)i, text, *size);
    return text;
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && !strcmp(argv[argc - 1], "--all");
    argc -= all;
    if (argc < 7 || argc > 9)
        return fprintf(stderr, "serve_load PORT INPUTS SECONDS THREADS CONNECTIONS DEPTH [RATE [PID]] [--all]\n"), 2;
    int threads = atoi(argv[4]), pid = argc > 8 ? atoi(argv[8]) : 0;
    load l = {.port = atoi(argv[1]),
              .inputs = atoi(argv[2]),
              .seconds = atof(argv[3]),
              .connections = atoi(argv[5]),
              .depth = atoi(argv[6])};
    l.rate = argc > 7 ? atof(argv[7]) / threads : 0;
    if (threads < 1 || threads > 64 || l.connections < 1 || l.depth < 1 || l.depth > DEPTH_MOST || l.inputs < 1 ||
        l.inputs > 500)
        return fprintf(
                   stderr,
                   "serve_load: 1 to 64 threads, a connection at least, 1 to %d requests on the way, 1 to 500 inputs\n",
                   DEPTH_MOST),
               2;
    l.request = make_request(l.inputs, l.depth, all, &l.size);
    client *k = calloc((size_t)threads, sizeof *k);
    static long long histogram[BUCKETS], late[BUCKETS];
    long long done = 0, bad = 0, sent = 0;
    double rate = 0, most = 0, waited = 0, before = pid ? seconds_of(pid) : 0, stolen = stolen_seconds();
    bucket_of(1); /* its table, before there are threads */
    for (int i = 0; i < threads; i++) {
        k[i].l = &l;
        if (pthread_create(&k[i].thread, NULL, run, &k[i])) give_up("a thread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(k[i].thread, NULL);
        done += k[i].done, bad += k[i].bad, rate += (double)k[i].done / k[i].took;
        if (k[i].most > most) most = k[i].most;
        waited += k[i].waited / k[i].took;
        for (int b = 0; b < BUCKETS; b++)
            histogram[b] += k[i].histogram[b], sent += k[i].late[b], late[b] += k[i].late[b];
    }
    printf(
        "%.0f requests per second, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, most %.1f ms, %lld not answered with 200; ",
        rate, quantile(histogram, done, 0.5), quantile(histogram, done, 0.99), quantile(histogram, done, 0.999),
        1e3 * most, bad);
    if (sent)
        printf("sent late: p99 %.2f ms, p99.9 %.2f ms; ", quantile(late, sent, 0.99), quantile(late, sent, 0.999));
    printf("processor per request: this program %.1f us", 1e6 * own_seconds() / (double)(done ? done : 1));
    if (pid) printf(", the server %.1f us", 1e6 * (seconds_of(pid) - before) / (double)(done ? done : 1));
    printf("; this program waited %.0f ms per second for a processor", 1e3 * waited);
    if ((stolen = stolen_seconds() - stolen) > 0) printf(", the host took %.0f", 1e3 * stolen / l.seconds);
    printf("\n");
    free(k);
    free((char *)l.request);
    return bad > 0 || done == 0;
}
