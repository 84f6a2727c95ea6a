/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of the evaluation. Its tables are by scenario; its plots show quality against the loss that a policy really
 * had, whatever the load.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/page.h"
#include "lab/router/evaluation.h"

enum { SEEDS_MOST = 16 };

/* The outcomes of a policy in a scenario, by seed; those that are there. */
struct seen {
	struct outcome of[SEEDS_MOST];
	unsigned n;
};

static struct seen see(const struct evaluation *e, const struct policy *policy,
		       const struct scenario *scenario)
{
	struct seen seen = {.n = 0};

	for (unsigned seed = 1; seed <= scenario->seeds && seen.n < SEEDS_MOST; seed++) {
		struct router_cell cell = {policy, scenario, seed};

		seen.n += evaluation_outcome(e, &cell, &seen.of[seen.n]);
	}
	return seen;
}

/* ------------------------------------------------------------------------ figures */

typedef double figure_of(const struct outcome *outcome);

static double loss_of(const struct outcome *o)
{
	return 100 * o->loss;
}

static double loss_of_i(const struct outcome *o)
{
	return 100 * o->of_type[1];
}

static double loss_of_p(const struct outcome *o)
{
	return 100 * o->of_type[2];
}

static double loss_of_b(const struct outcome *o)
{
	return 100 * o->of_type[3];
}

static double psnr_of(const struct outcome *o)
{
	return o->psnr;
}

static double ssim_of(const struct outcome *o)
{
	return o->ssim;
}

static double shown_of(const struct outcome *o)
{
	return 100 * o->shown;
}

static double worst_of(const struct outcome *o)
{
	return o->worst;
}

static double used_of(const struct outcome *o)
{
	return 100 * (o->video + o->tcp) / LINK;
}

static double tcp_of(const struct outcome *o)
{
	return o->tcp / 1e6;
}

static double link_of(const struct outcome *o)
{
	return 100 * o->link / LINK;
}

static struct spread spread(const struct seen *seen, figure_of *figure)
{
	double values[SEEDS_MOST] = {0};

	for (unsigned i = 0; i < seen->n; i++)
		values[i] = figure(&seen->of[i]);
	return spread_of(values, seen->n);
}

static double mean(const struct evaluation *e, const char *policy, const char *scenario, figure_of *figure)
{
	struct seen seen = see(e, policy_named(policy), scenario_named(scenario));

	return seen.n ? spread(&seen, figure).middle : NAN;
}

/* ------------------------------------------------------------------------- tables */

static const struct {
	struct page_column column;
	figure_of *figure;
	bool spread, tcp; /* with its range over the seeds; only beside TCP */
} columns[] = {
	{{"byte loss", "%", 3}, loss_of, true, false},  {{"of I", "%", 2}, loss_of_i, false, false},
	{{"of P", "%", 2}, loss_of_p, false, false},    {{"of B", "%", 2}, loss_of_b, false, false},
	{{"PSNR", "dB", 3}, psnr_of, true, false},      {{"worst stream", "dB", 3}, worst_of, false, false},
	{{"SSIM", NULL, 3}, ssim_of, false, false},     {{"frames shown", "%", 3}, shown_of, false, false},
	{{"link used", "%", 3}, used_of, false, false}, {{"TCP", "Mbit/s", 3}, tcp_of, false, true},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static struct page_table *begin_table(struct page *page, const struct scenario *scenario)
{
	struct page_column all[COLUMNS + 1] = {{"policy", NULL, 0}};
	size_t n = 1;

	for (unsigned i = 0; i < COLUMNS; i++)
		if (scenario->flows || !columns[i].tcp)
			all[n++] = columns[i].column;
	return page_table(page, scenario->name, scenario->title, all, n);
}

static void show_row(struct page_table *t, const struct policy *policy, const struct scenario *scenario,
		     const struct seen *seen)
{
	page_row(t);
	page_word(t, "%s", policy->title);
	for (unsigned i = 0; i < COLUMNS; i++) {
		struct spread s = spread(seen, columns[i].figure);

		if (columns[i].tcp && !scenario->flows)
			continue;
		if (columns[i].spread)
			page_spread(t, s);
		else
			page_number(t, s.middle);
	}
}

static void show_scenario(struct page *page, const struct evaluation *e, const struct scenario *scenario)
{
	struct page_table *t = NULL;

	for (size_t i = 0; i < policy_count; i++) {
		struct seen seen = see(e, &policies[i], scenario);

		if (!seen.n)
			continue;
		t = t ? t : begin_table(page, scenario);
		show_row(t, &policies[i], scenario, &seen);
	}
}

/* --------------------------------------------------------------------- thresholds */

/* The paper's, by eye: byte losses in percent at which damage is first seen, and at which the film is unusable. */
static const struct {
	const char *policy, *first, *last;
} thresholds[] = {{"random", "2", "15"}, {"b", "6", "12"}, {"itail", "3", "25"}, {"combined", "6", "30"}};

static void show_at(struct page_table *t, const struct evaluation *e, const char *policy,
		    const char *scenario)
{
	double loss = mean(e, policy, scenario, loss_of);

	page_word(t, "%s %%", scenario);
	isnan(loss) ? page_blank(t) : page_number(t, loss);
	isnan(loss) ? page_blank(t) : page_number(t, mean(e, policy, scenario, psnr_of));
	isnan(loss) ? page_blank(t) : page_number(t, mean(e, policy, scenario, ssim_of));
}

static void show_thresholds(struct page *page, const struct evaluation *e)
{
	struct page_table *t = page_table(page, "thresholds", "At the paper's thresholds",
					  (struct page_column[]){{"policy", NULL, 0},
								 {"damage seen at", NULL, 0},
								 {"loss", "%", 3},
								 {"PSNR", "dB", 3},
								 {"SSIM", NULL, 3},
								 {"unusable at", NULL, 0},
								 {"loss there", "%", 3},
								 {"PSNR there", "dB", 3},
								 {"SSIM there", NULL, 3}},
					  9);

	for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++) {
		page_row(t);
		page_word(t, "%s", policy_named(thresholds[i].policy)->title);
		show_at(t, e, thresholds[i].policy, thresholds[i].first);
		show_at(t, e, thresholds[i].policy, thresholds[i].last);
	}
}

/* -------------------------------------------------------------------------- plots */

/* A series of a plot has a colour of its own: that of the structure with its number. */
static struct page_series *series(struct page_plot *plot, size_t number, const struct policy *policy)
{
	return page_series(plot, policy->machine ? PAGE_LINE : PAGE_POINTS,
			   (enum structure)(number % STRUCTURE_COUNT), policy->title);
}

static int by_loss(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	return x->loss < y->loss ? -1 : x->loss > y->loss;
}

/* Means of all scenarios without TCP, from the least loss on. */
static size_t curve_of(const struct evaluation *e, const struct policy *policy, struct outcome *points)
{
	size_t n = 0;

	for (size_t s = 0; s < scenario_count; s++) {
		struct seen seen = see(e, policy, &scenarios[s]);

		if (seen.n && !scenarios[s].flows)
			points[n++] = (struct outcome){.loss = spread(&seen, loss_of).middle / 100,
						       .psnr = spread(&seen, psnr_of).middle,
						       .ssim = spread(&seen, ssim_of).middle};
	}
	qsort(points, n, sizeof *points, by_loss);
	return n;
}

static void show_plot_of(struct page *page, const struct evaluation *e, figure_of *figure, const char *id,
			 const char *title, struct page_axis y)
{
	struct page_axis x = {.name = "byte loss", .unit = "%"};
	struct page_plot *plot = page_plot(page, id, title, x, y);
	struct outcome *points = lab_alloc(scenario_count, sizeof *points);
	size_t number = 0;

	for (size_t p = 0; p < policy_count; p++) {
		size_t n = policies[p].options || policies[p].codec ? 0 : curve_of(e, &policies[p], points);
		struct page_series *s = n ? series(plot, number++, &policies[p]) : NULL;

		for (size_t i = 0; i < n; i++)
			page_point(s, loss_of(&points[i]), figure(&points[i]));
	}
	free(points);
}

/* ------------------------------------------------------------------------- claims */

static void claim_better(struct page *page, const struct evaluation *e, const char *policy, const char *other,
			 double by)
{
	double difference = mean(e, policy, "10", psnr_of) - mean(e, other, "10", psnr_of);

	if (!isnan(difference))
		page_claim(page, difference, PAGE_AT_LEAST, by,
			   "PSNR of '%s' above '%s' in dB, 10 %% too much, without TCP",
			   policy_named(policy)->title, policy_named(other)->title);
}

/* The furthest from its rate of all cells. */
static void claim_link(struct page *page, const struct evaluation *e)
{
	double worst = 100;
	struct outcome o;
	struct router_cell cell;

	for (size_t i = 0; cell_at(i, &cell); i++)
		if (evaluation_outcome(e, &cell, &o) && fabs(link_of(&o) - 100) > fabs(worst - 100))
			worst = link_of(&o);
	page_claim_within(
		page, worst, 98, 102,
		"what the bottleneck delivers, in percent of 20 Mbit/s, measured before each cell: the "
		"cell that is furthest from it");
}

static void claim_all(struct page *page, const struct evaluation *e)
{
	claim_better(page, e, "b", "tail", 5);
	claim_better(page, e, "b", "fq_codel", 5);
	claim_better(page, e, "combined", "tail", 5);
	claim_better(page, e, "combined", "fq_codel", 5);
	claim_better(page, e, "itail", "random", 0);
	claim_link(page, e);
}

/* ---------------------------------------------------------------------- the whole */

static void show_film(struct page *page, const struct evaluation *e, enum film_codec codec, const char *name)
{
	const struct film *f = &e->films[codec];
	struct score whole = {.of_frames = NULL};
	struct ink_why why;
	double sum = 0;

	for (unsigned t = 0; t < FILM_TYPES; t++)
		sum += (double)f->bytes[t];
	if (film_watch(f, NULL, &whole, &why))
		return;
	page_text(
		page,
		"%s: %u frames of 352 x 288, about 50 a second, in groups of %u with two B frames between others, in "
		"%zu datagrams. Of the bytes %.0f %% are of I, %.0f %% of P, %.0f %% of B frames. Undamaged it has "
		"%.1f dB, and an SSIM of %.3f.",
		name, f->frames, FILM_GROUP, f->n, 100 * (double)f->bytes[1] / sum,
		100 * (double)f->bytes[2] / sum, 100 * (double)f->bytes[3] / sum, whole.psnr, whole.ssim);
}

static void show_all(struct page *page, const struct evaluation *e)
{
	show_film(page, e, FILM_MPEG2, "MPEG-2 in a transport stream, 7 x 188 bytes in UDP");
	show_film(page, e, FILM_H264, "H.264 in RTP");
	page_text(page,
		  "PSNR and SSIM compare what is seen with what was filmed; a frame that is missing shows "
		  "the one before. They are means over all streams; ranges are over the seeds. Losses are of "
		  "bytes; the first group of each stream does not count.");
	show_plot_of(page, e, psnr_of, "psnr", "PSNR against the loss that a policy really had, without TCP",
		     (struct page_axis){.name = "PSNR", .unit = "dB"});
	show_plot_of(page, e, ssim_of, "ssim", "SSIM against the loss that a policy really had, without TCP",
		     (struct page_axis){.name = "SSIM"});
	for (size_t s = 0; s < scenario_count; s++)
		if (!scenarios[s].curve)
			show_scenario(page, e, &scenarios[s]);
	show_thresholds(page, e);
	claim_all(page, e);
}

static int run(struct lab *lab, struct page *page)
{
	struct evaluation *e = (struct evaluation *)lab;
	int error = evaluation_score(e);

	if (!error)
		show_all(page, e);
	return error;
}

const struct experiment experiment_router = {
	.name = "router",
	.title = "A router that acts: video on a congested link",
	.where = "ACSM 5.2.1, live: make evaluate-router",
	.shows =
		"Six streams of video share a link of 20 Mbit/s that is too small for them, in a kernel of its own. "
		"What is seen of the video if the router drops what does not fit (tail drop), manages its queue "
		"without knowledge of frames (CoDel, RED, PIE, CAKE, random packets), or lets a machine of Inkling "
		"choose by the types of frames?",
	.seconds = {1, 1, 1},
	.run = run,
};
