/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of an object: through the caller's struct ink_allocator, or through the
 * library's own. An object keeps a copy of the struct that it was given and passes
 * it to the calls below.
 *
 * The library's own allocator takes what is smaller than a page from malloc, and
 * whole pages from the system; from 2 MiB on they are aligned for huge pages.
 */
#ifndef INKLING_BASE_ALLOCATOR_H
#define INKLING_BASE_ALLOCATOR_H

#include <inkling/inkling.h>

/* What objects ask for: a cache line, which is also a line of `line` and `compact`. */
enum { INK_ALIGNMENT = 64 };

extern const struct ink_allocator ink_own_allocator;

/* Copies the caller's allocator; our own, if it gave none. 0, or -EINVAL: a function is missing. */
int ink_allocator_copy(struct ink_allocator *ours, const struct ink_allocator *theirs, struct ink_why *why);

static inline int ink_allocator_is_own(const struct ink_allocator *a)
{
	return a->alloc == ink_own_allocator.alloc;
}

/* Zeros, or NULL. */
void *ink_alloc(const struct ink_allocator *a, size_t bytes);

/* The same with any contents, for callers that overwrite all of it. */
void *ink_alloc_unset(const struct ink_allocator *a, size_t bytes);

/* NULL is allowed. `bytes` as when it was allocated. */
void ink_release(const struct ink_allocator *a, void *at, size_t bytes);

#endif
