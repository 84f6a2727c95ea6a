/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps in a table, and what follows of their moves: counts, moves for the sensor, reports. */
#ifndef INKLING_REDIS_APPLY_H
#define INKLING_REDIS_APPLY_H

#include "redis/blob.h"
#include "redis/value.h"

struct reports;

enum { CHUNK = 1024 }; /* steps at a time: the arrays stay in the first-level cache */

struct chunk {
	uint64_t ids[CHUNK];
	uint16_t events[CHUNK];
	struct ink_move moves[CHUNK];
	int errors[CHUNK];
};

/* Bytes that grow. */
struct bytes {
	uint8_t *at;
	uint64_t n, room;
};

uint8_t *bytes_more(struct bytes *b, uint64_t n); /* n more, to be filled in */

/* Whose steps these are, and what is wanted of them. */
struct origin {
	uint64_t sensor, epoch, sequence, time;
	enum blob_answers answers;
	struct bytes *into;      /* of states or moves; NULL: moves go to the outbox of the sensor */
	struct reports *reports; /* or NULL */
};

/* Makes the n steps of a chunk; `place` is that of the first in its blob. How many found no room. */
uint32_t apply(struct ink_value *v, struct chunk *c, uint32_t n, uint32_t place, const struct origin *origin);

#endif
