/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks: the age of entries when it is one bit, the lowest of their codes. A
 * look at some states (see ink_looks_at) takes the marks of their entries
 * away. Entries that have none to lose expire; empty lanes have none either,
 * and have to be told apart by their columns.
 *
 * Words are little numbers of lanes with the codes at equal distances:
 *
 *     code of a lane   word >> (first + lane * stride)
 *     mark             its lowest bit
 *     state            the state_mask bits above
 */
#ifndef INKLING_LINE_MARKS_H
#define INKLING_LINE_MARKS_H

#include "line.h"

enum { INK_LOOKS_STATES = 16 }; /* so many bytes a vector instruction looks up at once */

struct ink_line_looks {
	uint64_t marks; /* of all lanes */
	uint32_t first, stride, state_mask;
	int all; /* every state is looked at, and `due` need not be asked */
	uint8_t due[INK_LOOKS_STATES];
};

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

#endif
