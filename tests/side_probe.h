/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests that look into a table: which flows its side table has. */
#ifndef INKLING_TESTS_SIDE_PROBE_H
#define INKLING_TESTS_SIDE_PROBE_H

#include "table/side.h"

/* How many of its entries are this flow's, by as many bits of the id as they keep. */
static inline unsigned entries_aside(const struct ink_side *s, uint64_t id)
{
	uint64_t kept = s->width ? (1ull << s->form.id_bits) - 1 : ~0ull;
	unsigned n = 0;

	for (uint32_t e = 1; e <= ink_side_last(s); e++)
		n += ink_side_used(s, e) && !((ink_side_id(s, e) ^ id) & kept);
	return n;
}

#endif
