/* SPDX-License-Identifier: BSD-2-Clause */
/* The line of a state, or of several: names, ":", and rows, each with its triggers, its target and its actions. */
#include <string.h>

#include "machine/parse.h"

/* -------------------------------------------------------------------- rows */

static int parse_side(struct ink_parser *p, struct ink_trigger *t)
{
	static const char *const sides[] = {[INK_FROM_INITIATOR] = "initiator",
					    [INK_FROM_RESPONDER] = "responder",
					    [INK_FROM_LOW] = "low",
					    [INK_FROM_THE_HIGH] = "high"};

	t->from_at = p->now.at;
	if (!ink_parser_takes(p, "from"))
		return 0;
	for (unsigned i = INK_FROM_INITIATOR; i <= INK_FROM_THE_HIGH; i++)
		if (ink_parser_takes(p, sides[i]))
			return t->from = (enum ink_from)i, 0;
	return ink_parser_expected(p, "'initiator', 'responder', 'low' or 'high'");
}

/* The word is younger than the first machines: without a time behind it, it is the name of an event. */
static int sees_within(const struct ink_parser *p)
{
	struct ink_token time = ink_parser_behind(p);

	if (!ink_parser_sees(p, "within") || time.kind == TOKEN_NUMBER)
		return ink_parser_sees(p, "within");
	return time.kind == TOKEN_NAME && !ink_token_is(p->text, &time, "from") &&
	       !ink_token_first(p->text, &time) && ink_param_named(p, &time);
}

static int parse_trigger(struct ink_parser *p, struct ink_trigger *t)
{
	struct ink_name *name;

	t->at = p->now.at;
	if (sees_within(p))
		return ink_parser_next(p), t->kind = INK_ON_TIMEOUT, t->window = 1,
					   ink_parse_time(p, &t->time);
	if (ink_parser_takes(p, "timeout"))
		return t->kind = INK_ON_TIMEOUT, ink_parse_time(p, &t->time);
	if (ink_parser_takes(p, "end"))
		return t->kind = INK_ON_END, 0;
	if (ink_parser_takes(p, "*"))
		return t->kind = INK_ON_ANY, parse_side(p, t);
	t->kind = INK_ON_EVENT;
	if (ink_parse_name(p, "an event, 'timeout', 'within', 'end' or '*'", &name))
		return -1;
	t->name = name;
	return parse_side(p, t);
}

static int parse_triggers(struct ink_parser *p, struct ink_written_row *row)
{
	struct ink_trigger *all = NULL;

	do {
		if (!INK_APPEND(p, all, row->n_triggers))
			return -1;
		memset(&all[row->n_triggers], 0, sizeof *all);
		if (parse_trigger(p, &all[row->n_triggers]))
			return -1;
		row->kinds |= (uint8_t)(1u << all[row->n_triggers].kind);
		row->froms |= (uint8_t)(1u << all[row->n_triggers].from);
		row->n_triggers++;
	} while (ink_parser_takes(p, ","));
	row->triggers = all;
	return 0;
}

static enum ink_target_kind target_kind(const char *word)
{
	static const char *const words[] = {
		[INK_TO_ABSENT] = "absent", [INK_TO_NEXT] = "next",   [INK_TO_UP] = "up",
		[INK_TO_DOWN] = "down",     [INK_TO_FIRST] = "first", [INK_TO_LAST] = "last"};

	for (unsigned i = INK_TO_ABSENT; i <= INK_TO_LAST; i++)
		if (!strcmp(words[i], word))
			return (enum ink_target_kind)i;
	return INK_TO_STATE;
}

int ink_parse_target(struct ink_parser *p, struct ink_target *t)
{
	struct ink_name *name;

	t->at = p->now.at;
	if (ink_parse_name(p, "a state, 'absent' or 'next'", &name))
		return -1;
	t->kind = target_kind(name->text);
	t->name = name;
	return ink_parse_reach(p, t);
}

/* What may follow a row: another one, or an item. A new line that is wrong is reported where it is parsed. */
static int ends_well(struct ink_parser *p, const struct ink_written_row *row)
{
	if (ink_parser_sees(p, "|") || p->now.kind == TOKEN_END || ink_parser_sees_item(p) ||
	    ink_parser_sees_states(p) || ink_token_first(p->text, &p->now))
		return 0;
	return ink_parser_expected(
		p, row->does.action.n_countings || row->packet_action || row->leaving
			   ? "',', '|' or a new line with another item"
		   : row->target.kind ? "'/', '|' or a new line with another item"
				      : "'->', '/', ',', '|', 'from' or a new line with another item");
}

static struct ink_written_row *parse_row(struct ink_parser *p)
{
	struct ink_written_row *row = ink_arena_get(p->m->arena, sizeof *row);

	if (!row)
		return NULL;
	row->at = p->now.at;
	if (parse_triggers(p, row))
		return NULL;
	if (ink_parser_takes(p, "->") && ink_parse_target(p, &row->target))
		return NULL;
	if (ink_parser_takes(p, "/") && ink_parse_actions(p, row))
		return NULL;
	return ends_well(p, row) ? NULL : row;
}

/* ------------------------------------------------------------------ states */

struct ink_state *ink_state_named(struct ink_parser *p, struct ink_name *name, uint32_t at)
{
	struct ink_machine *m = p->m;

	if (name->state)
		return &m->states[name->state - 1];
	if (m->n_states == INK_MAX_STATES) {
		ink_text_limit(p->text, at, "more than %d states", INK_MAX_STATES);
		return NULL;
	}
	if (!INK_APPEND(p, m->states, m->n_states))
		return NULL;
	m->states[m->n_states++] = (struct ink_state){.name = name->text, .at = at};
	name->state = m->n_states;
	return &m->states[m->n_states - 1];
}

static struct ink_state *parse_state(struct ink_parser *p)
{
	struct ink_machine *m = p->m;
	uint32_t at = p->now.at;
	struct ink_name *name;

	if (ink_parser_takes(p, "*"))
		return m->star.at = at, &m->star;
	if (ink_parser_takes(p, "absent"))
		return m->absent.at = at, &m->absent;
	if (ink_parser_takes(p, "unsure"))
		return m->unsure.at = at, &m->unsure;
	if (ink_parser_sees(p, "next"))
		return ink_text_error(p->text, at, "a state cannot be called 'next'"), NULL;
	return ink_parse_name(p, "a state", &name) ? NULL : ink_state_named(p, name, at);
}

static int add_row(struct ink_parser *p, struct ink_state *s, struct ink_written_row *row)
{
	if (ink_text_work(p->text, row->at, 1 + row->n_triggers) || !INK_APPEND(p, s->rows, s->n_rows))
		return -1;
	s->rows[s->n_rows++] = row;
	s->n_own = s->n_rows;
	return 0;
}

/* States on the left are numbers, because their array may move; those of the special ones are above all others. */
enum { LEFT_STAR = 1000, LEFT_ABSENT, LEFT_UNSURE };

static int add_left(struct ink_parser *p, uint16_t left[INK_MAX_STATES], unsigned *n, unsigned state)
{
	if (*n == INK_MAX_STATES) {
		ink_text_limit(p->text, p->now.at, "more than %d states", INK_MAX_STATES);
		return -1;
	}
	left[(*n)++] = (uint16_t)state;
	return 0;
}

/* The name of a repetition stands for all its states. 1: it is none. */
static int parse_left_group(struct ink_parser *p, uint16_t left[INK_MAX_STATES], unsigned *n)
{
	const struct ink_name *name = p->now.kind == TOKEN_NAME ? ink_name_at(p->m, p->text, &p->now) : NULL;
	const struct ink_group *g = name && name->group ? &p->m->groups[name->group - 1] : NULL;

	if (!g || ink_parser_sees(p, "absent") || ink_parser_sees(p, "unsure"))
		return 1;
	ink_parser_next(p);
	for (unsigned i = 0; i < g->n; i++)
		if (add_left(p, left, n, g->first + i))
			return -1;
	return 0;
}

static int parse_left_state(struct ink_parser *p, uint16_t left[INK_MAX_STATES], unsigned *n)
{
	struct ink_machine *m = p->m;
	struct ink_state *s = parse_state(p);

	if (!s)
		return -1;
	return add_left(p, left, n,
			s == &m->star     ? LEFT_STAR
			: s == &m->absent ? LEFT_ABSENT
			: s == &m->unsure ? LEFT_UNSURE
					  : (unsigned)(s - m->states));
}

static int parse_left(struct ink_parser *p, uint16_t left[INK_MAX_STATES], unsigned *n)
{
	do {
		int error = parse_left_group(p, left, n);

		if (error > 0)
			error = parse_left_state(p, left, n);
		if (error)
			return -1;
	} while (ink_parser_takes(p, ","));
	return ink_parser_wants(p, ":");
}

static struct ink_state *left_state(struct ink_machine *m, uint16_t number)
{
	switch (number) {
	case LEFT_STAR:
		return &m->star;
	case LEFT_ABSENT:
		return &m->absent;
	case LEFT_UNSURE:
		return &m->unsure;
	default:
		return &m->states[number];
	}
}

int ink_parse_rows(struct ink_parser *p, const uint16_t *states, unsigned n)
{
	int more;

	do {
		struct ink_written_row *row = parse_row(p);

		for (unsigned i = 0; row && i < n; i++)
			if (add_row(p, left_state(p->m, states[i]), row))
				return -1;
		more = row ? ink_parser_takes(p, "|") : ink_parser_find_row(p);
	} while (more);
	return 0;
}

int ink_parse_states(struct ink_parser *p)
{
	uint16_t left[INK_MAX_STATES];
	unsigned n = 0;

	return parse_left(p, left, &n) ? -1 : ink_parse_rows(p, left, n);
}
