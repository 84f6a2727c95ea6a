/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds `stateful` and `direct`: the paper's rules for cells, what the plan
 * promises and what is measured, and what is refused. Everything that a call, a
 * step or a tick does to the cells of either kind is compared with a model
 * (bloom_model.h) by the programs of test_oracle.c.
 *
 * The scripts use a table of two shares with four cells each, and flows that are
 * chosen by their cells. The cells are written as text, share by share:
 *
 *     "3 . 5*2 . | ?*3 . . ."      state 3; empty; state 5, count 2; ... don't know, count 3
 */
#include "kinds/bloom/bloom.h"
#include "tests/churn.h"
#include "tests/help.h"
#include "tests/interval.h"
#include "tests/test.h"
#include "tests/verbs.h"

enum { HASHES = 2, SHARE = 4, MANY_STATES = 10 };

static const struct variant with_counters = {
	"stateful with counters", INK_STATEFUL, INK_SIMD_NONE, 1, {.k = HASHES, .m = 8, .counter_bits = 3}};
static const struct variant without_counters = {"stateful without counters",
						INK_STATEFUL,
						INK_SIMD_NONE,
						1,
						{.k = HASHES, .m = 8, .counter_bits = INK_NO_COUNTERS}};
static const struct variant direct = {
	"direct", INK_DIRECT, INK_SIMD_NONE, 1, {.k = HASHES, .m = 8, .counter_bits = 2}};

static void make(const struct variant *v, unsigned age_bits)
{
	struct ink_options o;

	variant = v;
	o = variant_options();
	o.states = MANY_STATES;
	o.flows = 1;
	o.age_bits = age_bits;
	make_from(&o);
}

/* ---------------------------------------------------------------- cells and flows */

static uint64_t cell_number(uint64_t id, unsigned share)
{
	uint64_t at[INK_BLOOM_MOST_K];

	bloom_all(bloom_of(t), id, 0, at);
	return at[share] / bloom_of(t)->cell_bits - share * SHARE;
}

/* A flow with these cells; in `direct`, when it is in state 0. */
static uint64_t flow_at(unsigned a, unsigned b)
{
	uint64_t id;

	do
		id = random_word();
	while (cell_number(id, 0) != a || cell_number(id, 1) != b);
	return id;
}

static void show_cell(char *text, uint32_t cell)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint32_t rest = cell >> t->coding.age_bits, value = rest & ((1u << s->value_bits) - 1);
	uint32_t count = rest >> s->value_bits;

	if (!cell)
		strcpy(text, ".");
	else if (value == (1u << s->value_bits) - 1)
		sprintf(text, count > 1 ? "?*%u" : "?", count);
	else
		sprintf(text, count > 1 ? "%u*%u" : "%u", value - !s->count_top, count);
}

static void assert_cells_are(const char *expected, int line)
{
	char found[400] = "", cell[40];

	for (unsigned i = 0; i < t->plan.geometry.m; i++) {
		show_cell(cell, cell_read(t, bloom_cell_at(bloom_of(t), i)));
		strcat(found, i == 0 ? "" : i % SHARE ? " " : " | ");
		strcat(found, cell);
	}
	if (strcmp(found, expected) != 0)
		fail_msg("%s, line %d: \"%s\" and not \"%s\"", variant->name, line, found, expected);
	assert_sound(t);
}

/* ----------------------------------------------------------------------- scripts */

/* A call for the flow with these cells, what it gives, and the cells afterwards. Flows with the same cells are one. */
struct line {
	unsigned verb; /* or TICK */
	unsigned a, b;
	unsigned with; /* a state */
	int gives;     /* an answer or an error */
	const char *cells;
};

enum { TICK = ALL_VERBS }; /* to the tick number `with` */

struct script {
	const char *name;
	const struct variant *variant;
	unsigned age_bits;
	uint32_t threshold;
	uint64_t marked, collisions; /* at the end */
	struct line lines[16];       /* those that are not used have no cells */
};

static uint64_t named[SHARE][SHARE];

static int call_line(const struct line *l)
{
	uint64_t *id = &named[l->a][l->b];
	struct result r;

	if (l->verb == TICK)
		return ink_tick(t, l->with, NULL);
	if (!*id)
		*id = flow_at(l->a, l->b);
	r = perform(t, *id, &(struct call){.verb = (enum verb)l->verb, .state = l->with});
	return gives_answer((enum verb)l->verb) ? r.answer : r.error;
}

static void run_script(void **state)
{
	const struct script *s = *state;
	struct variant v = *s->variant;

	v.geometry.threshold = s->threshold;
	make(&v, s->age_bits);
	memset(named, 0, sizeof named);
	for (const struct line *l = s->lines; l < s->lines + 16 && l->cells; l++) {
		assert_int_equal(call_line(l), l->gives);
		assert_cells_are(l->cells, (int)(l - s->lines));
	}
	assert_int_equal(stats_now().marked, s->marked);
	assert_int_equal(stats_now().collisions, s->collisions);
	variant = s->variant;
}

#define DOUBT INK_DONT_KNOW
#define GONE INK_ABSENT

/* clang-format off */
static const struct script scripts[] = {
	{"a stateful insert keeps the paper's rules", &with_counters, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},   /* empty: the state, count 1 */
		{INSERT, 0, 1, 3, 0, "3*2 . . . | 3 3 . ."}, /* the same state: count + 1 */
		{INSERT, 0, 2, 5, 0, "?*3 . . . | 3 3 5 ."}, /* another: don't know, count + 1 */
		{INSERT, 0, 3, 3, 0, "?*4 . . . | 3 3 5 3"}, /* don't know: count + 1 */
	}},
	{"a stateful modify keeps the paper's rules", &with_counters, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{MODIFY, 0, 0, 4, 0, "4 . . . | 4 . . ."}, /* count 1: the new state */
		{INSERT, 0, 1, 4, 0, "4*2 . . . | 4 4 . ."},
		{MODIFY, 0, 0, 4, 0, "4*2 . . . | 4 4 . ."}, /* nothing to change */
		{MODIFY, 0, 0, 5, 0, "?*2 . . . | 5 4 . ."}, /* more: don't know */
		{MODIFY, 0, 1, 6, 0, "?*2 . . . | 5 6 . ."}, /* don't know: stays */
		{LOOKUP, 0, 0, 0, 5, "?*2 . . . | 5 6 . ."},
		{LOOKUP, 0, 1, 0, 6, "?*2 . . . | 5 6 . ."},
		{MODIFY, 1, 1, 6, -ENOENT, "?*2 . . . | 5 6 . ."},
	}},
	{"a stateful delete keeps the paper's rules", &with_counters, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 5, 0, "?*2 . . . | 3 5 . ."},
		{INSERT, 1, 1, 5, 0, "?*2 5 . . | 3 5*2 . ."},
		{DELETE, 0, 1, 0, 0, "? 5 . . | 3 5 . ."}, /* more: count - 1, the value stays */
		{DELETE, 0, 0, 0, 0, ". 5 . . | . 5 . ."}, /* count 1: empty, don't know or not */
		{DELETE, 0, 0, 0, -ENOENT, ". 5 . . | . 5 . ."},
		{DELETE, 1, 1, 0, 0, ". . . . | . . . ."},
	}},
	{"a stateful lookup keeps the paper's rules", &with_counters, .marked = 3, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 5, 0, "?*2 . . . | 3 5 . ."},
		{INSERT, 1, 2, 6, 0, "?*2 6 . . | 3 5 6 ."},
		{INSERT, 1, 1, 7, 0, "?*2 ?*2 . . | 3 ?*2 6 ."},
		{LOOKUP, 0, 0, 0, 3, "?*2 ?*2 . . | 3 ?*2 6 ."},     /* 3 and don't know */
		{LOOKUP, 1, 1, 0, DOUBT, "?*2 ?*2 . . | 3 ?*2 6 ."}, /* all don't know */
		{PEEK, 1, 1, 0, DOUBT, "?*2 ?*2 . . | 3 ?*2 6 ."},
		{LOOKUP, 0, 3, 0, GONE, "?*2 ?*2 . . | 3 ?*2 6 ."}, /* an empty one */
		{LOOKUP, 0, 2, 0, 6, "?*2 ?*2 . . | 3 ?*2 6 ."},    /* a false positive */
		{INSERT, 3, 3, 9, 0, "?*2 ?*2 . 9 | 3 ?*2 6 9"},
		{LOOKUP, 3, 0, 0, GONE, "?*2 ?*2 . 9 | 3 ?*2 6 9"}, /* two states */
		{PEEK, 3, 0, 0, GONE, "?*2 ?*2 . 9 | 3 ?*2 6 9"},
	}},
	{"without counters every second flow makes a cell don't know", &without_counters, 1, .marked = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 1, 3, 0, "? . . . | 3 3 . ."},
		{MODIFY, 0, 0, 4, 0, "? . . . | 4 3 . ."}, /* don't know stays, the other is its own */
		{DELETE, 0, 0, 0, 0, "? . . . | . 3 . ."}, /* don't know is left to the tick */
	}},
	{"without counters a flow in doubt is left to the tick", &without_counters, 1, .marked = 2, .collisions = 1, .lines = {
		{INSERT, 0, 0, 3, 0, "3 . . . | 3 . . ."},
		{INSERT, 0, 0, 4, 0, "? . . . | ? . . ."},
		{DELETE, 0, 0, 0, -EBUSY, "? . . . | ? . . ."},
		{MODIFY, 0, 0, 4, -EBUSY, "? . . . | ? . . ."},
		{TICK, 0, 0, 1, 0, "? . . . | ? . . ."},
		{TICK, 0, 0, 2, 0, ". . . . | . . . ."},
		{LOOKUP, 0, 0, 0, GONE, ". . . . | . . . ."},
	}},
};
/* ------------------------------------------------------------------------ rules */

static struct ink_timing timings[MANY_STATES + 1];
static struct ink_row rows[MANY_STATES + 2];
static const struct ink_rules rules = {sizeof rules, MANY_STATES, 1, rows, NULL, timings, NULL};

/* No event does anything, and every state ends after one tick. */
static void reset_rules(void)
{
	for (unsigned i = 0; i < COUNT(rows); i++)
		rows[i] = (struct ink_row){INK_NO_ROW, 0};
	for (unsigned i = 0; i < COUNT(timings); i++)
		timings[i] = (struct ink_timing){1, INK_ABSENT, 0};
}

TEST_THAT(expired_cells_are_counted_by_their_state)
{
	struct ink_counts expired;

	reset_rules();
	timings[1].period = 2;
	timings[2].period = 5;
	make(&with_counters, 1);
	assert_int_equal(ink_set_rules(t, &rules, NULL), 0);
	ink_insert(t, flow_at(0, 0), 1);
	ink_insert(t, flow_at(1, 1), 2);
	ink_insert(t, flow_at(1, 2), 1); /* 1 | 1 is now don't know, and rests for 5 as state 2 does */
	ink_tick(t, 2, NULL);
	ink_tick(t, 4, &expired);
	assert_cells_are(". ?*2 . . | . 2 . .", __LINE__);
	assert_true(expired.state[1] == 3 && expired.total == 3);
	ink_tick(t, 5, NULL);
	ink_tick(t, 10, &expired);
	assert_true(expired.unsure == 1 && expired.state[2] == 1 && expired.total == 2);
	make(&direct, 1);
	ink_insert(t, flow_at(0, 0), 0);
	ink_tick(t, 2, &expired);
	assert_true(expired.unsure == 2 && expired.total == 2); /* cells of direct know no state */
}

TEST_THAT(rules_that_these_kinds_cannot_keep_are_refused)
{
	static const struct {
		const struct variant *variant;
		unsigned age_bits, states;
		struct ink_timing of_state_3;
		const char *refused; /* a word of the reason; NULL: the rules are taken */
	} cases[] = {
		{&with_counters, 1, MANY_STATES, {1, 2, 0}, "state 3"},
		{&with_counters, 1, MANY_STATES, {0, 2, 0}, NULL}, /* it has no period, so it never moves */
		{&with_counters, 1, MANY_STATES, {7, INK_ABSENT, 0}, NULL},
		{&direct, 1, MANY_STATES, {1, 2, 0}, "state 3"},
		{&direct, 0, MANY_STATES, {1, 2, 0}, NULL}, /* without age bits nothing ends or moves */
		{&direct, 1, MANY_STATES, {7, INK_ABSENT, 0}, "state 3 has period 7"},
		{&direct, 1, MANY_STATES, {1, INK_ABSENT, 0}, NULL},
		{&direct, 1, 2, {1, INK_ABSENT, 0}, ""}, /* the states beyond would never end */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ink_rules some = rules;
		struct ink_why why = {""};

		reset_rules();
		timings[3] = cases[i].of_state_3;
		some.states = cases[i].states;
		make(cases[i].variant, cases[i].age_bits);
		assert_int_equal(ink_set_rules(t, &some, &why), cases[i].refused ? -ENOTSUP : 0);
		assert_true(!cases[i].refused || strstr(why.text, cases[i].refused));
	}
}

/* --------------------------------------------------------------------- looking */

TEST_THAT(the_flows_are_estimated)
{
	struct ink_options o = {.size = sizeof o, .states = 4, .flows = 20000, .error = .01, .seed = 1};
	uint64_t n = 15000;

	variant = &with_counters;
	for (unsigned kind = INK_STATEFUL; kind <= INK_DIRECT; kind++) {
		o.kind = (enum ink_kind)kind;
		make_from(&o);
		for (uint64_t i = 0; i < n; i++)
			ink_insert(t, id_number(i), i % 4);
		assert_true(stats_now().flows > n / 100 * 98 && stats_now().flows < n / 100 * 102);
	}
}

TEST_THAT(a_full_filter_says_so_and_does_not_fail)
{
	make(&with_counters, 0);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(ink_insert(t, random_word(), i % MANY_STATES), 0);
	assert_int_equal(stats_now().occupied, 8);
	assert_int_equal(ink_lookup(t, random_word()), INK_DONT_KNOW);
	assert_true(stats_now().flows > 8);
	assert_int_equal(stats_now().refused, 0);
	assert_sound(t);
}

TEST_THAT(damage_is_found)
{
	static const struct {
		const struct variant *variant;
		unsigned cell;
		uint32_t value;
	} damages[] = {
		{&with_counters, 0, 1},                         /* an age without a count */
		{&with_counters, 0, 1 << 5 | MANY_STATES << 1}, /* a state that the table has not */
		{&with_counters, 8, 1},                         /* behind the last cell */
		{&without_counters, 0, 1},
		{&without_counters, 0, (MANY_STATES + 1) << 1},
		{&direct, 0, 1},
	};

	for (size_t i = 0; i < COUNT(damages); i++) {
		make(damages[i].variant, 1);
		cell_write(t, bloom_cell_at(bloom_of(t), damages[i].cell), damages[i].value);
		assert_int_equal(ink_check(t, NULL), -EUCLEAN);
	}
}

/* ------------------------------------------------------------- what is measured */

static unsigned state_of_flow(uint64_t i, unsigned states)
{
	return (unsigned)(((id_number(i + (1ull << 40)) >> 32) * states) >> 32);
}

enum { TABLES = 10, FEWEST_FLOWS = 2000, MORE_FLOWS = 18000, STRANGERS_A_FLOW = 3 };

/* Of each table; enough to judge every formula in short runs too. */
static uint64_t flows_each(void)
{
	return FEWEST_FLOWS + scaled(MORE_FLOWS);
}

static uint64_t strangers_each(void)
{
	return STRANGERS_A_FLOW * flows_each();
}

/* The share of n flows from `first` on that are in doubt; no answer is wrong. */
static double doubts(uint64_t first, unsigned states)
{
	uint64_t lost = 0;

	for (uint64_t i = first; i < first + flows_each(); i++)
		ink_insert(t, id_number(i), state_of_flow(i, states));
	for (uint64_t i = first; i < first + flows_each(); i++) {
		ink_answer answer = ink_peek(t, id_number(i));

		if (answer != INK_DONT_KNOW)
			assert_int_equal(answer, state_of_flow(i, states));
		lost += answer == INK_DONT_KNOW;
	}
	return (double)lost / (double)flows_each();
}

static double false_positives(uint64_t first)
{
	uint64_t found = 0;

	for (uint64_t i = first; i < first + strangers_each(); i++)
		found += ink_peek(t, id_number(i + (1ull << 50))) != INK_ABSENT;
	return (double)found / (double)strangers_each();
}

/* A way to keep states that has formulas of its own. */
struct way {
	const char *name;
	struct ink_options options;
	double ceilings[4];
};

struct formulas {
	const struct way *way;
	struct tally errors, doubts;
	uint64_t next;   /* flow */
	double most_off; /* by which share of the plan's, where doubts are many */
};

static void measure(struct formulas *f, const struct ink_options *o)
{
	struct ink_plan plan = {.size = sizeof plan};
	struct sample errors = {0}, doubtful = {0};
	char point[80];

	snprintf(point, sizeof point, "%s, %u states, error %g", f->way->name, o->states, o->error);
	assert_int_equal(ink_plan(o, &plan, NULL), 0);
	for (uint64_t i = 0; i < TABLES; i++, f->next += strangers_each()) {
		make_from(o);
		assert_int_equal(t->body_bytes + ink_table_bytes(&plan, 1), plan.bytes);
		sample_add(&doubtful, doubts(f->next, o->states));
		sample_add(&errors, false_positives(f->next));
	}
	tally_add(&f->errors, &errors,
		  (struct claim){point, plan.error, plan.error * TABLES * (double)strangers_each()});
	tally_add(&f->doubts, &doubtful,
		  (struct claim){point, plan.unsure, plan.unsure * TABLES * (double)flows_each()});
	if (o->error > .02)
		f->most_off = fmax(f->most_off, fabs(sample_mean(&doubtful) / plan.unsure - 1));
}

/* 20 points of each way. */
static void measure_way(struct formulas *f)
{
	static const unsigned states[] = {2, 3, 5, 9, 15};
	struct ink_options o = f->way->options;

	o.size = sizeof o;
	o.seed = 1;
	o.flows = flows_each();
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++) {
			o.states = states[i];
			o.error = f->way->ceilings[j];
			measure(f, &o);
		}
}

TEST_THAT(the_formulas_of_the_plan_hold)
{
	static const struct way ways[] = {
		{"stateful", {.kind = INK_STATEFUL}, {.2, .1, .05, .02}},
		{"without counters", {.kind = INK_STATEFUL, .age_bits = 1}, {.2, .1, .05, .02}},
		{"blocked", {.kind = INK_STATEFUL, .geometry.bloom_flags = INK_BLOOM_BLOCKED}, {.2, .1, .05, .02}},
		{"blocked without counters",
		 {.kind = INK_STATEFUL, .age_bits = 1, .geometry.bloom_flags = INK_BLOOM_BLOCKED},
		 {.2, .1, .05, .02}},
		{"two must know", {.kind = INK_STATEFUL, .geometry.threshold = 2}, {.4, .3, .2, .1}},
		{"direct", {.kind = INK_DIRECT, .age_bits = 1}, {.2, .1, .05, .02}},
	};
	struct formulas f = {.next = 0};

	variant = &with_counters;
	for (f.way = ways; f.way < ways + COUNT(ways); f.way++) {
		print_message("%s\n", f.way->name);
		f.errors = (struct tally){.formula = "errors"};
		f.doubts = (struct tally){.formula = "doubts"};
		measure_way(&f);
		assert_tally(&f.errors);
		assert_tally(&f.doubts);
	}
	print_message("the share of don't-know is within %.1f %% of the plan\n", f.most_off * 100);
	assert_true(f.most_off < (test_scale() < 1 ? .1 : .05));
}

/* Flows come, change their states, are looked up and go. Nothing is answered wrongly, and nothing is left. */
static void assert_never_wrong(uint64_t replaced, uint32_t bloom_flags)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_STATEFUL,
				.states = 8,
				.flows = 20000,
				.error = .05,
				.seed = 1,
				.geometry = {.counter_bits = 8, .bloom_flags = bloom_flags}};
	struct churn c;

	variant = &with_counters;
	make_from(&o);
	churn_begin(&c, t, &o, 0);
	churn_replace(&c, replaced);
	assert_int_equal(c.wrong + c.absent, 0);
	for (uint64_t i = 0; i < c.n; i++)
		assert_int_equal(ink_delete(t, c.ids[i]), 0);
	assert_int_equal(stats_now().occupied, 0);
	assert_sound(t);
	churn_free(&c);
}

TEST_THAT(ten_million_proper_operations_are_never_wrong)
{
	assert_never_wrong(scaled(2000000), 0);
	assert_never_wrong(scaled(200000), INK_BLOOM_BLOCKED);
}

/* ---------------------------------------------------------------- what is planned */

static struct ink_options planned_for(enum ink_kind kind)
{
	return (struct ink_options){
		.size = sizeof(struct ink_options), .kind = kind, .states = 15, .age_bits = 1};
}

static struct ink_plan plan_of(const struct ink_options *o)
{
	struct ink_plan p = {.size = sizeof p};

	assert_int_equal(ink_plan(o, &p, NULL), 0);
	return p;
}

TEST_THAT(a_plan_keeps_the_ceiling_and_leads_back_to_itself)
{
	for (unsigned i = 0; i < 4; i++) {
		struct ink_options o = planned_for(i < 3 ? INK_STATEFUL : INK_DIRECT);
		struct ink_plan p, back;

		o.geometry.bloom_flags = i == 1 ? INK_BLOOM_BLOCKED : 0;
		o.geometry.threshold = i == 2 ? 3 : 0;
		o.flows = 100000;
		o.error = .02;
		p = plan_of(&o);
		assert_true(fmax(p.error, p.unsure) <= .02 && fmax(p.error, p.unsure) > .0195);
		assert_true(p.flows == o.flows && fabs(p.load - 100000.0 / p.geometry.m) < 1e-12);
		o.flows = 0;
		o.bytes = p.bytes;
		back = plan_of(&o); /* bytes and error: the most flows */
		assert_true(back.flows >= 100000 && back.flows < 103000 && back.bytes <= p.bytes);
		assert_true(fmax(back.error, back.unsure) <= .02);
		o.flows = 100000;
		o.error = 0;
		back = plan_of(&o); /* flows and bytes: the least error */
		assert_true(fmax(back.error, back.unsure) <= .02 && back.bytes <= p.bytes);
		o.bytes = p.bytes - 8192;
		o.error = .02;
		assert_int_equal(ink_plan(&o, &back, NULL), -ERANGE); /* all three: it must fit */
	}
}

TEST_THAT(blocking_has_a_price)
{
	struct ink_options o = planned_for(INK_STATEFUL);
	struct ink_plan lines, cells;

	o.flows = 100000;
	o.geometry.bloom_flags = INK_BLOOM_BLOCKED;
	lines = plan_of(&o);
	o.geometry = lines.geometry;
	o.geometry.counter_bits = INK_NO_COUNTERS;
	o.geometry.bloom_flags = 0;
	cells = plan_of(&o);
	assert_int_equal(cells.geometry.m, lines.geometry.m);
	assert_true(cells.error < lines.error && cells.unsure < lines.unsure);
	assert_int_equal(lines.geometry.m % (512 / 6), 0); /* 5 bits of state and one of age */
}

TEST_THAT(given_cells_are_taken_as_they_are)
{
	struct ink_options o = planned_for(INK_STATEFUL);
	struct ink_plan p;

	o.states = 10; /* row 1 of the paper's Table 1: 128K cells of 4 bits and a timer, k = 3 */
	o.flows = 36000;
	o.geometry = (struct ink_geometry){.k = 3, .m = 131072};
	p = plan_of(&o);
	assert_true(p.geometry.m == 131072 && p.state_bits == 4);
	assert_true(p.unsure > .17 && p.unsure < .18);
	o.kind = INK_DIRECT; /* 256K cells of 2 bits and a timer */
	o.geometry.m = 262144;
	assert_int_equal(plan_of(&o).geometry.counter_bits, 2);
	o.flows = 0; /* as many flows as the ceiling allows */
	o.error = .01;
	p = plan_of(&o);
	assert_true(p.flows > 1000 && fmax(p.error, p.unsure) <= .01);
}

TEST_THAT(bad_options_are_refused_with_a_reason)
{
	struct ink_options good = planned_for(INK_STATEFUL);

	good.flows = 1000;
	good.error = .01;
	REFUSED(-EINVAL, geometry.k = 33);
	REFUSED(-EINVAL, geometry.counter_bits = 1);
	REFUSED(-EINVAL, geometry.counter_bits = 9);
	REFUSED(-EINVAL, geometry.threshold = 33);
	REFUSED(-EINVAL, geometry.bloom_flags = 4);
	REFUSED(-EINVAL, geometry.side = 10);
	REFUSED(-EINVAL, geometry.b = 10);
	REFUSED(-EINVAL, geometry.dleft_flags = 1);
	REFUSED(-ENOTSUP, geometry.bloom_flags = INK_BLOOM_DECREMENT);
	REFUSED(-ENOTSUP, full = INK_REPLACE);
	REFUSED(-ENOTSUP, writers = 2);
	REFUSED(-ERANGE, geometry.m = 10);
	REFUSED(-ERANGE, geometry.m = 1000);
	REFUSED(-ERANGE, bytes = 8000);
	REFUSED(-ERANGE, flows = 1ull << 33);
	good.geometry.counter_bits = INK_NO_COUNTERS;
	REFUSED(-EINVAL, age_bits = 0);
	good.geometry = (struct ink_geometry){.k = 4};
	REFUSED(-EINVAL, geometry.threshold = 5);
	REFUSED(-ERANGE, geometry.m = 7);
	good.geometry = (struct ink_geometry){.bloom_flags = INK_BLOOM_BLOCKED, .counter_bits = 8, .k = 18};
	REFUSED(-ERANGE, states = 255); /* 17 bits a cell: 30 cells in a line, and each hash needs two */
	good = planned_for(INK_DIRECT);
	good.flows = 1000;
	REFUSED(-EINVAL, geometry.threshold = 1);
	REFUSED(-EINVAL, geometry.counter_bits = 9);
	REFUSED(-ENOTSUP, geometry.bloom_flags = INK_BLOOM_BLOCKED);
	REFUSED(-ENOTSUP, full = INK_REPLACE);
	good.geometry.counter_bits = INK_NO_COUNTERS;
	REFUSED(-EINVAL, age_bits = 0);
	good = planned_for(INK_LINE);
	good.flows = 1000;
	REFUSED(-EINVAL, geometry.k = 3);
	REFUSED(-EINVAL, geometry.m = 1000);
	REFUSED(-EINVAL, geometry.counter_bits = 3);
	REFUSED(-EINVAL, geometry.bloom_flags = 1);
}

int main(void)
{
	return run_rows("scripts", run_script, scripts, sizeof scripts[0], COUNT(scripts)) +
	       run_suite(&(struct suite){.after_each = free_table});
}
