/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runs.cuh: the rare coders: runs (rle, rle+vle) of deltas of any width, and mode S of wide deltas. A
 * functor returns the delta of a code; it reads shared memory until the record overwrites the deltas
 * there. Loops are not unrolled: unrolled, they were 200 KB of instructions a tile, more than any
 * instruction cache holds, and five times slower.
 */
#ifndef CSZ_CUDA_RUNS_CUH
#define CSZ_CUDA_RUNS_CUH

#include "cuda/code/symbols.cuh"
#include "cuda/predict/tile.cuh"

template <typename D> struct csz_raw_of { typedef uint32_t type; };
template <> struct csz_raw_of<int64_t> { typedef uint64_t type; };

/* A unit's deltas where they outlive the region.  As they are indexed they lie in local memory. */
template <typename D> struct csz_held_deltas {
    D d[32];
    typedef typename csz_raw_of<D>::type raw;
    template <typename Parked> __device__ __forceinline__ csz_held_deltas(const Parked &parked) {
#pragma unroll 4
        for (int b = 0; b < 32; b++) d[b] = parked(b);
    }
    __device__ __forceinline__ D operator()(int b) const { return d[b]; }
};

/* Deltas of class 0, in the exchange. */
struct csz_parked_narrow {
    const uint32_t *exchange;
    enum { IS_WIDE = 0 };
    typedef int32_t delta;
    typedef uint32_t raw;
    __device__ __forceinline__ int32_t operator()(int b) const {
        return (int32_t)csz_parked_half(exchange, (uint32_t)b) - 32768;
    }
};

/* Deltas of type D, quanta of type Q in the region, as the slow path left them. */
template <typename Q, typename D> struct csz_parked_wide {
    const Q *first; /* this thread's */
    enum { IS_WIDE = 1 };
    typedef D delta;
    typedef typename csz_raw_of<D>::type raw;
    __device__ __forceinline__ D operator()(int b) const { return (D)first[b * CSZ_TILE_THREADS]; }
};

/* Symbol and raw bits of a delta, in 32 bits where those hold it. */
CSZ_DEVICE uint32_t csz_symbol_of(int32_t d, uint32_t *raw, uint32_t *nraw) {
    *raw = *nraw = 0;
    if ((uint32_t)d + CSZ_DIRECT_HALF < CSZ_DIRECT_N) return (uint32_t)d + CSZ_DIRECT_HALF;
    return csz_bucket_narrow(d, raw, nraw);
}
CSZ_DEVICE uint32_t csz_symbol_of(int64_t d, uint64_t *raw, uint32_t *nraw) {
    return csz_delta_symbol(d, raw, nraw);
}

CSZ_DEVICE void csz_put_bits(csz_putter *out, uint64_t value, uint32_t nbits) { out->put_long(value, nbits); }
CSZ_DEVICE void csz_put_bits(csz_putter *out, uint32_t value, uint32_t nbits) {
    if (nbits > 24) { /* at most 29 */
        out->put(csz_packet(value >> 16, nbits - 16));
        value &= 0xFFFFu;
        nbits = 16;
    }
    out->put(csz_packet(value, nbits));
}

/* A lane of runs is four units; a run belongs to the unit it starts in. */
struct csz_runs {
    uint32_t starts; /* codes that differ from the one before */
    uint32_t beyond; /* codes from the unit's end to the next start, or the lane's end */
};

/* Runs from the codes of this thread's unit that differ from the one before. */
CSZ_DEVICE csz_runs csz_runs_from(uint32_t starts) {
    const uint32_t place = threadIdx.x & 3;
    csz_runs r = {starts, 0};
    bool open = true;
#pragma unroll
    for (int i = 1; i < 4; i++) {
        const uint32_t s = __shfl_down_sync(CSZ_ALL, r.starts, i);
        if (!open || place + (uint32_t)i > 3) continue;
        r.beyond += s ? (uint32_t)__ffs(s) - 1 : 32;
        open = s == 0;
    }
    return r;
}

template <typename Deltas> CSZ_DEVICE csz_runs csz_runs_find(const Deltas &d) {
    uint32_t starts = 0;
    auto last = d(0);
#pragma unroll 4
    for (int b = 0; b < 32; b++) {
        const auto next = d(b);
        starts |= (uint32_t)(next != last) << b;
        last = next;
    }
    const auto before = __shfl_up_sync(CSZ_ALL, last, 1);
    if ((threadIdx.x & 3) == 0 || before != d(0)) starts |= 1;
    return csz_runs_from(starts);
}

CSZ_DEVICE uint32_t csz_run_length(const csz_runs &r, int b) {
    const uint32_t rest = r.starts & ~((2u << b) - 1);
    return (rest ? (uint32_t)__ffs(rest) - 1 : 32 + r.beyond) - (uint32_t)b;
}

/* Bits of a unit's runs.  values, lengths: bits of the code words of books RV and RL. */
template <typename Deltas>
CSZ_DEVICE uint32_t csz_runs_nbits(const Deltas &d, const csz_runs &r, int mode, uint32_t klass,
                                   const uint8_t *values, const uint8_t *lengths) {
    if (mode == CSZ_MODE_RLE) return (uint32_t)__popc(r.starts) * ((16u << klass) + 7);
    uint32_t nbits = 0;
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        typename Deltas::raw raw;
        uint32_t nraw, symbol = csz_symbol_of(d(b), &raw, &nraw);
        nbits += values[symbol] + nraw + lengths[csz_run_length(r, b) - 1];
    }
    return nbits;
}

/* tables: [CSZ_NBOOKS][CSZ_SYMBOLS_MAX] packets, in global memory. */
template <typename Deltas>
CSZ_DEVICE void csz_runs_put(csz_putter out, const Deltas &d, const csz_runs &r, int mode, uint32_t klass,
                             const uint32_t *tables) {
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        const uint32_t length = csz_run_length(r, b);
        if (mode == CSZ_MODE_RLE) {
            const uint32_t nbits = 16u << klass;
            const uint64_t value = (uint64_t)(int64_t)d(b);
            out.put_long(nbits == 64 ? value : value & (((uint64_t)1 << nbits) - 1), nbits);
            out.put(csz_packet(length - 1, 7));
        } else {
            typename Deltas::raw raw;
            uint32_t nraw, symbol = csz_symbol_of(d(b), &raw, &nraw);
            out.put(__ldcg(tables + CSZ_BOOK_RV * CSZ_SYMBOLS_MAX + symbol));
            csz_put_bits(&out, raw, nraw);
            out.put(__ldcg(tables + CSZ_BOOK_RL * CSZ_SYMBOLS_MAX + length - 1));
        }
    }
    out.flush();
}

/* ---- mode S with book W ---- */

/* A delta's symbol, and its raw bits, the last nraw of w, none for a direct one. */
template <typename D> struct csz_wide_code;
template <> struct csz_wide_code<int32_t> {
    uint32_t symbol, w, nraw;

    __device__ __forceinline__ csz_wide_code(int32_t d) {
        w = (((uint32_t)d << 1) ^ (uint32_t)(d >> 31)) - 64;
        const bool is_bucket = (uint32_t)d + CSZ_DIRECT_HALF >= CSZ_DIRECT_N;
        nraw = is_bucket ? 29u - (uint32_t)__clz((int)w) : 0;
        symbol = is_bucket ? CSZ_DIRECT_N - 16 + 4 * nraw + (w >> nraw) : (uint32_t)d + CSZ_DIRECT_HALF;
    }

    /* IS_SHORT: there are at most 24. */
    template <bool IS_SHORT> __device__ __forceinline__ void put_raw(csz_putter *out) const {
        uint32_t rest = nraw;
        if (!IS_SHORT && nraw > 24) { /* at most 29 */
            out->put(csz_packet(w >> 16, nraw - 16));
            rest = 16;
        }
        out->put(csz_packet(w, rest));
    }
};
template <> struct csz_wide_code<int64_t> {
    uint32_t symbol, nraw;
    uint64_t raw;

    __device__ __forceinline__ csz_wide_code(int64_t d) { symbol = csz_symbol_of(d, &raw, &nraw); }
    template <bool IS_SHORT> __device__ __forceinline__ void put_raw(csz_putter *out) const {
        out->put_long(raw, nraw);
    }
};

/* Bits of a unit; *nonzero: one of its deltas is not 0. */
template <typename Deltas>
CSZ_DEVICE csz_unit_bits csz_wide_nbits(const Deltas &deltas, const uint32_t *book, bool *nonzero) {
    typedef typename Deltas::delta delta;
    csz_unit_bits n = {0, 0, 0, 0};
    *nonzero = false;
#pragma unroll 4
    for (int b = 0; b < 32; b++) {
        const delta d = deltas(b);
        const csz_wide_code<delta> code(d);
        *nonzero |= d != 0;
        n.symbols += book[code.symbol] & 31u;
        n.raw += code.nraw;
    }
    return n;
}

/*
 * Puts the deltas, which are in registers, in four turns that shift the array: an indexed array would lie
 * on the stack, for which the L1 has no room.
 */
template <bool IS_SHORT, typename D>
CSZ_DEVICE void csz_wide_put(csz_putter symbols, csz_putter raws, D (&d)[32], const uint32_t *book) {
#pragma unroll 1
    for (int turn = 0; turn < 4; turn++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const csz_wide_code<D> a(d[i]), b(d[16 + i]);
            symbols.put(csz_packet_merge(book[a.symbol], book[b.symbol]));
            a.template put_raw<IS_SHORT>(&raws);
            b.template put_raw<IS_SHORT>(&raws);
        }
#pragma unroll
        for (int i = 0; i < 12; i++) {
            d[i] = d[i + 4];
            d[16 + i] = d[20 + i];
        }
    }
    symbols.flush();
    raws.flush();
}

#endif
