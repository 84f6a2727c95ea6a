/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle of programs (program.h): what each call may return, and what it may do to the flows that it was not about. */
#ifndef INKLING_TESTS_PROGRAM_ORACLE_H
#define INKLING_TESTS_PROGRAM_ORACLE_H

#include "tests/program_state.h"

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

#endif
