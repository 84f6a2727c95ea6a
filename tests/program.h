/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs: operations on a table, read from bytes, beside an oracle that knows
 * what must hold.
 *
 * The first bytes choose kind, states, geometry and policy, the others are
 * calls on 128 flows, half of them ids that are hard to tell apart. Two tables
 * run side by side: the first by single calls in portable code, each of them
 * held against the oracle; the second with the best instructions, and in
 * batches where the program has one. They must answer alike, and their bodies
 * be the same, byte by byte.
 *
 * What the oracle knows of a flow:
 *
 *     KNOWN     the last that was done to it put it into a state, and nothing else can have changed it since
 *     NONE      it is not in the side table (in `exact`: nowhere)
 *     DOUBTED   neither: it was the victim of a stranger, was dropped or marked, or it cannot be known
 *
 * A KNOWN flow answers its state after every call, whatever was done to others
 * (in `dleft`: or "don't know"). What can change it is counted: a stranger's
 * call that succeeds changes at most one other flow; as many as `marked` says
 * read "don't know" from then on; as many as `replaced` says are gone, and only
 * from expendable states; and what expires has rested for its state's period at
 * least. `exact` is held to every answer and every error, and `stateful` and
 * `direct` to a model of their cells.
 */
#ifndef INKLING_TESTS_PROGRAM_H
#define INKLING_TESTS_PROGRAM_H

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
		g->h = 16 + 8 * (next_byte(p) % 3);
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
	rules = (struct ink_rules){sizeof rules, m->states, m->events, m->rows, m->starts, m->timings};
	must(p, ink_set_rules(p->first, m->attached ? &rules : NULL, NULL) == 0, "rules were refused");
	must(p, ink_set_rules(p->second, m->attached ? &rules : NULL, NULL) == 0, "rules were refused");
	p->old_rules = p->first->aging.now != p->first->aging.target;
	for (unsigned i = 0; i < FLOWS; i++)
		p->flows[i].any_time = !is_exact(p);
}

/* ------------------------------------------------------------- what may have changed */

static inline void know(struct program *p, struct flow *f, unsigned state)
{
	const struct ink_aging *a = &p->first->aging;

	*f = (struct flow){f->id,        KNOWN,    state,    is_exact(p) ? a->target : a->now,
			   p->old_rules, f->aside, f->hidden};
}

static inline void touch_flow(struct program *p, struct flow *f)
{
	if (f->knowledge == KNOWN)
		know(p, f, f->state);
}

/* What may change flows that a call was not about. */
struct causes {
	uint64_t victims, marked, replaced;
	int time; /* a tick is under way: a displacement may take the look at an entry that is due */
};

static inline int is_over(const struct program *p, const struct flow *f)
{
	uint32_t period = timing_in(p, f->state).period;

	if (!p->options.age_bits)
		return 0;
	return f->any_time || (period && p->first->aging.target - f->touched >= period);
}

/* Its time may have been over. 0: but then it would have moved. */
static inline int let_expire(struct program *p, struct flow *f, ink_answer answer, const struct causes *c)
{
	int16_t timeout = timing_in(p, f->state).timeout;

	if (!c->time || !is_over(p, f))
		return 0;
	if (f->any_time || c->victims || c->replaced)
		f->knowledge = DOUBTED;
	else if (timeout == INK_ABSENT)
		f->knowledge = NONE;
	else if (answer == timeout)
		know(p, f, (unsigned)timeout);
	else
		return 0;
	return 1;
}

/* A flow answers otherwise than before, or has left the side table. */
static inline void explain(struct program *p, struct flow *f, ink_answer answer, struct causes *c)
{
	if (answer == INK_DONT_KNOW && c->marked && !f->aside) {
		f->knowledge = DOUBTED;
		c->marked--;
	} else if (let_expire(p, f, answer, c)) {
		return;
	} else if (c->replaced && timing_in(p, f->state).expendable) {
		f->knowledge = NONE;
		c->replaced--;
	} else {
		must(p, c->victims > 0 && !f->aside, "a flow changed that no call touched");
		f->knowledge = DOUBTED;
		c->victims--;
	}
}

/*
 * In `dleft`, what hides behind "don't know" may be gone unseen; so may an entry whose place a copy takes.
 */
static inline int hides(struct program *p, struct flow *f, ink_answer answer, const struct causes *c)
{
	int was_hidden = f->hidden;

	f->hidden = is_dleft(p) && answer == INK_DONT_KNOW && !f->aside;
	if (c->replaced && copies(p) && timing_in(p, f->state).expendable)
		f->knowledge = DOUBTED;
	if ((f->hidden || was_hidden) && (c->victims || c->marked || c->replaced || c->time))
		f->knowledge = DOUBTED;
	return f->hidden || f->knowledge == DOUBTED;
}

static inline int is_aside(const struct program *p, uint64_t id)
{
	return entries_aside(&p->first->side, id) != 0;
}

static inline void look_at(struct program *p, struct flow *f, struct causes *c)
{
	ink_answer answer = f->knowledge == KNOWN || is_exact(p) ? ink_peek(p->first, f->id) : 0;
	int aside = is_aside(p, f->id);

	if (f->knowledge == KNOWN && !hides(p, f, answer, c) &&
	    (answer != (ink_answer)f->state || aside < f->aside))
		explain(p, f, answer, c);
	else if (f->knowledge == NONE && is_exact(p))
		must(p, answer == INK_ABSENT, "exact: an absent flow answers");
	f->aside = aside;
	p->known += f->knowledge == KNOWN;
}

/* Every flow that is KNOWN answers its state, or there is a cause. */
static inline void look_at_all(struct program *p, struct causes c)
{
	for (unsigned i = 0; i < FLOWS && !p->wrong; i++)
		look_at(p, &p->flows[i], &c);
}

/* -------------------------------------------------------------------- the calls */

/*
 * Each of these holds a result against what is known of the flow, and says how
 * many others it may have hit.
 */

static inline unsigned expect_answer(struct program *p, struct flow *f, const struct call *c,
				     ink_answer answer)
{
	must(p, answer >= INK_DONT_KNOW && answer < (int)p->options.states, "an answer is no answer");
	if (f->knowledge == KNOWN)
		must(p, answer == (ink_answer)f->state, "a flow does not answer its state");
	else if (answer == INK_ABSENT)
		f->knowledge = NONE;
	if (c->verb == LOOKUP)
		touch_flow(p, f);
	return 0;
}

static inline unsigned expect_refusal(struct program *p, const struct flow *f)
{
	must(p, p->first->counters.refused == p->before.refused + 1, "a refusal was not counted");
	if (p->options.full == INK_UNSURE && !is_exact(p) && !copies(p))
		must(p, ink_peek(p->first, f->id) == INK_DONT_KNOW,
		     "a refused flow does not read don't-know");
	return 0;
}

static inline unsigned expect_insert(struct program *p, struct flow *f, const struct call *c, int error)
{
	if (error == -ENOSPC)
		return expect_refusal(p, f);
	must(p, error == 0 || error == -EEXIST, "insert: an error that it has not");
	must(p, error == 0 || f->knowledge != NONE, "a flow that is not there exists");
	must(p, error != 0 || !is_exact(p) || f->knowledge != KNOWN, "exact: a flow was inserted twice");
	if (error == 0)
		know(p, f, c->state);
	return 0;
}

/* Was something added? -1: there were also removals, so it cannot be known. */
static inline int was_stored(const struct program *p)
{
	uint64_t total = table_total(p->first);

	if (total > p->total_before)
		return 1;
	if (p->first->counters.replaced != p->before.replaced ||
	    p->first->aging.now != p->first->aging.target)
		return -1;
	return 0;
}

static inline unsigned expect_set(struct program *p, struct flow *f, const struct call *c, int error)
{
	int stored;

	if (f->knowledge == KNOWN) {
		must(p, error == 0, "a flow could not be set");
		know(p, f, c->state);
		return 0;
	}
	if (error == -ENOSPC)
		return expect_refusal(p, f);
	must(p, error == 0 || error == -EBUSY, "set: an error that it has not");
	if (error != 0)
		return 0;
	stored = was_stored(p);
	if (stored == 1 || is_exact(p))
		know(p, f, c->state);
	else if (stored == -1)
		f->knowledge = DOUBTED;
	return stored != 1;
}

static inline unsigned expect_change(struct program *p, struct flow *f, const struct call *c, int error)
{
	if (f->knowledge == KNOWN) {
		must(p, error == 0, "a flow could not be changed or deleted");
		know(p, f, c->state);
		if (c->verb == DELETE)
			f->knowledge = NONE;
		return 0;
	}
	must(p, error == 0 || error == -ENOENT || error == -EBUSY,
	     "modify or delete: an error that it has not");
	must(p, error == -ENOENT || !is_exact(p), "exact: a flow that is not there was changed");
	if (error == -ENOENT)
		f->knowledge = NONE;
	return error == 0;
}

/* A move is what the rules say of the place that it claims to have started from. */
static inline void check_move(struct program *p, unsigned event, const struct result *r)
{
	struct ink_row row = row_of(&p->machine, r->move.from, event);
	ink_answer to = row.next == INK_NO_ROW || r->move.from == INK_DONT_KNOW ? r->move.from : row.next;

	must(p, r->error == 0 || (r->error == -ENOSPC && r->move.from == INK_ABSENT && row.next >= 0),
	     "step: an error that it has not");
	must(p, r->move.to == (r->error ? INK_ABSENT : to), "step: it went elsewhere than the rules say");
	must(p, r->move.action == row.action, "step: another action than the rules say");
}

/* Where a start event has no row for the state, and the flow begins again. */
static inline int begins_again(const struct program *p, unsigned state, unsigned event)
{
	return p->machine.starts[event] && row_of(&p->machine, (ink_answer)state, event).next == INK_NO_ROW;
}

/*
 * A flow that begins again is stored once more by full id, or starts in place if
 * it was found by that. If it begins nowhere, only the second kind is gone.
 */
static inline unsigned expect_beginning(struct program *p, struct flow *f, const struct result *r)
{
	must(p, r->move.from == INK_ABSENT, "step: a start event without a row did not begin the flow");
	if (r->error)
		return expect_refusal(p, f);
	if (r->move.to >= 0)
		know(p, f, (unsigned)r->move.to);
	else if (is_exact(p) || f->aside)
		f->knowledge = NONE;
	return 0;
}

static inline unsigned expect_move(struct program *p, struct flow *f, const struct result *r)
{
	if (f->knowledge == KNOWN)
		must(p, r->move.from == (ink_answer)f->state, "step: it left another state than the flow's");
	else
		must(p, r->move.from == INK_ABSENT || !is_exact(p), "exact: an absent flow left a state");
	if (r->error)
		return expect_refusal(p, f);
	if (r->move.to >= 0 && (f->knowledge == KNOWN || r->move.from == INK_ABSENT))
		know(p, f, (unsigned)r->move.to);
	else if (f->knowledge == KNOWN)
		f->knowledge = NONE;
	else
		return r->move.from >= 0;
	return 0;
}

static inline unsigned expect_step(struct program *p, struct flow *f, const struct call *c,
				   const struct result *r)
{
	if (!p->machine.attached || c->event >= p->machine.events) {
		must(p,
		     r->error == -EINVAL && r->move.from == INK_DONT_KNOW && r->move.to == INK_DONT_KNOW &&
			     r->move.action == 0,
		     "a step without rules, or on no event, did something");
		return 0;
	}
	check_move(p, c->event, r);
	if (f->knowledge == KNOWN && begins_again(p, f->state, c->event))
		return expect_beginning(p, f, r);
	return expect_move(p, f, r);
}

static inline int names_no_state(const struct program *p, const struct call *c)
{
	return (c->verb == INSERT || c->verb == SET || c->verb == MODIFY) && c->state >= p->options.states;
}

/* In `dleft` another flow can stand in the way of a proper call, which then changes nothing or marks both. */
static inline unsigned expect_doubt(struct program *p, const struct call *c, const struct result *r)
{
	if (names_no_state(p, c))
		must(p, r->error == -EINVAL, "a state that the table has not was taken");
	else if (c->verb == LOOKUP || c->verb == PEEK)
		must(p, r->answer == INK_DONT_KNOW, "two matches, and an answer");
	else if (c->verb == STEP)
		must(p, r->error == -EINVAL || r->move.from == INK_DONT_KNOW, "two matches, and a step");
	else if (c->verb != INSERT)
		must(p, r->error == -EBUSY, "two matches, and a change");
	return 0;
}

static inline unsigned expect(struct program *p, struct flow *f, const struct call *c, const struct result *r)
{
	if (names_no_state(p, c)) {
		must(p, r->error == -EINVAL, "a state that the table has not was taken");
		return 0;
	}
	switch (c->verb) {
	case LOOKUP:
	case PEEK:
		return expect_answer(p, f, c, r->answer);
	case INSERT:
		return expect_insert(p, f, c, r->error);
	case SET:
		return expect_set(p, f, c, r->error);
	case MODIFY:
	case DELETE:
		return expect_change(p, f, c, r->error);
	default:
		return expect_step(p, f, c, r);
	}
}

static inline struct causes causes_of(const struct program *p, uint64_t victims, int time)
{
	const struct ink_counters *now = &p->first->counters, *then = &p->before;

	return (struct causes){victims, now->marked - then->marked, now->replaced - then->replaced, time};
}

static inline struct result call_first(struct program *p, const struct call *c)
{
	struct flow *f = &p->flows[c->flow];
	int doubtful = is_dleft(p) && f->knowledge == KNOWN && ink_peek(p->first, f->id) == INK_DONT_KNOW;
	int time = p->first->aging.now != p->first->aging.target;
	struct result r;
	unsigned victims;

	p->before = p->first->counters;
	p->total_before = c->verb == SET ? table_total(p->first) : 0;
	r = perform(p->first, f->id, c);
	victims = doubtful && c->verb != INSERT ? expect_doubt(p, c, &r) : expect(p, f, c, &r);
	look_at_all(p, causes_of(p, victims, time));
	p->calls++;
	return r;
}

static inline void call_both(struct program *p, const struct call *c)
{
	struct result first = call_first(p, c), second = perform(p->second, p->flows[c->flow].id, c);

	must(p, same(&first, &second), "the two tables differ in a result");
}

/* --------------------------------------------------------------------- batches */

static inline int is_full(const struct ink_table *t, uint32_t number)
{
	const struct ink_line *line = (const struct ink_line *)t->body + number;
	int full = 1;

	for (unsigned i = 0; i < INK_LINE_WORDS; i++)
		full &= !ink_line_columns(ink_line_shape_of(t), line->word[i], 0);
	return full;
}

/* Kinds whose batches defer the inserts that have to make room. */
static const int defers[] = {[INK_LINE] = 1, [INK_KBF] = 0};

static inline int waits(const struct ink_table *t, enum verb verb, uint64_t id)
{
	struct ink_line_place place;

	if (verb != INSERT || !defers[t->plan.kind] || t->writers > 1)
		return 0;
	place = ink_line_place(ink_line_shape_of(t), id);
	return is_full(t, place.first) && is_full(t, place.second);
}

/*
 * The order in which a batch works on its items, to do the same by single calls.
 * Inserts that have to make room are deferred until the batch ends, or until a
 * block of it has too many of them.
 */
struct turns {
	const struct ink_table *t;
	enum verb verb;
	const uint64_t *ids;
	unsigned n, next;
	unsigned waiting, served, at[BATCH];
	int serving; /* the deferred ones, in order */
};

/* The number of the next item, or -1. What was done with the last one has to be done before. */
static inline int next_turn(struct turns *o)
{
	for (;;) {
		if (o->serving && o->served < o->waiting)
			return (int)o->at[o->served++];
		if (o->serving)
			o->serving = 0, o->waiting = 0, o->served = 0;
		if (o->next == o->n && !o->waiting)
			return -1;
		o->serving = o->next == o->n || (o->next % INK_BLOCK == 0 && o->waiting > INK_PENDING);
		if (o->serving)
			continue;
		if (!waits(o->t, o->verb, o->ids[o->next]))
			return (int)o->next++;
		o->at[o->waiting++] = o->next++;
	}
}

static inline struct call choose_call(struct program *p, enum verb verb, int properly);
static inline struct result filter_first(struct program *p, const struct call *c);

/* Also for the filters. */
static inline void batch_both(struct program *p)
{
	enum verb verb = next_byte(p) % VERBS;
	unsigned n = next_byte(p) % (BATCH + 1);
	struct arrays x = {.errors = {0}};
	struct ink_batch b = batch_of(&x, n);
	struct turns turns = {.t = p->first, .verb = verb, .ids = x.ids, .n = n};
	struct call calls[BATCH];
	struct result first[BATCH];
	int error = 0;

	for (unsigned i = 0; i < n; i++) {
		calls[i] = choose_call(p, verb, 0);
		x.ids[i] = p->flows[calls[i].flow].id;
		x.states[i] = (uint8_t)calls[i].state;
		x.events[i] = (uint16_t)calls[i].event;
	}
	for (int i = next_turn(&turns); i >= 0; i = next_turn(&turns))
		first[i] = is_filter(p) ? filter_first(p, &calls[i]) : call_first(p, &calls[i]);
	for (unsigned i = 0; i < n; i++)
		error = error ? error : first[i].error;
	must(p, perform_batch(p->second, verb, &b) == error, "a batch returns another error than its calls");
	for (unsigned i = 0; i < n; i++) {
		struct result second = item_of(&x, i);

		must(p, same(&first[i], &second), "a batch differs from its calls");
	}
}

/* ------------------------------------------------------------------------ time */

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

static inline void check_expired(struct program *p, const struct ink_counts *one,
				 const struct ink_counts *other)
{
	must(p, same_counts(one, other), "the two tables differ in what expired");
	must(p, sum_of(one) == one->total, "the expired do not add up");
	must(p, p->first->counters.expired - p->before.expired == one->total, "the expired were not counted");
}

/* In `exact`, what is due when the table arrives at this tick is gone then, or has moved. */
static inline void expire_exactly(struct program *p, uint64_t at)
{
	for (unsigned i = 0; i < FLOWS && is_exact(p) && p->options.age_bits; i++) {
		struct flow *f = &p->flows[i];
		struct ink_timing timing = timing_in(p, f->state);

		if (f->knowledge != KNOWN || !timing.period || at - f->touched < timing.period)
			continue;
		f->knowledge = timing.timeout == INK_ABSENT ? NONE : KNOWN;
		f->state = timing.timeout == INK_ABSENT ? 0 : (unsigned)timing.timeout;
		f->touched = at;
	}
}

/* Small steps mostly; sometimes a jump, and sometimes back. */
static inline uint64_t choose_now(struct program *p)
{
	unsigned byte = next_byte(p);
	uint64_t now = p->first->aging.target;

	return byte < 250 ? now + byte % 5 : byte < 255 ? now + (uint64_t)byte * byte : now - 1;
}

/* A tick under way is finished before another begins: in one call there may be two. */
static inline void tick_both(struct program *p)
{
	uint64_t now = choose_now(p), then = p->first->aging.now, target = p->first->aging.target;
	int expected = now < then ? -EINVAL : 0;
	struct ink_counts one = {.total = 0}, other = {.total = 0};

	for (unsigned i = 0; i < FLOWS && target != then; i++)
		p->flows[i].any_time = !is_exact(p);
	p->before = p->first->counters;
	must(p, ink_tick(p->first, now, &one) == expected, "a tick returns what it should not");
	must(p, ink_tick(p->second, now, &other) == expected, "a tick returns what it should not");
	check_expired(p, &one, &other);
	if (!expected) {
		must(p, p->first->aging.now >= now, "a tick did not arrive");
		if (target != then)
			expire_exactly(p, target);
		if (now > target)
			expire_exactly(p, now);
		p->old_rules = 0;
	}
	look_at_all(p, (struct causes){.time = !is_exact(p)});
}

static inline void portion_both(struct program *p)
{
	uint64_t now = choose_now(p), byte = next_byte(p),
		 cells = byte % 4 ? byte % 40 : byte; /* some at once */
	struct ink_counts one = {.total = 0}, other = {.total = 0};
	int more, begun;

	begun = now > p->first->aging.now || p->first->aging.target != p->first->aging.now;
	p->before = p->first->counters;
	more = ink_tick_portion(p->first, now, cells, &one);
	must(p, ink_tick_portion(p->second, now, cells, &other) == more,
	     "the two tables differ in a portion");
	must(p, more == 0 || more == 1 || (more == -EINVAL && now < p->first->aging.now), "a portion fails");
	check_expired(p, &one, &other);
	if (more == 0)
		must(p, p->first->aging.now >= now, "the last portion did not arrive");
	look_at_all(p, (struct causes){.time = 1});
	if (!begun || p->first->aging.now != p->first->aging.target)
		return;
	p->old_rules = 0;
	expire_exactly(p, p->first->aging.now);
	look_at_all(p, (struct causes){.time = !is_exact(p)});
}

/* ------------------------------------------------------------------ looking at all */

/* Every KNOWN flow has an entry of its own. */
static inline void check_census(struct program *p, const struct ink_counts *counts)
{
	uint64_t known[INK_MAX_STATES] = {0};

	for (unsigned i = 0; i < FLOWS; i++)
		if (p->flows[i].knowledge == KNOWN)
			known[p->flows[i].state]++;
	for (unsigned i = 0; i < p->options.states; i++)
		must(p, is_exact(p) ? counts->state[i] == known[i] : counts->state[i] >= known[i],
		     "the census misses a flow");
	must(p, sum_of(counts) == counts->total, "the census does not add up");
}

static inline void check_both(struct program *p)
{
	const struct ink_table *one = p->first, *other = p->second;
	struct ink_stats stats = {.size = sizeof stats};
	struct ink_counts counts, same_again;
	struct ink_why why = {""};

	ink_census(one, &counts);
	ink_census(other, &same_again);
	check_census(p, &counts);
	must(p, same_counts(&counts, &same_again), "the two tables differ in their census");
	ink_stats(one, &stats);
	must(p, stats.flows == counts.total && stats.side_flows <= stats.side_cells,
	     "the stats do not add up");
	must(p, ink_check(one, &why) == 0 && ink_check(other, &why) == 0, "a table is unsound");
	must(p, memcmp(&one->counters, &other->counters, sizeof one->counters) == 0,
	     "the two tables count differently");
	must(p, one->body_bytes == other->body_bytes && memcmp(one->body, other->body, one->body_bytes) == 0,
	     "the two bodies differ");
}

/* ----------------------------------------------------------------- the program */

/* The next flow from there on of which this is known, or that one. */
static inline unsigned find_flow(const struct program *p, unsigned from, enum knowledge wanted)
{
	for (unsigned i = 0; i < FLOWS; i++)
		if (p->flows[(from + i) % FLOWS].knowledge == wanted)
			return (from + i) % FLOWS;
	return from;
}

static inline struct call choose_call(struct program *p, enum verb verb, int properly)
{
	int has_more = is_filter(p) || verb == INSERT || verb == SET || verb == MODIFY || verb == STEP;
	struct call c = {.verb = verb, .flow = next_byte(p) % (is_filter(p) ? FEW_FLOWS : FLOWS)};
	unsigned byte = has_more ? next_byte(p) : 0;

	if (properly)
		c.flow = find_flow(p, c.flow, verb == INSERT ? NONE : KNOWN);
	c.state = byte < 250 ? byte % p->options.states : byte;
	c.event = byte % (EVENTS + 1);
	return c;
}

static inline void next_call(struct program *p)
{
	static const enum verb verbs[] = {LOOKUP, PEEK,   INSERT, INSERT, INSERT,
					  SET,    MODIFY, DELETE, STEP,   STEP};
	unsigned byte = next_byte(p), what = byte % 32;
	struct call c;

	if (what == 31)
		check_both(p);
	else if (what >= 29)
		tick_both(p);
	else if (what >= 26)
		portion_both(p);
	else if (what == 25)
		exchange_rules(p);
	else if (what >= 23)
		batch_both(p);
	else {
		c = choose_call(p, verbs[what % 10], byte >= 64);
		call_both(p, &c);
	}
}

/* ------------------------------------------------------------ stateful and direct */

/*
 * Here the oracle is a model that knows every cell (bloom_model.h), and there is
 * nothing that may be either way, improper use or not.
 */
static inline ink_answer model_lookup_in(struct model *m, uint64_t id, unsigned state)
{
	ink_answer answer;

	if (state >= m->states)
		return INK_ABSENT;
	if (m->direct && !model_pair(m, id, state))
		return INK_ABSENT;
	if (m->direct)
		return model_touch(m, id, state), (ink_answer)state;
	answer = model_lookup(m, id);
	return answer < 0 || answer == (ink_answer)state ? answer : INK_ABSENT;
}

static inline struct result perform_model(struct model *m, uint64_t id, const struct call *c)
{
	struct result r = {0, 0, {0, 0, 0}};

	switch ((unsigned)c->verb) {
	case LOOKUP:
		r.answer = model_lookup(m, id);
		break;
	case PEEK:
		r.answer = model_peek(m, id);
		break;
	case INSERT:
		r.error = model_insert(m, id, c->state);
		break;
	case SET:
		r.error = model_set(m, id, c->state);
		break;
	case MODIFY:
		r.error = model_modify(m, id, -1, c->state);
		break;
	case DELETE:
		r.error = model_delete(m, id, -1);
		break;
	case STEP:
		r.error = model_step(m, id, c->event, &r.move);
		break;
	case LOOKUP_IN:
		r.answer = model_lookup_in(m, id, c->state);
		break;
	case MODIFY_FROM:
		r.error = c->event < m->states ? model_modify(m, id, (int)c->event, c->state) : -EINVAL;
		break;
	default:
		r.error = c->state < m->states ? model_delete(m, id, (int)c->state) : -EINVAL;
	}
	return r;
}

static inline struct result filter_first(struct program *p, const struct call *c)
{
	uint64_t id = p->flows[c->flow].id;
	struct result one = perform(p->first, id, c), model = perform_model(&p->model, id, c);

	must(p, same(&one, &model), "a result is not the model's");
	p->known += one.answer >= 0;
	p->calls++;
	return one;
}

/* Can a table of this kind keep these rules? */
static inline int are_possible(const struct program *p, const struct ink_rules *rules)
{
	for (unsigned i = 0; i < rules->states && p->options.age_bits; i++) {
		const struct ink_timing *timing = &rules->timings[i];

		if (timing->period && timing->timeout != INK_ABSENT)
			return 0;
		if (!(p->info.can & INK_CAN_DIFFER) && timing->period != rules->timings[0].period)
			return 0;
	}
	return (p->info.can & INK_CAN_DIFFER) || rules->states == p->options.states ||
	       rules->timings[0].period == 0 || !p->options.age_bits;
}

/* Not while a tick is under way: what that one does was decided under the old rules. */
static inline void filter_rules(struct program *p)
{
	struct machine old = p->machine, *m = &p->machine;
	unsigned byte = next_byte(p);
	struct ink_rules rules;
	int expected;

	if (p->model.now != p->model.target)
		return;
	choose_machine(p);
	for (unsigned i = 0; i < m->states && byte % 4; i++)
		m->timings[i] = (struct ink_timing){byte % 5, INK_ABSENT, 0};
	rules = (struct ink_rules){sizeof rules, m->states, m->events, m->rows, m->starts, m->timings};
	expected = are_possible(p, &rules) ? 0 : -ENOTSUP;
	must(p, ink_set_rules(p->first, &rules, NULL) == expected, "rules were taken or refused wrongly");
	must(p, ink_set_rules(p->second, &rules, NULL) == expected, "rules were taken or refused wrongly");
	if (expected) {
		p->machine = old;
		return;
	}
	p->rules = rules;
	p->model.rules = &p->rules;
}

static inline void filter_tick(struct program *p)
{
	uint64_t now = choose_now(p), cells = next_byte(p);
	int at_once = next_byte(p) % 2, error, again;
	struct ink_counts one = {.total = 0}, other = {.total = 0};

	if (now < p->model.now)
		return;
	error = at_once ? ink_tick(p->first, now, &one) : ink_tick_portion(p->first, now, cells, &one);
	again = at_once ? ink_tick(p->second, now, &other) : ink_tick_portion(p->second, now, cells, &other);
	if (at_once)
		model_tick(&p->model, now);
	else
		model_portion(&p->model, now, cells);
	must(p, error == again && error >= 0, "a tick failed");
	must(p, p->first->aging.now == p->model.now, "the table is at another time than the model");
	must(p, same_counts(&one, &other) && sum_of(&one) == one.total, "what expired does not add up");
}

static inline void filter_check(struct program *p)
{
	const struct ink_counters *c = &p->first->counters;
	struct ink_counts counts;

	must(p, model_agrees(&p->model, p->first->body), "the cells are not the model's");
	must(p,
	     c->collisions == p->model.collisions && c->marked == p->model.marked &&
		     c->expired == p->model.expired,
	     "the counters are not the model's");
	must(p, ink_census(p->first, &counts) == -ENOTSUP && counts.total == 0, "a census of cells");
	must(p, memcmp(p->first->body, p->second->body, p->first->body_bytes) == 0, "the two bodies differ");
	must(p, ink_check(p->first, NULL) == 0 && ink_check(p->second, NULL) == 0, "a table is unsound");
}

static inline void next_filter_call(struct program *p)
{
	unsigned byte = next_byte(p), what = byte % 32;

	if (what == 31)
		filter_check(p);
	else if (what >= 28)
		filter_tick(p);
	else if (what == 27)
		filter_rules(p);
	else if (what == 26)
		batch_both(p);
	else {
		struct call c = choose_call(p, what % ALL_VERBS, 0);
		struct result first = filter_first(p, &c),
			      second = perform(p->second, p->flows[c.flow].id, &c);

		must(p, same(&first, &second), "the two tables differ in a result");
	}
}

static inline void run_filter(struct program *p)
{
	p->model = model_of(&p->options, &p->first->plan);
	while (p->at < p->size && !p->wrong)
		next_filter_call(p);
	filter_check(p);
	free(p->model.cells);
}

/* Runs the bytes. NULL, or what does not hold. */
static inline const char *program_run(struct program *p, const uint8_t *bytes, size_t size)
{
	*p = (struct program){.bytes = bytes, .size = size};
	choose_options(p);
	if (make_tables(p) && is_filter(p)) {
		run_filter(p);
	} else if (p->first) {
		while (p->at < p->size && !p->wrong)
			next_call(p);
		check_both(p);
	}
	ink_free(p->first);
	ink_free(p->second);
	return p->wrong;
}

#endif
