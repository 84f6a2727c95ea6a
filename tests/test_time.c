/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time: when entries expire, what touches them, what time-out moves and ticks
 * in portions do. The rules are those of docs/semantics.md, written down a
 * second time here as a model of a single flow, which counts look by look.
 *
 * All runs for every kind and instruction set, with no, one and two age bits.
 */
#include "tests/help.h"
#include "tests/verbs.h"

/* -------------------------------------------------------------- the machine */

enum { A, B, C, STATES };
enum { NEXT, REST, END, START, EVENTS };

#define UNSURE STATES

/* clang-format off */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	/*            NEXT       REST             END              START */
	/* A      */ {B, 1},    {INK_NO_ROW, 2}, {INK_ABSENT, 3}, {INK_NO_ROW, 4},
	/* B      */ {C, 1},    {INK_NO_ROW, 2}, {INK_ABSENT, 3}, {INK_NO_ROW, 4},
	/* C      */ {A, 1},    {INK_NO_ROW, 2}, {INK_ABSENT, 3}, {INK_NO_ROW, 4},
	/* absent */ {A, 1},    {INK_NO_ROW, 2}, {INK_ABSENT, 3}, {B, 4},
	/* unsure */ {A, 1},    {INK_NO_ROW, 2}, {INK_ABSENT, 3}, {B, 4},
};
/* clang-format on */

static const uint8_t starts[EVENTS] = {[START] = 1};

/* The timings of A, B, C and unsure. */
struct times {
	struct ink_timing of[STATES + 1];
};

static struct ink_rules rules_with(const struct times *times)
{
	return (struct ink_rules){.size = sizeof(struct ink_rules),
				  .states = STATES,
				  .events = EVENTS,
				  .rows = rows,
				  .starts = starts,
				  .timings = times->of};
}

/* One period for all, without moves: the paper's phases, if there is one age bit. */
static struct times same_for_all(uint32_t period)
{
	struct times times;

	for (int i = 0; i <= STATES; i++)
		times.of[i] = (struct ink_timing){period, INK_ABSENT, 0};
	return times;
}

/* Only A ends. */
static struct times only_a(uint32_t period)
{
	struct times times = same_for_all(0);

	times.of[A].period = period;
	return times;
}

/* ---------------------------------------------------------------- the table */

static unsigned age_bits;

static struct ink_options options_for(const struct ink_rules *rules, uint32_t side)
{
	struct ink_options o = variant_options();

	o.states = STATES;
	o.age_bits = age_bits;
	o.rules = rules;
	o.geometry.side = side;
	return o;
}

static void make_with_side(const struct times *times, uint32_t side)
{
	struct ink_rules rules = rules_with(times);
	struct ink_options o = options_for(&rules, side);

	make_from(&o);
	note();
}

static void make(struct times times)
{
	make_with_side(&times, 4);
}

static void tick_to(uint64_t now)
{
	assert_int_equal(ink_tick(t, now, NULL), 0);
}

/* One by one. */
static void tick_through(uint64_t from, uint64_t to)
{
	for (uint64_t now = from; now <= to; now++)
		tick_to(now);
}

/* An entry that is marked don't-know, for a collision found no side table. */
static uint64_t unsure_flow(void)
{
	uint64_t id = flow(C);

	assert_int_equal(ink_insert(t, twin_of(id), C), -ENOSPC);
	assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
	return id;
}

static void assert_gone_by(uint64_t id, uint64_t end)
{
	ink_answer a = ink_peek(t, id);
	uint64_t now = stats_now().now;

	if ((a == INK_ABSENT) != (now >= end))
		fail_msg("%s, %u age bits: at tick %d the flow is %d and should be gone at %d", variant->name,
			 age_bits, (int)now, a, (int)end);
}

/* ---------------------------------------------------------------- the model */

#define NEVER UINT64_MAX

/* Ticks from look to look. */
static uint64_t stride(uint32_t period)
{
	return age_bits == 2 ? (period + 2) / 3 : period;
}

/* Looks that an entry outlives. */
static unsigned lives(void)
{
	return age_bits == 2 ? 3 : age_bits;
}

static int never_ends(unsigned state, uint32_t period)
{
	return period == 0 || (age_bits == 0 && state != UNSURE);
}

/* When an entry touched at x expires if time goes on tick by tick. */
static uint64_t end_of(unsigned state, uint32_t period, uint64_t x)
{
	if (never_ends(state, period))
		return NEVER;
	if (is_exact())
		return x + period;
	return (x / stride(period) + lives() + 1) * stride(period);
}

/* The multiples of the stride among the ticks after `from`, up to `to`; no more than 5 matter. */
static unsigned looks_between(uint64_t from, uint64_t to, uint64_t every)
{
	unsigned looks = 0;

	for (uint64_t tick = from + 1; tick <= to && looks < 5; tick++)
		looks += tick % every == 0;
	return looks;
}

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
enum { PERIODS = sizeof periods / sizeof periods[0] };

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

static void an_entry_expires_at_the_look_that_the_rules_say(void **state)
{
	for (int i = 0; i < PERIODS; i++)
		for (uint64_t x = 0; x <= 2 * periods[i]; x++) {
			expire_step_by_step(same_for_all(periods[i]), x);
			expire_step_by_step(only_a(periods[i]), x);
		}
}

/* The bounds of the documentation, which the model must keep too. */
static void an_entry_expires_within_its_bounds(void **state)
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

static void expire_by_jumps(struct times times, uint64_t x)
{
	uint64_t now = x, end = end_of(A, times.of[A].period, x), id;

	make(times);
	tick_to(x);
	id = flow(A);
	while (now < x + 60) {
		now += 1 + random_below(9);
		tick_to(now);
		assert_gone_by(id, end);
	}
	assert_sound(t);
}

static void with_jumps_it_expires_at_the_first_tick_behind_that_look(void **state)
{
	for (int i = 0; i < PERIODS; i++)
		for (uint64_t x = 0; x <= 20; x++) {
			expire_by_jumps(same_for_all(periods[i]), x);
			expire_by_jumps(only_a(periods[i]), x);
		}
}

/* It outlives as many looks as others do, from when it was marked. */
static void a_dont_know_entry_goes_by_its_own_period(void **state)
{
	for (int i = 0; i < PERIODS; i++)
		for (uint64_t x = 0; x <= 12; x++) {
			struct times times = same_for_all(1000000);
			uint64_t id, other;

			times.of[UNSURE].period = periods[i];
			make_with_side(&times, INK_NO_SIDE);
			tick_to(x);
			id = unsure_flow();
			other = flow(A);
			for (uint64_t now = x; now < x + 30; now++) {
				tick_to(now);
				assert_gone_by(id, end_of(UNSURE, periods[i], x));
			}
			assert_int_equal(ink_peek(t, other), A);
			assert_changed(.collisions = 1, .refused = 1, .marked = 1, .expired = 1,
				       .state[A] = 1);
		}
}

static void a_dont_know_entry_is_touched_by_nothing(void **state)
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

static void a_dont_know_entry_with_period_0_stays(void **state)
{
	struct times times = same_for_all(1);
	uint64_t id;

	times.of[UNSURE].period = 0;
	make_with_side(&times, INK_NO_SIDE);
	id = unsure_flow();
	tick_through(1, 19);
	tick_to(1ull << 40);
	assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
}

static void period_0_never_ends(void **state)
{
	struct times times = only_a(1);
	uint64_t id, other;

	make(times);
	id = flow(B);
	other = flow(A);
	tick_through(1, 39);
	tick_to(1ull << 40);
	assert_int_equal(ink_peek(t, id), B);
	assert_int_equal(ink_peek(t, other), age_bits ? INK_ABSENT : A);
}

static void states_beyond_the_rules_never_end(void **state)
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
static void without_timings_every_period_is_1(void **state)
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

static void without_age_bits_and_rules_a_tick_removes_dont_know_entries(void **state)
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

static void a_collision_does_not_touch_the_entry_it_met(void **state)
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

static void a_lookup_and_a_step_touch_both_of_two_matches_and_a_peek_and_a_delete_neither(void **state)
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

/* ---------------------------------------------------------- time-out moves */

static struct times chain(void)
{
	return (struct times){{{2, B, 0}, {3, C, 0}, {5, INK_ABSENT, 0}, {1, INK_ABSENT, 0}}};
}

/* A flow in A, touched last at x: it moves to B and C at their ends, and then it is gone. */
static void follow_chain(uint64_t id, uint64_t x)
{
	uint64_t to_b = end_of(A, 2, x), to_c = end_of(B, 3, to_b), end = end_of(C, 5, to_c);

	for (uint64_t now = x; now <= end; now++) {
		tick_to(now);
		assert_int_equal(ink_peek(t, id), now < to_b   ? A
						  : now < to_c ? B
						  : now < end  ? C
							       : INK_ABSENT);
	}
}

static void a_time_out_moves_and_touches(void **state)
{
	for (uint64_t x = 0; x < 30; x++) {
		make(chain());
		tick_to(x);
		follow_chain(flow(A), x);
		assert_changed(.expired = 3);
	}
}

static void a_jump_makes_one_time_out_move_at_most(void **state)
{
	struct ink_counts expired;
	uint64_t id;

	make(chain());
	id = flow(A);
	for (int i = A; i <= C; i++) {
		assert_int_equal(ink_peek(t, id), i);
		assert_int_equal(ink_tick(t, 1000u * ((unsigned)i + 1), &expired), 0);
		assert_int_equal(expired.total, 1);
		assert_int_equal(expired.state[i], 1);
	}
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
	assert_changed(.expired = 3);
}

/* A state that ends in itself is touched by its end. */
static void a_time_out_move_to_the_same_state_goes_on(void **state)
{
	struct times times = only_a(3);
	struct ink_counts expired;
	uint64_t id, count = 0;

	times.of[A].timeout = A;
	make(times);
	id = flow(A);
	for (uint64_t now = 1, end = end_of(A, 3, 0); now < 100; now++) {
		tick_to(now);
		if (now < end)
			continue;
		end = end_of(A, 3, now);
		count++;
	}
	assert_int_equal(ink_peek(t, id), A);
	assert_int_equal(stats_now().expired, count);
	assert_int_equal(ink_tick(t, 1000, &expired),
			 0); /* a jump changes nothing of the entry, and counts */
	assert_int_equal(expired.state[A], 1);
	assert_int_equal(ink_peek(t, id), A);
}

static void flows_of_the_side_table_make_time_out_moves_too(void **state)
{
	make(chain());
	follow_chain(flow_aside(A), 0);
	assert_int_equal(stats_now().side_flows, 0);
	assert_sound(t);
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

static void assert_expired(const struct ink_counts *is, const struct ink_counts *should_be)
{
	assert_int_equal(is->total, should_be->total);
	assert_int_equal(is->unsure, should_be->unsure);
	for (int i = 0; i < STATES; i++)
		assert_int_equal(is->state[i], should_be->state[i]);
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

static void flows_live_as_the_model_says(void **state)
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

static void a_tick_in_the_past_is_an_error(void **state)
{
	struct ink_counts expired;
	uint64_t id;

	make(same_for_all(1));
	tick_to(10);
	id = flow(A);
	assert_int_equal(ink_tick(t, 9, &expired), -EINVAL);
	assert_int_equal(ink_tick(t, 0, NULL), -EINVAL);
	assert_int_equal(ink_tick_portion(t, 9, 1, &expired), -EINVAL);
	assert_int_equal(stats_now().now, 10);
	assert_int_equal(ink_tick(t, 10, &expired), 0);
	assert_int_equal(expired.total, 0);
	assert_int_equal(ink_tick_portion(t, 10, 1, &expired), 0);
	assert_int_equal(expired.total, 0);
	assert_int_equal(ink_peek(t, id), A);
	tick_to(11);
	assert_int_equal(stats_now().now, 11);
}

static void the_expired_are_counted_by_the_state_they_left(void **state)
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

static void a_tick_between_the_looks_changes_nothing(void **state)
{
	uint64_t ids[4];

	make(same_for_all(1000));
	for (int i = 0; i < 4; i++)
		ids[i] = flow(A);
	note();
	tick_through(1, 299);
	assert_unchanged();
	assert_int_equal(ink_tick_portion(t, 301, 1, NULL), is_exact());
	tick_to(301);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ink_peek(t, ids[i]), A);
	assert_unchanged();
}

/* The cells are full, and this flow was refused. */
static uint64_t refused_flow(void)
{
	struct ink_stats s;
	uint64_t id;

	t->full = INK_REFUSE;
	do {
		ink_insert(t, stranger(), C);
		s = stats_now();
	} while (s.flows < s.cells);
	t->full = INK_UNSURE;
	id = stranger();
	assert_int_equal(ink_insert(t, id, A), -ENOSPC);
	return id;
}

/* A line that is written has its seqlock stepped, where the kind has one for each line. */
static void a_tick_only_reads_lines_that_are_empty(void **state)
{
	make(same_for_all(1));
	tick_through(1, 9);
	tick_to(1000000);
	for (size_t i = 0; i < ink_stripes(&t->plan, t->writers); i++)
		assert_int_equal(t->stripes[i], 0);
}

static void every_tick_clears_the_overflow_flags(void **state)
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

static void an_overflow_flag_set_between_portions_is_gone_after_the_next_tick(void **state)
{
	struct times times = same_for_all(1);
	struct ink_rules rules = rules_with(&times);
	struct ink_options o = options_for(&rules, INK_NO_SIDE);
	uint64_t id;

	o.geometry.b = 4;
	make_from(&o);
	assert_int_equal(ink_tick_portion(t, 1, 1, NULL), 1);
	id = refused_flow();
	assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
	tick_to(1);
	tick_to(2);
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
	assert_sound(t);
}

static void a_jump_of_2_to_the_40_ends_all_that_can_end(void **state)
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

/* ------------------------------------------------------------------ portions */

/* A table of some lines more, so that a tick has many portions. */
static void make_long(const struct times *times, uint32_t side)
{
	struct ink_rules rules = rules_with(times);
	struct ink_options o = options_for(&rules, side);

	if (variant->geometry.h)
		o.geometry.b = 128 / variant->geometry.h;
	if (is_dleft())
		o.geometry.f = 32;
	o.full = INK_REFUSE;
	make_from(&o);
	note();
}

/* Adds up what the portions tell, and how many there were. */
static int tick_in_portions(uint64_t now, struct ink_counts *expired)
{
	int more, portions = 0;

	memset(expired, 0, sizeof *expired);
	do {
		struct ink_counts some;

		more = ink_tick_portion(t, now, 1, &some);
		assert_true(more == 0 || more == 1);
		assert_int_equal(stats_now().now == now, !more);
		expired->total += some.total;
		expired->unsure += some.unsure;
		for (int i = 0; i < STATES; i++)
			expired->state[i] += some.state[i];
		portions++;
	} while (more);
	return portions;
}

enum { MANY = 60 };

/* The same flows in two tables; one ticks at once, the other in portions. */
static void compare_portions(const struct times *times)
{
	struct ink_table *at_once, *portions;
	uint64_t ids[MANY];
	int most = 0;

	make_long(times, 8);
	at_once = t;
	t = NULL;
	make_long(times, 8);
	portions = t;
	for (int i = 0; i < MANY; i++) {
		t = portions;
		ids[i] = i % 20 == 19 ? ids[i - 1] : stranger(); /* these go to the side table */
		ink_insert(at_once, ids[i], (unsigned)i % STATES);
		ink_insert(portions, ids[i], (unsigned)i % STATES);
	}
	for (uint64_t now = 1; now < 40; now++) {
		struct ink_counts one, other;
		int n;

		for (int i = 0; i < 10; i++) {
			uint64_t id = ids[random_below(MANY)];

			assert_int_equal(ink_lookup(at_once, id), ink_lookup(portions, id));
		}
		assert_int_equal(ink_tick(at_once, now, &one), 0);
		n = tick_in_portions(now, &other);
		most = n > most ? n : most;
		assert_expired(&other, &one);
		for (int i = 0; i < MANY; i++)
			assert_int_equal(ink_peek(at_once, ids[i]), ink_peek(portions, ids[i]));
	}
	assert_sound(t);
	ink_free(at_once);
	assert_true(most > 2 || age_bits == 0);
}

static void single_steps_in_portions_do_what_they_do_at_once(void **state)
{
	struct times moves = chain(), phases = same_for_all(3), others = only_a(4);

	compare_portions(&moves);
	compare_portions(&phases);
	compare_portions(&others);
}

static void a_tick_at_once_ends_one_in_portions(void **state)
{
	struct times times = same_for_all(6); /* looks at 6 and at 12, none at 7 */
	uint64_t id;

	make_long(&times, 8);
	id = flow(A);
	assert_int_equal(ink_tick_portion(t, 6, 1, NULL), 1);
	assert_int_equal(stats_now().now, 0);
	tick_to(6);
	assert_int_equal(stats_now().now, 6);
	assert_int_equal(ink_tick_portion(t, 7, 1, NULL), is_exact());
	tick_to(7);
	assert_int_equal(ink_tick_portion(t, 12, 1, NULL), 1);
	tick_to(60);
	assert_int_equal(stats_now().now, 60);
	assert_int_equal(ink_peek(t, id), age_bits ? INK_ABSENT : A);
	assert_sound(t);
}

static void a_later_now_needs_another_tick(void **state)
{
	struct times times = same_for_all(1);
	int more;

	make_long(&times, 8);
	assert_int_equal(ink_tick_portion(t, 1, 1, NULL), 1);
	do
		more = ink_tick_portion(t, 3, 1, NULL);
	while (more && stats_now().now == 0);
	assert_int_equal(more, 1); /* it has arrived at 1, not at 3 */
	assert_int_equal(stats_now().now, 1);
	while (ink_tick_portion(t, 3, 1, NULL) == 1)
		;
	assert_int_equal(stats_now().now, 3);
}

/* A portion takes one look at most: what a jump at once would end outlives it. */
static void a_jump_in_portions_takes_one_look(void **state)
{
	struct times times = same_for_all(4);
	struct ink_counts expired;
	uint64_t id, now = 0;

	make_long(&times, 8);
	id = flow(A);
	for (unsigned i = 0; i < (is_exact() ? 0 : lives()); i++) {
		tick_in_portions(now += 1000, &expired);
		assert_int_equal(expired.total, 0);
		assert_int_equal(ink_peek(t, id), A);
	}
	tick_in_portions(now += 1000, &expired);
	assert_int_equal(expired.state[A], 1);
	assert_int_equal(ink_peek(t, id), INK_ABSENT);
}

/* ---------------------------------------------- churn between the portions */

/*
 * Flows come and go between the portions of ticks, in a table that is always
 * nearly full, so that entries are displaced across the cursor both ways. What
 * is known of a flow is then a window: while a tick is under way a touch may
 * come before the look or after it.
 */
struct lived {
	uint64_t id;
	int state;         /* in which it is, or was at the last touch */
	int begun;         /* ticks that had begun when it was touched */
	uint64_t may_end;  /* the first tick at which it may be gone */
	uint64_t may_move; /* ... or in the next state */
	unsigned looks;    /* since then, surely taken */
};

enum { MOST_LIVED = 700 };

static struct {
	struct times times;
	struct lived flow[MOST_LIVED];
	int n;
	uint64_t now, target; /* the same when no tick is under way */
	int begun;
	int64_t stored; /* entries, by what the calls returned */
} churn;

static uint32_t period_of(int state)
{
	return churn.times.of[state].period;
}

/* Touches count from the begin of the tick under way at the earliest; in exact, from its target. */
static void churn_touch(struct lived *f, int state)
{
	uint64_t x = is_exact() ? churn.target : churn.now,
		 end = end_of((unsigned)state, period_of(state), x);
	int next = churn.times.of[state].timeout;

	f->state = state;
	f->begun = churn.begun;
	f->looks = 0;
	f->may_end = end;
	f->may_move = NEVER;
	if (next == INK_ABSENT || end == NEVER)
		return;
	f->may_move = end;
	f->may_end = end_of((unsigned)next, period_of(next), is_exact() ? end : end - 1);
}

static int must_be_there(const struct lived *f)
{
	return churn.target < f->may_end;
}

static void churn_forget(struct lived *f)
{
	*f = churn.flow[--churn.n];
}

/* The answer about a flow that is there. */
static void assert_possible(const struct lived *f, ink_answer a)
{
	int next = churn.times.of[f->state].timeout;

	if (a != f->state && !(a == next && churn.target >= f->may_move))
		fail_msg("%s, %u age bits: a flow in %d (may end at %d, move at %d) reads %d at %d to %d",
			 variant->name, age_bits, f->state, (int)f->may_end, (int)f->may_move, a,
			 (int)churn.now, (int)churn.target);
}

static void churn_insert(void)
{
	struct lived f = {.id = stranger()};
	unsigned state = random_below(STATES);

	if (churn.n == MOST_LIVED || ink_insert(t, f.id, state) != 0)
		return;
	churn_touch(&f, (int)state);
	churn.flow[churn.n++] = f;
	churn.stored++;
}

/* Flows that may be gone are only asked after: a call could hit another by mistake. */
static void churn_use(struct lived *f)
{
	unsigned state = random_below(STATES);
	ink_answer a = ink_peek(t, f->id);

	if (!must_be_there(f)) {
		if (a == INK_ABSENT)
			churn_forget(f);
		return;
	}
	assert_possible(f, a);
	switch (random_below(4)) {
	case 0:
		assert_int_equal(ink_lookup(t, f->id), a);
		churn_touch(f, a);
		break;
	case 1:
		assert_int_equal(ink_modify(t, f->id, state), 0);
		churn_touch(f, (int)state);
		break;
	case 2:
		assert_int_equal(ink_delete(t, f->id), 0);
		churn.stored--;
		churn_forget(f);
		break;
	default:
		break;
	}
}

static void churn_for(unsigned calls)
{
	while (calls--)
		if (churn.n == 0 || random_below(3))
			churn_insert();
		else
			churn_use(&churn.flow[random_below((uint64_t)churn.n)]);
}

/* A look that was taken for sure: the flow was touched before this tick began. */
static void churn_look(struct lived *f, uint64_t from, uint64_t to)
{
	uint32_t period = period_of(f->state);
	int next = churn.times.of[f->state].timeout;

	if (f->begun == churn.begun || never_ends((unsigned)f->state, period) || is_exact())
		return;
	f->looks += looks_between(from, to, stride(period)) != 0;
	if (f->looks <= lives() || next == INK_ABSENT)
		return;
	f->state = next;
	f->looks = 0;
	f->may_move = NEVER;
}

static int must_be_gone(const struct lived *f)
{
	if (is_exact())
		return churn.now >= f->may_end;
	return !never_ends((unsigned)f->state, period_of(f->state)) && f->looks > lives();
}

/* Every flow that must be there is there, and no more than may be. */
static void churn_check(void)
{
	struct ink_stats s = stats_now();
	uint64_t least = 0, most = 0;

	assert_int_equal(s.flows, churn.stored);
	for (int i = 0; i < churn.n; i++) {
		struct lived *f = &churn.flow[i];

		least += must_be_there(f) ? 1 : 0;
		most += must_be_gone(f) ? 0 : 1;
		if (must_be_there(f))
			assert_possible(f, ink_peek(t, f->id));
	}
	assert_in_range(s.flows, least, most);
	for (int i = churn.n; i-- > 0;)
		if (must_be_gone(&churn.flow[i]))
			churn_forget(&churn.flow[i]);
}

static void churn_expire(const struct ink_counts *expired)
{
	for (int i = 0; i < STATES; i++)
		if (churn.times.of[i].timeout == INK_ABSENT)
			churn.stored -= (int64_t)expired->state[i];
}

/* One tick in portions, with calls between them. */
static void churn_tick(uint64_t target)
{
	uint64_t from = churn.now;
	int more;

	churn.target = target;
	churn.begun++;
	do {
		struct ink_counts expired;

		if (random_below(20))
			more = ink_tick_portion(t, target, random_below(3) ? 1 : 200, &expired);
		else
			more = ink_tick(t, target, &expired);
		churn_expire(&expired);
		if (more) {
			assert_int_equal(stats_now().flows, churn.stored);
			churn_for(1 + random_below(60));
		}
	} while (more);
	churn.now = target;
	for (int i = 0; i < churn.n; i++)
		churn_look(&churn.flow[i], from, target);
	churn_check();
}

static void run_churn(struct times times, uint32_t longest)
{
	uint64_t ticks = scaled(100);

	make_long(&times, 8);
	memset(&churn, 0, sizeof churn);
	churn.times = times;
	for (uint64_t i = 0; i < ticks; i++) {
		churn_for(is_exact() ? 40 : 60);
		churn_tick(churn.now + 1 + random_below(longest));
	}
	assert_sound(t);
	if (!is_exact() && !is_dleft() && variant->writers == 1 && ticks == 100)
		assert_true(stats_now().displaced > 0);
}

static void between_portions_no_entry_ends_early_or_late(void **state)
{
	struct times moves = {{{3, INK_ABSENT, 0}, {2, INK_ABSENT, 0}, {5, A, 0}, {1, INK_ABSENT, 0}}};

	run_churn(same_for_all(1), 1);
	run_churn(same_for_all(3), 1);
	run_churn(moves, 1);
}

static void between_portions_of_jumps_no_entry_ends_early_or_outlives_its_looks(void **state)
{
	struct times times = {
		{{3, INK_ABSENT, 0}, {2, INK_ABSENT, 0}, {7, INK_ABSENT, 0}, {1, INK_ABSENT, 0}}};

	run_churn(same_for_all(4), 6);
	run_churn(times, 6);
}

/* --------------------------------------------------------------- all of them */

static int run(const char *what, const struct CMUnitTest *tests, size_t n)
{
	char name[100];

	snprintf(name, sizeof name, "%s, %u age bits, %s", variant->name, age_bits, what);
	return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}

static int run_all_kinds(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_entry_expires_at_the_look_that_the_rules_say),
		TEST(an_entry_expires_within_its_bounds),
		TEST(with_jumps_it_expires_at_the_first_tick_behind_that_look),
		TEST(period_0_never_ends),
		TEST(states_beyond_the_rules_never_end),
		TEST(without_timings_every_period_is_1),
		TEST(flows_live_as_the_model_says),
		TEST(a_tick_in_the_past_is_an_error),
		TEST(the_expired_are_counted_by_the_state_they_left),
		TEST(a_tick_between_the_looks_changes_nothing),
		TEST(a_jump_of_2_to_the_40_ends_all_that_can_end),
		TEST(single_steps_in_portions_do_what_they_do_at_once),
		TEST(a_tick_at_once_ends_one_in_portions),
		TEST(a_later_now_needs_another_tick),
	};

	return run("all kinds", ROWS(tests));
}

static int run_with_age_bits(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_time_out_moves_and_touches),
		TEST(a_jump_makes_one_time_out_move_at_most),
		TEST(a_time_out_move_to_the_same_state_goes_on),
		TEST(a_jump_in_portions_takes_one_look),
		TEST(between_portions_no_entry_ends_early_or_late),
		TEST(between_portions_of_jumps_no_entry_ends_early_or_outlives_its_looks),
	};
	int failures = run("with age bits", ROWS(tests));

	failures += run_rows(variant->name, use_in_cell, uses, sizeof uses[0], sizeof uses / sizeof uses[0]);
	if (is_exact())
		failures += run_rows(variant->name, use_in_cell, uses_by_id, sizeof uses_by_id[0], 2);
	return failures;
}

static int run_cells(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dont_know_entry_goes_by_its_own_period),
		TEST(a_dont_know_entry_is_touched_by_nothing),
		TEST(a_dont_know_entry_with_period_0_stays),
		TEST(every_tick_clears_the_overflow_flags),
		TEST(an_overflow_flag_set_between_portions_is_gone_after_the_next_tick),
	};
	const struct CMUnitTest without_age_bits[] = {
		TEST(without_age_bits_and_rules_a_tick_removes_dont_know_entries)};

	return run("cells", ROWS(tests)) + (age_bits ? 0 : run("cells", ROWS(without_age_bits)));
}

static int run_cells_with_age_bits(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_collision_does_not_touch_the_entry_it_met),
		TEST(a_tick_only_reads_lines_that_are_empty),
		TEST(flows_of_the_side_table_make_time_out_moves_too),
	};
	const struct CMUnitTest dleft[] = {
		TEST(a_lookup_and_a_step_touch_both_of_two_matches_and_a_peek_and_a_delete_neither)};

	return run("cells with age bits", ROWS(tests)) + (is_dleft() ? run("dleft", ROWS(dleft)) : 0) +
	       run_rows(variant->name, use_in_side_table, uses, sizeof uses[0],
			sizeof uses / sizeof uses[0]) +
	       run_rows(variant->name, use_in_side_table, uses_by_id, sizeof uses_by_id[0], 2);
}

static int run_age_bits(void)
{
	int failures = run_all_kinds();

	failures += age_bits ? run_with_age_bits() : 0;
	failures += is_exact() ? 0 : run_cells();
	failures += !is_exact() && age_bits ? run_cells_with_age_bits() : 0;
	return failures;
}

static int run_variant(void)
{
	int failures = 0;

	for (age_bits = 0; age_bits <= 2; age_bits++)
		failures += run_age_bits();
	return failures;
}

int main(void)
{
	return failures_of_variants(run_variant) != 0;
}
