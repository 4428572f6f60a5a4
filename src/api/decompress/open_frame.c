/* SPDX-License-Identifier: BSD-3-Clause */
/* open_frame.c: a stored frame as a view of its records. */
#include "api/context.h"
#include "api/pack.h"

csz_status csz_frame_open(csz_context *context, csz_frame_view *view, const uint8_t *stored,
                          uint64_t nbytes_left, const csz_header *h, uint64_t frame) {
    csz_status status = csz_frame_header_read(view, stored, nbytes_left, h, frame);
    if (status) return status;
    const uint8_t *raw = stored;
    if (h->has_zstd) {
        if (!csz_zstd_available()) return CSZ_ERROR_ZSTD;
        if (view->nbytes_raw > csz_unpack_bound(view->nbytes_stored - CSZ_FRAME_HEADER_NBYTES))
            return CSZ_ERROR_CORRUPT;
        status = csz_cpu_scratch_frame(&context->cpu, (size_t)view->nbytes_raw);
        if (status) return status;
        const uint64_t head = CSZ_FRAME_HEADER_NBYTES;
        status = csz_unpack(context->cpu.frame + head, view->nbytes_raw - head, stored + head,
                            view->nbytes_stored - head);
        if (status) return status;
        memcpy(context->cpu.frame, stored, head);
        raw = context->cpu.frame;
    }
    return csz_frame_index_read(view, stored, raw, h, frame);
}
