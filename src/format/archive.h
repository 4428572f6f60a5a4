/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.h: header, frame header, index and footer <-> bytes (docs/format.md, sections 2 to 4).  Reading
 * checks all that a hostile archive could get wrong, so callers can trust the results. */
#ifndef CSZ_FORMAT_ARCHIVE_H
#define CSZ_FORMAT_ARCHIVE_H

#include "csz.h"

#include "core/geometry.h"
#include "core/hash.h"
#include "format/header.h"
#include "predict/pyramid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csz_header {
    csz_field field;
    csz_bound_mode bound_mode;
    csz_workflow workflow;
    csz_predictor predictor; /* Lorenzo; any other: each frame says its own */
    double bound, bound_abs;
    double floor;       /* of a pointwise bound; 0: none */
    int exponent;       /* analysis: what frames are taken to have; not in the archive */
    int unsigned_zeros; /* compressing: -0.0 counts as 0; not in the archive */
    int has_fill;
    uint64_t fill_bits; /* in the field's type */
    int has_grid;       /* geometry.frame is the archive's own */
    int has_zstd;
    csz_geometry geometry;
    uint32_t nbytes;
    uint32_t metadata_nbytes; /* behind the footer */
} csz_header;

/* Checks a field's type and dims and derives its geometry. */
csz_status csz_field_check(const csz_field *field);
csz_status csz_geometry_of(csz_geometry *geometry, const csz_field *field);

/* For archives whose frames may be pyramids; *predictor becomes Lorenzo for a field of one dim. */
csz_status csz_geometry_for(csz_geometry *geometry, const csz_field *field, csz_predictor *predictor);

/* Bits of a fill value in the field's type. */
uint64_t csz_fill_bits(csz_type type, double fill);
double csz_fill_value(csz_type type, uint64_t bits);

uint32_t csz_header_nbytes(const csz_header *header);
void csz_header_write(uint8_t *out, csz_header *header);
csz_status csz_header_read(csz_header *header, const uint8_t *in, size_t nbytes);

/* Size of a packed index. */
uint64_t csz_index_nbytes(const uint16_t *nwords, uint32_t ntiles);

/* Writes the index behind the payload, but for first words and checksums of groups.  Returns its end. */
uint64_t csz_index_pack(uint8_t *frame, const csz_frame_layout *layout, const uint16_t *nwords,
                        uint32_t ntiles);

/* Sizes from the first 32 bytes, checked against each other and against what the frame's tiles could take.
 * Only csz_frame_index_read finds a pyramid's index. */
csz_status csz_frame_header_read(csz_frame_view *view, const uint8_t *stored, uint64_t nbytes_left,
                                 const csz_header *header, uint64_t frame);

/* Where the index lies, of a frame whose first bytes up to the books are there. */
static inline uint64_t csz_frame_index_at(const csz_frame_view *view, const uint8_t *raw) {
    return view->is_pyramid ? view->layout.payload + 4 * (uint64_t)csz_load_u32(raw + CSZ_FRAME_HEADER_NBYTES)
                            : view->layout.index;
}

/* Checks the checksum over the stored form (zstd), or over header, books and index; then the index.  Sets
 * view->bytes to raw. */
csz_status csz_frame_index_read(csz_frame_view *view, const uint8_t *stored, const uint8_t *raw,
                                const csz_header *header, uint64_t frame);

/* Writes a frame's header when all else is written.  Its checksum covers nbytes_hashed bytes but begin ..
 * end. */
void csz_frame_header_write(uint8_t *stored, uint64_t nbytes_stored, uint64_t nbytes_raw, uint32_t books_word,
                            uint32_t value_hash, uint64_t begin, uint64_t end, uint64_t nbytes_hashed,
                            uint64_t frame);

/* The word of a frame's header that has the size of its books and how it is predicted. */
static inline uint32_t csz_books_word(uint32_t books_nbytes, int is_pyramid, int tuning) {
    return books_nbytes | (uint32_t)is_pyramid << 16 | (uint32_t)tuning << 24;
}

/* Gives a frame another number, the seed of its checksum. */
void csz_frame_renumber(uint8_t *stored, uint64_t from, uint64_t to);

/* Payload word at which a tile's record begins, and its size. */
uint32_t csz_frame_tile_offset(const csz_frame_view *view, uint32_t tile);
uint32_t csz_frame_tile_words(const csz_frame_view *view, uint32_t tile);

/* 1 if the payload of a group of tiles has its checksum. */
int csz_frame_group_holds(const csz_frame_view *view, uint32_t group);

uint64_t csz_footer_nbytes(uint64_t nframes);
void csz_footer_finish(uint8_t *footer, uint64_t nframes);

/* Checks the archive's skeleton: header, footer, metadata, exact length.  *footer: the footer's place. */
csz_status csz_archive_open(csz_header *header, const uint8_t **footer, const uint8_t *archive,
                            size_t nbytes);

/* Largest size of a frame of the given tiles and elements, before zstd and as stored. */
uint64_t csz_frame_bound(uint32_t ntiles, uint64_t nelements, csz_type type, int has_zstd);

/* metadata.c: CSZ_ERROR_CORRUPT unless the section is whole and, for ndim > 0, names no dims or ndim of them
 * (docs/format.md, section 10). */
csz_status csz_metadata_holds(const void *section, size_t nbytes, int ndim);

#ifdef __cplusplus
}
#endif

#endif
