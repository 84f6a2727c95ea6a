/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefetching changes nothing, in any kind, for any number of ids, and from any thread.
 */
#include "tests/random.h"
#include "tests/threads.h"

enum { FLOWS = 3000, IDS = 100 };

static struct ink_table *other;

static int free_both(void **state)
{
	ink_free(other);
	other = NULL;
	return free_all(state);
}

static void make_filled(struct ink_options o)
{
	o.size = sizeof o;
	o.flows = FLOWS;
	o.seed = 7;
	table = table_with(&o);
	for (uint64_t i = 0; i < FLOWS; i++)
		ink_insert(table, id_number(i), (unsigned)i % o.states);
}

static void fetch_many(const struct ink_table *of)
{
	uint64_t ids[IDS];

	for (size_t n = 0; n < IDS; n++) {
		ids[n] = id_number(2 * n);
		ink_fetch(of, ids[n]);
		ink_fetch_batch(of, ids, n);
	}
}

TEST_THAT(a_fetch_changes_nothing_in_any_kind)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	for (unsigned i = 1; ink_kind_info(i, &kind) == 0; i++) {
		make_filled((struct ink_options){.kind = kind.kind, .states = 4});
		other = ink_copy(table, NULL, NULL);
		fetch_many(table);
		assert_memory_equal(table->body, other->body, table->body_bytes);
		free_both(state);
	}
}

static void *fetch_on(void *of)
{
	while (goes_on())
		fetch_many(of);
	return NULL;
}

TEST_THAT(a_table_that_grows_can_be_fetched_from_another_thread)
{
	make_filled((struct ink_options){.kind = INK_EXACT, .states = 4});
	crew_new(1);
	crew_add(fetch_on, table);
	for (uint64_t i = FLOWS; i < 20 * FLOWS; i++)
		ink_insert(table, id_number(i), 0);
	crew_wait(1);
	assert_int_equal(stats_of(table).flows, 20 * FLOWS);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = free_both});
}
