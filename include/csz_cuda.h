/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_cuda.h: the calls of cuSZ+ for programs whose data lives on a GPU.  They take device pointers, put
 * their work on the caller's stream and return at once.  Sizes and statuses arrive in device, pinned or
 * managed memory when the stream has passed the call.  Archives are those of csz.h, byte for byte.
 *
 * Builds.  No CUDA header is needed: a stream is a pointer, as cudaStream_t is, and NULL is the default
 * stream.  In a build without CUDA, and on a machine without a driver or card, a call whose arguments are
 * right returns CSZ_ERROR_BACKEND; the workspace queries need the build alone.
 *
 * Devices.  A context belongs to the device that was current at its first call; calls of this header with
 * another one current return CSZ_ERROR_ARGUMENT.
 *
 * Threads.  As in csz.h, one thread at a time uses a context; several contexts may work at once, on the
 * same or on different streams.
 *
 * Lifetime.  What a call was given in device memory, workspace and results included, must stay until the
 * stream has passed the call.  Arrays on the host, of pointers and of sizes, are read before the call
 * returns.
 *
 * Graphs.  All calls on a stream can be captured into a CUDA graph, once csz_cuda_prepare has been called
 * and where the workspace is the caller's.  A replay compresses what then lies at the same addresses.
 *
 * Fill values that options do not name are not looked for: csz_context_fill_suspect finds none.
 *
 * Metadata.  Options with metadata, or with a target instead of a bound, are CSZ_ERROR_ARGUMENT.  An archive
 * that has metadata is given without it: its nbytes_archive less its metadata_nbytes.
 */
#ifndef CSZ_CUDA_H
#define CSZ_CUDA_H

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Devices: also for programs that take both kinds of memory and are built without CUDA ------------ */

/* GPUs that can be used; those of a machine are numbered from 0. */
CSZ_API int csz_device_count(void);

/*
 * The GPU on which the calls of csz.h work with this context, by default the calling thread's current one.
 * They make it the thread's current device.  Call it before the context's first use.
 */
CSZ_API csz_status csz_context_set_device(csz_context *context, int device);

/* 1 if p lies in the memory of a GPU; managed memory counts. */
CSZ_API int csz_device_owns(const void *p);

/* Copies between host and device memory, either way, and returns when it is done. */
CSZ_API csz_status csz_device_copy(void *to, const void *from, size_t nbytes);

/*
 * Device memory that csz_compress and csz_decompress may take for fields and archives in host memory; 0,
 * the default: what is free.  A larger field goes through the device frame by frame, which never changes
 * the archive.  CSZ_ERROR_MEMORY where not even one frame fits.
 */
CSZ_API csz_status csz_cuda_memory_limit(csz_context *context, size_t nbytes);

/* ---- Calls on a stream ------------------------------------------------------------------------------ */

typedef struct CUstream_st *csz_cuda_stream; /* cudaStream_t */

/*
 * What became of a field, written by the device; undefined until the stream has passed the call.  Aligned
 * to 8 bytes, in device, pinned or managed memory.
 */
typedef struct csz_cuda_result {
    uint64_t nbytes; /* of the archive, also where it did not fit; decompressing: of the values restored */
    uint32_t status; /* a csz_status; CSZ_ERROR_BACKEND where the device failed */
    uint32_t faults; /* of an archive refused: which checks failed, for diagnosis; else 0 */
} csz_cuda_result;

/*
 * Makes the tables that a context keeps on the device, which allocates and synchronises.  Other calls do it
 * where it was not done.  Call it before capturing a graph, and to learn early whether there is a device.
 */
CSZ_API csz_status csz_cuda_prepare(csz_context *context);

/*
 * Bytes of workspace for n fields of this shape in one call (1 for the calls of a single field): at most 5%
 * of the fields plus 128 KiB for each; with a predictor other than Lorenzo 15% more in three dims, 34% in
 * two. options may be NULL: the defaults.
 */
CSZ_API csz_status csz_cuda_compress_workspace_query(size_t *nbytes, size_t n, const csz_field *field,
                                                     const csz_options *options);
CSZ_API csz_status csz_cuda_decompress_workspace_query(size_t *nbytes, size_t n, const csz_field *field);

/*
 * Enqueues the compression of d_data (contiguous, aligned to its type; 16 bytes are faster) into d_out
 * (aligned to 8).  result receives the archive's size and CSZ_OK; or CSZ_ERROR_CAPACITY where out_capacity
 * was too small: nothing is then written beyond it, and what d_out holds is undefined.  csz_compress_bound
 * always suffices.  Relative and PSNR bounds are resolved on the device.
 *
 * workspace has the queried size and is aligned to 256; a smaller one is CSZ_ERROR_ARGUMENT.  NULL: the
 * context's own, which grows (that synchronises) and must not be in use by two streams at once.
 *
 * Errors in the arguments are returned at once, as csz_compress does.  zstd_level must be 0.  The options'
 * backend and threads are not used.
 */
CSZ_API csz_status csz_cuda_compress_async(csz_context *context, void *d_out, size_t out_capacity,
                                           csz_cuda_result *result, const void *d_data,
                                           const csz_field *field, const csz_options *options,
                                           void *workspace, size_t workspace_nbytes, csz_cuda_stream stream);

/*
 * Tells later calls with this context which kind of bound their archives have, as the host does not read
 * them: CSZ_BOUND_PWR, CSZ_BOUND_EXACT, or any other (the default).  An archive of another kind has
 * CSZ_ERROR_ARGUMENT as its result.  csz_inspect_header says which kind an archive is: a pointwise bound that
 * is too fine becomes another.
 */
CSZ_API csz_status csz_cuda_expect_bound(csz_context *context, csz_bound_mode mode);

/*
 * Enqueues the restoration of a field into d_data.  The archive's header is read on the device and must
 * describe this field (type and dims), in the default grid of frames, without zstd and with the predictor
 * Lorenzo (others: csz_cuda_decompress_level_async); otherwise result->status is CSZ_ERROR_ARGUMENT.  All
 * other archives are accepted that csz_decompress accepts.  One that is refused has CSZ_ERROR_NOT_ARCHIVE,
 * CSZ_ERROR_VERSION, CSZ_ERROR_TRUNCATED or, for most causes, CSZ_ERROR_CORRUPT, also where csz_decompress
 * would find it truncated or followed by other bytes.  No archive, however damaged, makes a kernel leave its
 * buffers.
 *
 * d_archive is aligned to 8.  Where compressed is NULL, the archive has archive_nbytes.  Otherwise its size
 * is compressed->nbytes, read on the device when the stream gets there, and archive_nbytes is the room of
 * the buffer.  So what csz_cuda_compress_async wrote can be read back without the host.  A status in
 * compressed other than CSZ_OK becomes the result's.
 */
CSZ_API csz_status csz_cuda_decompress_async(csz_context *context, void *d_data, size_t data_capacity,
                                             csz_cuda_result *result, const void *d_archive,
                                             size_t archive_nbytes, const csz_cuda_result *compressed,
                                             const csz_field *field, void *workspace, size_t workspace_nbytes,
                                             csz_cuda_stream stream);

/*
 * Enqueues the restoration of the box begin[i] <= index[i] < end[i] of such a field, contiguous in d_data.
 * Only the tiles it touches are decoded.  Frames and records are checked; the checksum of the restored
 * values is checked for frames that lie in the box as a whole.  Workspace as for the whole field.
 *
 * In four dims above 1 the box must be one index of the slowest, or all of the second; otherwise
 * CSZ_ERROR_REGION, and one call for each index of the slowest does it.
 */
CSZ_API csz_status csz_cuda_decompress_region_async(csz_context *context, void *d_data, size_t data_capacity,
                                                    csz_cuda_result *result, const void *d_archive,
                                                    size_t archive_nbytes, const csz_cuda_result *compressed,
                                                    const csz_field *field, const uint64_t *begin,
                                                    const uint64_t *end, void *workspace,
                                                    size_t workspace_nbytes, csz_cuda_stream stream);

/*
 * n fields of one shape with the same options as one set of launches, for fields that are small; n is at
 * most 2^20.  d_data, d_out and out_capacity are arrays of n on the host, results one of n in device,
 * pinned or managed memory.  Each field becomes the archive it would become alone.  One that does not fit
 * does not touch the others.  Relative bounds are resolved field by field.
 */
CSZ_API csz_status csz_cuda_compress_batch(csz_context *context, size_t n, void *const *d_out,
                                           const size_t *out_capacity, csz_cuda_result *results,
                                           const void *const *d_data, const csz_field *field,
                                           const csz_options *options, void *workspace,
                                           size_t workspace_nbytes, csz_cuda_stream stream);

/*
 * The reverse.  data_capacity is that of each field; compressed is NULL or an array of n, placed as results
 * is.  A damaged archive does not touch the other fields.
 */
CSZ_API csz_status csz_cuda_decompress_batch(csz_context *context, size_t n, void *const *d_data,
                                             size_t data_capacity, csz_cuda_result *results,
                                             const void *const *d_archives, const size_t *archive_nbytes,
                                             const csz_cuda_result *compressed, const csz_field *field,
                                             void *workspace, size_t workspace_nbytes,
                                             csz_cuda_stream stream);

/*
 * The same for archives that were compressed with another predictor than Lorenzo.  Level 0 is the field; a
 * level above 0 a preview, as csz_decompress_level has it.  begin and end are a box of the level in its own
 * dims; NULL, NULL: all of it.  A field of one dim is a Lorenzo archive whatever was asked for, and is read
 * as one.  Workspace: of csz_cuda_decompress_level_workspace_query, for n fields of this shape.
 */
CSZ_API csz_status csz_cuda_decompress_level_workspace_query(size_t *nbytes, size_t n,
                                                             const csz_field *field);
CSZ_API csz_status csz_cuda_decompress_level_async(csz_context *context, void *d_data, size_t data_capacity,
                                                   csz_cuda_result *result, const void *d_archive,
                                                   size_t archive_nbytes, const csz_cuda_result *compressed,
                                                   const csz_field *field, int level, const uint64_t *begin,
                                                   const uint64_t *end, void *workspace,
                                                   size_t workspace_nbytes, csz_cuda_stream stream);
CSZ_API csz_status csz_cuda_decompress_level_batch(
    csz_context *context, size_t n, void *const *d_data, size_t data_capacity, csz_cuda_result *results,
    const void *const *d_archives, const size_t *archive_nbytes, const csz_cuda_result *compressed,
    const csz_field *field, int level, void *workspace, size_t workspace_nbytes, csz_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif
