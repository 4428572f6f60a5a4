/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.c: the archive's skeleton.  Lengths are compared with what is left before use, and no sum can
 * overflow. */
#include "format/archive.h"

#include "core/words.h"
#include "entropy/book.h"
#include "format/frame_bound.h"

static const uint64_t max_nelements = (uint64_t)1 << 56;

/* ---- fields ---- */

csz_status csz_field_check(const csz_field *field) {
    if (!field) return CSZ_ERROR_ARGUMENT;
    if (field->type != CSZ_F32 && field->type != CSZ_F64) return CSZ_ERROR_TYPE;
    if (field->ndim < 1 || field->ndim > CSZ_MAX_NDIM) return CSZ_ERROR_DIMS;
    uint64_t product = 1;
    for (int i = 0; i < field->ndim; i++) {
        uint64_t d = field->dims[i];
        /* an extent of 0 empties the field, but the others must still be sane */
        if (d > max_nelements || (d && product > max_nelements / d)) return CSZ_ERROR_DIMS;
        if (d) product *= d;
    }
    return CSZ_OK;
}

csz_status csz_geometry_for(csz_geometry *geometry, const csz_field *field, csz_predictor *predictor) {
    csz_status status = csz_field_check(field);
    if (status) return status;
    csz_effective_dims(geometry, field->ndim, field->dims);
    if (geometry->rank == 1) *predictor = CSZ_PREDICTOR_LORENZO;
    csz_tile_shape_choose_for(geometry, *predictor != CSZ_PREDICTOR_LORENZO);
    if (*predictor == CSZ_PREDICTOR_LORENZO) {
        csz_geometry_finish(geometry, 0);
    } else {
        csz_geometry_finish_aligned(geometry);
    }
    return CSZ_OK;
}

csz_status csz_geometry_of(csz_geometry *geometry, const csz_field *field) {
    csz_predictor lorenzo = CSZ_PREDICTOR_LORENZO;
    return csz_geometry_for(geometry, field, &lorenzo);
}

uint64_t csz_fill_bits(csz_type type, double fill) {
    return type == CSZ_F32 ? csz_bits_f32((float)fill) : csz_bits_f64(fill);
}

double csz_fill_value(csz_type type, uint64_t bits) {
    return type == CSZ_F32 ? (double)csz_f32_bits((uint32_t)bits) : csz_f64_bits(bits);
}

/* ---- header ---- */

static uint32_t features_of(const csz_header *h) {
    return (h->has_fill ? CSZ_FEATURE_FILL : 0u) | (h->has_grid ? CSZ_FEATURE_GRID : 0u) |
           (h->has_zstd ? CSZ_FEATURE_ZSTD : 0u) | (h->floor > 0 ? CSZ_FEATURE_FLOOR : 0u);
}

uint32_t csz_header_nbytes(const csz_header *h) {
    return csz_header_nbytes_of((uint32_t)h->field.ndim, features_of(h));
}

void csz_header_write(uint8_t *out, csz_header *h) {
    uint32_t n = csz_header_nbytes(h), at = 40;
    h->nbytes = n;
    memset(out, 0, n);
    csz_store_u32(out, CSZ_MAGIC_WORD);
    out[4] = CSZ_FORMAT_VERSION;
    out[5] = (uint8_t)h->field.type;
    out[6] = (uint8_t)h->field.ndim;
    out[7] = (uint8_t)h->bound_mode;
    csz_store_u16(out + 8, features_of(h));
    out[12] = h->predictor != CSZ_PREDICTOR_LORENZO;
    for (int i = 0; i < 3; i++) out[13 + i] = (uint8_t)h->geometry.log2_t[i];
    out[16] = (uint8_t)h->workflow;
    csz_store_u16(out + 18, n);
    csz_store_u32(out + 20, h->metadata_nbytes);
    csz_store_u64(out + 24, csz_bits_f64(h->bound));
    csz_store_u64(out + 32, csz_bits_f64(h->bound_abs));
    for (int i = 0; i < h->field.ndim; i++, at += 8) csz_store_u64(out + at, h->field.dims[i]);
    if (h->has_fill) {
        csz_store_u64(out + at, h->fill_bits);
        at += 8;
    }
    if (h->has_grid) {
        for (int i = 0; i < 3; i++) csz_store_u32(out + at + 4 * i, (uint32_t)h->geometry.frame[i]);
        at += 16;
    }
    if (h->floor > 0) {
        csz_store_u64(out + at, csz_bits_f64(h->floor));
        at += 8;
    }
    csz_store_u64(out + at, csz_hash_words(out, at / 4, 0));
}

static csz_status read_geometry(csz_header *h, const uint8_t *in, uint32_t grid_at) {
    csz_geometry *g = &h->geometry;
    csz_effective_dims(g, h->field.ndim, h->field.dims);
    for (int i = 0; i < 3; i++) g->log2_t[i] = in[13 + i];
    if (g->log2_t[0] > 10 || g->log2_t[1] > 10 || g->log2_t[2] > 12 || g->log2_t[2] < 2)
        return CSZ_ERROR_CORRUPT;
    if (g->log2_t[0] + g->log2_t[1] + g->log2_t[2] != 12) return CSZ_ERROR_CORRUPT;
    if ((g->rank < 3 && g->log2_t[0]) || (g->rank < 2 && g->log2_t[1])) return CSZ_ERROR_CORRUPT;
    const int is_pyramid = h->predictor != CSZ_PREDICTOR_LORENZO;
    if (is_pyramid && !csz_shape_fits_pyramid(g)) return CSZ_ERROR_CORRUPT;
    if (h->has_grid) {
        uint64_t product = 1;
        for (int i = 0; i < 3; i++) {
            g->frame[i] = csz_load_u32(in + grid_at + 4 * i);
            if (g->frame[i] < 1 || g->frame[i] > 1u << 20) return CSZ_ERROR_CORRUPT;
            product *= g->frame[i];
        }
        if (product > 1u << 20 || csz_load_u32(in + grid_at + 12)) return CSZ_ERROR_CORRUPT;
    }
    if (is_pyramid && !h->has_grid) {
        csz_geometry_finish_aligned(g);
    } else {
        csz_geometry_finish(g, h->has_grid);
    }
    return !is_pyramid || csz_frames_fit_lattices(g) ? CSZ_OK : CSZ_ERROR_CORRUPT;
}

csz_status csz_header_read(csz_header *h, const uint8_t *in, size_t nbytes) {
    uint32_t w[CSZ_HEADER_MAX_NBYTES / 4] = {0};
    for (size_t i = 0; i < CSZ_HEADER_SIZE_WORDS && 4 * i + 4 <= nbytes; i++) w[i] = csz_load_u32(in + 4 * i);
    csz_status status = csz_header_size_check(w, nbytes);
    if (status) return status;
    const uint32_t n = csz_header_size(w);
    for (uint32_t i = CSZ_HEADER_SIZE_WORDS; i < n / 4; i++) w[i] = csz_load_u32(in + 4 * i);
    if (csz_hash_words(in, (n - 8) / 4, 0) != csz_words_u64(w + n / 4 - 2)) return CSZ_ERROR_CORRUPT;
    status = csz_header_fields_check(w);
    if (status) return status;

    const uint32_t features = csz_header_features(w);
    memset(h, 0, sizeof *h);
    h->nbytes = n;
    h->metadata_nbytes = csz_header_metadata(w);
    h->has_fill = (features & CSZ_FEATURE_FILL) != 0;
    h->has_grid = (features & CSZ_FEATURE_GRID) != 0;
    h->has_zstd = (features & CSZ_FEATURE_ZSTD) != 0;
    h->field.type = (csz_type)in[5];
    h->field.ndim = in[6];
    h->bound_mode = (csz_bound_mode)in[7];
    h->workflow = (csz_workflow)in[16];
    h->predictor = csz_header_predictor(w) ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_LORENZO;
    h->bound = csz_header_bound(w);
    h->bound_abs = csz_header_bound_abs(w);
    if (features & CSZ_FEATURE_FLOOR) h->floor = csz_header_floor(w, csz_header_ndim(w), features);
    uint32_t at = 4 * CSZ_HEADER_FIXED_WORDS;
    for (int i = 0; i < h->field.ndim; i++, at += 8) h->field.dims[i] = csz_load_u64(in + at);
    if (csz_field_check(&h->field)) return CSZ_ERROR_CORRUPT;
    if (h->has_fill) {
        h->fill_bits = csz_load_u64(in + at);
        at += 8;
    }
    return read_geometry(h, in, at);
}

/* ---- frames ---- */

/* Tiles of a group, and the words that their sizes of so many bits take. */
static uint32_t group_tiles(uint32_t group, uint32_t ntiles) {
    const uint32_t left = ntiles - group * CSZ_INDEX_GROUP;
    return left < CSZ_INDEX_GROUP ? left : CSZ_INDEX_GROUP;
}

/* Bits of the largest size of a group. */
static uint32_t group_width(const uint16_t *nwords, uint32_t group, uint32_t ntiles) {
    uint32_t seen = 0;
    for (uint32_t t = 0; t < group_tiles(group, ntiles); t++) seen |= nwords[group * CSZ_INDEX_GROUP + t];
    return seen ? (uint32_t)csz_log2_u32(seen) + 1 : 0;
}

uint64_t csz_index_nbytes(const uint16_t *nwords, uint32_t ntiles) {
    const uint32_t ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    uint64_t nbytes = 12 * (uint64_t)ngroups + (ngroups + 3) / 4 * 4;
    for (uint32_t g = 0; g < ngroups; g++)
        nbytes += 4 * (uint64_t)csz_packed_nwords(group_tiles(g, ntiles), group_width(nwords, g, ntiles));
    return nbytes;
}

uint64_t csz_index_pack(uint8_t *frame, const csz_frame_layout *l, const uint16_t *nwords, uint32_t ntiles) {
    uint8_t *at = frame + l->sizes;
    memset(frame + l->widths, 0, l->sizes - l->widths);
    for (uint32_t g = 0; g < l->ngroups; g++) {
        const uint32_t n = group_tiles(g, ntiles);
        const uint32_t width = group_width(nwords, g, ntiles);
        frame[l->widths + g] = (uint8_t)width;
        uint64_t bits = 0;
        uint32_t nbits = 0;
        for (uint32_t t = 0; t < n && width; t++) {
            bits = bits << width | nwords[g * CSZ_INDEX_GROUP + t];
            nbits += width;
            if (nbits < 32) continue;
            nbits -= 32;
            csz_store_u32(at, (uint32_t)(bits >> nbits));
            at += 4;
        }
        if (nbits) {
            csz_store_u32(at, (uint32_t)(bits << (32 - nbits)));
            at += 4;
        }
    }
    return (uint64_t)(at - frame);
}

uint64_t csz_frame_bound(uint32_t ntiles, uint64_t nelements, csz_type type, int has_zstd) {
    const uint64_t n = csz_frame_bound_of(ntiles, nelements, type);
    /* zstd stores what it cannot compress with 3 bytes a 128 KiB block, and a frame header */
    return n + (has_zstd ? (n >> 15) + 64 : 0);
}

csz_status csz_frame_header_read(csz_frame_view *v, const uint8_t *stored, uint64_t nbytes_left,
                                 const csz_header *h, uint64_t frame) {
    if (nbytes_left < CSZ_FRAME_HEADER_NBYTES) return CSZ_ERROR_TRUNCATED;
    const csz_frame_box box = csz_frame_box_at(&h->geometry, frame);
    uint32_t w[CSZ_FRAME_HEADER_NBYTES / 4];
    for (int i = 0; i < CSZ_FRAME_HEADER_NBYTES / 4; i++) w[i] = csz_load_u32(stored + 4 * i);
    if (!csz_frame_view_read(v, w, &h->geometry, &box, h->field.type, h->predictor != CSZ_PREDICTOR_LORENZO,
                             h->has_zstd))
        return CSZ_ERROR_CORRUPT;
    if (v->nbytes_stored > nbytes_left) return CSZ_ERROR_TRUNCATED;
    return CSZ_OK;
}

/* The number of `width` bits, 16 at most, at bit `at` of a bit stream; 0 bits read nothing. */
static uint32_t packed_size(const uint8_t *words, uint32_t at, uint32_t width) {
    if (width == 0) return 0;
    const uint8_t *p = words + 4 * (size_t)(at / 32);
    const uint32_t used = at % 32;
    uint64_t pair = (uint64_t)csz_load_u32(p) << 32;
    if (used + width > 32) pair |= csz_load_u32(p + 4);
    return (uint32_t)(pair << used >> (64 - width));
}

/* Over the header and all that follows but the words from begin to end, which are not counted. */
static uint64_t frame_hash(const uint8_t *stored, uint64_t begin, uint64_t end, uint64_t nbytes,
                           uint64_t frame) {
    return csz_hash_frame_seed(frame) + csz_hash_words(stored, 6, 0) +
           csz_hash_words(stored + 32, begin / 4 - 8, 8) +
           csz_hash_words(stored + end, (nbytes - end) / 4, begin / 4);
}

/* The packed layout of a frame, once the word behind its header is there. */
static csz_status read_packed(csz_frame_view *v, const uint8_t *raw) {
    const uint32_t nwords = csz_load_u32(raw + CSZ_FRAME_HEADER_NBYTES);
    v->layout = csz_frame_layout_packed(v->ntiles, v->books_nbytes, nwords);
    if (v->layout.end > v->nbytes_raw) return CSZ_ERROR_CORRUPT;
    for (uint32_t g = 0; g < v->layout.ngroups; g++) {
        const uint32_t width = raw[v->layout.widths + g];
        if (width > 16) return CSZ_ERROR_CORRUPT;
        v->layout.end += 4 * (uint64_t)csz_packed_nwords(group_tiles(g, v->ntiles), width);
    }
    for (uint64_t at = v->layout.widths + v->layout.ngroups; at < v->layout.sizes; at++) {
        if (raw[at]) return CSZ_ERROR_CORRUPT;
    }
    return v->layout.end > v->nbytes_raw ? CSZ_ERROR_CORRUPT : CSZ_OK;
}

/* A packed index that was found whole: first words of groups, sizes, zeros behind them and behind all. */
static csz_status check_packed(const csz_frame_view *v) {
    const csz_frame_layout *l = &v->layout;
    const uint8_t *at = v->bytes + l->sizes;
    uint64_t words = 0;
    for (uint32_t g = 0; g < l->ngroups; g++) {
        const uint32_t n = group_tiles(g, v->ntiles), width = v->bytes[l->widths + g],
                       nwords = csz_packed_nwords(n, width);
        if (csz_load_u32(v->bytes + l->index + 12 * (uint64_t)g) != words) return CSZ_ERROR_CORRUPT;
        uint32_t bit = 0, seen = 0;
        for (uint32_t t = 0; t < n; t++, bit += width) {
            const uint32_t size = packed_size(at, bit, width);
            seen |= size;
            words += size;
        }
        if ((seen ? (uint32_t)csz_log2_u32(seen) + 1 : 0) != width) return CSZ_ERROR_CORRUPT;
        if (bit % 32 && csz_load_u32(at + 4 * (nwords - 1)) << (bit % 32)) return CSZ_ERROR_CORRUPT;
        at += 4 * (size_t)nwords;
    }
    if (l->payload + 4 * words != l->index || (l->end + 7) / 8 * 8 != v->nbytes_raw) return CSZ_ERROR_CORRUPT;
    return l->end != v->nbytes_raw && csz_load_u32(v->bytes + l->end) ? CSZ_ERROR_CORRUPT : CSZ_OK;
}

csz_status csz_frame_index_read(csz_frame_view *v, const uint8_t *stored, const uint8_t *raw,
                                const csz_header *h, uint64_t frame) {
    if (v->is_pyramid) {
        csz_status status = read_packed(v, raw);
        if (status) return status;
    }
    /* all that is stored where it is one zstd frame; else all but the payload */
    const uint64_t hashed = h->has_zstd ? v->nbytes_stored : v->layout.end;
    const uint64_t from = h->has_zstd || !v->is_pyramid ? hashed : v->layout.payload,
                   to = h->has_zstd || !v->is_pyramid ? hashed : v->layout.index;
    if (frame_hash(stored, from, to, hashed, frame) != csz_load_u64(stored + 24)) return CSZ_ERROR_CORRUPT;
    v->bytes = raw;
    if (v->is_pyramid) return check_packed(v);
    uint64_t words = 0;
    for (uint32_t t = 0; t < v->ntiles; t++) {
        if (t % CSZ_INDEX_GROUP == 0 &&
            csz_load_u32(raw + v->layout.index + 12 * (t / CSZ_INDEX_GROUP)) != words) {
            return CSZ_ERROR_CORRUPT;
        }
        words += csz_frame_tile_words(v, t);
    }
    if (v->ntiles % 2 && csz_load_u16(raw + v->layout.sizes + 2 * (uint64_t)v->ntiles))
        return CSZ_ERROR_CORRUPT;
    if (!csz_frame_ends(v->layout.payload, words, v->nbytes_raw)) return CSZ_ERROR_CORRUPT;
    const uint64_t end = v->layout.payload + 4 * words;
    if (end != v->nbytes_raw && csz_load_u32(raw + end)) return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}

void csz_frame_header_write(uint8_t *stored, uint64_t nbytes_stored, uint64_t nbytes_raw, uint32_t books_word,
                            uint32_t value_hash, uint64_t begin, uint64_t end, uint64_t nbytes_hashed,
                            uint64_t frame) {
    csz_store_u64(stored, nbytes_stored);
    csz_store_u64(stored + 8, nbytes_raw);
    csz_store_u32(stored + 16, books_word);
    csz_store_u32(stored + 20, value_hash);
    csz_store_u64(stored + 24, frame_hash(stored, begin, end, nbytes_hashed, frame));
}

void csz_frame_renumber(uint8_t *stored, uint64_t from, uint64_t to) {
    uint64_t sum = csz_load_u64(stored + 24);
    csz_store_u64(stored + 24, sum - csz_hash_frame_seed(from) + csz_hash_frame_seed(to));
}

/* Where the packed sizes of a group begin. */
static const uint8_t *packed_sizes(const csz_frame_view *v, uint32_t group) {
    uint64_t words = 0;
    for (uint32_t g = 0; g < group; g++)
        words += csz_packed_nwords(CSZ_INDEX_GROUP, v->bytes[v->layout.widths + g]);
    return v->bytes + v->layout.sizes + 4 * words;
}

uint32_t csz_frame_tile_words(const csz_frame_view *v, uint32_t tile) {
    if (v->is_pyramid) {
        const uint32_t group = tile / CSZ_INDEX_GROUP, width = v->bytes[v->layout.widths + group];
        return packed_size(packed_sizes(v, group), tile % CSZ_INDEX_GROUP * width, width);
    }
    return csz_load_u16(v->bytes + v->layout.sizes + 2 * (uint64_t)tile);
}

uint32_t csz_frame_tile_offset(const csz_frame_view *v, uint32_t tile) {
    uint32_t group = tile / CSZ_INDEX_GROUP,
             words = csz_load_u32(v->bytes + v->layout.index + 12 * (uint64_t)group);
    if (v->is_pyramid) {
        const uint8_t *sizes = packed_sizes(v, group);
        const uint32_t width = v->bytes[v->layout.widths + group];
        for (uint32_t i = 0; i < tile % CSZ_INDEX_GROUP; i++) words += packed_size(sizes, i * width, width);
        return words;
    }
    for (uint32_t t = group * CSZ_INDEX_GROUP; t < tile; t++) words += csz_frame_tile_words(v, t);
    return words;
}

int csz_frame_group_holds(const csz_frame_view *v, uint32_t group) {
    uint32_t last = group * CSZ_INDEX_GROUP + CSZ_INDEX_GROUP - 1;
    if (last >= v->ntiles) last = v->ntiles - 1;
    const uint8_t *entry = v->bytes + v->layout.index + 12 * (uint64_t)group;
    uint32_t first_word = csz_load_u32(entry),
             end_word = csz_frame_tile_offset(v, last) + csz_frame_tile_words(v, last);
    const uint8_t *payload = v->bytes + v->layout.payload;
    return csz_hash_words(payload + 4 * (uint64_t)first_word, end_word - first_word, first_word) ==
           csz_load_u64(entry + 4);
}

/* ---- footer and whole ---- */

uint64_t csz_footer_nbytes(uint64_t nframes) { return 8 * nframes + 8; }

void csz_footer_finish(uint8_t *footer, uint64_t nframes) {
    csz_store_u64(footer + 8 * nframes, CSZ_HASH_FOOTER_SEED + csz_hash_words(footer, 2 * nframes, 0));
}

csz_status csz_archive_open(csz_header *h, const uint8_t **footer, const uint8_t *archive, size_t nbytes) {
    csz_status status = csz_header_read(h, archive, nbytes);
    if (status) return status;
    if (nbytes - h->nbytes < h->metadata_nbytes) return CSZ_ERROR_TRUNCATED;
    nbytes -= h->metadata_nbytes;
    uint64_t left = nbytes - h->nbytes, nframes = h->geometry.nframes;
    if (nframes >= left / 8 + 1 || left < csz_footer_nbytes(nframes)) return CSZ_ERROR_TRUNCATED;
    /*
     * Follow the frames, not the end of the file: truncated archives and trailing bytes get their own status.
     */
    uint64_t at = h->nbytes;
    for (uint64_t f = 0; f < nframes; f++) {
        if (nbytes - at < CSZ_FRAME_HEADER_NBYTES) return CSZ_ERROR_TRUNCATED;
        uint64_t n = csz_load_u64(archive + at);
        if (n < CSZ_FRAME_HEADER_NBYTES || n % 8) return CSZ_ERROR_CORRUPT;
        if (n > nbytes - at) return CSZ_ERROR_TRUNCATED;
        at += n;
    }
    if (nbytes - at < csz_footer_nbytes(nframes)) return CSZ_ERROR_TRUNCATED;
    *footer = archive + at;
    if (CSZ_HASH_FOOTER_SEED + csz_hash_words(*footer, 2 * nframes, 0) !=
        csz_load_u64(*footer + 8 * nframes)) {
        return CSZ_ERROR_CORRUPT;
    }
    uint64_t check = h->nbytes;
    for (uint64_t f = 0; f < nframes; f++) {
        uint64_t n = csz_load_u64(*footer + 8 * f);
        if (n != csz_load_u64(archive + check)) return CSZ_ERROR_CORRUPT;
        check += n;
    }
    if (nbytes - at > csz_footer_nbytes(nframes)) return CSZ_ERROR_TRAILING;
    return h->metadata_nbytes ? csz_metadata_holds(archive + nbytes, h->metadata_nbytes, h->field.ndim)
                              : CSZ_OK;
}
