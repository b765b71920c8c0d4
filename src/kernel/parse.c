/* expression := term { + term }      term := factor { * factor }      factor := number | ( expression ) | kernel
   Recursive descent; nodes come out in postfix order by themselves. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "kernel/parser.h"

enum { LONGEST_TEXT = 4 << 20 }; /* 10^5 length-scales at 17 digits, and some */

/* ---------------------------------------------------------------------------------------------- words */

void skip_space(parser *p)
{
    while (p->at < p->length && isspace((unsigned char)p->text[p->at])) p->at++;
}

char peek(parser *p)
{
    skip_space(p);
    return p->text[p->at];
}

bool take(parser *p, char c)
{
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static bool starts_word(char c) { return isalpha((unsigned char)c) || c == '_'; }

int64_t word_length(parser *p)
{
    if (!starts_word(peek(p))) return 0;
    int64_t n = 1;
    while (isalnum((unsigned char)p->text[p->at + n]) || p->text[p->at + n] == '_') n++;
    return n;
}

static bool starts_number(const char *s)
{
    return isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]));
}

anygp_status take_number(parser *p, double *v)
{
    skip_space(p);
    const char *start = p->text + p->at, *digits = start + (*start == '-' || *start == '+');
    if (!starts_number(digits)) return complain(p, p->at, NULL, "expected a number");
    char *end;
    *v = strtod(start, &end);
    if (!isfinite(*v) || *v <= 0) return complain(p, p->at, NULL, "expected a positive number that is not too large");
    p->at = end - p->text;
    return ANYGP_OK;
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

static int add_node(parser *p, node n, bool literal, bool white)
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
    return add_node(p, (node){.op = NODE_LEAF, .leaf = i}, kernel_leaf_is_scale(l), kernel_leaf_is_white(l));
}

static anygp_status parse_scale(parser *p)
{
    kernel *k = p->k;
    double v;
    TRY(take_number(p, &v));
    if (!make_room(&k->values, &p->values_capacity, k->n_params + 1, sizeof *k->values)) return complain_memory(p);
    k->leaves[k->n_leaves++] = (leaf){
        .kind = &kind_scale, .dims_at = k->n_dims, .first = k->n_params, .n_params = 1, .count = {1}, .given = {true}};
    k->values[k->n_params++] = v;
    return ANYGP_OK;
}

static anygp_status parse_parenthesis(parser *p, int *root)
{
    int64_t open = p->at - 1;
    if (++p->nesting > MAX_NESTING) return complain(p, open, NULL, "more than %d parentheses are nested", MAX_NESTING);
    TRY(parse_expression(p, root));
    if (!take(p, ')')) return complain(p, p->at, NULL, "expected + or * or )");
    p->nesting--;
    return ANYGP_OK;
}

static anygp_status parse_factor(parser *p, int *root)
{
    char c = peek(p);
    if (take(p, '(')) return parse_parenthesis(p, root);
    if (p->k->n_leaves == MAX_LEAVES) return complain(p, p->at, NULL, "more than %d kernels", MAX_LEAVES);
    if (isdigit((unsigned char)c) || c == '.' || c == '-')
        TRY(parse_scale(p));
    else if (starts_word(c))
        TRY(parse_leaf(p));
    else if (c)
        return complain(p, p->at, NULL, "expected a kernel, found '%c'", isprint((unsigned char)c) ? c : '?');
    else
        return complain(p, p->at, NULL, "expected a kernel, found the end");
    *root = add_leaf_node(p);
    return ANYGP_OK;
}

/* White times a kernel is white again, with a variance that depends on where; as a term it says what it is. */
static bool white_is_multiplied(const parser *p, int a, int b)
{
    return (p->white[a] && !p->literal[b]) || (p->white[b] && !p->literal[a]);
}

static anygp_status parse_term(parser *p, int *root)
{
    int right;
    skip_space(p);
    int64_t start = p->at;
    TRY(parse_factor(p, root));
    while (take(p, '*')) {
        TRY(parse_factor(p, &right));
        if (white_is_multiplied(p, *root, right))
            return complain(p, start, "use white as a term of a sum", "white is multiplied by a kernel");
        *root = add_node(p, (node){.op = NODE_PRODUCT, .left = *root, .right = right},
                         p->literal[*root] && p->literal[right], p->white[*root] || p->white[right]);
    }
    if (p->literal[*root])
        return complain(p, start, "write 2*rbf to scale a kernel, constant(variance=2) to add a constant",
                        "this number multiplies no kernel");
    return ANYGP_OK;
}

static anygp_status parse_expression(parser *p, int *root)
{
    int right;
    TRY(parse_term(p, root));
    while (take(p, '+')) {
        TRY(parse_term(p, &right));
        *root = add_node(p, (node){.op = NODE_SUM, .left = *root, .right = right}, false,
                         p->white[*root] || p->white[right]);
    }
    return ANYGP_OK;
}

static anygp_status parse_all(parser *p)
{
    int root;
    if (p->length > LONGEST_TEXT)
        return fail_with(p->e, ANYGP_ERR_ARGUMENT, "the kernel expression has %lld bytes; at most %d are read",
                         (long long)p->length, LONGEST_TEXT);
    if (!peek(p))
        return fail_with(p->e, ANYGP_ERR_ARGUMENT, "the kernel expression is empty; write one such as matern52");
    TRY(parse_expression(p, &root));
    if (peek(p)) return complain(p, p->at, NULL, "expected + or * or the end");
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

static anygp_status parse_in_c_locale(parser *p)
{
    c_locale l = c_locale_enter();
    anygp_status status = parse_all(p);
    c_locale_leave(l);
    return status;
}

anygp_status kernel_parse(const char *text, const kernel_input *in, int64_t n_in, int64_t D, kernel **out,
                          anygp_error *e)
{
    *out = NULL;
    parser *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the kernel expression", sizeof *p);
    *p = (parser){.text = text, .length = (int64_t)strlen(text), .in = in, .n_in = n_in, .e = e};
    p->k = kernel_new(D);
    p->named = mem_zeroed(n_in, sizeof *p->named);
    anygp_status status = p->k && p->named ? parse_in_c_locale(p) : complain_memory(p);
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
