/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a table, from the server's allocator, so that used_memory and
 * maxmemory see it.
 *
 * Tables want multiples of 64. jemalloc gives them for large sizes, and a byte
 * more than a size class would cost a quarter more: so a block is asked for as it
 * is, and only if it is not aligned, as small ones are, a larger one. Where such a
 * block really begins is kept in a list, which is short: a table has a struct, a
 * body, rules, and while it grows a second body.
 */
#ifndef INKLING_REDIS_MEMORY_H
#define INKLING_REDIS_MEMORY_H

#include <inkling/inkling.h>

enum { ARENA_SHIFTED = 8 };

struct arena {
	uint64_t most;  /* bytes it gives; 0: any number */
	uint64_t given; /* as they were asked for */
	uint64_t taken; /* as the server counts them */
	struct {
		void *at, *block;
	} shifted[ARENA_SHIFTED];
};

/* What all arenas of the process have taken. */
uint64_t arenas_taken(void);

/* An allocator over the arena, which stays where it is as long as what it gave. */
struct ink_allocator arena_allocator(struct arena *arena);

/* An array of n elements in place of one of `old`; never NULL: the server ends if it has no memory. */
void *resize(void *old, uint64_t n, uint64_t element);

#endif
