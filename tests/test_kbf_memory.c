/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kBF where memory runs out: each request for memory is made to fail in
 * turn. The call then says -ENOMEM, leaks nothing, and the filter answers as
 * before; when there is memory again, it goes on.
 */
#include "tests/kbf_help.h"
#include "tests/scarce.h"
#include "tests/scratch.h"

enum { ENCODINGS = 3 };

static struct ink_kbf_dict_options dict_options(unsigned e)
{
	return (struct ink_kbf_dict_options){.size = sizeof(struct ink_kbf_dict_options),
					     .encoding = INK_KBF_POWER_SUMS + e,
					     .values = 300};
}

static void a_dictionary_is_made_or_nothing_is_left_of_it(void **state)
{
	(void)state;
	for (unsigned e = 0; e < ENCODINGS; e++)
		for (unsigned k = 1;; k++) {
			struct ink_kbf_dict_options o = dict_options(e);
			struct held before = held_now();
			struct ink_why why = {""};
			struct ink_kbf_dict *d;
			int failed;

			fail_at(k);
			errno = 0;
			d = ink_kbf_dict_create(&o, &why);
			failed = given.requests >= k;
			fail_never();
			assert_int_equal(d == NULL, failed);
			assert_true(!failed || (errno == ENOMEM && why.text[0]));
			ink_kbf_dict_free(d);
			assert_held(before);
			if (!failed)
				break;
		}
}

static void a_filter_is_made_or_nothing_is_left_of_it(void **state)
{
	struct ink_kbf_options o = {.size = sizeof o, .dict = make_dict(0, 0), .keys = 1000};

	(void)state;
	for (unsigned k = 1;; k++) {
		struct held before = held_now();
		struct ink_why why = {""};
		struct ink_kbf *f;
		int failed;

		fail_at(k);
		f = ink_kbf_create(&o, &why);
		failed = given.requests >= k;
		fail_never();
		assert_int_equal(f == NULL, failed);
		assert_true(!failed || why.text[0]);
		ink_kbf_free(f);
		assert_held(before);
		if (!failed)
			break;
	}
	ink_kbf_dict_free(o.dict);
}

/* Every call is made with the k-th request failing, for all k, until it succeeds; as it was in between. */
static void changes_fail_and_leave_the_filter_as_it_was(void **state)
{
	(void)state;
	for (unsigned v = 0; v < VARIANTS; v++) {
		struct ink_kbf *f =
			make_variant(&variants[v], (struct ink_kbf_options){.k = 3, .cells = 60, .keys = 20});
		unsigned failures = 0;

		for (uint64_t i = 0; i < 60; i++)
			for (unsigned k = 1;; k++) {
				int64_t before = read_key(f, i);
				uint32_t waiting = f->pending.count, values = f->dict->count;
				int error;

				fail_at(k);
				error = insert(f, i, i);
				fail_never();
				if (error != -ENOMEM)
					break;
				failures++;
				assert_int_equal(read_key(f, i), before);
				assert_int_equal(f->pending.count, waiting);
				assert_int_equal(f->dict->count, values);
				assert_sound(f);
			}
		assert_true(failures > 5);
		ink_kbf_free(f);
	}
}

/* Without memory for a link it takes the keys all the same. */
static void growing_fails_and_inserts_go_on(void **state)
{
	struct ink_kbf *f = make_variant(&variants[0],
					 (struct ink_kbf_options){.keys = 100, .values = 500, .grow_at = 1});

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(insert(f, i, i % 50), 0);
	fail_always();
	assert_int_equal(ink_kbf_grow(f), -ENOMEM);
	assert_int_equal(insert(f, 100, 1), 0);
	fail_never();
	assert_int_equal(stats_of(f).links, 1);
	assert_int_equal(insert(f, 101, 1), 0);
	assert_int_equal(stats_of(f).links, 2);
	ink_kbf_free(f);
}

static void merging_saving_and_loading_fail_and_leave_all_as_it_was(void **state)
{
	struct ink_kbf_options o = {
		.size = sizeof o, .dict = make_dict(0, 0), .k = 3, .cells = 60, .keys = 20};
	struct ink_kbf *f = make_filter(&o), *same = make_filter(&o), *g = make_filter(&o), *loaded;

	(void)state;
	SKIP_WITHOUT_SNAPSHOTS();
	for (uint64_t i = 0; i < 90; i++) {
		insert(f, i, i % 7);
		insert(same, i, i % 7);
		insert(g, 100 + i, i % 7);
		if (i == 70)
			ink_kbf_grow(g);
	}
	assert_true(f->pending.count && g->pending.count);
	for (unsigned k = 1;; k++) {
		struct ink_why why = {""};
		int error;

		fail_at(k);
		error = ink_kbf_merge(f, g, &why);
		fail_never();
		if (!error)
			break;
		assert_int_equal(error, -ENOMEM);
		assert_true(why.text[0] && are_same(f, same));
	}
	assert_int_equal(ink_kbf_subtract(f, g, INK_KBF_STUCK_STAY, NULL), 0);
	for (unsigned k = 1;; k++) {
		struct held before = held_now();
		int error;

		fail_at(k);
		error = ink_kbf_save(f, scratch_file, NULL);
		fail_never();
		assert_held(before);
		assert_int_equal(scratch_count(), error ? 0 : 1);
		if (!error)
			break;
	}
	for (unsigned k = 1;; k++) {
		struct held before = held_now();

		fail_at(k);
		loaded = ink_kbf_load(scratch_file, o.dict, k % 2 ? INK_LOAD_READ : INK_LOAD_MAP, NULL);
		fail_never();
		if (loaded)
			break;
		assert_held(before);
	}
	assert_true(are_same(f, loaded));
	ink_kbf_free(loaded);
	ink_kbf_free(f);
	ink_kbf_free(g);
	ink_kbf_free(same);
	ink_kbf_dict_free(o.dict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dictionary_is_made_or_nothing_is_left_of_it),
		cmocka_unit_test(a_filter_is_made_or_nothing_is_left_of_it),
		cmocka_unit_test(changes_fail_and_leave_the_filter_as_it_was),
		cmocka_unit_test(growing_fails_and_inserts_go_on),
		cmocka_unit_test(merging_saving_and_loading_fail_and_leave_all_as_it_was),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
