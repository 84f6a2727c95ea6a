/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kBF where memory runs out during a change: each request for memory fails
 * in turn. The call then returns -ENOMEM, leaks nothing, and the filter answers
 * as before; when there is memory again, it goes on. Making, copying, saving and
 * loading are in test_embed_sets.c.
 */
#include "tests/kbf_help.h"
#include "tests/scarce.h"
#include "tests/test.h"

/* Every call is made with the k-th request failing, for all k, until it succeeds; as it was in between. */
TEST_THAT(changes_fail_and_leave_the_filter_as_it_was)
{
	EACH_VARIANT(v)
	{
		struct ink_kbf *f =
			make_variant(v, (struct ink_kbf_options){.k = 3, .cells = 60, .keys = 20});
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
	}
}

/* Without memory for a link it takes the keys all the same. */
TEST_THAT(growing_fails_and_inserts_go_on)
{
	struct ink_kbf *f = make_variant(&variants[0],
					 (struct ink_kbf_options){.keys = 100, .values = 500, .grow_at = 1});

	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(insert(f, i, i % 50), 0);
	fail_always();
	assert_int_equal(ink_kbf_grow(f), -ENOMEM);
	assert_int_equal(insert(f, 100, 1), 0);
	fail_never();
	assert_int_equal(stats_of(f).links, 1);
	assert_int_equal(insert(f, 101, 1), 0);
	assert_int_equal(stats_of(f).links, 2);
}

TEST_THAT(merging_fails_and_leaves_both_as_they_were)
{
	struct ink_kbf_options o = {
		.size = sizeof o, .dict = make_dict(0, 0), .k = 3, .cells = 60, .keys = 20};
	struct ink_kbf *f = make_filter(&o), *same = make_filter(&o), *g = make_filter(&o);
	int error = -ENOMEM;

	for (uint64_t i = 0; i < 90; i++) {
		insert(f, i, i % 7);
		insert(same, i, i % 7);
		insert(g, 100 + i, i % 7);
		if (i == 70)
			ink_kbf_grow(g);
	}
	assert_true(f->pending.count && g->pending.count);
	for (unsigned k = 1; error; k++) {
		struct ink_why why = {""};

		fail_at(k);
		error = ink_kbf_merge(f, g, &why);
		fail_never();
		assert_true(!error || (error == -ENOMEM && why.text[0] && are_same(f, same)));
	}
	assert_int_equal(ink_kbf_subtract(f, g, INK_KBF_STUCK_STAY, NULL), 0);
}

/* Without random numbers there is no secret. */
TEST_THAT(a_dictionary_without_a_secret_is_not_made)
{
	struct held before = held_now();

	for (unsigned k = 1; k <= 2; k++) {
		fail_at(k);
		assert_null(ink_kbf_dict_create(NULL, NULL));
		assert_int_equal(errno, ENOMEM);
		fail_never();
		assert_held(before);
	}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_all});
}
