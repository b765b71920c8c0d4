/* The table of transforms (warp.h); their moments are in warp_moments.c. */
#include "base/warp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scanner.h"

struct warp_kind {
    const char *name;
    bool lambda;
    double (*forward)(double lambda, double y);
    double (*inverse)(double lambda, double t);
    double (*log_slope)(double lambda, double y);
    double (*floor)(double lambda);
    const char *objection; /* to y <= 0 */
};

static double log_forward(double lambda, double y) { return (void)lambda, log(y); }

static double log_inverse(double lambda, double t) { return (void)lambda, exp(t); }

static double log_log_slope(double lambda, double y) { return (void)lambda, -log(y); }

static double no_floor(double lambda) { return (void)lambda, -INFINITY; }

static double boxcox_forward(double lambda, double y)
{
    double u = log(y);
    return lambda > 0 ? expm1(lambda * u) / lambda : u;
}

static double boxcox_inverse(double lambda, double t)
{
    if (!(lambda > 0)) return exp(t);
    return lambda * t > -1 ? exp(log1p(lambda * t) / lambda) : 0;
}

static double boxcox_log_slope(double lambda, double y) { return (lambda - 1) * log(y); }

static double boxcox_floor(double lambda) { return lambda > 0 ? -1 / lambda : -INFINITY; }

static const warp_kind kinds[] = {
    {"log", false, log_forward, log_inverse, log_log_slope, no_floor,
     "is not above 0, which --transform log needs; leave the row out, or use --transform none"},
    {"boxcox", true, boxcox_forward, boxcox_inverse, boxcox_log_slope, boxcox_floor,
     "is not above 0, which --transform boxcox needs; leave the row out, or use --transform none"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool warp_named(const char *name, double lambda, warp *out)
{
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, name)) continue;
        *out = (warp){&kinds[i], kinds[i].lambda ? lambda : 0};
        return true;
    }
    *out = (warp){0};
    return !strcmp(name, "none");
}

static const char HINT[] = "write none, log, boxcox, boxcox(lambda=V) or auto";

/* "lambda=0.3" or "0.3". */
static anygp_status take_lambda(scanner *s, void *ctx)
{
    static const char KEY[] = "lambda";
    warp *w = ctx;
    scan_blanks(s);
    int64_t word = scan_starts_word(scan_peek(s)) ? scan_word(s) : 0, at = s->at;
    bool named = word == sizeof KEY - 1 && !strncmp(s->text + at, KEY, sizeof KEY - 1);
    if (!warp_has_lambda(w)) return scan_fail(s, at, HINT, "%s takes no options", w->kind ? w->kind->name : "none");
    if (word && !named) return scan_fail(s, at, HINT, "unknown option");
    if (named) s->at += word;
    if (named && !scan_take(s, '=')) return scan_fail(s, s->at, HINT, "expected =");
    scan_blanks(s);
    at = s->at;
    TRY(scan_number(s, &w->lambda));
    if (w->lambda >= 0 && w->lambda <= WARP_LAMBDA_MOST) return ANYGP_OK;
    return scan_fail(s, at, NULL, "lambda must be from 0 to %g", WARP_LAMBDA_MOST);
}

anygp_status warp_parse(const char *text, warp *out, anygp_error *e)
{
    scanner s = scan_text("transform", text, e);
    char name[16] = "";
    scan_blanks(&s);
    int64_t word = scan_word(&s);
    if (word < (int64_t)sizeof name) memcpy(name, s.text + s.at, (size_t)word);
    if (!warp_named(name, NAN, out)) return scan_fail(&s, s.at, HINT, "there is no such transform");
    s.at += word;
    TRY(scan_options(&s, take_lambda, out));
    return scan_end(&s);
}

const char *warp_name(const warp *w) { return w->kind ? w->kind->name : "none"; }

bool warp_has_lambda(const warp *w) { return w->kind && w->kind->lambda; }

int warp_print(const warp *w, char *to, size_t size)
{
    return warp_has_lambda(w) ? snprintf(to, size, "%s(lambda=%.4g)", w->kind->name, w->lambda)
                              : snprintf(to, size, "%s", warp_name(w));
}

const char *warp_objection(const warp *w, double y) { return !w->kind || y > 0 ? NULL : w->kind->objection; }

double warp_forward(const warp *w, double y) { return w->kind ? w->kind->forward(w->lambda, y) : y; }

double warp_inverse(const warp *w, double t) { return w->kind ? w->kind->inverse(w->lambda, t) : t; }

double warp_log_slope(const warp *w, double y) { return w->kind ? w->kind->log_slope(w->lambda, y) : 0; }

double warp_floor(const warp *w) { return w->kind ? w->kind->floor(w->lambda) : -INFINITY; }
