/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_hdf5.c: the HDF5 filter, called as HDF5 calls it, with any cd_values and any chunk: a byte of flags, a
 * byte that says how many words follow, the words, the chunk.  Built where plugins/hdf5 and HDF5's headers
 * are.
 */
#include "fuzz.h"

#include "csz_hdf5.h"
#include "filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    fuzz_input in = {data, nbytes};
    unsigned words[CSZ_HDF5_MOST_VALUES + 4], flags = (unsigned)fuzz_take(&in, 1);
    size_t nwords = (size_t)fuzz_take(&in, 1) % (CSZ_HDF5_MOST_VALUES + 5);
    for (size_t i = 0; i < nwords; i++) words[i] = (unsigned)fuzz_take(&in, 4);
    int is_reverse = flags & 1;
    size_t capacity = in.left, n = in.left;
    void *chunk = is_reverse ? fuzz_archive(in.at, in.left) : fuzz_copy(in.at, in.left);
    csz_info info;
    if (is_reverse && csz_inspect(&info, sizeof info, chunk, n) == CSZ_OK &&
        info.nbytes_field > FUZZ_FIELD_MAX_NBYTES) {
        free(chunk);
        return 0;
    }
    void *before = chunk;
    size_t out =
        csz_hdf5_filter_class.filter(is_reverse ? H5Z_FLAG_REVERSE : 0, nwords, words, n, &capacity, &chunk);
    if (out == 0) {
        FUZZ_CHECK(chunk == before); /* HDF5 keeps what it gave */
    } else if (!is_reverse) {
        FUZZ_CHECK(out <= capacity);
        size_t back = csz_hdf5_filter_class.filter(H5Z_FLAG_REVERSE, nwords, words, out, &capacity, &chunk);
        FUZZ_CHECK(back == n && capacity >= back);
    }
    free(chunk);
    return 0;
}
