/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/memory.h"

#include <stdint.h>

#include "redis/api.h"

static uint64_t all_taken; /* tables are freed in other threads, too */

static void take(struct arena *a, void *block)
{
	uint64_t bytes = server.MallocUsableSize(block);

	a->taken += bytes;
	__atomic_fetch_add(&all_taken, bytes, __ATOMIC_RELAXED);
}

static void give_back(struct arena *a, void *block)
{
	uint64_t bytes = server.MallocUsableSize(block);

	a->taken -= bytes;
	__atomic_fetch_sub(&all_taken, bytes, __ATOMIC_RELAXED);
	server.Free(block);
}

uint64_t arenas_taken(void)
{
	return __atomic_load_n(&all_taken, __ATOMIC_RELAXED);
}

static void *shifted_block(struct arena *a, size_t bytes, size_t alignment)
{
	for (int i = 0; i < ARENA_SHIFTED; i++) {
		uint8_t *block;

		if (a->shifted[i].at)
			continue;
		block = server.TryAlloc(bytes + alignment);
		if (!block)
			return NULL;
		take(a, block);
		a->shifted[i].block = block;
		return a->shifted[i].at = block + (alignment - (uintptr_t)block % alignment) % alignment;
	}
	return NULL;
}

static void *arena_alloc(size_t bytes, size_t alignment, void *user)
{
	struct arena *a = user;
	void *at;

	if ((a->most && bytes > a->most - a->given) || bytes > SIZE_MAX / 2)
		return NULL;
	at = server.TryAlloc(bytes);
	if (at && (uintptr_t)at % alignment) {
		server.Free(at);
		at = shifted_block(a, bytes, alignment);
	} else if (at) {
		take(a, at);
	}
	if (at)
		a->given += bytes;
	return at;
}

static void *block_of(struct arena *a, void *at)
{
	for (int i = 0; i < ARENA_SHIFTED; i++)
		if (a->shifted[i].at == at) {
			a->shifted[i].at = NULL;
			return a->shifted[i].block;
		}
	return at;
}

static void arena_free(void *at, size_t bytes, void *user)
{
	struct arena *a = user;

	if (!at)
		return;
	a->given -= bytes;
	give_back(a, block_of(a, at));
}

struct ink_allocator arena_allocator(struct arena *arena)
{
	return (struct ink_allocator){.alloc = arena_alloc, .free = arena_free, .user = arena};
}

void *resize(void *old, uint64_t n, uint64_t element)
{
	return server.Realloc(old, (size_t)(n * element));
}
