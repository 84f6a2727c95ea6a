/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/apply.h"

#include <errno.h>

#include "redis/api.h"
#include "redis/bytes.h"
#include "redis/reports.h"
#include "redis/sensors.h"

uint8_t *bytes_more(struct bytes *b, uint64_t n)
{
	if (b->n + n > b->room) {
		b->room = (b->n + n) * 2;
		b->at = resize(b->at, b->room, 1);
	}
	b->n += n;
	return b->at + b->n - n;
}

/* --------------------------------------------------------------------------- states */

/* One byte for the state after a step: docs/cluster.md, INK.STEPS. */
static uint8_t state_byte(const struct ink_move *m, int error)
{
	enum { NO_ROOM = 253, ABSENT = 254, DONT_KNOW = 255 };

	if (error)
		return NO_ROOM;
	if (m->to < 0)
		return m->to == INK_ABSENT ? ABSENT : DONT_KNOW;
	return (uint8_t)m->to;
}

static void give_states(const struct chunk *c, uint32_t n, struct bytes *into)
{
	uint8_t *at = bytes_more(into, n);

	for (uint32_t i = 0; i < n; i++)
		at[i] = state_byte(&c->moves[i], c->errors[i]);
}

/* ---------------------------------------------------------------------------- moves */

static void put_move(uint8_t *at, const struct chunk *c, uint32_t i, uint32_t place, uint64_t sequence)
{
	put64(at, sequence);
	put32(at + 8, place + i);
	put16(at + 12, c->moves[i].action);
	put16(at + 14, (uint16_t)c->moves[i].from);
	put16(at + 16, (uint16_t)c->moves[i].to);
	put16(at + 18, c->errors[i] != 0);
	put32(at + 20, c->events[i]);
}

static void count(struct ink_value *v, const struct ink_action *a)
{
	for (unsigned j = 0; j < a->n_countings; j++)
		if (a->countings[j].amount == INK_AMOUNT_NUMBER)
			v->counters[a->countings[j].counter] += a->countings[j].number;
}

/* Where there is no room, or no sensor any more, the move is counted and goes nowhere. */
static uint8_t *room_in_outbox(struct ink_value *v, const struct origin *o)
{
	static uint8_t nowhere[MOVE_BYTES];
	uint8_t *room = sensors_room(v, o->sensor, o->epoch);

	return room ? room : nowhere;
}

/* What the row does besides moving the flow. */
static void act(struct ink_value *v, const struct chunk *c, uint32_t i, uint32_t place,
		const struct origin *o)
{
	unsigned action = c->moves[i].action;

	count(v, &v->machine->view->action[action]);
	if (o->reports)
		reports_add(v, o->reports, c->ids[i], c->events[i], &c->moves[i]);
	if (o->answers == BLOB_MOVES)
		put_move(o->into ? bytes_more(o->into, MOVE_BYTES) : room_in_outbox(v, o), c, i, place,
			 o->sequence);
}

/* ---------------------------------------------------------------------------- steps */

static uint32_t note(struct ink_value *v, const struct chunk *c, uint32_t n, uint32_t place,
		     const struct origin *o)
{
	uint64_t begun = 0, unsure = 0;
	uint32_t refused = 0;

	for (uint32_t i = 0; i < n; i++) {
		begun += c->moves[i].from == INK_ABSENT && c->moves[i].to != INK_ABSENT;
		unsure += c->moves[i].from == INK_DONT_KNOW;
		refused += c->errors[i] != 0;
		if (c->moves[i].action && c->moves[i].action < v->machine->view->actions)
			act(v, c, i, place, o);
	}
	v->count[COUNT_BEGUN] += begun;
	v->count[COUNT_UNSURE] += unsure;
	return refused;
}

uint32_t apply(struct ink_value *v, struct chunk *c, uint32_t n, uint32_t place, const struct origin *o)
{
	struct ink_batch batch = {
		.n = n, .ids = c->ids, .events = c->events, .moves = c->moves, .errors = c->errors};
	uint32_t refused;

	ink_step_batch(v->table, &batch);
	refused = note(v, c, n, place, o);
	if (o->answers == BLOB_STATES && o->into)
		give_states(c, n, o->into);
	v->flagged |= refused != 0;
	v->count[COUNT_STEPS] += n;
	v->count[COUNT_REFUSED] += refused;
	totals_add(&totals.steps, n);
	totals_add(&totals.refused, refused);
	return refused;
}
