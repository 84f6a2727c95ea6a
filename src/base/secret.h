/* SPDX-License-Identifier: BSD-2-Clause */
/* The secret of a table, a filter, a map: where it comes from, and the ids of keys under it. */
#ifndef INKLING_BASE_SECRET_H
#define INKLING_BASE_SECRET_H

#include <inkling/inkling.h>

/* From the seed, always the same; without one (0) random. 0, or the system's error. */
int ink_secret_make(uint64_t seed, uint64_t secret[2], struct ink_why *why);

/* ids[i] = SipHash-1-3 of key i, with the best instructions that there are. */
void ink_secret_ids(const uint64_t secret[2], const struct ink_keys *keys, uint64_t *ids);

#endif
