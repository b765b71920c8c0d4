/* Power expectation propagation with a power of its own: pep(alpha=0.2), or pep(0.2), is the family's model with
       G = alpha diag(K - Q) + noise I
   (sparse.h).  alpha = 0 is vfe, alpha = 1 has fitc's objective. */
#include <string.h>

#include "model/made.h"

static const char *skip(const char *at, const char *word)
{
    while (*at == ' ') at++;
    size_t n = strlen(word);
    if (strncmp(at, word, n)) return NULL;
    for (at += n; *at == ' ';) at++;
    return at;
}

/* NULL: not of this form. */
static const char *scan(const char *text, double *alpha)
{
    const char *at = skip(text, "pep"), *named;
    if (!at || !(at = skip(at, "("))) return NULL;
    if ((named = skip(at, "alpha")) && !(at = skip(named, "="))) return NULL;
    return (at = number_scan(at, at + strlen(at), alpha)) ? skip(at, ")") : NULL;
}

anygp_status made_pep(const char *text, const model_ops **out, anygp_error *e)
{
    double alpha;
    made_model *m = NULL;
    const char *end = scan(text, &alpha);
    if (!end || *end) return fail_with(e, ANYGP_ERR_ARGUMENT, "model: '%.80s' is not of the form pep(alpha=0.5)", text);
    if (!(alpha >= 0 && alpha <= 1))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "model: the alpha of pep is from 0 (vfe) to 1 (fitc), not %g", alpha);
    TRY(made_new(alpha > 0 ? &model_pep : &model_vfe, &m, e));
    m->kind.power = alpha;
    char *to = stpcpy(m->name, "pep(alpha=");
    to += number_print(alpha, to);
    strcpy(to, ")");
    *out = &m->ops;
    return ANYGP_OK;
}
