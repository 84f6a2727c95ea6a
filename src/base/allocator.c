/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/allocator.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

/* ------------------------------------------------------------- pages, for our own */

enum { HUGE_PAGE = 2 << 20 };

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t bytes)
{
	size_t page = page_size();

	return (bytes + page - 1) / page * page;
}

static unsigned char *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap(unsigned char *at, size_t bytes)
{
	if (bytes)
		munmap(at, bytes);
}

/*
 * In a table larger than the TLB covers, each random access to a line costs a page
 * walk; with huge pages it does not. Those begin at multiples of their size, so
 * more is mapped than needed and both ends are unmapped again.
 */
static void *map_aligned(size_t bytes)
{
	unsigned char *at = map(bytes + HUGE_PAGE);
	size_t before;

	if (!at)
		return NULL;
	before = (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
	unmap(at, before);
	unmap(at + before + bytes, HUGE_PAGE - before);
	madvise(at + before, bytes, MADV_HUGEPAGE);
	return at + before;
}

static void *own_alloc(size_t bytes, size_t alignment, void *user)
{
	size_t pages = whole_pages(bytes);
	void *at;

	(void)user;
	if (pages < bytes || bytes > SIZE_MAX / 2)
		return NULL;
	if (bytes >= page_size())
		return bytes < HUGE_PAGE ? map(pages) : map_aligned(pages);
	return posix_memalign(&at, alignment, bytes) ? NULL : at;
}

static void own_free(void *at, size_t bytes, void *user)
{
	(void)user;
	if (bytes >= page_size())
		munmap(at, whole_pages(bytes));
	else
		free(at);
}

const struct ink_allocator ink_own_allocator = {.alloc = own_alloc, .free = own_free};

/* ------------------------------------------------------------------ for all objects */

int ink_allocator_copy(struct ink_allocator *ours, const struct ink_allocator *theirs, struct ink_why *why)
{
	if (theirs && !(theirs->alloc && theirs->free))
		return ink_fail(why, -EINVAL, "allocator: it needs both functions, alloc and free");
	*ours = theirs ? *theirs : ink_own_allocator;
	return 0;
}

/* Lines are read by aligned vector loads, which fault on other addresses. */
void *ink_alloc_unset(const struct ink_allocator *a, size_t bytes)
{
	void *at = a->alloc(bytes, INK_ALIGNMENT, a->user);

	if ((uintptr_t)at % INK_ALIGNMENT == 0)
		return at;
	a->free(at, bytes, a->user);
	return NULL;
}

/* Pages of the system are zeros already; writing to them would only make it provide the memory. */
void *ink_alloc(const struct ink_allocator *a, size_t bytes)
{
	void *at = ink_alloc_unset(a, bytes);

	if (at && !(ink_allocator_is_own(a) && bytes >= page_size()))
		memset(at, 0, bytes);
	return at;
}

void ink_release(const struct ink_allocator *a, void *at, size_t bytes)
{
	if (at)
		a->free(at, bytes, a->user);
}
