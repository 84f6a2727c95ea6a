/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `exact`: what all its slots have in common; see exact.c. */
#ifndef INKLING_KINDS_EXACT_EXACT_H
#define INKLING_KINDS_EXACT_EXACT_H

#include "table/table.h"

struct ink_exact_shape {
	uint64_t mask; /* slots - 1 */
	uint64_t count;
};

INK_SHAPE(struct ink_exact_shape);

static inline struct ink_exact_shape *ink_exact_shape_of(const struct ink_table *t)
{
	return (struct ink_exact_shape *)(uintptr_t)t->shape;
}

#endif
