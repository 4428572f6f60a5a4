/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c: lists of objects, messages, and a walk over the links of a group. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "terminal/message.h"

#include <stdlib.h>
#include <string.h>

int repack_fail_memory(void) { return cli_fail_memory("a list of objects", 4096); }

int repack_fail_write(const repacking *p, const char *path) {
    return cli_fail("%s of %s cannot be written by HDF5; check that the disk of %s has space", path,
                    p->r->input_path, p->r->output_path);
}

int repack_fail_read(const repacking *p, const char *path) {
    return cli_fail("%s of %s cannot be read: it is damaged, or a filter that it needs is not found; check "
                    "the file, and HDF5_PLUGIN_PATH",
                    path, p->r->input_path);
}

char *repack_join(const char *group, const char *name) {
    const size_t nbytes = strlen(group) + strlen(name) + 2;
    char *path = malloc(nbytes);
    if (path) snprintf(path, nbytes, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
    return path;
}

const char *repack_base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

const char *repack_path_of(const repacking *p, hobj_ref_t address) {
    for (uint64_t i = 0; i < p->nobjects; i++)
        if (p->objects[i].address == address) return p->objects[i].path;
    return NULL;
}

int repack_add_object(repacking *p, hobj_ref_t address, const char *path) {
    if (!repack_grow((void **)&p->objects, p->nobjects, &p->objects_capacity, sizeof *p->objects))
        return CLI_FAILED;
    char *copy = strdup(path);
    if (!copy) return repack_fail_memory();
    p->objects[p->nobjects++] = (known_object){address, copy};
    return CLI_DONE;
}

static H5_index_t order_of_links(hid_t group) {
    unsigned flags = 0;
    cli_h5_owned gcpl = cli_h5.H5Gget_create_plist(group);
    if (gcpl >= 0) (void)cli_h5.H5Pget_link_creation_order(gcpl, &flags);
    return flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

int repack_walk_links(repacking *p, hid_t group, const char *group_path, repack_visitor visit) {
    H5G_info_t info;
    const H5_index_t order = order_of_links(group);
    int status = cli_h5.H5Gget_info(group, &info) >= 0 ? CLI_DONE : repack_fail_read(p, group_path);
    for (hsize_t i = 0; i < info.nlinks && status == CLI_DONE; i++) {
        const ssize_t n = cli_h5.H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
        CLI_FREED char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
        if (!name || cli_h5.H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, i, name, (size_t)n + 1,
                                               H5P_DEFAULT) < 0)
            return repack_fail_read(p, group_path);
        memset(p->link_value, 0, REPACK_LINK_NBYTES);
        if (cli_h5.H5Lget_val(group, name, p->link_value, REPACK_LINK_NBYTES - 1, H5P_DEFAULT) >= 0) {
            status = visit(p, group, group_path, name, p->link_value, REPACK_LINK_NBYTES, -1);
        } else {
            cli_h5_owned object = cli_h5.H5Oopen(group, name, H5P_DEFAULT);
            CLI_FREED char *path = repack_join(group_path, name);
            status = !path        ? repack_fail_memory()
                     : object < 0 ? repack_fail_read(p, path)
                                  : visit(p, group, group_path, name, NULL, 0, object);
        }
    }
    return status;
}

int repack_is_new_object(int *status, repacking *p, hid_t object, const char *path) {
    hobj_ref_t address;
    if (cli_h5.H5Rcreate(&address, object, ".", H5R_OBJECT, -1) < 0) {
        *status = repack_fail_read(p, path);
        return 0;
    }
    if (repack_path_of(p, address)) return 0;
    *status = repack_add_object(p, address, path);
    return *status == CLI_DONE;
}

void repack_forget_objects(repacking *p) {
    for (uint64_t i = 0; i < p->nobjects; i++) free(p->objects[i].path);
    p->nobjects = 0;
}

#endif
