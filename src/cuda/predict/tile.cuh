/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tile.cuh: a tile as the threads of a block see it while it is compressed: where its elements are, what the
 * threads share.
 */
#ifndef CSZ_CUDA_TILE_CUH
#define CSZ_CUDA_TILE_CUH

#include "core/geometry.h"
#include "core/hash.h"
#include "core/quantum.h"
#include "cuda/common/launch.cuh"
#include "cuda/common/memory.cuh"
#include "cuda/common/value.cuh"

enum {
    CSZ_TILE_THREADS = CSZ_TILE_UNITS,
    CSZ_TILE_WARPS = CSZ_TILE_THREADS / 32,
    CSZ_EXCHANGE_WORDS = 16 * CSZ_TILE_THREADS
};

/* 16 bytes of the field; KEPT: by a load that caches keep, not a streaming one. */
template <bool KEPT, typename Q> CSZ_DEVICE Q csz_load_16(const void *p) {
    return KEPT ? __ldg((const Q *)p) : __ldcs((const Q *)p);
}

/* Four neighbours at once. */
template <bool KEPT = false> CSZ_DEVICE void csz_load_quad(float *v, const float *p) {
    const float4 a = csz_load_16<KEPT, float4>(p);
    v[0] = a.x;
    v[1] = a.y;
    v[2] = a.z;
    v[3] = a.w;
}

template <bool KEPT = false> CSZ_DEVICE void csz_load_quad(double *v, const double *p) {
    const double2 a = csz_load_16<KEPT, double2>(p), b = csz_load_16<KEPT, double2>(p + 2);
    v[0] = a.x;
    v[1] = a.y;
    v[2] = b.x;
    v[3] = b.y;
}

/* Two neighbours at once. */
CSZ_DEVICE void csz_load_pair(float *v, const float *p) {
    const float2 a = __ldcs((const float2 *)p);
    v[0] = a.x;
    v[1] = a.y;
}
CSZ_DEVICE void csz_load_pair(double *v, const double *p) {
    const double2 a = __ldcs((const double2 *)p);
    v[0] = a.x;
    v[1] = a.y;
}

#define CSZ_BIASED 0x80008000u /* a half becomes delta + 2^15 */

/* ---- the tile ---- */

template <typename V> struct csz_job {
    const V *data;
    const typename csz_value<V>::quantizer
        *quantizer; /* of each field; made on the device: a relative bound is known only there */
    const typename csz_value<V>::pointwise *pointwise; /* of each frame, where the bound is pointwise */
    csz_geometry geometry;
    uint64_t to_last;       /* from a whole tile's first element to its last */
    uint64_t slice_nbytes;  /* from a slice of a unit to the next */
    uint32_t default_shape; /* 8 x 16 x 32, 32 x 128 or 4096 */
    uint32_t aligned;       /* every tile's rows start at multiples of 16 bytes */
    uint32_t has_fill;      /* the quantizers' */
    int workflow;
    /* lattices above the field: from a value of a row to the next; whether -0.0 loses its sign.  Others: 0 */
    uint32_t log2_step, drops_sign;
};

/* How a kernel loads rows. ALIGNED: 16 bytes at a time. ODD: value by value. ASKED: as job.aligned says. */
enum { CSZ_ROWS_ASKED, CSZ_ROWS_ALIGNED, CSZ_ROWS_ODD };

/* One tile, as a block works on it; made by one thread. */
struct csz_claim {
    uint64_t origin; /* element, counted from the first field's data */
    uint32_t index;  /* among all tiles of all frames of all fields */
    uint32_t tile;   /* in its frame */
    uint32_t frame;  /* among all frames of all fields */
    uint32_t field;
    uint32_t first;     /* index of the frame's tile 0 */
    uint32_t ntiles;    /* of the frame */
    uint32_t weight;    /* in its frame's hash */
    uint32_t extent[3]; /* elements in the field, */
    uint32_t inside;    /* of each dim and in all */

    __device__ __forceinline__ bool full() const { return inside == CSZ_TILE_N; }
};

CSZ_DEVICE void csz_claim_place(csz_claim *c, const csz_geometry *g, const csz_frame_box *box) {
    csz_tile_box b = csz_tile_box_at(g, box, c->tile);
    c->origin = (b.origin[0] * g->n[1] + b.origin[1]) * g->n[2] + b.origin[2];
    for (int i = 0; i < 3; i++) c->extent[i] = b.extent[i];
    c->inside = (uint32_t)csz_tile_box_count(&b);
}

/* The quantizer of a tile: Z is the type's for absolute bounds, or for pointwise ones. */
template <typename Z, typename V>
CSZ_DEVICE const Z *csz_quantizer_of(const csz_job<V> &job, const csz_claim &c) {
    if constexpr (csz_is_pointwise<Z>::value)
        return job.pointwise + c.frame;
    else
        return job.quantizer + c.field;
}

enum { CSZ_SPECIAL_AT = 26 };

/*
 * What a tile's quanta are relative to: its base, and on the fast path `first`, the base as a half (base
 * - middle + bias), or CSZ_NO_REFERENCE.
 */
template <typename V> struct alignas(8) csz_reference {
    typename csz_value<V>::quantum base;
    uint32_t first;
};
enum : uint32_t { CSZ_NO_REFERENCE = ~0u }; /* the corner has no quantum, or one too large */

template <typename V> struct csz_predict_shared {
    /* The stage of records, then the exchange (last 2048 words).  The slow path uses all for quanta. */
    uint32_t region[CSZ_TILE_N * csz_value<V>::words];
    /* slow path: bitmaps of quanta; then the nonzero codes of each order; later the units' masks */
    uint32_t scratch[4 * CSZ_TILE_UNITS];
    uint32_t hash[CSZ_TILE_THREADS];       /* of units' restored values, before their weights */
    uint32_t exceptions[CSZ_TILE_THREADS]; /* of units, by code */
    csz_reference<V> reference;
    uint32_t klass, is_fill, order;   /* set by the slow path alone */
    uint32_t biased;                  /* CSZ_BIASED, see csz_held */
    uint32_t row_end[CSZ_TILE_WARPS]; /* rank 1: the last quantum of each warp */
    /*
     * Of each warp; sums over warps are the tile's. x, y, z, one for each order: nonzeros | pairs of
     * units with any << 13 | fours << 20. x also: whether the warp has exceptions << CSZ_SPECIAL_AT.
     */
    uint4 stats[CSZ_TILE_WARPS];
    uint4 lanes;                           /* pairs and fours of each warp, where the modes are general */
    double powers[sizeof(V) / 8 * 32 + 1]; /* see csz_power_in_shared; f64 with a pointwise bound */
};

template <typename V> CSZ_DEVICE uint32_t *csz_exchange(csz_predict_shared<V> &sh) {
    return sh.region + sizeof sh.region / 4 - CSZ_EXCHANGE_WORDS;
}

/*
 * Where a thread keeps the reference: registers are scarce while values are rounded.  Only thread 0's copy is
 * read later.  The others write copies of their own, since ptxas spills across a store that only some threads
 * do.
 */
template <typename V> CSZ_DEVICE csz_reference<V> *csz_reference_of(csz_predict_shared<V> &sh) {
    const uint32_t t = csz_thread();
    return t == 0 ? &sh.reference : (csz_reference<V> *)sh.scratch + t;
}

/* What a predictor says of a tile: its class, and whether it is a fill tile. */
template <typename V> struct csz_predicted { uint32_t klass, is_fill; };

/* Weight of a unit in the tile's hash; Horner's scheme supplies the powers of K inside a unit. */
CSZ_DEVICE uint32_t csz_unit_weight(uint32_t unit) { return csz_value_weight(unit, 31); }

/*
 * Bits of the quanta that the fast path takes, in the default shapes: so many that no delta can leave 16
 * bits.  Logarithms, which jump where values change their sign, have all 16: their deltas wrap, as the
 * decoder's sums do.
 */
template <int RANK, typename Z> struct csz_quanta_window {
    enum { wraps = csz_is_pointwise<Z>::value, nbits = wraps ? 16 : 16 - RANK };
};

/*
 * Where a tile's values are. Copied from the job once: a noinline function would load the job again after
 * every store.
 */
template <typename V> struct csz_values {
    const V *tile;
    uint64_t nx, plane; /* elements from row to row and from plane to plane */
    uint32_t extent[3], lx, ly, log2_step, drops_sign;

    __device__ __forceinline__ csz_values(const csz_job<V> &job, const csz_claim &c)
        : tile(job.data + c.origin), nx(job.geometry.n[2]),
          plane(job.geometry.n[1] * job.geometry.n[2]), extent{c.extent[0], c.extent[1], c.extent[2]},
          lx(job.geometry.log2_t[2]), ly(job.geometry.log2_t[1]), log2_step(job.log2_step),
          drops_sign(job.drops_sign) {}

    /* Element e: the nearest one in the field, and whether that is e itself. */
    __device__ __forceinline__ const V *element(uint32_t e, bool *in_field) const {
        uint32_t x = e & ((1u << lx) - 1), y = (e >> lx) & ((1u << ly) - 1), z = e >> (lx + ly);
        *in_field = x < extent[2] && y < extent[1] && z < extent[0];
        x = min(x, extent[2] - 1);
        y = min(y, extent[1] - 1);
        z = min(z, extent[0] - 1);
        return tile + z * plane + y * nx + ((uint64_t)x << log2_step);
    }

    /* What a value of the field is in this lattice. */
    __device__ __forceinline__ V in_lattice(V v) const {
        /* without a branch, across which the compiler moves no load */
        return (drops_sign != 0) & (csz_value<V>::to_bits(v) == csz_value<V>::minus_zero()) ? (V)0 : v;
    }

    /* The value of that element. */
    __device__ __forceinline__ V load(uint32_t e, bool *in_field) const {
        return in_lattice(__ldg(element(e, in_field)));
    }
};

/* p plus nbytes, by an addition: the compiler would derive several such pointers from a common origin. */
template <typename V> CSZ_DEVICE const V *csz_bytes_after(const V *p, uint64_t nbytes) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(p));
#endif
    return (const V *)((const char *)p + nbytes);
}

/* Codes of this thread's unit that lie in the field. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t csz_unit_in_field(const csz_values<V> &values, const csz_claim &c) {
    if (c.full()) return ~0u;
    uint32_t mask = 0;
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++) {
        bool in;
        values.element(csz_code_element(RANK, threadIdx.x, b), &in);
        mask |= (uint32_t)in << b;
    }
    return mask;
}

/* Moves the words between registers and the thread's own part of the exchange. */
CSZ_DEVICE void csz_words_park(uint32_t *exchange, const uint32_t (&w)[16]) {
    const uint32_t t = csz_thread();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        ((uint4 *)exchange)[i * CSZ_TILE_THREADS + t] =
            make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
}

CSZ_DEVICE void csz_words_fetch(uint32_t (&w)[16], const uint32_t *exchange) {
    const uint32_t t = csz_thread();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint4 a = ((const uint4 *)exchange)[i * CSZ_TILE_THREADS + t];
        w[4 * i] = a.x;
        w[4 * i + 1] = a.y;
        w[4 * i + 2] = a.z;
        w[4 * i + 3] = a.w;
    }
}

#endif
