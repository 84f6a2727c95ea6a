/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader of snapshots written from docs/format.md alone: it takes a file apart
 * by the document's offsets and shares no code with the library. A test compares
 * its answers with those of the table, or changes fields and seals the file again.
 */
#ifndef INKLING_TESTS_DOCUMENT_H
#define INKLING_TESTS_DOCUMENT_H

#include <inkling/inkling.h>

#include "tests/image.h"
#include "tests/test.h"

/* ------------------------------------------------------------------ the file */

/* All images of a test; its teardown frees them. */
static struct image images[160];
static size_t n_images;

static inline struct image *image_new(size_t size)
{
	assert_true(n_images < sizeof images / sizeof images[0]);
	image_resize(&images[n_images], size);
	return &images[n_images++];
}

static inline int free_images(void **state)
{
	for (; n_images > 0; images[n_images] = (struct image){0})
		free(images[--n_images].bytes);
	return 0;
}

static inline struct image *image_like(const struct image *of)
{
	struct image *i = image_new(of->size);

	memcpy(i->bytes, of->bytes, of->size);
	return i;
}

static inline struct image *image_at(const char *path)
{
	struct image *i = image_new(0);

	assert_true(image_read(i, path));
	return i;
}

/* ----------------------------------------- what stands where: docs/format.md */

enum {
	AT_STATES = 20,
	AT_AGE_BITS = 24,
	AT_WRITERS = 28,
	AT_FULL = 32,
	AT_FLAGS = 36,
	AT_STATE_BITS = 40,
	AT_D = 44,
	AT_B = 48,
	AT_H = 52,
	AT_F = 56,
	AT_Q = 60,
	AT_SIDE = 64,
	AT_DLEFT_FLAGS = 68,
	AT_FLOWS = 72,
	AT_ERROR = 80,
	AT_LOAD = 88,
	AT_SECRET = 96,
	AT_NOW = 112,
	AT_COUNTERS = 120,
	AT_CELLS_LENGTH = 176,
	AT_CLOCK_HAND = 208,
	AT_K = 212,
	AT_M = 216,
	AT_COUNTER_BITS = 220,
	AT_THRESHOLD = 224,
	AT_BLOOM_FLAGS = 228,
	AT_UNSURE = 232,
	AT_SIDE_ID = 240,
	AT_EPOCH = 244,
	AT_RESERVED = 500
};

/* ------------------------------------------------- a reader by docs/format.md alone */

__extension__ typedef unsigned __int128 uint128;

/* n bits of the body from bit `at` on, counted from byte `base` of the file. */
static inline uint64_t bits(const struct image *i, size_t base, uint64_t at, unsigned n)
{
	uint64_t value = 0;

	for (unsigned k = 0; k < n; k++)
		value |= (uint64_t)(i->bytes[base + (at + k) / 8] >> (at + k) % 8 & 1) << k;
	return value;
}

static inline ink_answer answer_of(const struct image *i, uint64_t code)
{
	uint32_t state = (uint32_t)code >> image_get32(i, AT_AGE_BITS),
		 unsure = (1u << image_get32(i, AT_STATE_BITS)) - 1;

	return state == unsure ? INK_DONT_KNOW : (ink_answer)state;
}

static inline size_t side_base(const struct image *i)
{
	return AT_BODY + (size_t)image_get64(i, AT_CELLS_LENGTH);
}

static inline size_t side_entry(const struct image *i, uint32_t number)
{
	return side_base(i) + 16 + (image_get32(i, AT_SIDE) * (size_t)4 + 15) / 16 * 16 + number * (size_t)16;
}

static inline size_t side_chain(const struct image *i, uint32_t home)
{
	uint64_t chain = ((uint64_t)(home * 0x9e3779b1u) * image_get32(i, AT_SIDE)) >> 32;

	return side_base(i) + 16 + chain * 4;
}

/* The least number of bits that tell so many apart. */
static inline uint32_t bits_for(uint32_t many)
{
	uint32_t bits = 0;

	while (bits < 32 && 1ull << bits < many)
		bits++;
	return bits;
}

static inline uint32_t side_id_bits(const struct image *i)
{
	uint32_t taken =
		bits_for(image_get32(i, AT_B)) + image_get32(i, AT_STATE_BITS) + image_get32(i, AT_AGE_BITS);

	if (image_get32(i, AT_SIDE_ID))
		return image_get32(i, AT_SIDE_ID);
	return taken < 15 ? 48 : 63 - taken;
}

static inline size_t side_word_size(const struct image *i)
{
	return bits_for(image_get32(i, AT_B)) + image_get32(i, AT_STATE_BITS) + image_get32(i, AT_AGE_BITS) +
				       side_id_bits(i) >
			       32
		       ? 8
		       : 4;
}

/* Words from that of the home on, as far as they are used. */
static inline ink_answer read_words(const struct image *i, uint32_t home, uint64_t id)
{
	uint32_t code_bits = image_get32(i, AT_STATE_BITS) + image_get32(i, AT_AGE_BITS),
		 id_bits = side_id_bits(i);
	uint64_t side = image_get32(i, AT_SIDE), words = side + side / 4 + 1, w = side_word_size(i);
	uint64_t key = (uint64_t)home << id_bits | (id & ((1ull << id_bits) - 1));
	uint64_t n = (uint64_t)(home * 0x9e3779b1u) * words >> 32, word;

	while ((word = image_get(i, side_base(i) + 16 + n * w, (unsigned)w))) {
		if ((word - 1) >> code_bits == key)
			return answer_of(i, (word - 1) & ((1u << code_bits) - 1));
		n = (n + 1) % words;
	}
	return INK_ABSENT;
}

static inline size_t line_base(uint32_t line)
{
	return AT_BODY + line * (size_t)64;
}

/* Which flows of a line are in the side table, as its flags say it: a flag for each id mod 4, or a number. */
struct side_flags {
	unsigned fours, name;
};

static inline struct side_flags side_flags(const struct image *i, uint32_t home)
{
	uint64_t side = image_get32(i, AT_SIDE), words = side + side / 4 + 1, w = side_word_size(i);
	uint32_t code_bits = image_get32(i, AT_STATE_BITS) + image_get32(i, AT_AGE_BITS),
		 id_bits = side_id_bits(i);
	struct side_flags f = {0, 0};

	for (uint64_t k = 0; k < words; k++) {
		uint64_t word = image_get(i, side_base(i) + 16 + k * w, (unsigned)w);
		unsigned class = (word - 1) >> code_bits & 15, name = 1 + class % 14;

		if (!word || (word - 1) >> code_bits >> id_bits != home)
			continue;
		f.fours |= 1u << class % 4;
		f.name = !f.name || f.name == name ? name : 15;
	}
	return f;
}

static inline void assert_line_flags(const struct image *i, uint32_t home)
{
	struct side_flags f = side_flags(i, home);

	for (unsigned k = 0; k < 4; k++)
		assert_int_equal(bits(i, line_base(home), k * 64 + 63, 1), f.fours >> k & 1);
}

static inline void assert_compact_flags(const struct image *i, uint32_t home)
{
	assert_int_equal(bits(i, line_base(home), 507, 4), side_flags(i, home).name);
}

static inline ink_answer read_chain(const struct image *i, uint32_t home, uint64_t id)
{
	uint32_t link = image_get32(i, side_chain(i, home));

	for (; link; link = image_get32(i, side_entry(i, link - 1) + 8))
		if (image_get64(i, side_entry(i, link - 1)) == id)
			return answer_of(i, image_get(i, side_entry(i, link - 1) + 12, 2));
	return INK_ABSENT;
}

/* Side tables of words have flags in the lines; one of chains has none. */
static inline ink_answer read_side(const struct image *i, uint32_t home, uint64_t id)
{
	static void (*const assert_flags[])(const struct image *, uint32_t) = {
		[INK_LINE] = assert_line_flags, [INK_COMPACT] = assert_compact_flags, [INK_DLEFT] = NULL};

	if (!image_get32(i, AT_SIDE))
		return INK_ABSENT;
	if (!assert_flags[image_get32(i, AT_KIND)])
		return read_chain(i, home, id);
	assert_flags[image_get32(i, AT_KIND)](i, home);
	return read_words(i, home, id);
}

/* The other line, from either; `mixed` comes of what is stored. */
static inline uint32_t other_line(const struct image *i, uint32_t line, uint32_t mixed)
{
	uint32_t lines = image_get32(i, AT_B);
	uint64_t sum = ((uint64_t)mixed * lines) >> 32;

	return (uint32_t)((sum + lines - line) % lines);
}

static inline uint32_t line_mixed(uint64_t fingerprint)
{
	return (uint32_t)fingerprint * 0x9e3779b1u;
}

static inline uint32_t compact_mixed(uint64_t stored)
{
	return (uint32_t)((stored * 0x9e3779b97f4a7c15ull) >> 32);
}

/* Of an entry's bits, those in its own column; the rest stands in the fourth one. */
static inline unsigned line_low_bits(const struct image *i)
{
	return image_get32(i, AT_H) == 16 ? 31 : image_get32(i, AT_H) == 24 ? 16 : 15;
}

static inline uint64_t line_entry(const struct image *i, uint32_t line, unsigned slot)
{
	unsigned lanes = image_get32(i, AT_H) / 8, lane = slot % lanes, word = slot / lanes * 64;
	uint64_t low = bits(i, line_base(line), word + lane * (lanes == 2 ? 32 : 16), line_low_bits(i));

	return lanes == 3 ? low | bits(i, line_base(line), word + 48 + lane * 5, 5) << 16 : low;
}

static inline uint64_t line_fingerprint(const struct image *i, uint64_t id)
{
	unsigned f = image_get32(i, AT_F), tag = f < line_low_bits(i) ? f : line_low_bits(i);
	uint64_t product = (id & 0xffffffff) * ((1ull << tag) - 1);

	return 1 + (product >> 32) + (((product & 0xffffffff) >> (32 - (f - tag))) << tag);
}

static inline uint32_t line_first(const struct image *i, uint64_t id)
{
	return (uint32_t)(((id >> 32) * image_get32(i, AT_B)) >> 32);
}

static inline ink_answer read_line(const struct image *i, uint32_t line, uint64_t fingerprint)
{
	unsigned f = image_get32(i, AT_F);

	for (unsigned slot = 0; slot < image_get32(i, AT_H); slot++) {
		uint64_t entry = line_entry(i, line, slot);

		if ((entry & ((1ull << f) - 1)) == fingerprint)
			return answer_of(i, entry >> f);
	}
	return INK_ABSENT;
}

/* The looks that the flow will outlive, by its age in the file; -1: it is not in these lines. */
static inline int read_age(const struct image *i, uint64_t id)
{
	uint64_t fingerprint = line_fingerprint(i, id), f = image_get32(i, AT_F), entry;
	uint32_t ages = 1u << image_get32(i, AT_AGE_BITS), first = line_first(i, id),
		 h = image_get32(i, AT_H);
	uint32_t second = other_line(i, first, line_mixed(fingerprint));

	for (unsigned slot = 0; slot < 2 * h; slot++) {
		entry = line_entry(i, slot < h ? first : second, slot % h);
		if ((entry & ((1ull << f) - 1)) == fingerprint)
			return (int)((entry >> f) + ages - i->bytes[AT_EPOCH + (entry >> f) / ages]) &
			       (int)(ages - 1);
	}
	return -1;
}

static inline ink_answer read_as_line(const struct image *i, uint64_t id)
{
	uint64_t fingerprint = line_fingerprint(i, id);
	uint32_t first = line_first(i, id), second = other_line(i, first, line_mixed(fingerprint));
	ink_answer side = read_side(i, first, id), here = read_line(i, first, fingerprint);
	ink_answer there = read_line(i, second, fingerprint);
	const unsigned overflow = 4 * 64 + 63;

	if (side != INK_ABSENT || here != INK_ABSENT || there != INK_ABSENT)
		return side != INK_ABSENT ? side : here != INK_ABSENT ? here : there;
	return bits(i, line_base(first), overflow, 1) && bits(i, line_base(second), overflow, 1)
		       ? INK_DONT_KNOW
		       : INK_ABSENT;
}

/* Plane j holds bit j of every code. */
static inline ink_answer read_planes(const struct image *i, uint32_t line, unsigned slot)
{
	unsigned h = image_get32(i, AT_H), r = image_get32(i, AT_F);
	unsigned planes = image_get32(i, AT_STATE_BITS) + image_get32(i, AT_AGE_BITS);
	uint64_t code = 0;

	for (unsigned j = 0; j < planes; j++)
		code |= bits(i, line_base(line), h * r + j * h + slot, 1) << j;
	return answer_of(i, code);
}

/* A 1 for each entry, a 0 for the end of each bucket. */
static inline ink_answer read_compact_line(const struct image *i, uint32_t line, uint32_t bucket,
					   uint32_t remainder)
{
	unsigned h = image_get32(i, AT_H), r = image_get32(i, AT_F), q = image_get32(i, AT_Q), slot = 0;
	uint32_t at_bucket = 0;

	for (unsigned at = 507 - (h + q); at_bucket < q; at++) {
		if (!bits(i, line_base(line), at, 1)) {
			at_bucket++;
			continue;
		}
		if (at_bucket == bucket && bits(i, line_base(line), slot * r, r) == remainder)
			return read_planes(i, line, slot);
		slot++;
	}
	return INK_ABSENT;
}

static inline ink_answer read_as_compact(const struct image *i, uint64_t id)
{
	unsigned r = image_get32(i, AT_F);
	uint128 digits = (uint128)id * image_get32(i, AT_B),
		rest = (uint128)(uint64_t)digits * image_get32(i, AT_Q);
	uint32_t first = (uint32_t)(digits >> 64), bucket = (uint32_t)(rest >> 64);
	uint32_t remainder = (uint32_t)((uint64_t)rest >> (64 - r));
	uint32_t second = other_line(i, first, compact_mixed((uint64_t)bucket << r | remainder));
	ink_answer side = read_side(i, first, id), here = read_compact_line(i, first, bucket, remainder);
	ink_answer there = read_compact_line(i, second, bucket, remainder);

	if (side != INK_ABSENT || here != INK_ABSENT || there != INK_ABSENT)
		return side != INK_ABSENT ? side : here != INK_ABSENT ? here : there;
	return bits(i, line_base(first), 511, 1) && bits(i, line_base(second), 511, 1) ? INK_DONT_KNOW
										       : INK_ABSENT;
}

static inline uint64_t dleft_draw(uint64_t id, uint32_t n, uint64_t end)
{
	uint64_t x = id + n / 2 * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x = x ^ x >> 31;
	return ((n % 2 ? x >> 32 : x & 0xffffffff) * end) >> 32;
}

static inline ink_answer read_as_dleft(const struct image *i, uint64_t id)
{
	uint32_t d = image_get32(i, AT_D), b = image_get32(i, AT_B), h = image_get32(i, AT_H),
		 f = image_get32(i, AT_F);
	uint32_t code = image_get32(i, AT_STATE_BITS) + image_get32(i, AT_AGE_BITS), matches = 0,
		 overflows = 0;
	uint64_t fingerprint = 1 + dleft_draw(id, 0, (1ull << f) - 1);
	size_t flags = AT_BODY + ((uint64_t)d * b * h * (f + code) + 63) / 64 * 8 + 8;
	ink_answer side = read_side(i, (uint32_t)(id >> 32), id), found = INK_ABSENT;

	for (uint32_t s = 0; s < d; s++) {
		uint64_t bucket = (uint64_t)s * b + dleft_draw(id, s + 1, b);

		overflows += image_get32(i, AT_FULL) != INK_REFUSE && bits(i, flags, bucket, 1);
		for (uint64_t cell = bucket * h; cell < (bucket + 1) * h; cell++) {
			if (bits(i, AT_BODY, cell * (f + code), f) != fingerprint)
				continue;
			found = answer_of(i, bits(i, AT_BODY, cell * (f + code) + f, code));
			matches++;
		}
	}
	if (side != INK_ABSENT)
		return side;
	return matches > 1 || (!matches && overflows == d) ? INK_DONT_KNOW : found;
}

static inline ink_answer read_as_exact(const struct image *i, uint64_t id)
{
	uint64_t slots = image_get32(i, AT_B), slot = ((id >> 32) * slots) >> 32;

	for (;; slot = (slot + 1) % slots) {
		uint64_t stamp = image_get64(i, AT_BODY + slot * 16 + 8);

		if (!stamp || image_get64(i, AT_BODY + slot * 16) == id)
			return stamp ? (ink_answer)((stamp & 0xff) - 1) : INK_ABSENT;
	}
}

static inline uint32_t bloom_cell_bits(const struct image *i)
{
	uint32_t counter = image_get32(i, AT_COUNTER_BITS);

	return image_get32(i, AT_AGE_BITS) + image_get32(i, AT_STATE_BITS) +
	       (image_get32(i, AT_KIND) == 6 && counter == 0 ? 1 : counter);
}

/* The j-th cell by draws that begin with n. */
static inline uint64_t bloom_cell(const struct image *i, uint64_t id, uint32_t n, uint32_t j)
{
	uint32_t w = bloom_cell_bits(i), k = image_get32(i, AT_K), cells = image_get32(i, AT_M),
		 in_line = 512 / w;
	uint64_t base = 0, larger, share;

	if (image_get32(i, AT_BLOOM_FLAGS) & 1) {
		base = dleft_draw(id, 0, cells / in_line) * 512;
		cells = in_line;
		n = 2;
	}
	larger = cells % k;
	share = cells / k;
	base += (j * share + (j < larger ? j : larger) + dleft_draw(id, n + j, share + (j < larger))) * w;
	return bits(i, AT_BODY, base, w);
}

static inline ink_answer read_as_stateful(const struct image *i, uint64_t id)
{
	uint32_t s = image_get32(i, AT_STATE_BITS), a = image_get32(i, AT_AGE_BITS), know = 0;
	uint64_t top = (1ull << s) - 1, state = top;

	for (uint32_t j = 0; j < image_get32(i, AT_K); j++) {
		uint64_t cell = bloom_cell(i, id, 0, j), value = cell >> a & top;

		if (cell == 0 || (value != top && know && value != state))
			return INK_ABSENT;
		know += value != top;
		state = value != top ? value : state;
	}
	if (know < image_get32(i, AT_THRESHOLD))
		return INK_DONT_KNOW;
	return (ink_answer)(image_get32(i, AT_COUNTER_BITS) ? state : state - 1);
}

static inline ink_answer read_as_direct(const struct image *i, uint64_t id)
{
	ink_answer found = INK_ABSENT;

	for (uint32_t state = 0; state < image_get32(i, AT_STATES); state++) {
		uint32_t cells = 0;

		for (uint32_t j = 0; j < image_get32(i, AT_K); j++)
			cells += bloom_cell(i, id, 32 * state, j) != 0;
		if (cells == image_get32(i, AT_K))
			found = found == INK_ABSENT ? (ink_answer)state : INK_DONT_KNOW;
	}
	return found;
}

static inline ink_answer read_by_the_document(const struct image *i, uint64_t id)
{
	switch (image_get32(i, AT_KIND)) {
	case 1:
		return read_as_line(i, id);
	case 2:
		return read_as_compact(i, id);
	case 3:
		return read_as_dleft(i, id);
	case 5:
		return read_as_stateful(i, id);
	case 6:
		return read_as_direct(i, id);
	default:
		return read_as_exact(i, id);
	}
}

#endif
