/* SPDX-License-Identifier: BSD-2-Clause */
/* For line_cells.h: tables of the usual shape. All but the number of lines is a constant. */
#ifndef INKLING_KINDS_LINE_COMMON_SHAPE_H
#define INKLING_KINDS_LINE_COMMON_SHAPE_H

#include "engine/common_shape.h"

/* By a column's number: quicker than to shift them there. */
static const uint64_t usual_lanes[] = {LINE_USUAL_LANES}, usual_states[] = {LINE_USUAL_STATES};

#define shape_of(t) (&(const struct ink_line_shape){LINE_USUAL, .lines = (t)->shape.line.lines})

static inline uint64_t lane_bits(const struct ink_table *t, uint32_t column)
{
	(void)t;
	return usual_lanes[column / 16];
}

static inline uint64_t state_bits(const struct ink_table *t, uint32_t column)
{
	(void)t;
	return usual_states[column / 16];
}

#endif
