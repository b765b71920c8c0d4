/* Mixtures of experts over the rows of a scene. */
#ifndef TEST_MOE_SUPPORT_H
#define TEST_MOE_SUPPORT_H

#include "gp/gp.h"
#include "model/made.h"
#include "model/mixture/moe_posterior.h"
#include "model_scene.h"

#include "anygp/anygp.h"
#include "base/special.h"

static const char *const mixtures[] = {"moe(gate=linear)",      "moe(gate=square)",          "moe(gate=generative)",
                                       "moe(gate=linear,hard)", "moe(gate=generative,hard)", "moe(gate=gp,hard)",
                                       "moe(gate=gp)",          "moe(gate=stick)",           "moe(gate=stick,hard)"};
enum { MIXTURES = sizeof mixtures / sizeof *mixtures, EXPERTS = 3 };

static inline void open_scene(scene *s, const model_ops *m, const scene_kind *kind, int64_t K)
{
    anygp_error e = {.text = ""};
    scene_open(s, m, kind);
    s->model->close(s->state);
    s->p.experts.count = s->p.experts.most = K;
    if (model_open(m, &s->p, &s->h, &s->state, &e)) fail_msg("%s", e.text);
    scene_begin(s);
}

static inline moe_state *state_of(const scene *s) { return s->state; }

static inline double bound_of(scene *s)
{
    double value;
    anygp_error e;
    assert_int_equal(s->model->steps->bound(s->state, &s->h, &value, &e), ANYGP_OK);
    return value;
}

static inline posterior *posterior_of(scene *s)
{
    posterior *p = NULL;
    double jitter = 0;
    anygp_error e;
    assert_int_equal(s->model->steps->posteriors(s->state, &s->h, &jitter, &p, &e), ANYGP_OK);
    return p;
}

static inline void set_all(anygp_settings *set, size_t count, const char *const pairs[][2])
{
    anygp_error e;
    for (size_t i = 0; i < count; i++) assert_int_equal(anygp_set(set, pairs[i][0], pairs[i][1], &e), ANYGP_OK);
}

#endif
