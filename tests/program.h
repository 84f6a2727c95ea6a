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

#include "base/cpu.h"
#include "engine/prefetch.h"
#include "tests/program_filters.h"
#include "tests/program_oracle.h"

/* ---------------------------------------------------------------------- calls */

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

/* A part of `line`. */
static inline int is_full(const struct ink_table *t, uint32_t part)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	const uint64_t *words = (const uint64_t *)t->body + part * s->words;
	int full = 1;

	for (unsigned i = 0; i < s->words; i++)
		full &= !ink_line_columns(s, words[i], 0);
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

/* The items of a batch, as calls and as arrays. */
static inline void choose_batch(struct program *p, enum verb verb, unsigned n, struct call *calls,
				struct arrays *x)
{
	for (unsigned i = 0; i < n; i++) {
		calls[i] = choose_call(p, verb, 0);
		x->ids[i] = p->flows[calls[i].flow].id;
		x->states[i] = (uint8_t)calls[i].state;
		x->events[i] = (uint16_t)calls[i].event;
		x->errors[i] = gives_answer(verb) ? 0 : 1; /* which the batch has to overwrite */
	}
}

/* By single calls, in the order of the batch, in which none overtakes another of the same flow. Returns the first error. */
static inline int batch_first(struct program *p, struct turns *turns, const struct call *calls,
			      struct result *results)
{
	uint8_t done[BATCH] = {0};
	int error = 0;

	for (int i = next_turn(turns); i >= 0; i = next_turn(turns)) {
		results[i] = is_filter(p) ? filter_first(p, &calls[i]) : call_first(p, &calls[i]);
		for (int before = 0; before < i; before++)
			must(p, done[before] || turns->ids[before] != turns->ids[i],
			     "a batch changes the order of one flow's calls");
		done[i] = 1;
	}
	for (unsigned i = 0; i < turns->n; i++)
		error = error ? error : results[i].error;
	return error;
}

/* Also for the filters. Every second batch has no room for the errors of its items. */
static inline void batch_both(struct program *p)
{
	unsigned byte = next_byte(p), n = next_byte(p) % (BATCH + 1), with_errors = byte / VERBS % 2;
	enum verb verb = byte % VERBS;
	struct arrays x = {.errors = {0}};
	struct ink_batch b = batch_of(&x, n);
	struct turns turns = {.t = p->first, .verb = verb, .ids = x.ids, .n = n};
	struct call calls[BATCH];
	struct result first[BATCH];
	int error;

	b.errors = with_errors ? x.errors : NULL;
	choose_batch(p, verb, n, calls, &x);
	error = batch_first(p, &turns, calls, first);
	must(p, perform_batch(p->second, verb, &b) == error, "a batch returns another error than its calls");
	for (unsigned i = 0; i < n; i++) {
		struct result second = item_of(&x, i);

		second.error = with_errors ? second.error : first[i].error;
		must(p, same(&first[i], &second), "a batch differs from its calls");
	}
}

/* ------------------------------------------------------------------------ time */

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
