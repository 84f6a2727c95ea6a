/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

/* The system refused to do something. */
static int refused(const struct ink_replace *r, const char *doing)
{
	int error = errno;

	return ink_file_wrong(&r->file, -error, "cannot %s: %s", doing, strerror(error));
}

/* ------------------------------------------------------------------ the place */

static int open_directory(struct ink_replace *r)
{
	const char *path = r->file.path, *slash = strrchr(path, '/');
	char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	r->name = slash ? slash + 1 : path;
	r->directory = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(parent);
	return r->directory < 0 ? refused(r, "open the directory of the file") : 0;
}

/* A rename would replace a device or a pipe as well, which is never meant. */
static int check_place(const struct ink_replace *r)
{
	struct stat old;

	if (!*r->name)
		return ink_file_wrong(&r->file, -EISDIR, "names a directory, not a file");
	if (fstatat(r->directory, r->name, &old, 0) < 0)
		return errno == ENOENT ? 0 : refused(r, "look at the old file");
	if (S_ISDIR(old.st_mode))
		return ink_file_wrong(&r->file, -EISDIR, "is a directory");
	if (!S_ISREG(old.st_mode))
		return ink_file_wrong(&r->file, -EEXIST, "is there and is not a regular file");
	return 0;
}

/* ------------------------------------------------------------ temporary files */

enum { PREFIX = 22 }; /* ".ink-", 16 digits, "-" */

/* What the names of all temporary files for this path begin with. */
static void name_prefix(const struct ink_replace *r, char prefix[PREFIX + 1])
{
	unsigned long long hash = XXH3_64bits(r->name, strlen(r->name));

	snprintf(prefix, PREFIX + 1, ".ink-%016llx-", hash);
}

/* Only the prefix and 16 hexadecimal digits. */
static int is_temporary(const char *name, const char *prefix)
{
	return strncmp(name, prefix, PREFIX) == 0 && strlen(name) == PREFIX + 16 &&
	       strspn(name + PREFIX, "0123456789abcdef") == 16;
}

/* Removes a temporary file that no save has locked. Failing to is no reason to fail the save. */
static void remove_stale(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat found;

	if (fd < 0)
		return;
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(directory, name, 0);
	close(fd);
}

static void remove_all_stale(const struct ink_replace *r)
{
	int fd = openat(r->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	char prefix[PREFIX + 1];
	struct dirent *entry;

	if (!listing) {
		if (fd >= 0)
			close(fd);
		return;
	}
	name_prefix(r, prefix);
	while ((entry = readdir(listing)))
		if (is_temporary(entry->d_name, prefix))
			remove_stale(r->directory, entry->d_name);
	closedir(listing);
}

/* The name is random: saves to one path do not meet. Mode 0600: the secret is in it. */
static int create(struct ink_replace *r)
{
	char prefix[PREFIX + 1];
	uint64_t number = 0;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return refused(r, "find a name for a temporary file");
	name_prefix(r, prefix);
	snprintf(r->temporary, sizeof r->temporary, "%s%016llx", prefix, (unsigned long long)number);
	r->fd = openat(r->directory, r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r->fd >= 0)
		return 0;
	r->temporary[0] = '\0';
	return refused(r, "create a temporary file beside it");
}

/*
 * Another save may have found the new file before it was locked, and removed it:
 * then it has no name any more. A file system without locks removes nothing.
 */
static int lock(const struct ink_replace *r)
{
	struct stat found;

	if (flock(r->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return 0;
	return fstat(r->fd, &found) == 0 && found.st_nlink > 0;
}

enum { TRIES = 100 };

static int create_locked(struct ink_replace *r)
{
	for (int i = 0; i < TRIES; i++) {
		int error = create(r);

		if (error || lock(r))
			return error;
		close(r->fd);
		r->fd = -1;
	}
	return ink_file_wrong(&r->file, -EBUSY, "other saves remove each new temporary file");
}

/* --------------------------------------------------------------------- the steps */

int ink_replace_begin(struct ink_replace *r)
{
	int error;

	r->directory = r->fd = -1;
	r->temporary[0] = '\0';
	error = open_directory(r);
	if (!error)
		error = check_place(r);
	if (error)
		return error;
	remove_all_stale(r);
	return create_locked(r);
}

/* The new file is in place; only a crash could undo it. EINVAL: this file system has no such call. */
static int sync_directory(const struct ink_replace *r)
{
	if (fsync(r->directory) == 0 || errno == EINVAL)
		return 0;
	return refused(r, "bring the directory to the disk, though the file is in place");
}

int ink_replace_commit(struct ink_replace *r)
{
	if (fsync(r->fd) < 0)
		return refused(r, "bring the file to the disk (fsync)");
	if (renameat(r->directory, r->temporary, r->directory, r->name) < 0)
		return refused(r, "rename the temporary file to it");
	r->temporary[0] = '\0';
	return sync_directory(r);
}

void ink_replace_end(struct ink_replace *r)
{
	if (r->temporary[0])
		unlinkat(r->directory, r->temporary, 0);
	if (r->fd >= 0)
		close(r->fd);
	if (r->directory >= 0)
		close(r->directory);
}
