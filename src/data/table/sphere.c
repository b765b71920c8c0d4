/* Longitude and latitude to coordinates in space and back (sphere.h). */
#include "data/table/sphere.h"

#include <math.h>

#include "base/constants.h"

static const double DEGREE = PI / 180;

/* Oceans are often counted past 360 degrees: 20 to 380. */
bool sphere_longitude(double lon) { return lon >= -180 && lon < 540; }

bool sphere_latitude(double lat) { return lat >= -90 && lat <= 90; }

/* Longitudes that are the same place give the same bits. */
void sphere_place(double lon, double lat, double place[SPHERE_COLUMNS])
{
    double a = DEGREE * (lon >= 180 ? lon - 360 : lon), b = DEGREE * lat;
    place[0] = SPHERE_RADIUS * cos(b) * cos(a);
    place[1] = SPHERE_RADIUS * cos(b) * sin(a);
    place[2] = SPHERE_RADIUS * sin(b);
}

void sphere_to_model(const sphere_spec *s, double lon, double lat, double *x)
{
    double place[SPHERE_COLUMNS];
    sphere_place(lon, lat, place);
    for (int k = 0; k < SPHERE_COLUMNS; k++) x[k] = (place[k] - s->shift[k]) / s->scale;
}

void sphere_from_model(const sphere_spec *s, const double *x, double *lon, double *lat)
{
    double p[SPHERE_COLUMNS];
    for (int k = 0; k < SPHERE_COLUMNS; k++) p[k] = s->shift[k] + s->scale * x[k];
    *lon = atan2(p[1], p[0]) / DEGREE;
    *lat = atan2(p[2], hypot(p[0], p[1])) / DEGREE;
}
