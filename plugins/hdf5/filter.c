/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter.c: chunks to archives and back.  When a dataset is created, set_local completes cd_values with what
 * a chunk is: type, byte order, dims, fill value.  Each chunk then becomes one archive, or without a bound
 * what exact.c makes of it.  The words, like the archives, come back from files that anyone may have written,
 * so an archive is restored only if its field is the chunk that the words describe.  A failure returns 0 with
 * a line on HDF5's error stack and leaves the caller's buffer alone; nothing is printed.  One thread and the
 * CPU: the caller decides how many chunks are worked on at once.
 */
#include "filter.h"

#include "../unnamed_fill.h"
#include "csz_frames.h"
#include "csz_hdf5.h"
#include "exact.h"
#include "h5_library.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PHRASE_BEGIN "csz filter: "

/* Values that HDF5 hands out for one dataset's filter; more than any layout of cd_values has. */
enum { MOST_USER_WORDS = 64 };

/* An HDF5 whose functions cannot be seen: chunks are coded all the same, without messages. */
static const csz_h5_library unseen;

#define CALLER __builtin_return_address(0) /* in a callback: code of the HDF5 that calls it */

static void push_to(hid_t stack, const csz_h5_library *library, const char *function, unsigned line,
                    const char *phrase, const char *detail) {
    library->H5Epush2(stack, "csz/plugins/hdf5/filter.c", function, line, *library->H5E_ERR_CLS_g,
                      *library->H5E_PLINE_g, *library->H5E_CANTFILTER_g, PHRASE_BEGIN "%s%s%s", phrase,
                      detail ? ": " : "", detail ? detail : "");
}

/* HDF5 2.0 takes no line while it calls a filter, but it takes a whole stack. */
static void push(const csz_h5_library *library, const char *function, unsigned line, const char *phrase,
                 const char *detail) {
    if (!library->H5Epush2) return; /* unseen */
    push_to(H5E_DEFAULT, library, function, line, phrase, detail);
    if (library->H5Eget_num(H5E_DEFAULT) > 0) return;
    const hid_t stack = library->H5Ecreate_stack();
    if (stack < 0) return;
    push_to(stack, library, function, line, phrase, detail);
    library->H5Eset_current_stack(stack); /* which closes it */
}
#define PUSH(library, phrase, detail) push((library), __func__, __LINE__, (phrase), (detail))

/* ---- When a dataset is created ---------------------------------------------------------------------- */

/* The four types that can be compressed.  0 if type is another one. */
static int take_type(csz_hdf5_chunk *chunk, const csz_h5_library *library, hid_t type) {
    const struct {
        hid_t id;
        csz_type type;
        int is_big_endian;
    } known[] = {{*library->H5T_IEEE_F32LE_g, CSZ_F32, 0},
                 {*library->H5T_IEEE_F64LE_g, CSZ_F64, 0},
                 {*library->H5T_IEEE_F32BE_g, CSZ_F32, 1},
                 {*library->H5T_IEEE_F64BE_g, CSZ_F64, 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (library->H5Tequal(type, known[i].id) > 0) {
            chunk->field.type = known[i].type;
            chunk->is_big_endian = known[i].is_big_endian;
            return 1;
        }
    }
    return 0;
}

/* Unit dims dropped; of more than four the slowest are multiplied together, which keeps the order of the
 * values. */
static int take_dims(csz_field *field, const csz_h5_library *library, hid_t dcpl) {
    hsize_t dims[H5S_MAX_RANK];
    int rank = library->H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    if (rank < 1 || rank > H5S_MAX_RANK) return 0;
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (dims[i] != 1) dims[n++] = dims[i];
    int n_folded = n > CSZ_MAX_NDIM ? n - CSZ_MAX_NDIM : 0;
    field->ndim = n - n_folded;
    for (int i = 0; i < field->ndim; i++) field->dims[i] = dims[n_folded + i];
    for (int i = 0; i < n_folded; i++) {
        if (dims[i] != 0 && field->dims[0] > UINT64_MAX / dims[i]) return 0;
        field->dims[0] *= dims[i];
    }
    if (field->ndim == 0) {
        field->ndim = 1;
        field->dims[0] = 1;
    }
    return 1;
}

/* From FLT_MAX and half a step on, a number rounds to infinity. */
static int fits(double value, csz_type type) {
    return type == CSZ_F64 || !isfinite(value) || fabs(value) < 0x1.ffffffp127;
}

/* What HDF5 pads the chunks at a dataset's edge with: its fill value, or 0 where it has none.  NULL or what
 * is wrong. */
static const char *take_padding(csz_hdf5_chunk *chunk, const csz_h5_library *library, hid_t dcpl) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
    if (library->H5Pfill_value_defined(dcpl, &defined) < 0) return "the dataset's fill value cannot be read";
    if (defined == H5D_FILL_VALUE_USER_DEFINED &&
        library->H5Pget_fill_value(dcpl, *library->H5T_NATIVE_DOUBLE_g, &chunk->padding) < 0)
        return "the dataset's fill value cannot be read";
    return fits(chunk->padding, chunk->field.type) ? NULL
                                                   : "the dataset's fill value does not fit 32-bit floats";
}

/*
 * cd_values as they stand in the property list, and the dataset's type.  A complete list was copied from
 * another dataset by a tool, which may have changed the type (ncpdq packs floats into integers): where the
 * bound can no longer apply, every bit is kept.  NULL or what is wrong.
 */
static const char *take_settings(csz_hdf5_settings *settings, csz_hdf5_chunk *chunk, unsigned *flags,
                                 const csz_h5_library *library, hid_t dcpl, hid_t type) {
    unsigned words[MOST_USER_WORDS] = {0};
    size_t n = MOST_USER_WORDS;
    if (library->H5Pget_filter_by_id2(dcpl, CSZ_HDF5_FILTER_ID, flags, &n, words, 0, NULL, NULL) < 0)
        return "its settings cannot be read";
    const char *wrong = csz_hdf5_unpack(settings, words, n < MOST_USER_WORDS ? n : MOST_USER_WORDS);
    if (wrong || take_type(chunk, library, type)) return wrong;
    if (csz_hdf5_is_complete(words, n)) {
        csz_hdf5_settings_init(settings);
        settings->is_exact = 1;
    }
    chunk->other_nbytes = library->H5Tget_size(type);
    return chunk->other_nbytes ? NULL : "the size of the dataset's type cannot be read";
}

enum { FILTER_NAME_NBYTES = 64 };

/* 1 if no other filter sees the values before this one: shuffled or compressed bytes are no floats, and
 * nobody would notice.  name: of the first filter. */
static int is_first(char name[FILTER_NAME_NBYTES], const csz_h5_library *library, hid_t dcpl) {
    unsigned flags = 0, config = 0;
    size_t n = 0;
    name[0] = 0;
    H5Z_filter_t first =
        library->H5Pget_filter2(dcpl, 0, &flags, &n, NULL, FILTER_NAME_NBYTES, name, &config);
    name[FILTER_NAME_NBYTES - 1] = 0;
    if (name[0] == 0) snprintf(name, FILTER_NAME_NBYTES, "number %d", (int)first);
    return first == CSZ_HDF5_FILTER_ID;
}

static htri_t can_apply(hid_t dcpl, hid_t type, hid_t space) {
    const csz_h5_library *library = csz_h5_library_at(CALLER);
    csz_hdf5_settings settings;
    csz_hdf5_chunk chunk = {.is_big_endian = 0};
    unsigned flags = 0;
    (void)space;
    if (!library) return -1;
    const char *wrong = take_settings(&settings, &chunk, &flags, library, dcpl, type);
    if (wrong) {
        PUSH(library, wrong, NULL);
        return -1;
    }
    if (chunk.other_nbytes && !settings.is_exact) {
        if (settings.is_optional) return 1;
        PUSH(library, "the dataset's type is not a 32-bit or 64-bit IEEE float",
             "leave the filter out for it");
        return -1;
    }
    char name[FILTER_NAME_NBYTES], phrase[FILTER_NAME_NBYTES + 64];
    if (is_first(name, library, dcpl)) return 1;
    snprintf(phrase, sizeof phrase, "the filter %s comes before it and hides the values from it", name);
    PUSH(library, phrase, "leave that one out, or put it after this one");
    return -1;
}

/*
 * A dataset that is not of floats, where the settings allow that: an optional filter without the words that
 * describe a chunk fails on every chunk, and HDF5 then stores it as it is.
 */
static herr_t leave_out(const csz_h5_library *library, hid_t dcpl, const csz_hdf5_settings *settings) {
    unsigned words[CSZ_HDF5_USER_VALUES];
    (void)csz_hdf5_pack(words, settings);
    const size_t n = settings->floor > 0 ? CSZ_HDF5_USER_VALUES : CSZ_HDF5_FLOOR_VALUE;
    return library->H5Pmodify_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_OPTIONAL, n, words);
}

/* What a chunk of floats is besides its type, for the words that set_local adds.  NULL or what is wrong. */
static const char *take_chunk(csz_hdf5_chunk *chunk, const csz_hdf5_settings *settings,
                              const csz_h5_library *library, hid_t dcpl) {
    size_t capacity;
    if (!take_dims(&chunk->field, library, dcpl) ||
        csz_compress_bound(&capacity, &chunk->field, NULL) != CSZ_OK)
        return "the chunk's dims cannot be read, or are too large";
    if (settings->is_exact) return NULL;
    if (settings->fill == CSZ_HDF5_FILL_GIVEN && !fits(settings->fill_value, chunk->field.type))
        return "the fill value given does not fit 32-bit floats";
    return take_padding(chunk, library, dcpl);
}

static herr_t set_local(hid_t dcpl, hid_t type, hid_t space) {
    const csz_h5_library *library = csz_h5_library_at(CALLER);
    csz_hdf5_settings settings;
    csz_hdf5_chunk chunk = {.is_big_endian = 0};
    unsigned flags = 0;
    (void)space;
    if (!library) return -1;
    const char *wrong = take_settings(&settings, &chunk, &flags, library, dcpl, type);
    if (!wrong && chunk.other_nbytes && !settings.is_exact)
        return settings.is_optional ? leave_out(library, dcpl, &settings) : -1;
    if (!wrong && !chunk.other_nbytes) wrong = take_chunk(&chunk, &settings, library, dcpl);
    if (wrong) {
        PUSH(library, wrong, NULL);
        return -1;
    }
    unsigned cd_values[CSZ_HDF5_MOST_VALUES];
    csz_hdf5_pack(cd_values, &settings);
    size_t n = csz_hdf5_pack_chunk(cd_values, &chunk);
    /* Mandatory whatever the program asked for (h5py makes every filter optional): a failure must not pass
     * unseen. */
    flags &= ~(unsigned)H5Z_FLAG_OPTIONAL;
    if (library->H5Pmodify_filter(dcpl, CSZ_HDF5_FILTER_ID, flags, n, cd_values) < 0) {
        PUSH(library, "its settings cannot be stored", NULL);
        return -1;
    }
    return 0;
}

/* ---- Chunk by chunk --------------------------------------------------------------------------------- */

/*
 * A context's scratch memory costs as much as coding a small chunk does, so one context is kept for the next
 * chunk; threads that find it taken make their own.
 */
static _Atomic(csz_context *) spare_context;

static csz_status take_context(csz_context **context) {
    *context = atomic_exchange(&spare_context, NULL);
    return *context ? CSZ_OK : csz_context_create(context);
}

static void keep_context(csz_context *context) {
    csz_context *other = atomic_exchange(&spare_context, context);
    csz_context_destroy(other);
}

static void __attribute__((destructor)) release_context(void) { keep_context(NULL); }

/* Freed as the caller's library frees; malloc is what HDF5 uses itself where its own functions are not to be
 * seen. */
static void *allocate(const csz_h5_library *library, size_t nbytes) {
    return library->H5allocate_memory ? library->H5allocate_memory(nbytes, 0) : malloc(nbytes);
}

static void release(const csz_h5_library *library, void *memory) {
    if (library->H5free_memory)
        library->H5free_memory(memory);
    else
        free(memory);
}

static int is_swapped(const csz_hdf5_chunk *chunk) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return chunk->is_big_endian != (first == 0);
}

/* Turns n values to the other byte order; to and from may be the same. */
static void swap_values(void *to, const void *from, uint64_t n, csz_type type) {
    unsigned char *out = to;
    const unsigned char *in = from;
    for (uint64_t i = 0; i < n; i++) {
        if (type == CSZ_F32) {
            uint32_t v;
            memcpy(&v, in + 4 * i, 4);
            v = __builtin_bswap32(v);
            memcpy(out + 4 * i, &v, 4);
        } else {
            uint64_t v;
            memcpy(&v, in + 8 * i, 8);
            v = __builtin_bswap64(v);
            memcpy(out + 8 * i, &v, 8);
        }
    }
}

/* Values and bytes of the chunk that cd_values describe; 0 if the product overflows. */
static int count(uint64_t *nelements, size_t *nbytes, const csz_field *field) {
    uint64_t n = 1;
    for (int i = 0; i < field->ndim; i++) {
        if (field->dims[i] == 0 || n > ((uint64_t)1 << 56) / field->dims[i]) return 0;
        n *= field->dims[i];
    }
    *nelements = n;
    *nbytes = (size_t)n * (field->type == CSZ_F32 ? 4 : 8);
    return *nbytes / (field->type == CSZ_F32 ? 4 : 8) == n;
}

static int same_field(const csz_field *a, const csz_field *b) {
    return a->type == b->type && a->ndim == b->ndim &&
           memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->ndim) == 0;
}

static double value_at(const void *data, uint64_t i, csz_type type) {
    return type == CSZ_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/*
 * A relative bound where padding is not the archive's fill value: the range of all other values decides, and
 * the chunk gets the absolute bound that follows.  Padding is known by its value alone.  Where the range is 0
 * the chunk must come back exactly, for which the smallest bound serves; a chunk of padding alone keeps the
 * relative one.
 */
static void resolve_without_padding(csz_options *options, const void *data, uint64_t nelements,
                                    const csz_hdf5_chunk *chunk) {
    csz_type type = chunk->field.type;
    double padding = type == CSZ_F32 ? (float)chunk->padding : chunk->padding;
    double fill = type == CSZ_F32 ? (float)options->fill : options->fill;
    double min = INFINITY, max = -INFINITY;
    for (uint64_t i = 0; i < nelements; i++) {
        double v = value_at(data, i, type);
        if (!isfinite(v) || v == padding || (options->has_fill && v == fill)) continue;
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    if (!(max >= min)) return;
    const csz_value_range range = {1, min, max};
    double bound = 0;
    if (csz_range_bound(&bound, &range, options) != CSZ_OK) return; /* compressing tells why */
    options->bound_mode = CSZ_BOUND_ABS;
    options->bound = bound > 0 ? bound : DBL_MIN;
}

/*
 * The dataset's fill value is missing unless the user says otherwise, but 0 is not made the archive's fill
 * value: every value that would be restored as 0 would then have to be stored exactly.
 */
static void set_options(csz_options *options, const csz_hdf5_settings *settings,
                        const csz_hdf5_chunk *chunk) {
    csz_options_init(options);
    options->bound_mode = settings->is_exact ? CSZ_BOUND_EXACT : settings->bound_mode;
    options->bound = settings->bound;
    options->floor = settings->floor;
    options->unsigned_zeros = settings->unsigned_zeros;
    options->workflow = settings->workflow;
    options->predictor = settings->predictor;
    options->backend = CSZ_BACKEND_CPU;
    options->threads = 1;
    options->has_fill =
        !settings->is_exact && (settings->fill == CSZ_HDF5_FILL_GIVEN ||
                                (settings->fill == CSZ_HDF5_FILL_DATASET && chunk->padding != 0));
    if (options->has_fill)
        options->fill = settings->fill == CSZ_HDF5_FILL_GIVEN ? settings->fill_value : chunk->padding;
}

/* Bounds that depend on the range of the values. */
static int is_ranged(const csz_options *options) {
    return options->bound_mode == CSZ_BOUND_REL || options->bound_mode == CSZ_BOUND_PSNR;
}

/* A chunk to its exact form in fresh memory, NULL after the message. */
static void *store(size_t *capacity, size_t *out_nbytes, const csz_h5_library *library, const void *data,
                   size_t nbytes) {
    *capacity = csz_hdf5_exact_capacity(nbytes);
    void *coded = *capacity ? allocate(library, *capacity) : NULL;
    if (coded)
        *out_nbytes = csz_hdf5_exact_encode(coded, data, nbytes);
    else
        PUSH(library, "a chunk cannot be stored",
             *capacity ? csz_status_string(CSZ_ERROR_MEMORY) : "its size");
    return coded;
}

/* An exact form to a chunk in fresh memory, NULL after the message.  wanted: its bytes, 0 if the words do not
 * say. */
static void *restore(size_t *out_nbytes, const csz_h5_library *library, const void *coded,
                     size_t coded_nbytes, size_t wanted) {
    csz_status status = csz_hdf5_exact_inspect(out_nbytes, coded, coded_nbytes);
    if (status == CSZ_OK && wanted && *out_nbytes != wanted) status = CSZ_ERROR_CORRUPT;
    void *data = NULL;
    if (status == CSZ_OK) {
        data = allocate(library, *out_nbytes);
        status = data ? csz_hdf5_exact_decode(data, coded, coded_nbytes) : CSZ_ERROR_MEMORY;
    }
    if (status == CSZ_OK) return data;
    PUSH(library, "a chunk cannot be restored", csz_status_string(status));
    if (data) release(library, data);
    return NULL;
}

/* A chunk to an archive in *archive, which is allocated once the capacity is known. */
static csz_status compress_chunk(void **archive, size_t *capacity, size_t *out_nbytes,
                                 const csz_h5_library *library, csz_context *context, const void *data,
                                 uint64_t nelements, const csz_hdf5_chunk *chunk, csz_options options) {
    if (is_ranged(&options) && !(options.has_fill && options.fill == chunk->padding))
        resolve_without_padding(&options, data, nelements, chunk);
    csz_status status = csz_compress_bound(capacity, &chunk->field, &options);
    if (status == CSZ_OK && !*archive) *archive = allocate(library, *capacity);
    if (status == CSZ_OK && !*archive) status = CSZ_ERROR_MEMORY;
    return status == CSZ_OK
               ? csz_compress(context, *archive, *capacity, out_nbytes, data, &chunk->field, &options)
               : status;
}

/* A chunk to an archive in fresh memory, NULL after the message. */
static void *compress(size_t *capacity, size_t *out_nbytes, const csz_h5_library *library, const void *data,
                      uint64_t nelements, size_t nbytes, const csz_hdf5_chunk *chunk,
                      const csz_hdf5_settings *settings) {
    csz_context *context = NULL;
    csz_options options;
    void *archive = NULL, *swapped = NULL;
    set_options(&options, settings, chunk);
    csz_status status = take_context(&context);
    if (status == CSZ_OK && is_swapped(chunk)) {
        swapped = malloc(nbytes);
        if (swapped) swap_values(swapped, data, nelements, chunk->field.type);
        status = swapped ? CSZ_OK : CSZ_ERROR_MEMORY;
        data = swapped;
    }
    /* To fail is no answer: HDF5 2.0 crashes at the program's end where a chunk of its cache cannot be
     * written. */
    if (status == CSZ_OK && settings->fill != CSZ_HDF5_FILL_NONE)
        status = csz_unnamed_fill_name(&options, data, nelements, chunk->field.type, &chunk->padding);
    if (status == CSZ_OK)
        status =
            compress_chunk(&archive, capacity, out_nbytes, library, context, data, nelements, chunk, options);
    free(swapped);
    keep_context(context);
    if (status == CSZ_OK) return archive;
    PUSH(library, "a chunk cannot be compressed", csz_status_string(status));
    if (archive) release(library, archive);
    return NULL;
}

/* An archive to a chunk of nbytes in fresh memory, NULL after the message. */
static void *decompress(const csz_h5_library *library, const void *archive, size_t archive_nbytes,
                        uint64_t nelements, size_t nbytes, const csz_hdf5_chunk *chunk) {
    csz_context *context = NULL;
    csz_decompress_options options;
    csz_info info;
    void *data = NULL;
    csz_status status = csz_inspect(&info, sizeof info, archive, archive_nbytes);
    if (status == CSZ_OK && (!same_field(&info.field, &chunk->field) || info.nbytes_field != nbytes)) {
        PUSH(library, "a chunk holds a field of another type or other dims than the dataset",
             "the file is damaged");
        return NULL;
    }
    csz_decompress_options_init(&options);
    options.backend = CSZ_BACKEND_CPU;
    options.threads = 1;
    if (status == CSZ_OK) status = take_context(&context);
    if (status == CSZ_OK) {
        data = allocate(library, nbytes);
        status = data ? csz_decompress(context, data, nbytes, archive, archive_nbytes, &options)
                      : CSZ_ERROR_MEMORY;
    }
    keep_context(context);
    if (status == CSZ_OK && is_swapped(chunk)) swap_values(data, data, nelements, chunk->field.type);
    if (status == CSZ_OK) return data;
    PUSH(library, "a chunk cannot be restored", csz_status_string(status));
    if (data) release(library, data);
    return NULL;
}

static int is_archive(const void *bytes, size_t nbytes) {
    return nbytes >= 4 && memcmp(bytes, "CSZ+", 4) == 0;
}

/* nbytes is what *buf holds; *buf_size, its capacity, is written and never read. */
static size_t apply(unsigned flags, size_t cd_nelmts, const unsigned cd_values[], size_t nbytes,
                    size_t *buf_size, void **buf) {
    const csz_h5_library *library = csz_h5_library_at(CALLER);
    csz_hdf5_settings settings;
    csz_hdf5_chunk chunk;
    uint64_t nelements = 0;
    size_t chunk_nbytes = 0, capacity = 0, out_nbytes = 0;
    void *out;
    if (!library) library = &unseen;
    const char *wrong = csz_hdf5_unpack_chunk(&chunk, cd_values, cd_nelmts);
    if (!wrong) wrong = csz_hdf5_unpack(&settings, cd_values, cd_nelmts);
    if (!wrong && !chunk.other_nbytes && !count(&nelements, &chunk_nbytes, &chunk.field))
        wrong = "the chunk's dims overflow";
    if (wrong) {
        PUSH(library, wrong, NULL);
        return 0;
    }
    /* floats are exact archives; other types are stored as they are, as floats were before */
    const int is_stored =
        settings.is_exact && (flags & H5Z_FLAG_REVERSE ? !is_archive(*buf, nbytes) : chunk.other_nbytes != 0);
    if (flags & H5Z_FLAG_REVERSE && is_stored) {
        out = restore(&out_nbytes, library, *buf, nbytes, chunk_nbytes);
        capacity = out_nbytes;
    } else if (flags & H5Z_FLAG_REVERSE) {
        out = decompress(library, *buf, nbytes, nelements, chunk_nbytes, &chunk);
        capacity = out_nbytes = chunk_nbytes;
    } else if (!chunk.other_nbytes && nbytes != chunk_nbytes) {
        PUSH(library, "a chunk has another size than its type and dims say",
             "put this filter before all others");
        return 0;
    } else if (is_stored) {
        out = store(&capacity, &out_nbytes, library, *buf, nbytes);
    } else {
        out = compress(&capacity, &out_nbytes, library, *buf, nelements, nbytes, &chunk, &settings);
    }
    if (!out) return 0;
    release(library, *buf);
    *buf = out;
    *buf_size = capacity;
    return out_nbytes;
}

const H5Z_class2_t csz_hdf5_filter_class = {
    H5Z_CLASS_T_VERS, CSZ_HDF5_FILTER_ID, 1,     1, "csz: error-bounded lossy compression",
    can_apply,        set_local,          apply,
};
