/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixed.c: the main program of a fuzz target in `make test`, in libFuzzer's place.  Arguments: NRUNS FOLDER
 * [FINDING...].  It tries the past findings, the seeds (the files of FOLDER, by name) and mutations of both
 * until NRUNS inputs were tried.  A generator of our own draws the mutations, so every run tries the same;
 * those of libFuzzer differ with the layout of memory.  The input on which a target fails lies in
 * PROGRAM-finding.
 */
#include <dirent.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>

#include "fuzz.h"

enum { INPUT_MAX_NBYTES = 4096, MAX_NSEEDS = 4096 };

typedef struct seed {
    uint8_t *bytes;
    size_t nbytes;
} seed;

static seed seeds[MAX_NSEEDS];
static size_t nseeds;
static uint8_t input[INPUT_MAX_NBYTES];
static size_t input_nbytes;
static char finding[4096]; /* the path of a finding */

/* Numbers below limit, by splitmix64; limit 0 gives 0. */
static size_t draw(size_t limit) {
    static uint64_t state;
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return limit ? (size_t)((z ^ z >> 31) % limit) : 0;
}

/* Where sizes, counts and offsets break: zero, one, signs, all bits, and neighbours of powers of two. */
static uint64_t draw_edge(void) {
    uint64_t power = (uint64_t)1 << draw(64);
    uint64_t edges[] = {0, 1, power, power - 1, power + 1, (uint64_t)0 - power, ~(uint64_t)0, draw(256)};
    return edges[draw(sizeof edges / sizeof *edges)];
}

/* One change to the first nbytes of input; returns its new length. */
static size_t mutate(size_t nbytes) {
    const seed *other = &seeds[draw(nseeds)];
    size_t at =
        draw(draw(2) && nbytes > 32 ? 32 : nbytes); /* half of the changes in what comes first, a head */
    size_t room = INPUT_MAX_NBYTES - nbytes, left = nbytes - at, n;
    switch (draw(9)) {
    case 0: /* a bit */
        if (left) input[at] ^= (uint8_t)(1u << draw(8));
        return nbytes;
    case 1: /* a byte */
        if (left) input[at] = (uint8_t)draw(256);
        return nbytes;
    case 2: /* a number of 1, 2, 4 or 8 bytes, aligned as fields of a header are */
        n = (size_t)1 << draw(4);
        at -= at % n;
        for (uint64_t i = 0, value = draw_edge(); i < n && at + i < nbytes; i++, value >>= 8)
            input[at + i] = (uint8_t)value;
        return nbytes;
    case 3: /* a number a little larger or smaller */
        n = 4;
        at -= at % n;
        for (uint64_t i = 0, carry = draw(33) - (size_t)16; i < n && at + i < nbytes; i++) {
            carry += input[at + i];
            input[at + i] = (uint8_t)carry;
            carry = (uint64_t)((int64_t)carry >> 8);
        }
        return nbytes;
    case 4: /* some bytes less */
        n = draw(left < 64 ? left : 64);
        memmove(input + at, input + at + n, left - n);
        return nbytes - n;
    case 5: /* cut off */ return at;
    case 6: /* a byte, repeated */
        n = draw(room < 64 ? room : 64);
        memmove(input + at + n, input + at, left);
        memset(input + at, (int)draw(256), n);
        return nbytes + n;
    case 7: /* a part of another seed over it */
        n = draw((left < other->nbytes ? left : other->nbytes) + 1);
        memcpy(input + at, other->bytes + draw(other->nbytes - n + 1), n);
        return nbytes;
    default: /* another seed's end */
        n = other->nbytes - draw(other->nbytes);
        if (n > INPUT_MAX_NBYTES - at) n = INPUT_MAX_NBYTES - at;
        memcpy(input + at, other->bytes + other->nbytes - n, n);
        return at + n;
    }
}

/* A program that dies may do what it likes here: the sanitizer has reported already. */
static void write_finding(void) {
    FILE *file = fopen(finding, "wb");
    if (!file) return;
    fwrite(input, 1, input_nbytes, file);
    fclose(file);
    fprintf(stderr, "the input is in %s\n", finding);
}

static void write_finding_of_abort(int number) {
    (void)number;
    write_finding();
}

static void read_seed(const char *path) {
    FILE *file = fopen(path, "rb");
    seed s = {malloc(INPUT_MAX_NBYTES), 0};
    if (!file || !s.bytes || nseeds == MAX_NSEEDS) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    s.nbytes = fread(s.bytes, 1, INPUT_MAX_NBYTES, file);
    fclose(file);
    seeds[nseeds++] = s;
}

int main(int argc, char **argv) {
    struct dirent **names;
    int nnames = argc < 3 ? -1 : scandir(argv[2], &names, NULL, alphasort);
    if (nnames < 0) {
        fprintf(stderr, "usage: %s NRUNS FOLDER FINDING...\n", argv[0]);
        return 2;
    }
    for (int i = 3; i < argc; i++) read_seed(argv[i]);
    for (int i = 0; i < nnames; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[2], names[i]->d_name);
        if (names[i]->d_name[0] != '.') read_seed(path);
        free(names[i]);
    }
    free(names);
    if (nseeds == 0) {
        fprintf(stderr, "%s holds no seeds\n", argv[2]);
        return 2;
    }
    snprintf(finding, sizeof finding, "%s-finding", argv[0]);
    __sanitizer_set_death_callback(write_finding);
    signal(SIGABRT, write_finding_of_abort);
    size_t nruns = strtoul(argv[1], NULL, 10);
    for (size_t i = 0; i < nruns || i < nseeds; i++) {
        const seed *start = &seeds[i % nseeds];
        input_nbytes = start->nbytes;
        memcpy(input, start->bytes, input_nbytes);
        if (i >= nseeds)
            for (size_t nchanges = 1 + draw(4); nchanges; nchanges--) input_nbytes = mutate(input_nbytes);
        LLVMFuzzerTestOneInput(input, input_nbytes);
    }
    for (size_t i = 0; i < nseeds; i++) free(seeds[i].bytes);
    printf("%zu seeds and findings, %zu inputs\n", nseeds, nruns);
    return 0;
}
