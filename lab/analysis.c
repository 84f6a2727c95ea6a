/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sections 3.1, 3.3 and 3.4 of the ACSM paper: its formulas compared with the structures.
 *
 * n flows are inserted, in states of different frequency; then flows and strangers are looked up. Each choice
 * of parameters is measured with many tables, and the formula has to lie in the 99 % interval of their mean.
 * With L = k / m for filters of m cells, k of them for a flow, and n_i of the n flows in state i:
 *
 *   3.1  a pair (flow, state) that is not there is found   f = (1 - e^(-Ln))^k
 *        a flow is in doubt, s states                      1 - (1 - f)^(s-1)
 *   3.3  a flow in state i is in doubt                     (1 - e^(-L(n - n_i)))^k
 *        a stranger is in doubt                            D^k
 *        a stranger gets state i                           (V_i + D)^k - D^k
 *          a cell knows i only      V_i = e^(-L(n - n_i)) - e^(-Ln)
 *          a cell is in doubt       D = 1 - e^(-Ln) - sum V_i
 *   3.4  a stranger meets a fingerprint                    1 - (1 - p)^(n / b),  p = 1 / (2^f - 1)
 *        a flow meets a second one                         1 - (1 - p)^others
 *
 * Where the paper prints something else, that is computed as well. 3.1: e^(kn/m), the sign is missing. 3.3:
 * e^(-k(n - n_i)), without / m; and for the stranger in doubt
 *
 *     (1 - e^(-Ln))^k - (sum V_i)^k
 *
 * which is the probability that no cell is empty and not all of them know. But one cell that knows is enough
 * for an answer, or for absent if two disagree. 3.4: d h 2^-f, a bound for full buckets. Fingerprint 0 marks
 * an empty cell here, so there are 2^f - 1. The last formula is not in the paper, which only says that it
 * happens; `others` comes from dleft_ode.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <inkling/inkling.h>

#include "lab/experiments.h"
#include "lab/dleft_ode.h"
#include "lab/page.h"
#include "sim/seeded.h"

enum { POINTS = 24, MOST_TABLES = 40, MEASURES = 3, NEEDED = 20 };

/* ----------------------------------------------------------------- what is measured */

enum formula { PAIR, PAIR_DOUBT, FLOW_DOUBT, STRANGER_DOUBT, STRANGER_STATE, MEETS, MEETS_TWO, FORMULAS };

static const struct {
	const char *name, *where;
} formulas[FORMULAS] = {
	[PAIR] = {"DBF: pair found", "3.1"},
	[PAIR_DOUBT] = {"DBF: flow in doubt", "3.1"},
	[FLOW_DOUBT] = {"SBF: flow in doubt", "3.3"},
	[STRANGER_DOUBT] = {"SBF: stranger in doubt", "3.3"},
	[STRANGER_STATE] = {"SBF: stranger gets i", "3.3"},
	[MEETS] = {"FCF: stranger answered", "3.4"},
	[MEETS_TWO] = {"FCF: flow in doubt", "3.4"},
};

enum { DIRECT, STATEFUL, DLEFT, KINDS };
static const enum ink_kind kinds[KINDS] = {INK_DIRECT, INK_STATEFUL, INK_DLEFT};
static const enum formula first_formula[KINDS + 1] = {PAIR, FLOW_DOUBT, MEETS, FORMULAS};

/* One choice of parameters; each table gives a number for each of the kind's formulas. */
struct point {
	unsigned kind, number;
	unsigned watched; /* the state in the formulas of 3.3 */
	struct ink_geometry g;
	uint64_t flows, strangers;
	unsigned tables;
	uint64_t seed;
	double share[MEASURES][MOST_TABLES];
};

/* ------------------------------------------------------------------------- states */

/* Half of the flows are in state 0, the others in three more; in 3.1, eight equally frequent ones. */
enum { EQUAL_STATES = 8, STATES = 4 };
static const double part[STATES] = {.5, .25, .15, .1};

static unsigned states_of(const struct point *p)
{
	return p->kind == DIRECT ? EQUAL_STATES : STATES;
}

/* So that exactly n x part[i] of n flows in a row are in state i, if n is a multiple of 20. */
static unsigned state_of(const struct point *p, uint64_t flow)
{
	uint64_t place = flow % 20;

	if (p->kind == DIRECT)
		return (unsigned)(flow % EQUAL_STATES);
	return place < 10 ? 0 : place < 15 ? 1 : place < 18 ? 2 : 3;
}

/* ----------------------------------------------------------------------- computing */

/* e^(-L n) for n flows, or a part of them */
static double none(const struct point *p, double flows)
{
	return exp(-(double)p->g.k * flows / p->g.m);
}

static double knows(const struct point *p, unsigned state)
{
	double n = (double)p->flows;

	return none(p, n * (1 - part[state])) - none(p, n);
}

static double knows_any(const struct point *p)
{
	double sum = 0;

	for (unsigned i = 0; i < STATES; i++)
		sum += knows(p, i);
	return sum;
}

static double one_fingerprint(const struct point *p)
{
	return 1 / (ldexp(1, (int)p->g.f) - 1);
}

static double by_formula(const struct point *p, enum formula formula)
{
	double n = (double)p->flows, k = p->g.k, load = n / p->g.b;
	double doubt = p->kind == STATEFUL ? 1 - none(p, n) - knows_any(p) : 0;

	switch (formula) {
	case PAIR:
		return pow(1 - none(p, n), k);
	case PAIR_DOUBT:
		return 1 - pow(1 - pow(1 - none(p, n), k), EQUAL_STATES - 1);
	case FLOW_DOUBT:
		return pow(1 - none(p, n * (1 - part[p->watched])), k);
	case STRANGER_DOUBT:
		return pow(doubt, k);
	case STRANGER_STATE:
		return pow(knows(p, p->watched) + doubt, k) - pow(doubt, k);
	case MEETS:
		return 1 - pow(1 - one_fingerprint(p), load);
	default:
		return 1 - pow(1 - one_fingerprint(p), dleft_ode_others(p->g.d, p->g.h, load));
	}
}

/* As the paper has it; NAN: it prints the same, or nothing. */
static double as_printed(const struct point *p, enum formula formula)
{
	double n = (double)p->flows, k = p->g.k;

	switch (formula) {
	case PAIR:
		return pow(1 - 1 / none(p, n), k);
	case FLOW_DOUBT:
		return pow(1 - exp(-k * n * (1 - part[p->watched])), k);
	case STRANGER_DOUBT:
		return pow(1 - none(p, n), k) - pow(knows_any(p), k);
	case MEETS:
		return p->g.d * p->g.h * ldexp(1, -(int)p->g.f);
	default:
		return NAN;
	}
}

/* ------------------------------------------------------------------------ measuring */

/* Flows are numbered, strangers from here on. */
#define FIRST_STRANGER (1ull << 62)

struct tallies {
	uint64_t hits[MEASURES], of[MEASURES];
};

static void count(struct tallies *t, unsigned measure, bool hit)
{
	t->hits[measure] += hit;
	t->of[measure]++;
}

static void ask_flow(const struct point *p, const struct ink_table *table, uint64_t flow, struct tallies *t)
{
	static const unsigned measure[KINDS] = {PAIR_DOUBT - PAIR, FLOW_DOUBT - FLOW_DOUBT,
						MEETS_TWO - MEETS};
	uint64_t id = sim_id(p->seed, flow);

	if (p->kind != STATEFUL || state_of(p, flow) == p->watched)
		count(t, measure[p->kind], ink_peek(table, id) == INK_DONT_KNOW);
}

static void ask_stranger(const struct point *p, struct ink_table *table, uint64_t stranger, struct tallies *t)
{
	uint64_t id = sim_id(p->seed, FIRST_STRANGER + stranger);
	ink_answer answer;

	if (p->kind == DIRECT) {
		unsigned state = state_of(p, stranger);

		count(t, PAIR - PAIR, ink_lookup_in(table, id, state) != INK_ABSENT);
		return;
	}
	answer = ink_peek(table, id);
	if (p->kind == DLEFT) {
		count(t, MEETS - MEETS, answer != INK_ABSENT);
		return;
	}
	count(t, STRANGER_DOUBT - FLOW_DOUBT, answer == INK_DONT_KNOW);
	count(t, STRANGER_STATE - FLOW_DOUBT, answer == (ink_answer)p->watched);
}

static int measure_table(struct lab *lab, struct point *p, unsigned number)
{
	struct ink_options options = {.size = sizeof options,
				      .kind = kinds[p->kind],
				      .states = states_of(p),
				      .full = p->kind == DLEFT ? INK_REFUSE : INK_FULL_DEFAULT,
				      .seed = 1, /* ids come from the point's own */
				      .geometry = p->g};
	struct ink_why why;
	struct ink_table *table = ink_create(&options, &why);
	struct tallies t = {{0}, {0}};
	uint64_t from = number * p->flows, strangers = number * p->strangers;

	if (!table)
		return lab_fail(lab, -errno, "analysis, %s: %s", formulas[first_formula[p->kind]].name,
				why.text);
	for (uint64_t i = from; i < from + p->flows; i++)
		ink_insert(table, sim_id(p->seed, i), state_of(p, i));
	for (uint64_t i = from; i < from + p->flows; i++)
		ask_flow(p, table, i, &t);
	for (uint64_t i = strangers; i < strangers + p->strangers; i++)
		ask_stranger(p, table, i, &t);
	for (unsigned m = 0; m < MEASURES; m++)
		p->share[m][number] = (double)t.hits[m] / (double)t.of[m];
	ink_free(table);
	return 0;
}

static int run_point(struct lab *lab, void *points, size_t number)
{
	struct point *p = (struct point *)points + number;
	int error = 0;

	for (unsigned i = 0; i < p->tables && !error; i++)
		error = measure_table(lab, p, i);
	return error;
}

/* --------------------------------------------------------------------- parameters */

/* Cells for a flow, and cells in the filter for each of them, in 3.1 and in 3.3. */
enum { RATIOS = 6 };
static const unsigned direct_k[] = {2, 3, 4, 6}, stateful_k[] = {1, 2, 3, 4};
static const double direct_ratio[RATIOS] = {4, 6, 8, 10, 12, 16};
static const double stateful_ratio[RATIOS] = {1, 1.5, 2, 3, 4, 6};

static double ratio_of(const struct point *p)
{
	return (p->kind == DIRECT ? direct_ratio : stateful_ratio)[p->number % RATIOS];
}

/* 3 numbers of subtables, 2 heights, 2 lengths of fingerprints, 2 utilizations. */
static struct ink_geometry dleft_geometry(unsigned number, uint64_t flows)
{
	struct ink_geometry g = {.d = 2 + number % 3,
				 .h = number / 3 % 2 ? 8 : 6,
				 .f = number / 6 % 2 ? 10 : 8,
				 .side = INK_NO_SIDE,
				 .dleft_flags = INK_DLEFT_COPY};
	double used = number / 12 ? .6 : .4;

	g.b = (uint32_t)((double)flows / (g.d * g.h * used));
	return g;
}

static void make_point(const struct lab *lab, struct point *p, unsigned kind, unsigned number)
{
	bool quick = lab->size == LAB_QUICK;

	*p = (struct point){.kind = kind,
			    .number = number,
			    .watched = kind == STATEFUL ? number / RATIOS % STATES : 0,
			    .flows = quick ? 10000 : 40000,
			    .strangers = quick ? 40000 : 200000,
			    .tables = quick ? 12 : MOST_TABLES,
			    .seed = lab_seed(lab, kind, number)};
	if (kind == DLEFT) {
		p->g = dleft_geometry(number, p->flows);
		return;
	}
	p->g.k = (kind == DIRECT ? direct_k : stateful_k)[number / RATIOS];
	p->g.m = (uint32_t)((double)p->flows * ratio_of(p));
}

/* ----------------------------------------------------------------------- the page */

static struct spread measured(const struct point *p, enum formula formula)
{
	return mean_99(p->share[formula - first_formula[p->kind]], p->tables);
}

static bool inside(struct spread s, double number)
{
	return s.low <= number && number <= s.high;
}

struct fit {
	unsigned inside, printed; /* points; of the formula as printed */
	double off;               /* how far the formula is from the mean at most */
	double width;             /* half an interval, on the average; both as shares of the formula */
	bool differs;
};

static struct fit judge(const struct point *points, enum formula formula)
{
	struct fit v = {.inside = 0};

	for (unsigned i = 0; i < POINTS; i++) {
		struct spread s = measured(&points[i], formula);
		double expected = by_formula(&points[i], formula), printed = as_printed(&points[i], formula);

		v.inside += inside(s, expected);
		v.printed += inside(s, printed);
		v.off = fmax(v.off, fabs(s.middle / expected - 1));
		v.width += (s.high - s.low) / 2 / expected / POINTS;
		v.differs = !isnan(printed);
	}
	return v;
}

static const struct point *points_of(const struct point *points, enum formula formula)
{
	unsigned kind = 0;

	while (first_formula[kind + 1] <= formula)
		kind++;
	return points + (size_t)kind * POINTS;
}

static void write_table(struct page *page, const struct fit *fits)
{
	static const struct page_column columns[] = {
		{"formula", NULL, 0}, {"in", NULL, 0},    {"points", NULL, 0},    {"inside", NULL, 0},
		{"+-", "%", 2},       {"off by", "%", 2}, {"as printed", NULL, 0}};
	struct page_table *table =
		page_table(page, "formulas", "Points at which the formula lies in the 99 % interval", columns,
			   sizeof columns / sizeof columns[0]);

	for (unsigned i = 0; i < FORMULAS; i++) {
		const struct fit *v = &fits[i];

		page_row(table);
		page_word(table, "%s", formulas[i].name);
		page_word(table, "%s", formulas[i].where);
		page_number(table, POINTS);
		page_number(table, v->inside);
		page_number(table, 100 * v->width);
		page_number(table, 100 * v->off);
		if (v->differs)
			page_number(table, v->printed);
		else
			page_blank(table);
	}
}

/* For filters: a curve for each k, over the cells for each flow. */
static void write_filter_plot(struct page *page, const struct point *points, enum formula formula,
			      const char *id)
{
	struct page_plot *plot = page_plot(page, id, formulas[formula].name,
					   (struct page_axis){.name = "cells a flow", .log = true},
					   (struct page_axis){.name = "share", .unit = "%", .log = true});
	struct page_series *curve = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "formula");
	char name[40];

	for (unsigned i = 0; i < POINTS; i += RATIOS) {
		struct page_series *dots;

		snprintf(name, sizeof name, "k = %u", points[i].g.k);
		dots = page_series(plot, PAGE_POINTS, structure_of(kinds[points[i].kind]), name);
		for (unsigned j = i; j < i + RATIOS; j++) {
			page_point_spread(dots, ratio_of(&points[j]),
					  spread_times(measured(&points[j], formula), 100));
			page_point(curve, ratio_of(&points[j]), 100 * by_formula(&points[j], formula));
		}
		page_point(curve, ratio_of(&points[i]), NAN); /* ends the line */
	}
}

/* As printed beside as measured, for the largest k. */
static void write_printed_plot(struct page *page, const struct point *points)
{
	struct page_plot *plot = page_plot(page, "printed", "SBF: stranger in doubt, k = 4: what is printed",
					   (struct page_axis){.name = "cells a flow", .log = true},
					   (struct page_axis){.name = "share", .unit = "%", .log = true});
	struct page_series *dots = page_series(plot, PAGE_POINTS, STRUCTURE_STATEFUL, "measured");
	struct page_series *curve = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "corrected");
	struct page_series *paper = page_series(plot, PAGE_PAPER, STRUCTURE_STATEFUL, "as printed");

	for (unsigned i = POINTS - RATIOS; i < POINTS; i++) {
		double x = ratio_of(&points[i]);

		page_point_spread(dots, x, spread_times(measured(&points[i], STRANGER_DOUBT), 100));
		page_point(curve, x, 100 * by_formula(&points[i], STRANGER_DOUBT));
		page_point(paper, x, 100 * as_printed(&points[i], STRANGER_DOUBT));
	}
}

/* Over the fingerprints that a stranger meets, for both lengths of them. */
static void write_dleft_plot(struct page *page, const struct point *points)
{
	struct page_plot *plot =
		page_plot(page, "fcf", "FCF: fingerprints that match",
			  (struct page_axis){.name = "entries in the buckets of a flow, n / b"},
			  (struct page_axis){.name = "share", .unit = "%", .log = true});
	struct page_series *bound = page_series(plot, PAGE_PAPER, STRUCTURE_DLEFT, "the paper's bound");

	for (unsigned i = 0; i < POINTS; i++)
		page_point(bound, (double)points[i].flows / points[i].g.b,
			   100 * as_printed(&points[i], MEETS));
	for (enum formula formula = MEETS; formula <= MEETS_TWO; formula++) {
		struct page_series *dots =
			page_series(plot, PAGE_POINTS, STRUCTURE_DLEFT, formulas[formula].name);

		for (unsigned i = 0; i < POINTS; i++)
			page_point_spread(dots, (double)points[i].flows / points[i].g.b,
					  spread_times(measured(&points[i], formula), 100));
	}
}

static unsigned above_the_bound(const struct point *points)
{
	unsigned above = 0;

	for (unsigned i = 0; i < POINTS; i++)
		above += measured(&points[i], MEETS).middle > as_printed(&points[i], MEETS);
	return above;
}

/* The formula as printed fails where the corrected one holds. */
static enum page_agreement agreement_of(const struct fit *v)
{
	if (v->inside < NEEDED)
		return PAGE_DISAGREES;
	return v->differs && v->printed < NEEDED ? PAGE_IMPOSSIBLE : PAGE_AGREES;
}

static void write_verdicts(struct page *page, const struct point *points, const struct fit *fits)
{
	static const struct {
		enum formula formula;
		const char *of, *fault;
	} printed[] = {
		{PAIR, "3.1, a pair that is not there is found", "The sign of the exponent is missing"},
		{PAIR_DOUBT, "3.1, a flow is in doubt", "As printed"},
		{FLOW_DOUBT, "3.3, a flow is in doubt", "\"/ m\" is missing in the exponent"},
		{STRANGER_DOUBT, "3.3, a stranger is in doubt",
		 "It counts cells that know a state, but all k cells must be in doubt"}};
	unsigned above = above_the_bound(points_of(points, MEETS));

	for (unsigned i = 0; i < sizeof printed / sizeof printed[0]; i++) {
		const struct fit *v = &fits[printed[i].formula];

		if (v->differs)
			page_verdict(
				page, agreement_of(v), printed[i].of,
				"%s: as printed it lies in the 99 %% interval at %u of %d points, corrected at %u.",
				printed[i].fault, v->printed, POINTS, v->inside);
		else
			page_verdict(page, agreement_of(v), printed[i].of,
				     "%s it lies in the 99 %% interval at %u of %d points.", printed[i].fault,
				     v->inside, POINTS);
	}
	page_verdict(page, above ? PAGE_DISAGREES : PAGE_AGREES, "3.4, strangers answered: at most d h 2^-f",
		     "More are answered at %u of %d points.", above, POINTS);
}

static void write_claims(struct page *page, const struct point *points, const struct fit *fits)
{
	for (unsigned i = 0; i < FORMULAS; i++)
		page_claim(page, fits[i].inside, PAGE_AT_LEAST, NEEDED,
			   "%s (%s): points of %d at which the formula lies in the 99 %% interval",
			   formulas[i].name, formulas[i].where, POINTS);
	page_claim(page, above_the_bound(points_of(points, MEETS)), PAGE_AT_MOST, 0,
		   "FCF: points at which more strangers are answered than d h 2^-f");
}

static void write_page(struct page *page, const struct point *points)
{
	struct fit fits[FORMULAS];

	for (unsigned i = 0; i < FORMULAS; i++)
		fits[i] = judge(points_of(points, (enum formula)i), (enum formula)i);
	page_text(page,
		  "%u tables of %llu flows at each of %d points. \"+-\" is half the 99 %% interval "
		  "of their mean and \"off by\" the greatest distance of a formula from it, both in "
		  "percent of the formula. One point in a hundred lies outside by chance.",
		  points[0].tables, (unsigned long long)points[0].flows, POINTS);
	write_table(page, fits);
	page_text(
		page,
		"\"as printed\": points inside with the formula as the paper prints it, where that differs. A "
		"sign (3.1) and a \"/ m\" (3.3) are missing. The probability that a stranger is in doubt is "
		"printed as that of no empty cell minus that of k cells that know. But all k cells have to be "
		"in doubt; the two agree for k = 1 only. d h 2^-f is a bound.");
	write_filter_plot(page, points_of(points, PAIR), PAIR, "pair");
	write_filter_plot(page, points_of(points, FLOW_DOUBT), FLOW_DOUBT, "doubt");
	write_printed_plot(page, points_of(points, STRANGER_DOUBT));
	write_dleft_plot(page, points_of(points, MEETS));
	write_verdicts(page, points, fits);
	write_claims(page, points, fits);
}

static int run(struct lab *lab, struct page *page)
{
	struct point *points = lab_alloc(KINDS * POINTS, sizeof *points);
	int error;

	for (unsigned i = 0; i < KINDS * POINTS; i++)
		make_point(lab, &points[i], i / POINTS, i % POINTS);
	error = lab_each(lab, KINDS * POINTS, run_point, points);
	if (!error)
		write_page(page, points);
	free(points);
	return error;
}

const struct experiment experiment_analysis = {
	.name = "analysis",
	.title = "The formulas beside the structures",
	.where = "ACSM 3.1, 3.3, 3.4",
	.shows = "Do the structures err as often as the paper's formulas say? Many tables at 24 points for "
		 "each formula, as printed and corrected.",
	.seconds = {3, 45, 45},
	.large = true,
	.run = run,
};
