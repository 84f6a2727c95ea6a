/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory and random numbers that run out when they are told to. The linker puts
 * these functions between the library and the system (--wrap; tests/meson.build).
 */
#ifndef INKLING_TESTS_SCARCE_H
#define INKLING_TESTS_SCARCE_H

#include <dirent.h>
#include <sys/types.h>
#include "tests/test.h"

/* ------------------------------------------------------------------- the system */

static struct {
	unsigned requests; /* since the last time that something was made to fail */
	unsigned failing;  /* this one fails; 0: none */
	int all;           /* and all after it */
	long blocks;       /* that were given and not taken back */
	long mapped;       /* bytes */
} given;

static inline int is_refused(void)
{
	given.requests++;
	if (!given.failing || given.requests < given.failing ||
	    (given.requests > given.failing && !given.all))
		return 0;
	errno = ENOMEM;
	return 1;
}

static inline void fail_at(unsigned request)
{
	given.requests = 0;
	given.failing = request;
	given.all = 0;
}

static inline void fail_always(void)
{
	fail_at(1);
	given.all = 1;
}

static inline void fail_never(void)
{
	fail_at(0);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **at, size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void __real_free(void *block);
void *__real_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t length);
ssize_t __real_getrandom(void *bytes, size_t length, unsigned flags);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
int __wrap_posix_memalign(void **at, size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
void __wrap_free(void *block);
void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t length);
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags);

static inline void *counted(void *block)
{
	given.blocks += block != NULL;
	return block;
}

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return is_refused() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *block, size_t size)
{
	if (is_refused())
		return NULL;
	return block ? __real_realloc(block, size) : counted(__real_realloc(block, size));
}

int __wrap_posix_memalign(void **at, size_t alignment, size_t size)
{
	int error = is_refused() ? ENOMEM : __real_posix_memalign(at, alignment, size);

	given.blocks += !error;
	return error;
}

char *__wrap_strdup(const char *text)
{
	return is_refused() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t n)
{
	return is_refused() ? NULL : counted(__real_strndup(text, n));
}

void __wrap_free(void *block)
{
	given.blocks -= block != NULL;
	__real_free(block);
}

void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	void *mapped = is_refused() ? (void *)-1 : __real_mmap(at, length, protection, flags, fd, offset);

	if (mapped != (void *)-1)
		given.mapped += (long)length;
	return mapped;
}

/* Where files may be large, this is what mmap is called. */
void *__wrap_mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	return __wrap_mmap(at, length, protection, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t length)
{
	given.mapped -= (long)length;
	return __real_munmap(at, length);
}

ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags)
{
	return is_refused() ? -1 : __real_getrandom(bytes, length, flags);
}

/* --------------------------------------------------------------- what is held */

struct held {
	long blocks, mapped;
	unsigned files;
};

static inline unsigned open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned files = 0;

	while (directory && readdir(directory))
		files++;
	if (directory)
		closedir(directory);
	return files;
}

static inline struct held held_now(void)
{
	return (struct held){given.blocks, given.mapped, open_files()};
}

static inline void assert_held(struct held expected)
{
	struct held now = held_now();

	assert_int_equal(now.blocks, expected.blocks);
	assert_int_equal(now.mapped, expected.mapped);
	assert_int_equal(now.files, expected.files);
}

#endif
