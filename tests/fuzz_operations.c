/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the operations: the input is a program, see program.h. A failure
 * prints what does not hold and after how many calls; the input that libFuzzer
 * leaves behind runs it again.
 */
#include "tests/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct program p;
	const char *wrong = program_run(&p, bytes, size);

	if (!wrong)
		return 0;
	fprintf(stderr, "after %u calls: %s\n", p.calls, wrong);
	abort();
}
