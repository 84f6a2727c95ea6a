/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same work in the same memory: how `line` and `compact` use the bits of each FCF row of Table 1, with the
 * timer (552,960, 1,130,496 and 2,260,992).
 *
 * Row 1 has 15.4 bits for each of 36,000 flows, 5 of them for state and timer. So the cells are nearly full,
 * the fingerprints have seven bits besides those that the position in the line encodes, and collisions are
 * frequent. A side entry for a colliding flow costs as much as five cells if it holds most of the id, and two
 * or three if it holds part of it. Row 2 has room for errors of one in a million.
 *
 * A search chooses the geometries for each interpretation, on a stream of packets of its own; other streams
 * then measure the errors. Side tables are counted. Bookkeeping that every table has (counters, clock, locks)
 * is not, as in the paper.
 */
#include <math.h>
#include <stdlib.h>

#include "lab/candidates.h"
#include "lab/experiments.h"
#include "lab/table1.h"

enum { PART_SEARCH = 0xbe01, PART_MEASURE = 0xbe02, READINGS = 2, ROWS = 3 };

/* The ways: as the paper does it, and these two. */
enum { FCF, LINE, COMPACT, WAYS };
static const char *const ways[WAYS] = {"FCF", "line", "compact"};

struct search {
	unsigned seeds;
	uint32_t divisor;
	struct simple_table best[READINGS][ROWS][WAYS];
	struct simple_result *results; /* [reading][row][seed][way] */
};

/* ------------------------------------------------------------------------ the search */

/* One job: a reading and a row, all candidates of both kinds. A third of the flows is enough to choose by. */
static int search_one(struct lab *lab, void *context, size_t number)
{
	struct search *search = context;
	size_t reading = number % READINGS, row = number / READINGS;
	const struct table1_row *fcf = &table1_rows[TABLE1_FIRST_FCF + row];
	struct simple_table tables[2 * CANDIDATES_MOST], *best = search->best[reading][row];
	struct simple_result results[2 * CANDIDATES_MOST];
	struct simple_run run = {.reading = (enum reading)reading,
				 .traffic = {.seed = lab_seed(lab, PART_SEARCH, row), .flows = 333333},
				 .tables = tables,
				 .divisor = search->divisor};
	struct candidates_request request = candidates_for(run.reading, fcf->bits, run.divisor);
	size_t lines = candidates(INK_LINE, &request, tables);
	int error;

	run.count = lines + candidates(INK_COMPACT, &request, &tables[lines]);
	error = simple_run(lab, &run, results, NULL);
	if (error)
		return error;
	best[FCF] = fcf->table;
	best[LINE] = *candidates_best(tables, results, lines);
	best[COMPACT] = *candidates_best(&tables[lines], &results[lines], run.count - lines);
	return 0;
}

/* ---------------------------------------------------------------------- the measurement */

static struct simple_result *result_of(const struct search *search, size_t reading, size_t row, size_t seed)
{
	return &search->results[((reading * ROWS + row) * search->seeds + seed) * WAYS];
}

static int measure_one(struct lab *lab, void *context, size_t number)
{
	struct search *search = context;
	size_t seed = number % search->seeds, reading = number / search->seeds % READINGS,
	       row = number / search->seeds / READINGS;
	struct simple_run run = {.reading = (enum reading)reading,
				 .traffic = {.seed = lab_seed(lab, PART_MEASURE + row * 16, seed)},
				 .tables = search->best[reading][row],
				 .count = WAYS,
				 .divisor = search->divisor};

	return simple_run(lab, &run, result_of(search, reading, row, seed), NULL);
}

/* Flows with an error, in a million. */
static struct spread errors_of(const struct search *search, size_t reading, size_t row, size_t way)
{
	const struct simple_result *first = &result_of(search, reading, row, 0)[way];

	return spread_times(simple_spread(first, WAYS, search->seeds, simple_errors), 1e6);
}

static double least_errors(const struct search *search, size_t reading, size_t row)
{
	return fmin(errors_of(search, reading, row, 1).middle, errors_of(search, reading, row, 2).middle);
}

/* ----------------------------------------------------------------------------- the page */

static void write_errors(const struct search *search, struct page *page)
{
	static const struct page_column columns[] = {{"row", NULL, 0},   {"memory", "bit", 7},
						     {"paper", NULL, 3}, {"FCF", NULL, 3},
						     {"line", NULL, 3},  {"compact", NULL, 3}};
	struct page_table *table =
		page_table(page, "errors", "Flows with an error, in a million", columns, 6);

	for (size_t row = 0; row < ROWS; row++)
		for (size_t reading = 0; reading < READINGS; reading++) {
			const struct table1_row *fcf = &table1_rows[TABLE1_FIRST_FCF + row];

			page_row(table);
			page_word(table, "%s, %c", fcf->name, table1_letter((enum reading)reading));
			page_number(table, fcf->bits);
			page_number(table, 1e6 * table1_errors(fcf));
			for (size_t way = 0; way < WAYS; way++)
				page_spread(table, errors_of(search, reading, row, way));
		}
}

/* What the errors of one way consist of, over all seeds, in a million flows. */
static void write_one_choice(const struct search *search, struct page_table *table, size_t reading,
			     size_t row, size_t way)
{
	struct simple_result sum = {.bits = 0};
	double flows = 0;
	char text[64];

	for (size_t seed = 0; seed < search->seeds; seed++) {
		const struct simple_result *r = &result_of(search, reading, row, seed)[way];

		sum.false_positive += r->false_positive;
		sum.false_negative += r->false_negative;
		sum.dont_know += r->dont_know;
		sum.bits = r->bits;
		flows += r->flows[SIM_INTERESTING] + r->flows[SIM_NOISE] + r->flows[SIM_RANDOM];
	}
	page_row(table);
	page_word(table, "%s, %c, %s", table1_rows[TABLE1_FIRST_FCF + row].name,
		  table1_letter((enum reading)reading), ways[way]);
	page_word(table, "%s", candidate_name(&search->best[reading][row][way], text, sizeof text));
	page_number(table, sum.bits * search->divisor);
	page_number(table, 1e6 * sum.false_positive / flows);
	page_number(table, 1e6 * sum.false_negative / flows);
	page_number(table, 1e6 * sum.dont_know / flows);
}

static void write_choices(const struct search *search, struct page *page)
{
	static const struct page_column columns[] = {{"table", NULL, 0},   {"geometry", NULL, 0},
						     {"memory", "bit", 7}, {"FP", NULL, 3},
						     {"FN", NULL, 3},      {"DK", NULL, 3}};
	struct page_table *table = page_table(
		page, "geometries", "The geometries, and their errors in a million flows", columns, 6);

	for (size_t row = 0; row < ROWS; row++)
		for (size_t reading = 0; reading < READINGS; reading++)
			for (size_t way = 0; way < WAYS; way++)
				write_one_choice(search, table, reading, row, way);
}

/* By no more than what one flow in all would make of it. */
static double times_fewer(const struct search *search, size_t reading, size_t row)
{
	double one = (double)search->divisor / search->seeds; /* in a million */

	return errors_of(search, reading, row, 0).middle / fmax(least_errors(search, reading, row), one);
}

static void write_claims(const struct search *search, struct page *page)
{
	page_claim(
		page, times_fewer(search, TABLE1_STATED, 0), PAGE_AT_LEAST, 10,
		"row 1, interpretation A: the better of line and compact has so many times fewer erroneous flows "
		"than the FCF in the same bits");
	page_claim(
		page, least_errors(search, TABLE1_STATED, 1), PAGE_AT_MOST, 2,
		"row 2, interpretation A: erroneous flows in a million with the better of line and compact");
}

static void write_page(const struct search *search, struct page *page)
{
	page_text(
		page,
		"The packets of Table 1, in the bits that each FCF row takes with its timer. line and compact "
		"never answer wrongly about a flow that was inserted and found room. Their errors are "
		"strangers (random flows at their end; under B also noise before its first trigger), flows "
		"that pause for longer than the timer allows, and flows that arrived when the table or its "
		"side table was full.");
	page_text(
		page,
		"An entry of the side table takes 80 bits (64, and a quarter more for free entries), or 40 if "
		"it keeps only part of the id (\"narrow\"). Flows of one line that share that part are confused, "
		"which is rare compared with the other errors. If the side table is too small, a flow that finds "
		"no entry reads as the flow that it collides with.");
	write_errors(search, page);
	write_claims(search, page);
	page_fold(page, "Geometries");
	write_choices(search, page);
}

static int run_beyond(struct lab *lab, struct page *page)
{
	struct search *search = lab_alloc(1, sizeof *search);
	size_t jobs = (size_t)READINGS * ROWS;
	int error;

	search->seeds = lab->seeds;
	search->divisor = simple_divisor(lab);
	search->results = lab_alloc(jobs * lab->seeds * WAYS, sizeof *search->results);
	error = lab_each(lab, jobs, search_one, search);
	if (!error)
		error = lab_each(lab, jobs * lab->seeds, measure_one, search);
	if (!error)
		write_page(search, page);
	free(search->results);
	free(search);
	return error;
}

const struct experiment experiment_beyond = {
	.name = "beyond",
	.title = "Beyond Table 1: line and compact in the same bits",
	.where = "ACSM 5.1, Table 1, FCF rows",
	.shows = "How many flows do line and compact get wrong in the memory of each FCF row, timer and side "
		 "table counted, with the best geometry that a search finds?",
	.interpretation = TABLE1_INTERPRETATION,
	.seconds = {7, 80, 80},
	.rounds = 2,
	.run = run_beyond,
};
