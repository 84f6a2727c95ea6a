/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Geometries worth trying, for those who look for the best one in a number of
 * bits, as the paper did for Table 1: timers are counted, and side tables.
 */
#ifndef INKLING_LAB_CANDIDATES_H
#define INKLING_LAB_CANDIDATES_H

#include "lab/simple.h"

enum { CANDIDATES_MOST = 24 };

/* What is looked for: ten states and a timer for so many flows at once. */
struct candidates_wish {
	double bits;
	double flows;     /* on the average */
	double most;      /* there are hardly ever more */
	uint32_t divisor; /* for runs with such a part of all: chance has more room in it */
};

/*
 * Of 60,000 active flows, 36,000 have triggers; about 27,000 are in the table at
 * once if triggers start them.
 */
struct candidates_wish candidates_for(enum reading reading, double bits, uint32_t divisor);

/* Tables of a kind; how many. */
size_t candidates(enum ink_kind kind, const struct candidates_wish *wish,
		  struct simple_table to[CANDIDATES_MOST]);

/* Of some that were tried, at least one: the first with fewest erroneous flows. */
const struct simple_table *candidates_best(const struct simple_table *tried,
					   const struct simple_result *results, size_t count);

/* "k = 4", "d = 4, h = 6, f = 18": what was chosen. */
const char *candidate_name(const struct simple_table *table, char *text, size_t size);

#endif
