/* Power expectation propagation with a power of its own: pep(alpha=0.2), or pep(0.2), is the family's model with
       G = alpha diag(K - Q) + noise I
   (sparse.h).  alpha = 0 is vfe, alpha = 1 has fitc's objective. */
#include <string.h>

#include "model/made.h"

typedef struct power {
    double alpha;
    int64_t at; /* in the text */
    bool given;
} power;

static anygp_status take_alpha(scanner *s, void *ctx)
{
    power *p = ctx;
    TRY(made_number(s, "alpha", p->given, &p->at, &p->alpha));
    p->given = true;
    return ANYGP_OK;
}

anygp_status made_pep(scanner *s, made_model **out, anygp_error *e)
{
    power p = {.given = false};
    made_model *m = NULL;
    TRY(scan_options(s, take_alpha, &p));
    TRY(scan_end(s));
    if (!p.given) return scan_fail(s, s->at, NULL, "expected a power");
    if (!(p.alpha >= 0 && p.alpha <= 1))
        return scan_fail(s, p.at, "the alpha of pep is from 0 (vfe) to 1 (fitc)", "%g is not a power", p.alpha);
    TRY(made_new(p.alpha > 0 ? &model_pep : &model_vfe, sizeof m->kind.sparse, &m, e));
    m->kind.sparse.power = p.alpha;
    char *to = stpcpy(m->name, "pep(alpha=");
    to += number_print(p.alpha, to);
    strcpy(to, ")");
    *out = m;
    return ANYGP_OK;
}
