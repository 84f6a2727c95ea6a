/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command of time T leads the table to tick T / tick. Ticks at which no time-out
 * can fire cost nothing. Those that sweep the cells are charged to the command's
 * budget; if it does not last, the table stays at an earlier tick, and the next
 * command goes on. A table that is larger than a whole budget ticks in portions.
 */
#include "redis/clock.h"

static uint64_t tick_of(const struct ink_value *v)
{
	return v->time / v->shape.tick;
}

int clock_lags(const struct ink_value *v)
{
	return ink_now(v->table) != tick_of(v);
}

/* Some look at an entry is between two ticks: docs/semantics.md, "Time". */
static int looks_between(const struct ink_value *v, uint64_t from, uint64_t to)
{
	struct ink_rules rules = {.size = sizeof rules};

	if (v->flagged || value_can(v, INK_CAN_BE_EXACT) || ink_rules(v->table, &rules) != 0)
		return 1;
	for (unsigned i = 0; i <= rules.states; i++) {
		uint64_t period = rules.timings[i].period;
		uint64_t every = v->age_bits == 2 ? (period + 2) / 3 : period;

		if (period && from / every != to / every)
			return 1;
	}
	return 0;
}

/* What time-outs count. */
static void count_expired(struct ink_value *v, const struct ink_counts *expired)
{
	const struct ink_machine_view *view = v->machine ? v->machine->view : NULL;
	unsigned states = view ? view->rules->states : 0;

	v->count[COUNT_EXPIRED] += expired->total;
	for (unsigned i = 0; view && i <= states; i++) {
		uint64_t flows = i == states ? expired->unsure : expired->state[i];
		const struct ink_action *a = &view->action[view->on_timeout[i]];

		for (unsigned j = 0; flows && j < a->n_countings; j++)
			v->counters[a->countings[j].counter] += flows * a->countings[j].number;
	}
}

static void note(struct ink_value *v, const struct ink_counts *expired, struct budget *b)
{
	if (!expired->total)
		return;
	b->expired += expired->total;
	count_expired(v, expired);
}

static void tick_at_once(struct ink_value *v, uint64_t to, uint64_t cost, struct budget *b)
{
	struct ink_counts expired;

	if (cost > b->cells) {
		b->cells = 0;
		return;
	}
	b->cells -= cost;
	if (ink_tick(v->table, to, &expired) == 0) {
		v->flagged = 0;
		note(v, &expired, b);
	}
}

static void tick_in_portions(struct ink_value *v, uint64_t to, struct budget *b)
{
	struct ink_counts expired;
	int more;

	if (!b->cells)
		return;
	more = ink_tick_portion(v->table, to, b->cells, &expired);
	b->cells = 0;
	if (more >= 0)
		note(v, &expired, b);
	if (!more)
		v->flagged = 0;
}

/*
 * A table that was loaded does not know whether overflow flags are set in it, and sweeps once for them. In portions
 * it would lag where its master does not; so a tick without looks is at once, which ends alike.
 */
void clock_pass(struct ink_value *v, uint64_t time, struct budget *b)
{
	uint64_t cost;

	if (time > v->time)
		v->time = time;
	if (time > v->newest)
		v->newest = time;
	if (!clock_lags(v))
		return;
	cost = looks_between(v, ink_now(v->table), tick_of(v)) ? value_cells(v) : 0;
	if (cost > SWEEP_CELLS)
		tick_in_portions(v, tick_of(v), b);
	else
		tick_at_once(v, tick_of(v), cost, b);
}
