/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shim.c: a library to preload that makes one system call or allocation fail, as the environment says:
 *
 *     CSZ_FAULT=CALL:N:HOW    the Nth CALL, counted from 1, or every second one for N = 0
 *     HOW                     an errno's name; short: read and write then move one byte; wrong: pread then
 * gives 0xFF for the first; cut: pread's file loses all its bytes first; or wait: the call waits until a
 * signal ends the program CSZ_FAULT_HIT=PATH      created when the fault strikes CSZ_FAULT_LEAST=NBYTES
 * preads of fewer bytes do not count
 *
 * CALL is read, write, pread, pwrite, writev, open, mkostemp, close, fsync, rename, link, linkat, fchmod,
 * fstat, mmap, ftruncate, malloc or pthread_create.  Reads and writes of descriptors 0 to 2 count only where
 * CSZ_FAULT_STDIO is set, so that messages come through.  Where CSZ_FAULT_NAMED is set there are no files
 * without names, as on NFS.  Nothing counts before main: what the constructors of other people's libraries do
 * with a failure is theirs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

#define SHORT (-1)
#define WRONG (-2)
#define WAIT (-3)
#define CUT (-4)
#define REAL(TYPE, NAME) ((TYPE)dlsym(RTLD_NEXT, NAME))

static const struct {
    const char *name;
    int number;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EINTR", EINTR},   {"EDQUOT", EDQUOT},
              {"EACCES", EACCES}, {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"EINVAL", EINVAL},
              {"EROFS", EROFS},   {"EAGAIN", EAGAIN}, {"short", SHORT},   {"wrong", WRONG},
              {"wait", WAIT},     {"cut", CUT}};

static const char *fault_call;
static size_t fault_call_n;
static unsigned long fault_at, least_nbytes;
static int fault_how, with_stdio, is_armed;
static atomic_ulong count;

static int (*program_main)(int, char **, char **);

static int main_armed(int argc, char **argv, char **environment) {
    is_armed = 1;
    return program_main(argc, argv, environment);
}

/* glibc's: runs the constructors, then main. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    __typeof__(&__libc_start_main) start = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = main;
    return start(main_armed, argc, argv, init, fini, rtld_fini, stack_end);
}

__attribute__((constructor)) static void setup(void) {
    const char *text = getenv("CSZ_FAULT");
    if (!text || !strchr(text, ':')) return;
    const char *colon = strchr(text, ':');
    char *end;
    fault_at = strtoul(colon + 1, &end, 10);
    with_stdio = getenv("CSZ_FAULT_STDIO") != NULL;
    least_nbytes = getenv("CSZ_FAULT_LEAST") ? strtoul(getenv("CSZ_FAULT_LEAST"), NULL, 10) : 0;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (*end == ':' && strcmp(end + 1, errors[i].name) == 0) fault_how = errors[i].number;
    fault_call_n = (size_t)(colon - text);
    fault_call = text;
}

static int strikes(const char *call) {
    if (!is_armed || !fault_call || strlen(call) != fault_call_n ||
        memcmp(call, fault_call, fault_call_n) != 0)
        return 0;
    unsigned long n = atomic_fetch_add(&count, 1) + 1;
    if (fault_at ? n != fault_at : n % 2 == 0) return 0;
    const char *hit = getenv("CSZ_FAULT_HIT");
    if (hit) {
        long d = syscall(SYS_openat, AT_FDCWD, hit, O_WRONLY | O_CREAT, 0666);
        if (d >= 0) syscall(SYS_close, d);
    }
    while (fault_how == WAIT) pause();
    if (fault_how > 0) errno = fault_how;
    return fault_how;
}

#define COUNTS(DESCRIPTOR) ((DESCRIPTOR) > 2 || with_stdio)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
    int how = strikes("pthread_create");
    if (how) return how;
    return REAL(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *),
                "pthread_create")(thread, attributes, body, argument);
}

ssize_t read(int d, void *to, size_t n) {
    int how = COUNTS(d) ? strikes("read") : 0;
    if (how && how != SHORT) return -1;
    return REAL(ssize_t(*)(int, void *, size_t), "read")(d, to, how && n > 1 ? 1 : n);
}

ssize_t write(int d, const void *from, size_t n) {
    int how = COUNTS(d) ? strikes("write") : 0;
    if (how && how != SHORT) return -1;
    return REAL(ssize_t(*)(int, const void *, size_t), "write")(d, from, how && n > 1 ? 1 : n);
}

ssize_t pread(int d, void *to, size_t n, off_t at) {
    int how = n >= least_nbytes ? strikes("pread") : 0;
    if (how > 0) return -1;
    if (how == CUT) {
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", d);
        if (truncate(name, 0) != 0) abort();
    }
    ssize_t moved =
        REAL(ssize_t(*)(int, void *, size_t, off_t), "pread")(d, to, how == SHORT && n > 1 ? 1 : n, at);
    if (how == WRONG && moved > 0) *(unsigned char *)to = 0xFF;
    return moved;
}

ssize_t pread64(int d, void *to, size_t n, off_t at) { return pread(d, to, n, at); }

ssize_t pwrite(int d, const void *from, size_t n, off_t at) {
    int how = strikes("pwrite");
    if (how && how != SHORT) return -1;
    return REAL(ssize_t(*)(int, const void *, size_t, off_t), "pwrite")(d, from, how && n > 1 ? 1 : n, at);
}

ssize_t writev(int d, const struct iovec *parts, int n) {
    int how = COUNTS(d) ? strikes("writev") : 0;
    if (how && how != SHORT) return -1;
    if (how && n > 0 && parts[0].iov_len > 0) return write(d, parts[0].iov_base, 1);
    return REAL(ssize_t(*)(int, const struct iovec *, int), "writev")(d, parts, n);
}

int open(const char *path, int flags, ...) {
    va_list values;
    va_start(values, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(values, mode_t) : 0;
    va_end(values);
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("CSZ_FAULT_NAMED")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (strikes("open")) return -1;
    return REAL(int (*)(const char *, int, mode_t), "open")(path, flags, mode);
}

int mkostemp(char *name, int flags) {
    return strikes("mkostemp") ? -1 : REAL(int (*)(char *, int), "mkostemp")(name, flags);
}

/* The descriptor is gone either way, as with the real one. */
int close(int d) {
    int how = COUNTS(d) ? strikes("close") : 0, error = errno;
    int result = REAL(int (*)(int), "close")(d);
    if (!how) return result;
    errno = error;
    return -1;
}

int fsync(int d) { return strikes("fsync") ? -1 : REAL(int (*)(int), "fsync")(d); }
int fdatasync(int d) { return strikes("fsync") ? -1 : REAL(int (*)(int), "fdatasync")(d); }
int fchmod(int d, mode_t mode) {
    return strikes("fchmod") ? -1 : REAL(int (*)(int, mode_t), "fchmod")(d, mode);
}
int ftruncate(int d, off_t n) {
    return strikes("ftruncate") ? -1 : REAL(int (*)(int, off_t), "ftruncate")(d, n);
}
int fstat(int d, struct stat *s) {
    return strikes("fstat") ? -1 : REAL(int (*)(int, struct stat *), "fstat")(d, s);
}
int link(const char *a, const char *b) {
    return strikes("link") ? -1 : REAL(int (*)(const char *, const char *), "link")(a, b);
}
int linkat(int ad, const char *a, int bd, const char *b, int flags) {
    return strikes("linkat")
               ? -1
               : REAL(int (*)(int, const char *, int, const char *, int), "linkat")(ad, a, bd, b, flags);
}
int rename(const char *a, const char *b) {
    return strikes("rename") ? -1 : REAL(int (*)(const char *, const char *), "rename")(a, b);
}
int renameat2(int ad, const char *a, int bd, const char *b, unsigned flags) {
    return strikes("rename") ? -1
                             : REAL(int (*)(int, const char *, int, const char *, unsigned),
                                    "renameat2")(ad, a, bd, b, flags);
}

void *mmap(void *at, size_t n, int protection, int flags, int d, off_t offset) {
    if (d >= 0 && strikes("mmap")) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, protection, flags, d, offset);
}

/* The C library's own names for its allocator: dlsym would allocate. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void *malloc(size_t n) { return strikes("malloc") ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return strikes("malloc") ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return strikes("malloc") ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t alignment, size_t n) {
    return strikes("malloc") ? NULL : __libc_memalign(alignment, n);
}
