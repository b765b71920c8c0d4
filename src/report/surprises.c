/* The rows that surprised most: numbers by how far they lie in the tails of their predictive distributions, classes by the probability
   of the true one. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "draw/draw.h"
#include "report/report_classes.h"
#include "report/report.h"

enum { INPUTS_SHOWN = 3 };

static double surprise_of(const scene *c, int64_t i)
{
    if (scene_is_class(c)) return -log(fmax(c->P[i + (int64_t)c->y[i] * c->n], 1e-300));
    if (gp_is_normal(c->g)) return fabs(c->y[i] - c->mean[i]) / fmax(sqrt(c->variance[i]), 1e-300);
    double tail = fmin(c->up_to[i], 1 - c->below[i]);
    return tail > 1e-15 ? -log(tail)
                        : 36 + fmin(fabs(c->y[i] - c->mean[i]) / fmax(sqrt(c->variance[i]), 1e-300), 1e100);
}

anygp_status surprises_find(const scene *c, surprise list[SURPRISES], int64_t *count, anygp_error *e)
{
    surprise *all = mem_alloc(c->n, sizeof *all);
    *count = 0;
    if (!all) return fail_memory(e, "the rows of a report", 16.0 * (double)c->n);
    for (int64_t i = 0; i < c->n; i++) all[i] = (surprise){-surprise_of(c, i), i};
    qsort(all, (size_t)c->n, sizeof *all, by_double);
    for (; *count < c->n && *count < SURPRISES; ++*count) list[*count] = all[*count];
    free(all);
    return ANYGP_OK;
}

static void number_cell(FILE *f, double x)
{
    char text[40];
    number_text(x, 5, text, sizeof text);
    fprintf(f, "<td>%s</td>", text);
}

static void text_cell(FILE *f, const char *text)
{
    fputs("<td class=\"text\">", f);
    text_escaped(f, text);
    fputs("</td>", f);
}

static void prediction_cells(const scene *c, FILE *f, int64_t i)
{
    const schema *s = &c->g->schema;
    if (scene_is_class(c)) {
        int64_t top = classes_top(c, i), label = (int64_t)c->y[i];
        text_cell(f, s->class_name[label]), text_cell(f, s->class_name[top]);
        number_cell(f, c->P[i + label * c->n]);
        return;
    }
    char low[40], high[40];
    number_text(c->low[i], 5, low, sizeof low), number_text(c->high[i], 5, high, sizeof high);
    number_cell(f, c->y[i]), number_cell(f, c->mean[i]);
    fprintf(f, "<td>%s to %s</td>", low, high);
}

anygp_status surprises_table(const scene *c, FILE *f, anygp_error *e)
{
    surprise list[SURPRISES];
    int64_t count, D = c->D, inputs = D < INPUTS_SHOWN ? D : INPUTS_SHOWN;
    char label[SCENE_LABEL];
    TRY(surprises_find(c, list, &count, e));
    fprintf(f,
            "<div class=\"wide\"><table "
            "class=\"surprises\"><thead><tr><th>row</th><th>observed</th><th>predicted</th><th>%s</th>",
            scene_is_class(c) ? "probability of the observed" : "95 % interval");
    for (int64_t k = 0; k < inputs; k++)
        fputs("<th>", f), text_escaped(f, scene_input(c, c->ranked[k], label)), fputs("</th>", f);
    fputs("</tr></thead><tbody>\n", f);
    for (int64_t r = 0; r < count; r++) {
        int64_t i = list[r].row;
        fprintf(f, "<tr><td>%lld</td>", (long long)c->number[i] + 1);
        prediction_cells(c, f, i);
        for (int64_t k = 0; k < inputs; k++) {
            int64_t j = c->ranked[k];
            if (scene_is_text(c, j))
                text_cell(f, scene_level(c, j, c->X[i * D + j], label));
            else
                fprintf(f, "<td>%s</td>", scene_number(c, j, scene_value(c, j, c->X[i * D + j]), label));
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n", f);
    return ANYGP_OK;
}
