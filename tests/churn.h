/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Churn: a table full of flows, each of which is replaced by another again and
 * again, beside arrays that know them all. Every use is a proper one, so
 * nothing whatever may go wrong.
 */
#ifndef INKLING_TESTS_CHURN_H
#define INKLING_TESTS_CHURN_H

#include <stdint.h>
#include <stdlib.h>

#include <inkling/inkling.h>

#include "tests/random.h"

struct churn {
	struct ink_table *table;
	uint64_t n;
	uint64_t *ids;
	uint8_t *states;
	unsigned state_count;
	uint64_t next; /* the number of the next new flow */
	uint64_t calls;
	uint64_t wrong, absent, unsure; /* answers */
	uint64_t failed;                /* inserts, modifies and deletes */
};

static inline void churn_hear(struct churn *c, uint64_t i, ink_answer answer)
{
	c->calls++;
	c->absent += answer == INK_ABSENT;
	c->unsure += answer == INK_DONT_KNOW;
	c->wrong += answer >= 0 && answer != c->states[i];
}

static inline void churn_done(struct churn *c, int error)
{
	c->calls++;
	c->failed += error != 0;
}

static inline unsigned churn_state(const struct churn *c)
{
	return random_below(c->state_count);
}

/* A new flow in the place of number i. */
static inline void churn_insert(struct churn *c, uint64_t i)
{
	c->ids[i] = id_number(c->next++);
	c->states[i] = (uint8_t)churn_state(c);
	churn_done(c, ink_insert(c->table, c->ids[i], c->states[i]));
}

static inline void churn_modify(struct churn *c, uint64_t i)
{
	c->states[i] = (uint8_t)churn_state(c);
	churn_done(c, ink_modify(c->table, c->ids[i], c->states[i]));
}

/*
 * Fills a table that was made with these options. Flows are numbered from
 * `first`; no two have the same id.
 */
static inline void churn_begin(struct churn *c, struct ink_table *table, const struct ink_options *o,
			       uint64_t first)
{
	*c = (struct churn){.table = table, .n = o->flows, .next = first, .state_count = o->states};
	c->ids = malloc(c->n * sizeof *c->ids);
	c->states = malloc(c->n);
	if (!c->ids || !c->states)
		abort();
	for (uint64_t i = 0; i < c->n; i++)
		churn_insert(c, i);
}

/* So many times a flow is asked, leaves, another comes, a third is changed and a fourth looked up. */
static inline void churn_replace(struct churn *c, uint64_t times)
{
	for (uint64_t k = 0; k < times; k++) {
		uint64_t i = random_below(c->n), j = random_below(c->n);

		churn_hear(c, i, ink_peek(c->table, c->ids[i]));
		churn_done(c, ink_delete(c->table, c->ids[i]));
		churn_insert(c, i);
		churn_modify(c, j);
		j = random_below(c->n);
		churn_hear(c, j, ink_lookup(c->table, c->ids[j]));
	}
}

/* 0 if the table holds these flows and no others, in these states. */
static inline int churn_differs(const struct churn *c)
{
	uint64_t known[INK_MAX_STATES] = {0};
	struct ink_counts counts;
	int differs;

	for (uint64_t i = 0; i < c->n; i++)
		known[c->states[i]]++;
	ink_census(c->table, &counts);
	differs = counts.total != c->n || counts.unsure;
	for (unsigned i = 0; i < INK_MAX_STATES; i++)
		differs |= counts.state[i] != known[i];
	return differs;
}

static inline void churn_free(struct churn *c)
{
	free(c->ids);
	free(c->states);
}

/* Asks all flows, and frees. NULL, or what was wrong. */
static inline const char *churn_end(struct churn *c)
{
	struct ink_stats stats = {.size = sizeof stats};
	int differs = churn_differs(c);

	for (uint64_t i = 0; i < c->n; i++)
		churn_hear(c, i, ink_peek(c->table, c->ids[i]));
	ink_stats(c->table, &stats);
	churn_free(c);
	if (c->wrong)
		return "a live flow answered a state that is not its own";
	if (c->absent || c->unsure)
		return "a live flow was absent or unsure";
	if (c->failed || stats.refused || stats.marked || stats.replaced)
		return "a proper call failed";
	if (differs)
		return "the census is not what it should be";
	return ink_check(c->table, NULL) ? "the table is unsound" : NULL;
}

#endif
