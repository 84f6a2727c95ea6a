/* SPDX-License-Identifier: BSD-2-Clause */
/* Bodies of objects: whole pages of a file, of 4096 bytes each. */
#ifndef INKLING_BASE_PAGES_H
#define INKLING_BASE_PAGES_H

#include <stdint.h>

#include "base/allocator.h"

/* A page of a file (docs/format.md), whatever pages the system has. */
enum { INK_BODY_PAGE = 4096 };

/* The bytes of a body that needs that many: whole pages. */
static inline uint64_t ink_body_round(uint64_t bytes)
{
	return (bytes + INK_BODY_PAGE - 1) / INK_BODY_PAGE * INK_BODY_PAGE;
}

/* From our own allocator; NULL with errno. `bytes` has been rounded. */
static inline void *ink_body_alloc(uint64_t bytes)
{
	return ink_alloc(&ink_own_allocator, bytes);
}

static inline void ink_body_free(void *body, uint64_t bytes)
{
	ink_release(&ink_own_allocator, body, bytes);
}

#endif
