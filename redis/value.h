/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The value of a key: a table with its machine, its time, the sensors that feed
 * it, and the blobs that it holds back.
 *
 *     blob --> sensors: is it the next one? --> apply.c: ticks, steps, counts --> moves
 *                                          \                                       |
 *                                           hold.c: a heap by time --> apply.c --> outbox of the sensor
 *
 * All of it is a function of the commands that were applied, in their order. That
 * is what keeps replicas equal: nothing here asks for the time, for memory that is
 * left, or for a random number, and no limit is this server's own.
 */
#ifndef INKLING_REDIS_VALUE_H
#define INKLING_REDIS_VALUE_H

#include <inkling/inkling.h>

#include "redis/machine.h"
#include "redis/memory.h"

enum {
	SENSORS_MOST = 4096,
	OUTBOX_PRESET = 4096,
	OUTBOX_MOST = 1 << 20,
	HELD_PRESET = 16 << 20,
	HELD_MOST = 64 << 20,
	MOVE_BYTES = 24, /* a move as sensors get it: docs/cluster.md */
};

/* What INK.COUNTERS shows, in this order, and so in the saved value. */
enum count {
	COUNT_STEPS,
	COUNT_BEGUN,
	COUNT_EXPIRED,
	COUNT_REFUSED,
	COUNT_UNSURE,
	COUNT_LATE,
	COUNT_BLOBS,
	COUNT_FORCED,
	COUNT_SENSORS_DROPPED,
	COUNT_MOVES_LOST,
	COUNT_REPORTS,
	COUNT_REPORTS_LOST,
	COUNT_CHANGES,
	COUNTS
};

/* A sensor, and its outbox: moves [head, head + n) of an array, the first with the number `first`. */
struct sensor {
	uint64_t name, epoch, sequence;
	uint64_t time; /* the latest that it came to */
	uint64_t blob; /* which blob of the value was its last: the lowest is the oldest sensor */
	uint64_t lost; /* moves without room */
	uint64_t first;
	uint32_t head, n, room;
	uint8_t *moves;
};

/* A blob that waits for its time. */
struct held {
	uint64_t time, sensor, epoch, sequence;
	uint32_t answers, n;
	uint64_t ids[]; /* n ids, then n events of 16 bits */
};

/* Pieces of a value that is not complete. */
struct partial {
	uint64_t length, have, room;
	uint8_t *bytes;
};

/* What INK.CREATE was told. */
struct shape {
	uint8_t kind; /* enum ink_kind, not the default */
	uint8_t expendable;
	uint8_t holds;
	uint64_t timeout_ms; /* of STATES; 0: none */
	uint64_t limit;      /* of `exact` */
	uint64_t tick;       /* nanoseconds */
	uint64_t hold;       /* nanoseconds */
	uint64_t held_most;
	uint32_t outbox;
};

struct ink_value {
	struct ink_table *table; /* NULL: `partial` */
	struct arena arena;
	struct machine *machine; /* NULL: STATES */
	struct shape shape;
	unsigned states, age_bits;
	uint64_t cells; /* as planned */

	uint64_t time;     /* the latest that was passed to the table */
	uint64_t newest;   /* the latest that was seen */
	uint64_t released; /* all that was held from before this has been applied */
	uint8_t flagged;   /* a step was refused since the last tick, so the next one has flags to clear */

	uint64_t report_ms, report_seq; /* the name of the last report */
	uint64_t count[COUNTS];
	uint64_t *counters; /* of the machine */

	struct sensor *sensor; /* ascending by name */
	uint32_t sensors, sensor_room;
	struct held **held; /* a binary heap: the earliest first */
	uint32_t n_held, held_room;
	uint64_t held_bytes;

	struct partial partial;
};

/* A value without a table; value_free it. Counted in INFO. */
struct ink_value *value_new(void);
void value_free(struct ink_value *v);

/* A copy of all of it; NULL: no memory. */
struct ink_value *value_copy(const struct ink_value *v);

/* Adopts the table and gives it the rules of the machine or of the shape. 0 or a negative errno, and why. */
int value_set_rules(struct ink_value *v, struct ink_why *why);

/* Whether its kind has a feature, INK_CAN_... */
int value_can(const struct ink_value *v, unsigned feature);

/* What a sweep visits. */
uint64_t value_cells(const struct ink_value *v);

/* Bytes that the server's allocator counts. */
uint64_t value_bytes(const struct ink_value *v);

/* Over all values, for INFO; values come and go in other threads, too. */
struct totals {
	uint64_t values, steps, refused, late, blobs, rejected;
};

extern struct totals totals;

static inline void totals_add(uint64_t *total, uint64_t n)
{
	__atomic_fetch_add(total, n, __ATOMIC_RELAXED);
}

/* What machines do with ticks, the default for tables without one: so many in a time-out. */
enum { TICKS_OF_TIMEOUT = 32 };

#endif
