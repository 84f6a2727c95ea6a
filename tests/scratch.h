/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where tests put their files: a folder of their own below $TMPDIR, or below
 * /tmp where that is not set. It is made by the setup of a group and removed,
 * with whatever is in it, by the teardown, which runs when a test failed, too:
 *
 *     return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
 */
#ifndef INKLING_TESTS_SCRATCH_H
#define INKLING_TESTS_SCRATCH_H

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/platform.h"

enum {
	SCRATCH_FOLDER = 128, /* short, so that struct ink_why has room for a path and a reason */
	SCRATCH_PATH = SCRATCH_FOLDER + 300, /* with room for the longest name that a file can have */
};

static char scratch[SCRATCH_FOLDER];    /* the folder */
static char scratch_file[SCRATCH_PATH]; /* in it, for tests that need only one; it is not made */

/* Returns `path`. */
static inline const char *scratch_path(char path[SCRATCH_PATH], const char *name)
{
	snprintf(path, SCRATCH_PATH, "%s/%s", scratch, name);
	return path;
}

/* 0, or -1 with a message. Then there is no folder, and scratch_remove must not find half a path in its place. */
static inline int scratch_make_in(const char *parent)
{
	int length = snprintf(scratch, sizeof scratch, "%s/ink-test-XXXXXX", parent);

	errno = ENAMETOOLONG;
	if (length >= (int)sizeof scratch || !mkdtemp(scratch)) {
		fprintf(stderr, "no folder in %s: %s\n", parent, strerror(errno));
		scratch[0] = '\0';
		return -1;
	}
	scratch_path(scratch_file, "file");
	return 0;
}

static inline int scratch_make(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	return scratch_make_in(parent && parent[0] ? parent : "/tmp");
}

/* How many files and folders are in a folder that has to be there. */
static inline size_t files_in(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	if (!d) {
		perror(path);
		abort();
	}
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* itself and its parent */
}

static inline size_t scratch_count(void)
{
	return files_in(scratch);
}

static inline int scratch_remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)s;
	(void)type;
	(void)at;
	return remove(path);
}

static inline int scratch_remove(void **state)
{
	(void)state;
	if (!scratch[0])
		return 0;
	return nftw(scratch, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

#endif
