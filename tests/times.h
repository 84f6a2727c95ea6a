/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of time: a machine of three states whose periods and time-outs a test chooses, tables with no, one or two age
 * bits, and when an entry expires, by the rules of docs/semantics.md, written down a second time here.
 */
#ifndef INKLING_TESTS_TIMES_H
#define INKLING_TESTS_TIMES_H

#include "tests/help.h"

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

static inline struct ink_rules rules_with(const struct times *times)
{
	return (struct ink_rules){.size = sizeof(struct ink_rules),
				  .states = STATES,
				  .events = EVENTS,
				  .rows = rows,
				  .starts = starts,
				  .timings = times->of};
}

/* One period for all, without moves: the paper's phases, if there is one age bit. */
static inline struct times same_for_all(uint32_t period)
{
	struct times times;

	for (int i = 0; i <= STATES; i++)
		times.of[i] = (struct ink_timing){period, INK_ABSENT, 0};
	return times;
}

/* Only A ends. */
static inline struct times only_a(uint32_t period)
{
	struct times times = same_for_all(0);

	times.of[A].period = period;
	return times;
}

/* ---------------------------------------------------------------- the table */

static unsigned age_bits;

static inline struct ink_options options_for(const struct ink_rules *rules, uint32_t side)
{
	struct ink_options o = variant_options();

	o.states = STATES;
	o.age_bits = age_bits;
	o.rules = rules;
	o.geometry.side = side;
	return o;
}

static inline void make_with_side(const struct times *times, uint32_t side)
{
	struct ink_rules rules = rules_with(times);
	struct ink_options o = options_for(&rules, side);

	make_from(&o);
	note();
}

static inline void make(struct times times)
{
	make_with_side(&times, 4);
}

static inline void tick_to(uint64_t now)
{
	assert_int_equal(ink_tick(t, now, NULL), 0);
}

/* One by one. */
static inline void tick_through(uint64_t from, uint64_t to)
{
	for (uint64_t now = from; now <= to; now++)
		tick_to(now);
}

/* An entry that is marked don't-know, for a collision found no side table. */
static inline uint64_t unsure_flow(void)
{
	uint64_t id = flow(C);

	assert_int_equal(ink_insert(t, twin_of(id), C), -ENOSPC);
	assert_int_equal(ink_peek(t, id), INK_DONT_KNOW);
	return id;
}

static inline void assert_gone_by(uint64_t id, uint64_t end)
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
static inline uint64_t stride(uint32_t period)
{
	return age_bits == 2 ? (period + 2) / 3 : period;
}

/* Looks that an entry outlives. */
static inline unsigned lives(void)
{
	return age_bits == 2 ? 3 : age_bits;
}

static inline int never_ends(unsigned state, uint32_t period)
{
	return period == 0 || (age_bits == 0 && state != UNSURE);
}

/* When an entry touched at x expires if time goes on tick by tick. */
static inline uint64_t end_of(unsigned state, uint32_t period, uint64_t x)
{
	if (never_ends(state, period))
		return NEVER;
	if (is_exact())
		return x + period;
	return (x / stride(period) + lives() + 1) * stride(period);
}

/* The multiples of the stride among the ticks after `from`, up to `to`; no more than 5 matter. */
static inline unsigned looks_between(uint64_t from, uint64_t to, uint64_t every)
{
	unsigned looks = 0;

	for (uint64_t tick = from + 1; tick <= to && looks < 5; tick++)
		looks += tick % every == 0;
	return looks;
}

static inline void assert_expired(const struct ink_counts *is, const struct ink_counts *should_be)
{
	assert_int_equal(is->total, should_be->total);
	assert_int_equal(is->unsure, should_be->unsure);
	for (int i = 0; i < STATES; i++)
		assert_int_equal(is->state[i], should_be->state[i]);
}

/* The cells are full, and this flow was refused. */
static inline uint64_t refused_flow(void)
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

/* --------------------------------------------------------------- running tests */

/* The listed tests, with as many age bits as there are now. */
static inline int run_aged(void)
{
	print_message("%u age bits\n", age_bits);
	return run_listed(age_bits ? AGED : AGELESS, NULL);
}

/* With each number of age bits. */
static inline int run_all(int (*run_age_bits)(void))
{
	int failures = 0;

	for (int i = 0; i < VARIANTS; i++)
		for (age_bits = 0; age_bits <= 2 && can_run(&variants[i]); age_bits++)
			failures += run_age_bits();
	return failures;
}

#endif
