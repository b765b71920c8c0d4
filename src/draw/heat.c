/* Maps: cells in colours from dark blue over green to yellow, which grow brighter evenly and keep their order for the colour-blind
   and in grey (viridis, by van der Walt and Smith). */
#include <math.h>

#include "draw/draw.h"

static const unsigned viridis[] = {0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c,
                                   0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725};
enum { ANCHORS = sizeof viridis / sizeof *viridis, SHADES = 64 };

static const double LAP = 0.5; /* pixels */

static unsigned channel(unsigned a, unsigned b, double share, int shift)
{
    double x = (a >> shift & 255u), y = (b >> shift & 255u);
    return (unsigned)lround(x + share * (y - x)) << shift;
}

static unsigned shade_colour(int shade)
{
    double at = (double)shade / (SHADES - 1) * (ANCHORS - 1);
    int i = at >= ANCHORS - 1 ? ANCHORS - 2 : (int)at;
    unsigned a = viridis[i], b = viridis[i + 1];
    return channel(a, b, at - i, 16) | channel(a, b, at - i, 8) | channel(a, b, at - i, 0);
}

static int shade_of(double value, const axis *scale)
{
    double share = (value - scale->low) / (scale->high - scale->low);
    if (!isfinite(share)) return -1;
    return share <= 0 ? 0 : share >= 1 ? SHADES - 1 : (int)(share * SHADES);
}

void panel_heat(const panel *p, int64_t nx, int64_t ny, const double *value, const axis *scale)
{
    FILE *f = canvas_stream(p->c);
    double w = (p->right - p->left) / (double)nx, h = (p->bottom - p->top) / (double)ny;
    for (int shade = 0; f && shade < SHADES; shade++) { /* one path per colour */
        bool any = false;
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++) {
                if (shade_of(value[j * nx + i], scale) != shade) continue;
                if (!any) fprintf(f, "<path class=\"cell\" fill=\"#%06x\" d=\"", shade_colour(shade));
                any = true;
                int64_t run = 1;
                while (i + run < nx && shade_of(value[j * nx + i + run], scale) == shade) run++;
                double x = p->left + w * (double)i, y = p->bottom - h * (double)(j + 1), wide = w * (double)run;
                /* a little over the next cells, so that no line of the ground shows between them */
                double over = i + run < nx ? LAP : 0, under = j > 0 ? LAP : 0;
                fprintf(f, "M%.2f %.2fh%.2fv%.2fh%.2fz", x, y, wide + over, h + under, -(wide + over));
                i += run - 1;
            }
        if (any) fputs("\"/>\n", f);
    }
}
