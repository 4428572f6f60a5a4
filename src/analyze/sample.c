/* SPDX-License-Identifier: BSD-3-Clause */
/* sample.c: the tiles that are analysed, one of each equal part, picked by a hash; and the loop of threads
 * over tiles.  Tiles of a field on the GPU are copied to the host, so the rest is the same for both. */
#include "analyze/analysis.h"

#include <stdlib.h>

#include "cuda/measure/analyze.h"

enum {
    TILE_STRIDE = 12,
    TILES_LEAST = 20,
    TILES_MOST = 512,
    /* Coding a tile with four workflows costs 6 times what compressing it does, counting its codes half as
       much. */
    CODED_STRIDE = 8, /* of the sampled tiles, */
    CODED_LEAST = 6,
    CODED_MOST = 64,
    CODED_ALL = 8,           /* a field of so many tiles is coded whole */
    SPAN_N = 456,            /* of the quanta's pairs: 200 distances from 256 places */
    SPAN_ELEMENTS = 1 << 16, /* of the field, for each span */
    SPANS_LEAST = 8,
    SPANS_MOST = 64,
    SPANS_EXACT = 320
};

csz_tile_box csz_field_tile_box(const csz_geometry *g, uint64_t i) {
    csz_tile_box box;
    const uint64_t at[3] = {i / g->grid[2] / g->grid[1], i / g->grid[2] % g->grid[1], i % g->grid[2]};
    for (int d = 0; d < 3; d++) {
        const uint64_t extent = (uint64_t)1 << g->log2_t[d];
        box.origin[d] = at[d] << g->log2_t[d];
        box.extent[d] = (uint32_t)csz_clamp(g->n[d] - box.origin[d], 0, extent);
    }
    return box;
}

static uint64_t tile_of(const csz_tile_sample *s, uint64_t i) {
    return csz_scatter_part(1, i, s->n, s->geometry.ntiles);
}

csz_tile_box csz_tile_sample_box(const csz_tile_sample *s, uint64_t i) {
    csz_tile_box box = csz_field_tile_box(&s->geometry, tile_of(s, i));
    if (!s->is_stack) return box;
    const int slowest = 3 - s->layout.rank;
    memset(box.origin, 0, sizeof box.origin);
    box.origin[slowest] = i << s->layout.log2_t[slowest];
    return box;
}

static uint64_t span_first(const csz_tile_sample *s, uint64_t i) {
    return csz_scatter_part(3, i, s->nspans, s->geometry.nelements - s->span_n + 1);
}

/* Tiles and spans of a field on the GPU to memory. */
static csz_status gather(csz_tile_sample *s, csz_type type, const void *d_data, size_t size) {
    const csz_device_field field = {.d_data = d_data, .type = type, .geometry = s->geometry};
    uint64_t *numbers = malloc((size_t)(s->n + s->nspans) * sizeof *numbers);
    if (!numbers) return CSZ_ERROR_MEMORY;
    for (uint64_t i = 0; i < s->n; i++) numbers[i] = tile_of(s, i);
    for (uint64_t i = 0; i < s->nspans; i++) numbers[s->n + i] = span_first(s, i);
    csz_status status =
        csz_cuda_field_gather(s->memory, &field, numbers, (uint32_t)s->n, (uint32_t)s->nspans, s->span_n);
    free(numbers);
    s->is_stack = 1;
    s->data = s->memory;
    s->spans = (const uint8_t *)s->memory + s->n * CSZ_TILE_N * size;
    csz_geometry *g = &s->layout;
    for (int d = 0; d < 3; d++) g->n[d] = (uint64_t)1 << g->log2_t[d];
    g->n[3 - g->rank] *= s->n;
    g->nelements = s->n * CSZ_TILE_N;
    csz_geometry_finish(g, 0);
    return status;
}

csz_status csz_tile_sample_make(csz_tile_sample *s, const csz_geometry *g, csz_type type, const void *data,
                                int is_on_device, int exact) {
    const size_t size = csz_value_nbytes(type);
    memset(s, 0, sizeof *s);
    s->geometry = s->layout = *g;
    s->data = data;
    s->n = csz_clamp(csz_clamp(g->ntiles / TILE_STRIDE, TILES_LEAST, TILES_MOST), 0, g->ntiles);
    s->ncoded = s->n <= CODED_ALL ? s->n : csz_clamp(s->n / CODED_STRIDE, CODED_LEAST, CODED_MOST);
    s->span_n = (uint32_t)csz_clamp(g->nelements, 0, SPAN_N);
    s->nspans = g->nelements <= SPAN_N ? g->nelements > 1
                : exact                ? SPANS_EXACT
                                       : csz_clamp(g->nelements / SPAN_ELEMENTS, SPANS_LEAST, SPANS_MOST);
    const uint64_t nvalues = s->nspans * s->span_n + (is_on_device ? s->n * CSZ_TILE_N : 0);
    if (nvalues == 0) return CSZ_OK;
    s->memory = malloc((size_t)nvalues * size);
    if (!s->memory) return CSZ_ERROR_MEMORY;
    if (is_on_device) return gather(s, type, data, size);
    for (uint64_t i = 0; i < s->nspans; i++)
        memcpy((uint8_t *)s->memory + i * s->span_n * size, (const uint8_t *)data + span_first(s, i) * size,
               s->span_n * size);
    s->spans = s->memory;
    return CSZ_OK;
}

void csz_tile_sample_free(csz_tile_sample *s) { free(s->memory); }

typedef struct pass {
    void (*each)(void *job, int rank, uint64_t i);
    void *job;
    uint64_t n;
    atomic_ullong next;
} pass;

static void pass_body(void *arg, int rank) {
    pass *p = arg;
    for (uint64_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n;) p->each(p->job, rank, i);
}

void csz_analysis_run(csz_team *team, int nthreads, uint64_t n, void (*each)(void *job, int rank, uint64_t i),
                      void *job) {
    pass p = {.each = each, .job = job, .n = n};
    csz_team_run(team, nthreads, pass_body, &p);
}
