/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side table: an exact, small hash table by full id.
 *
 * It takes the flows that the cells cannot tell apart from another one (a
 * collision, seen when the second is inserted), and those for which the lines
 * have no room: the TCAM of the ACSM paper. Flows are chained by their home,
 * which is the first line of the flow, so that the flag of that line can be
 * cleared with its last flow.
 *
 * Memory, inside the table's body (zeroed memory is an empty side table):
 *
 *     struct ink_side_head                count, free list, first unused entry
 *     uint32_t             chains[]       one chain each; entry number + 1, 0 = end
 *     struct ink_side_entry entries[]
 *
 * Threads. (1) With one writer, only that writer changes it. (2) With many,
 * whoever reads or changes it holds the lock, peeks excepted. (3) A peek walks
 * the chains without a lock: links are changed between two steps of `sequence`
 * and it starts again when that was odd or has moved; entry numbers in links
 * are always in range, so the walk is safe at any moment.
 */
#ifndef INKLING_SIDE_H
#define INKLING_SIDE_H

#include <stddef.h>
#include <stdint.h>

struct ink_side_head {
	uint32_t count;
	uint32_t free;  /* entry number + 1 */
	uint32_t fresh; /* entries from here on were never used */
	uint32_t zero;
};

struct ink_side_entry {
	uint64_t id;
	uint32_t next; /* entry number + 1; also chains the free ones */
	uint16_t code; /* as in a cell: state << age bits | age */
	uint16_t used;
};

_Static_assert(sizeof(struct ink_side_head) == 16 && sizeof(struct ink_side_entry) == 16,
	       "as in docs/format.md");

struct ink_side {
	struct ink_side_head *head;
	uint32_t *chains;
	struct ink_side_entry *entries;
	uint32_t capacity; /* also the number of chains; 0 = there is no side table */
	uint32_t hand;     /* where the search for an expendable entry goes on */
	uint32_t sequence;
	uint32_t lock;
	int shared; /* many writers */
};

/* Bytes for a capacity. */
uint64_t ink_side_bytes(uint32_t capacity);
void ink_side_init(struct ink_side *side, void *memory, uint32_t capacity, int shared);

/* Waits for the lock and takes it. */
void ink_side_wait(struct ink_side *side);

/* Its code for a thread that holds nothing, or -1. */
int ink_side_peek(const struct ink_side *side, uint32_t home, uint64_t id);

/* Stores a flow that is not there; NULL when full. */
struct ink_side_entry *ink_side_add(struct ink_side *side, uint32_t home, uint64_t id, unsigned code);

/* Removes an entry. */
void ink_side_remove(struct ink_side *side, uint32_t home, struct ink_side_entry *entry);

/* Links in range, lists that end, as many entries in them as there are: NULL, or what is wrong. */
const char *ink_side_check(const struct ink_side *side);

/* ------------------------------------------- short enough for where they are used */

/* No-ops with one writer. */
static inline void ink_side_enter(struct ink_side *side)
{
	if (side->shared)
		ink_side_wait(side);
}

static inline void ink_side_leave(struct ink_side *side)
{
	if (side->shared)
		__atomic_store_n(&side->lock, 0, __ATOMIC_RELEASE);
}

/* Homes are line numbers: neighbours must not share chains more often than others. */
static inline uint32_t *ink_side_chain(const struct ink_side *side, uint32_t home)
{
	return &side->chains[((uint64_t)(home * 0x9e3779b1u) * side->capacity) >> 32];
}

static inline struct ink_side_entry *ink_side_linked(const struct ink_side *side, const uint32_t *link)
{
	uint32_t number = __atomic_load_n(link, __ATOMIC_ACQUIRE);

	return number ? &side->entries[number - 1] : NULL;
}

/* The first entry of a chain and the next one of the same chain, or NULL. */
static inline struct ink_side_entry *ink_side_first(const struct ink_side *side, uint32_t home)
{
	return ink_side_linked(side, ink_side_chain(side, home));
}

static inline struct ink_side_entry *ink_side_next(const struct ink_side *side,
						   const struct ink_side_entry *entry)
{
	return ink_side_linked(side, &entry->next);
}

/* The flow's entry, or NULL. */
static inline struct ink_side_entry *ink_side_find(const struct ink_side *side, uint32_t home, uint64_t id)
{
	struct ink_side_entry *e = ink_side_first(side, home);

	while (e && __atomic_load_n(&e->id, __ATOMIC_ACQUIRE) != id)
		e = ink_side_next(side, e);
	return e;
}

static inline unsigned ink_side_code(const struct ink_side_entry *entry)
{
	return __atomic_load_n(&entry->code, __ATOMIC_RELAXED);
}

static inline void ink_side_recode(struct ink_side_entry *entry, unsigned code)
{
	__atomic_store_n(&entry->code, (uint16_t)code, __ATOMIC_RELAXED);
}

static inline uint32_t ink_side_count(const struct ink_side *side)
{
	return side->capacity ? __atomic_load_n(&side->head->count, __ATOMIC_RELAXED) : 0;
}

#endif
