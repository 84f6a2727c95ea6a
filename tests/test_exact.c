/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `exact` is the yardstick of the other kinds, so it has to be right in every
 * answer, at every tick. It runs here beside a plain array of all flows: large
 * tables, tables that grow, and crowds round the end. Small ones, with rules that
 * change, are in the programs of test_oracle.c.
 */
#include <time.h>

#include "kinds/exact/exact.h"
#include "tests/table.h"
#include "tests/verbs.h"

/* ------------------------------------------------------------- a machine */

enum { STATES = 4, FIRST = 0, NEXT, END, STRANGE, ANY, EVENTS };

#define NONE INK_NO_ROW
#define GONE INK_ABSENT

/* clang-format off */
static const struct ink_row rows[(STATES + 2) * EVENTS] = {
	/*             FIRST       NEXT        END         STRANGE     ANY */
	/* state 0 */ {0, 1},     {1, 2},     {GONE, 3},  {NONE, 4},  {NONE, 5},
	/* state 1 */ {NONE, 6},  {2, 7},     {GONE, 8},  {NONE, 9},  {NONE, 10},
	/* state 2 */ {NONE, 11}, {3, 12},    {GONE, 13}, {NONE, 14}, {NONE, 15},
	/* state 3 */ {GONE, 16}, {NONE, 17}, {GONE, 18}, {NONE, 19}, {NONE, 20},
	/* absent  */ {0, 21},    {NONE, 22}, {NONE, 23}, {GONE, 24}, {2, 25},
	/* unsure  */ {NONE, 26}, {NONE, 27}, {NONE, 28}, {NONE, 29}, {NONE, 30},
};
/* clang-format on */

static const uint8_t starts[EVENTS] = {[FIRST] = 1, [STRANGE] = 1};

/* One that ends, one that never does, one that moves on, one that ends late. */
static const struct ink_timing timings[STATES + 1] = {
	{3, INK_ABSENT, 0}, {0, INK_ABSENT, 0}, {7, 0, 0}, {10, INK_ABSENT, 0}, {1, INK_ABSENT, 0}};

static const struct ink_rules rules = {.size = sizeof rules,
				       .states = STATES,
				       .events = EVENTS,
				       .rows = rows,
				       .starts = starts,
				       .timings = timings};

static struct ink_table *make(uint64_t flows, unsigned age_bits, const struct ink_rules *with)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_EXACT,
				.states = STATES,
				.flows = flows,
				.age_bits = age_bits,
				.seed = 1,
				.rules = with};

	return table_with(&o);
}

/* -------------------------------------------------------------- the oracle */

struct flow {
	uint64_t id;
	int live;
	unsigned state;
	uint64_t touched;
};

/* All flows that there may be, and what is true of them. */
struct world {
	struct ink_table *table;
	struct flow *flows;
	size_t n;
	uint64_t now; /* also that of the tick that is under way */
	int under_way;
	struct ink_counts expired; /* by the oracle, not yet by the table */
};

static struct world world_of(struct ink_table *t, size_t n)
{
	struct world w = {.table = t, .flows = calloc(n, sizeof *w.flows), .n = n};

	assert_non_null(w.flows);
	for (size_t i = 0; i < n; i++)
		w.flows[i].id = i == 0 ? 0 : i == 1 ? UINT64_MAX : random_word();
	return w;
}

static void end_of(struct world *w)
{
	assert_sound(w->table);
	ink_free(w->table);
	free(w->flows);
}

static ink_answer truth(const struct flow *f)
{
	return f->live ? (ink_answer)f->state : INK_ABSENT;
}

static void is_now(const struct world *w, struct flow *f, unsigned state)
{
	f->live = 1;
	f->state = state;
	f->touched = w->now;
}

static int is_due(const struct world *w, const struct flow *f)
{
	uint32_t period = timings[f->state].period;

	return f->live && period && w->now - f->touched >= period;
}

static void expire(struct world *w, struct flow *f)
{
	w->expired.total++;
	w->expired.state[f->state]++;
	if (timings[f->state].timeout == INK_ABSENT)
		f->live = 0;
	else
		is_now(w, f, (unsigned)timings[f->state].timeout);
}

/* Whether a tick in portions has met the flow already is for the table to say. */
static void settle(struct world *w, struct flow *f)
{
	if (w->under_way && is_due(w, f) && ink_peek(w->table, f->id) != truth(f))
		expire(w, f);
}

/* ---------------------------------------------------------- operations */

static struct result expect_step(struct world *w, struct flow *f, unsigned event)
{
	struct ink_row row = rows[(f->live ? f->state : STATES) * EVENTS + event];
	struct ink_move m = {truth(f), 0, 0};

	if (row.next == INK_NO_ROW && starts[event]) {
		row = rows[STATES * EVENTS + event];
		m.from = INK_ABSENT;
	}
	m.to = row.next == INK_NO_ROW ? m.from : row.next;
	m.action = row.action;
	f->live = m.to != INK_ABSENT;
	if (f->live)
		is_now(w, f, (unsigned)m.to);
	return (struct result){0, 0, m};
}

/* What a call must give; the oracle does it too. */
static struct result expect(struct world *w, struct flow *f, const struct call *c)
{
	struct result r = {0, 0, {0, 0, 0}};

	if (c->verb == STEP)
		return expect_step(w, f, c->event);
	if (c->verb == LOOKUP || c->verb == PEEK)
		r.answer = truth(f);
	else if (c->verb == INSERT)
		r.error = f->live ? -EEXIST : 0;
	else if (c->verb != SET)
		r.error = f->live ? 0 : -ENOENT;
	if (c->verb == DELETE)
		f->live = 0;
	else if (c->verb == LOOKUP && f->live)
		f->touched = w->now;
	else if (c->verb >= INSERT && !r.error)
		is_now(w, f, c->state);
	return r;
}

static void call(struct world *w, struct flow *f, enum verb verb)
{
	struct call c = {verb, 0, random_below(STATES), random_below(EVENTS)};
	struct result is, should_be;

	settle(w, f);
	is = perform(w->table, f->id, &c);
	should_be = expect(w, f, &c);
	if (!same(&is, &should_be))
		fail_msg("verb %d: error %d, answer %d, move %d to %d and not %d, %d, %d to %d", verb,
			 is.error, is.answer, is.move.from, is.move.to, should_be.error, should_be.answer,
			 should_be.move.from, should_be.move.to);
}

/* Any call for any flow, and inserts twice as often. */
static void operate(struct world *w, size_t operations)
{
	for (size_t i = 0; i < operations; i++) {
		unsigned verb = random_below(VERBS + 1);

		call(w, &w->flows[random_below(w->n)], verb < VERBS ? verb : INSERT);
	}
}

static void compare_all(struct world *w)
{
	struct ink_counts found, expected = {0};

	for (size_t i = 0; i < w->n; i++) {
		assert_int_equal(ink_peek(w->table, w->flows[i].id), truth(&w->flows[i]));
		expected.total += (unsigned)w->flows[i].live;
		expected.state[w->flows[i].state] += (unsigned)w->flows[i].live;
	}
	ink_census(w->table, &found);
	assert_memory_equal(&found, &expected, sizeof found);
	assert_sound(w->table);
}

/* --------------------------------------------------------- storing, growing */

/* Flows of few homes around the end of the table, which stay neighbours however far it grows. */
static void crowd(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		w->flows[i].id = (uint64_t)(0xfffffffd + i % 5) << 32 | i;
}

TEST_THAT(random_operations_agree_with_a_plain_array)
{
	const struct {
		size_t flows, operations, rounds;
		int crowded;
	} worlds[] = {{scaled(300000), scaled(1000000), 5, 0},
		      {2, scaled(2000), 20, 1},
		      {20, scaled(2000), 20, 1},
		      {74, scaled(2000), 20, 1},
		      {200, scaled(10000), 20, 1},
		      {1500, scaled(20000), 10, 1}}; /* this one grows */

	for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
		struct world w = world_of(make(1, 1, &rules), worlds[i].flows);

		if (worlds[i].crowded)
			crowd(&w);
		for (size_t round = 0; round < worlds[i].rounds; round++) {
			operate(&w, worlds[i].operations);
			compare_all(&w);
		}
		end_of(&w);
	}
}

TEST_THAT(it_grows_from_a_hint_of_one_flow)
{
	struct world w = world_of(make(1, 0, NULL), scaled(400000));
	struct ink_stats s = {.size = sizeof s};

	for (size_t i = 0; i < w.n; i++) {
		assert_int_equal(ink_insert(w.table, w.flows[i].id, i % STATES), 0);
		is_now(&w, &w.flows[i], i % STATES);
	}
	compare_all(&w);
	ink_stats(w.table, &s);
	assert_int_equal(s.flows, w.n);
	assert_int_equal(s.cells, w.table->plan.geometry.b);
	assert_int_equal(s.bytes, w.table->plan.bytes);
	assert_true(w.n * 8 <= s.cells * 7 && (w.n * 16 > s.cells * 7 || s.cells == 256));
	end_of(&w);
}

/* ------------------------------------------------------------------- ticks */

static void tick_to(struct world *w, uint64_t now)
{
	struct ink_counts found;

	w->now = now;
	for (size_t i = 0; i < w->n; i++)
		if (is_due(w, &w->flows[i]))
			expire(w, &w->flows[i]);
	assert_int_equal(ink_tick(w->table, now, &found), 0);
	assert_memory_equal(&found, &w->expired, sizeof found);
	memset(&w->expired, 0, sizeof w->expired);
}

static uint64_t later(uint64_t now)
{
	return now + (random_below(20) ? random_below(3) : random_below(40));
}

TEST_THAT(flows_expire_at_their_tick_and_not_before)
{
	for (unsigned age_bits = 1; age_bits <= 2; age_bits++) {
		struct world w = world_of(make(1, age_bits, &rules), scaled(5000));

		for (int i = 0; i < 300; i++) {
			operate(&w, scaled(2000));
			tick_to(&w, later(w.now));
			compare_all(&w);
		}
		end_of(&w);
	}
}

/* Nanoseconds since 1970 are more than a stamp holds. */
TEST_THAT(ticks_may_be_as_large_as_they_like)
{
	static const uint64_t begins[] = {(1ull << 56) - 5, 1750000000000000000, UINT64_MAX - 20};

	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
		struct world w = world_of(make(1, 1, &rules), 100);

		tick_to(&w, begins[i]);
		for (int n = 0; n < 20; n++) {
			operate(&w, 100);
			tick_to(&w, w.now + 1);
			compare_all(&w);
		}
		end_of(&w);
	}
}

/* ---------------------------------------------------------- ticks in portions */

/* One portion; what it expires shows at the next call for the flow, so the sums are compared at the end. */
static int go_on(struct world *w, uint64_t now, uint64_t cells, struct ink_counts *sum)
{
	struct ink_counts found;
	int more;

	w->now = now;
	w->under_way = 1;
	more = ink_tick_portion(w->table, now, cells, &found);
	for (unsigned s = 0; s < STATES; s++)
		sum->state[s] += found.state[s];
	sum->total += found.total;
	return more;
}

/* All that was due at the end must have gone. */
static void arrive(struct world *w, struct ink_counts *sum)
{
	for (size_t i = 0; i < w->n; i++)
		settle(w, &w->flows[i]);
	for (size_t i = 0; i < w->n; i++)
		assert_false(is_due(w, &w->flows[i]));
	w->under_way = 0;
	assert_memory_equal(sum, &w->expired, sizeof *sum);
	memset(sum, 0, sizeof *sum);
	memset(&w->expired, 0, sizeof w->expired);
	compare_all(w);
}

static void tick_in_portions(struct world *w, uint64_t cells, size_t between)
{
	struct ink_counts sum = {0};
	uint64_t now = w->now + 1 + random_below(5);

	while (go_on(w, now, cells, &sum))
		operate(w, between);
	arrive(w, &sum);
}

TEST_THAT(portions_pass_no_flow_by_and_expire_none_early)
{
	const struct {
		size_t flows, ticks;
		unsigned cells, between, after; /* at the most */
		int crowded;
	} worlds[] = {{scaled(3000), scaled(600), 600, 400, 2000, 0},
		      {5, scaled(500), 20, 12, 1, 1},
		      {91, scaled(500), 20, 12, 1, 1},
		      {220, scaled(500), 20, 12, 1, 1}};

	for (size_t n = 0; n < sizeof worlds / sizeof worlds[0]; n++) {
		struct world w = world_of(make(1, 1, &rules), worlds[n].flows);

		if (worlds[n].crowded)
			crowd(&w);
		for (size_t i = 0; i < worlds[n].ticks; i++) {
			tick_in_portions(&w, random_below(worlds[n].cells), i % worlds[n].between);
			operate(&w, random_below(worlds[n].after));
		}
		end_of(&w);
	}
}

/* New flows come in between, so that the table grows in the middle of every tick. */
TEST_THAT(growth_in_the_middle_of_a_tick_loses_nothing)
{
	struct world w = world_of(make(1, 1, &rules), scaled(200000));
	size_t fresh = 0;

	while (fresh < w.n) {
		struct ink_counts sum = {0};
		uint64_t now = w.now + 1 + random_below(3), slots = w.table->plan.geometry.b;

		for (int more = 1; more && fresh < w.n;) {
			more = go_on(&w, now, slots / 4, &sum);
			for (size_t end = fresh + slots / 3; fresh < end && fresh < w.n; fresh++)
				call(&w, &w.flows[fresh], INSERT);
		}
		while (go_on(&w, now, slots, &sum))
			;
		arrive(&w, &sum);
	}
	assert_true(w.table->plan.geometry.b >= 4096 || w.n < 4096);
	end_of(&w);
}

/*
 * Twenty flows of the last home: the first stands there, the others round the
 * end. In the larger table it is the others that come first. All but the first
 * are touched, and the cursor is behind them when the table grows.
 */
TEST_THAT(a_flow_that_growth_puts_behind_the_cursor_still_expires)
{
	struct ink_table *t = make(1, 1, &rules);
	uint64_t base = 255ull << 56;

	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(ink_insert(t, base + i, 0), 0);
	assert_int_equal(ink_tick(t, 2, NULL), 0);
	for (uint64_t i = 1; i < 20; i++)
		assert_int_equal(ink_lookup(t, base + i), 0);
	assert_int_equal(ink_tick_portion(t, 3, 100, NULL), 1);
	for (uint64_t i = 0; t->plan.geometry.b == 256; i++)
		assert_int_equal(ink_insert(t, (25 + i) << 56, 1), 0);
	assert_int_equal(ink_tick_portion(t, 3, 1000, NULL), 0);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(ink_peek(t, base + i), i ? 0 : INK_ABSENT);
	ink_free(t);
}

/* ------------------------------------------------------------------ soundness */

/* What else can be wrong with a body is in test_snapshot.c: it can come from a file, and a count cannot. */
TEST_THAT(a_wrong_count_is_found)
{
	struct ink_table *t = make(1, 1, NULL);

	assert_int_equal(ink_insert(t, 5ull << 56, 1), 0);
	assert_sound(t);
	ink_exact_shape_of(t)->count = 2;
	assert_unsound(t, "the number of flows is wrong");
	ink_free(t);
}

/* A body as a forged file may have it. */
static void forge(struct ink_table *t, uint64_t i, uint64_t id)
{
	*slot_at(t, i) = (struct slot){id, 1};
}

static void assert_judged(struct ink_table *t, int sound)
{
	ink_exact_shape_of(t)->count = flows_of(t);
	if (sound)
		assert_sound(t);
	else
		assert_unsound(t, "a flow cannot be found where it stands");
}

static int every_flow_is_found(const struct ink_table *t)
{
	for (uint64_t i = 0; i < slots_of(t); i++)
		if (slot_at(t, i)->stamp && probe(t, slot_at(t, i)->id) != slot_at(t, i))
			return 0;
	return 1;
}

/* Long runs of flows with few homes, some round the end; then one slot is emptied, or gets the id of another. */
TEST_THAT(the_check_agrees_with_a_search_for_every_flow)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct ink_table *t = make(1, 1, NULL);
		uint64_t homes = 1 + random_below(4), from = random_below(256);

		for (uint64_t i = 0, n = random_below(250); i < n; i++) {
			uint64_t id = (from + random_below(homes)) % 256 << 56 | i;

			*probe(t, id) = (struct slot){id, 1};
		}
		if (random_below(2))
			*slot_at(t, random_below(256)) = (struct slot){0};
		if (random_below(2))
			forge(t, random_below(256), slot_at(t, random_below(256))->id);
		*slot_at(t, (from + 255) % 256) = (struct slot){0}; /* one stays empty */
		assert_judged(t, every_flow_is_found(t));
		ink_free(t);
	}
}

/* A search for every flow would take 6 * 10^9 steps, which is many seconds; the check takes less than 0.1. */
TEST_THAT(a_body_of_flows_with_one_home_is_checked_in_time)
{
	enum { FORGED = 114000, SECONDS = 2 };
	struct ink_table *t = make(FORGED, 1, NULL);
	clock_t begun = clock();

	for (uint64_t i = 0; i < FORGED; i++)
		forge(t, i, i * 0x9e3779b97f4a7c15ull >> 32);
	assert_judged(t, 1);
	forge(t, FORGED - 1, slot_at(t, 100)->id);
	assert_judged(t, 0);
	assert_true(clock() - begun < SECONDS * (clock_t)CLOCKS_PER_SEC);
	ink_free(t);
}

static void *refuse(size_t bytes, size_t alignment, void *user)
{
	(void)user;
	(void)bytes;
	(void)alignment;
	return NULL;
}

TEST_THAT(the_check_needs_no_memory)
{
	struct ink_table *t = make(1, 1, NULL);
	struct ink_allocator own = t->allocator;

	t->allocator.alloc = refuse;
	for (uint64_t i = 0; i < 200; i++)
		forge(t, i, i);
	assert_judged(t, 1);
	forge(t, 199, 120);
	assert_judged(t, 0);
	t->allocator = own;
	ink_free(t);
}

int main(void)
{
	return run_suite(NULL);
}
