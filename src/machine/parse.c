/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The items of a machine: its head and its events. The rows of states are in row.c.
 *
 * The grammar is that of docs/machine-language.md. It needs a lookahead of two
 * tokens: the ":" or "," after a name marks a state's line. After an error the
 * parser skips to the next "|" (in a state) or the next line that
 * begins with an item, and continues there, so one run finds many errors. A
 * name with an invalid definition still counts as defined; otherwise every use of
 * it would be reported too.
 */
#include <errno.h>
#include <string.h>

#include "machine/parse.h"

static const char *const item_words[] = {"machine", "key",     "remember", "let",
					 "start",   "reverse", "event",    "expendable"};

enum { ITEM_WORDS = sizeof item_words / sizeof item_words[0] };

/* ------------------------------------------------------------ where to continue */

int ink_token_begins_item(const struct ink_text *text, const struct ink_token *token)
{
	for (unsigned i = 0; i < ITEM_WORDS; i++)
		if (ink_token_is(text, token, item_words[i]))
			return 1;
	return 0;
}

int ink_parser_sees_item(const struct ink_parser *p)
{
	return ink_token_begins_item(p->text, &p->now) || ink_parser_sees_repeat(p) ||
	       ink_parser_sees_param_line(p);
}

int ink_parser_sees_states(const struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);

	if (p->now.kind != TOKEN_NAME && !ink_parser_sees(p, "*"))
		return 0;
	return ink_token_is(p->text, &behind, ":") || ink_token_is(p->text, &behind, ",");
}

static int sees_item(const struct ink_parser *p)
{
	return p->now.kind == TOKEN_END ||
	       (ink_token_first(p->text, &p->now) && (ink_parser_sees_item(p) || ink_parser_sees_states(p)));
}

static void find_item(struct ink_parser *p)
{
	while (!sees_item(p))
		ink_parser_next(p);
}

int ink_parser_find_row(struct ink_parser *p)
{
	while (!sees_item(p) && !ink_parser_sees(p, "|"))
		ink_parser_next(p);
	return ink_parser_takes(p, "|");
}

/* -------------------------------------------------------------------- head */

/* Names are unique in the set. */
static int check_machine_name(struct ink_parser *p, const struct ink_name *name, uint32_t at)
{
	const struct ink_unit *unit = p->m->unit;
	const struct ink_machines *before = unit->before;

	for (unsigned i = 0; i < unit->n; i++)
		if (unit->machines[i]->has_name && !strcmp(unit->machines[i]->name, name->text))
			return ink_parser_twice(p, at, name->text, unit->machines[i]->name_at);
	for (unsigned i = 0; before && i < before->n; i++)
		if (!strcmp(before->machines[i]->name, name->text)) {
			ink_text_error(p->text, at, "machine '%s' is also in %.100s, line %u", name->text,
				       before->machines[i]->view.file, before->machines[i]->line);
			p->text->stopped = -EINVAL; /* what follows would belong to the machine before */
			return -1;
		}
	return 0;
}

/* The next machine of the file begins with its name. Where there can be none, nothing behind it is read. */
static struct ink_machine *begin_machine(struct ink_parser *p, uint32_t at, struct ink_name **name)
{
	struct ink_unit *unit = p->m->unit;
	struct ink_machine *m = NULL;

	if (unit->one)
		ink_text_error(p->text, at,
			       "'%s' is a second machine, after '%s': only one machine can be used here",
			       (*name)->text, p->m->name);
	else if (unit->n == INK_MACHINES_MAX)
		ink_text_limit(p->text, at, "more than %d machines", INK_MACHINES_MAX);
	else
		m = ink_unit_add(unit);
	if (m) {
		*name = ink_name_of(m, p->text, (*name)->text, (*name)->length, at);
		p->m = m;
	} else if (!p->text->stopped)
		p->text->stopped = -EINVAL;
	return m && *name ? m : NULL;
}

/* The first line of that kind names the first machine, wherever it stands; each later one begins a machine. */
static int parse_machine(struct ink_parser *p)
{
	struct ink_machine *m = p->m;
	uint32_t at = p->now.at;
	struct ink_name *name;

	m->tried_name = 1;
	if (ink_parse_name(p, "the machine's name", &name) || check_machine_name(p, name, at))
		return -1;
	if (m->has_name && (m = begin_machine(p, at, &name)) == NULL)
		return -1;
	m->has_name = m->tried_name = 1;
	m->name = name->text;
	m->name_at = at;
	m->line = ink_text_line(p->text, at);
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
	if (p->now.kind == TOKEN_END || ink_parser_sees_item(p) || ink_parser_sees_states(p) ||
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
	struct ink_let let = {.at = p->now.at, .machine = m};
	const struct ink_let *first = ink_let_named(p, &p->now);
	struct ink_name *name;

	if (ink_parse_name(p, "a name", &name))
		return -1;
	let.name = name->text;
	if (first)
		return ink_parser_twice(p, let.at, let.name, first->at);
	if (m->n_lets == INK_LETS_MAX) {
		ink_text_limit(p->text, let.at, "more than %d lets", INK_LETS_MAX);
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
	ink_text_limit(p->text, at, "more than %d events", INK_MAX_EVENTS);
	return -1;
}

static int add_event(struct ink_parser *p, const struct ink_event *like)
{
	struct ink_machine *m = p->m;
	struct ink_event e = *like;
	struct ink_name *name;

	e.at = p->now.at;
	if (ink_parse_name(p, "the event's name", &name) || check_event_name(p, name, e.at))
		return -1;
	e.name = name->text;
	if (!INK_APPEND(p, m->events, m->n_events))
		return -1;
	m->events[m->n_events++] = e;
	name->event = m->n_events;
	return 0;
}

/* "told" is a word only here, and only if the file has no let or counter of that name. */
static int sees_told(const struct ink_parser *p)
{
	struct ink_token behind = ink_parser_behind(p);
	int compared = behind.kind == TOKEN_SIGN && memchr("=!<>", p->text->bytes[behind.at], 4);

	return ink_parser_sees(p, "told") && !compared && !ink_let_named(p, &p->now);
}

/* Events from `first` on that other machines bring. */
static int parse_told(struct ink_parser *p, unsigned first)
{
	const struct ink_condition *never = ink_condition_node(p, &(struct ink_condition){.kind = INK_NEVER});

	ink_parser_next(p);
	for (unsigned i = first; never && i < p->m->n_events; i++) {
		struct ink_event *e = &p->m->events[i];

		e->told = 1;
		e->condition = never;
		if (!e->reverse)
			continue;
		ink_text_error(p->text, e->at,
			       "a told event has no direction: write 'tell ... reversed' where it is told");
		e->reverse = 0;
	}
	if (ink_parser_sees(p, "and") || ink_parser_sees(p, "or")) {
		ink_text_error(p->text, p->now.at, "'told' stands alone: no packet is tested");
		return -1;
	}
	return never ? ends_condition(p) : -1;
}

static int parse_event(struct ink_parser *p)
{
	struct ink_event e = {.start = ink_parser_takes(p, "start"),
			      .reverse = ink_parser_takes(p, "reverse")};
	unsigned first = p->m->n_events;
	const struct ink_condition *condition;

	if (ink_parser_wants(p, "event"))
		return -1;
	do
		if (add_event(p, &e))
			return -1;
	while (ink_parser_takes(p, ","));
	if (ink_parser_wants(p, "="))
		return -1;
	if (sees_told(p))
		return parse_told(p, first);
	if (p->m->n_events > first + 1) {
		ink_text_error(p->text, p->m->events[first + 1].at,
			       "several events in one line are told ones: 'event a, b = told'");
		return -1;
	}
	condition = ink_parse_condition(p);
	p->m->events[first].condition = condition;
	return condition ? ends_condition(p) : -1;
}

/* ------------------------------------------------------------------- items */

static int parse_item(struct ink_parser *p)
{
	if (ink_parser_sees_states(p))
		return ink_parse_states(p);
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
	if (ink_parser_takes(p, "repeat"))
		return ink_parse_repeat(p);
	if (ink_parser_takes(p, "param"))
		return ink_parse_param(p);
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
	ink_suggest_offer(&near, "repeat");
	ink_suggest_offer(&near, "param");
	p->before = 0; /* nothing is missing there */
	note_trial(p->m, near.best ? near.best : "");
	if (near.best)
		ink_text_error(p->text, p->now.at, "no item begins with '%.*s'%s", (int)p->now.length,
			       p->text->bytes + p->now.at, ink_suggest_hint(&near, hint));
	else
		ink_parser_expected(
			p,
			"machine, key, remember, param, let, event, expendable, repeat or a state and ':'");
}

void ink_unit_parse(struct ink_unit *file, struct ink_text *text)
{
	struct ink_parser p = {.m = ink_unit_add(file), .text = text};

	if (!p.m)
		return;
	p.now = ink_token_at(text, 0);
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
