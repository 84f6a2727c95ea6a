/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/secret.h"

#include <errno.h>
#include <sys/random.h>

#include "base/cpu.h"
#include "base/siphash.h"
#include "base/siphash_batch.h"
#include "base/error.h"

/* Two words from one seed, as unrelated as the hash makes them. */
static void secret_from_seed(uint64_t seed, uint64_t secret[2])
{
	const uint64_t name[2] = {0x696e6b6c696e6721ull, seed};

	secret[0] = ink_siphash13(name, "first", 5);
	secret[1] = ink_siphash13(name, "second", 6);
}

int ink_secret_make(uint64_t seed, uint64_t secret[2], struct ink_why *why)
{
	if (seed)
		return secret_from_seed(seed, secret), 0;
	if (getrandom(secret, 2 * sizeof *secret, 0) == (ssize_t)(2 * sizeof *secret))
		return 0;
	return ink_fail(why, errno ? -errno : -EIO, "no random numbers for the secret");
}

void ink_secret_ids(const uint64_t secret[2], const struct ink_keys *keys, uint64_t *ids)
{
#ifdef INK_HAVE_AVX2
	if (ink_cpu_has(INK_SIMD_AVX2)) {
		ink_id_avx2.batch(secret, keys, ids);
		return;
	}
#endif
	ink_id_portable.batch(secret, keys, ids);
}
