/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of `kbf`: how many classes, how many cells for a flow, how many in all.
 *
 * How often k cells with L flows each mislead follows from the states and the
 * classes alone (odds.h); so for each of the few choices there is a highest
 * load L at which strangers and live flows are both within the ceiling, and the
 * flows tell how many cells that makes. The fewest bytes win.
 *
 * The side table holds changes of flows that read "don't know": as many as there
 * are such flows, and six standard deviations.
 */
#include "table/search.h"

#include <stdlib.h>

#include "kinds/sums/multiset.h"
#include "kinds/sums/odds.h"

enum {
	MOST_SYMBOLS = 12, /* in classes; more states than half of that have one */
	LOAD_STEPS = 40    /* ten are enough, as a rule */
};

#define LEAST_LOAD .25 /* below, more cells only dilute */
#define MOST_LOAD 8.0
#define LOAD_NEAR (1 + 1e-9) /* to the highest */

/* One choice. */
struct choice {
	const struct wish *w;
	const struct ink_odds *odds;
	const struct ink_multiset_shape *multisets;
	uint32_t classes, k;
};

static double misled(const struct choice *c, double load)
{
	double error, unsure;

	ink_odds_of(c->odds, c->k, load, &error, &unsure);
	return error > unsure ? error : unsure;
}

/* By how much the ceiling is exceeded; its logarithm is nearly straight over that of the load. */
static double excess(const struct choice *c, double load)
{
	return log(misled(c, load) / c->w->o->error);
}

/* An end of the interval, and by how much the ceiling is exceeded there. */
struct end {
	double load, by;
	int stays;
};

/* One end moves. The other counts half as much if it stays again, so that it moves too before long. */
static void move(struct end *moves, struct end *stays, double load, double by)
{
	*moves = (struct end){load, by, 0};
	if (stays->stays++)
		stays->by /= 2;
}

/* The highest load within the ceiling, or 0. By false position (the Illinois rule). */
static double highest_load(const struct choice *c)
{
	struct end low = {LEAST_LOAD, excess(c, LEAST_LOAD), 0}, high = {MOST_LOAD, excess(c, MOST_LOAD), 0};

	if (low.by > 0 || high.by <= 0)
		return low.by > 0 ? 0 : MOST_LOAD;
	for (int i = 0; i < LOAD_STEPS && high.load > low.load * LOAD_NEAR; i++) {
		double load = low.load * pow(high.load / low.load, low.by / (low.by - high.by));
		double by = excess(c, load);

		if (by <= 0)
			move(&low, &high, load, by);
		else
			move(&high, &low, load, by);
	}
	return low.load;
}

/* -------------------------------------------------------------------- one plan */

/* Where one flow in twenty is in doubt, more room for their changes is no help. */
#define MOST_DOUBT .05

static uint32_t side_entries(const struct wish *w, double flows, double unsure)
{
	double waiting = flows * (unsure < MOST_DOUBT ? unsure : MOST_DOUBT);

	if (w->o->geometry.side == INK_NO_SIDE)
		return 0;
	if (w->o->geometry.side)
		return w->o->geometry.side;
	waiting = ceil(waiting + 6 * sqrt(waiting)) + 16;
	return waiting < INK_SIDE_MOST ? (uint32_t)waiting : INK_SIDE_MOST;
}

/* With `share` cells in each of the k shares, and n flows. */
static struct ink_plan plan_for(const struct choice *c, uint64_t share, uint64_t n)
{
	struct ink_plan p = {.size = sizeof p,
			     .kind = INK_KBF,
			     .flows = n,
			     .load = (double)n / (double)(c->k * share),
			     .state_bits = c->w->coding.state_bits,
			     .geometry = {.h = c->multisets->mask_bytes,
					  .f = c->multisets->max_count,
					  .q = c->classes,
					  .k = c->k,
					  .m = (uint32_t)(c->k * share)}};

	ink_odds_of(c->odds, c->k, (double)n / (double)share, &p.error, &p.unsure);
	p.geometry.side = side_entries(c->w, (double)n, p.unsure);
	p.bytes = ink_table_bytes(&p, 1) +
		  ink_body_round(ink_cells_bytes(&p, c->w->o->full) + ink_side_bytes(ink_side_form(&p)));
	p.bits_per_flow = 8 * (double)p.bytes / (double)n;
	return p;
}

/* So many cells a share that n flows make this load; 0: more than there can be. */
static uint64_t share_for(const struct choice *c, double n, double load)
{
	double share = ceil(n / load);

	return share * c->k <= UINT32_MAX ? (uint64_t)share : 0;
}

static uint64_t pinned_share(const struct choice *c)
{
	return c->w->o->geometry.m / c->k;
}

/* ---------------------------------------------------------- the three searches */

static void fewest_bytes(const struct choice *c, struct best *best)
{
	double load = highest_load(c);
	uint64_t n = c->w->o->flows, share = load > 0 ? share_for(c, (double)n, load) : 0;
	struct ink_plan p;

	if (c->w->o->geometry.m)
		share = pinned_share(c);
	if (!share)
		return;
	p = plan_for(c, share, n);
	if (ceiling_asked(c->w) && fmax(p.error, p.unsure) > c->w->o->error * INK_PLAN_SLACK)
		return;
	keep_if(best, p, p.bytes < best->plan.bytes);
}

struct search {
	const struct choice *c;
	double load;
};

static int flows_fit(uint64_t n, const void *about)
{
	const struct search *q = about;
	uint64_t share = share_for(q->c, (double)n, q->load);

	return share && plan_for(q->c, share, n).bytes <= q->c->w->o->bytes;
}

static void most_flows(const struct choice *c, struct best *best)
{
	struct search q = {c, highest_load(c)};
	uint64_t bytes = c->w->o->bytes, end = bytes < INK_MOST_FLOWS / 8 ? bytes * 8 : INK_MOST_FLOWS;
	uint64_t n = q.load > 0 && flows_fit(1, &q) ? ink_bisect(1, end, flows_fit, &q) : 0;

	if (c->w->o->geometry.m)
		n = (uint64_t)((double)pinned_share(c) * q.load);
	if (!n)
		return;
	keep_if(best, plan_for(c, c->w->o->geometry.m ? pinned_share(c) : share_for(c, (double)n, q.load), n),
		n > best->plan.flows);
}

static int share_fits(uint64_t share, const void *about)
{
	const struct search *q = about;

	return share * q->c->k <= UINT32_MAX &&
	       plan_for(q->c, share, q->c->w->o->flows).bytes <= q->c->w->o->bytes;
}

static void least_error(const struct choice *c, struct best *best)
{
	struct search q = {c, 0};
	uint64_t share =
		c->w->o->geometry.m ? pinned_share(c) : share_for(c, (double)c->w->o->flows, MOST_LOAD);
	struct ink_plan p;

	if (!share || !share_fits(share, &q))
		return;
	if (!c->w->o->geometry.m)
		share = ink_bisect(share, UINT32_MAX, share_fits, &q);
	p = plan_for(c, share, c->w->o->flows);
	keep_if(best, p, fmax(p.error, p.unsure) < fmax(best->plan.error, best->plan.unsure));
}

/* --------------------------------------------------------------------- choices */

typedef void search_fn(const struct choice *c, struct best *best);

static search_fn *search_for(const struct wish *w)
{
	if (!w->o->flows)
		return most_flows;
	return w->o->bytes && !(w->asked->error > 0) ? least_error : fewest_bytes;
}

static int try_classes(const struct wish *w, uint32_t classes, search_fn *search, struct best *best)
{
	struct ink_multiset_shape multisets = ink_multiset_shape(w->o->states * classes);
	struct ink_odds *odds = ink_odds_make(w->o->states, classes);

	if (!odds)
		return -ENOMEM;
	for (uint32_t k = 1; k <= INK_SUMS_MAX_K; k++) {
		struct choice c = {w, odds, &multisets, classes, k};

		if (allowed(w->o->geometry.k, k))
			search(&c, best);
	}
	ink_odds_free(odds);
	return 0;
}

static int try_all(const struct wish *w, search_fn *search, struct best *best)
{
	uint32_t most = MOST_SYMBOLS / w->o->states, pinned = w->o->geometry.q;
	int error = 0;

	if (pinned)
		return pinned <= INK_MULTISET_STATES / w->o->states ? try_classes(w, pinned, search, best) : 0;
	for (uint32_t classes = 1; classes <= (most ? most : 1) && !error; classes++)
		error = try_classes(w, classes, search, best);
	return error;
}

/* -------------------------------------------------------------------- refusals */

static int cannot(const struct wish *w, struct ink_why *why)
{
	if (w->o->states > INK_MULTISET_STATES)
		return ink_fail(why, -ENOTSUP, "kbf: %u states; it has cells for %d", w->o->states,
				   INK_MULTISET_STATES);
	if (w->o->age_bits)
		return ink_fail(
			why, -ENOTSUP,
			"kbf: %u age bit%s; its cells are sums of flows, and none of them can expire",
			w->o->age_bits, ink_plural(w->o->age_bits));
	if (w->o->full == INK_REPLACE)
		return ink_fail(why, -ENOTSUP, "kbf: it is never full, and there is nothing to replace");
	return 0;
}

static int out_of_reach(const struct wish *w, struct ink_why *why)
{
	struct ink_options unlimited = *w->o;
	struct wish other = {w->asked, &unlimited, w->coding};
	struct best best = {.found = 0};

	unlimited.bytes = 0;
	if (w->o->flows && w->o->bytes && try_all(&other, fewest_bytes, &best) == 0 && best.found)
		return ink_plan_too_large(w, &best.plan, why);
	return ink_fail(
		why, -ERANGE,
		"kbf: error %g with %u states is out of reach for what is asked of flows, bytes and geometry",
		w->o->error, w->o->states);
}

int ink_plan_kbf(const struct wish *w, struct ink_plan *plan, struct ink_why *why)
{
	struct best best = {.found = 0};
	int error = cannot(w, why);

	if (error)
		return error;
	if (try_all(w, search_for(w), &best) != 0)
		return ink_fail(why, -ENOMEM, "kbf: no memory for the plan");
	if (!best.found)
		return out_of_reach(w, why);
	if (w->o->bytes && best.plan.bytes > w->o->bytes)
		return ink_plan_too_large(w, &best.plan, why);
	*plan = best.plan;
	return 0;
}
