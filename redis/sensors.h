/* SPDX-License-Identifier: BSD-2-Clause */
/* The sensors that feed a table: in which order their blobs are, and their outboxes. */
#ifndef INKLING_REDIS_SENSORS_H
#define INKLING_REDIS_SENSORS_H

#include "redis/blob.h"
#include "redis/value.h"

/* What a blob is for its sensor's sequence. */
enum turn {
	TURN_NEXT,    /* the one expected */
	TURN_ALREADY, /* it came before */
	TURN_MISSING, /* blobs before it did not come */
	TURN_OLD      /* its epoch is over */
};

/* Changes nothing. `number` receives the sequence that is expected, or for TURN_OLD the present epoch. */
enum turn sensors_turn(const struct ink_value *v, const struct blob *blob, uint64_t *number);

/* Takes the blob, whose turn is TURN_NEXT: a new sensor is added, if need be in the place of the oldest. */
void sensors_advance(struct ink_value *v, const struct blob *blob);

/* The sensor of that name, or NULL. */
struct sensor *sensors_find(const struct ink_value *v, uint64_t name);

/* Room for a move in the outbox of a sensor in that epoch; NULL, and counted: there is none. */
uint8_t *sensors_room(struct ink_value *v, uint64_t name, uint64_t epoch);

/* Removes the moves up to this number. */
void sensor_collect(struct sensor *s, uint64_t number);

/* The time to which all sensors have come; the greatest number if there are none. */
uint64_t sensors_time(const struct ink_value *v);

#endif
