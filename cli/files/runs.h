/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.h: the values of a box of an array that follow each other there: rows, planes or the whole box. */
#ifndef CLI_RUNS_H
#define CLI_RUNS_H

#include "csz_frames.h"

typedef struct cli_runs {
    uint64_t n, nelements; /* runs, and elements of each */
    uint64_t per_plane, first, row, plane;
} cli_runs;

/* The box that a frame is in an array of these extents. */
static inline cli_runs cli_runs_of(const csz_frame *f, const uint64_t extents[3]) {
    const uint64_t row = extents[2], plane = row * extents[1];
    const int has_rows = f->end[2] - f->begin[2] == extents[2],
              has_planes = has_rows && f->end[1] - f->begin[1] == extents[1];
    cli_runs runs = {.per_plane = has_rows ? 1 : f->end[1] - f->begin[1], .row = row, .plane = plane};
    runs.n = (has_planes ? 1 : f->end[0] - f->begin[0]) * runs.per_plane;
    runs.nelements = f->nelements / runs.n;
    runs.first = f->begin[0] * plane + f->begin[1] * row + f->begin[2];
    return runs;
}

/* The array's element at which run i begins. */
static inline uint64_t cli_run_at(const cli_runs *runs, uint64_t i) {
    return runs->first + i / runs->per_plane * runs->plane + i % runs->per_plane * runs->row;
}

#endif
