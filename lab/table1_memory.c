/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors against memory on the work of Table 1, for every kind of table.
 *
 * As in the paper, each point has its best parameters. All candidates (k for the Bloom filters; d, h and f for
 * d-left; the division of lines and the size of the side table for line and compact) see the same packets, an
 * eighth of the flows in an eighth of the memory. The one with the fewest erroneous flows is then measured with
 * more. Timers are counted for all kinds; kbf has none, and needs none here, since all flows end properly.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/candidates.h"
#include "lab/table1.h"

enum { PART_SEARCH = 0x7402, PART_MEASURE = 0x7403, READINGS = 2, KINDS = 6, POINTS = 5 };

static const struct {
	enum ink_kind kind;
	const char *name;
} kinds[KINDS] = {{INK_DIRECT, "direct"}, {INK_STATEFUL, "stateful"}, {INK_KBF, "kbf"},
		  {INK_DLEFT, "dleft"},   {INK_LINE, "line"},         {INK_COMPACT, "compact"}};

static const double megabits[POINTS] = {.25, .5, 1, 2, 4};

/* Quick runs have the three in the middle. */
static size_t points_of(const struct lab *lab)
{
	return lab->size == LAB_QUICK ? 3 : POINTS;
}

struct search {
	unsigned seeds;
	size_t first, points; /* of megabits */
	struct simple_table best[READINGS][POINTS][KINDS];
	struct simple_result *results; /* [reading][point][seed][kind] */
};

/* ----------------------------------------------------------------------- the search */

/* One job: a reading and a memory, all candidates of all kinds. Long ones, of large memories, first. */
static int search_one(struct lab *lab, void *context, size_t number)
{
	struct search *search = context;
	size_t reading = number % READINGS, point = search->first + search->points - 1 - number / READINGS,
	       from[KINDS + 1] = {0};
	struct simple_table tables[KINDS * CANDIDATES_MOST];
	struct simple_result results[KINDS * CANDIDATES_MOST];
	struct simple_run run = {.reading = (enum reading)reading,
				 .traffic = {.seed = lab_seed(lab, PART_SEARCH, point)},
				 .tables = tables,
				 .divisor = lab->size == LAB_QUICK ? 32 : 8};
	struct candidates_request request =
		candidates_for(run.reading, megabits[point] * 1048576, run.divisor);
	int error;

	for (size_t kind = 0; kind < KINDS; kind++)
		from[kind + 1] = from[kind] + candidates(kinds[kind].kind, &request, &tables[from[kind]]);
	run.count = from[KINDS];
	error = simple_run(lab, &run, results, NULL);
	for (size_t kind = 0; kind < KINDS && !error; kind++)
		search->best[reading][point][kind] = *candidates_best(
			&tables[from[kind]], &results[from[kind]], from[kind + 1] - from[kind]);
	return error;
}

/* --------------------------------------------------------------------- the measurement */

static struct simple_result *result_of(const struct search *search, size_t reading, size_t point, size_t seed)
{
	return &search->results[((reading * POINTS + point) * search->seeds + seed) * KINDS];
}

static int measure_one(struct lab *lab, void *context, size_t number)
{
	struct search *search = context;
	size_t seed = number % search->seeds, reading = number / search->seeds % READINGS,
	       point = search->first + search->points - 1 - number / search->seeds / READINGS;
	struct simple_run run = {.reading = (enum reading)reading,
				 .traffic = {.seed = lab_seed(lab, PART_MEASURE + point * 16, seed)},
				 .tables = search->best[reading][point],
				 .count = KINDS,
				 .divisor = lab->size == LAB_QUICK ? 16 : 2};

	return simple_run(lab, &run, result_of(search, reading, point, seed), NULL);
}

static struct spread errors_at(const struct search *search, size_t reading, size_t point, size_t kind)
{
	const struct simple_result *first = &result_of(search, reading, point, 0)[kind];

	return spread_times(simple_spread(first, KINDS, search->seeds, simple_errors), 100);
}

/* -------------------------------------------------------------------------- the page */

/* The paper's points, at the memory that they take with the timer. */
static void mark_paper(struct page_plot *plot)
{
	static const char *const names[] = {"DBF, paper", "SBF, paper", "FCF, paper"};

	for (size_t first = 0; first < TABLE1_ROWS; first += 3) {
		struct page_series *series = page_series(
			plot, PAGE_PAPER, structure_of(table1_rows[first].table.kind), names[first / 3]);

		for (size_t row = first; row < first + 3; row++)
			page_point(series, table1_rows[row].bits / 1048576,
				   100 * table1_errors(&table1_rows[row]));
	}
}

static void draw(const struct search *search, struct page *page, size_t reading)
{
	static const char *const ids[] = {"memory-a", "memory-b"},
				 *const titles[] = {"Errors against memory, interpretation A",
						    "Errors against memory, interpretation B"};
	struct page_plot *plot = page_plot(page, ids[reading], titles[reading],
					   (struct page_axis){"memory", "Mbit", true, 0, 0},
					   (struct page_axis){"flows with an error", "%", true, 0, 0});

	for (size_t kind = 0; kind < KINDS; kind++) {
		struct page_series *series =
			page_series(plot, PAGE_LINE, structure_of(kinds[kind].kind), kinds[kind].name);

		for (size_t point = search->first; point < search->first + search->points; point++)
			page_point_spread(series, megabits[point], errors_at(search, reading, point, kind));
	}
	mark_paper(plot);
}

static void tabulate(const struct search *search, struct page *page)
{
	static const struct page_column columns[] = {{"kind", NULL, 0}, {"memory", "Mbit", 3},
						     {"A", "%", 3},     {"best, A", NULL, 0},
						     {"B", "%", 3},     {"best, B", NULL, 0}};
	struct page_table *table =
		page_table(page, "memory", "Flows with an error, and the best parameters", columns, 6);
	char text[64];

	for (size_t kind = 0; kind < KINDS; kind++)
		for (size_t point = search->first; point < search->first + search->points; point++) {
			page_row(table);
			page_word(table, "%s", kinds[kind].name);
			page_number(table, megabits[point]);
			for (size_t reading = 0; reading < READINGS; reading++) {
				page_spread(table, errors_at(search, reading, point, kind));
				page_word(table, "%s",
					  candidate_name(&search->best[reading][point][kind], text,
							 sizeof text));
			}
		}
}

int table1_memory(struct lab *lab, struct page *page)
{
	struct search *search = lab_alloc(1, sizeof *search);
	size_t jobs;
	int error;

	search->seeds = lab->seeds;
	search->points = points_of(lab);
	search->first = (POINTS - search->points) / 2;
	search->results = lab_alloc((size_t)READINGS * POINTS * lab->seeds * KINDS, sizeof *search->results);
	jobs = READINGS * search->points;
	page_heading(page, "Errors against memory");
	error = lab_each(lab, jobs, search_one, search);
	if (!error)
		error = lab_each(lab, jobs * lab->seeds, measure_one, search);
	if (!error) {
		page_text(page,
			  "Every kind sees the same packets. Each point has the parameters that made the "
			  "fewest errors in a search. All memory is counted, with timers and side tables, "
			  "except the masks of kbf, which are constants, and a few kilobytes of bookkeeping "
			  "that every table has.");
		for (size_t reading = 0; reading < READINGS; reading++)
			draw(search, page, reading);
		tabulate(search, page);
	}
	free(search->results);
	free(search);
	return error;
}
