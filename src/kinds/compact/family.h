/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a variant of `compact` knows of its tables when it is compiled.
 *
 *     -DINK_COMMON_SHAPE=1                       everything: remainders of 8 bits
 *     -DINK_COMMON_SHAPE=1 -DINK_DEFAULT_ERROR=1 ... of 11 bits
 *     -DINK_COLUMNS_1=1                          one column, at most 32 slots
 *     -DINK_COLUMNS_1=1 -DINK_MANY_SLOTS=1       one column, more slots
 *     -DINK_COLUMNS_2=1, -DINK_COLUMNS_3=1       so many columns, at most 32 slots
 *
 * The last three are families of shapes: with the number of columns and of registers
 * known, a hit takes a quarter less time than with neither, and churn 15 %. All other
 * numbers of their shapes are read from the table.
 */
#ifndef INKLING_KINDS_COMPACT_FAMILY_H
#define INKLING_KINDS_COMPACT_FAMILY_H

#include "engine/variant.h"
#include "kinds/compact/compact.h"

#if INK_COLUMNS_1
enum { KNOWN_COLUMNS = 1 };
#elif INK_COLUMNS_2
enum { KNOWN_COLUMNS = 2 };
#elif INK_COLUMNS_3
enum { KNOWN_COLUMNS = 3 };
#else
enum { KNOWN_COLUMNS = 0 };
#endif

#if INK_MANY_SLOTS
enum { HAS_MANY_SLOTS = 1 };
#else
enum { HAS_MANY_SLOTS = 0 };
#endif

#if INK_DEFAULT_ERROR
enum { IS_DEFAULT_ERROR = 1 };
#else
enum { IS_DEFAULT_ERROR = 0 };
#endif

static inline const struct ink_compact_shape *shape_of(const struct ink_table *t)
{
	if (IS_COMMON_SHAPE)
		return IS_DEFAULT_ERROR ? &compact_default_error : &compact_common;
	return ink_compact_shape_of(t);
}

INK_HOT unsigned columns_of(const struct ink_compact_shape *s)
{
	return KNOWN_COLUMNS ? (unsigned)KNOWN_COLUMNS : s->columns;
}

/* Is a slot of either line a bit of one word, and the first column in the first half of a line? */
INK_HOT int has_few_slots(const struct ink_compact_shape *s)
{
	return KNOWN_COLUMNS ? !HAS_MANY_SLOTS : s->slots <= 32;
}

/* Families have only such shapes. */
INK_HOT int moves_by_vectors(const struct ink_compact_shape *s)
{
	return KNOWN_COLUMNS > 0 || s->has_vectors;
}

#endif
