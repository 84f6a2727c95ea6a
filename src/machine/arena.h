/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is given back all at once: everything that is read from a text
 * lives as long as the machine that comes of it.
 */
#ifndef INKLING_MACHINE_ARENA_H
#define INKLING_MACHINE_ARENA_H

#include <stddef.h>

struct ink_arena {
	struct ink_chunk *chunks; /* the newest first */
	int failed;               /* there was no memory */
};

/* Zeroed; NULL if there is no memory, and `failed` is set. */
void *ink_arena_get(struct ink_arena *arena, size_t size);

/*
 * An array of n elements that is to take one more: itself, or a larger copy.
 * Its room is the next power of two, so nobody has to remember it.
 */
void *ink_arena_grow(struct ink_arena *arena, void *array, size_t n, size_t element);

/* `length` characters and a 0. */
char *ink_arena_string(struct ink_arena *arena, const char *text, size_t length);

void ink_arena_free(struct ink_arena *arena);

#endif
