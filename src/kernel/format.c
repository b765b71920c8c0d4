/* An expression written back, with values.  Parentheses keep the shape of the tree, so that parsing it again gives the
   same sums in the same order.  A parameter that is fixed because another absorbs it is not written: written, it
   would be free. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "kernel/kind.h"

typedef struct writer {
    char *text;
    size_t length, capacity;
    bool failed;
    int digits;
    const kernel *k;
    const double *values;
} writer;

static bool writer_room(writer *w, size_t more)
{
    if (w->failed || w->length + more < w->capacity) return !w->failed;
    size_t larger = 2 * (w->length + more) + 64;
    char *text = realloc(w->text, larger);
    if (!text) return w->failed = true, false;
    w->text = text, w->capacity = larger;
    return true;
}

static void put(writer *w, const char *s, int64_t length)
{
    if (!writer_room(w, (size_t)length + 1)) return;
    memcpy(w->text + w->length, s, (size_t)length);
    w->length += (size_t)length;
    w->text[w->length] = 0;
}

static void put_text(writer *w, const char *s) { put(w, s, (int64_t)strlen(s)); }

static void put_number(writer *w, double v)
{
    char s[40];
    put(w, s, snprintf(s, sizeof s, "%.*g", w->digits, v));
}

static void put_separator(writer *w, bool *open)
{
    put_text(w, *open ? "," : "(");
    *open = true;
}

static bool is_list(const leaf *l, int64_t s)
{
    param_extent e = l->kind->specs[s].extent;
    return e == PER_COMPONENT || e == PER_COMPONENT_DIM || (e == PER_DIM && l->stride[s]);
}

/* A mixture in a product has only its first weight fixed; a list is written completely or not at all. */
static bool written(const writer *w, const leaf *l, int64_t s)
{
    return l->count[s] > 0 && !w->k->params[l->first + l->offset[s] + l->count[s] - 1].fixed;
}

static void put_values(writer *w, const leaf *l, int64_t s)
{
    const double *v = w->values + l->first + l->offset[s];
    put_text(w, l->kind->specs[s].name);
    put_text(w, is_list(l, s) ? "=[" : "=");
    for (int64_t i = 0; i < l->count[s]; i++) {
        if (i) put_text(w, ",");
        put_number(w, v[i]);
    }
    if (is_list(l, s)) put_text(w, "]");
}

static void put_integer(writer *w, const leaf *l)
{
    char s[40];
    put(w, s, snprintf(s, sizeof s, "=%lld", (long long)l->integer));
}

static void put_leaf(writer *w, const leaf *l)
{
    bool open = false;
    if (kernel_leaf_is_scale(l)) {
        put_number(w, w->values[l->first]);
        return;
    }
    put_text(w, l->kind->name);
    if (l->kind->integer_name) put_separator(w, &open), put_text(w, l->kind->integer_name), put_integer(w, l);
    if (l->iso) put_separator(w, &open), put_text(w, "iso");
    for (int64_t s = 0; s < leaf_specs(l->kind); s++)
        if (written(w, l, s)) put_separator(w, &open), put_values(w, l, s);
    if (l->text_length) {
        put_separator(w, &open);
        put_text(w, "dims=");
        put(w, w->k->dims_text + l->text_at, l->text_length);
    }
    if (open) put_text(w, ")");
}

static void put_node(writer *w, int at);

static void put_child(writer *w, int at, bool parenthesis)
{
    if (parenthesis) put_text(w, "(");
    put_node(w, at);
    if (parenthesis) put_text(w, ")");
}

/* Recursion is as deep as the expression has leaves, at most MAX_LEAVES. */
static void put_node(writer *w, int at)
{
    const kernel_node *n = &w->k->nodes[at];
    if (n->op == NODE_LEAF) {
        put_leaf(w, &w->k->leaves[n->leaf]);
        return;
    }
    node_op left = w->k->nodes[n->left].op, right = w->k->nodes[n->right].op;
    bool product = n->op == NODE_PRODUCT;
    put_child(w, n->left, product && left == NODE_SUM);
    put_text(w, product ? "*" : " + ");
    put_child(w, n->right, product ? right != NODE_LEAF : right == NODE_SUM);
}

anygp_status kernel_format(const kernel *k, const double *values, int digits, char **text, anygp_error *e)
{
    writer w = {.k = k, .values = values, .digits = digits};
    c_locale l = c_locale_enter();
    put_node(&w, (int)k->n_nodes - 1);
    c_locale_leave(l);
    *text = w.failed ? NULL : w.text;
    if (!w.failed) return ANYGP_OK;
    free(w.text);
    return fail_memory(e, "the kernel expression", (double)w.capacity);
}
