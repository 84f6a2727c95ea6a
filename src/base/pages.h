/* SPDX-License-Identifier: BSD-2-Clause */
/* Bodies of objects: whole pages of a file, of 4096 bytes each. */
#ifndef INKLING_BASE_PAGES_H
#define INKLING_BASE_PAGES_H

#include <stdint.h>

/* A page of a file (docs/format.md), whatever pages the system has. */
enum { INK_BODY_PAGE = 4096 };

/* The bytes of a body that needs that many: whole pages. */
static inline uint64_t ink_body_round(uint64_t bytes)
{
	return (bytes + INK_BODY_PAGE - 1) / INK_BODY_PAGE * INK_BODY_PAGE;
}

#endif
