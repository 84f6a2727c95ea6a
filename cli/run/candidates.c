/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The candidates: ids of the flows that the second pass runs.
 *
 * A set with false positives is good enough: the second pass runs such a flow
 * exactly, too, and its reports are true. So the set is made of tables of the kind
 * that takes the fewest bits, about 18 per flow instead of 128. The number of
 * candidates is not known beforehand, and a table of fingerprints cannot grow. When
 * one is full, another of twice its size follows:
 *
 *     [ 1024 ] [ 2048 ] [ 4096 ] ...      a flow is in one of them
 *
 * A query probes all of them, so their errors add up: ten links at 1/1024 each make
 * one false positive in a hundred.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/run/run.h"

enum { LINKS = 40, FIRST_LINK = 1024 };

struct candidates {
	struct ink_table *links[LINKS];
	unsigned n;
	uint64_t seed;
	uint64_t flows;
};

/* Appends a link, twice as large as the last. */
static int add_link(struct candidates *c, struct ink_why *why)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_COMPACT,
				.states = 1,
				.flows = (uint64_t)FIRST_LINK << c->n,
				.full = INK_REFUSE,
				.seed = c->seed,
				.geometry = {.side = INK_NO_SIDE}};

	if (c->n == LINKS)
		return -ENOSPC;
	c->links[c->n] = ink_create(&o, why);
	return c->links[c->n] ? (int)(c->n++, 0) : -errno;
}

int candidates_have(const struct candidates *c, uint64_t id)
{
	for (unsigned i = c->n; i--;)
		if (ink_peek(c->links[i], id) != INK_ABSENT)
			return 1;
	return 0;
}

int candidates_add(struct candidates *c, uint64_t id)
{
	int error = 0;

	if (candidates_have(c, id))
		return 0;
	while (!error && ink_insert(c->links[c->n - 1], id, 0))
		error = add_link(c, NULL);
	c->flows += !error;
	return error;
}

void candidates_size(const struct candidates *c, uint64_t *flows, uint64_t *bytes)
{
	struct ink_stats s = {.size = sizeof s};

	*flows = c->flows;
	*bytes = sizeof *c;
	for (unsigned i = 0; i < c->n; i++) {
		ink_stats(c->links[i], &s);
		*bytes += s.bytes;
	}
}

struct candidates *candidates_make(uint64_t seed, struct ink_why *why)
{
	struct candidates *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->seed = seed;
	if (add_link(c, why) == 0)
		return c;
	free(c);
	return NULL;
}

void candidates_free(struct candidates *c)
{
	for (unsigned i = 0; c && i < c->n; i++)
		ink_free(c->links[i]);
	free(c);
}
