/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repetitions: "repeat 9 step : rows" is a ladder of nine states that share their rows.
 *
 *     below <--down-- step1 <--> step2 <--> ... <--> step9 --up--> above
 *
 * Below is absent and above the next state of the file, unless the line says otherwise. Rows of several states are
 * stored once (row.c), and so are those of a repetition. Their targets are relative: where "up" leads is computed
 * for each state, as for "next".
 *
 * The words are younger than the first machines. A state that the file calls "up" is meant by "-> up", and "repeat"
 * begins an item only where nothing else could stand.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine/parse.h"

/* --------------------------------------------------------------- the line */

static struct ink_token after(const struct ink_parser *p, const struct ink_token *token)
{
	return ink_token_at(p->text, token->at + token->length);
}

/* "repeat 9", or "repeat doors step :". Elsewhere in a condition or a row it is a name of the file. */
int ink_parser_sees_repeat(const struct ink_parser *p)
{
	struct ink_token count, name, end;

	if (!ink_parser_sees(p, "repeat"))
		return 0;
	count = ink_parser_behind(p);
	if (count.kind != TOKEN_NAME || ink_token_begins_item(p->text, &count))
		return count.kind == TOKEN_NUMBER;
	name = after(p, &count);
	end = after(p, &name);
	return name.kind == TOKEN_NAME &&
	       (ink_token_is(p->text, &end, ":") || ink_token_is(p->text, &end, "above") ||
		ink_token_is(p->text, &end, "below"));
}

/* What was told as no number is passed over, if it stands where one should. */
static int pass_wrong_count(struct ink_parser *p)
{
	if (p->now.kind != TOKEN_NUMBER && !ink_parser_param(p))
		return -1;
	ink_parser_next(p);
	return 0;
}

/*
 * How many states, which have to fit beside those that there are. A wrong number counts as 1, so that the name is defined,
 * and rows about it are right. If they do not fit, neither would what follows: that is told once.
 */
static int parse_count(struct ink_parser *p, unsigned *count)
{
	uint32_t at = p->now.at;
	uint64_t n;

	*count = 1;
	if (ink_parse_number(p, "the number of states", &n))
		return pass_wrong_count(p);
	if (n < 1 || n > INK_MAX_STATES) {
		ink_parser_misfit(p, at, "a repeat has 1 to %d states", INK_MAX_STATES);
	} else if (p->m->n_states + n > INK_MAX_STATES) {
		ink_parser_misfit(p, at, "with this repeat there are %u states: %d are possible",
				  p->m->n_states + (unsigned)n, INK_MAX_STATES);
		p->text->stopped = -EINVAL;
	} else {
		*count = (unsigned)n;
	}
	return 0;
}

static int parse_group_name(struct ink_parser *p, struct ink_group *g)
{
	struct ink_name *name;

	g->at = p->now.at;
	if (ink_parse_name(p, "the name of the states", &name))
		return -1;
	g->name = name;
	if (name->group)
		return ink_parser_twice(p, g->at, name->text, p->m->groups[name->group - 1].at);
	if (name->state)
		return ink_parser_twice(p, g->at, name->text, p->m->states[name->state - 1].at);
	name->group = p->m->n_groups + 1;
	return 0;
}

/* "last a :" is a repetition and the line's colon here, and would be a state's line behind a row. */
static int parse_end_group(struct ink_parser *p, struct ink_target *end)
{
	struct ink_name *name;

	if ((end->kind != INK_TO_FIRST && end->kind != INK_TO_LAST) || end->exact ||
	    p->now.kind != TOKEN_NAME || ink_parser_sees(p, "above") || ink_parser_sees(p, "below"))
		return 0;
	if (ink_parse_name(p, "the name of a repeat", &name))
		return -1;
	end->name = name;
	end->exact = 1;
	return 0;
}

/* Where the ladder leads at its ends. */
static int parse_ends(struct ink_parser *p, struct ink_group *g)
{
	g->above.kind = INK_TO_NEXT;
	g->below.kind = INK_TO_ABSENT;
	for (;;) {
		struct ink_target *end = ink_parser_sees(p, "above")   ? &g->above
					 : ink_parser_sees(p, "below") ? &g->below
								       : NULL;

		if (!end)
			return 0;
		ink_parser_next(p);
		if (ink_parse_target(p, end) || parse_end_group(p, end))
			return -1;
		if (end->kind == INK_TO_NEXT || end->kind == INK_TO_UP || end->kind == INK_TO_DOWN) {
			ink_text_error(p->text, end->at,
				       "a repeat ends at a state, 'absent', 'first' or 'last'");
			return -1;
		}
	}
}

/* The name of the i-th state, from 1. */
static struct ink_name *member_name(struct ink_parser *p, const struct ink_group *g, unsigned i)
{
	char text[INK_NAME_MAX + 16];
	int length = snprintf(text, sizeof text, "%s%u", g->name->text, i);

	if (length <= INK_NAME_MAX)
		return ink_name_of(p->m, p->text, text, (uint32_t)length, g->at);
	ink_text_error(p->text, g->at, "'%s' is a name of more than %d characters", text, INK_NAME_MAX);
	return NULL;
}

static int make_member(struct ink_parser *p, const struct ink_group *g, unsigned i)
{
	struct ink_name *name = member_name(p, g, i);
	struct ink_state *s;

	if (name && name->state)
		return ink_parser_twice(p, g->at, name->text, p->m->states[name->state - 1].at);
	s = name ? ink_state_named(p, name, g->at) : NULL;
	if (!s)
		return -1;
	s->group = p->m->n_groups + 1;
	return 0;
}

static int make_members(struct ink_parser *p, struct ink_group *g)
{
	struct ink_machine *m = p->m;
	unsigned count = g->n;

	g->first = m->n_states;
	for (g->n = 0; g->n < count; g->n++)
		if (make_member(p, g, g->n + 1))
			break;
	if (!INK_APPEND(p, m->groups, m->n_groups))
		return -1;
	m->groups[m->n_groups++] = *g;
	return g->n == count ? 0 : -1;
}

int ink_parse_repeat(struct ink_parser *p)
{
	uint16_t members[INK_MAX_STATES];
	struct ink_group g = {0};

	if (parse_count(p, &g.n) || parse_group_name(p, &g))
		return -1;
	if (make_members(p, &g) || parse_ends(p, &p->m->groups[p->m->n_groups - 1]))
		return -1;
	for (unsigned i = 0; i < g.n; i++)
		members[i] = (uint16_t)(g.first + i);
	return ink_parser_wants(p, ":") ? -1 : ink_parse_rows(p, members, g.n);
}

/* ----------------------------------------------------------------- targets */

/* A name on the same line, which begins nothing else: not even the other end of a repetition. */
static int sees_group(const struct ink_parser *p)
{
	if (ink_parser_sees(p, "above") || ink_parser_sees(p, "below"))
		return 0;
	return p->now.kind == TOKEN_NAME && !ink_token_first(p->text, &p->now) && !ink_parser_sees_item(p) &&
	       !ink_parser_sees_states(p);
}

static int parse_distance(struct ink_parser *p, struct ink_target *t)
{
	uint32_t at = p->now.at;
	uint64_t by;

	t->exact = 1;
	if (ink_parse_number(p, "a number of states", &by))
		return -1;
	t->number = (unsigned)by;
	if (by >= 1 && by <= INK_MAX_STATES)
		return 0;
	return ink_parser_misfit(p, at, "'up' and 'down' move by 1 to %d states", INK_MAX_STATES);
}

/* After "up" or "down": by how many states, if it is said. After "first" or "last": of which repetition. */
int ink_parse_reach(struct ink_parser *p, struct ink_target *t)
{
	struct ink_name *name;

	t->number = 1;
	if ((t->kind == INK_TO_UP || t->kind == INK_TO_DOWN) &&
	    (p->now.kind == TOKEN_NUMBER || (sees_group(p) && ink_parser_param(p))))
		return parse_distance(p, t);
	if ((t->kind != INK_TO_FIRST && t->kind != INK_TO_LAST) || !sees_group(p))
		return 0;
	if (ink_parse_name(p, "the name of a repeat", &name))
		return -1;
	t->name = name;
	t->exact = 1;
	return 0;
}

/* ------------------------------------------------------------- where rows lead */

static unsigned end_leads(const struct ink_target *end, unsigned otherwise)
{
	return end->kind == INK_TO_STATE ? end->number : end->kind == INK_TO_ABSENT ? INK_NOWHERE : otherwise;
}

/* Does "up" or "down" lead out of the repetition? */
static int leaves(const struct ink_machine *m, const struct ink_state *s, const struct ink_target *t)
{
	const struct ink_group *g = s->group ? &m->groups[s->group - 1] : NULL;
	unsigned place = g ? (unsigned)(s - m->states) - g->first : 0;

	if (!g || (t->kind != INK_TO_UP && t->kind != INK_TO_DOWN))
		return 0;
	return t->kind == INK_TO_UP ? place + t->number >= g->n : place < t->number;
}

/* The targets that a state has as one of a repetition. */
static unsigned group_leads(const struct ink_machine *m, const struct ink_state *s,
			    const struct ink_target *t)
{
	const struct ink_group *g = &m->groups[s->group - 1];
	unsigned here = (unsigned)(s - m->states);
	int out = leaves(m, s, t);

	switch (t->kind) {
	case INK_TO_UP:
		return out ? end_leads(&g->above, g->first + g->n) : here + t->number;
	case INK_TO_DOWN:
		return out ? end_leads(&g->below, INK_NOWHERE) : here - t->number;
	case INK_TO_FIRST:
		return g->first;
	default:
		return g->first + g->n - 1;
	}
}

unsigned ink_row_leads(const struct ink_machine *m, const struct ink_state *s,
		       const struct ink_written_row *row)
{
	int inside = s != &m->absent && s != &m->unsure;

	switch (row->target.kind) {
	case INK_TO_STATE:
		return row->target.number;
	case INK_TO_NEXT:
		return inside ? (unsigned)(s - m->states) + 1 : 0;
	case INK_TO_ABSENT:
		return INK_NOWHERE;
	case INK_TO_SAME:
		return inside ? (unsigned)(s - m->states) : INK_NOWHERE;
	default:
		return group_leads(m, s, &row->target);
	}
}

struct ink_deed *ink_row_does(const struct ink_machine *m, const struct ink_state *s,
			      struct ink_written_row *row)
{
	return row->leaving && leaves(m, s, &row->target) ? row->leaving : &row->does;
}
