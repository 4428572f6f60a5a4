/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predictor.h: the choice of a frame's predictor from sampled tiles (docs/encoder.md): a pure function of
 * their codes, so that every backend chooses alike. A tile's cost is the zero-order entropy of its codes,
 * lanes of zeros left out, since one coder serves both predictors.
 */
#ifndef CSZ_SELECT_PREDICTOR_H
#define CSZ_SELECT_PREDICTOR_H

#include "core/code.h"
#include "entropy/book.h"
#include "predict/pyramid.h"

enum {
    CSZ_CHOICE_STRIDE = 12,   /* tiles of lattice 0 to each that is sampled */
    CSZ_CHOICE_TILES_MIN = 8, /* sampled tiles; twice as many, which may settle the choice, */
    CSZ_CHOICE_SMALL = 96,    /* of so many */
    CSZ_CHOICE_TILES_MAX = 120,
    CSZ_CHOICE_TILES_FEW = 6,     /* fewer do not settle the choice alone */
    CSZ_CHOICE_LEVELS = 2,        /* lattices that are sampled by parts */
    CSZ_CHOICE_COARSER = 4,       /* sampled tiles of each lattice above those, at most */
    CSZ_CHOICE_RECORD_NBITS = 40, /* of a tile with nonzero codes, beside them */
    CSZ_CHOICE_BITMAP_NBITS = 64, /* of one in which some lanes are empty, too */
    /* ways to interpolate that are sampled; each changes one thing about the first */
    CSZ_CHOICE_CUBIC = 0,
    CSZ_CHOICE_LINEAR = 1,
    CSZ_CHOICE_ACROSS = 2, /* rank 3 only; of lattice 0, in the first part of the sample */
    CSZ_CHOICE_N = 3
};

/* How many tiles of lattice 0 are sampled. */
CSZ_FN uint32_t csz_choice_count(uint32_t ntiles) {
    uint32_t n = ntiles / CSZ_CHOICE_STRIDE;
    const uint32_t least = ntiles < CSZ_CHOICE_SMALL ? CSZ_CHOICE_TILES_MIN : 2 * CSZ_CHOICE_TILES_MIN;
    if (n < least) n = least;
    if (n > CSZ_CHOICE_TILES_MAX) n = CSZ_CHOICE_TILES_MAX;
    return n < ntiles ? n : ntiles;
}

CSZ_FN uint32_t csz_choice_tile(uint32_t sample, uint32_t nsamples, uint32_t ntiles) {
    const uint32_t first = (uint32_t)((uint64_t)sample * ntiles / nsamples),
                   end = (uint32_t)((uint64_t)(sample + 1) * ntiles / nsamples);
    return first + csz_mix(sample) % (end - first);
}

/* Every third sample is of the first part. */
CSZ_FN int csz_choice_part(uint32_t sample) { return sample % 3 != 0; }

/* Whether the first part may settle the choice alone. */
CSZ_FN int csz_choice_settles(uint32_t nsamples) { return (nsamples + 2) / 3 >= CSZ_CHOICE_TILES_FEW; }

/* Whether samples of a part are also counted with the tiles of lattice 1 that they lie in: those of the first
 * part are, or all where they are few. */
CSZ_FN int csz_choice_has_coarser(int part, uint32_t nsamples) {
    return part == 0 || !csz_choice_settles(nsamples);
}

CSZ_FN uint32_t csz_choice_tiles_of(const csz_pyramid *shape, int level) {
    return (uint32_t)(shape->grid[level][0] * shape->grid[level][1] * shape->grid[level][2]);
}

/* How many tiles of a lattice above those are sampled. */
CSZ_FN uint32_t csz_choice_count_coarser(const csz_pyramid *shape, int level) {
    const uint32_t n = csz_choice_tiles_of(shape, level);
    return n < CSZ_CHOICE_COARSER ? n : CSZ_CHOICE_COARSER;
}

/* The lattice and number of the i-th of these tiles; 0 if there are fewer. */
CSZ_FN int csz_choice_coarser(int *level, uint32_t *tile, const csz_pyramid *shape, uint32_t i) {
    for (int l = CSZ_CHOICE_LEVELS; l < shape->nlevels; l++) {
        const uint32_t n = csz_choice_count_coarser(shape, l);
        if (i < n) {
            *level = l;
            *tile = csz_choice_tile(i, n, csz_choice_tiles_of(shape, l));
            return 1;
        }
        i -= n;
    }
    return 0;
}

/*
 * ---- the coarser lattice of a sampled tile ----
 *
 * Nothing is restored yet.  Where the coarser lattice has codes, its error is that of rounding; where its
 * values are predicted, its error changes slowly, and the values themselves predict the finer lattice as
 * restored ones would.  So a value is rounded unless the two beside it in its row predict it to an eighth of
 * the bound.  Without branches, so that the loops over rows vectorise.
 */
#define CSZ_DEFINE_CHOICE_VALUE(FLOAT, BITS, NAME)                                                           \
    /* grid: twice the bound; inverse: 1 / grid.  a, b: the values beside v. */                              \
    CSZ_FN FLOAT csz_choice_value_##NAME(FLOAT v, FLOAT a, FLOAT b, FLOAT grid, FLOAT inverse) {             \
        const FLOAT q = v * inverse, half = (FLOAT)0.5, miss = v - (a + b) * half;                           \
        const BITS rounds = ((BITS)0 - (BITS)(csz_size_##NAME(q) < 4194304)) &                               \
                            ((BITS)(csz_size_##NAME(miss) < grid * (FLOAT)0.0625) - 1),                      \
                   of_q = csz_bits_##NAME(q) & rounds,                                                       \
                   of_half = csz_bits_##NAME(half) | (of_q & (BITS)1 << (sizeof(BITS) * 8 - 1));             \
        const FLOAT rounded = (FLOAT)(int32_t)(csz_##NAME##_bits(of_q) + csz_##NAME##_bits(of_half)) * grid; \
        return csz_##NAME##_bits((csz_bits_##NAME(rounded) & rounds) | (csz_bits_##NAME(v) & ~rounds));      \
    }
CSZ_DEFINE_CHOICE_VALUE(float, uint32_t, f32)
CSZ_DEFINE_CHOICE_VALUE(double, uint64_t, f64)

/*
 * Larger values are taken for missing ones: they have no quantum, and where the coarsest lattice has none,
 * finer ones are predicted from what comes before it, or from 0.  None may overflow.  grid: twice the bound;
 * limit: of a quantum; most: 2^120 (f32) or 2^1000.
 */
CSZ_FN double csz_choice_largest(double grid, double limit, double most) {
    return grid * limit < most ? grid * limit : most;
}

/* ---- costs, in bits/512 ---- */

/* c symbols s among n. */
CSZ_FN uint64_t csz_choice_term(uint64_t n, uint64_t c, uint32_t s) {
    return c ? c * (csz_log2_fixed(n * n) - csz_log2_fixed(c * c) + 512 * csz_symbol_nraw(s)) : 0;
}

/* A tile beside its symbols.  Codes count in pairs of units that have a nonzero; there are n. */
CSZ_FN uint64_t csz_choice_record(uint32_t n) {
    if (n == 0) return 0;
    return 512 * (uint64_t)(CSZ_CHOICE_RECORD_NBITS + (n < CSZ_TILE_N ? CSZ_CHOICE_BITMAP_NBITS : 0));
}

/*
 * What the sampled tiles of a frame take: those of lattice 0 by Lorenzo, those of both lattices by
 * interpolation, and how many values they have.  [0]: the first part; [1]: the other samples.
 * coarser: what all tiles of the lattices above them take.  The coarsest lattice is one tile, which Lorenzo
 * predicts; lattice 1 then is in [0].
 */
typedef struct csz_choice {
    uint64_t lorenzo[2], pyramid[2][CSZ_CHOICE_LEVELS][CSZ_CHOICE_N], n[2][CSZ_CHOICE_LEVELS];
    uint64_t coarser[CSZ_CHOICE_ACROSS];
} csz_choice;

/* The tuning of a way to interpolate, with coarser lattices' bounds tightened. */
CSZ_FN int csz_choice_tuning(int way) {
    return way == CSZ_CHOICE_LINEAR ? CSZ_TUNING_LINEAR : way == CSZ_CHOICE_ACROSS ? CSZ_TUNING_ACROSS : 0;
}

/* Samples of the first part, or of both. */
CSZ_FN uint32_t csz_choice_sampled(const csz_pyramid *shape, int is_first) {
    const uint32_t n = csz_choice_count(csz_choice_tiles_of(shape, 0));
    return is_first ? (n + 2) / 3 : n;
}

CSZ_FN uint64_t csz_choice_values_of(const csz_pyramid *shape, int level) {
    return shape->n[level][0] * shape->n[level][1] * shape->n[level][2];
}

/* What a sampled tile of a coarser lattice adds to csz_choice: it stands for others. */
CSZ_FN uint64_t csz_choice_of_coarser(uint64_t cost, const csz_pyramid *shape, int level) {
    return cost * csz_choice_tiles_of(shape, level) / csz_choice_count_coarser(shape, level);
}

/* What `all` values take where n of them take this; a frame has 2^25 values at most, a sample 2^19. */
CSZ_FN uint64_t csz_choice_scale(uint64_t cost, uint64_t n, uint64_t all) { return n ? cost * all / n : 0; }

/* What Lorenzo takes for the frame, by the first part or by both. */
CSZ_FN uint64_t csz_choice_lorenzo(const csz_choice *c, const csz_pyramid *shape, int is_first) {
    return csz_choice_scale(c->lorenzo[0] + (is_first ? 0 : c->lorenzo[1]),
                            c->n[0][0] + (is_first ? 0 : c->n[1][0]), csz_choice_values_of(shape, 0));
}

/* What a value of each sampled lattice takes, in bits/512/256. */
CSZ_FN void csz_choice_each(uint64_t *each, const csz_choice *c, int way, int is_first) {
    for (int l = 0; l < CSZ_CHOICE_LEVELS; l++)
        each[l] = csz_choice_scale(c->pyramid[0][l][way] + (is_first ? 0 : c->pyramid[1][l][way]),
                                   c->n[0][l] + (is_first ? 0 : c->n[1][l]), 256);
}

/*
 * What a pyramid takes for the frame.  From lattice to lattice above 1 a value takes as much more as it takes
 * more in lattice 1 than in lattice 0: nothing in noise, bits in smooth fields.
 */
CSZ_FN uint64_t csz_choice_pyramid(const uint64_t *each, const csz_pyramid *shape) {
    const uint64_t more = each[1] > each[0] ? each[1] - each[0] : 0;
    uint64_t whole = each[0] * csz_choice_values_of(shape, 0);
    for (int l = 1; l < shape->nlevels; l++)
        whole += (each[1] + (uint64_t)(l - 1) * more) * csz_choice_values_of(shape, l);
    return whole / 256;
}

CSZ_FN uint64_t csz_choice_whole(const csz_choice *c, const csz_pyramid *shape, int way, int is_first) {
    uint64_t each[CSZ_CHOICE_LEVELS];
    csz_choice_each(each, c, way, is_first);
    return csz_choice_pyramid(each, shape);
}

/* The same by a sample of every lattice. */
CSZ_FN uint64_t csz_choice_by_lattices(const csz_choice *c, const csz_pyramid *shape, int way) {
    uint64_t each[CSZ_CHOICE_LEVELS], whole = c->coarser[way];
    csz_choice_each(each, c, way, 0);
    for (int l = 0; l < CSZ_CHOICE_LEVELS; l++) whole += each[l] * csz_choice_values_of(shape, l) / 256;
    return whole;
}

/*
 * Whether Lorenzo is so far ahead of cubic interpolation that nothing else needs to be sampled: by a seventh,
 * or by an eighth of a bit a value, which is more than linear interpolation gains on noise.  Six tiles of the
 * first part may be wrong by a sixteenth, more tiles by less.  Where Lorenzo takes less than a sixteenth of a
 * bit a value, a few tiles are too little to say so.  Lattice 0 alone may tell: a value of lattice 1 is taken
 * for as much, or more where it was sampled.
 */
CSZ_FN int csz_choice_is_lorenzo(const csz_choice *c, const csz_pyramid *shape, int is_first) {
    const uint32_t nsamples = csz_choice_sampled(shape, is_first);
    if (nsamples < CSZ_CHOICE_TILES_FEW) return 0;
    uint64_t each[CSZ_CHOICE_LEVELS];
    csz_choice_each(each, c, CSZ_CHOICE_CUBIC, is_first);
    if (each[1] < each[0]) each[1] = each[0];
    const uint64_t n = csz_choice_values_of(shape, 0), lorenzo = csz_choice_lorenzo(c, shape, is_first),
                   pyramid = csz_choice_pyramid(each, shape);
    return (pyramid / 8 > lorenzo / 7 && lorenzo > 32 * n) ||
           (pyramid > lorenzo + 64 * n && (!is_first || pyramid > lorenzo + lorenzo / (10 + nsamples)));
}

/* Whether linear interpolation may still win after the first part of the sample. */
CSZ_FN int csz_choice_is_open(const csz_choice *c, const csz_pyramid *shape) {
    return csz_choice_whole(c, shape, CSZ_CHOICE_LINEAR, 1) / 33 <=
           csz_choice_whole(c, shape, CSZ_CHOICE_CUBIC, 1) / 32;
}

/*
 * Whether it does: by a 64th.  Of few bits most are spent above lattice 1, where values lie far apart and
 * cubic interpolation is far ahead, so every lattice has its own sample.
 */
CSZ_FN int csz_choice_is_linear(const csz_choice *c, const csz_pyramid *shape) {
    const uint64_t cubic = csz_choice_by_lattices(c, shape, CSZ_CHOICE_CUBIC);
    return csz_choice_by_lattices(c, shape, CSZ_CHOICE_LINEAR) < cubic - cubic / 64;
}

/* What a frame takes of which its bounds depend on: 1.5 bits a value. */
CSZ_FN uint64_t csz_choice_even_cost(const csz_pyramid *shape) {
    return 768 * csz_choice_values_of(shape, 0);
}

/*
 * Whether the first part of the sample settles the choice for a pyramid: Lorenzo and linear interpolation are
 * far behind, and bits a value are far from those where bounds change.
 */
CSZ_FN int csz_choice_is_pyramid(const csz_choice *c, const csz_pyramid *shape, int may_be_lorenzo) {
    if (csz_choice_sampled(shape, 1) < CSZ_CHOICE_TILES_FEW || csz_choice_is_open(c, shape)) return 0;
    const uint64_t cubic = csz_choice_whole(c, shape, CSZ_CHOICE_CUBIC, 1),
                   even = csz_choice_even_cost(shape);
    if (may_be_lorenzo && cubic / 7 >= csz_choice_lorenzo(c, shape, 1) / 8) return 0;
    return cubic < even - even / 4 || cubic > even + even / 4;
}

/*
 * The tuning of a frame as a pyramid, or -1 if Lorenzo predicts it: always at a bound of 0, which leaves
 * nothing but exceptions.  What is gained across is told by the first part's tiles of lattice 0.  Lorenzo's
 * sample and the pyramid's are of the same tiles, so that both miss the
 * same features; where neither has anything to code, the pyramid is tried.  Bounds of coarser lattices are
 * the field's own where a value takes more than 1.5 bits: there, rounding of the coarser lattice is not what
 * predictions miss.
 */
CSZ_FN int csz_predictor_choose(const csz_choice *c, const csz_pyramid *shape, int rank, int may_be_lorenzo,
                                double bound) {
    if (may_be_lorenzo && bound == 0) return -1;
    const int is_settled = csz_choice_is_pyramid(c, shape, may_be_lorenzo);
    const uint64_t first_cubic = c->pyramid[0][0][CSZ_CHOICE_CUBIC],
                   first_across = c->pyramid[0][0][CSZ_CHOICE_ACROSS];
    int tuning = 0;
    for (int is_first = 1; may_be_lorenzo && is_first >= is_settled; is_first--)
        if (csz_choice_is_lorenzo(c, shape, is_first)) return -1;
    if (csz_choice_is_open(c, shape) && csz_choice_is_linear(c, shape)) tuning |= CSZ_TUNING_LINEAR;
    uint64_t cost = csz_choice_whole(c, shape, tuning ? CSZ_CHOICE_LINEAR : CSZ_CHOICE_CUBIC, is_settled);
    if (rank == 3 && first_across < first_cubic - first_cubic / 64) {
        tuning |= CSZ_TUNING_ACROSS;
        cost -= cost / 1024 * ((first_cubic - first_across) / (first_cubic / 1024 + 1));
    }
    if (may_be_lorenzo && cost && cost >= csz_choice_lorenzo(c, shape, is_settled)) return -1;
    return cost > csz_choice_even_cost(shape) ? tuning | CSZ_TUNING_EVEN : tuning;
}

/*
 * ---- whether a pyramid was worth it ----
 *
 * A value too far from its prediction is an exception, and what is predicted from it may be another.  So at
 * tight bounds coarser lattices may spoil finer ones, and a sample that is predicted from the field's own
 * values does not see it.  Once a frame is coded, the same tiles tell: what Lorenzo takes for them.
 */
typedef struct csz_rival {
    uint32_t nwords;       /* of the samples by Lorenzo; 0: there is no choice */
    uint32_t nwords_all;   /* of the frame in proportion */
    uint32_t nwords_above; /* of the lattices above 1 as a pyramid */
    uint32_t is_first;     /* of the first part alone */
} csz_rival;

/* Words of a frame as a pyramid, once it is coded: of lattices above 0, above 1, and of the samples that
 * count. */
typedef struct csz_coded {
    uint64_t all, coarser, above, sampled;
} csz_coded;

/* What lattices above 1 are expected to take, whichever way. */
CSZ_FN uint32_t csz_rival_above(const csz_choice *c) {
    const uint64_t cubic = c->coarser[CSZ_CHOICE_CUBIC], linear = c->coarser[CSZ_CHOICE_LINEAR];
    return (uint32_t)((cubic > linear ? cubic : linear) / (512 * 32));
}

CSZ_FN csz_rival csz_rival_of(const csz_choice *c, const csz_pyramid *shape, int may_be_lorenzo) {
    const int is_first = csz_choice_is_pyramid(c, shape, may_be_lorenzo);
    const csz_rival r = {(uint32_t)((c->lorenzo[0] + (is_first ? 0 : c->lorenzo[1])) / (512 * 32)),
                         (uint32_t)(csz_choice_lorenzo(c, shape, is_first) / (512 * 32)), csz_rival_above(c),
                         (uint32_t)is_first};
    return r;
}

CSZ_FN int csz_rival_counts(const csz_rival *r, uint32_t sample) {
    return !r->is_first || !csz_choice_part(sample);
}

/* Costs are no sizes: a sixteenth and 1 KiB are not enough to tell. */
CSZ_FN int csz_rival_is_smaller(uint64_t lorenzo, uint64_t nwords) {
    return nwords > lorenzo + lorenzo / 16 + 256;
}

/* Whether a pyramid is larger than Lorenzo in proportion to values. */
CSZ_FN int csz_rival_doubts(const csz_rival *r, const csz_coded *coded) {
    return r->nwords && csz_rival_is_smaller(r->nwords_all, coded->all);
}

/*
 * Whether a pyramid gives way to Lorenzo: if it is larger in proportion to values, and to what the samples
 * take as a pyramid, too, as those may be of a part that takes more than others.  The latter tells nothing
 * where exceptions spread between the samples: lattices above 1, of which most tiles were sampled, then take
 * more than twice what they would without.
 */
CSZ_FN int csz_rival_wins(const csz_rival *r, const csz_coded *coded) {
    const uint64_t lorenzo = csz_choice_scale(r->nwords, coded->sampled, coded->all - coded->coarser);
    if (!csz_rival_doubts(r, coded)) return 0;
    return coded->above > 2 * (uint64_t)r->nwords_above + 256 ||
           (coded->sampled && csz_rival_is_smaller(lorenzo, coded->all));
}

#endif
