/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.c: fields and archives in host memory, frame by frame through the device.  Each frame is compressed
 * as a field of its own, with the whole field's bound, tile shape and frame number, so the archive is the
 * same as from one launch.  While one frame is uploaded, another is computed and fetched: a field takes the
 * device memory of two frames, or of one where memory is short.
 */
#include "cuda/host/state.h"

void csz_frames_free(csz_cuda_backend *b) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    for (int i = 0; i < 2; i++) {
        csz_frame_slot *s = &b->slot[i];
        if (s->stream) (void)cuda->stream_wait(s->stream);
        void *all[] = {s->field.p, s->archive.p, s->workspace.p};
        for (int k = 0; k < 3; k++) {
            if (all[k]) cuda->release(all[k]);
        }
        if (s->result) cuda->release_pinned(s->result);
        if (s->done) cuda->event_destroy(s->done);
        if (s->stream) cuda->stream_destroy(s->stream);
        memset(s, 0, sizeof *s);
    }
}

static csz_status slot_prepare(csz_frame_slot *s, uint64_t field_nbytes, uint64_t archive_nbytes,
                               uint64_t workspace_nbytes) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    csz_status status = CSZ_OK;
    if (!s->stream) status = cuda->stream_create(&s->stream);
    if (!status && !s->done) status = cuda->event_create(&s->done);
    if (!status && !s->result) {
        void *p = NULL;
        status = cuda->allocate_pinned(&p, sizeof *s->result);
        if (!status) s->result = p;
    }
    if (!status) status = csz_device_grow(&s->field, (size_t)field_nbytes);
    if (!status) status = csz_device_grow(&s->archive, (size_t)archive_nbytes);
    if (!status) status = csz_device_grow(&s->workspace, (size_t)workspace_nbytes);
    return status;
}

/* Waits for both, whatever became of them: nothing of a call may be under way when it returns. */
static csz_status slots_settle(csz_cuda_backend *b, csz_status status) {
    for (int i = 0; i < 2; i++) {
        if (!b->slot[i].stream) continue;
        csz_status waited = csz_cuda_runtime_now()->stream_wait(b->slot[i].stream);
        if (!status) status = waited;
    }
    return status;
}

/* Both slots, or one where the memory does not suffice; *nslots tells. */
static csz_status slots_prepare(csz_cuda_backend *b, unsigned *nslots, uint64_t field_nbytes,
                                uint64_t archive_nbytes, uint64_t workspace_nbytes) {
    const uint64_t each = field_nbytes + archive_nbytes + workspace_nbytes + 3 * 256;
    size_t room = 0;
    csz_status status = csz_backend_room(b, &room);
    if (status) return status;
    for (int i = 0; i < 2 && !b->limit; i++)
        room += b->slot[i].field.nbytes + b->slot[i].archive.nbytes + b->slot[i].workspace.nbytes;
    *nslots = room / 2 >= each ? 2 : 1;
    if (room < each) return CSZ_ERROR_MEMORY;
    for (unsigned i = 0; i < *nslots && !status; i++) {
        status = slot_prepare(&b->slot[i], field_nbytes, archive_nbytes, workspace_nbytes);
        if (status == CSZ_ERROR_MEMORY && i == 1) { /* the other one suffices */
            *nslots = 1;
            status = CSZ_OK;
        }
    }
    return status;
}

/* ---- a frame as a field ---- */

typedef struct frame_part {
    csz_geometry geometry;
    uint64_t origin[3]; /* in the field, elements */
} frame_part;

static frame_part frame_part_of(const csz_geometry *g, uint64_t frame) {
    const csz_frame_box box = csz_frame_box_at(g, frame);
    frame_part part;
    part.geometry = *g;
    part.geometry.nelements = 1;
    for (int i = 0; i < 3; i++) {
        part.origin[i] = box.first[i] << g->log2_t[i];
        const uint64_t end = (box.first[i] + box.tiles[i]) << g->log2_t[i];
        part.geometry.n[i] = (end < g->n[i] ? end : g->n[i]) - part.origin[i];
        part.geometry.frame[i] = box.tiles[i];
        part.geometry.nelements *= part.geometry.n[i];
    }
    csz_geometry_finish(&part.geometry, 1);
    return part;
}

/* The most that a frame of the field needs. */
typedef struct frame_needs {
    uint64_t field_nbytes, archive_nbytes;
} frame_needs;

static frame_needs frame_needs_of(const csz_geometry *g, csz_type type) {
    frame_needs needs = {0, 0};
    for (uint64_t f = 0; f < g->nframes; f++) {
        const frame_part part = frame_part_of(g, f);
        const uint64_t field = csz_field_nbytes(&part.geometry, type);
        const uint64_t archive =
            csz_frame_bound((uint32_t)part.geometry.ntiles, part.geometry.nelements, type, 0) + 8 +
            csz_footer_nbytes(1);
        if (field > needs.field_nbytes) needs.field_nbytes = field;
        if (archive > needs.archive_nbytes) needs.archive_nbytes = archive;
    }
    return needs;
}

/* ---- compress ---- */

/* Frame and size of a slot that was launched, to the archive at *at. */
static csz_status frame_collect(csz_cuda_backend *b, csz_frame_slot *s, uint8_t *out, uint64_t room,
                                uint64_t *at) {
    csz_status status = csz_cuda_runtime_now()->event_wait(s->done);
    if (status) return status;
    if (s->result->status) return (csz_status)s->result->status;
    const uint64_t nbytes = s->result->nbytes - csz_footer_nbytes(1);
    if (nbytes > room - *at) return CSZ_ERROR_CAPACITY;
    const csz_host_box line = csz_host_line(out + *at, nbytes);
    *at += nbytes;
    return csz_transfer_down(&b->down, &line, s->archive.p, s->stream);
}

static csz_status frame_launch(csz_cuda_backend *b, csz_frame_slot *s, const void *data, const csz_header *h,
                               csz_cuda_plan plan, uint64_t frame) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const frame_part part = frame_part_of(&h->geometry, frame);
    const csz_host_box box =
        csz_host_box_of(data, h->geometry.n, part.origin, part.geometry.n, csz_value_nbytes(h->field.type));
    csz_status status = csz_transfer_up(&b->up, s->field.p, &box, s->stream);
    if (status) return status;
    plan.geometry = part.geometry;
    plan.first_frame = frame;
    plan.is_resolved = 1;
    plan.bound_abs = h->bound_abs;
    plan.header_nbytes = 0;
    const csz_cuda_compress_item item = {s->field.p,         s->archive.p,       s->archive.nbytes,
                                         &s->result->nbytes, &s->result->status, &s->result->faults};
    status = csz_cuda_compress_fields(&item, &plan, csz_backend_builtins(b), s->workspace.p,
                                      s->workspace.nbytes, s->stream);
    if (!status) status = cuda->launched();
    return status ? status : cuda->event_record(s->done, s->stream);
}

csz_status csz_frames_compress(csz_cuda_backend *b, void *out, size_t out_capacity, size_t *out_nbytes,
                               const void *data, csz_header *h) {
    const csz_geometry *g = &h->geometry;
    csz_cuda_plan plan = csz_backend_plan(h);
    const frame_needs needs = frame_needs_of(g, h->field.type);
    const uint64_t footer_nbytes = csz_footer_nbytes(g->nframes);
    uint64_t at = h->nbytes;
    if (out_capacity < at + footer_nbytes) return CSZ_ERROR_CAPACITY;
    const uint64_t room = out_capacity - footer_nbytes;
    /* a frame's workspace grows with its tiles: that of a full one */
    csz_cuda_plan largest = plan;
    largest.geometry = frame_part_of(g, 0).geometry;
    unsigned nslots = 1;
    csz_status status = slots_prepare(b, &nslots, needs.field_nbytes, needs.archive_nbytes,
                                      csz_cuda_compress_workspace_nbytes(&largest));
    if (status) return status;
    memcpy(out, plan.header, h->nbytes);
    for (uint64_t f = 0; f < g->nframes + nslots - 1 && !status; f++) {
        if (f < g->nframes) status = frame_launch(b, &b->slot[f % nslots], data, h, plan, f);
        if (!status && f + 1 >= nslots)
            /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): slots_prepare leaves one at least */
            status = frame_collect(b, &b->slot[(f + 1 - nslots) % nslots], out, room, &at);
    }
    status = slots_settle(b, status);
    if (status) return status;
    uint8_t *bytes = out;
    for (uint64_t f = 0, from = h->nbytes; f < g->nframes; f++) {
        csz_store_u64(bytes + at + 8 * f, csz_load_u64(bytes + from));
        from += csz_load_u64(bytes + from);
    }
    csz_footer_finish(bytes + at, g->nframes);
    *out_nbytes = (size_t)(at + footer_nbytes);
    return CSZ_OK;
}

/* ---- decompress ---- */

/* The part of the box lo .. hi of a lattice in a frame; returns 0 where there is none. */
static int frame_overlap(csz_cuda_decompress_plan *plan, uint64_t *origin, uint64_t *extent,
                         const frame_part *part, const uint64_t *lo, const uint64_t *hi) {
    for (int i = 0; i < 3; i++) {
        const uint64_t begin = csz_lattice_index(part->origin[i], plan->level),
                       end = csz_lattice_index(part->origin[i] + part->geometry.n[i], plan->level);
        const uint64_t from = lo[i] > begin ? lo[i] : begin, to = hi[i] < end ? hi[i] : end;
        if (from >= to) return 0;
        plan->begin[i] = from - begin;
        plan->end[i] = to - begin;
        origin[i] = from - lo[i];
        extent[i] = to - from;
    }
    return 1;
}

/* Values of a slot that was launched, to their part of the box. */
static csz_status values_collect(csz_cuda_backend *b, csz_frame_slot *s, const csz_host_box *to) {
    csz_status status = csz_cuda_runtime_now()->event_wait(s->done);
    if (status) return status;
    if (s->result->status) return (csz_status)s->result->status;
    return csz_transfer_down(&b->down, to, s->field.p, s->stream);
}

static csz_status values_launch(csz_cuda_backend *b, csz_frame_slot *s, const csz_cuda_decompress_plan *plan,
                                const uint8_t *stored, uint64_t nbytes, uint64_t frame) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    uint8_t footer[16];
    csz_store_u64(footer, nbytes);
    csz_footer_finish(footer, 1);
    const csz_host_box line = csz_host_line(stored, nbytes), tail = csz_host_line(footer, sizeof footer);
    csz_status status = csz_transfer_up(&b->up, s->archive.p, &line, s->stream);
    if (!status) status = csz_transfer_up(&b->up, (uint8_t *)s->archive.p + nbytes, &tail, s->stream);
    if (status) return status;
    const csz_cuda_decompress_item item = {s->archive.p, nbytes + sizeof footer, NULL, s->field.p, s->result,
                                           NULL};
    const csz_cuda_decompress_many many = {.n = 1, .first_frame = frame};
    status =
        csz_cuda_decompress_fields(&item, &many, s->workspace.p, csz_backend_lengths(b), plan, s->stream);
    if (!status) status = cuda->launched();
    return status ? status : cuda->event_record(s->done, s->stream);
}

csz_status csz_frames_decompress(csz_cuda_backend *b, void *data, const void *archive, const csz_header *h,
                                 const uint64_t *lo, const uint64_t *hi, int level) {
    const csz_geometry *g = &h->geometry;
    const size_t size = csz_value_nbytes(h->field.type);
    const uint64_t n[3] = {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]};
    const uint8_t *bytes = archive;
    csz_cuda_decompress_plan plan = csz_backend_decompress_plan(h);
    plan.header_nbytes = 0;
    plan.level = level;
    /* what the largest frame that the box touches needs */
    uint64_t field_nbytes = 0, archive_nbytes = 0, workspace_nbytes = 0, origin[3], extent[3];
    for (uint64_t f = 0, at = h->nbytes; f < g->nframes; f++) {
        const frame_part part = frame_part_of(g, f);
        const uint64_t nbytes = csz_load_u64(bytes + at);
        at += nbytes;
        if (!frame_overlap(&plan, origin, extent, &part, lo, hi)) continue;
        plan.geometry = part.geometry;
        const uint64_t values = extent[0] * extent[1] * extent[2] * size,
                       workspace = csz_cuda_decompress_many_workspace(&plan, 1);
        if (values > field_nbytes) field_nbytes = values;
        if (nbytes + 16 > archive_nbytes) archive_nbytes = nbytes + 16;
        if (workspace > workspace_nbytes) workspace_nbytes = workspace;
    }
    unsigned nslots = 0, pending = 0, next = 0;
    csz_status status = slots_prepare(b, &nslots, field_nbytes, archive_nbytes, workspace_nbytes);
    if (status) return status;
    csz_host_box values[2];
    for (uint64_t f = 0, at = h->nbytes; f < g->nframes && !status; f++) {
        const frame_part part = frame_part_of(g, f);
        const uint64_t nbytes = csz_load_u64(bytes + at), from = at;
        at += nbytes;
        if (!frame_overlap(&plan, origin, extent, &part, lo, hi)) continue;
        plan.geometry = part.geometry;
        plan.archive_nbytes = nbytes + 16;
        const unsigned i = next++ % nslots;
        values[i] = csz_host_box_of(data, n, origin, extent, size);
        status = values_launch(b, &b->slot[i], &plan, bytes + from, nbytes, f);
        if (!status && ++pending == nslots) {
            const unsigned oldest = next % nslots;
            status = values_collect(b, &b->slot[oldest], &values[oldest]);
            pending--;
        }
    }
    for (; pending && !status; pending--) {
        const unsigned oldest = (next - pending) % nslots;
        status = values_collect(b, &b->slot[oldest], &values[oldest]);
    }
    return slots_settle(b, status);
}
