/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoding_forms.cpp: archives in forms that no encoder writes, whose checksums all fit, and archives with
 * one checksum that does not: the decoder's own checks must come to the CPU backend's verdict, for boxes
 * above all, of which no checksum of values tells.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "decoding.h"
#include "machine.h"
extern "C" {
#include "core/quantum.h"
#include "entropy/book.h"
}

namespace decoding {

/* The words of a frame's part from byte `from` to `to`. */
static std::vector<uint32_t> words_of(const std::vector<uint8_t> &a, uint64_t from, uint64_t to) {
    std::vector<uint32_t> words;
    for (; from < to; from += 4) words.push_back(csz_load_u32(&a[from]));
    return words;
}

/* The first record of an archive of one frame, of less than 65 tiles. */
static std::vector<uint32_t> record_of(const made &m, const csz_header &h) {
    const uint64_t at = h.nbytes;
    const csz_frame_layout l =
        csz_frame_layout_of((uint32_t)h.geometry.ntiles, csz_load_u32(&m.archive[at + 16]));
    return words_of(m.archive, at + l.payload, at + l.payload + 4 * csz_load_u16(&m.archive[at + l.sizes]));
}

/* Such an archive with other words for its section of books, or for its first record; sizes and checksums
 * follow, but not that of values. */
static std::vector<uint8_t> with_parts(const made &m, const csz_header &h, const std::vector<uint32_t> *books,
                                       const std::vector<uint32_t> *record) {
    const uint64_t at = h.nbytes, old_nbytes = csz_load_u32(&m.archive[at + 16]);
    const uint32_t ntiles = (uint32_t)h.geometry.ntiles;
    const csz_frame_layout l = csz_frame_layout_of(ntiles, (uint32_t)old_nbytes);
    uint64_t nwords = 0;
    for (uint32_t t = 0; t < ntiles; t++) nwords += csz_load_u16(&m.archive[at + l.sizes + 2 * t]);
    std::vector<uint32_t> frame = words_of(m.archive, at, at + 32);
    const std::vector<uint32_t> own = words_of(m.archive, at + 32, at + 32 + old_nbytes),
                                index = words_of(m.archive, at + l.index, at + l.payload),
                                payload = words_of(m.archive, at + l.payload, at + l.payload + 4 * nwords),
                                first = record_of(m, h);
    frame.insert(frame.end(), (books ? books : &own)->begin(), (books ? books : &own)->end());
    frame[4] = (uint32_t)(books ? books : &own)->size() * 4;
    frame.insert(frame.end(), index.begin(), index.end());
    if (record) frame[frame.size() - (ntiles + 1) / 2] += (uint32_t)(record->size() - first.size());
    frame.insert(frame.end(), (record ? record : &first)->begin(), (record ? record : &first)->end());
    frame.insert(frame.end(), payload.begin() + first.size(), payload.end());
    if (frame.size() % 2) frame.push_back(0);
    std::vector<uint8_t> a(m.archive.begin(), m.archive.begin() + at);
    a.resize(at + 4 * frame.size() + csz_footer_nbytes(1));
    frame[0] = frame[2] = (uint32_t)frame.size() * 4;
    for (size_t i = 0; i < frame.size(); i++) csz_store_u32(&a[at + 4 * i], frame[i]);
    csz_store_u64(&a[at + 4 * frame.size()], 4 * frame.size());
    csz_footer_finish(&a[at + 4 * frame.size()], 1);
    mend_checksums(a, h);
    return a;
}

/* A record with a tail and other exceptions: its own first values, or zeros. */
static std::vector<uint32_t> with_exceptions(const std::vector<uint32_t> &record, csz_type type,
                                             const std::vector<uint32_t> &codes) {
    const size_t words = type == CSZ_F32 ? 1 : 2, n = record[1] & 0xFFFF, values = record.size() - n * words;
    std::vector<uint32_t> r(record.begin(), record.begin() + (values - (n + 1) / 2));
    r[1] = (r[1] & ~0xFFFFu) | (uint32_t)codes.size();
    for (size_t i = 0; i < codes.size(); i++) {
        if (i % 2 == 0) r.push_back(0);
        r.back() |= codes[i] << 16 * (i % 2);
    }
    r.insert(r.end(), record.begin() + values, record.begin() + values + std::min(n, codes.size()) * words);
    if (n < codes.size()) r.insert(r.end(), (codes.size() - n) * words, 0u);
    return r;
}

static uint32_t bits_at(const std::vector<uint32_t> &words, uint32_t at, uint32_t n) {
    uint32_t bits = 0;
    for (; n > 0; n--, at++) bits = bits << 1 | (words[at / 32] >> (31 - at % 32) & 1);
    return bits;
}

/* Where the lengths of a record's lanes begin, how many there are and where its stream ends, in bits. */
struct lane_bits {
    uint32_t lengths, n, end;
};

static lane_bits lane_bits_of(const std::vector<uint32_t> &record, csz_type type) {
    const csz_record_head head = csz_record_unpack(record[0]);
    const uint32_t nlanes = csz_mode_lanes((int)head.mode);
    uint32_t at = 1 + head.has_tail, n = head.has_bitmap ? 0 : nlanes;
    for (uint32_t i = 0; head.has_bitmap && i < nlanes / 32; i++)
        n += (uint32_t)__builtin_popcount(record[at++]);
    lane_bits b = {32 * at + csz_base_nbits(head.has_base, head.short_base, type == CSZ_F32 ? 32 : 64), n, 0};
    b.end = b.lengths + n * (head.width + head.min_length);
    for (uint32_t i = 0; i < n; i++) b.end += bits_at(record, b.lengths + i * head.width, head.width);
    return b;
}

/* A record whose lanes' lengths are stored in another width, as what they exceed another shortest length by.
 */
static std::vector<uint32_t> with_lengths(const std::vector<uint32_t> &record, csz_type type, uint32_t width,
                                          uint32_t shortest) {
    const csz_record_head head = csz_record_unpack(record[0]);
    const lane_bits lanes = lane_bits_of(record, type);
    const uint32_t begin =
        lanes.lengths - csz_base_nbits(head.has_base, head.short_base, type == CSZ_F32 ? 32 : 64);
    std::vector<uint32_t> r(record.begin(), record.begin() + begin / 32);
    uint32_t n = 0;
    auto put = [&](uint32_t bits, uint32_t nbits) {
        for (; nbits > 0; nbits--, n++) {
            if (n % 32 == 0) r.push_back(0);
            r.back() |= (bits >> (nbits - 1) & 1) << (31 - n % 32);
        }
    };
    for (uint32_t at = begin; at < lanes.lengths; at++) put(bits_at(record, at, 1), 1);
    for (uint32_t i = 0; i < lanes.n; i++)
        put(head.min_length + bits_at(record, lanes.lengths + i * head.width, head.width) - shortest, width);
    for (uint32_t at = lanes.lengths + lanes.n * head.width; at < lanes.end; at++)
        put(bits_at(record, at, 1), 1);
    r.insert(r.end(), record.begin() + (lanes.end + 31) / 32, record.end());
    r[0] = (r[0] & 0xC0000FFFu) | width << 12 | shortest << 16;
    return r;
}

/* Records of every kind in forms that no encoder writes, of which a box in their tile is asked: their own
 * checks are all that tells. */
static void check_record_forms(csz_context *context, size_t step) {
    const struct {
        std::vector<uint64_t> dims;
        csz_type type;
        int kind;
        double bound;
        csz_workflow workflow;
    } fields[] = {{{9000}, CSZ_F32, NOISE3, 1e-3, CSZ_WORKFLOW_HUFFMAN},
                  {{70, 300}, CSZ_F64, SMOOTH, 1e-4, CSZ_WORKFLOW_HUFFMAN},
                  {{9000}, CSZ_F64, STEPS, 1e-3, CSZ_WORKFLOW_RLE},
                  {{16, 32, 64}, CSZ_F32, STEPS, 1e-3, CSZ_WORKFLOW_RLE_VLE},
                  {{4, 300, 5}, CSZ_F32, STEPS, 1e-3, CSZ_WORKFLOW_RLE},
                  {{4, 300, 5}, CSZ_F32, STEPS, 1e-3, CSZ_WORKFLOW_RLE_VLE},
                  {{20, 300}, CSZ_F32, SPECIALS, 1e-3, CSZ_WORKFLOW_AUTO},
                  {{4, 300, 5}, CSZ_F32, SPECIALS, 1e-3, CSZ_WORKFLOW_AUTO},
                  {{9000}, CSZ_F64, MASKED, 1e-3, CSZ_WORKFLOW_AUTO},
                  {{4, 300, 5}, CSZ_F32, MASKED, 1e-3, CSZ_WORKFLOW_AUTO},
                  {{4, 300, 5}, CSZ_F64, ROUGH, 1e-3, CSZ_WORKFLOW_AUTO},
                  {{9000}, CSZ_F32, ROUGH, 1e-3, CSZ_WORKFLOW_AUTO},
                  {{4, 300, 5}, CSZ_F64, HUGE_JUMPS, 1e-9, CSZ_WORKFLOW_AUTO},
                  {{70, 300}, CSZ_F32, NOISE3, 1e-12, CSZ_WORKFLOW_AUTO}};
    int nexact = 0;
    size_t first = 0; /* so that the records of unlike fields lend unlike forms */
    for (const auto &f : fields) {
        const made m = make_archive(context, f.type, f.dims, f.kind, f.bound, f.workflow);
        csz_header h;
        csz_header_read(&h, m.archive.data(), m.archive.size());
        const box b = {{0, 0, 0}, {1, 1, h.geometry.rank == 3 ? 3u : 40u}};
        const std::vector<uint32_t> record = record_of(m, h);
        csz_record_head head = csz_record_unpack(record[0]);
        if (head.mode == CSZ_MODE_EXACT) { /* its first word has other fields */
            head = {};
            head.mode = CSZ_MODE_EXACT;
            nexact++;
        }
        const uint32_t nlanes = head.mode < CSZ_MODE_RAW ? csz_mode_lanes((int)head.mode) : 0;
        std::vector<std::vector<uint32_t>> forms;
        std::vector<size_t> sound; /* of these */
        for (uint32_t bit = 0; bit < (head.has_tail ? 64u : 32u); bit += bit < 32 ? 1 : 3) {
            if (head.mode != CSZ_MODE_EXACT && bit > 16 && bit < 29) continue; /* of the shortest length */
            forms.push_back(record);
            forms.back()[bit / 32] ^= 1u << bit % 32;
        }
        for (uint32_t bit = 0; bit < 32; bit += 15) { /* what follows a stream; values of a raw record */
            forms.push_back(record);
            forms.back().back() ^= 1u << bit;
        }
        forms.push_back(record); /* a word too many, one too few */
        forms.back().push_back(0);
        forms.push_back(std::vector<uint32_t>(record.begin(), record.end() - 1));
        if (!head.has_tail && nlanes) {
            forms.push_back(record); /* a tail that says nothing */
            forms.back()[0] |= 1u << 11;
            forms.back().insert(forms.back().begin() + 1, 0u);
            if (!head.has_bitmap) { /* a bitmap of all lanes */
                forms.push_back(record);
                forms.back()[0] |= 1u << 7;
                forms.back().insert(forms.back().begin() + 1, nlanes / 32, ~0u);
            }
            forms.push_back({head.mode | 1u << 7}); /* one of none */
            forms.back().insert(forms.back().end(), nlanes / 32, 0u);
            forms.push_back({CSZ_MODE_CONSTANT | 1u << 6 | 1u << 10, 0}); /* a base of 0 */
            forms.push_back({CSZ_MODE_CONSTANT | 1u << 6, 0});            /* a long one that is short */
            if (f.type == CSZ_F64) forms.back().push_back(0);
            forms.back().back() = 1000;
            sound.push_back(forms.size());
            forms.push_back({CSZ_MODE_CONSTANT | 1u << 6 | 1u << 10, 1000u << 16});
            forms.push_back({CSZ_MODE_CONSTANT | 1u << 6 | 1u << 10, 1000u << 16 | 1}); /* a bit follows */
            for (uint32_t bit : {7, 12, 16}) /* what tells of lanes */
                forms.push_back({CSZ_MODE_CONSTANT | 1u << 6 | 1u << 10 | 1u << bit, 1000u << 16});
        }
        if (nlanes) {
            const lane_bits lanes = lane_bits_of(record, f.type);
            for (uint32_t i = 0; i < 8; i++) { /* the last lane's length, its last bits */
                const uint32_t bit = i ? lanes.end - i : lanes.lengths + lanes.n * head.width - 1;
                if (i == 0 && head.width == 0) continue;
                forms.push_back(record);
                forms.back()[bit / 32] ^= 1u << (31 - bit % 32);
            }
            uint32_t most = 0;
            for (uint32_t i = 0; i < lanes.n; i++)
                most = std::max(most, bits_at(record, lanes.lengths + i * head.width, head.width));
            sound.push_back(forms.size());
            forms.push_back(with_lengths(record, f.type, head.width, head.min_length));
            if (head.width < 15) { /* lengths in a bit more than they need */
                forms.push_back(with_lengths(record, f.type, head.width + 1, head.min_length));
                forms.push_back(with_lengths(record, f.type, (uint32_t)csz_log2_u32(most + 1) + 1,
                                             head.min_length - 1)); /* as a length that no lane has */
            }
            /* bases at the end of what quanta can be, and beyond */
            const int64_t limit = f.type == CSZ_F32 ? CSZ_QUANTUM_LIMIT_F32 : CSZ_QUANTUM_LIMIT_F64;
            for (int64_t base : {limit - 100000, limit + 2, limit * 200 + 2, -limit - 2}) {
                if (head.has_tail || !head.short_base) break;
                forms.push_back(std::vector<uint32_t>(record.begin(), record.begin() + lanes.lengths / 32));
                std::vector<uint32_t> &r = forms.back();
                r[0] &= ~(1u << 10);
                if (f.type == CSZ_F64) r.push_back((uint32_t)(base >> 32));
                r.push_back((uint32_t)base);
                for (uint32_t at = lanes.lengths; at < lanes.end; at++) {
                    if ((at - lanes.lengths) % 32 == 0) r.push_back(0);
                    r.back() |= bits_at(record, at, 1) << (31 - (at - lanes.lengths) % 32);
                }
            }
            /* a run that fills a lane, and one bit more */
            forms.push_back({CSZ_MODE_RLE | 1u << 7 | 23u << 16, 1, 3u << 16 | 127u << 9});
            forms.push_back({CSZ_MODE_RLE | 1u << 7 | 24u << 16, 1, 3u << 16 | 127u << 9});
            forms.push_back({head.mode | 1u << 12}); /* lanes of no bits */
            forms.back().insert(forms.back().end(), nlanes / 32, 0u);
        }
        if (head.has_tail && (record[1] & 0xFFFF) >= 3) {
            if (!head.nmasks) sound.push_back(forms.size());
            forms.push_back(with_exceptions(record, f.type, {5, 6, 700}));
            forms.push_back(with_exceptions(record, f.type, {5, 5, 700}));
            forms.push_back(with_exceptions(record, f.type, {6, 5, 700}));
            forms.push_back(with_exceptions(record, f.type, {5, 6, CSZ_TILE_N}));
            forms.push_back(
                with_exceptions(record, f.type, {5, 6, CSZ_TILE_N - 1})); /* outside of the field */
            forms.push_back(with_exceptions(record, f.type, {5, 6, 700}));
            forms.back()[forms.back().size() - 3 * (f.type ? 2 : 1) - 1] |= 1u << 16; /* a fourth code */
        }
        if (head.nmasks) { /* some of them where masks are */
            for (uint32_t code = 0; code < CSZ_TILE_N; code += 512)
                forms.push_back(with_exceptions(record, f.type, {code}));
            const uint32_t n = record[1] & 0xFFFF, nwords = record[1] >> 16,
                           end = (uint32_t)record.size() - (n + 1) / 2 - n * (f.type ? 2 : 1);
            forms.push_back(record); /* a word that belongs to none */
            forms.back()[1] += 1u << 16;
            forms.back().insert(forms.back().begin() + end, 0u);
            for (uint32_t bit = 0; bit < 32 * std::min(nwords, 8u); bit += 7) {
                forms.push_back(record);
                forms.back()[end - nwords + bit / 32] ^= 1u << bit % 32;
            }
        }
        for (size_t i = first++ % step; i < forms.size(); i += step) {
            char label[160];
            snprintf(label, sizeof label, "form %zu of a record of mode %u, %s f%d", i, head.mode,
                     kind_name[f.kind], f.type ? 64 : 32);
            const csz_status s = check_box(context, with_parts(m, h, nullptr, &forms[i]), m, h, b, label);
            if (s && std::count(sound.begin(), sound.end(), i)) fail("refused", label);
        }
    }
    if (nexact == 0) fail("none is exact", "forms of records");
}

/* The same of what stands before the records, and between them and the footer. */
static void check_frame_forms(csz_context *context) {
    made m;
    csz_header h;
    csz_frame_layout l;
    uint64_t at, nbytes, nwords = 0;
    uint32_t books_nbytes;
    for (uint64_t n = 9000; nwords % 2 == 0; n++) { /* payloads of three records that end at an odd word */
        m = make_archive(context, CSZ_F32, {n}, NOISE3, 1e-3, CSZ_WORKFLOW_HUFFMAN);
        csz_header_read(&h, m.archive.data(), m.archive.size());
        at = h.nbytes;
        nbytes = csz_load_u64(&m.archive[at]);
        books_nbytes = csz_load_u32(&m.archive[at + 16]);
        l = csz_frame_layout_of((uint32_t)h.geometry.ntiles, books_nbytes);
        nwords = l.payload / 4;
        for (int t = 0; t < 3; t++) nwords += csz_load_u16(&m.archive[at + l.sizes + 2 * t]);
    }
    const box all = {{0, 0, 0}, {h.geometry.n[0], h.geometry.n[1], h.geometry.n[2]}};
    for (uint32_t form = 0; form < 10; form++) {
        const uint32_t sizes[] = {0, 4, 8, books_nbytes + 1, CSZ_BOOKS_MAX_NBYTES + 4, ~3u};
        std::vector<uint8_t> a = m.archive;
        char label[160];
        snprintf(label, sizeof label, "form %u of a frame", form);
        if (form < 6) csz_store_u32(&a[at + 16], sizes[form]);
        if (form == 6) a[at + l.sizes + 6] = 1; /* of a fourth tile of three */
        if (form == 7 || form == 8) csz_store_u64(&a[at + 8 * (form - 7)], nbytes + 8);
        if (form == 9) { /* words that belong to no frame */
            a.insert(a.begin() + at + nbytes, 8, 0);
        } else {
            mend_frame(a, at, 0, form < 6 ? 32 : l.payload);
            mend_checksums(a, h);
        }
        if (!check_box(context, a, m, h, all, label)) fail("not refused", label);
    }
    /* a record of 4096 rough values in the tile of a single one: the frame is larger than raw tiles would be
     */
    const made one = make_archive(context, CSZ_F32, {1}, SMOOTH, 1e-3, CSZ_WORKFLOW_HUFFMAN),
               large = make_archive(context, CSZ_F32, {4096}, NOISE10, 1e-3, CSZ_WORKFLOW_HUFFMAN);
    csz_header one_h, large_h;
    csz_header_read(&one_h, one.archive.data(), one.archive.size());
    csz_header_read(&large_h, large.archive.data(), large.archive.size());
    const uint64_t from = large_h.nbytes + 32;
    const std::vector<uint32_t> books = words_of(large.archive, from,
                                                 from + csz_load_u32(&large.archive[large_h.nbytes + 16])),
                                record = record_of(large, large_h);
    if (!check_box(context, with_parts(one, one_h, &books, &record), one, one_h, {{0, 0, 0}, {1, 1, 1}},
                   "a frame above its limit"))
        fail("not refused", "a frame above its limit");
}

/* The section of books, in words. */
static std::vector<uint32_t> section_of(const csz_book *books) {
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    const uint32_t nbytes = csz_books_write(section, books);
    return words_of(std::vector<uint8_t>(section, section + nbytes), 0, nbytes);
}

/* Books that no record of the archive uses: codes that are not complete or too long, and sections with more
 * than their books; and lengths so much alike that 32 bytes in a row, as a warp reads them, have 256 of them.
 */
static void check_book_forms(csz_context *context) {
    const made m = make_archive(context, CSZ_F32, {9000}, NOISE3, 1e-3, CSZ_WORKFLOW_HUFFMAN),
               few = make_archive(context, CSZ_F32, {37}, NOISE3, 1e-3, CSZ_WORKFLOW_HUFFMAN);
    csz_header h, few_h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    csz_header_read(&few_h, few.archive.data(), few.archive.size());
    const box all = {{0, 0, 0}, {1, 1, 9000}}, few_all = {{0, 0, 0}, {1, 1, 37}};
    const uint64_t at = h.nbytes;
    csz_book own[CSZ_NBOOKS], books[CSZ_NBOOKS];
    csz_builtin_cache cache;
    memset(&cache, 0, sizeof cache);
    if (m.counts.single != h.geometry.ntiles ||
        !csz_books_read(own, &cache, &m.archive[at + 32], csz_load_u32(&m.archive[at + 16])))
        return fail("not the archive that was wanted", "book forms");
    const struct {
        const char *name;
        int book, is_sound;
        uint8_t lengths[3];
    } codes[] = {
        {"a symbol alone", CSZ_BOOK_PV, 1, {1, 0, 0}}, {"one of two bits", CSZ_BOOK_PV, 0, {2, 0, 0}},
        {"not complete", CSZ_BOOK_QV, 0, {2, 2, 0}},   {"too many", CSZ_BOOK_QV, 0, {1, 1, 1}},
        {"above 12 bits", CSZ_BOOK_MV, 0, {1, 1, 13}}, {"above 11 bits", CSZ_BOOK_RL, 0, {1, 1, 12}}};
    for (const auto &c : codes) {
        memcpy(books, own, sizeof books);
        books[c.book].kind = CSZ_KIND_EXPLICIT;
        memset(books[c.book].lengths, 0, sizeof books[c.book].lengths);
        memcpy(books[c.book].lengths, c.lengths, sizeof c.lengths);
        const std::vector<uint32_t> section = section_of(books);
        const csz_status s = check_box(context, with_parts(m, h, &section, nullptr), m, h, all, c.name);
        if ((s == CSZ_OK) != (c.is_sound != 0)) fail("not the verdict that was wanted", c.name);
    }
    for (int form = 0; form < 4; form++) {
        char label[160];
        snprintf(label, sizeof label, "form %d of a section of books", form);
        std::vector<uint32_t> section = section_of(own);
        if (form < 2)
            section[2] |= 1u << (16 + 8 * form);
        else
            section.insert(section.end(), form - 1, 0u);
        if (!check_box(context, with_parts(m, h, &section, nullptr), m, h, all, label))
            fail("not refused", label);
        if (form < 2) continue;
        /* without explicit lengths */
        const uint64_t few_at = few_h.nbytes;
        section = words_of(few.archive, few_at + 32, few_at + 32 + csz_load_u32(&few.archive[few_at + 16]));
        if (section.size() != 3) return fail("not built in", label);
        section.insert(section.end(), form - 1, 0u);
        if (!check_box(context, with_parts(few, few_h, &section, nullptr), few, few_h, few_all, label))
            fail("not refused", label);
    }
    /* a run of 33 bits, the most that one with 10 raw ones can have: the longest code of either book is all
     * ones */
    memcpy(books, own, sizeof books);
    for (int b : {CSZ_BOOK_RV, CSZ_BOOK_RL}) {
        const uint32_t limit = csz_book_limit(b);
        books[b].kind = CSZ_KIND_EXPLICIT;
        memset(books[b].lengths, 0, sizeof books[b].lengths);
        for (uint32_t i = 1; i <= limit; i++) books[b].lengths[i] = (uint8_t)i;
        books[b].lengths[b == CSZ_BOOK_RV ? 2 * CSZ_DIRECT_HALF + 4 * 7 : 127] = (uint8_t)limit;
    }
    const std::vector<uint32_t> runs = section_of(books),
                                run = {CSZ_MODE_RLE_VLE | 1u << 7 | 33u << 16, 1, 0xFFF557FFu, 1u << 31};
    const box in_lane = {{0, 0, 0}, {1, 1, 4}};
    if (check_box(context, with_parts(m, h, &runs, &run), m, h, in_lane, "a long run"))
        fail("refused", "a long run");
    const char *label = "256 lengths alike";
    for (int tries = 0;; tries++) {
        if (tries == 1000) return fail("not found", label);
        memcpy(books, own, sizeof books);
        uint32_t weights[CSZ_SYMBOLS_MAX];
        for (uint32_t j = 0; j < 256; j++) weights[j] = 1 + (1u << rnd() % 12);
        csz_book_lengths(books[CSZ_BOOK_PV].lengths, weights, 256, 12);
        memset(books[CSZ_BOOK_QV].lengths, 8, 256);
        memset(books[CSZ_BOOK_QE].lengths, 0, sizeof books[CSZ_BOOK_QE].lengths);
        for (uint32_t j = 3; j < 3 + 64; j++)
            books[CSZ_BOOK_QE].lengths[csz_book_symbol_at(CSZ_BOOK_QE, j)] = 6;
        for (int b : {CSZ_BOOK_PV, CSZ_BOOK_QV, CSZ_BOOK_QE}) books[b].kind = CSZ_KIND_EXPLICIT;
        const std::vector<uint32_t> section = section_of(books);
        int found = 0;
        for (size_t i = 3; i + 8 <= section.size(); i += 8)
            found |= std::all_of(&section[i], &section[i] + 8, [](uint32_t w) { return w == 0; });
        if (!found) continue;
        if (check_box(context, with_parts(m, h, &section, nullptr), m, h, all, label)) fail("refused", label);
        break;
    }
}

/* One bit of each checksum that is stored, and of what nothing else tells of: all others fit. */
static void check_checksums(csz_context *context) {
    const std::vector<std::vector<uint64_t>> shapes = {{70, 300}, {4, 300, 5}};
    for (size_t s = 0; s < 2 * shapes.size(); s++) {
        const made m =
            make_archive(context, (csz_type)(s & 1), shapes[s / 2], NOISE3, 1e-3, CSZ_WORKFLOW_AUTO);
        csz_header h;
        csz_header_read(&h, m.archive.data(), m.archive.size());
        const csz_frame_layout l =
            csz_frame_layout_of((uint32_t)h.geometry.ntiles, csz_load_u32(&m.archive[h.nbytes + 16]));
        const box all = {{0, 0, 0}, {h.geometry.n[0], h.geometry.n[1], h.geometry.n[2]}};
        const box corner = {{0, 0, 0}, {1, 1, 3}};
        const struct {
            const char *name;
            uint64_t at;
            int is_hashed, is_of_values;
        } places[] = {{"values", h.nbytes + 21, 1, 1},
                      {"frame, low", h.nbytes + 25, 0, 0},
                      {"frame, high", h.nbytes + 30, 0, 0},
                      {"group, low", h.nbytes + l.index + 5, 1, 0},
                      {"group, high", h.nbytes + l.index + 10, 1, 0},
                      {"footer, low", m.archive.size() - 7, 0, 0},
                      {"footer, high", m.archive.size() - 2, 0, 0}};
        for (const auto &place : places) {
            char label[160];
            snprintf(label, sizeof label, "checksum of %s, %zu", place.name, s);
            std::vector<uint8_t> a = m.archive;
            a[place.at] ^= 16;
            if (place.is_hashed) mend_frame(a, h.nbytes, 0, l.payload);
            for (int once = 0; once < 2; once++) {
                emu::once_unused = !once;
                emu::shared_nbytes = (once ? 227 : 96) << 10;
                if (!check_box(context, a, m, h, all, label)) fail("not refused", label);
            }
            const csz_status status = check_box(context, a, m, h, corner, label);
            if ((status == CSZ_OK) != (place.is_of_values != 0)) fail("a box", label);
        }
    }
    emu::once_unused = false;
    emu::shared_nbytes = 96 << 10;
}

/* Explicit lengths of all books, most of them unlike the ones before: a section longer than a block's threads
 * read at once.  Only book S has symbols in this archive. */
static void check_long_books(csz_context *context) {
    const char *label = "long books";
    made m = make_archive(context, CSZ_F32, {16, 32, 64}, NOISE3, 1e-3, CSZ_WORKFLOW_HUFFMAN);
    csz_header h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    const size_t at = h.nbytes, old_nbytes = csz_load_u32(&m.archive[at + 16]);
    csz_book books[CSZ_NBOOKS];
    csz_builtin_cache cache;
    memset(&cache, 0, sizeof cache);
    if (m.counts.single != h.geometry.ntiles || h.geometry.nframes != 1 ||
        !csz_books_read(books, &cache, &m.archive[at + 32], (uint32_t)old_nbytes))
        return fail("not the archive that was wanted", label);
    for (int round = 0; round < 4; round++) {
        for (int b = 0; b < CSZ_NBOOKS; b++) {
            uint32_t weights[CSZ_SYMBOLS_MAX] = {0};
            books[b].kind = CSZ_KIND_EXPLICIT;
            if (b == CSZ_BOOK_S) continue;
            for (uint32_t j = csz_book_first(b); j < csz_book_size(b); j++)
                weights[csz_book_symbol_at(b, j)] = 1 + (1u << rnd() % 12);
            memset(books[b].lengths, 0, sizeof books[b].lengths);
            csz_book_lengths(books[b].lengths, weights, csz_book_size(b), csz_book_limit(b));
        }
        const std::vector<uint32_t> section = section_of(books);
        if (section.size() < 256) return fail("not long", label);
        made longer = m;
        longer.archive = with_parts(m, h, &section, nullptr);
        check_whole(context, longer, label);
        check_damaged(context, longer, 8, label);
    }
}

void check_forms(csz_context *context, size_t step) {
    check_long_books(context);
    check_checksums(context);
    check_record_forms(context, step);
    check_frame_forms(context);
    check_book_forms(context);
}

} // namespace decoding
