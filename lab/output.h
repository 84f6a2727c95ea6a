/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that a run writes at its end, hours after it started.
 *
 * It is tried before the work starts, so a mistyped folder fails at once. A regular file is replaced as a whole
 * (base/replace.h) when there is a report: a run that is killed leaves the old file, or none. Standard output and
 * existing pipes and devices are written directly.
 */
#ifndef INKLING_LAB_OUTPUT_H
#define INKLING_LAB_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/replace.h"

struct output {
	const char *path; /* set by the caller: "-" is standard output; NULL: there is no such output */
	FILE *file;       /* to write to, after output_begin */
	char *target;     /* of a regular file: the path with its links resolved; NULL: written directly */
	mode_t mode;
	struct stat directory;
	struct ink_replace replace;
};

bool output_is_stdout(const struct output *o);

/* 0, or -errno with the reason. output_free it in any case. */
int output_try(struct output *o, struct ink_why *why);

/* After both were tried: do they name one file, or standard output? */
bool output_is_same(const struct output *a, const struct output *b);

/* 0, or -errno with the reason; then output_end must not be called. */
int output_begin(struct output *o, struct ink_why *why);

/* 0, or -errno with the reason: the old file is still there. */
int output_end(struct output *o, struct ink_why *why);

void output_free(struct output *o);

#endif
