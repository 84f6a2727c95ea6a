/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ink_check finds in the lines of `line` and `compact`: faults of every
 * sort, in every line of a small table, with every instruction set. That forged
 * files are refused is in test_snapshot.c.
 */
#include "base/cpu.h"
#include "kinds/compact/compact.h"
#include "kinds/line/kind.h"
#include "table/table.h"
#include "tests/random.h"
#include "tests/test.h"

enum { LINES = 60, STATES = 11 };

static const enum ink_simd simds[] = {INK_SIMD_NONE, INK_SIMD_AVX2};

/* The common shapes, and others: two and four lanes, parts of lines; entries of 13, 16, 15, 11 and 26 bits. */
static const struct ink_geometry shapes[] = {
	{.b = LINES, .h = 24},
	{.b = LINES, .h = 16},
	{.b = LINES, .h = 32},
	{.b = LINES, .h = 24},
	{.b = LINES, .h = 16},
	{.b = LINES, .h = 24},
	{.b = LINES, .h = 32, .f = 8, .q = 59},
	{.b = LINES, .h = 28, .f = 11, .q = 31},
	{.b = LINES, .h = 28, .f = 10, .q = 59},
	{.b = LINES, .h = 38, .f = 6, .q = 51},
	{.b = LINES, .h = 18, .f = 21, .q = 21},
};

static const unsigned parts[COUNT(shapes)] = {0, 0, 0, 32, 16, 8};

enum { LINE_SHAPES = 6, SHAPES = COUNT(shapes) };

static struct ink_table *table_of(unsigned shape, enum ink_simd simd)
{
	struct ink_options o = {.size = sizeof o,
				.kind = shape < LINE_SHAPES ? INK_LINE : INK_COMPACT,
				.flows = LINES * 16,
				.states = STATES,
				.age_bits = 1,
				.simd = simd,
				.seed = 7,
				.geometry = shapes[shape],
				.part = parts[shape]};
	struct ink_why why;
	struct ink_table *t = ink_create(&o, &why);

	if (!t)
		fail_msg("%s", why.text);
	for (unsigned i = 0; i < LINES * 13; i++)
		ink_insert(t, random_word(), i % STATES);
	assert_int_equal(ink_check(t, &why), 0);
	return t;
}

/* ---------------------------------------------------------------------- faults */

/*
 * A fault damages a line, and says what ink_check has to say then. NULL: the
 * line cannot have it, and is as before.
 */
typedef const char *fault_fn(struct ink_table *t, uint32_t line);

static uint64_t *words_of(const struct ink_table *t, uint32_t line)
{
	return (uint64_t *)t->body + 8 * (uint64_t)line;
}

/* The first part of a line. */
static uint32_t part_of(const struct ink_table *t, uint32_t line)
{
	return line * (INK_LINE_WORDS / ink_line_shape_of(t)->words);
}

/* The last entry of it; 0: it is empty. */
static uint32_t last_entry(const struct ink_table *t, uint32_t line)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	uint32_t last = 0;

	for (unsigned i = 0; i < s->words * s->lanes; i++) {
		uint32_t entry =
			ink_line_entry(s, words_of(t, line)[i / s->lanes], i % s->lanes * s->column_bits);

		last = entry ? entry : last;
	}
	return last;
}

static const char *put_entry(struct ink_table *t, uint32_t part, uint32_t entry, const char *expected)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);

	for (unsigned i = 0; entry && i < s->words * s->lanes; i++) {
		uint64_t *word = (uint64_t *)t->body + part * s->words + i / s->lanes;
		uint32_t column = i % s->lanes * s->column_bits;

		if (ink_line_entry(s, *word, column))
			continue;
		*word |= ink_line_spread(s, column, entry);
		return expected;
	}
	return NULL;
}

static const char *twin_in_the_line(struct ink_table *t, uint32_t line)
{
	return put_entry(t, part_of(t, line), last_entry(t, line), "two entries cannot be told apart");
}

static const char *twin_in_the_other_line(struct ink_table *t, uint32_t line)
{
	uint32_t entry = last_entry(t, line), fingerprint = entry & ink_line_shape_of(t)->fp_mask;

	return put_entry(t, ink_line_other(ink_line_shape_of(t), part_of(t, line), fingerprint), entry,
			 "two entries cannot be told apart");
}

static const char *no_tag(struct ink_table *t, uint32_t line)
{
	uint32_t entry = ink_line_make_entry(ink_line_shape_of(t), 0, 1);

	return put_entry(t, part_of(t, line), entry, "an entry without fingerprint is not empty");
}

static const char *no_such_state(struct ink_table *t, uint32_t line)
{
	uint32_t entry = ink_line_make_entry(ink_line_shape_of(t), 1, STATES << 1);

	return put_entry(t, part_of(t, line), entry, "an entry has a state that the table has not");
}

static const char *spare_bit(struct ink_table *t, uint32_t line)
{
	words_of(t, line)[5] |= 1ull << 63;
	return "a spare bit is set";
}

/* As a line of unary numbers is read: the slots before a bucket. */
static unsigned slots_before(const struct ink_compact_shape *s, const uint64_t *w, uint32_t bucket)
{
	unsigned slots = 0, at = s->meta_at;

	for (uint32_t ends = 0; ends < bucket; at++)
		if (bits_get(w, at, 1))
			slots++;
		else
			ends++;
	return slots;
}

static struct entry first_entry(const struct ink_compact_shape *s, const uint64_t *w)
{
	uint64_t packed = any_packed_get(s, w, 0);
	struct entry e = {0, packed_remainder(s, packed), packed_code(s, packed)};

	while (!bits_get(w, s->meta_at + e.bucket, 1))
		e.bucket++;
	return e;
}

static const char *put_compact(struct ink_table *t, uint32_t line, struct entry e, const char *expected)
{
	const struct ink_compact_shape *s = ink_compact_shape_of(t);
	uint64_t *w = words_of(t, line);

	if (line_count(s, w) == s->slots)
		return NULL;
	any_entry_open(s, w, slots_before(s, w, e.bucket), e);
	return expected;
}

static const char *compact_twin_in_the_line(struct ink_table *t, uint32_t line)
{
	const uint64_t *w = words_of(t, line);

	return line_count(ink_compact_shape_of(t), w)
		       ? put_compact(t, line, first_entry(ink_compact_shape_of(t), w),
				     "two entries cannot be told apart")
		       : NULL;
}

static const char *compact_twin_in_the_other_line(struct ink_table *t, uint32_t line)
{
	const struct ink_compact_shape *s = ink_compact_shape_of(t);
	const uint64_t *w = words_of(t, line);
	struct entry e;

	if (!line_count(s, w))
		return NULL;
	e = first_entry(s, w);
	line = other_line(LINES, line, stored_bits(s, e.bucket, e.remainder));
	return put_compact(t, line, e, "two entries cannot be told apart");
}

static const char *compact_no_such_state(struct ink_table *t, uint32_t line)
{
	return put_compact(t, line, (struct entry){0, 1, STATES << 1},
			   "an entry has a state that the table has not");
}

/* Others are searched for in this line: its own count must be checked before. */
static const char *too_many_entries(struct ink_table *t, uint32_t line)
{
	words_of(t, line)[6] |= ink_compact_shape_of(t)->meta[0];
	words_of(t, line)[7] |= ink_compact_shape_of(t)->meta[1];
	return "a line counts more entries than it has slots";
}

static const char *behind_the_last_bucket(struct ink_table *t, uint32_t line)
{
	const struct ink_compact_shape *s = ink_compact_shape_of(t);
	uint64_t *w = words_of(t, line);

	if (line_count(s, w) + 2 > s->slots)
		return NULL;
	bits_put(w, COMPACT_BITS - 1, 1, 1);
	return "an entry stands behind the last bucket of its line";
}

/* The last bit of the first column, and the last of all. */
static const char *remainder_of_a_free_slot(struct ink_table *t, uint32_t line)
{
	const struct ink_compact_shape *s = ink_compact_shape_of(t);

	if (line_count(s, words_of(t, line)) == s->slots)
		return NULL;
	bits_put(words_of(t, line), 8 * s->slots - 1, 1, 1);
	return "a free slot of a line is not empty";
}

static const char *code_of_a_free_slot(struct ink_table *t, uint32_t line)
{
	const struct ink_compact_shape *s = ink_compact_shape_of(t);

	if (line_count(s, words_of(t, line)) == s->slots)
		return NULL;
	bits_put(words_of(t, line), s->fields_at + s->field_bits * s->slots - 1, 1, 1);
	return "a free slot of a line is not empty";
}

static fault_fn *const line_faults[] = {
	twin_in_the_line, twin_in_the_other_line, no_tag, no_such_state, spare_bit, NULL};
/* Where lines have parts, word 5 has a flag, too. */
static fault_fn *const part_faults[] = {twin_in_the_line, twin_in_the_other_line, no_tag, no_such_state,
					NULL};
static fault_fn *const compact_faults[] = {
	compact_twin_in_the_line, compact_twin_in_the_other_line, compact_no_such_state, too_many_entries,
	behind_the_last_bucket,   remainder_of_a_free_slot,       code_of_a_free_slot,   NULL};

/* ----------------------------------------------------------------------- tests */

/* Damages each line in turn, and mends it. */
static void assert_found(struct ink_table *t, fault_fn *fault)
{
	unsigned damaged = 0;
	char body[LINES * 64];

	memcpy(body, t->body, sizeof body);
	for (uint32_t line = 0; line < LINES; line++) {
		const char *expected = fault(t, line);
		struct ink_why why;

		if (!expected)
			continue;
		assert_int_not_equal(ink_check(t, &why), 0);
		assert_string_equal(why.text, expected);
		memcpy(t->body, body, sizeof body);
		damaged++;
	}
	assert_in_range(damaged, LINES / 4, LINES);
}

TEST_THAT(a_fault_of_any_line_is_found)
{
	for (unsigned shape = 0; shape < SHAPES; shape++)
		for (unsigned i = 0; i < 2; i++) {
			fault_fn *const *fault = parts[shape]          ? part_faults
						 : shape < LINE_SHAPES ? line_faults
								       : compact_faults;
			struct ink_table *t;

			if (!ink_cpu_has(simds[i]))
				continue;
			t = table_of(shape, simds[i]);
			while (*fault)
				assert_found(t, *fault++);
			ink_free(t);
		}
}

int main(void)
{
	return run_suite(NULL);
}
