/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blobs are applied in the order of (time, sensor, epoch, sequence), whatever the
 * order in which they came. A binary heap has the earliest at [0]:
 *
 *               [0]
 *         [1]         [2]          the parent of [i] is [(i - 1) / 2]
 *      [3]   [4]   [5]   [6]
 *
 * What is before `released` has been applied: everything before the time to which
 * all sensors have come, or before the newest time less HOLD, whichever is later.
 * An item of exactly that time is not: a sensor with a lower name may still send one.
 */
#include "redis/hold.h"

#include <string.h>

#include "redis/api.h"
#include "redis/apply.h"
#include "redis/reports.h"
#include "redis/sensors.h"

uint64_t held_bytes(uint32_t items)
{
	return sizeof(struct held) + items * (sizeof(uint64_t) + sizeof(uint16_t));
}

/* ------------------------------------------------------------------------- the heap */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int is_before(const struct held *a, const struct held *b)
{
	int order = compare(a->time, b->time);

	order = order ? order : compare(a->sensor, b->sensor);
	order = order ? order : compare(a->epoch, b->epoch);
	order = order ? order : compare(a->sequence, b->sequence);
	return order < 0;
}

static void rise(struct ink_value *v, uint32_t i)
{
	struct held *h = v->held[i];

	for (; i && is_before(h, v->held[(i - 1) / 2]); i = (i - 1) / 2)
		v->held[i] = v->held[(i - 1) / 2];
	v->held[i] = h;
}

static void sink(struct ink_value *v, struct held *h)
{
	uint32_t i = 0, child;

	for (; (child = 2 * i + 1) < v->n_held; i = child) {
		child += child + 1 < v->n_held && is_before(v->held[child + 1], v->held[child]);
		if (!is_before(v->held[child], h))
			break;
		v->held[i] = v->held[child];
	}
	v->held[i] = h;
}

static void push(struct ink_value *v, struct held *h)
{
	if (v->n_held == v->held_room) {
		v->held_room = v->held_room ? 2 * v->held_room : 16;
		v->held = resize(v->held, v->held_room, sizeof *v->held);
	}
	v->held[v->n_held++] = h;
	v->held_bytes += held_bytes(h->n);
	rise(v, v->n_held - 1);
}

static struct held *pop(struct ink_value *v)
{
	struct held *first = v->held[0], *last = v->held[--v->n_held];

	if (v->n_held)
		sink(v, last);
	v->held_bytes -= held_bytes(first->n);
	return first;
}

int held_in_order(const struct ink_value *v)
{
	for (uint32_t i = 1; i < v->n_held; i++)
		if (is_before(v->held[i], v->held[(i - 1) / 2]))
			return 0;
	return 1;
}

/* ------------------------------------------------------------------------- applying */

static struct held *make(const struct ink_value *v, const struct blob *b)
{
	struct held *h = resize(NULL, held_bytes(b->n), 1);
	const uint8_t *key = b->keys;

	*h = (struct held){.time = b->time,
			   .sensor = b->sensor,
			   .epoch = b->epoch,
			   .sequence = b->sequence,
			   .answers = (uint32_t)b->answers,
			   .n = b->n};
	blob_items(b, v->table, 0, b->n, &key, h->ids, (uint16_t *)(h->ids + b->n));
	return h;
}

static void apply_held(struct ink_value *v, const struct held *h, struct budget *budget,
		       struct reports *reports)
{
	static struct chunk c; /* commands are carried out one at a time */
	const struct origin o = {.sensor = h->sensor,
				 .epoch = h->epoch,
				 .sequence = h->sequence,
				 .time = h->time,
				 .answers = (enum blob_answers)h->answers,
				 .reports = reports};
	const uint16_t *events = (const uint16_t *)(h->ids + h->n);

	clock_pass(v, h->time, budget);
	if (reports)
		reports->sensor = h->sensor;
	for (uint32_t i = 0, n; i < h->n; i += n) {
		n = h->n - i < CHUNK ? h->n - i : CHUNK;
		memcpy(c.ids, h->ids + i, n * sizeof *c.ids);
		memcpy(c.events, events + i, n * sizeof *c.events);
		apply(v, &c, n, i, &o);
	}
}

static void apply_first(struct ink_value *v, struct budget *budget, struct reports *reports)
{
	struct held *h = pop(v);

	if (h->time > v->released)
		v->released = h->time;
	apply_held(v, h, budget, reports);
	budget->items -= h->n < budget->items ? h->n : budget->items;
	server.Free(h);
}

/* ------------------------------------------------------------------------- in and out */

/* More is held than may be: the earliest goes, in its order, but before its time. */
static void force(struct ink_value *v, struct budget *budget, struct reports *reports)
{
	while (v->held_bytes > v->shape.held_most) {
		v->count[COUNT_FORCED] += v->held[0]->n;
		apply_first(v, budget, reports);
	}
}

int hold_blob(struct ink_value *v, const struct blob *b, struct budget *budget, struct reports *reports)
{
	struct held *h;
	int late = b->time < v->released;

	if (b->time > v->newest)
		v->newest = b->time;
	if (!b->n)
		return late;
	h = make(v, b);
	if (late) {
		apply_held(v, h, budget, reports);
		server.Free(h);
	} else {
		push(v, h);
		force(v, budget, reports);
	}
	return late;
}

static uint64_t release_time(const struct ink_value *v)
{
	uint64_t over = v->newest > v->shape.hold ? v->newest - v->shape.hold : 0;
	uint64_t all = v->sensors ? sensors_time(v) : 0;

	return all > over ? all : over;
}

void hold_release(struct ink_value *v, struct budget *budget, struct reports *reports)
{
	uint64_t until = release_time(v);

	while (v->n_held && v->held[0]->time < until && budget->items)
		apply_first(v, budget, reports);
	if (v->n_held && v->held[0]->time < until)
		until = v->held[0]->time;
	if (until > v->released)
		v->released = until;
	clock_pass(v, v->released, budget);
}
