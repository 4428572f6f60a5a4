/* SPDX-License-Identifier: BSD-3-Clause */
/* metadata.c: metadata <-> bytes.  Every length is compared with what is left before it is used. */
#include "format/archive.h"

#include <string.h>

#include "core/hash.h"
#include "core/words.h"

/* What stands before the entries, before an entry's name, and behind all. */
enum { HEAD_NBYTES = 8, ENTRY_NBYTES = 8, CHECKSUM_NBYTES = 8, HASH_SEED = 2 };

static const uint8_t value_nbytes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8}; /* by csz_attribute_type */
enum { NTYPES = sizeof value_nbytes };

static uint64_t in_words(uint64_t nbytes) { return (nbytes + 3) / 4 * 4; }

static uint64_t checksum(const uint8_t *section, size_t nbytes) {
    return HASH_SEED + csz_hash_words(section, (nbytes - CHECKSUM_NBYTES) / 4, 0);
}

static int are_zeros(const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (bytes[i]) return 0;
    return 1;
}

static uint64_t count_strings(const csz_attribute *a) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < a->nbytes; i++) n += ((const char *)a->values)[i] == '\0';
    return n;
}

/* What an entry may be, wherever it comes from. */
static int is_sound(const csz_attribute *a) {
    if ((unsigned)a->role > CSZ_ROLE_DIMS || (unsigned)a->type >= NTYPES || !a->name ||
        (a->nbytes && !a->values))
        return 0;
    const size_t n = strlen(a->name);
    if (a->role == CSZ_ROLE_ATTRIBUTE ? n == 0 || n > CSZ_METADATA_MAX_NAME : n != 0) return 0;
    if (a->role == CSZ_ROLE_NAME && a->type != CSZ_ATTRIBUTE_TEXT) return 0;
    if (a->role == CSZ_ROLE_DIMS && a->type != CSZ_ATTRIBUTE_STRINGS) return 0;
    if (a->nbytes > CSZ_METADATA_MAX_NBYTES || a->nbytes % value_nbytes[a->type]) return 0;
    return a->type != CSZ_ATTRIBUTE_STRINGS || a->nbytes == 0 ||
           ((const char *)a->values)[a->nbytes - 1] == '\0';
}

static int is_same_entry(const csz_attribute *a, const csz_attribute *b) {
    return a->role == b->role && strcmp(a->name, b->name) == 0;
}

csz_status csz_metadata_write(void *section, size_t capacity, size_t *nbytes, const csz_attribute *attributes,
                              size_t n) {
    if (!nbytes || !attributes || n == 0 || n > CSZ_METADATA_MAX_N) return CSZ_ERROR_ARGUMENT;
    uint64_t total = HEAD_NBYTES;
    for (size_t i = 0; i < n; i++) {
        if (attributes[i].nbytes > CSZ_METADATA_MAX_NBYTES) return CSZ_ERROR_LIMIT;
        if (!is_sound(&attributes[i])) return CSZ_ERROR_ARGUMENT;
        for (size_t k = 0; k < i; k++)
            if (is_same_entry(&attributes[i], &attributes[k])) return CSZ_ERROR_ARGUMENT;
        total += ENTRY_NBYTES + in_words(strlen(attributes[i].name) + 1) + in_words(attributes[i].nbytes);
        if (total > CSZ_METADATA_MAX_NBYTES - 2 * CHECKSUM_NBYTES) return CSZ_ERROR_LIMIT;
    }
    total = (total + 7) / 8 * 8 + CHECKSUM_NBYTES;
    *nbytes = (size_t)total;
    if (!section) return CSZ_OK;
    if (capacity < total) return CSZ_ERROR_CAPACITY;
    uint8_t *at = section;
    memset(section, 0, (size_t)total);
    csz_store_u32(at, (uint32_t)n);
    at += HEAD_NBYTES;
    for (size_t i = 0; i < n; i++) {
        const csz_attribute *a = &attributes[i];
        const size_t name_nbytes = strlen(a->name);
        csz_store_u16(at, (uint32_t)name_nbytes);
        at[2] = (uint8_t)a->role;
        at[3] = (uint8_t)a->type;
        csz_store_u32(at + 4, (uint32_t)a->nbytes);
        at += ENTRY_NBYTES;
        memcpy(at, a->name, name_nbytes);
        at += in_words(name_nbytes + 1);
        if (a->nbytes) memcpy(at, a->values, (size_t)a->nbytes);
        at += in_words(a->nbytes);
    }
    csz_store_u64((uint8_t *)section + total - CHECKSUM_NBYTES, checksum(section, (size_t)total));
    return CSZ_OK;
}

int csz_metadata_next(csz_attribute *attribute, const void *section, size_t nbytes, size_t *place) {
    if (!attribute || !section || !place || nbytes < HEAD_NBYTES + CHECKSUM_NBYTES) return 0;
    const uint8_t *bytes = section;
    const uint64_t at = *place ? *place : HEAD_NBYTES, end = nbytes - CHECKSUM_NBYTES;
    if (at > end || end - at < ENTRY_NBYTES) return 0; /* what is left is padding */
    const uint64_t name_nbytes = csz_load_u16(bytes + at), nvalues = csz_load_u32(bytes + at + 4),
                   name_room = in_words(name_nbytes + 1), left = end - at - ENTRY_NBYTES;
    if (name_room > left || in_words(nvalues) > left - name_room) return 0;
    const uint8_t *name = bytes + at + ENTRY_NBYTES;
    const csz_attribute a = {(csz_attribute_role)bytes[at + 2], (csz_attribute_type)bytes[at + 3],
                             (const char *)name, name + name_room, nvalues};
    if (!are_zeros(name + name_nbytes, name_room - name_nbytes) || strlen(a.name) != name_nbytes ||
        !is_sound(&a) || !are_zeros((const uint8_t *)a.values + nvalues, in_words(nvalues) - nvalues))
        return 0;
    *attribute = a;
    *place = (size_t)(at + ENTRY_NBYTES + name_room + in_words(nvalues));
    return 1;
}

csz_status csz_metadata_holds(const void *section, size_t nbytes, int ndim) {
    const uint8_t *bytes = section;
    csz_attribute a, b;
    if (nbytes < HEAD_NBYTES + ENTRY_NBYTES + CHECKSUM_NBYTES || nbytes % 8 ||
        nbytes > CSZ_METADATA_MAX_NBYTES)
        return CSZ_ERROR_CORRUPT;
    if (checksum(bytes, nbytes) != csz_load_u64(bytes + nbytes - CHECKSUM_NBYTES)) return CSZ_ERROR_CORRUPT;
    const uint32_t n = csz_load_u32(bytes);
    if (n < 1 || n > CSZ_METADATA_MAX_N || csz_load_u32(bytes + 4)) return CSZ_ERROR_CORRUPT;
    size_t place = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!csz_metadata_next(&a, section, nbytes, &place)) return CSZ_ERROR_CORRUPT;
        if (a.role == CSZ_ROLE_DIMS && ndim && count_strings(&a) != (uint64_t)ndim) return CSZ_ERROR_CORRUPT;
        size_t before = 0;
        for (uint32_t k = 0; k < i && csz_metadata_next(&b, section, nbytes, &before); k++)
            if (is_same_entry(&a, &b)) return CSZ_ERROR_CORRUPT;
    }
    const uint64_t left = nbytes - CHECKSUM_NBYTES - place;
    return left < 8 && are_zeros(bytes + place, left) ? CSZ_OK : CSZ_ERROR_CORRUPT;
}

csz_status csz_metadata_check(const void *section, size_t nbytes) {
    return section ? csz_metadata_holds(section, nbytes, 0) : CSZ_ERROR_ARGUMENT;
}
