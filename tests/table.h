/* SPDX-License-Identifier: BSD-2-Clause */
/* One way to make a table in a test, to ask it for its counters, and to check that it is sound. */
#ifndef INKLING_TESTS_TABLE_H
#define INKLING_TESTS_TABLE_H

#include "tests/random.h"
#include "table/table.h"
#include "tests/test.h"

static inline struct ink_table *table_with(const struct ink_options *options)
{
	struct ink_why why = {""};
	struct ink_table *table = ink_create(options, &why);

	if (!table)
		fail_msg("%s", why.text);
	return table;
}

static inline void assert_sound(const struct ink_table *table)
{
	struct ink_why why = {""};

	if (ink_check(table, &why) != 0)
		fail_msg("%s", why.text);
}

static inline void assert_unsound(const struct ink_table *table, const char *reason)
{
	struct ink_why why = {""};

	assert_int_equal(ink_check(table, &why), -EUCLEAN);
	assert_string_equal(why.text, reason);
}

static inline struct ink_stats stats_of(const struct ink_table *table)
{
	struct ink_stats stats = {.size = sizeof stats};

	ink_stats(table, &stats);
	return stats;
}

/* Neither planned nor made, and with a reason. */
static inline void assert_options_refused(const struct ink_options *o, int error, const char *what)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why = {""};
	int got = ink_plan(o, &plan, &why);

	if (got != error || !why.text[0])
		fail_msg("%s: %d and not %d, \"%s\"", what, got, error, why.text);
	errno = 0;
	assert_null(ink_create(o, &why));
	assert_int_equal(errno, -error);
	assert_int_equal(ink_plan(o, &plan, NULL), error);
}

/* The good options with one field changed. */
#define REFUSED(error, ...)                                                                                  \
	do {                                                                                                 \
		struct ink_options bad = good;                                                               \
		bad.__VA_ARGS__;                                                                             \
		assert_options_refused(&bad, error, #__VA_ARGS__);                                           \
	} while (0)

#endif
