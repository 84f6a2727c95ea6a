/* SPDX-License-Identifier: BSD-2-Clause */
/* How time passes in a table: by commands, and never by more than a command may take. */
#ifndef INKLING_REDIS_CLOCK_H
#define INKLING_REDIS_CLOCK_H

#include "redis/value.h"

/*
 * The cells of a `line` table of 64 MiB with 24 entries in a line, and some more: a sweep takes 0.3 ns a cell
 * (docs/benchmarks.md), so a command spends some 8 ms on them. Fixed, because replicas must stop where the
 * master does.
 */
enum { SWEEP_CELLS = 26 << 20 };

/* What a command may still do: cells that its ticks visit, items of held blobs that it releases. */
struct budget {
	uint64_t cells, items;
	uint64_t expired; /* receives: flows */
};

enum { RELEASE_ITEMS = 1 << 20 };

static inline struct budget budget_full(void)
{
	return (struct budget){.cells = SWEEP_CELLS, .items = RELEASE_ITEMS};
}

/* Puts the table at `time`, or as near as the budget allows; a time in the past changes nothing. */
void clock_pass(struct ink_value *v, uint64_t time, struct budget *budget);

/* Non-zero: the table is not yet at its time. */
int clock_lags(const struct ink_value *v);

#endif
