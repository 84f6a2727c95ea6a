/* SPDX-License-Identifier: BSD-2-Clause */
/* For compact_cells.h: tables of any shape, which is asked for with every step. */
#ifndef INKLING_KINDS_COMPACT_GENERIC_H
#define INKLING_KINDS_COMPACT_GENERIC_H

#include "engine/generic.h"
#include "kinds/compact/compact.h"

static inline const struct ink_compact_shape *shape_of(const struct ink_table *t)
{
	return &t->shape.compact;
}

#endif
