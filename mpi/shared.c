/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.c: agreement, names, nodes, reports. */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

csz_status csz_mpi_agree(MPI_Comm comm, csz_status status, int *failed_rank) {
    struct {
        int status, rank;
    } mine = {status != CSZ_OK, 0}, first;
    int said = (int)status;
    MPI_Comm_rank(comm, &mine.rank);
    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MAXLOC, comm); /* of equals the lowest rank */
    if (failed_rank) *failed_rank = first.status ? first.rank : -1;
    if (!first.status) return CSZ_OK;
    MPI_Bcast(&said, 1, MPI_INT, first.rank, comm);
    return (csz_status)said;
}

int csz_mpi_is_same(MPI_Comm comm, const char *text) {
    uint64_t mine = 0xCBF29CE484222325u, least = 0, most = 0; /* FNV-1a */
    for (; *text; text++) mine = (mine ^ (unsigned char)*text) * 0x100000001B3u;
    MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, comm);
    MPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, comm);
    return least == most;
}

/* Exact where the system can do it in one step; file systems without that and without hard links are left with a check first. */
int csz_mpi_rename(const char *from, const char *to, int may_replace) {
    struct stat status;
    if (may_replace) return rename(from, to) == 0 ? 0 : errno;
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
#endif
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno == EEXIST || lstat(to, &status) == 0) return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

void csz_mpi_share_node(csz_context *context, csz_options *options, MPI_Comm comm) {
    MPI_Comm node;
    int rank = 0, nranks = 1, ndevices;
    cpu_set_t mine, all;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &nranks);
    /* Cores that this rank may use, and those of the node's ranks together: where ranks are bound to their own, each has them all. */
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_ZERO(&mine);
    MPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, node);
    MPI_Comm_free(&node);
    if (options->threads == 0) {
        int share = CPU_COUNT(&all) / nranks, own = CPU_COUNT(&mine);
        options->threads = share < own ? share : own;
        if (options->threads < 1) options->threads = 1;
    }
    ndevices = options->backend == CSZ_BACKEND_CPU ? 0 : csz_device_count();
    if (ndevices > 0)
        (void)csz_context_set_device(context, rank % ndevices); /* fails where it has one already */
}

void csz_mpi_reduce_report(csz_mpi_report *report, MPI_Comm comm) {
    double mine[5] = {report->range, report->exchange, report->code, report->write, report->total}, most[5];
    uint64_t sum = 0;
    MPI_Allreduce(mine, most, 5, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(&report->nbytes_exchanged, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    report->range = most[0];
    report->exchange = most[1];
    report->code = most[2];
    report->write = most[3];
    report->total = most[4];
    report->nbytes_exchanged = sum;
}
