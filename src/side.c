/* SPDX-License-Identifier: BSD-2-Clause */
#include "side.h"

#include <sched.h>
#include <stddef.h>

/* -------------------------------------------------------------- the memory */

uint64_t ink_side_bytes(uint32_t capacity)
{
	uint64_t chains = ((uint64_t)capacity * sizeof(uint32_t) + 15) / 16 * 16;

	return capacity ? sizeof(struct ink_side_head) + chains +
				  capacity * (uint64_t)sizeof(struct ink_side_entry)
			: 0;
}

void ink_side_init(struct ink_side *side, void *memory, uint32_t capacity, int shared)
{
	unsigned char *end = (unsigned char *)memory + ink_side_bytes(capacity);

	*side = (struct ink_side){.capacity = capacity, .shared = shared};
	if (!capacity)
		return;
	side->head = memory;
	side->chains = (uint32_t *)(side->head + 1);
	side->entries = (struct ink_side_entry *)(void *)(end - capacity * sizeof(struct ink_side_entry));
}

static uint32_t link_of(const struct ink_side *side, const struct ink_side_entry *entry)
{
	return (uint32_t)(entry - side->entries) + 1;
}

/* --------------------------------------------------------------- the locks */

void ink_side_wait(struct ink_side *side)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&side->lock, 1, __ATOMIC_ACQUIRE))
		if (++spins % 64 == 0)
			sched_yield();
}

/* The odd number comes before, the even one after every change that a peek could stumble over. */
static void disturb(struct ink_side *side)
{
	__atomic_store_n(&side->sequence, side->sequence + 1, __ATOMIC_RELAXED);
}

static void settle(struct ink_side *side)
{
	__atomic_store_n(&side->sequence, side->sequence + 1, __ATOMIC_RELEASE);
}

static void relink(uint32_t *link, uint32_t to)
{
	__atomic_store_n(link, to, __ATOMIC_RELEASE);
}

/* ----------------------------------------------------------------- peeking */

/* As find, but the chain may change under our feet, even into a ring: no walk is longer than the table. */
static int peek_once(const struct ink_side *side, uint32_t home, uint64_t id)
{
	const struct ink_side_entry *e = ink_side_first(side, home);

	for (uint32_t steps = 0; e && steps < side->capacity; steps++, e = ink_side_next(side, e))
		if (__atomic_load_n(&e->id, __ATOMIC_ACQUIRE) == id)
			return (int)__atomic_load_n(&e->code, __ATOMIC_ACQUIRE);
	return -1;
}

int ink_side_peek(const struct ink_side *side, uint32_t home, uint64_t id)
{
	for (;;) {
		uint32_t before = __atomic_load_n(&side->sequence, __ATOMIC_ACQUIRE);
		int code = peek_once(side, home, id);

		if (before % 2 == 0 && before == __atomic_load_n(&side->sequence, __ATOMIC_RELAXED))
			return code;
	}
}

/* ---------------------------------------------------------------- changing */

static struct ink_side_entry *take_free(struct ink_side *side)
{
	struct ink_side_head *head = side->head;
	struct ink_side_entry *e = ink_side_linked(side, &head->free);

	if (e) {
		head->free = e->next;
		return e;
	}
	if (head->fresh == side->capacity)
		return NULL;
	e = &side->entries[head->fresh];
	__atomic_store_n(&head->fresh, head->fresh + 1, __ATOMIC_RELEASE);
	return e;
}

struct ink_side_entry *ink_side_add(struct ink_side *side, uint32_t home, uint64_t id, unsigned code)
{
	struct ink_side_entry *e = side->capacity ? take_free(side) : NULL;
	uint32_t *chain;

	if (!e)
		return NULL;
	chain = ink_side_chain(side, home);
	disturb(side);
	__atomic_store_n(&e->id, id, __ATOMIC_RELEASE);
	__atomic_store_n(&e->code, (uint16_t)code, __ATOMIC_RELEASE);
	__atomic_store_n(&e->used, 1, __ATOMIC_RELAXED);
	relink(&e->next, *chain);
	relink(chain, link_of(side, e));
	settle(side);
	__atomic_store_n(&side->head->count, side->head->count + 1, __ATOMIC_RELAXED);
	return e;
}

void ink_side_remove(struct ink_side *side, uint32_t home, struct ink_side_entry *entry)
{
	uint32_t link = link_of(side, entry);
	uint32_t *at = ink_side_chain(side, home);

	while (*at != link)
		at = &side->entries[*at - 1].next;
	disturb(side);
	relink(at, entry->next);
	relink(&entry->next, side->head->free);
	settle(side);
	__atomic_store_n(&entry->used, 0, __ATOMIC_RELAXED);
	side->head->free = link;
	__atomic_store_n(&side->head->count, side->head->count - 1, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------- checking */

/*
 * Follows one list and counts its entries together with those of other lists.
 * More than there are: the list does not end, or it meets another one.
 */
static const char *check_list(const struct ink_side *side, uint32_t link, unsigned used, uint32_t *count)
{
	while (link) {
		const struct ink_side_entry *e;

		if (link > side->head->fresh)
			return "a link of the side table leads outside";
		if (++*count > side->head->fresh)
			return "a list of the side table does not end, or meets another";
		e = &side->entries[link - 1];
		if (e->used != used)
			return used ? "a chain of the side table holds a free entry"
				    : "the free list of the side table holds a used entry";
		link = e->next;
	}
	return NULL;
}

static const char *check_fresh(const struct ink_side *side)
{
	for (uint32_t i = side->head->fresh; i < side->capacity; i++) {
		const struct ink_side_entry *e = &side->entries[i];

		if (e->id || e->next || e->code || e->used)
			return "an entry of the side table that was never used is not empty";
	}
	return NULL;
}

/*
 * That each used entry is in the chain of its home, the caller checks; with as
 * many entries in the chains as are used, each is there once.
 */
const char *ink_side_check(const struct ink_side *side)
{
	const struct ink_side_head *head = side->head;
	uint32_t free = 0, used = 0;
	const char *wrong;

	if (!side->capacity)
		return NULL;
	if (head->fresh > side->capacity || head->count > head->fresh || head->zero)
		return "the side table's head contradicts its size";
	wrong = check_list(side, head->free, 0, &free);
	for (uint32_t i = 0; i < side->capacity && !wrong; i++)
		wrong = check_list(side, side->chains[i], 1, &used);
	if (!wrong && (used != head->count || free != head->fresh - head->count))
		wrong = "the side table's count is wrong";
	return wrong ? wrong : check_fresh(side);
}
