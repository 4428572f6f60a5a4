/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * symbols.c: statistics of a tile's deltas and its symbols, in loops over the whole tile that vectorise.
 */
#include "cpu/tile/names.h"

#include "cpu/common/symbols.h"

#include "cpu/common/bits.h"
#include "cpu/common/vector.h"

static void measure_narrow(csz_tile_work *w, csz_tile_statistics *s) {
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const int16_t *c = w->code16 + unit * 32;
        uint16_t n_zero = 0;
        for (uint32_t b = 0; b < 32; b++) n_zero = (uint16_t)(n_zero + (c[b] == 0));
        s->unit_nonzero[unit] = (uint8_t)(32 - n_zero);
    }
}

static void measure_wide(csz_tile_work *w, csz_tile_statistics *s) {
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const int64_t *c = w->code64 + unit * 32;
        uint32_t n = 0;
        for (uint32_t b = 0; b < 32; b++) n += c[b] != 0;
        s->unit_nonzero[unit] = (uint8_t)n;
    }
}

void csz_tile_measure(csz_tile_work *w) {
    csz_tile_statistics *s = &w->statistics;
    w->symbols_mode = CSZ_NO_SYMBOLS;
    if (w->klass) {
        measure_wide(w, s);
    } else {
        measure_narrow(w, s);
    }
    s->n_nonzero = s->n_codes = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit += 2) {
        uint32_t n = (uint32_t)s->unit_nonzero[unit] + s->unit_nonzero[unit + 1];
        s->n_nonzero += n;
        s->n_codes += n ? 64 : 0;
    }
}

/* Places of the escapes of a pair of units, as a mask; deltas moved up by radius lie below n if they are
 * none. */
static uint64_t escape_mask(const int16_t *code, uint16_t radius, uint16_t n) {
    csz_lanes8 is_escape[8];
    for (uint32_t i = 0; i < 8; i++) is_escape[i] = (csz_lanes8)(csz_lanes8_load(code + 8 * i) + radius >= n);
    return csz_lanes8_mask(is_escape);
}

/* Kept out of line: only as a function of plain pointers does every compiler vectorise it.  n is a multiple
 * of 16. */
static __attribute__((noinline)) void narrow_symbols(uint8_t *restrict symbol, const int16_t *restrict code,
                                                     uint32_t n) {
    for (uint32_t i = 0; i < n / 16 * 16; i++) symbol[i] = (uint8_t)csz_narrow_symbol_masked(code[i]);
}

/* Escapes of all units; for M the masks are the symbols. */
static void gather_escapes(csz_tile_work *w, int mode) {
    const uint16_t radius = (uint16_t)csz_mode_radius(mode), n = (uint16_t)(2 * radius + 1);
    int16_t *out = w->escape_code;
    for (uint32_t pair = 0; pair < CSZ_TILE_UNITS / 2; pair++) {
        const int16_t *code = w->code16 + pair * 64, *begin = out;
        uint64_t mask = escape_mask(code, radius, n);
        if (mode == CSZ_MODE_M) csz_store_u64(w->symbol + pair * 8, mask);
        out = csz_codes_gather(out, code, mask, &w->orders);
        w->pair_escapes[pair] = (uint8_t)(out - begin);
    }
    w->n_escapes = (uint32_t)(out - w->escape_code);
    memset(out, 0, 15 * sizeof *out);
    narrow_symbols(w->escape_symbol, w->escape_code, (w->n_escapes + 15) & ~15u);
}

/* A delta's digit, or the escape. */
static inline __attribute__((always_inline)) uint32_t digit(int16_t code, int mode) {
    const uint16_t radius = (uint16_t)csz_mode_radius(mode), escape = (uint16_t)(2 * radius + 1);
    uint16_t v = (uint16_t)((uint16_t)code + radius);
    return v < escape ? v : escape;
}

/* Symbols of several digits.  Inlined for each mode, so that the loop vectorises. */
static inline __attribute__((always_inline)) void digit_symbols(uint8_t *restrict symbol,
                                                                const int16_t *restrict code, int mode) {
    const uint32_t n = csz_mode_codes(mode), nbits = csz_mode_digit_nbits(mode);
    for (uint32_t i = 0; i < CSZ_TILE_N / n; i++) {
        uint32_t s = 0;
        for (uint32_t k = 0; k < n; k++) s |= digit(code[n * i + k], mode) << (nbits * k);
        symbol[i] = (uint8_t)s;
    }
}

void csz_tile_symbols_make(csz_tile_work *w, int mode) {
    if (w->symbols_mode == mode) return;
    w->symbols_mode = mode;
    if (mode == CSZ_MODE_S) {
        narrow_symbols(w->symbol, w->code16, CSZ_TILE_N);
        return;
    }
    if (mode == CSZ_MODE_P) digit_symbols(w->symbol, w->code16, CSZ_MODE_P);
    if (mode == CSZ_MODE_Q) digit_symbols(w->symbol, w->code16, CSZ_MODE_Q);
    gather_escapes(w, mode);
}
