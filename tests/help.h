/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the tests of what tables do: every kind with every instruction set in
 * small shapes, where every situation of docs/semantics.md can be brought
 * about, and a way to say what a call changed and that it changed nothing else.
 */
#ifndef INKLING_TESTS_HELP_H
#define INKLING_TESTS_HELP_H

#include "kinds/compact/compact.h"
#include "kinds/line/kind.h"
#include "tests/kind.h"
#include "tests/table.h"

/* --------------------------------------------------------------- variants */

/* A kind, its instructions, its shape. */
struct variant {
	const char *name;
	enum ink_kind kind;
	enum ink_simd simd;
	unsigned writers;
	struct ink_geometry geometry;
};

/* One line: all flows meet in it. Three: a flow's two lines may be one, or two of which one is full. */
static const struct variant variants[] = {
	{"line of 16, portable", INK_LINE, INK_SIMD_NONE, 1, {.b = 1, .h = 16}},
	{"line of 24, portable", INK_LINE, INK_SIMD_NONE, 1, {.b = 3, .h = 24}},
	{"line of 32, portable", INK_LINE, INK_SIMD_NONE, 1, {.b = 3, .h = 32}},
	{"line of 16, avx2", INK_LINE, INK_SIMD_AVX2, 1, {.b = 3, .h = 16}},
	{"line of 24, avx2", INK_LINE, INK_SIMD_AVX2, 1, {.b = 1, .h = 24}},
	{"line of 32, avx2", INK_LINE, INK_SIMD_AVX2, 1, {.b = 3, .h = 32}},
	{"line of 24, many writers, portable", INK_LINE, INK_SIMD_NONE, 2, {.b = 3, .h = 24}},
	{"line of 16, many writers, avx2", INK_LINE, INK_SIMD_AVX2, 2, {.b = 1, .h = 16}},
	{"compact of 8 bits, portable", INK_COMPACT, INK_SIMD_NONE, 1, {.b = 1, .h = 32, .f = 8}},
	{"compact of 16 bits, portable", INK_COMPACT, INK_SIMD_NONE, 1, {.b = 3, .h = 18, .f = 16}},
	{"compact of 5 bits, portable", INK_COMPACT, INK_SIMD_NONE, 1, {.b = 3, .h = 40, .f = 5}},
	{"compact of 8 bits, avx2", INK_COMPACT, INK_SIMD_AVX2, 1, {.b = 3, .h = 32, .f = 8}},
	{"compact of 16 bits, avx2", INK_COMPACT, INK_SIMD_AVX2, 1, {.b = 1, .h = 18, .f = 16}},
	{"compact of 5 bits, avx2", INK_COMPACT, INK_SIMD_AVX2, 1, {.b = 3, .h = 40, .f = 5}},
	{"line of 24, narrow side table", INK_LINE, INK_SIMD_BEST, 1, {.b = 3, .h = 24, .side_id = 24}},
	{"compact of 8 bits, narrow side table",
	 INK_COMPACT,
	 INK_SIMD_BEST,
	 1,
	 {.b = 1, .h = 32, .f = 8, .side_id = 24}},
	{"dleft of 2 x 1", INK_DLEFT, INK_SIMD_NONE, 1, {.d = 2, .b = 1, .h = 4, .f = 8}},
	{"dleft of 3 x 3", INK_DLEFT, INK_SIMD_NONE, 1, {.d = 3, .b = 3, .h = 6, .f = 10}},
	{"exact", INK_EXACT, INK_SIMD_NONE, 1, {.b = 0}},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* The one under test. */
static const struct variant *variant;

static inline struct ink_options variant_options(void)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = variant->kind,
				    .flows = kind_can(variant->kind, INK_CAN_BE_EXACT) ? 1 : 0,
				    .writers = variant->writers,
				    .simd = variant->simd,
				    .seed = 1,
				    .geometry = variant->geometry};
}

/* Says so where the processor lacks the instructions. */
static inline int can_run(const struct variant *v)
{
	struct ink_options o;
	struct ink_table *made;

	variant = v;
	o = variant_options();
	o.states = 1;
	made = ink_create(&o, NULL);
	if (!made && errno == ENOTSUP)
		print_message("skipped: this processor lacks the instructions of %s\n", v->name);
	else
		assert_non_null(made);
	ink_free(made);
	return made != NULL;
}

/* What `run` returns, summed over the variants that this processor can run. */
static inline int failures_of_variants(int (*run)(void))
{
	int failures = 0;

	for (int i = 0; i < VARIANTS; i++)
		if (can_run(&variants[i]))
			failures += run();
	return failures;
}

static inline int is_exact(void)
{
	return kind_can(variant->kind, INK_CAN_BE_EXACT);
}

static inline int is_dleft(void)
{
	return kind_takes(variant->kind, INK_GEOMETRY_DLEFT_FLAGS);
}

/* --------------------------------------------------------------- the table */

/* The table under test; each test makes its own, and its teardown frees it. */
static struct ink_table *t;

/* `exact` takes no geometry, so it gets none. */
static inline void make_from(const struct ink_options *options)
{
	struct ink_options o = *options;

	if (is_exact())
		o.geometry = (struct ink_geometry){.b = 0};
	ink_free(t);
	t = table_with(&o);
}

static inline int free_table(void **state)
{
	ink_free(t);
	t = NULL;
	return 0;
}

/* What a test needs of the table: all of these. */
enum {
	ANY = 0,
	EXACT = 1,
	CELLS = 2,
	DLEFT = 4,
	LINES = 8,
	ONE_WRITER = 16,
	MANY_WRITERS = 32,
	AGED = 64,
	AGELESS = 128
};

static unsigned needs[TESTS_MOST]; /* of each listed test */

/* As TEST_THAT. */
#define TEST_OF(tables, name)                                                                                \
	static void name(void **state);                                                                      \
	__attribute__((constructor)) static void list_##name(void)                                           \
	{                                                                                                    \
		needs[n_listed] = tables;                                                                    \
		list_test(#name, name);                                                                      \
	}                                                                                                    \
	static void name(void **state)

/* `also` is what the caller knows of the tables that it makes. */
static inline int applies(unsigned tables, unsigned also)
{
	unsigned is = is_exact() ? EXACT : is_dleft() ? CELLS | DLEFT : CELLS | LINES;

	is |= variant->writers > 1 ? MANY_WRITERS : ONE_WRITER;
	return !(tables & ~(is | also));
}

/* The listed tests that apply to the variant, each after `before_each`. */
static inline int run_listed(unsigned also, CMFixtureFunction before_each)
{
	struct CMUnitTest tests[TESTS_MOST];
	size_t n = 0;

	for (size_t i = 0; i < n_listed; i++)
		if (applies(needs[i], also))
			tests[n++] = (struct CMUnitTest){listed[i].name, listed[i].test_func, before_each,
							 free_table, NULL};
	return _cmocka_run_group_tests(variant->name, tests, n, NULL, NULL);
}

#define ROWS(of) of, sizeof(of) / sizeof((of)[0])

/* One test for each row of an array; a row begins with the name of its test, and is its state. */
static inline int run_rows(const char *group, void (*test)(void **), const void *row, size_t size, size_t n)
{
	struct CMUnitTest tests[32];

	assert_true(n <= 32);
	for (size_t i = 0; i < n; i++, row = (const char *)row + size)
		tests[i] = (struct CMUnitTest){*(const char *const *)row, test, NULL, free_table,
					       (void *)(uintptr_t)row};
	return _cmocka_run_group_tests(group, tests, n, NULL, NULL);
}

static inline struct ink_stats stats_now(void)
{
	return stats_of(t);
}

/* A flow that the table says it has not. */
static inline uint64_t stranger(void)
{
	uint64_t id = random_word();

	for (int tries = 0; ink_peek(t, id) != INK_ABSENT; tries++) {
		assert_true(tries < 1000000);
		id = random_word();
	}
	return id;
}

/* A new flow. */
static inline uint64_t flow(unsigned state)
{
	uint64_t id = stranger();

	assert_int_equal(ink_insert(t, id, state), 0);
	return id;
}

/*
 * Another flow that meets the same entry; no other entry may be in this one's
 * state. Ids side by side are mostly twins, for the lowest bits are the last to
 * count; in `dleft` twins are met by chance.
 */
static inline uint64_t twin_of(uint64_t id)
{
	ink_answer wanted = ink_peek(t, id);
	uint64_t twin = id;

	assert_true(wanted >= 0);
	for (int tries = 0; twin == id || ink_peek(t, twin) != wanted; tries++) {
		assert_true(tries < 10000000);
		twin = tries < 1000 ? id - 32 + random_below(65) : random_word();
	}
	return twin;
}

/* ---------------------------------------------------- what a call changed */

enum { MOST_STATES = 8 }; /* that any of these tests uses */

struct change {
	int side_flows;
	int collisions, displaced, overflowed, refused, replaced, marked, expired;
	int state[MOST_STATES], unsure;
};

static struct ink_stats stats_before;
static struct ink_counts census_before;

/* From here on changes count. */
static inline void note(void)
{
	stats_before = stats_now();
	ink_census(t, &census_before);
}

static inline void assert_delta(const char *what, int64_t is, int should_be, int line)
{
	if (is != should_be)
		fail_msg("%s, line %d: %s changed by %d and not by %d", variant->name, line, what, (int)is,
			 should_be);
}

#define DELTA(field) assert_delta(#field, (int64_t)(s.field - stats_before.field), c->field, line)

static inline void assert_change(const struct change *c, int line)
{
	struct ink_stats s = stats_now();
	struct ink_counts census;
	int all = c->unsure;

	DELTA(side_flows);
	DELTA(collisions);
	DELTA(displaced);
	DELTA(overflowed);
	DELTA(refused);
	DELTA(replaced);
	DELTA(marked);
	DELTA(expired);
	ink_census(t, &census);
	assert_delta("unsure", (int64_t)(census.unsure - census_before.unsure), c->unsure, line);
	for (unsigned i = 0; i < MOST_STATES; i++) {
		assert_delta("a state", (int64_t)(census.state[i] - census_before.state[i]), c->state[i],
			     line);
		all += c->state[i];
	}
	assert_delta("total", (int64_t)(census.total - census_before.total), all, line);
	assert_delta("flows", (int64_t)(s.flows - stats_before.flows), all, line);
	assert_sound(t);
	note();
}

/* Since note() or the last time this was asked, these changed by that much and all else did not. */
#define assert_changed(...) assert_change(&(struct change){__VA_ARGS__}, __LINE__)
#define assert_unchanged() assert_change(&(struct change){.unsure = 0}, __LINE__)

#define assert_move(m, leaving, reaching, doing)                                                             \
	do {                                                                                                 \
		assert_int_equal((m).from, leaving);                                                         \
		assert_int_equal((m).to, reaching);                                                          \
		assert_int_equal((m).action, doing);                                                         \
	} while (0)

#define assert_steps(id, event, leaving, reaching, doing)                                                    \
	do {                                                                                                 \
		struct ink_move made = {0, 0, 0};                                                            \
		assert_int_equal(ink_step(t, id, event, &made), 0);                                          \
		assert_move(made, leaving, reaching, doing);                                                 \
	} while (0)

/* ------------------------------------------------------------- the insides */

static inline int line_is_flagged(uint64_t id)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	const struct ink_line *line = t->body;

	line += ink_line_place(s, id).first * s->words / INK_LINE_WORDS;
	return (line->word[INK_LINE_SIDE + ink_side_class(id) % 4] & INK_LINE_FLAG) != 0;
}

static inline int compact_is_flagged(uint64_t id)
{
	struct place p = compact_place(ink_compact_shape_of(t), t->plan.geometry.b, id);
	const struct compact_line *line = (const struct compact_line *)t->body + first_line(&p);
	uint64_t flags = line->word[COMPACT_WORDS - 1] >> COMPACT_SIDE & 15;

	return compact_sent[flags] >> ink_side_class(id) & 1;
}

static inline int side_is_used(uint64_t id)
{
	(void)id;
	return ink_side_count(&t->side) != 0;
}

/* Does the flow's first line send to the side table? In `dleft` any flow there sends all. */
static inline int side_is_asked(uint64_t id)
{
	static int (*const asked[])(uint64_t) = {
		[INK_LINE] = line_is_flagged, [INK_COMPACT] = compact_is_flagged, [INK_DLEFT] = side_is_used};

	return asked[variant->kind](id);
}

#endif
