/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c: how many parts of a 4-D region are read at a time. */
#include "api/parts.h"

#include <stdlib.h>
#include <string.h>

/* Elements: of one batch, and of what lies between two parts if opening a frame again takes as long as
 * decoding that. */
enum { MANY = 1 << 22, CLOSE = 1 << 18 };

csz_status csz_parts_read(void *data, uint64_t value_nbytes, const uint64_t *lo, const uint64_t *hi,
                          uint64_t nparts, uint64_t stride, int is_packed, uint64_t room, csz_box_reader read,
                          void *source) {
    const uint64_t deep = hi[0] - lo[0], plane_nbytes = (hi[1] - lo[1]) * (hi[2] - lo[2]) * value_nbytes,
                   part_nbytes = deep * plane_nbytes, apart = stride * (plane_nbytes / value_nbytes);
    if (deep == stride) { /* nothing lies between them */
        const uint64_t end[3] = {lo[0] + nparts * stride, hi[1], hi[2]};
        return read(source, data, lo, end);
    }
    uint64_t batch = 1;
    if (apart <= (is_packed ? MANY : CLOSE)) batch = MANY / apart < nparts ? MANY / apart : nparts;
    uint64_t many_nbytes = (batch - 1) * stride * plane_nbytes + part_nbytes;
    if (many_nbytes > room) batch = 1;
    uint8_t *many = batch > 1 ? malloc((size_t)many_nbytes) : NULL, *out = data;
    if (batch > 1 && !many) return CSZ_ERROR_MEMORY;
    csz_status status = CSZ_OK;
    for (uint64_t part = 0, n; part < nparts && !status; part += n) {
        n = nparts - part < batch ? nparts - part : batch;
        const uint64_t from[3] = {lo[0] + part * stride, lo[1], lo[2]},
                       to[3] = {hi[0] + (part + n - 1) * stride, hi[1], hi[2]};
        status = read(source, n > 1 ? many : out, from, to);
        for (uint64_t k = 0; many && n > 1 && k < n && !status; k++)
            memcpy(out + k * part_nbytes, many + k * stride * plane_nbytes, (size_t)part_nbytes);
        out += n * part_nbytes;
    }
    free(many);
    return status;
}
