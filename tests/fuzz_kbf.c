/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the operations of the kBF: the input is a program, see kbf_program.h.
 * A failure prints what does not hold and after how many calls.
 */
#include "tests/kbf_program.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct program p;
	const char *wrong = program_run(&p, bytes, size < 2000 ? size : 2000);

	if (!wrong)
		return 0;
	fprintf(stderr, "after %u calls: %s\n", p.calls, wrong);
	abort();
}
