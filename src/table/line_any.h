/* SPDX-License-Identifier: BSD-2-Clause */
/* For line_cells.h: tables of any shape, which is asked for with every step. */
#ifndef INKLING_LINE_ANY_H
#define INKLING_LINE_ANY_H

#include "any_coding.h"

static inline const struct ink_line_shape *shape_of(const struct ink_table *t)
{
	return &t->shape.line;
}

#endif
