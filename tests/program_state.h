/* SPDX-License-Identifier: BSD-2-Clause */
/* Of a program (program.h): its bytes, the two tables, the rules, and what is known of each flow. */
#ifndef INKLING_TESTS_PROGRAM_STATE_H
#define INKLING_TESTS_PROGRAM_STATE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <inkling/inkling.h>

#include "tests/side_probe.h"
#include "tests/bloom_model.h"
#include "base/cpu.h"
#include "engine/prefetch.h"
#include "kinds/line/kind.h"
#include "table/table.h"
#include "tests/kind.h"
#include "tests/random.h"
#include "tests/verbs.h"

enum {
	FLOWS = 128,
	FEW_FLOWS = 32,
	EVENTS = 4,
	RULED = 6
}; /* events and states that the rules name, at the most */

enum knowledge { NONE, KNOWN, DOUBTED };

struct flow {
	uint64_t id;
	enum knowledge knowledge;
	unsigned state;   /* if KNOWN, as is the rest */
	uint64_t touched; /* not earlier than */
	int any_time;     /* the rules have changed since: it may expire whenever it likes */
	int aside;        /* it stands in the side table, where no stranger can hit it */
	int hidden;       /* `dleft`: it reads "don't know" because of another one's entry */
};

/* The oracle's own copy of the rules. */
struct machine {
	int attached;
	unsigned states, events;
	struct ink_row rows[(RULED + 2) * EVENTS];
	uint8_t starts[EVENTS];
	struct ink_timing timings[RULED + 1];
};

struct program {
	const uint8_t *bytes;
	size_t size, at;
	struct ink_options options;
	struct ink_kind_info info; /* of its kind */
	uint8_t far;               /* batches take the ways of tables that are too large for the caches */
	struct ink_table *first, *second;
	struct machine machine;
	struct flow flows[FLOWS];
	struct ink_counters before; /* the call that is checked */
	uint64_t total_before;
	int old_rules; /* a tick is under way that began under other rules */
	unsigned calls;
	unsigned known;         /* summed over the calls, to see that a program tests something */
	const char *wrong;      /* what the first failure was */
	struct model model;     /* `stateful` and `direct` */
	struct ink_rules rules; /* that the model goes by */
};

static inline void must(struct program *p, int holds, const char *what)
{
	if (!holds && !p->wrong)
		p->wrong = what;
}

static inline unsigned next_byte(struct program *p)
{
	return p->at < p->size ? p->bytes[p->at++] : 0;
}

/* ------------------------------------------------------------------ the tables */

static inline uint64_t flow_id(unsigned i)
{
	if (i % 2)
		return id_number(i);
	return (uint64_t)(i >> 1 & 3) << 62 | (uint64_t)(i >> 3 & 3) << 30 |
	       i; /* four lines, four fingerprints */
}

/* Entries of a line, and the part: whole, 8, 16 or 32 bytes. */
static inline void choose_line(struct program *p, unsigned byte)
{
	p->options.geometry.h = 16 + 8 * (byte % 3);
	p->options.part = byte / 3 % 4 ? 4u << byte / 3 % 4 : 0;
}

static inline void choose_geometry(struct program *p)
{
	struct ink_geometry *g = &p->options.geometry;
	unsigned side = next_byte(p) % 12;

	g->side = side == 0 ? INK_NO_SIDE : side < 10 ? side : 0;
	g->b = 1 + next_byte(p) % 5;
	if (p->info.geometry & INK_GEOMETRY_DLEFT_FLAGS) {
		g->d = 1 + next_byte(p) % 4;
		g->h = 1 + next_byte(p) % 8;
		g->f = 2 + next_byte(p) % 9;
		g->dleft_flags = next_byte(p) % 8;
	} else if (p->info.geometry & INK_GEOMETRY_Q)
		g->f = 4 + next_byte(p) % 21;
	else
		choose_line(p, next_byte(p));
}

static inline int is_filter(const struct program *p)
{
	return (p->info.geometry & INK_GEOMETRY_K) != 0;
}

/* Few cells, so that flows meet. */
static inline void choose_filter(struct program *p)
{
	struct ink_geometry *g = &p->options.geometry;
	unsigned bits = next_byte(p) % 10;

	g->k = 1 + next_byte(p) % 8;
	g->m = 2 * g->k + next_byte(p);
	g->counter_bits = bits == 9 ? INK_NO_COUNTERS : bits;
	g->threshold = p->info.geometry & INK_GEOMETRY_THRESHOLD ? next_byte(p) % (g->k + 1) : 0;
	g->bloom_flags = next_byte(p) % 3;
	p->options.full = INK_UNSURE + next_byte(p) % 2;
}

/* Bytes of any value are valid options; some are refused all the same, for they name no geometry. */
static inline void choose_options(struct program *p)
{
	static const unsigned states[] = {1, 2, 3, 4, 7, 15, 16, 63, 200, 255};
	unsigned kind = next_byte(p);

	p->options = (struct ink_options){.size = sizeof p->options,
					  .kind = INK_LINE + kind % 6,
					  .states = states[next_byte(p) % 10],
					  .flows = 1,
					  .seed = 1,
					  .simd = INK_SIMD_NONE};
	p->info = info_of(p->options.kind);
	p->far = kind >> 6 & 1;
	p->options.age_bits = next_byte(p) % 3;
	p->options.full = INK_UNSURE + next_byte(p) % 3;
	p->options.writers = p->info.can & INK_CAN_MANY_WRITERS ? 1 + (kind >> 7) : 1;
	if (is_filter(p))
		choose_filter(p);
	else if (!(p->info.can & INK_CAN_BE_EXACT))
		choose_geometry(p);
}

static inline int make_tables(struct program *p)
{
	struct ink_why why = {""};

	p->first = ink_create(&p->options, &why);
	if (!p->first) {
		must(p, why.text[0] && (errno == ERANGE || is_filter(p)),
		     "a geometry was refused without a reason");
		return 0;
	}
	p->options.simd = INK_SIMD_BEST;
	p->second = ink_create(&p->options, &why);
	must(p, p->second != NULL, "the second table could not be made");
	if (!p->second)
		return 0;
	p->second->is_far = p->far;
	for (unsigned i = 0; i < FLOWS; i++)
		p->flows[i] = (struct flow){.id = flow_id(i)};
	return 1;
}

static inline uint64_t table_total(const struct ink_table *t)
{
	struct ink_counts counts;

	ink_census(t, &counts);
	return counts.total;
}

static inline int is_exact(const struct program *p)
{
	return (p->info.can & INK_CAN_BE_EXACT) != 0;
}

static inline int is_dleft(const struct program *p)
{
	return (p->info.geometry & INK_GEOMETRY_DLEFT_FLAGS) != 0;
}

/* `dleft` with second copies: an insert does not look for matches. */
static inline int copies(const struct program *p)
{
	return p->options.geometry.dleft_flags & INK_DLEFT_COPY;
}

/* -------------------------------------------------------------------- the rules */

static inline struct ink_row row_at(const struct machine *m, unsigned line, unsigned event)
{
	return m->rows[line * m->events + event];
}

static inline struct ink_row row_of(const struct machine *m, ink_answer from, unsigned event)
{
	struct ink_row none = {.next = INK_NO_ROW};

	if (from < 0)
		return row_at(m, m->states + (from == INK_DONT_KNOW), event);
	return (unsigned)from < m->states ? row_at(m, (unsigned)from, event) : none;
}

static inline struct ink_timing timing_in(const struct program *p, unsigned state)
{
	struct ink_timing each_tick = {.period = 1, .timeout = INK_ABSENT}, never = {.timeout = INK_ABSENT};

	if (!p->machine.attached)
		return each_tick;
	return state < p->machine.states ? p->machine.timings[state] : never;
}

static inline int16_t choose_next(struct program *p)
{
	unsigned to = next_byte(p) % (RULED + 4);

	return to < p->machine.states ? (int16_t)to : to % 2 ? INK_ABSENT : INK_NO_ROW;
}

static inline void choose_machine(struct program *p)
{
	struct machine *m = &p->machine;

	m->states = 1 + next_byte(p) % (p->options.states < RULED ? p->options.states : RULED);
	m->events = 1 + next_byte(p) % EVENTS;
	for (unsigned i = 0; i < (m->states + 2) * m->events; i++)
		m->rows[i] = (struct ink_row){choose_next(p), (uint16_t)(i * 7)};
	for (unsigned i = 0; i < m->events; i++)
		m->starts[i] = next_byte(p) % 4 == 0;
	for (unsigned i = 0; i <= m->states; i++) {
		unsigned byte = next_byte(p);
		int16_t timeout = byte & 0x40 && i < m->states ? choose_next(p) : INK_ABSENT;

		m->timings[i] =
			(struct ink_timing){byte % 7, timeout < 0 ? INK_ABSENT : timeout, byte >= 128};
	}
}

/* What a tick that is under way does was decided under the old rules; `exact` alone asks the new ones. */
static inline void exchange_rules(struct program *p)
{
	struct machine *m = &p->machine;
	struct ink_rules rules;

	if (is_exact(p) && p->first->aging.now != p->first->aging.target)
		return;
	m->attached = next_byte(p) % 8 != 0;
	if (m->attached)
		choose_machine(p);
	rules = (struct ink_rules){sizeof rules, m->states, m->events, m->rows, m->starts, m->timings, NULL};
	must(p, ink_set_rules(p->first, m->attached ? &rules : NULL, NULL) == 0, "rules were refused");
	must(p, ink_set_rules(p->second, m->attached ? &rules : NULL, NULL) == 0, "rules were refused");
	p->old_rules = p->first->aging.now != p->first->aging.target;
	for (unsigned i = 0; i < FLOWS; i++)
		p->flows[i].any_time = !is_exact(p);
}

/* ------------------------------------------------------------------- for both halves */

static inline int same_counts(const struct ink_counts *a, const struct ink_counts *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static inline uint64_t sum_of(const struct ink_counts *counts)
{
	uint64_t sum = counts->unsure;

	for (unsigned i = 0; i < INK_MAX_STATES; i++)
		sum += counts->state[i];
	return sum;
}

/* Small steps mostly; sometimes a jump, and sometimes back. */
static inline uint64_t choose_now(struct program *p)
{
	unsigned byte = next_byte(p);
	uint64_t now = p->first->aging.target;

	return byte < 250 ? now + byte % 5 : byte < 255 ? now + (uint64_t)byte * byte : now - 1;
}

#endif
