/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384, ALIGN = 16 };

struct ink_chunk {
	struct ink_chunk *older;
	size_t used, room;
	_Alignas(ALIGN) unsigned char bytes[];
};

static struct ink_chunk *add_chunk(struct ink_arena *a, size_t size)
{
	size_t room = size > CHUNK ? size : CHUNK, bytes = sizeof(struct ink_chunk) + room;
	struct ink_chunk *c = a->bytes + bytes <= INK_ARENA_MAX ? calloc(1, bytes) : NULL;

	if (!c) {
		a->failed = a->bytes + bytes <= INK_ARENA_MAX ? -ENOMEM : -E2BIG;
		return NULL;
	}
	a->bytes += bytes;
	c->older = a->chunks;
	c->room = room;
	a->chunks = c;
	return c;
}

void *ink_arena_get(struct ink_arena *a, size_t size)
{
	struct ink_chunk *c = a->chunks;
	void *got;

	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!c || c->room - c->used < size)
		c = add_chunk(a, size);
	if (!c)
		return NULL;
	got = c->bytes + c->used;
	c->used += size;
	return got;
}

void *ink_arena_grow(struct ink_arena *a, void *array, size_t n, size_t element)
{
	void *larger;

	if (n & (n - 1) || n == 1)
		return array;
	larger = ink_arena_get(a, (n ? 2 * n : 2) * element);
	if (larger && n)
		memcpy(larger, array, n * element);
	return larger;
}

char *ink_arena_string(struct ink_arena *a, const char *text, size_t length)
{
	char *copy = ink_arena_get(a, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

void ink_arena_free(struct ink_arena *a)
{
	while (a->chunks) {
		struct ink_chunk *c = a->chunks;

		a->chunks = c->older;
		free(c);
	}
}
