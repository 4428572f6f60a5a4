/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_tile.c: any bytes as the record of one tile, in the modes of one workflow (FUZZ_WORKFLOW, as in
 * csz.h).  Input: a byte of type and shape, a byte of built-in books, two bytes of flags (1: a tile of a
 * pyramid, with the tuning in the bits above; 128: of an exact archive), the record.  Nothing stands between
 * the record and the decoder here: neither index nor checksum.
 */
#include "fuzz.h"

#include "cpu/pyramid/predict_pyramid.h"

static const uint64_t shapes[][3] = {{1, 1, 4096}, {1, 1, 61},  {1, 32, 128}, {1, 31, 100},
                                     {8, 16, 32},  {7, 13, 29}, {1, 1024, 3}, {16, 16, 5}};

static void set_geometry(csz_tile_plan *plan, uint32_t shape) {
    const uint64_t *d = shapes[shape];
    csz_field field = {.type = plan->type, .ndim = 3, .dims = {d[0], d[1], d[2]}};
    csz_effective_dims(&plan->geometry, field.ndim, field.dims);
    csz_tile_shape_choose_for(&plan->geometry, 0);
    csz_geometry_finish(&plan->geometry, 0);
}

/* Modes that the workflow writes; others stand for one of them, so that no mutation is lost. */
static uint32_t mode_of(uint32_t mode) {
    static const uint8_t huffman[16] = {0, 1, 2, 3, 4, 1, 2, 7, 8, 9, 3, 4, 1, 2, 3, 4};
    if (FUZZ_WORKFLOW == 1) return huffman[mode];
    uint32_t runs = FUZZ_WORKFLOW == 2 ? CSZ_MODE_RLE : CSZ_MODE_RLE_VLE;
    return mode == 0 || mode == 7 || mode == 8 ? mode : runs;
}

/* A tile of lattice 0 whose coarser lattice is a slope. */
static void restore_pyramid(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                            int tuning) {
    static csz_pyramid_work *pyramid;
    static float slope_f32[CSZ_TILE_N];
    static double slope_f64[CSZ_TILE_N];
    if (!pyramid) {
        FUZZ_CHECK((pyramid = csz_pyramid_work_new()) != NULL);
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) slope_f64[i] = slope_f32[i] = (float)i * 0.25f;
    }
    uint64_t coarser_n[3];
    csz_level level = {.plan = *plan, .tuning = tuning, .reach = csz_tuning_reach(tuning)};
    for (int i = 0; i < 3; i++) {
        level.n[i] = plan->geometry.n[i];
        coarser_n[i] = (level.n[i] + 1) / 2;
    }
    level.coarser = plan->type == CSZ_F32 ? (void *)slope_f32 : (void *)slope_f64;
    level.coarser_n = coarser_n;
    csz_pyramid_restore(w, pyramid, &level, box, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static csz_tile_work *work[4];
    static csz_decode_tables *tables[16];
    static csz_builtin_cache cache;
    if (nbytes < 8) return 0;
    csz_tile_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.type = data[0] & 1 ? CSZ_F64 : CSZ_F32;
    set_geometry(&plan, data[0] >> 1 & 7);
    plan.is_exact = FUZZ_WORKFLOW == 1 && data[2] & 128;
    plan.f32 = csz_quantizer_make_f32(1e-3, 0, 0, 0);
    plan.f64 = csz_quantizer_make_f64(1e-3, 0, 0, 0);
    int rank = plan.geometry.rank;
    if (!work[rank]) {
        FUZZ_CHECK((work[rank] = aligned_alloc(64, (sizeof *work[0] + 63) / 64 * 64)) != NULL);
        memset(work[rank], 0, sizeof *work[0]);
        csz_tile_work_init(work[rank], rank);
    }
    uint32_t kind = data[1] & 15;
    if (!tables[kind]) {
        csz_book books[CSZ_NBOOKS];
        uint8_t section[12] = {0};
        memset(section, (int)kind, CSZ_NBOOKS);
        FUZZ_CHECK((tables[kind] = calloc(1, sizeof *tables[0])) != NULL);
        FUZZ_CHECK(csz_books_read(books, &cache, section, sizeof section));
        csz_decode_tables_make(tables[kind], books);
    }
    csz_frame_box frame = csz_frame_box_at(&plan.geometry, 0);
    csz_tile_box box = csz_tile_box_at(&plan.geometry, &frame, 0);
    uint32_t nwords = (uint32_t)(nbytes - 4) / 4;
    if (nwords > 65535) return 0;
    uint8_t *record = fuzz_copy(data + 4, 4 * (size_t)nwords);
    const uint32_t mode = record[0] & 15;
    csz_store_u32(record, (csz_load_u32(record) & ~15u) | (!plan.is_exact         ? mode_of(mode)
                                                           : mode == CSZ_MODE_RAW ? CSZ_MODE_RAW
                                                                                  : CSZ_MODE_EXACT));
    csz_tile_work *w = work[rank];
    if (csz_tile_decode(w, &plan, tables[kind], &box, record, nwords)) {
        /* what a reader refuses in a lattice: decompress_frame.c */
        const int is_lattice =
            !plan.is_exact && rank > 1 && !w->klass && !w->base && (w->is_constant || !w->order);
        if (data[2] & 1 && is_lattice && csz_shape_fits_pyramid(&plan.geometry))
            restore_pyramid(w, &plan, &box, data[2] >> 1 & (CSZ_TUNINGS_N - 1));
        else
            csz_tile_restore(w, &plan, &box, NULL);
    }
    free(record);
    return 0;
}
