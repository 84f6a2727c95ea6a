/* SPDX-License-Identifier: BSD-2-Clause */
#include "kbf/pending.h"

#include <errno.h>
#include <string.h>

#include "base/shift.h"

enum { FIRST_ROOM = 16 };

static uint32_t mask_of(const struct ink_pending *p)
{
	return 2 * p->room - 1;
}

static uint32_t home_of(const struct ink_pending *p, uint64_t id)
{
	return (uint32_t)(id >> 32) & mask_of(p);
}

static int is_key(const struct ink_pending_entry *e, uint64_t id, struct ink_bytes key)
{
	return e->id == id && e->key.length == key.length &&
	       (key.length == 0 || memcmp(e->key.bytes, key.bytes, key.length) == 0);
}

struct ink_pending_entry *ink_pending_find(const struct ink_pending *p, uint64_t id, struct ink_bytes key)
{
	if (!p->count)
		return NULL;
	for (uint32_t i = home_of(p, id); p->slots[i]; i = (i + 1) & mask_of(p))
		if (is_key(&p->entries[p->slots[i] - 1], id, key))
			return &p->entries[p->slots[i] - 1];
	return NULL;
}

/* ------------------------------------------------------------------- adding */

static void put_slot(struct ink_pending *p, uint32_t number)
{
	uint32_t i = home_of(p, p->entries[number].id);

	while (p->slots[i])
		i = (i + 1) & mask_of(p);
	p->slots[i] = number + 1;
}

static size_t entries_bytes(size_t room)
{
	return room * sizeof(struct ink_pending_entry);
}

static size_t slots_bytes(size_t room)
{
	return 2 * room * sizeof(uint32_t);
}

uint64_t ink_pending_arrays_bytes(uint32_t room)
{
	return entries_bytes(room) + slots_bytes(room);
}

static void free_arrays(struct ink_pending *p)
{
	ink_release(p->allocator, p->entries, entries_bytes(p->room));
	ink_release(p->allocator, p->slots, slots_bytes(p->room));
}

static int resize(struct ink_pending *p, uint32_t room)
{
	struct ink_pending larger = *p;

	larger.room = room;
	larger.entries = ink_alloc(p->allocator, entries_bytes(room));
	larger.slots = ink_alloc(p->allocator, slots_bytes(room));
	if (!larger.entries || !larger.slots) {
		free_arrays(&larger);
		return -ENOMEM;
	}
	if (p->count)
		memcpy(larger.entries, p->entries, entries_bytes(p->count));
	larger.bytes += ink_pending_arrays_bytes(room) - ink_pending_arrays_bytes(p->room);
	free_arrays(p);
	*p = larger;
	for (uint32_t i = 0; i < p->count; i++)
		put_slot(p, i);
	return 0;
}

int ink_pending_reserve(struct ink_pending *p, uint32_t more)
{
	uint32_t room = p->room ? p->room : FIRST_ROOM;

	if (more > p->most || p->count > p->most - more)
		return -ENOSPC;
	while (room < p->count + more)
		room *= 2;
	return room > p->room ? resize(p, room) : 0;
}

int ink_pending_add(struct ink_pending *p, const struct ink_pending_entry *entry)
{
	int error = ink_pending_reserve(p, 1);
	void *copy = error ? NULL : ink_alloc_unset(p->allocator, entry->key.length + 1);

	if (!copy)
		return error ? error : -ENOMEM;
	if (entry->key.length)
		memcpy(copy, entry->key.bytes, entry->key.length);
	p->entries[p->count] = *entry;
	p->entries[p->count].key.bytes = copy;
	p->bytes += entry->key.length + 1;
	put_slot(p, p->count++);
	return 0;
}

/* ------------------------------------------------------------------ removing */

static void free_key(const struct ink_pending *p, const struct ink_pending_entry *e)
{
	ink_release(p->allocator, (void *)(uintptr_t)e->key.bytes, e->key.length + 1);
}

static uint32_t slot_of(const struct ink_pending *p, uint32_t number)
{
	uint32_t i = home_of(p, p->entries[number].id);

	while (p->slots[i] != number + 1)
		i = (i + 1) & mask_of(p);
	return i;
}

static uint64_t home_in(const void *pending, uint64_t slot)
{
	const struct ink_pending *p = pending;

	return p->slots[slot] ? home_of(p, p->entries[p->slots[slot] - 1].id) : INK_SHIFT_EMPTY;
}

static void move_slot(void *pending, uint64_t from, uint64_t to)
{
	struct ink_pending *p = pending;

	p->slots[to] = p->slots[from];
}

static void free_slot(struct ink_pending *p, uint32_t slot)
{
	const struct ink_shift shift = {2 * (uint64_t)p->room, home_in, move_slot};

	p->slots[ink_shift_back(&shift, p, slot)] = 0;
}

void ink_pending_remove(struct ink_pending *p, struct ink_pending_entry *entry)
{
	uint32_t number = (uint32_t)(entry - p->entries), last = p->count - 1;

	free_slot(p, slot_of(p, number));
	p->bytes -= entry->key.length + 1;
	free_key(p, entry);
	if (number != last) {
		p->slots[slot_of(p, last)] = number + 1;
		*entry = p->entries[last];
	}
	p->count--;
}

int ink_pending_add_all(struct ink_pending *to, const struct ink_pending *from)
{
	uint32_t before = to->count;
	int error = ink_pending_reserve(to, from->count);

	for (uint32_t i = 0; i < from->count && !error; i++)
		error = ink_pending_add(to, &from->entries[i]);
	while (error && to->count > before)
		ink_pending_remove(to, &to->entries[to->count - 1]);
	return error;
}

void ink_pending_free(struct ink_pending *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free_key(p, &p->entries[i]);
	free_arrays(p);
}
