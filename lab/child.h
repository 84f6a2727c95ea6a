/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running another program: without a shell, for a limited time, and with files that have no name.
 *
 * The files live in memory (memfd_create) and are handed over as descriptors: 0 to read, 1 and 3 to write.
 * So nothing has to be removed afterwards, and no other process can open them. The standard error of the
 * program is kept, for the message if it fails.
 */
#ifndef INKLING_LAB_CHILD_H
#define INKLING_LAB_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include <inkling/inkling.h>

struct child {
	const char *const *argv; /* the program, searched in PATH, its arguments, NULL */
	int in;                  /* its descriptor 0, read from the beginning; -1: nothing to read */
	int out;                 /* its descriptor 1; -1: discarded */
	int more;                /* its descriptor 3; -1: there is none */
	unsigned seconds;        /* that it may take */
};

/*
 * Runs it to its end. 0: it ended well. -ENOENT: there is no such program; -ETIMEDOUT: it took too long,
 * and was killed; -ECHILD: it failed or crashed; or what the system said. `why` has the reason then.
 * Thread-safe.
 */
int child_run(const struct child *child, struct ink_why *why);

/* An empty file without a name; -1 with errno. child_close() it; -1 is allowed there. */
int child_file(void);
void child_close(int file);

/* All that is in the file; free() it. `size` receives how much. NULL with errno. */
uint8_t *child_bytes(int file, size_t *size);

/* Writes all bytes at the end of the file. 0, or -errno. */
int child_write(int file, const void *bytes, size_t size);

#endif
