/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of `compact`, bit by bit, beside a line as one thinks of it, for every
 * layout and instruction set.
 */
#include "tests/bits.h"
#include "kinds/compact/compact.h"

/* ------------------------------------------------------------- bit fields */

TEST_THAT(bit_fields_are_read_and_written_across_words)
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

TEST_THAT(a_bit_is_put_in_and_taken_out)
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

TEST_THAT(the_nth_bit_is_selected)
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

/* --------------------------------------------------------------- the line */

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

/* Every width, every number of slots, few and many planes. */
static void for_all_compact_shapes(void (*check)(const struct ink_compact_shape *s))
{
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
					check(&s);
			}
	assert_true(shapes > 100);
}

/* A test; what it does with one shape follows. */
#define FOR_ALL_COMPACT_LINES(name)                                                                          \
	static void check_##name(const struct ink_compact_shape *s);                                         \
	TEST_THAT(name)                                                                                      \
	{                                                                                                    \
		for_all_compact_shapes(check_##name);                                                        \
	}                                                                                                    \
	static void check_##name(const struct ink_compact_shape *s)

static void assert_line(const struct ink_compact_shape *s, const struct model *m,
			const struct compact_line *line, const char *after)
{
	struct compact_line expected;

	model_write(s, m, expected.word);
	if (memcmp(&expected, line, sizeof expected))
		fail_msg("%s: r %u, h %u, q %u, %u planes", after, s->remainder_bits, s->slots, s->buckets,
			 s->planes);
}

FOR_ALL_COMPACT_LINES(an_entry_is_put_into_a_compact_line)
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

FOR_ALL_COMPACT_LINES(an_entry_is_taken_out_of_a_compact_line)
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

FOR_ALL_COMPACT_LINES(codes_are_read_and_written_in_planes)
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
FOR_ALL_COMPACT_LINES(buckets_are_found_by_their_unary_numbers)
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

FOR_ALL_COMPACT_LINES(remainders_are_found)
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
FOR_ALL_COMPACT_LINES(candidates_are_found_and_told_apart)
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
TEST_THAT(side_flags_send_those_that_are_there)
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

FOR_ALL_COMPACT_LINES(compact_places_lie_in_the_table_and_lead_back)
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
FOR_ALL_COMPACT_LINES(all_instruction_sets_place_alike_in_compact_lines)
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

/* What is compiled in is what would be computed. */
TEST_THAT(the_usual_shape_is_that_of_its_plan)
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

int main(void)
{
	return run_suite(NULL);
}
