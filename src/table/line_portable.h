/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searching lines, portably: implementation 0.
 *
 * The columns of a line that a search finds are gathered into one word, the
 * slots: eight bits for each word of the line, in them one bit for each column,
 * at the column's first byte. So one count says how many there are, and one
 * scan finds the first.
 */
#ifndef INKLING_LINE_PORTABLE_H
#define INKLING_LINE_PORTABLE_H

#include <stddef.h>

#include "line_marks.h"
#include "table.h"

#define CELLS_SIMD "portable"

static inline void line_places(const struct ink_line_shape *s, const uint64_t *ids, size_t n,
			       struct ink_line_place *places)
{
	for (size_t i = 0; i < n; i++)
		places[i] = ink_line_place(s, ids[i]);
}

/* The lowest bits of the columns, brought together: byte numbers within the word. */
static inline uint64_t column_slots(uint64_t columns)
{
	return (columns | columns >> 14 | columns >> 28 | columns >> 42) & 0x55;
}

/* The slots of a line with the tag of that fingerprint; of 0: the free ones. */
static inline uint64_t line_slots(const struct ink_line_shape *s, const struct ink_line *line,
				  uint32_t fingerprint)
{
	uint64_t slots = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		slots |= column_slots(ink_line_columns(s, ink_line_read(&line->word[i]), fingerprint))
			 << 8 * i;
	return slots;
}

/* Non-zero if any entry that is there lacks its mark; `marks` are those of all lanes. */
static inline int line_unmarked(const struct ink_line_shape *s, const struct ink_line *line, uint64_t marks)
{
	uint64_t unmarked = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		unmarked |= word_unmarked(s, line->word[i], marks);
	return unmarked != 0;
}

static inline void line_unmark(struct ink_line *line, uint64_t marks)
{
	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		__atomic_store_n(&line->word[i], line->word[i] & ~marks, __ATOMIC_RELEASE);
}

#endif
