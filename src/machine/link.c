/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links: what the rows of a machine tell later machines of its file.
 *
 * A link leads forward, so there are no cycles. But a row may tell two machines, each of which tells two: the steps
 * that one packet causes are counted from the last machine to the first, and limited.
 */
#include <string.h>

#include "machine/tree.h"

/* The place in the file of a machine, or -1. */
static int place_of(const struct ink_unit *unit, const struct ink_name *name)
{
	for (unsigned i = 0; i < unit->n; i++)
		if (unit->machines[i]->has_name && !strcmp(unit->machines[i]->name, name->text))
			return (int)i;
	return -1;
}

static void unknown_machine(const struct ink_machine *m, struct ink_text *text,
			    const struct ink_written_tell *t)
{
	const struct ink_unit *unit = m->unit;
	struct ink_suggest near = ink_suggest(t->machine->text, t->machine->length);
	char hint[96];

	for (unsigned i = m->number + 1; i < unit->n; i++)
		if (unit->machines[i]->has_name)
			ink_suggest_offer(&near, unit->machines[i]->name);
	ink_text_error(text, t->at, "no machine '%s' in this file%s%s", t->machine->text,
		       ink_suggest_hint(&near, hint),
		       unit->n == 1 ? ": it has one machine, and 'tell' is for a later one" : "");
}

/* The machine that is told, or NULL after a complaint. */
static struct ink_machine *told_machine(const struct ink_machine *m, struct ink_text *text,
					const struct ink_written_tell *t)
{
	int place = place_of(m->unit, t->machine);

	if (place < 0)
		unknown_machine(m, text, t);
	else if (place == (int)m->number)
		ink_text_error(text, t->at, "'%s' is this machine itself: 'tell' is for a later machine",
			       t->machine->text);
	else if (place < (int)m->number)
		ink_text_error(text, t->at,
			       "'%s' is an earlier machine: 'tell' is for a later one, so that links make no "
			       "cycles",
			       t->machine->text);
	else
		return m->unit->machines[place];
	return NULL;
}

static void no_told_event(const struct ink_machine *told, struct ink_text *text,
			  const struct ink_written_tell *t, int exists)
{
	struct ink_suggest near = ink_suggest(t->event->text, t->event->length);
	char hint[96];

	for (unsigned i = 0; i < told->n_events; i++)
		if (told->events[i].told)
			ink_suggest_offer(&near, told->events[i].name);
	if (exists)
		ink_text_error(text, t->event_at,
			       "packets bring event '%s' of machine '%s': only one that is defined by "
			       "'event ... = told' can be told",
			       t->event->text, told->name);
	else
		ink_text_error(text, t->event_at, "machine '%s' has no event '%s'%s", told->name,
			       t->event->text, ink_suggest_hint(&near, hint));
}

static void check_tell(struct ink_machine *m, struct ink_text *text, struct ink_written_tell *t)
{
	struct ink_machine *told = told_machine(m, text, t);
	struct ink_token token = {TOKEN_NAME, t->event_at, t->event->length, NULL};
	const struct ink_name *name = told ? ink_name_find(told, text, &token) : NULL;
	unsigned event = name ? name->event : 0;

	if (!told || text->stopped)
		return;
	if (!event || !told->events[event - 1].told) {
		no_told_event(told, text, t, event != 0);
		return;
	}
	told->events[event - 1].teller = 1;
	t->to.machine = told->number + (m->unit->before ? m->unit->before->n : 0);
	t->to.event = event - 1;
	t->to.line = ink_text_line(text, t->at);
	t->to.column = ink_text_column(text, t->at);
}

/* Two actions of a row can share a tell. */
void ink_check_tells(struct ink_machine *m, struct ink_text *text, struct ink_deed *d)
{
	unsigned n = d && d->more ? d->more->n_tells : 0;
	struct ink_tell *tells = n ? ink_arena_get(m->arena, n * sizeof *tells) : NULL;

	for (unsigned i = 0; tells && i < n && !ink_text_work(text, d->more->tells[i]->at, 1); i++) {
		if (!d->more->tells[i]->checked)
			check_tell(m, text, d->more->tells[i]);
		d->more->tells[i]->checked = 1;
		tells[i] = d->more->tells[i]->to;
	}
	if (!tells)
		return;
	d->more->out.tells = tells;
	d->more->out.n_tells = n;
}

/* ------------------------------------------------------------------- chains */

static unsigned chain_of(const struct ink_unit *unit, const struct ink_deed *d, unsigned before)
{
	unsigned steps = 0;

	for (unsigned i = 0; d && d->more && i < d->more->out.n_tells && steps <= INK_STEPS_OF_PACKET; i++)
		steps += 1 + unit->machines[d->more->out.tells[i].machine - before]->chain;
	return steps;
}

static void follow_row(struct ink_machine *m, struct ink_text *text, const struct ink_written_row *row)
{
	unsigned before = m->unit->before ? m->unit->before->n : 0;
	unsigned steps = chain_of(m->unit, &row->does, before),
		 leaving = chain_of(m->unit, row->leaving, before);

	steps = steps > leaving ? steps : leaving;
	m->chain = steps > m->chain ? steps : m->chain;
	if (steps > INK_STEPS_OF_PACKET && !text->errors)
		ink_text_error(text, row->packet_action_at,
			       "with this row, one packet makes more than %d steps in later machines",
			       INK_STEPS_OF_PACKET);
}

static void follow_rows(struct ink_machine *m, struct ink_text *text, const struct ink_state *s)
{
	for (unsigned i = 0; i < s->n_own && !ink_text_work(text, s->at, 1); i++)
		if (s->rows[i]->packet_action)
			follow_row(m, text, s->rows[i]);
}

void ink_check_chains(struct ink_unit *unit, struct ink_text *text)
{
	for (unsigned i = unit->n; i-- > 0 && !text->errors;) {
		struct ink_machine *m = unit->machines[i];

		follow_rows(m, text, &m->absent);
		follow_rows(m, text, &m->unsure);
		follow_rows(m, text, &m->star);
		for (unsigned s = 0; s < m->n_states; s++)
			follow_rows(m, text, &m->states[s]);
	}
}
