/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * masks.cuh: the masks of a record, read a unit at a time.
 */
#ifndef CSZ_CUDA_DECODE_MASKS_CUH
#define CSZ_CUDA_DECODE_MASKS_CUH

#include "cuda/decode/read/record.cuh"
#include "cuda/decode/target.cuh"

/* Masks of a record: n of them in nwords words from p on. */
struct mask_list {
    const uint32_t *p;
    uint32_t n, nwords;
};

/* A tile's masks in its record; none where the sections do not fit. */
template <typename V>
CSZ_DEVICE mask_list record_masks(const record_view<V> *view, record_words record, uint32_t *wrong) {
    const uint32_t after = (view->n_exceptions + 1) / 2 + view->n_exceptions * (uint32_t)csz_value<V>::words;
    if (view->mask_words + after > record.n) {
        *wrong = 1;
        return {record.p, 0, 0};
    }
    return {record.p + (record.n - after - view->mask_words), view->nmasks, view->mask_words};
}

/* How many of 16 unit classes, 2 bits each, are 2, or 3. */
CSZ_DEVICE uint32_t count_class(uint32_t classes, uint32_t klass) {
    return (uint32_t)__popc((classes >> 1) & (klass == 3 ? classes : ~classes) & 0x55555555u);
}

/* What a list's masks say of one unit: the codes each covers, and its value's word in the list. */
struct unit_masks {
    uint32_t bits[CSZ_MASKS_MAX], value[CSZ_MASKS_MAX];
};

/*
 * What a list says of a unit.  Reads only inside the list, and sets *wrong if it is malformed. inside: the
 * unit's codes in the field.
 */
template <typename V>
CSZ_COLD unit_masks unit_masks_read(const mask_list list, uint32_t unit, uint32_t inside, uint32_t *wrong) {
    const uint32_t value_words = csz_value<V>::words, group = unit >> 2;
    unit_masks found = {{0, 0, 0}, {0, 0, 0}};
    uint32_t at = 0;
#pragma unroll 1
    for (uint32_t m = 0; m < list.n; m++) {
        if (list.nwords - at < value_words + 2) {
            *wrong = 1;
            return found;
        }
        const uint32_t *groups = list.p + at + value_words, mixed_word = at + value_words + 2;
        const uint32_t own_groups = groups[group >> 4], group_class = own_groups >> (2 * (group & 15)) & 3;
        if (count_class(groups[0], 3) + count_class(groups[1], 3))
            *wrong = 1; /* the group then counts as class 1 */
        const uint32_t n_mixed = count_class(groups[0], 2) + count_class(groups[1], 2),
                       mixed_words = (n_mixed + 3) / 4;
        const uint32_t mixed_before = (group >> 4 ? count_class(groups[0], 2) : 0) +
                                      count_class(own_groups & ((1u << (2 * (group & 15))) - 1), 2);
        if (mixed_words > list.nwords - mixed_word) {
            *wrong = 1;
            return found;
        }
        /* a word of mixed groups has 16 unit classes; this unit's is, or would be, at `place` */
        const uint32_t place = 4 * mixed_before + (group_class == 2 ? unit & 3 : 0);
        uint32_t klass = group_class & 1, before2 = 0, before3 = 0, n2 = 0, n3 = 0;
        for (uint32_t i = 0; i < mixed_words; i++) {
            const uint32_t classes = list.p[mixed_word + i], two = count_class(classes, 2),
                           three = count_class(classes, 3);
            n2 += two;
            n3 += three;
            if (i < place >> 4) {
                before2 += two;
                before3 += three;
            }
            if (i == place >> 4) {
                const uint32_t below = classes & ((1u << (2 * (place & 15))) - 1);
                before2 += count_class(below, 2);
                before3 += count_class(below, 3);
                if (group_class == 2) klass = classes >> (2 * (place & 15)) & 3;
            }
        }
        if ((n_mixed & 3) && list.p[mixed_word + mixed_words - 1] >> (8 * (n_mixed & 3))) *wrong = 1;
        const uint32_t literals = mixed_word + mixed_words, flags = literals + n2,
                       nibbles = flags + (n3 + 3) / 4;
        if (nibbles > list.nwords) {
            *wrong = 1;
            return found;
        }
        /* nibbles of all units of class 3, and of those before this one */
        uint32_t n_before = 0, n_all = 0;
        for (uint32_t i = 0; i < (n3 + 3) / 4; i++) {
            uint32_t word = list.p[flags + i];
            n_all += (uint32_t)__popc(word);
            if (i < before3 / 4) n_before += (uint32_t)__popc(word);
            if (i == before3 / 4) n_before += (uint32_t)__popc(word & ((1u << (8 * (before3 & 3))) - 1));
        }
        if ((n3 & 3) && list.p[nibbles - 1] >> (8 * (n3 & 3))) *wrong = 1;
        const uint32_t end = nibbles + (n_all + 7) / 8;
        if (end > list.nwords) {
            *wrong = 1;
            return found;
        }
        if ((n_all & 7) && list.p[end - 1] >> (4 * (n_all & 7))) *wrong = 1;
        uint32_t bits = klass == 1 ? ~0u : 0;
        if (klass == 2) bits = list.p[literals + before2];
        if (klass == 3) {
            uint32_t changed = list.p[flags + before3 / 4] >> (8 * (before3 & 3)), nibble = 0;
            for (uint32_t s = 0; s < 8; s++) {
                if (changed >> s & 1) {
                    nibble = list.p[nibbles + n_before / 8] >> (4 * (n_before & 7)) & 15;
                    n_before++;
                }
                bits |= nibble << (4 * s);
            }
        }
        if (klass == 2 && bits & ~inside) *wrong = 1; /* in the other classes padding means nothing */
        bits &= inside;
#pragma unroll
        for (uint32_t k = 0; k < CSZ_MASKS_MAX; k++) {
            if (k == m) {
                found.bits[k] = bits;
                found.value[k] = at;
            }
            if (k < m && found.bits[k] & bits) *wrong = 1;
        }
        at = end;
    }
    if (at != list.nwords) *wrong = 1;
    return found;
}

/* Puts the masks' values into a slice. */
template <typename V>
CSZ_DEVICE void slice_mask(V *v, const mask_list *list, const unit_masks *masks, int slice) {
#pragma unroll
    for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
        uint32_t hit = masks->bits[m] >> (4 * slice) & 15;
        if (!hit) continue;
        V value = csz_value<V>::load(list->p + masks->value[m]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (hit >> k & 1) v[k] = value;
        }
    }
}

#endif
