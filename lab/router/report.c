/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of the evaluation. Its tables are by scenario; its plots show quality against the loss that a policy really
 * had, whatever the load.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/router/tables.h"

/* --------------------------------------------------------------------- thresholds */

/* The paper's, by eye: byte losses in percent at which damage is first seen, and at which the film is unusable. */
static const struct {
	const char *policy, *first, *last;
} thresholds[] = {{"random", "2", "15"}, {"b", "6", "12"}, {"itail", "3", "25"}, {"combined", "6", "30"}};

static void show_at(struct page_table *t, const struct evaluation *e, const char *policy,
		    const char *scenario)
{
	double loss = seen_mean(e, policy, scenario, figure_loss);

	page_word(t, "%s %%", scenario);
	isnan(loss) ? page_blank(t) : page_number(t, loss);
	isnan(loss) ? page_blank(t) : page_number(t, seen_mean(e, policy, scenario, figure_psnr));
	isnan(loss) ? page_blank(t) : page_number(t, seen_mean(e, policy, scenario, figure_ssim));
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
		struct seen seen = seen_of(e, policy, &scenarios[s]);

		if (seen.n && !scenarios[s].flows)
			points[n++] = (struct outcome){.loss = seen_spread(&seen, figure_loss).middle / 100,
						       .psnr = seen_spread(&seen, figure_psnr).middle,
						       .ssim = seen_spread(&seen, figure_ssim).middle};
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
		size_t n = policies[p].options || policies[p].clip ? 0 : curve_of(e, &policies[p], points);
		struct page_series *s = n ? series(plot, number++, &policies[p]) : NULL;

		for (size_t i = 0; i < n; i++)
			page_point(s, figure_loss(&points[i]), figure(&points[i]));
	}
	free(points);
}

/* ------------------------------------------------------------------------- claims */

static void claim_better(struct page *page, const struct evaluation *e, const char *policy, const char *other,
			 double by)
{
	double difference = seen_mean(e, policy, "10", figure_psnr) - seen_mean(e, other, "10", figure_psnr);

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

	for (size_t i = 0; cell_at(e->study, i, &cell); i++)
		if (evaluation_outcome(e, &cell, &o) &&
		    fabs(100 * o.link / e->study->link - 100) > fabs(worst - 100))
			worst = 100 * o.link / e->study->link;
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

static void show_all(struct page *page, const struct evaluation *e)
{
	show_film(page, e, CLIP_MPEG2, "MPEG-2 in a transport stream, 7 x 188 bytes in UDP");
	show_film(page, e, CLIP_H264, "H.264 in RTP");
	page_text(
		page,
		"Datagrams of MPEG-2 begin with a picture, as those of senders that flush at each frame; empty "
		"packets of the transport stream fill the last one of a picture. 'Packed' ones have no gaps: a "
		"datagram in which a frame begins has the end of the one before, and takes it along if it is "
		"dropped.");
	page_text(page,
		  "PSNR and SSIM compare what is seen with what was filmed; a frame that is missing shows "
		  "the one before. They are means over all streams; ranges are over the seeds. Losses are of "
		  "bytes; the first group of each stream does not count.");
	show_plot_of(page, e, figure_psnr, "psnr",
		     "PSNR against the loss that a policy really had, without TCP",
		     (struct page_axis){.name = "PSNR", .unit = "dB"});
	show_plot_of(page, e, figure_ssim, "ssim",
		     "SSIM against the loss that a policy really had, without TCP",
		     (struct page_axis){.name = "SSIM"});
	for (size_t s = 0; s < scenario_count; s++)
		if (!scenarios[s].curve && !strcmp(scenarios[s].study, e->study->name))
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
