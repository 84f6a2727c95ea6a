/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/grow.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* No struct of any version is larger. A size that was never set is likely to be, and is not read. */
enum { MAX_BYTES = 4096 };

static size_t size_of(const void *theirs)
{
	size_t size;

	memcpy(&size, theirs, sizeof size);
	return size;
}

int ink_struct_check(const struct ink_struct *s, const void *theirs, struct ink_why *why)
{
	size_t size;

	if (!theirs)
		return ink_fail(why, -EINVAL, "%s: NULL", s->name);
	size = size_of(theirs);
	if (size >= s->first && size <= MAX_BYTES)
		return 0;
	return ink_fail(why, -EINVAL, "%s: size is %zu; set it to sizeof the struct, %zu bytes", s->name,
			size, s->known);
}

static int is_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return 0;
	return 1;
}

int ink_struct_read(const struct ink_struct *s, void *ours, const void *theirs, struct ink_why *why)
{
	int error = ink_struct_check(s, theirs, why);
	size_t size;

	if (error)
		return error;
	size = size_of(theirs);
	if (size > s->known && !is_zero((const unsigned char *)theirs + s->known, size - s->known))
		return ink_fail(why, -EINVAL,
				"%s: of its %zu bytes this version of the library knows %zu, and the others "
				"are not 0",
				s->name, size, s->known);
	memset(ours, 0, s->known);
	memcpy(ours, theirs, size < s->known ? size : s->known);
	memcpy(ours, &s->known, sizeof s->known);
	return 0;
}

int ink_struct_write(const struct ink_struct *s, void *theirs, const void *ours, struct ink_why *why)
{
	const size_t head = sizeof(size_t);
	int error = ink_struct_check(s, theirs, why);
	size_t size, shared;

	if (error)
		return error;
	size = size_of(theirs);
	shared = size < s->known ? size : s->known;
	memcpy((char *)theirs + head, (const char *)ours + head, shared - head);
	memset((char *)theirs + shared, 0, size - shared);
	return 0;
}
