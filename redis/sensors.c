/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sensors are an array, ascending by name: a blob finds its own in a dozen
 * steps, a saved value has one form, and only a new sensor moves others. Which one
 * is the oldest is found by looking at all of them, when one too many comes.
 */
#include "redis/sensors.h"

#include <string.h>

#include "redis/api.h"

/* ------------------------------------------------------------------------- finding */

/* The first that is not below the name. */
static uint32_t place_of(const struct ink_value *v, uint64_t name)
{
	uint32_t low = 0, high = v->sensors;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (v->sensor[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct sensor *sensors_find(const struct ink_value *v, uint64_t name)
{
	uint32_t place = place_of(v, name);

	return place < v->sensors && v->sensor[place].name == name ? &v->sensor[place] : NULL;
}

/* --------------------------------------------------------------------------- turns */

enum turn sensors_turn(const struct ink_value *v, const struct blob *b, uint64_t *number)
{
	const struct sensor *s = sensors_find(v, b->sensor);

	if (s && b->epoch < s->epoch) {
		*number = s->epoch;
		return TURN_OLD;
	}
	*number = s && b->epoch == s->epoch ? s->sequence + 1 : 1;
	if (b->sequence == *number)
		return TURN_NEXT;
	return b->sequence < *number ? TURN_ALREADY : TURN_MISSING;
}

/* ------------------------------------------------------------------- coming, going */

static void lose(struct ink_value *v, struct sensor *s, uint64_t moves)
{
	s->lost += moves;
	v->count[COUNT_MOVES_LOST] += moves;
}

static void drop_oldest(struct ink_value *v)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < v->sensors; i++)
		if (v->sensor[i].blob < v->sensor[oldest].blob)
			oldest = i;
	lose(v, &v->sensor[oldest], v->sensor[oldest].n);
	server.Free(v->sensor[oldest].moves);
	v->sensors--;
	memmove(&v->sensor[oldest], &v->sensor[oldest + 1], (v->sensors - oldest) * sizeof *v->sensor);
	v->count[COUNT_SENSORS_DROPPED]++;
}

static struct sensor *add(struct ink_value *v, uint64_t name)
{
	uint32_t place;

	if (v->sensors == SENSORS_MOST)
		drop_oldest(v);
	if (v->sensors == v->sensor_room) {
		v->sensor_room = v->sensor_room ? 2 * v->sensor_room : 4;
		v->sensor = resize(v->sensor, v->sensor_room, sizeof *v->sensor);
	}
	place = place_of(v, name);
	memmove(&v->sensor[place + 1], &v->sensor[place], (v->sensors - place) * sizeof *v->sensor);
	v->sensors++;
	v->sensor[place] = (struct sensor){.name = name, .first = 1};
	return &v->sensor[place];
}

/* What the sensor's earlier run did not collect means nothing to this one. */
static void begin_epoch(struct ink_value *v, struct sensor *s, uint64_t epoch)
{
	lose(v, s, s->n);
	s->epoch = epoch;
	s->first = 1;
	s->head = s->n = 0;
}

void sensors_advance(struct ink_value *v, const struct blob *b)
{
	struct sensor *s = sensors_find(v, b->sensor);

	if (!s)
		s = add(v, b->sensor);
	if (b->epoch != s->epoch)
		begin_epoch(v, s, b->epoch);
	s->sequence = b->sequence;
	s->blob = v->count[COUNT_BLOBS];
	if (b->time > s->time)
		s->time = b->time;
	sensor_collect(s, b->collected);
}

uint64_t sensors_time(const struct ink_value *v)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < v->sensors; i++)
		if (v->sensor[i].time < least)
			least = v->sensor[i].time;
	return least;
}

/* -------------------------------------------------------------------------- outbox */

void sensor_collect(struct sensor *s, uint64_t number)
{
	uint64_t n = number < s->first ? 0 : number - s->first + 1;

	if (n > s->n)
		n = s->n;
	s->first += n;
	s->head += (uint32_t)n;
	s->n -= (uint32_t)n;
}

/* Room behind the last move: freed in front, or more. */
static void make_room(struct sensor *s)
{
	if (s->head > s->n) {
		memcpy(s->moves, s->moves + (size_t)s->head * MOVE_BYTES, (size_t)s->n * MOVE_BYTES);
		s->head = 0;
	} else {
		s->room = s->room ? 2 * s->room : 16;
		s->moves = resize(s->moves, s->room, MOVE_BYTES);
	}
}

uint8_t *sensors_room(struct ink_value *v, uint64_t name, uint64_t epoch)
{
	struct sensor *s = sensors_find(v, name);

	if (!s || s->epoch != epoch) {
		v->count[COUNT_MOVES_LOST]++;
		return NULL;
	}
	if (s->n == v->shape.outbox) {
		lose(v, s, 1);
		return NULL;
	}
	if (s->head + s->n == s->room)
		make_room(s);
	return s->moves + (size_t)(s->head + s->n++) * MOVE_BYTES;
}
