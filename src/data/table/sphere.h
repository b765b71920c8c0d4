/* Places on the earth: two inputs in degrees become three columns of X, the coordinates in kilometres of the place on a sphere,
       x = R cos(lat) cos(lon),   y = R cos(lat) sin(lon),   z = R sin(lat),   R = 6371.0088 km.
   Distances are then those of the chord, 2 R sin(a / 2) for places an angle a apart: nearly the great-circle distance R a for close ones, and
   every kernel of distances in space is one on the sphere.  The three columns have one scale, so that nothing depends on where the poles
   are, and one length-scale [kernel_tie]. */
#ifndef DATA_TABLE_SPHERE_H
#define DATA_TABLE_SPHERE_H

#include <stdbool.h>
#include <stdint.h>

enum { SPHERE_COLUMNS = 3 };
#define SPHERE_RADIUS 6371.0088 /* km, the mean radius of the earth (IUGG) */

typedef struct sphere_spec {
    bool on;
    int64_t lon, lat; /* inputs of the schema, in degrees */
    int64_t at;       /* the first of its columns of X, which are the last ones */
    double shift[SPHERE_COLUMNS], scale;
} sphere_spec;

static inline bool sphere_has(const sphere_spec *s, int64_t j) /* column of X */
{
    return s->on && j >= s->at && j < s->at + SPHERE_COLUMNS;
}
static inline bool sphere_takes(const sphere_spec *s, int64_t input)
{
    return s->on && (input == s->lon || input == s->lat);
}

/* Latitudes from -90 to 90, longitudes from -180 to 360. */
bool sphere_longitude(double lon);
bool sphere_latitude(double lat);
void sphere_place(double lon, double lat, double place[SPHERE_COLUMNS]); /* km */
/* The three columns in model units, and back: longitudes from -180 to 180. */
void sphere_to_model(const sphere_spec *s, double lon, double lat, double *x);
void sphere_from_model(const sphere_spec *s, const double *x, double *lon, double *lat);

#endif
