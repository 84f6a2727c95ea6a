/* SPDX-License-Identifier: BSD-2-Clause */
/* What the pages of the evaluation and of the demo share: outcomes over the seeds, and a table for a scenario. */
#ifndef INKLING_LAB_ROUTER_TABLES_H
#define INKLING_LAB_ROUTER_TABLES_H

#include "lab/page.h"
#include "lab/router/evaluation.h"

enum { SEEDS_MOST = 16 };

/* The outcomes of a policy in a scenario, by seed; those that are there. */
struct seen {
	struct outcome of[SEEDS_MOST];
	unsigned n;
};

struct seen seen_of(const struct evaluation *e, const struct policy *policy, const struct scenario *scenario);

typedef double figure_of(const struct outcome *outcome);
double figure_loss(const struct outcome *outcome); /* percent */
double figure_psnr(const struct outcome *outcome);
double figure_ssim(const struct outcome *outcome);

struct spread seen_spread(const struct seen *seen, figure_of *figure);

/* Over the seeds of policy and scenario of these names; NAN: none is there. */
double seen_mean(const struct evaluation *e, const char *policy, const char *scenario, figure_of *figure);

/* A row for each policy that has been run in it; no table if none has. */
void show_scenario(struct page *page, const struct evaluation *e, const struct scenario *scenario);

/* What was sent, in a paragraph. */
void show_film(struct page *page, const struct evaluation *e, enum clip_kind clip, const char *name);

#endif
