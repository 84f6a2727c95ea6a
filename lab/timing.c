/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Section 3.2 of the ACSM paper: how long does a cell outlive its flow?
 *
 * Time is divided into phases. A touch sets a bit of the cell; at the end of a phase the cells that were not
 * touched are emptied. Nothing is deleted otherwise, so a plain Bloom filter is enough (`direct` without
 * counters). A flow that has ended leaves its cells behind, and they stay as long as others touch them in
 * each phase. The paper: "the number of phases required before a cell resets itself to empty is essentially
 * geometrically distributed", if about as many flows arrive in each phase and live within it.
 *
 * With N flows in a phase, k of m cells each, a cell is touched with probability
 *
 *     q = 1 - e^(-Nk/m)
 *
 * so it is still there after t more phases with q^t, and a flow, which has k cells, with q^(kt). A filter is
 * in its steady state after two phases: after a tick q of the cells are taken, before it those of two phases,
 * 1 - (1 - q)^2.
 *
 * If flows live longer than a phase, a touched cell is likely to be touched again. Let a flow continue into
 * the next phase with probability r. The flows of a cell are then a Markov chain: their Poisson number (mean
 * Nk / m / (1 - r)) is thinned by r and joined by new ones, and the cell lives as long as it is not 0. This
 * is not geometric: a cell that is still there is there because of a long-lived flow.
 *
 * Result: both hold.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <inkling/inkling.h>

#include "lab/experiments.h"
#include "lab/page.h"
#include "sim/seeded.h"

enum { PHASES = 12, WARM = 12, MOST_TABLES = 24, MOST_IN_A_CELL = 40 };

/* New flows for each cell and phase, times k; cells of a flow; the share that continues. */
struct setting {
	double load;
	uint32_t k;
	double stays;
};

static const struct setting settings[] = {
	{.25, 1, 0}, {.5, 1, 0},   {1, 1, 0},   {2, 1, 0},  {1, 4, 0},
	{2, 4, 0},   {.25, 1, .5}, {.5, 1, .5}, {1, 1, .5},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* One setting; each table gives a number for each phase. */
struct trial {
	struct setting s;
	uint32_t cells, flows; /* new ones in a phase */
	unsigned tables;
	uint64_t seed;
	double expected[PHASES + 1];
	double left[PHASES + 1]
		   [MOST_TABLES]; /* share of the flows that have ended which are found t phases later */
	double after[MOST_TABLES],
		ahead[MOST_TABLES]; /* share of cells taken, after a tick and before the next */
};

/* ------------------------------------------------------------------------ computing */

static double touched(const struct setting *s)
{
	return 1 - exp(-s->load / (1 - s->stays));
}

static double poisson(double mean, unsigned n)
{
	return exp(n * log(mean) - mean - lgamma(n + 1.));
}

/* Of n flows j go on. */
static double goes_on(double stays, unsigned n, unsigned j)
{
	if (stays == 0)
		return j == 0;
	return exp(lgamma(n + 1.) - lgamma(j + 1.) - lgamma(n - j + 1.) + j * log(stays) +
		   (n - j) * log1p(-stays));
}

/* The flows of a cell in the next phase; a cell that has none is lost and is left out. */
static void next_phase(const struct setting *s, double *flows)
{
	double next[MOST_IN_A_CELL + 1] = {0}, coming[MOST_IN_A_CELL + 1];

	for (unsigned n = 0; n <= MOST_IN_A_CELL; n++)
		coming[n] = poisson(s->load, n);
	for (unsigned n = 1; n <= MOST_IN_A_CELL; n++)
		for (unsigned j = 0; j <= n; j++) {
			double share = flows[n] * goes_on(s->stays, n, j);

			for (unsigned come = 0; come + j <= MOST_IN_A_CELL; come++)
				next[come + j] += share * coming[come];
		}
	for (unsigned n = 1; n <= MOST_IN_A_CELL; n++)
		flows[n] = next[n];
}

/* The share of flows that are still there after t phases: q^(kt) where all live in one phase only. */
static void expect(struct trial *t)
{
	double flows[MOST_IN_A_CELL + 1];

	for (unsigned n = 1; n <= MOST_IN_A_CELL; n++)
		flows[n] = poisson(t->s.load / (1 - t->s.stays), n);
	t->expected[0] = 1;
	for (unsigned i = 1; i <= PHASES; i++, next_phase(&t->s, flows)) {
		double cells = 0;

		for (unsigned n = 1; n <= MOST_IN_A_CELL; n++)
			cells += flows[n];
		t->expected[i] = pow(cells, t->s.k);
	}
}

/* ------------------------------------------------------------------------- measuring */

/* The flows that are there, by number, and those that ended in the phase that is looked at. */
struct crowd {
	uint64_t *live, *ended;
	uint64_t living, over, number;
};

/* Eight times the flows that are there on the average. */
static uint64_t room_for(const struct trial *t)
{
	return (uint64_t)(8 * t->flows / (1 - t->s.stays)) + 64;
}

static void make_crowd(const struct trial *t, struct crowd *c, uint64_t number)
{
	*c = (struct crowd){.live = lab_alloc(room_for(t), sizeof *c->live),
			    .ended = lab_alloc(room_for(t), sizeof *c->ended),
			    .number = number};
}

static void free_crowd(struct crowd *c)
{
	free(c->live);
	free(c->ended);
}

/* New flows arrive, all present flows are touched, then some of them end. */
static void run_phase(const struct trial *t, struct ink_table *table, struct crowd *c)
{
	uint64_t stay = 0;

	for (uint32_t i = 0; i < t->flows; i++) {
		ink_insert(table, sim_id(t->seed, c->number), 0);
		c->live[c->living++] = c->number++;
	}
	c->over = 0;
	for (uint64_t i = 0; i < c->living; i++) {
		uint64_t flow = c->live[i];

		ink_lookup_in(table, sim_id(t->seed, flow), 0);
		if (sim_share(sim_mix(sim_id(t->seed, flow) ^ c->number)) < t->s.stays)
			c->live[stay++] = flow;
		else
			c->ended[c->over++] = flow;
	}
	c->living = stay;
}

/* Drops flows that are gone. A cell that was emptied may be taken again, which does not count. */
static void keep_found(const struct trial *t, const struct ink_table *table, struct crowd *c)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < c->over; i++)
		if (ink_peek(table, sim_id(t->seed, c->ended[i])) != INK_ABSENT)
			c->ended[kept++] = c->ended[i];
	c->over = kept;
}

static double share_taken(const struct ink_table *table)
{
	struct ink_stats stats = {.size = sizeof stats};

	ink_stats(table, &stats);
	return (double)stats.occupied / (double)stats.cells;
}

/* The flows that ended in phase WARM, looked at after each tick from then on. */
static void follow(struct trial *t, struct ink_table *table, struct crowd *c, unsigned number)
{
	struct crowd then;
	uint64_t ended;

	for (unsigned phase = 1; phase < WARM; phase++) {
		run_phase(t, table, c);
		ink_tick(table, phase, NULL);
	}
	run_phase(t, table, c);
	then = *c;
	ended = c->over;
	c->ended = lab_alloc(room_for(t), sizeof *c->ended); /* `then` keeps the old one */
	for (unsigned i = 0; i <= PHASES; i++, run_phase(t, table, c)) {
		if (i == 1)
			t->ahead[number] = share_taken(table);
		ink_tick(table, WARM + i, NULL);
		if (i == 0)
			t->after[number] = share_taken(table);
		keep_found(t, table, &then);
		t->left[i][number] = (double)then.over / (double)ended;
	}
	free(then.ended);
}

static int run_trial(struct lab *lab, void *trials, size_t number)
{
	struct trial *t = (struct trial *)trials + number;

	expect(t);
	for (unsigned i = 0; i < t->tables; i++) {
		struct ink_options o = {
			.size = sizeof o,
			.kind = INK_DIRECT,
			.states = 1,
			.age_bits = 1,
			.seed = 1, /* ids come from the trial's own */
			.geometry = {.k = t->s.k, .m = t->cells, .counter_bits = INK_NO_COUNTERS}};
		struct ink_why why;
		struct ink_table *table = ink_create(&o, &why);
		struct crowd crowd;

		if (!table)
			return lab_fail(lab, -errno, "timing: %s", why.text);
		make_crowd(t, &crowd, (uint64_t)i << 40);
		follow(t, table, &crowd, i);
		free_crowd(&crowd);
		ink_free(table);
	}
	return 0;
}

/* -------------------------------------------------------------------------- the page */

/* Phases up to which enough are expected to be left to judge by. */
static unsigned last_phase(const struct trial *t)
{
	unsigned last = 1;

	while (last < PHASES && t->expected[last + 1] * t->flows * t->tables > 50)
		last++;
	return last;
}

static unsigned inside(const struct trial *t)
{
	unsigned count = 0;

	for (unsigned i = 1; i <= last_phase(t); i++) {
		struct spread s = mean_99(t->left[i], t->tables);

		count += s.low <= t->expected[i] && t->expected[i] <= s.high;
	}
	return count;
}

/* The mean number of phases until it is gone: the sum of the shares left. */
static double mean_phases(const struct trial *t, bool measured)
{
	double sum = 0;

	for (unsigned i = 0; i <= PHASES; i++)
		sum += measured ? spread_of(t->left[i], t->tables).middle : t->expected[i];
	return sum;
}

static void write_table(struct page *page, const struct trial *trials)
{
	static const struct page_column columns[] = {
		{"load", NULL, 3},   {"k", NULL, 0},       {"stay", NULL, 2},  {"q", NULL, 3},
		{"phases", NULL, 3}, {"formula", NULL, 3}, {"inside", NULL, 0}};
	struct page_table *table =
		page_table(page, "phases",
			   "Phases until a flow that has ended is gone (the 14th and later are not counted)",
			   columns, sizeof columns / sizeof columns[0]);

	for (unsigned i = 0; i < SETTINGS; i++) {
		const struct trial *t = &trials[i];

		page_row(table);
		page_number(table, t->s.load);
		page_number(table, t->s.k);
		page_number(table, t->s.stays);
		page_number(table, touched(&t->s));
		page_number(table, mean_phases(t, true));
		page_number(table, mean_phases(t, false));
		page_word(table, "%u of %u", inside(t), last_phase(t));
	}
}

static void write_curves(struct page *page, const struct trial *trials, const char *id, bool longer)
{
	struct page_plot *plot =
		page_plot(page, id,
			  longer ? "Still there: flows that go on, half of them each time"
				 : "Still there: flows within a phase",
			  (struct page_axis){.name = "phases after the end of a flow"},
			  (struct page_axis){.name = "of the flows", .unit = "%", .log = true});
	struct page_series *curve = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "formula");
	char name[60];

	for (unsigned i = 0; i < SETTINGS; i++) {
		const struct trial *t = &trials[i];
		struct page_series *dots;

		if ((t->s.stays > 0) != longer)
			continue;
		snprintf(name, sizeof name, "load %g, k = %u", t->s.load, t->s.k);
		dots = page_series(plot, PAGE_POINTS, STRUCTURE_DIRECT, name);
		for (unsigned j = 0; j <= last_phase(t); j++) {
			page_point_spread(dots, j, spread_times(mean_99(t->left[j], t->tables), 100));
			page_point(curve, j, 100 * t->expected[j]);
		}
		page_point(curve, 0, NAN); /* ends the line */
	}
}

static void write_steady(struct page *page, const struct trial *trials)
{
	static const struct page_column columns[] = {{"load", NULL, 3},  {"k", NULL, 0},
						     {"after", "%", 4},  {"q", "%", 4},
						     {"before", "%", 4}, {"of two", "%", 4}};
	struct page_table *table = page_table(
		page, "steady", "Cells taken after a tick (q), and before the next (those of two phases)",
		columns, sizeof columns / sizeof columns[0]);

	for (unsigned i = 0; i < SETTINGS && trials[i].s.stays == 0; i++) {
		const struct trial *t = &trials[i];
		double q = touched(&t->s);

		page_row(table);
		page_number(table, t->s.load);
		page_number(table, t->s.k);
		page_number(table, 100 * spread_of(t->after, t->tables).middle);
		page_number(table, 100 * q);
		page_number(table, 100 * spread_of(t->ahead, t->tables).middle);
		page_number(table, 100 * (1 - (1 - q) * (1 - q)));
	}
}

/* How many of the cohort's points lie inside, in percent: of the geometric ones, or of the others. */
static double share_inside(const struct trial *trials, bool longer)
{
	unsigned hits = 0, all = 0;

	for (unsigned i = 0; i < SETTINGS; i++)
		if ((trials[i].s.stays > 0) == longer) {
			hits += inside(&trials[i]);
			all += last_phase(&trials[i]);
		}
	return 100. * hits / all;
}

/* The greatest distance of a cell count from its formula, in percent of it. */
static double steady_distance(const struct trial *trials)
{
	double most = 0;

	for (unsigned i = 0; i < SETTINGS && trials[i].s.stays == 0; i++) {
		double q = touched(&trials[i].s);

		most = fmax(most, fabs(spread_of(trials[i].after, trials[i].tables).middle / q - 1));
		most = fmax(most, fabs(spread_of(trials[i].ahead, trials[i].tables).middle /
					       (1 - (1 - q) * (1 - q)) -
				       1));
	}
	return 100 * most;
}

static void write_page(struct page *page, const struct trial *trials)
{
	page_text(
		page,
		"A plain Bloom filter of %u cells with a timer bit each; %u tables for each setting. \"load\" "
		"is the number of new flows in a phase, times k, for each cell; \"stay\" is the probability "
		"that a flow continues into the next phase; q is the probability that a cell is touched in a "
		"phase. \"inside\": phases for which the formula lies in the 99 %% interval, of those with "
		"enough flows left.",
		trials[0].cells, trials[0].tables);
	write_table(page, trials);
	write_curves(page, trials, "geometric", false);
	page_text(page,
		  "If flows live within a phase, a cell is touched independently in each phase, and what is "
		  "left falls by the same factor each time, as the paper says. If flows continue, a touched "
		  "cell is likely to be touched again: the curves bend, and are less steep at their end.");
	write_curves(page, trials, "longer", true);
	write_steady(page, trials);
	page_verdict(
		page, share_inside(trials, false) >= 80 ? PAGE_AGREES : PAGE_DISAGREES,
		"3.2, geometric phases",
		"For flows that live within a phase, as the paper assumes, %.0f %% of the points lie in their 99 %% "
		"interval; flows that live longer leave cells that stay longer than geometric.",
		share_inside(trials, false));
	page_claim(page, share_inside(trials, false), PAGE_AT_LEAST, 80,
		   "flows within a phase: points of the geometric formula inside their 99 %% interval, in "
		   "percent");
	page_claim(page, share_inside(trials, true), PAGE_AT_LEAST, 80,
		   "flows that go on: points of the Markov chain inside their 99 %% interval, in percent");
	page_claim(
		page, steady_distance(trials), PAGE_AT_MOST, 1,
		"cells taken after and before a tick: greatest distance from the formula, in percent of it");
}

static int run(struct lab *lab, struct page *page)
{
	struct trial *trials = lab_alloc(SETTINGS, sizeof *trials);
	int error;

	for (unsigned i = 0; i < SETTINGS; i++) {
		struct trial *t = &trials[i];

		t->s = settings[i];
		t->cells = lab->size == LAB_QUICK ? 10000 : 50000;
		t->flows = (uint32_t)(t->s.load * t->cells / t->s.k);
		t->tables = lab->size == LAB_QUICK ? 12 : MOST_TABLES;
		t->seed = lab_seed(lab, i, 0);
	}
	error = lab_each(lab, SETTINGS, run_trial, trials);
	if (!error)
		write_page(page, trials);
	free(trials);
	return error;
}

const struct experiment experiment_timing = {
	.name = "timing",
	.title = "Phases until a dead cell is empty",
	.where = "ACSM 3.2",
	.shows = "Is the number of phases by which a cell outlives its flow geometrically distributed? For "
		 "flows within a phase, and for flows that continue.",
	.seconds = {2, 18, 18},
	.large = true,
	.run = run,
};
