/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ink_expiry against what tables do: flows are stored and touched at any moment between
 * two ticks, and none may expire outside of the range. The ends of the range are
 * approached within a tenth of a tick, so the range is no wider than it must be.
 */
#include <inttypes.h>

#include <inkling/machine.h>

#include "tests/kind.h"
#include "tests/table.h"

enum { STATES = 2, EVENTS = 2, MANY = 100000, SOME = 10000, LIVING = 4096, PER_TICK = 24 };
enum { MOVE, STAY }; /* events */

/* clang-format off */
#define STAYS {INK_NO_ROW, 0}
/* clang-format on */

/* Both states lead to each other. */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	{1, 0}, STAYS, {0, 0}, STAYS, STAYS, STAYS, STAYS, STAYS,
};

/* One run: flows of one period in a table. */
struct run {
	struct ink_table *table;
	int windows;
	struct ink_expiry range;
	uint64_t now, born, ended;
	double shortest, longest; /* times from the last touch, or from entering, to the end */
	unsigned living;
	uint64_t id[LIVING];
	double since[LIVING];
};

static struct run r;

static int free_table(void **state)
{
	ink_free(r.table);
	r.table = NULL;
	return 0;
}

static void open_run(unsigned kind, unsigned age_bits, uint32_t period, int windows)
{
	static const uint8_t one_group[STATES] = {1, 1};
	const struct ink_timing timing = {period, INK_ABSENT, 0};
	const struct ink_timing timings[STATES + 1] = {timing, timing, timing};
	const struct ink_rules rules = {.size = sizeof rules,
					.states = STATES,
					.events = EVENTS,
					.rows = rows,
					.timings = timings,
					.windows = windows ? one_group : NULL};

	free_table(NULL);
	r = (struct run){.windows = windows, .shortest = HUGE_VAL};
	r.table = table_with(&(struct ink_options){.size = sizeof(struct ink_options),
						   .kind = kind,
						   .states = STATES,
						   .flows = LIVING,
						   .age_bits = age_bits,
						   .error = 1e-6,
						   .seed = 5,
						   .rules = &rules});
	assert_int_equal(ink_expiry(kind, age_bits, period, &r.range), 0);
}

/* A moment of the present tick. */
static double moment(void)
{
	return (double)r.now + (double)random_below(1 << 20) / (1 << 20);
}

static void add_flow(void)
{
	uint64_t id = random_word();

	if (r.living == LIVING || ink_peek(r.table, id) != INK_ABSENT || ink_insert(r.table, id, 0))
		return;
	r.id[r.living] = id;
	r.since[r.living++] = moment();
	r.born++;
}

/* A use renews an idle time, and not a window. */
static void use_flow(unsigned i)
{
	struct ink_move move;

	if (random_below(2))
		ink_lookup(r.table, r.id[i]);
	else
		ink_step(r.table, r.id[i], random_below(2) ? MOVE : STAY, &move);
	if (!r.windows)
		r.since[i] = moment();
}

static void note_end(unsigned i)
{
	double took = (double)r.now - r.since[i];

	r.shortest = took < r.shortest ? took : r.shortest;
	r.longest = took > r.longest ? took : r.longest;
	r.ended++;
	r.id[i] = r.id[--r.living];
	r.since[i] = r.since[r.living];
}

static void tick(void)
{
	assert_int_equal(ink_tick(r.table, ++r.now, NULL), 0);
	for (unsigned i = r.living; i-- > 0;)
		if (ink_peek(r.table, r.id[i]) == INK_ABSENT)
			note_end(i);
}

/* Few flows are born over several periods, too: they meet every phase of the looks. */
static void live_through(uint64_t flows, uint32_t period)
{
	uint64_t some = flows / (4 * (uint64_t)period) + 1, per_tick = some < PER_TICK ? some : PER_TICK;

	while (r.ended < flows) {
		for (unsigned i = 0; i < per_tick && r.born < flows; i++)
			add_flow();
		for (unsigned i = 0; i < r.living; i++)
			if (random_below(3 * (uint64_t)period) == 0)
				use_flow(i);
		tick();
	}
}

static void assert_range(const char *name, unsigned age_bits, uint32_t period)
{
	double earliest = (double)r.range.earliest, latest = (double)r.range.latest;
	double near = r.ended >= MANY ? .1 : 1.5; /* ticks; fewer flows come less close */

	if (r.shortest <= earliest || r.longest > latest)
		fail_msg("%s, %u age bits, period %u: ended after %f to %f, not after %f to %f", name,
			 age_bits, period, r.shortest, r.longest, earliest, latest);
	if (r.shortest > earliest + near || r.longest < latest - near)
		fail_msg("%s, %u age bits, period %u: ended after %f to %f, %f to %f is too wide", name,
			 age_bits, period, r.shortest, r.longest, earliest, latest);
}

static void check_period(const struct ink_kind_info *kind, uint32_t period, int windows, uint64_t flows)
{
	int exact = (kind->can & INK_CAN_BE_EXACT) != 0;

	for (unsigned age_bits = 1; age_bits <= (exact ? 1 : 2); age_bits++) {
		open_run((unsigned)kind->kind, age_bits, period, windows);
		live_through(flows, period);
		assert_range(kind->name, age_bits, period);
	}
}

static void check_kinds(unsigned can, int windows)
{
	static const uint32_t periods[] = {2, 4, 6, 9, 10, 32, 34, 97};
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++) {
		if (!(kind.can & can))
			continue;
		check_period(&kind, 33, windows, scaled(MANY));
		for (unsigned j = 0; j < COUNT(periods); j++)
			check_period(&kind, periods[j], windows, scaled(SOME));
	}
}

TEST_THAT(time_outs_fire_within_their_range)
{
	check_kinds(INK_CAN_TIME_OUT, 0);
}

TEST_THAT(windows_end_within_their_range)
{
	check_kinds(INK_CAN_WINDOW, 1);
}

static void assert_expiry(unsigned kind, unsigned age_bits, uint32_t period, struct ink_expiry is)
{
	struct ink_expiry range;

	assert_int_equal(ink_expiry(kind, age_bits, period, &range), 0);
	assert_int_equal(range.earliest, is.earliest);
	assert_int_equal(range.latest, is.latest);
}

TEST_THAT(a_range_is_of_whole_looks)
{
	assert_expiry(INK_LINE, 1, 33, (struct ink_expiry){33, 66});
	assert_expiry(INK_COMPACT, 2, 33, (struct ink_expiry){33, 44});
	assert_expiry(INK_DLEFT, 2, 34, (struct ink_expiry){36, 48});
	assert_expiry(INK_EXACT, 2, 33, (struct ink_expiry){32, 33});
	assert_expiry(INK_LINE, 2, UINT32_MAX, (struct ink_expiry){4294967295u, 5726623060u});
	assert_expiry(INK_LINE, 1, 0, (struct ink_expiry){INK_NO_EXPIRY, INK_NO_EXPIRY});
	assert_expiry(INK_LINE, 0, 33, (struct ink_expiry){INK_NO_EXPIRY, INK_NO_EXPIRY});
	assert_expiry(INK_KIND_DEFAULT, 1, 1, (struct ink_expiry){1, 2});
}

TEST_THAT(what_has_no_range_is_refused)
{
	struct ink_expiry range;

	assert_int_equal(ink_expiry(INK_KBF, 0, 33, &range), -ENOTSUP);
	assert_int_equal(ink_expiry(99, 1, 33, &range), -ENOENT);
	assert_int_equal(ink_expiry(INK_LINE, 3, 33, &range), -EINVAL);
}

/* --------------------------------------------------------------- of machines */

/* The longest time of a machine with these two time-outs, as a multiple of each, with two age bits. */
static double worst_of(uint64_t shortest_ms, uint64_t longer_ms)
{
	const uint64_t ms[2] = {shortest_ms, longer_ms};
	char text[200];
	struct ink_machine *m;
	const struct ink_machine_view *v;
	double worst = 0;

	snprintf(text, sizeof text,
		 "machine m\nkey pair\nevent e = tcp\nabsent: e -> a\na: e -> b | timeout %" PRIu64
		 "ms -> absent\nb: timeout %" PRIu64 "ms -> absent\n",
		 shortest_ms, longer_ms);
	m = ink_machine_make(text, strlen(text), NULL);
	assert_non_null(m);
	v = ink_machine_view(m);
	for (unsigned i = 0; i < 2; i++) {
		struct ink_expiry e;
		double written = (double)ms[i] * 1e6, tick = (double)v->tick;
		double n = ceil(written / tick);

		assert_int_equal(ink_expiry(INK_LINE, 2, v->rules->timings[i].period, &e), 0);
		assert_true((double)e.earliest * tick >= written);
		assert_true((double)e.latest / n <= 4 * ceil((n + 1) / 3) / n + 1e-9);
		worst = fmax(worst, (double)e.latest * tick / written);
	}
	ink_machine_free(m);
	return worst;
}

TEST_THAT(with_two_age_bits_multiples_of_the_shortest_are_at_most_half_as_late)
{
	for (uint64_t ms = 800; ms < 20000; ms += ms / 7)
		for (uint64_t times = 1; times <= 12; times++)
			if (worst_of(ms, ms * times) > (ms >= 3200 ? 1.38 : 1.5))
				fail_msg("%" PRIu64 " ms and %" PRIu64 " times that: %f times as long", ms,
					 times, worst_of(ms, ms * times));
}

TEST_THAT(other_times_are_as_late_as_their_ticks_say)
{
	worst_of(800, 900);
	worst_of(70, 1000);
	worst_of(5000, 7001);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_table});
}
