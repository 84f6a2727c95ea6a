/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resolves names to numbers and reports contradictions: errors first, and warnings once the machine is valid.
 */
#include <stdlib.h>
#include <string.h>

#include "machine/tree.h"

/* ------------------------------------------------------------------- names */

static void unknown_event(struct ink_machine *m, struct ink_text *text, const struct ink_trigger *t)
{
	struct ink_suggest near = ink_suggest(t->name->text, t->name->length);
	char hint[96];

	for (unsigned i = 0; i < m->n_events; i++)
		ink_suggest_offer(&near, m->events[i].name);
	ink_suggest_offer(&near, "timeout");
	ink_suggest_offer(&near, "within");
	ink_suggest_offer(&near, "end");
	ink_text_error(text, t->at, "no event '%s'%s", t->name->text,
		       strcmp(t->name->text, "within") ? ink_suggest_hint(&near, hint)
						       : "; a window has a time: 'within 60s'");
}

static void resolve_trigger(struct ink_machine *m, struct ink_text *text, struct ink_trigger *t)
{
	if (t->kind != INK_ON_EVENT)
		return;
	if (!t->name->event) {
		unknown_event(m, text, t);
		return;
	}
	t->event = t->name->event - 1;
	m->events[t->event].used = 1;
}

static const char *const targets[] = {"absent", "next", "up", "down", "first", "last"};

/* The number of a state, or complains. */
static unsigned state_number(struct ink_machine *m, struct ink_text *text, const struct ink_name *name,
			     uint32_t at)
{
	struct ink_suggest near = ink_suggest(name->text, name->length);
	char hint[96];

	if (name->state)
		return name->state - 1;
	if (name->group) {
		ink_text_error(text, at, "'%s' is a repeat: write 'first %s', 'last %s' or '%s1'", name->text,
			       name->text, name->text, name->text);
		return 0;
	}
	for (unsigned i = 0; i < m->n_states; i++)
		ink_suggest_offer(&near, m->states[i].name);
	for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++)
		ink_suggest_offer(&near, targets[i]);
	if (near.best)
		ink_text_error(text, at, "no state '%s'%s", name->text, ink_suggest_hint(&near, hint));
	else
		ink_text_error(text, at, "no state '%s': it needs a line, write '%s : ...'", name->text,
			       name->text);
	return 0;
}

/* The repetition of that name, or complains. */
static const struct ink_group *group_named(struct ink_machine *m, struct ink_text *text,
					   const struct ink_name *name, uint32_t at)
{
	struct ink_suggest near = ink_suggest(name->text, name->length);
	char hint[96];

	if (name->group)
		return &m->groups[name->group - 1];
	for (unsigned i = 0; i < m->n_groups; i++)
		ink_suggest_offer(&near, m->groups[i].name->text);
	ink_text_error(text, at, "no repeat '%s'%s", name->text, ink_suggest_hint(&near, hint));
	return NULL;
}

/* "first" or "last" of a repetition becomes a state. NULL: of an unknown one. */
static void resolve_member(struct ink_target *t, const struct ink_group *g)
{
	if (g)
		t->number = t->kind == INK_TO_FIRST ? g->first : g->first + g->n - 1;
	t->kind = INK_TO_STATE;
}

/* A state that is called like a word of repetitions is meant by that word. */
static void resolve_target(struct ink_machine *m, struct ink_text *text, struct ink_target *t)
{
	if ((t->kind == INK_TO_FIRST || t->kind == INK_TO_LAST) && t->exact) {
		resolve_member(t, group_named(m, text, t->name, t->at));
	} else if (t->kind == INK_TO_STATE || (t->kind > INK_TO_NEXT && !t->exact && t->name->state)) {
		t->number = state_number(m, text, t->name, t->at);
		t->kind = INK_TO_STATE;
	}
}

static void resolve_end(struct ink_machine *m, struct ink_text *text, struct ink_target *end,
			const struct ink_group *own)
{
	resolve_target(m, text, end);
	if (end->kind == INK_TO_FIRST || end->kind == INK_TO_LAST)
		resolve_member(end, own);
}

static void resolve_groups(struct ink_machine *m, struct ink_text *text)
{
	for (unsigned i = 0; i < m->n_groups; i++) {
		resolve_end(m, text, &m->groups[i].above, &m->groups[i]);
		resolve_end(m, text, &m->groups[i].below, &m->groups[i]);
	}
}

static unsigned counter_number(struct ink_machine *m, struct ink_text *text, const struct ink_name *name,
			       uint32_t at)
{
	struct ink_suggest near = ink_suggest(name->text, name->length);
	char hint[96];

	if (name->counter)
		return name->counter - 1;
	for (unsigned i = 0; i < m->n_counters; i++)
		ink_suggest_offer(&near, m->counters[i].name->text);
	ink_offer_tests(&near);
	ink_text_error(text, at, "no counter '%s'%s", name->text, ink_suggest_hint(&near, hint));
	return 0;
}

static void resolve_tests(struct ink_machine *m, struct ink_text *text)
{
	for (unsigned i = 0; i < m->n_tests; i++) {
		struct ink_against *a = &m->tests[i].against;

		if (m->tests[i].field != INK_FIELD_COUNTER)
			continue;
		a->counter = counter_number(m, text, a->name, a->at);
		if (a->other_name)
			a->other = counter_number(m, text, a->other_name, a->other_at);
	}
}

static void resolve_expendables(struct ink_machine *m, struct ink_text *text)
{
	for (unsigned i = 0; i < m->n_expendables && m->n_states && !text->stopped; i++) {
		const struct ink_name *name = m->expendables[i].name;
		const struct ink_group *g = name->group ? &m->groups[name->group - 1] : NULL;
		unsigned first = g ? g->first : state_number(m, text, name, m->expendables[i].at);

		for (unsigned j = 0; j < (g ? g->n : 1); j++)
			m->states[first + j].expendable = 1;
	}
}

/* -------------------------------------------------------------------- rows */

static void check_side(struct ink_machine *m, struct ink_text *text, const struct ink_state *s,
		       const struct ink_trigger *t)
{
	if (t->from != INK_FROM_INITIATOR && t->from != INK_FROM_RESPONDER)
		return;
	if (!m->tried_initiator)
		ink_text_error(text, t->from_at,
			       "'from initiator' and 'from responder' need a line 'remember initiator'");
	else if (s == &m->absent)
		ink_text_error(text, t->from_at, "an absent flow has no initiator yet");
	else if (s == &m->unsure)
		ink_text_error(text, t->from_at, "an unsure flow has no known initiator");
}

static void check_trigger(struct ink_machine *m, struct ink_text *text, const struct ink_state *s,
			  const struct ink_trigger *t)
{
	if (s == &m->absent && t->kind == INK_ON_TIMEOUT)
		ink_text_error(text, t->at, "an absent flow has no %s", t->window ? "window" : "time-out");
	if (s == &m->unsure && t->window)
		ink_text_error(text, t->at, "an unsure flow has no window: write 'timeout'");
	if (s == &m->absent && t->kind == INK_ON_END)
		ink_text_error(text, t->at, "an absent flow has no end");
	check_side(m, text, s, t);
}

/* Complains about a row that several states have: once. */
static void complain_once(struct ink_text *text, struct ink_written_row *row, uint32_t at, const char *words)
{
	if (!row->told)
		ink_text_error(text, at, "%s", words);
	row->told = 1;
}

/* Targets that depend on the state. Those of "*" are checked for each state, when all have its rows. */
static void check_reach(struct ink_machine *m, struct ink_text *text, const struct ink_state *s,
			struct ink_written_row *row)
{
	enum ink_target_kind kind = row->target.kind;

	if (kind < INK_TO_NEXT || s == &m->star || s == &m->unsure || !m->n_states)
		return;
	if (kind > INK_TO_NEXT && !s->group)
		complain_once(text, row, row->target.at,
			      kind < INK_TO_FIRST ? "'up' and 'down' are for the states of a repeat"
						  : "of which repeat? (write 'first NAME' or 'last NAME')");
	else if (ink_row_leads(m, s, row) != m->n_states)
		return;
	else if (kind == INK_TO_NEXT)
		ink_text_error(text, row->target.at, "'%s' is the last state: it has no next", s->name);
	else
		complain_once(text, row, row->target.at,
			      "no state follows the repeat: 'up' leads nowhere (add one, or 'above STATE')");
}

static void check_target(struct ink_machine *m, struct ink_text *text, const struct ink_state *s,
			 struct ink_written_row *row)
{
	enum ink_target_kind kind;

	if (!row->checked)
		resolve_target(m, text, &row->target);
	kind = row->target.kind;
	if (s == &m->unsure && kind != INK_TO_SAME &&
	    !(kind == INK_TO_ABSENT && !ink_row_has(row, INK_ON_EVENT) && !ink_row_has(row, INK_ON_ANY)))
		ink_text_error(text, row->target.at,
			       "'unsure' can only act: it is not known which flow would move");
	check_reach(m, text, s, row);
}

/* "leaving" is about the two targets that may lead out of a repetition. */
static void check_leaving(struct ink_text *text, const struct ink_state *s, struct ink_written_row *row)
{
	if (row->leaving && (!s->group || (row->target.kind != INK_TO_UP && row->target.kind != INK_TO_DOWN)))
		complain_once(text, row, row->leaving->at,
			      "'leaving' is for rows of a repeat that go 'up' or 'down'");
}

static int has_window(const struct ink_written_row *row)
{
	for (unsigned i = 0; i < row->n_triggers; i++)
		if (row->triggers[i].window)
			return 1;
	return 0;
}

static void check_actions(struct ink_machine *m, struct ink_text *text, struct ink_written_row *row)
{
	int timeout = ink_row_has(row, INK_ON_TIMEOUT), end = ink_row_has(row, INK_ON_END);
	int waits = row->packet_action == INK_DOES_REPORT || row->packet_action == INK_DOES_TELL;

	ink_check_tells(m, text, &row->does);
	ink_check_tells(m, text, row->leaving);
	if (row->packet_action && (timeout || end))
		ink_text_error(text, row->packet_action_at,
			       "%s has no packet: it can only count by numbers and move, not '%s'%s",
			       has_window(row) ? "a window"
			       : timeout       ? "a time-out"
					       : "an end",
			       ink_packet_action_words[row->packet_action],
			       waits && !end ? " (let it move, and do that with the flow's next packet)"
					     : "");
	if (row->new_initiator && !m->tried_initiator)
		ink_text_error(text, row->packet_action_at,
			       "'new initiator' needs a line 'remember initiator'");
}

/* A row of several states is checked for each of them where they differ, and once for the rest. */
static void check_row(struct ink_machine *m, struct ink_text *text, const struct ink_state *s,
		      struct ink_written_row *row)
{
	for (unsigned i = 0; i < row->n_triggers; i++) {
		if (!row->checked)
			resolve_trigger(m, text, (struct ink_trigger *)&row->triggers[i]);
		check_trigger(m, text, s, &row->triggers[i]);
		if (text->stopped)
			return;
	}
	if (!row->checked || row->target.kind >= INK_TO_NEXT || s == &m->unsure)
		check_target(m, text, s, row);
	check_leaving(text, s, row);
	if (!row->checked)
		check_actions(m, text, row);
	row->checked = 1;
}

static void time_twice(struct ink_text *text, const struct ink_state *s, const struct ink_trigger *t,
		       const struct ink_trigger *first)
{
	unsigned line = ink_text_line(text, first->at);

	if (t->window != first->window)
		ink_text_error(text, t->at,
			       "'%s' has a %s in line %u: a state has a time-out or a window, not both",
			       s->name, first->window ? "window" : "time-out", line);
	else
		ink_text_error(text, t->at, "the %s of '%s' was already given in line %u",
			       t->window ? "window" : "time-out", s->name, line);
}

static void check_timeouts(struct ink_text *text, const struct ink_state *s)
{
	const struct ink_trigger *first = NULL;

	for (unsigned i = 0; i < s->n_own && !text->stopped; i++)
		for (unsigned j = 0; ink_row_has(s->rows[i], INK_ON_TIMEOUT) && j < s->rows[i]->n_triggers;
		     j++) {
			const struct ink_trigger *t = &s->rows[i]->triggers[j];

			if (t->kind != INK_ON_TIMEOUT)
				continue;
			if (first && !s->rows[i]->told)
				time_twice(text, s, t, first);
			s->rows[i]->told |= first != NULL;
			first = first ? first : t;
		}
}

static void check_rows(struct ink_machine *m, struct ink_text *text, const struct ink_state *s)
{
	for (unsigned i = 0; i < s->n_own && !text->stopped; i++)
		check_row(m, text, s, s->rows[i]);
	check_timeouts(text, s);
}

/* What a pass over the rows of "*" costs. */
static uint32_t star_steps(const struct ink_machine *m)
{
	uint32_t steps = 0;

	for (unsigned i = 0; i < m->star.n_own; i++)
		steps += 1 + m->star.rows[i]->n_triggers;
	return steps;
}

/* Every state tries the rows of "*" after its own. */
static void add_star_rows(struct ink_machine *m, struct ink_text *text, struct ink_state *s)
{
	unsigned n = s->n_own + m->star.n_own;
	struct ink_written_row **rows = ink_arena_get(m->arena, (n + 1) * sizeof *rows);

	if (!rows)
		return;
	if (s->n_own)
		memcpy(rows, s->rows, s->n_own * sizeof *rows);
	if (m->star.n_own)
		memcpy(rows + s->n_own, m->star.rows, m->star.n_own * sizeof *rows);
	s->rows = rows;
	s->n_rows = n;
	for (unsigned i = s->n_own; i < n; i++)
		check_reach(m, text, s, rows[i]);
}

/* The rows for a time-out and an end: the first of each. */
static void find_special_rows(struct ink_machine *m, struct ink_state *s)
{
	s->taken = ink_arena_get(m->arena, s->n_rows + 1);
	for (unsigned i = s->n_rows; i-- > 0;) {
		if (ink_row_has(s->rows[i], INK_ON_TIMEOUT))
			s->on_timeout = s->rows[i];
		if (ink_row_has(s->rows[i], INK_ON_END))
			s->on_end = s->rows[i];
	}
	for (unsigned i = 0; s->on_timeout && i < s->on_timeout->n_triggers && !s->time; i++) {
		s->time = s->on_timeout->triggers[i].time;
		s->window = s->on_timeout->triggers[i].window;
	}
}

static void complete_rows(struct ink_machine *m, struct ink_text *text)
{
	uint32_t steps = star_steps(m);

	for (unsigned i = 0; i < m->n_states && !text->errors && !m->arena->failed; i++) {
		if (ink_text_work(text, m->star.n_own ? m->star.at : m->states[i].at, steps))
			return;
		add_star_rows(m, text, &m->states[i]);
		find_special_rows(m, &m->states[i]);
	}
	find_special_rows(m, &m->absent);
	find_special_rows(m, &m->unsure);
}

/* ---------------------------------------------------------------- the whole */

static void check_head(struct ink_machine *m, struct ink_text *text)
{
	int two_ends = m->key.kind == INK_KEY_CONNECTION || m->key.kind == INK_KEY_PAIR;
	int joint = ink_key_joins_directions(&m->key);

	if (!m->tried_name)
		ink_text_error(text, 0, "a machine needs a line 'machine NAME'");
	if (!m->tried_key)
		ink_text_error(text, ink_machine_at(m), "a machine needs a line 'key ...': what is a flow?");
	if (!m->n_events)
		ink_text_error(text, ink_machine_at(m), "a machine needs an event");
	if (!m->n_states)
		ink_text_error(text, ink_machine_at(m), "a machine needs a state");
	if (m->has_key && !two_ends && m->remembers_initiator)
		ink_text_error(text, m->initiator_at,
			       "an initiator needs key connection or pair: flows with two ends");
	for (unsigned i = 0; m->has_key && joint && i < m->n_events && !text->stopped; i++)
		if (m->events[i].reverse)
			ink_text_error(text, m->events[i].at,
				       "'reverse' needs key flow, source, destination or endpoint, or parts "
				       "with src or dst: both directions are one flow here");
}

void ink_check_names(struct ink_machine *m, struct ink_text *text)
{
	check_head(m, text);
	resolve_tests(m, text);
	resolve_expendables(m, text);
	resolve_groups(m, text);
	check_rows(m, text, &m->absent);
	check_rows(m, text, &m->unsure);
	check_rows(m, text, &m->star);
	for (unsigned i = 0; i < m->n_states; i++)
		check_rows(m, text, &m->states[i]);
	complete_rows(m, text);
}

/* ---------------------------------------------------------------- warnings */

static void reach(const struct ink_machine *m, const struct ink_state *s, uint8_t *reached)
{
	for (unsigned i = 0; i < s->n_rows; i++) {
		unsigned to = ink_row_leads(m, s, s->rows[i]);

		if (!s->taken[i] || to == INK_NOWHERE || reached[to])
			continue;
		reached[to] = 1;
		reach(m, &m->states[to], reached);
	}
}

/* Follows the time-outs: does a flow that rests arrive at absent? */
static int ends(const struct ink_machine *m, unsigned state)
{
	for (unsigned steps = 0; steps <= m->n_states && state != INK_NOWHERE; steps++) {
		const struct ink_state *s = &m->states[state];

		if (!s->on_timeout)
			return 0;
		state = ink_row_leads(m, s, s->on_timeout);
	}
	return state == INK_NOWHERE;
}

static void warn_state(struct ink_machine *m, struct ink_text *text, unsigned i, int reached)
{
	const struct ink_state *s = &m->states[i];

	if (!reached)
		ink_text_warning(text, s->at, "state '%s' cannot be reached", s->name);
	else if (!s->on_timeout)
		ink_text_warning(text, s->at, "flows never leave '%s': it has no time-out", s->name);
	else if (!ends(m, i))
		ink_text_warning(text, s->at,
				 "flows that rest in '%s' never end: its time-outs do not lead to absent",
				 s->name);
}

/* Of a repetition, its first state with a fault: the others mostly share it. */
static void warn_states(struct ink_machine *m, struct ink_text *text, const uint8_t *reached)
{
	unsigned told = 0;

	for (unsigned i = 0; i < m->n_states; i++)
		if (!told || m->states[i].group != told) {
			unsigned before = text->warnings;

			warn_state(m, text, i, reached[i]);
			told = text->warnings > before ? m->states[i].group : 0;
		}
}

static void warn_rows(struct ink_text *text, const struct ink_state *s)
{
	for (unsigned i = 0; i < s->n_own; i++) {
		if (s->rows[i]->taken)
			continue;
		ink_text_warning(text, s->rows[i]->at,
				 "this row is never taken: rows before it take all it names");
		s->rows[i]->taken = 1;
	}
}

/* A machine of told events alone, none of which is told, does nothing. */
static int gets_events(const struct ink_machine *m, const uint8_t *happens)
{
	for (unsigned i = 0; i < m->n_events; i++)
		if (!m->events[i].told || m->events[i].teller || happens[i])
			return 1;
	return 0;
}

static void warn_events(struct ink_machine *m, struct ink_text *text, const uint8_t *happens)
{
	int any = 0;

	for (unsigned i = 0; i < m->n_states; i++)
		for (unsigned j = 0; j < m->states[i].n_rows; j++)
			any |= ink_row_has(m->states[i].rows[j], INK_ON_ANY);
	if (!gets_events(m, happens)) {
		ink_text_warning(text, m->name_at, "machine '%s' gets no event: nothing tells it any",
				 m->name);
		return;
	}
	for (unsigned i = 0; i < m->n_events; i++)
		if (m->events[i].told && !m->events[i].teller)
			ink_text_warning(text, m->events[i].at,
					 "no earlier machine of the file tells event '%s'",
					 m->events[i].name);
		else if (!happens[i] && !m->events[i].told)
			ink_text_warning(text, m->events[i].at,
					 "event '%s' can never happen: the events before it take all its "
					 "packets, or its condition contradicts itself",
					 m->events[i].name);
		else if (!m->events[i].used && !any)
			ink_text_warning(text, m->events[i].at, "no row is about event '%s'",
					 m->events[i].name);
}

static void warn_memory(struct ink_machine *m, struct ink_text *text)
{
	int splits = 0, tails = 0;

	for (unsigned i = 0; i < m->n_states; i++) {
		splits |= m->states[i].splits;
		tails |= m->states[i].tails;
	}
	if (m->remembers_initiator && !splits)
		ink_text_warning(
			text, m->initiator_at,
			"'remember initiator' is not used: no row has 'from initiator' or 'from responder'");
	if (m->remembers_tail && !tails)
		ink_text_warning(text, m->tail_at, "'remember tail' is not used: no row is about pictures");
}

static void warn_names(struct ink_machine *m, struct ink_text *text)
{
	for (unsigned i = 0; i < m->n_lets; i++)
		if (ink_begins_condition(m->lets[i].name))
			ink_text_warning(
				text, m->lets[i].at,
				"let '%s' can never be used: in conditions, it is a word of the language",
				m->lets[i].name);
	for (unsigned i = 0; i < m->n_counters; i++)
		if (ink_begins_condition(m->counters[i].name->text))
			ink_text_warning(
				text, m->counters[i].at,
				"counter '%s' cannot be compared: in conditions, it is a word of the language",
				m->counters[i].name->text);
}

void ink_check_flow(struct ink_machine *m, struct ink_text *text, const uint8_t *happens)
{
	uint8_t reached[INK_MAX_STATES] = {0};

	reach(m, &m->absent, reached);
	warn_states(m, text, reached);
	warn_events(m, text, happens);
	warn_rows(text, &m->absent);
	warn_rows(text, &m->unsure);
	warn_rows(text, &m->star);
	for (unsigned i = 0; i < m->n_states; i++)
		warn_rows(text, &m->states[i]);
	warn_memory(m, text);
	ink_warn_params(m, text);
	warn_names(m, text);
}
