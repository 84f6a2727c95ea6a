/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A check that fails. The build expects this program to report it: if it did
 * not, the other tests could not either.
 */
#include "tests/test.h"

TEST_THAT(one_is_two)
{
	assert_int_equal(1, 2);
}

int main(void)
{
	return run_suite(NULL);
}
