/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pyramid_fast.cuh: prediction by interpolation (predict/pyramid.h) for tiles of the default shapes, with
 * values in registers.  A thread owns a column of cells, 2 x 2 x 2 or 2 x 2 values each, along the slowest
 * dim: 4 cells of a tile of 8 x 16 x 32, 8 cells of a tile of 32 x 128.  Neighbours in the column are the
 * thread's own; others are read from shared memory, where the coarser lattice stands with one step beyond the
 * tile, and then class by class what was restored.
 *
 * The thread's number t is a parameter, since ptxas would keep all that follows from threadIdx.x over the
 * loop of a kernel, which means on the stack.
 *
 * Kernels are bound by instructions and by fetching them, so all cases of the interpolation share one
 * formula without branches: see fast_case.  It holds for tame tiles, whose values cannot overflow; others
 * take the general form.
 */
#ifndef CSZ_CUDA_PYRAMID_FAST_CUH
#define CSZ_CUDA_PYRAMID_FAST_CUH

#include "cuda/predict/pyramid.cuh"

enum { FAST_THREADS = 128 };

CSZ_DEVICE float fast_fma(float a, float b, float c) { return fmaf(a, b, c); }
CSZ_DEVICE double fast_fma(double a, double b, double c) { return fma(a, b, c); }
CSZ_DEVICE float fast_size(float x) { return fabsf(x); }
CSZ_DEVICE double fast_size(double x) { return fabs(x); }

/*
 * Values below it stay finite through three predictions and their sums of four, even with codes of this size
 * added.
 */
CSZ_DEVICE float fast_tame(float) { return 0x1p120f; }
CSZ_DEVICE double fast_tame(double) { return 0x1p1000; }
template <typename V> CSZ_DEVICE bool fast_step_is_tame(V step) {
    return step < fast_tame(step) * (V)0x1p-15;
}

/* ---- cases of the interpolation ---- */

/* csz_reach in 32 bits.  last: index in the tile of the lattice's last value. */
CSZ_DEVICE uint32_t fast_reach(uint32_t i, bool has_before, uint32_t last, uint32_t most) {
    const uint32_t before = i > 0 || has_before, behind = 2 * i + 2 <= last,
                   far_behind = 2 * i + 4 <= (last < most ? last : most);
    return before | behind << 1 | far_behind << 2;
}

/*
 * An interpolation as four operands at steps -1 to 2 from the value before, a sign and a weight:
 *
 *     x = n + sign u,  y = -sign w - z,  both = sign > 0 ? x : w + z,  prediction = both / 2 + (x + y) weight
 *
 * which is csz_interpolate's formula for every reach, bit for bit but for the sign of zeros: a
 * multiplication by 1 or -1 inside a fused multiply-add is exact.  steps: n, u, w, z from bit 0 on, 2 bits
 * each, plus 1.
 */
template <typename V> struct alignas(16) fast_case {
    uint32_t steps;
    int order;
    V sign, weight;
};

/* The cases by reach, in shared memory. */
template <typename V> struct fast_cases {
    fast_case<V> of[8];

    /* By all threads, of which this is number `reach`; a barrier must follow. */
    __device__ __forceinline__ void begin(uint32_t reach) {
        if (reach >= 8) return;
        const auto steps = [](int n, int u, int w, int z) {
            return (uint32_t)((n + 1) | (u + 1) << 2 | (w + 1) << 4 | (z + 1) << 6);
        };
        fast_case<V> c;
        c.order = (int)csz_reach_order(reach);
        c.sign = reach == 7 ? (V)1 : (V)-1;
        c.weight = reach == 7 ? (V)0.075 : reach == 3 || reach == 6 ? (V)0.125 : reach == 1 ? (V)0.5 : (V)0;
        c.steps = reach == 7   ? steps(0, 1, -1, 2)
                  : reach == 3 ? steps(0, -1, 0, 1)
                  : reach == 6 ? steps(1, 2, 1, 0)
                  : reach == 2 ? steps(0, 0, 0, 1)
                  : reach == 1 ? steps(0, -1, 0, 0)
                               : steps(0, 0, 0, 0);
        of[reach] = c;
    }
};

/* The operands' places in an array in shared memory, and what to do with them. */
template <typename V> struct fast_line {
    uint32_t n, u, w, z;
    int order;
    V sign, weight;

    /* at: of the value before; step: from there to the next. */
    __device__ __forceinline__ fast_line(const fast_case<V> &c, uint32_t at, uint32_t step)
        : order(c.order), sign(c.sign), weight(c.weight) {
        const uint32_t steps = c.steps, first = at - step;
        n = first + (steps & 3) * step;
        u = first + (steps >> 2 & 3) * step;
        w = first + (steps >> 4 & 3) * step;
        z = first + (steps >> 6) * step;
    }
    __device__ __forceinline__ V operator()(const V *a) const {
        const V an = a[n], au = a[u], aw = a[w], az = a[z];
        const V x = fast_fma(au, sign, an), y = fast_fma(aw, -sign, -az), both = sign > 0 ? x : aw + az;
        return both * (V)0.5 + (x + y) * weight;
    }
};

/*
 * The cases along a column of N cells in registers, from cell `from` of the tile on; all threads of a warp
 * have the same ones.  WHOLE: the lattice does not end before the tile does, so that of the first cell the
 * reach is 7 or 6, of the last but one 7 or 3, of the last 7, 3 or 1, of others 7.
 */
template <typename V, int N, bool WHOLE> struct fast_column {
    uint32_t reach[N];
    V seventh, third, end; /* weights of reaches 7, 3 or 6, 1 */
    bool is_linear;

    __device__ __forceinline__ fast_column(uint32_t from, bool has_before, uint32_t last, uint32_t most,
                                           int tuning)
        : is_linear((tuning & CSZ_TUNING_LINEAR) != 0) {
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            reach[i] = fast_reach(from + i, has_before, last, most);
            if (WHOLE && i == 0) reach[i] |= 6;
            if (WHOLE && i > 0 && i < N - 2) reach[i] = 7;
        }
        seventh = is_linear ? (V)0 : (V)0.075;
        third = is_linear ? (V)0 : (V)0.125;
        end = is_linear ? (V)0 : (V)0.5;
    }
    /* Between b and c, i known to the compiler. */
    __device__ __forceinline__ V at(int i, V a, V b, V c, V d) const {
        const uint32_t r = reach[i];
        if (WHOLE && i > 0 && i < N - 2) {
            const V both = b + c;
            return both * (V)0.5 + (both - (a + d)) * seventh;
        }
        if (!WHOLE || i == N - 1) c = r & 2 ? c : b;
        const V both = b + c, four = both - (a + d), low = (b - a) + (b - c), high = (c - d) + (c - b);
        V e = !WHOLE   ? (r & 4   ? high
                          : r & 1 ? low
                                  : (V)0)
              : i == 0 ? high
                       : low,
          weight = WHOLE    ? third
                   : r == 2 ? (V)0
                            : third;
        if (!WHOLE || i == N - 1) weight = r < 2 ? end : weight;
        e = r == 7 ? four : e;
        weight = r == 7 ? seventh : weight;
        return both * (V)0.5 + e * weight;
    }
    __device__ __forceinline__ int order(int i) const {
        return (int)csz_reach_order(is_linear ? reach[i] & 2 : reach[i]);
    }
};

/* Of the dims that count: those of the highest order, in the order z, y, x. */
template <typename V> CSZ_DEVICE V fast_mean(int op, V p, int oq, V q) {
    return op == oq ? pyramid_value<V>::mean2(p, q) : op > oq ? p : q;
}
template <typename V> CSZ_DEVICE V fast_mean(int op, V p, int oq, V q, int or_, V r) {
    typedef pyramid_value<V> value;
    const int most = max(op, max(oq, or_));
    const bool has_p = op == most, has_q = oq == most, has_r = or_ == most;
    const V first = has_p ? p : q, second = has_p && has_q ? q : r;
    const V mean = has_p + has_q + has_r == 1 ? (has_p ? p : has_q ? q : r) : value::mean2(first, second);
    return has_p && has_q && has_r ? value::mean3(p, q, r) : mean;
}

/* ---- shapes ---- */

/* Whether a tile has the shape of the fast form, and whether the lattice has all of it. */
template <int RANK, typename V> CSZ_DEVICE bool pyramid_is_fast(const pyramid_place<V> &p) {
    return p.rank == RANK && p.t[0] == (RANK == 3 ? 8 : 1) && p.t[1] == (RANK == 3 ? 16 : 32) &&
           p.t[2] == (RANK == 3 ? 32 : 128);
}
template <int RANK, typename V> CSZ_DEVICE bool pyramid_is_whole(const pyramid_place<V> &p) {
    return pyramid_is_fast<RANK>(p) && p.extent[0] == p.t[0] && p.extent[1] == p.t[1] &&
           p.extent[2] == p.t[2];
}

template <typename V, int RANK> struct fast_tile;

/*
 * Tiles of 8 x 16 x 32.  Rows are 20 values long, and a warp has the rows j and j + 4 of cells, so that its
 * threads meet all banks.
 */
template <typename V> struct fast_tile<V, 3> {
    enum {
        CELLS = 4, /* of a thread's column */
        Y = 8,
        X = 16,
        CLASS_N = 512,
        ROW = X + 4,
        COARSER_PLANE = (Y + 3) * ROW, /* from row and column -1 on */
        PLANE = (Y + 1) * ROW,
        LAST_CLASS = 7
    };
    struct shared {
        V coarser[(CELLS + 3) * COARSER_PLANE]; /* from plane -1 on; later classes zy and zx */
        V z[CELLS * PLANE], y[(CELLS + 1) * PLANE], x[(CELLS + 1) * PLANE];
    };
    typedef V values[CELLS][8]; /* of a column: by cell and class, z << 2 | y << 1 | x */

    /* The place of thread t's column among the tile's. */
    static __device__ __forceinline__ uint32_t column_y(uint32_t t) { return t / 32 | (t >> 2 & 4); }
    static __device__ __forceinline__ uint32_t column_x(uint32_t t) { return t % X; }

    /*
     * Number of the code of class 0 of cell i in a whole tile, and in any; the next class's is CLASS_N
     * further.
     */
    static __device__ __forceinline__ uint32_t code(uint32_t t, int i, const pyramid_codes &c) {
        return (uint32_t)c.z[i] + c.y[column_y(t)] + c.x[column_x(t)];
    }
    static __device__ __forceinline__ uint32_t code(uint32_t t, int i) {
        const uint32_t j = column_y(t), k = column_x(t);
        return (k & 1) | (j & 1) << 1 | (uint32_t)(i & 1) << 2 | (k & 2) << 2 | (j & 2) << 3 |
               (uint32_t)(i & 2) << 4 | (k & 4) << 4 | (j & 4) << 5 | (k & 8) << 5;
    }
    /* The coordinates of a value of the column in the tile. */
    static __device__ __forceinline__ void place(uint32_t t, int i, int odd, uint32_t *z, uint32_t *y,
                                                 uint32_t *x) {
        *z = 2 * (uint32_t)i + (uint32_t)(odd >> 2);
        *y = 2 * column_y(t) + (uint32_t)(odd >> 1 & 1);
        *x = 2 * column_x(t) + (uint32_t)(odd & 1);
    }

    /*
     * The coarser lattice in and around the tile; returns whether the thread's values are tame.  A barrier
     * must follow.
     */
    static __device__ __forceinline__ bool load_coarser(uint32_t t, shared &s, const pyramid_place<V> &p) {
        enum { ROUNDS = 2, N = (Y + 3) * (X + 3) };
        const uint32_t nz = (p.n[0] + 1) / 2, ny = (p.n[1] + 1) / 2, nx = (p.n[2] + 1) / 2;
        const V limit = fast_tame((V)0);
        bool is_tame = true;
        uint64_t from[ROUNDS];
        uint32_t to[ROUNDS];
#pragma unroll
        for (uint32_t r = 0; r < ROUNDS; r++) {
            const uint32_t i = t + r * FAST_THREADS, y = i / (X + 3), x = i - y * (X + 3);
            /* one before the tile; what lies outside the lattice is never used */
            from[r] = min(max(p.at[1] / 2 + y, 1u) - 1, ny - 1) * p.coarser_row +
                      min(max(p.at[2] / 2 + x, 1u) - 1, nx - 1);
            to[r] = y * ROW + x;
        }
        V v[CELLS + 3][ROUNDS];
        const bool has_second = t + FAST_THREADS < N;
#pragma unroll
        for (uint32_t z = 0; z < CELLS + 3; z++) {
            const V *plane = p.coarser + min(max(p.at[0] / 2 + z, 1u) - 1, nz - 1) * p.coarser_plane;
            v[z][0] = csz_load_fresh(plane + from[0]);
            v[z][1] = has_second ? csz_load_fresh(plane + from[1]) : (V)0;
        }
#pragma unroll
        for (uint32_t z = 0; z < CELLS + 3; z++) {
            is_tame = is_tame & (fast_size(v[z][0]) < limit) & (fast_size(v[z][1]) < limit);
            s.coarser[z * COARSER_PLANE + to[0]] = v[z][0];
            if (has_second) s.coarser[z * COARSER_PLANE + to[1]] = v[z][1];
        }
        return is_tame;
    }

    /*
     * Values of all classes.  code(class's place in csz_class_at, i, prediction, v) makes a restored value
     * of v, i: of the cell; code.row(i, r, values) is told when row r of a cell is complete, its values 2 r
     * and 2 r + 1.  Faces: lanes 0 to 16 of warp w have the columns (8, lane) of plane w, the next 8 lanes
     * (lane - 17, 16).  The coarser lattice has been loaded, and is tame.  Has barriers, code.meet().
     */
    template <bool WHOLE, typename Code>
    static __device__ __forceinline__ void restore(uint32_t t, shared &s, const fast_cases<V> &cases,
                                                   const pyramid_place<V> &p, values &v, Code &code) {
        const uint32_t counting = csz_tuning_reach(p.tuning), lane = t & 31, warp = t / 32;
        const uint32_t j = column_y(t), k = column_x(t), to = j * ROW + k, all = ~0u;
        const uint32_t last_z = p.n[0] - 1 - p.at[0], last_y = p.n[1] - 1 - p.at[1],
                       last_x = p.n[2] - 1 - p.at[2];
        const auto above_y = [&](uint32_t i) -> const fast_case<V> & {
            return cases.of[fast_reach(i, p.at[1] > 0, last_y, all) & counting];
        };
        const auto above_x = [&](uint32_t i) -> const fast_case<V> & {
            return cases.of[fast_reach(i, p.at[2] > 0, last_x, all) & counting];
        };
        const bool at_y = lane <= X, is_face = lane <= X + Y;
        const uint32_t fj = at_y ? (uint32_t)Y : lane - X - 1, fk = at_y ? lane : (uint32_t)X,
                       face = fj * ROW + fk;
        V cy[CELLS + 1], cx[CELLS + 1], pz[CELLS], py[CELLS], px[CELLS];
        V zface, rface; /* of classes z and, along the face, y or x */
        {
            const uint32_t at = to + ROW + 1; /* in a plane of the coarser lattice */
            const fast_line<V> along_y(above_y(j), at, ROW), along_x(above_x(k), at, 1);
            const fast_column<V, CELLS, WHOLE> above(0, p.at[0] > 0, last_z, all, p.tuning);
            V c[CELLS + 3];
#pragma unroll
            for (int i = 0; i < CELLS + 3; i++) c[i] = s.coarser[i * COARSER_PLANE + at];
#pragma unroll
            for (int i = 0; i < CELLS; i++) {
                pz[i] = above.at(i, c[i], c[i + 1], c[i + 2], c[i + 3]);
                py[i] = along_y(s.coarser + (i + 1) * COARSER_PLANE);
                px[i] = along_x(s.coarser + (i + 1) * COARSER_PLANE);
            }
            cy[CELLS] = along_y(s.coarser + (CELLS + 1) * COARSER_PLANE);
            cx[CELLS] = along_x(s.coarser + (CELLS + 1) * COARSER_PLANE);
            const uint32_t face_at = face + ROW + 1;
            const fast_line<V> along_z(cases.of[fast_reach(warp, p.at[0] > 0, last_z, all) & counting],
                                       (warp + 1) * COARSER_PLANE + face_at, COARSER_PLANE),
                line(at_y ? above_x(fk) : above_y(fj), face_at, at_y ? 1 : ROW);
            zface = along_z(s.coarser);
            rface = line(s.coarser + (warp + 1) * COARSER_PLANE);
            if (is_face && warp == CELLS - 1)
                (at_y ? s.x : s.y)[CELLS * PLANE + face] = line(s.coarser + (CELLS + 1) * COARSER_PLANE);
#pragma unroll
            for (int i = 0; i < CELLS; i++) {
                v[i][0] = code(0, i, c[i + 1], v[i][0]);
                v[i][4] = code(1, i, pz[i], v[i][4]);
                cy[i] = v[i][2] = code(2, i, py[i], v[i][2]);
                cx[i] = v[i][1] = code(3, i, px[i], v[i][1]);
            }
        }
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            s.z[i * PLANE + to] = v[i][4];
            code.row(i, 0, v[i]);
        }
#pragma unroll
        for (int i = 0; i <= CELLS; i++) {
            s.y[i * PLANE + to] = cy[i];
            s.x[i * PLANE + to] = cx[i];
        }
        if (is_face) {
            s.z[warp * PLANE + face] = zface;
            (at_y ? s.x : s.y)[warp * PLANE + face] = rface;
        }
        code.meet();
        const auto own_y = [&](uint32_t i) -> const fast_case<V> & {
            return cases.of[fast_reach(i, false, last_y, 2 * Y) & counting];
        };
        const auto own_x = [&](uint32_t i) -> const fast_case<V> & {
            return cases.of[fast_reach(i, false, last_x, 2 * X) & counting];
        };
        const bool across = (p.tuning & CSZ_TUNING_ACROSS) != 0;
        const fast_column<V, CELLS, WHOLE> own(0, false, last_z, 2 * CELLS, p.tuning);
        const fast_line<V> along_y(own_y(j), to, ROW), along_x(own_x(k), to, 1);
        const auto column = [&](const V(&c)[CELLS + 1], int i) {
            return own.at(i, c[i > 0 ? i - 1 : 0], c[i], c[i + 1], c[i + 2 <= CELLS ? i + 2 : CELLS]);
        };
        V *zy = s.coarser, *zx = s.coarser + CELLS * PLANE;
        static_assert(2 * CELLS * PLANE <= (CELLS + 3) * COARSER_PLANE, "two classes have room");
        V fyx[CELLS + 1], pzy[CELLS], pzx[CELLS], pyx[CELLS];
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            const int oz = across ? -1 : own.order(i);
            pzy[i] = fast_mean(oz, column(cy, i), along_y.order, along_y(s.z + i * PLANE));
            pzx[i] = fast_mean(oz, column(cx, i), along_x.order, along_x(s.z + i * PLANE));
            pyx[i] =
                fast_mean(along_y.order, along_y(s.x + i * PLANE), along_x.order, along_x(s.y + i * PLANE));
        }
        fyx[CELLS] = fast_mean(along_y.order, along_y(s.x + CELLS * PLANE), along_x.order,
                               along_x(s.y + CELLS * PLANE));
        const bool has_face = is_face && lane != X;
        {
            const fast_line<V> along_z(cases.of[fast_reach(warp, false, last_z, 2 * CELLS) & counting],
                                       warp * PLANE + face, PLANE),
                line(at_y ? own_x(fk) : own_y(fj), face, at_y ? 1 : ROW);
            zface = fast_mean(across ? -1 : along_z.order, along_z(at_y ? s.x : s.y), line.order,
                              line(s.z + warp * PLANE));
        }
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            v[i][6] = code(4, i, pzy[i], v[i][6]);
            v[i][5] = code(5, i, pzx[i], v[i][5]);
            fyx[i] = v[i][3] = code(6, i, pyx[i], v[i][3]);
        }
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            zy[i * PLANE + to] = v[i][6];
            zx[i * PLANE + to] = v[i][5];
            code.row(i, 1, v[i]);
            code.row(i, 2, v[i]);
        }
        if (has_face) (at_y ? zx : zy)[warp * PLANE + face] = zface;
        code.meet();
        V q[CELLS];
#pragma unroll
        for (int i = 0; i < CELLS; i++)
            q[i] = fast_mean(across ? -1 : own.order(i), column(fyx, i), along_y.order,
                             along_y(zx + i * PLANE), along_x.order, along_x(zy + i * PLANE));
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            v[i][7] = code(7, i, q[i], v[i][7]);
            code.row(i, 3, v[i]);
        }
    }
};

/* Tiles of 32 x 128: a column has 8 of its 16 cells. */
template <typename V> struct fast_tile<V, 2> {
    enum {
        CELLS = 8,
        Y = 16,
        X = 64,
        CLASS_N = 1024,
        COARSER_ROW = X + 3, /* from column -1 on */
        ROW = X + 1,
        LAST_CLASS = 3
    };
    struct shared {
        V coarser[(Y + 3) * COARSER_ROW]; /* from row -1 on */
        V y[Y * ROW];
        V x[3][X]; /* rows 7, 8 and 9, which the other half needs */
    };
    typedef V values[CELLS][4]; /* of a column: by cell and class, y << 1 | x */

    static __device__ __forceinline__ uint32_t code(uint32_t t, int i, const pyramid_codes &c) {
        return (uint32_t)c.y[(uint32_t)i + t / X * CELLS] + c.x[t % X];
    }
    static __device__ __forceinline__ uint32_t code(uint32_t t, int i) {
        const uint32_t k = t % X, j = (uint32_t)i | t / X * CELLS;
        return (k & 1) | (j & 1) << 1 | (k & 2) << 1 | (j & 2) << 2 | (k & 4) << 2 | (j & 4) << 3 |
               (k & 8) << 3 | (j & 8) << 4 | (k & 48) << 4;
    }
    static __device__ __forceinline__ void place(uint32_t t, int i, int odd, uint32_t *z, uint32_t *y,
                                                 uint32_t *x) {
        *z = 0;
        *y = 2 * (t / X * CELLS + (uint32_t)i) + (uint32_t)(odd >> 1);
        *x = 2 * (t % X) + (uint32_t)(odd & 1);
    }

    static __device__ __forceinline__ bool load_coarser(uint32_t t, shared &s, const pyramid_place<V> &p) {
        const uint32_t ny = (p.n[1] + 1) / 2, nx = (p.n[2] + 1) / 2, lane = t & 31;
        const V limit = fast_tame((V)0);
        bool is_tame = true;
        uint32_t cx[3];
#pragma unroll
        for (uint32_t r = 0; r < 3; r++) cx[r] = min(max(p.at[2] / 2 + lane + 32 * r, 1u) - 1, nx - 1);
        enum { ROUNDS = (Y + 6) / 4 }; /* a warp has every fourth row */
        V v[ROUNDS][3];
#pragma unroll
        for (uint32_t r = 0; r < ROUNDS; r++) {
            const uint32_t y = t / 32 + 4 * r, cy = min(max(p.at[1] / 2 + y, 1u) - 1, ny - 1);
            const V *from = p.coarser + cy * p.coarser_row;
            v[r][0] = csz_load_fresh(from + cx[0]);
            v[r][1] = csz_load_fresh(from + cx[1]);
            v[r][2] = lane < 3 ? csz_load_fresh(from + cx[2]) : (V)0;
        }
#pragma unroll
        for (uint32_t r = 0; r < ROUNDS; r++) {
            const uint32_t y = t / 32 + 4 * r;
            V *to = s.coarser + y * COARSER_ROW + lane;
            if (y >= Y + 3) break;
            is_tame = is_tame & (fast_size(v[r][0]) < limit) & (fast_size(v[r][1]) < limit) &
                      (fast_size(v[r][2]) < limit);
            to[0] = v[r][0];
            to[32] = v[r][1];
            if (lane < 3) to[64] = v[r][2];
        }
        return is_tame;
    }

    template <bool WHOLE, typename Code>
    static __device__ __forceinline__ void restore(uint32_t t, shared &s, const fast_cases<V> &cases,
                                                   const pyramid_place<V> &p, values &v, Code &code) {
        const uint32_t counting = csz_tuning_reach(p.tuning), half = t / X, k = t % X;
        const uint32_t first = half * CELLS; /* the column's first row of cells */
        const bool is_low_y = p.at[1] > 0, is_low_x = p.at[2] > 0;
        const uint32_t last_y = p.n[1] - 1 - p.at[1], last_x = p.n[2] - 1 - p.at[2], all = ~0u;
        V cx[CELLS + 3]; /* from row -1 on */
        {
            const fast_line<V> along_x(cases.of[fast_reach(k, is_low_x, last_x, all) & counting], k + 1, 1);
            const fast_column<V, CELLS, WHOLE> above(first, is_low_y, last_y, all, p.tuning);
            const V *rows = s.coarser + first * COARSER_ROW; /* from the one before the column on */
            V c[CELLS + 3];
#pragma unroll
            for (int i = 0; i < CELLS + 3; i++) c[i] = rows[i * COARSER_ROW + k + 1];
#pragma unroll
            for (int i = 0; i < CELLS; i++) {
                v[i][0] = code(0, i, c[i + 1], v[i][0]);
                v[i][2] = code(1, i, above.at(i, c[i], c[i + 1], c[i + 2], c[i + 3]), v[i][2]);
                cx[i + 1] = v[i][1] = code(2, i, along_x(rows + (i + 1) * COARSER_ROW), v[i][1]);
                s.y[(first + (uint32_t)i) * ROW + k] = v[i][2];
                code.row(i, 0, v[i]);
            }
            cx[CELLS + 1] =
                along_x(rows + (CELLS + 1) * COARSER_ROW); /* the upper face, for the second half */
            if (half) {
                s.x[1][k] = cx[1];
                s.x[2][k] = cx[2];
            } else {
                s.x[0][k] = cx[CELLS];
            }
        }
        if (t < Y) { /* the upper face along x */
            const fast_line<V> line(cases.of[fast_reach(t, is_low_y, last_y, all) & counting],
                                    (t + 1) * COARSER_ROW + X + 1, COARSER_ROW);
            s.y[t * ROW + X] = line(s.coarser);
        }
        code.meet();
        const fast_line<V> along_x(cases.of[fast_reach(k, false, last_x, 2 * X) & counting], k, 1);
        const fast_column<V, CELLS, WHOLE> own(first, false, last_y, 2 * Y, p.tuning);
        cx[0] = half ? s.x[0][k] : cx[1];
        cx[CELLS + 1] = half ? cx[CELLS + 1] : s.x[1][k];
        cx[CELLS + 2] = half ? cx[CELLS + 1] : s.x[2][k];
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            const V q = fast_mean(own.order(i), own.at(i, cx[i], cx[i + 1], cx[i + 2], cx[i + 3]),
                                  along_x.order, along_x(s.y + (first + (uint32_t)i) * ROW));
            v[i][3] = code(3, i, q, v[i][3]);
            code.row(i, 1, v[i]);
        }
    }
};

/*
 * row(i, r, plane, y) for each row r of each cell i of a column, which is in that plane and row of values
 * from the column's first on.
 */
template <int RANK, typename Row> CSZ_DEVICE void fast_rows(const Row &row) {
#pragma unroll
    for (int i = 0; i < fast_tile<float, RANK>::CELLS; i++) {
#pragma unroll
        for (int r = 0; r < (1 << (RANK - 1)); r++)
            row(i, r, RANK == 3 ? 2 * i + (r >> 1) : 0, RANK == 3 ? r & 1 : 2 * i + r);
    }
}

/* ---- checksums ---- */

/*
 * The checksum of a thread's values.  The weight of class c has the factor J^(CLASS_N / 256 (LAST_CLASS -
 * c)), so that sums over classes are Horner's; what is left of it depends on the column and i alone.
 */
template <typename V, int RANK> struct fast_hash {
    typedef fast_tile<V, RANK> tile;
    uint32_t of[tile::CELLS];

    __device__ __forceinline__ fast_hash() {
#pragma unroll
        for (int i = 0; i < tile::CELLS; i++) of[i] = 0;
    }
    __device__ __forceinline__ void add(int i, uint32_t term) {
        const uint32_t two = CSZ_VALUE_J * CSZ_VALUE_J;
        of[i] = of[i] * (RANK == 3 ? two : two * two) + term;
    }
    /* The same in any order: of the value with these odd coordinates, z << 2 | y << 1 | x. */
    __device__ __forceinline__ void add_of(int i, int odd, uint32_t term) {
        const uint32_t two = CSZ_VALUE_J * CSZ_VALUE_J,
                       behind = (uint32_t)tile::LAST_CLASS - pyramid_class_place(RANK, (uint32_t)odd);
        of[i] += csz_pow_u32(RANK == 3 ? two : two * two, behind) * term;
    }
    /* number(i): of the code of class 0 of cell i.  csz_value_weight is the product of these. */
    template <typename Number>
    __device__ __forceinline__ uint32_t sum(const uint32_t *unit_weight, const uint32_t *code_weight,
                                            const Number &number) const {
        uint32_t all = 0;
#pragma unroll
        for (int i = 0; i < tile::CELLS; i++) {
            const uint32_t code = number(i) + tile::LAST_CLASS * tile::CLASS_N; /* whose factor is 1 */
            all += of[i] * (unit_weight[code >> 5] * code_weight[code & 31]);
        }
        return all;
    }
};

/* A row of a coarser lattice in and around a tile. */
static __device__ double csz_zeros[68];
static_assert(fast_tile<double, 2>::X + 3 <= 68 && fast_tile<double, 3>::X + 3 <= 68, "it has room");

/*
 * One thread: the tile is predicted from zeros, as its coarser lattice is not restored yet (CSZ_REHEARSE).
 * load_coarser counts from the lattice's first value, and begins with the one before the tile.
 */
template <typename V> CSZ_DEVICE void place_rehearse(pyramid_place<V> *p) {
    p->coarser = (const V *)csz_zeros - (max(p->at[2] / 2, 1u) - 1);
    p->coarser_row = p->coarser_plane = 0;
}

#endif
