/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of `line`, bit by bit. What line.h does with words at once is held
 * against code that does one bit after the other, for every layout; and what
 * each instruction set makes of it, against the same.
 */
#include "tests/bits.h"
#include "engine/variant.h"

/* ------------------------------------------------------------------ layout */

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

static const uint32_t part_sizes[] = {0, 32, 16, 8};

enum { PARTS = sizeof part_sizes / sizeof part_sizes[0] };

/* Every layout, so many times, with another number of lines each time. */
static void for_all_line_shapes(void (*check)(const struct ink_line_shape *s, uint64_t i), uint64_t times)
{
	for (uint32_t shape = 0; shape < 3 * PARTS; shape++)
		for (uint32_t code = 1; code <= 10; code++)
			for (uint64_t i = 0; i < times; i++) {
				struct ink_line_shape s = ink_line_shape(2 + shape / PARTS, code,
									 line_numbers[i % LINE_NUMBERS],
									 part_sizes[shape % PARTS]);

				check(&s, i);
			}
}

/* A test; what it does with one shape follows. */
#define FOR_ALL_LINES(name, times)                                                                           \
	static void check_##name(const struct ink_line_shape *s, uint64_t i);                                \
	TEST_THAT(name)                                                                                      \
	{                                                                                                    \
		for_all_line_shapes(check_##name, times);                                                    \
	}                                                                                                    \
	static void check_##name(const struct ink_line_shape *s, uint64_t i)

FOR_ALL_LINES(entries_are_read_and_changed_where_they_stand, 2000)
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

FOR_ALL_LINES(an_entry_is_shifted_from_lane_to_lane, 200)
{
	uint32_t from = random_below(s->lanes), to = random_below(s->lanes), entry = random_entry(s);
	uint64_t word = random_word(), shifted = 0;

	put_entry(&word, s->lanes, from, entry);
	put_entry(&shifted, s->lanes, to, entry);
	assert_int_equal(ink_line_shifted(s, word, from * s->column_bits, to * s->column_bits), shifted);
}

FOR_ALL_LINES(an_entry_is_fingerprint_and_code, 1)
{
	assert_int_equal(s->fp_bits + s->code_bits, ink_line_entry_bits(s->lanes));
	for (uint32_t code = 0; code < 1u << s->code_bits; code++) {
		uint32_t fp = random_below(1ull << s->fp_bits), entry = ink_line_make_entry(s, fp, code);

		assert_int_equal(ink_line_entry_fp(s, entry), fp);
		assert_int_equal(ink_line_entry_code(s, entry), code);
		assert_true(entry >> ink_line_entry_bits(s->lanes) == 0);
	}
}

/* ------------------------------------------------------------------- match */

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
TEST_THAT(every_pair_of_short_tags_is_compared_right_between_any_neighbours)
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
				ink_line_shape(lanes, ink_line_entry_bits(lanes) - fp_bits, 100, 0);

			for (uint32_t pair = 0; pair < 1u << 2 * fp_bits; pair++)
				for (uint32_t lane = 0; lane < lanes; lane++)
					for (unsigned i = 0; i < 8; i++)
						assert_columns(
							&s, with_tag(&s, extremes[i], lane, pair >> fp_bits),
							pair & s.tag_mask);
		}
}

TEST_THAT(every_long_tag_is_compared_right_between_random_neighbours)
{
	static const uint32_t patterns[] = {1, 0x8000, 0x7fff, 0xffff, 0xfffe, 0x5555, 0, 0x10001};

	for (uint32_t code = 1; code <= 6; code++) {
		struct ink_line_shape s = ink_line_shape(3, code, 100, 0);
		uint32_t step = test_scale() < 1 ? 17 : 1;

		for (uint32_t tag = 0; tag <= s.tag_mask; tag += step)
			for (uint32_t lane = 0; lane < 3; lane++)
				for (unsigned i = 0; i < 8; i++)
					assert_columns(&s, with_tag(&s, random_word(), lane, tag),
						       patterns[i]);
	}
}

/* Words whose columns are close to the pattern: equal but for a bit, or equal but for what is no tag. */
FOR_ALL_LINES(words_like_the_pattern_are_compared_right, scaled(20000))
{
	uint32_t fingerprint = random_below(1ull << s->fp_bits);
	uint64_t word = (fingerprint & s->tag_mask) * s->units;

	word ^= i % 3 == 0 ? 0 : 1ull << random_below(64);
	word ^= i % 3 == 1 ? 0 : random_word() & ~s->tags;
	assert_columns(s, word, fingerprint);
	assert_columns(s, word, 0);
}

/* ------------------------------------------------------------------ places */

TEST_THAT(the_other_part_of_the_other_part_is_the_part)
{
	for (unsigned k = 0; k < LINE_NUMBERS * PARTS; k++)
		for (uint64_t i = 0; i < scaled(50000); i++) {
			struct ink_line_shape s =
				ink_line_shape(3, 5, line_numbers[k / PARTS], part_sizes[k % PARTS]);
			uint32_t part = i ? random_below(s.parts) : s.parts - 1;
			uint32_t fingerprint = i % 2 ? (uint32_t)i % 65536 : random_below(1u << 31);
			uint32_t other = ink_line_other(&s, part, fingerprint);

			assert_true(other < s.parts);
			assert_int_equal(ink_line_other(&s, other, fingerprint), part);
		}
}

/* The side table's home of a flow, and its flags, are those of the line that its first part is in. */
FOR_ALL_LINES(the_first_part_is_in_the_first_of_whole_lines, 2000)
{
	struct ink_line_shape whole = ink_line_shape(s->lanes, s->code_bits, s->lines, 0);
	uint64_t id = random_word();

	(void)i;
	assert_int_equal(s->parts * s->words, s->lines * INK_LINE_WORDS);
	assert_int_equal(ink_line_place(s, id).first / (INK_LINE_WORDS / s->words),
			 ink_line_place(&whole, id).first);
	assert_int_equal(ink_line_place(s, id).fingerprint, ink_line_place(&whole, id).fingerprint);
}

FOR_ALL_LINES(a_place_lies_in_the_table_and_its_tag_is_not_zero, 5000)
{
	static const uint64_t ids[] = {0, ~0ull, 0xffffffff, 0xffffffff00000000, 1, 1ull << 63, 1ull << 31};
	struct ink_line_place p =
		ink_line_place(s, i / LINE_NUMBERS < 7 ? ids[i / LINE_NUMBERS] : random_word());

	assert_true(p.first < s->parts && p.second < s->parts);
	assert_int_equal(p.second, ink_line_other(s, p.first, p.fingerprint));
	assert_true((p.fingerprint & s->tag_mask) != 0);
	assert_true((uint64_t)p.fingerprint >> s->fp_bits == 0);
}

/* All halves of ids at even distances; each fingerprint must come equally often. */
TEST_THAT(all_fingerprints_are_equally_likely)
{
	static unsigned counts[1 << 17];

	for (uint32_t code = 4; code <= 10; code++) {
		struct ink_line_shape s = ink_line_shape(3, code, 100, 0);
		uint32_t above = s.fp_bits - s.tag_bits, values = s.tag_mask << above, each = 64;

		memset(counts, 0, sizeof counts);
		for (uint64_t i = 0; i < (uint64_t)values * each; i++)
			counts[ink_line_fingerprint(&s, (uint32_t)((i << 32) / ((uint64_t)values * each)))]++;
		for (uint32_t fp = 0; fp < 1u << s.fp_bits; fp++)
			assert_true(fp & s.tag_mask ? counts[fp] >= each - 2 && counts[fp] <= each + 2
						    : counts[fp] == 0);
	}
}

/* --------------------------------------------------------- instruction sets */

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

static int find_slowly(const struct ink_line_shape *s, const uint64_t *part, uint32_t fingerprint)
{
	for (uint32_t i = 0; i < s->words; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++)
			if ((ink_line_entry(s, part[i], lane * s->column_bits) & s->fp_mask) == fingerprint)
				return (int)(i * 64 + lane * s->column_bits);
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

/* A part of a line, any of them. */
static uint64_t *some_part(const struct ink_line_shape *s, struct ink_line *line)
{
	return line->word + random_below(INK_LINE_WORDS / s->words) * s->words;
}

FOR_ALL_LINES(a_fingerprint_is_found_in_a_part, scaled(2000))
{
	uint32_t fp = ink_line_fingerprint(s, (uint32_t)random_word());
	struct ink_line line;
	struct ink_line_spot spot;
	uint64_t *part = some_part(s, &line);
	int at;

	random_line(s, &line, i % 4 ? fp ^ (i % 4 == 1 ? 1u << (s->fp_bits - 1) : 0) : 0);
	at = find_slowly(s, part, fp);
	assert_int_equal(ink_line_find(s, part, fp, &spot), at >= 0);
	if (at < 0)
		return;
	assert_ptr_equal(spot.word, &part[at / 64]);
	assert_int_equal(spot.seen, part[at / 64]);
	assert_int_equal(spot.column, at % 64);
}

/* Where each word of two parts has its four slots, in the order of slots.h; the second part's words follow. */
static const unsigned pair_order[PARTS][2 * INK_LINE_WORDS] = {
	{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}, /* whole lines */
	{0, 1, 4, 5, 2, 3, 6, 7},                               /* halves */
	{0, 1, 2, 3},                                           /* quarters */
	{0, 1},                                                 /* words */
};

static uint64_t pair_slowly(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			    uint32_t fingerprint)
{
	const unsigned *order = pair_order[s->words == 8 ? 0 : s->words == 4 ? 1 : s->words == 2 ? 2 : 3];
	uint64_t slots = 0;

	for (unsigned i = 0; i < 2 * s->words; i++) {
		uint64_t word = i < s->words ? first[i] : second[i - s->words];

		for (uint32_t lane = 0; lane < s->lanes; lane++)
			if (columns_slowly(s, word, fingerprint) >> lane * s->column_bits & 1)
				slots |= 1ull << (4 * order[i] + lane * s->column_bits / 16);
	}
	return slots;
}

/* Each slot leads back to its part, word and column. */
static void assert_slots_lead_back(const struct ink_line_shape *s, const uint64_t *parts[2], uint64_t slots,
				   uint32_t fingerprint)
{
	for (; slots; slots &= slots - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(slots);
		const uint64_t *word = parts[slot_part(s, slot)] + slot_part_word(s, slot);

		assert_true(slot_part_word(s, slot) < s->words);
		assert_true(columns_slowly(s, *word, fingerprint) >> slot_column(slot) & 1);
	}
}

FOR_ALL_LINES(all_instruction_sets_find_the_same_slots, scaled(2000))
{
	uint32_t fp = i % 4 ? ink_line_fingerprint(s, (uint32_t)random_word()) : 0;
	struct ink_line first, second;
	const uint64_t *parts[2] = {some_part(s, &first), some_part(s, &second)};
	uint64_t pair;

	random_line(s, &first, fp);
	random_line(s, &second, fp);
	pair = pair_slowly(s, parts[0], parts[1], fp);
	assert_slots_lead_back(s, parts, pair, fp);
	for (unsigned k = 0; k < probe_count; k++) {
		assert_int_equal(probes[k]->slots(s, &first, fp), slots_slowly(s, &first, fp));
		assert_int_equal(probes[k]->pair_slots(s, parts[0], parts[1], fp), pair);
		assert_int_equal(probes[k]->part_slots(s, parts[0], fp), pair & first_slots(s));
		assert_int_equal(probes[k]->part_slots(s, parts[1], fp),
				 pair >> second_slots_at(s) & first_slots(s));
		if (pair)
			assert_true(probes[k]->pair_may_have(s, parts[0], parts[1], fp));
	}
}

/* Parts of one word: the free slots of those where the entries of a word could go. */
FOR_ALL_LINES(all_instruction_sets_find_the_same_free_words, scaled(1000))
{
	struct ink_line line;
	uint64_t parts[4];
	uint32_t free = 0;

	(void)i;
	if (s->words != 1)
		return;
	random_line(s, &line, 0);
	for (uint32_t lane = 0; lane < 4; lane++)
		parts[lane] = random_below(INK_LINE_WORDS);
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		free |= (uint32_t)pair_slowly(s, &line.word[parts[lane]], &line.word[0], 0) % 16 << 4 * lane;
	for (unsigned k = 0; k < probe_count; k++)
		assert_int_equal(probes[k]->words_free(s, line.word, parts), free);
}

/* Where it is quicker, the rests of entries are taken for tags: it may say yes in vain, but seldom. */
TEST_THAT(most_lines_are_known_not_to_have_a_fingerprint)
{
	struct ink_line_shape s = ink_line_shape(3, 5, 100, 0);

	for (unsigned k = 0; k < probe_count; k++) {
		unsigned taken = 0;

		for (unsigned i = 0; i < 1000; i++) {
			struct ink_line first, second;

			random_line(&s, &first, 0);
			random_line(&s, &second, 0);
			taken += (unsigned)probes[k]->pair_may_have(&s, first.word, second.word,
								    1 + random_below(65535));
		}
		assert_in_range(taken, 0, 20);
	}
}

/* From no id to 39. */
FOR_ALL_LINES(all_instruction_sets_place_alike, 40 * LINE_NUMBERS)
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

FOR_ALL_LINES(all_instruction_sets_find_the_other_parts_of_a_word_alike, 40 * LINE_NUMBERS)
{
	uint32_t part = random_below(s->parts);
	uint64_t word = random_word(), others[4];

	for (unsigned k = 0; k < probe_count; k++) {
		probes[k]->others(s, part, word, others);
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);

			assert_int_equal(others[lane], ink_line_other(s, part, ink_line_entry_fp(s, entry)));
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

FOR_ALL_LINES(all_instruction_sets_look_alike, scaled(1000))
{
	struct ink_line_looks l = random_looks(s);
	struct ink_line line = {{0}};

	assert_look(s, &l, &line);
	fill_for_looks(s, &l, &line);
	assert_look(s, &l, &line);
}

/* ---------------------------------------------------------------- what is compiled in */

TEST_THAT(the_usual_line_is_that_of_its_plan)
{
	struct ink_line_shape usual = {LINE_COMMON, .lines = 43403, .parts = 43403},
			      s = ink_line_shape(3, 5, 43403, 0);
	const uint64_t lanes[] = {LINE_COMMON_LANES}, states[] = {LINE_COMMON_STATES};

	assert_memory_equal(&s, &usual, offsetof(struct ink_line_shape, code_step) + sizeof s.code_step);
	for (uint32_t lane = 0; lane < 3; lane++) {
		uint32_t unsure = ink_coding_common.unsure << ink_coding_common.age_bits;

		assert_int_equal(lanes[lane], ink_line_lane(&s, 16 * lane));
		assert_int_equal(states[lane],
				 ink_line_spread(&s, 16 * lane, ink_line_make_entry(&s, 0, unsure)));
	}
}

TEST_THAT(the_usual_codes_are_those_of_15_states_and_a_timer)
{
	struct ink_coding c = ink_coding(15, 1);

	assert_memory_equal(&c, &ink_coding_common, sizeof c);
}

int main(void)
{
	return run_suite(NULL);
}
