/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A check that fails. The build expects this program to report it: if it did
 * not, the other tests could not either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void one_is_two(void **state)
{
	(void)state;
	assert_int_equal(1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_is_two)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
