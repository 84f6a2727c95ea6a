/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of the demo: a table, the quality over time, and one frame as each policy shows it. The frame is the one at
 * which the stream is nearest to its average under all policies, so that none is chosen to look good or bad.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/router/p2p.h"
#include "lab/router/tables.h"

/* One stream under one policy. */
struct sight {
	const struct policy *policy;
	bool *lost; /* by datagram */
	struct score score;
};

struct sights {
	struct sight *of;
	size_t n;
};

/* ----------------------------------------------------------------------- watching */

static int watch(const struct film *film, struct sight *sight, struct ink_why *why)
{
	sight->score.of_frames = lab_alloc(film->frames, sizeof *sight->score.of_frames);
	if (sight->lost)
		memset(sight->lost, 0, film->first * sizeof *sight->lost); /* as outcome_watch() has it */
	return film_watch(film, sight->lost, &sight->score, why);
}

static struct sight *add_sight(struct sights *all, const struct policy *policy)
{
	struct sight *sight = &all->of[all->n++];

	*sight = (struct sight){.policy = policy};
	return sight;
}

/* The first stream under all policies that were run with this clip. The first of them is undamaged. */
static int watch_all(const struct evaluation *e, enum clip_kind clip, const struct scenario *scenario,
		     struct sights *all, struct ink_why *why)
{
	const struct film *film = &e->films[clip];
	int error;

	*all = (struct sights){.of = lab_alloc(policy_count + 1, sizeof *all->of)};
	error = watch(film, add_sight(all, NULL), why);
	for (size_t p = 0; p < policy_count && !error; p++) {
		struct router_cell cell = {&policies[p], scenario, 1};
		char *text = policies[p].clip == clip ? evaluation_said(e, &cell) : NULL;
		bool *lost = text ? lab_alloc(film->n, sizeof *lost) : NULL;

		if (text && outcome_lost(text, film, 0, lost)) {
			struct sight *sight = add_sight(all, &policies[p]);

			sight->lost = lost;
			error = watch(film, sight, why);
		} else {
			free(lost);
		}
		free(text);
	}
	return error;
}

static void free_sights(struct sights *all)
{
	for (size_t i = 0; i < all->n; i++) {
		free(all->of[i].lost);
		free(all->of[i].score.of_frames);
	}
	free(all->of);
}

static const char *title_of(const struct sight *sight)
{
	return sight->policy ? sight->policy->title : "as it was sent";
}

/* --------------------------------------------------------------------------- plot */

/* A point for each group of pictures: single frames of a plot of some seconds would be a thicket. */
static void show_time(struct page *page, const struct film *film, const struct sights *all, const char *id,
		      const char *title)
{
	struct page_axis x = {.name = "time", .unit = "s"}, y = {.name = "PSNR", .unit = "dB"};
	struct page_plot *plot = page_plot(page, id, title, x, y);

	for (size_t i = 0; i < all->n; i++) {
		struct page_series *s = page_series(plot, PAGE_LINE, (enum structure)(i % STRUCTURE_COUNT),
						    title_of(&all->of[i]));

		for (uint32_t from = FILM_GROUP; from + FILM_GROUP <= film->frames; from += FILM_GROUP) {
			double sum = 0;

			for (uint32_t f = from; f < from + FILM_GROUP; f++)
				sum += all->of[i].score.of_frames[f].psnr;
			page_point(s, (from + FILM_GROUP / 2) / 25.0, sum / FILM_GROUP);
		}
	}
}

/* ----------------------------------------------------------------------- pictures */

/* How far a frame is from the averages of the policies, in all. */
static double unusual(const struct sights *all, uint32_t frame)
{
	double sum = 0;

	for (size_t i = 0; i < all->n; i++)
		sum += fabs(all->of[i].score.of_frames[frame].psnr - all->of[i].score.psnr);
	return sum;
}

/* Of the second half, when the queue is full. */
static uint32_t usual_frame(const struct film *film, const struct sights *all)
{
	uint32_t best = film->frames / 2;

	for (uint32_t f = best; f < film->frames; f++)
		if (unusual(all, f) < unusual(all, best))
			best = f;
	return best;
}

static int show_pictures(struct page *page, const struct film *film, const struct sights *all,
			 struct ink_why *why)
{
	uint32_t frame = usual_frame(film, all);

	for (size_t i = 0; i < all->n; i++) {
		const struct frame_score *score = &all->of[i].score.of_frames[frame];
		size_t size;
		uint8_t *png = film_picture(film, all->of[i].lost, score->picture, &size, why);

		if (!png)
			return -1;
		page_picture(page, png, size, "%s: %.1f dB%s", title_of(&all->of[i]), score->psnr,
			     score->fresh ? "" : ", an earlier frame");
		free(png);
	}
	return 0;
}

static int show_codec(struct page *page, const struct evaluation *e, enum clip_kind clip,
		      const struct scenario *scenario, struct ink_why *why)
{
	static const char *const name[] = {"MPEG-2", "H.264"}, *const id[] = {"mpeg2", "h264"};
	const struct film *film = &e->films[clip];
	char title[128];
	struct sights all;
	int error = watch_all(e, clip, scenario, &all, why);

	if (!error) {
		snprintf(title, sizeof title, "%s: the first stream over time, mean PSNR of each %u frames",
			 name[clip], FILM_GROUP);
		page_heading(page, "%s", name[clip]);
		show_film(page, e, clip, name[clip]);
		show_time(page, film, &all, id[clip], title);
		page_text(
			page,
			"The page has pictures of one frame, as it is seen under each policy. It is frame %u, where the "
			"stream is nearest to its averages; the figure below a picture is the PSNR of that frame.",
			usual_frame(film, &all));
		error = show_pictures(page, film, &all, why);
	}
	free_sights(&all);
	return error;
}

/* ---------------------------------------------------------------------- the whole */

/* Both say whether this computer had the time to be a router and all hosts at once. */
static void claim_timely(struct page *page, const struct evaluation *e, const struct scenario *scenario)
{
	double worst = 100, late = 0;

	for (size_t p = 0; p < policy_count; p++) {
		struct seen seen = seen_of(e, &policies[p], scenario);
		double link = seen.n ? 100 * seen.of[0].link / e->study->link : 100;

		worst = fabs(link - 100) > fabs(worst - 100) ? link : worst;
		late = seen.n && seen.of[0].late > late ? seen.of[0].late : late;
	}
	page_claim_within(
		page, worst, 95, 105,
		"what the bottleneck delivers, in percent of %.0f Mbit/s, measured before each policy: the "
		"one that is furthest from it",
		e->study->link / 1e6);
	page_claim(
		page, late, PAGE_AT_MOST, 20,
		"how late a packet was sent, in ms: a computer that is busy with other things makes bursts, which "
		"no policy can take well");
}

static void claim_better(struct page *page, const struct evaluation *e, const char *policy, const char *other)
{
	double difference = seen_mean(e, policy, e->study->name, figure_psnr) -
			    seen_mean(e, other, e->study->name, figure_psnr);

	if (!isnan(difference))
		page_claim(page, difference, PAGE_AT_LEAST, 0, "PSNR of '%s' above '%s' in dB",
			   policy_named(policy)->title, policy_named(other)->title);
}

/* The qdiscs that the script tried in vain, in a line. */
static void show_missing(struct page *page, const char *folder)
{
	char *path, *names = NULL;
	size_t room = 0;
	FILE *file;

	if (asprintf(&path, "%s/missing", folder) < 0)
		lab_out_of_memory();
	file = fopen(path, "r");
	free(path);
	if (!file)
		return;
	if (getdelim(&names, &room, 0, file) > 0) {
		names[strcspn(names, "\n")] = 0;
		page_text(page, "This kernel does not have the qdiscs %s.", names);
	}
	free(names);
	fclose(file);
}

static void explain(struct page *page, const struct evaluation *e)
{
	page_text(
		page,
		"With the same streams and the same link, the video has a PSNR of %.1f dB under tail drop, and of %.1f "
		"dB where B frames are dropped. PSNR and SSIM compare what is seen with what was filmed, and a frame "
		"that is missing shows the one before: damage is hard to see from 40 dB on, and hard to bear below "
		"25 dB. They are means over all six streams. Losses are of bytes.",
		seen_mean(e, "tail", e->study->name, figure_psnr),
		seen_mean(e, "b", e->study->name, figure_psnr));
	page_text(
		page,
		"'Random frames', 'B frames', 'I tails' and 'combined' are what the machines aqm-random, aqm-b, "
		"aqm-itail and aqm-combined drop. They begin before the queue is full, so they may lose more bytes than "
		"tail drop does: but those that the viewer misses least.");
	show_missing(page, e->folder);
}

static int run(struct lab *lab, struct page *page)
{
	struct evaluation *e = (struct evaluation *)lab;
	const struct scenario *scenario = scenario_named(e->study->name);
	struct ink_why why = {""};
	int error = evaluation_score(e);

	if (error)
		return error;
	show_scenario(page, e, scenario);
	explain(page, e);
	for (enum clip_kind clip = CLIP_MPEG2; clip <= CLIP_H264 && !error; clip++)
		if (strcmp(e->study->name, "quick") || clip == CLIP_MPEG2)
			error = show_codec(page, e, clip, scenario, &why);
	p2p_show(page, e->folder);
	claim_better(page, e, "b", "tail");
	claim_better(page, e, "combined", "tail");
	claim_better(page, e, "h264-aqm", "h264-tail");
	claim_timely(page, e, scenario);
	return error ? lab_fail(lab, error, "%s", why.text) : 0;
}

const struct experiment experiment_demo = {
	.name = "demo",
	.title = "A router that acts",
	.where = "ACSM 5.2, live: make demo-router",
	.shows =
		"Six streams of video share a link that is too small for them. What does not fit is dropped: by a queue "
		"that is full (tail drop), by what else this kernel has to manage queues, or by a machine of Inkling that "
		"knows the types of frames. All of it ran on this computer just now, in network namespaces.",
	.seconds = {1, 1, 1},
	.run = run,
};
