/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of the kind `exact`, and the search in it; exact.c explains it.
 *
 *     slot   [ id 64 ][ stamp 64 = last touch, in ticks, 56 | state + 1, 8 ]
 */
#ifndef INKLING_KINDS_EXACT_EXACT_H
#define INKLING_KINDS_EXACT_EXACT_H

#include <stddef.h>

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

/* NULL, or what is wrong with the slots; see check.c. */
const char *ink_exact_check(const struct ink_table *t);

/* -------------------------------------------------------------------- slots */

struct slot {
	uint64_t id;
	uint64_t stamp; /* 0: the slot is empty */
};

_Static_assert(sizeof(struct slot) == 16, "as in docs/format.md and ink_cells_bytes");
_Static_assert(INK_MAX_STATES < 256, "a state and one fit the 8 bits of a stamp");

enum { TICK_AT = 8 };                 /* in a stamp, above the state */
#define TICKS (UINT64_MAX >> TICK_AT) /* the bits of a tick number that a stamp keeps */

static inline struct slot *slot_at(const struct ink_table *t, uint64_t i)
{
	return (struct slot *)t->body + i;
}

static inline uint64_t slots_of(const struct ink_table *t)
{
	return ink_exact_shape_of(t)->mask + 1;
}

/* The high bits of the id; the product keeps as many as there are slots. */
static inline uint64_t home_of(const struct ink_table *t, uint64_t id)
{
	return ((id >> 32) * slots_of(t)) >> 32;
}

static inline uint64_t behind(const struct ink_table *t, uint64_t i)
{
	return (i + 1) & ink_exact_shape_of(t)->mask;
}

static inline unsigned state_in(const struct slot *s)
{
	return (unsigned)(s->stamp & ((1u << TICK_AT) - 1)) - 1;
}

static inline uint64_t flows_of(const struct ink_table *t)
{
	uint64_t flows = 0;

	for (uint64_t i = 0; i < slots_of(t); i++)
		flows += slot_at(t, i)->stamp != 0;
	return flows;
}

/* The slot of the flow, or the empty slot where it would be stored. */
static inline struct slot *probe(const struct ink_table *t, uint64_t id)
{
	uint64_t i = home_of(t, id);

	while (slot_at(t, i)->stamp && slot_at(t, i)->id != id)
		i = behind(t, i);
	return slot_at(t, i);
}

static inline struct slot *find(const struct ink_table *t, uint64_t id)
{
	struct slot *s = probe(t, id);

	return s->stamp ? s : NULL;
}

#endif
