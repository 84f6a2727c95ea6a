/* SPDX-License-Identifier: BSD-2-Clause */
/* Searching lines, portably: implementation 0. */
#ifndef INKLING_LINE_PORTABLE_H
#define INKLING_LINE_PORTABLE_H

#include <stddef.h>

#include "line_marks.h"
#include "line_slots.h"
#include "table.h"

#define CELLS_SIMD "portable"

static inline void line_places(const struct ink_line_shape *s, const uint64_t *ids, size_t n,
			       struct ink_line_place *places)
{
	for (size_t i = 0; i < n; i++)
		places[i] = ink_line_place(s, ids[i]);
}

/* The lowest bits of the columns, brought together. */
static inline uint32_t column_slots(uint64_t columns)
{
	return (uint32_t)(columns | columns >> 15 | columns >> 30 | columns >> 45) & 0xf;
}

/* The slots of a line with the tag of that fingerprint; of 0: the free ones. */
static inline uint32_t line_slots(const struct ink_line_shape *s, const struct ink_line *line,
				  uint32_t fingerprint)
{
	uint32_t slots = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		slots |= column_slots(ink_line_columns(s, ink_line_read(&line->word[i]), fingerprint))
			 << 4 * line_word_order(i);
	return slots;
}

/* The same for two lines, the first in the lower half. */
static inline uint64_t pair_slots(const struct ink_line_shape *s, const struct ink_line *first,
				  const struct ink_line *second, uint32_t fingerprint)
{
	return line_slots(s, first, fingerprint) | (uint64_t)line_slots(s, second, fingerprint) << 32;
}

/* The places of marks in a word whose states are looked at. */
static inline uint64_t word_due(const struct ink_line_shape *s, const struct ink_line_looks *l, uint64_t word)
{
	uint64_t due = 0;

	if (l->all)
		return l->marks;
	for (uint32_t lane = 0, at = l->first; lane < s->lanes; lane++, at += l->stride)
		due |= (uint64_t)l->due[word >> (at + 1) & l->state_mask] << at;
	return due;
}

/* The look at a line. Words in which an entry expires stay as they are: the result, a bit for each. */
static inline unsigned line_look(const struct ink_line_shape *s, const struct ink_line_looks *l,
				 struct ink_line *line)
{
	unsigned expiring = 0;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++) {
		uint64_t word = line->word[i], due = word_due(s, l, word);

		if (due & ~word & ~word_marks(s, ink_line_columns(s, word, 0)))
			expiring |= 1u << i;
		else
			__atomic_store_n(&line->word[i], word & ~due, __ATOMIC_RELEASE);
	}
	return expiring;
}

#endif
