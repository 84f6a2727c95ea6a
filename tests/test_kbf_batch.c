/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of the kBF do what single calls do, one after the other: the same
 * calls are made of twins, on one singly and on the other in a batch, and then
 * all results, snapshots, counters and imprints of waiting keys are the same.
 */
#include "tests/kbf_help.h"
#include "tests/platform.h"
#include "tests/scarce.h"
#include "tests/test.h"

/* ------------------------------------------------------------------- the twins */

enum { MOST = 5000 };

/* Each has a dictionary of its own, with the same secret. */
struct twins {
	struct ink_kbf *single, *batched;
};

static struct twins make_twins(const struct variant *v, struct ink_kbf_options o)
{
	return (struct twins){make_variant(v, o), make_variant(v, o)};
}

enum { ROOM = 1 << 21 }; /* for any snapshot here */

static void assert_same_bytes(const struct ink_buffer *a, const struct ink_buffer *b)
{
	assert_int_equal(a->used, b->used);
	assert_memory_equal(a->bytes, b->bytes, a->used);
}

static void assert_same_snapshots(const struct ink_kbf *a, const struct ink_kbf *b)
{
	static char bytes[2][ROOM];
	struct ink_buffer of_a = {bytes[0], ROOM, 0}, of_b = {bytes[1], ROOM, 0};

	SKIP_WITHOUT_SNAPSHOTS();
	assert_int_equal(ink_kbf_save_buffer(a, &of_a, NULL, NULL), 0);
	assert_int_equal(ink_kbf_save_buffer(b, &of_b, NULL, NULL), 0);
	assert_same_bytes(&of_a, &of_b);
	assert_int_equal(ink_kbf_dict_save_buffer(a->dict, &of_a, NULL, NULL), 0);
	assert_int_equal(ink_kbf_dict_save_buffer(b->dict, &of_b, NULL, NULL), 0);
	assert_same_bytes(&of_a, &of_b);
}

static void assert_twins(struct twins t)
{
	struct ink_kbf_stats a = stats_of(t.single), b = stats_of(t.batched);

	assert_memory_equal(&a, &b, sizeof a);
	for (uint32_t i = 0; i < a.pending; i++)
		assert_true(t.single->pending.entries[i].imprint == t.batched->pending.entries[i].imprint);
	assert_same_snapshots(t.single, t.batched);
}

/* ------------------------------------------------------------------- the calls */

enum verb { INSERT, UPDATE, DELETE, VERBS };

static struct {
	char texts[MOST][2][24];
	struct ink_bytes keys[MOST], values[MOST];
	int errors[MOST];
} items;

static void set_item(unsigned i, uint64_t key, uint64_t value)
{
	char *k = items.texts[i][0], *v = items.texts[i][1];

	items.keys[i] = (struct ink_bytes){k, (size_t)snprintf(k, 24, "key %llu", (unsigned long long)key)};
	items.values[i] =
		(struct ink_bytes){v, (size_t)snprintf(v, 24, "value %llu", (unsigned long long)value)};
}

static void set_random_items(unsigned n, uint64_t keys, uint64_t values)
{
	for (unsigned i = 0; i < n; i++)
		set_item(i, random_below(keys), random_below(values));
}

static int call_single(struct ink_kbf *f, enum verb verb, unsigned i)
{
	return verb == INSERT   ? ink_kbf_insert(f, items.keys[i], items.values[i])
	       : verb == UPDATE ? ink_kbf_update(f, items.keys[i], items.values[i])
				: ink_kbf_delete(f, items.keys[i]);
}

static int call_batch(struct ink_kbf *f, enum verb verb, unsigned n)
{
	struct ink_kbf_batch b = {.n = n, .keys = items.keys, .values = items.values, .errors = items.errors};

	if (verb == DELETE)
		b.values = NULL;
	return verb == INSERT   ? ink_kbf_insert_batch(f, &b)
	       : verb == UPDATE ? ink_kbf_update_batch(f, &b)
				: ink_kbf_delete_batch(f, &b);
}

/* The first n items; counts by -errno what they return. */
static void call_both(struct twins t, enum verb verb, unsigned n, unsigned seen[256])
{
	int result = call_batch(t.batched, verb, n), first = 0;

	for (unsigned i = 0; i < n; i++) {
		int error = call_single(t.single, verb, i);

		first = first ? first : error;
		assert_int_equal(items.errors[i], error);
		seen[-error]++;
	}
	assert_int_equal(result, first);
}

/* ------------------------------------------------------------------- any batches */

/*
 * Lengths around the distance of the look-ahead, odd ones and thousands. Keys are
 * absent and there, alone and several times in a batch; half of the values are
 * new, until the dictionary has its 500; and so many keys share the cells that
 * some wait.
 */
TEST_THAT(batches_of_any_length_do_what_single_calls_do)
{
	static const unsigned lengths[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 100, 1003, 3001};

	EACH_VARIANT(v)
	{
		struct twins t = make_twins(v, (struct ink_kbf_options){.keys = 1000, .k = 4, .cells = 4000});
		unsigned seen[256] = {0};

		for (unsigned i = 0; i < COUNT(lengths); i++)
			for (unsigned verb = INSERT; verb < VERBS; verb++) {
				set_random_items(lengths[i], 1500, i < COUNT(lengths) / 2 ? 300 : 600);
				call_both(t, verb, lengths[i], seen);
				assert_twins(t);
			}
		assert_true(seen[0] && seen[EEXIST] && seen[ENOENT] && seen[ENOSPC]);
		assert_true(stats_of(t.batched).deferred > 0 && stats_of(t.batched).settled > 0);
		assert_sound(t.batched);
	}
}

/* So many wait that their cells are fetched ahead, up to the end of the side table and from its beginning. */
TEST_THAT(batches_beside_thousands_of_waiting_keys_do_what_single_calls_do)
{
	struct twins t = make_twins(
		&variants[0], (struct ink_kbf_options){.keys = 200, .k = 3, .cells = 600, .pending = 20000});
	unsigned seen[256] = {0};

	for (unsigned i = 0; i < 12; i++) {
		set_random_items(MOST, 9000, 400);
		call_both(t, i % VERBS, MOST, seen);
		assert_twins(t);
		if (i == 0)
			assert_true(stats_of(t.batched).pending > 1200);
	}
	for (unsigned i = 0; i < MOST; i++)
		set_item(i, i, 0);
	call_both(t, DELETE, MOST, seen);
	assert_twins(t);
}

TEST_THAT(links_that_are_added_during_a_batch_are_used_at_once)
{
	EACH_VARIANT(v)
	{
		struct twins t = make_twins(
			v, (struct ink_kbf_options){.keys = 200, .k = 4, .cells = 1000, .grow_at = 0.5});
		unsigned seen[256] = {0};

		for (unsigned i = 0; i < 6; i++) {
			set_random_items(501, 800, 400);
			call_both(t, i % VERBS, 501, seen);
			assert_twins(t);
		}
		assert_true(stats_of(t.batched).links > 3);
	}
}

TEST_THAT(a_full_side_table_refuses_items_and_the_others_go_on)
{
	EACH_VARIANT(v)
	{
		struct twins t = make_twins(
			v, (struct ink_kbf_options){.keys = 50, .k = 2, .cells = 60, .pending = 3});
		unsigned seen[256] = {0};

		for (unsigned i = 0; i < 9; i++) {
			set_random_items(77, 120, 20);
			call_both(t, i % VERBS, 77, seen);
			assert_twins(t);
		}
		assert_true(seen[ENOSPC] && seen[0]);
	}
}

/* ------------------------------------------------------------- within one batch */

TEST_THAT(a_later_item_finds_what_an_earlier_one_did)
{
	struct ink_kbf *f = make_variant(&variants[0], (struct ink_kbf_options){.keys = 1000});

	set_item(0, 1, 10);
	set_item(1, 1, 11);
	assert_int_equal(call_batch(f, INSERT, 2), -EEXIST);
	assert_int_equal(items.errors[0], 0);
	assert_int_equal(read_key(f, 1), 10);
	set_item(0, 1, 12);
	set_item(1, 2, 13);
	set_item(2, 1, 14);
	assert_int_equal(call_batch(f, UPDATE, 3), -ENOENT);
	assert_int_equal(items.errors[1], -ENOENT);
	assert_int_equal(read_key(f, 1), 14);
	set_item(1, 1, 0);
	assert_int_equal(call_batch(f, DELETE, 2), -ENOENT);
	assert_int_equal(items.errors[0], 0);
	assert_int_equal(items.errors[1], -ENOENT);
	assert_int_equal(read_key(f, 1), ABSENT);
	assert_int_equal(stats_of(f).keys, 0);
}

/* Their lengths are claimed: no byte beyond the true ones may be read. */
TEST_THAT(keys_and_values_that_are_too_long_are_refused_unread_and_the_others_go_on)
{
	for (unsigned verb = INSERT; verb < VERBS; verb++) {
		struct twins t = make_twins(&variants[0], (struct ink_kbf_options){.keys = 1000});
		unsigned seen[256] = {0};

		set_random_items(30, 20, 20);
		call_both(t, INSERT, 20, seen);
		items.keys[3].length = (size_t)UINT32_MAX + 1;
		items.values[17].length = (size_t)1 << 40;
		call_both(t, verb, 30, seen);
		assert_int_equal(items.errors[3], -EMSGSIZE);
		assert_twins(t);
		free_kept();
	}
}

TEST_THAT(results_need_not_be_wanted)
{
	struct ink_kbf *f = make_variant(&variants[0], (struct ink_kbf_options){.keys = 1000});
	struct ink_kbf_batch b = {.n = 20, .keys = items.keys, .values = items.values};

	for (unsigned i = 0; i < 20; i++)
		set_item(i, i, i);
	assert_int_equal(ink_kbf_insert_batch(f, &b), 0);
	for (unsigned i = 0; i < 20; i++)
		set_item(i, i, i + 20);
	assert_int_equal(ink_kbf_update_batch(f, &b), 0);
	assert_int_equal(read_key(f, 19), 39);
	b.values = NULL;
	assert_int_equal(ink_kbf_delete_batch(f, &b), 0);
	assert_int_equal(ink_kbf_delete_batch(f, &b), -ENOENT);
	assert_int_equal(stats_of(f).keys, 0);
	b = (struct ink_kbf_batch){0};
	assert_int_equal(ink_kbf_update_batch(f, &b), 0);
	assert_int_equal(ink_kbf_delete_batch(f, &b), 0);
}

/* ---------------------------------------------------------------- without memory */

/* 30 keys that share few cells, then 40 calls that add values, waiting keys, links. Returns their requests. */
static unsigned call_both_failing(const struct variant *v, enum verb verb, unsigned failing,
				  unsigned seen[256])
{
	struct twins t = make_twins(
		v, (struct ink_kbf_options){.keys = 40, .k = 3, .cells = 90, .grow_at = verb == INSERT});
	int errors[40], result, first = 0;
	unsigned requests;

	for (unsigned i = 0; i < 30; i++)
		set_item(i, i, i % 14);
	call_both(t, INSERT, 30, seen);
	for (unsigned i = 0; i < 40; i++)
		set_item(i, verb == INSERT ? 30 + i : i * 7 % 31, i);
	fail_at(failing);
	result = call_batch(t.batched, verb, 40);
	requests = given.requests;
	memcpy(errors, items.errors, sizeof errors);
	fail_at(failing);
	for (unsigned i = 0; i < 40; i++) {
		int error = call_single(t.single, verb, i);

		assert_int_equal(errors[i], error);
		seen[-error]++;
		first = first ? first : error;
	}
	assert_int_equal(given.requests, requests);
	fail_never();
	assert_int_equal(result, first);
	assert_twins(t);
	free_kept();
	return requests;
}

/* Each request for memory fails in turn: the item that made it fails, the others are carried out. */
TEST_THAT(without_memory_the_same_items_fail_as_single_calls)
{
	for (const struct variant *v = variants; v < variants + VARIANTS; v++) {
		unsigned seen[256] = {0};

		for (unsigned verb = INSERT; verb < VERBS; verb++)
			for (unsigned failing = 1; call_both_failing(v, verb, failing, seen) >= failing;)
				failing++;
		assert_true(seen[ENOMEM] > 5);
	}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_all});
}
