/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time: when entries expire, what touches them, what ticks do. Many flows run
 * beside a model of a single one, which counts look by look; periods, time-out
 * moves and jumps come at random there. Ticks in portions are in test_portions.c.
 *
 * All runs for every kind and instruction set, with no, one and two age bits.
 */
#include "tests/times.h"
#include "tests/verbs.h"

/* ---------------------------------------------------------------- the model */

struct flow {
	uint64_t id;
	int state;        /* or INK_ABSENT */
	unsigned mark;    /* looks that it outlives */
	uint64_t touched; /* for exact */
	int paired;       /* another flow meets its entry */
};

static void model_touch(struct flow *f, int state, uint64_t now)
{
	f->state = state;
	f->mark = lives();
	f->touched = now;
}

/* Is its time over when the table goes from one tick number to another at once? */
static int model_looks(struct flow *f, uint32_t period, uint64_t from, uint64_t to)
{
	unsigned looks;

	if (never_ends((unsigned)f->state, period))
		return 0;
	if (is_exact())
		return to - f->touched >= period;
	looks = looks_between(from, to, stride(period));
	if (looks > f->mark)
		return 1;
	f->mark -= looks;
	return 0;
}

static void model_tick(struct flow *f, const struct times *times, uint64_t to, struct ink_counts *expired)
{
	uint64_t from = stats_now().now;
	struct ink_timing timing;

	if (f->state == INK_ABSENT)
		return;
	timing = times->of[f->state];
	if (!model_looks(f, timing.period, from, to))
		return;
	expired->total++;
	expired->state[f->state]++;
	if (timing.timeout == INK_ABSENT)
		f->state = INK_ABSENT;
	else
		model_touch(f, timing.timeout, to);
}

/* -------------------------------------------------------- when entries expire */

static const uint32_t periods[] = {1, 2, 3, 4, 5, 6, 7, 10};
enum { PERIODS = COUNT(periods) };

/* Touched at tick x, the last time; ticks one by one. */
static void expire_step_by_step(struct times times, uint64_t x)
{
	uint32_t period = times.of[A].period;
	uint64_t end = end_of(A, period, x), id;

	make(times);
	tick_through(1, x);
	id = flow(A);
	for (uint64_t now = x; now <= x + 2 * period + 5; now++) {
		tick_to(now);
		assert_gone_by(id, end);
	}
	assert_sound(t);
}

TEST_THAT(an_entry_expires_at_the_look_that_the_rules_say)
{
	for (int i = 0; i < PERIODS; i++)
		for (uint64_t x = 0; x <= 2 * periods[i]; x++) {
			expire_step_by_step(same_for_all(periods[i]), x);
			expire_step_by_step(only_a(periods[i]), x);
		}
}

/* The bounds of the documentation, which the model must keep too. */
TEST_THAT(an_entry_expires_within_its_bounds)
{
	for (int i = 0; i < PERIODS; i++)
		for (uint64_t x = 0; x <= 40; x++) {
			uint64_t period = periods[i], q = (period + 2) / 3;
			uint64_t after = end_of(A, periods[i], x) - x;

			if (is_exact() && age_bits)
				assert_int_equal(after, period);
			else if (age_bits == 1)
				assert_true(period < after && after <= 2 * period);
			else if (age_bits == 2)
				assert_true(3 * q < after && after <= 4 * q);
		}
}

/* It outlives as many looks as others do, from when it was marked; with period 0 it stays. */
TEST_OF(CELLS, a_dont_know_entry_goes_by_its_own_period)
{
	for (int i = -1; i < PERIODS; i++)
		for (uint64_t x = 0; x <= 12; x++) {
			struct times times = same_for_all(1000000);
			uint32_t period = i < 0 ? 0 : periods[i];
			uint64_t id, other;

			times.of[UNSURE].period = period;
			make_with_side(&times, INK_NO_SIDE);
			tick_to(x);
			id = unsure_flow();
			other = flow(A);
			for (uint64_t now = x; now < x + 30; now++) {
				tick_to(now);
				assert_gone_by(id, end_of(UNSURE, period, x));
			}
			assert_int_equal(ink_peek(t, other), A);
			assert_changed(.collisions = 1, .refused = 1, .marked = 1, .expired = period != 0,
				       .state[A] = 1, .unsure = period == 0);
		}
}

TEST_OF(CELLS, a_dont_know_entry_is_touched_by_nothing)
{
	struct times times = same_for_all(1000000);
	uint64_t id;

	times.of[UNSURE].period = 4;
	make_with_side(&times, INK_NO_SIDE);
	id = unsure_flow();
	for (uint64_t now = 1; now < end_of(UNSURE, 4, 0); now++) {
		tick_to(now);
		assert_int_equal(ink_lookup(t, id), INK_DONT_KNOW);
		assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
		assert_int_equal(ink_insert(t, id, A), -ENOSPC);
		assert_int_equal(ink_set(t, id, A), -EBUSY);
		assert_int_equal(ink_modify(t, id, A), -EBUSY);
		assert_int_equal(ink_delete(t, id), -EBUSY);
		assert_steps(id, NEXT, INK_DONT_KNOW, INK_DONT_KNOW, 1);
	}
	tick_to(end_of(UNSURE, 4, 0));
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
	assert_sound(t);
}

TEST_THAT(states_beyond_the_rules_never_end)
{
	const struct ink_row stay[(1 + 2) * 1] = {{A, 0}, {A, 0}, {A, 0}};
	struct times times = same_for_all(1);
	struct ink_rules rules = {
		.size = sizeof rules, .states = 1, .events = 1, .rows = stay, .timings = times.of};
	struct ink_options o = options_for(&rules, 4);
	uint64_t id;

	make_from(&o);
	id = flow(B);
	tick_through(1, 19);
	tick_to(1ull << 40);
	assert_int_equal(ink_peek(t, id), B);
}

/* Without rules, and with rules that say nothing of time: every tick is a look, and what ends is deleted. */
TEST_THAT(without_timings_every_period_is_1)
{
	struct times times = same_for_all(1);
	struct ink_rules rules = rules_with(&times);
	struct ink_options o;

	rules.timings = NULL;
	for (int with_rules = 0; with_rules < 2; with_rules++) {
		uint64_t id;

		o = options_for(with_rules ? &rules : NULL, 4);
		make_from(&o);
		tick_to(7);
		id = flow(C);
		for (uint64_t now = 7; now < 14; now++) {
			tick_to(now);
			assert_gone_by(id, end_of(C, 1, 7));
		}
	}
}

TEST_OF(CELLS | AGELESS, without_age_bits_and_rules_a_tick_removes_dont_know_entries)
{
	struct ink_options o = options_for(NULL, INK_NO_SIDE);
	uint64_t id, other;

	make_from(&o);
	id = unsure_flow();
	other = flow(A);
	tick_to(1);
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
	assert_int_equal(ink_peek(t, other), A);
}

/* -------------------------------------------------------------- what touches */

enum { T = 6 };

/* A use of a flow in A, and whether it touches. */
struct use {
	const char *name;
	enum verb verb;
	unsigned with; /* a state or an event */
	int gives;     /* an answer or an error */
	int touches;
};

/* clang-format off */
static const struct use uses[] = {
	{"a lookup touches", LOOKUP, 0, A, 1},
	{"a peek does not touch", PEEK, 0, A, 0},
	{"a set to the same state touches", SET, A, 0, 1},
	{"a set to another state touches", SET, B, 0, 1},
	{"a modify to the same state touches", MODIFY, A, 0, 1},
	{"a modify to another state touches", MODIFY, B, 0, 1},
	{"a step touches", STEP, NEXT, 0, 1},
	{"a step without row touches", STEP, REST, 0, 1},
};

static const struct use uses_by_id[] = {
	{"an insert of a flow found by id does not touch", INSERT, B, -EEXIST, 0},
	{"a start event of a flow found by id begins again and touches", STEP, START, 0, 1},
};
/* clang-format on */

/* Used in the last tick before its end, the flow lives on from there, or ends then. */
static void try_use(uint64_t id, const struct use *use)
{
	uint64_t last = end_of(A, T, 0) - 1;
	struct result r;

	tick_through(0, last);
	r = perform(t, id, &(struct call){use->verb, 0, use->with, use->with});
	assert_int_equal(gives_answer(use->verb) ? r.answer : r.error, use->gives);
	for (uint64_t now = last; now < last + 3 * T; now++) {
		tick_to(now);
		assert_gone_by(id, use->touches ? end_of(A, T, last) : last + 1);
	}
	assert_sound(t);
}

static void use_in_cell(void **state)
{
	make(same_for_all(T));
	try_use(flow(A), *state);
}

/* The flow whose entry sent it there is deleted: it would be met when this one has ended. */
static uint64_t flow_aside(unsigned state)
{
	uint64_t id = flow(C), twin = twin_of(id);

	assert_int_equal(ink_insert(t, twin, state), 0);
	assert_int_equal(ink_delete(t, id), 0);
	assert_int_equal(stats_now().side_flows, 1);
	return twin;
}

static void use_in_side_table(void **state)
{
	uint64_t id;

	make(same_for_all(T));
	id = flow_aside(A);
	try_use(id, *state);
	assert_int_equal(stats_now().side_flows, 0);
	assert_false(side_is_asked(id));
}

TEST_OF(CELLS | AGED, a_collision_does_not_touch_the_entry_it_met)
{
	for (int by_step = 0; by_step < 2; by_step++) {
		uint64_t id, twin, last = end_of(A, T, 0) - 1;

		make(same_for_all(T));
		id = flow(A);
		twin = twin_of(id);
		tick_through(0, last);
		if (by_step)
			assert_steps(twin, START, INK_ABSENT, B, 4);
		else
			assert_int_equal(ink_insert(t, twin, B), 0);
		tick_to(last + 1);
		assert_int_equal(ink_peek(t, id), INK_ABSENT);
		assert_int_equal(ink_peek(t, twin), B);
	}
}

/* dleft: the second flow meets both entries. */
static uint64_t two_copies(void)
{
	struct times times = same_for_all(T);
	struct ink_rules rules = rules_with(&times);
	struct ink_options o = options_for(&rules, INK_NO_SIDE);
	uint64_t twin;

	o.geometry.dleft_flags = INK_DLEFT_COPY;
	make_from(&o);
	twin = twin_of(flow(A));
	assert_int_equal(ink_insert(t, twin, B), 0);
	assert_int_equal(ink_peek(t, twin), INK_DONT_KNOW);
	tick_through(0, end_of(A, T, 0) - 1);
	return twin;
}

TEST_OF(DLEFT | AGED, a_lookup_and_a_step_touch_both_of_two_matches_and_a_peek_and_a_delete_neither)
{
	static const struct call calls[] = {
		{.verb = LOOKUP}, {STEP, 0, 0, REST}, {.verb = PEEK}, {.verb = DELETE}};

	for (int i = 0; i < 4; i++) {
		uint64_t id = two_copies();
		struct result r = perform(t, id, &calls[i]);

		assert_true(r.error == -EBUSY || r.answer == INK_DONT_KNOW || r.move.from == INK_DONT_KNOW);
		tick_to(end_of(A, T, 0));
		assert_int_equal(stats_now().flows, i < 2 ? 2 : 0);
	}
}

/* -------------------------------------------------- many flows beside the model */

enum { MOST_FLOWS = 14 };

static struct flow flows[MOST_FLOWS];
static int n_flows;

/* In `dleft` no flow ever meets another one. */
static void make_without_chance(const struct times *times)
{
	struct ink_rules rules = rules_with(times);
	struct ink_options o = options_for(&rules, 4);

	if (is_dleft())
		o.geometry.f = 32;
	make_from(&o);
}

/* Flows that cannot be confused; after them pairs that can. */
static void choose_flows(void)
{
	int alone = stats_now().cells < 12 ? 6 : 10;

	n_flows = alone + (is_exact() || is_dleft() ? 0 : 4);
	for (int i = 0; i < n_flows; i++) {
		struct flow *f = &flows[i];

		*f = (struct flow){.paired = i >= alone};
		f->id = i >= alone && (i - alone) % 2 ? twin_of(f[-1].id) : stranger();
		assert_int_equal(ink_insert(t, f->id, (unsigned)(i % 2)), 0);
		if (f->paired)
			assert_int_equal(ink_modify(t, f->id, C), 0);
		model_touch(f, f->paired ? C : i % 2, 0);
	}
}

/* Does it to the flow and to the model. */
static void use_present(struct flow *f, uint64_t now)
{
	static const enum verb verbs[] = {LOOKUP, PEEK, SET, MODIFY, STEP, STEP, DELETE};
	unsigned which = random_below(7), event = which == 4 ? NEXT : REST;
	struct call c = {verbs[which], 0, random_below(STATES), event};
	struct result r = perform(t, f->id, &c);
	int to = f->state;

	if (c.verb == SET || c.verb == MODIFY)
		to = (int)c.state;
	else if (c.verb == STEP && event == NEXT)
		to = (f->state + 1) % STATES;
	assert_int_equal(r.error, 0);
	if (gives_answer(c.verb))
		assert_int_equal(r.answer, f->state);
	if (c.verb == STEP)
		assert_move(r.move, f->state, to, event == NEXT ? 1 : 2);
	if (c.verb == DELETE)
		f->state = INK_ABSENT;
	else if (c.verb != PEEK)
		model_touch(f, to, now);
}

/* A paired flow would meet the other's entry: it may only be inserted. */
static void use_absent(struct flow *f, uint64_t now)
{
	if (f->paired || random_below(2)) {
		unsigned to = random_below(STATES);

		assert_int_equal(ink_insert(t, f->id, to), 0);
		model_touch(f, (int)to, now);
		return;
	}
	assert_int_equal(ink_lookup(t, f->id), INK_ABSENT);
	assert_int_equal(ink_modify(t, f->id, A), -ENOENT);
	assert_int_equal(ink_delete(t, f->id), -ENOENT);
}

static void tick_beside_the_model(const struct times *times, uint64_t now)
{
	struct ink_counts expired, should_be = {.total = 0};

	for (int i = 0; i < n_flows; i++)
		model_tick(&flows[i], times, now, &should_be);
	assert_int_equal(ink_tick(t, now, &expired), 0);
	assert_expired(&expired, &should_be);
	for (int i = 0; i < n_flows; i++)
		if (!flows[i].paired || flows[i].state != INK_ABSENT)
			assert_int_equal(ink_peek(t, flows[i].id), flows[i].state);
}

static void run_beside_the_model(struct times times)
{
	uint64_t now = 0, ticks = scaled(300);

	make_without_chance(&times);
	choose_flows();
	for (uint64_t i = 0; i < ticks; i++) {
		for (uint32_t calls = random_below(4); calls; calls--) {
			struct flow *f = &flows[random_below((uint64_t)n_flows)];

			if (f->state == INK_ABSENT)
				use_absent(f, now);
			else
				use_present(f, now);
		}
		now += random_below(4) ? 1 : random_below(12);
		tick_beside_the_model(&times, now);
	}
	assert_sound(t);
}

TEST_THAT(flows_live_as_the_model_says)
{
	for (int i = 0; i < PERIODS; i++)
		run_beside_the_model(same_for_all(periods[i]));
	for (int i = 0; i < 20; i++) {
		struct times times;

		for (int j = 0; j <= STATES; j++)
			times.of[j] = (struct ink_timing){random_below(9), INK_ABSENT, 0};
		for (int j = 0; j < STATES; j++)
			if (random_below(2))
				times.of[j].timeout = (int16_t)random_below(STATES);
		run_beside_the_model(times);
	}
}

/* -------------------------------------------------------------- ticks as calls */

TEST_THAT(the_expired_are_counted_by_the_state_they_left)
{
	struct times times = {{{4, INK_ABSENT, 0}, {4, A, 0}, {0, INK_ABSENT, 0}, {4, INK_ABSENT, 0}}};
	int has_unsure = !is_exact();
	struct ink_counts expired;

	make_with_side(&times, INK_NO_SIDE);
	if (has_unsure)
		unsure_flow();
	flow(A);
	flow(A);
	flow(B);
	flow(C);
	assert_int_equal(ink_tick(t, 100, &expired), 0);
	assert_int_equal(expired.unsure, has_unsure);
	assert_int_equal(expired.state[A], age_bits ? 2 : 0);
	assert_int_equal(expired.state[B], age_bits ? 1 : 0);
	assert_int_equal(expired.state[C], 0);
	assert_int_equal(expired.total, expired.unsure + expired.state[A] + expired.state[B]);
	assert_int_equal(stats_now().expired, expired.total);
	assert_int_equal(stats_now().flows, age_bits ? 2 : 4);
}

TEST_THAT(a_tick_between_the_looks_changes_nothing)
{
	uint64_t ids[4];

	make(same_for_all(1000));
	for (int i = 0; i < 4; i++)
		ids[i] = flow(A);
	note();
	tick_through(1, 299);
	assert_int_equal(ink_tick_portion(t, 301, 1, NULL), is_exact());
	tick_to(301);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ink_peek(t, ids[i]), A);
	assert_unchanged();
}

/* A line that is written has its seqlock stepped, where the kind has one for each line. */
TEST_OF(CELLS | AGED, a_tick_only_reads_lines_that_are_empty)
{
	make(same_for_all(1));
	tick_through(1, 9);
	tick_to(1000000);
	for (size_t i = 0; i < ink_stripes(&t->plan, t->writers); i++)
		assert_int_equal(t->stripes[i], 0);
}

TEST_OF(CELLS, every_tick_clears_the_overflow_flags)
{
	struct times idle = same_for_all(0), phase = same_for_all(1), looks = only_a(1);
	struct times all[] = {idle, phase, looks};

	for (int i = 0; i < 3; i++) {
		uint64_t id;

		make_with_side(&all[i], INK_NO_SIDE);
		id = refused_flow();
		assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
		tick_to(0);
		assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
		tick_to(1);
		assert_int_equal(ink_peek(t, id), INK_ABSENT);
		assert_sound(t);
		id = refused_flow();
		while (ink_tick_portion(t, 2, 1, NULL) == 1)
			;
		assert_int_equal(ink_peek(t, id), INK_ABSENT);
	}
}

TEST_THAT(a_jump_of_2_to_the_40_ends_all_that_can_end)
{
	struct times times = {
		{{1, INK_ABSENT, 0}, {UINT32_MAX, INK_ABSENT, 0}, {7, B, 0}, {1, INK_ABSENT, 0}}};
	uint64_t a, b, c, far = 1ull << 40;

	make(times);
	a = flow(A);
	b = flow(B);
	c = flow(C);
	tick_to(far);
	assert_int_equal(ink_peek(t, a), age_bits ? INK_ABSENT : A);
	assert_int_equal(ink_peek(t, b), age_bits ? INK_ABSENT : B);
	assert_int_equal(ink_peek(t, c), age_bits ? B : C);
	a = flow(A);
	for (uint64_t now = far; now < far + 10; now++) {
		tick_to(now);
		assert_gone_by(a, end_of(A, 1, far));
	}
	tick_to(3 * far);
	assert_int_equal(ink_peek(t, c), age_bits ? INK_ABSENT : C);
	assert_int_equal(stats_now().now, 3 * far);
	assert_sound(t);
}

/* --------------------------------------------------------------- all of them */

static int run_uses(void (*use)(void **), const struct use *of, size_t n)
{
	return run_rows(variant->name, use, of, sizeof *of, n);
}

static int run_age_bits(void)
{
	int failures = run_aged();

	if (!age_bits)
		return failures;
	failures += run_uses(use_in_cell, ROWS(uses));
	if (is_exact())
		return failures + run_uses(use_in_cell, ROWS(uses_by_id));
	return failures + run_uses(use_in_side_table, ROWS(uses)) +
	       run_uses(use_in_side_table, ROWS(uses_by_id));
}

int main(void)
{
	return run_all(run_age_bits) != 0;
}
