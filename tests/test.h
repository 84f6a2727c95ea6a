/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every unit test begins with: the headers that cmocka needs before its
 * own, and tests that list themselves. A test is named once, by its sentence:
 *
 *     TEST_THAT(a_full_table_refuses_and_keeps_what_it_has)
 *     {
 *             ...
 *     }
 *
 *     int main(void)
 *     {
 *             return run_suite(&(struct suite){.after_each = free_table});
 *     }
 *
 * Tests run in the order in which they stand in the file.
 */
#ifndef INKLING_TESTS_TEST_H
#define INKLING_TESTS_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TESTS_MOST = 64 };

static struct CMUnitTest listed[TESTS_MOST];
static size_t n_listed;

/* Before main(), so no check of cmocka's can fail yet. */
static inline void list_test(const char *name, CMUnitTestFunction test)
{
	if (n_listed == TESTS_MOST)
		abort();
	listed[n_listed++] = (struct CMUnitTest){.name = name, .test_func = test};
}

/* Its definition follows. Constructors of one file run in their order. */
#define TEST_THAT(name)                                                                                      \
	static void name(void **state);                                                                      \
	__attribute__((constructor)) static void list_##name(void)                                           \
	{                                                                                                    \
		list_test(#name, name);                                                                      \
	}                                                                                                    \
	static void name(void **state)

/* What surrounds the tests of a file; each may be missing. */
struct suite {
	CMFixtureFunction begin, end; /* once: before the first test and after the last */
	CMFixtureFunction after_each;
};

/* The number of tests that failed: main's result. NULL: nothing surrounds them. */
static inline int run_suite(const struct suite *with)
{
	static const struct suite bare;

	with = with ? with : &bare;
	for (size_t i = 0; i < n_listed; i++)
		listed[i].teardown_func = with->after_each;
	return _cmocka_run_group_tests(program_invocation_short_name, listed, n_listed, with->begin,
				       with->end);
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

#endif
