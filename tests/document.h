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

/* clang-format off */
enum {
	AT_STATES = 20, AT_AGE_BITS = 24, AT_WRITERS = 28, AT_FULL = 32, AT_FLAGS = 36, AT_STATE_BITS = 40,
	AT_D = 44, AT_B = 48, AT_H = 52, AT_F = 56, AT_Q = 60, AT_SIDE = 64, AT_DLEFT_FLAGS = 68, AT_FLOWS = 72,
	AT_ERROR = 80, AT_LOAD = 88, AT_SECRET = 96, AT_NOW = 112, AT_COUNTERS = 120, AT_CELLS_LENGTH = 176,
	AT_CLOCK_HAND = 208, AT_K = 212, AT_M = 216, AT_COUNTER_BITS = 220, AT_THRESHOLD = 224, AT_BLOOM_FLAGS = 228,
	AT_UNSURE = 232, AT_SIDE_ID = 240, AT_EPOCH = 244, AT_PART = 500, AT_RESERVED = 500
};
/* clang-format on */

/* ------------------------------------------------- a reader by docs/format.md alone */

/* A number of the header of image `i`. */
#define FIELD(field) image_get32(i, AT_##field)

__extension__ typedef unsigned __int128 uint128;

/* n bits of the body from bit `at` on, counted from byte `base` of the file. */
static inline uint64_t bits(const struct image *i, size_t base, uint64_t at, unsigned n)
{
	uint64_t value = 0;

	for (unsigned k = 0; k < n; k++)
		value |= (uint64_t)(i->bytes[base + (at + k) / 8] >> (at + k) % 8 & 1) << k;
	return value;
}

static inline uint32_t code_bits(const struct image *i)
{
	return FIELD(STATE_BITS) + FIELD(AGE_BITS);
}

static inline ink_answer answer_of(const struct image *i, uint64_t code)
{
	uint32_t state = (uint32_t)code >> FIELD(AGE_BITS), unsure = (1u << FIELD(STATE_BITS)) - 1;

	return state == unsure ? INK_DONT_KNOW : (ink_answer)state;
}

static inline size_t side_base(const struct image *i)
{
	return AT_BODY + (size_t)image_get64(i, AT_CELLS_LENGTH);
}

static inline size_t side_entry(const struct image *i, uint32_t number)
{
	return side_base(i) + 16 + (FIELD(SIDE) * (size_t)4 + 15) / 16 * 16 + number * (size_t)16;
}

static inline size_t side_chain(const struct image *i, uint32_t home)
{
	uint64_t chain = ((uint64_t)(home * 0x9e3779b1u) * FIELD(SIDE)) >> 32;

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

/* A side table of words: each holds the home line, some bits of the id, and a code. */
struct side_words {
	uint64_t n;
	uint32_t bytes, id_bits, code_bits;
};

static inline struct side_words side_words(const struct image *i)
{
	uint32_t taken = bits_for(FIELD(B)) + code_bits(i), id = FIELD(SIDE_ID);

	id = id ? id : taken < 15 ? 48 : 63 - taken;
	return (struct side_words){FIELD(SIDE) + FIELD(SIDE) / 4 + 1, taken + id > 32 ? 8 : 4, id,
				   code_bits(i)};
}

static inline uint64_t side_word(const struct image *i, const struct side_words *s, uint64_t number)
{
	return image_get(i, side_base(i) + 16 + number * s->bytes, s->bytes);
}

/* Words from that of the home on, as far as they are used. */
static inline ink_answer read_words(const struct image *i, uint32_t home, uint64_t id)
{
	struct side_words s = side_words(i);
	uint64_t key = (uint64_t)home << s.id_bits | (id & ((1ull << s.id_bits) - 1));
	uint64_t n = (uint64_t)(home * 0x9e3779b1u) * s.n >> 32, word;

	for (; (word = side_word(i, &s, n)); n = (n + 1) % s.n)
		if ((word - 1) >> s.code_bits == key)
			return answer_of(i, (word - 1) & ((1u << s.code_bits) - 1));
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
	struct side_words s = side_words(i);
	struct side_flags f = {0, 0};

	for (uint64_t k = 0; k < s.n; k++) {
		uint64_t word = side_word(i, &s, k);
		unsigned class = (word - 1) >> s.code_bits & 15, name = 1 + class % 14;

		if (!word || (word - 1) >> s.code_bits >> s.id_bits != home)
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

	if (!FIELD(SIDE))
		return INK_ABSENT;
	if (!assert_flags[FIELD(KIND)])
		return read_chain(i, home, id);
	assert_flags[FIELD(KIND)](i, home);
	return read_words(i, home, id);
}

/* The other of so many lines or parts, from either; `mixed` comes of what is stored. */
static inline uint32_t other_of(uint64_t lines, uint32_t line, uint32_t mixed)
{
	uint64_t sum = (mixed * lines) >> 32;

	return (uint32_t)((sum + lines - line) % lines);
}

static inline uint32_t other_line(const struct image *i, uint32_t line, uint32_t mixed)
{
	return other_of(FIELD(B), line, mixed);
}

/* `line`: the parts of a line, and the other part of an entry. */
static inline uint32_t parts_of_line(const struct image *i)
{
	uint32_t part = FIELD(PART);

	return part ? 64 / part : 1;
}

static inline uint32_t other_part(const struct image *i, uint32_t part, uint32_t mixed)
{
	return other_of((uint64_t)FIELD(B) * parts_of_line(i), part, mixed);
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
	return FIELD(H) == 16 ? 31 : FIELD(H) == 24 ? 16 : 15;
}

static inline uint64_t line_entry(const struct image *i, uint32_t part, unsigned slot)
{
	unsigned parts = parts_of_line(i), lanes = FIELD(H) / 8, lane = slot % lanes;
	unsigned word = (part % parts * (8 / parts) + slot / lanes) * 64;
	uint32_t line = part / parts;
	uint64_t low = bits(i, line_base(line), word + lane * (lanes == 2 ? 32 : 16), line_low_bits(i));

	return lanes == 3 ? low | bits(i, line_base(line), word + 48 + lane * 5, 5) << 16 : low;
}

static inline uint64_t line_fingerprint(const struct image *i, uint64_t id)
{
	unsigned f = FIELD(F), tag = f < line_low_bits(i) ? f : line_low_bits(i);
	uint64_t product = (id & 0xffffffff) * ((1ull << tag) - 1);

	return 1 + (product >> 32) + (((product & 0xffffffff) >> (32 - (f - tag))) << tag);
}

static inline uint32_t line_first(const struct image *i, uint64_t id)
{
	return (uint32_t)(((id >> 32) * FIELD(B) * parts_of_line(i)) >> 32);
}

static inline ink_answer read_line(const struct image *i, uint32_t part, uint64_t fingerprint)
{
	unsigned f = FIELD(F);

	for (unsigned slot = 0; slot < FIELD(H) / parts_of_line(i); slot++) {
		uint64_t entry = line_entry(i, part, slot);

		if ((entry & ((1ull << f) - 1)) == fingerprint)
			return answer_of(i, entry >> f);
	}
	return INK_ABSENT;
}

/* The looks that the flow will outlive, by its age in the file; -1: it is not in these lines. */
static inline int read_age(const struct image *i, uint64_t id)
{
	uint64_t fingerprint = line_fingerprint(i, id), f = FIELD(F), entry;
	uint32_t ages = 1u << FIELD(AGE_BITS), first = line_first(i, id), h = FIELD(H) / parts_of_line(i);
	uint32_t second = other_part(i, first, line_mixed(fingerprint));

	for (unsigned slot = 0; slot < 2 * h; slot++) {
		entry = line_entry(i, slot < h ? first : second, slot % h);
		if ((entry & ((1ull << f) - 1)) == fingerprint)
			return (int)((entry >> f) + ages - i->bytes[AT_EPOCH + (entry >> f) / ages]) &
			       (int)(ages - 1);
	}
	return -1;
}

/* The first of the three that is an answer; where there is none, overflow bits of both lines are doubt. */
static inline ink_answer first_answer(const ink_answer answers[3], uint64_t overflows)
{
	for (unsigned k = 0; k < 3; k++)
		if (answers[k] != INK_ABSENT)
			return answers[k];
	return overflows ? INK_DONT_KNOW : INK_ABSENT;
}

static inline uint64_t part_overflowed(const struct image *i, uint32_t part)
{
	uint32_t parts = parts_of_line(i);

	return bits(i, line_base(part / parts), (4 + part % parts % 4) * 64 + 63, 1);
}

static inline ink_answer read_as_line(const struct image *i, uint64_t id)
{
	uint64_t fingerprint = line_fingerprint(i, id);
	uint32_t first = line_first(i, id), second = other_part(i, first, line_mixed(fingerprint));
	const ink_answer answers[] = {read_side(i, first / parts_of_line(i), id),
				      read_line(i, first, fingerprint), read_line(i, second, fingerprint)};

	return first_answer(answers, part_overflowed(i, first) & part_overflowed(i, second));
}

/* Remainder, and the code above it: whole bytes in columns, the bits above in fields. */
static inline uint64_t read_entry(const struct image *i, uint32_t line, unsigned slot)
{
	unsigned h = FIELD(H), n = FIELD(F) + code_bits(i);
	uint64_t entry = 0;

	for (unsigned k = 0; k < n / 8; k++)
		entry |= bits(i, line_base(line), 8 * (k * h + slot), 8) << 8 * k;
	if (n % 8)
		entry |= bits(i, line_base(line), n / 8 * 8 * h + n % 8 * slot, n % 8) << n / 8 * 8;
	return entry;
}

/* A 1 for each entry, a 0 for the end of each bucket. */
static inline ink_answer read_compact_line(const struct image *i, uint32_t line, uint32_t bucket,
					   uint32_t remainder)
{
	unsigned h = FIELD(H), r = FIELD(F), q = FIELD(Q), slot = 0;
	uint32_t at_bucket = 0;

	for (unsigned at = 507 - (h + q); at_bucket < q; at++) {
		if (!bits(i, line_base(line), at, 1)) {
			at_bucket++;
			continue;
		}
		if (at_bucket == bucket && (read_entry(i, line, slot) & ((1ull << r) - 1)) == remainder)
			return answer_of(i, read_entry(i, line, slot) >> r);
		slot++;
	}
	return INK_ABSENT;
}

static inline ink_answer read_as_compact(const struct image *i, uint64_t id)
{
	unsigned r = FIELD(F);
	uint128 digits = (uint128)id * FIELD(B), rest = (uint128)(uint64_t)digits * FIELD(Q);
	uint32_t first = (uint32_t)(digits >> 64), bucket = (uint32_t)(rest >> 64);
	uint32_t remainder = (uint32_t)((uint64_t)rest >> (64 - r));
	uint32_t second = other_line(i, first, compact_mixed((uint64_t)bucket << r | remainder));
	const ink_answer answers[] = {read_side(i, first, id), read_compact_line(i, first, bucket, remainder),
				      read_compact_line(i, second, bucket, remainder)};

	return first_answer(answers, bits(i, line_base(first), 511, 1) & bits(i, line_base(second), 511, 1));
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
	uint32_t d = FIELD(D), b = FIELD(B), h = FIELD(H), f = FIELD(F);
	uint32_t code = code_bits(i), matches = 0, overflows = 0;
	uint64_t fingerprint = 1 + dleft_draw(id, 0, (1ull << f) - 1);
	size_t flags = AT_BODY + ((uint64_t)d * b * h * (f + code) + 63) / 64 * 8 + 8;
	ink_answer side = read_side(i, (uint32_t)(id >> 32), id), found = INK_ABSENT;

	for (uint32_t s = 0; s < d; s++) {
		uint64_t bucket = (uint64_t)s * b + dleft_draw(id, s + 1, b);

		overflows += FIELD(FULL) != INK_REFUSE && bits(i, flags, bucket, 1);
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
	uint64_t slots = FIELD(B), slot = ((id >> 32) * slots) >> 32;

	for (;; slot = (slot + 1) % slots) {
		uint64_t stamp = image_get64(i, AT_BODY + slot * 16 + 8);

		if (!stamp || image_get64(i, AT_BODY + slot * 16) == id)
			return stamp ? (ink_answer)((stamp & 0xff) - 1) : INK_ABSENT;
	}
}

static inline uint32_t bloom_cell_bits(const struct image *i)
{
	uint32_t counter = FIELD(COUNTER_BITS);

	return FIELD(AGE_BITS) + FIELD(STATE_BITS) + (FIELD(KIND) == 6 && counter == 0 ? 1 : counter);
}

/* The j-th cell by draws that begin with n. */
static inline uint64_t bloom_cell(const struct image *i, uint64_t id, uint32_t n, uint32_t j)
{
	uint32_t w = bloom_cell_bits(i), k = FIELD(K), cells = FIELD(M), in_line = 512 / w;
	uint64_t base = 0, larger, share;

	if (FIELD(BLOOM_FLAGS) & 1) {
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
	uint32_t s = FIELD(STATE_BITS), a = FIELD(AGE_BITS), know = 0;
	uint64_t top = (1ull << s) - 1, state = top;

	for (uint32_t j = 0; j < FIELD(K); j++) {
		uint64_t cell = bloom_cell(i, id, 0, j), value = cell >> a & top;

		if (cell == 0 || (value != top && know && value != state))
			return INK_ABSENT;
		know += value != top;
		state = value != top ? value : state;
	}
	if (know < FIELD(THRESHOLD))
		return INK_DONT_KNOW;
	return (ink_answer)(FIELD(COUNTER_BITS) ? state : state - 1);
}

static inline ink_answer read_as_direct(const struct image *i, uint64_t id)
{
	ink_answer found = INK_ABSENT;

	for (uint32_t state = 0; state < FIELD(STATES); state++) {
		uint32_t cells = 0;

		for (uint32_t j = 0; j < FIELD(K); j++)
			cells += bloom_cell(i, id, 32 * state, j) != 0;
		if (cells == FIELD(K))
			found = found == INK_ABSENT ? (ink_answer)state : INK_DONT_KNOW;
	}
	return found;
}

static inline ink_answer read_by_the_document(const struct image *i, uint64_t id)
{
	static ink_answer (*const readers[])(const struct image *, uint64_t) = {
		[1] = read_as_line,  [2] = read_as_compact,  [3] = read_as_dleft,
		[4] = read_as_exact, [5] = read_as_stateful, [6] = read_as_direct};

	return readers[FIELD(KIND)](i, id);
}

#endif
