/* SPDX-License-Identifier: BSD-2-Clause */
/* How time passes in a table: by commands, and never by more than a command may take. */
#ifndef INKLING_REDIS_CLOCK_H
#define INKLING_REDIS_CLOCK_H

#include "redis/value.h"

/*
 * Cells that the ticks of one command visit. A cell that only ages takes 0.1 to 0.5 ns; one whose entry expires takes 4 ns
 * in `line` and 13 in `compact` (ink-bench-redis --large), and all may expire at once: 40 ms. Fixed, because replicas must
 * stop where the master does.
 */
enum { SWEEP_CELLS = 3 << 20 };

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
