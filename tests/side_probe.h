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

static inline struct two_lines sorted(uint32_t a, uint32_t b)
{
	return a < b ? (struct two_lines){a, b} : (struct two_lines){b, a};
}

static inline struct two_lines of_line(const struct ink_table *table, uint64_t id)
{
	const struct ink_line_shape *s = ink_line_shape_of(table);
	struct ink_line_place p = ink_line_place(s, id);

	return sorted(p.first * s->words / INK_LINE_WORDS, p.second * s->words / INK_LINE_WORDS);
}

static inline struct two_lines of_compact(const struct ink_table *table, uint64_t id)
{
	struct place p = compact_place(ink_compact_shape_of(table), table->plan.geometry.b, id);

	return sorted(first_line(&p), second_line(&p));
}

/* The candidate lines of a flow in `line` and `compact`. */
static inline struct two_lines lines_of(const struct ink_table *table, uint64_t id)
{
	static struct two_lines (*const of[])(const struct ink_table *,
					      uint64_t) = {[INK_LINE] = of_line, [INK_COMPACT] = of_compact};

	return of[table->plan.kind](table, id);
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
