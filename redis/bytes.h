/* SPDX-License-Identifier: BSD-2-Clause */
/* Little-endian numbers in bytes, on any machine and at any address; compilers make one load of each. */
#ifndef INKLING_REDIS_BYTES_H
#define INKLING_REDIS_BYTES_H

#include <stdint.h>

static inline uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t get32(const uint8_t *at)
{
	return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static inline uint64_t get64(const uint8_t *at)
{
	return get32(at) | (uint64_t)get32(at + 4) << 32;
}

static inline void put16(uint8_t *at, uint16_t n)
{
	at[0] = (uint8_t)n;
	at[1] = (uint8_t)(n >> 8);
}

static inline void put32(uint8_t *at, uint32_t n)
{
	put16(at, (uint16_t)n);
	put16(at + 2, (uint16_t)(n >> 16));
}

static inline void put64(uint8_t *at, uint64_t n)
{
	put32(at, (uint32_t)n);
	put32(at + 4, (uint32_t)(n >> 32));
}

#define FNV_BEGIN 0xcbf29ce484222325ull

/* FNV-1a, 64 bits, of more bytes. */
static inline uint64_t fnv(uint64_t sum, const void *bytes, uint64_t n)
{
	const uint8_t *at = bytes;

	for (uint64_t i = 0; i < n; i++)
		sum = (sum ^ at[i]) * 0x100000001b3ull;
	return sum;
}

#endif
