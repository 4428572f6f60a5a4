/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field.c: reading a field.  A file is .npy if it is called so, or if it starts like one and its size is not
 * what type and dims imply.  Everything else is raw: little-endian values, slowest dim first.  Values in
 * Fortran order are brought into C order.
 */
#include "files/field.h"

#include "files/h5file.h"
#include "terminal/message.h"
#include "files/npy.h"
#include "terminal/values.h"

#include <stdlib.h>
#include <string.h>

cli_expected cli_expected_of(const cli_expected *expected, const char *path) {
    cli_expected known = *expected;
    for (int type = CSZ_F32; type <= CSZ_F64 && !known.has_type; type++) {
        if (!cli_path_has_suffix(path, type == CSZ_F32 ? ".f32" : ".f64")) continue;
        known.has_type = 1;
        known.field.type = (csz_type)type;
    }
    return known;
}

int cli_fails_as_archive(const char *name, const unsigned char *start, size_t nbytes) {
    if (!cli_bytes_are_archive(start, nbytes)) return 0;
    cli_fail("%s is an archive, and a field is wanted here; restore it with csz decompress, or hold it "
             "against its original with csz verify",
             name);
    return 1;
}

int cli_fail_undescribed(const char *name, const unsigned char *start, size_t nbytes,
                         const cli_expected *expected) {
    const int has_type = expected->has_type, has_dims = expected->has_dims;
    if (cli_bytes_are_archive(start, nbytes))
        return cli_fail_usage("%s is an archive already; restore it with csz decompress, or see csz info",
                              name);
    if (nbytes >= 4 && memcmp(start, "PK\3\4", 4) == 0)
        return cli_fail_usage("%s is a zip file, as .npz files are; save each of its arrays as a .npy file, "
                              "with numpy.save('NAME.npy', numpy.load('FILE.npz')['NAME'])",
                              name);
    return cli_fail_usage("%s is raw, so its %s must be given; add %s", name,
                          has_type ? "dims" : (has_dims ? "type" : "type and dims"),
                          has_type
                              ? "-d, slowest first, such as -d 512x512x512"
                              : (has_dims ? "-t f32 or -t f64" : "-t f32 or -t f64, and -d, slowest first"));
}

/* Values in memory of their own, in this machine's byte order, and in C order where npy says that they are
 * not. */
static int copy_values(cli_field *field, int is_swapped, const cli_npy *npy) {
    field->copy = malloc(field->nbytes ? field->nbytes : 1);
    if (!field->copy) return cli_fail_memory(field->input.name, field->nbytes);
    if (npy && npy->is_fortran_order)
        cli_npy_reorder(field->copy, field->data, npy);
    else if (field->data && field->nbytes)
        memcpy(field->copy, field->data, field->nbytes);
    if (is_swapped) cli_swap_values(field->copy, field->nbytes, cli_type_nbytes(field->field.type));
    field->data = field->copy;
    return CLI_DONE;
}

static int read_npy(cli_field *field, const cli_expected *expected) {
    cli_npy npy;
    int status = cli_npy_parse(&npy, field->input.bytes, field->input.nbytes, field->input.name);
    if (status != CLI_DONE) return status;
    status = cli_npy_check(&npy, expected, field->input.name);
    if (status != CLI_DONE) return status;
    const unsigned char *data = field->input.bytes + npy.header_nbytes;
    size_t value_nbytes = cli_type_nbytes(npy.field.type);
    field->field = npy.field;
    field->nbytes = npy.data_nbytes;
    field->nelements = npy.data_nbytes / value_nbytes;
    field->data = data;
    const int is_swapped = npy.is_big_endian != CLI_HOST_IS_BIG_ENDIAN;
    /* a header of odd length leaves data unaligned */
    if (is_swapped || npy.is_fortran_order || (uintptr_t)data % value_nbytes != 0)
        return copy_values(field, is_swapped, &npy);
    return CLI_DONE;
}

static int read_raw(cli_field *field, const cli_expected *expected, uint64_t expected_nbytes) {
    char dims[CLI_DIMS_TEXT_NBYTES];
    if (field->input.nbytes != expected_nbytes &&
        cli_fails_as_archive(field->input.name, field->input.bytes, field->input.nbytes))
        return CLI_FAILED;
    if (field->input.nbytes != expected_nbytes)
        return cli_fail("%s has %s%zu bytes, and %s of %s are %llu; check type and dims", field->input.name,
                        !field->input.is_mapped &&
                                field->input.nbytes >= expected_nbytes + CLI_INPUT_SURPLUS_NBYTES
                            ? "at least "
                            : "",
                        field->input.nbytes, cli_dims_text(dims, &expected->field),
                        cli_type_names[expected->field.type], (unsigned long long)expected_nbytes);
    field->field = expected->field;
    field->data = field->input.bytes;
    field->nbytes = field->input.nbytes;
    field->nelements = field->nbytes / cli_type_nbytes(expected->field.type);
    /* of an empty file the library wants a pointer all the same */
    return !field->data || CLI_HOST_IS_BIG_ENDIAN ? copy_values(field, CLI_HOST_IS_BIG_ENDIAN, NULL)
                                                  : CLI_DONE;
}

int cli_field_read(cli_field *field, const char *path, const cli_expected *given) {
    const cli_expected known = cli_expected_of(given, path), *expected = &known;
    int is_described = expected->has_type && expected->has_dims;
    int is_called_npy = cli_path_has_suffix(path, ".npy");
    uint64_t nelements, expected_nbytes = 0;
    memset(field, 0, sizeof *field);
    if (cli_h5_is_path(path)) return cli_h5_read(field, path, given);
    if (is_described && cli_field_count(&nelements, &expected->field))
        expected_nbytes = nelements * cli_type_nbytes(expected->field.type);
    int status = cli_input_read(&field->input, path, is_described ? expected_nbytes : UINT64_MAX);
    if (status != CLI_DONE) return status;
    int is_sized_raw = is_described && field->input.nbytes == expected_nbytes;
    if (is_called_npy || (!is_sized_raw && cli_npy_has_magic(field->input.bytes, field->input.nbytes)))
        status = read_npy(field, given);
    else if (!is_described)
        status = cli_fail_undescribed(field->input.name, field->input.bytes, field->input.nbytes, expected);
    else
        status = read_raw(field, expected, expected_nbytes);
    if (status != CLI_DONE) cli_field_release(field);
    return status;
}

void cli_field_release(cli_field *field) {
    cli_input_release(&field->input);
    free(field->copy);
    memset(field, 0, sizeof *field);
}
