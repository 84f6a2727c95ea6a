/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines, bit by bit. What line.h and compact.h do with words at once is held
 * against code that does one bit after the other, for every layout; and what
 * each instruction set makes of it, against the same.
 */

#include "base/cpu.h"
#include "tests/random.h"
#include "tests/simd_probe.h"
#include "kinds/compact/compact.h"
#include "engine/variant.h"
#include "tests/test.h"

static const struct simd_probe *probes[2] = {&simd_probe_portable};
static unsigned probe_count = 1;

static void use_all_probes(void)
{
#ifdef INK_HAVE_AVX2
	if (ink_cpu_has(INK_SIMD_AVX2))
		probes[probe_count++] = &simd_probe_avx2;
#endif
}

static int bit_of(const uint64_t *words, unsigned at)
{
	return words[at / 64] >> at % 64 & 1;
}

static void set_bit(uint64_t *words, unsigned at, uint64_t bit)
{
	words[at / 64] = (words[at / 64] & ~(1ull << at % 64)) | (bit & 1) << at % 64;
}

static void random_words(uint64_t *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		words[i] = random_word();
}

/* ------------------------------------------------------------------ line: layout */

/* Where a bit of an entry stands, as line.h draws it. */
static unsigned place_of_bit(uint32_t lanes, uint32_t lane, unsigned bit)
{
	if (lanes == 2)
		return lane * 32 + bit;
	if (lanes == 4 || bit < 16)
		return lane * 16 + bit;
	return 48 + lane * 5 + bit - 16;
}

static void put_entry(uint64_t *word, uint32_t lanes, uint32_t lane, uint32_t entry)
{
	for (unsigned bit = 0; bit < ink_line_entry_bits(lanes); bit++)
		set_bit(word, place_of_bit(lanes, lane, bit), entry >> bit & 1);
}

static uint32_t random_entry(const struct ink_line_shape *s)
{
	return (uint32_t)(random_word() & ((1u << ink_line_entry_bits(s->lanes)) - 1));
}

static const uint32_t line_numbers[] = {
	1, 2, 3, 4, 5, 7, 16, 255, 256, 43403, 65536, 1000003, (1u << 28) - 1, 1u << 28};

enum { LINE_NUMBERS = sizeof line_numbers / sizeof line_numbers[0] };

struct line_test {
	void (*test)(const struct ink_line_shape *s, uint64_t i);
	uint64_t times;
};

/* Every layout, so many times, with another number of lines each time. */
static void for_all_line_shapes(void **state)
{
	const struct line_test *t = *state;

	for (uint32_t lanes = 2; lanes <= 4; lanes++)
		for (uint32_t code = 1; code <= 10; code++)
			for (uint64_t i = 0; i < t->times; i++) {
				struct ink_line_shape s =
					ink_line_shape(lanes, code, line_numbers[i % LINE_NUMBERS]);

				t->test(&s, i);
			}
}

static void entries_are_read_and_changed_where_they_stand(const struct ink_line_shape *s, uint64_t i)
{
	uint32_t lane = random_below(s->lanes), column = lane * s->column_bits;
	uint32_t was = random_entry(s), becomes = i % 4 ? random_entry(s) : 0;
	uint64_t word = random_word(), spread_out = 0, changed;

	put_entry(&word, s->lanes, lane, was);
	put_entry(&spread_out, s->lanes, lane, was);
	changed = word;
	put_entry(&changed, s->lanes, lane, becomes);
	assert_int_equal(ink_line_entry(s, word, column), was);
	assert_int_equal(ink_line_spread(s, column, was), spread_out);
	assert_int_equal(ink_line_change(s, word, column, was, becomes), changed);
	put_entry(&changed, s->lanes, lane, 0);
	assert_int_equal(word & ~ink_line_lane(s, column), changed);
}

static void an_entry_is_shifted_from_lane_to_lane(const struct ink_line_shape *s, uint64_t i)
{
	uint32_t from = random_below(s->lanes), to = random_below(s->lanes), entry = random_entry(s);
	uint64_t word = random_word(), shifted = 0;

	put_entry(&word, s->lanes, from, entry);
	put_entry(&shifted, s->lanes, to, entry);
	assert_int_equal(ink_line_shifted(s, word, from * s->column_bits, to * s->column_bits), shifted);
}

static void an_entry_is_fingerprint_and_code(const struct ink_line_shape *s, uint64_t i)
{
	assert_int_equal(s->fp_bits + s->code_bits, ink_line_entry_bits(s->lanes));
	for (uint32_t code = 0; code < 1u << s->code_bits; code++) {
		uint32_t fp = random_below(1ull << s->fp_bits), entry = ink_line_make_entry(s, fp, code);

		assert_int_equal(ink_line_entry_fp(s, entry), fp);
		assert_int_equal(ink_line_entry_code(s, entry), code);
		assert_true(entry >> ink_line_entry_bits(s->lanes) == 0);
	}
}

/* ------------------------------------------------------------------- line: match */

/* One bit after the other: the lowest bit of each column whose tag is that of the fingerprint. */
static uint64_t columns_slowly(const struct ink_line_shape *s, uint64_t word, uint32_t fingerprint)
{
	uint64_t found = 0;

	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		int differs = 0;

		for (unsigned bit = 0; bit < s->tag_bits; bit++)
			differs |=
				bit_of(&word, lane * s->column_bits + bit) != (int)(fingerprint >> bit & 1);
		found |= (uint64_t)!differs << lane * s->column_bits;
	}
	return found;
}

/* The word with a tag in one lane, all else being as in `around`. */
static uint64_t with_tag(const struct ink_line_shape *s, uint64_t around, uint32_t lane, uint32_t tag)
{
	uint32_t column = lane * s->column_bits;

	return (around & ~((uint64_t)s->tag_mask << column)) | (uint64_t)tag << column;
}

static void assert_columns(const struct ink_line_shape *s, uint64_t word, uint32_t fingerprint)
{
	uint64_t found = ink_line_columns(s, word, fingerprint),
		 slowly = columns_slowly(s, word, fingerprint);

	if (found != slowly)
		fail_msg("%u lanes, tags of %u: %#x in %#llx gives %#llx and not %#llx", s->lanes,
			 s->tag_bits, fingerprint, (unsigned long long)word, (unsigned long long)found,
			 (unsigned long long)slowly);
}

/* Every tag against every other, with what would make a carry or a borrow on both sides. */
static void every_pair_of_short_tags_is_compared_right_between_any_neighbours(void **state)
{
	static const uint64_t extremes[] = {0,
					    ~0ull,
					    0x5555555555555555,
					    0xaaaaaaaaaaaaaaaa,
					    0x8000800080008000,
					    0x7fff7fff7fff7fff,
					    0x0001000100010001,
					    0xfffefffefffefffe};

	for (uint32_t lanes = 2; lanes <= 4; lanes++)
		for (uint32_t fp_bits = 2; fp_bits <= (test_scale() < 1 ? 5 : 8); fp_bits++) {
			struct ink_line_shape s =
				ink_line_shape(lanes, ink_line_entry_bits(lanes) - fp_bits, 100);

			for (uint32_t pair = 0; pair < 1u << 2 * fp_bits; pair++)
				for (uint32_t lane = 0; lane < lanes; lane++)
					for (unsigned i = 0; i < 8; i++)
						assert_columns(
							&s, with_tag(&s, extremes[i], lane, pair >> fp_bits),
							pair & s.tag_mask);
		}
}

static void every_long_tag_is_compared_right_between_random_neighbours(void **state)
{
	static const uint32_t patterns[] = {1, 0x8000, 0x7fff, 0xffff, 0xfffe, 0x5555, 0, 0x10001};

	for (uint32_t code = 1; code <= 6; code++) {
		struct ink_line_shape s = ink_line_shape(3, code, 100);
		uint32_t step = test_scale() < 1 ? 17 : 1;

		for (uint32_t tag = 0; tag <= s.tag_mask; tag += step)
			for (uint32_t lane = 0; lane < 3; lane++)
				for (unsigned i = 0; i < 8; i++)
					assert_columns(&s, with_tag(&s, random_word(), lane, tag),
						       patterns[i]);
	}
}

/* Words whose columns are close to the pattern: equal but for a bit, or equal but for what is no tag. */
static void words_like_the_pattern_are_compared_right(const struct ink_line_shape *s, uint64_t i)
{
	uint32_t fingerprint = random_below(1ull << s->fp_bits);
	uint64_t word = (fingerprint & s->tag_mask) * s->units;

	word ^= i % 3 == 0 ? 0 : 1ull << random_below(64);
	word ^= i % 3 == 1 ? 0 : random_word() & ~s->tags;
	assert_columns(s, word, fingerprint);
	assert_columns(s, word, 0);
}

/* ------------------------------------------------------------------ line: places */

static void the_other_line_of_the_other_line_is_the_line(void **state)
{
	for (unsigned k = 0; k < LINE_NUMBERS; k++)
		for (uint64_t i = 0; i < scaled(200000); i++) {
			struct ink_line_shape s = ink_line_shape(3, 5, line_numbers[k]);
			uint32_t line = i ? random_below(s.lines) : s.lines - 1;
			uint32_t fingerprint = i < 65536 ? (uint32_t)i : random_below(1u << 31);
			uint32_t other = ink_line_other(&s, line, fingerprint);

			assert_true(other < s.lines);
			assert_int_equal(ink_line_other(&s, other, fingerprint), line);
		}
}

static void a_place_lies_in_the_table_and_its_tag_is_not_zero(const struct ink_line_shape *s, uint64_t i)
{
	static const uint64_t ids[] = {0, ~0ull, 0xffffffff, 0xffffffff00000000, 1, 1ull << 63, 1ull << 31};
	struct ink_line_place p =
		ink_line_place(s, i / LINE_NUMBERS < 7 ? ids[i / LINE_NUMBERS] : random_word());

	assert_true(p.first < s->lines && p.second < s->lines);
	assert_int_equal(p.second, ink_line_other(s, p.first, p.fingerprint));
	assert_true((p.fingerprint & s->tag_mask) != 0);
	assert_true((uint64_t)p.fingerprint >> s->fp_bits == 0);
}

/* All halves of ids at even distances; each fingerprint must come equally often. */
static void all_fingerprints_are_equally_likely(void **state)
{
	static unsigned counts[1 << 17];

	for (uint32_t code = 4; code <= 10; code++) {
		struct ink_line_shape s = ink_line_shape(3, code, 100);
		uint32_t above = s.fp_bits - s.tag_bits, values = s.tag_mask << above, each = 64;

		memset(counts, 0, sizeof counts);
		for (uint64_t i = 0; i < (uint64_t)values * each; i++)
			counts[ink_line_fingerprint(&s, (uint32_t)((i << 32) / ((uint64_t)values * each)))]++;
		for (uint32_t fp = 0; fp < 1u << s.fp_bits; fp++)
			assert_true(fp & s.tag_mask ? counts[fp] >= each - 2 && counts[fp] <= each + 2
						    : counts[fp] == 0);
	}
}

/* --------------------------------------------------------- line: instruction sets */

/* Random, and half of it like the fingerprint. */
static void random_line(const struct ink_line_shape *s, struct ink_line *line, uint32_t fingerprint)
{
	random_words(line->word, INK_LINE_WORDS);
	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t entry = fingerprint | random_entry(s) << s->fp_bits;

			entry &= (1u << ink_line_entry_bits(s->lanes)) - 1;
			if (random_below(4) == 0)
				put_entry(&line->word[i], s->lanes, lane, random_below(2) ? entry : 0);
		}
}

static int find_slowly(const struct ink_line_shape *s, const struct ink_line *line, uint32_t fingerprint)
{
	for (int i = 0; i < INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++)
			if ((ink_line_entry(s, line->word[i], lane * s->column_bits) & s->fp_mask) ==
			    fingerprint)
				return i * 64 + (int)(lane * s->column_bits);
	return -1;
}

/* Slots have four bits a word, in the order in which slots.h has the words. */
static const unsigned word_order[INK_LINE_WORDS] = {0, 1, 4, 5, 2, 3, 6, 7};

static uint32_t slots_slowly(const struct ink_line_shape *s, const struct ink_line *line,
			     uint32_t fingerprint)
{
	uint32_t slots = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++)
			if (columns_slowly(s, line->word[word_order[i]], fingerprint) >>
				    lane * s->column_bits &
			    1)
				slots |= 1u << (4 * i + lane * s->column_bits / 16);
	return slots;
}

static void a_fingerprint_is_found_in_a_line(const struct ink_line_shape *s, uint64_t i)
{
	uint32_t fp = ink_line_fingerprint(s, (uint32_t)random_word());
	struct ink_line line;
	struct ink_line_spot spot;
	int at;

	random_line(s, &line, i % 4 ? fp ^ (i % 4 == 1 ? 1u << (s->fp_bits - 1) : 0) : 0);
	at = find_slowly(s, &line, fp);
	assert_int_equal(ink_line_find(s, &line, fp, &spot), at >= 0);
	if (at < 0)
		return;
	assert_ptr_equal(spot.word, &line.word[at / 64]);
	assert_int_equal(spot.seen, line.word[at / 64]);
	assert_int_equal(spot.column, at % 64);
}

static void all_instruction_sets_find_the_same_slots(const struct ink_line_shape *s, uint64_t i)
{
	uint32_t fp = i % 4 ? ink_line_fingerprint(s, (uint32_t)random_word()) : 0, below, above;
	struct ink_line first, second;

	random_line(s, &first, fp);
	random_line(s, &second, fp);
	below = slots_slowly(s, &first, fp);
	above = slots_slowly(s, &second, fp);
	for (unsigned k = 0; k < probe_count; k++) {
		assert_int_equal(probes[k]->slots(s, &first, fp), below);
		assert_int_equal(probes[k]->pair_slots(s, &first, &second, fp),
				 below | (uint64_t)above << 32);
		if (below || above)
			assert_true(probes[k]->pair_may_have(s, &first, &second, fp));
	}
}

/* Where it is quicker, the rests of entries are taken for tags: it may say yes in vain, but seldom. */
static void most_lines_are_known_not_to_have_a_fingerprint(void **state)
{
	struct ink_line_shape s = ink_line_shape(3, 5, 100);

	for (unsigned k = 0; k < probe_count; k++) {
		unsigned taken = 0;

		for (unsigned i = 0; i < 1000; i++) {
			struct ink_line first, second;

			random_line(&s, &first, 0);
			random_line(&s, &second, 0);
			taken += (unsigned)probes[k]->pair_may_have(&s, &first, &second,
								    1 + random_below(65535));
		}
		assert_in_range(taken, 0, 20);
	}
}

/* From no id to 39. */
static void all_instruction_sets_place_alike(const struct ink_line_shape *s, uint64_t i)
{
	struct line_place places[40];
	uint64_t ids[40] = {0};
	unsigned n = (unsigned)(i / LINE_NUMBERS);

	random_words(ids, n);
	for (unsigned k = 0; k < probe_count; k++) {
		probes[k]->places(s, ids, n, places);
		for (unsigned j = 0; j < n; j++) {
			struct line_place p = line_place(s, ids[j]);

			assert_memory_equal(&places[j], &p, sizeof p);
		}
	}
}

static void all_instruction_sets_find_the_other_lines_of_a_word_alike(const struct ink_line_shape *s,
								      uint64_t i)
{
	uint32_t line = random_below(s->lines);
	uint64_t word = random_word(), others[4];

	for (unsigned k = 0; k < probe_count; k++) {
		probes[k]->others(s, line, word, others);
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);

			assert_int_equal(others[lane], ink_line_other(s, line, ink_line_entry_fp(s, entry)));
		}
	}
}

/* The code of an entry, bit by bit; the ages are its lowest bits. */
static unsigned code_slowly(const struct ink_line_shape *s, const uint64_t *word, uint32_t lane)
{
	unsigned code = 0;

	for (uint32_t bit = 0; bit < s->code_bits; bit++)
		code |= (unsigned)bit_of(word, place_of_bit(s->lanes, lane, s->fp_bits + bit)) << bit;
	return code;
}

static void assert_look(const struct ink_line_shape *s, const struct ink_line_looks *l,
			const struct ink_line *line)
{
	uint32_t over = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			const uint64_t *word = &line->word[word_order[i]];
			unsigned code = code_slowly(s, word, lane), at = lane * s->column_bits;
			int dead = l->alike ? (code & l->ages) == l->last : l->dead[code];

			if (dead && !(columns_slowly(s, *word, 0) >> at & 1))
				over |= 1u << (4 * i + at / 16);
		}
	for (unsigned k = 0; k < probe_count; k++)
		assert_int_equal(probes[k]->look(s, l, line), over);
}

/* One stored age expires, or some codes do, few or many; only the first with more codes than the tables hold. */
static struct ink_line_looks random_looks(const struct ink_line_shape *s)
{
	uint32_t codes = 1u << s->code_bits, few = (uint32_t)random_below(8);
	struct ink_line_looks l = {.codes = codes < INK_LOOKS_CODES ? codes : INK_LOOKS_CODES};

	l.alike = codes > INK_LOOKS_CODES || random_below(4) == 0;
	l.ages = s->code_bits > 1 && random_below(2) ? 3 : 1;
	l.last = (uint32_t)random_below(4) & l.ages;
	for (unsigned i = 0; i < INK_LOOKS_CODES; i++)
		l.dead[i] = random_below(8) < few ? 0xff : 0;
	return l;
}

/* An entry of 20 has another age than the rest, so that there are words in which nothing expires. */
static void fill_for_looks(const struct ink_line_shape *s, const struct ink_line_looks *l,
			   struct ink_line *line)
{
	uint32_t ages = l->ages << s->fp_bits, last = l->last << s->fp_bits;

	for (unsigned j = 0; j < INK_LINE_WORDS; j++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t entry = random_entry(s) | 1;

			if (random_below(20))
				entry = (entry & ~ages) | (~last & ages);
			if (random_below(8))
				put_entry(&line->word[j], s->lanes, lane, entry);
		}
}

static void all_instruction_sets_look_alike(const struct ink_line_shape *s, uint64_t i)
{
	struct ink_line_looks l = random_looks(s);
	struct ink_line line = {{0}};

	assert_look(s, &l, &line);
	fill_for_looks(s, &l, &line);
	assert_look(s, &l, &line);
}

/* ------------------------------------------------------------- compact: bit fields */

static void bit_fields_are_read_and_written_across_words(void **state)
{
	for (unsigned n = 1; n <= 57; n++)
		for (unsigned at = 0; at + n <= 512; at++) {
			uint64_t w[8], expected[8], bits = random_word() & low_bits(n), got = 0;

			random_words(w, 8);
			memcpy(expected, w, sizeof w);
			for (unsigned i = 0; i < n; i++) {
				got |= (uint64_t)bit_of(w, at + i) << i;
				set_bit(expected, at + i, bits >> i & 1);
			}
			assert_int_equal(bits_get(w, at, n), got);
			bits_put(w, at, n, bits);
			assert_memory_equal(w, expected, sizeof w);
		}
}

static void a_bit_is_put_in_and_taken_out(void **state)
{
	for (unsigned at = 0; at < 63; at++)
		for (unsigned i = 0; i < 200; i++) {
			uint64_t bits = random_word(), bit = random_below(2), opened = 0, closed = 0;

			for (unsigned j = 0; j < 64; j++) {
				set_bit(&opened, j, j < at ? bits >> j : j == at ? bit : bits >> (j - 1));
				set_bit(&closed, j, j < at ? bits >> j : j < 63 ? bits >> (j + 1) : 0);
			}
			assert_int_equal(bit_open(bits, at, bit), opened);
			assert_int_equal(bit_close(bits, at), closed);
		}
}

static void the_nth_bit_is_selected(void **state)
{
	for (uint64_t i = 0; i < scaled(200000); i++) {
		uint64_t bits = random_word();
		unsigned k = 0;

		bits &= i % 3 ? random_word() : ~0ull;
		bits |= i % 5 ? 0 : random_word();
		for (unsigned at = 0; at < 64; at++)
			if (bits >> at & 1) {
				for (unsigned j = 0; j < probe_count; j++)
					assert_int_equal(probes[j]->select(bits, k), at);
				k++;
			}
	}
}

/* --------------------------------------------------------------- compact: the line */

/* A line as one thinks of it. */
struct model {
	unsigned count;
	struct entry entry[COMPACT_MAX_SLOTS + 1];
	uint64_t flags;
};

/* Bit by bit, as compact.h draws it. */
static void model_write(const struct ink_compact_shape *s, const struct model *m, uint64_t *w)
{
	unsigned at = COMPACT_BITS - (s->slots + s->buckets), slot = 0;

	memset(w, 0, 64);
	for (unsigned i = 0; i < m->count; i++) {
		for (unsigned bit = 0; bit < s->remainder_bits; bit++)
			set_bit(w, i * s->remainder_bits + bit, m->entry[i].remainder >> bit);
		for (unsigned j = 0; j < s->planes; j++)
			set_bit(w, s->slots * (s->remainder_bits + j) + i, m->entry[i].code >> j);
	}
	for (uint32_t bucket = 0; bucket < s->buckets; bucket++, at++)
		for (; slot < m->count && m->entry[slot].bucket == bucket; slot++, at++)
			set_bit(w, at, 1);
	w[7] |= m->flags;
}

static uint32_t random_remainder(const struct ink_compact_shape *s)
{
	return random_below(1ull << s->remainder_bits) & (random_below(4) ? ~0u : 3u);
}

/* The new entry stands first in its bucket. */
static unsigned model_add(const struct ink_compact_shape *s, struct model *m, uint32_t bucket)
{
	unsigned slot = 0;

	while (slot < m->count && m->entry[slot].bucket < bucket)
		slot++;
	memmove(&m->entry[slot + 1], &m->entry[slot], (m->count - slot) * sizeof m->entry[0]);
	m->entry[slot].bucket = bucket;
	m->entry[slot].remainder = random_remainder(s);
	m->entry[slot].code = random_below(1u << s->planes);
	m->count++;
	return slot;
}

static void model_remove(struct model *m, unsigned slot)
{
	m->count--;
	memmove(&m->entry[slot], &m->entry[slot + 1], (m->count - slot) * sizeof m->entry[0]);
}

static struct model random_model(const struct ink_compact_shape *s)
{
	struct model m = {.flags = (uint64_t)random_below(32) << 59};
	unsigned count = random_below(s->slots + 1), end = 1 + random_below(s->buckets);
	unsigned from = random_below(s->buckets - end + 1);

	if (random_below(4) == 0)
		count = s->slots;
	while (m.count < count)
		model_add(s, &m, from + random_below(end));
	return m;
}

typedef void (*compact_test)(const struct ink_compact_shape *s);

/* Every width, every number of slots, few and many planes. */
static void for_all_compact_shapes(void **state)
{
	compact_test test = *(compact_test *)*state;
	static const unsigned planes[] = {1, 4, 5, 6, 10};
	unsigned shapes = 0;

	for (unsigned r = 4; r <= 24; r++)
		for (unsigned h = 4; h <= COMPACT_MAX_SLOTS; h++)
			for (unsigned k = 0; k < 5; k++) {
				int spare = COMPACT_BITS - (int)(h * (r + planes[k]));
				int q = (spare < COMPACT_META_BITS ? spare : COMPACT_META_BITS) - (int)h;
				struct ink_geometry g = {.b = 100, .h = h, .f = r, .q = (uint32_t)q};
				struct ink_compact_shape s;

				if (q <= 0 || (test_scale() < 1 && r % 8 && (r + h + k) % 9))
					continue;
				s = compact_shape(&g, planes[k]);
				shapes++;
				for (unsigned i = 0; i < (r % 8 ? 5 : 60); i++)
					test(&s);
			}
	assert_true(shapes > 100);
}

static void assert_line(const struct ink_compact_shape *s, const struct model *m,
			const struct compact_line *line, const char *after)
{
	struct compact_line expected;

	model_write(s, m, expected.word);
	if (memcmp(&expected, line, sizeof expected))
		fail_msg("%s: r %u, h %u, q %u, %u planes", after, s->remainder_bits, s->slots, s->buckets,
			 s->planes);
}

static void an_entry_is_put_into_a_compact_line(const struct ink_compact_shape *s)
{
	uint32_t bucket = random_below(s->buckets);

	for (unsigned k = 0; k < probe_count; k++) {
		struct model m = random_model(s);
		struct compact_line line;
		unsigned slot;

		if (m.count == s->slots)
			model_remove(&m, random_below(m.count));
		model_write(s, &m, line.word);
		slot = model_add(s, &m, bucket);
		probes[k]->entry_open(s, line.word, slot, m.entry[slot]);
		assert_line(s, &m, &line, "opening");
	}
}

static void an_entry_is_taken_out_of_a_compact_line(const struct ink_compact_shape *s)
{
	for (unsigned k = 0; k < probe_count; k++) {
		struct model m = random_model(s);
		struct compact_line line;
		unsigned slot;

		if (!m.count)
			continue;
		slot = random_below(m.count);
		model_write(s, &m, line.word);
		probes[k]->entry_close(s, line.word, slot, m.entry[slot].bucket);
		model_remove(&m, slot);
		assert_line(s, &m, &line, "closing");
	}
}

static void codes_are_read_and_written_in_planes(const struct ink_compact_shape *s)
{
	for (unsigned k = 0; k < probe_count; k++) {
		struct model m = random_model(s);
		struct compact_line line;
		unsigned slot;

		model_write(s, &m, line.word);
		for (unsigned i = 0; i < m.count; i++)
			assert_int_equal(probes[k]->code_get(s, line.word, i), m.entry[i].code);
		if (!m.count)
			continue;
		slot = random_below(m.count);
		m.entry[slot].code = random_below(1u << s->planes);
		probes[k]->code_put(s, line.word, slot, m.entry[slot].code);
		assert_line(s, &m, &line, "writing a code");
	}
}

/* The unary metadata, decoded one bit after the other. */
static void buckets_are_found_by_their_unary_numbers(const struct ink_compact_shape *s)
{
	struct model m = random_model(s);
	struct compact_line line;

	model_write(s, &m, line.word);
	assert_int_equal(line_count(s, line.word), m.count);
	for (unsigned k = 0; k < probe_count; k++) {
		for (uint32_t bucket = 0; bucket < s->buckets; bucket++) {
			uint64_t slots = 0;

			for (unsigned i = 0; i < m.count; i++)
				slots |= (uint64_t)(m.entry[i].bucket == bucket) << i;
			assert_int_equal(probes[k]->bucket_slots(s, line.word, bucket), slots);
		}
		for (unsigned slot = 0; slot < s->slots; slot++) {
			uint32_t bucket = probes[k]->slot_bucket(s, line.word, slot);

			assert_true(slot < m.count ? bucket == m.entry[slot].bucket : bucket >= s->buckets);
		}
	}
}

static void remainders_are_found(const struct ink_compact_shape *s)
{
	struct model m = random_model(s);
	uint32_t wanted = m.count ? m.entry[random_below(m.count)].remainder : 0;
	uint64_t slots = 0, among = random_word() & low_bits(m.count);
	struct compact_line line;

	model_write(s, &m, line.word);
	for (unsigned i = 0; i < m.count; i++) {
		assert_int_equal(any_remainder_get(s, line.word, i), m.entry[i].remainder);
		slots |= (uint64_t)(m.entry[i].remainder == wanted) << i;
	}
	assert_int_equal(any_remainder_match(s, line.word, wanted, among), slots & among);
	for (unsigned k = 0; k < probe_count; k++)
		if (k == 0 || probes[k]->vectors(s)) {
			uint64_t found = probes[k]->remainder_slots(s, line.word, wanted);

			assert_int_equal(found & low_bits(m.count), slots);
			assert_int_equal(found & ~low_bits(s->slots), 0);
		}
}

/* What is a candidate and in the bucket is what holds bucket and remainder: no less, and no more. */
static void candidates_are_found_and_told_apart(const struct ink_compact_shape *s)
{
	struct model m = random_model(s);
	struct place p = {.bucket = random_below(s->buckets), .remainder = random_remainder(s)};
	uint64_t expected = 0;
	struct compact_line line;

	if (m.count && random_below(2)) {
		unsigned i = random_below(m.count);

		p = (struct place){.bucket = m.entry[i].bucket, .remainder = m.entry[i].remainder};
	}
	for (unsigned i = 0; i < m.count; i++)
		expected |= (uint64_t)(m.entry[i].bucket == p.bucket && m.entry[i].remainder == p.remainder)
			    << i;
	model_write(s, &m, line.word);
	for (unsigned k = 0; k < probe_count; k++) {
		uint64_t candidates = probes[k]->line_candidates(s, line.word, &p), found = 0;

		assert_int_equal(candidates & ~low_bits(s->slots), 0);
		for (; candidates; candidates &= candidates - 1) {
			unsigned slot = (unsigned)__builtin_ctzll(candidates);

			found |= (uint64_t)probes[k]->slot_is_in(s, line.word, slot, p.bucket) << slot;
		}
		assert_int_equal(found, expected);
	}
}

/* All of those that are there; and no others, unless they are of several names. */
static void side_flags_send_those_that_are_there(void **state)
{
	for (unsigned classes = 0; classes < 1u << INK_SIDE_CLASSES; classes++) {
		unsigned sent = compact_sent[compact_side_flags(classes)], names = 0;

		for (unsigned side = 0; side < INK_SIDE_CLASSES; side++)
			names |= (classes >> side & 1) << side % 14;
		assert_int_equal(classes & ~sent, 0);
		if (__builtin_popcount(names) <= 1)
			for (unsigned side = 0; side < INK_SIDE_CLASSES; side++)
				assert_int_equal(sent >> side & 1, names >> side % 14 & 1);
	}
}

static void compact_places_lie_in_the_table_and_lead_back(const struct ink_compact_shape *s)
{
	for (unsigned i = 0; i < LINE_NUMBERS; i++) {
		uint64_t id = i % 4 ? random_word() : i % 8 ? ~0ull : 0;
		uint32_t lines = line_numbers[i];
		struct place p = compact_place(s, lines, id);

		assert_true(first_line(&p) < lines && second_line(&p) < lines && p.bucket < s->buckets);
		assert_true((uint64_t)p.remainder >> s->remainder_bits == 0);
		assert_int_equal(other_line(lines, second_line(&p), stored_bits(s, p.bucket, p.remainder)),
				 first_line(&p));
	}
}

/* One by one or several at once. */
static void all_instruction_sets_place_alike_in_compact_lines(const struct ink_compact_shape *s)
{
	uint64_t ids[11];
	struct place p[11];

	for (unsigned i = 0; i < LINE_NUMBERS; i++) {
		for (unsigned j = 0; j < 11; j++)
			ids[j] = random_below(4) ? random_word() : random_below(2) ? ~0ull << j : j;
		for (unsigned k = 0; k < probe_count; k++) {
			probes[k]->compact_places(s, line_numbers[i], ids, 11, p);
			for (unsigned j = 0; j < 11; j++) {
				struct place expected = compact_place(s, line_numbers[i], ids[j]);

				assert_memory_equal(&p[j], &expected, sizeof expected);
			}
		}
	}
}

static void the_usual_line_is_that_of_its_plan(void **state)
{
	struct ink_line_shape usual = {LINE_COMMON, .lines = 43403}, s = ink_line_shape(3, 5, 43403);
	const uint64_t lanes[] = {LINE_COMMON_LANES}, states[] = {LINE_COMMON_STATES};

	assert_memory_equal(&s, &usual, offsetof(struct ink_line_shape, code_step) + sizeof s.code_step);
	for (uint32_t lane = 0; lane < 3; lane++) {
		uint32_t unsure = ink_coding_common.unsure << ink_coding_common.age_bits;

		assert_int_equal(lanes[lane], ink_line_lane(&s, 16 * lane));
		assert_int_equal(states[lane],
				 ink_line_spread(&s, 16 * lane, ink_line_make_entry(&s, 0, unsure)));
	}
}

static void the_usual_codes_are_those_of_15_states_and_a_timer(void **state)
{
	struct ink_coding c = ink_coding(15, 1);

	assert_memory_equal(&c, &ink_coding_common, sizeof c);
}

/* What is compiled in is what would be computed. */
static void the_usual_shape_is_that_of_its_plan(void **state)
{
	struct ink_plan plan = {.state_bits = 4, .age_bits = 1, .geometry = {.h = 32, .f = 8, .q = 59}};
	struct ink_compact_shape s = compact_shape(&plan.geometry, 5);

	assert_true(compact_is_common(&plan));
	assert_memory_equal(&s, &compact_common, offsetof(struct ink_compact_shape, meta_start));
	assert_int_equal(s.meta_start, compact_common.meta_start);
	assert_memory_equal(s.meta, compact_common.meta, sizeof s.meta);
	assert_memory_equal(s.before, compact_common.before, sizeof s.before);
	plan.age_bits = 0, plan.state_bits = 5;
	assert_false(compact_is_common(&plan));
	plan.age_bits = 1, plan.state_bits = 4, plan.geometry.q--;
	assert_false(compact_is_common(&plan));
}

/* clang-format off */
#define LINE(name, times) {#name, for_all_line_shapes, NULL, NULL, &(struct line_test){name, times}}
#define COMPACT(name) {#name, for_all_compact_shapes, NULL, NULL, &(compact_test){name}}
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINE(entries_are_read_and_changed_where_they_stand, 2000),
		LINE(an_entry_is_shifted_from_lane_to_lane, 200),
		LINE(an_entry_is_fingerprint_and_code, 1),
		cmocka_unit_test(every_pair_of_short_tags_is_compared_right_between_any_neighbours),
		cmocka_unit_test(every_long_tag_is_compared_right_between_random_neighbours),
		LINE(words_like_the_pattern_are_compared_right, scaled(20000)),
		cmocka_unit_test(the_other_line_of_the_other_line_is_the_line),
		LINE(a_place_lies_in_the_table_and_its_tag_is_not_zero, 5000),
		cmocka_unit_test(all_fingerprints_are_equally_likely),
		LINE(a_fingerprint_is_found_in_a_line, scaled(2000)),
		LINE(all_instruction_sets_find_the_same_slots, scaled(2000)),
		cmocka_unit_test(most_lines_are_known_not_to_have_a_fingerprint),
		LINE(all_instruction_sets_place_alike, 40 * LINE_NUMBERS),
		LINE(all_instruction_sets_find_the_other_lines_of_a_word_alike, 40 * LINE_NUMBERS),
		LINE(all_instruction_sets_look_alike, scaled(1000)),
		cmocka_unit_test(bit_fields_are_read_and_written_across_words),
		cmocka_unit_test(a_bit_is_put_in_and_taken_out),
		cmocka_unit_test(the_nth_bit_is_selected),
		COMPACT(an_entry_is_put_into_a_compact_line),
		COMPACT(an_entry_is_taken_out_of_a_compact_line),
		COMPACT(codes_are_read_and_written_in_planes),
		COMPACT(buckets_are_found_by_their_unary_numbers),
		COMPACT(remainders_are_found),
		cmocka_unit_test(side_flags_send_those_that_are_there),
		COMPACT(candidates_are_found_and_told_apart),
		COMPACT(compact_places_lie_in_the_table_and_lead_back),
		COMPACT(all_instruction_sets_place_alike_in_compact_lines),
		cmocka_unit_test(the_usual_line_is_that_of_its_plan),
		cmocka_unit_test(the_usual_codes_are_those_of_15_states_and_a_timer),
		cmocka_unit_test(the_usual_shape_is_that_of_its_plan),
	};

	use_all_probes();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
