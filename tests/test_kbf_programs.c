/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs on small kBFs, beside an oracle; see kbf_program.h. The fuzzer guesses better ones. */
#include "tests/kbf_program.h"
#include "tests/random.h"
#include "tests/test.h"

enum { MOST_BYTES = 600 };

TEST_THAT(random_programs_hold_what_the_oracle_knows)
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
	return run_suite(NULL);
}
