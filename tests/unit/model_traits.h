/* What the tests that walk the table of models ask of an entry, and the expressions that make models besides. */
#ifndef TEST_MODEL_TRAITS_H
#define TEST_MODEL_TRAITS_H

#include "model/model.h"
#include "support.h"

static inline bool has_inducing(const model_ops *m) { return model_has_inducing(m); }
static inline bool learns_inducing(const model_ops *m) { return model_learns_inducing(m); } /* unless they are fixed */
static inline bool has_sets(const model_ops *m) { return model_takes_sets(m); }             /* --inducing M+M2 */
static inline bool has_pair(const model_ops *m) { return model_takes_pair(m); }             /* --inducing Ma/Mb */
static inline bool has_subset(const model_ops *m) { return m->subset > 0; } /* --inducing says something */
static inline bool over_blocks(const model_ops *m) { return model_over_blocks(m); }
static inline bool has_joint(const model_ops *m) { return m->needs.joint; }
/* Rows that are asked together change each other's marginals: test_committee.c has the joint distributions of these. */
static inline bool joint_depends_on_company(const model_ops *m) { return m->needs.together; }
static inline bool over_parts(const model_ops *m) { return model_over_parts(m); } /* of the input space */
static inline bool by_steps(const model_ops *m) { return m->steps != NULL; }
static inline bool learns(const model_ops *m) { return !m->needs.given; }
static inline bool takes_likelihoods(const model_ops *m) { return model_takes_likelihoods(m); }
static inline bool fits_together(const model_ops *m)
{
    return m->steps || model_takes_targets(m);
} /* several targets in one run */

/* One or more of each kind that model_make() knows: a power at its ends and between, models that share a form, parts. */
static const char *const expressions[] = {"pep(alpha=0)", "pep(alpha=0.3)", "combine(dtc=0.3,fitc=0.7)",
                                          "combine(pic=1)"};

/* The table, then the expressions. */
static inline void for_each_model(void (*visit)(const model_ops *m, void *ctx), void *ctx)
{
    for (int64_t i = 0; i < model_count(); i++) visit(model_at(i), ctx);
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        const model_ops *m;
        anygp_error e = {.text = ""};
        if (model_make(expressions[i], &m, &e)) fail_msg("%s: %s", expressions[i], e.text);
        visit(m, ctx);
        model_free(m);
    }
}

#endif
