/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines of tables. Values with the same text share one compiled machine: a
 * server with a thousand shards has one of it, and compiles it once.
 */
#ifndef INKLING_REDIS_MACHINE_H
#define INKLING_REDIS_MACHINE_H

#include <inkling/machine.h>

enum { MACHINE_TEXT_MOST = 1 << 20, MACHINE_NAME_MOST = 255 };

struct machine {
	const struct ink_machine_view *view;
	const char *text, *name; /* name: which of the text */
	uint32_t text_length, name_length;
	uint64_t rules_sum; /* FNV-1a of the compiled rules */
	unsigned several;   /* machines in the text */

	/* Inside. */
	struct ink_machines *set;
	struct machine *next;
	uint64_t users;
};

struct machine_text {
	const char *text, *name; /* name_length 0: the only machine of the text */
	size_t text_length, name_length;
	int patient; /* compile as long as it takes: what was made elsewhere must be made here */
};

/* Its rules and names; machine_drop it. NULL, and why. */
struct machine *machine_take(const struct machine_text *text, struct ink_why *why);

/* One more user of the same. */
struct machine *machine_share(struct machine *m);

/* Any thread may call it; NULL is allowed. */
void machine_drop(struct machine *m);

/* Another machine of the text, by its number. */
const struct ink_machine_view *machine_of_set(const struct machine *m, unsigned number);

/* FNV-1a of rules. */
uint64_t rules_sum(const struct ink_rules *rules);

/* A bundled text, or NULL. */
const struct ink_bundled *machine_bundled(const char *name, size_t length);

#endif
