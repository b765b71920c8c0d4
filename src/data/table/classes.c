/* Classes: their names in order, and the code of a cell. */
#include "data/table/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "data/text/number.h"

/* ----------------------------------------------------------------------------------- collecting */

/* -0 is 0. */
static int64_t bits_of(double cell)
{
    int64_t bits;
    cell += 0.0;
    memcpy(&bits, &cell, sizeof bits);
    return bits;
}

anygp_status class_set_add(class_set *c, double cell, const schema *s, anygp_error *e)
{
    char label[96];
    int64_t index;
    TRY(id_table_index(&c->seen, bits_of(cell), &index, e));
    if (index < CLASSES_MOST) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA,
                     "the target column %s has more than %d different values, too many for classes; if it is a "
                     "number, use another --likelihood",
                     schema_target_label(s, label), CLASSES_MOST);
}

anygp_status class_set_note(class_set *c, double cell, anygp_error *e)
{
    int64_t index;
    return id_table_index(&c->seen, bits_of(cell), &index, e);
}

int64_t class_set_find(const class_set *c, double cell) { return id_table_find(&c->seen, bits_of(cell)); }

bool class_set_within(const class_set *a, const class_set *b)
{
    bool all = true;
    for (int64_t i = 0; all && i < a->seen.count; i++) all = id_table_find(&b->seen, a->seen.id[i]) >= 0;
    return all;
}

double class_set_at(const class_set *c, int64_t i)
{
    double cell;
    memcpy(&cell, &c->seen.id[i], sizeof cell);
    return cell;
}

void class_set_clear(class_set *c) { id_table_clear(&c->seen); }

/* ------------------------------------------------------------------------------------- settling */

typedef struct class_label {
    double cell;
    const char *text; /* or NULL: a number */
} class_label;

static int by_label(const void *a, const void *b)
{
    const class_label *p = a, *q = b;
    if (p->text) return strcmp(p->text, q->text);
    return p->cell < q->cell ? -1 : p->cell > q->cell;
}

static char *name_of(const class_label *l)
{
    char text[NUMBER_TEXT_MOST + 1];
    if (l->text) return mem_strdup(l->text);
    text[number_print(l->cell, text)] = 0;
    return mem_strdup(text);
}

static anygp_status name_classes(int64_t n, const class_label *labels, schema *s, anygp_error *e)
{
    s->class_name = mem_zeroed(n, sizeof *s->class_name);
    if (!s->class_name) return fail_memory(e, "the names of the classes", 8.0 * (double)n);
    for (s->classes = 0; s->classes < n; s->classes++)
        if (!(s->class_name[s->classes] = name_of(&labels[s->classes])))
            return fail_memory(e, "the names of the classes", 0);
    return ANYGP_OK;
}

static anygp_status check_several(const schema *s, anygp_error *e)
{
    char label[96];
    if (s->classes > 1) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA,
                     "the target column %s has the class '%.80s' in every row; a classifier needs two classes or more",
                     schema_target_label(s, label), s->class_name[0]);
}

anygp_status class_set_settle(const class_set *c, const column *from, schema *s, anygp_error *e)
{
    int64_t n = c->seen.count;
    class_label *labels = mem_alloc(n, sizeof *labels);
    if (!labels) return fail_memory(e, "the names of the classes", 16.0 * (double)n);
    s->class_text = from->kind == COLUMN_TEXT;
    for (int64_t i = 0; i < n; i++) {
        double cell = class_set_at(c, i);
        labels[i] = (class_label){cell, s->class_text ? from->level[(int64_t)cell] : NULL};
    }
    qsort(labels, (size_t)n, sizeof *labels, by_label);
    anygp_status status = name_classes(n, labels, s, e);
    free(labels);
    return ANYGP_FAILED(status) ? status : check_several(s, e);
}

/* ---------------------------------------------------------------------------------------- codes */

void class_codes_clear(class_codes *c)
{
    free(c->of);
    free(c->value);
    *c = (class_codes){0};
}

anygp_status class_codes_follow(class_codes *c, const schema *s, const column *from, anygp_error *e)
{
    if (c->value || from->levels == c->count) return ANYGP_OK;
    int64_t *grown = realloc(c->of, (size_t)from->levels * sizeof *grown);
    if (!grown) return fail_memory(e, "the classes", 8.0 * (double)from->levels);
    c->of = grown;
    for (; c->count < from->levels; c->count++) c->of[c->count] = schema_class_of_text(s, from->level[c->count]);
    return ANYGP_OK;
}

typedef struct class_value {
    double value; /* the first member: by_double() */
    int64_t class;
} class_value;

/* The classes that a number can be: those equal to its printed form. */
static int64_t list_numbers(const schema *s, class_value *list)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->classes; k++) {
        const char *name = s->class_name[k];
        double x;
        if (cell_classify(name, name + strlen(name), &x) == CELL_NUMBER && schema_class_of_number(s, x) == k)
            list[n++] = (class_value){x, k};
    }
    return n;
}

static anygp_status codes_of_numbers(const schema *s, class_codes *c, anygp_error *e)
{
    class_value *list = mem_alloc(s->classes, sizeof *list);
    c->value = mem_alloc(s->classes, sizeof *c->value);
    c->of = mem_alloc(s->classes, sizeof *c->of);
    if (!list || !c->value || !c->of) {
        free(list);
        return fail_memory(e, "the classes", 32.0 * (double)s->classes);
    }
    c->count = list_numbers(s, list);
    qsort(list, (size_t)c->count, sizeof *list, by_double);
    for (int64_t i = 0; i < c->count; i++) c->value[i] = list[i].value, c->of[i] = list[i].class;
    free(list);
    return ANYGP_OK;
}

anygp_status class_codes_make(const schema *s, const column *from, class_codes *out, anygp_error *e)
{
    *out = (class_codes){0};
    anygp_status status = from->kind == COLUMN_TEXT ? class_codes_follow(out, s, from, e) : codes_of_numbers(s, out, e);
    if (ANYGP_FAILED(status)) class_codes_clear(out);
    return status;
}

/* By bisection: only the last value that is not above the cell can be equal to it. */
static int64_t number_code(const class_codes *c, double cell)
{
    int64_t low = 0, high = c->count;
    while (high - low > 1) {
        int64_t k = low + (high - low) / 2;
        if (c->value[k] <= cell)
            low = k;
        else
            high = k;
    }
    return low < c->count && c->value[low] == cell ? c->of[low] : -1;
}

int64_t class_code(const class_codes *c, double cell)
{
    if (c->value) return number_code(c, cell);
    return cell >= 0 && cell < (double)c->count ? c->of[(int64_t)cell] : -1;
}
