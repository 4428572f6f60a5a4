/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lattices.h: where the restored lattices of a box of frames lie in a workspace: lattice after lattice, of
 * each frame after frame, without gaps but for whole lines.  Valid as C11 and CUDA C++.
 */
#ifndef CSZ_CUDA_LATTICES_H
#define CSZ_CUDA_LATTICES_H

#include "predict/pyramid.h"

/*
 * The frames first[i] <= index < first[i] + n[i] of a field's grid of frames.  before: values of the lattices
 * from 1 up to each; kernels would take microseconds to add them up (csz_frames_lay_out).
 */
typedef struct csz_frames {
    uint32_t first[3], n[3];
    uint64_t before[CSZ_LEVELS_MAX + 1];
} csz_frames;

/* Elements of a frame along a dim: the frame with this index. */
CSZ_FN uint64_t csz_frame_extent(const csz_geometry *g, int dim, uint64_t index) {
    const uint64_t full = g->frame[dim] << g->log2_t[dim], left = g->n[dim] - index * full;
    return left < full ? left : full;
}

CSZ_FN uint64_t csz_lattice_extent(uint64_t n, int level) {
    return (n + ((uint64_t)1 << level) - 1) >> level;
}

/* Values of lattice `level` of all the frames, in whole lines of 128 bytes. */
CSZ_FN uint64_t csz_lattice_room(const csz_geometry *g, const csz_frames *f, int level) {
    uint64_t n = 1;
    for (int i = 0; i < 3; i++)
        n *= (f->n[i] - 1) * csz_lattice_extent(csz_frame_extent(g, i, f->first[i]), level) +
             csz_lattice_extent(csz_frame_extent(g, i, f->first[i] + f->n[i] - 1), level);
    return (n + 31) / 32 * 32;
}

/* Makes f->before of the other members; returns the values of the lattices 1 to nlevels - 1. */
CSZ_FN uint64_t csz_frames_lay_out(csz_frames *f, const csz_geometry *g, int nlevels) {
    f->before[0] = 0;
    for (int l = 0; l < nlevels; l++) f->before[l + 1] = f->before[l] + (l ? csz_lattice_room(g, f, l) : 0);
    return f->before[nlevels];
}

/* Where lattice `level` > 0 of the frame at index[] begins. */
CSZ_FN uint64_t csz_lattice_at(const csz_geometry *g, const csz_frames *f, const uint64_t *index, int level) {
    uint64_t before[3], own[3], total[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t full = csz_lattice_extent(csz_frame_extent(g, i, f->first[i]), level);
        before[i] = (index[i] - f->first[i]) * full;
        own[i] = csz_lattice_extent(csz_frame_extent(g, i, index[i]), level);
        total[i] = (f->n[i] - 1) * full +
                   csz_lattice_extent(csz_frame_extent(g, i, f->first[i] + f->n[i] - 1), level);
    }
    return f->before[level] + before[0] * total[1] * total[2] +
           own[0] * (before[1] * total[2] + own[1] * before[2]);
}

/*
 * The frame, of nframes of each of nfields fields, with which a block begins, so that all blocks have about
 * as many tiles.  Frames at the field's end may be smaller than others.
 */
CSZ_FN uint32_t csz_frame_to_begin(const csz_geometry *g, uint32_t nfields, uint32_t nframes, uint32_t block,
                                   uint32_t nblocks) {
    if (nfields * nframes == 1) return 0;
    const uint64_t full = g->frame[0] * g->frame[1] * g->frame[2],
                   ntiles = nframes == g->nframes ? g->ntiles : nframes * full,
                   at = block * (nfields * ntiles) / nblocks, frame = at % ntiles / full;
    return (uint32_t)(at / ntiles * nframes + (frame < nframes ? frame : nframes - 1));
}

/* Lattices of the largest of the frames, or of the smallest. */
CSZ_FN int csz_frames_nlevels(const csz_geometry *g, const csz_frames *f, int of_smallest) {
    int nlevels = 1;
    for (int i = 0; i < 3; i++) {
        const uint64_t n = csz_frame_extent(g, i, f->first[i] + (of_smallest ? f->n[i] - 1 : 0));
        int l = 1;
        while (csz_lattice_extent(n, l - 1) > (uint64_t)1 << g->log2_t[i]) l++;
        if (l > nlevels) nlevels = l;
    }
    return nlevels;
}

#endif
