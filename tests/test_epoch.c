/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epochs (src/table/epoch.h): a look writes only words in which an entry
 * expires. With many writers no touch is lost and no entry outlives its time,
 * whatever happens between the steps of a touch. When entries expire, however
 * often the age counter has wrapped, is in test_time.c and test_portions.c.
 *
 * The cells are compiled in here once more, for many writers: a test can stop
 * a call half way.
 */
#define INK_SHARED 1
#include "kinds/line/check.h"
#include "kinds/line/store.h"
#include "kinds/line/sweep.h"

#include "engine/engine.h"

#include "tests/threads.h" /* behind the others, which have parameters of the names there */

/* ---------------------------------------------------------------- the tables */

enum { STATES = 15, LINES = 200, FLOWS = 3000 };

struct way {
	unsigned age_bits, writers, h;
	enum ink_simd simd;
};

static struct ink_table *table_of(const struct way *way)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_LINE,
				.flows = FLOWS,
				.states = STATES,
				.age_bits = way->age_bits,
				.writers = way->writers,
				.simd = way->simd,
				.seed = 7,
				.geometry = {.b = LINES, .h = way->h, .side = 100}};

	ink_free(table);
	return table = table_with(&o);
}

/* Looks that an entry outlives. */
static unsigned lives(const struct ink_table *t)
{
	return t->coding.age_top;
}

static void tick_to(struct ink_table *t, uint64_t now)
{
	assert_int_equal(ink_tick(t, now, NULL), 0);
}

static uint64_t expired_by(struct ink_table *t, uint64_t now)
{
	struct ink_counts expired;

	assert_int_equal(ink_tick(t, now, &expired), 0);
	return expired.total;
}

static void insert_all(struct ink_table *t, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		assert_int_equal(ink_insert(t, id_number(i), (unsigned)(i % STATES)), 0);
}

static void touch_all(struct ink_table *t, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		assert_int_equal(ink_lookup(t, id_number(i)), (ink_answer)(i % STATES));
}

/* ---------------------------------------------------------------- what is written */

static void a_look_writes_nothing_that_survives(void **state)
{
	struct ink_table *t = table_of(*state);
	static struct ink_line before[LINES];

	insert_all(t, 0, 2000);
	for (uint64_t now = 1; now < 12; now++) {
		touch_all(t, 0, 2000);
		memcpy(before, t->body, sizeof before);
		assert_int_equal(expired_by(t, now), 0);
		assert_memory_equal(before, t->body, sizeof before);
	}
}

static unsigned words_changed(const struct ink_line *a, const struct ink_line *b)
{
	unsigned changed = 0;

	for (unsigned line = 0; line < LINES; line++)
		for (unsigned i = 0; i < INK_LINE_WORDS; i++)
			changed += a[line].word[i] != b[line].word[i];
	return changed;
}

static void only_words_in_which_an_entry_expires_are_written(void **state)
{
	struct ink_table *t = table_of(*state);
	static struct ink_line before[LINES];
	uint64_t now = 0;

	insert_all(t, 0, 2000);
	for (unsigned looks = 0; looks < lives(t); looks++) {
		tick_to(t, ++now);
		touch_all(t, 20, 2000);
	}
	memcpy(before, t->body, sizeof before);
	assert_int_equal(expired_by(t, ++now), 20);
	assert_in_range(words_changed(before, t->body), 1, 20);
	touch_all(t, 20, 2000);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(ink_peek(t, id_number(i)), INK_ABSENT);
	assert_sound(t);
}

/* ------------------------------------------------- between the steps of a touch */

static struct spot found(struct ink_table *t, uint64_t id)
{
	struct place p = place_of(t, id);
	struct spot s;

	assert_int_equal(cell_find(t, &p, &s), 1);
	return s;
}

static unsigned state_at(const struct ink_table *t, const struct spot *s)
{
	return ink_code_state(&t->coding, s->code);
}

/* Other threads may have touched it in the new epoch; our fresh code would be an old one. */
static void what_was_read_before_a_look_is_not_written_after_it(void **state)
{
	struct ink_table *t = table_of(*state);
	uint64_t now = 0;

	insert_all(t, 0, 1);
	for (int parts = 0; parts < 2; parts++) {
		struct spot s = found(t, id_number(0));

		if (parts)
			assert_int_equal(ink_tick_portion(t, ++now, 1, NULL), 1);
		else
			tick_to(t, ++now);
		assert_int_equal(cell_code(t, &s, state_at(t, &s)), OUTDATED);
		assert_false(cell_recode(t, &s, OUTDATED));
		touch_all(t, 0, 1);
	}
}

/*
 * The fresh code is known, then looks come, then the swap is made: the entry
 * was touched at some moment of the call. It has not been late so far, so it
 * survives them, and it ends neither before an entry that was touched when the
 * call began nor after one that was touched when it ended.
 */
static void a_touch_counts_as_made_at_some_moment_of_the_call(void **state)
{
	struct ink_table *t = table_of(*state);
	uint64_t now = 0;

	for (unsigned age = 0; age < lives(t); age++)
		for (unsigned looks = 0; looks <= age; looks++, now += 10) {
			struct spot s;
			unsigned fresh;

			tick_to(t, now);
			insert_all(t, now, now + 1);
			tick_to(t, now + lives(t) - age);
			s = found(t, id_number(now));
			fresh = cell_code(t, &s, state_at(t, &s));
			tick_to(t, now + lives(t) - age + looks);
			assert_true(cell_recode(t, &s, fresh));
			tick_to(t, now + 2 * lives(t) - age);
			assert_int_not_equal(ink_peek(t, id_number(now)), INK_ABSENT);
			tick_to(t, now + 2 * lives(t) - age + looks + 1);
			assert_int_equal(ink_peek(t, id_number(now)), INK_ABSENT);
		}
}

/*
 * Others touch the entry before and after every look, the age counter wraps, and
 * the word is again the one that was read: the swap succeeds, and would take the
 * last of their touches back.
 */
static void a_swap_after_the_counter_wrapped_takes_no_touch_back(void **state)
{
	struct ink_table *t = table_of(*state);
	uint64_t now = 0;

	for (unsigned looks = 1; looks <= lives(t); looks++) {
		uint64_t flow = looks;
		struct spot s;
		unsigned fresh;

		insert_all(t, flow, flow + 1);
		tick_to(t, now += lives(t) + 1 - looks);
		s = found(t, id_number(flow));
		fresh = cell_code(t, &s, state_at(t, &s));
		for (unsigned i = 0; i < looks; i++) {
			touch_all(t, flow, flow + 1);
			tick_to(t, ++now);
		}
		touch_all(t, flow, flow + 1);
		assert_true(cell_recode(t, &s, fresh));
		tick_to(t, now += lives(t));
		assert_int_equal(ink_peek(t, id_number(flow)), (ink_answer)(flow % STATES));
		tick_to(t, ++now);
		assert_int_equal(ink_peek(t, id_number(flow)), INK_ABSENT);
	}
}

/* A flow that stands in neither of the first lines. */
static uint64_t flow_far_behind(struct ink_table *t)
{
	for (uint64_t i = 0;; i++) {
		struct place p = place_of(t, id_number(i));

		if (first_line(&p) >= 2 && second_line(&p) >= 2)
			return id_number(i);
	}
}

/* The sweep has read a line and found an entry too old; then it is touched, or not. */
static void what_is_touched_before_the_sweep_takes_it_stays(void **state)
{
	for (int touched = 0; touched < 2; touched++) {
		struct ink_table *t = table_of(*state);
		uint64_t id = flow_far_behind(t), last = lives(t) + 1;
		struct spot s;
		size_t word;

		assert_int_equal(ink_insert(t, id, 3), 0);
		tick_to(t, lives(t));
		assert_int_equal(ink_tick_portion(t, last, 0, NULL), 1);
		s = found(t, id);
		word = (size_t)(s.at.word - (uint64_t *)t->body);
		if (touched)
			assert_int_equal(ink_lookup(t, id), 3);
		slot_expire(t, (uint32_t)(word / 8), 4 * line_word_order[word % 8] + s.at.column / 16);
		assert_int_equal(ink_peek(t, id), touched ? 3 : INK_ABSENT);
		tick_to(t, last + lives(t) - 1);
		assert_int_equal(ink_peek(t, id), touched ? 3 : INK_ABSENT);
		tick_to(t, last + lives(t));
		assert_int_equal(ink_peek(t, id), INK_ABSENT);
		assert_int_equal(t->counters.expired, 1);
	}
}

/* --------------------------------------------------------------------- threads */

/*
 * Two threads touch the same flows in passes, change the states of some, and
 * store and delete flows of their own; one ticks, and lets flows of its own rest. Before a tick begins,
 * each of the two has made a pass that began when the last one was over. So all
 * that they touch must stay, and all that rests must go at its look. With two
 * lanes the fingerprints have 25 bits at least: no flow is taken for another.
 */
enum { TOUCHERS = 2, KEPT = 1000, RESTING = 300 };

static struct {
	uint64_t ticks;            /* that are over */
	uint64_t passed[TOUCHERS]; /* ticks that were over when the last whole pass began */
} progress;

static void insist(int so, const char *what)
{
	if (!so)
		complain("%s", what);
}

/* A flow that is stored within a pass stays at least until the next one begins. */
static void pass_by(uint64_t i)
{
	uint64_t id = id_number(1000000 + i);

	insist(ink_insert(table, id, 1) == 0, "a flow is not stored");
	insist(ink_modify(table, id, 2) == 0, "a flow that was stored is not changed");
	insist(ink_lookup(table, id) == 2, "a flow that was changed is not found");
	insist(ink_delete(table, id) == 0, "a flow that was found is not deleted");
}

/* `with`: the number of the thread. */
static void *touch_all_the_time(void *with)
{
	unsigned number = *(const unsigned *)with;

	while (goes_on()) {
		uint64_t began = __atomic_load_n(&progress.ticks, __ATOMIC_ACQUIRE);

		for (uint64_t i = 0; i < KEPT; i++) {
			uint64_t id = id_number(i);

			if (i % 2)
				insist(ink_lookup(table, id) == (ink_answer)(i % STATES),
				       "a flow does not stay");
			else
				insist(ink_modify(table, id, (unsigned)(began + i) % STATES) == 0,
				       "a flow that changes does not stay");
			pass_by(number * KEPT + i % 100);
		}
		__atomic_store_n(&progress.passed[number], began, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void wait_for_passes(void)
{
	for (unsigned i = 0; i < TOUCHERS; i++)
		while (__atomic_load_n(&progress.passed[i], __ATOMIC_ACQUIRE) < progress.ticks && goes_on())
			sched_yield();
}

/* At once or in portions; returns how many expired. */
static uint64_t tick_somehow(void)
{
	struct ink_counts expired;
	uint64_t now = progress.ticks + 1, sum = 0;
	int more = now % 3 != 0;

	while (more == 1) {
		more = ink_tick_portion(table, now, 1 + random_below(2000), &expired);
		sum += expired.total;
		if (random_below(4) == 0)
			sched_yield();
	}
	insist(more == 0 && ink_tick(table, now, &expired) == 0, "a tick fails");
	__atomic_store_n(&progress.ticks, now, __ATOMIC_RELEASE);
	return sum + expired.total;
}

/* Stores flows that are to rest; those that rested long enough are gone with this tick, and no others. */
static void let_rest(void)
{
	uint64_t lived = lives(table) + 1, first = 2000000 + progress.ticks * RESTING;

	for (uint64_t i = first; i < first + RESTING; i++)
		insist(ink_insert(table, id_number(i), 4) == 0, "a flow that is to rest is not stored");
	wait_for_passes();
	insist(tick_somehow() == (progress.ticks >= lived ? RESTING : 0), "more or fewer expire than rest");
	for (uint64_t i = first; progress.ticks >= lived && i < first + RESTING; i++)
		insist(ink_peek(table, id_number(i - (lived - 1) * RESTING)) == INK_ABSENT,
		       "a flow rests and stays");
}

static void what_is_touched_stays_and_what_rests_goes(void **state)
{
	static const unsigned numbers[TOUCHERS] = {0, 1};

	memset(&progress, 0, sizeof progress);
	insert_all(table_of(*state), 0, KEPT);
	crew_new(TOUCHERS);
	for (unsigned i = 0; i < TOUCHERS; i++)
		crew_add(touch_all_the_time, (void *)(uintptr_t)&numbers[i]);
	for (uint64_t n = scaled(250); n > 0 && goes_on(); n--)
		let_rest();
	crew_wait(TOUCHERS);
	assert_sound(table);
}

/* ------------------------------------------------------------------ all of it */

#define WAY(test, about, ...) CASE(test, about, way, __VA_ARGS__)

/* clang-format off */
/* One writer and many; 15 states with one age bit, and with two, in 2, 3 and 4 lanes. */
#define ALL_TABLES(test)                                                                                     \
	WAY(test, "one age bit", 1, 1, 24, INK_SIMD_BEST),                                                  \
	WAY(test, "one age bit, 2 lanes, portable", 1, 1, 16, INK_SIMD_NONE),                               \
	WAY(test, "two age bits", 2, 1, 24, INK_SIMD_BEST),                                                 \
	WAY(test, "two age bits, 2 lanes", 2, 1, 16, INK_SIMD_BEST),                                        \
	WAY(test, "many writers, one age bit", 1, 4, 24, INK_SIMD_BEST),                                    \
	WAY(test, "many writers, two age bits, portable", 2, 4, 24, INK_SIMD_NONE)
#define MANY_WRITERS(test)                                                                                   \
	WAY(test, "one age bit", 1, 4, 24, INK_SIMD_BEST),                                                  \
	WAY(test, "two age bits", 2, 4, 24, INK_SIMD_BEST),                                                 \
	WAY(test, "two age bits, 2 lanes, portable", 2, 4, 16, INK_SIMD_NONE)
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ALL_TABLES(a_look_writes_nothing_that_survives),
		ALL_TABLES(only_words_in_which_an_entry_expires_are_written),
		MANY_WRITERS(what_was_read_before_a_look_is_not_written_after_it),
		MANY_WRITERS(a_touch_counts_as_made_at_some_moment_of_the_call),
		MANY_WRITERS(a_swap_after_the_counter_wrapped_takes_no_touch_back),
		MANY_WRITERS(what_is_touched_before_the_sweep_takes_it_stays),
		WAY(what_is_touched_stays_and_what_rests_goes, "one age bit", 1, 4, 16, INK_SIMD_BEST),
		WAY(what_is_touched_stays_and_what_rests_goes, "two age bits", 2, 4, 16, INK_SIMD_BEST),
		WAY(what_is_touched_stays_and_what_rests_goes, "portable", 1, 4, 16, INK_SIMD_NONE),
	};

	(void)verbs;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
