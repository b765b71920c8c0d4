/* Reading and writing CSV: 10^6 rows x 10 columns.
   Prints the time of table_read beside pandas.read_csv (C engine) on the same file, where Python has pandas, and
   beside a plain read() of the bytes; the peak of resident memory over the size of the array; and the writer's rate.
       bench_csv [ROWS]                                                                                        */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "data/formats/reader.h"
#include "data/formats/writer.h"

enum { COLS = 10, RUNS = 5 };

static void die(const char *what)
{
    fprintf(stderr, "bench_csv: %s\n", what);
    exit(1);
}

static void make_file(const char *path, const char *format, int64_t rows)
{
    random_stream s = {.seed = 1, .use = RANDOM_TEST};
    FILE *f = fopen(path, "w");
    if (!f) die("cannot write a file here");
    for (int64_t i = 0; i < rows * COLS; i++) {
        fprintf(f, format, random_normal(s, (uint64_t)i));
        fputc(i % COLS == COLS - 1 ? '\n' : ',', f);
    }
    fclose(f);
}

/* Most resident memory so far, in bytes. */
static double peak_memory(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024.0 * (double)u.ru_maxrss;
}

/* Run in a process of its own, so that its peak of memory is that of reading alone. */
static int measure_table(const char *path)
{
    double best = 1e300, before = peak_memory();
    for (int k = 0; k < RUNS; k++) {
        table *t;
        anygp_error e;
        double start = clock_seconds();
        if (ANYGP_FAILED(table_read(path, NULL, &t, &e))) die(e.text);
        double seconds = clock_seconds() - start;
        if (seconds < best) best = seconds;
        table_free(t);
    }
    printf("%.6f %.0f\n", best, peak_memory() - before);
    return 0;
}

/* The numbers on the first line that `command` prints; how many there were. */
static int ask(const char *command, double *a, double *b)
{
    char line[128] = "";
    FILE *p = popen(command, "r");
    if (!p) return 0;
    if (!fgets(line, sizeof line, p)) line[0] = 0;
    return pclose(p) == 0 ? sscanf(line, "%lf %lf", a, b) : 0;
}

static double time_bytes(const char *path)
{
    static char chunk[1 << 22];
    double start = clock_seconds();
    FILE *f = fopen(path, "r");
    if (!f) die("cannot read the file");
    setvbuf(f, NULL, _IONBF, 0);
    while (fread(chunk, 1, sizeof chunk, f) == sizeof chunk) continue;
    fclose(f);
    return clock_seconds() - start;
}

/* Seconds pandas takes, or -1; the interpreter is $PYTHON or python3. */
static double time_pandas(const char *path)
{
    char command[512];
    double seconds, none;
    snprintf(command, sizeof command,
             "${PYTHON:-python3} -c \"import pandas, time; f = lambda: (time.perf_counter(), pandas.read_csv('%s', "
             "header=None), time.perf_counter()); print(min(t[2] - t[0] for t in [f() for _ in range(%d)]))\" "
             "2>/dev/null",
             path, RUNS);
    return ask(command, &seconds, &none) == 1 ? seconds : -1;
}

static void bench_read(const char *self, const char *format, int64_t rows)
{
    char path[64], command[512];
    double seconds, memory;
    snprintf(path, sizeof path, "bench_csv_%d.csv", (int)getpid());
    make_file(path, format, rows);
    snprintf(command, sizeof command, "'%s' --table %s", self, path);
    if (ask(command, &seconds, &memory) != 2) die("the measuring process failed");
    double bytes = time_bytes(path), pandas = time_pandas(path);
    printf("read %-6s %8.3f s  %6.1f million numbers/s  peak memory %.2f x array  %.1f x plain read", format, seconds,
           1e-6 * (double)rows * COLS / seconds, memory / ((double)rows * COLS * sizeof(double)), seconds / bytes);
    if (pandas > 0) printf("  pandas %.3f s, ratio %.1f", pandas, pandas / seconds);
    printf("\n");
    remove(path);
}

static void bench_write(int64_t rows)
{
    random_stream s = {.seed = 1, .use = RANDOM_TEST};
    double *values = mem_alloc(rows * COLS, sizeof *values), best = 1e300;
    char path[64];
    anygp_error e;
    if (!values) die("not enough memory");
    snprintf(path, sizeof path, "bench_csv_%d.csv", (int)getpid());
    for (int64_t k = 0; k < rows * COLS; k++) values[k] = random_normal(s, (uint64_t)k);
    for (int k = 0; k < RUNS; k++) {
        writer *w;
        double start = clock_seconds();
        if (ANYGP_FAILED(writer_open(path, COLS, NULL, &w, &e)) || ANYGP_FAILED(writer_rows(w, rows, values, &e)) ||
            ANYGP_FAILED(writer_close(w, &e)))
            die(e.text);
        double seconds = clock_seconds() - start;
        if (seconds < best) best = seconds;
    }
    double start = clock_seconds();
    make_file(path, "%.17g", rows);
    double plain = clock_seconds() - start;
    printf("write        %8.3f s  %6.1f million numbers/s  fprintf %%.17g %.3f s, ratio %.1f\n", best,
           1e-6 * (double)rows * COLS / best, plain, plain / best);
    remove(path);
    free(values);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--table")) return measure_table(argv[2]);
    int64_t rows = argc > 1 ? atoll(argv[1]) : 1000000;
    printf("bench_csv: %lld rows x %d, %d threads\n", (long long)rows, COLS, threads_max());
    bench_read(argv[0], "%.6f", rows);
    bench_read(argv[0], "%.17g", rows);
    bench_write(rows);
    return 0;
}
