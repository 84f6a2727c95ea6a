/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the written machine to rules: plain tables that a state table can use.
 *
 * number.c splits states and events and numbers them. Then every field of the table
 * (states + absent + unsure) x events is filled with the first written row that fits.
 * The rows of a state are indexed once, by event and end, so a field costs a few
 * lookups whatever their number.
 */
#include <errno.h>
#include <string.h>

#include "machine/tree.h"

#define TICK_LEAST 100000000ull  /* 100 ms */
#define TICK_USUAL 1000000000ull /* 1 s, without time-outs */

/*
 * Ticks in the greatest common divisor of the time-outs. A table knows the last touch
 * of a flow only in whole ticks; with one tick to a time-out, that could be off by the
 * whole time-out. The approximate tables look at a state only once or thrice in its
 * period, so more ticks cost them nothing. With 32, two age bits are at most 1.375 times
 * as late as written (ink_expiry).
 */
enum { TICKS_MOST = 32 };

/* ------------------------------------------------------------------- actions */

static int does_something(const struct ink_deed *d)
{
	const struct ink_action *a = &d->action;

	return a->report || a->n_countings || a->verdict || a->marks || a->saves ||
	       (d->more && (d->more->out.n_tells || d->more->out.prioritizes || d->more->out.limit));
}

/* Both are NULL while they are counted. */
struct actions {
	struct ink_action *action;
	struct ink_action_more *more;
	unsigned n;
};

/* One number for each row with an action; a row of several states has one number, or two if it leaves a repetition. */
static void number_actions_of(const struct ink_machine *m, const struct ink_state *s, struct actions *all)
{
	for (unsigned i = 0; i < s->n_own; i++) {
		struct ink_deed *d = ink_row_does(m, s, s->rows[i]);

		if (d->number || !does_something(d))
			continue;
		if (all->action) {
			all->action[all->n] = d->action;
			if (d->more)
				all->more[all->n] = d->more->out;
			d->number = all->n;
		}
		all->n++;
	}
}

static unsigned number_actions(const struct ink_machine *m, struct actions *all)
{
	all->n = 1;
	number_actions_of(m, &m->absent, all);
	number_actions_of(m, &m->unsure, all);
	number_actions_of(m, &m->star, all);
	for (unsigned i = 0; i < m->n_states; i++)
		number_actions_of(m, &m->states[i], all);
	return all->n;
}

/* The first pass gives an upper bound: it counts a row of several states once for each of them. */
static int make_actions(struct ink_machine *m, struct ink_text *text)
{
	struct actions all = {0};
	unsigned n = number_actions(m, &all);

	if (n > UINT16_MAX) {
		ink_text_error(text, ink_machine_at(m), "more than %d rows with actions", UINT16_MAX);
		return -EINVAL;
	}
	all.action = ink_arena_get(m->arena, n * sizeof *all.action);
	all.more = ink_arena_get(m->arena, n * sizeof *all.more);
	if (!all.action || !all.more)
		return -ENOMEM;
	m->view.actions = number_actions(m, &all);
	m->view.action = all.action;
	m->view.action_more = all.more;
	return 0;
}

/* ------------------------------------------------------------------ the rows */

static int side_fits(enum ink_from from, unsigned side, unsigned initiator)
{
	switch (from) {
	case INK_FROM_INITIATOR:
		return side == initiator;
	case INK_FROM_RESPONDER:
		return side != initiator;
	case INK_FROM_LOW:
		return side == 0;
	case INK_FROM_THE_HIGH:
		return side == 1;
	default:
		return 1;
	}
}

/* The parts of a compiled event. */
struct happening {
	unsigned event, side, tail;
};

/*
 * The rows of one state: for each end that a trigger may name, the first row for any event, and for each event
 * the first row for it.
 */
enum { FROMS = INK_FROM_THE_HIGH + 1, NO_ROW = -1 };

struct row_index {
	int32_t any[FROMS];
	int32_t (*of)[FROMS];
};

static void index_row(struct row_index *x, const struct ink_written_row *row, int32_t i)
{
	for (unsigned j = 0; j < row->n_triggers; j++) {
		const struct ink_trigger *t = &row->triggers[j];
		int32_t *first = t->kind == INK_ON_ANY     ? &x->any[t->from]
				 : t->kind == INK_ON_EVENT ? &x->of[t->event][t->from]
							   : NULL;

		if (first && *first == NO_ROW)
			*first = i;
	}
}

static void index_rows(struct row_index *x, const struct ink_machine *m, const struct ink_state *s)
{
	memset(x->any, 0xff, sizeof x->any);
	memset(x->of, 0xff, m->n_events * sizeof *x->of);
	for (unsigned i = 0; i < s->n_rows; i++)
		index_row(x, s->rows[i], (int32_t)i);
}

/* The earlier of two rows. NO_ROW is the latest of all as an unsigned number. */
static int32_t earlier(int32_t a, int32_t b)
{
	return (uint32_t)a < (uint32_t)b ? a : b;
}

/* The first row that fits, or NULL. */
static struct ink_written_row *row_for(const struct row_index *x, const struct ink_state *s,
				       const struct happening *h, unsigned initiator)
{
	int32_t first = NO_ROW;

	for (unsigned from = 0; from < FROMS; from++)
		if (side_fits((enum ink_from)from, h->side, initiator))
			first = earlier(first, earlier(x->any[from], x->of[h->event][from]));
	if (first == NO_ROW)
		return NULL;
	s->taken[first] = 1;
	s->rows[first]->taken = 1;
	return s->rows[first];
}

/* The number of what a row does in state s; 0: nothing, or there is no row. */
static uint16_t action_of(const struct ink_machine *m, const struct ink_state *s, struct ink_written_row *row)
{
	return row ? (uint16_t)ink_row_does(m, s, row)->number : 0;
}

/* The compiled row for a flow in state s with memory k, if `row` (or none) serves the event. */
static struct ink_row compiled_row(const struct ink_machine *m, const struct ink_state *s,
				   const struct happening *h, struct ink_memory k,
				   struct ink_written_row *row)
{
	struct ink_row r = {.next = INK_NO_ROW, .action = action_of(m, s, row)};
	unsigned to = row ? ink_row_leads(m, s, row) : INK_NOWHERE;

	k.tail = h->tail;
	if (row && (s == &m->absent || row->new_initiator))
		k.initiator = h->side;
	if (s == &m->unsure || (!row && (s == &m->absent || !s->tails || m->events[h->event].start)))
		return r;
	if (!row)
		to = (unsigned)(s - m->states);
	r.next = to == INK_NOWHERE ? INK_ABSENT : (int16_t)ink_code_of(&m->states[to], k);
	return r;
}

static void fill_line(const struct ink_machine *m, const struct ink_state *s, const struct row_index *x,
		      struct ink_memory k, struct ink_row *line)
{
	for (unsigned e = 0; e < m->n_events; e++)
		for (unsigned side = 0; side < m->event_sides[e]; side++)
			for (unsigned tail = 0; tail < m->tails; tail++) {
				struct happening h = {e, side, tail};

				line[m->event_base[e] + side * m->tails + tail] =
					compiled_row(m, s, &h, k, row_for(x, s, &h, k.initiator));
			}
}

/* The lines of all copies of a state, from `first` on. */
static void fill_lines(const struct ink_machine *m, const struct ink_state *s, struct row_index *x,
		       struct ink_row *first)
{
	index_rows(x, m, s);
	for (unsigned c = 0; c < ink_copies_of(s); c++) {
		struct ink_memory k = {c / ink_tails_of(s), c % ink_tails_of(s)};

		fill_line(m, s, x, k, first + (size_t)c * m->rules.events);
	}
}

static int make_rows(struct ink_machine *m)
{
	struct ink_rules *r = &m->rules;
	struct ink_row *rows = ink_arena_get(m->arena, (size_t)(r->states + 2) * r->events * sizeof *rows);
	struct row_index x;

	x.of = ink_arena_get(m->arena, m->n_events * sizeof *x.of);
	if (!rows || !x.of)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n_states; i++)
		fill_lines(m, &m->states[i], &x, rows + (size_t)m->states[i].base * r->events);
	fill_lines(m, &m->absent, &x, rows + (size_t)r->states * r->events);
	fill_lines(m, &m->unsure, &x, rows + (size_t)(r->states + 1) * r->events);
	r->rows = rows;
	return 0;
}

static int make_starts(struct ink_machine *m)
{
	uint8_t *starts = ink_arena_get(m->arena, m->rules.events);

	if (!starts)
		return -ENOMEM;
	for (unsigned i = 0; i < m->rules.events; i++)
		starts[i] = (uint8_t)m->events[m->view.event_of[i]].start;
	m->rules.starts = starts;
	return 0;
}

/* ---------------------------------------------------------------------- time */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void find_tick(struct ink_machine *m)
{
	uint64_t tick = m->unsure.time;

	for (unsigned i = 0; i < m->n_states; i++)
		tick = gcd(tick, m->states[i].time);
	m->view.timeouts = tick != 0;
	for (unsigned n = 1; n < TICKS_MOST && tick / 2 >= TICK_LEAST; n *= 2)
		tick /= 2;
	m->view.tick = !tick ? TICK_USUAL : tick < TICK_LEAST ? TICK_LEAST : tick;
}

/* One tick more: the tick of the last touch began before that touch, and no flow may expire early. */
static uint32_t ticks(const struct ink_machine *m, uint64_t time)
{
	return time ? (uint32_t)((time + m->view.tick - 1) / m->view.tick) + 1 : 0;
}

/* The rows for a time-out and an end also count as taken. */
static void mark_taken(const struct ink_state *s)
{
	for (unsigned i = 0; i < s->n_rows; i++)
		if (s->rows[i] == s->on_timeout || s->rows[i] == s->on_end) {
			s->taken[i] = 1;
			s->rows[i]->taken = 1;
		}
}

static void time_state(const struct ink_machine *m, const struct ink_state *s, struct ink_timing *timings)
{
	const struct ink_written_row *row = s->on_timeout;
	unsigned to = row ? ink_row_leads(m, s, row) : INK_NOWHERE;

	for (unsigned c = 0; c < ink_copies_of(s); c++) {
		struct ink_memory k = {c / ink_tails_of(s), c % ink_tails_of(s)};

		timings[s->base + c] = (struct ink_timing){
			.period = row ? ticks(m, s->time) : 0,
			.timeout = to == INK_NOWHERE ? INK_ABSENT : (int16_t)ink_code_of(&m->states[to], k),
			.expendable = (uint8_t)s->expendable};
	}
}

/* A don't-know ends when every flow that it could stand for has ended: after the longest time-out, unless one is given. */
static struct ink_timing time_of_unsure(const struct ink_machine *m, const struct ink_timing *timings)
{
	struct ink_timing t = {.period = ticks(m, m->unsure.time), .timeout = INK_ABSENT};

	for (unsigned i = 0; i < m->rules.states && !m->unsure.time; i++)
		t.period = timings[i].period > t.period ? timings[i].period : t.period;
	return t;
}

/* The states that share the row of a window are its group: the number of the first of them, from 1. */
static unsigned window_of(const struct ink_machine *m, const struct ink_state *s)
{
	unsigned first = 0;

	while (m->states[first].on_timeout != s->on_timeout)
		first++;
	return s->window ? first + 1 : 0;
}

/* None, if no state has a window. */
static int make_windows(struct ink_machine *m)
{
	uint8_t *windows = ink_arena_get(m->arena, m->rules.states);

	if (!windows)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n_states; i++) {
		const struct ink_state *s = &m->states[i];

		memset(windows + s->base, (int)window_of(m, s), ink_copies_of(s));
		if (s->window)
			m->rules.windows = windows;
	}
	return 0;
}

static int make_timings(struct ink_machine *m)
{
	unsigned states = m->rules.states;
	struct ink_timing *timings = ink_arena_get(m->arena, (states + 1) * sizeof *timings);

	if (!timings)
		return -ENOMEM;
	find_tick(m);
	for (unsigned i = 0; i < m->n_states; i++) {
		time_state(m, &m->states[i], timings);
		mark_taken(&m->states[i]);
	}
	timings[states] = time_of_unsure(m, timings);
	mark_taken(&m->unsure);
	m->rules.timings = timings;
	return make_windows(m);
}

static uint16_t *actions_on(struct ink_machine *m, enum ink_trigger_kind kind)
{
	unsigned states = m->rules.states;
	uint16_t *on = ink_arena_get(m->arena, (states + 1) * sizeof *on);

	for (unsigned i = 0; on && i <= states; i++) {
		const struct ink_state *s = i < states ? &m->states[m->view.state_of[i]] : &m->unsure;

		on[i] = action_of(m, s, kind == INK_ON_TIMEOUT ? s->on_timeout : s->on_end);
	}
	return on;
}

/* --------------------------------------------------------------------- names */

/* Those of earlier machines of the file, and its own. */
static int make_params(struct ink_machine *m)
{
	struct ink_setting *params = ink_arena_get(m->arena, (m->unit->n_params + 1) * sizeof *params);
	unsigned n = 0;

	for (unsigned i = 0; params && i <= m->number; i++) {
		const struct ink_machine *of = m->unit->machines[i];

		for (unsigned j = 0; j < of->n_params; j++)
			params[n++] = (struct ink_setting){of->params[j].name, of->params[j].value};
	}
	m->view.params = n;
	m->view.param = params;
	return params ? 0 : -ENOMEM;
}

static int make_names(struct ink_machine *m)
{
	const char **states = ink_arena_get(m->arena, m->n_states * sizeof *states);
	const char **events = ink_arena_get(m->arena, m->n_events * sizeof *events);
	const char **counters = ink_arena_get(m->arena, (m->n_counters + 1) * sizeof *counters);

	if (!states || !events || !counters)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n_states; i++)
		states[i] = m->states[i].name;
	for (unsigned i = 0; i < m->n_events; i++)
		events[i] = m->events[i].name;
	for (unsigned i = 0; i < m->n_counters; i++)
		counters[i] = m->counters[i].name->text;
	m->view.name = m->name;
	m->view.key = (enum ink_key)m->key.kind;
	m->view.key_def = &m->key;
	m->view.key_text = m->key_text;
	m->view.states = m->n_states;
	m->view.state_names = states;
	m->view.events = m->n_events;
	m->view.event_names = events;
	m->view.counters = m->n_counters;
	m->view.counter_names = counters;
	return make_params(m);
}

/* Times of written states, which events are only told, and which counters are compared. */
static int make_lists(struct ink_machine *m)
{
	struct ink_written_time *times = ink_arena_get(m->arena, (m->n_states + 1) * sizeof *times);
	uint8_t *told = ink_arena_get(m->arena, m->n_events + 1);
	uint8_t *global = ink_arena_get(m->arena, m->n_counters + 1);

	if (!times || !told || !global)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n_tests; i++)
		if (m->tests[i].field == INK_FIELD_COUNTER) {
			global[m->tests[i].against.counter] = 1;
			if (m->tests[i].against.other_name)
				global[m->tests[i].against.other] = 1;
		}
	m->view.counter_global = global;
	for (unsigned i = 0; i < m->n_states; i++)
		*(m->states[i].window ? &times[i].window : &times[i].timeout) = m->states[i].time;
	for (unsigned i = 0; i < m->n_events; i++)
		told[i] = (uint8_t)m->events[i].told;
	m->view.state_time = times;
	m->view.event_told = told;
	return 0;
}

/* What tells this machine from others, and from itself with other settings. */
static int make_origin(struct ink_machine *m, const struct ink_text *text)
{
	uint32_t h = ink_fnv(INK_FNV, text->bytes, text->length);

	for (unsigned i = 0; i < m->view.params; i++) {
		h = ink_fnv(h, m->view.param[i].name, strlen(m->view.param[i].name));
		h = ink_fnv(h, "=", 1);
		h = ink_fnv(h, m->view.param[i].value, strlen(m->view.param[i].value) + 1);
	}
	m->view.hash = ink_fnv(h, m->name, strlen(m->name));
	m->view.file = ink_arena_string(m->arena, text->file, strlen(text->file));
	return m->view.file ? 0 : -ENOMEM;
}

static int weighs(const struct ink_machine *m)
{
	for (unsigned i = 0; i < m->n_tests; i++)
		if (m->tests[i].field == INK_FIELD_COUNTER)
			return 1;
	return 0;
}

const char *ink_asks_queue(const struct ink_machine *m)
{
	for (unsigned i = 0; i < m->n_tests; i++)
		if (m->tests[i].field >= INK_FIELD_QUEUE_PACKETS && m->tests[i].field <= INK_FIELD_QUEUE_TIME)
			return m->tests[i].place;
	return NULL;
}

int ink_compile(struct ink_machine *m, struct ink_text *text)
{
	int error;

	m->rules.size = sizeof m->rules;
	m->view.rules = &m->rules;
	if ((error = make_names(m)) || (error = ink_number(m, text)) || (error = make_actions(m, text)) ||
	    (error = make_rows(m)) || (error = make_starts(m)) || (error = make_timings(m)) ||
	    (error = make_lists(m)) || (error = make_origin(m, text)))
		return error;
	m->view.on_timeout = actions_on(m, INK_ON_TIMEOUT);
	m->view.on_end = actions_on(m, INK_ON_END);
	m->view.weighs = weighs(m);
	m->view.queue_at = ink_asks_queue(m);
	m->view.queues = m->view.queue_at != NULL;
	m->view.limit = m->limits;
	m->view.limits = m->n_limits;
	m->one_by_one = m->view.weighs || m->view.queues || m->tails > 1;
	return m->view.on_timeout && m->view.on_end ? 0 : -ENOMEM;
}
