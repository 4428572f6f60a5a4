/* SPDX-License-Identifier: BSD-3-Clause */
/* h5library.c: finding HDF5 and opening its files.  The first bytes are looked at without HDF5, so that a
 * missing file, a netCDF-3 file and a file of another kind get their own messages. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/h5library.h"

#include "process/allocate.h"
#include "filter.h"
#include "files/h5file.h"
#include "hdf5/h5path.h"
#include "process/signals.h"
#include "terminal/message.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

cli_h5_library cli_h5;

static int load_quietly(void) {
    /* The one that csz was built with, then what other distributions and newer versions call it. */
    static const char *const names[] = {CSZ_HDF5_SONAME,  "libhdf5_serial.so.103", "libhdf5.so.103",
                                        "libhdf5.so.200", "libhdf5.so.310",        "libhdf5_serial.so.310",
                                        "libhdf5.so.320"};
    void *handle = NULL;
    if (cli_h5.is_loaded) return 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return 0;
    int is_complete = 1;
#define TAKE(name)                                    \
    {                                                 \
        void *symbol = dlsym(handle, #name);          \
        memcpy(&cli_h5.name, &symbol, sizeof symbol); \
        is_complete &= symbol != NULL;                \
    }
    CLI_H5_FUNCTIONS(TAKE)
    CLI_H5_IDENTIFIERS(TAKE)
#undef TAKE
    if (!is_complete || cli_h5.H5open() < 0 ||
        cli_h5.H5get_libversion(&cli_h5.major, &cli_h5.minor, &cli_h5.release) < 0)
        return 0;
    if (cli_h5.major == 1 && cli_h5.minor < 10) return 0;
    cli_h5_be_quiet();
    cli_h5.is_loaded = cli_h5.H5Zregister(&csz_hdf5_filter_class) >= 0;
    return cli_h5.is_loaded;
}

int cli_h5_load(const char *path) {
    return load_quietly() ? CLI_DONE
                          : cli_fail("%s is in an HDF5 file, and the library %s is not found here; install "
                                     "HDF5 (Debian package libhdf5-dev)",
                                     path, CSZ_HDF5_SONAME);
}

const char *cli_h5_version_text(char text[CLI_H5_VERSION_TEXT_NBYTES]) {
    if (load_quietly())
        snprintf(text, CLI_H5_VERSION_TEXT_NBYTES, "yes (%u.%u.%u)", cli_h5.major, cli_h5.minor,
                 cli_h5.release);
    else
        snprintf(text, CLI_H5_VERSION_TEXT_NBYTES, "no (built in, but %s is not found here)",
                 CSZ_HDF5_SONAME);
    return text;
}

void cli_h5_be_quiet(void) { cli_h5.H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

void cli_h5_release(hid_t id) {
    if (id >= 0) cli_h5.H5Idec_ref(id);
}

H5_index_t cli_h5_attribute_order(hid_t object) {
    unsigned flags = 0;
    const H5I_type_t kind = cli_h5.H5Iget_type(object);
    cli_h5_owned plist = kind == H5I_GROUP      ? cli_h5.H5Gget_create_plist(object)
                         : kind == H5I_DATATYPE ? cli_h5.H5Tget_create_plist(object)
                                                : cli_h5.H5Dget_create_plist(object);
    if (plist >= 0) (void)cli_h5.H5Pget_attr_creation_order(plist, &flags);
    return flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

static herr_t pass_by(hid_t object, const char *name, const H5A_info_t *info, void *data) {
    (void)object, (void)name, (void)info, (void)data;
    return 0;
}

int cli_h5_check_attributes(hid_t object, const char *path, const char *instead) {
    if (cli_h5.H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, pass_by, NULL) >= 0) return CLI_DONE;
    return cli_fail(
        "the attributes of %s cannot be read by HDF5 %u.%u.%u: a newer version wrote them, or they are "
        "damaged; write the file in an older format, such as h5py's libver='earliest', %s",
        path, cli_h5.major, cli_h5.minor, cli_h5.release, instead);
}

int cli_h5_locate(cli_h5_location *at, const char *path) {
    size_t nchars = cli_h5_file_nchars(path);
    memset(at, 0, sizeof *at);
    at->path = path;
    at->file = strndup(path, nchars);
    at->dataset = path[nchars] == ':' && path[nchars + 1] ? path + nchars + 1 : NULL;
    return at->file ? CLI_DONE : cli_fail_memory("a path", nchars);
}

void cli_h5_expect_crash(const char *file) {
    static char line[PATH_MAX + 160];
    snprintf(line, sizeof line,
             "csz: crashed while HDF5 read %s, or after; if h5dump crashes on it too the file is damaged: "
             "copy it again from its source, else report this\n",
             file);
    cli_signals_set_crash_line(line);
}

int cli_h5_open_file(hid_t *file, const cli_h5_location *at) {
    switch (cli_h5_kind_of(at->file)) {
    case CLI_H5_KIND_HDF5: break;
    case CLI_H5_KIND_NONE: return cli_fail_errno("open", at->file, ENOENT);
    case CLI_H5_KIND_NETCDF3:
        return cli_fail("%s is a classic netCDF file, and only netCDF-4 can be read; convert it with nccopy "
                        "-k nc4 %s NEW.nc",
                        at->file, at->file);
    case CLI_H5_KIND_OTHER:
        if (access(at->file, R_OK) != 0) return cli_fail_errno("open", at->file, errno);
        return cli_fail("%s is no HDF5 or netCDF-4 file; give one%s", at->file,
                        at->dataset ? ", or a raw or .npy file without a dataset's name" : "");
    }
    cli_h5_expect_crash(at->file);
    *file = cli_h5.H5Fopen(at->file, CLI_H5_OPEN_READ, H5P_DEFAULT);
    if (*file >= 0) return CLI_DONE;
    return cli_fail("%s cannot be opened by HDF5 %u.%u.%u: it is damaged, or another program is writing it; "
                    "copy it again from its source, or wait",
                    at->file, cli_h5.major, cli_h5.minor, cli_h5.release);
}

#endif
