/* SPDX-License-Identifier: BSD-2-Clause */
/* For line_cells.h: tables of any shape, which is asked for with every step. */
#ifndef INKLING_KINDS_LINE_GENERIC_H
#define INKLING_KINDS_LINE_GENERIC_H

#include "engine/generic.h"

static inline const struct ink_line_shape *shape_of(const struct ink_table *t)
{
	return &t->shape.line;
}

static inline uint64_t lane_bits(const struct ink_table *t, uint32_t column)
{
	return ink_line_lane(shape_of(t), column);
}

static inline uint64_t state_bits(const struct ink_table *t, uint32_t column)
{
	const struct ink_line_shape *s = shape_of(t);
	uint32_t state = coding_of(t)->unsure << coding_of(t)->age_bits;

	return ink_line_spread(s, column, ink_line_make_entry(s, 0, state));
}

#endif
