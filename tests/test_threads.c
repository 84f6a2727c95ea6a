/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What threads read beside writers: the thread rules of inkling.h and the laws of
 * kinds/line/cells.h, under load. Writers that change the same flows are in
 * test_races.c.
 *
 * The tables are small and full, so that the threads meet in the same lines, and
 * some are so coarse that a good part of the flows is in the side table. One writer
 * is tried with AVX2 under ThreadSanitizer, too, for which base/cpu.c would choose
 * the portable code alone.
 */
#include "tests/side_probe.h"
#include "tests/threads.h"

/* ------------------------------------------------------ writers, and peeks beside them */

/*
 * Sets of flows. Those of a group are in its states whichever writer touches
 * them, and any thread may peek for them. Behind the groups, each writer has a set of
 * its own, which it changes and replaces all the time; that displaces the others.
 */
enum { STILL, BLINKING, AWAKE, TIRING, GROUPS, MOST_SETS = GROUPS + 2 };

enum { STILL_STATES = 4, BLINKING_STATES = 2, OWN_STATES = 4 };
enum {
	S_STILL = 0, /* never changes */
	S_BLINKING = S_STILL + STILL_STATES,
	S_OWN = S_BLINKING + BLINKING_STATES,
	S_AWAKE = S_OWN + OWN_STATES, /* would end, but is touched after every tick */
	S_TIRING,                     /* times out to tired, and is set back now and then */
	S_TIRED,
	S_FADING, /* times out to absent */
	S_ALL
};

enum { E_BLINK, E_ALL };

enum { MANY = 40 }; /* in a batch */

struct flows {
	uint64_t *ids;
	uint8_t *states;
	size_t n;
};

struct scene {
	struct flows set[MOST_SETS];
	unsigned writers;
	uint64_t changes; /* that each writer is to make */
	uint64_t clock;   /* a flow of its own, whose state is `time` % STILL_STATES */
	uint32_t time;
	uint64_t fading, most_fading;
	uint64_t peekers; /* so far */
};

struct writer {
	struct scene *scene;
	struct flows *own;
	unsigned number;
	uint64_t next_id, dice;
};

struct table_case {
	unsigned writers;
	enum ink_simd simd;
	uint64_t flows;
	enum ink_kind kind;
	unsigned states; /* more of them leave fewer bits for fingerprints */
	double error;
	struct ink_geometry geometry;
	int coarse; /* so many collisions that the side table is in use all the time */
	uint64_t changes;
	uint8_t far; /* batches take the ways of large tables */
	unsigned part;
};

/* An own flow may blink as well, or tire. */
static uint8_t own_state(uint64_t *dice)
{
	unsigned state = S_BLINKING + below_from(dice, BLINKING_STATES + OWN_STATES + 1);

	return (uint8_t)(state == S_AWAKE ? S_TIRING : state);
}

static uint8_t state_of(unsigned set, size_t i, uint64_t *dice)
{
	switch (set) {
	case STILL:
		return (uint8_t)(S_STILL + i % STILL_STATES);
	case BLINKING:
		return (uint8_t)(S_BLINKING + i % BLINKING_STATES);
	case AWAKE:
		return S_AWAKE;
	case TIRING:
		return S_TIRING;
	default:
		return own_state(dice);
	}
}

/* Of a set that has an owner, only that may ask: a flow that is tired does not recover by itself. */
static void check_answer(const struct scene *s, unsigned set, size_t i, ink_answer a)
{
	uint8_t *state = &s->set[set].states[i];
	int tired = a == S_TIRED && *state == S_TIRING;
	int blinks = set == BLINKING && a >= S_BLINKING && a < S_BLINKING + BLINKING_STATES;

	if (a != *state && !tired && !blinks)
		complain("flow %zu of set %u reads %d, not %u", i, set, a, *state);
	if (set >= GROUPS && tired)
		*state = S_TIRED;
}

/* Only these three states know time. */
static void scene_rules(unsigned states, struct ink_row rows[], struct ink_timing timings[])
{
	for (unsigned s = 0; s < states + 2; s++)
		rows[s] = (struct ink_row){.next = INK_NO_ROW};
	for (unsigned i = 0; i < BLINKING_STATES; i++)
		rows[S_BLINKING + i].next = (int16_t)(S_BLINKING + (i + 1) % BLINKING_STATES);
	for (unsigned s = 0; s <= states; s++)
		timings[s] = (struct ink_timing){.period = 0, .timeout = INK_ABSENT};
	timings[S_AWAKE].period = 1;
	timings[S_TIRING] = (struct ink_timing){.period = 1, .timeout = S_TIRED};
	timings[S_FADING].period = 1;
}

static void scene_table(const struct table_case *c)
{
	struct ink_row rows[INK_MAX_STATES + 2];
	struct ink_timing timings[INK_MAX_STATES + 1];
	struct ink_rules rules = {
		.size = sizeof rules, .states = c->states, .events = E_ALL, .rows = rows, .timings = timings};
	struct ink_options o = {.size = sizeof o,
				.kind = c->kind,
				.states = c->states,
				.flows = c->flows,
				.error = c->error,
				.age_bits = 1,
				.writers = c->writers,
				.simd = c->simd,
				.seed = 1,
				.rules = &rules,
				.geometry = c->geometry,
				.part = c->part};

	skip_without(c->simd);
	scene_rules(c->states, rows, timings);
	table = table_with(&o);
	table->is_far = c->far;
}

static void insert_one(struct flows *f, size_t i, uint64_t id, uint8_t state)
{
	f->ids[i] = id;
	f->states[i] = state;
	if (ink_insert(table, id, state) != 0)
		complain("an insert failed");
}

/* In turns, so that every set has flows in the cells and in the side table. */
static void scene_fill(struct scene *s)
{
	size_t done[MOST_SETS] = {0};
	uint64_t next = 0, dice = 3;

	for (int more = 1; more;) {
		more = 0;
		for (unsigned set = 0; set < MOST_SETS; set++)
			for (size_t burst = 1 + s->set[set].n / 100; burst && done[set] < s->set[set].n;
			     burst--, done[set]++, more = 1)
				insert_one(&s->set[set], done[set], id_number(next++),
					   state_of(set, done[set], &dice));
	}
	s->clock = id_number(next++);
	assert_int_equal(ink_insert(table, s->clock, 0), 0);
}

static void scene_new(struct scene *s, const struct table_case *c)
{
	size_t n = c->flows, left = n - n / 16 - 1;

	*s = (struct scene){.writers = c->writers > 1 ? 2 : 1, .most_fading = n / 16};
	s->set[STILL].n = n / 4;
	s->set[BLINKING].n = n / 16;
	s->set[AWAKE].n = s->set[TIRING].n = n / 32;
	for (unsigned set = 0; set < GROUPS; set++)
		left -= s->set[set].n;
	for (unsigned set = 0; set < GROUPS + s->writers; set++) {
		struct flows *f = &s->set[set];

		f->n = set < GROUPS ? f->n : left / s->writers;
		f->ids = keep_new(f->n, sizeof(uint64_t));
		f->states = keep_new(f->n, 1);
	}
	scene_table(c);
	scene_fill(s);
	s->changes = scaled(c->changes);
}

static void own_replace(struct writer *w, size_t i)
{
	if (ink_delete(table, w->own->ids[i]) != 0)
		complain("a flow that is there cannot be deleted");
	insert_one(w->own, i, id_number(w->next_id++), own_state(&w->dice));
}

static void own_step(struct writer *w, size_t i)
{
	struct ink_move m;

	if (ink_step(table, w->own->ids[i], E_BLINK, &m) != 0)
		complain("a flow that is there cannot be stepped");
	check_answer(w->scene, GROUPS + w->number, i, m.from);
	if (m.to >= 0)
		w->own->states[i] = (uint8_t)m.to;
}

static void own_change(struct writer *w, size_t i)
{
	uint8_t state = w->own->states[i] = own_state(&w->dice);
	uint64_t id = w->own->ids[i];

	if (below_from(&w->dice, 2) ? ink_set(table, id, state) : ink_modify(table, id, state))
		complain("a flow that is there cannot be changed");
}

static void own_any(struct writer *w, uint64_t k)
{
	size_t i = below_from(&w->dice, w->own->n);
	uint64_t id = w->own->ids[i];

	check_answer(w->scene, GROUPS + w->number, i, k % 2 ? ink_lookup(table, id) : ink_peek(table, id));
	if (k % 4 == 0)
		own_step(w, i);
	else if (k % 4 == 1)
		own_change(w, i);
	else
		own_replace(w, i);
}

/* Changes neighbours, and replaces them, each in a batch. */
static void own_many(struct writer *w)
{
	size_t from = below_from(&w->dice, w->own->n - MANY);
	uint64_t *ids = w->own->ids + from;
	uint8_t *states = w->own->states + from;
	ink_answer answers[MANY];
	struct ink_batch b = {.n = MANY, .ids = ids, .states = states, .answers = answers};

	for (size_t i = 0; i < MANY; i++)
		states[i] = own_state(&w->dice);
	if (ink_modify_batch(table, &b) != 0)
		complain("of a batch of flows that are there, one cannot be changed");
	ink_peek_batch(table, &b);
	for (size_t i = 0; i < MANY; i++)
		check_answer(w->scene, GROUPS + w->number, from + i, answers[i]);
	if (ink_delete_batch(table, &b) != 0)
		complain("of a batch of flows that are there, one cannot be deleted");
	for (size_t i = 0; i < MANY; i++)
		ids[i] = id_number(w->next_id++);
	if (ink_insert_batch(table, &b) != 0)
		complain("of a batch, one cannot be inserted");
}

/* All the ways to change a state; the flow is no writer's own. */
static void blink_one(struct writer *w, uint64_t k)
{
	const struct flows *f = &w->scene->set[BLINKING];
	uint64_t id = f->ids[below_from(&w->dice, f->n)];
	unsigned state = S_BLINKING + below_from(&w->dice, BLINKING_STATES);
	struct ink_move move;
	int error;

	if (k % 3 == 0)
		error = ink_modify(table, id, state);
	else if (k % 3 == 1)
		error = ink_set(table, id, state);
	else
		error = ink_step(table, id, E_BLINK, &move);
	if (error)
		complain("a flow that is there cannot be changed");
}

static void clock_on(struct scene *s)
{
	if (ink_modify(table, s->clock, (s->time + 1) % STILL_STATES) != 0)
		complain("the clock cannot be changed");
	__atomic_store_n(&s->time, s->time + 1, __ATOMIC_RELEASE);
}

/* Flows that end by themselves; what has ended makes room for more. */
static void fade_one(struct writer *w)
{
	uint64_t *fading = &w->scene->fading;

	if (__atomic_add_fetch(fading, 1, __ATOMIC_RELAXED) > w->scene->most_fading)
		__atomic_sub_fetch(fading, 1, __ATOMIC_RELAXED);
	else if (ink_insert(table, id_number(w->next_id++), S_FADING) != 0)
		complain("an insert failed");
}

/* A portion, or a tick; when that is done, the AWAKE flows are touched before the next one begins. */
static void scene_tick(struct scene *s, uint64_t *dice)
{
	const struct flows *awake = &s->set[AWAKE], *tiring = &s->set[TIRING];
	uint64_t now = stats_of(table).now + 1;
	struct ink_counts expired;
	int more = below_from(dice, 8) ? ink_tick_portion(table, now, 200, &expired)
				       : ink_tick(table, now, &expired);

	if (more < 0 || expired.state[S_AWAKE])
		complain("a tick returned %d and expired %d flows that were touched", more,
			 (int)expired.state[S_AWAKE]);
	__atomic_sub_fetch(&s->fading, expired.state[S_FADING], __ATOMIC_RELAXED);
	for (size_t i = 0; more == 0 && i < awake->n; i++)
		check_answer(s, AWAKE, i, ink_lookup(table, awake->ids[i]));
	if (more == 0)
		ink_set(table, tiring->ids[below_from(dice, tiring->n)], S_TIRING);
}

/* The only writer also ticks. */
static void *write_all_the_time(void *with)
{
	struct writer *w = with;

	meet();
	for (uint64_t k = 0; k < w->scene->changes && !has_failed(); k++) {
		own_any(w, k);
		if (k % 2)
			blink_one(w, k);
		if (k % 8 == 0 && w->number == 0)
			clock_on(w->scene);
		if (k % 16 == 0)
			fade_one(w);
		if (k % 64 == 0)
			own_many(w);
		if (k % 256 == 0 && w->scene->writers == 1)
			scene_tick(w->scene, &w->dice);
	}
	return NULL;
}

/* The flow is neither behind a time that was published before, nor ahead of the next one. */
static void peek_clock(const struct scene *s)
{
	uint32_t before = __atomic_load_n(&s->time, __ATOMIC_ACQUIRE);
	ink_answer a = ink_peek(table, s->clock);
	uint32_t passed = __atomic_load_n(&s->time, __ATOMIC_ACQUIRE) - before;

	if (a < 0 || a >= STILL_STATES || ((uint32_t)a - before) % STILL_STATES > passed + 1)
		complain("at %u the clock reads %d", before % STILL_STATES, a);
}

static void peek_one(const struct scene *s, uint64_t *dice)
{
	unsigned set = below_from(dice, GROUPS);
	size_t i = below_from(dice, s->set[set].n);

	check_answer(s, set, i, ink_peek(table, s->set[set].ids[i]));
}

static void peek_many(const struct scene *s)
{
	ink_answer answers[100];

	for (size_t i = 0; i + 100 <= s->set[STILL].n; i += 100) {
		struct ink_batch b = {.n = 100, .ids = s->set[STILL].ids + i, .answers = answers};

		ink_peek_batch(table, &b);
		for (size_t k = 0; k < 100; k++)
			check_answer(s, STILL, i + k, answers[k]);
	}
}

/* A census beside a writer can only be wrong about what was moved meanwhile. */
static void count_still(const struct scene *s)
{
	struct ink_stats before = stats_of(table), after;
	struct ink_counts counts;
	uint64_t still = s->set[STILL].n + 1, counted = 0, moved;

	ink_census(table, &counts);
	after = stats_of(table);
	for (unsigned i = 0; i < STILL_STATES; i++)
		counted += counts.state[S_STILL + i];
	moved = after.displaced - before.displaced + 2; /* one on its way, and the clock */
	if (counted > still + moved || counted + moved < still || counts.unsure)
		complain("%d flows were counted where there are %d, and %d were moved", (int)counted,
			 (int)still, (int)moved);
}

/* Beside many writers it also ticks, until flows have expired. */
static void *peek_all_the_time(void *with)
{
	struct scene *s = with;
	uint64_t dice = 1 + __atomic_fetch_add(&s->peekers, 1, __ATOMIC_RELAXED);

	meet();
	for (unsigned turn = 0; goes_on() || (s->writers > 1 && ink_now(table) < 3 && !has_failed());
	     turn++) {
		for (unsigned i = 0; i < 100; i++)
			peek_one(s, &dice);
		for (unsigned i = 0; i < 10; i++)
			peek_clock(s);
		if (s->writers > 1)
			scene_tick(s, &dice);
		if (turn % 16 == 0) {
			peek_many(s);
			count_still(s);
		}
	}
	return NULL;
}

static void assert_all_there(struct scene *s, int coarse)
{
	struct ink_stats stats;
	struct ink_counts expired;
	size_t aside = 0, flows = 1;

	ink_tick(table, stats_of(table).now, &expired); /* displacements expire flows too */
	stats = stats_of(table);
	for (unsigned set = 0; set < MOST_SETS; set++)
		for (size_t i = 0; i < s->set[set].n; i++, flows++) {
			check_answer(s, set, i, ink_lookup(table, s->set[set].ids[i]));
			aside += set == STILL ? entries_aside(&table->side, s->set[set].ids[i]) : 0;
		}
	assert_no_failure();
	assert_int_equal(stats.flows, flows + s->fading - expired.state[S_FADING]);
	assert_int_equal(stats.refused + stats.marked, 0);
	assert_true(stats.expired > 0);
	assert_true(coarse ? aside > 10 : s->writers > 1 || stats.displaced > 0);
}

/* One writer and two threads that peek; or two writers, and one thread that peeks and ticks. */
static void every_thread_reads_flows_as_the_writers_left_them(void **state)
{
	const struct table_case *c = *state;
	struct writer writers[2];
	struct scene s;

	scene_new(&s, c);
	crew_new(3);
	for (unsigned i = s.writers; i < 3; i++)
		crew_add(peek_all_the_time, &s);
	for (unsigned i = 0; i < s.writers; i++) {
		writers[i] = (struct writer){&s, &s.set[GROUPS + i], i, (uint64_t)(i + 1) << 32, i + 1};
		crew_add(write_all_the_time, &writers[i]);
	}
	crew_wait(3 - s.writers);
	assert_sound(table);
	assert_all_there(&s, c->coarse);
}

/*
 * Two flows take turns in one place. A peek for the first must never read the
 * state of the second, although the entry may change between finding it and
 * reading its state.
 */
enum { TURNS = 400000, THE_FIRST = 1, THE_SECOND = 2 };

/*
 * Small numbers in the upper half make the same line. The lower half, and for
 * `compact` the upper one, tells them apart.
 */
static uint64_t id_of_turn(unsigned flow)
{
	return (uint64_t)flow << 58 | flow * 0x50000000ull;
}

static void *take_turns(void *with)
{
	meet();
	for (unsigned i = 0; i < TURNS && !has_failed(); i++) {
		unsigned flow = i % 2 ? THE_SECOND : THE_FIRST;

		if (ink_insert(table, id_of_turn(flow), flow) || ink_delete(table, id_of_turn(flow)))
			complain("turn %u was not taken", i);
	}
	end_all();
	return NULL;
}

static void *peek_for_the_first(void *with)
{
	meet();
	while (goes_on()) {
		ink_answer a = ink_peek(table, id_of_turn(THE_FIRST));

		if (a != THE_FIRST && a != INK_ABSENT)
			complain("the first flow reads %d", a);
	}
	return NULL;
}

static void write_and_peek(void *(*write)(void *), void *(*peek)(void *))
{
	crew_new(2);
	crew_add(write, NULL);
	crew_add(peek, NULL);
	crew_wait(0);
}

static void a_peek_does_not_read_the_flow_that_took_the_place(void **state)
{
	scene_table(*state);
	write_and_peek(take_turns, peek_for_the_first);
}

/*
 * A line without a side table, full but for its last slot, in which a flow comes
 * and goes: a peek may see it half changed, with flags that are none. For that
 * the last buckets have to be crowded.
 */
static uint64_t id_in_bucket(uint64_t bucket, uint64_t remainder)
{
	uint64_t one = UINT64_MAX / 59; /* of the buckets of that shape */

	return bucket * one + remainder * (one / 256) + one / 512;
}

static void *come_and_go(void *with)
{
	meet();
	for (unsigned i = 0; i < TURNS && !has_failed(); i++)
		if (ink_insert(table, id_in_bucket(58, 9), THE_SECOND) ||
		    ink_delete(table, id_in_bucket(58, 9)))
			complain("turn %u was not taken", i);
	end_all();
	return NULL;
}

static void *peek_for_a_stranger(void *with)
{
	meet();
	while (goes_on())
		if (ink_peek(table, id_in_bucket(5, 200)) != INK_ABSENT)
			complain("a stranger is not absent");
	return NULL;
}

static void a_peek_needs_no_side_table(void **state)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_COMPACT,
				.flows = 32,
				.states = 15,
				.age_bits = 1,
				.error = .5,
				.geometry = {.b = 1, .h = 32, .f = 8, .side = INK_NO_SIDE}};

	table = table_with(&o);
	for (uint64_t i = 0; i < 31; i++)
		assert_int_equal(ink_insert(table, id_in_bucket(i < 20 ? i : 57, i), THE_FIRST), 0);
	write_and_peek(come_and_go, peek_for_a_stranger);
}

/* ------------------------------------------------------------------ all of it */

#define SCENE(about, ...)                                                                                    \
	CASE(every_thread_reads_flows_as_the_writers_left_them, about, table_case, __VA_ARGS__)
#define TURN(about, ...)                                                                                     \
	CASE(a_peek_does_not_read_the_flow_that_took_the_place, about, table_case, __VA_ARGS__, 0, 0)

/* Flows, kind, states, error, geometry, whether it is coarse. */
#define LINE 400, INK_LINE, S_ALL, .001, {0}, 0
#define MEDIUM_LINE 400, INK_LINE, S_ALL, .1, {.h = 32}, 0
#define COARSE_LINE 2500, INK_LINE, 60, .3, {.h = 32}, 1
#define FULL_LINE 400, INK_LINE, S_ALL, .5, {.b = 17, .h = 24, .side = 100}, 0
#define FULL_COMPACT(r, slots, lines)                                                                        \
	(lines) * (slots)-5, INK_COMPACT, S_ALL, .5, {.b = lines, .h = slots, .f = r, .side = 100}, 0
#define COARSE_COMPACT 2500, INK_COMPACT, S_ALL, .2, {.f = 4, .h = 46}, 1

#define K 1000

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE("line, portable", 1, INK_SIMD_NONE, FULL_LINE, 500 * K, 0, 0),
		SCENE("line, portable, large", 1, INK_SIMD_NONE, FULL_LINE, 500 * K, 1, 0),
		SCENE("line, AVX2", 1, INK_SIMD_AVX2, FULL_LINE, 1500 * K, 0, 0),
		SCENE("line, AVX2, large", 1, INK_SIMD_AVX2, FULL_LINE, 1500 * K, 1, 0),
		SCENE("line, halves, AVX2", 1, INK_SIMD_AVX2, FULL_LINE, 500 * K, 0, 32),
		SCENE("line, quarters, portable", 1, INK_SIMD_NONE, FULL_LINE, 200 * K, 0, 16),
		SCENE("line, words, portable, large", 1, INK_SIMD_NONE, FULL_LINE, 200 * K, 1, 8),
		SCENE("line, words, AVX2", 1, INK_SIMD_AVX2, FULL_LINE, 500 * K, 0, 8),
		SCENE("line, coarse, portable", 1, INK_SIMD_NONE, COARSE_LINE, 300 * K, 0, 0),
		SCENE("line, coarse, AVX2, large", 1, INK_SIMD_AVX2, COARSE_LINE, 300 * K, 1, 0),
		SCENE("compact of 8 bits, portable, large", 1, INK_SIMD_NONE, FULL_COMPACT(8, 32, 13),
		      150 * K, 1, 0),
		SCENE("compact of 8 bits, AVX2", 1, INK_SIMD_AVX2, FULL_COMPACT(8, 32, 13), 250 * K, 0, 0),
		SCENE("compact of 8 bits, AVX2, large", 1, INK_SIMD_AVX2, FULL_COMPACT(8, 32, 13), 250 * K, 1,
		      0),
		SCENE("compact of 24 bits, portable", 1, INK_SIMD_NONE, FULL_COMPACT(24, 15, 27), 150 * K, 0,
		      0),
		SCENE("compact of 16 bits, AVX2, large", 1, INK_SIMD_AVX2, FULL_COMPACT(16, 18, 23), 300 * K,
		      1, 0),
		SCENE("compact of 12 bits, AVX2", 1, INK_SIMD_AVX2, FULL_COMPACT(12, 23, 18), 300 * K, 0, 0),
		SCENE("compact, coarse, portable", 1, INK_SIMD_NONE, COARSE_COMPACT, 150 * K, 0, 0),
		SCENE("compact, coarse, AVX2, large", 1, INK_SIMD_AVX2, COARSE_COMPACT, 300 * K, 1, 0),
		TURN("line, portable", 1, INK_SIMD_NONE, LINE, 0),
		TURN("line, AVX2", 1, INK_SIMD_AVX2, LINE, 0),
		TURN("compact, AVX2", 1, INK_SIMD_AVX2, FULL_COMPACT(8, 32, 13), 0),
		ALONE(a_peek_needs_no_side_table),
		SCENE("line, many writers, portable", 3, INK_SIMD_NONE, LINE, 700 * K, 0, 0),
		SCENE("line, many writers, portable, large", 3, INK_SIMD_NONE, LINE, 300 * K, 1, 0),
		SCENE("line, many writers, best", 3, INK_SIMD_BEST, LINE, 700 * K, 0, 0),
		SCENE("line, many writers, best, large", 3, INK_SIMD_BEST, LINE, 300 * K, 1, 0),
		SCENE("line, many writers, halves, portable", 3, INK_SIMD_NONE, LINE, 200 * K, 0, 32),
		SCENE("line, many writers, words, best", 3, INK_SIMD_BEST, LINE, 300 * K, 0, 8),
		SCENE("line, many writers, medium, portable", 3, INK_SIMD_NONE, MEDIUM_LINE, 500 * K, 1, 0),
		SCENE("line, many writers, medium, best", 3, INK_SIMD_BEST, MEDIUM_LINE, 1000 * K, 1, 0),
		SCENE("line, many writers, coarse, portable", 3, INK_SIMD_NONE, COARSE_LINE, 200 * K, 0, 0),
		SCENE("line, many writers, coarse, portable, large", 3, INK_SIMD_NONE, COARSE_LINE, 200 * K,
		      1, 0),
		SCENE("line, many writers, coarse, best", 3, INK_SIMD_BEST, COARSE_LINE, 200 * K, 0, 0),
		SCENE("line, many writers, coarse, best, large", 3, INK_SIMD_BEST, COARSE_LINE, 200 * K, 1,
		      0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
