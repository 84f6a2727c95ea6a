/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side table: changes that wait until their key can be read, by the key's
 * bytes. While a key is here, it is answered from here, and that is exact.
 *
 *     entries    [ key | target | claim ] [ ... ]        as they came; the last fills a hole
 *     slots      entry number + 1, by the key's id       open addressing
 *
 * The target is a symbol, or gone. The claim says what the cells hold of the
 * key, according to the caller:
 *
 *     NEW       nothing: it was inserted, and read unknown
 *     STORED    its old value: it was inserted earlier, and could not be read when it was updated or deleted
 *     MAYBE     one or the other: it was set
 */
#ifndef INKLING_KBF_PENDING_H
#define INKLING_KBF_PENDING_H

#include <inkling/kbf.h>

#include "base/allocator.h"

enum ink_claim { INK_CLAIM_NEW = 1, INK_CLAIM_STORED = 2, INK_CLAIM_MAYBE = 3 };

#define INK_PENDING_GONE UINT32_MAX

struct ink_pending_entry {
	uint64_t id;
	struct ink_bytes key; /* a copy */
	uint32_t symbol;      /* or INK_PENDING_GONE */
	enum ink_claim claim;
	uint64_t imprint; /* of its cells at the last attempt: while they are unchanged, there is no other */
};

struct ink_pending {
	const struct ink_allocator *allocator; /* the filter's */
	struct ink_pending_entry *entries;
	uint32_t *slots; /* a power of two; at most half of them taken */
	uint32_t count, room, most;
	uint32_t next;  /* entry that is tried next */
	uint64_t bytes; /* allocated */
};

void ink_pending_free(struct ink_pending *p);

/* The key's entry, or NULL. Pointers hold until something is added or removed. */
struct ink_pending_entry *ink_pending_find(const struct ink_pending *p, uint64_t id, struct ink_bytes key);

/* Bytes of the arrays that have room for so many entries. */
uint64_t ink_pending_arrays_bytes(uint32_t room);

/* Room for that many more; -ENOSPC, -ENOMEM. */
int ink_pending_reserve(struct ink_pending *p, uint32_t more);

/* Adds a key that is not there, with a copy of its bytes; -ENOSPC, -ENOMEM. */
int ink_pending_add(struct ink_pending *p, const struct ink_pending_entry *entry);

/* Adds copies of all entries of another side table, none of which is here; -ENOSPC, -ENOMEM: none is added. */
int ink_pending_add_all(struct ink_pending *to, const struct ink_pending *from);

void ink_pending_remove(struct ink_pending *p, struct ink_pending_entry *entry);

#endif
