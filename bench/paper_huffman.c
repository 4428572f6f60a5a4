/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paper_huffman.c: counts what the paper's "qh" pipeline would write, without writing it.  Dual quantization
 * q = round(x / 2eb); Lorenzo within chunks of 256, 16 x 16 or 8 x 8 x 8, zero outside; 1,024 codes, a delta
 * outside -512..511 being an outlier whose code says 0; one optimal Huffman code for the field.  Counted: a
 * header of 64 bytes, 1,024 code lengths of a byte, per outlier an index of 4 bytes and a value of the
 * field's own width, and the bits in pieces of 512 codes, padded to 32-bit words, with a bit count and an
 * offset of 4 bytes each.  The paper does not state the piece, but its overhead: FSDSC falls from 26..29
 * to 23.88, that is by 0.11 to 0.24 bits a value. The piece here costs 64 / 512 bits and half a word of
 * padding in 512 codes, together 0.16.
 */
#include "paper_huffman.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NCODES = 1024, RADIUS = NCODES / 2, PIECE = 512, PIECE_NBYTES = 8, HEADER_NBYTES = 64 };

/* ---- Optimal code lengths --------------------------------------------------------------------------- */

typedef struct node {
    uint64_t weight;
    int parent;
} node;

/* Restores the heap (smallest weight first) below position i. */
static void sift_down(int *heap, int n, int i, const node *nodes) {
    for (;;) {
        int smallest = i, left = 2 * i + 1, right = left + 1;
        if (left < n && nodes[heap[left]].weight < nodes[heap[smallest]].weight) smallest = left;
        if (right < n && nodes[heap[right]].weight < nodes[heap[smallest]].weight) smallest = right;
        if (smallest == i) return;
        int swap = heap[i];
        heap[i] = heap[smallest];
        heap[smallest] = swap;
        i = smallest;
    }
}

static int pop(int *heap, int *n, const node *nodes) {
    int top = heap[0];
    heap[0] = heap[--*n];
    sift_down(heap, *n, 0, nodes);
    return top;
}

static void huffman_lengths(uint8_t *lengths, const uint64_t *histogram) {
    node nodes[2 * NCODES];
    int heap[NCODES], n = 0, nnodes = NCODES;

    memset(lengths, 0, NCODES);
    for (int i = 0; i < NCODES; i++) {
        nodes[i] = (node){histogram[i], -1};
        if (histogram[i]) heap[n++] = i;
    }
    if (n == 1) lengths[heap[0]] = 1; /* the paper's floor of one bit a code */
    for (int i = n / 2 - 1; i >= 0; i--) sift_down(heap, n, i, nodes);
    while (n > 1) {
        int a = pop(heap, &n, nodes), b = pop(heap, &n, nodes);
        nodes[nnodes] = (node){nodes[a].weight + nodes[b].weight, -1};
        nodes[a].parent = nodes[b].parent = nnodes;
        heap[n++] = nnodes++;
        for (int i = n - 1; i > 0 && nodes[heap[i]].weight < nodes[heap[(i - 1) / 2]].weight;
             i = (i - 1) / 2) {
            int swap = heap[i];
            heap[i] = heap[(i - 1) / 2];
            heap[(i - 1) / 2] = swap;
        }
    }
    for (int i = 0; i < NCODES; i++)
        for (int k = i; nodes[k].parent >= 0; k = nodes[k].parent) lengths[i]++;
}

/* ---- Codes -------------------------------------------------------------------------------------------- */

typedef struct grid {
    size_t extent[3]; /* slowest first, 1 where the rank is lower */
    size_t chunk[3];
} grid;

static grid make_grid(const csz_field *field) {
    static const size_t chunks[3][3] = {{1, 1, 256}, {1, 16, 16}, {8, 8, 8}};
    grid g = {.extent = {1, 1, 1}};
    for (int i = 0; i < field->ndim; i++) {
        int axis = i - (field->ndim - 3);
        g.extent[axis < 0 ? 0 : axis] *= (size_t)field->dims[i]; /* of four dims the two slowest are one */
    }
    memcpy(g.chunk, chunks[field->ndim > 3 ? 2 : field->ndim - 1], sizeof g.chunk);
    return g;
}

/* Differences along one axis inside its chunks, with 0 before each chunk's first; back to front, so that in
 * place. */
static void difference(int64_t *quanta, const grid *g, int axis) {
    const size_t stride = axis == 2 ? 1 : axis == 1 ? g->extent[2] : g->extent[1] * g->extent[2];
    const size_t n = g->extent[0] * g->extent[1] * g->extent[2];
    if (g->extent[axis] == 1) return;
    for (size_t i = n; i-- > 0;)
        if (i / stride % g->extent[axis] % g->chunk[axis]) quanta[i] -= quanta[i - stride];
}

/* Codes in index order from quanta, which are used up; counts them, and returns the number of outliers. */
static size_t make_codes(uint16_t *codes, uint64_t *histogram, int64_t *quanta, const grid *g) {
    const size_t n = g->extent[0] * g->extent[1] * g->extent[2];
    size_t noutliers = 0;
    for (int axis = 0; axis < 3; axis++) difference(quanta, g, axis);
    for (size_t i = 0; i < n; i++) {
        int is_outlier = quanta[i] < -RADIUS || quanta[i] >= RADIUS;
        noutliers += (size_t)is_outlier;
        codes[i] = (uint16_t)(is_outlier ? RADIUS : quanta[i] + RADIUS);
        histogram[codes[i]]++;
    }
    return noutliers;
}

/* All codes of a field, a slab of whole chunks at a time, so that quanta of 8 bytes never stand for the
 * whole.  Returns 0, or -1 for lack of memory. */
static int quantize_field(uint16_t *codes, uint64_t *histogram, size_t *noutliers, const void *data,
                          csz_type type, double bound_abs, const grid *whole) {
    enum { SLAB_N = 1 << 20 };
    grid slab = *whole;
    int axis = 0;
    while (axis < 2 && whole->extent[axis] == 1) axis++;
    size_t layer_n = 1, left = whole->extent[axis];
    for (int k = axis + 1; k < 3; k++) layer_n *= whole->extent[k];
    const size_t chunks = SLAB_N / (layer_n * whole->chunk[axis]);
    const size_t most = (chunks ? chunks : 1) * whole->chunk[axis];
    int64_t *quanta = malloc((left < most ? left : most) * layer_n * sizeof *quanta);
    if (!quanta) return -1;
    *noutliers = 0;
    for (size_t begin = 0; left;) {
        slab.extent[axis] = left < most ? left : most;
        const size_t n = slab.extent[axis] * layer_n;
        for (size_t i = 0; i < n; i++) {
            double x = type == CSZ_F32 ? ((const float *)data)[begin + i] : ((const double *)data)[begin + i];
            double q = x / (2 * bound_abs);
            quanta[i] = fabs(q) < 0x1p58 ? llrint(q) : 0; /* eight of them still fit in 63 bits */
        }
        *noutliers += make_codes(codes + begin, histogram, quanta, &slab);
        begin += n;
        left -= slab.extent[axis];
    }
    free(quanta);
    return 0;
}

/* ---- What follows the codes --------------------------------------------------------------------------- */

/* The pieces' bits, each padded to words; where out is not NULL they are written there too.  Returns the
 * bytes. */
static size_t huffman_nbytes(uint8_t *out, const uint16_t *codes, size_t n, const uint8_t *lengths) {
    uint32_t code_of[NCODES] = {0}, next = 0;
    size_t nbytes = 0;
    int longest = 0;
    for (int i = 0; i < NCODES; i++) longest = lengths[i] > longest ? lengths[i] : longest;
    for (int length = 1; length <= longest && length <= 32; length++, next <<= 1)
        for (int i = 0; i < NCODES; i++)
            if (lengths[i] == length) code_of[i] = next++;
    for (size_t begin = 0; begin < n; begin += PIECE) {
        size_t nbits = 0, end = begin + PIECE < n ? begin + PIECE : n;
        for (size_t i = begin; i < end; i++) {
            for (int bit = lengths[codes[i]] - 1; out && bit >= 0; bit--) {
                size_t at = nbits + (size_t)(lengths[codes[i]] - 1 - bit);
                if (bit < 32 && code_of[codes[i]] >> bit & 1)
                    out[nbytes + at / 8] |= (uint8_t)(128 >> at % 8);
            }
            nbits += lengths[codes[i]];
        }
        nbytes += (nbits + 31) / 32 * 4;
    }
    return nbytes;
}

#ifdef CSZ_HAVE_ZLIB
#include <zlib.h>

/* Bytes of a gzip member at level 6, as the command makes by default; 0 on failure. */
static size_t gzip_nbytes(const void *data, size_t n) {
    z_stream z = {0};
    uint8_t sink[1 << 16];
    size_t total = 0;
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    z.next_in = (Bytef *)data;
    for (int status = Z_OK; status != Z_STREAM_END;) {
        if (z.avail_in == 0) { /* avail_in has 32 bits */
            size_t left = n - (size_t)((const uint8_t *)z.next_in - (const uint8_t *)data);
            z.avail_in = left < (1u << 30) ? (uInt)left : 1u << 30;
        }
        size_t left = n - (size_t)((const uint8_t *)z.next_in - (const uint8_t *)data);
        z.next_out = sink;
        z.avail_out = sizeof sink;
        status = deflate(&z, left == z.avail_in ? Z_FINISH : Z_NO_FLUSH);
        if (status == Z_STREAM_ERROR) {
            total = 0;
            break;
        }
        total += sizeof sink - z.avail_out;
    }
    deflateEnd(&z);
    return total;
}
#else
static size_t gzip_nbytes(const void *data, size_t n) {
    (void)data, (void)n;
    return 0;
}
#endif

/* Runs over the whole sequence, of at most MOST_RUN: a code of 2 bytes and a count of 2; then both Huffman
 * coded, with a byte a length of either book. */
static void count_runs(paper_sizes *sizes, const uint16_t *codes, size_t n) {
    enum { MOST_RUN = NCODES };
    uint64_t values[NCODES] = {0}, runs[NCODES] = {0}, nruns = 0, nbits = 0;
    uint8_t value_lengths[NCODES], run_lengths[NCODES];
    for (size_t i = 0, run; i < n; i += run, nruns++) {
        for (run = 1; i + run < n && run < MOST_RUN && codes[i + run] == codes[i];) run++;
        values[codes[i]]++;
        runs[run - 1]++;
    }
    huffman_lengths(value_lengths, values);
    huffman_lengths(run_lengths, runs);
    for (int i = 0; i < NCODES; i++) nbits += values[i] * value_lengths[i] + runs[i] * run_lengths[i];
    sizes->rle = sizes->fixed + 4 * nruns;
    sizes->rle_vle = sizes->fixed + 2 * NCODES + (nbits + 7) / 8 + (nruns / PIECE + 1) * PIECE_NBYTES;
}

int paper_measure(paper_sizes *sizes, const void *data, const csz_field *field, double bound_abs,
                  int everything) {
    const grid g = make_grid(field);
    const size_t n = g.extent[0] * g.extent[1] * g.extent[2], npieces = (n + PIECE - 1) / PIECE;
    const size_t outlier_nbytes = 4 + (field->type == CSZ_F32 ? 4 : 8);
    uint64_t histogram[NCODES] = {0};
    uint8_t lengths[NCODES], *bits = NULL;
    uint16_t *codes = malloc(n * sizeof *codes);
    int result = -1;

    memset(sizes, 0, sizeof *sizes);
    if (codes && quantize_field(codes, histogram, &sizes->noutliers, data, field->type, bound_abs, &g) == 0) {
        sizes->fixed = HEADER_NBYTES + outlier_nbytes * sizes->noutliers;
        huffman_lengths(lengths, histogram);
        size_t payload = huffman_nbytes(NULL, codes, n, lengths);
        sizes->qh = sizes->fixed + NCODES + payload + PIECE_NBYTES * npieces;
        result = 0;
        if (everything && (bits = calloc(payload + 8, 1))) {
            huffman_nbytes(bits, codes, n, lengths);
            size_t qg = gzip_nbytes(codes, n * sizeof *codes), qhg = gzip_nbytes(bits, payload);
            sizes->qg = qg ? sizes->fixed + qg : 0;
            sizes->qhg = qhg ? sizes->fixed + NCODES + qhg + PIECE_NBYTES * npieces : 0;
            count_runs(sizes, codes, n);
        }
    }
    free(codes);
    free(bits);
    return result;
}

size_t paper_huffman_nbytes(const void *data, const csz_field *field, double bound_abs) {
    paper_sizes sizes;
    return paper_measure(&sizes, data, field, bound_abs, 0) ? 0 : sizes.qh;
}
