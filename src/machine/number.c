/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From written states and events to the numbers that a table has for them.
 *
 * States that remember something are split; the others are not:
 *
 *     written        compiled
 *     opening        opening (initiator: low end), opening (initiator: high end)
 *     established    established
 *
 * With `remember tail` a state with rows about pictures becomes six, one for each
 * number of bytes of a start code that a packet can end with. A compiled state is
 * base + initiator * tails + tail.
 *
 * Events are split likewise: by the end that sent the packet, if a row depends
 * on it or the initiator must be remembered, and by the tail that the packet
 * leaves. A compiled event is base + side * tails + tail.
 */
#include <errno.h>
#include <string.h>

#include "machine/tree.h"

/* --------------------------------------------------- which states remember */

/* Does a row depend on which end is the initiator? */
static int asks_initiator(const struct ink_state *s)
{
	unsigned froms = 0;

	for (unsigned i = 0; i < s->n_rows; i++)
		froms |= s->rows[i]->froms;
	return (froms >> INK_FROM_INITIATOR & 1) || (froms >> INK_FROM_RESPONDER & 1);
}

/* The states to which a row passes the initiator on, which it does unless it names a new one. */
static void find_heirs(const struct ink_machine *m, const struct ink_state *s, uint8_t *heirs)
{
	for (unsigned i = 0; i < s->n_rows; i++) {
		unsigned to = ink_row_leads(m, s, s->rows[i]);

		if (to != INK_NOWHERE && !s->rows[i]->new_initiator)
			heirs[to] = 1;
	}
}

static int has_split_heir(const struct ink_machine *m, const uint8_t *heirs)
{
	for (unsigned i = 0; i < m->n_states; i++)
		if (heirs[i] && m->states[i].splits)
			return 1;
	return 0;
}

/* A state remembers the initiator if one of its rows needs it, or leads to a state that remembers it. */
static int find_splits(struct ink_machine *m)
{
	uint8_t *heirs = ink_arena_get(m->arena, m->n_states * INK_MAX_STATES);
	int changed = m->remembers_initiator;

	if (!heirs)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n_states; i++) {
		m->states[i].splits = asks_initiator(&m->states[i]);
		find_heirs(m, &m->states[i], heirs + i * INK_MAX_STATES);
	}
	while (changed) {
		changed = 0;
		for (unsigned i = 0; i < m->n_states; i++)
			if (!m->states[i].splits && has_split_heir(m, heirs + i * INK_MAX_STATES))
				changed = m->states[i].splits = 1;
	}
	return 0;
}

static int is_about_pictures(const struct ink_machine *m, const struct ink_trigger *t)
{
	return t->kind == INK_ON_EVENT && m->events[t->event].condition->pictures;
}

static void find_tails(struct ink_machine *m)
{
	for (unsigned i = 0; m->remembers_tail && i < m->n_states; i++) {
		struct ink_state *s = &m->states[i];

		for (unsigned j = 0; j < s->n_rows; j++)
			for (unsigned k = 0; k < s->rows[j]->n_triggers; k++)
				s->tails |= is_about_pictures(m, &s->rows[j]->triggers[k]);
	}
}

/* ----------------------------------------------------------------- numbering */

static const struct ink_state *state_named(const struct ink_machine *m, const char *name)
{
	for (unsigned i = 0; m && i < m->n_states; i++)
		if (!strcmp(m->states[i].name, name))
			return &m->states[i];
	return NULL;
}

/* The first number of a state: that of the same name in the machine it replaces, or the next free one. */
static unsigned base_of(const struct ink_state *s, const struct ink_machine *like, struct ink_text *text,
			unsigned *next)
{
	const struct ink_state *old = state_named(like, s->name);
	unsigned base = *next;

	if (old && (old->splits != s->splits || old->tails != s->tails))
		ink_text_error(text, s->at, "'%s' does not remember what it did in the previous machine",
			       s->name);
	if (old)
		return old->base;
	*next += ink_copies_of(s);
	return base;
}

static unsigned number_bases(struct ink_machine *m, const struct ink_machine *like, struct ink_text *text)
{
	unsigned next = like ? like->rules.states : 0;

	for (unsigned i = 0; like && i < like->n_states; i++)
		if (!state_named(m, like->states[i].name))
			ink_text_error(text, ink_machine_at(m),
				       "state '%s' of the previous machine is missing: its flows live on",
				       like->states[i].name);
	for (unsigned i = 0; i < m->n_states; i++)
		m->states[i].base = base_of(&m->states[i], like, text, &next);
	return next;
}

/* The machine that this one replaces, or NULL. */
static const struct ink_machine *replaced(const struct ink_machine *m, const struct ink_machine_options *o)
{
	for (unsigned i = 0; o->like_set && i < o->like_set->n; i++)
		if (!strcmp(o->like_set->machines[i]->name, m->name))
			return o->like_set->machines[i];
	return o->like_set ? NULL : o->like;
}

static int number_states(struct ink_machine *m, struct ink_text *text)
{
	unsigned n = number_bases(m, replaced(m, text->options), text);
	uint16_t *of;

	if (text->errors)
		return -EINVAL;
	if (n > INK_MAX_STATES) {
		ink_text_error(text, ink_machine_at(m),
			       "%u states, with what they remember %u: %d are possible", m->n_states, n,
			       INK_MAX_STATES);
		return -EINVAL;
	}
	of = ink_arena_get(m->arena, (n + 1) * sizeof *of);
	m->tail_of = ink_arena_get(m->arena, n + 1);
	if (!of || !m->tail_of)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n_states; i++)
		for (unsigned c = 0; c < ink_copies_of(&m->states[i]); c++) {
			of[m->states[i].base + c] = (uint16_t)i;
			m->tail_of[m->states[i].base + c] = (uint8_t)(c % ink_tails_of(&m->states[i]));
		}
	m->rules.states = n;
	m->view.state_of = of;
	return 0;
}

/* A trigger that depends on the end that sent the packet needs its events split. */
static void give_sides(struct ink_machine *m, const struct ink_trigger *t)
{
	if (t->kind == INK_ON_EVENT)
		m->event_sides[t->event] = 2;
	m->all_sides |= t->kind == INK_ON_ANY;
}

static void find_sides(struct ink_machine *m, const struct ink_state *s)
{
	for (unsigned i = 0; i < s->n_rows; i++) {
		const struct ink_written_row *row = s->rows[i];
		unsigned to = ink_row_leads(m, s, row);
		int sets =
			to != INK_NOWHERE && m->states[to].splits && (s == &m->absent || row->new_initiator);

		for (unsigned j = 0; j < row->n_triggers; j++)
			if (sets || row->triggers[j].from != INK_FROM_ANY)
				give_sides(m, &row->triggers[j]);
	}
}

static int number_events(struct ink_machine *m, struct ink_text *text)
{
	unsigned n = 0;
	uint16_t *of;

	m->tails = 1;
	for (unsigned i = 0; i < m->n_states; i++)
		if (m->states[i].tails)
			m->tails = INK_TAILS;
	for (unsigned e = 0; e < m->n_events; e++) {
		m->event_base[e] = n;
		n += m->event_sides[e] * m->tails;
	}
	if (n > INK_MAX_EVENTS) {
		ink_text_error(text, ink_machine_at(m),
			       "%u events, with their sides and tails %u: %d are possible", m->n_events, n,
			       INK_MAX_EVENTS);
		return -EINVAL;
	}
	of = ink_arena_get(m->arena, (n + 1) * sizeof *of);
	if (!of)
		return -ENOMEM;
	for (unsigned e = 0; e < m->n_events; e++)
		for (unsigned c = 0; c < m->event_sides[e] * m->tails; c++)
			of[m->event_base[e] + c] = (uint16_t)e;
	m->rules.events = n;
	m->view.event_of = of;
	return 0;
}

int ink_number(struct ink_machine *m, struct ink_text *text)
{
	int error;

	m->event_base = ink_arena_get(m->arena, m->n_events * sizeof *m->event_base);
	m->event_sides = ink_arena_get(m->arena, m->n_events);
	if (!m->event_base || !m->event_sides)
		return -ENOMEM;
	memset(m->event_sides, 1, m->n_events);
	error = find_splits(m);
	if (error)
		return error;
	find_tails(m);
	find_sides(m, &m->absent);
	find_sides(m, &m->unsure);
	for (unsigned i = 0; i < m->n_states; i++)
		find_sides(m, &m->states[i]);
	if (m->all_sides)
		memset(m->event_sides, 2, m->n_events);
	error = number_states(m, text);
	return error ? error : number_events(m, text);
}
