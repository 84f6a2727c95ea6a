/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that follow from a seed: the n-th of a row without the ones before it. */
#ifndef INKLING_SIM_SEEDED_H
#define INKLING_SIM_SEEDED_H

#include <stdint.h>

/* The finalizer of splitmix64, a bijection. */
static inline uint64_t sim_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* A well-mixed number for each number, and other ones for another seed. */
static inline uint64_t sim_id(uint64_t seed, uint64_t number)
{
	return sim_mix(seed + sim_mix(number));
}

/* 0 .. end-1 of a word's upper half, for ends up to 2^32. */
static inline uint32_t sim_below(uint64_t word, uint64_t end)
{
	return (uint32_t)((word >> 32) * end >> 32);
}

/* 0 .. 1, without 1. */
static inline double sim_share(uint64_t word)
{
	return (double)(word >> 11) * 0x1p-53;
}

#endif
