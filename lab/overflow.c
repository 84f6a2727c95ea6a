/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Section 3.4 of the ACSM paper: how full may the buckets be?
 *
 * d-left hashing keeps loads so even that with d = 3, h = 6 and two thirds of the cells taken buckets hardly
 * ever overflow. The paper puts the share of buckets that would hold a seventh entry at 5.6 x 10^-31, and
 * says that overflow is remarkably rare with deletions, too. Larger d and h allow higher loads.
 *
 * Here tables are filled until the first flow finds no room, and held at a load while random flows are
 * replaced. The experiment counts the inserts that find no room. They go to a side table, and fingerprints
 * are long, so nothing else fails. `line` and `compact` have two choices and move an entry to its other line
 * when both are full.
 *
 * dleft_ode.h predicts a fresh filling of very many buckets.
 *
 * Result: 5.57 x 10^-31, and no overflow at two thirds, in churn either. One step of displacement takes lines
 * of 24 and more entries beyond .95.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <inkling/inkling.h>

#include "lab/experiments.h"
#include "lab/dleft_ode.h"
#include "lab/page.h"
#include "sim/seeded.h"

struct shape {
	const char *name;
	enum ink_kind kind;
	struct ink_geometry g; /* b is set for the number of cells */
};

/* Numbers of shapes: the paper's, the first after those of d-left, the first line of 24 entries and more. */
enum { PAPERS = 3, DLEFT_END = 7, ROOMY = 8 };

static const struct shape shapes[] = {
	{"d 1, h 6", INK_DLEFT, {.d = 1, .h = 6, .f = 30}},
	{"d 2, h 6", INK_DLEFT, {.d = 2, .h = 6, .f = 30}},
	{"d 3, h 4", INK_DLEFT, {.d = 3, .h = 4, .f = 30}},
	{"d 3, h 6", INK_DLEFT, {.d = 3, .h = 6, .f = 30}},
	{"d 3, h 8", INK_DLEFT, {.d = 3, .h = 8, .f = 30}},
	{"d 4, h 6", INK_DLEFT, {.d = 4, .h = 6, .f = 30}},
	{"d 4, h 9", INK_DLEFT, {.d = 4, .h = 9, .f = 30}},
	{"line of 16", INK_LINE, {.h = 16}},
	{"line of 24", INK_LINE, {.h = 24}},
	{"line of 32", INK_LINE, {.h = 32}},
	{"compact of 32", INK_COMPACT, {.h = 32, .f = 10}},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

enum { WARM = 2, REPLACED = 2 }; /* replacements of each flow: before counting, and counted */

/* Flows for each cell. */
enum { LOADS = 9, TWO_THIRDS = 0, AT_75 = 2, AT_85 = 4, AT_95 = 6 };
static const double loads[LOADS] = {2. / 3, .70, .75, .80, .85, .90, .95, .97, .99};

/*
 * What is measured: the load at which the first flow found no room (1: none up to .99); the share of the flows
 * for which there was none in filling up to a load; and of those that came later, in churn.
 */
enum { FIRST, FRESH, CHURN = FRESH + LOADS, NUMBERS = CHURN + LOADS };

/* One shape in one run: kept at one load after the other, then filled to the brim. */
struct trial {
	const struct shape *shape;
	uint64_t cells, seed;
	double numbers[NUMBERS];
	uint64_t came; /* in churn at two thirds */
};

/* ------------------------------------------------------------------------ one table */

static struct ink_table *make_table(struct lab *lab, const struct trial *t)
{
	struct ink_options o = {.size = sizeof o,
				.kind = t->shape->kind,
				.states = 1,
				.full = INK_REFUSE,
				.seed = 1, /* ids come from the trial's own */
				.geometry = t->shape->g};
	struct ink_why why;
	struct ink_table *table;

	o.geometry.b = (uint32_t)(t->cells / o.geometry.h / (o.geometry.d ? o.geometry.d : 1));
	o.geometry.side = (uint32_t)(t->cells / 2);
	table = ink_create(&o, &why);
	if (!table)
		lab_fail(lab, -errno, "overflow, %s: %s", t->shape->name, why.text);
	return table;
}

static uint64_t overflows(const struct ink_table *table)
{
	struct ink_stats stats = {.size = sizeof stats};

	ink_stats(table, &stats);
	return stats.overflowed;
}

static uint64_t cells_of(const struct ink_table *table)
{
	struct ink_stats stats = {.size = sizeof stats};

	ink_stats(table, &stats);
	return stats.cells;
}

/* ink_stats walks the table, so it is called only after each thousandth of the cells. */
static void fill_to_the_brim(struct trial *t, struct ink_table *table)
{
	uint64_t cells = cells_of(table), step = cells / 1000, flow = 0, lost = 0;

	t->numbers[FIRST] = 1;
	for (unsigned i = 0; i < LOADS; i++) {
		uint64_t end = (uint64_t)(loads[i] * (double)cells);

		while (flow < end) {
			uint64_t stop = flow + step < end ? flow + step : end;

			for (; flow < stop; flow++)
				ink_insert(table, sim_id(t->seed, flow), 0);
			lost = overflows(table);
			if (lost && t->numbers[FIRST] == 1)
				t->numbers[FIRST] = (double)flow / (double)cells;
		}
		t->numbers[FRESH + i] = (double)lost / (double)flow;
	}
}

/* A random flow is replaced by a new one. */
static void replace(const struct trial *t, struct ink_table *table, uint64_t *flows, uint64_t count,
		    uint64_t number)
{
	uint64_t *place = &flows[sim_below(sim_mix(t->seed ^ number), count)];

	ink_delete(table, sim_id(t->seed, *place));
	*place = number;
	ink_insert(table, sim_id(t->seed, number), 0);
}

static void churn_at(struct trial *t, struct ink_table *table, unsigned load)
{
	uint64_t count = (uint64_t)(loads[load] * (double)cells_of(table)), number = count, before;
	uint64_t *flows = lab_alloc(count, sizeof *flows);

	for (uint64_t i = 0; i < count; i++) {
		flows[i] = i;
		ink_insert(table, sim_id(t->seed, i), 0);
	}
	for (uint64_t warm = number + WARM * count; number < warm; number++)
		replace(t, table, flows, count, number);
	before = overflows(table);
	for (uint64_t end = number + REPLACED * count; number < end; number++)
		replace(t, table, flows, count, number);
	t->numbers[CHURN + load] = (double)(overflows(table) - before) / (double)(REPLACED * count);
	t->came += load == TWO_THIRDS ? REPLACED * count : 0;
	free(flows);
}

static int run_trial(struct lab *lab, void *trials, size_t number)
{
	struct trial *t = (struct trial *)trials + number;

	for (unsigned i = 0; i <= LOADS; i++) {
		struct ink_table *table = make_table(lab, t);

		if (!table)
			return -EINVAL;
		if (i == LOADS)
			fill_to_the_brim(t, table);
		else
			churn_at(t, table, i);
		ink_free(table);
	}
	return 0;
}

/* ------------------------------------------------------------------------- the page */

/* Over the seeds of one shape. */
static struct spread over_seeds(const struct lab *lab, const struct trial *trials, unsigned number)
{
	double *numbers = lab_alloc(lab->seeds, sizeof *numbers);
	struct spread s;

	for (unsigned i = 0; i < lab->seeds; i++)
		numbers[i] = trials[i].numbers[number];
	s = spread_of(numbers, lab->seeds);
	free(numbers);
	return s;
}

static void write_first(struct page_table *table, struct spread first)
{
	if (first.low == 1)
		page_word(table, "none");
	else
		page_spread(table, first);
}

static void write_table(const struct lab *lab, struct page *page, const struct trial *trials)
{
	static const struct page_column columns[] = {{"table", NULL, 0},   {"first", NULL, 3},
						     {"at 2/3", "ppm", 3}, {"at .75", "ppm", 3},
						     {"at .85", "ppm", 3}, {"at .95", "ppm", 3}};
	static const unsigned shown[] = {TWO_THIRDS, AT_75, AT_85, AT_95};
	struct page_table *table =
		page_table(page, "loads",
			   "Load at the first overflow of a filling; overflows of a million inserts in churn",
			   columns, sizeof columns / sizeof columns[0]);

	for (unsigned i = 0; i < SHAPES; i++, trials += lab->seeds) {
		page_row(table);
		page_word(table, "%s", shapes[i].name);
		write_first(table, over_seeds(lab, trials, FIRST));
		for (unsigned j = 0; j < sizeof shown / sizeof shown[0]; j++)
			page_number(table, 1e6 * over_seeds(lab, trials, CHURN + shown[j]).middle);
	}
}

static void write_churn_plot(const struct lab *lab, struct page *page, const struct trial *trials)
{
	struct page_plot *plot =
		page_plot(page, "churn", "Inserts that find no room, in churn",
			  (struct page_axis){.name = "flows for each cell"},
			  (struct page_axis){.name = "of all inserts", .unit = "%", .log = true});

	for (unsigned i = 0; i < SHAPES; i++, trials += lab->seeds) {
		struct page_series *series =
			page_series(plot, PAGE_LINE, structure_of(shapes[i].kind), shapes[i].name);

		for (unsigned j = 0; j < LOADS; j++)
			page_point(series, loads[j], 100 * over_seeds(lab, trials, CHURN + j).middle);
	}
}

/* The share of the flows that a fresh filling loses, with very many buckets. */
static double limit_lost(const struct ink_geometry *g, double load)
{
	struct dleft_ode ode;
	double items = load * g->d * g->h;

	dleft_ode_begin(&ode, g->d, g->h);
	dleft_ode_fill(&ode, items);
	return 1 - dleft_ode_items(&ode) / items;
}

static void write_fresh_plot(const struct lab *lab, struct page *page, const struct trial *trials)
{
	struct page_plot *plot =
		page_plot(page, "fresh", "Flows that find no room, in a fresh filling",
			  (struct page_axis){.name = "flows for each cell"},
			  (struct page_axis){.name = "of all flows", .unit = "%", .log = true});
	struct page_series *curve = page_series(plot, PAGE_CURVE, STRUCTURE_NONE, "fluid limit");

	for (unsigned i = 0; i < DLEFT_END; i++, trials += lab->seeds) {
		struct page_series *dots =
			page_series(plot, PAGE_POINTS, structure_of(shapes[i].kind), shapes[i].name);

		for (unsigned j = 0; j < LOADS; j++) {
			double expected = limit_lost(&shapes[i].g, loads[j]);

			page_point(dots, loads[j], 100 * over_seeds(lab, trials, FRESH + j).middle);
			if (expected > 1e-7)
				page_point(curve, loads[j], 100 * expected);
		}
		page_point(curve, loads[LOADS - 1], NAN); /* ends the line */
	}
}

/* The paper's number: buckets with a seventh entry, if they had room for it. */
static double seventh_entry(void)
{
	struct dleft_ode ode;

	dleft_ode_begin(&ode, 3, 12);
	dleft_ode_fill(&ode, 12);
	return dleft_ode_share(&ode, 7);
}

/* How far the measured loss is from the fluid's, at .99, at most. */
static double distance_from_limit(const struct lab *lab, const struct trial *trials)
{
	double most = 0;

	for (unsigned i = 0; i < DLEFT_END; i++, trials += lab->seeds) {
		double expected = limit_lost(&shapes[i].g, loads[LOADS - 1]);
		double off = over_seeds(lab, trials, FRESH + LOADS - 1).middle / expected - 1;

		most = off > most ? off : -off > most ? -off : most;
	}
	return most;
}

static void write_claims(const struct lab *lab, struct page *page, const struct trial *trials)
{
	const struct trial *papers = trials + (size_t)PAPERS * lab->seeds;

	page_verdict(page, fabs(1e31 * seventh_entry() - 5.6) <= .1 ? PAGE_AGREES : PAGE_DISAGREES,
		     "3.4, overflow of 5.6e-31", "The fluid limit for d = 3, h = 6 at two thirds is %.3g.",
		     seventh_entry());
	page_verdict(page,
		     over_seeds(lab, papers, CHURN + TWO_THIRDS).high == 0 ? PAGE_AGREES : PAGE_DISAGREES,
		     "3.4, two thirds full is safe with deletions",
		     "%.3g overflows in a million inserts of churn at two thirds, %.3g at three quarters.",
		     1e6 * over_seeds(lab, papers, CHURN + TWO_THIRDS).middle,
		     1e6 * over_seeds(lab, papers, CHURN + AT_75).middle);
	page_claim_within(page, 1e31 * seventh_entry(), 5.5, 5.7,
			  "d = 3, h = 6, two thirds full: buckets that overflow, times 10^31, in the limit");
	page_claim(page, 1e6 * over_seeds(lab, papers, CHURN + TWO_THIRDS).high, PAGE_AT_MOST, 0,
		   "d = 3, h = 6, two thirds full, in churn: overflows of a million inserts (%llu came in "
		   "each run)",
		   (unsigned long long)papers->came);
	for (unsigned i = ROOMY; i < SHAPES; i++)
		page_claim(page, 1e6 * over_seeds(lab, trials + (size_t)i * lab->seeds, CHURN + AT_95).high,
			   PAGE_AT_MOST, 0, "%s, load .95, in churn: overflows of a million inserts",
			   shapes[i].name);
	page_claim(page, 100 * distance_from_limit(lab, trials), PAGE_AT_MOST,
		   lab->size == LAB_QUICK ? 20 : 10,
		   "a fresh filling to .99: greatest distance of the flows lost from the fluid limit, in "
		   "percent of it");
}

static void write_page(const struct lab *lab, struct page *page, const struct trial *trials)
{
	page_text(
		page,
		"Tables of %llu cells are filled until a flow finds no room, and held at a load while each "
		"flow is replaced %d times, after as many replacements that do not count. Overflow goes to a "
		"side table. With d = 3, h = 6 and two thirds full, a share of %.2g of the buckets would "
		"overflow in a fresh filling of very many (fluid limit; the paper: 5.6e-31).",
		(unsigned long long)trials->cells, REPLACED, seventh_entry());
	write_table(lab, page, trials);
	page_text(
		page,
		"Churn is harder than a fresh filling: a flow that arrived in a crowded bucket stays where it "
		"is when the others have gone. line and compact have two choices and move an entry to its "
		"other line when both are full; dleft moves nothing. A few flows in a thousand that cannot be "
		"distinguished from others are in the side table and take no cell.");
	write_churn_plot(lab, page, trials);
	write_fresh_plot(lab, page, trials);
	write_claims(lab, page, trials);
}

static int run(struct lab *lab, struct page *page)
{
	size_t count = (size_t)SHAPES * lab->seeds;
	struct trial *trials = lab_alloc(count, sizeof *trials);
	int error;

	for (size_t i = 0; i < count; i++)
		trials[i] = (struct trial){.shape = &shapes[i / lab->seeds],
					   .cells = lab->size == LAB_QUICK ? 14400 : 108000,
					   .seed = lab_seed(lab, i / lab->seeds, i % lab->seeds)};
	error = lab_each(lab, count, run_trial, trials);
	if (!error)
		write_page(lab, page, trials);
	free(trials);
	return error;
}

const struct experiment experiment_overflow = {
	.name = "overflow",
	.title = "How full the buckets may be",
	.where = "ACSM 3.4",
	.shows = "When do inserts find no room, for d choices of buckets of h, in a fresh filling and in "
		 "churn? What does moving one entry add?",
	.seconds = {4, 50, 50},
	.run = run,
};
