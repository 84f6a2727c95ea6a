/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids of many keys at once: one file for each instruction set, and all give
 * the ids that ink_siphash13 gives.
 */
#ifndef INKLING_BASE_SIPHASH_BATCH_H
#define INKLING_BASE_SIPHASH_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include <inkling/inkling.h>

struct ink_id_ops {
	const char *name;
	/*
	 * ids[i] = SipHash-1-3 of key i; any n, any length, any alignment. Reads
	 * the n x length bytes and none beside them. `ids` must not overlap the
	 * keys: an id may be written before the last key is read, or twice.
	 */
	void (*batch)(const uint64_t secret[2], const struct ink_keys *keys, uint64_t *ids);
};

extern const struct ink_id_ops ink_id_portable; /* siphash.c */
extern const struct ink_id_ops ink_id_avx2;     /* siphash_avx2.c: the processor must have AVX2 and BMI2 */

/* Key i. With length 0 all keys are in one place, which may be NULL: nothing may be added to that. */
static inline const uint8_t *ink_key_at(const struct ink_keys *keys, size_t i)
{
	const uint8_t *first = (const uint8_t *)keys->bytes;

	return keys->length ? first + i * keys->length : first;
}

#endif
