/* SPDX-License-Identifier: BSD-2-Clause */
/* How batches over 64-byte lines prefetch (batch.h): sizes, and into which cache. */
#ifndef INKLING_ENGINE_PREFETCH_H
#define INKLING_ENGINE_PREFETCH_H

#include "table/coding.h"

/*
 * Items in a block of a batch, and how many inserts into `line` may be deferred
 * (kinds/line/insert.h). The more, the better their memory accesses overlap; with
 * this many, their lines, five each, stay in the L1 cache.
 */
enum { INK_BLOCK = 16, INK_PENDING = 48 };

/* The prefetch's intent. FETCH_FAR: into L2 only. */
enum ink_intent { FETCH_TO_READ, FETCH_TO_CHANGE, FETCH_FAR };

INK_HOT void ink_prefetch_line(const void *line, enum ink_intent how)
{
	if (how == FETCH_FAR)
		__builtin_prefetch(line, 0, 2);
	else if (how == FETCH_TO_CHANGE)
		__builtin_prefetch(line, 1);
	else
		__builtin_prefetch(line);
}

#endif
