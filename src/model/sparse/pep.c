/* Power expectation propagation with a power of its own: pep(alpha=0.2), or pep(0.2), is the family's model with
       G = alpha diag(K - Q) + noise I
   (sparse.h).  alpha = 0 is vfe, alpha = 1 has fitc's objective. */
#include <string.h>

#include "model/made.h"

anygp_status made_pep(scanner *s, made_model **out, anygp_error *e)
{
    double alpha;
    int64_t at;
    made_model *m = NULL;
    TRY(made_number(s, "alpha", "a power", &at, &alpha));
    if (!(alpha >= 0 && alpha <= 1))
        return scan_fail(s, at, "the alpha of pep is from 0 (vfe) to 1 (fitc)", "%g is not a power", alpha);
    TRY(made_new(alpha > 0 ? &model_pep : &model_vfe, sizeof m->kind.sparse, &m, e));
    m->kind.sparse.power = alpha;
    char *to = stpcpy(m->name, "pep(alpha=");
    to += number_print(alpha, to);
    strcpy(to, ")");
    *out = m;
    return ANYGP_OK;
}
