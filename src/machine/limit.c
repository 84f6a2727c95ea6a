/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "priority 6", "class 1:20", "limit 1mbit each flow burst 64k": what a row does to packets that go on.
 *
 * Limits that are written alike are one: all packets of their rows share a bucket.
 */
#include <string.h>

#include "machine/parse.h"

/* -------------------------------------------------------------- priorities */

static int parse_number(struct ink_parser *p, uint32_t *priority)
{
	uint32_t at = p->now.at;
	uint64_t number;

	if (ink_parse_number(p, "the priority, a number", &number))
		return -1;
	if (number > UINT32_MAX)
		return ink_parser_misfit(p, at, "a priority is 0 to 4294967295");
	*priority = (uint32_t)number;
	return 0;
}

/* A packet has one field for both. */
int ink_parse_priority(struct ink_parser *p, struct ink_deed *d, enum ink_priority kind, uint32_t at)
{
	struct ink_more *more = ink_deed_more(p, d);

	if (!more)
		return -1;
	if (more->out.prioritizes) {
		ink_text_error(p->text, at, "%s in one row: a packet has one of them",
			       more->out.prioritizes != (int)kind ? "'priority' and 'class'"
			       : kind == INK_CLASS                ? "two classes"
								  : "two priorities");
		return -1;
	}
	more->out.prioritizes = (int)kind;
	more->priority_at = at;
	return kind == INK_CLASS ? ink_parse_class(p, &more->out.priority)
				 : parse_number(p, &more->out.priority);
}

/* ------------------------------------------------------------------ limits */

enum {
	BURST_LEAST =
		16 << 10, /* of those not written: ten full frames, so that slow limits let any packet pass */
	BURST_MOST = 1000000000, /* as nanoseconds of any rate, it fits 64 bits */
	BURST_PART = 10          /* of a second: a round trip or two, which TCP needs to reach the rate */
};

uint32_t ink_limit_burst(uint64_t rate)
{
	uint64_t bytes = rate / 8 / BURST_PART;

	return bytes < BURST_LEAST ? BURST_LEAST : bytes > BURST_MOST ? BURST_MOST : (uint32_t)bytes;
}

static int parse_burst(struct ink_parser *p, struct ink_limit *limit)
{
	uint32_t at = p->now.at;
	uint64_t bytes;

	if (ink_parse_number(p, "the burst, in bytes", &bytes))
		return -1;
	if (!bytes || bytes > BURST_MOST)
		return ink_parser_misfit(p, at, "a burst is 1 to %d bytes", BURST_MOST);
	limit->burst = (uint32_t)bytes;
	return 0;
}

/* A word of limits, unless it is a state that begins a line. */
static int takes(struct ink_parser *p, const char *word)
{
	return !ink_parser_begins_states(p) && ink_parser_takes(p, word);
}

static int parse_what(struct ink_parser *p, struct ink_limit *limit)
{
	if (ink_parse_rate(p, &limit->rate))
		return -1;
	limit->burst = ink_limit_burst(limit->rate);
	limit->each_flow = takes(p, "each");
	if (limit->each_flow && ink_parser_wants(p, "flow"))
		return -1;
	return takes(p, "burst") ? parse_burst(p, limit) : 0;
}

/* 1 + its number among those of the machine; 0 after a complaint. */
static unsigned number_of(struct ink_parser *p, uint32_t at, const struct ink_limit *limit)
{
	struct ink_machine *m = p->m;
	unsigned i = 0;

	while (i < m->n_limits && !ink_limit_same(&m->limits[i], limit))
		i++;
	if (i < m->n_limits)
		return i + 1;
	if (m->n_limits == INK_LIMITS_MAX) {
		ink_text_limit(p->text, at, "more than %d different limits", INK_LIMITS_MAX);
		return 0;
	}
	if (!INK_APPEND(p, m->limits, m->n_limits))
		return 0;
	m->limits[m->n_limits++] = *limit;
	return i + 1;
}

int ink_parse_limit(struct ink_parser *p, struct ink_deed *d, uint32_t at)
{
	struct ink_more *more = ink_deed_more(p, d);
	struct ink_limit limit = {0};

	if (!more)
		return -1;
	if (more->out.limit) {
		ink_text_error(p->text, at, "two limits in one row");
		return -1;
	}
	if (parse_what(p, &limit))
		return -1;
	more->limit_at = at;
	more->out.limit = number_of(p, at, &limit);
	return more->out.limit ? 0 : -1;
}

/* ----------------------------------------------------------------- leaving */

void ink_take_priority(struct ink_more *leaving, const struct ink_more *also)
{
	if (!leaving->out.prioritizes) {
		leaving->out.prioritizes = also->out.prioritizes;
		leaving->out.priority = also->out.priority;
		leaving->priority_at = also->priority_at;
	}
	if (!leaving->out.limit) {
		leaving->out.limit = also->out.limit;
		leaving->limit_at = also->limit_at;
	}
}
