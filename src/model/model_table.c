/* The list of models.  A new one is one file, one line here and one page in docs/. */
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "model/model.h"

static const model_ops *const models[] = {&model_exact,
                                          &model_sod,
                                          &model_sor,
                                          &model_ssgp,
                                          &model_dtc,
                                          &model_fitc,
                                          &model_fic,
                                          &model_pitc,
                                          &model_pic,
                                          &model_lma,
                                          &model_hier,
                                          &model_vecchia,
                                          &model_vnngp,
                                          &model_nene,
                                          &model_lagp,
                                          &model_nle,
                                          &model_patchwork,
                                          &model_tree,
                                          &model_poe,
                                          &model_gpoe,
                                          &model_bcm,
                                          &model_rbcm,
                                          &model_grbcm,
                                          &model_npae,
                                          &model_vfe,
                                          &model_pep,
                                          &model_vfe_tight,
                                          &model_solve_collapsed,
                                          &model_odvgp_collapsed,
                                          &model_svgp,
                                          &model_solve,
                                          &model_odvgp,
                                          &model_ivsgpr,
                                          &model_deep,
                                          &model_svdgp,
                                          &model_svdgp_sga,
                                          &model_rvm,
                                          &model_qsgp,
                                          &model_qsrvm,
                                          &model_moe};

int64_t model_count(void) { return (int64_t)(sizeof models / sizeof *models); }
const model_ops *model_at(int64_t i) { return i >= 0 && i < model_count() ? models[i] : NULL; }

const model_ops *model_find(const char *name)
{
    if (!strcmp(name, "svi")) return &model_svgp; /* as 001 calls it */
    if (!strcmp(name, "nngp")) return &model_vecchia;
    for (int64_t i = 0; i < model_count(); i++)
        if (!strcmp(models[i]->name, name)) return models[i];
    return NULL;
}

anygp_status model_admits(const model_ops *m, const model_scope *q, anygp_error *e)
{
    if (m->variables && m->variables->check) TRY(m->variables->check(q->kernel, e));
    return m->admits ? m->admits(m, q, e) : ANYGP_OK;
}

/* Rows in memory know their columns. */
static model_scope scope_of(const problem *p, const hyper *h)
{
    const dataset *d = p->rows ? p->rows->data : NULL;
    return (model_scope){.kernel = h->kernel,
                         .likelihood = p->likelihood,
                         .D = kernel_inputs(h->kernel),
                         .inputs = d ? &d->schema : NULL};
}

anygp_status model_open(const model_ops *m, const problem *p, hyper *h, void **state, anygp_error *e)
{
    model_scope q = scope_of(p, h);
    if (m->admits) TRY(m->admits(m, &q, e));
    if (m->define) {
        TRY(m->define(m, p, h, e));
        if (p->fix) TRY(params_fix(&h->all, p->fix, HYPER_GROUPS, e));
        hyper_bind(h);
    }
    return m->open(m, p, h, state, e);
}

typedef struct wish {
    bool (*wanted)(const model_ops *m);
} wish;

static const char *wanted_name(int64_t i, const void *ctx)
{
    const wish *w = ctx;
    return !w->wanted || w->wanted(models[i]) ? models[i]->name : NULL;
}

char *model_names(bool (*wanted)(const model_ops *m), const char *last)
{
    return name_list(model_count(), wanted_name, &(wish){wanted}, last);
}

void posteriors_free(int64_t count, posterior **list)
{
    for (int64_t t = 0; t < count; t++) {
        if (list[t]) list[t]->ops->free(list[t]);
        list[t] = NULL;
    }
}

double posterior_kl(const posterior *p)
{
    double kl = p->ops->kl ? p->ops->kl(p) : NAN;
    return isfinite(kl) ? kl : NAN;
}

void array_list_add(array_list *list, named_array a)
{
    if (list->count == list->room) {
        int64_t room = list->room ? 2 * list->room : 16;
        named_array *moved = realloc(list->at, (size_t)room * sizeof *moved);
        if (!moved) {
            list->failed = true;
            return;
        }
        list->at = moved, list->room = room;
    }
    list->at[list->count++] = a;
}

void array_list_clear(array_list *list)
{
    free(list->at);
    *list = (array_list){0};
}

const named_array *named_array_find(const named_array *list, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    return NULL;
}

named_array *named_array_need(named_array *list, int64_t count, const char *name, anygp_error *e)
{
    named_array *a = (named_array *)named_array_find(list, count, name);
    if (!a) (void)fail_with(e, ANYGP_ERR_FILE, "the model file has no array '%s'; it is damaged or not complete", name);
    return a;
}

anygp_status named_array_check(const named_array *a, int64_t rows, int64_t cols, anygp_error *e)
{
    if (a->rows == rows && a->cols == cols) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_FILE, "the model file's array '%s' is %lld x %lld instead of %lld x %lld", a->name,
                     (long long)a->rows, (long long)a->cols, (long long)rows, (long long)cols);
}

double *named_array_take(named_array *a)
{
    double *values = a->values;
    a->values = NULL;
    return values;
}

int64_t model_share_sets(int64_t M, int64_t wanted, const int64_t *size, int64_t *sets)
{
    int64_t count = 0;
    for (; count < wanted && M > 0; count++) {
        sets[count] = size[count] < M ? size[count] : M;
        M -= sets[count];
    }
    return count;
}
