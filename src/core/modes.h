/* SPDX-License-Identifier: BSD-3-Clause */
/* modes.h: tables of a tile's coding modes and a frame's books (docs/format.md, sections 5 and 6).  Each
 * number that differs between modes or books is read from here, by both backends and both directions. */
#ifndef CSZ_CORE_MODES_H
#define CSZ_CORE_MODES_H

#include "core/base.h"

/*
 * Modes that code 16-bit deltas symbol by symbol:
 *   mode, log2 of the deltas in a symbol, log2 of the units in a lane, radius, book of symbols, book of
 * escapes. A symbol of several deltas has a digit of 8 / deltas bits for each: delta + radius, or 2 radius +
 * 1 for an escape, which follows in its own book.
 */
#define CSZ_CODED_MODES(X) \
    X(M, 3, 2, 0, MV, ME)  \
    X(Q, 2, 2, 1, QV, QE)  \
    X(P, 1, 1, 7, PV, PE)  \
    X(S, 0, 1, 0, S, S)

/*
 * Books:
 *   name, symbols, longest code, whether the symbols are deltas, small deltas that the book never codes:
 * those whose magnitude the symbols before them cover, 2 radius + 1 of them.
 */
#define CSZ_BOOKS(X)      \
    X(S, 140, 12, 1, 0)   \
    X(PV, 256, 12, 0, 0)  \
    X(PE, 140, 11, 1, 15) \
    X(QV, 256, 12, 0, 0)  \
    X(QE, 140, 11, 1, 3)  \
    X(MV, 256, 12, 0, 0)  \
    X(ME, 140, 11, 1, 1)  \
    X(W, 236, 12, 1, 0)   \
    X(RV, 236, 12, 1, 0)  \
    X(RL, 128, 11, 0, 0)

enum csz_mode {
    CSZ_MODE_CONSTANT = 0,
    CSZ_MODE_M = 1,
    CSZ_MODE_Q = 2,
    CSZ_MODE_P = 3,
    CSZ_MODE_S = 4,
    CSZ_MODE_RLE = 5,
    CSZ_MODE_RLE_VLE = 6,
    CSZ_MODE_RAW = 7,
    CSZ_MODE_FILL = 8,
    CSZ_MODE_SPARSE = 9,
    CSZ_MODE_EXACT = 10
};

#define CSZ_BOOK_ID_(name, n, limit, deltas, first) CSZ_BOOK_##name,
enum csz_book_id { CSZ_BOOKS(CSZ_BOOK_ID_) CSZ_NBOOKS };
#undef CSZ_BOOK_ID_

/* ---- modes ---- */

/* A number of each coded mode, four bits at 4 * mode; the modes without symbols have 0. */
#define CSZ_SYMBOL_LOG2_(name, codes, units, radius, book, escapes) \
    | (uint32_t)(codes) << (4 * CSZ_MODE_##name)
#define CSZ_RADIUS_(name, codes, units, radius, book, escapes) | (uint32_t)(radius) << (4 * CSZ_MODE_##name)
#define CSZ_PAIRED_(name, codes, units, radius, book, escapes) | (uint32_t)((units) == 1) << CSZ_MODE_##name

/* Units of a lane: 2 or 4.  Shifts below, not divisions, which GPUs make by a subroutine of 40 instructions.
 */
CSZ_CONSTANT_FN uint32_t csz_mode_units_log2(int mode) {
    return (0u CSZ_CODED_MODES(CSZ_PAIRED_)) >> mode & 1 ? 1 : 2;
}
CSZ_CONSTANT_FN uint32_t csz_mode_units(int mode) { return 1u << csz_mode_units_log2(mode); }
CSZ_CONSTANT_FN uint32_t csz_mode_lanes(int mode) { return CSZ_TILE_UNITS >> csz_mode_units_log2(mode); }

/* Of a coded mode: deltas of a symbol, symbols of a unit, bits of a digit, the largest delta that is no
 * escape. */
CSZ_CONSTANT_FN uint32_t csz_mode_codes_log2(int mode) {
    return (0u CSZ_CODED_MODES(CSZ_SYMBOL_LOG2_)) >> (4 * mode) & 15;
}
CSZ_CONSTANT_FN uint32_t csz_mode_codes(int mode) { return 1u << csz_mode_codes_log2(mode); }
CSZ_CONSTANT_FN uint32_t csz_mode_unit_symbols(int mode) { return CSZ_UNIT_N >> csz_mode_codes_log2(mode); }
CSZ_CONSTANT_FN uint32_t csz_mode_digit_nbits(int mode) { return 8u >> csz_mode_codes_log2(mode); }
CSZ_CONSTANT_FN uint32_t csz_mode_radius(int mode) {
    return (0u CSZ_CODED_MODES(CSZ_RADIUS_)) >> (4 * mode) & 15;
}

#undef CSZ_SYMBOL_LOG2_
#undef CSZ_RADIUS_
#undef CSZ_PAIRED_

/* The books of a mode: of a tile of 16-bit deltas. */
CSZ_CONSTANT_FN int csz_mode_book(int mode) {
#define CSZ_CASE_(name, codes, units, radius, book, escapes) mode == CSZ_MODE_##name ? (int)CSZ_BOOK_##book:
    return CSZ_CODED_MODES(CSZ_CASE_)(int) CSZ_BOOK_RV;
#undef CSZ_CASE_
}
CSZ_CONSTANT_FN int csz_mode_escape_book(int mode) {
#define CSZ_CASE_(name, codes, units, radius, book, escapes) \
    mode == CSZ_MODE_##name ? (int)CSZ_BOOK_##escapes:
    return CSZ_CODED_MODES(CSZ_CASE_)(int) CSZ_BOOK_RL;
#undef CSZ_CASE_
}

/* The mode whose symbols a book codes; 0 for books of other things. */
CSZ_CONSTANT_FN int csz_book_mode(int book) {
#define CSZ_CASE_(name, codes, units, radius, own, escapes) book == CSZ_BOOK_##own ? (int)CSZ_MODE_##name:
    return CSZ_CODED_MODES(CSZ_CASE_) 0;
#undef CSZ_CASE_
}

/* ---- books ---- */

CSZ_CONSTANT_FN uint32_t csz_book_size(int book) {
#define CSZ_CASE_(name, n, limit, deltas, first) book == CSZ_BOOK_##name ? n:
    return CSZ_BOOKS(CSZ_CASE_) 0;
#undef CSZ_CASE_
}

/* Length of its longest code. */
CSZ_CONSTANT_FN uint32_t csz_book_limit(int book) {
#define CSZ_BIT_(name, n, limit, deltas, first) | (uint32_t)((limit) == 11) << CSZ_BOOK_##name
    return 12 - ((0u CSZ_BOOKS(CSZ_BIT_)) >> book & 1);
#undef CSZ_BIT_
}

CSZ_CONSTANT_FN int csz_book_of_deltas(int book) {
#define CSZ_BIT_(name, n, limit, deltas, first) | (uint32_t)(deltas) << CSZ_BOOK_##name
    return (int)((0u CSZ_BOOKS(CSZ_BIT_)) >> book & 1);
#undef CSZ_BIT_
}

/* Places in the order of lengths that the book cannot use. */
CSZ_CONSTANT_FN uint32_t csz_book_first(int book) {
#define CSZ_CASE_(name, n, limit, deltas, first) book == CSZ_BOOK_##name ? first:
    return CSZ_BOOKS(CSZ_CASE_) 0;
#undef CSZ_CASE_
}

/* Words before a book, and of all, where all lie one after another. */
#define CSZ_MEMBER_(name, n, limit, deltas, first) uint32_t name[n];
typedef struct csz_books_in_order {
    CSZ_BOOKS(CSZ_MEMBER_)
} csz_books_in_order;
#undef CSZ_MEMBER_
CSZ_CONSTANT_FN uint32_t csz_book_at(int book) {
#define CSZ_CASE_(name, n, limit, deltas, first) \
    book == CSZ_BOOK_##name ? (uint32_t)(offsetof(csz_books_in_order, name) / sizeof(uint32_t)):
    return CSZ_BOOKS(CSZ_CASE_)(uint32_t)(sizeof(csz_books_in_order) / sizeof(uint32_t));
#undef CSZ_CASE_
}

#endif
