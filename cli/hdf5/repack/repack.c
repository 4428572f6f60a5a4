/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repack.c: walks a file twice.  The first walk lists all datasets and decides which are compressed: floats
 * that are neither coordinates nor bounds of them; relative bounds are resolved over each whole dataset.  The
 * second makes the new file, group by group in order: groups, committed types, and the datasets that are
 * compressed, with the same type, extents, chunks, fill value and attributes.  Their values are written piece
 * by piece, read again and compared.  Other datasets are copied by HDF5, one at a time, which leaves
 * references in them empty.  References are set last, when all that they lead to is there, and with them
 * dimension scales are attached.
 */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "hdf5/h5path.h"
#include "terminal/message.h"
#include "terminal/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The new file's size: the old one's, and what becomes of each variable. */
static void predict_file(cli_repack *r) {
    int64_t change = 0;
    for (uint64_t i = 0; i < r->nvariables; i++) {
        const cli_repack_variable *v = &r->variables[i];
        if (!v->kept_as) change += (int64_t)(v->nbytes_after + v->index_nbytes - v->nbytes_before);
    }
    r->nbytes_out = change >= 0 || r->nbytes_in > (uint64_t)-change ? r->nbytes_in + (uint64_t)change : 0;
}

static int run(repacking *p) {
    cli_repack *r = p->r;
    const cli_arguments *arguments = r->arguments;
    uint64_t total = 0;
    cli_h5_owned root = cli_h5.H5Oopen(p->from, "/", H5P_DEFAULT);
    hobj_ref_t address; /* links may lead up to the root */
    int status = root >= 0 && cli_h5.H5Rcreate(&address, root, ".", H5R_OBJECT, -1) >= 0
                     ? repack_add_object(p, address, "/")
                     : repack_fail_read(p, "/");
    if (status == CLI_DONE) status = repack_look_at_attributes(p, root, "/");
    if (status == CLI_DONE) status = repack_add_mentions(p, root, "/");
    if (status == CLI_DONE) status = repack_walk_links(p, root, "/", repack_list_link);
    repack_forget_objects(p);
    if (status == CLI_DONE) status = repack_choose(p);
    for (uint64_t i = 0; i < r->nvariables; i++) {
        const cli_repack_variable *v = &r->variables[i];
        if (v->kept_as) continue;
        total += (uint64_t)cli_is_ranged(v->options.bound_mode) * v->nbytes;
        total += (arguments->dry_run ? 1 : 2) * v->nbytes;
    }
    cli_progress_start(arguments->dry_run ? "analyzing" : "repacking", total);
    int refused = CLI_DONE; /* variables that need another option are all named in one run */
    for (uint64_t i = 0; i < r->nvariables && status == CLI_DONE; i++) {
        if (!r->variables[i].kept_as) status = repack_find_bound(p, &r->variables[i]);
        if (status != CLI_USAGE) continue;
        refused = status;
        status = CLI_DONE;
    }
    if (status == CLI_DONE) status = refused;
    for (uint64_t i = 0; i < r->nvariables && status == CLI_DONE && arguments->dry_run; i++)
        if (!r->variables[i].kept_as) status = repack_predict(p, &r->variables[i]);
    if (arguments->dry_run) predict_file(r);
    if (status == CLI_DONE && !arguments->dry_run) {
        const cli_output output = {r->output_path, arguments->force};
        status = repack_write_guarded(p, &output);
    }
    cli_progress_stop();
    return status;
}

int cli_h5_repack(cli_repack *r) {
    cli_h5_location at = {.path = r->input_path, .file = strdup(r->input_path)};
    repacking p = {.r = r, .from = -1, .to = -1, .link_value = malloc(REPACK_LINK_NBYTES)};
    struct stat input;
    int status = at.file && p.link_value ? CLI_DONE : repack_fail_memory();
    if (status == CLI_DONE && stat(at.file, &input) != 0) status = cli_fail_errno("open", at.file, errno);
    if (status == CLI_DONE) r->nbytes_in = (uint64_t)input.st_size;
    if (status == CLI_DONE) status = cli_h5_load(r->input_path);
    if (status == CLI_DONE) status = cli_h5_open_file(&p.from, &at);
    if (status == CLI_DONE && !r->arguments->dry_run) {
        const cli_output output = {r->output_path, r->arguments->force};
        status = cli_output_check_file(&output);
        if (status == CLI_DONE) status = cli_output_check_distinct(&output, &input);
    }
    if (status == CLI_DONE) status = run(&p);
    cli_h5_release(p.from);
    repack_forget_objects(&p);
    free(p.objects);
    free(p.types);
    for (uint64_t i = 0; i < p.nmentions; i++) {
        free(p.mentions[i].group);
        free(p.mentions[i].name);
    }
    free(p.mentions);
    for (uint64_t i = 0; i < p.nsecond_names; i++) free(p.second_names[i].path);
    free(p.second_names);
    free(p.link_value);
    free(at.file);
    return status;
}

#endif
