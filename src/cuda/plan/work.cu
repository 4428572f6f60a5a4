/* SPDX-License-Identifier: BSD-3-Clause */
/* work.cu: one compression call, of one field or many: the workspace laid out, then a few launches in stream
 * order. */
#include "cuda/plan/work.cuh"

/* Blocks that share a field's range: many small fields need few each. */
uint32_t csz_range_blocks(const csz_cuda_plan *plan) {
    const uint32_t nfields = plan->nfields ? plan->nfields : 1;
    const uint64_t n = plan->geometry.nelements, useful = (n + 2047) / 2048;
    const uint32_t most = nfields == 1                       ? CSZ_RANGE_BLOCKS
                          : nfields >= CSZ_RANGE_BLOCKS / 32 ? 32
                                                             : CSZ_RANGE_BLOCKS / nfields;
    return (uint32_t)(useful < 1 ? 1 : useful > most ? most : useful);
}

/* Whether the device can start a kernel while the one before it ends. */
static uint32_t device_chains(void) {
#if defined(CSZ_EMU)
    return 1;
#else
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major >= 9;
#endif
}

size_t csz_cuda_work_lay_out(csz_work *w, void *base, const csz_cuda_plan *plan) {
    const size_t nfields = plan->nfields ? plan->nfields : 1;
    const size_t nframes = nfields * plan->geometry.nframes;
    size_t ntiles = nfields * plan->geometry.ntiles;
    w->nfields = (uint32_t)nfields;
    w->nframes = (uint32_t)plan->geometry.nframes;
    w->ntiles = (uint32_t)plan->geometry.ntiles;
    w->skips = NULL;
    w->aligned = 1;
    w->chained = base && device_chains();
    size_t at = 0;
    auto take = [&](size_t nbytes) {
        size_t here = at;
        at += (nbytes + 127) / 128 * 128;
        return (char *)base + here;
    };
    csz_packed_work *p = &w->packed;
    memset(p, 0, sizeof *p);
    w->zero = (uint32_t *)base;
    p->is_used = plan->predictor != CSZ_PREDICTOR_LORENZO && plan->geometry.nelements;
    if (p->is_used) {
        const csz_geometry *g = &plan->geometry;
        csz_pyramid largest;
        uint64_t n[3];
        for (int i = 0; i < 3; i++) {
            p->frames.first[i] = 0;
            p->frames.n[i] = (uint32_t)g->nframes3[i];
            n[i] = csz_frame_extent(g, i, 0);
        }
        csz_pyramid_make(&largest, n, g->log2_t);
        ntiles = nframes * (size_t)largest.ntiles;
        p->may_be_lorenzo = plan->predictor == CSZ_PREDICTOR_AUTO;
        p->nlevels = largest.nlevels;
        p->slot_nwords = csz_slot_nwords(plan->type);
        p->lattices_n = csz_frames_lay_out(&p->frames, g, p->nlevels);
        p->choice = (csz_choice_sums *)take(nframes * sizeof *p->choice);
        p->redo = (uint32_t *)take(sizeof *p->redo);
        p->has_pyramid = (uint32_t *)take((nfields + 1) * sizeof *p->has_pyramid);
        p->restored = (uint32_t *)take(nframes * sizeof *p->restored);
    }
    w->exponent = (int32_t *)take(nframes * sizeof *w->exponent);
    w->sample = (csz_histograms *)take(nframes * sizeof *w->sample);
    w->zero_again = (uint32_t *)w->sample;
    if (p->is_used) {
        p->levels_claimed = (uint32_t *)take(nframes * sizeof *p->levels_claimed);
        p->claimed = (uint32_t *)take(nfields * sizeof *p->claimed);
    }
    if (p->may_be_lorenzo) {
        const size_t own = nfields * plan->geometry.ntiles;
        p->lorenzo.tile_state = (unsigned long long *)take(own * sizeof *w->tile_state);
        p->lorenzo.group_sum =
            (unsigned long long *)take((own / CSZ_INDEX_GROUP + nframes + 1) * sizeof *w->group_sum);
        p->lorenzo.counters = (uint32_t *)take((1 + nfields) * sizeof *w->counters);
    }
    w->tile_state = (unsigned long long *)take(ntiles * sizeof *w->tile_state);
    w->frame_state = (unsigned long long *)take(nframes * sizeof *w->frame_state);
    w->group_sum =
        (unsigned long long *)take((ntiles / CSZ_INDEX_GROUP + nframes + 1) * sizeof *w->group_sum);
    if (p->is_used)
        p->group_state =
            (csz_group_state *)take((ntiles / CSZ_INDEX_GROUP + nframes + 1) * sizeof *p->group_state);
    w->frame_sums = (csz_frame_sums *)take(nframes * sizeof *w->frame_sums);
    w->counters = (uint32_t *)take((1 + nfields) * sizeof *w->counters);
    w->ready = (uint32_t *)take(nframes * sizeof *w->ready);
    w->zero_nwords = at / 4;
    w->table = (uint32_t(*)[CSZ_NBOOKS][CSZ_SYMBOLS_MAX])take(nframes * sizeof *w->table);
    w->section = (uint32_t(*)[CSZ_SECTION_WORDS])take(nframes * sizeof *w->section);
    w->section_nwords = (uint32_t *)take(nframes * sizeof *w->section_nwords);
    w->range = (csz_range *)take(nfields * csz_range_blocks(plan) * sizeof *w->range);
    w->quantizer = take(nfields * sizeof(csz_quantizer_f64));
    w->pointwise = take(nframes * csz_pointwise_sets(p) * sizeof(csz_pointwise_f64));
    p->lorenzo.pointwise = p->may_be_lorenzo ? take(nframes * sizeof(csz_pointwise_f64)) : NULL;
    w->place = (csz_place *)take(nfields * sizeof *w->place);
    if (p->is_used) {
        p->bound = (double *)take(nfields * sizeof *p->bound);
        p->tuning = (int32_t *)take(nframes * sizeof *p->tuning);
        p->rival = (csz_rival *)take(nframes * sizeof *p->rival);
        p->first = (uint32_t *)take((nframes + 1) * sizeof *p->first);
        p->levels_n = (uint32_t *)take(nframes * sizeof *p->levels_n);
        p->slot_words = (uint32_t *)take(nframes * sizeof *p->slot_words);
        p->slots = (uint32_t *)take(nframes * p->slot_nwords * sizeof *p->slots);
        p->lattices = take(nfields * p->lattices_n * csz_value_nbytes(plan->type));
    }
    return at;
}

size_t csz_cuda_compress_workspace_nbytes(const csz_cuda_plan *plan) {
    csz_work work;
    return csz_cuda_work_lay_out(&work, NULL, plan);
}

csz_status csz_cuda_compress_fields(const csz_cuda_compress_item *items, const csz_cuda_plan *plan,
                                    const csz_cuda_builtins *d_builtins, void *d_workspace,
                                    size_t workspace_nbytes, struct CUstream_st *stream) {
    csz_work work;
    int device = 0, nsms = 0;
    if (csz_cuda_work_lay_out(&work, d_workspace, plan) > workspace_nbytes) return CSZ_ERROR_ARGUMENT;
    const uint64_t most = 0xFFFFFFFFull - 65536;
    if (plan->geometry.ntiles && work.nfields >= most / plan->geometry.ntiles) return CSZ_ERROR_DIMS;
    if (cudaGetDevice(&device) != cudaSuccess) return CSZ_ERROR_BACKEND;
    if (cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return CSZ_ERROR_BACKEND;
    for (uint32_t f = 0; f < work.nfields; f++) work.aligned &= ((uintptr_t)items[f].d_data & 15) == 0;
    const bool has_tiles = plan->geometry.nelements > 0;
    csz_status status = CSZ_OK;
    const void *d_data = items[0].d_data;
    uint32_t nranges = 0;
    if (work.nfields > 1) csz_cuda_place(work, items, plan->type, stream);
    const bool is_ranged = plan->bound_mode == CSZ_BOUND_REL || plan->bound_mode == CSZ_BOUND_PSNR;
    if (has_tiles && is_ranged && !plan->is_resolved) nranges = csz_cuda_range(work, d_data, plan, stream);
    const bool is_pointwise = has_tiles && plan->bound_mode == CSZ_BOUND_PWR;
    csz_cuda_prepare(work, nranges, items, plan, stream);
    if (is_pointwise) csz_cuda_exponents(work, d_data, plan, stream);
    if (work.packed.is_used) {
        status = (is_pointwise ? csz_cuda_packed_compress_pointwise
                               : csz_cuda_packed_compress)(work, d_data, d_builtins, plan, nsms, stream);
    } else if (has_tiles && plan->bound_mode == CSZ_BOUND_EXACT) {
        csz_cuda_books(work, d_builtins, plan, false, stream); /* of nothing: exact tiles use none */
        csz_cuda_encode_exact(work, d_data, plan, nsms, stream);
    } else if (has_tiles) {
        csz_cuda_histogram(work, d_data, plan, nsms, stream);
        csz_cuda_books(work, d_builtins, plan, false, stream);
        (is_pointwise ? csz_cuda_encode_pointwise : csz_cuda_encode)(work, d_data, plan, nsms, stream);
    }
    return cudaGetLastError() == cudaSuccess ? status : CSZ_ERROR_BACKEND;
}
