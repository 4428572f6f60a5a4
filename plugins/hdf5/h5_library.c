/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5_library.c: from an address to the table.  dladdr names the file that the address lies in; dlopen with
 * RTLD_NOLOAD turns the name into a handle without loading anything; and what dlsym finds must lie in that
 * same file, since a handle's search goes on into other ones.  That takes a millisecond, so tables are kept,
 * one for each place that calls: a list that only grows, by a handful for each HDF5 of the process.  Its
 * handles stay open, so that no library can go and leave its addresses to another.
 */
#include "h5_library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const void *address;
    csz_h5_library library;
    struct entry *next;
} entry;

static _Atomic(entry *) entries;

/* The symbol if it lies in the file mapped at base, else NULL. */
static void *find(void *handle, const char *name, const void *base) {
    Dl_info found;
    void *symbol = dlsym(handle, name);
    return symbol && dladdr(symbol, &found) && found.dli_fbase == base ? symbol : NULL;
}

/* A handle to close, or NULL. */
static void *open_at(const void **base, const void *address) {
    Dl_info caller;
    if (!dladdr(address, &caller) || !caller.dli_fname) return NULL;
    *base = caller.dli_fbase;
    void *handle = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? handle : dlopen(NULL, RTLD_LAZY); /* the program itself is not found by its name */
}

/* memcpy: C knows no cast from an object's pointer to a function's. */
static int take(void *member, void *symbol) {
    memcpy(member, &symbol, sizeof symbol);
    return symbol != NULL;
}

/*
 * A variable that the program refers to by name may live in the program: the linker copies it there, the
 * library uses the copy, and what the library holds itself is never set.  Identifiers are positive once the
 * library works, which it does when it calls a filter.
 */
static void *find_identifier(void *handle, const char *name, const void *base) {
    hid_t *own = find(handle, name, base);
    if (!own || *own > 0) return own;
    hid_t *copied = dlsym(RTLD_DEFAULT, name);
    return copied && *copied > 0 ? copied : own;
}

/* Known by its functions: a call would clear the error stack, and with it why a file could not be opened,
 * since HDF5 also looks through plugins for what else could open it. */
static int is_too_old(void *handle, const void *base) {
    return find(handle, "H5open", base) && !find(handle, "H5Fstart_swmr_write", base); /* from 1.10 on */
}

int csz_h5_library_suits(const void *address) {
    const void *base = NULL;
    void *handle = open_at(&base, address);
    if (!handle) return 1;
    int suits = !is_too_old(handle, base);
    dlclose(handle);
    return suits;
}

static int fill(csz_h5_library *library, const void *address) {
    const void *base = NULL;
    void *handle = open_at(&base, address);
    int is_complete = handle != NULL;
    memset(library, 0, sizeof *library);
    if (!handle) return 0;
#define TAKE(name) is_complete &= take(&library->name, find(handle, #name, base));
    CSZ_H5_FUNCTIONS(TAKE)
#undef TAKE
#define TAKE(name) is_complete &= take(&library->name, find_identifier(handle, #name, base));
    CSZ_H5_IDENTIFIERS(TAKE)
#undef TAKE
    if (is_complete) return 1;
    dlclose(handle);
    return 0;
}

const csz_h5_library *csz_h5_library_at(const void *address) {
    entry *first = atomic_load(&entries);
    for (const entry *e = first; e; e = e->next)
        if (e->address == address) return &e->library;
    entry *added = malloc(sizeof *added);
    if (!added || !fill(&added->library, address)) {
        free(added);
        return NULL;
    }
    added->address = address;
    do /* two threads may add the same address; either entry serves */
        added->next = first;
    while (!atomic_compare_exchange_weak(&entries, &first, added));
    return &added->library;
}
