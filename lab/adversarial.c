/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ill-behaved traffic, as section 3 of the ACSM paper lists it: triggers of flows that do not exist
 * (strangers), triggers that do not fit the state of the flow (invalid), and flows that end silently
 * (endless). The paper describes the effect on each structure; this experiment counts the four kinds of
 * error:
 *
 *     false positive   a state for a flow that does not exist, as a share of lookups of such flows
 *     false negative   no state for a flow that exists
 *     wrong state      another state ("false return state")
 *     don't know       for either, as a share of all answers
 *
 * All structures have the memory of FCF 2 with its timer, see the same packets, and insert a flow at its
 * first packet only. The direct filter is queried for the state from which the trigger starts, so "wrong"
 * means that it confirmed a state that the flow was not in; it is never in doubt. Sums of states (`kbf`) have
 * no timer and keep endless flows. Where strangers are not varied, there is one for every twenty triggers, so
 * that false positives can be seen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lab/candidates.h"
#include "lab/experiments.h"
#include "lab/table1.h"

enum { PART = 0x1b01, SWEEPS = 3, POINTS = 5, KINDS = 6, ERRORS = 4 };

static const char *const kind_names[KINDS] = {"direct", "stateful", "dleft", "line", "compact", "kbf"};

static const struct {
	const char *id, *name, *axis;
} sweeps[SWEEPS] = {{"strangers", "Strangers", "triggers of strangers"},
		    {"invalid", "Invalid triggers", "invalid triggers"},
		    {"endless", "Endless flows", "endless flows"}};

static const char *const error_ids[ERRORS] = {"fp", "fn", "wrong", "dk"}, *const error_names[ERRORS] = {
										  "false positives",
										  "false negatives",
										  "wrong states",
										  "don't knows"};

/* Bad ones for each good one. */
static const double amounts[POINTS] = {0, .1, .25, .5, 1};

struct study {
	unsigned seeds;
	struct simple_table tables[KINDS];
	struct simple_result *results; /* [sweep][point][seed][kind] */
};

/* ----------------------------------------------------------------------- the runs */

static uint32_t divisor_of(const struct lab *lab)
{
	return lab->size == LAB_QUICK ? 32 : 4;
}

/* Nearly as many cells as FCF 2 has, so that endless flows have room for a while. */
static void choose_tables(struct study *study, uint32_t divisor)
{
	const struct table1_row *fcf = &table1_rows[TABLE1_FIRST_FCF + 1];
	struct candidates_request request = {
		.bits = fcf->bits, .flows = 36000, .most = 46000, .divisor = divisor};
	struct simple_table list[CANDIDATES_MOST];

	study->tables[0] = (struct simple_table){.kind = INK_DIRECT,
						 .geometry = {.m = (uint32_t)(fcf->bits / 3), .k = 3}};
	study->tables[1] = (struct simple_table){.kind = INK_STATEFUL,
						 .geometry = {.m = (uint32_t)(fcf->bits / 5), .k = 3}};
	study->tables[2] = fcf->table;
	candidates(INK_LINE, &request, list);
	study->tables[3] = list[0];
	candidates(INK_COMPACT, &request, list);
	study->tables[4] = list[0];
	candidates(INK_KBF, &request, list);
	study->tables[5] = list[0];
}

static struct simple_result *results_of(const struct study *study, size_t sweep, size_t point, size_t seed)
{
	return &study->results[((sweep * POINTS + point) * study->seeds + seed) * KINDS];
}

/* At most three in five flows end silently. */
static struct sim_triggers_options traffic_of(size_t sweep, size_t point, uint64_t seed)
{
	struct sim_triggers_options o = {.seed = seed, .strangers = .05};

	if (sweep == 0)
		o.strangers = amounts[point];
	else if (sweep == 1)
		o.invalid = amounts[point];
	else
		o.endless = .6 * amounts[point];
	return o;
}

/* In percent, of all triggers or of all flows that have some. */
static double share_of(size_t sweep, size_t point)
{
	return 100 * (sweep == 2 ? .6 * amounts[point] : amounts[point] / (1 + amounts[point]));
}

static int one_run(struct lab *lab, void *context, size_t number)
{
	struct study *study = context;
	size_t seed = number % study->seeds, point = number / study->seeds % POINTS,
	       sweep = number / study->seeds / POINTS;
	struct simple_run run = {.reading = READING_PROPER,
				 .traffic = traffic_of(sweep, point, lab_seed(lab, PART, seed)),
				 .tables = study->tables,
				 .count = KINDS,
				 .divisor = divisor_of(lab)};

	return simple_run(lab, &run, results_of(study, sweep, point, seed), NULL);
}

/* --------------------------------------------------------------------- the numbers */

static double false_positives(const struct simple_result *r)
{
	return percent_of(r->stranger_found, r->asked_strangers);
}

static double false_negatives(const struct simple_result *r)
{
	return percent_of(r->flow_missed, r->asked);
}

static double wrong_states(const struct simple_result *r)
{
	return percent_of(r->wrong_state, r->asked);
}

static double dont_knows(const struct simple_result *r)
{
	return percent_of(r->in_doubt, r->asked + r->asked_strangers);
}

static simple_number *const error_numbers[ERRORS] = {false_positives, false_negatives, wrong_states,
						     dont_knows};

struct place {
	size_t sweep, point, kind, error;
};

static struct spread spread_at(const struct study *study, const struct place *at)
{
	const struct simple_result *first = &results_of(study, at->sweep, at->point, 0)[at->kind];

	return simple_spread(first, KINDS, study->seeds, error_numbers[at->error]);
}

/* ------------------------------------------------------------------------ the page */

static void draw(const struct study *study, struct page *page, size_t sweep, size_t error)
{
	struct place at = {.sweep = sweep, .error = error};
	struct page_plot *plot;
	char id[32], title[64];

	snprintf(id, sizeof id, "%s-%s", sweeps[sweep].id, error_ids[error]);
	snprintf(title, sizeof title, "%s: %s", sweeps[sweep].name, error_names[error]);
	plot = page_plot(page, id, title, (struct page_axis){sweeps[sweep].axis, "%", false, 0, 0},
			 (struct page_axis){error_names[error], "%", true, 0, 0});
	for (at.kind = 0; at.kind < KINDS; at.kind++) {
		struct page_series *series = page_series(
			plot, PAGE_LINE, structure_of(study->tables[at.kind].kind), kind_names[at.kind]);

		for (at.point = 0; at.point < POINTS; at.point++)
			page_point_spread(series, share_of(sweep, at.point), spread_at(study, &at));
	}
}

static void tabulate(const struct study *study, struct page *page, size_t sweep)
{
	static const struct page_column columns[] = {{"kind", NULL, 0}, {"bad", "%", 3},   {"FP", "%", 3},
						     {"FN", "%", 3},    {"wrong", "%", 3}, {"DK", "%", 3}};
	struct page_table *table =
		page_table(page, sweeps[sweep].id, "Errors in percent of the answers", columns, 6);
	struct place at = {.sweep = sweep};

	for (at.kind = 0; at.kind < KINDS; at.kind++)
		for (at.point = 0; at.point < POINTS; at.point++) {
			page_row(table);
			page_word(table, "%s", kind_names[at.kind]);
			page_number(table, share_of(sweep, at.point));
			for (at.error = 0; at.error < ERRORS; at.error++)
				page_spread(table, spread_at(study, &at));
		}
}

static void write_page(const struct study *study, struct page *page)
{
	page_text(
		page,
		"False positives in percent of the triggers of flows that do not exist; false negatives and "
		"wrong states in percent of those of flows that do; don't-knows in percent of all. The "
		"structures have the memory of FCF 2 with its timer, 1,130,496 bits.");
	page_text(
		page,
		"A stranger does harm if it is taken for another flow, whose state it then changes. So the "
		"damage by strangers grows with the false positives. An invalid trigger does not harm a table "
		"that knows the state. The direct filter only checks whether the flow is in the state that "
		"the trigger names, and may accept it. Endless flows stay until the timer ends them, one to "
		"two periods later: Bloom filters fill up, and tables run out of cells. kbf has no timer, "
		"keeps all of them, and is in doubt about most flows in this memory.");
	for (size_t sweep = 0; sweep < SWEEPS; sweep++) {
		page_heading(page, "%s", sweeps[sweep].name);
		for (size_t error = 0; error < ERRORS; error++)
			draw(study, page, sweep, error);
		tabulate(study, page, sweep);
	}
}

static int run_adversarial(struct lab *lab, struct page *page)
{
	struct study *study = lab_alloc(1, sizeof *study);
	size_t jobs = (size_t)SWEEPS * POINTS * lab->seeds;
	int error;

	study->seeds = lab->seeds;
	study->results = lab_alloc(jobs * KINDS, sizeof *study->results);
	choose_tables(study, divisor_of(lab));
	error = lab_each(lab, jobs, one_run, study);
	if (!error)
		write_page(study, page);
	free(study->results);
	free(study);
	return error;
}

const struct experiment experiment_adversarial = {
	.name = "illbehaved",
	.title = "Ill-behaved traffic: strangers, invalid triggers, endless flows",
	.where = "ACSM 3 (four kinds of error)",
	.shows = "What does traffic that breaks the rules do to each structure in the memory of FCF 2? False "
		 "positives, false negatives, wrong states and don't-knows against the share of bad traffic.",
	.seconds = {5, 50, 50},
	.run = run_adversarial,
};
