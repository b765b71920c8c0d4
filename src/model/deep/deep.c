/* A deep GP with another number of layers: deep(layers=3), or deep(3).  One layer is svgp. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/made.h"

anygp_status made_deep(scanner *s, made_model **out, anygp_error *e)
{
    double layers;
    int64_t at;
    TRY(made_number(s, "layers", "a number of layers", &at, &layers));
    if (!(layers >= 1 && layers <= CHAIN_LAYERS_MOST && layers == floor(layers)))
        return scan_fail(s, at, "the layers of deep are from 1 to 8", "%g is no number of layers", layers);
    TRY(made_new(&model_deep, sizeof(*out)->kind.chain, out, e));
    (*out)->kind.chain.layers = (int64_t)layers;
    snprintf((*out)->name, sizeof(*out)->name, "deep(layers=%d)", (int)layers);
    return ANYGP_OK;
}
