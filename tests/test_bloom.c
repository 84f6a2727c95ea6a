/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds `stateful` and `direct`: what calls do to the cells, what the plan
 * promises and what is measured, and what is refused. Every call, steps and
 * ticks too, is compared with a model of the cells by the programs (program.h).
 *
 * Most tests use tables of two shares with four cells each, and flows that are
 * chosen by their cells. The cells are written as text, share by share:
 *
 *     "3 . 5*2 . | ?*3 . . ."      state 3; empty; state 5, count 2; ... don't know, count 3
 */
#include "kinds/bloom/bloom.h"
#include "tests/help.h"
#include "tests/interval.h"
#include "tests/test.h"
#include "tests/verbs.h"

enum { HASHES = 2, SHARE = 4, MANY_STATES = 10 };

static const struct variant with_counters = {
	"stateful with counters", INK_STATEFUL, INK_SIMD_NONE, 1, {.k = HASHES, .m = 8, .counter_bits = 3}};
static const struct variant without_counters = {"stateful without counters",
						INK_STATEFUL,
						INK_SIMD_NONE,
						1,
						{.k = HASHES, .m = 8, .counter_bits = INK_NO_COUNTERS}};
static const struct variant counting = {
	"direct", INK_DIRECT, INK_SIMD_NONE, 1, {.k = HASHES, .m = 8, .counter_bits = 2}};
static const struct variant plain = {"direct without counters",
				     INK_DIRECT,
				     INK_SIMD_NONE,
				     1,
				     {.k = HASHES, .m = 8, .counter_bits = INK_NO_COUNTERS}};

static void make(const struct variant *v, unsigned age_bits)
{
	struct ink_options o;

	variant = v;
	o = variant_options();
	o.states = MANY_STATES;
	o.flows = 1;
	o.age_bits = age_bits;
	make_from(&o);
}

/* ---------------------------------------------------------------- cells and flows */

/* A cell of `stateful` has a state of its own, so it can be marked and needs a threshold. */
static int is_direct(enum ink_kind kind)
{
	return !kind_takes(kind, INK_GEOMETRY_THRESHOLD);
}

static uint64_t cell_number(uint64_t id, unsigned state, unsigned share)
{
	uint64_t at[INK_BLOOM_MOST_K];

	bloom_all(bloom_of(t), id, is_direct(variant->kind) ? state * INK_BLOOM_MOST_K : 0, at);
	return at[share] / bloom_of(t)->cell_bits - share * SHARE;
}

/* A flow with these cells; in `direct`, when it is in that state. */
static uint64_t flow_in(unsigned state, unsigned a, unsigned b)
{
	uint64_t id;

	do
		id = random_word();
	while (cell_number(id, state, 0) != a || cell_number(id, state, 1) != b);
	return id;
}

static uint64_t flow_at(unsigned a, unsigned b)
{
	return flow_in(0, a, b);
}

static int is_at(uint64_t id, unsigned state, unsigned both)
{
	return cell_number(id, state, 0) == both && cell_number(id, state, 1) == both;
}

/* `direct`: in state s its cells are number a of both shares, in state r number b; no other state is between. */
static uint64_t flow_of_two(unsigned s, unsigned a, unsigned r, unsigned b)
{
	for (;;) {
		uint64_t id = random_word();
		unsigned between = 0;

		for (unsigned i = 0; i < MANY_STATES && is_at(id, s, a) && is_at(id, r, b); i++) {
			uint64_t x = cell_number(id, i, 0), y = cell_number(id, i, 1);

			between += (x == a || x == b) && (y == a || y == b);
		}
		if (between == 2)
			return id;
	}
}

static void show_cell(char *text, uint32_t cell)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint32_t rest = cell >> t->coding.age_bits, value = rest & ((1u << s->value_bits) - 1);
	uint32_t count = rest >> s->value_bits;

	if (!cell)
		strcpy(text, ".");
	else if (is_direct(t->plan.kind))
		sprintf(text, "%u", count);
	else if (value == (1u << s->value_bits) - 1)
		sprintf(text, count > 1 ? "?*%u" : "?", count);
	else
		sprintf(text, count > 1 ? "%u*%u" : "%u", value - !s->count_top, count);
}

static void assert_cells_are(const char *expected, int line)
{
	char found[400] = "", cell[40];

	for (unsigned i = 0; i < t->plan.geometry.m; i++) {
		show_cell(cell, cell_read(t, bloom_cell_at(bloom_of(t), i)));
		strcat(found, i == 0 ? "" : i % SHARE ? " " : " | ");
		strcat(found, cell);
	}
	if (strcmp(found, expected) != 0)
		fail_msg("%s, line %d: \"%s\" and not \"%s\"", variant->name, line, found, expected);
	assert_sound(t);
}

#define assert_cells(text) assert_cells_are(text, __LINE__)

/* ----------------------------------------------------------------------- scripts */

/* A call for the flow with these cells, what it gives, and the cells afterwards. Flows with the same cells are one. */
struct line {
	unsigned verb; /* or TICK */
	unsigned a, b;
	unsigned with; /* a state */
	int gives;     /* an answer or an error */
	const char *cells;
};

enum { TICK = ALL_VERBS }; /* to the tick number `with` */

struct script {
	const char *name;
	const struct variant *variant;
	unsigned age_bits;
	uint32_t threshold;
	uint64_t marked, collisions; /* at the end */
	struct line lines[16];       /* those that are not used have no cells */
};

static uint64_t named[SHARE][SHARE];

static int call_line(const struct line *l)
{
	uint64_t *id = &named[l->a][l->b];
	struct result r;

	if (l->verb == TICK)
		return ink_tick(t, l->with, NULL);
	if (!*id)
		*id = flow_at(l->a, l->b);
	r = perform(t, *id, &(struct call){.verb = (enum verb)l->verb, .state = l->with});
	return gives_answer((enum verb)l->verb) ? r.answer : r.error;
}

static void run_script(void **state)
{
	const struct script *s = *state;
	struct variant v = *s->variant;

	v.geometry.threshold = s->threshold;
	make(&v, s->age_bits);
	memset(named, 0, sizeof named);
	for (const struct line *l = s->lines; l < s->lines + 16 && l->cells; l++) {
		assert_int_equal(call_line(l), l->gives);
		assert_cells_are(l->cells, (int)(l - s->lines));
	}
	assert_int_equal(stats_now().marked, s->marked);
	assert_int_equal(stats_now().collisions, s->collisions);
	variant = s->variant;
}

#define DOUBT INK_DONT_KNOW
#define GONE INK_ABSENT

/* clang-format off */
static const struct script scripts[] = {
	{"a stateful insert keeps the paper's rules", &with_counters, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},   /* empty: the state, count 1 */
		{INSERT, 0, 1, 3, 0, "3*2 . . . | 3 3 . ."}, /* the same state: count + 1 */
		{INSERT, 0, 2, 5, 0, "?*3 . . . | 3 3 5 ."}, /* another: don't know, count + 1 */
		{INSERT, 0, 3, 3, 0, "?*4 . . . | 3 3 5 3"}, /* don't know: count + 1 */
	}},
	{"a stateful modify keeps the paper's rules", &with_counters, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{MODIFY, 0, 0, 4, 0, "4 . . . | 4 . . ."}, /* count 1: the new state */
		{INSERT, 0, 1, 4, 0, "4*2 . . . | 4 4 . ."},
		{MODIFY, 0, 0, 4, 0, "4*2 . . . | 4 4 . ."}, /* nothing to change */
		{MODIFY, 0, 0, 5, 0, "?*2 . . . | 5 4 . ."}, /* more: don't know */
		{MODIFY, 0, 1, 6, 0, "?*2 . . . | 5 6 . ."}, /* don't know: stays */
		{LOOKUP, 0, 0, 0, 5, "?*2 . . . | 5 6 . ."},
		{LOOKUP, 0, 1, 0, 6, "?*2 . . . | 5 6 . ."},
		{MODIFY, 1, 1, 6, -ENOENT, "?*2 . . . | 5 6 . ."},
	}},
	{"a stateful delete keeps the paper's rules", &with_counters, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 5, 0, "?*2 . . . | 3 5 . ."},
		{INSERT, 1, 1, 5, 0, "?*2 5 . . | 3 5*2 . ."},
		{DELETE, 0, 1, 0, 0, "? 5 . . | 3 5 . ."}, /* more: count - 1, the value stays */
		{DELETE, 0, 0, 0, 0, ". 5 . . | . 5 . ."}, /* count 1: empty, don't know or not */
		{DELETE, 0, 0, 0, -ENOENT, ". 5 . . | . 5 . ."},
		{DELETE, 1, 1, 0, 0, ". . . . | . . . ."},
	}},
	{"a stateful lookup keeps the paper's rules", &with_counters, .marked = 3, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 5, 0, "?*2 . . . | 3 5 . ."},
		{INSERT, 1, 2, 6, 0, "?*2 6 . . | 3 5 6 ."},
		{INSERT, 1, 1, 7, 0, "?*2 ?*2 . . | 3 ?*2 6 ."},
		{LOOKUP, 0, 0, 0, 3, "?*2 ?*2 . . | 3 ?*2 6 ."},     /* 3 and don't know */
		{LOOKUP, 1, 1, 0, DOUBT, "?*2 ?*2 . . | 3 ?*2 6 ."}, /* all don't know */
		{PEEK, 1, 1, 0, DOUBT, "?*2 ?*2 . . | 3 ?*2 6 ."},
		{LOOKUP, 0, 3, 0, GONE, "?*2 ?*2 . . | 3 ?*2 6 ."}, /* an empty one */
		{LOOKUP, 0, 2, 0, 6, "?*2 ?*2 . . | 3 ?*2 6 ."},    /* a false positive */
		{INSERT, 3, 3, 9, 0, "?*2 ?*2 . 9 | 3 ?*2 6 9"},
		{LOOKUP, 3, 0, 0, GONE, "?*2 ?*2 . 9 | 3 ?*2 6 9"}, /* two states */
		{PEEK, 3, 0, 0, GONE, "?*2 ?*2 . 9 | 3 ?*2 6 9"},
	}},
	{"a stateful flow in doubt can be deleted but not changed", &with_counters, .marked = 2, .lines = {
		{INSERT, 0, 0, 1, 0, "1 . . . | 1 . . ."},
		{INSERT, 0, 1, 2, 0, "?*2 . . . | 1 2 . ."},
		{INSERT, 1, 0, 3, 0, "?*2 3 . . | ?*2 2 . ."},
		{MODIFY, 0, 0, 4, -EBUSY, "?*2 3 . . | ?*2 2 . ."},
		{SET, 0, 0, 4, -EBUSY, "?*2 3 . . | ?*2 2 . ."},
		{DELETE, 0, 0, 0, 0, "? 3 . . | ? 2 . ."},
	}},
	{"a stateful insert that meets a match is counted", &with_counters, .marked = 2, .collisions = 2, .lines = {
		{INSERT, 0, 0, 1, 0, "1 . . . | 1 . . ."},
		{INSERT, 0, 0, 1, 0, "1*2 . . . | 1*2 . . ."},
		{INSERT, 0, 0, 2, 0, "?*3 . . . | ?*3 . . ."},
	}},
	{"the threshold asks for more cells that know", &with_counters, .threshold = 2, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{LOOKUP, 0, 0, 0, 3, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 5, 0, "?*2 . . . | 3 5 . ."},
		{LOOKUP, 0, 0, 0, DOUBT, "?*2 . . . | 3 5 . ."},
		{MODIFY, 0, 0, 4, -EBUSY, "?*2 . . . | 3 5 . ."},
		{DELETE, 0, 0, 0, 0, "? . . . | . 5 . ."},
	}},
	{"without counters every second flow makes a cell don't know", &without_counters, 1, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 3, 0, "? . . . | 3 3 . ."},
		{MODIFY, 0, 0, 4, 0, "? . . . | 4 3 . ."}, /* don't know stays, the other is its own */
		{DELETE, 0, 0, 0, 0, "? . . . | . 3 . ."}, /* don't know is left to the tick */
	}},
	{"without counters a flow in doubt is left to the tick", &without_counters, 1, .marked = 2, .collisions = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 0, 4, 0, "? . . . | ? . . ."},
		{DELETE, 0, 0, 0, -EBUSY, "? . . . | ? . . ."},
		{MODIFY, 0, 0, 4, -EBUSY, "? . . . | ? . . ."},
		{TICK, 0, 0, 1, 0, "? . . . | ? . . ."},
		{TICK, 0, 0, 2, 0, ". . . . | . . . ."},
		{LOOKUP, 0, 0, 0, GONE, ". . . . | . . . ."},
	}},
	{"lookups touch all cells of a flow and peeks none", &with_counters, 1, .marked = 3, .collisions = 1, .lines = {
		{INSERT, 0, 0, 1, 0, "1 . . . | 1 . . ."},
		{INSERT, 0, 1, 2, 0, "?*2 . . . | 1 2 . ."},
		{TICK, 0, 0, 1, 0, "?*2 . . . | 1 2 . ."},
		{LOOKUP, 0, 0, 0, 1, "?*2 . . . | 1 2 . ."},
		{TICK, 0, 0, 2, 0, "?*2 . . . | 1 . . ."},
		{PEEK, 0, 0, 0, 1, "?*2 . . . | 1 . . ."},
		{LOOKUP, 0, 1, 0, GONE, "?*2 . . . | 1 . . ."}, /* what is absent touches nothing */
		{TICK, 0, 0, 3, 0, ". . . . | . . . ."},
		{INSERT, 0, 0, 1, 0, "1 . . . | 1 . . ."},
		{INSERT, 0, 0, 2, 0, "?*2 . . . | ?*2 . . ."},
		{TICK, 0, 0, 4, 0, "?*2 . . . | ?*2 . . ."},
		{LOOKUP, 0, 0, 0, DOUBT, "?*2 . . . | ?*2 . . ."}, /* it may be there, and lives on */
		{TICK, 0, 0, 5, 0, "?*2 . . . | ?*2 . . ."},
	}},
};
/* clang-format on */

TEST_THAT(a_set_stores_or_changes)
{
	const struct variant *all[] = {&with_counters, &without_counters, &counting};

	for (size_t i = 0; i < COUNT(all); i++) {
		uint64_t id;

		make(all[i], 1);
		id = is_direct(all[i]->kind) ? flow_of_two(1, 0, 2, 3) : flow_at(0, 0);
		assert_int_equal(ink_set(t, id, 1), 0);
		assert_int_equal(ink_lookup(t, id), 1);
		assert_int_equal(ink_set(t, id, 2), 0);
		assert_int_equal(ink_lookup(t, id), 2);
		assert_int_equal(ink_lookup_in(t, id, 1), INK_ABSENT);
	}
}

TEST_THAT(a_count_at_its_top_stays_there)
{
	uint64_t ids[9];

	make(&with_counters, 1);
	for (unsigned i = 0; i < 9; i++)
		ink_insert(t, ids[i] = flow_at(0, 0), 1);
	assert_cells("1*7 . . . | 1*7 . . .");
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(ink_delete(t, ids[i]), 0);
	assert_cells("1*7 . . . | 1*7 . . .");
	ink_tick(t, 1, NULL);
	ink_tick(t, 2, NULL); /* but not for ever */
	assert_cells(". . . . | . . . .");
}

/* ------------------------------------------------------------------------ direct */

TEST_THAT(a_pair_is_counted_in_and_out)
{
	uint64_t id;

	make(&counting, 0);
	id = flow_of_two(1, 0, 2, 3);
	assert_int_equal(ink_insert(t, id, 1), 0);
	assert_cells("1 . . . | 1 . . .");
	assert_int_equal(ink_lookup_in(t, id, 1), 1);
	assert_int_equal(ink_lookup_in(t, id, 2), INK_ABSENT);
	assert_int_equal(ink_modify_from(t, id, 2, 3), -ENOENT);
	assert_int_equal(ink_modify_from(t, id, 1, 2), 0);
	assert_cells(". . . 1 | . . . 1");
	assert_int_equal(ink_delete_in(t, id, 1), -ENOENT);
	assert_int_equal(ink_delete_in(t, id, 2), 0);
	assert_cells(". . . . | . . . .");
	assert_int_equal(ink_modify(t, id, 1), -ENOENT);
	assert_int_equal(ink_delete(t, id), -ENOENT);
}

/* The flow is in state 1; another one makes it look as if it were in state 2 too. */
static uint64_t flow_in_two_states(void)
{
	uint64_t id = flow_of_two(1, 0, 2, 1);

	ink_insert(t, id, 1);
	ink_insert(t, flow_in(7, 1, 1), 7);
	return id;
}

TEST_THAT(a_flow_that_seems_to_be_in_two_states_is_in_doubt)
{
	uint64_t id;

	make(&counting, 0);
	id = flow_in_two_states();
	assert_cells("1 1 . . | 1 1 . .");
	assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
	assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
	assert_int_equal(ink_modify(t, id, 3), -EBUSY);
	assert_int_equal(ink_set(t, id, 3), -EBUSY);
	assert_int_equal(ink_delete(t, id), -EBUSY);
	assert_cells("1 1 . . | 1 1 . .");
	assert_int_equal(ink_lookup_in(t, id, 1), 1); /* a caller that knows the state is not in doubt */
	assert_int_equal(ink_lookup_in(t, id, 2), 2); /* nor right, for once */
	assert_int_equal(ink_delete_in(t, id, 1), 0);
	assert_cells(". 1 . . | . 1 . .");
}

TEST_THAT(saturated_counters_stay_or_count_down)
{
	struct variant down = counting;
	uint64_t ids[5];

	for (unsigned sticky = 0; sticky < 2; sticky++) {
		down.geometry.bloom_flags = sticky ? 0 : INK_BLOOM_DECREMENT;
		make(&down, 0);
		for (unsigned i = 0; i < 5; i++)
			ink_insert(t, ids[i] = flow_in(1, 0, 0), 1);
		assert_cells("3 . . . | 3 . . .");
		assert_int_equal(stats_now().collisions, 4);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(ink_delete_in(t, ids[i], 1), 0);
		assert_cells(sticky ? "3 . . . | 3 . . ." : ". . . . | . . . .");
		assert_int_equal(ink_lookup_in(t, ids[4], 1), sticky ? 1 : INK_ABSENT);
	}
}

TEST_THAT(without_counters_a_pair_stays_until_its_time_is_over)
{
	uint64_t id;

	make(&plain, 1);
	id = flow_of_two(1, 0, 2, 3);
	ink_insert(t, id, 1);
	assert_int_equal(ink_delete(t, id), -EBUSY);
	assert_int_equal(ink_delete_in(t, id, 1), -EBUSY);
	assert_int_equal(ink_modify_from(t, id, 1, 2), 0);
	assert_cells("1 . . 1 | 1 . . 1");
	assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
	ink_tick(t, 1, NULL);
	assert_int_equal(ink_lookup_in(t, id, 2), 2);
	ink_tick(t, 2, NULL);
	assert_cells(". . . 1 | . . . 1");
	assert_int_equal(ink_lookup(t, id), 2);
}

TEST_THAT(a_direct_modify_to_the_same_state_only_touches)
{
	uint64_t id;

	make(&counting, 1);
	id = flow_in(1, 0, 0);
	ink_insert(t, id, 1);
	ink_tick(t, 1, NULL);
	assert_int_equal(ink_modify_from(t, id, 1, 1), 0);
	assert_cells("1 . . . | 1 . . .");
	ink_tick(t, 2, NULL);
	assert_int_equal(ink_lookup_in(t, id, 1), 1);
}

/* ------------------------------------------------------------------------ rules */

TEST_THAT(a_cell_ends_by_its_period_and_is_counted_by_its_state)
{
	struct ink_timing timings[MANY_STATES + 1];
	struct ink_row rows[MANY_STATES + 2];
	struct ink_rules rules = {sizeof rules, MANY_STATES, 1, rows, NULL, timings};
	struct ink_counts expired;

	for (unsigned i = 0; i < MANY_STATES + 2; i++)
		rows[i] = (struct ink_row){INK_NO_ROW, 0};
	for (unsigned i = 0; i <= MANY_STATES; i++)
		timings[i] = (struct ink_timing){i == 1 ? 2 : i == 2 ? 5 : 1, INK_ABSENT, 0};
	make(&with_counters, 1);
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
	ink_insert(t, flow_at(0, 0), 1);
	ink_insert(t, flow_at(1, 1), 2);
	ink_insert(t, flow_at(1, 2), 1); /* 1 | 1 is now don't know, and rests for 5 as state 2 does */
	assert_cells("1 ?*2 . . | 1 2 1 .");
	ink_tick(t, 2, NULL);
	ink_tick(t, 4, &expired);
	assert_cells(". ?*2 . . | . 2 . .");
	assert_int_equal(expired.state[1], 3);
	assert_int_equal(expired.total, 3);
	ink_tick(t, 5, NULL);
	ink_tick(t, 10, &expired);
	assert_cells(". . . . | . . . .");
	assert_int_equal(expired.unsure, 1);
	assert_int_equal(stats_now().expired, 5);
	make(&counting, 1);
	ink_insert(t, flow_in(1, 0, 0), 1);
	ink_tick(t, 1, NULL);
	ink_tick(t, 2, &expired);
	assert_cells(". . . . | . . . .");
	assert_int_equal(expired.unsure, 2); /* cells of direct know no state */
}

TEST_THAT(rules_that_these_kinds_cannot_keep_are_refused)
{
	struct ink_timing timings[MANY_STATES + 1];
	struct ink_row rows[MANY_STATES + 2];
	struct ink_rules rules = {sizeof rules, MANY_STATES, 1, rows, NULL, timings}, few = rules;
	struct ink_why why;

	for (unsigned i = 0; i < MANY_STATES + 2; i++)
		rows[i] = (struct ink_row){INK_NO_ROW, 0};
	for (unsigned i = 0; i <= MANY_STATES; i++)
		timings[i] = (struct ink_timing){1, INK_ABSENT, 0};
	timings[3].timeout = 2;
	make(&with_counters, 1);
	assert_int_equal(ink_set_rules(t, &rules, &why), -ENOTSUP);
	assert_non_null(strstr(why.text, "state 3"));
	make(&counting, 1);
	assert_int_equal(ink_set_rules(t, &rules, &why), -ENOTSUP);
	make(&counting, 0); /* without age bits nothing ends, and nothing moves */
	assert_int_equal(ink_set_rules(t, &rules, &why), 0);
	timings[3] = (struct ink_timing){0, 2, 0}; /* nor does a state without a period */
	make(&with_counters, 1);
	assert_int_equal(ink_set_rules(t, &rules, &why), 0);
	timings[3] = (struct ink_timing){7, INK_ABSENT, 0};
	assert_int_equal(ink_set_rules(t, &rules, &why), 0);
	make(&counting, 1);
	assert_int_equal(ink_set_rules(t, &rules, &why), -ENOTSUP);
	assert_non_null(strstr(why.text, "state 3 has period 7"));
	timings[3].period = 1;
	assert_int_equal(ink_set_rules(t, &rules, &why), 0);
	few.states = 2; /* the states beyond would never end */
	assert_int_equal(ink_set_rules(t, &few, &why), -ENOTSUP);
	assert_int_equal(t->program->timings[9].period, 1); /* the old rules stay */
}

/* --------------------------------------------------------------------- looking */

TEST_THAT(there_is_no_census_but_cells_are_counted)
{
	const struct variant *all[] = {&with_counters, &counting};
	struct ink_counts counts = {.total = 9};

	for (size_t i = 0; i < 2; i++) {
		make(all[i], 0);
		ink_insert(t, flow_in(1, 0, 0), 1);
		ink_insert(t, flow_in(1, 0, 1), 1);
		assert_int_equal(ink_census(t, &counts), -ENOTSUP);
		assert_int_equal(counts.total, 0);
		assert_int_equal(stats_now().cells, 8);
		assert_int_equal(stats_now().occupied, 3);
		assert_int_equal(stats_now().side_cells, 0);
	}
}

TEST_THAT(the_flows_are_estimated)
{
	struct ink_options o = {.size = sizeof o, .states = 4, .flows = 20000, .error = .01, .seed = 1};
	uint64_t n = 15000;

	variant = &with_counters;
	for (unsigned kind = INK_STATEFUL; kind <= INK_DIRECT; kind++) {
		o.kind = (enum ink_kind)kind;
		make_from(&o);
		for (uint64_t i = 0; i < n; i++)
			ink_insert(t, id_number(i), i % 4);
		assert_true(stats_now().flows > n / 100 * 98 && stats_now().flows < n / 100 * 102);
	}
}

TEST_THAT(a_full_filter_says_so_and_does_not_fail)
{
	make(&with_counters, 0);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(ink_insert(t, random_word(), i % MANY_STATES), 0);
	assert_int_equal(stats_now().occupied, 8);
	assert_int_equal(ink_lookup(t, random_word()), INK_DONT_KNOW);
	assert_true(stats_now().flows > 8);
	assert_int_equal(stats_now().refused, 0);
	assert_sound(t);
}

TEST_THAT(damage_is_found)
{
	static const struct {
		const struct variant *variant;
		unsigned cell;
		uint32_t value;
	} damages[] = {
		{&with_counters, 0, 1},                         /* an age without a count */
		{&with_counters, 0, 1 << 5 | MANY_STATES << 1}, /* a state that the table has not */
		{&with_counters, 8, 1},                         /* behind the last cell */
		{&without_counters, 0, 1},
		{&without_counters, 0, (MANY_STATES + 1) << 1},
		{&counting, 0, 1},
	};

	for (size_t i = 0; i < COUNT(damages); i++) {
		make(damages[i].variant, 1);
		cell_write(t, bloom_cell_at(bloom_of(t), damages[i].cell), damages[i].value);
		assert_int_equal(ink_check(t, NULL), -EUCLEAN);
	}
}

/* ------------------------------------------------------------- what is measured */

static unsigned state_of_flow(uint64_t i, unsigned states)
{
	return (unsigned)(((id_number(i + (1ull << 40)) >> 32) * states) >> 32);
}

enum { TABLES = 10, FEWEST_FLOWS = 2000, MORE_FLOWS = 18000, STRANGERS_A_FLOW = 3 };

/* Of each table; enough to judge every formula in short runs too. */
static uint64_t flows_each(void)
{
	return FEWEST_FLOWS + scaled(MORE_FLOWS);
}

static uint64_t strangers_each(void)
{
	return STRANGERS_A_FLOW * flows_each();
}

/* The share of n flows from `first` on that are in doubt; no answer is wrong. */
static double doubts(uint64_t first, unsigned states)
{
	uint64_t lost = 0;

	for (uint64_t i = first; i < first + flows_each(); i++)
		ink_insert(t, id_number(i), state_of_flow(i, states));
	for (uint64_t i = first; i < first + flows_each(); i++) {
		ink_answer answer = ink_peek(t, id_number(i));

		if (answer != INK_DONT_KNOW)
			assert_int_equal(answer, state_of_flow(i, states));
		lost += answer == INK_DONT_KNOW;
	}
	return (double)lost / (double)flows_each();
}

static double false_positives(uint64_t first)
{
	uint64_t found = 0;

	for (uint64_t i = first; i < first + strangers_each(); i++)
		found += ink_peek(t, id_number(i + (1ull << 50))) != INK_ABSENT;
	return (double)found / (double)strangers_each();
}

/* A way to keep states that has formulas of its own. */
struct way {
	const char *errors, *doubts;
	struct ink_options options;
	double ceilings[4];
};

struct formulas {
	struct tally errors, doubts;
	uint64_t next;   /* flow */
	double most_off; /* by which share of the plan's, where doubts are many */
};

static void measure(struct formulas *f, const struct ink_options *o)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct sample errors = {0}, doubtful = {0};
	char point[40];

	snprintf(point, sizeof point, "%u states, error %g", o->states, o->error);
	assert_int_equal(ink_plan(o, &plan, NULL), 0);
	for (uint64_t i = 0; i < TABLES; i++, f->next += strangers_each()) {
		make_from(o);
		assert_int_equal(t->body_bytes + ink_table_bytes(&plan, 1), plan.bytes);
		sample_add(&doubtful, doubts(f->next, o->states));
		sample_add(&errors, false_positives(f->next));
	}
	tally_add(&f->errors, &errors,
		  (struct claim){point, plan.error, plan.error * TABLES * (double)strangers_each()});
	tally_add(&f->doubts, &doubtful,
		  (struct claim){point, plan.unsure, plan.unsure * TABLES * (double)flows_each()});
	if (o->error > .02)
		f->most_off = fmax(f->most_off, fabs(sample_mean(&doubtful) / plan.unsure - 1));
}

/* 20 points of each way. */
static void measure_way(struct formulas *f, const struct way *w)
{
	static const unsigned states[] = {2, 3, 5, 9, 15};
	struct ink_options o = w->options;

	o.size = sizeof o;
	o.seed = 1;
	o.flows = flows_each();
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++) {
			o.states = states[i];
			o.error = w->ceilings[j];
			measure(f, &o);
		}
}

TEST_THAT(the_formulas_of_the_plan_hold)
{
	static const struct way ways[] = {
		{"errors of stateful", "doubts of stateful", {.kind = INK_STATEFUL}, {.2, .1, .05, .02}},
		{"errors without counters",
		 "doubts without counters",
		 {.kind = INK_STATEFUL, .age_bits = 1},
		 {.2, .1, .05, .02}},
		{"errors of blocked",
		 "doubts of blocked",
		 {.kind = INK_STATEFUL, .geometry = {.bloom_flags = INK_BLOOM_BLOCKED}},
		 {.2, .1, .05, .02}},
		{"errors of blocked without counters",
		 "doubts of blocked without counters",
		 {.kind = INK_STATEFUL, .age_bits = 1, .geometry = {.bloom_flags = INK_BLOOM_BLOCKED}},
		 {.2, .1, .05, .02}},
		{"errors where two must know",
		 "doubts where two must know",
		 {.kind = INK_STATEFUL, .geometry = {.threshold = 2}},
		 {.4, .3, .2, .1}},
		{"errors of direct",
		 "doubts of direct",
		 {.kind = INK_DIRECT, .age_bits = 1},
		 {.2, .1, .05, .02}},
	};
	struct formulas f = {.next = 0};

	variant = &with_counters;
	for (size_t i = 0; i < COUNT(ways); i++) {
		f.errors = (struct tally){.formula = ways[i].errors};
		f.doubts = (struct tally){.formula = ways[i].doubts};
		measure_way(&f, &ways[i]);
		assert_tally(&f.errors);
		assert_tally(&f.doubts);
	}
	print_message("the share of don't-know is within %.1f %% of the plan\n", f.most_off * 100);
	assert_true(f.most_off < (test_scale() < 1 ? .1 : .05));
}

/* ------------------------------------------------------------- a well-behaved run */

/*
 * Flows come, change their states, are looked up and go, properly. Whatever is
 * answered is right or don't-know; and when all have gone, nothing is left.
 */
static void churn(uint64_t operations, struct ink_options o)
{
	uint64_t n = o.flows, next = n, doubts = 0, lookups = 0;
	uint64_t *ids = calloc(n, sizeof *ids);
	uint8_t *states = calloc(n, 1);

	make_from(&o);
	for (uint64_t i = 0; i < n; i++) {
		ids[i] = id_number(i);
		states[i] = (uint8_t)random_below(o.states);
		assert_int_equal(ink_insert(t, ids[i], states[i]), 0);
	}
	for (uint64_t i = 0; i < operations; i++) {
		uint64_t f = random_below(n);
		unsigned what = random_below(4), to = random_below(o.states);
		ink_answer answer;
		int error;

		if (what == 0) {
			assert_int_equal(ink_delete(t, ids[f]), 0);
			ids[f] = id_number(next++);
			states[f] = (uint8_t)to;
			assert_int_equal(ink_insert(t, ids[f], to), 0);
		} else if (what == 1) {
			answer = ink_peek(t, ids[f]);
			error = ink_modify(t, ids[f], to);
			assert_int_equal(error, answer == INK_DONT_KNOW ? -EBUSY : 0);
			states[f] = (uint8_t)to;
		} else {
			answer = ink_lookup(t, ids[f]);
			if (answer != INK_DONT_KNOW && answer != states[f])
				fail_msg("operation %llu: a wrong state", (unsigned long long)i);
			doubts += answer == INK_DONT_KNOW;
			lookups++;
		}
	}
	print_message("%llu operations, no wrong state, %.2f %% don't-know\n", (unsigned long long)operations,
		      100 * (double)doubts / (double)lookups);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(ink_delete(t, ids[i]), 0);
	assert_int_equal(stats_now().occupied, 0);
	assert_sound(t);
	free(ids);
	free(states);
}

TEST_THAT(ten_million_proper_operations_are_never_wrong)
{
	variant = &with_counters;
	churn(scaled(10000000), (struct ink_options){.size = sizeof(struct ink_options),
						     .kind = INK_STATEFUL,
						     .states = 8,
						     .flows = 20000,
						     .error = .05,
						     .seed = 1,
						     .geometry = {.counter_bits = 8}});
	churn(scaled(1000000),
	      (struct ink_options){.size = sizeof(struct ink_options),
				   .kind = INK_STATEFUL,
				   .states = 8,
				   .flows = 20000,
				   .error = .05,
				   .seed = 1,
				   .geometry = {.counter_bits = 8, .bloom_flags = INK_BLOOM_BLOCKED}});
}

/* ---------------------------------------------------------------- what is planned */

static struct ink_options planned_for(enum ink_kind kind)
{
	return (struct ink_options){
		.size = sizeof(struct ink_options), .kind = kind, .states = 15, .age_bits = 1};
}

TEST_THAT(the_ceiling_holds_for_strangers_and_for_flows)
{
	struct ink_plan p = {.size = sizeof p};

	for (unsigned kind = INK_STATEFUL; kind <= INK_DIRECT; kind++) {
		struct ink_options o = planned_for((enum ink_kind)kind);

		o.flows = 50000;
		o.error = .01;
		assert_int_equal(ink_plan(&o, &p, NULL), 0);
		assert_true(p.error <= .01 && p.unsure <= .01 && fmax(p.error, p.unsure) > .0099);
		assert_int_equal(p.flows, 50000);
		assert_true(fabs(p.load - 50000.0 / p.geometry.m) < 1e-12);
	}
}

TEST_THAT(a_plan_leads_back_to_itself)
{
	struct ink_plan p = {.size = sizeof p}, back = {.size = sizeof back};

	for (unsigned i = 0; i < 4; i++) {
		struct ink_options o = planned_for(i < 3 ? INK_STATEFUL : INK_DIRECT);

		o.geometry.bloom_flags = i == 1 ? INK_BLOOM_BLOCKED : 0;
		o.geometry.threshold = i == 2 ? 3 : 0;
		o.flows = 100000;
		o.error = .02;
		assert_int_equal(ink_plan(&o, &p, NULL), 0);
		o.flows = 0;
		o.bytes = p.bytes;
		assert_int_equal(ink_plan(&o, &back, NULL), 0); /* bytes and error: the most flows */
		assert_true(back.flows >= 100000 && back.flows < 103000 && back.bytes <= p.bytes);
		assert_true(fmax(back.error, back.unsure) <= .02);
		o.flows = 100000;
		o.error = 0;
		assert_int_equal(ink_plan(&o, &back, NULL), 0); /* flows and bytes: the least error */
		assert_true(fmax(back.error, back.unsure) <= .02 && back.bytes <= p.bytes);
		o.bytes = p.bytes - 8192;
		o.error = .02;
		assert_int_equal(ink_plan(&o, &back, NULL), -ERANGE); /* all three: it must fit */
	}
}

TEST_THAT(blocking_has_a_price)
{
	struct ink_plan lines = {.size = sizeof lines}, cells = {.size = sizeof cells};
	struct ink_options o = planned_for(INK_STATEFUL);

	o.flows = 100000;
	o.geometry.bloom_flags = INK_BLOOM_BLOCKED;
	assert_int_equal(ink_plan(&o, &lines, NULL), 0);
	o.geometry = lines.geometry;
	o.geometry.counter_bits = INK_NO_COUNTERS;
	o.geometry.bloom_flags = 0;
	assert_int_equal(ink_plan(&o, &cells, NULL), 0);
	assert_int_equal(cells.geometry.m, lines.geometry.m);
	assert_true(cells.error < lines.error && cells.unsure < lines.unsure);
	assert_int_equal(lines.geometry.m % (512 / 6), 0); /* 5 bits of state and one of age */
}

TEST_THAT(given_cells_are_taken_as_they_are)
{
	struct ink_plan p = {.size = sizeof p};
	struct ink_options o = planned_for(INK_STATEFUL);

	o.states = 10; /* row 1 of the paper's Table 1: 128K cells of 4 bits and a timer, k = 3 */
	o.flows = 36000;
	o.geometry = (struct ink_geometry){.k = 3, .m = 131072};
	assert_int_equal(ink_plan(&o, &p, NULL), 0);
	assert_int_equal(p.geometry.m, 131072);
	assert_int_equal(p.state_bits, 4);
	assert_true(p.unsure > .17 && p.unsure < .18);
	o.kind = INK_DIRECT; /* 256K cells of 2 bits and a timer */
	o.geometry.m = 262144;
	assert_int_equal(ink_plan(&o, &p, NULL), 0);
	assert_int_equal(p.geometry.counter_bits, 2);
	o.flows = 0; /* as many flows as the ceiling allows */
	o.error = .01;
	assert_int_equal(ink_plan(&o, &p, NULL), 0);
	assert_true(p.flows > 1000 && fmax(p.error, p.unsure) <= .01);
}

TEST_THAT(bad_options_are_refused_with_a_reason)
{
	struct ink_options good = planned_for(INK_STATEFUL);

	good.flows = 1000;
	good.error = .01;
	REFUSED(-EINVAL, geometry.k = 33);
	REFUSED(-EINVAL, geometry.counter_bits = 1);
	REFUSED(-EINVAL, geometry.counter_bits = 9);
	REFUSED(-EINVAL, geometry.threshold = 33);
	REFUSED(-EINVAL, geometry.bloom_flags = 4);
	REFUSED(-EINVAL, geometry.side = 10);
	REFUSED(-EINVAL, geometry.b = 10);
	REFUSED(-EINVAL, geometry.dleft_flags = 1);
	REFUSED(-ENOTSUP, geometry.bloom_flags = INK_BLOOM_DECREMENT);
	REFUSED(-ENOTSUP, full = INK_REPLACE);
	REFUSED(-ENOTSUP, writers = 2);
	REFUSED(-ERANGE, geometry.m = 10);
	REFUSED(-ERANGE, geometry.m = 1000);
	REFUSED(-ERANGE, bytes = 8000);
	REFUSED(-ERANGE, flows = 1ull << 33);
	good.geometry.counter_bits = INK_NO_COUNTERS;
	REFUSED(-EINVAL, age_bits = 0);
	good.geometry = (struct ink_geometry){.k = 4};
	REFUSED(-EINVAL, geometry.threshold = 5);
	REFUSED(-ERANGE, geometry.m = 7);
	good.geometry = (struct ink_geometry){.bloom_flags = INK_BLOOM_BLOCKED, .counter_bits = 8, .k = 18};
	REFUSED(-ERANGE, states = 255); /* 17 bits a cell: 30 cells in a line, and each hash needs two */
	good = planned_for(INK_DIRECT);
	good.flows = 1000;
	REFUSED(-EINVAL, geometry.threshold = 1);
	REFUSED(-EINVAL, geometry.counter_bits = 9);
	REFUSED(-ENOTSUP, geometry.bloom_flags = INK_BLOOM_BLOCKED);
	REFUSED(-ENOTSUP, full = INK_REPLACE);
	good.geometry.counter_bits = INK_NO_COUNTERS;
	REFUSED(-EINVAL, age_bits = 0);
	good = planned_for(INK_LINE);
	good.flows = 1000;
	REFUSED(-EINVAL, geometry.k = 3);
	REFUSED(-EINVAL, geometry.m = 1000);
	REFUSED(-EINVAL, geometry.counter_bits = 3);
	REFUSED(-EINVAL, geometry.bloom_flags = 1);
}

int main(void)
{
	return run_rows("scripts", run_script, scripts, sizeof scripts[0], COUNT(scripts)) +
	       run_suite(&(struct suite){.after_each = free_table});
}
