/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of lines (src/table/groups.h): a tick skips those that hold nothing, and
 * leaves the table as if it had read every line.
 *
 * The model is a second table in which all groups are noted before each tick, so that
 * it skips nothing. Both get the same calls and the same ticks, in portions or at once,
 * with gaps of any length, and their bodies must be the same, byte for byte.
 */
#include <sys/mman.h>

#include "table/groups.h"
#include "tests/verbs.h"

#include "tests/threads.h" /* behind the others, which have parameters of the names there */

/* ---------------------------------------------------------------- the tables */

enum { A, B, C, STATES };
enum { EVENTS = 2 };
enum { LINES = 3 * INK_GROUP_LINES + 44 }; /* the last group is a short one */

/* clang-format off */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	/* A      */ {B, 1}, {INK_ABSENT, 2},
	/* B      */ {C, 1}, {INK_ABSENT, 2},
	/* C      */ {A, 1}, {INK_ABSENT, 2},
	/* absent */ {A, 1}, {INK_NO_ROW, 0},
	/* unsure */ {A, 1}, {INK_NO_ROW, 0},
};
/* clang-format on */

/* Short, long, never, and one that moves on; B may be replaced. */
static const struct ink_timing timings[STATES + 1] = {
	{2, B, 0}, {7, INK_ABSENT, 1}, {40, INK_ABSENT, 0}, {1, INK_ABSENT, 0}};

struct way {
	enum ink_kind kind;
	enum ink_simd simd;
	unsigned writers;
};

static const struct way ways[] = {
	{INK_LINE, INK_SIMD_NONE, 1}, {INK_LINE, INK_SIMD_BEST, 1},    {INK_LINE, INK_SIMD_NONE, 2},
	{INK_LINE, INK_SIMD_BEST, 2}, {INK_COMPACT, INK_SIMD_NONE, 1}, {INK_COMPACT, INK_SIMD_BEST, 1},
};

static struct ink_options options_of(const struct way *way, const struct ink_rules *rules)
{
	return (struct ink_options){.size = sizeof(struct ink_options),
				    .kind = way->kind,
				    .states = STATES,
				    .age_bits = 1,
				    .writers = way->writers,
				    .simd = way->simd,
				    .seed = 5,
				    .rules = rules,
				    .geometry = {.b = LINES, .side = 30}};
}

static const struct ink_rules rules = {
	.size = sizeof rules, .states = STATES, .events = EVENTS, .rows = rows, .timings = timings};

static unsigned groups_noted(const struct ink_table *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < ink_groups(&t->plan); i++)
		n += t->groups[i];
	return n;
}

/* No bit of a group that is not noted is set. */
static void assert_noted(const struct ink_table *t)
{
	for (uint32_t line = 0; line < t->plan.geometry.b; line++)
		if (ink_line_holds_something(t, line) && !t->groups[line / INK_GROUP_LINES])
			fail_msg("line %u holds something, and its group is not noted", line);
}

/* --------------------------------------------------------- beside the model */

/* Two tables with the same past. The model reads all lines at each tick. */
static struct {
	struct ink_table *skips, *model;
	enum ink_simd simd;
	uint64_t now, ids; /* flows are numbered below `ids` */
	unsigned skipped;  /* groups, by all ticks at once */
} pair;

static void assert_same_tables(void)
{
	assert_int_equal(pair.skips->body_bytes, pair.model->body_bytes);
	assert_memory_equal(pair.skips->body, pair.model->body, pair.skips->body_bytes);
	assert_noted(pair.skips);
}

static void assert_same_expiries(const struct ink_counts *a, const struct ink_counts *b)
{
	assert_memory_equal(a, b, sizeof *a);
}

static void call_both(void)
{
	struct call c = {(enum verb)random_below(ALL_VERBS), 0, random_below(STATES), random_below(EVENTS)};
	uint64_t id = id_number(random_below(pair.ids));
	struct result one = perform(pair.skips, id, &c), other = perform(pair.model, id, &c);

	assert_true(same(&one, &other));
}

static void insert_both(void)
{
	struct arrays x[2];
	struct ink_batch one = batch_of(&x[0], BATCH), other = batch_of(&x[1], BATCH);

	for (int i = 0; i < BATCH; i++) {
		x[0].ids[i] = id_number(random_below(pair.ids));
		x[0].states[i] = (uint8_t)random_below(STATES);
	}
	x[1] = x[0];
	assert_int_equal(ink_insert_batch(pair.skips, &one), ink_insert_batch(pair.model, &other));
}

/* From one tick to years. */
static uint64_t some_gap(void)
{
	static const uint64_t gaps[] = {1, 1, 2, 5, 20, 1000, 1000000};

	return gaps[random_below(COUNT(gaps))];
}

static void tick_both(void)
{
	struct ink_counts one, other;

	pair.now += some_gap();
	pair.skipped += (unsigned)ink_groups(&pair.skips->plan) - groups_noted(pair.skips);
	ink_groups_note_all(pair.model);
	assert_int_equal(ink_tick(pair.skips, pair.now, &one), 0);
	assert_int_equal(ink_tick(pair.model, pair.now, &other), 0);
	assert_same_expiries(&one, &other);
}

/* Some portions, of any length; calls follow while the tick is under way. */
static void begin_both(void)
{
	uint64_t cells = random_below(LINES * 12);

	pair.now += some_gap();
	for (unsigned i = random_below(6); i > 0; i--) {
		struct ink_counts one, other;

		ink_groups_note_all(pair.model);
		assert_int_equal(ink_tick_portion(pair.skips, pair.now, cells, &one),
				 ink_tick_portion(pair.model, pair.now, cells, &other));
		assert_same_expiries(&one, &other);
		call_both();
	}
}

static struct ink_table *loaded(struct ink_table *saved)
{
	struct ink_load_options o = {.size = sizeof o, .simd = pair.simd};
	struct ink_buffer file;
	struct ink_table *t;
	uint64_t bytes;

	SKIP_WITHOUT_SNAPSHOTS();
	assert_int_equal(ink_save_bytes(saved, NULL, &bytes, NULL), 0);
	file = (struct ink_buffer){malloc(bytes), bytes, 0};
	assert_int_equal(ink_save_buffer(saved, &file, NULL, NULL), 0);
	t = ink_load_buffer(file.bytes, file.used, &o, NULL);
	free(file.bytes);
	ink_free(saved);
	assert_non_null(t);
	assert_int_equal(groups_noted(t), ink_groups(&t->plan));
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
	return t;
}

static struct ink_table *copied(struct ink_table *original)
{
	struct ink_table *t = ink_copy(original, NULL, NULL);

	assert_non_null(t);
	assert_int_equal(groups_noted(t), groups_noted(original));
	ink_free(original);
	return t;
}

static void work_on_both(void)
{
	unsigned lot = random_below(100);

	if (lot < 60)
		call_both();
	else if (lot < 70)
		insert_both();
	else if (lot < 88)
		tick_both();
	else if (lot < 98)
		begin_both();
	else if (lot < 99)
		pair.model = loaded(pair.model), pair.skips = loaded(pair.skips);
	else
		pair.model = copied(pair.model), pair.skips = copied(pair.skips);
}

/* With few flows most groups are empty; with many, entries are displaced and flows find no room. */
static void compare_with_model(const struct ink_options *o)
{
	static const uint64_t flows[] = {5, 200, 20000};
	unsigned rounds = (unsigned)scaled(3000);

	pair.skips = table_with(o);
	pair.model = table_with(o);
	pair.simd = o->simd;
	pair.now = 0;
	for (unsigned i = 0; i < rounds; i++) {
		pair.ids = flows[i / 40 % COUNT(flows)];
		for (int k = 0; k < 60 && i % 120 == 80; k++)
			insert_both();
		work_on_both();
		assert_same_tables();
	}
	assert_sound(pair.skips);
	ink_free(pair.skips);
	ink_free(pair.model);
}

TEST_THAT(a_tick_that_skips_groups_leaves_the_table_as_if_it_had_read_all_of_it)
{
	static const enum ink_full policies[] = {INK_UNSURE, INK_REFUSE, INK_REPLACE};

	for (size_t i = 0; i < COUNT(ways); i++) {
		pair.skipped = 0;
		for (unsigned k = 0; k < COUNT(policies); k++) {
			struct ink_options o = options_of(&ways[i], &rules);

			o.full = policies[k];
			o.age_bits = (i + k) % 3 == 2 ? 2 : 1;
			compare_with_model(&o);
		}
		assert_true(pair.skipped > scaled(500));
	}
}

/* ------------------------------------------------------------ what is visited */

/* Memory from mmap, so that a test can forbid to touch it. */
static void *map_some(size_t bytes, size_t alignment, void *user)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap_some(void *at, size_t bytes, void *user)
{
	munmap(at, bytes);
}

enum { WIDE_GROUPS = 512 };

static struct ink_table *wide_table(const struct way *way)
{
	static const struct ink_allocator pages = {map_some, unmap_some, NULL};
	struct ink_options o = options_of(way, &rules);

	o.geometry.b = WIDE_GROUPS * INK_GROUP_LINES;
	o.allocator = &pages;
	return table_with(&o);
}

/* Forbids or allows to read the lines of all groups that are not noted. */
static unsigned protect_others(struct ink_table *t, int protection)
{
	size_t bytes = (size_t)INK_GROUP_LINES * INK_CACHE_LINE;
	unsigned n = 0;

	for (size_t i = 0; i < WIDE_GROUPS; i++)
		if (!t->groups[i]) {
			assert_int_equal(mprotect((char *)t->body + i * bytes, bytes, protection), 0);
			n++;
		}
	return n;
}

/* The table is empty before; a group that a tick reads in vain would end the test with a fault. */
static void tick_after_gap(struct ink_table *t, uint64_t now)
{
	struct ink_counts expired;

	assert_int_equal(groups_noted(t), 1);
	assert_int_equal(protect_others(t, PROT_NONE), WIDE_GROUPS - 1);
	assert_int_equal(ink_tick(t, now, &expired), 0);
	assert_int_equal(expired.total, 1);
	protect_others(t, PROT_READ | PROT_WRITE);
	assert_int_equal(groups_noted(t), 0);
}

TEST_THAT(a_tick_after_a_gap_reads_one_group_for_one_flow)
{
	for (size_t i = 0; i < COUNT(ways); i++) {
		struct ink_table *t = wide_table(&ways[i]);

		for (uint64_t k = 1; k <= 100; k++) {
			assert_int_equal(ink_insert(t, id_number(k), B), 0);
			tick_after_gap(t, k * 1000000);
		}
		ink_free(t);
	}
}

TEST_THAT(an_entry_that_stays_keeps_its_group_and_no_other)
{
	for (size_t i = 0; i < COUNT(ways); i++) {
		struct ink_table *t = wide_table(&ways[i]);

		assert_int_equal(ink_insert(t, id_number(1), C), 0);
		for (uint64_t k = 2; k <= 19; k++) { /* within the first period of C */
			assert_int_equal(ink_insert(t, id_number(k * 7), B), 0);
			assert_int_equal(ink_delete(t, id_number(k * 7)), 0);
			assert_int_equal(ink_tick(t, k * 2, NULL), 0);
			assert_int_equal(groups_noted(t), 1);
		}
		assert_int_equal(ink_tick(t, 1000000, NULL), 0);
		assert_int_equal(groups_noted(t), 0);
		ink_free(t);
	}
}

TEST_THAT(portions_note_what_is_left_in_a_group_they_pass_in_parts)
{
	for (size_t i = 0; i < COUNT(ways); i++) {
		struct ink_options o = options_of(&ways[i], &rules);
		struct ink_table *t = table_with(&o);

		for (uint64_t k = 0; k < 500; k++)
			assert_int_equal(ink_insert(t, id_number(k), k < 3 ? C : B), 0);
		for (uint64_t now = 10; now <= 30; now += 10)
			while (ink_tick_portion(t, now, 300, NULL))
				assert_noted(t);
		assert_in_range(groups_noted(t), 1, 3);
		assert_int_equal(stats_of(t).flows, 3);
		for (uint64_t now = 100; now <= 300; now += 100)
			while (ink_tick_portion(t, now, 300, NULL))
				;
		assert_int_equal(groups_noted(t), 0);
		ink_free(t);
	}
}

/* ----------------------------------------------------------- what notes a group */

/* Since the copy was made, of a body whose groups were all forgotten. */
static void assert_changes_are_noted(const struct ink_table *t, const unsigned char *before)
{
	for (size_t i = 0; i < LINES; i++)
		if (memcmp((char *)t->body + i * INK_CACHE_LINE, before + i * INK_CACHE_LINE,
			   INK_CACHE_LINE) != 0)
			assert_true(t->groups[i / INK_GROUP_LINES]);
}

/* A displacement changes a second line in place of the victim, which was noted for it. */
static void insert_is_noted(struct ink_table *t, uint64_t id, unsigned char *before)
{
	uint64_t displaced = t->counters.displaced;

	memcpy(before, t->body, (size_t)LINES * INK_CACHE_LINE);
	memset(t->groups, 0, ink_groups(&t->plan));
	ink_insert(t, id, A);
	if (displaced == t->counters.displaced)
		assert_changes_are_noted(t, before);
	else
		assert_int_equal(groups_noted(t), 1);
}

TEST_THAT(an_insert_a_displacement_and_an_overflow_flag_note_their_groups)
{
	unsigned char *before = keep_new(LINES, INK_CACHE_LINE);

	for (size_t i = 0; i < COUNT(ways); i++) {
		struct ink_options o = options_of(&ways[i], &rules);
		uint64_t k = 0;

		o.geometry.side = INK_NO_SIDE;
		table = table_with(&o);
		while (stats_of(table).refused < 100)
			for (int n = 0; n < 50; n++)
				insert_is_noted(table, id_number(k++), before);
		assert_true(ways[i].writers > 1 || stats_of(table).displaced > 100);
		ink_free(table);
		table = NULL;
	}
}

/* -------------------------------------------------------------- many writers */

enum { WRITERS = 2, EACH = 200000 };

static void *insert_and_delete(void *with)
{
	uint64_t seed = 1 + (uint64_t)(uintptr_t)with, first = (uint64_t)(uintptr_t)with << 32;

	for (uint32_t i = 0, n = (uint32_t)scaled(EACH); i < n && !has_failed(); i++) {
		uint64_t id = id_number(first + below_from(&seed, 8));

		if (below_from(&seed, 2))
			ink_set(table, id, C);
		else
			ink_delete(table, id);
	}
	return NULL;
}

static void *tick_on(void *with)
{
	for (uint64_t now = 1; goes_on(); now++)
		if (ink_tick(table, now, NULL) != 0)
			complain("a tick failed");
	return NULL;
}

/* Few flows, so that groups become empty and are noted again all the time. */
TEST_THAT(no_entry_of_many_writers_is_lost_from_its_group_while_another_thread_ticks)
{
	struct way way = {INK_LINE, INK_SIMD_BEST, WRITERS + 1};
	struct ink_options o = options_of(&way, &rules);

	for (int round = 0; round < 10; round++) {
		table = table_with(&o);
		crew_new(1);
		crew_add(tick_on, NULL);
		for (uintptr_t i = 0; i < WRITERS; i++)
			crew_add(insert_and_delete, (void *)i);
		crew_wait(1);
		assert_noted(table);
		assert_sound(table);
		free_all(NULL);
	}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_all});
}
