/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replacing a file: all or nothing.
 *
 *     ink_replace_begin     makes .ink-<hash of the name>-<random> in the directory of the path, 0600, locked
 *     the caller            writes to r.fd
 *     ink_replace_commit    fsync, rename to the path, fsync of the directory
 *     ink_replace_end       always; removes the temporary file if there was no commit
 *
 * A process that is killed in between leaves its temporary file, with the secret
 * in it. The lock (flock) ends with the process. So ink_replace_begin removes the
 * files that bear the name's hash and that it can lock: they belong to no save that
 * is still under way.
 */
#ifndef INKLING_BASE_REPLACE_H
#define INKLING_BASE_REPLACE_H

#include "base/file.h"

struct ink_replace {
	struct ink_file file; /* the caller sets its path and why; for messages */
	const char *name;     /* the last part of the path */
	int directory;
	int fd;
	char temporary[40]; /* its name; empty: there is none */
};

/* 0, or a negative errno with the reason. ink_replace_end it in any case. */
int ink_replace_begin(struct ink_replace *r);
int ink_replace_commit(struct ink_replace *r);
void ink_replace_end(struct ink_replace *r);

#endif
