/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/router/tables.h"

#include <math.h>

struct seen seen_of(const struct evaluation *e, const struct policy *policy, const struct scenario *scenario)
{
	struct seen seen = {.n = 0};

	for (unsigned seed = 1; seed <= scenario->seeds && seen.n < SEEDS_MOST; seed++) {
		struct router_cell cell = {policy, scenario, seed};

		seen.n += evaluation_outcome(e, &cell, &seen.of[seen.n]);
	}
	return seen;
}

/* ------------------------------------------------------------------------ figures */

double figure_loss(const struct outcome *o)
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

double figure_psnr(const struct outcome *o)
{
	return o->psnr;
}

double figure_ssim(const struct outcome *o)
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
	return 100 * (o->video + o->tcp) / o->link;
}

static double tcp_of(const struct outcome *o)
{
	return o->tcp / 1e6;
}

struct spread seen_spread(const struct seen *seen, figure_of *figure)
{
	double values[SEEDS_MOST] = {0};

	for (unsigned i = 0; i < seen->n; i++)
		values[i] = figure(&seen->of[i]);
	return spread_of(values, seen->n);
}

double seen_mean(const struct evaluation *e, const char *policy, const char *scenario, figure_of *figure)
{
	struct seen seen = seen_of(e, policy_named(policy), scenario_named(scenario));

	return seen.n ? seen_spread(&seen, figure).middle : NAN;
}

/* ------------------------------------------------------------------------- tables */

static const struct {
	struct page_column column;
	figure_of *figure;
	bool spread, tcp; /* with its range over the seeds; only beside TCP */
} columns[] = {
	{{"byte loss", "%", 3}, figure_loss, true, false},
	{{"of I lost", "%", 2}, loss_of_i, false, false},
	{{"of P lost", "%", 2}, loss_of_p, false, false},
	{{"of B lost", "%", 2}, loss_of_b, false, false},
	{{"PSNR", "dB", 3}, figure_psnr, true, false},
	{{"worst stream", "dB", 3}, worst_of, false, false},
	{{"SSIM", NULL, 3}, figure_ssim, false, false},
	{{"frames shown", "%", 3}, shown_of, false, false},
	{{"link used", "%", 3}, used_of, false, false},
	{{"TCP", "Mbit/s", 3}, tcp_of, false, true},
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
		struct spread s = seen_spread(seen, columns[i].figure);

		if (columns[i].tcp && !scenario->flows)
			continue;
		if (columns[i].spread)
			page_spread(t, s);
		else
			page_number(t, s.middle);
	}
}

void show_scenario(struct page *page, const struct evaluation *e, const struct scenario *scenario)
{
	struct page_table *t = NULL;

	for (size_t i = 0; i < policy_count; i++) {
		struct seen seen = seen_of(e, &policies[i], scenario);

		if (!seen.n)
			continue;
		t = t ? t : begin_table(page, scenario);
		show_row(t, &policies[i], scenario, &seen);
	}
}

/* ------------------------------------------------------------------------- films */

void show_film(struct page *page, const struct evaluation *e, enum clip_kind clip, const char *name)
{
	const struct film *f = &e->films[clip];
	struct score whole = {.of_frames = NULL};
	struct ink_why why;
	double sum = 0;

	for (unsigned t = 0; t < FILM_TYPES; t++)
		sum += (double)f->bytes[t];
	if (film_watch(f, NULL, &whole, &why))
		return;
	page_text(
		page,
		"%s: %u frames of 352 x 288, %u a second, in groups of %u with two B frames between others, in "
		"%zu datagrams. Of the bytes %.0f %% are of I, %.0f %% of P, %.0f %% of B frames. Undamaged it has "
		"%.1f dB, and an SSIM of %.3f.",
		name, f->frames, 25 * e->study->speed, FILM_GROUP, f->n, 100 * (double)f->bytes[1] / sum,
		100 * (double)f->bytes[2] / sum, 100 * (double)f->bytes[3] / sum, whole.psnr, whole.ssim);
}
