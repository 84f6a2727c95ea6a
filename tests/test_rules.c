/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules: which are refused and with what words, what becomes of a table whose
 * rules are exchanged or taken away, and that steps return what the rows say,
 * one by one as in batches. What a step does in each situation is in
 * test_semantics.c, what time does in test_time.c.
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
	(void)state;
	spoilt = rules;
	memcpy(spoilt_rows, rows, sizeof rows);
	memcpy(spoilt_timings, timings, sizeof timings);
	spoilt.rows = spoilt_rows;
	spoilt.timings = spoilt_timings;
	make(STATES, &rules);
	return 0;
}

static uint64_t flow(unsigned state)
{
	uint64_t id = stranger();

	assert_int_equal(ink_insert(t, id, state), 0);
	return id;
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

static void rules_of_another_size_are_refused(void **state)
{
	char words[100];

	(void)state;
	spoilt.size = sizeof spoilt - 1;
	snprintf(words, sizeof words, "rules: size is %zu, the struct has %zu bytes", sizeof spoilt - 1,
		 sizeof spoilt);
	assert_refused(words);
	spoilt.size = 0;
	snprintf(words, sizeof words, "rules: size is 0, the struct has %zu bytes", sizeof spoilt);
	assert_refused(words);
}

static void rules_of_a_larger_size_are_taken(void **state)
{
	(void)state;
	spoilt.size = sizeof spoilt + 64;
	assert_int_equal(ink_set_rules(t, &spoilt, NULL), 0);
	assert_rules_work();
}

static void rules_with_no_states_are_refused(void **state)
{
	(void)state;
	spoilt.states = 0;
	assert_refused("rules: 0 states, the table has 4");
}

static void rules_with_more_states_than_the_table_are_refused(void **state)
{
	(void)state;
	spoilt.states = STATES + 1;
	assert_refused("rules: 5 states, the table has 4");
}

static void rules_with_no_events_are_refused(void **state)
{
	(void)state;
	spoilt.events = 0;
	assert_refused("rules: 0 events, 1 to 4096 are possible");
}

static void rules_with_too_many_events_are_refused(void **state)
{
	(void)state;
	spoilt.events = INK_MAX_EVENTS + 1;
	assert_refused("rules: 4097 events, 1 to 4096 are possible");
}

static void rules_without_rows_are_refused(void **state)
{
	(void)state;
	spoilt.rows = NULL;
	assert_refused("rules: no rows");
}

static void assert_row_refused(unsigned line, int16_t next, const char *words)
{
	spoilt_rows[line * EVENTS + END].next = next;
	assert_refused(words);
	spoilt_rows[line * EVENTS + END].next = INK_ABSENT;
}

static void rows_that_lead_nowhere_are_refused(void **state)
{
	(void)state;
	assert_row_refused(C, STATES, "rules: the row of state 2 for event 2 leads to 4, which is no state");
	assert_row_refused(A, 32767,
			   "rules: the row of state 0 for event 2 leads to 32767, which is no state");
	assert_row_refused(D, INK_DONT_KNOW,
			   "rules: the row of state 3 for event 2 leads to -2, which is no state");
	assert_row_refused(B, -4, "rules: the row of state 1 for event 2 leads to -4, which is no state");
	assert_row_refused(STATES, STATES,
			   "rules: the row of absent for event 2 leads to 4, which is no state");
	assert_row_refused(STATES + 1, -5,
			   "rules: the row of unsure for event 2 leads to -5, which is no state");
}

/* A state that the table has but the rules have not is none for them. */
static void rows_that_lead_beyond_the_rules_are_refused(void **state)
{
	struct ink_why why;

	(void)state;
	spoilt.states = C;
	assert_int_equal(ink_set_rules(t, &spoilt, &why), -EINVAL);
	assert_string_equal(why.text, "rules: the row of state 1 for event 0 leads to 2, which is no state");
}

static void assert_timing_refused(unsigned line, int16_t timeout, const char *words)
{
	int16_t was = spoilt_timings[line].timeout;

	spoilt_timings[line].timeout = timeout;
	assert_refused(words);
	spoilt_timings[line].timeout = was;
}

static void time_outs_that_lead_nowhere_are_refused(void **state)
{
	(void)state;
	assert_timing_refused(B, STATES, "rules: the time-out of state 1 leads to 4, which is no state");
	assert_timing_refused(A, INK_DONT_KNOW,
			      "rules: the time-out of state 0 leads to -2, which is no state");
	assert_timing_refused(D, INK_NO_ROW, "rules: the time-out of state 3 leads to -3, which is no state");
}

static void a_time_out_of_unsure_can_only_end(void **state)
{
	(void)state;
	assert_timing_refused(STATES, A, "rules: the time-out of unsure leads to 0; it can only end");
	assert_timing_refused(STATES, INK_NO_ROW,
			      "rules: the time-out of unsure leads to -3; it can only end");
}

/* ------------------------------------------------------------ what is taken */

static void as_many_events_as_there_may_be_are_taken(void **state)
{
	enum { LAST = INK_MAX_EVENTS - 1 };
	struct ink_row *many = calloc((size_t)(1 + 2) * INK_MAX_EVENTS, sizeof *many);
	struct ink_rules r = {.size = sizeof r, .states = 1, .events = INK_MAX_EVENTS, .rows = many};
	uint64_t id;

	(void)state;
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
static void the_table_keeps_a_copy_of_its_rules(void **state)
{
	uint8_t own_starts[EVENTS];

	(void)state;
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

static void without_starts_no_event_is_one(void **state)
{
	uint64_t id;

	(void)state;
	spoilt.starts = NULL;
	assert_int_equal(ink_set_rules(t, &spoilt, NULL), 0);
	id = flow(B);
	note();
	assert_steps(id, START, B, B, 23);
	assert_unchanged();
}

/* ----------------------------------------------------------------- stepping */

static void assert_no_step(uint64_t id, unsigned event)
{
	struct ink_move m = {7, 7, 7};

	assert_int_equal(ink_step(t, id, event, &m), -EINVAL);
	assert_move(m, INK_DONT_KNOW, INK_DONT_KNOW, 0);
}

static void without_rules_a_step_is_an_error(void **state)
{
	uint64_t id;

	(void)state;
	make(STATES, NULL);
	id = flow(A);
	note();
	assert_no_step(id, 0);
	assert_no_step(stranger(), NEXT);
	assert_unchanged();
}

static void rules_can_be_taken_away(void **state)
{
	uint64_t id = flow(C);

	(void)state;
	assert_int_equal(ink_set_rules(t, NULL, NULL), 0);
	note();
	assert_no_step(id, NEXT);
	assert_unchanged();
	assert_int_equal(ink_lookup(t, id), C);
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
	assert_steps(id, NEXT, C, D, UINT16_MAX);
}

static void an_event_that_the_rules_have_not_is_an_error(void **state)
{
	uint64_t id = flow(A);

	(void)state;
	note();
	assert_no_step(id, EVENTS);
	assert_no_step(id, UINT32_MAX);
	assert_no_step(stranger(), EVENTS);
	assert_unchanged();
}

static void every_row_is_taken_and_its_action_returned(void **state)
{
	(void)state;
	for (unsigned from = 0; from < STATES; from++)
		for (unsigned event = 0; event < START; event++) {
			struct ink_row row = rows[from * EVENTS + event];
			int to = row.next == INK_NO_ROW ? (int)from : row.next;
			uint64_t id = flow(from);

			assert_steps(id, event, (int)from, to, row.action);
			assert_int_equal(ink_peek(t, id), to);
			if (to != INK_ABSENT)
				assert_int_equal(ink_delete(t, id), 0);
		}
	assert_sound();
}

static void every_row_of_absent_is_taken(void **state)
{
	(void)state;
	for (unsigned event = 0; event < EVENTS; event++) {
		struct ink_row row = rows[STATES * EVENTS + event];
		int to = row.next == INK_NO_ROW ? INK_ABSENT : row.next;
		uint64_t id = stranger();

		assert_steps(id, event, INK_ABSENT, to, row.action);
		assert_int_equal(ink_peek(t, id), to);
	}
	assert_sound();
}

/* The entry is another flow's (exact: the flow begins anew); a row says that it may be the same. */
static void a_start_event_begins_a_flow_where_the_state_has_no_row(void **state)
{
	uint64_t id = flow(A);

	(void)state;
	note();
	assert_steps(id, START, A, A, 13);
	assert_unchanged();
	assert_int_equal(ink_modify(t, id, B), 0);
	note();
	assert_steps(id, START, INK_ABSENT, A, 53);
	if (is_exact())
		assert_changed(.state = {[B] = -1, [A] = 1});
	else
		assert_changed(.side_flows = 1, .collisions = 1, .state[A] = 1);
	assert_int_equal(ink_peek(t, id), A);
}

/* --------------------------------------------- fewer states than the table has */

static const struct ink_row few_rows[(2 + 2) * 2] = {
	{1, 1}, {INK_NO_ROW, 2}, {0, 3}, {INK_NO_ROW, 4}, {0, 5}, {1, 6}, {INK_NO_ROW, 7}, {INK_NO_ROW, 8},
};

static const uint8_t few_starts[2] = {0, 1};
static const struct ink_timing few_timings[2 + 1] = {
	{1, INK_ABSENT, 1}, {1, INK_ABSENT, 1}, {1, INK_ABSENT, 0}};

static const struct ink_rules few = {.size = sizeof few,
				     .states = 2,
				     .events = 2,
				     .rows = few_rows,
				     .starts = few_starts,
				     .timings = few_timings};

static int a_table_with_few_rules(void **state)
{
	(void)state;
	make(STATES, &few);
	return 0;
}

static void the_states_that_the_rules_name_go_by_them(void **state)
{
	uint64_t id = stranger();

	(void)state;
	assert_steps(id, 0, INK_ABSENT, 0, 5);
	assert_steps(id, 0, 0, 1, 1);
	assert_steps(id, 0, 1, 0, 3);
}

static void a_state_beyond_the_rules_has_no_rows_and_no_action(void **state)
{
	uint64_t id = flow(C);

	(void)state;
	note();
	assert_steps(id, 0, C, C, 0);
	assert_unchanged();
	assert_steps(id, 1, INK_ABSENT, 1, 6); /* a start */
	assert_int_equal(ink_peek(t, id), 1);
}

static void a_state_beyond_the_rules_is_stored_and_stays(void **state)
{
	uint64_t id = flow(D);

	(void)state;
	assert_int_equal(ink_modify(t, id, C), 0);
	for (uint64_t now = 1; now < 10; now++)
		assert_int_equal(ink_tick(t, now, NULL), 0);
	assert_int_equal(ink_lookup(t, id), C);
}

static void a_state_beyond_the_rules_is_not_expendable(void **state)
{
	struct ink_stats s;

	(void)state;
	t->full = INK_REFUSE;
	do {
		ink_insert(t, stranger(), C);
		s = stats_now();
	} while (s.flows < s.cells + s.side_cells);
	t->full = INK_REPLACE;
	note();
	assert_int_equal(ink_insert(t, stranger(), 0), -ENOSPC);
	assert_changed(.refused = 1);
}

/* ---------------------------------------------------------------- exchanging */

static void an_exchange_of_rules_keeps_the_states(void **state)
{
	uint64_t ids[STATES];

	(void)state;
	for (unsigned i = 0; i < STATES; i++)
		ids[i] = flow(i);
	note();
	assert_int_equal(ink_set_rules(t, &few, NULL), 0);
	assert_unchanged();
	for (unsigned i = 0; i < STATES; i++)
		assert_int_equal(ink_lookup(t, ids[i]), (int)i);
	assert_steps(ids[A], 0, A, B, 1);
	assert_steps(ids[D], 0, D, D, 0);
	assert_no_step(ids[A], 2);
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
	assert_steps(ids[A], NEXT, B, C, 20);
	assert_steps(ids[D], NEXT, D, A, 40);
}

/* The marks stay too: they were set under the old periods and are looked at under the new ones. */
static void an_exchange_of_rules_changes_the_periods(void **state)
{
	uint64_t id = flow(B);

	(void)state;
	for (uint64_t now = 1; now < 10; now++)
		assert_int_equal(ink_tick(t, now, NULL), 0);
	assert_int_equal(ink_peek(t, id), B); /* period 0 */
	assert_int_equal(ink_lookup(t, id), B);
	assert_int_equal(ink_set_rules(t, &few, NULL), 0);
	assert_int_equal(ink_tick(t, 10, NULL), 0);
	assert_int_equal(ink_peek(t, id), is_exact() ? INK_ABSENT : B);
	assert_int_equal(ink_tick(t, 11, NULL), 0);
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
}

static void rules_may_be_exchanged_between_the_portions_of_a_tick(void **state)
{
	(void)state;
	for (uint64_t now = 1; now < 30; now++) {
		flow((unsigned)(now % 2));
		ink_tick_portion(t, now, 1, NULL);
		assert_int_equal(ink_set_rules(t, now % 2 ? &few : &rules, NULL), 0);
		assert_int_equal(ink_tick(t, now, NULL), 0);
		assert_sound();
	}
}

/* -------------------------------------------------------------------- batches */

enum { BATCH = 500, FLOWS = 40 };

/* Some flows come often, some events do not exist. */
static void choose(const uint64_t *pool, uint64_t *ids, uint16_t *events)
{
	for (int i = 0; i < BATCH; i++) {
		ids[i] = pool[random_below(FLOWS)];
		events[i] = (uint16_t)(random_below(50) ? random_below(EVENTS) : EVENTS + random_below(3));
	}
}

/* The same steps, one by one; returns the first error. */
static int step_one_by_one(const struct ink_batch *b)
{
	int first_error = 0;

	for (size_t i = 0; i < b->n; i++) {
		b->errors[i] = ink_step(t, b->ids[i], b->events[i], &b->moves[i]);
		if (b->errors[i] && !first_error)
			first_error = b->errors[i];
	}
	return first_error;
}

static void assert_same_moves(const struct ink_batch *a, const struct ink_batch *b)
{
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->errors[i], b->errors[i]);
		assert_move(a->moves[i], b->moves[i].from, b->moves[i].to, b->moves[i].action);
	}
}

static void assert_same_counts(struct ink_table *one, struct ink_table *other)
{
	struct ink_counts a, b;

	ink_census(one, &a);
	ink_census(other, &b);
	assert_memory_equal(&a, &b, sizeof a);
	assert_memory_equal(&one->counters, &other->counters, sizeof one->counters);
}

/* In two tables, with room for about half of the flows. */
static void a_batch_of_steps_does_what_the_steps_do(void **state)
{
	uint64_t pool[FLOWS], ids[BATCH];
	uint16_t events[BATCH];
	struct ink_move moves[2][BATCH];
	int errors[2][BATCH];
	struct ink_table *single, *batched;

	(void)state;
	single = t;
	t = NULL;
	make(STATES, &rules);
	batched = t;
	for (int i = 0; i < FLOWS; i++)
		pool[i] = random_word();
	for (size_t n = 0; n <= BATCH; n += n < 20 ? 1 : 60) {
		struct ink_batch one = {
			.n = n, .ids = ids, .events = events, .moves = moves[0], .errors = errors[0]};
		struct ink_batch all = one;
		int result;

		all.moves = moves[1];
		all.errors = errors[1];
		choose(pool, ids, events);
		t = single;
		result = step_one_by_one(&one);
		assert_int_equal(ink_step_batch(batched, &all), result);
		assert_same_moves(&one, &all);
		assert_same_counts(single, batched);
		all.errors = NULL; /* nobody asks for them */
		choose(pool, ids, events);
		result = step_one_by_one(&one);
		assert_int_equal(ink_step_batch(batched, &all), result);
		assert_same_counts(single, batched);
	}
	assert_sound();
	ink_free(single);
	t = batched;
	assert_sound();
}

static void a_batch_of_steps_without_rules_is_all_errors(void **state)
{
	uint64_t ids[BATCH];
	uint16_t events[BATCH] = {0};
	struct ink_move moves[BATCH];
	int errors[BATCH];
	struct ink_batch b = {.n = BATCH, .ids = ids, .events = events, .moves = moves, .errors = errors};

	(void)state;
	make(STATES, NULL);
	note();
	for (int i = 0; i < BATCH; i++)
		ids[i] = random_word();
	assert_int_equal(ink_step_batch(t, &b), -EINVAL);
	for (int i = 0; i < BATCH; i++) {
		assert_int_equal(errors[i], -EINVAL);
		assert_move(moves[i], INK_DONT_KNOW, INK_DONT_KNOW, 0);
	}
	assert_unchanged();
}

/* ------------------------------------------------------------------ all of them */

static int run_all_kinds(void)
{
	const struct CMUnitTest tests[] = {
		GIVEN(a_table_with_rules, rules_of_another_size_are_refused),
		GIVEN(a_table_with_rules, rules_of_a_larger_size_are_taken),
		GIVEN(a_table_with_rules, rules_with_no_states_are_refused),
		GIVEN(a_table_with_rules, rules_with_more_states_than_the_table_are_refused),
		GIVEN(a_table_with_rules, rules_with_no_events_are_refused),
		GIVEN(a_table_with_rules, rules_with_too_many_events_are_refused),
		GIVEN(a_table_with_rules, rules_without_rows_are_refused),
		GIVEN(a_table_with_rules, rows_that_lead_nowhere_are_refused),
		GIVEN(a_table_with_rules, rows_that_lead_beyond_the_rules_are_refused),
		GIVEN(a_table_with_rules, time_outs_that_lead_nowhere_are_refused),
		GIVEN(a_table_with_rules, a_time_out_of_unsure_can_only_end),
		TEST(as_many_events_as_there_may_be_are_taken),
		GIVEN(a_table_with_rules, the_table_keeps_a_copy_of_its_rules),
		TEST(without_rules_a_step_is_an_error),
		GIVEN(a_table_with_rules, rules_can_be_taken_away),
		GIVEN(a_table_with_rules, an_event_that_the_rules_have_not_is_an_error),
		GIVEN(a_table_with_rules, every_row_is_taken_and_its_action_returned),
		GIVEN(a_table_with_rules, every_row_of_absent_is_taken),
		GIVEN(a_table_with_rules, without_starts_no_event_is_one),
		GIVEN(a_table_with_rules, a_start_event_begins_a_flow_where_the_state_has_no_row),
		GIVEN(a_table_with_few_rules, the_states_that_the_rules_name_go_by_them),
		GIVEN(a_table_with_few_rules, a_state_beyond_the_rules_has_no_rows_and_no_action),
		GIVEN(a_table_with_few_rules, a_state_beyond_the_rules_is_stored_and_stays),
		GIVEN(a_table_with_rules, an_exchange_of_rules_keeps_the_states),
		GIVEN(a_table_with_rules, an_exchange_of_rules_changes_the_periods),
		GIVEN(a_table_with_rules, rules_may_be_exchanged_between_the_portions_of_a_tick),
		GIVEN(a_table_with_rules, a_batch_of_steps_does_what_the_steps_do),
		TEST(a_batch_of_steps_without_rules_is_all_errors),
	};

	return cmocka_run_group_tests_name(variant->name, tests, NULL, NULL);
}

static int run_cells(void)
{
	const struct CMUnitTest tests[] = {
		GIVEN(a_table_with_few_rules, a_state_beyond_the_rules_is_not_expendable),
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
		failures += is_exact() ? 0 : run_cells();
	}
	return failures != 0;
}
