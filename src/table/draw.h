/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many independent numbers from one id, for kinds in which a flow has several
 * places: the steps of splitmix64 from the id on, two numbers from each.
 */
#ifndef INKLING_DRAW_H
#define INKLING_DRAW_H

#include <stdint.h>

/* The finalizer of splitmix64: every bit of x reaches every bit of the result. */
static inline uint64_t ink_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* An id's n-th number below `end`. */
static inline uint64_t ink_draw(uint64_t id, uint32_t n, uint64_t end)
{
	uint64_t pair = ink_mix(id + n / 2 * 0x9e3779b97f4a7c15ull);

	return ((n % 2 ? pair >> 32 : pair & 0xffffffff) * end) >> 32;
}

#endif
