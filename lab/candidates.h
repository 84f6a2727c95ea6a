/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Geometries worth trying in a given number of bits, as the paper did for Table 1. Timers and side tables are
 * counted.
 */
#ifndef INKLING_LAB_CANDIDATES_H
#define INKLING_LAB_CANDIDATES_H

#include "lab/simple.h"

enum { CANDIDATES_MOST = 24 };

/* The request: ten states and a timer for this many flows at once. */
struct candidates_request {
	double bits;
	double flows;     /* on average */
	double most;      /* rarely exceeded */
	uint32_t divisor; /* a run of this part of the whole; its fluctuations are relatively larger */
};

/*
 * Of 60,000 active flows, 36,000 have triggers; about 27,000 are in the table at
 * once if triggers start them.
 */
struct candidates_request candidates_for(enum reading reading, double bits, uint32_t divisor);

/* Tables of a kind; how many. */
size_t candidates(enum ink_kind kind, const struct candidates_request *request,
		  struct simple_table to[CANDIDATES_MOST]);

/* Of some that were tried, at least one: the first with fewest erroneous flows. */
const struct simple_table *candidates_best(const struct simple_table *tried,
					   const struct simple_result *results, size_t count);

/* "k = 4", "d = 4, h = 6, f = 18": what was chosen. */
const char *candidate_name(const struct simple_table *table, char *text, size_t size);

#endif
