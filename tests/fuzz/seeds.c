/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seeds.c: first inputs for each fuzz target, cut out of the golden archives.  Arguments: the folder to fill,
 * then archives.  Made at build time, so that the repository holds no second copy of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/context.h"
#include "core/words.h"
#include "format/archive.h"

static const char *folder;

static void write_seed(const char *target, const char *name, const void *a, size_t a_nbytes, const void *b,
                       size_t b_nbytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", folder, target, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(a, 1, a_nbytes, f) != a_nbytes || fwrite(b, 1, b_nbytes, f) != b_nbytes || fclose(f)) {
        perror(path);
        exit(1);
    }
}

/* Books and a few records of each frame. */
static void write_parts(csz_context *context, const char *name, const uint8_t *bytes, size_t nbytes) {
    csz_header h;
    const uint8_t *footer;
    csz_frame_view view;
    if (csz_archive_open(&h, &footer, bytes, nbytes) || h.geometry.nframes == 0) return;
    if (csz_frame_open(context, &view, bytes + h.nbytes, nbytes - h.nbytes, &h, 0)) return;
    write_seed("books", name, view.bytes + view.layout.books, view.books_nbytes, "", 0);
    for (uint32_t t = 0; t < view.ntiles && t < 4; t++) {
        uint32_t words = csz_frame_tile_words(&view, t);
        if (words == 0) continue;
        const uint8_t *record =
            view.bytes + view.layout.payload + 4 * (uint64_t)csz_frame_tile_offset(&view, t);
        uint32_t mode = record[0] & 15;
        for (uint32_t shape = 0; shape < 8; shape += 2) {
            uint8_t start[4] = {(uint8_t)(shape << 1 | (h.field.type == CSZ_F64)),
                                view.bytes[view.layout.books] & 15,
                                (uint8_t)(view.is_pyramid | (h.bound_mode == CSZ_BOUND_EXACT) << 7), 0};
            char seed[128];
            snprintf(seed, sizeof seed, "%s_%u_%u", name, t, shape);
            if (mode < 5 || mode > 6) write_seed("tile_huffman", seed, start, 4, record, 4 * (size_t)words);
            if (mode < 1 || mode == 5) write_seed("tile_rle", seed, start, 4, record, 4 * (size_t)words);
            if (mode < 1 || mode == 6) write_seed("tile_rle_vle", seed, start, 4, record, 4 * (size_t)words);
        }
    }
}

/* cd_values as plugins/hdf5/csz_hdf5.h lays them out, and the archive as the chunk. */
static void write_hdf5(const char *name, const uint8_t *bytes, size_t nbytes) {
    csz_header h;
    uint8_t start[2 + 18 * 4] = {1, 0}, *words = start + 2;
    if (csz_header_read(&h, bytes, nbytes) || h.geometry.nelements == 0) return;
    uint32_t rank = 0;
    for (int i = 0; i < h.field.ndim; i++)
        if (h.field.dims[i] != 1) csz_store_u64(words + 40 + 8 * rank++, h.field.dims[i]);
    if (rank == 0) csz_store_u64(words + 40 + 8 * rank++, 1);
    csz_store_u32(words, h.bound_mode == CSZ_BOUND_EXACT ? 0x200 : (uint32_t)h.bound_mode);
    csz_store_u64(words + 4, csz_bits_f64(h.bound));
    csz_store_u32(words + 12, (uint32_t)h.workflow);
    if (h.bound_mode != CSZ_BOUND_EXACT) csz_store_u32(words + 16, 1);
    csz_store_u32(words + 28, rank | (uint32_t)h.field.type << 8 | 1u << 24);
    start[1] = (uint8_t)(10 + 2 * rank);
    write_seed("hdf5", name, start, 2 + 4 * (size_t)start[1], bytes, nbytes);
}

/* Chunks that the filter keeps bit for bit, as plugins/hdf5/exact.c lays them out: without words, and as four
 * floats. */
static void write_hdf5_exact(void) {
    uint8_t chunk[24 + 16] = {'C', 'S', 'Z', '='}, start[2 + 12 * 4] = {1, 0};
    chunk[8] = 16;
    for (int i = 0; i < 16; i++) chunk[24 + i] = (uint8_t)(17 * i);
    csz_store_u64(chunk + 16, csz_hash_words(chunk, 4, 0) + csz_hash_words(chunk + 24, 4, 4));
    write_seed("hdf5", "exact", start, 2, chunk, sizeof chunk);
    start[1] = 12;
    csz_store_u32(start + 2, 0x200);
    csz_store_u32(start + 2 + 4 * 7, 1 | 1u << 24);
    csz_store_u32(start + 2 + 4 * 10, 4);
    write_seed("hdf5", "exact_floats", start, sizeof start, chunk, sizeof chunk);
}

static void write_npy(void) {
    static const char *const texts[] = {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
                                        "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }",
                                        "{'shape': (1, 2, 3, 1L), 'fortran_order': True, 'descr': \"=f4\"}",
                                        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                                        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }"};
    static const size_t data_nbytes[] = {48, 16, 24, 8, 0};
    for (int i = 0; i < 5; i++) {
        uint8_t bytes[256] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)(1 + i % 3), 0};
        char name[32];
        size_t start = bytes[6] == 1 ? 10 : 12, n = strlen(texts[i]);
        bytes[8] = (uint8_t)n;
        memcpy(bytes + start, texts[i], n);
        snprintf(name, sizeof name, "seed_%d", i);
        write_seed("npy", name, bytes, start + n + data_nbytes[i], "", 0);
    }
}

static void write_fields(void) {
    for (uint32_t k = 0; k < 64; k++) { /* every layout, type, workflow and mode, some fill and zstd */
        uint32_t flags = (k & 7) << 16 | (k & 1) | (k >> 1 & 3) << 1 | (k >> 3 & 3) << 3 | (k >> 4 & 3) << 5 |
                         (k % 5 == 0) << 7 | (k % 7 == 0) << 8 | (k % 6 == 0) << 11 | 1u << 24 |
                         (k & 15) << 19 | (k % 3) << 25;
        uint8_t bytes[400];
        char name[32];
        for (uint32_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)csz_mix(i + 977 * k);
        csz_store_u32(bytes, flags);
        csz_store_u64(bytes + 4, csz_bits_f64(k % 3 == 2 ? 60 : 1e-3));
        snprintf(name, sizeof name, "seed_%u", k);
        write_seed("roundtrip", name, bytes, sizeof bytes, "", 0);
    }
}

int main(int argc, char **argv) {
    csz_context *context;
    if (argc < 3 || csz_context_create(&context)) return 2;
    folder = argv[1];
    mkdir(folder, 0777);
    for (int i = 2; i < argc; i++) {
        static uint8_t bytes[1 << 16];
        const char *slash = strrchr(argv[i], '/'), *name = slash ? slash + 1 : argv[i];
        FILE *f = fopen(argv[i], "rb");
        if (!f) {
            perror(argv[i]);
            return 1;
        }
        size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        uint8_t box[16];
        for (int k = 0; k < 16; k++) box[k] = (uint8_t)(csz_mix((uint32_t)(k + i)) & (k & 1 ? 0 : 31));
        box[15] = (uint8_t)(i & 3); /* the level of a preview, too */
        write_seed("header", name, bytes, n < 512 ? n : 512, "", 0);
        write_seed("decode", name, bytes, n, "", 0);
        write_seed("region", name, box, sizeof box, bytes, n);
        write_parts(context, name, bytes, n);
        write_hdf5(name, bytes, n);
    }
    write_npy();
    write_hdf5_exact();
    write_fields();
    csz_context_destroy(context);
    return 0;
}
