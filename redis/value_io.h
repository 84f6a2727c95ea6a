/* SPDX-License-Identifier: BSD-2-Clause */
/* A value as bytes, and back: docs/cluster.md, "What is in a value". */
#ifndef INKLING_REDIS_VALUE_IO_H
#define INKLING_REDIS_VALUE_IO_H

#include "redis/value.h"

enum { PIECE = 1 << 20 }; /* bytes given at a time, to RDB, AOF and INK.DUMP */

/* Writes the value; 0, or the error of the sink or of the table. */
int value_save(const struct ink_value *v, const struct ink_sink *sink);

/* How many bytes that are. */
uint64_t value_save_bytes(const struct ink_value *v);

struct load_how {
	uint64_t limit;       /* bytes of the table and of what is beside it; 0: any number */
	enum ink_trust trust; /* in the table's checksum */
	int patient;          /* with machines, struct machine_text */
};

/* Makes a value of what the source delivers, to its end. NULL, and why: it is not one. */
struct ink_value *value_load(const struct ink_source *source, const struct load_how *how,
			     struct ink_why *why);

#endif
