/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The items of a machine: its head, its events, its states and their rows.
 *
 * The grammar is that of docs/machine-language.md. It needs a lookahead of two
 * tokens: the ":" or "," after a name marks a state's line. After an error the
 * parser skips to the next "|" (in a state) or the next line that
 * begins with an item, and continues there, so one run finds many errors. A
 * name with an invalid definition still counts as defined; otherwise every use of
 * it would be reported too.
 */
#include <string.h>

#include "machine/parse.h"

static const char *const item_words[] = {"machine", "key",     "remember", "let",
					 "start",   "reverse", "event",    "expendable"};

enum { ITEM_WORDS = sizeof item_words / sizeof item_words[0] };

/* ------------------------------------------------------------ where to continue */

int ink_parser_sees_item(const struct ink_parser *p)
{
	for (unsigned i = 0; i < ITEM_WORDS; i++)
		if (ink_parser_sees(p, item_words[i]))
			return 1;
	return 0;
}

static int sees_states(const struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);

	if (p->now.kind != TOKEN_NAME && !ink_parser_sees(p, "*"))
		return 0;
	return ink_token_is(p->text, &behind, ":") || ink_token_is(p->text, &behind, ",");
}

static int sees_item(const struct ink_parser *p)
{
	return p->now.kind == TOKEN_END ||
	       (ink_token_first(p->text, &p->now) && (ink_parser_sees_item(p) || sees_states(p)));
}

static void find_item(struct ink_parser *p)
{
	while (!sees_item(p))
		ink_parser_next(p);
}

/* Gives up the row; 1 if another one follows. */
static int find_row(struct ink_parser *p)
{
	while (!sees_item(p) && !ink_parser_sees(p, "|"))
		ink_parser_next(p);
	return ink_parser_takes(p, "|");
}

/* -------------------------------------------------------------------- head */

static int parse_machine(struct ink_parser *p)
{
	struct ink_machine *m = p->m;
	uint32_t at = p->now.at;
	struct ink_name *name;

	m->tried_name = 1;
	if (ink_parse_name(p, "the machine's name", &name))
		return -1;
	if (m->has_name)
		return ink_parser_twice(p, at, "the name of the machine", m->name_at);
	m->has_name = 1;
	m->name = name->text;
	m->name_at = at;
	return 0;
}

static int parse_remember(struct ink_parser *p)
{
	struct ink_machine *m = p->m;
	struct ink_suggest near = ink_parser_near(p);
	uint32_t at = p->now.at;

	if (ink_parser_takes(p, "initiator")) {
		m->remembers_initiator = m->tried_initiator = 1;
		m->initiator_at = at;
	} else if (ink_parser_takes(p, "tail")) {
		m->remembers_tail = 1;
		m->tail_at = at;
	} else {
		m->tried_initiator = 1;
		ink_suggest_offer(&near, "initiator");
		ink_suggest_offer(&near, "tail");
		return ink_parser_expected_near(p, "'initiator' or 'tail'", &near);
	}
	return 0;
}

static int parse_expendable(struct ink_parser *p)
{
	struct ink_machine *m = p->m;

	do {
		uint32_t at = p->now.at;
		struct ink_name *name;

		if (ink_parse_name(p, "a state", &name) || !INK_APPEND(p, m->expendables, m->n_expendables))
			return -1;
		m->expendables[m->n_expendables++] = (struct ink_named){name, at};
	} while (ink_parser_takes(p, ","));
	return 0;
}

/* ----------------------------------------------------------- lets and events */

/* After the condition: 0 if the definition can end here. */
static int ends_condition(struct ink_parser *p)
{
	if (p->now.kind == TOKEN_END || ink_parser_sees_item(p) || sees_states(p) ||
	    ink_token_first(p->text, &p->now))
		return 0;
	return ink_parser_foreign(p) ? -1
				     : ink_parser_expected(p, "'and', 'or' or a new line with another item");
}

static int add_let(struct ink_parser *p, struct ink_name *name, const struct ink_let *let)
{
	struct ink_machine *m = p->m;

	if (!INK_APPEND(p, m->lets, m->n_lets))
		return -1;
	m->lets[m->n_lets++] = *let;
	name->let = m->n_lets;
	return let->condition ? ends_condition(p) : -1;
}

static int parse_let(struct ink_parser *p)
{
	struct ink_machine *m = p->m;
	struct ink_let let = {.at = p->now.at};
	struct ink_name *name;

	if (ink_parse_name(p, "a name", &name))
		return -1;
	let.name = name->text;
	if (name->let)
		return ink_parser_twice(p, let.at, let.name, m->lets[name->let - 1].at);
	if (m->n_lets == INK_LETS_MAX) {
		ink_text_error(p->text, let.at, "more than %d lets", INK_LETS_MAX);
		return -1;
	}
	if (!ink_parser_wants(p, "="))
		let.condition = ink_parse_condition(p);
	return add_let(p, name, &let);
}

static int check_event_name(struct ink_parser *p, const struct ink_name *name, uint32_t at)
{
	if (!strcmp(name->text, "timeout") || !strcmp(name->text, "end")) {
		ink_text_error(p->text, at, "an event cannot be called '%s'", name->text);
		return -1;
	}
	if (name->event)
		return ink_parser_twice(p, at, name->text, p->m->events[name->event - 1].at);
	if (p->m->n_events < INK_MAX_EVENTS)
		return 0;
	ink_text_error(p->text, at, "more than %d events", INK_MAX_EVENTS);
	return -1;
}

static int add_event(struct ink_parser *p, struct ink_name *name, const struct ink_event *e)
{
	struct ink_machine *m = p->m;

	if (!INK_APPEND(p, m->events, m->n_events))
		return -1;
	m->events[m->n_events++] = *e;
	name->event = m->n_events;
	return e->condition ? ends_condition(p) : -1;
}

static int parse_event(struct ink_parser *p)
{
	struct ink_event e = {.start = ink_parser_takes(p, "start"),
			      .reverse = ink_parser_takes(p, "reverse")};
	struct ink_name *name;

	if (ink_parser_wants(p, "event"))
		return -1;
	e.at = p->now.at;
	if (ink_parse_name(p, "the event's name", &name) || check_event_name(p, name, e.at))
		return -1;
	e.name = name->text;
	if (!ink_parser_wants(p, "="))
		e.condition = ink_parse_condition(p);
	return add_event(p, name, &e);
}

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

static int parse_trigger(struct ink_parser *p, struct ink_trigger *t)
{
	struct ink_name *name;

	t->at = p->now.at;
	if (ink_parser_takes(p, "timeout"))
		return t->kind = INK_ON_TIMEOUT, ink_parse_time(p, &t->time);
	if (ink_parser_takes(p, "end"))
		return t->kind = INK_ON_END, 0;
	if (ink_parser_takes(p, "*"))
		return t->kind = INK_ON_ANY, parse_side(p, t);
	t->kind = INK_ON_EVENT;
	if (ink_parse_name(p, "an event, 'timeout', 'end' or '*'", &name))
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
		row->kinds |= 1u << all[row->n_triggers].kind;
		row->froms |= 1u << all[row->n_triggers].from;
		row->n_triggers++;
	} while (ink_parser_takes(p, ","));
	row->triggers = all;
	return 0;
}

static int parse_target(struct ink_parser *p, struct ink_written_row *row)
{
	struct ink_name *name;

	row->target_at = p->now.at;
	if (ink_parse_name(p, "a state, 'absent' or 'next'", &name))
		return -1;
	row->target = !strcmp(name->text, "absent") ? INK_TO_ABSENT
		      : !strcmp(name->text, "next") ? INK_TO_NEXT
						    : INK_TO_STATE;
	row->target_name = name;
	return 0;
}

/* What may follow a row: another one, or an item. A new line that is wrong is reported where it is parsed. */
static int ends_well(struct ink_parser *p, const struct ink_written_row *row)
{
	if (ink_parser_sees(p, "|") || p->now.kind == TOKEN_END || ink_parser_sees_item(p) ||
	    sees_states(p) || ink_token_first(p->text, &p->now))
		return 0;
	return ink_parser_expected(
		p, row->action.n_countings || row->packet_action ? "',', '|' or a new line with another item"
		   : row->target_name                            ? "'/', '|' or a new line with another item"
				      : "'->', '/', ',', '|', 'from' or a new line with another item");
}

static struct ink_written_row *parse_row(struct ink_parser *p)
{
	struct ink_written_row *row = ink_arena_get(&p->m->arena, sizeof *row);

	if (!row)
		return NULL;
	row->at = p->now.at;
	if (parse_triggers(p, row))
		return NULL;
	if (ink_parser_takes(p, "->") && parse_target(p, row))
		return NULL;
	if (ink_parser_takes(p, "/") && ink_parse_actions(p, row))
		return NULL;
	return ends_well(p, row) ? NULL : row;
}

/* ------------------------------------------------------------------ states */

/* The state of that name, which is created if it is new; NULL without memory or room. */
static struct ink_state *state_named(struct ink_parser *p, struct ink_name *name, uint32_t at)
{
	struct ink_machine *m = p->m;

	if (name->state)
		return &m->states[name->state - 1];
	if (m->n_states == INK_MAX_STATES) {
		ink_text_error(p->text, at, "more than %d states", INK_MAX_STATES);
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
	return ink_parse_name(p, "a state", &name) ? NULL : state_named(p, name, at);
}

static int add_row(struct ink_parser *p, struct ink_state *s, struct ink_written_row *row)
{
	if (ink_text_work(p->text, row->at, 1 + row->n_triggers) || !INK_APPEND(p, s->rows, s->n_rows))
		return -1;
	s->rows[s->n_rows++] = row;
	s->n_own = s->n_rows;
	return 0;
}

/* The states on the left, by number, because their array may move: n_states and above are the special ones. */
static int parse_left(struct ink_parser *p, uint16_t left[INK_MAX_STATES], unsigned *n)
{
	struct ink_machine *m = p->m;

	do {
		struct ink_state *s = parse_state(p);

		if (!s)
			return -1;
		if (*n == INK_MAX_STATES) {
			ink_text_error(p->text, p->now.at, "more than %d states", INK_MAX_STATES);
			return -1;
		}
		left[(*n)++] = s == &m->star     ? 1000
			       : s == &m->absent ? 1001
			       : s == &m->unsure ? 1002
						 : (uint16_t)(s - m->states);
	} while (ink_parser_takes(p, ","));
	return ink_parser_wants(p, ":");
}

static struct ink_state *left_state(struct ink_machine *m, uint16_t number)
{
	switch (number) {
	case 1000:
		return &m->star;
	case 1001:
		return &m->absent;
	case 1002:
		return &m->unsure;
	default:
		return &m->states[number];
	}
}

static int parse_states(struct ink_parser *p)
{
	uint16_t left[INK_MAX_STATES];
	unsigned n = 0;
	int more;

	if (parse_left(p, left, &n))
		return -1;
	do {
		struct ink_written_row *row = parse_row(p);

		for (unsigned i = 0; row && i < n; i++)
			if (add_row(p, left_state(p->m, left[i]), row))
				return -1;
		more = row ? ink_parser_takes(p, "|") : find_row(p);
	} while (more);
	return 0;
}

/* ------------------------------------------------------------------- items */

static int parse_item(struct ink_parser *p)
{
	if (sees_states(p))
		return parse_states(p);
	if (ink_parser_takes(p, "machine"))
		return parse_machine(p);
	if (ink_parser_takes(p, "key"))
		return ink_parse_key(p);
	if (ink_parser_takes(p, "remember"))
		return parse_remember(p);
	if (ink_parser_takes(p, "let"))
		return parse_let(p);
	if (ink_parser_takes(p, "expendable"))
		return parse_expendable(p);
	if (ink_parser_sees_item(p))
		return parse_event(p);
	return -2;
}

/* Words that can only be states: the colon is missing. */
static int lacks_colon(struct ink_parser *p)
{
	if (!ink_parser_takes(p, "absent") && !ink_parser_takes(p, "unsure") && !ink_parser_takes(p, "*"))
		return 0;
	ink_parser_expected(p, "':'");
	return 1;
}

/* A misspelt line counts as present, so that it is not also reported as missing. */
static void note_trial(struct ink_machine *m, const char *item)
{
	m->tried_name |= !strcmp(item, "machine");
	m->tried_key |= !strcmp(item, "key");
	m->tried_initiator |= !strcmp(item, "remember");
}

static void unknown_item(struct ink_parser *p)
{
	struct ink_suggest near = ink_parser_near(p);
	char hint[96];

	if (lacks_colon(p))
		return;
	for (unsigned i = 0; i < ITEM_WORDS; i++)
		ink_suggest_offer(&near, item_words[i]);
	p->before = 0; /* nothing is missing there */
	note_trial(p->m, near.best ? near.best : "");
	if (near.best)
		ink_text_error(p->text, p->now.at, "no item begins with '%.*s'%s", (int)p->now.length,
			       p->text->bytes + p->now.at, ink_suggest_hint(&near, hint));
	else
		ink_parser_expected(p, "machine, key, remember, let, event, expendable or a state and ':'");
}

void ink_machine_parse(struct ink_machine *m, struct ink_text *text)
{
	struct ink_parser p = {.m = m, .text = text};

	p.now = ink_token_at(text, 0);
	m->absent.name = "absent";
	m->unsure.name = "unsure";
	m->star.name = "*";
	while (p.now.kind != TOKEN_END) {
		uint32_t at = p.now.at;
		int error = parse_item(&p);

		if (error == -2)
			unknown_item(&p);
		if (error && p.now.at == at)
			ink_parser_next(&p);
		if (error)
			find_item(&p);
	}
}
