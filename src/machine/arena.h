/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is freed all at once: everything that is read from a text lives
 * as long as the machine that it describes. An arena has a limit, so that no
 * text can exhaust the memory of the process.
 */
#ifndef INKLING_MACHINE_ARENA_H
#define INKLING_MACHINE_ARENA_H

#include <stddef.h>

/*
 * Bytes of an arena, of the 256 MiB that compiling may take. The longest text, 1 MiB of the shortest rows
 * ("a|a|a|..."), needs 120 MiB.
 */
#define INK_ARENA_MAX ((size_t)192 << 20)

struct ink_arena {
	struct ink_chunk *chunks; /* the newest first */
	size_t bytes;             /* of all chunks */
	int failed;               /* 0; -ENOMEM: there was no memory; -E2BIG: the limit was reached */
};

/* Zeroed; NULL if there is no memory or the limit is reached, and `failed` is set. */
void *ink_arena_get(struct ink_arena *arena, size_t size);

/*
 * An array of n elements that is to take one more: itself, or a larger copy.
 * Its room is the next power of two, which no field has to record.
 */
void *ink_arena_grow(struct ink_arena *arena, void *array, size_t n, size_t element);

/* `length` characters and a 0. */
char *ink_arena_string(struct ink_arena *arena, const char *text, size_t length);

void ink_arena_free(struct ink_arena *arena);

#endif
