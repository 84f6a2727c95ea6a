/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs on small kBFs, beside an oracle; see kbf_program.h. The fuzzer guesses better ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/kbf_program.h"
#include "tests/random.h"

enum { MOST_BYTES = 600 };

static void random_programs_hold_what_the_oracle_knows(void **state)
{
	uint8_t bytes[MOST_BYTES];
	uint64_t calls = 0;

	for (uint64_t run = 0; run < scaled(3000); run++) {
		struct program p;
		const char *wrong;

		for (unsigned i = 0; i < MOST_BYTES; i++)
			bytes[i] = (uint8_t)random_word();
		wrong = program_run(&p, bytes, 5 + random_below(MOST_BYTES - 5));
		if (wrong)
			fail_msg("program %llu, after %u calls: %s", (unsigned long long)run, p.calls, wrong);
		calls += p.calls;
	}
	print_message("%llu calls\n", (unsigned long long)calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_hold_what_the_oracle_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
