/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads at one table: the thread rules of inkling.h and the laws of
 * kinds/line/cells.h, under load.
 *
 *   one writer changes, others peek and count     line, compact
 *   two writers step and delete the same flows    line, many writers
 *   two writers keep flows of their own, one by one and in batches
 *   two writers do the same to the same flow at the same moment
 *   two threads tick while two step
 *
 * The tables are small and full, so that the threads meet in the same lines,
 * and some are so coarse that a good part of the flows is in the side table.
 */
#include <pthread.h>
#include <sched.h>

#include <inkling/inkling.h>

#include "tests/platform.h"
#include "tests/side_probe.h"
#include "base/cpu.h"
#include "engine/prefetch.h"
#include "kinds/line/kind.h"
#include "tests/table.h"

/* ---------------------------------------------------------------- threads */

/*
 * cmocka's checks jump, which only the main thread may. The others leave a
 * note here, the first one counts, and all stop.
 */
static struct {
	int noted;
	char text[160];
} failure;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list arguments;

	if (__atomic_exchange_n(&failure.noted, 1, __ATOMIC_RELAXED))
		return;
	va_start(arguments, format);
	vsnprintf(failure.text, sizeof failure.text, format, arguments);
	va_end(arguments);
}

static int has_failed(void)
{
	return __atomic_load_n(&failure.noted, __ATOMIC_RELAXED);
}

static void assert_no_failure(void)
{
	if (has_failed())
		fail_msg("%s", failure.text);
}

/* The threads of a test, where they meet, and whether those that have no end of their own are to end. */
static struct {
	pthread_t threads[8];
	size_t n;
	pthread_barrier_t meet;
	int over;
} crew;

static int goes_on(void)
{
	return !__atomic_load_n(&crew.over, __ATOMIC_ACQUIRE) && !has_failed();
}

static void end_all(void)
{
	__atomic_store_n(&crew.over, 1, __ATOMIC_RELEASE);
}

static void meet(void)
{
	pthread_barrier_wait(&crew.meet);
}

/* So many threads meet each time. */
static void crew_new(unsigned meeting)
{
	crew.n = 0;
	crew.over = 0;
	assert_int_equal(pthread_barrier_init(&crew.meet, NULL, meeting), 0);
}

static void crew_add(void *(*work)(void *), void *with)
{
	assert_true(crew.n < sizeof crew.threads / sizeof crew.threads[0]);
	assert_int_equal(pthread_create(&crew.threads[crew.n++], NULL, work, with), 0);
}

/* Waits for those that came after the first `endless`; these are ended then. */
static void crew_wait(size_t endless)
{
	while (crew.n > endless)
		assert_int_equal(pthread_join(crew.threads[--crew.n], NULL), 0);
	end_all();
	while (crew.n)
		assert_int_equal(pthread_join(crew.threads[--crew.n], NULL), 0);
	pthread_barrier_destroy(&crew.meet);
	assert_no_failure();
}

/* Two threads do the same work, and meet as often as they like. */
static void do_both(void *(*work)(void *), void *one, void *other)
{
	crew_new(2);
	crew_add(work, one);
	crew_add(work, other);
	crew_wait(0);
}

/* ----------------------------------------------------------------- tables */

/* AVX2 where there is any; not under ThreadSanitizer, see cpu.c. */
static void skip_what_is_portable_anyway(enum ink_simd simd)
{
	if (simd == INK_SIMD_BEST && ink_cpu_best() == INK_SIMD_NONE)
		SKIP("the best instructions here are the portable ones");
}

/* Does `line` take the flows there for the same? */
static int same_place(const struct ink_line_place *a, const struct ink_line_place *b)
{
	return a->fingerprint == b->fingerprint && (a->first == b->first || a->first == b->second);
}

/* What a test has allocated and made; its teardown frees it. */
static void *kept[8];
static size_t things_kept;
static struct ink_table *table;

static void *keep_new(size_t n, size_t size)
{
	void *new = calloc(n ? n : 1, size);

	assert_non_null(new);
	assert_true(things_kept < sizeof kept / sizeof kept[0]);
	return kept[things_kept++] = new;
}

static int no_failure_yet(void **state)
{
	memset(&failure, 0, sizeof failure);
	return 0;
}

static int free_all(void **state)
{
	while (things_kept)
		free(kept[--things_kept]);
	ink_free(table);
	table = NULL;
	return 0;
}

/* ------------------------------------------------- one writer, many readers */

/*
 * The flows of a table in groups, each with its states. PASSING flows are
 * replaced all the time, which displaces the others; no thread peeks for those.
 */
enum group { STILL, BLINKING, AWAKE, TIRING, PASSING, GROUPS };

enum { STILL_STATES = 4, BLINKING_STATES = 2, PASSING_STATES = 4 };
enum {
	S_STILL = 0, /* never changes */
	S_BLINKING = S_STILL + STILL_STATES,
	S_PASSING = S_BLINKING + BLINKING_STATES,
	S_AWAKE = S_PASSING + PASSING_STATES, /* would end, but is touched after every tick */
	S_TIRING,                             /* times out to tired, and is set back now and then */
	S_TIRED,
	S_FADING, /* times out to absent */
	S_ALL
};

enum { E_BLINK, E_ALL };

enum { MANY = 40 }; /* in a batch */

struct scene {
	struct ink_table *t;
	uint64_t *ids[GROUPS];
	size_t n[GROUPS];
	uint64_t next_id, dice;
	uint64_t changes; /* that the writer is to make */
	uint64_t clock;   /* a STILL flow of its own, whose state is `time` % STILL_STATES */
	uint32_t time;
	size_t fading, most_fading;
	uint64_t peeks;
};

struct table_case {
	enum ink_simd simd;
	uint64_t flows;
	enum ink_kind kind;
	unsigned states; /* more of them leave fewer bits for fingerprints */
	double error;
	struct ink_geometry geometry;
	int coarse; /* so many collisions that the side table is in use all the time */
	uint64_t changes;
	uint8_t far; /* batches take the ways of large tables */
};

static unsigned state_of(enum group group, size_t i)
{
	switch (group) {
	case STILL:
		return S_STILL + (unsigned)i % STILL_STATES;
	case BLINKING:
		return S_BLINKING + (unsigned)i % BLINKING_STATES;
	case AWAKE:
		return S_AWAKE;
	case TIRING:
		return S_TIRING;
	default:
		return S_PASSING + (unsigned)i % PASSING_STATES;
	}
}

static int may_read(enum group group, size_t i, ink_answer a)
{
	if (group == BLINKING)
		return a >= S_BLINKING && a < S_BLINKING + BLINKING_STATES;
	if (group == TIRING)
		return a == S_TIRING || a == S_TIRED;
	return a == (ink_answer)state_of(group, i);
}

static void check_answer(enum group group, size_t i, ink_answer a)
{
	if (!may_read(group, i, a))
		complain("flow %zu of group %d reads %d", i, (int)group, a);
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

static struct ink_table *scene_table(const struct table_case *c, unsigned writers)
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
				.writers = writers,
				.simd = c->simd,
				.seed = 1,
				.rules = &rules,
				.geometry = c->geometry};

	scene_rules(c->states, rows, timings);
	table = table_with(&o);
	table->is_far = c->far;
	return table;
}

static void scene_insert(struct scene *s, enum group group, size_t i)
{
	s->ids[group][i] = id_number(s->next_id++);
	if (ink_insert(s->t, s->ids[group][i], state_of(group, i)) != 0)
		complain("an insert failed");
}

/* In turns, so that every group has flows in the cells and in the side table. */
static void scene_fill(struct scene *s)
{
	size_t done[GROUPS] = {0};

	for (int more = 1; more;) {
		more = 0;
		for (int g = 0; g < GROUPS; g++)
			for (size_t burst = 1 + s->n[g] / 100; burst && done[g] < s->n[g]; burst--, more = 1)
				scene_insert(s, (enum group)g, done[g]++);
	}
	s->clock = id_number(s->next_id++);
	assert_int_equal(ink_insert(s->t, s->clock, 0), 0);
}

static void scene_new(struct scene *s, const struct table_case *c)
{
	size_t n = c->flows;

	*s = (struct scene){.t = scene_table(c, 1), .dice = 7, .n = {n / 4, n / 16, n / 32, n / 32}};
	s->most_fading = n / 16;
	s->n[PASSING] = n - s->most_fading - 1;
	for (int g = 0; g < PASSING; g++)
		s->n[PASSING] -= s->n[g];
	for (int g = 0; g < GROUPS; g++)
		s->ids[g] = keep_new(s->n[g], sizeof(uint64_t));
	scene_fill(s);
	s->changes = scaled(c->changes);
}

static void pass_one(struct scene *s)
{
	size_t i = below_from(&s->dice, s->n[PASSING]);

	check_answer(PASSING, i, ink_lookup(s->t, s->ids[PASSING][i]));
	if (ink_delete(s->t, s->ids[PASSING][i]) != 0)
		complain("a flow that is there cannot be deleted");
	scene_insert(s, PASSING, i);
}

static void pass_many(struct scene *s)
{
	size_t from = below_from(&s->dice, s->n[PASSING] - MANY);
	uint64_t *ids = s->ids[PASSING] + from;
	uint8_t states[MANY];
	struct ink_batch b = {.n = MANY, .ids = ids, .states = states};

	if (ink_delete_batch(s->t, &b) != 0)
		complain("of a batch of flows that are there, one cannot be deleted");
	for (size_t i = 0; i < MANY; i++) {
		ids[i] = id_number(s->next_id++);
		states[i] = (uint8_t)state_of(PASSING, from + i);
	}
	if (ink_insert_batch(s->t, &b) != 0)
		complain("of a batch, one cannot be inserted");
}

/* All the ways to change a state. */
static void blink_one(struct scene *s, uint64_t change)
{
	uint64_t id = s->ids[BLINKING][below_from(&s->dice, s->n[BLINKING])];
	unsigned state = S_BLINKING + (unsigned)(word_from(&s->dice) >> 63);
	struct ink_move move;
	int error;

	if (change % 3 == 0)
		error = ink_modify(s->t, id, state);
	else if (change % 3 == 1)
		error = ink_set(s->t, id, state);
	else
		error = ink_step(s->t, id, E_BLINK, &move);
	if (error)
		complain("a flow that is there cannot be changed");
}

static void clock_on(struct scene *s)
{
	if (ink_modify(s->t, s->clock, (s->time + 1) % STILL_STATES) != 0)
		complain("the clock cannot be changed");
	__atomic_store_n(&s->time, s->time + 1, __ATOMIC_RELEASE);
}

static void fade_one(struct scene *s)
{
	if (s->fading == s->most_fading)
		return;
	if (ink_insert(s->t, id_number(s->next_id++), S_FADING) != 0)
		complain("an insert failed");
	s->fading++;
}

/* A portion; when the tick is done, the next begins, and the AWAKE flows are touched. */
static void scene_tick(struct scene *s)
{
	struct ink_counts expired;
	int more = ink_tick_portion(s->t, stats_of(s->t).now + 1, 100, &expired);

	if (more < 0 || expired.state[S_AWAKE])
		complain("a tick returned %d and expired %d flows that were touched", more,
			 (int)expired.state[S_AWAKE]);
	s->fading -= expired.state[S_FADING];
	for (size_t i = 0; more == 0 && i < s->n[AWAKE]; i++)
		check_answer(AWAKE, i, ink_lookup(s->t, s->ids[AWAKE][i]));
	if (more == 0)
		ink_set(s->t, s->ids[TIRING][below_from(&s->dice, s->n[TIRING])], S_TIRING);
}

/* Displacements expire flows too, which the next tick reports. */
static void scene_tick_out(struct scene *s)
{
	struct ink_counts expired;

	ink_tick(s->t, stats_of(s->t).now, &expired);
	s->fading -= expired.state[S_FADING];
}

static void *write_all_the_time(void *with)
{
	struct scene *s = with;

	meet();
	for (uint64_t i = 0; i < s->changes && !has_failed(); i++) {
		pass_one(s);
		if (i % 2)
			blink_one(s, i);
		if (i % 8 == 0)
			clock_on(s);
		if (i % 16 == 0)
			fade_one(s);
		if (i % 64 == 0)
			pass_many(s);
		if (i % 256 == 0)
			scene_tick(s);
	}
	scene_tick_out(s);
	end_all();
	return NULL;
}

/* The flow is neither behind a time that was published before, nor ahead of the next one. */
static void peek_clock(struct scene *s)
{
	uint32_t before = __atomic_load_n(&s->time, __ATOMIC_ACQUIRE);
	ink_answer a = ink_peek(s->t, s->clock);
	uint32_t passed = __atomic_load_n(&s->time, __ATOMIC_ACQUIRE) - before;

	if (a < 0 || a >= STILL_STATES || ((uint32_t)a - before) % STILL_STATES > passed + 1)
		complain("at %u the clock reads %d", before % STILL_STATES, a);
}

static void peek_one(struct scene *s, uint64_t *dice)
{
	enum group group = (enum group)below_from(dice, PASSING);
	size_t i = below_from(dice, s->n[group]);

	check_answer(group, i, ink_peek(s->t, s->ids[group][i]));
}

static void peek_many(struct scene *s)
{
	ink_answer answers[100];

	for (size_t i = 0; i + 100 <= s->n[STILL]; i += 100) {
		struct ink_batch b = {.n = 100, .ids = s->ids[STILL] + i, .answers = answers};

		ink_peek_batch(s->t, &b);
		for (size_t k = 0; k < 100; k++)
			check_answer(STILL, i + k, answers[k]);
	}
}

/* A census beside a writer can only be wrong about what was moved meanwhile. */
static void count_still(struct scene *s)
{
	struct ink_stats before = stats_of(s->t), after;
	struct ink_counts counts;
	uint64_t still = s->n[STILL] + 1, counted = 0, moved;

	ink_census(s->t, &counts);
	after = stats_of(s->t);
	for (unsigned i = 0; i < STILL_STATES; i++)
		counted += counts.state[S_STILL + i];
	moved = after.displaced - before.displaced + 2; /* one on its way, and the clock */
	if (counted > still + moved || counted + moved < still || counts.unsure)
		complain("%d flows were counted where there are %d, and %d were moved", (int)counted,
			 (int)still, (int)moved);
}

static void *peek_all_the_time(void *with)
{
	struct scene *s = with;
	uint64_t peeks = 0, dice = 1 + __atomic_fetch_add(&s->peeks, 1, __ATOMIC_RELAXED);

	meet();
	while (goes_on()) {
		for (unsigned i = 0; i < 2000; i++)
			peek_one(s, &dice);
		for (unsigned i = 0; i < 200; i++)
			peek_clock(s);
		peek_many(s);
		count_still(s);
		peeks += 2200;
	}
	__atomic_fetch_add(&s->peeks, peeks, __ATOMIC_RELAXED);
	return NULL;
}

static void assert_all_there(struct scene *s, int coarse)
{
	struct ink_stats stats = stats_of(s->t);
	size_t aside = 0;

	for (int g = 0; g < GROUPS; g++)
		for (size_t i = 0; i < s->n[g]; i++) {
			check_answer((enum group)g, i, ink_lookup(s->t, s->ids[g][i]));
			aside += g == STILL ? entries_aside(&s->t->side, s->ids[g][i]) : 0;
		}
	assert_no_failure();
	assert_int_equal(stats.flows, s->n[0] + s->n[1] + s->n[2] + s->n[3] + s->n[4] + s->fading + 1);
	assert_int_equal(stats.refused + stats.marked, 0);
	assert_true(stats.expired > 0);
	assert_true(coarse ? aside > 10 : stats.displaced > 0);
}

static void a_peek_beside_the_writer_is_right(void **state)
{
	const struct table_case *c = *state;
	struct scene s;

	skip_what_is_portable_anyway(c->simd);
	scene_new(&s, c);
	crew_new(3);
	crew_add(write_all_the_time, &s);
	crew_add(peek_all_the_time, &s);
	crew_add(peek_all_the_time, &s);
	crew_wait(0);
	assert_sound(s.t);
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
	const struct table_case *c = *state;

	skip_what_is_portable_anyway(c->simd);
	scene_table(c, 1);
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

/* ------------------------------------------- many writers step the same flows */

/*
 * The machine goes round through absent; every state has a row for the start
 * event, so no flow is ever taken for a collision.
 */
enum { M_STATES = 4 };
enum { E_START, E_ADVANCE, E_END, E_WAKE, E_MACHINE };

/* The last state ends by itself, the one before moves to it; used where there are ticks. */
static void machine(struct ink_row rows[][E_MACHINE], struct ink_timing timings[], unsigned states)
{
	struct ink_row none = {.next = INK_NO_ROW};

	for (unsigned s = 0; s < states + 2; s++)
		rows[s][E_START] = rows[s][E_ADVANCE] = rows[s][E_END] = rows[s][E_WAKE] = none;
	for (int16_t s = 0; s < M_STATES; s++) {
		rows[s][E_START].next = 0;
		rows[s][E_ADVANCE].next = s + 1 < M_STATES ? (int16_t)(s + 1) : INK_ABSENT;
		rows[s][E_END].next = INK_ABSENT;
	}
	rows[states][E_START].next = 0;
	rows[states][E_WAKE].next = 2;
	for (unsigned s = 0; s <= states; s++)
		timings[s] = (struct ink_timing){.period = 0, .timeout = INK_ABSENT};
	timings[M_STATES - 2] = (struct ink_timing){.period = 2, .timeout = M_STATES - 1};
	timings[M_STATES - 1] = (struct ink_timing){.period = 1, .timeout = INK_ABSENT};
}

static struct ink_table *machine_table(struct ink_options *o, const uint8_t *starts)
{
	struct ink_row rows[INK_MAX_STATES + 2][E_MACHINE];
	struct ink_timing timings[INK_MAX_STATES + 1];
	struct ink_rules rules = {.size = sizeof rules,
				  .states = o->states,
				  .events = E_MACHINE,
				  .rows = rows[0],
				  .starts = starts,
				  .timings = timings};

	machine(rows, timings, o->states);
	o->size = sizeof *o;
	o->seed = 1;
	o->rules = &rules;
	return table = table_with(o);
}

struct round_case {
	enum ink_simd simd;
	unsigned states; /* more of them leave fewer bits for fingerprints */
	struct ink_geometry geometry;
	uint64_t operations;
	unsigned tickers;
	int doubles; /* now and then a flow is inserted, be it there or not */
};

enum { FLOWS = 1000, WRITERS = 2, TICKERS = 2, CHECKS = 32 };

/* The moves of one set of flows, as they were returned; absent is row and column 0. */
struct book {
	uint32_t moved[M_STATES + 1][M_STATES + 1];
	uint32_t deleted;
};

/* What the table holds of one set. */
struct holding {
	unsigned cells, aside;
	unsigned state[M_STATES];
};

/*
 * Flows that the cells cannot tell apart are one set, named by its first
 * flow. A step of one may step another, so the books are kept by set.
 */
struct ring {
	struct ink_table *t;
	uint64_t ids[FLOWS];
	struct ink_line_place places[FLOWS];
	size_t set[FLOWS];
	size_t set_size[FLOWS];
	struct book books[WRITERS][FLOWS];
	uint64_t operations; /* of each writer, between two checks */
	int doubles;
	unsigned tickers;
	struct ink_counts expired[TICKERS];
	uint64_t now;
};

struct member {
	struct ring *ring;
	unsigned number;
};

static size_t set_of(const struct ring *r, struct ink_line_place p)
{
	for (size_t i = 0; i < FLOWS; i++)
		if (same_place(&r->places[i], &p))
			return i;
	return FLOWS;
}

static void ring_name_flows(struct ring *r)
{
	for (size_t i = 0; i < FLOWS; i++) {
		r->ids[i] = id_number(i);
		r->places[i] = ink_line_place(ink_line_shape_of(r->t), r->ids[i]);
	}
	for (size_t i = 0; i < FLOWS; i++) {
		r->set[i] = set_of(r, r->places[i]);
		r->set_size[r->set[i]]++;
	}
}

static struct ring *ring_new(const struct round_case *c)
{
	static const uint8_t starts[E_MACHINE] = {[E_START] = 1};
	struct ink_options o = {.states = c->states,
				.flows = FLOWS,
				.age_bits = 1,
				.writers = WRITERS,
				.simd = c->simd,
				.geometry = c->geometry};
	struct ring *r = keep_new(1, sizeof *r);

	r->t = machine_table(&o, starts);
	r->operations = scaled(c->operations) / WRITERS / CHECKS;
	r->tickers = c->tickers;
	r->doubles = c->doubles;
	ring_name_flows(r);
	return r;
}

static void step_one(struct ring *r, struct book *book, size_t i, unsigned event)
{
	struct ink_move m;
	int error = ink_step(r->t, r->ids[i], event, &m);

	if (error || m.from < INK_ABSENT || m.to < INK_ABSENT)
		complain("a step of flow %zu: error %d, from %d to %d", i, error, m.from, m.to);
	else
		book->moved[m.from + 1][m.to + 1]++;
}

static void delete_one(struct ring *r, struct book *book, size_t i)
{
	int error = ink_delete(r->t, r->ids[i]);

	if (error && error != -ENOENT)
		complain("a delete of flow %zu: error %d", i, error);
	book->deleted += error == 0;
}

/* -EEXIST: it was in the cells and in the side table already. */
static void insert_one(struct ring *r, struct book *book, size_t i)
{
	int error = ink_insert(r->t, r->ids[i], 1);

	if (error && error != -EEXIST)
		complain("an insert of flow %zu: error %d", i, error);
	book->moved[0][1 + 1] += error == 0;
}

/* Sets with odd names are never deleted, so that their books must be right to the state. */
static void go_round(struct ring *r, unsigned number, uint64_t *dice)
{
	size_t i = below_from(dice, FLOWS), set = r->set[i];
	unsigned event = below_from(dice, E_MACHINE + 1);
	struct book *book = &r->books[number][set];

	if (event < E_MACHINE)
		step_one(r, book, i, event);
	else if (r->doubles && below_from(dice, 4) == 0)
		insert_one(r, book, i);
	else if (set % 2 == 0)
		delete_one(r, book, i);
	else if (ink_lookup(r->t, r->ids[i]) < INK_ABSENT)
		complain("flow %zu is unsure", i);
}

/* ------------------------------------------------------------- their books */

static void hold_entry(const struct ring *r, struct holding *h, struct ink_line_place place, unsigned code,
		       int aside)
{
	unsigned state = ink_code_state(&r->t->coding, code);
	size_t set = set_of(r, place);

	if (set == FLOWS || state >= M_STATES) {
		complain("the table holds what nobody stored");
		return;
	}
	h[set].state[state]++;
	if (aside)
		h[set].aside++;
	else
		h[set].cells++;
}

static void hold_word(const struct ring *r, struct holding *h, uint32_t line, uint64_t word)
{
	const struct ink_line_shape *s = ink_line_shape_of(r->t);

	for (uint32_t lane = 0; lane < s->lanes; lane++) {
		uint32_t entry = ink_line_entry(s, word, lane * s->column_bits);
		uint32_t fingerprint = ink_line_entry_fp(s, entry);
		struct ink_line_place p = {line, ink_line_other(s, line, fingerprint), fingerprint};

		if (entry)
			hold_entry(r, h, p, ink_line_entry_code(s, entry), 0);
	}
}

static void hold_all(const struct ring *r, struct holding *h)
{
	const struct ink_line *lines = r->t->body;
	const struct ink_side *side = &r->t->side;

	for (uint32_t line = 0; line < ink_line_shape_of(r->t)->lines; line++)
		for (unsigned i = 0; i < INK_LINE_WORDS; i++)
			hold_word(r, h, line, lines[line].word[i]);
	for (uint32_t e = 1; e <= ink_side_last(side); e++)
		if (ink_side_used(side, e))
			hold_entry(r, h, ink_line_place(ink_line_shape_of(r->t), ink_side_id(side, e)),
				   ink_side_code(side, e), 1);
}

static int64_t entered_less_left(const struct ring *r, size_t set, unsigned state)
{
	int64_t sum = 0;

	for (unsigned w = 0; w < WRITERS; w++)
		for (unsigned other = 0; other <= M_STATES; other++)
			sum += (int64_t)r->books[w][set].moved[other][state + 1] -
			       r->books[w][set].moved[state + 1][other];
	return sum;
}

static int64_t deleted_of(const struct ring *r, size_t set)
{
	int64_t sum = 0;

	for (unsigned w = 0; w < WRITERS; w++)
		sum += r->books[w][set].deleted;
	return sum;
}

/*
 * Never two entries for a flow: for a set one in the cells, the others of it
 * in the side table. An insert of a flow that is there already adds one to each.
 */
static void check_copies(const struct ring *r, const struct holding *h, size_t set)
{
	if (h->cells > 1 || h->aside + (r->doubles ? 0 : h->cells) > r->set_size[set])
		complain("flow %zu: %u entries in the cells, %u in the side table, for %zu flows", set,
			 h->cells, h->aside, r->set_size[set]);
}

/* Entered less left is what is there, except for deletes: these do not report the state. */
static void check_book(const struct ring *r, const struct holding *h, size_t set)
{
	int64_t deleted = deleted_of(r, set);

	for (unsigned s = 0; s < M_STATES; s++) {
		int64_t missing = entered_less_left(r, set, s) - h->state[s];

		if (missing < 0 || missing > deleted)
			complain("flow %zu: %d too few in state %u", set, (int)missing, s);
		deleted -= missing;
	}
	if (deleted)
		complain("flow %zu: %d deletes removed nothing", set, (int)deleted);
}

/* Time moves flows from the last state but one to the last, and from there to absent. */
static void count_expired(const struct ring *r, int64_t missing[])
{
	for (unsigned k = 0; k < TICKERS; k++) {
		missing[M_STATES - 2] -= (int64_t)r->expired[k].state[M_STATES - 2];
		missing[M_STATES - 1] += (int64_t)r->expired[k].state[M_STATES - 2];
		missing[M_STATES - 1] -= (int64_t)r->expired[k].state[M_STATES - 1];
	}
}

/* With ticks there is one book for all: a tick does not report which flow expired. */
static void check_book_of_all(const struct ring *r, const struct holding *h)
{
	int64_t missing[M_STATES] = {0}, deleted = 0;

	for (size_t set = 0; set < FLOWS; set++) {
		deleted += deleted_of(r, set);
		for (unsigned s = 0; s < M_STATES; s++)
			missing[s] += entered_less_left(r, set, s) - h[set].state[s];
	}
	count_expired(r, missing);
	for (unsigned s = 0; s < M_STATES; s++) {
		if (missing[s] < 0 || missing[s] > deleted)
			complain("%d too few in state %u", (int)missing[s], s);
		deleted -= missing[s];
	}
	if (deleted)
		complain("%d deletes removed nothing", (int)deleted);
}

static void check_totals(const struct ring *r)
{
	struct ink_counts counts;
	struct ink_why why;

	if (ink_check(r->t, &why) != 0)
		complain("%s", why.text);
	ink_census(r->t, &counts);
	if (counts.total > FLOWS || counts.unsure)
		complain("%d flows, of which %d unsure", (int)counts.total, (int)counts.unsure);
}

/* The caller has the table alone. */
static void check_ring(const struct ring *r)
{
	struct holding *h = calloc(FLOWS, sizeof *h);

	check_totals(r);
	hold_all(r, h);
	for (size_t set = 0; set < FLOWS; set++) {
		check_copies(r, &h[set], set);
		if (!r->tickers)
			check_book(r, &h[set], set);
	}
	if (r->tickers)
		check_book_of_all(r, h);
	free(h);
}

/* ------------------------------------------------------------- their threads */

/* Without ticks, the writers meet now and then, and the first of them checks the table. */
static void *go_round_all_the_time(void *with)
{
	struct member *me = with;
	struct ring *r = me->ring;
	uint64_t dice = me->number + 1;

	for (unsigned check = 0; check < CHECKS; check++) {
		meet();
		for (uint64_t i = 0; i < r->operations && !has_failed(); i++)
			go_round(r, me->number, &dice);
		meet();
		if (me->number == 0 && !r->tickers)
			check_ring(r);
	}
	return NULL;
}

static void add_expired(struct ink_counts *sum, const struct ink_counts *more)
{
	sum->total += more->total;
	for (unsigned s = 0; s < M_STATES; s++)
		sum->state[s] += more->state[s];
}

/* Whole ticks and portions; time goes on by one, or by more looks than an entry survives. */
static int tick_somehow(struct ring *r, uint64_t *dice, struct ink_counts *expired)
{
	uint64_t now = __atomic_add_fetch(&r->now, below_from(dice, 8) ? 1 : 5, __ATOMIC_RELAXED);

	if (below_from(dice, 2))
		return ink_tick(r->t, now, expired);
	return ink_tick_portion(r->t, now, 1 + below_from(dice, 500), expired);
}

/* -EBUSY: the other thread is at it; -EINVAL: it came first with a later time. */
static void *tick_all_the_time(void *with)
{
	struct member *me = with;
	struct ring *r = me->ring;
	uint64_t dice = 100 + me->number;

	while (goes_on()) {
		struct ink_counts expired;
		int result = tick_somehow(r, &dice, &expired);

		if (result >= 0)
			add_expired(&r->expired[me->number], &expired);
		else if (result != -EBUSY && result != -EINVAL)
			complain("a tick failed: %d", result);
		if (below_from(&dice, 4) == 0)
			sched_yield();
	}
	return NULL;
}

static struct ring *run_ring(const struct round_case *c)
{
	struct member members[WRITERS + TICKERS];
	struct ring *r;

	skip_what_is_portable_anyway(c->simd);
	r = ring_new(c);
	crew_new(WRITERS);
	for (unsigned i = 0; i < WRITERS + TICKERS; i++)
		members[i] = (struct member){r, i % WRITERS};
	for (unsigned i = 0; i < r->tickers; i++)
		crew_add(tick_all_the_time, &members[WRITERS + i]);
	for (unsigned i = 0; i < WRITERS; i++)
		crew_add(go_round_all_the_time, &members[i]);
	crew_wait(r->tickers);
	return r;
}

static void two_threads_step_and_delete_the_same_flows(void **state)
{
	const struct round_case *c = *state;
	struct ring *r = run_ring(c);

	assert_true(!c->geometry.side || stats_of(r->t).overflowed > 0 || stats_of(r->t).collisions > 0);
}

static void two_threads_tick_while_two_step(void **state)
{
	struct ring *r = run_ring(*state);

	check_ring(r);
	assert_no_failure();
	assert_true(r->expired[0].total + r->expired[1].total > 0);
	assert_int_equal(stats_of(r->t).expired, r->expired[0].total + r->expired[1].total);
}

/* Whether two threads meet in a tick is chance, so the test plays one of them. */
static void a_tick_beside_another_is_busy(void **state)
{
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 100, .writers = 2, .seed = 1};

	table = table_with(&o);
	table->aging.busy = 1;
	assert_int_equal(ink_tick(table, 1, NULL), -EBUSY);
	assert_int_equal(ink_tick_portion(table, 1, 1, NULL), -EBUSY);
	table->aging.busy = 0;
	assert_int_equal(stats_of(table).now, 0);
	assert_int_equal(ink_tick(table, 1, NULL), 0);
	assert_int_equal(stats_of(table).now, 1);
}

/* ------------------------------------------------ many writers, flows of their own */

struct estate {
	struct ink_table *t;
	size_t flows;
	uint64_t *still; /* of no owner */
	size_t n_still;
	uint64_t fading, most_fading;
	uint64_t changes; /* of each owner */
};

struct owner {
	struct estate *estate;
	uint64_t *ids;
	uint8_t *states;
	size_t n;
	uint64_t next_id, dice;
};

static uint8_t some_state(uint64_t *dice)
{
	unsigned state = below_from(dice, S_AWAKE + 1);

	return (uint8_t)(state == S_AWAKE ? S_TIRING : state);
}

/* A tiring flow may have got tired; it does not recover by itself. */
static void own_answer(struct owner *o, size_t i, ink_answer a)
{
	if (a == S_TIRED && o->states[i] == S_TIRING)
		o->states[i] = S_TIRED;
	if (a != o->states[i])
		complain("an owner's flow reads %d, not %d", a, o->states[i]);
}

static void own_insert(struct owner *o, size_t i)
{
	o->ids[i] = id_number(o->next_id++);
	o->states[i] = some_state(&o->dice);
	if (ink_insert(o->estate->t, o->ids[i], o->states[i]) != 0)
		complain("an insert failed");
}

static void own_replace(struct owner *o, size_t i)
{
	if (ink_delete(o->estate->t, o->ids[i]) != 0)
		complain("a flow that is there cannot be deleted");
	own_insert(o, i);
}

static void own_step(struct owner *o, size_t i)
{
	struct ink_move m;

	if (ink_step(o->estate->t, o->ids[i], E_BLINK, &m) != 0)
		complain("a flow that is there cannot be stepped");
	own_answer(o, i, m.from);
	if (m.to >= 0)
		o->states[i] = (uint8_t)m.to;
}

static void own_change(struct owner *o, size_t i, unsigned way)
{
	int error;

	o->states[i] = some_state(&o->dice);
	error = way ? ink_set(o->estate->t, o->ids[i], o->states[i])
		    : ink_modify(o->estate->t, o->ids[i], o->states[i]);
	if (error)
		complain("a flow that is there cannot be changed");
}

/* Flows that end by themselves; what has ended makes room for more. */
static void own_fade(struct owner *o)
{
	uint64_t *fading = &o->estate->fading;

	if (__atomic_add_fetch(fading, 1, __ATOMIC_RELAXED) > o->estate->most_fading)
		__atomic_sub_fetch(fading, 1, __ATOMIC_RELAXED);
	else if (ink_insert(o->estate->t, id_number(o->next_id++), S_FADING) != 0)
		complain("an insert failed");
}

/* Changes neighbours, and replaces them, each in a batch. */
static void own_batch(struct owner *o, size_t from)
{
	size_t n = o->n - from < MANY ? o->n - from : MANY;
	ink_answer answers[MANY];
	struct ink_batch b = {.n = n, .ids = o->ids + from, .states = o->states + from, .answers = answers};

	for (size_t i = from; i < from + n; i++)
		o->states[i] = some_state(&o->dice);
	if (ink_modify_batch(o->estate->t, &b) != 0)
		complain("of a batch of flows that are there, one cannot be changed");
	ink_peek_batch(o->estate->t, &b);
	for (size_t i = 0; i < n; i++)
		own_answer(o, from + i, answers[i]);
	if (ink_delete_batch(o->estate->t, &b) != 0)
		complain("of a batch of flows that are there, one cannot be deleted");
	for (size_t i = from; i < from + n; i++)
		o->ids[i] = id_number(o->next_id++);
	if (ink_insert_batch(o->estate->t, &b) != 0)
		complain("of a batch, one cannot be inserted");
}

static void *own_all_the_time(void *with)
{
	struct owner *o = with;

	for (size_t i = 0; i < o->n; i++)
		own_insert(o, i);
	meet();
	for (uint64_t k = 0; k < o->estate->changes && !has_failed(); k++) {
		size_t i = below_from(&o->dice, o->n);

		own_answer(o, i,
			   k % 2 ? ink_lookup(o->estate->t, o->ids[i]) : ink_peek(o->estate->t, o->ids[i]));
		if (k % 4 == 0)
			own_step(o, i);
		else if (k % 4 == 1)
			own_change(o, i, below_from(&o->dice, 2));
		else
			own_replace(o, i);
		if (k % 16 == 0)
			own_fade(o);
		if (k % 64 == 0)
			own_batch(o, i);
	}
	return NULL;
}

static void *tick_and_peek_all_the_time(void *with)
{
	struct estate *e = with;
	struct ink_counts expired;
	uint64_t dice = 5;

	meet();
	while (goes_on()) {
		uint64_t now = stats_of(e->t).now + 1;
		int more = below_from(&dice, 8) ? ink_tick_portion(e->t, now, 300, &expired)
						: ink_tick(e->t, now + 3, &expired);

		if (more < 0)
			complain("a tick failed: %d", more);
		__atomic_sub_fetch(&e->fading, expired.state[S_FADING], __ATOMIC_RELAXED);
		for (unsigned k = 0; k < 100; k++) {
			size_t i = below_from(&dice, e->n_still);

			check_answer(STILL, i, ink_peek(e->t, e->still[i]));
		}
	}
	return NULL;
}

static void estate_new(struct estate *e, const struct table_case *c)
{
	*e = (struct estate){.t = scene_table(c, 3), .flows = c->flows, .changes = scaled(c->changes)};
	e->n_still = c->flows / 10;
	e->most_fading = c->flows / 20;
	e->still = keep_new(e->n_still, sizeof(uint64_t));
	for (size_t i = 0; i < e->n_still; i++) {
		e->still[i] = id_number(i);
		assert_int_equal(ink_insert(e->t, e->still[i], state_of(STILL, i)), 0);
	}
}

static struct owner owner_new(struct estate *e, unsigned number)
{
	struct owner o = {.estate = e, .n = (e->flows - e->n_still - e->most_fading) / 2, .dice = number};

	o.next_id = (uint64_t)number << 32;
	o.ids = keep_new(o.n, sizeof(uint64_t));
	o.states = keep_new(o.n, 1);
	return o;
}

static void assert_owned(struct owner *o)
{
	for (size_t i = 0; i < o->n; i++)
		own_answer(o, i, ink_lookup(o->estate->t, o->ids[i]));
	assert_no_failure();
}

static void every_writer_finds_its_own_flows_as_it_left_them(void **state)
{
	const struct table_case *c = *state;
	struct owner owners[2];
	struct ink_stats stats;
	struct estate e;

	skip_what_is_portable_anyway(c->simd);
	estate_new(&e, c);
	crew_new(3);
	crew_add(tick_and_peek_all_the_time, &e);
	for (unsigned i = 0; i < 2; i++) {
		owners[i] = owner_new(&e, i + 1);
		crew_add(own_all_the_time, &owners[i]);
	}
	crew_wait(1);
	assert_sound(e.t);
	stats = stats_of(e.t);
	assert_int_equal(stats.flows, owners[0].n + owners[1].n + e.n_still + e.fading);
	assert_int_equal(stats.refused + stats.marked, 0);
	assert_true(stats.expired > 0 && (stats.side_flows > 100 || !c->coarse));
	assert_owned(&owners[0]);
	assert_owned(&owners[1]);
}

/* ------------------------------------------- the same flow at the same moment */

enum { TWICE = 500 };

enum way { BY_INSERT, BY_SET, BY_STEP };

struct twice_case {
	enum ink_simd simd;
	enum way way;
	struct ink_geometry geometry;
	int twins; /* one thread takes flows that the cells cannot tell from those of the other */
};

struct twice {
	struct ink_table *t;
	enum way way;
	uint64_t ids[2][TWICE]; /* for each thread; none of which the cells take for another of the same */
	uint64_t rounds;
	uint64_t stored, removed; /* in this round, as the calls said */
	uint64_t steps[2];        /* how far each thread is */
};

struct one_of_two {
	struct twice *both;
	unsigned number;
	uint64_t dice;
};

enum { PATIENCE = 1000 }; /* looks; an other thread that runs is there after a few */

/* Waits for the other thread if that runs at all; now one is a little ahead, now the other. */
static void keep_step(struct one_of_two *me)
{
	uint64_t mine = __atomic_add_fetch(&me->both->steps[me->number], 1, __ATOMIC_RELAXED);
	const uint64_t *other = &me->both->steps[1 - me->number];
	volatile uint32_t delay = below_from(&me->dice, 50);

	for (unsigned looks = 0; looks < PATIENCE && __atomic_load_n(other, __ATOMIC_RELAXED) < mine; looks++)
		;
	while (delay)
		delay--;
}

static unsigned step_from_to(struct ink_table *t, uint64_t id, unsigned event)
{
	struct ink_move m;

	if (ink_step(t, id, event, &m) != 0)
		complain("a step failed");
	return m.from != m.to;
}

/* Did it store something? ink_set does not tell. */
static unsigned store_one(struct twice *b, uint64_t id, unsigned number)
{
	int error;

	if (b->way == BY_STEP)
		return step_from_to(b->t, id, E_START);
	error = b->way == BY_SET ? ink_set(b->t, id, number) : ink_insert(b->t, id, number);
	if (error && (error != -EEXIST || b->way == BY_SET))
		complain("a flow was not stored: %d", error);
	return error == 0;
}

static unsigned remove_one(struct twice *b, uint64_t id)
{
	return b->way == BY_STEP ? step_from_to(b->t, id, E_END) : ink_delete(b->t, id) == 0;
}

static unsigned entries_in_line(const struct ink_table *t, uint32_t line, uint32_t fingerprint)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	const struct ink_line *lines = t->body;
	unsigned n = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t entry = ink_line_entry(s, lines[line].word[i], lane * s->column_bits);

			n += ink_line_entry_fp(s, entry) == fingerprint;
		}
	return n;
}

static unsigned entries_in_cells(const struct ink_table *t, uint64_t id)
{
	struct ink_line_place p = ink_line_place(ink_line_shape_of(t), id);

	return entries_in_line(t, p.first, p.fingerprint) +
	       (p.first == p.second ? 0 : entries_in_line(t, p.second, p.fingerprint));
}

/* Inserted twice, which is improper, it may be in the cells and in the side table; else it is in one of them. */
static void check_stored(struct twice *b)
{
	struct ink_counts counts;

	ink_census(b->t, &counts);
	if (b->way == BY_SET)
		b->stored = TWICE;
	if (counts.total != b->stored || counts.unsure)
		complain("%d were stored, %d are there", (int)b->stored, (int)counts.total);
	for (size_t i = 0; i < TWICE; i++) {
		uint64_t id = b->ids[0][i], twin = b->ids[1][i];
		unsigned cells = entries_in_cells(b->t, id), aside = entries_aside(&b->t->side, id);

		aside += twin == id ? 0 : entries_aside(&b->t->side, twin);
		if (cells > 1 || aside > 1 || (b->way != BY_INSERT && cells + aside > 1))
			complain("flow %zu: %u entries in the cells, %u in the side table", i, cells, aside);
	}
}

static void check_removed(struct twice *b)
{
	struct ink_counts counts;
	struct ink_why why;

	ink_census(b->t, &counts);
	if (counts.total || b->removed != b->stored)
		complain("%d were stored, %d removed, %d are there", (int)b->stored, (int)b->removed,
			 (int)counts.total);
	if (ink_check(b->t, &why) != 0)
		complain("%s", why.text);
	b->stored = b->removed = 0;
}

static void *do_the_same(void *with)
{
	struct one_of_two *me = with;
	struct twice *b = me->both;

	for (uint64_t round = 0; round < b->rounds; round++) {
		for (size_t i = 0; i < TWICE; i++) {
			keep_step(me);
			__atomic_fetch_add(&b->stored, store_one(b, b->ids[me->number][i], me->number),
					   __ATOMIC_RELAXED);
		}
		meet();
		if (me->number == 0)
			check_stored(b);
		meet();
		for (size_t i = 0; i < TWICE; i++) {
			keep_step(me);
			__atomic_fetch_add(&b->removed, remove_one(b, b->ids[me->number][i]),
					   __ATOMIC_RELAXED);
		}
		meet();
		if (me->number == 0)
			check_removed(b);
		meet();
	}
	return NULL;
}

static int met_before(const struct twice *b, size_t n, uint64_t id)
{
	struct ink_line_place p = ink_line_place(ink_line_shape_of(b->t), id);

	for (size_t i = 0; i < n; i++) {
		struct ink_line_place q = ink_line_place(ink_line_shape_of(b->t), b->ids[0][i]);

		if (same_place(&p, &q))
			return 1;
	}
	return 0;
}

/* The same fingerprint, and the lines the other way round. */
static uint64_t twin_of(const struct ink_table *t, uint64_t id)
{
	uint64_t lines = ink_line_shape_of(t)->lines,
		 second = ink_line_place(ink_line_shape_of(t), id).second;

	return ((second << 32) + lines - 1) / lines << 32 | (id & 0xffffffff);
}

static void twice_name_flows(struct twice *b, int twins)
{
	uint64_t next = 0;

	for (size_t i = 0; i < TWICE; i++) {
		do
			b->ids[0][i] = id_number(next++);
		while (met_before(b, i, b->ids[0][i]));
		b->ids[1][i] = twins ? twin_of(b->t, b->ids[0][i]) : b->ids[0][i];
	}
}

static void two_threads_do_the_same_to_the_same_flows(void **state)
{
	const struct twice_case *c = *state;
	struct ink_options o = {
		.states = M_STATES, .flows = TWICE, .writers = 2, .simd = c->simd, .geometry = c->geometry};
	struct twice b = {.way = c->way, .rounds = scaled(500)};
	struct one_of_two threads[2] = {{&b, 0, 1}, {&b, 1, 2}};

	skip_what_is_portable_anyway(c->simd);
	b.t = machine_table(&o, NULL);
	twice_name_flows(&b, c->twins);
	do_both(do_the_same, &threads[0], &threads[1]);
}

/* ------------------------------------------------------- a narrow side table */

/*
 * Where the side table keeps four bits of an id, flows that it cannot tell apart have other second lines, and so
 * other locks. Two threads insert such flows into tables that are full; none must be there twice.
 */
static void narrow_table(void)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_LINE,
				.states = 250,
				.writers = 2,
				.seed = 1,
				.geometry = {.b = 5, .h = 16, .side = 200, .side_id = 4}};

	ink_free(table);
	table = ink_create(&o, NULL);
	for (uint64_t i = 0; table && i < 80; i++)
		ink_insert(table, id_number(1000000 + i), 1);
}

/* `with`: the number of the thread. */
static void *insert_narrowly(void *with)
{
	unsigned mine = *(const unsigned *)with;
	struct ink_why why = {""};

	for (uint64_t round = 0; round < scaled(2000); round++) {
		if (mine == 0)
			narrow_table();
		meet();
		for (uint64_t i = 0; table && i < 100; i++)
			ink_insert(table, id_number(200 * round + 100 * mine + i), 2);
		meet();
		if (mine == 0 && (!table || ink_check(table, &why)))
			complain("round %llu: %s", (unsigned long long)round, table ? why.text : "no table");
	}
	return NULL;
}

static void flows_that_a_narrow_side_table_cannot_tell_apart_are_there_once(void **state)
{
	do_both(insert_narrowly, &(unsigned){0}, &(unsigned){1});
}

/* ------------------------------------------------------------------ all of it */

/* clang-format off */
#define CASE(test, about, of, ...) {#test ": " about, test, no_failure_yet, free_all, &(struct of){__VA_ARGS__}}
/* clang-format on */

#define ALONE(test) cmocka_unit_test_setup_teardown(test, no_failure_yet, free_all)
#define PEEK(about, ...) CASE(a_peek_beside_the_writer_is_right, about, table_case, __VA_ARGS__)
#define TURN(about, ...)                                                                                     \
	CASE(a_peek_does_not_read_the_flow_that_took_the_place, about, table_case, __VA_ARGS__, 0)
#define STEP(about, ...) CASE(two_threads_step_and_delete_the_same_flows, about, round_case, __VA_ARGS__)
#define TICK(about, ...) CASE(two_threads_tick_while_two_step, about, round_case, __VA_ARGS__)
#define OWN(about, ...) CASE(every_writer_finds_its_own_flows_as_it_left_them, about, table_case, __VA_ARGS__)
#define BOTH(about, ...) CASE(two_threads_do_the_same_to_the_same_flows, about, twice_case, __VA_ARGS__)

/* Flows, kind, states, error, geometry, whether it is coarse. */
#define LINE 400, INK_LINE, S_ALL, .001, {0}, 0
#define MEDIUM_LINE 400, INK_LINE, S_ALL, .1, {.h = 32}, 0
#define COARSE_LINE 2500, INK_LINE, 60, .3, {.h = 32}, 1
#define FULL_LINE 400, INK_LINE, S_ALL, .5, {.b = 17, .h = 24, .side = 100}, 0
#define FULL_COMPACT(r, slots, lines)                                                                        \
	(lines) * (slots)-5, INK_COMPACT, S_ALL, .5, {.b = lines, .h = slots, .f = r, .side = 100}, 0
#define COARSE_COMPACT 2500, INK_COMPACT, S_ALL, .2, {.f = 4, .h = 46}, 1

/* Geometries. */
#define ROOM_ASIDE .side = FLOWS
#define CROWDED .b = 12, .h = 24, .side = FLOWS  /* so few lines that most flows overflow */
#define CONFUSED .b = 12, .h = 32, .side = FLOWS /* so few fingerprints that most flows have a double */
#define WIDE .b = 4000, .h = 24                  /* so many lines that the tickers are busy all the time */
#define LARGE .b = 270000, .h = 24               /* so many lines that there are the most locks */

#define K 1000
#define M 1000000

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEEK("line, portable", INK_SIMD_NONE, FULL_LINE, 500 * K, 0),
		PEEK("line, portable, large", INK_SIMD_NONE, FULL_LINE, 500 * K, 1),
		PEEK("line, best", INK_SIMD_BEST, FULL_LINE, 1500 * K, 0),
		PEEK("line, best, large", INK_SIMD_BEST, FULL_LINE, 1500 * K, 1),
		PEEK("line, coarse, portable", INK_SIMD_NONE, COARSE_LINE, 300 * K, 0),
		PEEK("line, coarse, best, large", INK_SIMD_BEST, COARSE_LINE, 300 * K, 1),
		PEEK("compact of 8 bits, portable, large", INK_SIMD_NONE, FULL_COMPACT(8, 32, 13), 150 * K,
		     1),
		PEEK("compact of 8 bits, best", INK_SIMD_BEST, FULL_COMPACT(8, 32, 13), 250 * K, 0),
		PEEK("compact of 8 bits, best, large", INK_SIMD_BEST, FULL_COMPACT(8, 32, 13), 250 * K, 1),
		PEEK("compact of 24 bits, portable", INK_SIMD_NONE, FULL_COMPACT(24, 15, 27), 150 * K, 0),
		PEEK("compact of 16 bits, best, large", INK_SIMD_BEST, FULL_COMPACT(16, 18, 23), 300 * K, 1),
		PEEK("compact of 12 bits, best", INK_SIMD_BEST, FULL_COMPACT(12, 23, 18), 300 * K, 0),
		PEEK("compact, coarse, portable", INK_SIMD_NONE, COARSE_COMPACT, 150 * K, 0),
		PEEK("compact, coarse, best, large", INK_SIMD_BEST, COARSE_COMPACT, 300 * K, 1),
		TURN("line, portable", INK_SIMD_NONE, LINE, 0),
		TURN("line, best", INK_SIMD_BEST, LINE, 0),
		TURN("compact, best", INK_SIMD_BEST, FULL_COMPACT(8, 32, 13), 0),
		ALONE(a_peek_needs_no_side_table),
		STEP("best", INK_SIMD_BEST, M_STATES, {0}, 50 * M, 0, 0),
		STEP("portable", INK_SIMD_NONE, M_STATES, {0}, 4 * M, 0, 0),
		STEP("beyond the caches, best", INK_SIMD_BEST, M_STATES, {LARGE}, 2 * M, 0, 0),
		STEP("beyond the caches, portable", INK_SIMD_NONE, M_STATES, {LARGE}, 1 * M, 0, 0),
		STEP("crowded, best", INK_SIMD_BEST, M_STATES, {CROWDED}, 2 * M, 0, 0),
		STEP("crowded, portable", INK_SIMD_NONE, M_STATES, {CROWDED}, 2 * M, 0, 0),
		STEP("confused, best", INK_SIMD_BEST, 250, {CONFUSED}, 2 * M, 0, 1),
		STEP("confused, portable", INK_SIMD_NONE, 250, {CONFUSED}, 2 * M, 0, 1),
		TICK("wide, best", INK_SIMD_BEST, M_STATES, {WIDE}, 4 * M, TICKERS, 0),
		TICK("crowded, portable", INK_SIMD_NONE, M_STATES, {CROWDED}, 2 * M, TICKERS, 0),
		ALONE(a_tick_beside_another_is_busy),
		OWN("portable", INK_SIMD_NONE, LINE, 700 * K, 0),
		OWN("portable, large", INK_SIMD_NONE, LINE, 300 * K, 1),
		OWN("best", INK_SIMD_BEST, LINE, 700 * K, 0),
		OWN("best, large", INK_SIMD_BEST, LINE, 300 * K, 1),
		OWN("medium, portable", INK_SIMD_NONE, MEDIUM_LINE, 500 * K, 1),
		OWN("medium, best", INK_SIMD_BEST, MEDIUM_LINE, 1000 * K, 1),
		OWN("coarse, portable", INK_SIMD_NONE, COARSE_LINE, 200 * K, 0),
		OWN("coarse, portable, large", INK_SIMD_NONE, COARSE_LINE, 200 * K, 1),
		OWN("coarse, best", INK_SIMD_BEST, COARSE_LINE, 200 * K, 0),
		OWN("coarse, best, large", INK_SIMD_BEST, COARSE_LINE, 200 * K, 1),
		BOTH("insert", INK_SIMD_BEST, BY_INSERT, {ROOM_ASIDE}, 0),
		BOTH("insert, crowded, portable", INK_SIMD_NONE, BY_INSERT, {CROWDED}, 0),
		BOTH("insert, twins", INK_SIMD_BEST, BY_INSERT, {ROOM_ASIDE}, 1),
		BOTH("insert, twins, portable", INK_SIMD_NONE, BY_INSERT, {ROOM_ASIDE}, 1),
		BOTH("set", INK_SIMD_BEST, BY_SET, {0}, 0),
		BOTH("set, twins", INK_SIMD_BEST, BY_SET, {0}, 1),
		BOTH("set, crowded, portable", INK_SIMD_NONE, BY_SET, {CROWDED}, 0),
		BOTH("step, portable", INK_SIMD_NONE, BY_STEP, {0}, 0),
		BOTH("step, twins, portable", INK_SIMD_NONE, BY_STEP, {0}, 1),
		BOTH("step, crowded", INK_SIMD_BEST, BY_STEP, {CROWDED}, 0),
		ALONE(flows_that_a_narrow_side_table_cannot_tell_apart_are_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
