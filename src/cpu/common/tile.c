/* SPDX-License-Identifier: BSD-3-Clause */
/* tile.c: prepares the loops over a tile (cpu/tile): the weights of its checksum, its part in the field, the
 * tables of codes. */
#include "cpu/common/tile.h"

#include "cpu/common/bits.h"

void csz_tile_work_init(csz_tile_work *w, int rank) {
    /* a weight is a product of what its unit says and what its place in the unit says */
    uint32_t of_unit[CSZ_TILE_UNITS], of_place[CSZ_UNIT_N];
    for (uint32_t u = 0; u < CSZ_TILE_UNITS; u++) of_unit[u] = csz_value_weight(u, CSZ_UNIT_N - 1);
    for (uint32_t b = 0; b < CSZ_UNIT_N; b++) of_place[b] = csz_pow_u32(CSZ_VALUE_K, CSZ_UNIT_N - 1 - b);
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        uint32_t code = csz_element_code(rank, e);
        w->weight[e] = of_unit[code >> 5] * of_place[code & 31];
    }
    csz_lane_orders_make(&w->orders);
    csz_tile_work_reset(w);
}

void csz_tile_work_reset(csz_tile_work *w) {
    w->code16 = w->own_code16;
    memset(w->part.extent, 0, sizeof w->part.extent);
    w->n_special = 0;
    w->is_raw = 0;
    w->lacks_code = 0;
    w->symbols_mode = CSZ_NO_SYMBOLS;
}

void csz_tile_part_make(csz_tile_part *part, const uint32_t *weight, const csz_geometry *g,
                        const csz_tile_box *box) {
    if (memcmp(part->extent, box->extent, sizeof part->extent) == 0) return;
    memcpy(part->extent, box->extent, sizeof part->extent);
    memset(part->weight, 0, sizeof part->weight);
    memset(part->in_field, 0, sizeof part->in_field);
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            uint32_t row = ((z << g->log2_t[1]) + y) << g->log2_t[2], nx = box->extent[2];
            memcpy(part->weight + row, weight + row, nx * sizeof *weight);
            for (uint32_t x = 0; x < nx; x += 4) {
                uint32_t code = csz_element_code(g->rank, row + x), n = nx - x < 4 ? nx - x : 4;
                part->in_field[code >> 5] |= ((1u << n) - 1) << (code & 31);
            }
        }
    }
}

void csz_code_table_make(csz_code_tables *tables, int book, const uint8_t *lengths) {
    uint16_t codes[CSZ_SYMBOLS_MAX];
    uint32_t n = csz_book_size(book);
    csz_codes_from_lengths(codes, lengths, n);
    for (uint32_t s = 0; s < n; s++)
        tables->code[book][s] = lengths[s] ? (uint32_t)codes[s] << 8 | lengths[s] : CSZ_NO_CODE;
}

void csz_code_tables_make(csz_code_tables *tables, const csz_book *books) {
    for (int b = 0; b < CSZ_NBOOKS; b++) csz_code_table_make(tables, b, books[b].lengths);
}

void csz_decode_tables_make(csz_decode_tables *tables, const csz_book *books) {
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        uint16_t codes[CSZ_SYMBOLS_MAX];
        uint32_t n = csz_book_size(b), limit = csz_book_limit(b), used = 0, last = 0;
        int deltas = csz_book_of_deltas(b);
        csz_codes_from_lengths(codes, books[b].lengths, n);
        for (uint32_t s = 0; s < n; s++) {
            uint32_t length = books[b].lengths[s];
            if (length == 0) continue;
            const uint32_t is_bucket = deltas && s >= CSZ_DIRECT_N;
            uint16_t entry = (uint16_t)(s << CSZ_ENTRY_SYMBOL_AT | is_bucket * CSZ_ENTRY_BUCKET | length);
            uint32_t first = (uint32_t)codes[s] << (limit - length), count = 1u << (limit - length);
            for (uint32_t i = 0; i < count; i++) tables->entry[b][first + i] = entry;
            used++;
            last = s;
        }
        if (used != 1) continue;
        for (uint32_t i = 0; i < 1u << limit; i++) tables->entry[b][i] = tables->entry[b][codes[last]];
    }
}
