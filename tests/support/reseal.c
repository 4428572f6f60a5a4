/* SPDX-License-Identifier: BSD-3-Clause */
/* reseal.c: checksums of a changed archive made right again; reads sizes as the archive gives them and stops
 * where they do not fit. */
#include "reseal.h"

#include "core/words.h"
#include "format/archive.h"

static void reseal_frame(uint8_t *frame, uint64_t nbytes, const csz_header *h, uint64_t number) {
    csz_frame_box box = csz_frame_box_at(&h->geometry, number);
    uint64_t hashed = nbytes / 4 * 4;
    csz_frame_layout l = csz_frame_layout_of(box.ntiles, csz_load_u32(frame + 16));
    if (!h->has_zstd && l.payload <= nbytes) {
        hashed = l.payload / 4 * 4;
        uint64_t words = 0, left = (nbytes - l.payload) / 4;
        for (uint32_t group = 0; group < l.ngroups; group++) {
            uint64_t first = words;
            for (uint32_t t = group * CSZ_INDEX_GROUP; t < box.ntiles && t < (group + 1) * CSZ_INDEX_GROUP;
                 t++) {
                words += csz_load_u16(frame + l.sizes + 2 * (uint64_t)t);
            }
            if (words > left) break;
            csz_store_u64(frame + l.index + 12 * (uint64_t)group + 4,
                          csz_hash_words(frame + l.payload + 4 * first, words - first, first));
        }
    }
    csz_store_u64(frame + 24, csz_hash_frame_seed(number) + csz_hash_words(frame, 6, 0) +
                                  csz_hash_words(frame + 32, hashed / 4 - 8, 8));
}

void archive_reseal(uint8_t *bytes, size_t nbytes) {
    csz_header h;
    if (nbytes < 20) return;
    uint32_t n = csz_load_u16(bytes + 18);
    if (n < 56 || n > CSZ_HEADER_MAX_NBYTES || n % 4 || n > nbytes) return;
    csz_store_u64(bytes + n - 8, csz_hash_words(bytes, (n - 8) / 4, 0));
    if (csz_header_read(&h, bytes, nbytes)) return;
    uint64_t at = h.nbytes, nframes = h.geometry.nframes;
    if (nframes > 64) return;
    for (uint64_t f = 0; f < nframes; f++) {
        if (nbytes - at < CSZ_FRAME_HEADER_NBYTES) return;
        uint64_t size = csz_load_u64(bytes + at);
        if (size < CSZ_FRAME_HEADER_NBYTES || size > nbytes - at) return;
        reseal_frame(bytes + at, size, &h, f);
        at += size;
    }
    if (nbytes - at < csz_footer_nbytes(nframes)) return;
    uint64_t from = h.nbytes;
    for (uint64_t f = 0; f < nframes; f++) {
        uint64_t size = csz_load_u64(bytes + from);
        csz_store_u64(bytes + at + 8 * f, size);
        from += size;
    }
    csz_footer_finish(bytes + at, nframes);
    const uint64_t n_metadata = h.metadata_nbytes, left = nbytes - at - csz_footer_nbytes(nframes);
    if (n_metadata < 8 || left != n_metadata) return;
    uint8_t *section = bytes + nbytes - n_metadata;
    csz_store_u64(section + n_metadata - 8, 2 + csz_hash_words(section, (n_metadata - 8) / 4, 0));
}
