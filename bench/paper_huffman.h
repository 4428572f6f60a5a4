/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paper_huffman.h: sizes of the paper's own pipelines on a field, counted and not written, for comparison.
 */
#ifndef CSZ_BENCH_PAPER_HUFFMAN_H
#define CSZ_BENCH_PAPER_HUFFMAN_H

#include "csz.h"

/* Bytes, everything included; 0 where it was not measured. */
typedef struct paper_sizes {
    size_t fixed;        /* header and outliers, part of each */
    size_t qg, qh, qhg;  /* gzip on codes, Huffman, Huffman then gzip */
    size_t rle, rle_vle; /* runs of codes; runs whose codes and counts are Huffman coded */
    size_t noutliers;
} paper_sizes;

/* everything 0: only qh.  gzip needs zlib in the build.  0, or -1 for lack of memory. */
int paper_measure(paper_sizes *sizes, const void *data, const csz_field *field, double bound_abs,
                  int everything);

/* Bytes that Lorenzo + Huffman with the paper's chunks would take; 0 for lack of memory. */
size_t paper_huffman_nbytes(const void *data, const csz_field *field, double bound_abs);

#endif
