/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks: the age of entries when it is one bit. In a phase of the paper all
 * that counts is which entries lack theirs; empty lanes lack it too, and have
 * to be told apart by their columns.
 */
#ifndef INKLING_LINE_MARKS_H
#define INKLING_LINE_MARKS_H

#include "line.h"

/*
 * The lowest bits of columns, moved to where the lanes' marks are: just above
 * the fingerprint in the column, or in the rest (lanes 0, 1, 2 at 48, 53, 58).
 */
static inline uint64_t word_marks(const struct ink_line_shape *s, uint64_t columns)
{
	if (s->fp_bits < s->low_bits)
		return columns << s->fp_bits;
	return ((columns & 1) << 48 | (columns & 1ull << 16) << 37 | (columns & 1ull << 32) << 26)
	       << (s->fp_bits - s->low_bits);
}

/* The marks that entries of a word lack; `marks` are those of all lanes. */
static inline uint64_t word_unmarked(const struct ink_line_shape *s, uint64_t word, uint64_t marks)
{
	return marks & ~word & ~word_marks(s, ink_line_columns(s, word, 0));
}

#endif
