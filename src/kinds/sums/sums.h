/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `kbf`: what all its cells have in common; see sums.c. */
#ifndef INKLING_KINDS_SUMS_SUMS_H
#define INKLING_KINDS_SUMS_SUMS_H

#include "kinds/sums/multiset.h"
#include "table/table.h"

/* `kbf`: k shares of multisets; see multiset.h and sums.c. */
enum { INK_SUMS_MAX_K = 16 };

struct ink_sums_shape {
	uint32_t k;
	uint32_t share; /* cells in each */
	uint32_t classes;
	uint64_t state_mask; /* a bit for each state */
	ink_multiset *cells;
	unsigned char *masks;
	struct ink_multiset_shape multisets;
};

INK_SHAPE(struct ink_sums_shape);

static inline struct ink_sums_shape *ink_sums_shape_of(const struct ink_table *t)
{
	return (struct ink_sums_shape *)(uintptr_t)t->shape;
}

/* Where the masks of `kbf` begin, behind the cells, and how many bytes they are. */
static inline uint64_t ink_sums_masks_at(const struct ink_geometry *g)
{
	return ((uint64_t)g->m * sizeof(ink_multiset) + 7) / 8 * 8;
}

static inline uint64_t ink_sums_masks_bytes(const struct ink_geometry *g)
{
	return ink_multiset_masks_bytes(g->f, g->h);
}

/* In plan.c: as in struct ink_kind_def. */
int ink_sums_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why);

#endif
