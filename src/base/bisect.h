/* SPDX-License-Identifier: BSD-2-Clause */
/* Bisection, by which all planners find the largest or smallest number that fits. */
#ifndef INKLING_BASE_BISECT_H
#define INKLING_BASE_BISECT_H

#include <stdint.h>

/*
 * The largest x from `low` to below `end` that fits. `low` is assumed to fit, and
 * above the first x that does not fit, none may.
 */
static inline uint64_t ink_bisect(uint64_t low, uint64_t end, int (*fits)(uint64_t x, const void *about),
				  const void *about)
{
	while (low + 1 < end) {
		uint64_t middle = low + (end - low) / 2;

		if (fits(middle, about))
			low = middle;
		else
			end = middle;
	}
	return low;
}

#endif
