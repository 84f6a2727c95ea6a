/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `stateful` and `direct` once more, from docs/format.md and docs/semantics.md,
 * with a struct for every cell and no thought for speed. What the library does
 * must be this, answer by answer and cell by cell.
 */
#ifndef INKLING_TESTS_BLOOM_MODEL_H
#define INKLING_TESTS_BLOOM_MODEL_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/inkling.h>

#include "tests/kind.h"

enum { MODEL_UNSURE = 255 }; /* as the state of a cell */

struct model_cell {
	unsigned count; /* without counters 1; 0: empty */
	unsigned state; /* stateful */
	unsigned age;
};

struct model {
	int direct; /* or else stateful */
	struct ink_geometry g;
	unsigned states, age_bits, cell_bits;
	const struct ink_rules *rules; /* NULL: none */
	uint64_t now, target, cursor;  /* a tick is under way while target > now */
	unsigned most;                 /* looks that it takes */
	uint64_t collisions, marked, expired;
	struct model_cell *cells;
};

/* --------------------------------------------------------------------- places */

static inline uint64_t model_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline uint32_t model_draw(uint64_t id, uint32_t n, uint32_t end)
{
	uint64_t word = model_mix(id + n / 2 * 0x9e3779b97f4a7c15ull);
	uint64_t half = n % 2 ? word >> 32 : word & 0xffffffff;

	return (uint32_t)(half * end >> 32);
}

/* Cell number `i` of a flow, or of a flow in a state. */
static inline struct model_cell *model_cell(const struct model *m, uint64_t id, unsigned state, uint32_t i)
{
	uint32_t k = m->g.k, in_line = 512 / m->cell_bits;
	int blocked = (m->g.bloom_flags & INK_BLOOM_BLOCKED) != 0;
	uint32_t cells = blocked ? in_line : m->g.m, from = 0, share = cells / k + (i < cells % k);
	uint32_t draw = m->direct ? 32 * state + i : blocked ? i + 2 : i;

	for (uint32_t before = 0; before < i; before++)
		from += cells / k + (before < cells % k);
	if (blocked)
		from += model_draw(id, 0, m->g.m / in_line) * in_line;
	return &m->cells[from + model_draw(id, draw, share)];
}

static inline unsigned model_age_top(const struct model *m)
{
	return (1u << m->age_bits) - 1;
}

static inline int model_counts(const struct model *m)
{
	return m->g.counter_bits != 0;
}

static inline unsigned model_top(const struct model *m)
{
	return model_counts(m) ? (1u << m->g.counter_bits) - 1 : 1;
}

/* -------------------------------------------------------------------- answers */

static inline int model_pair(const struct model *m, uint64_t id, unsigned state)
{
	unsigned there = 0;

	for (uint32_t i = 0; i < m->g.k; i++)
		there += model_cell(m, id, state, i)->count != 0;
	return there == m->g.k;
}

static inline ink_answer model_direct(const struct model *m, uint64_t id)
{
	unsigned found = 0, last = 0;

	for (unsigned s = 0; s < m->states; s++)
		if (model_pair(m, id, s)) {
			found++;
			last = s;
		}
	return found == 0 ? INK_ABSENT : found == 1 ? (ink_answer)last : INK_DONT_KNOW;
}

static inline ink_answer model_stateful(const struct model *m, uint64_t id)
{
	unsigned votes[MODEL_UNSURE + 1] = {0}, kinds = 0, know = 0, state = 0;

	for (uint32_t i = 0; i < m->g.k; i++) {
		const struct model_cell *c = model_cell(m, id, 0, i);

		if (!c->count)
			return INK_ABSENT;
		votes[c->state]++;
	}
	for (unsigned s = 0; s < m->states; s++)
		if (votes[s]) {
			kinds++;
			know += votes[s];
			state = s;
		}
	if (kinds > 1)
		return INK_ABSENT;
	return know < m->g.threshold ? INK_DONT_KNOW : (ink_answer)state;
}

static inline ink_answer model_peek(const struct model *m, uint64_t id)
{
	return m->direct ? model_direct(m, id) : model_stateful(m, id);
}

static inline void model_touch(const struct model *m, uint64_t id, unsigned state)
{
	for (uint32_t i = 0; i < m->g.k; i++)
		model_cell(m, id, state, i)->age = model_age_top(m);
}

static inline ink_answer model_lookup(const struct model *m, uint64_t id)
{
	ink_answer answer = model_peek(m, id);

	for (unsigned s = 0; s < m->states && m->direct; s++)
		if (model_pair(m, id, s))
			model_touch(m, id, s);
	if (answer != INK_ABSENT && !m->direct)
		model_touch(m, id, 0);
	return answer;
}

/* -------------------------------------------------------------------- changes */

static inline void model_mark(struct model *m, struct model_cell *c)
{
	m->marked += c->state != MODEL_UNSURE;
	c->state = MODEL_UNSURE;
}

static inline int model_insert(struct model *m, uint64_t id, unsigned state)
{
	if (state >= m->states)
		return -EINVAL;
	m->collisions += (m->direct ? model_pair(m, id, state) : model_peek(m, id) != INK_ABSENT) ? 1 : 0;
	for (uint32_t i = 0; i < m->g.k; i++) {
		struct model_cell *c = model_cell(m, id, state, i);

		if (!c->count)
			c->state = m->direct ? 0 : state;
		else if (!m->direct && (c->state != state || !model_counts(m)))
			model_mark(m, c);
		c->count += c->count < model_top(m);
		c->age = model_age_top(m);
	}
	return 0;
}

static inline void model_empty(struct model_cell *c)
{
	*c = (struct model_cell){0, 0, 0};
}

static inline void model_take_out(const struct model *m, uint64_t id, unsigned state)
{
	for (uint32_t i = 0; i < m->g.k; i++) {
		struct model_cell *c = model_cell(m, id, state, i);
		int stays = model_counts(m) ? c->count == model_top(m) : m->direct;

		if (m->g.bloom_flags & INK_BLOOM_DECREMENT && model_counts(m))
			stays = 0;
		if (!model_counts(m) && !m->direct)
			stays = c->state == MODEL_UNSURE;
		if (!stays && --c->count == 0)
			model_empty(c);
	}
}

/* Of a flow that must be there, and in that state if one is given (else -1). */
static inline int model_find(const struct model *m, uint64_t id, int only)
{
	ink_answer answer = model_peek(m, id);

	if (m->direct && only >= 0)
		return model_pair(m, id, (unsigned)only) ? only : -ENOENT;
	if (answer == INK_DONT_KNOW)
		return -EBUSY;
	return answer == INK_ABSENT || (only >= 0 && answer != only) ? -ENOENT : answer;
}

static inline int model_modify(struct model *m, uint64_t id, int only, unsigned to)
{
	int from = model_find(m, id, only);

	if (to >= m->states)
		return -EINVAL;
	if (from < 0)
		return from;
	if ((unsigned)from == to)
		return model_touch(m, id, to), 0;
	if (m->direct) {
		uint64_t before = m->collisions;

		model_take_out(m, id, (unsigned)from);
		model_insert(m, id, to);
		m->collisions = before;
		return 0;
	}
	for (uint32_t i = 0; i < m->g.k; i++) {
		struct model_cell *c = model_cell(m, id, 0, i);

		if (c->state != MODEL_UNSURE && c->count > 1)
			model_mark(m, c);
		else if (c->state != MODEL_UNSURE)
			c->state = to;
	}
	return model_touch(m, id, 0), 0;
}

static inline int model_delete(struct model *m, uint64_t id, int only)
{
	int from = model_find(m, id, only);

	if (from == -EBUSY && !m->direct && model_counts(m))
		from = 0;
	if (from < 0)
		return from;
	if (m->direct && !model_counts(m))
		return -EBUSY;
	model_take_out(m, id, (unsigned)from);
	return 0;
}

static inline int model_set(struct model *m, uint64_t id, unsigned state)
{
	int error = model_modify(m, id, -1, state);

	return error == -ENOENT ? model_insert(m, id, state) : error;
}

/* ----------------------------------------------------------------------- steps */

static inline struct ink_row model_row(const struct model *m, unsigned line, unsigned event)
{
	struct ink_row none = {.next = INK_NO_ROW};

	return line < m->rules->states + 2 ? m->rules->rows[line * m->rules->events + event] : none;
}

static inline int model_step(struct model *m, uint64_t id, unsigned event, struct ink_move *move)
{
	struct ink_row none = {.next = INK_NO_ROW}, row;
	ink_answer from;
	int begins;

	*move = (struct ink_move){INK_DONT_KNOW, INK_DONT_KNOW, 0};
	if (!m->rules || event >= m->rules->events)
		return -EINVAL;
	from = model_lookup(m, id);
	if (from == INK_DONT_KNOW)
		return move->action = model_row(m, m->rules->states + 1, event).action, 0;
	row = from == INK_ABSENT                  ? model_row(m, m->rules->states, event)
	      : (unsigned)from < m->rules->states ? model_row(m, (unsigned)from, event)
						  : none;
	begins = from >= 0 && row.next == INK_NO_ROW && m->rules->starts && m->rules->starts[event];
	if (begins) {
		row = model_row(m, m->rules->states, event);
		from = INK_ABSENT;
	}
	*move = (struct ink_move){from, row.next == INK_NO_ROW ? from : row.next, row.action};
	if (move->to == from)
		return 0;
	if (from == INK_ABSENT)
		return model_insert(m, id, (unsigned)move->to);
	if (move->to == INK_ABSENT)
		return model_delete(m, id, from), 0;
	return model_modify(m, id, from, (unsigned)move->to);
}

/* ------------------------------------------------------------------------ time */

static inline uint64_t model_period(const struct model *m, unsigned state)
{
	uint64_t longest;

	if (!m->rules || !m->rules->timings)
		return m->rules && state >= m->rules->states && state != MODEL_UNSURE ? 0 : 1;
	if (state != MODEL_UNSURE)
		return state < m->rules->states ? m->rules->timings[state].period : 0;
	longest = m->rules->timings[m->rules->states].period;
	for (unsigned s = 0; s < m->states && longest && !m->direct; s++) {
		uint64_t period = model_period(m, s);

		longest = period == 0 || period > longest ? period : longest;
	}
	return longest;
}

static inline uint64_t model_looks(const struct model *m, unsigned state)
{
	uint64_t period = model_period(m, state), stride = m->age_bits == 2 ? (period + 2) / 3 : period,
		 looks;

	if (!stride)
		return 0;
	looks = m->target / stride - m->now / stride;
	return looks < m->most ? looks : m->most;
}

static inline void model_advance(struct model *m, uint64_t cells)
{
	uint64_t end = cells < m->g.m - m->cursor ? m->cursor + cells : m->g.m;

	for (; m->cursor < end; m->cursor++) {
		struct model_cell *c = &m->cells[m->cursor];
		uint64_t looks = c->count ? model_looks(m, c->state) : 0;

		if (!c->count || !m->age_bits)
			continue;
		if (c->age >= looks) {
			c->age -= (unsigned)looks;
			continue;
		}
		m->expired++;
		model_empty(c);
	}
	if (m->cursor == m->g.m)
		m->now = m->target;
}

static inline void model_begin(struct model *m, uint64_t now, unsigned most)
{
	m->target = now;
	m->cursor = 0;
	m->most = most;
}

/* Does no look fall due? Then a tick in portions arrives at once. */
static inline int model_idle(const struct model *m)
{
	uint64_t looks = model_looks(m, MODEL_UNSURE);

	for (unsigned s = 0; s < m->states && m->age_bits; s++)
		looks += model_looks(m, s);
	return looks == 0;
}

static inline void model_portion(struct model *m, uint64_t now, uint64_t cells)
{
	if (m->target == m->now && now > m->now) {
		model_begin(m, now, 1);
		m->cursor = model_idle(m) ? m->g.m : 0;
	}
	if (m->target > m->now)
		model_advance(m, cells + 1);
}

static inline void model_tick(struct model *m, uint64_t now)
{
	if (m->target > m->now)
		model_advance(m, m->g.m);
	if (now > m->now) {
		model_begin(m, now, 4);
		model_advance(m, m->g.m);
	}
}

/* -------------------------------------------------------------------- the table */

static inline struct model model_of(const struct ink_options *o, const struct ink_plan *p)
{
	struct model m = {.direct = !kind_takes(p->kind, INK_GEOMETRY_THRESHOLD),
			  .g = p->geometry,
			  .states = o->states,
			  .age_bits = p->age_bits};

	m.cell_bits = p->age_bits + p->state_bits +
		      (m.direct && !p->geometry.counter_bits ? 1 : p->geometry.counter_bits);
	m.cells = calloc(m.g.m, sizeof *m.cells);
	return m;
}

/* A cell as docs/format.md has it. */
static inline uint64_t model_bits(const struct model *m, const struct model_cell *c)
{
	unsigned a = m->age_bits, s = m->cell_bits - a - m->g.counter_bits, top = (1u << s) - 1;
	unsigned value = c->state == MODEL_UNSURE ? top : c->state + !model_counts(m);

	if (!c->count)
		return 0;
	if (m->direct)
		return c->age | c->count << a;
	return c->age | value << a | (model_counts(m) ? c->count << a << s : 0);
}

static inline uint64_t model_first_bit(const struct model *m, uint64_t cell)
{
	uint64_t in_line = 512 / m->cell_bits;

	if (!(m->g.bloom_flags & INK_BLOOM_BLOCKED))
		return cell * m->cell_bits;
	return cell / in_line * 512 + cell % in_line * m->cell_bits;
}

/* Are the bits of the body those of the model, cell by cell? */
static inline int model_agrees(const struct model *m, const void *body)
{
	const unsigned char *bytes = body;

	for (uint64_t i = 0; i < m->g.m; i++) {
		uint64_t at = model_first_bit(m, i), bits = 0;

		for (unsigned b = 0; b < m->cell_bits; b++)
			bits |= (uint64_t)(bytes[(at + b) / 8] >> (at + b) % 8 & 1) << b;
		if (bits != model_bits(m, &m->cells[i]))
			return 0;
	}
	return 1;
}

#endif
