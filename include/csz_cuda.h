/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_cuda.h: the calls of cuSZ+ for programs whose data lives on a GPU.  They take device pointers, put their work on the caller's stream and return
 * at once: sizes and verdicts arrive in device, pinned or managed memory when the stream gets there.  Archives are those of csz.h, byte for byte.
 *
 * No CUDA header is needed: a stream is a pointer, as cudaStream_t is, and NULL is the default stream.  In a build without CUDA, and on a machine without a
 * driver or card, a call that is otherwise in order returns CSZ_ERROR_BACKEND; the workspace queries need the build alone.
 *
 * Devices.  A context belongs to the device that was current at its first call; calls with another one current return CSZ_ERROR_ARGUMENT.
 * Threads.  As in csz.h, one thread at a time uses a context; several contexts may work at once, on the same or on different streams.
 * Lifetime.  Everything a call was given in device memory, workspace and results included, must stay until the stream has passed it; arrays on the
 * host (of pointers, of sizes) are read before the call returns.
 * Fill values that options do not name are not looked for, as csz_context_fill_suspect does for fields in host memory: that would take a copy to the host.
 * Graphs.  All calls of this header but csz_cuda_prepare can be captured into a CUDA graph, once csz_cuda_prepare has been called and where the
 * workspace is the caller's.  A replay compresses what then lies at the same addresses.
 */
#ifndef CSZ_CUDA_H
#define CSZ_CUDA_H

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *csz_cuda_stream; /* cudaStream_t */

/*
 * What became of a field, written by the device.  Undefined until the stream has passed the call; status is CSZ_ERROR_BACKEND where the device failed in
 * between.  Aligned to 8 bytes, in device, pinned or managed memory.
 */
typedef struct csz_cuda_result {
    uint64_t nbytes; /* of the archive, also where it did not fit; of the field, restored */
    uint32_t status; /* a csz_status */
    uint32_t
        faults; /* of an archive refused: which checks failed, for those who look for the cause; else 0 */
} csz_cuda_result;

/*
 * Makes what a context keeps on the device (0.2 MB of tables, once), which allocates and synchronises.  The other calls do it where it was not
 * done; call it before capturing a graph, and to learn early whether there is a device.
 */
CSZ_API csz_status csz_cuda_prepare(csz_context *context);

/*
 * Bytes of workspace for n fields of this shape in one call (n = 1: the calls for a single field): at most 5% of the fields plus 128 KiB for each.
 * Options may be NULL: they do not matter today.
 */
CSZ_API csz_status csz_cuda_compress_workspace_query(size_t *nbytes, size_t n, const csz_field *field,
                                                     const csz_options *options);
CSZ_API csz_status csz_cuda_decompress_workspace_query(size_t *nbytes, size_t n, const csz_field *field);

/*
 * Enqueues the compression of d_data (contiguous, aligned to its type; 16 bytes are faster) into d_out (aligned to 8).  result->nbytes
 * receives the archive's size and result->status CSZ_OK; or CSZ_ERROR_CAPACITY, where out_capacity was too small: nothing is then written beyond it,
 * and what d_out holds is undefined.  csz_compress_bound always suffices.  Relative and PSNR bounds are resolved on the device.
 *
 * workspace: of the queried size, aligned to 256; smaller: CSZ_ERROR_ARGUMENT.  NULL: the context's own, which grows (that synchronises) and must not
 * be in use by two streams at once.
 *
 * What can be told from the arguments is returned at once, as csz_compress does; zstd_level must be 0.  Options' backend and threads do not matter.
 */
CSZ_API csz_status csz_cuda_compress_async(csz_context *context, void *d_out, size_t out_capacity,
                                           csz_cuda_result *result, const void *d_data,
                                           const csz_field *field, const csz_options *options,
                                           void *workspace, size_t workspace_nbytes, csz_cuda_stream stream);

/*
 * Enqueues the restoration of a field into d_data.  The archive's header is read on the device and must describe this field (type and dims), in the
 * default grid of frames and without zstd: otherwise result->status is CSZ_ERROR_ARGUMENT.  Of the others it accepts those that csz_decompress accepts.  One that is refused has
 * CSZ_ERROR_NOT_ARCHIVE, CSZ_ERROR_VERSION, CSZ_ERROR_TRUNCATED or, for most causes, CSZ_ERROR_CORRUPT: also where csz_decompress would tell that it is cut short or goes on after its end.  No
 * archive, however damaged, makes a kernel leave its buffers.
 *
 * d_archive is aligned to 8.  Its size is archive_nbytes; or, where compressed is not NULL, compressed->nbytes, read on the device when the
 * stream gets there, archive_nbytes being the room there is: so what csz_cuda_compress_async wrote can be read back without the host.  A
 * status in compressed other than CSZ_OK is handed on.
 */
CSZ_API csz_status csz_cuda_decompress_async(csz_context *context, void *d_data, size_t data_capacity,
                                             csz_cuda_result *result, const void *d_archive,
                                             size_t archive_nbytes, const csz_cuda_result *compressed,
                                             const csz_field *field, void *workspace, size_t workspace_nbytes,
                                             csz_cuda_stream stream);

/*
 * Enqueues the restoration of the box begin[i] <= index[i] < end[i] of such a field, contiguous in d_data, as csz_decompress_region does it: only the tiles it touches
 * are decoded, frames and records checked, and the restored values' checksum of frames that the box holds whole (csz_decompress_region on the CPU: of those that it touches every tile of).  result->nbytes is the box's.  Workspace as for the whole field.  In four dims without an extent
 * of 1 the box must be one index of the slowest or all of the second: otherwise CSZ_ERROR_REGION, and one call an index does it.
 */
CSZ_API csz_status csz_cuda_decompress_region_async(csz_context *context, void *d_data, size_t data_capacity,
                                                    csz_cuda_result *result, const void *d_archive,
                                                    size_t archive_nbytes, const csz_cuda_result *compressed,
                                                    const csz_field *field, const uint64_t *begin,
                                                    const uint64_t *end, void *workspace,
                                                    size_t workspace_nbytes, csz_cuda_stream stream);

/*
 * n fields of one shape with the same options, as one set of launches, which spares small fields most of what a call of their own costs: on an H200 maps of 26 MB run at 83%
 * of the rate of one large field compressing and 92% decompressing, blocks of 1 MB at a third (a call each: 2%).  n is at most 2^20.  d_data, d_out and out_capacity are arrays of n on the host; results one of n on the device (or pinned, or managed).  Each field becomes the archive it would become alone, and one
 * that does not fit does not touch the others.  Relative bounds are resolved field by field.
 */
CSZ_API csz_status csz_cuda_compress_batch(csz_context *context, size_t n, void *const *d_out,
                                           const size_t *out_capacity, csz_cuda_result *results,
                                           const void *const *d_data, const csz_field *field,
                                           const csz_options *options, void *workspace,
                                           size_t workspace_nbytes, csz_cuda_stream stream);

/* The reverse; data_capacity is that of each field, compressed NULL or an array of n on the device.  A damaged archive does not touch the others. */
CSZ_API csz_status csz_cuda_decompress_batch(csz_context *context, size_t n, void *const *d_data,
                                             size_t data_capacity, csz_cuda_result *results,
                                             const void *const *d_archives, const size_t *archive_nbytes,
                                             const csz_cuda_result *compressed, const csz_field *field,
                                             void *workspace, size_t workspace_nbytes,
                                             csz_cuda_stream stream);

/*
 * Device memory that csz_compress and csz_decompress may take for fields and archives in host memory; 0, the default: what is free.  A
 * field that needs more is sent through the device in parts, frame by frame, which never changes the archive; CSZ_ERROR_MEMORY where not even one
 * frame fits (at most 2^25 elements; about 2.1 times its size is needed).
 */
CSZ_API csz_status csz_cuda_memory_limit(csz_context *context, size_t nbytes);

#ifdef __cplusplus
}
#endif

#endif
