/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From machines to one half of the maps.
 *
 * The rules of a machine are plain tables already (src/machine/compile.c). Here states get the codes that they
 * have in the table (numbering.c), and all arrays of all machines stand one behind the other:
 *
 *     machines   [ a ][ b ]                a.rows_at ---+        b.rows_at ---+
 *     rows       [ rows of a ................................ ][ rows of b ........ ]
 *
 * A row has a line for every code that an entry can name, used or not, so an index taken from an entry needs no
 * check; then lines for absent and unsure.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/key.h"
#include "packet/queue.h"

/* ------------------------------------------------------------ a half's arrays */

static const uint32_t elements[INK_KERNEL_PARTS] = {
	[INK_PART_MACHINES] = sizeof(struct ink_kernel_machine),
	[INK_PART_NODES] = sizeof(struct ink_kernel_node),
	[INK_PART_RANGES] = sizeof(struct ink_kernel_range),
	[INK_PART_PREFIXES] = sizeof(struct ink_kernel_prefix),
	[INK_PART_PORTS] = sizeof(struct ink_kernel_ports),
	[INK_PART_BYTES] = sizeof(struct ink_kernel_bytes),
	[INK_PART_AGAINSTS] = sizeof(struct ink_kernel_against),
	[INK_PART_EVENTS] = sizeof(struct ink_kernel_event),
	[INK_PART_COMPILED] = sizeof(struct ink_kernel_compiled),
	[INK_PART_STATES] = sizeof(struct ink_kernel_state),
	[INK_PART_ROWS] = sizeof(struct ink_kernel_row),
	[INK_PART_ACTIONS] = sizeof(struct ink_kernel_action),
	[INK_PART_COUNTINGS] = sizeof(struct ink_kernel_counting),
	[INK_PART_TELLS] = sizeof(struct ink_kernel_tell),
	[INK_PART_LIMITS] = sizeof(struct ink_kernel_limit),
	[INK_PART_BUCKETS] = sizeof(struct ink_kernel_bucket),
	[INK_PART_TEXT] = sizeof(struct ink_kernel_text),
};

void ink_kernel_half_init(struct ink_kernel_half *half, const uint32_t base[INK_KERNEL_PARTS])
{
	memset(half, 0, sizeof *half);
	for (unsigned i = 0; i < INK_KERNEL_PARTS; i++) {
		half->part[i].element = elements[i];
		half->part[i].base = base ? base[i] : 0;
	}
}

void ink_kernel_half_free(struct ink_kernel_half *half)
{
	for (unsigned i = 0; i < INK_KERNEL_PARTS; i++)
		free(half->part[i].at);
	memset(half, 0, sizeof *half);
}

static int grow(struct ink_kernel_array *a, uint32_t n)
{
	uint32_t room = a->room ? a->room : 64;
	unsigned char *at;

	while (room - a->n < n)
		room *= 2;
	if (room == a->room)
		return 0;
	at = realloc(a->at, (size_t)room * a->element);
	if (!at)
		return -ENOMEM;
	a->at = at;
	a->room = room;
	return 0;
}

void *ink_kernel_append(struct ink_kernel_half *half, enum ink_kernel_part part, uint32_t n, uint32_t *index)
{
	struct ink_kernel_array *a = &half->part[part];
	unsigned char *at;

	if (grow(a, n))
		return NULL;
	at = a->at + (size_t)a->n * a->element;
	memset(at, 0, (size_t)n * a->element);
	*index = a->base + a->n;
	a->n += n;
	return at;
}

/* ------------------------------------------------------------------ events */

static int put_events(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	const struct ink_machine *m = c->m;
	struct ink_kernel_event *e =
		ink_kernel_append(c->half, INK_PART_EVENTS, m->n_events, &out->events_at);

	if (!e)
		return -ENOMEM;
	out->deaf = 1;
	for (unsigned i = 0; i < m->n_events; i++) {
		e[i] = (struct ink_kernel_event){.base = m->event_base[i],
						 .sides = m->event_sides[i],
						 .reverse = m->events[i].reverse != 0};
		out->deaf &= m->view.event_told[i] != 0;
	}
	return 0;
}

static int put_compiled(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	const struct ink_machine_view *v = &c->m->view;
	struct ink_kernel_compiled *e =
		ink_kernel_append(c->half, INK_PART_COMPILED, v->rules->events, &out->compiled_at);

	if (!e)
		return -ENOMEM;
	for (unsigned i = 0; i < v->rules->events; i++)
		e[i].start = v->rules->starts[i];
	return 0;
}

/* ------------------------------------------------------------------ states */

static int16_t code_of(const struct ink_kernel_compiling *c, int state)
{
	return state < 0 ? (int16_t)state : (int16_t)c->numbers->code_of[state];
}

static struct ink_kernel_state state_of(const struct ink_kernel_compiling *c, unsigned state)
{
	const struct ink_rules *r = c->m->view.rules;
	const struct ink_timing *t = &r->timings[state];

	return (struct ink_kernel_state){
		.period = t->period,
		.timeout = code_of(c, t->timeout),
		.on_timeout = c->m->view.on_timeout[state],
		.expendable = t->expendable,
		.window = state < r->states && r->windows ? r->windows[state] : 0,
		.tail = state < r->states ? c->m->tail_of[state] : 0,
	};
}

/* A state that the machine no longer has ends as late as a flow whose state is not known. */
static struct ink_kernel_state state_gone(const struct ink_kernel_compiling *c)
{
	const struct ink_rules *r = c->m->view.rules;

	return (struct ink_kernel_state){
		.period = r->timings[r->states].period, .timeout = INK_ABSENT, .expendable = 1};
}

static int put_states(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	unsigned states = c->m->view.rules->states;
	struct ink_kernel_state *s =
		ink_kernel_append(c->half, INK_PART_STATES, c->codes + 1, &out->states_at);

	if (!s)
		return -ENOMEM;
	for (unsigned code = 0; code < c->codes; code++)
		s[code] = state_gone(c);
	for (unsigned i = 0; i < states; i++)
		s[c->numbers->code_of[i]] = state_of(c, i);
	s[c->codes] = state_of(c, states);
	return 0;
}

/* -------------------------------------------------------------------- rows */

static void put_line(const struct ink_kernel_compiling *c, const struct ink_row *from,
		     struct ink_kernel_row *to)
{
	for (unsigned e = 0; e < c->m->view.rules->events; e++)
		to[e] = (struct ink_kernel_row){code_of(c, from[e].next), from[e].action};
}

static int put_rows(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	const struct ink_rules *r = c->m->view.rules;
	size_t events = r->events;
	struct ink_kernel_row *rows =
		ink_kernel_append(c->half, INK_PART_ROWS, (uint32_t)((c->codes + 2) * events), &out->rows_at);

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < (c->codes + 2) * events; i++)
		rows[i].next = INK_NO_ROW;
	for (unsigned i = 0; i < r->states; i++)
		put_line(c, r->rows + i * events, rows + c->numbers->code_of[i] * events);
	put_line(c, r->rows + r->states * events, rows + c->codes * events);
	put_line(c, r->rows + (r->states + 1) * events, rows + (c->codes + 1) * events);
	return 0;
}

/* ----------------------------------------------------------------- actions */

static int put_countings(const struct ink_kernel_compiling *c, const struct ink_action *a,
			 struct ink_kernel_action *to)
{
	struct ink_kernel_counting *n =
		ink_kernel_append(c->half, INK_PART_COUNTINGS, a->n_countings, &to->countings_at);

	for (unsigned i = 0; n && i < a->n_countings; i++) {
		const struct ink_counting *from = &a->countings[i];

		n[i] = (struct ink_kernel_counting){.counter = c->number * INK_KERNEL_COUNTERS +
							       c->numbers->slot_of[from->counter],
						    .weighed = c->m->view.counter_global[from->counter] != 0,
						    .amount = (uint16_t)from->amount,
						    .number = from->number};
	}
	to->countings = (uint16_t)a->n_countings;
	return n ? 0 : -ENOMEM;
}

static int put_tells(const struct ink_kernel_compiling *c, const struct ink_action_more *a,
		     struct ink_kernel_action *to)
{
	struct ink_kernel_tell *t = ink_kernel_append(c->half, INK_PART_TELLS, a->n_tells, &to->tells_at);

	for (unsigned i = 0; t && i < a->n_tells; i++)
		t[i] = (struct ink_kernel_tell){(uint16_t)a->tells[i].machine, (uint16_t)a->tells[i].event,
						a->tells[i].reversed != 0};
	to->tells = (uint16_t)a->n_tells;
	return t ? 0 : -ENOMEM;
}

/* Buckets begin full: nothing waits in them. */
static int put_limits(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	const struct ink_machine_view *v = &c->m->view;
	struct ink_kernel_limit *to = ink_kernel_append(c->half, INK_PART_LIMITS, v->limits, &out->limits_at);
	int error = to ? 0 : -ENOMEM;

	for (unsigned i = 0; i < v->limits && !error; i++) {
		const struct ink_limit *l = &v->limit[i];

		to[i] = (struct ink_kernel_limit){.pace = ink_pace(l->rate),
						  .burst = ink_bucket_burst(l->rate, l->burst),
						  .each_flow = l->each_flow != 0};
		if (!ink_kernel_append(c->half, INK_PART_BUCKETS, l->each_flow ? INK_FLOW_BUCKETS : 1,
				       &to[i].buckets_at))
			error = -ENOMEM;
	}
	out->limits = v->limits;
	return error;
}

static int counts_pictures(const struct ink_action *a)
{
	for (unsigned i = 0; i < a->n_countings; i++)
		if (a->countings[i].amount >= INK_AMOUNT_PICTURES_I)
			return 1;
	return 0;
}

static int put_actions(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out)
{
	const struct ink_machine_view *v = &c->m->view;
	struct ink_kernel_action *to =
		ink_kernel_append(c->half, INK_PART_ACTIONS, v->actions, &out->actions_at);
	int error = to ? 0 : -ENOMEM;

	for (unsigned i = 0; i < v->actions && !error; i++) {
		const struct ink_action *a = &v->action[i];
		const struct ink_action_more *more = &v->action_more[i];

		to[i] = (struct ink_kernel_action){.mark = a->mark,
						   .verdict = (uint8_t)a->verdict,
						   .marks = a->marks,
						   .saves = a->saves,
						   .reports = a->report != NULL,
						   .priority = more->priority,
						   .prioritizes = (uint8_t)more->prioritizes,
						   .limit = out->limits_at + more->limit - (more->limit > 0),
						   .limited = more->limit > 0};
		error = put_countings(c, a, &to[i]);
		if (!error)
			error = put_tells(c, more, &to[i]);
		out->payload |= (uint32_t)counts_pictures(a);
	}
	out->actions = v->actions;
	return error;
}

/* ------------------------------------------------------------- the machine */

int ink_kernel_compile(const struct ink_kernel_compiling *c)
{
	const struct ink_machine_view *v = &c->m->view;
	struct ink_kernel_machine out = {.events = v->rules->events,
					 .written = c->m->n_events,
					 .tails = c->m->tails,
					 .tick = v->tick,
					 .payload = c->m->tails > 1};
	struct ink_key_rule room;
	struct ink_kernel_machine *to;
	uint32_t index;
	int error;

	out.key = *ink_key_rule_of(v->key_def, &room);
	if ((error = ink_kernel_decide(c, &out)) || (error = put_events(c, &out)) ||
	    (error = put_compiled(c, &out)) || (error = put_states(c, &out)) || (error = put_rows(c, &out)) ||
	    (error = put_limits(c, &out)) || (error = put_actions(c, &out)))
		return error;
	to = ink_kernel_append(c->half, INK_PART_MACHINES, 1, &index);
	if (!to)
		return -ENOMEM;
	*to = out;
	return 0;
}
