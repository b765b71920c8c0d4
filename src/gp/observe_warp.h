/* What observe.c says about y = g^-1(t), where t is normal or a mixture of normals: the parts that are not those of t, mapped. */
#ifndef GP_OBSERVE_WARP_H
#define GP_OBSERVE_WARP_H

#include "gp/gp.h"

/* gaussian: moments of y, data units. */
void observe_warped_moments(const observer *o, const latents *f, double *mean, double *variance);
/* y[n] in model units, out[n] in data units. */
void observe_warped_crps(const observer *o, const latents *f, const double *y, double *out);

#endif
