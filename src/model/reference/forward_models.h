/* Models written forward: examples of forward.h, and the slow references for what is written by hand. */
#ifndef MODEL_REFERENCE_FORWARD_MODELS_H
#define MODEL_REFERENCE_FORWARD_MODELS_H

#include "model/forward.h"

/* svgp of one target with one set of inducing inputs.  Its constants are a forward_svgp_model; its own parameters, in this order,
   m[Mt,C] and R[Mt,Mt C], the lower factors of V_1 ... V_C side by side; Mt = p + M, those of the prior mean first. */
typedef struct forward_svgp_model {
    const likelihood *likelihood; /* C latents; its values come from hyper */
    random_stream random;
} forward_svgp_model;
extern const forward_model forward_svgp;

/* The collapsed bound and evidences of one target; no constants, no parameters of their own. */
extern const forward_model forward_vfe, forward_fitc, forward_pitc;

#endif
