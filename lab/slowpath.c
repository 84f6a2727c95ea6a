/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow path (ACSM 3 and 3.4): a flow with a don't-know is handed to an exact structure, a TCAM or a table
 * by full id, and stays there until it ends. How large must that be, and which errors are left?
 *
 * Work and memory are those of Table 1. The slow path is assumed to find the state of the flow (that is what
 * makes it slow) and to make no errors. What is left are false positives and false negatives of flows for
 * which the table never answered don't-know. An entry of the exact table counts as 128 bits: the 96 of a
 * flow's key, state and links.
 */
#include <stdlib.h>

#include "lab/experiments.h"
#include "lab/table1.h"

enum { PART = 0x510, READINGS = 2, ROWS = 6, FIRST_ROW = 3, WAYS = 2, EXACT_BITS = 128 };

struct study {
	unsigned seeds;
	uint32_t divisor;
	struct simple_result *results; /* [reading][seed][row][without, with] */
};

static struct simple_result *result_of(const struct study *study, size_t reading, size_t seed, size_t row)
{
	return &study->results[((reading * study->seeds + seed) * ROWS + row) * WAYS];
}

/* One job: all rows of SBF and FCF, each with and without. */
static int one_run(struct lab *lab, void *context, size_t number)
{
	struct study *study = context;
	size_t reading = number % READINGS, seed = number / READINGS;
	struct simple_table tables[ROWS * WAYS];
	struct simple_run run = {.reading = (enum reading)reading,
				 .traffic = {.seed = lab_seed(lab, PART, seed)},
				 .tables = tables,
				 .count = ROWS * WAYS,
				 .divisor = study->divisor};

	for (size_t i = 0; i < run.count; i++) {
		tables[i] = table1_rows[FIRST_ROW + i / WAYS].table;
		tables[i].slow_path = i % WAYS;
	}
	return simple_run(lab, &run, result_of(study, reading, seed, 0), NULL);
}

/* --------------------------------------------------------------------- the numbers */

static double errors_without(const struct simple_result *pair)
{
	return 100 * simple_errors(&pair[0]);
}

static double errors_left(const struct simple_result *pair)
{
	struct simple_result sure = pair[1];

	sure.dont_know = 0;
	return 100 * simple_errors(&sure);
}

static double sent(const struct simple_result *pair)
{
	return simple_dont_knows(&pair[1]);
}

static double at_once(const struct simple_result *pair)
{
	return pair[1].slow_most;
}

static double memory(const struct simple_result *pair)
{
	return 100 * pair[1].slow_most * EXACT_BITS / pair[1].bits;
}

static struct spread over_seeds(const struct study *study, size_t reading, size_t row, simple_number *number)
{
	const struct simple_result *first = result_of(study, reading, 0, row);
	struct spread spread = simple_spread(first, (size_t)ROWS * WAYS, study->seeds, number);

	return number == at_once ? spread_times(spread, study->divisor) : spread;
}

/* ------------------------------------------------------------------------ the page */

static void tabulate(const struct study *study, struct page *page)
{
	static const struct page_column columns[] = {{"row", NULL, 0},        {"without", "%", 3},
						     {"sent", "%", 3},        {"left", "%", 3},
						     {"at once", "flows", 3}, {"memory", "%", 3}};
	static simple_number *const numbers[] = {errors_without, sent, errors_left, at_once, memory};
	struct page_table *table =
		page_table(page, "rows", "Errors without a slow path and with one, and its size", columns, 6);

	for (size_t row = 0; row < ROWS; row++)
		for (size_t reading = 0; reading < READINGS; reading++) {
			page_row(table);
			page_word(table, "%s, %c", table1_rows[FIRST_ROW + row].name,
				  table1_letter((enum reading)reading));
			for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
				page_spread(table, over_seeds(study, reading, row, numbers[i]));
		}
}

static void draw(const struct study *study, struct page *page, size_t reading)
{
	static const char *const ids[] = {"left-a", "left-b"},
				 *const titles[] = {
					 "Errors left against memory, slow path included, interpretation A",
					 "Errors left against memory, slow path included, interpretation B"};
	static const char *const names[] = {"stateful", "stateful + slow path", "dleft", "dleft + slow path"};
	struct page_plot *plot = page_plot(page, ids[reading], titles[reading],
					   (struct page_axis){"memory", "Mbit", true, 0, 0},
					   (struct page_axis){"flows with an error", "%", true, 0, 0});

	for (size_t way = 0; way < 4; way++) {
		struct page_series *series = page_series(
			plot, PAGE_LINE, way < 2 ? STRUCTURE_STATEFUL : STRUCTURE_DLEFT, names[way]);

		for (size_t row = way / 2 * 3; row < way / 2 * 3 + 3; row++) {
			double bits = table1_rows[FIRST_ROW + row].bits / 1048576,
			       more = over_seeds(study, reading, row, memory).middle / 100;

			page_point_spread(
				series, way % 2 ? bits * (1 + more) : bits,
				over_seeds(study, reading, row, way % 2 ? errors_left : errors_without));
		}
	}
}

static void write_page(const struct study *study, struct page *page)
{
	page_text(
		page,
		"Flows with any error in percent of all, without a slow path (don't-knows are errors then); "
		"flows sent to it; errors that are left, false positives and false negatives; the most flows "
		"on the slow path at once, after the first period of the timer; and the memory of an exact "
		"table for that many, in percent of the memory of the row with its timer.");
	tabulate(study, page);
	for (size_t reading = 0; reading < READINGS; reading++)
		draw(study, page, reading);
}

static int run_slowpath(struct lab *lab, struct page *page)
{
	struct study study = {.seeds = lab->seeds, .divisor = lab->size == LAB_QUICK ? 32 : 2};
	size_t jobs = (size_t)READINGS * study.seeds;
	int error;

	study.results = lab_alloc(jobs * ROWS * WAYS, sizeof *study.results);
	error = lab_each(lab, jobs, one_run, &study);
	if (!error)
		write_page(&study, page);
	free(study.results);
	return error;
}

const struct experiment experiment_slowpath = {
	.name = "slowpath",
	.title = "The slow path: flows in doubt go to an exact table",
	.where = "ACSM 3 and 3.4",
	.shows = "If every flow about which the table does not know is handed to an exact table until it "
		 "ends: how large that becomes, and which errors are left, for the stateful filter and the "
		 "FCF in each row's memory.",
	.seconds = {3, 40, 40},
	.run = run_slowpath,
};
