/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many independent numbers from one id, for structures that give it several places:
 * the steps of splitmix64 from the id on, two numbers from each.
 */
#ifndef INKLING_BASE_MIX_H
#define INKLING_BASE_MIX_H

#include <stdint.h>

/* The finalizer of splitmix64: every bit of x reaches every bit of the result. */
static inline uint64_t ink_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* The step that has draw n and its neighbour, of which n is the lower half if it is even. */
static inline uint64_t ink_draw_pair(uint64_t id, uint32_t n)
{
	return ink_mix(id + n / 2 * 0x9e3779b97f4a7c15ull);
}

static inline uint64_t ink_draw_low(uint64_t pair, uint64_t end)
{
	return ((pair & 0xffffffff) * end) >> 32;
}

static inline uint64_t ink_draw_high(uint64_t pair, uint64_t end)
{
	return ((pair >> 32) * end) >> 32;
}

/* An id's n-th number below `end`. */
static inline uint64_t ink_draw(uint64_t id, uint32_t n, uint64_t end)
{
	uint64_t pair = ink_draw_pair(id, n);

	return n % 2 ? ink_draw_high(pair, end) : ink_draw_low(pair, end);
}

#endif
