/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.c: agreement, nodes, reports. */
#include "shared.h"

#include "csz_cuda.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
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

int csz_mpi_name_temporary(char temporary[PATH_MAX], const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    const unsigned long long time =
        (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
    int n = snprintf(temporary, PATH_MAX, "%.*s.%.200s.%d.%llx", (int)(name - path), path, name,
                     (int)getpid(), time);
    return *name && n > 0 && n < PATH_MAX;
}

int csz_mpi_node_nranks(MPI_Comm comm) {
    MPI_Comm node;
    int nranks = 1;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &nranks);
    MPI_Comm_free(&node);
    return nranks;
}

void csz_mpi_share_node(csz_context *context, int *threads, csz_backend backend, const void *data,
                        MPI_Comm comm) {
    MPI_Comm node;
    int rank = 0, nranks = 1, ndevices;
    cpu_set_t mine, all;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &nranks);
    /* Cores that this rank may use, and those of the node's ranks together: where ranks are bound to their
     * own, each has them all. */
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_ZERO(&mine);
    MPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, node);
    MPI_Comm_free(&node);
    if (*threads == 0) {
        int share = CPU_COUNT(&all) / nranks, own = CPU_COUNT(&mine);
        *threads = share < own ? share : own;
        if (*threads < 1) *threads = 1;
    }
    ndevices = backend == CSZ_BACKEND_CPU || csz_device_owns(data) ? 0 : csz_device_count();
    if (ndevices > 0)
        (void)csz_context_set_device(context, rank % ndevices); /* fails where it has one already */
}

int csz_mpi_report_is_right(const csz_mpi_report *report, size_t report_nbytes) {
    enum { MOST_NBYTES = 1 << 16 }; /* as in csz.h's structures: a larger size was never set */
    return !report || (report_nbytes > sizeof(void *) && report_nbytes <= MOST_NBYTES);
}

void csz_mpi_report_fill(csz_mpi_report *report, size_t report_nbytes, const csz_mpi_report *from) {
    if (!report) return;
    memset(report, 0, report_nbytes);
    memcpy(report, from, report_nbytes < sizeof *from ? report_nbytes : sizeof *from);
}

void csz_mpi_reduce_report(csz_mpi_report *report, MPI_Comm comm) {
    double mine[5] = {report->range, report->exchange, report->code, report->write, report->total}, most[5];
    uint64_t sum = 0, memory = 0;
    MPI_Allreduce(mine, most, 5, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(&report->nbytes_exchanged, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    MPI_Allreduce(&report->nbytes_memory, &memory, 1, MPI_UINT64_T, MPI_MAX, comm);
    report->range = most[0];
    report->exchange = most[1];
    report->code = most[2];
    report->write = most[3];
    report->total = most[4];
    report->nbytes_exchanged = sum;
    report->nbytes_memory = memory;
}
