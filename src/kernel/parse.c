/* expression := term { + term }      term := factor { * factor }      factor := number | ( expression ) | kernel
   Recursive descent; nodes come out in postfix order automatically. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/parser.h"

enum { LONGEST_TEXT = 4 << 20 }; /* 10^5 length-scales at 17 digits, and some room */

anygp_status complain_memory(parser *p) { return fail_memory(p->s.e, "the kernel expression", (double)p->s.length); }

anygp_status take_positive(parser *p, double *v)
{
    scan_blanks(&p->s);
    int64_t at = p->s.at;
    TRY(scan_number(&p->s, v));
    return isfinite(*v) && *v > 0 ? ANYGP_OK
                                  : scan_fail(&p->s, at, NULL, "expected a positive number that is not too large");
}

bool make_room(void *array, int64_t *capacity, int64_t need, size_t size)
{
    void *old, *grown;
    size_t bytes;
    if (need <= *capacity) return true;
    int64_t larger = need > 2 * *capacity ? need : 2 * *capacity;
    memcpy(&old, array, sizeof old);
    if (!size_mul(larger, (int64_t)size, &bytes) || !(grown = realloc(old, bytes))) return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

/* -------------------------------------------------------------------------------------------- grammar */

static anygp_status parse_expression(parser *p, int *root);

static int add_node(parser *p, kernel_node n, bool literal, bool white)
{
    int i = (int)p->k->n_nodes++;
    p->k->nodes[i] = n;
    p->literal[i] = literal, p->white[i] = white;
    return i;
}

static int add_leaf_node(parser *p)
{
    int i = (int)p->k->n_leaves - 1;
    const leaf *l = &p->k->leaves[i];
    return add_node(p, (kernel_node){.op = NODE_LEAF, .leaf = i}, kernel_leaf_is_scale(l), kernel_leaf_is_white(l));
}

static anygp_status parse_scale(parser *p)
{
    kernel *k = p->k;
    double v;
    TRY(take_positive(p, &v));
    if (!make_room(&k->values, &p->values_capacity, k->n_params + 1, sizeof *k->values)) return complain_memory(p);
    k->leaves[k->n_leaves++] = (leaf){
        .kind = &kind_scale, .dims_at = k->n_dims, .first = k->n_params, .n_params = 1, .count = {1}, .given = {true}};
    k->values[k->n_params++] = v;
    return ANYGP_OK;
}

static anygp_status parse_parenthesis(parser *p, int *root)
{
    int64_t open = p->s.at - 1;
    if (++p->nesting > MAX_NESTING)
        return scan_fail(&p->s, open, NULL, "more than %d parentheses are nested", MAX_NESTING);
    TRY(parse_expression(p, root));
    if (!scan_take(&p->s, ')')) return scan_fail(&p->s, p->s.at, NULL, "expected + or * or )");
    p->nesting--;
    return ANYGP_OK;
}

static anygp_status parse_factor(parser *p, int *root)
{
    char c = scan_peek(&p->s);
    if (scan_take(&p->s, '(')) return parse_parenthesis(p, root);
    if (p->k->n_leaves == MAX_LEAVES) return scan_fail(&p->s, p->s.at, NULL, "more than %d kernels", MAX_LEAVES);
    if (isdigit((unsigned char)c) || c == '.' || c == '-')
        TRY(parse_scale(p));
    else if (scan_starts_word(c))
        TRY(parse_leaf(p));
    else if (c)
        return scan_fail(&p->s, p->s.at, NULL, "expected a kernel, found '%c'", isprint((unsigned char)c) ? c : '?');
    else
        return scan_fail(&p->s, p->s.at, NULL, "expected a kernel, found the end");
    *root = add_leaf_node(p);
    return ANYGP_OK;
}

/* White times a kernel is again white, with a variance that depends on the input; it must be written as a term. */
static bool white_is_multiplied(const parser *p, int a, int b)
{
    return (p->white[a] && !p->literal[b]) || (p->white[b] && !p->literal[a]);
}

static anygp_status parse_term(parser *p, int *root)
{
    int right;
    scan_blanks(&p->s);
    int64_t start = p->s.at;
    TRY(parse_factor(p, root));
    while (scan_take(&p->s, '*')) {
        TRY(parse_factor(p, &right));
        if (white_is_multiplied(p, *root, right))
            return scan_fail(&p->s, start, "use white as a term of a sum", "white is multiplied by a kernel");
        *root = add_node(p, (kernel_node){.op = NODE_PRODUCT, .left = *root, .right = right},
                         p->literal[*root] && p->literal[right], p->white[*root] || p->white[right]);
    }
    if (p->literal[*root])
        return scan_fail(&p->s, start, "write 2*rbf to scale a kernel, constant(variance=2) to add a constant",
                         "this number multiplies no kernel");
    return ANYGP_OK;
}

static anygp_status parse_expression(parser *p, int *root)
{
    int right;
    TRY(parse_term(p, root));
    while (scan_take(&p->s, '+')) {
        TRY(parse_term(p, &right));
        *root = add_node(p, (kernel_node){.op = NODE_SUM, .left = *root, .right = right}, false,
                         p->white[*root] || p->white[right]);
    }
    return ANYGP_OK;
}

static anygp_status parse_all(parser *p)
{
    int root;
    if (p->s.length > LONGEST_TEXT)
        return fail_with(p->s.e, ANYGP_ERR_ARGUMENT, "the kernel expression has %lld bytes; at most %d are read",
                         (long long)p->s.length, LONGEST_TEXT);
    if (!scan_peek(&p->s))
        return fail_with(p->s.e, ANYGP_ERR_ARGUMENT, "the kernel expression is empty; write one such as matern52");
    TRY(parse_expression(p, &root));
    if (scan_peek(&p->s)) return scan_fail(&p->s, p->s.at, NULL, "expected + or * or the end");
    return kernel_complete(p->k) ? ANYGP_OK : complain_memory(p);
}

static kernel *kernel_new(int64_t D)
{
    kernel *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->D = D;
    k->leaves = mem_alloc(MAX_LEAVES, sizeof *k->leaves);
    k->nodes = mem_alloc(MAX_NODES, sizeof *k->nodes);
    k->values = mem_alloc(1, sizeof *k->values);
    k->dims = mem_alloc(1, sizeof *k->dims);
    k->dims_text = mem_alloc(1, 1);
    if (k->leaves && k->nodes && k->values && k->dims && k->dims_text) return k;
    kernel_free(k);
    return NULL;
}

anygp_status kernel_parse(const char *text, const kernel_input *in, int64_t n_in, int64_t D, kernel **out,
                          anygp_error *e)
{
    *out = NULL;
    parser *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the kernel expression", sizeof *p);
    *p = (parser){.s = scan_text("kernel", text, e), .in = in, .n_in = n_in};
    p->k = kernel_new(D);
    p->named = mem_zeroed(n_in, sizeof *p->named);
    anygp_status status = p->k && p->named ? parse_all(p) : complain_memory(p);
    if (status == ANYGP_OK)
        *out = p->k;
    else
        kernel_free(p->k);
    free(p->by_name);
    free(p->named);
    free(p->numbers);
    free(p->listed);
    free(p);
    return status;
}
