/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys and values as large caches have them: the sizes that Atikoglu et al. found
 * for the largest pool of their Memcached servers ("Workload analysis of a
 * large-scale key-value store", SIGMETRICS 2012), which the kBF paper takes (V.B).
 *
 *     keys      generalized extreme value, mu = 30.7984, sigma = 8.20449, k = 0.078688
 *     values    up to 14 bytes by a table (44 % of all); above, 15 and a
 *               generalized Pareto, sigma = 214.476, k = 0.348238
 *
 * Sizes are rounded down. A key has 8 bytes at least, of which its number can be
 * told, so that all are different (sizes below have a probability of 1e-10), and 250
 * at most, which is Memcached's limit.
 */
#ifndef INKLING_SIM_POOL_H
#define INKLING_SIM_POOL_H

#include <stdint.h>

enum { SIM_POOL_LEAST_KEY = 8, SIM_POOL_MOST_KEY = 250, SIM_POOL_MOST_VALUE = 1 << 20 };

/* From a random word. */
uint32_t sim_pool_key_size(uint64_t word);
uint32_t sim_pool_value_size(uint64_t word); /* at most SIM_POOL_MOST_VALUE, Memcached's limit */

/* The i-th key of a seed, random bytes, into a buffer of SIM_POOL_MOST_KEY; its size. */
uint32_t sim_pool_key(uint64_t seed, uint64_t i, unsigned char *key);

#endif
