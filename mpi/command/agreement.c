/* SPDX-License-Identifier: BSD-3-Clause */
/* agreement.c: comparing what ranks were told, and cutting the field. */
#include "agreement.h"

#include "ranks.h"
#include "terminal/message.h"

#include <stdio.h>
#include <string.h>

enum { VALUE_NBYTES = 128 };

static void write_field(char text[VALUE_NBYTES], const csz_field *field) {
    char dims[CLI_DIMS_TEXT_NBYTES];
    snprintf(text, VALUE_NBYTES, "%d %s", (int)field->type, cli_dims_text(dims, field));
}

int agree_arguments(const cli_arguments *a, const char *command) {
    const csz_options *o = &a->options;
    const cli_expected *e = &a->expected;
    char type[VALUE_NBYTES], dims[VALUE_NBYTES] = "", grid[VALUE_NBYTES], bound[VALUE_NBYTES],
                             mode[VALUE_NBYTES], workflow[VALUE_NBYTES], predictor[VALUE_NBYTES],
                             level[VALUE_NBYTES], fill[VALUE_NBYTES], force[VALUE_NBYTES],
                             verify[VALUE_NBYTES], zeros[VALUE_NBYTES];
    snprintf(type, sizeof type, "%d %d", e->has_type, e->has_type ? (int)e->field.type : 0);
    if (e->has_dims)
        write_field(dims,
                    &(csz_field){CSZ_F32,
                                 e->field.ndim,
                                 {e->field.dims[0], e->field.dims[1], e->field.dims[2], e->field.dims[3]}});
    snprintf(grid, sizeof grid, "%d %d %d %d %d", a->grid_ndim, a->grid[0], a->grid[1], a->grid[2],
             a->grid[3]);
    snprintf(bound, sizeof bound, "%a", o->bound);
    snprintf(mode, sizeof mode, "%d %a", (int)o->bound_mode, o->floor);
    snprintf(workflow, sizeof workflow, "%d", (int)o->workflow);
    snprintf(predictor, sizeof predictor, "%d", (int)o->predictor);
    snprintf(level, sizeof level, "%d", o->zstd_level);
    snprintf(fill, sizeof fill, "%d %d %a", (int)a->fill_choice, o->has_fill, o->fill);
    snprintf(force, sizeof force, "%d", a->force);
    snprintf(verify, sizeof verify, "%d", a->verify);
    snprintf(zeros, sizeof zeros, "%d", (int)o->unsigned_zeros);
    const struct {
        const char *name, *value;
    } told[] = {{"commands", command},
                {"input files", a->paths[0]},
                {"outputs (-o)", a->output_path},
                {"types (-t)", type},
                {"dims (-d)", dims},
                {"bounds (-e)", bound},
                {"modes (-m) or floors", mode},
                {"workflows (-w)", workflow},
                {"predictors (-p)", predictor},
                {"levels (-z)", level},
                {"fill values (--fill)", fill},
                {"--unsigned-zeros", zeros},
                {"grids (--grid)", grid},
                {"-f", force},
                {"--verify", verify}};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        if (!csz_mpi_is_same(MPI_COMM_WORLD, told[i].value))
            return fail_usage("the ranks' %s differ; give all ranks the same", told[i].name);
    return CLI_DONE;
}

int agree_field(const csz_field *field, const char *name) {
    char text[VALUE_NBYTES];
    write_field(text, field);
    if (csz_mpi_is_same(MPI_COMM_WORLD, text)) return CLI_DONE;
    return fail("the ranks find different types or dims in %s; give every node the same file", name);
}

int find_box(csz_mpi_box *box, const cli_arguments *a, const csz_field *field) {
    csz_field grid = {CSZ_F32, a->grid_ndim, {0}};
    char grid_text[CLI_DIMS_TEXT_NBYTES], dims[CLI_DIMS_TEXT_NBYTES];
    int nranks;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    for (int i = 0; i < a->grid_ndim; i++) grid.dims[i] = (uint64_t)a->grid[i];
    if (a->grid_ndim && a->grid_ndim != field->ndim)
        return fail_usage(
            "--grid %s has %d numbers, and the field has the dims %s; give one number for each dim",
            cli_dims_text(grid_text, &grid), a->grid_ndim, cli_dims_text(dims, field));
    if (csz_mpi_box_of(box, MPI_COMM_WORLD, field, a->grid_ndim ? a->grid : NULL) != CSZ_OK)
        return fail_usage(
            "--grid %s does not make %d parts, one for each rank; give numbers whose product is %d",
            cli_dims_text(grid_text, &grid), nranks, nranks);
    return CLI_DONE;
}
