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
	for (unsigned n = 1; n <= 64; n++)
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

/* Bits that move, and those that they do not reach. */
TEST_THAT(bits_move_up_and_down_across_words)
{
	for (uint64_t i = 0; i < scaled(200000); i++) {
		unsigned n = 1 + random_below(8), from = n + random_below(512 - 3 * n);
		unsigned to = from + 1 + random_below(512 - n - from);
		uint64_t w[8], up[8], down[8];

		random_words(w, 8);
		memcpy(up, w, sizeof w);
		memcpy(down, w, sizeof w);
		for (unsigned at = from; at < to; at++) {
			set_bit(up, at + n, (uint64_t)bit_of(w, at));
			set_bit(down, at - n, (uint64_t)bit_of(w, at));
		}
		for (unsigned k = 0; k < 2; k++) {
			uint64_t moved[8];

			memcpy(moved, w, sizeof w);
			(k ? bits_down : bits_up)(moved, from, to, n);
			assert_memory_equal(moved, k ? down : up, sizeof moved);
		}
	}
}

TEST_THAT(every_nth_bit_is_gathered_and_scattered)
{
	for (unsigned stride = 1; stride <= 8; stride++)
		for (unsigned i = 0; i < 500; i++) {
			uint64_t bits = random_word(), scattered = 0;
			unsigned gathered = 0;

			for (unsigned j = 0; j < 8; j++) {
				gathered |= (unsigned)bit_of(&bits, j * stride) << j;
				set_bit(&scattered, j * stride, (uint64_t)bit_of(&bits, j * stride));
			}
			for (unsigned k = 0; k < probe_count; k++) {
				assert_int_equal(probes[k]->gather(bits, stride), gathered);
				assert_int_equal(probes[k]->scatter(gathered, stride), scattered);
			}
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

/* Where a bit of an entry stands, as compact.h draws it. */
static unsigned bit_place(const struct ink_compact_shape *s, unsigned slot, unsigned bit)
{
	unsigned bits = s->remainder_bits + s->code_bits, column = bit / 8;

	if (column < bits / 8)
		return (column * s->slots + slot) * 8 + bit % 8;
	return column * s->slots * 8 + slot * (bits % 8) + bit % 8;
}

static void model_write(const struct ink_compact_shape *s, const struct model *m, uint64_t *w)
{
	unsigned at = COMPACT_BITS - (s->slots + s->buckets), slot = 0, r = s->remainder_bits;

	memset(w, 0, 64);
	for (unsigned i = 0; i < m->count; i++)
		for (unsigned bit = 0; bit < r + s->code_bits; bit++)
			set_bit(w, bit_place(s, i, bit),
				bit < r ? m->entry[i].remainder >> bit : m->entry[i].code >> (bit - r));
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
	m->entry[slot].code = random_below(1u << s->code_bits);
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

/* Shapes that a sensible plan could have, or that the plan of a given geometry has. */
static int is_tested(unsigned r, unsigned code, unsigned h, int q)
{
	if (q <= 0)
		return 0;
	return test_scale() == 1 || (unsigned)q <= 2 * h || (r + h + code) % 9 == 0;
}

/* Every width, every number of slots, codes of 1 to 10 bits: 1 to 8 of the state and 0 to 2 of the age. */
static void for_all_compact_shapes(void (*check)(const struct ink_compact_shape *s))
{
	unsigned shapes = 0;

	for (unsigned r = COMPACT_MIN_R; r <= COMPACT_MAX_R; r++)
		for (unsigned code = 1; code <= COMPACT_MAX_CODE; code++)
			for (unsigned h = COMPACT_MIN_SLOTS; h <= COMPACT_MAX_SLOTS; h++) {
				int spare = COMPACT_BITS - (int)(h * (r + code));
				int q = (spare < COMPACT_META_BITS ? spare : COMPACT_META_BITS) - (int)h;
				struct ink_geometry g = {.b = 100, .h = h, .f = r, .q = (uint32_t)q};
				struct ink_compact_shape s;

				if (!is_tested(r, code, h, q))
					continue;
				s = compact_shape(&g, code);
				shapes++;
				for (unsigned i = 0; i < (s.has_vectors ? 10 : 3); i++)
					check(&s);
			}
	assert_true(shapes > 1000);
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
		fail_msg("%s: r %u, h %u, q %u, codes of %u bits", after, s->remainder_bits, s->slots,
			 s->buckets, s->code_bits);
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

FOR_ALL_COMPACT_LINES(codes_are_read_and_written)
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
		m.entry[slot].code = random_below(1u << s->code_bits);
		probes[k]->code_put(s, line.word, slot, m.entry[slot].code);
		assert_line(s, &m, &line, "writing a code");
	}
}

/* Some of the planes: a tick may want the age alone, or the state. */
FOR_ALL_COMPACT_LINES(codes_are_planes_for_ticks)
{
	unsigned from = random_below(s->code_bits), to = from + 1 + random_below(s->code_bits - from);
	struct plane_range range = {from, to};
	unsigned mask = (unsigned)(low_bits(to) & ~low_bits(from));

	for (unsigned k = 0; k < probe_count; k++) {
		struct model m = random_model(s);
		uint64_t planes[COMPACT_MAX_CODE] = {0};
		struct compact_line line;

		model_write(s, &m, line.word);
		probes[k]->planes_get(s, line.word, range, planes);
		for (unsigned i = 0; i < s->slots; i++)
			for (unsigned j = from; j < to; j++)
				assert_int_equal(planes[j] >> i & 1,
						 i < m.count ? m.entry[i].code >> j & 1 : 0);
		for (unsigned j = from; j < to; j++)
			planes[j] ^= random_word() & low_bits(m.count);
		for (unsigned i = 0; i < m.count; i++) {
			m.entry[i].code &= ~mask;
			for (unsigned j = from; j < to; j++)
				m.entry[i].code |= (unsigned)(planes[j] >> i & 1) << j;
		}
		probes[k]->planes_put(s, line.word, range, planes);
		assert_line(s, &m, &line, "writing planes");
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
		uint64_t packed = any_packed_get(s, line.word, i);

		assert_int_equal(packed_remainder(s, packed), m.entry[i].remainder);
		assert_int_equal(packed_code(s, packed), m.entry[i].code);
		slots |= (uint64_t)(m.entry[i].remainder == wanted) << i;
	}
	assert_int_equal(any_remainder_match(s, line.word, wanted, among), slots & among);
	for (unsigned k = 0; k < probe_count; k++)
		if (probes[k]->search(s) != SEARCH_BUCKET || k == 0) {
			uint64_t found = probes[k]->remainder_slots(s, line.word, wanted);

			assert_int_equal(slots & ~found, 0);
			assert_int_equal(found & ~low_bits(s->slots), 0);
			if (k == 0 || s->remainder_bits <= 8)
				assert_int_equal(found & low_bits(m.count), slots);
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
		unsigned code;

		assert_int_equal(candidates & ~low_bits(s->slots), 0);
		for (; candidates; candidates &= candidates - 1) {
			unsigned slot = (unsigned)__builtin_ctzll(candidates);

			if (probes[k]->slot_holds(s, line.word, slot, &p, &code)) {
				found |= 1ull << slot;
				assert_int_equal(code, m.entry[slot].code);
			}
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

/* ---------------------------------------------------------- tables of every shape */

enum { SHAPE_FLOWS = 300, SHAPE_CALLS = 3000 };

/* A table of that shape; h = 0: the plan chooses. NULL: there is none. */
static struct ink_table *shaped(unsigned r, unsigned state_bits, unsigned age_bits, unsigned h,
				enum ink_simd simd)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_COMPACT,
				.states = (1u << state_bits) - 1,
				.age_bits = age_bits,
				.flows = SHAPE_FLOWS,
				.error = .9,
				.simd = simd,
				.seed = 1,
				.geometry = {.f = r, .h = h}};

	return ink_create(&o, NULL);
}

/* One call with drawn flows and states; what it returned. */
static int any_call(struct ink_table *t, unsigned verb, uint64_t id, unsigned state)
{
	switch (verb) {
	case 0:
	case 1:
		return ink_insert(t, id, state);
	case 2:
		return ink_modify(t, id, state);
	case 3:
		return ink_set(t, id, state);
	case 4:
		return ink_delete(t, id);
	case 5:
		return ink_peek(t, id);
	default:
		return t->plan.age_bits ? ink_tick(t, t->aging.now + 1, NULL) : ink_lookup(t, id);
	}
}

static void assert_alike(struct ink_table *one, struct ink_table *other)
{
	struct ink_why why;

	for (unsigned i = 0; i < SHAPE_CALLS; i++) {
		unsigned verb = random_below(i % 64 ? 6 : 7), state = random_below(one->states);
		uint64_t id = random_below(2 * SHAPE_FLOWS) * 0x9e3779b97f4a7c15ull;

		assert_int_equal(any_call(one, verb, id, state), any_call(other, verb, id, state));
	}
	assert_int_equal(ink_check(one, &why), 0);
	assert_memory_equal(one->body, other->body, one->body_bytes);
}

/* The variants for families of shapes and for common ones among them: same answers, same bytes. */
TEST_THAT(all_instruction_sets_make_the_same_tables_in_every_shape)
{
	unsigned shapes = 0;

	for (unsigned r = COMPACT_MIN_R; r <= COMPACT_MAX_R && ink_cpu_has(INK_SIMD_AVX2); r++)
		for (unsigned code = 0; code < 8 * 3; code++) {
			unsigned h = 0;

			for (unsigned i = 0; i < 2; i++, shapes++) {
				struct ink_table *one = shaped(r, 1 + code % 8, code / 8, h, INK_SIMD_NONE);
				struct ink_table *other = shaped(r, 1 + code % 8, code / 8, h, INK_SIMD_AVX2);

				assert_true(one && other);
				assert_alike(one, other);
				h = one->plan.geometry.h - 1;
				ink_free(one);
				ink_free(other);
			}
		}
	assert_true(shapes == 2 * 21 * 24 || !ink_cpu_has(INK_SIMD_AVX2));
}

/* What is compiled in is what would be computed. */
TEST_THAT(shapes_that_are_compiled_in_are_those_of_their_plans)
{
	static const struct ink_compact_shape *const shapes[] = {&compact_common, &compact_default_error};

	for (unsigned i = 0; i < 2; i++) {
		const struct ink_compact_shape *c = shapes[i];
		struct ink_plan plan = {.state_bits = 4,
					.age_bits = 1,
					.geometry = {.h = c->slots, .f = c->remainder_bits, .q = c->buckets}};
		struct ink_compact_shape s = compact_shape(&plan.geometry, 5);

		assert_true(compact_is_shape(&plan, c));
		assert_memory_equal(&s, c, sizeof s);
		plan.age_bits = 0, plan.state_bits = 5;
		assert_false(compact_is_shape(&plan, c));
		plan.age_bits = 1, plan.state_bits = 4, plan.geometry.q--;
		assert_false(compact_is_shape(&plan, c));
	}
}

int main(void)
{
	return run_suite(NULL);
}
