/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of inkling-lab. */
#ifndef INKLING_LAB_OPTIONS_H
#define INKLING_LAB_OPTIONS_H

#include "lab/runner.h"

/* Exit codes; LAB_HELPED is 0 to the shell. */
enum { LAB_HELPED = -1, LAB_DONE = 0, LAB_FAILED = 1, LAB_USAGE = 2 };

/* What the command line requests, apart from the names of experiments. */
struct request {
	struct lab lab;            /* its `progress` is not set here */
	bool repeats;              /* --seeds was given */
	const char *html, *ndjson; /* files to write; "-" is standard output; NULL: none */
};

/*
 * Reads the options; the names of experiments start at argv[optind] then. LAB_DONE; LAB_HELPED after --help or
 * --version; LAB_USAGE after a message.
 */
int options_read(struct request *request, int argc, char **argv);

/* Prints what is wrong with the command line and where to find help. Returns LAB_USAGE. */
__attribute__((format(printf, 1, 2))) int options_usage(const char *format, ...);

#endif
