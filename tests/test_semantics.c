/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * docs/semantics.md, cell by cell: what each verb does in each situation, for every kind of table and every instruction
 * set. The cells are data below, each a sentence, a call and its effect. A test makes the situation and the call, and
 * compares the result, all counters, the number of flows in each state, and what the flows read afterwards. Everything
 * that a cell does not name stays as it was, and the table stays sound.
 */
#include "kinds/dleft/dleft.h"
#include "tests/help.h"
#include "tests/side_probe.h"
#include "tests/verbs.h"

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

/* Only SPARE has a period, and a long one: a tick clears the overflow flags and does no more. */
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

/* The flow of a test, and in some situations a second one that matches the same entry. */
static uint64_t first, second;

/* The flows that fill the table. */
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

/* A table with one flow in LAST, which no call concerns. */
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

/* ------------------------------------------------------------------ situations */

static void a_table(unsigned state)
{
	make(1, INK_UNSURE);
	first = second = stranger();
}

static void a_stored_flow(unsigned state)
{
	make(1, INK_UNSURE);
	first = second = flow(state);
	note();
}

static void two_flows_with_one_entry(unsigned state)
{
	make(1, INK_UNSURE);
	pair();
}

static void a_flow_in_the_side_table(unsigned state)
{
	make(1, INK_UNSURE);
	pair_and_side(state);
}

/* The side table was full when the second flow collided with the first, and has room again. */
static void a_dont_know_entry(unsigned state)
{
	uint64_t id, twin;

	make(1, INK_UNSURE);
	id = flow(OTHER);
	twin = twin_of(id);
	assert_int_equal(ink_insert(t, twin, SPARE), 0);
	pair();
	assert_int_equal(ink_insert(t, second, LAST), -ENOSPC);
	assert_int_equal(ink_delete(t, twin), 0);
	note();
}

/* The lines had no room for the first flow. */
static void overflowed_lines(unsigned state)
{
	make(INK_NO_SIDE, INK_UNSURE);
	fill(state);
	first = second = stranger();
	assert_int_equal(ink_insert(t, first, OTHER), -ENOSPC);
	note();
}

static void overflowed_lines_with_room_again(unsigned state)
{
	overflowed_lines(KEPT);
	for (size_t i = 0; i < fillers; i++)
		assert_int_equal(ink_delete(t, filler[i]), 0);
	note();
}

/* dleft: a flow with two matches, its own entry in KEPT and one in LAST that was stored later. */
static void two_matches(uint32_t flags, uint32_t side)
{
	do {
		struct ink_options o = options_for(side, INK_UNSURE);

		o.geometry = (struct ink_geometry){
			.d = 2, .b = 2, .h = 4, .f = 4, .side = side, .dleft_flags = flags};
		make_from(&o);
		first = second = flow(KEPT);
		for (int i = 0; i < 10 && ink_peek(t, first) == KEPT; i++)
			ink_insert(t, stranger(), LAST);
	} while (ink_peek(t, first) != INK_DONT_KNOW || stats_now().side_flows);
	note();
}

static void two_entries_match(unsigned flags)
{
	two_matches(flags, 1);
}

static void two_entries_match_without_side_table(unsigned flags)
{
	two_matches(flags, INK_NO_SIDE);
}

static void two_flows_with_one_entry_under(unsigned flags)
{
	struct ink_options o = options_for(1, INK_UNSURE);

	o.geometry.dleft_flags = flags;
	make_from(&o);
	pair();
}

/* ------------------------------------------------------------------ the cells */

struct cell {
	const char *name;
	enum verb verb;
	unsigned with;        /* a state, or the event of a step */
	unsigned from;        /* of MODIFY_FROM */
	int gives;            /* an answer or an error */
	struct ink_move move; /* of a step */
	struct change change;
	ink_answer reads, other;
};

enum { EVERY_EVENT = 1000 }; /* steps with each of them take the action of unsure and change nothing */

#define GONE INK_ABSENT
#define UNSURE INK_DONT_KNOW

/* What a cell changes, and what the flow and the other one of the pair read afterwards. */
#define MOVES(from, to) .change = {.state = {[from] = -1, [to] = 1}}
#define STORES(in) .change = {.state[in] = 1}
#define REMOVES(from) .change = {.state[from] = -1}
#define STORES_ASIDE(in) .change = {.side_flows = 1, .collisions = 1, .state[in] = 1}
#define REMOVES_ASIDE(from) .change = {.side_flows = -1, .state[from] = -1}
#define MARKS_BOTH .change = {.marked = 2, .state = {[KEPT] = -1, [LAST] = -1}, .unsure = 2}
#define READS(state) .reads = (state)
#define READ(state, others) .reads = (state), .other = (others)

/* clang-format off */
static const struct cell without_match[] = {
	{"a lookup without match is absent", LOOKUP, .gives = GONE, READS(GONE)},
	{"a peek without match is absent", PEEK, .gives = GONE, READS(GONE)},
	{"an insert without match is stored", INSERT, OTHER, STORES(OTHER), READS(OTHER)},
	{"a set without match is stored", SET, OTHER, STORES(OTHER), READS(OTHER)},
	{"a modify without match finds nothing", MODIFY, OTHER, .gives = -ENOENT, READS(GONE)},
	{"a delete without match finds nothing", DELETE, .gives = -ENOENT, READS(GONE)},
	{"a step without match takes the row of absent", STEP, GO, .move = {GONE, KEPT, 50},
	 STORES(KEPT), READS(KEPT)},
	{"a step without match and row leaves the flow absent", STEP, REST, .move = {GONE, GONE, 51}, READS(GONE)},
	{"a step from absent to absent does nothing", STEP, END, .move = {GONE, GONE, 52}, READS(GONE)},
	{"a start event without row leaves the flow absent", STEP, FALSE_START, .move = {GONE, GONE, 54}, READS(GONE)},
	{"a lookup in a state without match is absent", LOOKUP_IN, KEPT, .gives = GONE, READS(GONE)},
	{"a modify from a state without match finds nothing", MODIFY_FROM, OTHER, KEPT, .gives = -ENOENT, READS(GONE)},
	{"a delete in a state without match finds nothing", DELETE_IN, KEPT, .gives = -ENOENT, READS(GONE)},
};

static const struct cell its_own_entry[] = {
	{"a lookup of a flow gives its state", LOOKUP, .gives = KEPT, READS(KEPT)},
	{"a peek of a flow gives its state", PEEK, .gives = KEPT, READS(KEPT)},
	{"a set of a flow changes its state", SET, OTHER, MOVES(KEPT, OTHER), READS(OTHER)},
	{"a modify of a flow changes its state", MODIFY, OTHER, MOVES(KEPT, OTHER), READS(OTHER)},
	{"a delete of a flow removes it", DELETE, REMOVES(KEPT), READS(GONE)},
	{"a step of a flow takes the row of its state", STEP, GO, .move = {KEPT, OTHER, 10},
	 MOVES(KEPT, OTHER), READS(OTHER)},
	{"a step of a flow without row lets it stay", STEP, REST, .move = {KEPT, KEPT, 11}, READS(KEPT)},
	{"a step to absent deletes", STEP, END, .move = {KEPT, GONE, 12}, REMOVES(KEPT), READS(GONE)},
	{"a lookup in its state gives it", LOOKUP_IN, KEPT, .gives = KEPT, READS(KEPT)},
	{"a lookup in another state is absent", LOOKUP_IN, OTHER, .gives = GONE, READS(KEPT)},
	{"a lookup in a state that the table has not is absent", LOOKUP_IN, STATES, .gives = GONE, READS(KEPT)},
	{"a modify from its state changes it", MODIFY_FROM, OTHER, KEPT, MOVES(KEPT, OTHER), READS(OTHER)},
	{"a modify from another state finds nothing", MODIFY_FROM, LAST, OTHER, .gives = -ENOENT, READS(KEPT)},
	{"a modify to a state that the table has not is an error", MODIFY_FROM, STATES, KEPT, .gives = -EINVAL,
	 READS(KEPT)},
	{"a modify from a state that the table has not is an error", MODIFY_FROM, KEPT, STATES, .gives = -EINVAL,
	 READS(KEPT)},
	{"a delete in its state removes it", DELETE_IN, KEPT, REMOVES(KEPT), READS(GONE)},
	{"a delete in another state finds nothing", DELETE_IN, OTHER, .gives = -ENOENT, READS(KEPT)},
	{"a delete in a state that the table has not is an error", DELETE_IN, UINT32_MAX, .gives = -EINVAL, READS(KEPT)},
};

static const struct cell its_own_entry_in_other[] = {
	{"a start event with a row is like any other", STEP, START, .move = {OTHER, OTHER, 23}, READS(OTHER)},
};

static const struct cell its_own_entry_in_exact[] = {
	{"exact: an insert of a stored flow exists", INSERT, OTHER, .gives = -EEXIST, READS(KEPT)},
	{"exact: a start event without row begins again", STEP, START, .move = {GONE, OTHER, 53},
	 MOVES(KEPT, OTHER), READS(OTHER)},
	{"exact: a start event for which absent has no row ends the flow", STEP, FALSE_START, .move = {GONE, GONE, 54},
	 REMOVES(KEPT), READS(GONE)},
};

static const struct cell another_flows_entry[] = {
	{"a lookup that meets another flow gives that one's state", LOOKUP, .gives = KEPT, READ(KEPT, KEPT)},
	{"a peek that meets another flow gives that one's state", PEEK, .gives = KEPT, READ(KEPT, KEPT)},
	{"an insert that meets another flow goes to the side table", INSERT, OTHER,
	 STORES_ASIDE(OTHER), READ(OTHER, KEPT)},
	{"a set that meets another flow changes that one", SET, OTHER, MOVES(KEPT, OTHER), READ(OTHER, OTHER)},
	{"a modify that meets another flow changes that one", MODIFY, OTHER, MOVES(KEPT, OTHER), READ(OTHER, OTHER)},
	{"a delete that meets another flow removes that one", DELETE, REMOVES(KEPT), READ(GONE, GONE)},
	{"a step that meets another flow moves that one", STEP, GO, .move = {KEPT, OTHER, 10},
	 MOVES(KEPT, OTHER), READ(OTHER, OTHER)},
	{"a step without row that meets another flow lets that one stay", STEP, REST, .move = {KEPT, KEPT, 11},
	 READ(KEPT, KEPT)},
	{"a start event without row at a match begins a new flow", STEP, START, .move = {GONE, OTHER, 53},
	 STORES_ASIDE(OTHER), READ(OTHER, KEPT)},
	{"a start event at a match changes nothing if absent has no row for it", STEP, FALSE_START,
	 .move = {GONE, GONE, 54}, READ(KEPT, KEPT)},
};

static const struct cell by_id[] = {
	{"a lookup by id gives the state", LOOKUP, .gives = OTHER, READ(OTHER, KEPT)},
	{"a peek by id gives the state", PEEK, .gives = OTHER, READ(OTHER, KEPT)},
	{"an insert by id finds that it exists", INSERT, LAST, .gives = -EEXIST, READ(OTHER, KEPT)},
	{"a set by id changes the state", SET, LAST, MOVES(OTHER, LAST), READ(LAST, KEPT)},
	{"a modify by id changes the state", MODIFY, LAST, MOVES(OTHER, LAST), READ(LAST, KEPT)},
	{"a delete by id removes that flow only, which then meets the other's entry", DELETE,
	 REMOVES_ASIDE(OTHER), READ(KEPT, KEPT)},
	{"a step by id takes the row of the state", STEP, GO, .move = {OTHER, LAST, 20},
	 MOVES(OTHER, LAST), READ(LAST, KEPT)},
	{"a step by id without row lets the flow stay", STEP, REST, .move = {OTHER, OTHER, 21},
	 READ(OTHER, KEPT)},
	{"a step by id to absent deletes", STEP, END, .move = {OTHER, GONE, 22},
	 REMOVES_ASIDE(OTHER), READ(KEPT, KEPT)},
	{"a start event by id ends the flow if absent has no row for it", STEP, FALSE_START, .move = {GONE, GONE, 54},
	 REMOVES_ASIDE(OTHER), READ(KEPT, KEPT)},
	{"a lookup by id in its state gives it", LOOKUP_IN, OTHER, .gives = OTHER, READ(OTHER, KEPT)},
	{"a lookup by id in the state of the entry it matches is absent", LOOKUP_IN, KEPT, .gives = GONE,
	 READ(OTHER, KEPT)},
	{"a modify by id from its state changes it", MODIFY_FROM, LAST, OTHER, MOVES(OTHER, LAST), READ(LAST, KEPT)},
	{"a modify by id from the state of the entry it matches finds nothing", MODIFY_FROM, LAST, KEPT,
	 .gives = -ENOENT, READ(OTHER, KEPT)},
	{"a delete by id in its state removes it", DELETE_IN, OTHER, REMOVES_ASIDE(OTHER), READ(KEPT, KEPT)},
	{"a delete by id in the state of the entry it matches finds nothing", DELETE_IN, KEPT, .gives = -ENOENT,
	 READ(OTHER, KEPT)},
};

static const struct cell by_id_in_last[] = {
	{"a start event without row by id begins again in place", STEP, START, .move = {GONE, OTHER, 53},
	 MOVES(LAST, OTHER), READ(OTHER, KEPT)},
};

static const struct cell at_a_dont_know_entry[] = {
	{"a lookup of a don't-know entry does not know", LOOKUP, .gives = UNSURE, READ(UNSURE, UNSURE)},
	{"a peek of a don't-know entry does not know", PEEK, .gives = UNSURE, READ(UNSURE, UNSURE)},
	{"an insert at a don't-know entry goes to the side table", INSERT, OTHER,
	 STORES_ASIDE(OTHER), READ(OTHER, UNSURE)},
	{"a set at a don't-know entry is busy", SET, OTHER, .gives = -EBUSY, READ(UNSURE, UNSURE)},
	{"a modify at a don't-know entry is busy", MODIFY, OTHER, .gives = -EBUSY, READ(UNSURE, UNSURE)},
	{"a delete at a don't-know entry is busy", DELETE, .gives = -EBUSY, READ(UNSURE, UNSURE)},
	{"a step at a don't-know entry takes the action of unsure", STEP, EVERY_EVENT, READ(UNSURE, UNSURE)},
};

static const struct cell in_overflowed_lines[] = {
	{"a lookup in overflowed lines does not know", LOOKUP, .gives = UNSURE, READS(UNSURE)},
	{"a peek in overflowed lines does not know", PEEK, .gives = UNSURE, READS(UNSURE)},
	{"an insert into overflowed lines is tried", INSERT, OTHER, .gives = -ENOSPC, .change = {.refused = 1},
	 READS(UNSURE)},
	{"a set into overflowed lines is tried", SET, OTHER, .gives = -ENOSPC, .change = {.refused = 1}, READS(UNSURE)},
	{"a modify in overflowed lines finds nothing", MODIFY, OTHER, .gives = -ENOENT, READS(UNSURE)},
	{"a delete in overflowed lines finds nothing", DELETE, .gives = -ENOENT, READS(UNSURE)},
	{"a step in overflowed lines takes the action of unsure", STEP, EVERY_EVENT, READS(UNSURE)},
};

static const struct cell in_lines_with_room_again[] = {
	{"an insert into overflowed lines with room is stored", INSERT, OTHER, STORES(OTHER), READS(OTHER)},
	{"a set into overflowed lines with room is stored", SET, OTHER, STORES(OTHER), READS(OTHER)},
	{"a step in overflowed lines with room takes the action of unsure", STEP, EVERY_EVENT, READS(UNSURE)},
};

static const struct cell at_two_matches[] = {
	{"a lookup with two matches does not know", LOOKUP, .gives = UNSURE, READS(UNSURE)},
	{"a peek with two matches does not know", PEEK, .gives = UNSURE, READS(UNSURE)},
	{"an insert with two matches goes to the side table", INSERT, OTHER, STORES_ASIDE(OTHER), READS(OTHER)},
	{"a set with two matches marks both", SET, OTHER, .gives = -EBUSY, MARKS_BOTH, READS(UNSURE)},
	{"a modify with two matches marks both", MODIFY, OTHER, .gives = -EBUSY, MARKS_BOTH, READS(UNSURE)},
	{"a delete with two matches is busy", DELETE, .gives = -EBUSY, READS(UNSURE)},
	{"a step with two matches takes the action of unsure", STEP, EVERY_EVENT, READS(UNSURE)},
};

static const struct cell at_two_matches_without_side_table[] = {
	{"an insert with two matches and no side table marks both", INSERT, OTHER, .gives = -ENOSPC,
	 .change = {.collisions = 1, .refused = 1, .marked = 2, .state = {[KEPT] = -1, [LAST] = -1}, .unsure = 2},
	 READS(UNSURE)},
};

static const struct cell at_two_matches_under_keep[] = {
	{"a modify with two matches changes nothing under keep", MODIFY, OTHER, .gives = -EBUSY, READS(UNSURE)},
	{"a set with two matches marks both also under keep", SET, OTHER, .gives = -EBUSY, MARKS_BOTH, READS(UNSURE)},
};

static const struct cell at_two_matches_under_copy[] = {
	{"an insert with two matches is a third copy under copy", INSERT, OTHER, STORES(OTHER), READS(UNSURE)},
};

/* Whether the first flow meets the copy as well depends on where it went. */
static const struct cell another_flows_entry_under_copy[] = {
	{"a colliding insert is a second copy under copy", INSERT, OTHER, STORES(OTHER), READS(UNSURE)},
	{"a colliding start event is a second copy under copy", STEP, START, .move = {GONE, OTHER, 53},
	 STORES(OTHER), READS(UNSURE)},
};
/* clang-format on */

static const struct situation {
	unsigned tables; /* for which */
	void (*make)(unsigned with);
	unsigned with;          /* the flow's state, or flags of `dleft` */
	uint64_t *flow, *other; /* the flow that a cell calls for */
	const struct cell *cells;
	size_t n;
} situations[] = {
	{ANY, a_table, 0, &first, NULL, ROWS(without_match)},
	{ANY, a_stored_flow, KEPT, &first, NULL, ROWS(its_own_entry)},
	{ANY, a_stored_flow, OTHER, &first, NULL, ROWS(its_own_entry_in_other)},
	{EXACT, a_stored_flow, KEPT, &first, NULL, ROWS(its_own_entry_in_exact)},
	{CELLS, two_flows_with_one_entry, KEPT, &second, &first, ROWS(another_flows_entry)},
	{CELLS, a_flow_in_the_side_table, OTHER, &second, &first, ROWS(by_id)},
	{CELLS, a_flow_in_the_side_table, LAST, &second, &first, ROWS(by_id_in_last)},
	{CELLS, a_dont_know_entry, 0, &first, &second, ROWS(at_a_dont_know_entry)},
	{CELLS, a_dont_know_entry, 0, &second, &first, ROWS(at_a_dont_know_entry)},
	{CELLS, overflowed_lines, KEPT, &first, NULL, ROWS(in_overflowed_lines)},
	{CELLS, overflowed_lines_with_room_again, KEPT, &first, NULL, ROWS(in_lines_with_room_again)},
	{DLEFT, two_entries_match, 0, &first, NULL, ROWS(at_two_matches)},
	{DLEFT, two_entries_match_without_side_table, 0, &first, NULL,
	 ROWS(at_two_matches_without_side_table)},
	{DLEFT, two_entries_match, INK_DLEFT_KEEP, &first, NULL, ROWS(at_two_matches_under_keep)},
	{DLEFT, two_entries_match_without_side_table, INK_DLEFT_COPY, &first, NULL,
	 ROWS(at_two_matches_under_copy)},
	{DLEFT, two_flows_with_one_entry_under, INK_DLEFT_COPY, &second, NULL,
	 ROWS(another_flows_entry_under_copy)},
};

static const struct situation *situation;

static void check_steps_in_doubt(uint64_t id)
{
	for (unsigned event = 0; event < EVENTS; event++)
		assert_steps(id, event, UNSURE, UNSURE, 60 + event);
}

static void check_call(uint64_t id, const struct cell *c)
{
	unsigned event = c->verb == MODIFY_FROM ? c->from : c->with;
	struct result r = perform(t, id, &(struct call){c->verb, 0, c->with, event});

	assert_int_equal(gives_answer(c->verb) ? r.answer : r.error, c->gives);
	if (c->verb == STEP)
		assert_move(r.move, c->move.from, c->move.to, c->move.action);
}

static void check_cell(void **state)
{
	const struct cell *c = *state;

	situation->make(situation->with);
	if (c->with == EVERY_EVENT)
		check_steps_in_doubt(*situation->flow);
	else
		check_call(*situation->flow, c);
	assert_change(&c->change, 0);
	assert_int_equal(ink_peek(t, *situation->flow), c->reads);
	assert_int_equal(ink_lookup(t, *situation->flow), c->reads);
	if (situation->other)
		assert_int_equal(ink_peek(t, *situation->other), c->other);
}

static int run_cells(void)
{
	int failures = 0;

	for (size_t i = 0; i < COUNT(situations); i++) {
		situation = &situations[i];
		if (applies(situation->tables, 0))
			failures += run_rows(variant->name, check_cell, situation->cells,
					     sizeof *situation->cells, situation->n);
	}
	return failures;
}

/* --------------------------------------------------------- where a call is not all */

TEST_THAT(a_state_that_the_table_has_not_is_an_error)
{
	a_stored_flow(KEPT);
	for (int i = 0; i < 6; i++) {
		static const enum verb verbs[] = {INSERT, SET, MODIFY};
		static const unsigned states[] = {STATES, 255, STATES + 3, UINT32_MAX};
		struct call c = {verbs[i % 3], 0, states[i % 4], 0};

		assert_int_equal(perform(t, i / 3 ? first : stranger(), &c).error, -EINVAL);
	}
	assert_unchanged();
	assert_int_equal(ink_peek(t, first), KEPT);
}

TEST_OF(CELLS, an_insert_of_a_stored_flow_is_a_collision)
{
	a_stored_flow(KEPT);
	assert_int_equal(ink_insert(t, first, OTHER), 0);
	assert_changed(.side_flows = 1, .collisions = 1, .state[OTHER] = 1);
	assert_int_equal(ink_lookup(t, first), OTHER); /* the side table is asked first */
	assert_int_equal(ink_delete(t, first), 0);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_delete(t, first), 0);
	assert_changed(.side_flows = -1, .state = {[OTHER] = -1, [KEPT] = -1});
}

TEST_OF(CELLS, an_entry_is_marked_once)
{
	a_dont_know_entry(0);
	assert_int_equal(ink_insert(t, second, OTHER), 0);
	note();
	assert_int_equal(ink_insert(t, first, KEPT), -ENOSPC);
	assert_changed(.collisions = 1, .refused = 1);
}

TEST_OF(CELLS, a_match_in_overflowed_lines_is_known)
{
	overflowed_lines(KEPT);
	for (size_t i = 0; i < fillers; i++)
		assert_int_equal(ink_lookup(t, filler[i]), KEPT);
	assert_steps(filler[0], GO, KEPT, OTHER, 10);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
}

/* Does the second flow have no other lines than the first? (`dleft` keeps its places to itself.) */
static int shares_all_lines(uint64_t id, uint64_t other)
{
	struct two_lines a = lines_of(t, id), b = lines_of(t, other);

	return (b.low == a.low || b.low == a.high) && (b.high == a.low || b.high == a.high);
}

TEST_OF(CELLS, a_miss_is_in_doubt_only_if_all_its_lines_overflowed)
{
	struct ink_options o = options_for(INK_NO_SIDE, INK_UNSURE);
	int absent = 0, unknown = 0;

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

/* By which verb; each would put a new flow into OTHER. */
static enum verb store;

enum { NOTHING = STATES }; /* the side table is empty */

/* A newcomer that finds every cell taken, or that matches the first flow while the side table has no room. */
struct newcomer {
	const char *name;
	uint32_t side;
	enum ink_full full;
	unsigned in_side; /* the state of the flow in the side table */
	unsigned in_lines;
	int gives;
	struct change change;
	ink_answer reads, first;
};

/* clang-format off */
static const struct newcomer no_room[] = {
	{"what the lines have no room for goes to the side table", 1, INK_UNSURE, NOTHING, KEPT, 0,
	 {.side_flows = 1, .overflowed = 1, .state[OTHER] = 1}, OTHER, 0},
	{"what has no room is refused under unsure", INK_NO_SIDE, INK_UNSURE, NOTHING, KEPT, -ENOSPC,
	 {.refused = 1}, UNSURE, 0},
	{"what has no room is refused under refuse, expendable entries or not", INK_NO_SIDE, INK_REFUSE, NOTHING, SPARE,
	 -ENOSPC, {.refused = 1}, GONE, 0},
	{"what has no room replaces an expendable entry of the lines", 1, INK_REPLACE, SPARE, SPARE, 0,
	 {.replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1}}, OTHER, KEPT},
	{"what has no room replaces an expendable flow of the side table", 1, INK_REPLACE, SPARE, KEPT, 0,
	 {.replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1}}, OTHER, KEPT},
	{"what finds nothing to replace is refused as under unsure", 1, INK_REPLACE, OTHER, KEPT, -ENOSPC,
	 {.refused = 1}, UNSURE, KEPT},
};

static const struct newcomer collisions[] = {
	{"a collision without room marks the entry under unsure", 1, INK_UNSURE, SPARE, SPARE, -ENOSPC,
	 {.collisions = 1, .refused = 1, .marked = 1, .state[KEPT] = -1, .unsure = 1}, UNSURE, UNSURE},
	{"a collision without room marks the entry under refuse", 1, INK_REFUSE, SPARE, SPARE, -ENOSPC,
	 {.collisions = 1, .refused = 1, .marked = 1, .state[KEPT] = -1, .unsure = 1}, UNSURE, UNSURE},
	{"without side table every collision marks", INK_NO_SIDE, INK_UNSURE, NOTHING, SPARE, -ENOSPC,
	 {.collisions = 1, .refused = 1, .marked = 1, .state[KEPT] = -1, .unsure = 1}, UNSURE, UNSURE},
	{"a collision replaces an expendable flow of the side table", 1, INK_REPLACE, SPARE, SPARE, 0,
	 {.collisions = 1, .replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1}}, OTHER, KEPT},
	{"a collision does not replace an entry of the lines, where it could not stand", 1, INK_REPLACE, LAST, SPARE,
	 -ENOSPC, {.collisions = 1, .refused = 1}, KEPT, KEPT},
};
/* clang-format on */

static void check_stored(uint64_t id, const struct newcomer *n)
{
	struct result r = perform(t, id, &(struct call){store, 0, OTHER, START});

	assert_int_equal(r.error, n->gives);
	if (store == STEP)
		assert_move(r.move, GONE, r.error ? GONE : OTHER, 53);
	assert_change(&n->change, 0);
	assert_int_equal(ink_lookup(t, id), n->reads);
	assert_int_equal(ink_peek(t, id), n->reads);
	assert_true(!n->change.replaced || n->in_lines == SPARE || side_is_asked(id));
}

static void check_no_room(void **state)
{
	const struct newcomer *n = *state;
	uint64_t id;

	make(n->side, n->full);
	if (n->in_side != NOTHING)
		pair_and_side(n->in_side);
	fill(n->in_lines);
	id = stranger();
	check_stored(id, n);
	if (n->in_side != NOTHING)
		assert_int_equal(ink_lookup(t, first), n->first);
	if (n->reads == UNSURE) {
		assert_int_equal(ink_tick(t, 1, NULL), 0);
		assert_int_equal(ink_lookup(t, id), GONE);
		assert_unchanged();
	}
}

static void check_collision(void **state)
{
	const struct newcomer *n = *state;

	make(n->side, n->full);
	if (n->in_side != NOTHING)
		fill_side(n->in_side);
	flow(n->in_lines);
	pair();
	check_stored(second, n);
	assert_int_equal(ink_lookup(t, first), n->first);
}

/* A set that collides is no newcomer: it changes the entry that it meets. */
static int run_newcomers(void)
{
	static const enum verb verbs[] = {INSERT, STEP, SET};
	static const char *const names[] = {"insert", "step", "set"};
	int failures = 0;

	for (int i = 0; i < 3; i++) {
		char group[100];

		store = verbs[i];
		snprintf(group, sizeof group, "%s, by %s", variant->name, names[i]);
		failures += run_rows(group, check_no_room, no_room, sizeof no_room[0], COUNT(no_room));
		if (store != SET)
			failures += run_rows(group, check_collision, collisions, sizeof collisions[0],
					     COUNT(collisions));
	}
	return failures;
}

/* All flows share their lines. A tick ages them, then all are touched but one, or all. */
static void replace_in_a_line(unsigned age_bits, int one_rests)
{
	struct ink_options o = options_for(INK_NO_SIDE, INK_REPLACE);
	uint64_t ids[MOST_CELLS], cells, gone = 0;

	o.geometry.b = 1;
	o.age_bits = age_bits;
	make_from(&o);
	cells = stats_now().cells;
	for (uint64_t i = 0; i < cells; i++)
		ids[i] = flow(SPARE);
	assert_int_equal(ink_tick(t, 1000, NULL), 0);
	for (uint64_t i = 0; i < cells; i++)
		if (!one_rests || i != cells / 2)
			ink_lookup(t, ids[i]);
	note();
	assert_int_equal(ink_insert(t, stranger(), OTHER), 0);
	assert_changed(.replaced = 1, .state = {[SPARE] = -1, [OTHER] = 1});
	for (uint64_t i = 0; i < cells; i++)
		gone += ink_peek(t, ids[i]) == INK_ABSENT;
	assert_int_equal(gone, 1);
	assert_true(!one_rests || ink_peek(t, ids[cells / 2]) == INK_ABSENT);
}

TEST_OF(CELLS, of_the_expendable_entries_one_that_rested_is_replaced)
{
	for (unsigned age_bits = 1; age_bits <= 2; age_bits++) {
		replace_in_a_line(age_bits, 1);
		replace_in_a_line(age_bits, 0);
	}
}

TEST_OF(CELLS, without_rules_nothing_is_expendable)
{
	uint64_t id;

	make(INK_NO_SIDE, INK_REPLACE);
	fill(SPARE);
	assert_int_equal(ink_set_rules(t, NULL, NULL), 0);
	id = stranger();
	assert_int_equal(ink_insert(t, id, OTHER), -ENOSPC);
	assert_changed(.refused = 1);
}

TEST_OF(CELLS, a_dont_know_entry_is_not_expendable)
{
	struct ink_timing expendable_too[STATES + 1];
	struct ink_rules r = rules;

	a_dont_know_entry(0);
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

/* ------------------------------------------------------------- the side table */

/* In `dleft`, all are. */
TEST_OF(LINES, only_flows_of_its_class_are_sent_to_the_side_table)
{
	uint64_t third;

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
	assert_sound(t);
}

TEST_OF(CELLS, the_side_table_is_asked_until_its_last_flow_of_a_line_has_gone)
{
	uint64_t third;

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
	assert_sound(t);
}

TEST_OF(CELLS, the_side_table_holds_as_many_flows_as_its_geometry_says)
{
	enum { SIDE = 5 };
	uint64_t ids[SIDE];

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
	assert_sound(t);
}

/* -------------------------------------------------------------- displacement */

/* With 64 lines some are full long before the table is. */
TEST_OF(LINES | ONE_WRITER, a_full_line_makes_room_by_moving_an_entry)
{
	enum { MOST = 64 * 40 };
	struct ink_options o = options_for(INK_NO_SIDE, INK_REFUSE);
	static uint64_t ids[MOST];
	size_t n = 0;

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

TEST_OF(LINES | MANY_WRITERS, with_many_writers_nothing_is_moved)
{
	struct ink_options o = options_for(INK_NO_SIDE, INK_REFUSE);

	o.geometry.b = 8;
	make_from(&o);
	fill(KEPT);
	assert_int_equal(stats_now().displaced, 0);
	assert_true(stats_now().refused > 0);
}

/* ---------------------------------------------------------- exact: its own rows */

TEST_OF(EXACT, ids_that_differ_in_one_bit_are_two_flows_in_exact)
{
	uint64_t id = random_word();

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

/* --------------------------------------------- dleft: two matches, and its options */

TEST_OF(DLEFT, under_copy_the_side_table_takes_what_has_no_room)
{
	uint64_t id;

	two_flows_with_one_entry_under(INK_DLEFT_COPY);
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
	const struct ink_dleft_shape *s = ink_dleft_shape_of(t);
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

TEST_OF(DLEFT, a_state_change_leaves_the_entry_where_it_is)
{
	a_flow_in_a_crowd(0);
	assert_int_equal(ink_modify(t, first, OTHER), 0);
	assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
	assert_int_equal(cell_in_state(OTHER), 0);
}

TEST_OF(DLEFT, a_state_change_inserts_again_under_reinsert)
{
	static const struct call changes[] = {{MODIFY, 0, OTHER, 0}, {SET, 0, OTHER, 0}, {STEP, 0, 0, GO}};

	for (size_t i = 0; i < COUNT(changes); i++) {
		a_flow_in_a_crowd(INK_DLEFT_REINSERT);
		assert_int_equal(perform(t, first, &changes[i]).error, 0);
		assert_changed(.state = {[KEPT] = -1, [OTHER] = 1});
		assert_true(cell_in_state(OTHER) >= 4);
		assert_int_equal(ink_lookup(t, first), OTHER);
	}
}

TEST_OF(DLEFT, a_touch_leaves_the_entry_where_it_is_under_reinsert)
{
	a_flow_in_a_crowd(INK_DLEFT_REINSERT);
	assert_int_equal(ink_lookup(t, first), KEPT);
	assert_int_equal(ink_set(t, first, KEPT), 0);
	assert_int_equal(ink_modify(t, first, KEPT), 0);
	assert_steps(first, REST, KEPT, KEPT, 11);
	assert_unchanged();
	assert_int_equal(cell_in_state(KEPT), 0);
}

TEST_OF(DLEFT, without_a_size_dleft_has_no_side_table)
{
	struct ink_options o = options_for(0, INK_UNSURE);

	make_from(&o);
	assert_int_equal(stats_now().side_cells, 0);
}

/* ------------------------------------------------------------------ all of them */

static int run_variant(void)
{
	return run_cells() + (is_exact() ? 0 : run_newcomers()) + run_listed(0, NULL);
}

int main(void)
{
	return failures_of_variants(run_variant) != 0;
}
