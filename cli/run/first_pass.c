/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first of two passes: a candidate too many costs little, a report too few is lost.
 *
 * An approximate table errs when a new flow has the fingerprint of another. The
 * new flow then moves the other's entry, and both may lose their reports. A start
 * event says that the flow is new, so the error shows, provided that the machine has
 * no row for that event; but most machines have one, for retransmitted SYNs. So the
 * first pass has rules of its own:
 *
 *   - No state has a row for an event that begins a flow. If such an event finds
 *     an entry, that is a collision. There is no side table, so the flow is
 *     refused and the entry becomes don't-know. The flow that owns the entry becomes
 *     a candidate with its next packet. A retransmitted SYN costs a candidate.
 *   - Don't-know lasts as long as the longest period of any state: a flow that is
 *     alive in an exact table finds its entry.
 *   - No state is expendable: a replaced flow would be forgotten.
 *
 * If every flow begins with a start event, nothing is missed. Strangers are flows
 * that do not: their start is not in the capture, or the machine has no start
 * events. Each of their steps that found nothing had the probability e/n to match a
 * given entry, where e is the error that the plan promises for n flows. The sum of
 * these probabilities is the expected number of matches. They are independent and
 * rare, so their number is Poisson distributed. Each can cost two flows their
 * reports: the stranger and the flow that it matches.
 *
 * Time-outs remain: an entry expires later than in an exact table, after one to two
 * periods. That matters to flows that come back in between without a start
 * event, and to machines whose time-outs lead to another state than absent.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/run.h"

#define CONFIDENCE .999

struct first_pass {
	struct ink_rules rules;
	struct ink_row *rows;
	struct ink_timing *timings;
	int known;      /* for this kind of table, `chance` is known */
	double chance;  /* that a stranger matches a given entry */
	uint64_t cells; /* an upper bound of the entries there are */
	uint64_t begun; /* another: flows so far */
	double matches; /* expected */
};

/* ------------------------------------------------------------------- the rules */

static struct ink_row *row(const struct first_pass *p, unsigned state, unsigned event)
{
	return &p->rows[(size_t)state * p->rules.events + event];
}

static int begins(const struct first_pass *p, unsigned event)
{
	return p->rules.starts && p->rules.starts[event] && row(p, p->rules.states, event)->next >= 0;
}

static void remove_start_rows(struct first_pass *p)
{
	for (unsigned e = 0; e < p->rules.events; e++)
		for (unsigned s = 0; begins(p, e) && s < p->rules.states; s++)
			row(p, s, e)->next = INK_NO_ROW;
}

/* Don't-know gets the longest period; 0 is endless. */
static void lengthen_unsure(struct first_pass *p)
{
	struct ink_timing *unsure = &p->timings[p->rules.states];

	for (unsigned s = 0; s < p->rules.states; s++) {
		uint32_t period = p->timings[s].period;

		p->timings[s].expendable = 0;
		if (unsure->period && (!period || period > unsure->period))
			unsure->period = period;
	}
}

static int copy_rules(struct first_pass *p, const struct ink_rules *rules)
{
	size_t rows = (size_t)(rules->states + 2) * rules->events, timings = rules->states + 1;

	p->rules = *rules;
	p->rows = malloc(rows * sizeof *p->rows);
	p->timings = malloc(timings * sizeof *p->timings);
	if (!p->rows || !p->timings)
		return -1;
	memcpy(p->rows, rules->rows, rows * sizeof *p->rows);
	memcpy(p->timings, rules->timings, timings * sizeof *p->timings);
	p->rules.rows = p->rows;
	p->rules.timings = p->timings;
	return 0;
}

/* ------------------------------------------------------------------- strangers */

void first_pass_see(struct first_pass *p, const struct ink_moved *m)
{
	if (m->move.from != INK_ABSENT)
		return;
	if (!begins(p, m->event))
		p->matches += p->chance * (double)(p->begun < p->cells ? p->begun : p->cells);
	p->begun += m->move.to >= 0;
}

/* A Poisson variable of this mean is not larger, with that confidence. */
static uint64_t at_most(double mean)
{
	double chance = exp(-mean), sum = chance;
	uint64_t n = 0;

	if (mean > 500) /* nearly normal, and exp would underflow */
		return (uint64_t)ceil(mean + 3.1 * sqrt(mean) + 2);
	while (sum < CONFIDENCE) {
		chance *= mean / (double)++n;
		sum += chance;
	}
	return n;
}

int first_pass_misses(const struct first_pass *p, uint64_t *flows)
{
	*flows = 2 * at_most(p->matches);
	return p->known;
}

/* --------------------------------------------------------------------- making */

static int estimate(struct first_pass *p, const struct ink_options *o, struct ink_why *why)
{
	struct ink_plan plan = {.size = sizeof plan};
	int error = ink_plan(o, &plan, why);

	if (error)
		return error;
	p->known = cli_has_room_for_some(o->kind) || cli_is_exact(o->kind);
	p->chance = plan.flows ? plan.error / (double)plan.flows : 0;
	p->cells = plan.load > 0 ? (uint64_t)((double)plan.flows / plan.load) : plan.flows;
	return 0;
}

struct first_pass *first_pass_make(struct ink_options *o, struct ink_why *why)
{
	int entries = cli_has_room_for_some(o->kind); /* of one flow each: collisions show */
	struct first_pass *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	if (entries)
		o->geometry.side = INK_NO_SIDE;
	if (copy_rules(p, o->rules) || estimate(p, o, why)) {
		first_pass_free(p);
		return NULL;
	}
	if (entries) {
		remove_start_rows(p);
		lengthen_unsure(p);
		o->rules = &p->rules;
	}
	return p;
}

void first_pass_free(struct first_pass *p)
{
	if (!p)
		return;
	free(p->rows);
	free(p->timings);
	free(p);
}
