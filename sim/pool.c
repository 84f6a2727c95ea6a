/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/pool.h"

#include <math.h>
#include <string.h>

#include "sim/seeded.h"

static uint32_t between(double size, uint32_t least, uint32_t most)
{
	return size < least ? least : size > most ? most : (uint32_t)size;
}

/* The size that a share `u` of all keys stay below. */
static double key_quantile(double u)
{
	const double mu = 30.7984, sigma = 8.20449, k = 0.078688;

	return mu + sigma * (pow(-log(u), -k) - 1) / k;
}

uint32_t sim_pool_key_size(uint64_t word)
{
	return between(key_quantile(sim_share(word)), SIM_POOL_LEAST_KEY, SIM_POOL_MOST_KEY);
}

uint32_t sim_pool_value_size(uint64_t word)
{
	static const double small[] = {.00536, .00047, .17820, .09239, .00018, .02740, .00065, .00606,
				       .00023, .00837, .00837, .08989, .00092, .00326, .01980};
	enum { SMALL = sizeof small / sizeof small[0] };
	const double sigma = 214.476, k = 0.348238;
	double u = sim_share(word), large = 1;

	for (uint32_t size = 0; size < SMALL; size++) {
		if (u < small[size])
			return size;
		u -= small[size];
		large -= small[size];
	}
	return between(SMALL + sigma * (pow(1 - u / large, -k) - 1) / k, SMALL, SIM_POOL_MOST_VALUE);
}

uint32_t sim_pool_key(uint64_t seed, uint64_t i, unsigned char *key)
{
	uint64_t word = sim_mix(seed + i); /* a bijection: it tells the number */
	uint32_t size = sim_pool_key_size(sim_mix(word));

	for (uint32_t at = 0; at < size; at += sizeof word) {
		memcpy(key + at, &word, size - at < sizeof word ? size - at : sizeof word);
		word = sim_mix(word);
	}
	return size;
}
