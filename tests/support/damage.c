/* SPDX-License-Identifier: BSD-3-Clause */
/* damage.c: the victims of damage.h, and every call that reads one. */
#include "damage.h"

#include <stdlib.h>
#include <string.h>

static victim victim_make(csz_field field, character kind, double bound, csz_workflow workflow,
                          int zstd_level) {
    test_field s = sample_make(field, kind, 1);
    csz_options o = options_make(bound > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT, bound);
    o.workflow = workflow;
    o.zstd_level = zstd_level;
    o.has_fill = kind == MISSING;
    o.fill = fill_value;
    victim v = {field, s.nbytes, archive_make(&s, &o)};
    sample_free(&s);
    return v;
}

int victims_make(victim *v) {
    int n = 0;
    for (int type = 0; type < 2; type++) {
        csz_type t = (csz_type)type;
        for (int workflow = 0; workflow < 4; workflow++) {
            v[n++] = victim_make(workflow & 1 ? field_2d(t, 13, 17) : field_1d(t, 400), STEPS, 0.05,
                                 (csz_workflow)workflow, 0);
        }
        v[n++] = victim_make(field_1d(t, 150), SPECIALS, 0.01, CSZ_WORKFLOW_AUTO, 0);
        v[n++] = victim_make(field_4d(t, 2, 3, 5, 70), MISSING, 0.1, CSZ_WORKFLOW_AUTO, 0);
        v[n++] = victim_make(field_1d(t, 1024), ROUGH, type ? 0.05 : 0.012, CSZ_WORKFLOW_AUTO, 0);
        v[n++] = victim_make(field_1d(t, type ? 40 : 150), RAMP, type ? 1e-10 : 1e-3,
                             type ? CSZ_WORKFLOW_RLE_VLE : CSZ_WORKFLOW_AUTO, 0);
    }
    v[n++] = victim_make(field_1d(CSZ_F32, 20), RANDOM_BITS, 1e-3, CSZ_WORKFLOW_AUTO, 0); /* raw */
    v[n++] =
        victim_make(field_1d(CSZ_F64, 9000), ALL_NAN, 1e-3, CSZ_WORKFLOW_AUTO, 0); /* fill, three tiles */
    v[n++] = victim_make(field_2d(CSZ_F32, 13, 17), SPECIALS, 0, CSZ_WORKFLOW_AUTO, 0);
    v[n++] = victim_make(field_3d(CSZ_F64, 2, 3, 20), ROUGH, 0, CSZ_WORKFLOW_AUTO, 0);
    assert_int_equal(n, NVICTIMS_PLAIN);
    if (csz_zstd_available()) {
        v[n++] = victim_make(field_2d(CSZ_F32, 13, 17), STEPS, 0.05, CSZ_WORKFLOW_AUTO, 3);
        v[n++] = victim_make(field_1d(CSZ_F64, 100), SPECIALS, 0.01, CSZ_WORKFLOW_AUTO, 1);
    }
    return n;
}

void victims_free(victim *victims, int n) {
    for (int i = 0; i < n; i++) archive_free(&victims[i].archive);
}

verdict archive_read_all(const uint8_t *bytes, size_t nbytes, const victim *v) {
    static uint8_t data[1 << 20];
    static const uint64_t begin[CSZ_MAX_NDIM] = {0, 0, 0, 0};
    uint64_t end[CSZ_MAX_NDIM];
    for (int i = 0; i < CSZ_MAX_NDIM; i++) end[i] = i < v->field.ndim ? (v->field.dims[i] + 1) / 2 : 1;
    csz_options o = options_make(CSZ_BOUND_ABS, 0);
    csz_info info;
    csz_tile_counts counts;
    uint8_t *copy = malloc(nbytes ? nbytes : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, nbytes);
    verdict d;
    d.inspect = csz_inspect(&info, sizeof info, copy, nbytes);
    /* the exact size, unless damage made the field larger: then what fits */
    size_t capacity = v->nbytes_field;
    if (!d.inspect && info.nbytes_field > capacity) capacity = sizeof data;
    uint8_t *exact = capacity == sizeof data ? data : malloc(capacity);
    assert_non_null(exact);
    d.decompress = csz_decompress(the_context(), exact, capacity, copy, nbytes, DECODING(&o));
    d.region = csz_decompress_region(the_context(), exact, capacity, copy, nbytes, begin, end, DECODING(&o));
    /* damage may ask for much memory */
    d.test = csz_test(the_context(), copy, nbytes, LIMITED(&o, 64u << 20));
    d.survey = csz_survey(the_context(), &counts, sizeof counts, copy, nbytes);
    if (exact != data) free(exact);
    free(copy);
    return d;
}
