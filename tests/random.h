/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for tests: the same in every run, and fewer where a test is to be short. */
#ifndef INKLING_TESTS_RANDOM_H
#define INKLING_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* xorshift64*, from a state of the caller's, as threads need */
static inline uint64_t word_from(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

/* 0 .. end-1, for ends below 2^32. */
static inline uint32_t below_from(uint64_t *state, uint64_t end)
{
	return (uint32_t)(((word_from(state) >> 32) * end) >> 32);
}

static uint64_t random_state = 1;

static inline uint64_t random_word(void)
{
	return word_from(&random_state);
}

static inline uint32_t random_below(uint64_t end)
{
	return below_from(&random_state, end);
}

/* The finalizer of splitmix64: no two numbers have the same id, and the ids are as good as random. */
static inline uint64_t id_number(uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* INK_TEST_SCALE, 1 unless it says less. */
static inline double test_scale(void)
{
	const char *text = getenv("INK_TEST_SCALE");
	double scale = text ? atof(text) : 1;

	return scale > 0 && scale < 1 ? scale : 1;
}

/* n, or less where the tests are to be short; at least 1. */
static inline uint64_t scaled(uint64_t n)
{
	uint64_t less = (uint64_t)((double)n * test_scale());

	return less ? less : 1;
}

/* Half the width of the interval that holds 99.9 % of the counts with this mean. */
static inline double spread(double mean)
{
	return 3.29 * sqrt(mean) + 1;
}

#endif
