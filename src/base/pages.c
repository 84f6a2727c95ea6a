/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pages.h"

#include <stddef.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

uint64_t ink_body_round(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static unsigned char *map(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap(unsigned char *at, uint64_t bytes)
{
	if (bytes)
		munmap(at, bytes);
}

/*
 * Random lines of a table larger than what the TLB covers cost a page walk
 * each; with huge pages they do not. Those begin at multiples of their size,
 * so more is mapped than needed and both ends are given back.
 */
static void *map_aligned(uint64_t bytes)
{
	unsigned char *at = map(bytes + HUGE_PAGE);
	uint64_t before;

	if (!at)
		return NULL;
	before = (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
	unmap(at, before);
	unmap(at + before + bytes, HUGE_PAGE - before);
	madvise(at + before, bytes, MADV_HUGEPAGE);
	return at + before;
}

void *ink_body_alloc(uint64_t bytes)
{
	return bytes < HUGE_PAGE ? map(bytes) : map_aligned(bytes);
}

void ink_body_free(void *body, uint64_t bytes)
{
	if (body)
		munmap(body, bytes);
}
