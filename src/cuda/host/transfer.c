/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.c: a box is copied as one line of bytes, any part of which can be packed or unpacked by itself. */
#include "cuda/host/transfer.h"

#include <stdatomic.h>
#include <string.h>

#include "os/team.h"

/* Large enough that starting threads for a piece costs little, small enough that the first starts soon. */
enum { PIECE_NBYTES = 16 << 20, SHARE_NBYTES = 1 << 20 };

csz_host_box csz_host_line(const void *p, uint64_t nbytes) {
    csz_host_box box = {(uint8_t *)(uintptr_t)p, nbytes, 1, 1, nbytes, nbytes};
    return box;
}

csz_host_box csz_host_box_of(const void *array, const uint64_t *n, const uint64_t *origin,
                             const uint64_t *extent, size_t size) {
    csz_host_box box;
    box.first = (uint8_t *)(uintptr_t)array + ((origin[0] * n[1] + origin[1]) * n[2] + origin[2]) * size;
    box.row_nbytes = extent[2] * size;
    box.nrows = extent[1];
    box.nplanes = extent[0];
    box.pitch_row = n[2] * size;
    box.pitch_plane = n[1] * n[2] * size;
    /* rows that touch are one, and so are planes */
    if (box.row_nbytes == box.pitch_row || box.nrows == 1) {
        box.row_nbytes *= box.nrows;
        box.nrows = box.nplanes;
        box.nplanes = 1;
        box.pitch_row = box.pitch_plane;
        if (box.row_nbytes == box.pitch_row || box.nrows == 1) {
            box.row_nbytes *= box.nrows;
            box.nrows = 1;
        }
    }
    return box;
}

uint64_t csz_host_box_nbytes(const csz_host_box *box) { return box->row_nbytes * box->nrows * box->nplanes; }

/* Bytes begin .. end of the box's line, from the box to line or back. */
static void stretch_copy(const csz_host_box *box, uint8_t *line, uint64_t begin, uint64_t end, int pack) {
    while (begin < end) {
        uint64_t row = begin / box->row_nbytes, at = begin - row * box->row_nbytes;
        uint64_t n = box->row_nbytes - at < end - begin ? box->row_nbytes - at : end - begin;
        uint8_t *p =
            box->first + row / box->nrows * box->pitch_plane + row % box->nrows * box->pitch_row + at;
        memcpy(pack ? line : p, pack ? p : line, (size_t)n);
        line += n;
        begin += n;
    }
}

typedef struct shared_copy {
    const csz_host_box *box;
    uint8_t *line;
    uint64_t begin, end;
    int pack;
    atomic_ullong next;
} shared_copy;

static void copy_shares(void *arg, int rank) {
    shared_copy *c = arg;
    (void)rank;
    for (;;) {
        uint64_t at = c->begin + atomic_fetch_add(&c->next, SHARE_NBYTES);
        if (at >= c->end) return;
        uint64_t end = c->end - at < SHARE_NBYTES ? c->end : at + SHARE_NBYTES;
        stretch_copy(c->box, c->line + (at - c->begin), at, end, c->pack);
    }
}

static void copy_piece(const csz_transfer *t, const csz_host_box *box, uint8_t *line, uint64_t begin,
                       uint64_t end, int pack) {
    shared_copy c = {box, line, begin, end, pack, 0};
    uint64_t shares = (end - begin) / SHARE_NBYTES / 2;
    int threads = t->threads < 8 ? t->threads : 8; /* a few cores saturate memory */
    if (shares < (uint64_t)threads) threads = (int)shares;
    csz_team team = {0};
    csz_team_run(&team, threads < 1 ? 1 : threads, copy_shares, &c);
    csz_team_stop(&team);
}

csz_status csz_transfer_prepare(csz_transfer *t) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    for (int i = 0; i < 2; i++) {
        csz_status status = CSZ_OK;
        if (!t->pinned[i]) status = cuda->allocate_pinned(&t->pinned[i], PIECE_NBYTES);
        if (!status && !t->event[i]) status = cuda->event_create(&t->event[i]);
        if (status) return status;
    }
    return CSZ_OK;
}

void csz_transfer_free(csz_transfer *t) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    for (int i = 0; i < 2; i++) {
        if (t->event[i]) cuda->event_destroy(t->event[i]);
        if (t->pinned[i]) cuda->release_pinned(t->pinned[i]);
        t->event[i] = t->pinned[i] = NULL;
    }
}

static int is_direct(const csz_host_box *box) {
    return box->nrows == 1 && box->nplanes == 1 &&
           csz_cuda_runtime_now()->side(box->first) == CSZ_SIDE_PINNED;
}

csz_status csz_transfer_up(csz_transfer *t, void *d_to, const csz_host_box *from, csz_cuda_stream stream) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const uint64_t nbytes = csz_host_box_nbytes(from);
    if (nbytes == 0) return CSZ_OK;
    if (is_direct(from)) return cuda->copy(d_to, from->first, (size_t)nbytes, stream);
    csz_status status = csz_transfer_prepare(t);
    for (uint64_t at = 0; at < nbytes && !status; at += PIECE_NBYTES) {
        const uint64_t end = nbytes - at < PIECE_NBYTES ? nbytes : at + PIECE_NBYTES;
        const unsigned i = t->turn++ & 1;
        status = cuda->event_wait(t->event[i]); /* its last piece has left */
        if (status) return status;
        copy_piece(t, from, t->pinned[i], at, end, 1);
        status = cuda->copy((uint8_t *)d_to + at, t->pinned[i], (size_t)(end - at), stream);
        if (!status) status = cuda->event_record(t->event[i], stream);
    }
    return status;
}

csz_status csz_transfer_down(csz_transfer *t, const csz_host_box *to, const void *d_from,
                             csz_cuda_stream stream) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const uint64_t nbytes = csz_host_box_nbytes(to);
    if (nbytes == 0) return cuda->stream_wait(stream);
    if (is_direct(to)) {
        csz_status status = cuda->copy(to->first, d_from, (size_t)nbytes, stream);
        return status ? status : cuda->stream_wait(stream);
    }
    csz_status status = csz_transfer_prepare(t);
    uint64_t begin[2] = {0, 0}, end[2] = {0, 0}; /* what each buffer is to receive */
    for (uint64_t at = 0, done = 0; done < nbytes && !status;) {
        /* one piece is asked for before the one before it is unpacked */
        if (at < nbytes) {
            const unsigned i = t->turn++ & 1;
            begin[i] = at;
            end[i] = at = nbytes - at < PIECE_NBYTES ? nbytes : at + PIECE_NBYTES;
            status = cuda->event_wait(t->event[i]);
            if (!status)
                status = cuda->copy(t->pinned[i], (const uint8_t *)d_from + begin[i],
                                    (size_t)(end[i] - begin[i]), stream);
            if (!status) status = cuda->event_record(t->event[i], stream);
            if (begin[i] == 0 && at < nbytes) continue;
        }
        if (status) break;
        const unsigned i = begin[0] == done && end[0] > done ? 0 : 1;
        status = cuda->event_wait(t->event[i]);
        if (status) break;
        copy_piece(t, to, t->pinned[i], begin[i], end[i], 0);
        done = end[i];
    }
    return status;
}
