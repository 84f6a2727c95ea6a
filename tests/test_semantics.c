/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens when: a test for every cell of the tables in docs/semantics.md,
 * run for every kind of table and every instruction set. Each checks what the
 * call returned, which counters and which numbers of flows it changed, that it
 * changed no others, and that the table is sound.
 */
#include "tests/help.h"

/* -------------------------------------------------------------- the machine */

enum { KEPT, OTHER, SPARE, LAST, STATES }; /* SPARE is expendable */

/* START has a row in OTHER, as a repeated SYN would; FALSE_START has none, not even in absent. */
enum { GO, REST, END, START, FALSE_START, EVENTS };

/* clang-format off */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	/*            GO           REST              END               START             FALSE_START */
	/* KEPT   */ {OTHER, 10}, {INK_NO_ROW, 11}, {INK_ABSENT, 12}, {INK_NO_ROW, 13}, {INK_NO_ROW, 14},
	/* OTHER  */ {LAST, 20},  {INK_NO_ROW, 21}, {INK_ABSENT, 22}, {OTHER, 23},      {INK_NO_ROW, 24},
	/* SPARE  */ {SPARE, 30}, {INK_NO_ROW, 31}, {INK_ABSENT, 32}, {INK_NO_ROW, 33}, {INK_NO_ROW, 34},
	/* LAST   */ {KEPT, 40},  {INK_NO_ROW, 41}, {INK_ABSENT, 42}, {INK_NO_ROW, 43}, {INK_NO_ROW, 44},
	/* absent */ {KEPT, 50},  {INK_NO_ROW, 51}, {INK_ABSENT, 52}, {OTHER, 53},      {INK_NO_ROW, 54},
	/* unsure */ {KEPT, 60},  {INK_NO_ROW, 61}, {INK_ABSENT, 62}, {OTHER, 63},      {INK_NO_ROW, 64},
};
/* clang-format on */

static const uint8_t starts[EVENTS] = {[START] = 1, [FALSE_START] = 1};

/* Nothing ends here but SPARE, and that after long: a tick clears overflow flags and does no more. */
static const struct ink_timing timings[STATES + 1] = {
	[KEPT] = {0, INK_ABSENT, 0}, [OTHER] = {0, INK_ABSENT, 0},  [SPARE] = {1000, INK_ABSENT, 1},
	[LAST] = {0, INK_ABSENT, 0}, [STATES] = {0, INK_ABSENT, 0},
};

static const struct ink_rules rules = {.size = sizeof rules,
				       .states = STATES,
				       .events = EVENTS,
				       .rows = rows,
				       .starts = starts,
				       .timings = timings};

/* ------------------------------------------------------------------ the table */

/* The flow that a test is about, and where it matters another one that meets its entry. */
static uint64_t first, second;

/* Those that fill the table. */
enum { MOST_CELLS = 200 };
static uint64_t filler[MOST_CELLS];
static size_t fillers;

static struct ink_options options_for(uint32_t side, enum ink_full full)
{
	struct ink_options o = variant_options();

	o.states = STATES;
	o.age_bits = 1;
	o.full = full;
	o.rules = &rules;
	o.geometry.side = side;
	return o;
}

static uint64_t flow(unsigned state)
{
	uint64_t id = stranger();

	assert_int_equal(ink_insert(t, id, state), 0);
	return id;
}

/* A table with a flow in LAST, whom nothing should concern. */
static void make(uint32_t side, enum ink_full full)
{
	struct ink_options o = options_for(side, full);

	make_from(&o);
	flow(LAST);
	note();
}

/* The first flow is stored, in KEPT. */
static void pair(void)
{
	first = flow(KEPT);
	second = twin_of(first);
	note();
}

/* The second is in the side table. */
static void pair_and_side(unsigned state)
{
	pair();
	assert_int_equal(ink_insert(t, second, state), 0);
	assert_int_equal(stats_now().side_flows, 1);
	note();
}

/* Another flow is in the side table; its twin is in LAST. */
static void fill_side(unsigned state)
{
	uint64_t id = flow(OTHER), twin = twin_of(id);

	assert_int_equal(ink_insert(t, twin, state), 0);
	assert_int_equal(ink_modify(t, id, LAST), 0);
	assert_int_equal(stats_now().side_flows, 1);
	note();
}

/* In `dleft` a flow may come to meet an entry that was stored later. */
static int all_are_known(unsigned state)
{
	for (size_t i = 0; i < fillers; i++)
		if (ink_peek(t, filler[i]) != (ink_answer)state)
			return 0;
	return 1;
}

/* Stores another filler in a cell; not if it would go to the side table, or be in the way of the others. */
static void add_filler(unsigned state)
{
	struct ink_stats s = stats_now();
	ink_answer of_first = ink_peek(t, first), of_second = ink_peek(t, second);
	uint64_t id = stranger();

	if (ink_insert(t, id, state) != 0)
		return;
	filler[fillers++] = id;
	if (stats_now().side_flows == s.side_flows && all_are_known(state) &&
	    ink_peek(t, first) == of_first && ink_peek(t, second) == of_second)
		return;
	assert_int_equal(ink_delete(t, id), 0);
	fillers--;
}

/* Every cell has an entry now. The policy rests meanwhile, or it would drop some for others. */
static void fill(unsigned state)
{
	enum ink_full policy = t->full;
	struct ink_stats s = stats_now();

	assert_true(s.cells <= MOST_CELLS);
	t->full = INK_REFUSE;
	for (fillers = 0; s.flows - s.side_flows < s.cells; s = stats_now())
		add_filler(state);
	t->full = policy;
	note();
}

static void remove_fillers(void)
{
	for (size_t i = 0; i < fillers; i++)
		assert_int_equal(ink_delete(t, filler[i]), 0);
	note();
}

/* ------------------------------------------------------------------ situations */

static int a_table(void **state)
{
	(void)state;
	make(1, INK_UNSURE);
	first = stranger();
	return 0;
}

static int a_stored_flow(void **state)
{
	(void)state;
	make(1, INK_UNSURE);
	first = flow(KEPT);
	note();
	return 0;
}

static int two_flows_with_one_entry(void **state)
{
	(void)state;
	make(1, INK_UNSURE);
	pair();
	return 0;
}

static int a_flow_in_the_side_table(void **state)
{
	(void)state;
	make(1, INK_UNSURE);
	pair_and_side(OTHER);
	return 0;
}

/* The side table was full when the second flow collided with the first, and has room again. */
static int a_dont_know_entry(void **state)
{
	uint64_t id, twin;

	(void)state;
	make(1, INK_UNSURE);
	id = flow(OTHER);
	twin = twin_of(id);
	assert_int_equal(ink_insert(t, twin, SPARE), 0);
	pair();
	assert_int_equal(ink_insert(t, second, LAST), -ENOSPC);
	assert_int_equal(ink_delete(t, twin), 0);
	note();
	return 0;
}

/* The lines had no room for the first flow. All others are in KEPT. */
static int overflowed_lines(void **state)
{
	(void)state;
	make(INK_NO_SIDE, INK_UNSURE);
	fill(KEPT);
	first = stranger();
	assert_int_equal(ink_insert(t, first, OTHER), -ENOSPC);
	note();
	return 0;
}

/* --------------------------------------------------- no match: in every kind */

static void a_lookup_without_match_is_absent(void **state)
{
	(void)state;
	assert_int_equal(ink_lookup(t, first), INK_ABSENT);
	assert_unchanged();
}

static void a_peek_without_match_is_absent(void **state)
{
	(void)state;
	assert_int_equal(ink_peek(t, first), INK_ABSENT);
	assert_unchanged();
}

static void an_insert_without_match_is_stored(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, first, OTHER), 0);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_set_without_match_is_stored(void **state)
{
	(void)state;
	assert_int_equal(ink_set(t, first, OTHER), 0);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_modify_without_match_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, first, OTHER), -ENOENT);
	assert_unchanged();
}

static void a_delete_without_match_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(ink_delete(t, first), -ENOENT);
	assert_unchanged();
}

static void a_step_without_match_takes_the_row_of_absent(void **state)
{
	(void)state;
	assert_steps(first, GO, INK_ABSENT, KEPT, 50);
	assert_changed(.state[KEPT] = 1);
	assert_int_equal(ink_peek(t, first), KEPT);
}

static void a_step_without_match_and_row_leaves_the_flow_absent(void **state)
{
	(void)state;
	assert_steps(first, REST, INK_ABSENT, INK_ABSENT, 51);
	assert_steps(first, END, INK_ABSENT, INK_ABSENT, 52);
	assert_steps(first, FALSE_START, INK_ABSENT, INK_ABSENT, 54);
	assert_unchanged();
}

/* --------------------------------------------- its own entry: in every kind */

static void a_lookup_of_a_flow_gives_its_state(void **state)
{
	(void)state;
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_unchanged();
}

static void a_peek_of_a_flow_gives_its_state(void **state)
{
	(void)state;
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_unchanged();
}

static void a_set_of_a_flow_changes_its_state(void **state)
{
	(void)state;
	assert_int_equal(ink_set(t, first, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_modify_of_a_flow_changes_its_state(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, first, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_delete_of_a_flow_removes_it(void **state)
{
	(void)state;
	assert_int_equal(ink_delete(t, first), 0);
	assert_changed(.state[KEPT] = -1);
	assert_int_equal(ink_peek(t, first), INK_ABSENT);
	assert_int_equal(ink_delete(t, first), -ENOENT);
}

static void a_step_of_a_flow_takes_the_row_of_its_state(void **state)
{
	(void)state;
	assert_steps(first, GO, KEPT, OTHER, 10);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_step_of_a_flow_without_row_lets_it_stay(void **state)
{
	(void)state;
	assert_steps(first, REST, KEPT, KEPT, 11);
	assert_unchanged();
	assert_int_equal(ink_peek(t, first), KEPT);
}

static void a_step_to_absent_deletes(void **state)
{
	(void)state;
	assert_steps(first, END, KEPT, INK_ABSENT, 12);
	assert_changed(.state[KEPT] = -1);
	assert_int_equal(ink_peek(t, first), INK_ABSENT);
}

static void a_start_event_with_a_row_is_like_any_other(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, first, OTHER), 0);
	note();
	assert_steps(first, START, OTHER, OTHER, 23);
	assert_unchanged();
}

static void a_state_that_the_table_has_not_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, stranger(), STATES), -EINVAL);
	assert_int_equal(ink_set(t, stranger(), STATES), -EINVAL);
	assert_int_equal(ink_modify(t, stranger(), STATES), -EINVAL);
	assert_int_equal(ink_set(t, first, UINT32_MAX), -EINVAL);
	assert_int_equal(ink_modify(t, first, STATES + 3), -EINVAL);
	assert_int_equal(ink_insert(t, first, 255), -EINVAL);
	assert_unchanged();
	assert_int_equal(ink_peek(t, first), KEPT);
}

/* ------------------------------------------- its own entry, met by an insert */

static void an_insert_of_a_stored_flow_is_a_collision(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, first, OTHER), 0);
	assert_changed(.side_flows = 1, .collisions = 1, .state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, first), OTHER); /* by first comes first */
	assert_int_equal(ink_delete(t, first), 0);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_delete(t, first), 0);
	assert_changed(.side_flows = -1, .state = {[OTHER] = -1, [KEPT] = -1});
}

/* ---------------------------------------------------- another flow's entry */

static void a_lookup_that_meets_another_flow_gives_that_ones_state(void **state)
{
	(void)state;
	assert_int_equal(ink_lookup(t, second), KEPT);
	assert_unchanged();
}

static void a_peek_that_meets_another_flow_gives_that_ones_state(void **state)
{
	(void)state;
	assert_int_equal(ink_peek(t, second), KEPT);
	assert_unchanged();
}

static void an_insert_that_meets_another_flow_goes_to_the_side_table(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, second, OTHER), 0);
	assert_changed(.side_flows = 1, .collisions = 1, .state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_lookup(t, second), OTHER);
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), OTHER);
}

static void a_set_that_meets_another_flow_changes_that_one(void **state)
{
	(void)state;
	assert_int_equal(ink_set(t, second, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_modify_that_meets_another_flow_changes_that_one(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, second, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_delete_that_meets_another_flow_removes_that_one(void **state)
{
	(void)state;
	assert_int_equal(ink_delete(t, second), 0);
	assert_changed(.state[KEPT] = -1);
	assert_int_equal(ink_peek(t, first), INK_ABSENT);
}

static void a_step_that_meets_another_flow_moves_that_one(void **state)
{
	(void)state;
	assert_steps(second, REST, KEPT, KEPT, 11);
	assert_unchanged();
	assert_steps(second, GO, KEPT, OTHER, 10);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_start_event_without_row_at_a_match_begins_a_new_flow(void **state)
{
	(void)state;
	assert_steps(second, START, INK_ABSENT, OTHER, 53);
	assert_changed(.side_flows = 1, .collisions = 1, .state[OTHER] = 1);
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), OTHER);
}

static void a_start_event_at_a_match_that_absent_has_no_row_for_changes_nothing(void **state)
{
	(void)state;
	assert_steps(second, FALSE_START, INK_ABSENT, INK_ABSENT, 54);
	assert_unchanged();
	assert_int_equal(ink_peek(t, first), KEPT);
}

/* ------------------------------------------------ found by id in the side table */

static void a_lookup_by_id_gives_the_state(void **state)
{
	(void)state;
	assert_int_equal(ink_lookup(t, second), OTHER);
	assert_unchanged();
}

static void a_peek_by_id_gives_the_state(void **state)
{
	(void)state;
	assert_int_equal(ink_peek(t, second), OTHER);
	assert_unchanged();
}

static void an_insert_by_id_finds_that_it_exists(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, second, LAST), -EEXIST);
	assert_unchanged();
	assert_int_equal(ink_peek(t, second), OTHER);
}

static void a_set_by_id_changes_the_state(void **state)
{
	(void)state;
	assert_int_equal(ink_set(t, second, LAST), 0);
	assert_changed(.state = {[OTHER] = -1, [LAST] = 1});
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), LAST);
}

static void a_modify_by_id_changes_the_state(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, second, LAST), 0);
	assert_changed(.state = {[OTHER] = -1, [LAST] = 1});
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), LAST);
}

static void a_delete_by_id_removes_that_flow_only(void **state)
{
	(void)state;
	assert_int_equal(ink_delete(t, second), 0);
	assert_changed(.side_flows = -1, .state[OTHER] = -1);
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), KEPT); /* the entry of the first, again */
}

static void a_step_by_id_takes_the_row_of_the_state(void **state)
{
	(void)state;
	assert_steps(second, GO, OTHER, LAST, 20);
	assert_changed(.state = {[OTHER] = -1, [LAST] = 1});
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), LAST);
}

static void a_step_by_id_without_row_lets_the_flow_stay(void **state)
{
	(void)state;
	assert_steps(second, REST, OTHER, OTHER, 21);
	assert_unchanged();
}

static void a_step_by_id_to_absent_deletes(void **state)
{
	(void)state;
	assert_steps(second, END, OTHER, INK_ABSENT, 22);
	assert_changed(.side_flows = -1, .state[OTHER] = -1);
	assert_int_equal(ink_peek(t, first), KEPT);
}

static void a_start_event_without_row_by_id_begins_anew_in_place(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, second, LAST), 0);
	note();
	assert_steps(second, START, INK_ABSENT, OTHER, 53);
	assert_changed(.state = {[LAST] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), KEPT);
	assert_int_equal(ink_peek(t, second), OTHER);
}

static void a_start_event_by_id_that_absent_has_no_row_for_ends_the_flow(void **state)
{
	(void)state;
	assert_steps(second, FALSE_START, INK_ABSENT, INK_ABSENT, 54);
	assert_changed(.side_flows = -1, .state[OTHER] = -1);
	assert_int_equal(ink_peek(t, first), KEPT);
}

/* -------------------------------------------------- an entry marked don't-know */

static void a_lookup_of_a_dont_know_entry_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(ink_lookup(t, first), INK_DONT_KNOW);
	assert_int_equal(ink_lookup(t, second), INK_DONT_KNOW);
	assert_unchanged();
}

static void a_peek_of_a_dont_know_entry_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(ink_peek(t, first), INK_DONT_KNOW);
	assert_int_equal(ink_peek(t, second), INK_DONT_KNOW);
	assert_unchanged();
}

static void an_insert_at_a_dont_know_entry_goes_to_the_side_table(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, second, OTHER), 0);
	assert_changed(.side_flows = 1, .collisions = 1, .state[OTHER] = 1);
	assert_int_equal(ink_peek(t, first), INK_DONT_KNOW);
	assert_int_equal(ink_peek(t, second), OTHER);
	assert_int_equal(ink_insert(t, first, KEPT), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1); /* it is marked once */
}

static void a_set_at_a_dont_know_entry_is_busy(void **state)
{
	(void)state;
	assert_int_equal(ink_set(t, first, OTHER), -EBUSY);
	assert_int_equal(ink_set(t, second, OTHER), -EBUSY);
	assert_unchanged();
}

static void a_modify_at_a_dont_know_entry_is_busy(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, first, OTHER), -EBUSY);
	assert_int_equal(ink_modify(t, second, OTHER), -EBUSY);
	assert_unchanged();
}

static void a_delete_at_a_dont_know_entry_is_busy(void **state)
{
	(void)state;
	assert_int_equal(ink_delete(t, first), -EBUSY);
	assert_int_equal(ink_delete(t, second), -EBUSY);
	assert_unchanged();
}

static void a_step_at_a_dont_know_entry_takes_the_action_of_unsure(void **state)
{
	(void)state;
	for (unsigned event = 0; event < EVENTS; event++)
		assert_steps(first, event, INK_DONT_KNOW, INK_DONT_KNOW, 60 + event);
	assert_unchanged();
}

/* ----------------------------------------- no match, and all lines overflowed */

static void a_lookup_in_overflowed_lines_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(ink_lookup(t, first), INK_DONT_KNOW);
	assert_unchanged();
}

static void a_peek_in_overflowed_lines_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(ink_peek(t, first), INK_DONT_KNOW);
	assert_unchanged();
}

static void an_insert_into_overflowed_lines_is_tried(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, first, OTHER), -ENOSPC);
	assert_changed(.refused = 1);
	remove_fillers();
	assert_int_equal(ink_insert(t, first, OTHER), 0);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, first), OTHER);
}

static void a_set_into_overflowed_lines_is_tried(void **state)
{
	(void)state;
	assert_int_equal(ink_set(t, first, OTHER), -ENOSPC);
	assert_changed(.refused = 1);
	remove_fillers();
	assert_int_equal(ink_set(t, first, OTHER), 0);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, first), OTHER);
}

static void a_modify_in_overflowed_lines_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(ink_modify(t, first, OTHER), -ENOENT);
	assert_unchanged();
}

static void a_delete_in_overflowed_lines_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(ink_delete(t, first), -ENOENT);
	assert_unchanged();
}

static void a_step_in_overflowed_lines_takes_the_action_of_unsure(void **state)
{
	(void)state;
	remove_fillers(); /* also where there is room again */
	for (unsigned event = 0; event < EVENTS; event++)
		assert_steps(first, event, INK_DONT_KNOW, INK_DONT_KNOW, 60 + event);
	assert_unchanged();
}

static void a_match_in_overflowed_lines_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < fillers; i++)
		assert_int_equal(ink_lookup(t, filler[i]), KEPT);
	assert_steps(filler[0], GO, KEPT, OTHER, 10);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
}

/* Does the second flow have no other lines than the first? (`dleft` keeps its places to itself.) */
static int shares_all_lines(uint64_t id, uint64_t other)
{
	uint32_t a[2], b[2];

	if (variant->kind == INK_COMPACT) {
		struct place p = compact_place(&t->shape.compact, t->plan.geometry.b, id),
			     q = compact_place(&t->shape.compact, t->plan.geometry.b, other);

		a[0] = first_line(&p), a[1] = second_line(&p);
		b[0] = first_line(&q), b[1] = second_line(&q);
	} else {
		struct ink_line_place p = ink_line_place(&t->shape.line, id);
		struct ink_line_place q = ink_line_place(&t->shape.line, other);

		a[0] = p.first, a[1] = p.second, b[0] = q.first, b[1] = q.second;
	}
	return (b[0] == a[0] || b[0] == a[1]) && (b[1] == a[0] || b[1] == a[1]);
}

static void a_miss_is_in_doubt_only_if_all_its_lines_overflowed(void **state)
{
	struct ink_options o = options_for(INK_NO_SIDE, INK_UNSURE);
	int absent = 0, unknown = 0;

	(void)state;
	o.geometry.b = 4;
	make_from(&o);
	fill(KEPT);
	first = stranger();
	assert_int_equal(ink_insert(t, first, OTHER), -ENOSPC);
	note();
	for (int i = 0; i < 1000; i++) {
		uint64_t id = random_word();
		ink_answer a = ink_lookup(t, id);

		absent += a == INK_ABSENT;
		unknown += a == INK_DONT_KNOW;
		if (a != KEPT && !is_dleft())
			assert_int_equal(a, shares_all_lines(first, id) ? INK_DONT_KNOW : INK_ABSENT);
	}
	assert_true(absent > 0);
	assert_true(unknown > 0);
	assert_unchanged();
}

/* ------------------------------------------------------------------- no room */

/* The three verbs that store; each would put a new flow into OTHER. */
typedef int (*store_fn)(uint64_t id);

static int by_insert(uint64_t id)
{
	return ink_insert(t, id, OTHER);
}

static int by_set(uint64_t id)
{
	return ink_set(t, id, OTHER);
}

static int by_step(uint64_t id)
{
	struct ink_move m;
	int result = ink_step(t, id, START, &m);

	assert_move(m, INK_ABSENT, result ? INK_ABSENT : OTHER, 53);
	return result;
}

/* The lines are full, the side table is not. */
static void no_room_but_in_the_side_table(store_fn store)
{
	uint64_t id, next;

	make(1, INK_UNSURE);
	fill(KEPT);
	id = stranger();
	assert_int_equal(store(id), 0);
	assert_changed(.side_flows = 1, .overflowed = 1, .state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, id), OTHER);
	next = stranger();
	assert_int_equal(store(next), -ENOSPC);
	assert_changed(.refused = 1);
}

static void an_insert_that_the_lines_have_no_room_for_goes_to_the_side_table(void **state)
{
	(void)state;
	no_room_but_in_the_side_table(by_insert);
}

static void a_set_that_the_lines_have_no_room_for_goes_to_the_side_table(void **state)
{
	(void)state;
	no_room_but_in_the_side_table(by_set);
}

static void a_step_that_the_lines_have_no_room_for_goes_to_the_side_table(void **state)
{
	(void)state;
	no_room_but_in_the_side_table(by_step);
}

/* Under unsure: refused, and from then on the table does not know. */
static void no_room_under_unsure(store_fn store)
{
	uint64_t id;

	make(INK_NO_SIDE, INK_UNSURE);
	fill(KEPT);
	id = stranger();
	assert_int_equal(store(id), -ENOSPC);
	assert_changed(.refused = 1);
	assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
	assert_int_equal(ink_tick(t, 1, NULL), 0);
	assert_int_equal(ink_lookup(t, id), INK_ABSENT);
	assert_unchanged();
}

static void an_insert_without_room_is_refused_under_unsure(void **state)
{
	(void)state;
	no_room_under_unsure(by_insert);
}

static void a_set_without_room_is_refused_under_unsure(void **state)
{
	(void)state;
	no_room_under_unsure(by_set);
}

static void a_step_without_room_is_refused_under_unsure(void **state)
{
	(void)state;
	no_room_under_unsure(by_step);
}

/* Under refuse: it reads absent. */
static void no_room_under_refuse(store_fn store)
{
	uint64_t id;

	make(INK_NO_SIDE, INK_REFUSE);
	fill(SPARE); /* that they are expendable is nothing to this policy */
	id = stranger();
	assert_int_equal(store(id), -ENOSPC);
	assert_changed(.refused = 1);
	assert_int_equal(ink_lookup(t, id), INK_ABSENT);
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
	assert_unchanged();
}

static void an_insert_without_room_is_refused_under_refuse(void **state)
{
	(void)state;
	no_room_under_refuse(by_insert);
}

static void a_set_without_room_is_refused_under_refuse(void **state)
{
	(void)state;
	no_room_under_refuse(by_set);
}

static void a_step_without_room_is_refused_under_refuse(void **state)
{
	(void)state;
	no_room_under_refuse(by_step);
}

/* Under replace, with expendable entries in the lines: one goes, the side table's stays. */
static void no_room_under_replace(store_fn store)
{
	uint64_t id;

	make(1, INK_REPLACE);
	pair_and_side(SPARE);
	fill(SPARE);
	id = stranger();
	assert_int_equal(store(id), 0);
	assert_changed(.replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1});
	assert_int_equal(ink_lookup(t, id), OTHER);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_lookup(t, second), SPARE);
}

static void an_insert_without_room_replaces_an_expendable_entry(void **state)
{
	(void)state;
	no_room_under_replace(by_insert);
}

static void a_set_without_room_replaces_an_expendable_entry(void **state)
{
	(void)state;
	no_room_under_replace(by_set);
}

static void a_step_without_room_replaces_an_expendable_entry(void **state)
{
	(void)state;
	no_room_under_replace(by_step);
}

/* Under replace, with an expendable flow in the side table only: the newcomer takes its place. */
static void no_room_under_replace_but_in_the_side_table(store_fn store)
{
	uint64_t id;

	make(1, INK_REPLACE);
	pair_and_side(SPARE);
	fill(KEPT);
	id = stranger();
	assert_int_equal(store(id), 0);
	assert_changed(.replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1});
	assert_int_equal(ink_lookup(t, id), OTHER);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_lookup(t, second), KEPT);
	assert_true(side_is_asked(id));
}

static void an_insert_without_room_replaces_an_expendable_flow_of_the_side_table(void **state)
{
	(void)state;
	no_room_under_replace_but_in_the_side_table(by_insert);
}

static void a_set_without_room_replaces_an_expendable_flow_of_the_side_table(void **state)
{
	(void)state;
	no_room_under_replace_but_in_the_side_table(by_set);
}

static void a_step_without_room_replaces_an_expendable_flow_of_the_side_table(void **state)
{
	(void)state;
	no_room_under_replace_but_in_the_side_table(by_step);
}

/* Under replace, with nothing expendable: as under unsure. */
static void no_room_and_nothing_to_replace(store_fn store)
{
	uint64_t id;

	make(1, INK_REPLACE);
	pair_and_side(OTHER);
	fill(KEPT);
	id = stranger();
	assert_int_equal(store(id), -ENOSPC);
	assert_changed(.refused = 1);
	assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
	assert_int_equal(ink_tick(t, 1, NULL), 0);
	assert_int_equal(ink_lookup(t, id), INK_ABSENT);
	assert_unchanged();
}

static void an_insert_with_nothing_to_replace_is_refused_as_under_unsure(void **state)
{
	(void)state;
	no_room_and_nothing_to_replace(by_insert);
}

static void a_set_with_nothing_to_replace_is_refused_as_under_unsure(void **state)
{
	(void)state;
	no_room_and_nothing_to_replace(by_set);
}

static void a_step_with_nothing_to_replace_is_refused_as_under_unsure(void **state)
{
	(void)state;
	no_room_and_nothing_to_replace(by_step);
}

/* All flows of one line; marks are cleared at 1000, then all but one are touched. */
static void of_the_expendable_entries_one_that_rested_is_replaced(void **state)
{
	struct ink_options o = options_for(INK_NO_SIDE, INK_REPLACE);
	uint64_t ids[MOST_CELLS], cells, id;

	(void)state;
	o.geometry.b = 1;
	make_from(&o);
	cells = stats_now().cells;
	for (uint64_t i = 0; i < cells; i++)
		ids[i] = flow(SPARE);
	assert_int_equal(ink_tick(t, 1000, NULL), 0);
	for (uint64_t i = 0; i < cells; i++)
		if (i != cells / 2)
			ink_lookup(t, ids[i]);
	id = stranger();
	note();
	assert_int_equal(ink_insert(t, id, OTHER), 0);
	assert_changed(.replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1});
	for (uint64_t i = 0; i < cells; i++)
		assert_int_equal(ink_peek(t, ids[i]), i == cells / 2 ? INK_ABSENT : SPARE);
}

static void without_rules_nothing_is_expendable(void **state)
{
	uint64_t id;

	(void)state;
	make(INK_NO_SIDE, INK_REPLACE);
	fill(SPARE);
	assert_int_equal(ink_set_rules(t, NULL, NULL), 0);
	id = stranger();
	assert_int_equal(ink_insert(t, id, OTHER), -ENOSPC);
	assert_changed(.refused = 1);
}

static void a_dont_know_entry_is_not_expendable(void **state)
{
	struct ink_timing expendable_too[STATES + 1];
	struct ink_rules r = rules;

	(void)state;
	memcpy(expendable_too, timings, sizeof timings);
	expendable_too[STATES].expendable = 1;
	r.timings = expendable_too;
	assert_int_equal(ink_set_rules(t, &r, NULL), 0);
	assert_int_equal(ink_insert(t, second, KEPT), 0); /* the side table is full again */
	fill(KEPT);
	t->full = INK_REPLACE;
	assert_int_equal(ink_insert(t, stranger(), OTHER), -ENOSPC);
	assert_changed(.refused = 1);
}

/* ----------------------------------------------- a collision, the side table full */

static void collision_without_room(enum ink_full full, store_fn collide)
{
	make(1, full);
	fill_side(SPARE);
	pair();
	assert_int_equal(collide(second), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1, .marked = 1, .state[KEPT] = -1, .unsure = 1);
	assert_int_equal(ink_lookup(t, first), INK_DONT_KNOW);
	assert_int_equal(ink_lookup(t, second), INK_DONT_KNOW);
}

static void an_insert_that_collides_without_room_marks_the_entry_under_unsure(void **state)
{
	(void)state;
	collision_without_room(INK_UNSURE, by_insert);
}

static void a_step_that_collides_without_room_marks_the_entry_under_unsure(void **state)
{
	(void)state;
	collision_without_room(INK_UNSURE, by_step);
}

static void an_insert_that_collides_without_room_marks_the_entry_under_refuse(void **state)
{
	(void)state;
	collision_without_room(INK_REFUSE, by_insert);
}

static void a_step_that_collides_without_room_marks_the_entry_under_refuse(void **state)
{
	(void)state;
	collision_without_room(INK_REFUSE, by_step);
}

static void collision_that_replaces(store_fn collide)
{
	make(1, INK_REPLACE);
	fill_side(SPARE);
	pair();
	assert_int_equal(collide(second), 0);
	assert_changed(.collisions = 1, .replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1});
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_lookup(t, second), OTHER);
}

static void an_insert_that_collides_replaces_an_expendable_flow_of_the_side_table(void **state)
{
	(void)state;
	collision_that_replaces(by_insert);
}

static void a_step_that_collides_replaces_an_expendable_flow_of_the_side_table(void **state)
{
	(void)state;
	collision_that_replaces(by_step);
}

/* Expendable entries in the lines do not help: the newcomer could not stand there. */
static void collision_with_nothing_to_replace(store_fn collide)
{
	make(1, INK_REPLACE);
	fill_side(LAST);
	flow(SPARE);
	pair();
	assert_int_equal(collide(second), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1);
	assert_int_equal(ink_lookup(t, first), KEPT);
}

static void an_insert_that_collides_with_nothing_to_replace_is_refused_and_marks_nothing(void **state)
{
	(void)state;
	collision_with_nothing_to_replace(by_insert);
}

static void a_step_that_collides_with_nothing_to_replace_is_refused_and_marks_nothing(void **state)
{
	(void)state;
	collision_with_nothing_to_replace(by_step);
}

static void without_side_table_every_collision_marks(void **state)
{
	(void)state;
	make(INK_NO_SIDE, INK_UNSURE);
	pair();
	assert_int_equal(stats_now().side_cells, 0);
	assert_int_equal(ink_insert(t, second, OTHER), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1, .marked = 1, .state[KEPT] = -1, .unsure = 1);
}

/* ------------------------------------------------------------- the side table */

/* In `dleft` all are. */
static void only_flows_of_its_class_are_sent_to_the_side_table(void **state)
{
	uint64_t third;

	(void)state;
	if (variant->kind == INK_DLEFT)
		skip();
	make(3, INK_UNSURE);
	pair();
	do
		third = twin_of(first);
	while (third % 4 == second % 4 || third % 16 % 14 == second % 16 % 14);
	assert_int_equal(ink_insert(t, second, OTHER), 0);
	assert_true(side_is_asked(second));
	assert_false(side_is_asked(third));
	assert_int_equal(ink_insert(t, third, OTHER), 0);
	assert_true(side_is_asked(third));
	assert_int_equal(ink_delete(t, second), 0);
	assert_false(side_is_asked(second));
	assert_int_equal(ink_peek(t, third), OTHER);
	assert_sound();
}

static void the_side_table_is_asked_until_its_last_flow_of_a_line_has_gone(void **state)
{
	uint64_t third;

	(void)state;
	make(3, INK_UNSURE);
	pair();
	do
		third = twin_of(first);
	while (third == second);
	assert_false(side_is_asked(second));
	assert_int_equal(ink_insert(t, second, OTHER), 0);
	assert_int_equal(ink_insert(t, third, OTHER), 0);
	assert_true(side_is_asked(second));
	assert_int_equal(ink_delete(t, second), 0);
	assert_true(side_is_asked(third));
	assert_int_equal(ink_peek(t, third), OTHER);
	assert_int_equal(ink_delete(t, third), 0);
	assert_false(side_is_asked(third));
	assert_sound();
}

static void the_side_table_holds_as_many_flows_as_its_geometry_says(void **state)
{
	enum { SIDE = 5 };
	uint64_t ids[SIDE];

	(void)state;
	make(SIDE, INK_REFUSE);
	assert_int_equal(stats_now().side_cells, SIDE);
	fill(KEPT);
	for (int i = 0; i < SIDE; i++)
		ids[i] = flow(OTHER);
	assert_changed(.side_flows = SIDE, .overflowed = SIDE, .state[OTHER] = SIDE);
	assert_int_equal(ink_insert(t, stranger(), OTHER), -ENOSPC);
	assert_int_equal(ink_delete(t, ids[2]), 0);
	assert_int_equal(ink_insert(t, stranger(), OTHER), 0);
	for (int i = 0; i < SIDE; i++)
		assert_int_equal(ink_lookup(t, ids[i]), i == 2 ? INK_ABSENT : OTHER);
	assert_sound();
}

/* -------------------------------------------------------------- displacement */

/* With 64 lines some are full long before the table is. */
static void a_full_line_makes_room_by_moving_an_entry(void **state)
{
	enum { MOST = 64 * 40 };
	struct ink_options o = options_for(INK_NO_SIDE, INK_REFUSE);
	static uint64_t ids[MOST];
	size_t n = 0;

	(void)state;
	o.geometry.b = 64;
	make_from(&o);
	do {
		assert_true(n < MOST);
		note();
		ids[n++] = flow(KEPT);
	} while (stats_now().displaced == 0);
	assert_changed(.displaced = 1, .state[KEPT] = 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ink_lookup(t, ids[i]), KEPT);
}

static void with_many_writers_nothing_is_moved(void **state)
{
	struct ink_options o = options_for(INK_NO_SIDE, INK_REFUSE);

	(void)state;
	o.geometry.b = 8;
	make_from(&o);
	fill(KEPT);
	assert_int_equal(stats_now().displaced, 0);
	assert_true(stats_now().refused > 0);
}

/* ---------------------------------------------------------- exact: its own rows */

static void an_insert_of_a_stored_flow_exists_in_exact(void **state)
{
	(void)state;
	assert_int_equal(ink_insert(t, first, OTHER), -EEXIST);
	assert_unchanged();
	assert_int_equal(ink_peek(t, first), KEPT);
}

static void a_start_event_without_row_begins_anew_in_exact(void **state)
{
	(void)state;
	assert_steps(first, START, INK_ABSENT, OTHER, 53);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(ink_peek(t, first), OTHER);
}

static void a_start_event_that_absent_has_no_row_for_ends_the_flow_in_exact(void **state)
{
	(void)state;
	assert_steps(first, FALSE_START, INK_ABSENT, INK_ABSENT, 54);
	assert_changed(.state[KEPT] = -1);
	assert_int_equal(ink_peek(t, first), INK_ABSENT);
}

static void ids_that_differ_in_one_bit_are_two_flows_in_exact(void **state)
{
	uint64_t id = random_word();

	(void)state;
	make(0, INK_UNSURE);
	note();
	assert_int_equal(ink_insert(t, id, KEPT), 0);
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(ink_insert(t, id ^ 1ull << bit, OTHER), 0);
	assert_changed(.state = {[KEPT] = 1, [OTHER] = 64});
	assert_int_equal(ink_lookup(t, id), KEPT);
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(ink_lookup(t, id ^ 1ull << bit), OTHER);
}

static void exact_grows(void **state)
{
	enum { N = 5000 };
	struct ink_stats small, large;

	(void)state;
	make(0, INK_REFUSE);
	small = stats_now();
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(ink_insert(t, id_number(i), i % 3 ? KEPT : OTHER), 0);
	large = stats_now();
	assert_true(large.cells > small.cells);
	assert_true(large.bytes > small.bytes);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(ink_peek(t, id_number(i)), i % 3 ? KEPT : OTHER);
	assert_changed(.state = {[KEPT] = N - (N + 2) / 3, [OTHER] = (N + 2) / 3});
}

/* --------------------------------------------- dleft: two matches, and its options */

/* A flow with two matches: its own entry in KEPT and one in LAST, which did not meet when they came. */
static uint64_t two_matches(uint32_t flags, uint32_t side)
{
	for (;;) {
		struct ink_options o = options_for(side, INK_UNSURE);
		uint64_t id;

		o.geometry = (struct ink_geometry){
			.d = 2, .b = 2, .h = 4, .f = 4, .side = side, .dleft_flags = flags};
		make_from(&o);
		id = flow(KEPT);
		for (int i = 0; i < 10 && ink_peek(t, id) == KEPT; i++)
			ink_insert(t, stranger(), LAST);
		if (ink_peek(t, id) == INK_DONT_KNOW && stats_now().side_flows == 0)
			return note(), id;
	}
}

static void a_lookup_with_two_matches_does_not_know(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
	assert_unchanged();
}

static void a_peek_with_two_matches_does_not_know(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
	assert_unchanged();
}

static void an_insert_with_two_matches_goes_to_the_side_table(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	assert_int_equal(ink_insert(t, id, OTHER), 0);
	assert_changed(.side_flows = 1, .collisions = 1, .state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, id), OTHER);
}

static void an_insert_with_two_matches_and_no_side_table_marks_both(void **state)
{
	uint64_t id = two_matches(0, INK_NO_SIDE);

	(void)state;
	assert_int_equal(ink_insert(t, id, OTHER), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1, .marked = 2, .state = {[KEPT] = -1, [LAST] = -1},
		       .unsure = 2);
	assert_int_equal(ink_insert(t, id, OTHER), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1);
}

static void an_insert_with_two_matches_is_a_third_copy_under_copy(void **state)
{
	uint64_t id = two_matches(INK_DLEFT_COPY, INK_NO_SIDE);

	(void)state;
	assert_int_equal(ink_insert(t, id, OTHER), 0);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
}

static void a_set_with_two_matches_marks_both(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	assert_int_equal(ink_set(t, id, OTHER), -EBUSY);
	assert_changed(.marked = 2, .state = {[KEPT] = -1, [LAST] = -1}, .unsure = 2);
	assert_int_equal(ink_set(t, id, OTHER), -EBUSY);
	assert_unchanged();
}

static void a_modify_with_two_matches_marks_both(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	assert_int_equal(ink_modify(t, id, OTHER), -EBUSY);
	assert_changed(.marked = 2, .state = {[KEPT] = -1, [LAST] = -1}, .unsure = 2);
	assert_int_equal(ink_modify(t, id, OTHER), -EBUSY);
	assert_unchanged();
}

static void a_modify_with_two_matches_changes_nothing_under_keep(void **state)
{
	uint64_t id = two_matches(INK_DLEFT_KEEP, 1);

	(void)state;
	assert_int_equal(ink_modify(t, id, OTHER), -EBUSY);
	assert_unchanged();
}

static void a_set_with_two_matches_marks_both_also_under_keep(void **state)
{
	uint64_t id = two_matches(INK_DLEFT_KEEP, 1);

	(void)state;
	assert_int_equal(ink_set(t, id, OTHER), -EBUSY);
	assert_changed(.marked = 2, .state = {[KEPT] = -1, [LAST] = -1}, .unsure = 2);
}

static void a_delete_with_two_matches_is_busy(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	assert_int_equal(ink_delete(t, id), -EBUSY);
	assert_unchanged();
}

static void a_step_with_two_matches_takes_the_action_of_unsure(void **state)
{
	uint64_t id = two_matches(0, 1);

	(void)state;
	for (unsigned event = 0; event < EVENTS; event++)
		assert_steps(id, event, INK_DONT_KNOW, INK_DONT_KNOW, 60 + event);
	assert_unchanged();
}

/* The flags in tables of the variant's shape. */
static void make_dleft(uint32_t flags, uint32_t side)
{
	struct ink_options o = options_for(side, INK_UNSURE);

	o.geometry.dleft_flags = flags;
	make_from(&o);
	flow(LAST);
	note();
}

static void a_colliding_insert_is_a_second_copy_under_copy(void **state)
{
	(void)state;
	make_dleft(INK_DLEFT_COPY, 1);
	pair();
	assert_int_equal(ink_insert(t, second, OTHER), 0);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, second), INK_DONT_KNOW);
	assert_int_equal(ink_delete(t, second), -EBUSY);
}

static void a_colliding_start_event_is_a_second_copy_under_copy(void **state)
{
	(void)state;
	make_dleft(INK_DLEFT_COPY, 1);
	pair();
	assert_steps(second, START, INK_ABSENT, OTHER, 53);
	assert_changed(.state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, second), INK_DONT_KNOW);
}

static void under_copy_the_side_table_takes_what_has_no_room(void **state)
{
	uint64_t id;

	(void)state;
	make_dleft(INK_DLEFT_COPY, 1);
	fill(KEPT);
	id = stranger();
	assert_int_equal(ink_insert(t, id, OTHER), 0);
	assert_changed(.side_flows = 1, .overflowed = 1, .state[OTHER] = 1);
	assert_int_equal(ink_insert(t, id, OTHER), -EEXIST);
	assert_unchanged();
}

/* Which cell, counted from the first of the table; the state must be the only one of its kind. */
static uint64_t cell_in_state(unsigned state)
{
	const struct ink_dleft_shape *s = &t->shape.dleft;
	const uint64_t *words = t->body;
	uint64_t at = UINT64_MAX;

	for (uint64_t cell = 0; cell < (uint64_t)s->d * s->b * s->h; cell++) {
		uint64_t code = 0;

		for (uint32_t i = 0; i < s->cell_bits; i++) {
			uint64_t bit = cell * s->cell_bits + i;

			code |= (words[bit / 64] >> bit % 64 & 1) << i;
		}
		if (code && ink_code_state(&t->coding, (unsigned)(code >> s->f)) == state)
			at = cell;
	}
	assert_true(at != UINT64_MAX);
	return at;
}

/* Two buckets of four cells: three flows in the left one, the first of them there, and one in the right one. */
static void a_flow_in_a_crowd(uint32_t flags)
{
	struct ink_options o = options_for(1, INK_UNSURE);
	uint64_t right[3];

	o.geometry = (struct ink_geometry){.d = 2, .b = 1, .h = 4, .f = 8, .side = 1, .dleft_flags = flags};
	make_from(&o);
	first = flow(KEPT);
	for (int i = 0; i < 3; i++) {
		right[i] = flow(LAST); /* the emptier bucket */
		if (i < 2)
			flow(LAST); /* of equals the left one */
	}
	assert_int_equal(ink_delete(t, right[0]), 0);
	assert_int_equal(ink_delete(t, right[1]), 0);
	assert_int_equal(cell_in_state(KEPT), 0);
	note();
}

static void a_state_change_leaves_the_entry_where_it_is(void **state)
{
	(void)state;
	a_flow_in_a_crowd(0);
	assert_int_equal(ink_modify(t, first, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(cell_in_state(OTHER), 0);
}

static void a_state_change_inserts_anew_under_reinsert(void **state)
{
	(void)state;
	a_flow_in_a_crowd(INK_DLEFT_REINSERT);
	assert_int_equal(ink_modify(t, first, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_true(cell_in_state(OTHER) >= 4);
	a_flow_in_a_crowd(INK_DLEFT_REINSERT);
	assert_int_equal(ink_set(t, first, OTHER), 0);
	assert_true(cell_in_state(OTHER) >= 4);
	a_flow_in_a_crowd(INK_DLEFT_REINSERT);
	assert_steps(first, GO, KEPT, OTHER, 10);
	assert_true(cell_in_state(OTHER) >= 4);
	assert_int_equal(ink_lookup(t, first), OTHER);
	assert_sound();
}

static void a_touch_leaves_the_entry_where_it_is_under_reinsert(void **state)
{
	(void)state;
	a_flow_in_a_crowd(INK_DLEFT_REINSERT);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_set(t, first, KEPT), 0);
	assert_int_equal(ink_modify(t, first, KEPT), 0);
	assert_steps(first, REST, KEPT, KEPT, 11);
	assert_unchanged();
	assert_int_equal(cell_in_state(KEPT), 0);
}

static void without_a_size_dleft_has_no_side_table(void **state)
{
	struct ink_options o = options_for(0, INK_UNSURE);

	(void)state;
	make_from(&o);
	assert_int_equal(stats_now().side_cells, 0);
}

/* ------------------------------------------------------------------ all of them */

static int run_all_kinds(void)
{
	const struct CMUnitTest tests[] = {
		GIVEN(a_table, a_lookup_without_match_is_absent),
		GIVEN(a_table, a_peek_without_match_is_absent),
		GIVEN(a_table, an_insert_without_match_is_stored),
		GIVEN(a_table, a_set_without_match_is_stored),
		GIVEN(a_table, a_modify_without_match_finds_nothing),
		GIVEN(a_table, a_delete_without_match_finds_nothing),
		GIVEN(a_table, a_step_without_match_takes_the_row_of_absent),
		GIVEN(a_table, a_step_without_match_and_row_leaves_the_flow_absent),
		GIVEN(a_stored_flow, a_lookup_of_a_flow_gives_its_state),
		GIVEN(a_stored_flow, a_peek_of_a_flow_gives_its_state),
		GIVEN(a_stored_flow, a_set_of_a_flow_changes_its_state),
		GIVEN(a_stored_flow, a_modify_of_a_flow_changes_its_state),
		GIVEN(a_stored_flow, a_delete_of_a_flow_removes_it),
		GIVEN(a_stored_flow, a_step_of_a_flow_takes_the_row_of_its_state),
		GIVEN(a_stored_flow, a_step_of_a_flow_without_row_lets_it_stay),
		GIVEN(a_stored_flow, a_step_to_absent_deletes),
		GIVEN(a_stored_flow, a_start_event_with_a_row_is_like_any_other),
		GIVEN(a_stored_flow, a_state_that_the_table_has_not_is_an_error),
	};

	return cmocka_run_group_tests_name(variant->name, tests, NULL, NULL);
}

static int run_matches(void)
{
	const struct CMUnitTest tests[] = {
		GIVEN(a_stored_flow, an_insert_of_a_stored_flow_is_a_collision),
		GIVEN(two_flows_with_one_entry, a_lookup_that_meets_another_flow_gives_that_ones_state),
		GIVEN(two_flows_with_one_entry, a_peek_that_meets_another_flow_gives_that_ones_state),
		GIVEN(two_flows_with_one_entry, an_insert_that_meets_another_flow_goes_to_the_side_table),
		GIVEN(two_flows_with_one_entry, a_set_that_meets_another_flow_changes_that_one),
		GIVEN(two_flows_with_one_entry, a_modify_that_meets_another_flow_changes_that_one),
		GIVEN(two_flows_with_one_entry, a_delete_that_meets_another_flow_removes_that_one),
		GIVEN(two_flows_with_one_entry, a_step_that_meets_another_flow_moves_that_one),
		GIVEN(two_flows_with_one_entry, a_start_event_without_row_at_a_match_begins_a_new_flow),
		GIVEN(two_flows_with_one_entry,
		      a_start_event_at_a_match_that_absent_has_no_row_for_changes_nothing),
		GIVEN(a_flow_in_the_side_table, a_lookup_by_id_gives_the_state),
		GIVEN(a_flow_in_the_side_table, a_peek_by_id_gives_the_state),
		GIVEN(a_flow_in_the_side_table, an_insert_by_id_finds_that_it_exists),
		GIVEN(a_flow_in_the_side_table, a_set_by_id_changes_the_state),
		GIVEN(a_flow_in_the_side_table, a_modify_by_id_changes_the_state),
		GIVEN(a_flow_in_the_side_table, a_delete_by_id_removes_that_flow_only),
		GIVEN(a_flow_in_the_side_table, a_step_by_id_takes_the_row_of_the_state),
		GIVEN(a_flow_in_the_side_table, a_step_by_id_without_row_lets_the_flow_stay),
		GIVEN(a_flow_in_the_side_table, a_step_by_id_to_absent_deletes),
		GIVEN(a_flow_in_the_side_table, a_start_event_without_row_by_id_begins_anew_in_place),
		GIVEN(a_flow_in_the_side_table, a_start_event_by_id_that_absent_has_no_row_for_ends_the_flow),
		GIVEN(a_dont_know_entry, a_lookup_of_a_dont_know_entry_does_not_know),
		GIVEN(a_dont_know_entry, a_peek_of_a_dont_know_entry_does_not_know),
		GIVEN(a_dont_know_entry, an_insert_at_a_dont_know_entry_goes_to_the_side_table),
		GIVEN(a_dont_know_entry, a_set_at_a_dont_know_entry_is_busy),
		GIVEN(a_dont_know_entry, a_modify_at_a_dont_know_entry_is_busy),
		GIVEN(a_dont_know_entry, a_delete_at_a_dont_know_entry_is_busy),
		GIVEN(a_dont_know_entry, a_step_at_a_dont_know_entry_takes_the_action_of_unsure),
		TEST(only_flows_of_its_class_are_sent_to_the_side_table),
		TEST(the_side_table_is_asked_until_its_last_flow_of_a_line_has_gone),
		TEST(the_side_table_holds_as_many_flows_as_its_geometry_says),
	};

	return cmocka_run_group_tests_name(variant->name, tests, NULL, NULL);
}

static int run_full(void)
{
	const struct CMUnitTest tests[] = {
		GIVEN(overflowed_lines, a_lookup_in_overflowed_lines_does_not_know),
		GIVEN(overflowed_lines, a_peek_in_overflowed_lines_does_not_know),
		GIVEN(overflowed_lines, an_insert_into_overflowed_lines_is_tried),
		GIVEN(overflowed_lines, a_set_into_overflowed_lines_is_tried),
		GIVEN(overflowed_lines, a_modify_in_overflowed_lines_finds_nothing),
		GIVEN(overflowed_lines, a_delete_in_overflowed_lines_finds_nothing),
		GIVEN(overflowed_lines, a_step_in_overflowed_lines_takes_the_action_of_unsure),
		GIVEN(overflowed_lines, a_match_in_overflowed_lines_is_known),
		TEST(a_miss_is_in_doubt_only_if_all_its_lines_overflowed),
		TEST(an_insert_that_the_lines_have_no_room_for_goes_to_the_side_table),
		TEST(a_set_that_the_lines_have_no_room_for_goes_to_the_side_table),
		TEST(a_step_that_the_lines_have_no_room_for_goes_to_the_side_table),
		TEST(an_insert_without_room_is_refused_under_unsure),
		TEST(a_set_without_room_is_refused_under_unsure),
		TEST(a_step_without_room_is_refused_under_unsure),
		TEST(an_insert_without_room_is_refused_under_refuse),
		TEST(a_set_without_room_is_refused_under_refuse),
		TEST(a_step_without_room_is_refused_under_refuse),
		TEST(an_insert_without_room_replaces_an_expendable_entry),
		TEST(a_set_without_room_replaces_an_expendable_entry),
		TEST(a_step_without_room_replaces_an_expendable_entry),
		TEST(an_insert_without_room_replaces_an_expendable_flow_of_the_side_table),
		TEST(a_set_without_room_replaces_an_expendable_flow_of_the_side_table),
		TEST(a_step_without_room_replaces_an_expendable_flow_of_the_side_table),
		TEST(an_insert_with_nothing_to_replace_is_refused_as_under_unsure),
		TEST(a_set_with_nothing_to_replace_is_refused_as_under_unsure),
		TEST(a_step_with_nothing_to_replace_is_refused_as_under_unsure),
		TEST(of_the_expendable_entries_one_that_rested_is_replaced),
		TEST(without_rules_nothing_is_expendable),
		GIVEN(a_dont_know_entry, a_dont_know_entry_is_not_expendable),
		TEST(an_insert_that_collides_without_room_marks_the_entry_under_unsure),
		TEST(a_step_that_collides_without_room_marks_the_entry_under_unsure),
		TEST(an_insert_that_collides_without_room_marks_the_entry_under_refuse),
		TEST(a_step_that_collides_without_room_marks_the_entry_under_refuse),
		TEST(an_insert_that_collides_replaces_an_expendable_flow_of_the_side_table),
		TEST(a_step_that_collides_replaces_an_expendable_flow_of_the_side_table),
		TEST(an_insert_that_collides_with_nothing_to_replace_is_refused_and_marks_nothing),
		TEST(a_step_that_collides_with_nothing_to_replace_is_refused_and_marks_nothing),
		TEST(without_side_table_every_collision_marks),
	};

	return cmocka_run_group_tests_name(variant->name, tests, NULL, NULL);
}

static int run_lines(void)
{
	const struct CMUnitTest one[] = {TEST(a_full_line_makes_room_by_moving_an_entry)};
	const struct CMUnitTest many[] = {TEST(with_many_writers_nothing_is_moved)};

	return variant->writers > 1 ? cmocka_run_group_tests_name(variant->name, many, NULL, NULL)
				    : cmocka_run_group_tests_name(variant->name, one, NULL, NULL);
}

static int run_dleft(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lookup_with_two_matches_does_not_know),
		TEST(a_peek_with_two_matches_does_not_know),
		TEST(an_insert_with_two_matches_goes_to_the_side_table),
		TEST(an_insert_with_two_matches_and_no_side_table_marks_both),
		TEST(an_insert_with_two_matches_is_a_third_copy_under_copy),
		TEST(a_set_with_two_matches_marks_both),
		TEST(a_modify_with_two_matches_marks_both),
		TEST(a_modify_with_two_matches_changes_nothing_under_keep),
		TEST(a_set_with_two_matches_marks_both_also_under_keep),
		TEST(a_delete_with_two_matches_is_busy),
		TEST(a_step_with_two_matches_takes_the_action_of_unsure),
		TEST(a_colliding_insert_is_a_second_copy_under_copy),
		TEST(a_colliding_start_event_is_a_second_copy_under_copy),
		TEST(under_copy_the_side_table_takes_what_has_no_room),
		TEST(a_state_change_leaves_the_entry_where_it_is),
		TEST(a_state_change_inserts_anew_under_reinsert),
		TEST(a_touch_leaves_the_entry_where_it_is_under_reinsert),
		TEST(without_a_size_dleft_has_no_side_table),
	};

	return cmocka_run_group_tests_name(variant->name, tests, NULL, NULL);
}

static int run_exact(void)
{
	const struct CMUnitTest tests[] = {
		GIVEN(a_stored_flow, an_insert_of_a_stored_flow_exists_in_exact),
		GIVEN(a_stored_flow, a_start_event_without_row_begins_anew_in_exact),
		GIVEN(a_stored_flow, a_start_event_that_absent_has_no_row_for_ends_the_flow_in_exact),
		TEST(ids_that_differ_in_one_bit_are_two_flows_in_exact),
		TEST(exact_grows),
	};

	return cmocka_run_group_tests_name(variant->name, tests, NULL, NULL);
}

int main(void)
{
	int failures = 0;

	for (int i = 0; i < VARIANTS; i++) {
		if (!can_run(&variants[i]))
			continue;
		failures += run_all_kinds();
		if (is_exact()) {
			failures += run_exact();
			continue;
		}
		failures += run_matches() + run_full();
		failures += is_dleft() ? run_dleft() : run_lines();
	}
	return failures != 0;
}
