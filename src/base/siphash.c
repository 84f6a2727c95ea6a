/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids one after the other, in portable code. The keys do not depend on each
 * other, so a processor that looks far enough ahead works on two at a time.
 */
#include "base/siphash_batch.h"

#include "base/siphash.h"

/* The usual key, and a constant for the compiler: no loop and no branch within a key. */
static void batch_16(const uint64_t secret[2], const uint8_t *keys, size_t n, uint64_t *ids)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = ink_siphash13(secret, keys + 16 * i, 16);
}

static void batch(const uint64_t secret[2], const struct ink_keys *keys, uint64_t *ids)
{
	if (keys->length == 16) {
		batch_16(secret, (const uint8_t *)keys->bytes, keys->n, ids);
		return;
	}
	for (size_t i = 0; i < keys->n; i++)
		ids[i] = ink_siphash13(secret, ink_key_at(keys, i), keys->length);
}

const struct ink_id_ops ink_id_portable = {
	.name = "portable",
	.batch = batch,
};
