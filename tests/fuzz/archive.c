/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.c: a fuzzer's bytes made into something that passes for an archive as often as possible. */
#include "fuzz.h"

#include "format/archive.h"
#include "reseal.h"

uint8_t *fuzz_archive(const uint8_t *data, size_t nbytes) {
    uint8_t *copy = fuzz_copy(data, nbytes);
    csz_header h;
    archive_reseal(copy, nbytes);
    if (csz_header_read(&h, copy, nbytes) || h.geometry.nframes != 1) return copy;
    /* insertions and deletions would only ever be met by the check of this one size */
    uint64_t left = nbytes - h.nbytes, footer = csz_footer_nbytes(1) + h.metadata_nbytes;
    if (left < footer + CSZ_FRAME_HEADER_NBYTES || (left - footer) % 8) return copy;
    csz_store_u64(copy + h.nbytes, left - footer);
    if (!h.has_zstd) csz_store_u64(copy + h.nbytes + 8, left - footer);
    archive_reseal(copy, nbytes);
    return copy;
}
