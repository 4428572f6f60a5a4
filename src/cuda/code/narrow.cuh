/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * narrow.cuh: the code words of 16-bit deltas in modes M, Q, P and S: looked up, then, once all lengths
 * are known, put into the stage.
 */
#ifndef CSZ_CUDA_NARROW_CUH
#define CSZ_CUDA_NARROW_CUH

#include "cuda/code/symbols.cuh"

/*
 * Code words of a unit in mode M, Q, P or S.  One layout for all modes, so that the code after the look-ups
 * exists once and stays in the instruction cache.
 */
struct narrow_packets {
    /* single: escapes (mode S: all codes); vector: vector symbols (mode M: a bit string of two words) */
    uint32_t single[16], vector[8];
    /*
     * NOT_SPARSE: single holds packets of two codes each.  Otherwise single is a bit string of the unit's
     * escapes, of at most this many words in all units of the warp (up to CSZ_FEW_ESCAPES_WORDS).
     */
    uint32_t sparse;
};

enum { NOT_SPARSE = 0x100 };

/* Vector symbols; returns the codes that need an escape. */
template <typename Words>
CSZ_DEVICE uint32_t narrow_look_vectors(int mode, narrow_packets &p, csz_unit_bits *n, const Words &words,
                                        uint32_t nonzero, const uint32_t *books, uint32_t biased) {
    if (mode == CSZ_MODE_P) return csz_look_vectors<CSZ_MODE_P>(words, nonzero, books, biased, p.vector, n);
    if (mode == CSZ_MODE_Q) return csz_look_vectors<CSZ_MODE_Q>(words, nonzero, books, biased, p.vector, n);
    if (mode == CSZ_MODE_M) return csz_look_vectors<CSZ_MODE_M>(words, nonzero, books, biased, p.vector, n);
    return 0;
}

/* The book of mode P, Q or M for escapes. */
CSZ_DEVICE const uint32_t *narrow_escapes_book(int mode, const uint32_t *books) {
    return books + (mode == CSZ_MODE_P   ? csz_book_at(CSZ_BOOK_PE)
                    : mode == CSZ_MODE_Q ? csz_book_at(CSZ_BOOK_QE)
                                         : csz_book_at(CSZ_BOOK_ME));
}

template <typename Words>
CSZ_DEVICE void narrow_look_singles(int mode, narrow_packets &p, csz_unit_bits *n, const Words &words,
                                    const uint32_t *books, uint32_t biased) {
    p.sparse = NOT_SPARSE;
    if (mode == CSZ_MODE_S)
        csz_look_singles<true>(words, books + csz_book_at(CSZ_BOOK_S), biased, p.single, n);
    else
        csz_look_singles<false>(words, narrow_escapes_book(mode, books), biased, p.single, n);
}

/* All threads of a warp.  The words are parked in the exchange. */
CSZ_DEVICE void narrow_look(int mode, narrow_packets &p, csz_unit_bits *n, uint32_t nonzero,
                            const uint32_t *exchange, const uint32_t *books, uint32_t biased, bool empty) {
    const csz_words_parked words = {exchange};
    uint32_t escapes = 0, most = NOT_SPARSE;
    if (mode != CSZ_MODE_S) {
        if (!empty) escapes = narrow_look_vectors(mode, p, n, words, nonzero, books, biased);
        most = csz_warp_max((uint32_t)__popc(escapes));
    }
    if (most <= CSZ_FEW_ESCAPES) {
        const uint32_t *book = narrow_escapes_book(mode, books);
        csz_look_sparse(exchange, book, escapes, most, p.single, n);
        p.sparse = (csz_warp_max(n->escapes) + 31) / 32;
    } else {
        p.sparse = NOT_SPARSE;
        if (!empty) narrow_look_singles(mode, p, n, words, books, biased);
    }
}

/*
 * Puts the packets in turns, so that the instruction cache holds the loop. Each turn moves the next
 * turn's packets to the front, so p is destroyed. All threads of a warp; empty lanes have empty packets.
 */
template <bool TOGETHER>
CSZ_DEVICE void narrow_put(int mode, uint32_t *stage, uint32_t symbols_at, uint32_t escapes_at,
                           narrow_packets &p) {
    csz_putter out(stage, symbols_at);
    if (csz_agreed_if<TOGETHER>(mode != CSZ_MODE_S)) {
        if (csz_agreed_if<TOGETHER>(mode == CSZ_MODE_M)) {
            out.or_word(p.vector[0], 0);
            out.or_word(p.vector[1], p.vector[0]);
            out.or_word(0, p.vector[1]);
        } else {
#pragma unroll 1
            for (int turn = 0; turn < 2; turn++) {
                out.put(p.vector[0]);
                out.put(p.vector[1]);
                out.put(p.vector[2]);
                out.put(p.vector[3]);
                if (csz_agreed_if<TOGETHER>(mode == CSZ_MODE_Q)) break;
#pragma unroll
                for (int i = 0; i < 4; i++) p.vector[i] = p.vector[4 + i];
            }
            out.flush();
        }
        const uint32_t sparse = TOGETHER ? csz_warp_max(p.sparse) : p.sparse;
        if (sparse == 0) return;
        out = csz_putter(stage, escapes_at);
        if (sparse <= CSZ_FEW_ESCAPES_WORDS) {
            out.put_words(p.single, sparse);
            return;
        }
    }
#pragma unroll 1
    for (int turn = 0; turn < 4; turn++) {
#pragma unroll
        for (int i = 0; i < 4; i++) out.put(p.single[i]);
#pragma unroll
        for (int i = 0; i < 12; i++) p.single[i] = p.single[4 + i];
    }
    out.flush();
}

#endif
