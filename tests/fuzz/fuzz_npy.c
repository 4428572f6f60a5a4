/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_npy.c: any bytes as a .npy file; what is accepted fits the file exactly, and reads alike once written
 * again. */
#include "fuzz.h"

#include <stdarg.h>

#include "terminal/message.h"
#include "files/npy.h"
#include "terminal/values.h"

/* Messages of a million files would hide the one that matters. */
int cli_fail(const char *format, ...) {
    char line[512];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    return CLI_FAILED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    uint8_t *copy = fuzz_copy(data, nbytes);
    cli_npy npy, again;
    if (cli_npy_parse(&npy, copy, nbytes, "input") == CLI_DONE) {
        uint64_t n;
        FUZZ_CHECK(npy.field.ndim >= 1 && npy.field.ndim <= CSZ_MAX_NDIM);
        FUZZ_CHECK(cli_field_count(&n, &npy.field) && n * cli_type_nbytes(npy.field.type) == npy.data_nbytes);
        FUZZ_CHECK(npy.header_nbytes + npy.data_nbytes == nbytes);
        uint8_t header[CLI_NPY_HEADER_MAX_NBYTES];
        size_t header_nbytes = cli_npy_write_header(header, &npy.field);
        FUZZ_CHECK(header_nbytes % 64 == 0 && header_nbytes <= sizeof header);
        uint8_t *whole = malloc(header_nbytes + npy.data_nbytes);
        FUZZ_CHECK(whole);
        memcpy(whole, header, header_nbytes);
        if (npy.data_nbytes) memcpy(whole + header_nbytes, copy + npy.header_nbytes, npy.data_nbytes);
        FUZZ_CHECK(cli_npy_parse(&again, whole, header_nbytes + npy.data_nbytes, "again") == CLI_DONE);
        FUZZ_CHECK(memcmp(&again.field, &npy.field, sizeof npy.field) == 0);
        free(whole);
    }
    free(copy);
    return 0;
}
