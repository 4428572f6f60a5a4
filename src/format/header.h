/* SPDX-License-Identifier: BSD-3-Clause */
/* header.h: which headers, frame headers and indexes a reader accepts (docs/format.md, sections 3 and 4); one
 * definition for archive.c and the CUDA decoder. */
#ifndef CSZ_FORMAT_HEADER_H
#define CSZ_FORMAT_HEADER_H

#include "csz.h"

#include "core/geometry.h"
#include "entropy/book.h"
#include "predict/pyramid.h"

#define CSZ_MAGIC_WORD 0x2B5A5343u /* "CSZ+" */

enum {
    CSZ_FEATURE_FILL = 1,
    CSZ_FEATURE_GRID = 2,
    CSZ_FEATURE_ZSTD = 4,
    CSZ_FEATURE_FLOOR = 8,
    CSZ_FEATURES_KNOWN = 15
};

/* Words of the header's fixed part; dims, fill value, grid and checksum follow. */
enum {
    CSZ_HEADER_FIXED_WORDS = 10,
    CSZ_HEADER_SIZE_WORDS = 5, /* those that say how long it is */
    CSZ_HEADER_MIN_NBYTES = 56
};

CSZ_FN uint64_t csz_words_u64(const uint32_t *w) { return w[0] | (uint64_t)w[1] << 32; }

CSZ_FN uint32_t csz_header_features(const uint32_t *w) { return w[2] & 0xFFFF; }
CSZ_FN uint32_t csz_header_size(const uint32_t *w) { return w[4] >> 16; }
CSZ_FN uint32_t csz_header_metadata(const uint32_t *w) { return w[5]; } /* bytes behind the footer */
CSZ_FN uint32_t csz_header_ndim(const uint32_t *w) { return w[1] >> 16 & 255; }
CSZ_FN uint32_t csz_header_predictor(const uint32_t *w) { return w[3] & 255; } /* 1: frames may be pyramids */
CSZ_FN double csz_header_bound(const uint32_t *w) { return csz_f64_bits(csz_words_u64(w + 6)); }
CSZ_FN double csz_header_bound_abs(const uint32_t *w) { return csz_f64_bits(csz_words_u64(w + 8)); }

CSZ_FN int csz_header_is_exact(const uint32_t *w) { return w[1] >> 24 == CSZ_BOUND_EXACT; }
CSZ_FN int csz_header_is_pointwise(const uint32_t *w) { return w[1] >> 24 == CSZ_BOUND_PWR; }

/* The floor of a header that has one, of these features and so many dims. */
CSZ_FN double csz_header_floor(const uint32_t *w, uint32_t ndim, uint32_t features) {
    return csz_f64_bits(csz_words_u64(w + CSZ_HEADER_FIXED_WORDS + 2 * ndim +
                                      (features & CSZ_FEATURE_FILL ? 2 : 0) +
                                      (features & CSZ_FEATURE_GRID ? 4 : 0)));
}

/* Size of a header that has these parts. */
CSZ_FN uint32_t csz_header_nbytes_of(uint32_t ndim, uint32_t features) {
    return 4 * CSZ_HEADER_FIXED_WORDS + 8 * ndim + (features & CSZ_FEATURE_FILL ? 8 : 0) +
           (features & CSZ_FEATURE_GRID ? 16 : 0) + (features & CSZ_FEATURE_FLOOR ? 8 : 0) + 8;
}

/* Whether an archive begins with a header of its own size; reads the first CSZ_HEADER_SIZE_WORDS words. */
CSZ_FN csz_status csz_header_size_check(const uint32_t *w, uint64_t nbytes) {
    if (nbytes < 4 || w[0] != CSZ_MAGIC_WORD) return CSZ_ERROR_NOT_ARCHIVE;
    if (nbytes < 4 * CSZ_HEADER_SIZE_WORDS) return CSZ_ERROR_TRUNCATED;
    const uint32_t version = w[1] & 255, n = csz_header_size(w);
    if (version > CSZ_FORMAT_VERSION) return CSZ_ERROR_VERSION;
    if (version != CSZ_FORMAT_VERSION || n < CSZ_HEADER_MIN_NBYTES || n > CSZ_HEADER_MAX_NBYTES || n % 4)
        return CSZ_ERROR_CORRUPT;
    return nbytes < n ? CSZ_ERROR_TRUNCATED : CSZ_OK;
}

/* Whether a reader knows the fields of such a header.  The caller checks dims, tile shape and grid. */
CSZ_FN csz_status csz_header_fields_check(const uint32_t *w) {
    const uint32_t features = csz_header_features(w), ndim = csz_header_ndim(w), type = w[1] >> 8 & 255;
    const double bound = csz_header_bound(w), bound_abs = csz_header_bound_abs(w),
                 largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (features & ~(uint32_t)CSZ_FEATURES_KNOWN || csz_header_predictor(w) > 1) return CSZ_ERROR_VERSION;
    if (type > CSZ_F64 || w[1] >> 24 > CSZ_BOUND_EXACT || (w[4] & 255) > CSZ_WORKFLOW_RLE_VLE)
        return CSZ_ERROR_CORRUPT;
    if (w[4] >> 8 & 255 || csz_header_metadata(w) % 8 || csz_header_metadata(w) > CSZ_METADATA_MAX_NBYTES)
        return CSZ_ERROR_CORRUPT;
    if (csz_header_is_exact(w)) {
        if (csz_words_u64(w + 6) || csz_words_u64(w + 8) || w[4] & 255 || csz_header_predictor(w))
            return CSZ_ERROR_CORRUPT;
    } else if (!(bound > 0 && bound <= largest && bound_abs >= 0 && bound_abs <= largest)) {
        return CSZ_ERROR_CORRUPT;
    }
    if (ndim < 1 || ndim > CSZ_MAX_NDIM || csz_header_nbytes_of(ndim, features) > csz_header_size(w))
        return CSZ_ERROR_CORRUPT;
    if (features & CSZ_FEATURE_FILL && type == CSZ_F32 && w[CSZ_HEADER_FIXED_WORDS + 2 * ndim + 1])
        return CSZ_ERROR_CORRUPT;
    if (csz_header_is_pointwise(w) && !(bound < 1 && bound_abs < 1)) return CSZ_ERROR_CORRUPT;
    if (features & CSZ_FEATURE_FLOOR) {
        const double floor = csz_header_floor(w, ndim, features);
        if (!csz_header_is_pointwise(w) || !(floor > 0 && floor <= largest)) return CSZ_ERROR_CORRUPT;
    }
    return CSZ_OK;
}

/* ---- frames ---- */

/* Offsets inside a frame before zstd, in bytes from its start. */
typedef struct csz_frame_layout {
    uint64_t books, index, sizes, payload;
    uint64_t
        widths;   /* of packed sizes, a byte for each group; 0: sizes have 16 bits, and the payload is last */
    uint64_t end; /* packed: of the index; else of what stands before the payload */
    uint32_t ngroups;
} csz_frame_layout;

/* The index before the payload. */
CSZ_FN csz_frame_layout csz_frame_layout_of(uint32_t ntiles, uint32_t books_nbytes) {
    csz_frame_layout l;
    l.ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    l.books = CSZ_FRAME_HEADER_NBYTES;
    l.widths = 0;
    l.index = CSZ_FRAME_HEADER_NBYTES + (uint64_t)books_nbytes;
    l.sizes = l.index + 12 * (uint64_t)l.ngroups;
    l.payload = l.end = l.sizes + (2 * (uint64_t)ntiles + 3) / 4 * 4;
    return l;
}

/*
 * Where frames may be pyramids: the index with packed sizes behind the payload, so that records can be placed
 * before their sizes are known.  The word behind the frame's header is the payload's size in words.  end: of
 * an index whose sizes have no bits.
 */
CSZ_FN csz_frame_layout csz_frame_layout_packed(uint32_t ntiles, uint32_t books_nbytes,
                                                uint32_t payload_nwords) {
    csz_frame_layout l;
    l.ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    l.books = CSZ_FRAME_HEADER_NBYTES + 4;
    l.payload = l.books + books_nbytes;
    l.index = l.payload + 4 * (uint64_t)payload_nwords;
    l.widths = l.index + 12 * (uint64_t)l.ngroups;
    l.sizes = l.end = l.widths + (l.ngroups + 3) / 4 * 4;
    return l;
}

/* Words of a group's packed sizes: n of them, of so many bits each. */
CSZ_FN uint32_t csz_packed_nwords(uint32_t n, uint32_t width) { return (n * width + 31) / 32; }

/* What a packed index may take more than an unpacked one: most for a single tile. */
enum { CSZ_PACKED_NBYTES = 16 };

/* Elements of the field in a frame. */
CSZ_FN uint64_t csz_frame_nelements(const csz_geometry *g, const csz_frame_box *box) {
    uint64_t n = 1;
    for (int i = 0; i < 3; i++) {
        const uint64_t begin = box->first[i] << g->log2_t[i], end = (box->first[i] + box->tiles[i])
                                                                    << g->log2_t[i];
        n *= (end < g->n[i] ? end : g->n[i]) - begin;
    }
    return n;
}

/* The largest size before zstd that a reader accepts: all tiles raw, the largest books.  Other encoders may
 * choose otherwise. */
CSZ_FN uint64_t csz_frame_limit(const csz_geometry *g, const csz_frame_box *box, csz_type type) {
    const uint64_t n = csz_frame_layout_of(box->ntiles, CSZ_BOOKS_MAX_NBYTES).payload +
                       4 * (uint64_t)box->ntiles + csz_frame_nelements(g, box) * csz_value_nbytes(type);
    return (n + 7) / 8 * 8;
}

/* 1 if a frame's header can be true of a frame with so many tiles, of at most `limit` bytes. */
CSZ_FN int csz_frame_header_holds(uint64_t nbytes_stored, uint64_t nbytes_raw, uint32_t books_nbytes,
                                  uint32_t ntiles, uint64_t limit, int has_zstd) {
    if (nbytes_raw % 8 || nbytes_raw > limit || nbytes_stored % 8 || nbytes_stored < CSZ_FRAME_HEADER_NBYTES)
        return 0;
    if (books_nbytes % 4 || books_nbytes < CSZ_BOOKS_FIXED_NBYTES || books_nbytes > CSZ_BOOKS_MAX_NBYTES)
        return 0;
    if (!has_zstd && nbytes_stored != nbytes_raw) return 0;
    return csz_frame_layout_of(ntiles, books_nbytes).payload <= nbytes_raw;
}

/* A frame, once its header was checked: sizes, how it is predicted, and where its parts are. */
typedef struct csz_frame_view {
    const uint8_t *bytes; /* its uncompressed form; set where the index is read */
    uint64_t nbytes_stored, nbytes_raw;
    uint32_t books_nbytes, value_hash;
    int is_pyramid, tuning;
    uint32_t ntiles;         /* of all lattices */
    csz_frame_layout layout; /* of a pyramid: without payload, and sizes of tiles without bits */
} csz_frame_view;

/* Reads a frame's header from its words; 0 if it cannot be true of the frame.  may_be_pyramid: as the archive
 * says. */
CSZ_FN int csz_frame_view_read(csz_frame_view *v, const uint32_t *w, const csz_geometry *g,
                               const csz_frame_box *box, csz_type type, int may_be_pyramid, int has_zstd) {
    v->bytes = 0;
    v->nbytes_stored = csz_words_u64(w);
    v->nbytes_raw = csz_words_u64(w + 2);
    v->books_nbytes = w[4] & 0xFFFF;
    v->is_pyramid = (int)(w[4] >> 16 & 255);
    v->tuning = (int)(w[4] >> 24);
    v->value_hash = w[5];
    v->ntiles = box->ntiles;
    if (v->is_pyramid > may_be_pyramid || v->tuning >= (v->is_pyramid ? (int)CSZ_TUNINGS_N : 1)) return 0;
    if (v->is_pyramid) {
        csz_pyramid shape;
        csz_frame_pyramid(&shape, g, box);
        v->ntiles = shape.ntiles;
    }
    const uint64_t limit = csz_frame_limit(g, box, type) + (v->is_pyramid ? CSZ_PACKED_NBYTES : 0);
    if (!csz_frame_header_holds(v->nbytes_stored, v->nbytes_raw, v->books_nbytes,
                                v->is_pyramid ? 0 : v->ntiles, limit, has_zstd))
        return 0;
    v->layout = v->is_pyramid ? csz_frame_layout_packed(v->ntiles, v->books_nbytes, 0)
                              : csz_frame_layout_of(v->ntiles, v->books_nbytes);
    return v->layout.end <= v->nbytes_raw;
}

/* 1 if a frame of nbytes bytes before zstd ends with records of payload_words words, padded to 8 bytes. */
CSZ_FN int csz_frame_ends(uint64_t payload_at, uint64_t payload_words, uint64_t nbytes) {
    return (payload_at + 4 * payload_words + 7) / 8 * 8 == nbytes;
}

#endif
