/* SPDX-License-Identifier: BSD-2-Clause */
/* The sets that are attached, by the words of a command line. */
#ifndef INKLING_CLI_KERNEL_SETS_H
#define INKLING_CLI_KERNEL_SETS_H

#include "cli/kernel/places.h"

enum { SETS_MOST = 256 };

struct sets {
	unsigned n;
	char name[SETS_MOST][INK_KERNEL_PATH + 1];
};

/* All sets, by name. CLI_FAILED: it said why they cannot be listed. */
int sets_list(struct sets *sets);

/*
 * Finds the set of that name, or the one that is attached at an interface of that name; `name` receives its name.
 * CLI_FAILED: it said why there is none.
 */
int sets_find(const char *word, char name[INK_KERNEL_PATH + 1]);

/* Opens it, too. NULL: it said why not. ink_kernel_close it. */
struct ink_kernel *sets_open(const char *word, char name[INK_KERNEL_PATH + 1]);

void sets_places(const struct ink_kernel *kernel, struct places *places);

#endif
