/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_threads.c: a machine that refuses to start threads gets the same bytes, only later.  This program's
 * own pthread_create takes the place of the C library's and starts as many as the test allows.
 */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/context.h"

static int allowed = 1 << 20;
static int refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (allowed-- > 0) return real(thread, attributes, body, argument);
    refused++;
    return EAGAIN;
}

static void bytes_do_not_depend_on_the_threads_that_could_be_started(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 64, 64, 160), ROUGH, 1);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    archive a = archive_make(&s, &o);
    o.threads = 9; /* a context starts them once, so that one more is wanted than are ever allowed */
    for (int n = 0; n < 8; n++) {
        /* other counts lie around in the context's scratch */
        test_field other = sample_make(field_3d(CSZ_F32, 64, 64, 160), NOISE, 2);
        allowed = 1 << 20;
        archive b = archive_make(&other, &o);
        archive_free(&b);
        sample_free(&other);
        csz_team_stop(&the_context()->cpu.team);
        refused = 0;
        allowed = n;
        b = archive_make(&s, &o);
        assert_true(refused > 0);
        assert_int_equal(a.nbytes, b.nbytes);
        assert_memory_equal(a.bytes, b.bytes, a.nbytes);
        allowed = n;
        void *back = restore(&b, s.nbytes);
        csz_info info;
        ASSERT_OK(csz_inspect(&info, sizeof info, b.bytes, b.nbytes));
        assert_bound_kept(&s, back, info.bound_abs, &o);
        free(back);
        archive_free(&b);
    }
    allowed = 1 << 20;
    archive_free(&a);
    sample_free(&s);
}

typedef struct job {
    test_field *field;
    archive archive;
    csz_status status;
} job;

static void *compress_alone(void *p) {
    job *j = p;
    csz_context *context;
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.threads = 2;
    size_t capacity;
    if ((j->status = csz_context_create(&context)) != CSZ_OK) return NULL;
    j->status = csz_compress_bound(&capacity, &j->field->field, &o);
    j->archive.bytes = malloc(capacity);
    if (!j->status) {
        j->status = csz_compress(context, j->archive.bytes, capacity, &j->archive.nbytes, j->field->data,
                                 &j->field->field, &o);
    }
    csz_context_destroy(context);
    return NULL;
}

static void different_contexts_may_run_at_once(void **state) {
    (void)state;
    enum { N = 4 };
    test_field s[N];
    job jobs[N];
    pthread_t threads[N];
    allowed = 1 << 20;
    for (int i = 0; i < N; i++) {
        s[i] =
            sample_make(field_2d(i & 1 ? CSZ_F64 : CSZ_F32, 300, 400), i & 2 ? SPECIALS : ROUGH, (uint64_t)i);
        jobs[i] = (job){&s[i], {NULL, 0}, CSZ_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, compress_alone, &jobs[i]), 0);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++) {
        csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
        archive a = archive_make(&s[i], &o);
        ASSERT_OK(jobs[i].status);
        assert_int_equal(a.nbytes, jobs[i].archive.nbytes);
        assert_memory_equal(a.bytes, jobs[i].archive.bytes, a.nbytes);
        archive_free(&a);
        archive_free(&jobs[i].archive);
        sample_free(&s[i]);
    }
}

/* A child has its parent's context, and none of its threads. */
static void contexts_work_on_after_a_fork(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 64, 64, 160), ROUGH, 3);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    allowed = 1 << 20;
    o.threads = 4;
    archive a = archive_make(&s, &o);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(1000); /* rather than wait for ever */
        size_t capacity = 0, nbytes = 0;
        csz_status status = csz_compress_bound(&capacity, &s.field, &o);
        uint8_t *bytes = malloc(capacity);
        if (!status) status = csz_compress(the_context(), bytes, capacity, &nbytes, s.data, &s.field, &o);
        _exit(status || nbytes != a.nbytes || memcmp(bytes, a.bytes, nbytes) != 0);
    }
    int end = 0;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    archive b = archive_make(&s, &o);
    assert_int_equal(a.nbytes, b.nbytes);
    assert_memory_equal(a.bytes, b.bytes, a.nbytes);
    archive_free(&a);
    archive_free(&b);
    sample_free(&s);
}

/* A phase of which little is left when others come: claimed work is done once, and nobody works on what is
 * over. */
typedef struct phase {
    atomic_int next, done, is_over, was_late;
} phase;

static void take_part(void *arg, int rank) {
    phase *p = arg;
    (void)rank;
    while (atomic_fetch_add(&p->next, 1) < 3) atomic_fetch_add(&p->done, 1);
    if (atomic_load(&p->is_over)) atomic_store(&p->was_late, 1);
}

static void phases_end_with_those_who_were_in_time(void **state) {
    (void)state;
    enum { PHASES = 20000 };
    static phase phases[PHASES];
    csz_team team = {0};
    allowed = 1 << 20;
    csz_team_run(&team, 1, take_part, &phases[0]);
    assert_int_equal(team.nmembers, 0); /* the caller needs no other */
    assert_int_equal(atomic_load(&phases[0].done), 3);
    for (int i = 1; i < PHASES; i++) {
        csz_team_run(&team, 1 + i % 2, take_part, &phases[i]);
        atomic_store(&phases[i].is_over, 1);
        assert_int_equal(atomic_load(&phases[i].done), 3);
    }
    assert_int_equal(team.nmembers, 1);
    csz_team_run(&team, 4, take_part, &phases[0]);
    assert_int_equal(team.nmembers, 3);
    csz_team_stop(&team);
    for (int i = 0; i < PHASES; i++) assert_int_equal(atomic_load(&phases[i].was_late), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_do_not_depend_on_the_threads_that_could_be_started),
        cmocka_unit_test(different_contexts_may_run_at_once),
        cmocka_unit_test(contexts_work_on_after_a_fork),
        cmocka_unit_test(phases_end_with_those_who_were_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
