/* A deep GP with another number of layers: deep(layers=3), or deep(3).  One layer is svgp. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/made.h"

typedef struct depth {
    double layers;
    int64_t at; /* in the text */
    bool given;
} depth;

static anygp_status take_layers(scanner *s, void *ctx)
{
    depth *d = ctx;
    TRY(made_number(s, "layers", d->given, &d->at, &d->layers));
    d->given = true;
    return ANYGP_OK;
}

anygp_status made_deep(scanner *s, made_model **out, anygp_error *e)
{
    depth d = {.given = false};
    TRY(scan_options(s, take_layers, &d));
    TRY(scan_end(s));
    if (!d.given) return scan_fail(s, s->at, NULL, "expected a number of layers");
    if (!(d.layers >= 1 && d.layers <= CHAIN_LAYERS_MOST && d.layers == floor(d.layers)))
        return scan_fail(s, d.at, "the layers of deep are from 1 to 8", "%g is no number of layers", d.layers);
    TRY(made_new(&model_deep, sizeof(*out)->kind.chain, out, e));
    (*out)->kind.chain.layers = (int64_t)d.layers;
    snprintf((*out)->name, sizeof(*out)->name, "deep(layers=%d)", (int)d.layers);
    return ANYGP_OK;
}
