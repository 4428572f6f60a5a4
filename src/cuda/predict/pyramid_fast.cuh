/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pyramid_fast.cuh: prediction by interpolation (predict/pyramid.h) for whole tiles of 8 x 16 x 32.  Thread 16 j + k owns the column of
 * 8 x 2 x 2 values at (2 j, 2 k), all of it in registers: 4 of the coarser lattice and 28 in seven classes.  Along z neighbours are its
 * own; along y and x they are read from shared memory, where the coarser lattice stands with one step beyond the tile, and then
 * class by class what was restored.  The last warp predicts the values at the tile's upper faces along y and x, too.
 */
#ifndef CSZ_CUDA_PYRAMID_FAST_CUH
#define CSZ_CUDA_PYRAMID_FAST_CUH

#include "cuda/predict/pyramid.cuh"

enum { FAST_Z = 4, FAST_Y = 8, FAST_X = 16, FAST_THREADS = FAST_Y * FAST_X };

/* Shared memory of a tile: the coarser lattice, and classes as neighbours read them, with upper faces. */
template <typename V> struct pyramid_fast_shared {
    V coarser[FAST_Z + 3][FAST_Y + 3][FAST_X + 3];
    V z[FAST_Z][FAST_Y + 1][FAST_X + 1], y[FAST_Z + 1][FAST_Y][FAST_X + 1], x[FAST_Z + 1][FAST_Y + 1][FAST_X];
    V zx[FAST_Z][FAST_Y + 1][FAST_X], zy[FAST_Z][FAST_Y][FAST_X + 1];
};

/* Whether a tile can be predicted so. */
template <typename V> CSZ_DEVICE bool pyramid_is_fast(const pyramid_place<V> &p) {
    return p.rank == 3 && p.t[0] == 2 * FAST_Z && p.t[1] == 2 * FAST_Y && p.t[2] == 2 * FAST_X &&
           p.extent[0] == 2 * FAST_Z && p.extent[1] == 2 * FAST_Y && p.extent[2] == 2 * FAST_X;
}

/* Neighbours of the thread's values, as csz_reach names them: along z of each of four, in bits 4 i; along y and x. */
struct fast_reach {
    uint32_t z, y, x;
};

template <typename V> CSZ_DEVICE fast_reach fast_reach_of(const pyramid_place<V> &p, int from_coarser) {
    const uint32_t t = threadIdx.x, counting = csz_tuning_reach(p.tuning);
    fast_reach r = {0, 0, 0};
#pragma unroll
    for (uint32_t i = 0; i < FAST_Z; i++)
        r.z |= (csz_reach(i, p.t[0], p.at[0], p.n[0], from_coarser) & counting) << (4 * i);
    r.y = csz_reach(t / FAST_X, p.t[1], p.at[1], p.n[1], from_coarser) & counting;
    r.x = csz_reach(t % FAST_X, p.t[2], p.at[2], p.n[2], from_coarser) & counting;
    return r;
}

/*
 * SIMPLE: every value has neighbours on both sides, three at least: so it is in tiles that do not end at the lattice's upper faces.  Then all
 * cases are computed and one is taken, since threads of a warp have different ones.
 */
template <bool SIMPLE, typename V> CSZ_DEVICE V fast_interpolate(uint32_t reach, V a, V b, V c, V d) {
    if (!SIMPLE) return pyramid_value<V>::interpolate(reach, a, b, c, d);
    const V both = b + c, four = both - (a + d), low = (b - a) + (b - c), high = (c - d) + (c - b);
    const V e = reach == 7 ? four : reach == 3 ? low : high, weight = reach == 7 ? (V)0.075 : (V)0.125;
    return both * (V)0.5 + e * weight;
}

/* The same along z, where all threads have the same case. */
template <bool SIMPLE, typename V> CSZ_DEVICE V fast_along_z(uint32_t reach, V a, V b, V c, V d) {
    return pyramid_value<V>::interpolate(SIMPLE && reach != 7 && reach != 3 ? 6 : reach, a, b, c, d);
}

/* Of the dims that count: those of the highest order, in the order z, y, x. */
template <typename V> CSZ_DEVICE V fast_mean(int op, V p, int oq, V q) {
    return pyramid_value<V>::prediction(op == oq ? pyramid_value<V>::mean2(p, q) : op > oq ? p : q);
}
template <typename V> CSZ_DEVICE V fast_mean(int op, V p, int oq, V q, int or_, V r) {
    typedef pyramid_value<V> value;
    const int most = max(op, max(oq, or_));
    const bool has_p = op == most, has_q = oq == most, has_r = or_ == most;
    const V first = has_p ? p : q, second = has_p && has_q ? q : r;
    const V mean = has_p + has_q + has_r == 1 ? (has_p ? p : has_q ? q : r) : value::mean2(first, second);
    return value::prediction(has_p && has_q && has_r ? value::mean3(p, q, r) : mean);
}

/* The coarser lattice in and around the tile; a barrier must follow. */
template <typename V>
CSZ_DEVICE void fast_load_coarser(pyramid_fast_shared<V> &s, const pyramid_place<V> &p) {
    const uint32_t n[3] = {(p.n[0] + 1) / 2, (p.n[1] + 1) / 2, (p.n[2] + 1) / 2};
    V *to = &s.coarser[0][0][0];
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < sizeof s.coarser / sizeof(V); i += FAST_THREADS) {
        const uint32_t x = i % (FAST_X + 3), row = i / (FAST_X + 3), y = row % (FAST_Y + 3),
                       z = row / (FAST_Y + 3);
        /* one before the tile; what lies outside the lattice is never used */
        const uint32_t cz = min(max(p.at[0] / 2 + z, 1u) - 1, n[0] - 1),
                       cy = min(max(p.at[1] / 2 + y, 1u) - 1, n[1] - 1),
                       cx = min(max(p.at[2] / 2 + x, 1u) - 1, n[2] - 1);
        to[i] = p.coarser[cz * p.coarser_plane + cy * p.coarser_row + cx];
    }
}

/*
 * Values of all classes.  v[z][y][x]: the column's; code(class's place in csz_class_at, i, prediction, v) makes a restored value of v, i: along
 * z.  The coarser lattice has been loaded.  Has barriers.
 */
template <bool SIMPLE, typename V, typename Code>
CSZ_DEVICE void pyramid_fast(pyramid_fast_shared<V> &s, const pyramid_place<V> &p, V (&v)[2 * FAST_Z][2][2],
                             Code &code) {
    typedef pyramid_value<V> value;
    const uint32_t t = threadIdx.x, j = t / FAST_X, k = t % FAST_X;
    const fast_reach above = fast_reach_of(p, 1), own = fast_reach_of(p, 0);
    const uint32_t face = t - (FAST_THREADS - 32); /* of a column at the upper faces, in the last warp */
    const bool at_y = face < FAST_X,
               at_x = face - FAST_X <= FAST_Y && face < 32; /* along y; along x with the corner */
    const uint32_t fj = at_y ? (uint32_t)FAST_Y : face - FAST_X, fk = at_y ? face : (uint32_t)FAST_X;
    const bool across = !SIMPLE && p.tuning & CSZ_TUNING_ACROSS;
    const auto reach_z = [](const fast_reach &r, int i) { return r.z >> (4 * i) & 7; };
    const auto along_x = [&](uint32_t reach,
                             const V *b) { /* in a row */
                                           return fast_interpolate<SIMPLE>(reach, b[reach & 1 ? -1 : 0], b[0],
                                                                           b[1], b[reach & 4 ? 2 : 1]);
    };
    const auto along_y = [&](uint32_t reach, const V *b, int row) {
        return fast_interpolate<SIMPLE>(reach, b[reach & 1 ? -row : 0], b[0], b[row],
                                        b[reach & 4 ? 2 * row : row]);
    };
    const auto column_z = [&](uint32_t reach, const V(&c)[FAST_Z + 1], int i) {
        return fast_along_z<SIMPLE>(reach, c[i > 0 ? i - 1 : 0], c[i], c[i + 1],
                                    c[i + 2 <= FAST_Z ? i + 2 : FAST_Z]);
    };
    V cz[FAST_Z], cy[FAST_Z + 1], cx[FAST_Z + 1]; /* restored values of the classes z, y, x */
#pragma unroll
    for (int i = 0; i <= FAST_Z; i++) {
        const V *c = &s.coarser[i + 1][j + 1][k + 1];
        const int row = FAST_X + 3, plane = row * (FAST_Y + 3);
        const V py = value::prediction(along_y(above.y, c, row)), px = value::prediction(along_x(above.x, c));
        if (i < FAST_Z) {
            const uint32_t reach = reach_z(above, i);
            const V pz = value::prediction(
                fast_along_z<SIMPLE>(reach, c[-plane], c[0], c[plane], c[reach & 4 ? 2 * plane : plane]));
            v[2 * i][0][0] = code(0, i, c[0], v[2 * i][0][0]);
            s.z[i][j][k] = cz[i] = v[2 * i + 1][0][0] = code(1, i, pz, v[2 * i + 1][0][0]);
            s.y[i][j][k] = cy[i] = v[2 * i][1][0] = code(2, i, py, v[2 * i][1][0]);
            s.x[i][j][k] = cx[i] = v[2 * i][0][1] = code(3, i, px, v[2 * i][0][1]);
        } else {
            s.y[i][j][k] = cy[i] = py;
            s.x[i][j][k] = cx[i] = px;
        }
    }
    if (csz_agreed(t >= FAST_THREADS - 32) && (at_y || at_x)) {
        const uint32_t ry = csz_reach(fj, p.t[1], p.at[1], p.n[1], 1) & csz_tuning_reach(p.tuning),
                       rx = csz_reach(fk, p.t[2], p.at[2], p.n[2], 1) & csz_tuning_reach(p.tuning);
#pragma unroll
        for (int i = 0; i <= FAST_Z; i++) {
            const V *c = &s.coarser[i + 1][fj + 1][fk + 1];
            const int row = FAST_X + 3, plane = row * (FAST_Y + 3);
            if (i < FAST_Z) {
                const uint32_t reach = reach_z(above, i);
                s.z[i][fj][fk] = value::prediction(
                    fast_along_z<SIMPLE>(reach, c[-plane], c[0], c[plane], c[reach & 4 ? 2 * plane : plane]));
            }
            if (at_y) s.x[i][fj][fk] = value::prediction(along_x(rx, c));
            if (at_x && fj < FAST_Y) s.y[i][fj][fk] = value::prediction(along_y(ry, c, row));
        }
    }
    __syncthreads();
    const int oy = (int)csz_reach_order(own.y), ox = (int)csz_reach_order(own.x);
    V fzx[FAST_Z], fzy[FAST_Z], fyx[FAST_Z + 1];
#pragma unroll
    for (int i = 0; i <= FAST_Z; i++) {
        const V yx_y = along_y(own.y, &s.x[i][j][k], FAST_X), yx_x = along_x(own.x, &s.y[i][j][k]);
        const V pyx = fast_mean(oy, yx_y, ox, yx_x);
        if (i < FAST_Z) {
            const uint32_t reach = reach_z(own, i);
            const int oz = across ? -1 : (int)csz_reach_order(reach);
            const V pzy =
                        fast_mean(oz, column_z(reach, cy, i), oy, along_y(own.y, &s.z[i][j][k], FAST_X + 1)),
                    pzx = fast_mean(oz, column_z(reach, cx, i), ox, along_x(own.x, &s.z[i][j][k]));
            s.zy[i][j][k] = fzy[i] = v[2 * i + 1][1][0] = code(4, i, pzy, v[2 * i + 1][1][0]);
            s.zx[i][j][k] = fzx[i] = v[2 * i + 1][0][1] = code(5, i, pzx, v[2 * i + 1][0][1]);
            fyx[i] = v[2 * i][1][1] = code(6, i, pyx, v[2 * i][1][1]);
        } else {
            fyx[i] = pyx;
        }
    }
    if (csz_agreed(t >= FAST_THREADS - 32) && face < FAST_X + FAST_Y) {
        const uint32_t ry = csz_reach(fj, p.t[1], p.at[1], p.n[1], 0) & csz_tuning_reach(p.tuning),
                       rx = csz_reach(fk, p.t[2], p.at[2], p.n[2], 0) & csz_tuning_reach(p.tuning);
        V column[FAST_Z + 1];
#pragma unroll
        for (int i = 0; i <= FAST_Z; i++)
            column[i] = at_y ? s.x[i][FAST_Y][fk % FAST_X] : s.y[i][fj % FAST_Y][FAST_X];
#pragma unroll
        for (int i = 0; i < FAST_Z; i++) {
            const uint32_t reach = reach_z(own, i);
            const int oz = across ? -1 : (int)csz_reach_order(reach);
            const V along = column_z(reach, column, i);
            if (at_y)
                s.zx[i][FAST_Y][fk] =
                    fast_mean(oz, along, (int)csz_reach_order(rx), along_x(rx, &s.z[i][FAST_Y][fk]));
            else
                s.zy[i][fj][FAST_X] = fast_mean(oz, along, (int)csz_reach_order(ry),
                                                along_y(ry, &s.z[i][fj][FAST_X], FAST_X + 1));
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < FAST_Z; i++) {
        const uint32_t reach = reach_z(own, i);
        const int oz = across ? -1 : (int)csz_reach_order(reach);
        const V q = fast_mean(oz, column_z(reach, fyx, i), oy, along_y(own.y, &s.zx[i][j][k], FAST_X), ox,
                              along_x(own.x, &s.zy[i][j][k]));
        v[2 * i + 1][1][1] = code(7, i, q, v[2 * i + 1][1][1]);
    }
}

/* Whether the simple form is right for a tile. */
template <typename V> CSZ_DEVICE bool pyramid_is_simple(const pyramid_place<V> &p) {
    bool has_faces = true;
#pragma unroll
    for (int i = 0; i < 3; i++) has_faces = has_faces && p.n[i] - p.at[i] > p.t[i];
    return has_faces && !(p.tuning & (CSZ_TUNING_LINEAR | CSZ_TUNING_ACROSS));
}

/* ---- numbers and weights of a thread's codes ---- */

/* Number of the code of class 0 of value i of the column; class c adds 512 c. */
CSZ_DEVICE uint32_t fast_code(int i) {
    const uint32_t t = threadIdx.x, j = t / FAST_X, k = t % FAST_X;
    return (k & 1) | (j & 1) << 1 | (uint32_t)(i & 1) << 2 | (k & 2) << 2 | (j & 2) << 3 |
           (uint32_t)(i & 2) << 4 | (k & 4) << 4 | (j & 4) << 5 | (k & 8) << 5;
}

/*
 * The checksum of a thread's values.  The weight of class c has the factor J^(14 - 2 c), so that sums over classes are Horner's; what is left of
 * it depends on the column and i alone.
 */
struct fast_hash {
    uint32_t of[FAST_Z];
    __device__ __forceinline__ void add(int i, uint32_t term) {
        of[i] = of[i] * (CSZ_VALUE_J * CSZ_VALUE_J) + term;
    }
    /* csz_value_weight is the product of these. */
    __device__ __forceinline__ uint32_t sum(const uint32_t *unit_weight, const uint32_t *code_weight) const {
        uint32_t all = 0;
#pragma unroll
        for (int i = 0; i < FAST_Z; i++) {
            const uint32_t code = fast_code(i) + 7 * 512; /* of the last class, whose factor is 1 */
            all += of[i] * (unit_weight[code >> 5] * code_weight[code & 31]);
        }
        return all;
    }
};

#endif
