/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of the simple machine are as sim/triggers.h promises. With one
 * active flow every packet is that flow's, and nothing is hidden: lengths and
 * places of triggers are then seen one by one. Bounds are of 99.9 % (random.h),
 * or of chi square: k classes of equal odds give k - 1 +- 3.29 sqrt(2 (k - 1)).
 */
#include <math.h>

#include "tests/random.h"
#include "sim/triggers.h"
#include "tests/test.h"

enum { STATES = 10, LONGEST = 140, SHORTEST = 60, LENGTHS = LONGEST - SHORTEST + 1 };

static struct sim_triggers *source_of(struct sim_triggers_options o)
{
	struct sim_triggers *s;

	o.seed = o.seed ? o.seed : 11;
	s = sim_triggers_new(&o);
	assert_non_null(s);
	return s;
}

typedef void trigger_fn(const struct sim_trigger *x, void *to);

/* Calls `each` for every trigger of a stream; returns the stream, at its end. */
static struct sim_triggers *each_trigger(struct sim_triggers_options o, trigger_fn *each, void *to)
{
	struct sim_triggers *s = source_of(o);
	struct sim_trigger x[64];
	size_t n;

	while ((n = sim_triggers_next(s, x, 64)) > 0)
		for (size_t i = 0; i < n; i++)
			each(&x[i], to);
	return s;
}

static void assert_near(double seen, double expected)
{
	if (fabs(seen - expected) > spread(expected))
		fail_msg("%g where %g +- %g are expected", seen, expected, spread(expected));
}

/* A count out of `trials` whose odds are p. */
static void assert_share(double seen, double trials, double p)
{
	double half = 3.29 * sqrt(trials * p * (1 - p)) + 1;

	if (fabs(seen - trials * p) > half)
		fail_msg("%g of %g where %g +- %g are expected", seen, trials, trials * p, half);
}

static void assert_even(const double *counts, size_t classes)
{
	double sum = 0, chi = 0, mean, k = (double)classes - 1;

	for (size_t i = 0; i < classes; i++)
		sum += counts[i];
	mean = sum / (double)classes;
	for (size_t i = 0; i < classes; i++)
		chi += (counts[i] - mean) * (counts[i] - mean) / mean;
	if (fabs(chi - k) > 3.29 * sqrt(2 * k))
		fail_msg("chi square is %g for %g degrees of freedom", chi, k);
}

/* ---------------------------------------------------------------- one flow at a time */

/* All that happens to one flow, with the numbers of its packets. */
struct told {
	uint64_t begin, end; /* packets; begin: the first of the flow */
	unsigned count;
	uint8_t kind, what[SIM_STATES_MOST], at[SIM_STATES_MOST];
};

typedef void flow_fn(const struct told *flow, void *to);

/* Calls `each` for the flows of a stream with one active flow. */
static void each_flow(struct sim_triggers_options o, flow_fn *each, void *to)
{
	struct sim_trigger x[SIM_AT_ONCE];
	struct sim_triggers *s;
	struct told flow = {.begin = 0};
	size_t n;

	o.active = 1;
	s = source_of(o);
	while ((n = sim_triggers_next(s, x, SIM_AT_ONCE)) > 0) {
		uint64_t packet = sim_triggers_packets(s) - 1;

		for (size_t i = 0; i < n; i++) {
			if (x[i].what < SIM_BEGIN) {
				flow.at[flow.count] = (uint8_t)(packet - flow.begin);
				flow.what[flow.count++] = x[i].what;
			}
			if (x[i].what != SIM_END)
				continue;
			flow.kind = x[i].kind;
			flow.end = packet;
			each(&flow, to);
			flow = (struct told){.begin = packet + 1};
		}
	}
	sim_triggers_free(s);
}

struct lengths {
	double of[LENGTHS], kinds[SIM_KINDS], flows;
};

static void note_length(const struct told *flow, void *to)
{
	struct lengths *l = to;
	uint64_t packets = flow->end - flow->begin + 1;

	assert_in_range(packets, SHORTEST, LONGEST);
	l->of[packets - SHORTEST]++;
	l->kinds[flow->kind]++;
	l->flows++;
}

TEST_THAT(lengths_are_even_and_three_in_ten_flows_are_interesting_and_as_many_noise)
{
	struct lengths l = {.flows = 0};

	each_flow((struct sim_triggers_options){.flows = scaled(60000)}, note_length, &l);
	assert_even(l.of, LENGTHS);
	assert_share(l.kinds[SIM_INTERESTING], l.flows, .3);
	assert_share(l.kinds[SIM_NOISE], l.flows, .3);
	assert_share(l.kinds[SIM_RANDOM], l.flows, .4);
}

/* `to` points to true if a trigger starts flows: then it is on the first packet of interesting ones. */
static void check_triggers(const struct told *flow, void *to)
{
	unsigned seen[STATES] = {0};

	if (flow->kind == SIM_INTERESTING && *(const bool *)to)
		assert_int_equal(flow->at[0], 0);
	assert_int_equal(flow->count, flow->kind == SIM_INTERESTING ? 9 : flow->kind == SIM_NOISE ? 8 : 0);
	for (unsigned i = 0; i < flow->count; i++) {
		assert_in_range(flow->what[i], 1, flow->kind == SIM_NOISE ? 8 : 9);
		assert_int_equal(seen[flow->what[i]]++, 0);
		if (flow->kind == SIM_INTERESTING)
			assert_int_equal(flow->what[i], i + 1);
		if (i)
			assert_true(flow->at[i] > flow->at[i - 1]);
	}
}

TEST_THAT(interesting_flows_have_all_triggers_in_order_and_noise_all_but_the_last)
{
	for (int i = 0; i < 2; i++) {
		bool starts = i;

		each_flow((struct sim_triggers_options){.flows = scaled(20000), .starts_by_trigger = starts},
			  check_triggers, &starts);
	}
}

struct places {
	double first[8], last[8], in_part[10];
};

/* Tenths of the flow in which triggers stand, those of 100 packets alone; of noise also which come first and last. */
static void note_places(const struct told *flow, void *to)
{
	struct places *p = to;

	if (flow->kind == SIM_NOISE) {
		p->first[flow->what[0] - 1]++;
		p->last[flow->what[7] - 1]++;
	}
	if (flow->end - flow->begin + 1 == 100)
		for (unsigned i = 0; i < flow->count; i++)
			p->in_part[flow->at[i] / 10]++;
}

TEST_THAT(triggers_stand_anywhere_and_noise_has_them_in_any_order)
{
	struct places p = {.first = {0}};

	each_flow((struct sim_triggers_options){.flows = scaled(60000)}, note_places, &p);
	assert_even(p.in_part, 10);
	assert_even(p.first, 8);
	assert_even(p.last, 8);
}

/* -------------------------------------------------------------------------- many flows */

/* A machine of our own, by slot, beside the truth that is told. */
struct model {
	uint8_t state[1000];
	uint64_t id[1000];
	double ends[1000];
	bool by_trigger;
};

static uint8_t expected_after(const struct model *m, const struct sim_trigger *x)
{
	uint8_t state = m->state[x->slot];

	if (x->what == SIM_BEGIN)
		return 1;
	if (x->what == SIM_END)
		return 0;
	if (x->what == state || (x->what == 1 && !state && m->by_trigger))
		return (uint8_t)(x->what + 1);
	return state;
}

static void follow(const struct sim_trigger *x, void *to)
{
	struct model *m = to;

	if (x->what == SIM_TICK || x->slot == 1000)
		return;
	if (x->what == SIM_BEGIN)
		assert_int_equal(m->state[x->slot], 0);
	if (m->state[x->slot])
		assert_true(x->id == m->id[x->slot]);
	assert_int_equal(x->state, m->state[x->slot]);
	assert_int_equal(x->after, expected_after(m, x));
	if (x->what == SIM_END && x->kind == SIM_INTERESTING)
		assert_int_equal(x->state, STATES);
	if (x->kind != SIM_INTERESTING)
		assert_true(x->after < STATES);
	m->state[x->slot] = x->after;
	m->id[x->slot] = x->id;
	if (x->what == SIM_END)
		m->ends[x->slot]++;
}

static void follow_all(struct sim_triggers_options o, struct model *m)
{
	o.active = 1000;
	m->by_trigger = o.starts_by_trigger;
	sim_triggers_free(each_trigger(o, follow, m));
}

TEST_THAT(the_truth_is_that_of_a_machine_without_errors)
{
	struct model a = {.by_trigger = false}, b = {.by_trigger = false};

	follow_all((struct sim_triggers_options){.flows = scaled(50000)}, &a);
	follow_all((struct sim_triggers_options){.flows = scaled(50000), .starts_by_trigger = true}, &b);
}

/* Were some slots chosen more often, more flows would end in them. */
TEST_THAT(every_active_flow_is_as_likely_to_send_the_next_packet)
{
	struct model m = {.by_trigger = false};
	double sum = 0, square = 0, mean, variance;

	follow_all((struct sim_triggers_options){.flows = 100000}, &m);
	for (unsigned i = 0; i < 1000; i++) {
		sum += m.ends[i];
		square += m.ends[i] * m.ends[i];
	}
	mean = sum / 1000;
	variance = square / 1000 - mean * mean;
	/* A renewal process: packets in a slot are Poisson's (1/100 of a flow each), lengths have sd 23.4. */
	assert_true(fabs(variance - mean * (.01 + .0546)) < mean * .0646 * 3.29 * sqrt(2. / 1000) + .1);
}

TEST_THAT(a_tick_comes_after_every_period)
{
	struct sim_triggers *s =
		source_of((struct sim_triggers_options){.flows = 2000, .active = 50, .period = 777});
	struct sim_trigger x[SIM_AT_ONCE];
	uint64_t ticks = 0;
	size_t n;

	while ((n = sim_triggers_next(s, x, SIM_AT_ONCE)) > 0)
		if (x[n - 1].what == SIM_TICK)
			assert_int_equal(sim_triggers_packets(s), ++ticks * 777);
	assert_int_equal(ticks, sim_triggers_packets(s) / 777);
	sim_triggers_free(s);
}

static void count_end(const struct sim_trigger *x, void *to)
{
	*(uint64_t *)to += x->what == SIM_END;
}

TEST_THAT(it_is_over_when_so_many_flows_have_ended)
{
	uint64_t ended = 0, ends = 0;
	struct sim_triggers *s =
		each_trigger((struct sim_triggers_options){.flows = 5000, .active = 100}, count_end, &ends);

	for (unsigned kind = 0; kind < SIM_KINDS; kind++)
		ended += sim_triggers_ended(s, (enum sim_flow_kind)kind);
	assert_int_equal(ended, 5000);
	assert_int_equal(ends, 5000);
	assert_near((double)sim_triggers_packets(s) / 100, 5000 + 50); /* those that live are half through */
	sim_triggers_free(s);
}

/* ----------------------------------------------------------------------- adversarial */

struct bad {
	double triggers, strangers, ends;
};

static void note_bad(const struct sim_trigger *x, void *to)
{
	struct bad *b = to;
	bool trigger = x->what < SIM_BEGIN, strange = x->slot == 500;

	b->ends += x->what == SIM_END && x->kind != SIM_RANDOM;
	b->triggers += trigger && !strange;
	b->strangers += trigger && strange;
	if (trigger && strange) {
		assert_true(x->state == 0 && x->after == 0);
		assert_in_range(x->what, 1, 9);
	}
}

static struct bad count_bad(struct sim_triggers_options o)
{
	struct bad b = {.ends = 0};

	o.active = 500;
	sim_triggers_free(each_trigger(o, note_bad, &b));
	return b;
}

TEST_THAT(there_are_as_many_strangers_invalid_triggers_and_endless_flows_as_requested)
{
	uint64_t flows = scaled(20000);
	struct bad good = count_bad((struct sim_triggers_options){.flows = flows}),
		   strange = count_bad((struct sim_triggers_options){.flows = flows, .strangers = .25}),
		   wrong = count_bad((struct sim_triggers_options){.flows = flows, .invalid = .1}),
		   endless = count_bad((struct sim_triggers_options){.flows = flows, .endless = .2});

	assert_true(good.strangers == 0);
	assert_share(strange.strangers, strange.triggers, .25);
	/* Of two streams of flows, the kinds of which vary: 8.5 triggers for 6 of 10 flows. */
	assert_near(wrong.triggers / 8.5, good.triggers / 8.5 * 1.1);
	assert_share(endless.ends, .6 * (double)flows, .8);
}

TEST_THAT(an_invalid_trigger_leaves_the_flow_where_it_is)
{
	struct model m = {.by_trigger = false};

	follow_all((struct sim_triggers_options){.flows = scaled(20000), .invalid = 1, .strangers = .5}, &m);
}

/* ------------------------------------------------------------------------------- seeds */

static void hash_trigger(const struct sim_trigger *x, void *to)
{
	uint64_t *sum = to;

	*sum = *sum * 31 + (x->id ^ x->what ^ (uint64_t)x->slot << 32);
}

static uint64_t hash_of(uint64_t seed)
{
	uint64_t sum = 0;

	sim_triggers_free(
		each_trigger((struct sim_triggers_options){.seed = seed, .flows = 3000, .active = 100},
			     hash_trigger, &sum));
	return sum;
}

TEST_THAT(the_same_seed_gives_the_same_packets_and_another_one_others)
{
	assert_true(hash_of(5) == hash_of(5));
	assert_true(hash_of(5) != hash_of(6));
}

TEST_THAT(options_out_of_range_are_refused)
{
	const struct sim_triggers_options bad[] = {{.packets = 100, .spread = 100},
						   {.packets = 180, .spread = 20},
						   {.packets = 20, .spread = 15},
						   {.states = 2},
						   {.states = 17},
						   {.interesting = .7, .noise = .4},
						   {.active = SIM_ACTIVE_MOST + 1u}};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_null(sim_triggers_new(&bad[i]));
}

int main(void)
{
	return run_suite(NULL);
}
