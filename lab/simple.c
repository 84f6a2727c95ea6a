/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A player applies the stream of packets to a table: it makes the calls that the interpretation requires,
 * records the answers beside the truth, and judges every flow at its last packet.
 */
#include "lab/simple.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab/structure.h"
#include "table/table.h"

/* State s of the machine is s-1 in the table. Events: the triggers by their number, and these. */
enum { STATES = 10, END = 0, BEGIN = STATES, EVENTS };

/* What is noted about a flow until its end. */
enum { IN_DOUBT = 1, COMPLETE = 2 };

struct player {
	struct ink_table *table;
	struct simple_table made_as;
	struct simple_result *result;
	enum reading reading;
	uint8_t *notes; /* by slot; the last is for strangers */
	uint64_t ticks, things, slow, slow_sum;
};

/* ------------------------------------------------------------------- the rules */

struct machine {
	struct ink_row rows[(STATES + 2) * EVENTS];
	uint8_t starts[EVENTS];
	struct ink_rules rules;
};

static struct ink_row *row(struct machine *m, unsigned state, unsigned event)
{
	return &m->rows[state * EVENTS + event];
}

static void make_rules(struct machine *m, enum reading reading)
{
	*m = (struct machine){.rules = {.size = sizeof m->rules, .states = STATES, .events = EVENTS}};
	m->rules.rows = m->rows;
	m->rules.starts = m->starts;
	for (size_t i = 0; i < sizeof m->rows / sizeof *m->rows; i++)
		m->rows[i].next = INK_NO_ROW;
	for (unsigned state = 0; state < STATES; state++)
		row(m, state, END)->next = INK_ABSENT;
	for (unsigned trigger = 1; trigger < STATES; trigger++)
		row(m, trigger - 1, trigger)->next = (int16_t)trigger;
	if (reading != READING_PROPER)
		row(m, STATES, 1)->next = 1;
	if (reading != READING_B)
		row(m, STATES, BEGIN)->next = 0;
	m->starts[reading == READING_B ? 1 : BEGIN] = 1;
}

/* ------------------------------------------------------------------ the kinds */

static double bits_of_side(const struct ink_plan *p)
{
	return 8 * (double)ink_side_bytes(ink_side_form(p));
}

static double bits_of_lines(const struct ink_plan *p)
{
	return 512. * p->geometry.b + bits_of_side(p);
}

static double bits_of_slots(const struct ink_plan *p)
{
	return 128. * p->geometry.b;
}

static double bits_of_buckets(const struct ink_plan *p)
{
	const struct ink_geometry *g = &p->geometry;

	return (double)g->d * g->b * g->h * (g->f + p->state_bits + p->age_bits) + bits_of_side(p);
}

static double bits_of_states(const struct ink_plan *p)
{
	return (double)p->geometry.m * (p->state_bits + p->age_bits);
}

static double bits_of_counters(const struct ink_plan *p)
{
	return (double)p->geometry.m * (p->geometry.counter_bits + p->age_bits);
}

static double bits_of_sums(const struct ink_plan *p)
{
	return 16. * p->geometry.m + bits_of_side(p);
}

/* How a kind takes part in the experiment. */
struct part {
	double (*bits)(const struct ink_plan *plan); /* of memory */
	unsigned age_bits;
	uint64_t flows;                          /* to begin with, where the table grows */
	bool is_given_states;                    /* each call names the state */
	bool grouped;                            /* its cells come in groups of k */
	uint32_t dleft_flags[3], bloom_flags[3]; /* by interpretation */
};

enum { COPY = INK_DLEFT_COPY, REINSERT = INK_DLEFT_COPY | INK_DLEFT_REINSERT };

/* `exact` is the truth and gets no timers; `kbf` cannot have any. */
static const struct part parts[] = {
	[INK_LINE] = {bits_of_lines, .age_bits = 1},
	[INK_COMPACT] = {bits_of_lines, .age_bits = 1},
	[INK_DLEFT] =
		{bits_of_buckets, .age_bits = 1,
		 .dleft_flags = {[READING_A] = REINSERT, [READING_B] = COPY, [READING_PROPER] = REINSERT}},
	[INK_EXACT] = {bits_of_slots, .flows = 40000},
	[INK_STATEFUL] = {bits_of_states, .age_bits = 1},
	[INK_DIRECT] = {bits_of_counters, .age_bits = 1, .is_given_states = true,
			.bloom_flags = {[READING_B] = INK_BLOOM_DECREMENT}},
	[INK_KBF] = {bits_of_sums, .grouped = true},
};

static struct ink_geometry geometry_of(const struct simple_table *t, enum reading reading)
{
	struct ink_geometry g = t->geometry;

	if (t->as_given)
		return g;
	g.dleft_flags |= parts[t->kind].dleft_flags[reading];
	g.bloom_flags |= parts[t->kind].bloom_flags[reading];
	return g;
}

static struct ink_options options_of(const struct simple_table *t, enum reading reading)
{
	struct ink_options o = {.size = sizeof o, .kind = t->kind, .states = STATES, .seed = 1};

	if (lab_kind_takes(t->kind, INK_GEOMETRY_K))
		o.error = .999; /* the cells are given, so any error is accepted */
	o.geometry = geometry_of(t, reading);
	o.age_bits = parts[t->kind].age_bits;
	o.flows = parts[t->kind].flows;
	o.full = t->full ? t->full : INK_REFUSE;
	return o;
}

/* ------------------------------------------------------------------- what is noted */

/* An answer to a trigger: the state as the machine has it, 0 for absent, or in doubt. */
static void note_answer(struct player *p, const struct sim_trigger *x, int answer)
{
	struct simple_result *r = p->result;

	*(x->state ? &r->asked : &r->asked_strangers) += 1;
	if (answer == INK_DONT_KNOW) {
		r->in_doubt++;
		p->notes[x->slot] |= IN_DOUBT;
	} else if (!x->state)
		r->stranger_found += answer != 0;
	else if (!answer)
		r->flow_missed++;
	else
		r->wrong_state += answer != x->state;
	if (answer == STATES)
		p->notes[x->slot] |= COMPLETE;
}

/* A flow's last packet: what was it taken for? */
static void judge(struct player *p, const struct sim_trigger *x)
{
	struct simple_result *r = p->result;
	uint8_t notes = p->notes[x->slot];

	p->notes[x->slot] = 0;
	r->flows[x->kind]++;
	if (notes & IN_DOUBT)
		r->dont_know++;
	else if (x->kind == SIM_INTERESTING)
		r->false_negative += !(notes & COMPLETE);
	else
		r->false_positive += (notes & COMPLETE) != 0;
}

/* --------------------------------------------------------------- tables that step */

static int plain_answer(ink_answer a)
{
	return a == INK_DONT_KNOW ? INK_DONT_KNOW : a + 1;
}

static void step(struct player *p, const struct sim_trigger *x)
{
	unsigned event = x->what == SIM_BEGIN ? BEGIN : x->what == SIM_END ? END : x->what;
	struct ink_move m;

	ink_step(p->table, x->id, event, &m);
	if (x->what < SIM_BEGIN)
		note_answer(p, x, plain_answer(m.from));
	if (m.from == STATES - 1 || m.to == STATES - 1)
		p->notes[x->slot] |= COMPLETE;
}

/* ------------------------------------------------------------- tables that need the state */

static void farewell(struct player *p, const struct sim_trigger *x)
{
	switch (p->made_as.farewell) {
	case FAREWELL_GIVEN:
		if (x->state)
			ink_delete_in(p->table, x->id, x->state - 1u);
		break;
	case FAREWELL_ASKED:
		ink_delete(p->table, x->id);
		break;
	case FAREWELL_COMPLETE:
		ink_delete_in(p->table, x->id, STATES - 1);
		break;
	}
}

static void step_in(struct player *p, const struct sim_trigger *x)
{
	unsigned trigger = x->what;

	if (x->what == SIM_BEGIN)
		ink_insert(p->table, x->id, 0);
	else if (x->what == SIM_END) {
		if (ink_lookup_in(p->table, x->id, STATES - 1) >= 0)
			p->notes[x->slot] |= COMPLETE;
		farewell(p, x);
	} else if (trigger == 1 && p->reading == READING_B)
		ink_insert(p->table, x->id, 1);
	else if (ink_modify_from(p->table, x->id, trigger - 1, trigger) == 0) {
		note_answer(p, x, (int)trigger);
		if (trigger == STATES - 1)
			p->notes[x->slot] |= COMPLETE;
	} else /* "not in that state" is wrong only where it is */
		note_answer(p, x, x->state == trigger ? 0 : x->state);
}

/* -------------------------------------------------------------------- the slow path */

/* A flow in doubt stays on the slow path until its end; the table is no longer queried for it. */
static bool is_slow(const struct player *p, const struct sim_trigger *x)
{
	return p->made_as.slow_path && (p->notes[x->slot] & IN_DOUBT) && x->what != SIM_END;
}

static void count_slow(struct player *p, const struct sim_trigger *x, uint8_t before)
{
	bool was = before & IN_DOUBT, is = p->notes[x->slot] & IN_DOUBT;

	p->slow += (uint64_t)(is && !was) - (uint64_t)(was && !is);
	if (!p->ticks)
		return;
	p->things++;
	p->slow_sum += p->slow;
	if ((double)p->slow > p->result->slow_most)
		p->result->slow_most = (double)p->slow;
}

/* ---------------------------------------------------------------------- the stream */

/* A stranger has no end at which it could be judged. */
static void play_one(struct player *p, const struct sim_trigger *x)
{
	uint8_t before = p->notes[x->slot];

	if (x->what == SIM_TICK) {
		ink_tick(p->table, ++p->ticks, NULL);
		return;
	}
	if (x->what == SIM_BEGIN)
		p->notes[x->slot] = 0; /* the flow before may have ended silently */
	if (parts[p->made_as.kind].is_given_states)
		step_in(p, x);
	else if (x->kind == SIM_RANDOM) {
		if (ink_peek(p->table, x->id) == STATES - 1)
			p->notes[x->slot] |= COMPLETE;
	} else if (!is_slow(p, x))
		step(p, x);
	if (x->what == SIM_END)
		judge(p, x);
	if (p->made_as.slow_path)
		count_slow(p, x, before);
}

static double thread_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void play(struct player *p, const struct sim_trigger *things, size_t count)
{
	double begin = thread_seconds();

	for (size_t i = 0; i < count; i++)
		play_one(p, &things[i]);
	p->result->seconds += thread_seconds() - begin;
}

/* ------------------------------------------------------------------------- sizes */

uint32_t simple_divisor(const struct lab *lab)
{
	return lab->size == LAB_QUICK ? 8 : 1;
}

/* Rounded down, but at least one of what there is. */
static uint32_t part_of(uint32_t whole, uint32_t divisor)
{
	if (whole == INK_NO_SIDE || whole < divisor)
		return whole == INK_NO_SIDE ? whole : whole > 0;
	return whole / divisor;
}

static struct simple_table table_part(const struct simple_run *run, size_t i)
{
	struct simple_table t = run->tables[i];
	uint32_t group = parts[t.kind].grouped ? t.geometry.k : 1;

	t.geometry.b = part_of(t.geometry.b, run->divisor);
	t.geometry.m = part_of(t.geometry.m / group, run->divisor) * group;
	t.geometry.side = part_of(t.geometry.side, run->divisor);
	return t;
}

static struct sim_triggers_options traffic_part(const struct simple_run *run)
{
	struct sim_triggers_options o = run->traffic;

	o.flows = (o.flows ? o.flows : 1000000) / run->divisor;
	o.active = (o.active ? o.active : 60000) / run->divisor;
	o.period = (o.period ? o.period : 6000000) / run->divisor;
	o.starts_by_trigger = run->reading == READING_B;
	return o;
}

/* ------------------------------------------------------------------ begin and end */

static int player_open(struct lab *lab, const struct simple_run *run, struct player *p, struct machine *rules)
{
	struct ink_options o = options_of(&p->made_as, run->reading);
	struct ink_plan plan = {.size = sizeof plan};
	struct ink_why why;

	o.rules = &rules->rules;
	p->reading = run->reading;
	p->notes = lab_alloc(run->traffic.active + 1, 1);
	p->table = ink_create(&o, &why);
	if (!p->table)
		return lab_fail(lab, -errno, "simple machine: %s", why.text);
	ink_plan(&o, &plan, NULL);
	*p->result = (struct simple_result){.bits = parts[plan.kind].bits(&plan)};
	return 0;
}

static void player_close(struct player *p)
{
	struct ink_stats s = {.size = sizeof s};

	if (p->table) {
		ink_stats(p->table, &s);
		p->result->refused = (double)s.refused;
		p->result->slow_mean = p->things ? (double)p->slow_sum / (double)p->things : 0;
	}
	ink_free(p->table);
	free(p->notes);
}

enum { BLOCK = 4096 }; /* things for one table at a time, so that it stays in the cache */

static int play_all(struct lab *lab, const struct simple_run *run, struct player *players, double *seconds)
{
	struct sim_triggers *source = sim_triggers_new(&run->traffic);
	struct sim_trigger things[BLOCK];
	double begin = thread_seconds(), made = 0;
	size_t count;

	if (!source)
		return lab_fail(lab, -EINVAL, "simple machine: traffic out of range, or no memory for it");
	while ((count = sim_triggers_next(source, things, BLOCK)) > 0) {
		made += thread_seconds() - begin;
		for (size_t i = 0; i < run->count; i++)
			play(&players[i], things, count);
		begin = thread_seconds();
	}
	sim_triggers_free(source);
	if (seconds)
		*seconds = made + thread_seconds() - begin;
	return 0;
}

int simple_run(struct lab *lab, const struct simple_run *asked, struct simple_result *results,
	       double *seconds)
{
	struct simple_run run = *asked;
	struct player *players = lab_alloc(run.count, sizeof *players);
	struct machine rules;
	int error = 0;

	run.divisor = asked->divisor ? asked->divisor : 1;
	run.traffic = traffic_part(&run);
	make_rules(&rules, run.reading);
	for (size_t i = 0; i < run.count && !error; i++) {
		players[i].made_as = table_part(&run, i);
		players[i].result = &results[i];
		error = player_open(lab, &run, &players[i], &rules);
	}
	if (!error)
		error = play_all(lab, &run, players, seconds);
	for (size_t i = 0; i < run.count; i++)
		player_close(&players[i]);
	free(players);
	return error;
}

/* ------------------------------------------------------------------------ shares */

static double all_flows(const struct simple_result *r)
{
	return r->flows[SIM_INTERESTING] + r->flows[SIM_NOISE] + r->flows[SIM_RANDOM];
}

double simple_false_positives(const struct simple_result *r)
{
	return percent_of(r->false_positive, r->flows[SIM_NOISE] + r->flows[SIM_RANDOM]);
}

double simple_false_negatives(const struct simple_result *r)
{
	return percent_of(r->false_negative, r->flows[SIM_INTERESTING]);
}

double simple_dont_knows(const struct simple_result *r)
{
	return percent_of(r->dont_know, all_flows(r));
}

double simple_errors(const struct simple_result *r)
{
	return percent_of(r->false_positive + r->false_negative + r->dont_know, all_flows(r)) / 100;
}

struct spread simple_spread(const struct simple_result *first, size_t stride, unsigned seeds,
			    simple_number *number)
{
	double *values = lab_alloc(seeds, sizeof *values);
	struct spread spread;

	for (unsigned seed = 0; seed < seeds; seed++)
		values[seed] = number(&first[seed * stride]);
	spread = spread_of(values, seeds);
	free(values);
	return spread;
}
