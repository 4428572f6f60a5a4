/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mpi.c: run by 1 to 5 ranks.  Whatever the boxes, the archive has the bytes of csz_compress of the
 * whole field, and any boxes read it back; what is wrong on one rank is an error on all, and leaves nothing
 * behind.  `test_mpi kill MS PATH`: rank 1 kills itself MS milliseconds into a compression.  `test_mpi
 * device`: boxes in device memory, where there is a GPU or its emulator.
 */
#include "csz_cuda.h"
#include "shared.h"

#if defined(CSZ_HAVE_CUDA)
#include "cuda/host/runtime.h"
#endif

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int rank, nranks, nfailed;
static csz_context *context;

#define CHECK(condition)                                                                                 \
    do {                                                                                                 \
        if (!(condition)) {                                                                              \
            fprintf(stderr, "rank %d of %d: %s:%d: %s\n", rank, nranks, __FILE__, __LINE__, #condition); \
            nfailed++;                                                                                   \
        }                                                                                                \
    } while (0)

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t n) { /* the same on all ranks */
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(random_state >> 8) * n) >> 24);
}

static double value_at(uint64_t i) {
    if (i % 1013 == 7) return 1e20;
    return (double)(i % 4099) * 0.01 + (double)((i * 2654435761u) >> 20 & 255) * 1e-4 - 3;
}

static void store(void *data, csz_type type, uint64_t k, double value) {
    if (type == CSZ_F32)
        ((float *)data)[k] = (float)value;
    else
        ((double *)data)[k] = value;
}

static uint64_t count_of(const csz_mpi_box *box, int ndim) {
    uint64_t n = 1;
    for (int i = 0; i < ndim; i++) n *= box->end[i] - box->begin[i];
    return n;
}

/* The box's values, from the field's function. */
static void *make_box(const csz_field *field, const csz_mpi_box *box) {
    uint64_t n = count_of(box, field->ndim), at[4];
    void *data = malloc(n * 8 + 1);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t left = k, index = 0;
        for (int i = field->ndim - 1; i >= 0; i--) {
            uint64_t extent = box->end[i] - box->begin[i];
            if (extent == 0) return data; /* n is 0 then; said for the static check */
            at[i] = box->begin[i] + left % extent;
            left /= extent;
        }
        for (int i = 0; i < field->ndim; i++) index = index * field->dims[i] + at[i];
        store(data, field->type, k, value_at(index));
    }
    return data;
}

/* Cuts at random places, some ranks left with nothing: dims are cut one after the other. */
static void random_boxes(csz_mpi_box *boxes, const csz_field *field) {
    int used = 1;
    memset(boxes, 0, (size_t)nranks * sizeof *boxes);
    for (int i = 0; i < field->ndim; i++) boxes[0].end[i] = field->dims[i];
    while (used < nranks) {
        int whom = (int)random_below((uint32_t)used), axis = (int)random_below((uint32_t)field->ndim);
        uint64_t extent = boxes[whom].end[axis] - boxes[whom].begin[axis];
        uint64_t cut = boxes[whom].begin[axis] + random_below((uint32_t)extent + 1);
        boxes[used] = boxes[whom];
        boxes[whom].end[axis] = cut;
        boxes[used].begin[axis] = cut;
        used++;
    }
}

static unsigned char *read_whole(const char *path, size_t *nbytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *nbytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*nbytes + 1);
    if (fread(bytes, 1, *nbytes, file) != *nbytes) *nbytes = 0;
    fclose(file);
    return bytes;
}

/* What csz_compress makes of the whole field. */
static unsigned char *wanted_archive(const csz_field *field, const csz_options *options, size_t *nbytes) {
    csz_mpi_box whole = {{0}, {0}};
    size_t capacity;
    for (int i = 0; i < field->ndim; i++) whole.end[i] = field->dims[i];
    void *all = make_box(field, &whole);
    csz_compress_bound(&capacity, field, options);
    unsigned char *wanted = malloc(capacity);
    CHECK(csz_compress(context, wanted, capacity, nbytes, all, field, options) == CSZ_OK);
    free(all);
    return wanted;
}

static void check_file(const char *path, const unsigned char *wanted, size_t nbytes) {
    size_t found_nbytes = 0;
    unsigned char *found = read_whole(path, &found_nbytes);
    CHECK(found && found_nbytes == nbytes && memcmp(found, wanted, nbytes) == 0);
    free(found);
    MPI_Barrier(MPI_COMM_WORLD); /* before it is written again */
}

static void check_field(const csz_field *field, const csz_options *options) {
    csz_mpi_box *boxes = malloc((size_t)nranks * sizeof *boxes);
    const size_t size = field->type == CSZ_F32 ? 4 : 8;
    random_boxes(boxes, field);
    void *mine = make_box(field, &boxes[rank]);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "mpi.csz", mine, &boxes[rank], field, options, 0, NULL,
                           0) == CSZ_OK);
    free(mine);

    size_t nbytes = 0;
    unsigned char *wanted = wanted_archive(field, options, &nbytes);
    check_file("mpi.csz", wanted, nbytes);

    random_boxes(boxes, field);
    uint64_t part = count_of(&boxes[rank], field->ndim);
    unsigned char *got = malloc(part * size + 1), *should = malloc(part * size + 1);
    CHECK(csz_mpi_decompress(context, MPI_COMM_WORLD, got, part * size, "mpi.csz", &boxes[rank], NULL, NULL,
                             0) == CSZ_OK);
    if (part) {
        CHECK(csz_decompress_region(context, should, part * size, wanted, nbytes, boxes[rank].begin,
                                    boxes[rank].end, NULL) == CSZ_OK);
        CHECK(memcmp(got, should, part * size) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(boxes);
    free(wanted);
    free(got);
    free(should);
}

static void any_boxes_give_the_same_bytes(void) {
    const csz_field fields[] = {{CSZ_F32, 1, {9001}},        {CSZ_F64, 2, {70, 90}},
                                {CSZ_F32, 3, {20, 33, 50}},  {CSZ_F32, 4, {3, 5, 20, 30}},
                                {CSZ_F64, 4, {4, 1, 9, 70}}, {CSZ_F32, 3, {1, 1, 1}},
                                {CSZ_F32, 2, {0, 5}}};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        for (int round = 0; round < 9; round++) {
            csz_options o;
            csz_options_init(&o);
            o.threads = 1;
            o.predictor = (csz_predictor)(round / 3);
            o.bound_mode = (csz_bound_mode)(round % 3);
            o.bound = o.bound_mode == CSZ_BOUND_PSNR ? 60 : 1e-3;
            o.has_fill = 1;
            o.fill = 1e20;
            o.zstd_level = round % 4 == 1 && csz_zstd_available() ? 1 : 0;
            check_field(&fields[f], &o);
        }
    }
}

/* More than one frame of 8192 tiles, and planes that ranks share.  Of the four tiles of a plane three are
 * mostly padding, so that frames have 9 million elements and not 34. */
static const csz_field two_frames = {CSZ_F32, 4, {3, 6000, 17, 33}};

static void several_frames(csz_predictor predictor) {
    csz_options o;
    csz_options_init(&o);
    o.predictor = predictor;
    o.bound_mode = CSZ_BOUND_REL;
    o.bound = 1e-3;
    o.has_fill = 1;
    o.fill = 1e20;
    check_field(&two_frames, &o);
}

/* Memory for one piece on its way and one frame: less is refused, by the number that the refusal tells, and
 * no byte is another. */
static void a_limit_changes_no_byte(void) {
    csz_mpi_box *boxes = malloc((size_t)nranks * sizeof *boxes);
    csz_mpi_report report;
    csz_options o;
    size_t nbytes = 0;
    csz_options_init(&o);
    o.bound = 1e-3;
    o.threads = 1;
    random_boxes(boxes, &two_frames);
    void *data = make_box(&two_frames, &boxes[rank]);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "mpi.csz", data, &boxes[rank], &two_frames, &o, 0, NULL,
                           0) == CSZ_OK);
    unsigned char *wanted = read_whole("mpi.csz", &nbytes);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "limited.csz", data, &boxes[rank], &two_frames, &o, 1,
                           &report, sizeof report) == CSZ_ERROR_LIMIT);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "limited.csz", data, &boxes[rank], &two_frames, &o,
                           report.nbytes_memory - 1, &report, sizeof report) == CSZ_ERROR_LIMIT);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "limited.csz", data, &boxes[rank], &two_frames, &o,
                           report.nbytes_memory, NULL, 0) == CSZ_OK);
    check_file("limited.csz", wanted, nbytes);
    free(wanted);
    free(data);
    free(boxes);
}

#if defined(CSZ_HAVE_CUDA)
/* On all ranks, or on every second one. */
static void boxes_on_a_device_give_the_same_bytes(void) {
    const csz_field fields[] = {
        {CSZ_F64, 2, {70, 90}}, {CSZ_F32, 3, {20, 33, 50}}, {CSZ_F32, 4, {3, 5, 20, 30}}};
    csz_mpi_box *boxes = malloc((size_t)nranks * sizeof *boxes);
    for (int round = 0; round < 6; round++) {
        const csz_field *field = &fields[round % 3];
        csz_options o;
        void *d_mine = NULL;
        size_t nbytes = 0;
        csz_options_init(&o);
        o.bound_mode = (csz_bound_mode)(round % 2);
        o.bound = 1e-3;
        o.has_fill = 1;
        o.fill = 1e20;
        random_boxes(boxes, field);
        const size_t mine_nbytes =
            (size_t)count_of(&boxes[rank], field->ndim) * (field->type == CSZ_F32 ? 4 : 8);
        void *mine = make_box(field, &boxes[rank]);
        unsigned char *wanted = wanted_archive(field, &o, &nbytes);
        if (mine_nbytes && (round < 3 || rank % 2)) {
            CHECK(csz_cuda_runtime_real.allocate(&d_mine, mine_nbytes) == CSZ_OK);
            CHECK(csz_device_copy(d_mine, mine, mine_nbytes) == CSZ_OK);
            CHECK(csz_device_owns(d_mine) && !csz_device_owns(mine));
        }
        const void *data = d_mine ? d_mine : mine;
        CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "device.csz", data, &boxes[rank], field, &o, 0, NULL,
                               0) == CSZ_OK);
        check_file("device.csz", wanted, nbytes);
        if (round < 3) {
            o.backend = CSZ_BACKEND_CPU;
            CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "device.csz", data, &boxes[rank], field, &o, 0,
                                   NULL, 0) == CSZ_ERROR_ARGUMENT);
        }
        if (d_mine) csz_cuda_runtime_real.release(d_mine);
        free(wanted);
        free(mine);
    }
    free(boxes);
}
#endif

static int is_absent(const char *path) {
    struct stat status;
    return stat(path, &status) != 0;
}

static void what_one_rank_gets_wrong_fails_on_all(void) {
    const csz_field field = {CSZ_F32, 2, {64, 100}};
    csz_mpi_box box;
    csz_options o;
    csz_mpi_report report;
    int last = nranks - 1;
    csz_options_init(&o);
    o.bound = 1e-3;
    CHECK(csz_mpi_box_of(&box, MPI_COMM_WORLD, &field, NULL) == CSZ_OK);
    void *data = make_box(&field, &box);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", rank == last ? NULL : data, &box, &field, &o,
                           0, &report, sizeof report) == CSZ_ERROR_ARGUMENT);
    CHECK(report.failed_rank == last);
    csz_mpi_box other = box;
    if (rank == last) other.begin[1]++; /* a gap */
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &other, &field, &o, 0, NULL, 0) ==
          CSZ_ERROR_REGION);
    other = box;
    if (rank == last) other.end[0]++; /* outside */
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &other, &field, &o, 0, NULL, 0) ==
          CSZ_ERROR_REGION);
    if (nranks > 1) { /* an overlap that hides a gap of the same size */
        other = box;
        if (rank == last) other.begin[0]--, other.end[0]--;
        CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &other, &field, &o, 0, NULL, 0) ==
              CSZ_ERROR_REGION);
    }
    if (nranks > 1) { /* frames of different archives */
        o.predictor = rank == last ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_LORENZO;
        CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &box, &field, &o, 0, NULL, 0) ==
              CSZ_ERROR_ARGUMENT);
        o.predictor = CSZ_PREDICTOR_LORENZO;
    }
    if (nranks > 1) {
        csz_info none;
        const char *path = rank == last ? "other.csz" : "bad.csz";
        CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, path, data, &box, &field, &o, 0, NULL, 0) ==
              CSZ_ERROR_ARGUMENT);
        CHECK(csz_mpi_inspect(MPI_COMM_WORLD, &none, sizeof none, path) == CSZ_ERROR_ARGUMENT);
        CHECK(is_absent("other.csz"));
        csz_options unlike = o;
        if (rank == last) unlike.predictor = CSZ_PREDICTOR_PYRAMID;
        CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &box, &field, &unlike, 0, NULL, 0) ==
              CSZ_ERROR_ARGUMENT);
        unlike = o;
        if (rank == last) unlike.unsigned_zeros = 1;
        CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &box, &field, &unlike, 0, NULL, 0) ==
              CSZ_ERROR_ARGUMENT);
    }
    /* structures of sizes that no version has, on one rank */
    csz_options unset = o;
    if (rank == last) unset.size = 0;
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &box, &field, &unset, 0, &report,
                           sizeof report) == CSZ_ERROR_ARGUMENT);
    CHECK(report.failed_rank == last);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &box, &field, &o, 0, &report,
                           rank == last ? 0 : sizeof report) == CSZ_ERROR_ARGUMENT);
    CHECK(csz_mpi_decompress(context, MPI_COMM_WORLD, data, 1, "no_such.csz", &box, NULL, &report,
                             rank == last ? 0 : sizeof report) == CSZ_ERROR_ARGUMENT);
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "no/such/folder/bad.csz", data, &box, &field, &o, 0, NULL,
                           0) == CSZ_ERROR_IO);
    o.bound = 0;
    CHECK(csz_mpi_compress(context, MPI_COMM_WORLD, "bad.csz", data, &box, &field, &o, 0, NULL, 0) ==
          CSZ_ERROR_BOUND);
    CHECK(csz_mpi_decompress(context, MPI_COMM_WORLD, data, 1, "no_such.csz", &box, NULL, NULL, 0) ==
          CSZ_ERROR_IO);
    CHECK(is_absent("bad.csz"));
    csz_info info;
    if (rank == 0) {
        FILE *file = fopen("short.csz", "wb");
        fputs("CSZ+ and not much more", file);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(csz_mpi_inspect(MPI_COMM_WORLD, &info, sizeof info, "short.csz") != CSZ_OK);
    free(data);
}

/* The name may be taken while the ranks compress: the file there is then kept, and nothing of ours stays. */
static void a_name_taken_meanwhile_is_kept(void) {
    const csz_field field = {CSZ_F32, 2, {64, 100}};
    csz_mpi_box box;
    csz_options o;
    struct stat before, after;
    csz_options_init(&o);
    o.bound = 1e-3;
    CHECK(csz_mpi_box_of(&box, MPI_COMM_WORLD, &field, NULL) == CSZ_OK);
    void *data = make_box(&field, &box);
    const csz_mpi_source source = {.data = data};
    const csz_mpi_target kept = {.path = "taken.csz"}, replaced = {.path = "taken.csz", .may_replace = 1};
    if (rank == 0) unlink("taken.csz");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(csz_mpi_compress_to(context, MPI_COMM_WORLD, &kept, &source, &box, &field, &o, 0, NULL) == CSZ_OK);
    CHECK(stat("taken.csz", &before) == 0);
    CHECK(csz_mpi_compress_to(context, MPI_COMM_WORLD, &kept, &source, &box, &field, &o, 0, NULL) ==
          CSZ_ERROR_IO);
    CHECK(stat("taken.csz", &after) == 0 && after.st_ino == before.st_ino);
    MPI_Barrier(MPI_COMM_WORLD); /* before it is replaced */
    CHECK(csz_mpi_compress_to(context, MPI_COMM_WORLD, &replaced, &source, &box, &field, &o, 0, NULL) ==
          CSZ_OK);
    CHECK(stat("taken.csz", &after) == 0 && after.st_ino != before.st_ino);
    free(data);
}

static void die(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

/* Compresses again and again until rank 1 is gone; success would be an error. */
static int be_killed(int milliseconds, const char *path) {
    const csz_field field = {CSZ_F32, 3, {40, 256, 256}};
    csz_mpi_box box;
    csz_options o;
    csz_options_init(&o);
    o.bound = 1e-4;
    csz_mpi_box_of(&box, MPI_COMM_WORLD, &field, NULL);
    void *data = make_box(&field, &box);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        struct itimerval when = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &when, NULL);
    }
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 60;)
        if (csz_mpi_compress(context, MPI_COMM_WORLD, path, data, &box, &field, &o, 0, NULL, 0) != CSZ_OK)
            break;
    free(data);
    return 0;
}

static int finish(void) {
    int sum = 0;
    csz_context_destroy(context);
    MPI_Allreduce(&nfailed, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && sum == 0) printf("%d ranks: every property holds\n", nranks);
    MPI_Finalize();
    return sum != 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (csz_context_create(&context) != CSZ_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    if (argc == 4 && strcmp(argv[1], "kill") == 0) return be_killed(atoi(argv[2]), argv[3]);
#if defined(CSZ_HAVE_CUDA)
    if (argc == 2 && strcmp(argv[1], "device") == 0) {
        boxes_on_a_device_give_the_same_bytes();
        return finish();
    }
#endif
    if (argc == 2 && strcmp(argv[1], "large") == 0) {
        several_frames(CSZ_PREDICTOR_LORENZO);
        several_frames(CSZ_PREDICTOR_PYRAMID);
        a_limit_changes_no_byte();
        return finish();
    }
    any_boxes_give_the_same_bytes();
    what_one_rank_gets_wrong_fails_on_all();
    a_name_taken_meanwhile_is_kept();
    return finish();
}
