/* hier(local=EXPR): local and global (003, section V-B [168], [169]).  f = g + l_b in block b, with a wide g ~ GP(0, k) for all rows, which
   blocks share through inducing inputs, and an l_b ~ GP(0, EXPR) of its own for each block:
       cov(f(x), f(x')) = k(x, x') + k_l(x, x')     in one block
                          q(x, x') = a(x)'a(x')     otherwise, a = L^-1 k_u(x) of k alone
   That is the prior of pic (sparse/sparse.h) with the kernel k + k_l, where inducing variables are values of g, not of f: the kind `left`
   of inducing variables, and nothing else, is new.  With k_l = 0 it is pic.

   The inducing inputs are the means of the blocks, unless the user gives a number or places.  The table is in sparse/sparse_models.c, with
   pic's; here is the expression. */
#include <stdio.h>
#include <string.h>

#include "model/made.h"

enum { LOCAL_MOST = 160 };

/* Up to the parenthesis that closes the expression; blanks around it are not part of it. */
static int64_t local_length(const scanner *s)
{
    int64_t open = 0, n = 0;
    for (int64_t i = s->at; i < s->length; i++, n++) {
        char c = s->text[i];
        if (c == ')' && open == 0) break;
        open += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
    while (n > 0 && scan_is_blank(s->text[s->at + n - 1])) n--;
    return n;
}

/* The kernel itself is parsed where the inputs are known. */
anygp_status made_hier(scanner *s, made_model **out, anygp_error *e)
{
    scan_take(s, '(');
    int64_t n = scan_word(s);
    if (!made_is_word(s, n, "local")) return scan_fail(s, s->at, NULL, "expected local= and a kernel");
    s->at += n;
    if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a kernel");
    scan_blanks(s);
    n = local_length(s);
    if (n == 0) return scan_fail(s, s->at, NULL, "expected a kernel");
    if (n > LOCAL_MOST)
        return scan_fail(s, s->at, NULL, "the kernel has %lld characters, and at most %d are taken", (long long)n,
                         LOCAL_MOST);
    const char *text = s->text + s->at;
    s->at += n;
    if (!scan_take(s, ')')) return scan_fail(s, s->at, NULL, "expected )");
    TRY(scan_end(s));
    TRY(made_new(&model_hier, sizeof(*out)->kind.sparse, out, e));
    snprintf((*out)->name, sizeof(*out)->name, "hier(local=%.*s)", (int)n, text);
    snprintf((*out)->local, sizeof(*out)->local, "%.*s", (int)n, text);
    made_connect(*out);
    return ANYGP_OK;
}
