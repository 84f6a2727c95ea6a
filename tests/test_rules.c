/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules: which are refused and with which message, and what exchanging or removing them does to a table. What a step
 * does in each situation is in test_semantics.c, time in test_time.c; that every row is taken, also between portions of
 * a tick and in batches, and that an exchange keeps the states, is in program.h.
 */
#include "tests/help.h"

/* -------------------------------------------------------------- the machine */

enum { A, B, C, D, STATES };
enum { NEXT, REST, END, START, EVENTS };

/* clang-format off */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	/*            NEXT           REST              END               START */
	/* A      */ {B, 0},        {INK_NO_ROW, 0},  {INK_ABSENT, 12}, {A, 13},
	/* B      */ {C, 20},       {INK_NO_ROW, 21}, {INK_ABSENT, 22}, {INK_NO_ROW, 23},
	/* C      */ {D, UINT16_MAX}, {C, 31},        {INK_ABSENT, 32}, {INK_NO_ROW, 33},
	/* D      */ {A, 40},       {INK_NO_ROW, 41}, {INK_ABSENT, 42}, {INK_NO_ROW, 43},
	/* absent */ {INK_NO_ROW, 50}, {D, 51},       {INK_ABSENT, 52}, {A, 53},
	/* unsure */ {INK_NO_ROW, 60}, {A, 61},       {INK_ABSENT, 62}, {B, 63},
};
/* clang-format on */

static const uint8_t starts[EVENTS] = {[START] = 1};

static const struct ink_timing timings[STATES + 1] = {
	{3, B, 0}, {0, INK_ABSENT, 0}, {5, INK_ABSENT, 1}, {1, D, 0}, {2, INK_ABSENT, 0}};

static const struct ink_rules rules = {.size = sizeof rules,
				       .states = STATES,
				       .events = EVENTS,
				       .rows = rows,
				       .starts = starts,
				       .timings = timings};

/* A copy of the rules that may be spoilt. */
static struct ink_rules spoilt;
static struct ink_row spoilt_rows[(STATES + 2) * EVENTS];
static struct ink_timing spoilt_timings[STATES + 1];

static void make(unsigned states, const struct ink_rules *with)
{
	struct ink_options o = variant_options();

	o.states = states;
	o.age_bits = 1;
	o.rules = with;
	o.geometry.side = 8;
	make_from(&o);
}

/* A table with these rules, and a copy of them. */
static int a_table_with_rules(void **state)
{
	spoilt = rules;
	memcpy(spoilt_rows, rows, sizeof rows);
	memcpy(spoilt_timings, timings, sizeof timings);
	spoilt.rows = spoilt_rows;
	spoilt.timings = spoilt_timings;
	make(STATES, &rules);
	return 0;
}

/* --------------------------------------------------------------- refusals */

static void assert_rules_work(void)
{
	uint64_t id = flow(B);

	assert_steps(id, NEXT, B, C, 20);
	assert_steps(id, END, C, INK_ABSENT, 32);
}

/* Refused by table and creation, with these words; without room for words too; the old rules stay. */
static void assert_refused(const char *words)
{
	struct ink_options o = variant_options();
	struct ink_why why = {""}, other = {""};

	assert_int_equal(ink_set_rules(t, &spoilt, &why), -EINVAL);
	assert_string_equal(why.text, words);
	assert_int_equal(ink_set_rules(t, &spoilt, NULL), -EINVAL);
	assert_rules_work();
	o.states = STATES;
	o.rules = &spoilt;
	errno = 0;
	assert_null(ink_create(&o, &other));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(other.text, words);
}

TEST_THAT(numbers_that_are_too_small_or_too_large_are_refused)
{
	static const struct {
		unsigned *at, value;
		const char *words;
	} numbers[] = {
		{&spoilt.states, 0, "rules: 0 states, the table has 4"},
		{&spoilt.states, STATES + 1, "rules: 5 states, the table has 4"},
		{&spoilt.events, 0, "rules: 0 events, 1 to 4096 are possible"},
		{&spoilt.events, INK_MAX_EVENTS + 1, "rules: 4097 events, 1 to 4096 are possible"},
	};

	for (size_t i = 0; i < COUNT(numbers); i++) {
		unsigned good = *numbers[i].at;

		*numbers[i].at = numbers[i].value;
		assert_refused(numbers[i].words);
		*numbers[i].at = good;
	}
}

TEST_THAT(rules_without_rows_are_refused)
{
	spoilt.rows = NULL;
	assert_refused("rules: no rows");
}

#define ROW(line) &spoilt_rows[(line)*EVENTS + END].next
#define TIME_OUT(line) &spoilt_timings[line].timeout

TEST_THAT(what_leads_nowhere_is_refused)
{
	static const struct {
		int16_t *at, value;
		const char *words;
	} links[] = {
		{ROW(A), 32767, "rules: the row of state 0 for event 2 leads to 32767, which is no state"},
		{ROW(B), -4, "rules: the row of state 1 for event 2 leads to -4, which is no state"},
		{ROW(C), STATES, "rules: the row of state 2 for event 2 leads to 4, which is no state"},
		{ROW(D), INK_DONT_KNOW,
		 "rules: the row of state 3 for event 2 leads to -2, which is no state"},
		{ROW(STATES), STATES, "rules: the row of absent for event 2 leads to 4, which is no state"},
		{ROW(STATES + 1), -5, "rules: the row of unsure for event 2 leads to -5, which is no state"},
		{TIME_OUT(A), INK_DONT_KNOW, "rules: the time-out of state 0 leads to -2, which is no state"},
		{TIME_OUT(B), STATES, "rules: the time-out of state 1 leads to 4, which is no state"},
		{TIME_OUT(D), INK_NO_ROW, "rules: the time-out of state 3 leads to -3, which is no state"},
		{TIME_OUT(STATES), A, "rules: the time-out of unsure leads to 0; it can only end"},
		{TIME_OUT(STATES), INK_NO_ROW, "rules: the time-out of unsure leads to -3; it can only end"},
	};

	for (size_t i = 0; i < COUNT(links); i++) {
		int16_t good = *links[i].at;

		*links[i].at = links[i].value;
		assert_refused(links[i].words);
		*links[i].at = good;
	}
}

/* A state that the table has but the rules have not is none for them. */
TEST_THAT(rows_that_lead_beyond_the_rules_are_refused)
{
	struct ink_why why;

	spoilt.states = C;
	assert_int_equal(ink_set_rules(t, &spoilt, &why), -EINVAL);
	assert_string_equal(why.text, "rules: the row of state 1 for event 0 leads to 2, which is no state");
}

/* ------------------------------------------------------------ what is taken */

TEST_THAT(as_many_events_as_there_may_be_are_taken)
{
	enum { LAST = INK_MAX_EVENTS - 1 };
	struct ink_row *many = calloc((size_t)(1 + 2) * INK_MAX_EVENTS, sizeof *many);
	struct ink_rules r = {.size = sizeof r, .states = 1, .events = INK_MAX_EVENTS, .rows = many};
	uint64_t id;

	assert_non_null(many);
	for (uint16_t i = 0; i < INK_MAX_EVENTS; i++)
		many[i].action = i; /* of state A; all rows lead to A */
	make(1, &r);
	free(many);
	id = stranger();
	assert_steps(id, LAST, INK_ABSENT, A, 0);
	assert_steps(id, LAST, A, A, LAST);
	assert_steps(id, 1, A, A, 1);
}

/* What the caller had may be gone. */
TEST_THAT(the_table_keeps_a_copy_of_its_rules)
{
	uint8_t own_starts[EVENTS];

	memcpy(own_starts, starts, sizeof starts);
	spoilt.starts = own_starts;
	assert_int_equal(ink_set_rules(t, &spoilt, NULL), 0);
	memset(spoilt_rows, 0x55, sizeof spoilt_rows);
	memset(spoilt_timings, 0x55, sizeof spoilt_timings);
	memset(own_starts, 1, sizeof own_starts);
	memset(&spoilt, 0, sizeof spoilt);
	assert_rules_work();
	assert_steps(flow(B), REST, B, B, 21);
}

TEST_THAT(without_starts_no_event_is_one)
{
	uint64_t id;

	spoilt.starts = NULL;
	assert_int_equal(ink_set_rules(t, &spoilt, NULL), 0);
	id = flow(B);
	note();
	assert_steps(id, START, B, B, 23);
	assert_unchanged();
}

/* ---------------------------------------------------------------- exchanging */

/* The marks stay too: they were set under the old periods and are looked at under the new ones. */
TEST_THAT(an_exchange_of_rules_changes_the_periods)
{
	uint64_t id = flow(B);

	for (uint64_t now = 1; now < 10; now++)
		assert_int_equal(ink_tick(t, now, NULL), 0);
	assert_int_equal(ink_peek(t, id), B); /* period 0 */
	assert_int_equal(ink_lookup(t, id), B);
	spoilt_timings[B].period = 1;
	assert_int_equal(ink_set_rules(t, &spoilt, NULL), 0);
	assert_int_equal(ink_tick(t, 10, NULL), 0);
	assert_int_equal(ink_peek(t, id), is_exact() ? INK_ABSENT : B);
	assert_int_equal(ink_tick(t, 11, NULL), 0);
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
}

/* ------------------------------------------------------------------ all of them */

static int run_variant(void)
{
	return run_listed(0, a_table_with_rules);
}

int main(void)
{
	return failures_of_variants(run_variant) != 0;
}
