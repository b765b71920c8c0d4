/* Digests of tables, one word each in the setting (seen.h). */
#include "gp/seen.h"

#include <stdio.h>
#include <string.h>

#include "data/table/intake.h"

enum { SEEN_MOST = 1000, WORD = 17 };

/* Where the cells of a target and its inputs are. */
typedef struct places_of {
    const gp *g;
    const binding *b; /* NULL: the columns are those of the fit */
} places_of;

static double cell(const double *row, int64_t j) { return j < 0 ? 0 : row[j]; }

static uint64_t digest_row(const places_of *p, const double *row)
{
    const schema *s = &p->g->schema;
    uint64_t h = intake_digest_begin(0);
    for (int64_t i = 0; i < s->inputs; i++)
        h = intake_digest_cell(h, cell(row, p->b ? binding_input_column(p->b, i) : s->input[i].number));
    h = intake_digest_cell(h, cell(row, p->b ? binding_target_column(p->b, 0) : s->target_number));
    return intake_digest_end(h);
}

static uint64_t digest_rows(const places_of *p, int64_t n, int64_t wide, const double *cells)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += digest_row(p, cells + i * wide);
    return sum;
}

uint64_t seen_rows(const gp_set *m, const binding *b, int64_t n, const double *cells)
{
    return digest_rows(&(places_of){m->gp[0], b}, n, binding_columns(b), cells);
}

static void write_word(uint64_t digest, char word[WORD])
{
    snprintf(word, WORD, "%016llx", (unsigned long long)digest);
}

bool seen_has(const gp_set *m, uint64_t digest)
{
    char word[WORD];
    write_word(digest, word);
    return m->settings && strstr(settings_text(m->settings, SET_SEEN), word);
}

anygp_status seen_add(gp_set *m, uint64_t digest, anygp_error *e)
{
    char word[WORD];
    if (!m->settings || strlen(settings_text(m->settings, SET_SEEN)) >= SEEN_MOST * WORD) return ANYGP_OK;
    write_word(digest, word);
    return settings_set(m->settings, "seen", word, e);
}

anygp_status seen_add_table(gp_set *m, const table *t, anygp_error *e)
{
    for (int64_t k = 0; k < m->targets; k++)
        TRY(seen_add(m, digest_rows(&(places_of){m->gp[k], NULL}, t->rows, t->cols, t->values), e));
    return ANYGP_OK;
}

void seen_note(const gp_set *m, const settings *s, uint64_t digest, const char *in)
{
    if (!seen_has(m, digest) || comm_world()->rank != 0) return;
    settings_log(s, ANYGP_NOTE, "the model has learned from the rows of %.200s: on new rows its scores will be worse",
                 strcmp(in, "-") ? in : "standard input");
}
