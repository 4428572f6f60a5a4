/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * climate.c: stand-ins for CESM-ATM's maps (latitude x longitude) and for Hurricane ISABEL's volumes (height,
 * y, x).  The maps live on one planet: continents from noise on the sphere, heights on them, and from these
 * and the sun the temperatures, ice, snow, clouds and radiation.  The volumes share one vortex: a tangential
 * wind that peaks at the eye wall and weakens with height, its pressure deficit, turbulence, and cloud water
 * in spiral bands.
 */
#include "fields_common.h"

#include <math.h>

typedef struct map {
    float *out;
    size_t ny, nx;
    int which;
} map;

enum { TREFHT, PRECSL, ICEFRAC, FSDSC, SOLIN, LANDFRAC, CLDHGH, PHIS };

/* Height of the ground above the sea in km, negative at sea; p is a point of the unit sphere. */
static double ground(const double p[3]) {
    double continents = fields_octaves(11, 1.7 * p[0] + 5, 1.7 * p[1] + 5, 1.7 * p[2] + 5, 5, 0.5) - 0.18;
    double mountains = fields_octaves(31, 6 * p[0], 6 * p[1], 6 * p[2], 6, 0.55);
    return continents < 0 ? continents : 3 * continents * (0.4 + mountains * mountains);
}

static double insolation(double latitude, double hour) {
    const double tilt = -0.35; /* early February */
    double sun = portable_sin(latitude) * portable_sin(tilt) +
                 portable_cos(latitude) * portable_cos(tilt) * portable_cos(hour);
    return sun > 0 ? 1361 * sun : 0;
}

static double map_value(int which, double latitude, double longitude) {
    double c = portable_cos(latitude), s = portable_sin(latitude),
           p[3] = {s, c * portable_sin(longitude), c * portable_cos(longitude)};
    if (which == SOLIN) return insolation(latitude, longitude);
    double h = ground(p), weather = fields_octaves(51, 3 * p[0] + 9, 3 * p[1], 3 * p[2], 6, 0.55);
    double temperature = 302 - 48 * s * s - (h > 0 ? 6.0 * h : 0) + 4 * weather;
    switch (which) {
    case TREFHT:
        return temperature + (h > 0 ? 0.4 * fields_noise(71, 300 * p[0], 300 * p[1], 300 * p[2]) : 0);
    case PRECSL: { /* snow falls where it is cold and the weather rises */
        double wet = fields_octaves(81, 5 * p[0], 5 * p[1] + 3, 5 * p[2], 6, 0.6) - 0.35;
        double cold = fields_clip((276 - temperature) / 12, 0, 1);
        return wet > 0 ? 6e-8 * wet * wet * cold : 0;
    }
    case ICEFRAC: return h < 0 ? fields_clip((268 - temperature) / 6 + 0.3 * weather, 0, 1) : 0;
    case FSDSC: {
        double vapour = 0.75 + 0.04 * weather + (h > 0 ? 0.03 * h : 0) - 0.06 * c;
        return insolation(latitude, longitude) * fields_clip(vapour, 0, 1);
    }
    case LANDFRAC: return fields_clip(0.5 + 60 * h, 0, 1);
    case CLDHGH: {
        double cloud = fields_octaves(91, 4 * p[0], 4 * p[1], 4 * p[2] + 8, 7, 0.62);
        return fields_clip(0.15 + 0.8 * cloud * (1.1 - 0.5 * s * s), 0, 1);
    }
    default: return h > 0 ? 9806.16 * h : 0.3 * fields_noise(95, 40 * p[0], 40 * p[1], 40 * p[2]);
    }
}

static void map_row(void *arg, size_t y) {
    const map *m = arg;
    double latitude = PORTABLE_PI * (((double)y + 0.5) / (double)m->ny - 0.5);
    for (size_t x = 0; x < m->nx; x++) {
        double longitude = 2 * PORTABLE_PI * (double)x / (double)m->nx - PORTABLE_PI;
        m->out[y * m->nx + x] = (float)map_value(m->which, latitude, longitude);
    }
}

int fields_cesm(float *out, const uint64_t *dims, int which, int nthreads) {
    map m = {out, (size_t)dims[0], (size_t)dims[1], which};
    fields_parallel(nthreads, m.ny, map_row, &m);
    return 0;
}

/* ---- hurricane ---- */

typedef struct volume {
    float *out;
    size_t nz, ny, nx;
    int which;
} volume;

enum { WIND_U, PRESSURE, CLOUD, TEMPERATURE };

static double storm_value(int which, double z, double y, double x) {
    const double eye = 0.035, cy = 0.46, cx = 0.55;
    double dy = y - cy - 0.03 * z, dx = x - cx, r = sqrt(dy * dy + dx * dx) + 1e-9, ratio = r / eye;
    double swirl =
        62 * ratio * portable_exp(0.5 * (1 - portable_pow(ratio, 0.9))) * portable_exp(-1.6 * z * z);
    double rough = fields_octaves(101 + (uint64_t)which * 20, 5 * z, 14 * y, 14 * x, 5, 0.6);
    switch (which) {
    case WIND_U: return -swirl * dy / r - 6 + 18 * z + 2.2 * rough * (0.4 + swirl / 62);
    case PRESSURE:
        return -5200 * portable_exp(-0.55 * portable_pow(ratio, 1.1)) * (1 - 0.9 * z) + 250 * (y - 0.5) +
               12 * rough;
    case CLOUD: {
        double angle = 2.6 * portable_log(ratio + 0.3), c = portable_cos(angle), s = portable_sin(angle);
        double band = (c * dx + s * dy) / r; /* a logarithmic spiral */
        double water = 0.8 * band + 0.8 * rough - 0.3 - 1.3 * fabs(z - 0.4) - 1.2 * r;
        return water > 0 && ratio > 0.7 ? 2.2e-3 * water * water : 0;
    }
    default: return 28 - 98 * z + 9 * portable_exp(-0.4 * ratio * ratio) * 4 * z * (1 - z) + 0.8 * rough;
    }
}

static void storm_plane(void *arg, size_t z) {
    const volume *v = arg;
    for (size_t y = 0; y < v->ny; y++)
        for (size_t x = 0; x < v->nx; x++)
            v->out[(z * v->ny + y) * v->nx + x] = (float)storm_value(
                v->which, (double)z / (double)v->nz, (double)y / (double)v->ny, (double)x / (double)v->nx);
}

int fields_hurricane(float *out, const uint64_t *dims, int which, int nthreads) {
    volume v = {out, (size_t)dims[0], (size_t)dims[1], (size_t)dims[2], which};
    fields_parallel(nthreads, v.nz, storm_plane, &v);
    return 0;
}
