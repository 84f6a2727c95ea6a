/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ticks in portions: single steps do what they do at once, a jump takes one look,
 * and while flows come and go between the portions, none ends early or late.
 *
 * All runs for every kind and instruction set, with no, one and two age bits.
 */
#include "tests/times.h"

static struct times chain(void)
{
	return (struct times){{{2, B, 0}, {3, C, 0}, {5, INK_ABSENT, 0}, {1, INK_ABSENT, 0}}};
}

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

TEST_OF(CELLS, an_overflow_flag_set_between_portions_is_gone_after_the_next_tick)
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

TEST_THAT(single_steps_in_portions_do_what_they_do_at_once)
{
	struct times moves = chain(), phases = same_for_all(3), others = only_a(4);

	compare_portions(&moves);
	compare_portions(&phases);
	compare_portions(&others);
}

TEST_THAT(a_tick_at_once_ends_one_in_portions)
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

TEST_THAT(a_later_now_needs_another_tick)
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
TEST_OF(AGED, a_jump_in_portions_takes_one_look)
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

TEST_OF(AGED, between_portions_no_entry_ends_early_or_late)
{
	struct times moves = {{{3, INK_ABSENT, 0}, {2, INK_ABSENT, 0}, {5, A, 0}, {1, INK_ABSENT, 0}}};

	run_churn(same_for_all(1), 1);
	run_churn(same_for_all(3), 1);
	run_churn(moves, 1);
}

TEST_OF(AGED, between_portions_of_jumps_no_entry_ends_early_or_outlives_its_looks)
{
	struct times times = {
		{{3, INK_ABSENT, 0}, {2, INK_ABSENT, 0}, {7, INK_ABSENT, 0}, {1, INK_ABSENT, 0}}};

	run_churn(same_for_all(4), 6);
	run_churn(times, 6);
}

int main(void)
{
	return run_all(run_aged) != 0;
}
