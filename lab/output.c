/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

bool output_is_stdout(const struct output *o)
{
	return o->path && !strcmp(o->path, "-");
}

/* ----------------------------------------------------------------- trying */

static int open_directly(struct output *o, struct ink_why *why)
{
	o->file = output_is_stdout(o) ? stdout : fopen(o->path, "w");
	return o->file ? 0 : ink_fail(why, -errno, "%s: %s", o->path, strerror(errno));
}

static mode_t mode_of_new_files(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int begin_replacing(struct output *o, struct ink_why *why)
{
	int error;

	o->replace = (struct ink_replace){.file = {.path = o->target, .why = why}};
	error = ink_replace_begin(&o->replace);
	if (error)
		ink_replace_end(&o->replace);
	return error;
}

static int try_replacing(struct output *o, const struct stat *old, struct ink_why *why)
{
	int error;

	o->mode = old ? old->st_mode & 0777 : mode_of_new_files();
	o->target = old ? realpath(o->path, NULL) : strdup(o->path);
	if (!o->target)
		return ink_fail(why, -errno, "%s: %s", o->path, strerror(errno));
	error = begin_replacing(o, why);
	if (error)
		return error;
	if (fstat(o->replace.directory, &o->directory) < 0)
		error = ink_fail(why, -errno, "%s: %s", o->path, strerror(errno));
	ink_replace_end(&o->replace);
	return error;
}

int output_try(struct output *o, struct ink_why *why)
{
	struct stat old;
	bool is_there = o->path && !output_is_stdout(o) && stat(o->path, &old) == 0;

	if (!o->path)
		return 0;
	if (output_is_stdout(o) || (is_there && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)))
		return open_directly(o, why);
	return try_replacing(o, is_there ? &old : NULL, why);
}

bool output_is_same(const struct output *a, const struct output *b)
{
	if (!a->target || !b->target)
		return output_is_stdout(a) && output_is_stdout(b);
	return a->directory.st_dev == b->directory.st_dev && a->directory.st_ino == b->directory.st_ino &&
	       !strcmp(a->replace.name, b->replace.name);
}

/* ---------------------------------------------------------------- writing */

int output_begin(struct output *o, struct ink_why *why)
{
	int error, fd;

	if (!o->target)
		return 0;
	error = begin_replacing(o, why);
	if (error)
		return error;
	fd = dup(o->replace.fd);
	o->file = fchmod(fd, o->mode) == 0 ? fdopen(fd, "w") : NULL;
	if (o->file)
		return 0;
	error = ink_fail(why, -errno, "%s: %s", o->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	ink_replace_end(&o->replace);
	return error;
}

/* An error may have happened long before the end. Standard output is only flushed. */
static int close_file(struct output *o, struct ink_why *why)
{
	bool broken = ferror(o->file);
	int error;

	errno = 0;
	error = o->file == stdout ? fflush(stdout) : fclose(o->file);
	o->file = NULL;
	if (!broken && !error)
		return 0;
	return ink_fail(why, errno ? -errno : -EIO, "%s: cannot be written%s%s",
			output_is_stdout(o) ? "standard output" : o->path, errno ? ": " : "",
			errno ? strerror(errno) : "");
}

int output_end(struct output *o, struct ink_why *why)
{
	int error = close_file(o, why);

	if (!o->target)
		return error;
	o->replace.file.why = why;
	if (!error)
		error = ink_replace_commit(&o->replace);
	ink_replace_end(&o->replace);
	return error;
}

void output_free(struct output *o)
{
	if (o->file && o->file != stdout)
		fclose(o->file);
	free(o->target);
}
