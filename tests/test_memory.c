/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where memory or random numbers run out, the call fails, says why, leaks
 * nothing, and leaves all as it was. Each test lets the first request fail,
 * then the second, and so on until the call no longer notices; see scarce.h.
 */
#include <sys/stat.h>
#include <sys/types.h>

#include <inkling/count.h>
#include <inkling/track.h>

#include "tests/random.h"
#include "tests/scarce.h"
#include "tests/scratch.h"

/* ------------------------------------------------------------------- the tables */

static const struct ink_row rows[] = {{1, 7}, {0, 8}, {0, 9}, {INK_NO_ROW, 0}};
static const struct ink_rules rules = {.size = sizeof rules, .states = 2, .events = 1, .rows = rows};

#define OPTIONS(...)                                                                                         \
	{                                                                                                    \
		.size = sizeof(struct ink_options), .states = 5, .age_bits = 1, .error = .01,                \
		.rules = &rules, __VA_ARGS__                                                                 \
	}

/* The last of `line` has huge pages: its ends are given back. */
static const struct ink_options kinds[] = {
	OPTIONS(.kind = INK_LINE, .flows = 1000),
	OPTIONS(.kind = INK_LINE, .flows = 1000, .writers = 2),
	OPTIONS(.kind = INK_LINE, .flows = 3000000),
	OPTIONS(.kind = INK_COMPACT, .flows = 1000),
	OPTIONS(.kind = INK_DLEFT, .flows = 1000, .geometry.side = 20),
	OPTIONS(.kind = INK_EXACT, .flows = 200),
	OPTIONS(.kind = INK_STATEFUL, .flows = 1000),
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct ink_table *make(const struct ink_options *o)
{
	struct ink_table *t;

	fail_never();
	t = ink_create(o, NULL);
	assert_non_null(t);
	return t;
}

enum { FLOWS = 200 };

static void fill(struct ink_table *t)
{
	for (uint64_t i = 0; i < FLOWS; i++)
		assert_int_equal(ink_insert(t, id_number(i), (unsigned)(i % 5)), 0);
}

static void assert_filled(const struct ink_table *t)
{
	for (uint64_t i = 0; i < FLOWS; i++)
		assert_int_equal(ink_peek(t, id_number(i)), i % 5);
	assert_int_equal(ink_check(t, NULL), 0);
}

/* ---------------------------------------------------------------- making a table */

/* The k-th request of one call fails: NULL with ENOMEM and a reason, and nothing is left behind. */
#define EACH_REQUEST(k, made, call, why, before)                                                             \
	for (unsigned k = 1; fail_at(k), errno = 0, made = (call), !made; k++)                               \
	assert_out_of_memory(&(why), before)

static void assert_out_of_memory(struct ink_why *why, struct held before)
{
	int error = errno;

	fail_never();
	if (error != ENOMEM || !why->text[0])
		fail_msg("errno %d, \"%s\"", error, why->text);
	why->text[0] = '\0';
	assert_held(before);
}

/* Returns how many requests there were to fail. */
static unsigned create_failing(const struct ink_options *o)
{
	struct held before = held_now();
	struct ink_why why = {""};
	struct ink_table *t;
	unsigned requests;

	EACH_REQUEST(k, t, ink_create(o, &why), why, before);
	requests = given.requests;
	fail_never();
	ink_free(t);
	assert_held(before);
	return requests;
}

TEST_THAT(a_table_is_made_or_nothing_is_left_of_it)
{
	for (unsigned i = 0; i < KINDS; i++)
		assert_int_equal(create_failing(&kinds[i]),
				 4); /* the table, its secret, its body, its rules */
}

TEST_THAT(a_seed_needs_no_random_numbers)
{
	struct ink_options o = kinds[0];

	o.seed = 1;
	assert_int_equal(create_failing(&o), 3);
}

TEST_THAT(a_refused_plan_asks_for_nothing_that_it_keeps)
{
	struct ink_options o = kinds[0];
	struct held before = held_now();
	struct ink_rules wrong = rules;

	o.error = 1e-12;
	assert_null(ink_create(&o, NULL));
	assert_held(before);
	o = kinds[0];
	wrong.events = 0;
	o.rules = &wrong;
	assert_null(ink_create(&o, NULL));
	assert_held(before);
}

TEST_THAT(the_old_rules_stay_where_there_is_no_memory_for_new_ones)
{
	static const struct ink_row others[] = {{0, 17}, {1, 18}, {1, 19}, {INK_NO_ROW, 0}};
	struct ink_rules new = rules;

	new.rows = others;
	for (unsigned i = 0; i < KINDS; i++) {
		struct ink_table *t = make(&kinds[i]);
		struct held before = held_now();
		struct ink_why why = {""};
		struct ink_move move;

		fail_always();
		assert_int_equal(ink_set_rules(t, &new, &why), -ENOMEM);
		fail_never();
		assert_true(why.text[0]);
		assert_held(before);
		assert_int_equal(ink_step(t, 1, 0, &move), 0);
		assert_int_equal(move.action, 9);
		assert_int_equal(ink_set_rules(t, &new, NULL), 0);
		assert_held(before);
		assert_int_equal(ink_step(t, 1, 0, &move), 0);
		assert_int_equal(move.action, 17);
		ink_free(t);
	}
}

/* --------------------------------------------------------------------- using it */

/* What a data path calls never asks for memory. */
TEST_THAT(verbs_and_ticks_need_no_memory)
{
	for (unsigned i = 0; i < KINDS; i++) {
		struct ink_table *t = make(&kinds[i]);
		struct ink_counts counts;
		struct ink_move move;

		fail_always();
		fill(t);
		for (uint64_t id = 0; id < FLOWS; id++) {
			assert_int_equal(ink_lookup(t, id_number(id)), id % 5);
			assert_int_equal(ink_modify(t, id_number(id), 1), 0);
			assert_int_equal(ink_set(t, id_number(id), 0), 0);
			assert_int_equal(ink_step(t, id_number(id), 0, &move), 0);
		}
		if (ink_census(t, &counts) == 0)
			assert_int_equal(counts.state[1], FLOWS);
		assert_int_equal(ink_tick(t, 1, NULL), 0);
		while (ink_tick_portion(t, 5, 10, NULL))
			;
		assert_int_equal(given.requests, 0);
		fail_never();
		ink_free(t);
	}
}

/* One slot stays empty. */
TEST_THAT(exact_goes_on_until_it_is_full_where_it_cannot_grow)
{
	struct ink_options o = OPTIONS(.kind = INK_EXACT, .flows = FLOWS);
	struct ink_table *t = make(&o);
	struct ink_stats stats = {.size = sizeof stats};
	struct held before = held_now();
	struct ink_move move;
	uint64_t slots, i;

	fill(t);
	ink_stats(t, &stats);
	slots = stats.cells;
	fail_always();
	for (i = FLOWS; i < slots - 1; i++)
		assert_int_equal(ink_insert(t, id_number(i), 3), 0);
	assert_true(given.requests > 0);
	for (uint64_t j = 0; j < 3; j++) {
		assert_int_equal(ink_insert(t, id_number(i + j), 3), -ENOSPC);
		assert_int_equal(ink_set(t, id_number(i + j), 3), -ENOSPC);
		assert_int_equal(ink_step(t, id_number(i + j), 0, &move), -ENOSPC);
		assert_true(move.from == INK_ABSENT && move.to == INK_ABSENT && move.action == 9);
		assert_int_equal(ink_peek(t, id_number(i + j)), INK_ABSENT);
	}
	fail_never();
	assert_held(before);
	assert_filled(t);
	ink_stats(t, &stats);
	assert_int_equal(stats.flows, slots - 1);
	assert_int_equal(stats.refused, 9);
	assert_int_equal(ink_insert(t, id_number(i), 3), 0);
	assert_filled(t);
	ink_stats(t, &stats);
	assert_int_equal(stats.cells, 2 * slots);
	ink_free(t);
}

/* -EUCLEAN would say that the table is damaged. */
TEST_THAT(a_check_that_lacks_memory_does_not_call_the_table_damaged)
{
	for (unsigned i = 0; i < KINDS; i++) {
		struct ink_table *t = make(&kinds[i]);
		struct ink_why why = {""};
		int error;

		fill(t);
		fail_always();
		error = ink_check(t, &why);
		fail_never();
		if (error != 0 && error != -ENOMEM)
			fail_msg("%d: %s", error, why.text);
		ink_free(t);
	}
}

/* ------------------------------------------------------------------ counting sets */

static struct ink_count *make_count(enum ink_count_kind kind)
{
	struct ink_count_options o = {.size = sizeof o, .kind = kind, .items = 1000, .seed = 1};
	struct ink_count *c = ink_count_create(&o, NULL);

	assert_non_null(c);
	for (uint64_t i = 0; i < FLOWS; i++)
		assert_int_equal(ink_count_add(c, id_number(i)), 0);
	return c;
}

TEST_THAT(a_counting_set_is_made_or_nothing_is_left_of_it)
{
	struct ink_count_options o = {.size = sizeof o, .items = 1000};
	struct held before = held_now();
	struct ink_why why = {""};
	struct ink_count *c;

	EACH_REQUEST(k, c, ink_count_create(&o, &why), why, before);
	assert_int_equal(given.requests, 3); /* the set, its secret, its body */
	fail_never();
	ink_count_free(c);
	assert_held(before);
}

/* The d-left filter merges into a copy; the standard one in place. */
TEST_THAT(a_merge_without_memory_changes_nothing)
{
	struct ink_count *dleft = make_count(INK_COUNT_DLEFT), *standard = make_count(INK_COUNT_STANDARD);
	struct held before = held_now();
	struct ink_why why = {""};

	fail_always();
	assert_int_equal(ink_count_merge(dleft, dleft, &why), -ENOMEM);
	assert_int_equal(ink_count_merge(standard, standard, NULL), 0);
	fail_never();
	assert_true(why.text[0]);
	assert_held(before);
	for (uint64_t i = 0; i < FLOWS; i++)
		assert_int_equal(ink_count_remove(dleft, id_number(i)), 0);
	assert_int_equal(ink_count_check(dleft, NULL), 0);
	assert_int_equal(ink_count_merge(dleft, dleft, NULL), 0);
	assert_held(before);
	ink_count_free(dleft);
	ink_count_free(standard);
}

/* -------------------------------------------------------------------- snapshots */

static ino_t inode_of_file(void)
{
	struct stat found;

	assert_int_equal(stat(scratch_file, &found), 0);
	return found.st_ino;
}

static void save_failing(const struct ink_table *t)
{
	for (unsigned k = 1;; k++) {
		struct held before = held_now();
		ino_t old = inode_of_file();
		struct ink_why why = {""};
		int error;

		fail_at(k);
		error = ink_save(t, scratch_file, &why);
		fail_at(0);
		assert_held(before);
		assert_int_equal(scratch_count(), 1);
		if (error == 0) {
			assert_true(k > 1);
			return;
		}
		assert_int_equal(error, -ENOMEM);
		assert_true(why.text[0]);
		assert_int_equal(inode_of_file(), old);
	}
}

static void load_failing(enum ink_load how)
{
	struct held before = held_now();
	struct ink_why why = {""};
	struct ink_table *t;

	EACH_REQUEST(k, t, ink_load(scratch_file, how, &why), why, before);
	assert_true(given.requests > 1);
	fail_never();
	assert_filled(t);
	ink_free(t);
	assert_held(before);
}

TEST_THAT(a_snapshot_is_saved_and_loaded_or_nothing_has_happened)
{
	SKIP_WITHOUT_SNAPSHOTS();
	for (unsigned i = 0; i < KINDS; i++) {
		struct ink_table *t = make(&kinds[i]);

		fill(t);
		assert_int_equal(ink_save(t, scratch_file, NULL), 0);
		save_failing(t);
		assert_filled(t);
		load_failing(INK_LOAD_READ);
		load_failing(INK_LOAD_MAP);
		ink_free(t);
	}
}

/* Machines of every size, with a file and without. */
TEST_THAT(a_machine_is_made_or_nothing_is_left_of_it)
{
	for (unsigned i = 0; ink_bundled(i); i++) {
		const char *name = ink_bundled(i)->name;
		struct held before = held_now();
		struct ink_why why = {""};
		struct ink_machines *m;
		char *drawing;

		EACH_REQUEST(k, m, ink_machines_load(&name, 1, NULL, &why), why, before);
		assert_true(given.requests > 7);
		fail_never();
		drawing = ink_machines_draw(m);
		assert_non_null(drawing);
		__real_free(drawing); /* given by the C library */
		ink_machines_free(m);
		assert_held(before);
	}
}

TEST_THAT(a_tracker_is_made_or_nothing_is_left_of_it)
{
	struct ink_machine *m = ink_machine_load("p2p", NULL, NULL);
	const struct ink_machine_view *v = ink_machine_view(m);
	struct ink_options o = {.size = sizeof o, .flows = 10, .states = v->rules->states, .rules = v->rules};
	struct ink_track_options k = {.size = sizeof k, .machine = m, .table = ink_create(&o, NULL)};
	struct held before = held_now();
	struct ink_why why = {""};
	struct ink_track *track;

	EACH_REQUEST(n, track, ink_track_open(&k, &why), why, before);
	assert_int_equal(given.requests,
			 13); /* sensor, classifier, 2 maps of ports, limits, tracker, 7 for steps */
	fail_never();
	ink_track_close(track);
	assert_held(before);
	ink_free(k.table);
	ink_machine_free(m);
}

/* ------------------------------------------------------------------ an exchange */

enum { SET = 3, PACKETS = 300, TELLS = 7 };

/* `a` tells `b` so often for each packet; `c` is behind both, so what fails there finds them changed. */
static struct ink_machines *linked(unsigned tells, const struct ink_machines *like)
{
	struct ink_machine_options o = {.size = sizeof o, .like_set = like};
	char text[20000];
	struct ink_machines *m;
	int n = snprintf(text, sizeof text,
			 "machine a key src event e = any absent : e -> on on : timeout 1h -> absent | e / "
			 "tell b told");

	for (unsigned i = 1; i < tells; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, ", tell b told");
	snprintf(text + n, sizeof text - (size_t)n,
		 " machine b key src event told = told event e = any absent : told -> on | e -> on "
		 "on : told / count told | e | timeout 1h -> absent "
		 "machine c key src event e = any absent : e -> on on : e | timeout 1h -> absent");
	m = ink_machines_make(text, strlen(text), &o);
	assert_non_null(m);
	return m;
}

/* What `b` counts is what the old machines tell. */
static void assert_old_machines(struct ink_track *track)
{
	static struct ink_packet packets[PACKETS];
	uint64_t before = *ink_track_counters_of(track, 1);

	for (unsigned i = 0; i < PACKETS; i++)
		packets[i] = (struct ink_packet){.version = 4, .protocol = 17};
	assert_int_equal(ink_track_packets(track, &(struct ink_packets){.at = packets, .n = PACKETS}), 0);
	assert_int_equal(*ink_track_counters_of(track, 1) - before, PACKETS * TELLS);
}

static int exchange_failing(struct ink_track *track, const struct ink_machines *machines, unsigned request)
{
	int error;

	fail_at(request);
	error = ink_track_exchange_set(track, machines, NULL);
	fail_never();
	return error;
}

/* The first needs longer blocks of told events, of fewer packets; if the second fails, too, some stages have these. */
TEST_THAT(two_exchanges_without_memory_leave_the_old_machines)
{
	struct ink_machines *old = linked(TELLS, NULL), *more = linked(1000, old), *same = linked(TELLS, old);
	struct ink_table *tables[SET];
	struct ink_track_options o = {.size = sizeof o, .machines = old, .tables = tables};
	struct ink_packet first = {.version = 4, .protocol = 17};
	struct ink_track *track;

	for (unsigned i = 0; i < SET; i++)
		tables[i] = make(&(struct ink_options){
			.size = sizeof(struct ink_options),
			.kind = INK_EXACT,
			.flows = 1,
			.states = 1,
			.age_bits = 1,
			.rules = ink_machine_view(ink_machines_at(old, i))->rules});
	track = ink_track_open(&o, NULL);
	assert_int_equal(ink_track_packets(track, &(struct ink_packets){.at = &first, .n = 1}), 0);
	for (unsigned k = 1; exchange_failing(track, more, k) == -ENOMEM; k++)
		if (exchange_failing(track, same, k / 2 + 1) == -ENOMEM)
			assert_old_machines(track);
	ink_track_close(track);
	for (unsigned i = 0; i < SET; i++)
		ink_free(tables[i]);
	ink_machines_free(same);
	ink_machines_free(more);
	ink_machines_free(old);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = scratch_make, .end = scratch_remove});
}
