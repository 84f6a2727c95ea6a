/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `dleft`: what all its cells have in common; see dleft.c. */
#ifndef INKLING_KINDS_DLEFT_DLEFT_H
#define INKLING_KINDS_DLEFT_DLEFT_H

#include "table/table.h"

struct ink_dleft_shape {
	uint32_t d, b, h, f;
	uint32_t cell_bits;
	uint32_t flags;       /* INK_DLEFT_... */
	uint64_t bucket_bits; /* h cells */
	uint64_t *overflow;   /* a bit for each bucket; NULL if the policy is to refuse */
};

INK_SHAPE(struct ink_dleft_shape);

static inline struct ink_dleft_shape *ink_dleft_shape_of(const struct ink_table *t)
{
	return (struct ink_dleft_shape *)(uintptr_t)t->shape;
}

#endif
