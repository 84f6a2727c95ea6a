/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first of two passes: better one candidate too many than a report too few.
 *
 * An approximate table goes wrong where a flow that it does not have looks like
 * one that it has. The new flow then moves the other's entry, and the reports of
 * both may never be made. A start event says that the flow is new, so here the
 * mistake can be seen, if the machine has no row for it; but most machines do,
 * for a SYN that is sent again. So the first pass has rules of its own:
 *
 *   - No state has a row for an event that begins a flow. If such an event finds
 *     an entry, that is a collision, and since there is no side table, the flow
 *     is refused and the entry becomes don't-know: whoever it belonged to, he
 *     too is a candidate with his next packet. A SYN that is sent again costs a
 *     candidate.
 *   - Don't-know lasts as long as a flow can rest at all: nobody comes back and
 *     finds the entry gone while he still lives in an exact table.
 *   - No state is expendable: a flow that makes room would be forgotten.
 *
 * So if every flow begins with a start event, nothing is missed. Strangers are
 * flows that do not: whose start is not in the capture, or whose machine has no
 * start events. Each of their steps that found nothing had the chance e/n to
 * meet each of the entries there were, where e is the error that the plan says
 * for n flows. The sum of these chances is how many such meetings to expect; they
 * are independent and rare, so their number is Poisson's, and each can cost two
 * flows their reports, the stranger and the one it looks like.
 *
 * What stays: time-outs. An entry ends later than in an exact table (after one to
 * two periods). That matters to flows that come back in between without a start
 * event, and to machines whose time-outs lead to another state than absent.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/run.h"

#define SURE .999

struct cautious {
	struct ink_rules rules;
	struct ink_row *rows;
	struct ink_timing *timings;
	int known;       /* how likely a meeting is, is known of this kind */
	double chance;   /* that a stranger meets a given entry */
	uint64_t cells;  /* there are never more entries than these */
	uint64_t begun;  /* nor than these */
	double meetings; /* to expect */
};

/* ------------------------------------------------------------------- the rules */

static struct ink_row *row(const struct cautious *c, unsigned state, unsigned event)
{
	return &c->rows[(size_t)state * c->rules.events + event];
}

static int begins(const struct cautious *c, unsigned event)
{
	return c->rules.starts && c->rules.starts[event] && row(c, c->rules.states, event)->next >= 0;
}

static void forget_rows(struct cautious *c)
{
	for (unsigned e = 0; e < c->rules.events; e++)
		for (unsigned s = 0; begins(c, e) && s < c->rules.states; s++)
			row(c, s, e)->next = INK_NO_ROW;
}

/* The longest period is that of doubt; 0 is longer than any. */
static void lengthen_doubt(struct cautious *c)
{
	struct ink_timing *unsure = &c->timings[c->rules.states];

	for (unsigned s = 0; s < c->rules.states; s++) {
		uint32_t period = c->timings[s].period;

		c->timings[s].expendable = 0;
		if (unsure->period && (!period || period > unsure->period))
			unsure->period = period;
	}
}

static int copy_rules(struct cautious *c, const struct ink_rules *rules)
{
	size_t rows = (size_t)(rules->states + 2) * rules->events, timings = rules->states + 1;

	c->rules = *rules;
	c->rows = malloc(rows * sizeof *c->rows);
	c->timings = malloc(timings * sizeof *c->timings);
	if (!c->rows || !c->timings)
		return -1;
	memcpy(c->rows, rules->rows, rows * sizeof *c->rows);
	memcpy(c->timings, rules->timings, timings * sizeof *c->timings);
	c->rules.rows = c->rows;
	c->rules.timings = c->timings;
	return 0;
}

/* ------------------------------------------------------------------- strangers */

void cautious_see(struct cautious *c, const struct ink_moved *m)
{
	if (m->move.from != INK_ABSENT)
		return;
	if (!begins(c, m->event))
		c->meetings += c->chance * (double)(c->begun < c->cells ? c->begun : c->cells);
	c->begun += m->move.to >= 0;
}

/* The most events that are to be expected of a rare kind of which there are `mean` on average. */
static uint64_t at_most(double mean)
{
	double chance = exp(-mean), sum = chance;
	uint64_t n = 0;

	if (mean > 500) /* as good as normal; and exp would be 0 before long */
		return (uint64_t)ceil(mean + 3.1 * sqrt(mean) + 2);
	while (sum < SURE) {
		chance *= mean / (double)++n;
		sum += chance;
	}
	return n;
}

int cautious_misses(const struct cautious *c, uint64_t *flows)
{
	*flows = 2 * at_most(c->meetings);
	return c->known;
}

/* --------------------------------------------------------------------- making */

/* Kinds whose entries belong to one flow, in which collisions are found. */
static int has_entries(enum ink_kind kind)
{
	return kind == 0 || kind == INK_LINE || kind == INK_COMPACT || kind == INK_DLEFT;
}

static int look_ahead(struct cautious *c, const struct ink_options *o, struct ink_why *why)
{
	struct ink_plan plan = {.size = sizeof plan};
	int error = ink_plan(o, &plan, why);

	if (error)
		return error;
	c->known = has_entries(o->kind) || o->kind == INK_EXACT;
	c->chance = plan.flows ? plan.error / (double)plan.flows : 0;
	c->cells = plan.load > 0 ? (uint64_t)((double)plan.flows / plan.load) : plan.flows;
	return 0;
}

struct cautious *cautious_make(struct ink_options *o, struct ink_why *why)
{
	struct cautious *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	if (has_entries(o->kind))
		o->geometry.side = INK_NO_SIDE;
	if (copy_rules(c, o->rules) || look_ahead(c, o, why)) {
		cautious_free(c);
		return NULL;
	}
	if (has_entries(o->kind)) {
		forget_rows(c);
		lengthen_doubt(c);
		o->rules = &c->rules;
	}
	return c;
}

void cautious_free(struct cautious *c)
{
	if (!c)
		return;
	free(c->rows);
	free(c->timings);
	free(c);
}
