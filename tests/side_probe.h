/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests that look into a table: the lines of a flow, and its entries in the side table. */
#ifndef INKLING_TESTS_SIDE_PROBE_H
#define INKLING_TESTS_SIDE_PROBE_H

#include "kinds/compact/compact.h"
#include "kinds/line/kind.h"
#include "table/table.h"

struct two_lines {
	uint32_t low, high;
};

/* The candidate lines of a flow in `line` and `compact`. */
static inline struct two_lines lines_of(const struct ink_table *table, uint64_t id)
{
	uint32_t first, second;

	if (table->plan.kind == INK_LINE) {
		struct ink_line_place p = ink_line_place(ink_line_shape_of(table), id);

		first = p.first, second = p.second;
	} else {
		struct place p = compact_place(ink_compact_shape_of(table), table->plan.geometry.b, id);

		first = first_line(&p), second = second_line(&p);
	}
	return first < second ? (struct two_lines){first, second} : (struct two_lines){second, first};
}

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
