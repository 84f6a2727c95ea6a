/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tick in portions that is under way, as part of a snapshot (docs/format.md).
 *
 * What the tick does to each code was computed when it began (tick.c), from rules
 * that the snapshot does not contain and that may have been replaced since. So the
 * result is saved: for each state, whether the tick looks at it, and the state to
 * which an expired entry moves. A tick in portions takes at most one look, so one
 * number for each state is enough.
 */
#ifndef INKLING_TABLE_PAUSED_H
#define INKLING_TABLE_PAUSED_H

#include "table/table.h"

enum { INK_PAUSED_NO_LOOK = 0, INK_PAUSED_DELETE = 1, INK_PAUSED_MOVE = 2 }; /* + the state it moves to */

struct ink_paused {
	uint64_t target;
	uint64_t cursor;
	uint64_t expired[INK_STATE_CODES]; /* not yet reported */
	uint16_t looks[INK_STATE_CODES];
	uint32_t flags_due;
	uint32_t zero;
};

_Static_assert(sizeof(struct ink_paused) == 2584, "docs/format.md: bytes 504 to 3087");

static inline int ink_is_paused(const struct ink_table *t)
{
	return t->aging.target != t->aging.now;
}

/* The tick that is under way; all zeros if none is. */
void ink_pause_save(const struct ink_table *t, struct ink_paused *p);

/* Is that a tick that this table can have? All but the rules and the body is there. NULL, or what is wrong. */
const char *ink_pause_check(const struct ink_table *t, const struct ink_paused *p);

/* Goes on where it was. Epochs are those of the time before the tick. */
void ink_pause_restore(struct ink_table *t, const struct ink_paused *p);

#endif
