/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefetching changes nothing, in any kind, for any number of ids, and from any thread.
 * And batches of steps, which look at a block before they change it, do what single
 * steps do although a step of the block stores, moves or removes what was seen.
 */
#include "tests/random.h"
#include "tests/threads.h"

enum { FLOWS = 3000, IDS = 100, STEPS = 300, ROUNDS = 2000 };

static struct ink_table *other;

static int free_both(void **state)
{
	ink_free(other);
	other = NULL;
	return free_all(state);
}

static void make_filled(struct ink_options o)
{
	o.size = sizeof o;
	o.flows = FLOWS;
	o.seed = 7;
	table = table_with(&o);
	for (uint64_t i = 0; i < FLOWS; i++)
		ink_insert(table, id_number(i), (unsigned)i % o.states);
}

static void fetch_many(const struct ink_table *of)
{
	uint64_t ids[IDS];

	for (size_t n = 0; n < IDS; n++) {
		ids[n] = id_number(2 * n);
		ink_fetch(of, ids[n]);
		ink_fetch_batch(of, ids, n);
	}
}

TEST_THAT(a_fetch_changes_nothing_in_any_kind)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++) {
		make_filled((struct ink_options){.kind = kind.kind, .states = 4});
		other = ink_copy(table, NULL, NULL);
		fetch_many(table);
		assert_memory_equal(table->body, other->body, table->body_bytes);
		free_both(state);
	}
}

static void *fetch_on(void *of)
{
	while (goes_on())
		fetch_many(of);
	return NULL;
}

TEST_THAT(a_table_that_grows_can_be_fetched_from_another_thread)
{
	make_filled((struct ink_options){.kind = INK_EXACT, .states = 4});
	crew_new(1);
	crew_add(fetch_on, table);
	for (uint64_t i = FLOWS; i < 20 * FLOWS; i++)
		ink_insert(table, id_number(i), 0);
	crew_wait(1);
	assert_int_equal(stats_of(table).flows, 20 * FLOWS);
}

/* Event 0 stores a flow or moves it on, event 1 removes it, event 2 is a start event without a row. */
static const struct ink_row rows[5 * 3] = {
	{1, 1},          {INK_ABSENT, 2}, {INK_NO_ROW, 0}, /* state 0 */
	{2, 3},          {INK_ABSENT, 4}, {INK_NO_ROW, 0}, /* state 1 */
	{0, 5},          {INK_ABSENT, 6}, {INK_NO_ROW, 0}, /* state 2 */
	{0, 7},          {INK_NO_ROW, 0}, {1, 8},          /* absent */
	{INK_NO_ROW, 9}, {INK_NO_ROW, 9}, {INK_NO_ROW, 9},
};
static const uint8_t starts[3] = {0, 0, 1};
static const struct ink_rules rules = {
	.size = sizeof rules, .states = 3, .events = 3, .rows = rows, .starts = starts};

/* Of few flows, so that a block has some of them several times, and of the many that fill the table. */
static uint64_t any_flow(void)
{
	return id_number(random_below(2) ? random_below(8) : random_below(FLOWS + FLOWS / 8));
}

static void step_both(size_t n)
{
	uint64_t ids[STEPS];
	uint16_t events[STEPS];
	struct ink_move moves[STEPS], move;
	int errors[STEPS];

	for (size_t i = 0; i < n; i++) {
		ids[i] = any_flow();
		events[i] = (uint16_t)(random_below(16) == 0 ? 2 : random_below(2));
	}
	ink_step_batch(
		table,
		&(struct ink_batch){.n = n, .ids = ids, .events = events, .moves = moves, .errors = errors});
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ink_step(other, ids[i], events[i], &move), errors[i]);
		assert_memory_equal(&move, &moves[i], sizeof move);
	}
	assert_memory_equal(table->body, other->body, table->body_bytes);
}

static void assert_steps_alike(struct ink_options o)
{
	o.states = rules.states;
	o.rules = &rules;
	make_filled(o);
	other = ink_copy(table, NULL, NULL);
	for (int i = 0; i < ROUNDS; i++)
		step_both(random_below(STEPS));
	assert_sound(table);
	free_both(NULL);
}

TEST_THAT(batches_of_steps_do_what_single_steps_do)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++) {
		assert_steps_alike((struct ink_options){.kind = kind.kind, .simd = INK_SIMD_NONE});
		assert_steps_alike((struct ink_options){.kind = kind.kind,
							.age_bits = (kind.can & INK_CAN_TIME_OUT) != 0});
	}
	assert_steps_alike((struct ink_options){.kind = INK_LINE, .writers = 2, .full = INK_REFUSE});
	assert_steps_alike((struct ink_options){.kind = INK_LINE, .error = 1e-5});
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_both});
}
