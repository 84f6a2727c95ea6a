/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis/api.h"
#include "redis/hold.h"

struct totals totals;

/* -------------------------------------------------------------- making and freeing */

struct ink_value *value_new(void)
{
	struct ink_value *v = resize(NULL, 1, sizeof *v);

	*v = (struct ink_value){0};
	totals_add(&totals.values, 1);
	return v;
}

static void free_arrays(struct ink_value *v)
{
	for (uint32_t i = 0; i < v->sensors; i++)
		server.Free(v->sensor[i].moves);
	for (uint32_t i = 0; i < v->n_held; i++)
		server.Free(v->held[i]);
	server.Free(v->sensor);
	server.Free(v->held);
	server.Free(v->counters);
	server.Free(v->partial.bytes);
}

void value_free(struct ink_value *v)
{
	if (!v)
		return;
	ink_free(v->table);
	free_arrays(v);
	machine_drop(v->machine);
	server.Free(v);
	totals_add(&totals.values, (uint64_t)-1);
}

/* ------------------------------------------------------------------------- a copy */

static void *duplicate(const void *of, uint64_t bytes)
{
	return bytes ? memcpy(resize(NULL, bytes, 1), of, bytes) : NULL;
}

static void copy_arrays(struct ink_value *to, const struct ink_value *from)
{
	to->sensor = duplicate(from->sensor, from->sensors * sizeof *from->sensor);
	to->sensor_room = from->sensors;
	for (uint32_t i = 0; i < from->sensors; i++) {
		struct sensor *s = &to->sensor[i];

		s->moves = duplicate(s->moves + (uint64_t)s->head * MOVE_BYTES, (uint64_t)s->n * MOVE_BYTES);
		s->room = s->n;
		s->head = 0;
	}
	to->held = duplicate(from->held, from->n_held * sizeof *from->held);
	to->held_room = from->n_held;
	for (uint32_t i = 0; i < from->n_held; i++)
		to->held[i] = duplicate(from->held[i], held_bytes(from->held[i]->n));
	if (from->machine)
		to->counters =
			duplicate(from->counters, from->machine->view->counters * sizeof *from->counters);
	to->partial.bytes = duplicate(from->partial.bytes, from->partial.have);
	to->partial.room = from->partial.have;
}

/* All but the table, which is in an arena of its own. */
static void copy_rest(struct ink_value *to, const struct ink_value *from)
{
	struct ink_table *table = to->table;
	struct arena arena = to->arena;

	*to = *from;
	to->table = table;
	to->arena = arena;
	to->machine = machine_share(from->machine);
	copy_arrays(to, from);
}

struct ink_value *value_copy(const struct ink_value *from)
{
	struct ink_value *to = value_new();
	struct ink_allocator a = arena_allocator(&to->arena);

	to->arena.most = from->arena.most;
	if (from->table)
		to->table = ink_copy(from->table, &a, NULL);
	if (from->table && !to->table) {
		value_free(to);
		return NULL;
	}
	copy_rest(to, from);
	return to;
}

/* ----------------------------------------------------------------------- the rules */

/* Without a machine: one event, which no command can name, and one period for all states. */
static int set_plain_rules(struct ink_value *v, struct ink_why *why)
{
	struct ink_row rows[INK_MAX_STATES + 2];
	struct ink_timing timings[INK_MAX_STATES + 1];
	uint32_t period = v->shape.timeout_ms ? TICKS_OF_TIMEOUT + 1 : 0;
	struct ink_rules rules = {
		.size = sizeof rules, .states = v->states, .events = 1, .rows = rows, .timings = timings};

	for (unsigned i = 0; i < v->states + 2; i++)
		rows[i] = (struct ink_row){.next = INK_NO_ROW};
	for (unsigned i = 0; i <= v->states; i++)
		timings[i] = (struct ink_timing){
			.period = period, .timeout = INK_ABSENT, .expendable = v->shape.expendable};
	if (!period && value_can(v, INK_CAN_DIFFER))
		timings[v->states].period = 1; /* doubt ends even if flows do not */
	return ink_set_rules(v->table, &rules, why);
}

int value_set_rules(struct ink_value *v, struct ink_why *why)
{
	return v->machine ? ink_set_rules(v->table, v->machine->view->rules, why) : set_plain_rules(v, why);
}

/* ----------------------------------------------------------------------- the kind */

int value_can(const struct ink_value *v, unsigned feature)
{
	struct ink_kind_info kind = {.size = sizeof kind};

	return ink_kind_info(v->shape.kind, &kind) == 0 && (kind.can & feature);
}

enum { EXACT_CELL = 16 }; /* bytes */

uint64_t value_cells(const struct ink_value *v)
{
	return value_can(v, INK_CAN_BE_EXACT) ? ink_bytes(v->table) / EXACT_CELL : v->cells;
}

/* ------------------------------------------------------------------------- memory */

static uint64_t usable(void *at)
{
	return at ? server.MallocUsableSize(at) : 0;
}

uint64_t value_bytes(const struct ink_value *v)
{
	uint64_t bytes = v->arena.taken + usable((void *)(uintptr_t)v) + usable(v->sensor) + usable(v->held) +
			 usable(v->counters) + usable(v->partial.bytes);

	for (uint32_t i = 0; i < v->sensors; i++)
		bytes += usable(v->sensor[i].moves);
	for (uint32_t i = 0; i < v->n_held; i++)
		bytes += usable(v->held[i]);
	return bytes;
}
