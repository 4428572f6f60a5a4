/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paper_huffman.h: the size that plain Lorenzo + Huffman, as in the paper, would need: the reference that csz's ratio
 * must not fall below.
 */
#ifndef CSZ_BENCH_PAPER_HUFFMAN_H
#define CSZ_BENCH_PAPER_HUFFMAN_H

#include "csz.h"

/* Bytes of the archive of data (finite, no missing values) at an absolute bound above 0; 0 when memory lacks. */
size_t paper_huffman_nbytes(const void *data, const csz_field *field, double bound_abs);

#endif
