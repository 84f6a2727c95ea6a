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
#include <stdlib.h>

#include "kinds/sums/odds.h"
#include "kinds/sums/sums.h"
#include "table/plan.h"

enum {
	MOST_SYMBOLS = 12, /* in classes; more states than half of that have one */
	LOAD_STEPS = 40    /* ten are enough, as a rule */
};

#define LEAST_LOAD .25 /* below, more cells hardly reduce the errors */
#define MOST_LOAD 8.0
#define LOAD_NEAR (1 + 1e-9) /* to the highest */

/* One choice. */
struct choice {
	const struct ink_request *req;
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
	return log(misled(c, load) / c->req->o->error);
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

/* If more than one flow in twenty reads "don't know", a larger side table does not help. */
#define MOST_DOUBT .05

static uint32_t side_entries(const struct ink_request *req, double flows, double unsure)
{
	double waiting = flows * (unsure < MOST_DOUBT ? unsure : MOST_DOUBT);

	if (req->o->geometry.side == INK_NO_SIDE)
		return 0;
	if (req->o->geometry.side)
		return req->o->geometry.side;
	waiting = ceil(waiting + 6 * sqrt(waiting)) + 16;
	return waiting < INK_SIDE_MOST ? (uint32_t)waiting : INK_SIDE_MOST;
}

/* The plan with `share` cells in each of the k shares, and n flows. */
static struct ink_plan plan_for(const struct choice *c, uint64_t share, uint64_t n)
{
	struct ink_plan p = {.size = sizeof p,
			     .kind = INK_KBF,
			     .flows = n,
			     .load = (double)n / (double)(c->k * share),
			     .state_bits = c->req->coding.state_bits,
			     .geometry = {.h = c->multisets->mask_bytes,
					  .f = c->multisets->max_count,
					  .q = c->classes,
					  .k = c->k,
					  .m = (uint32_t)(c->k * share)}};

	ink_odds_of(c->odds, c->k, (double)n / (double)share, &p.error, &p.unsure);
	p.geometry.side = side_entries(c->req, (double)n, p.unsure);
	ink_plan_measure(&p, c->req);
	return p;
}

/* The cells of a share with which n flows make this load; 0: more than there can be. */
static uint64_t share_for(const struct choice *c, double n, double load)
{
	double share = ceil(n / load);

	return share * c->k <= UINT32_MAX ? (uint64_t)share : 0;
}

static uint64_t pinned_share(const struct choice *c)
{
	return c->req->o->geometry.m / c->k;
}

/* ---------------------------------------------------------- the three searches */

static void fewest_bytes(const struct choice *c, struct ink_best *best)
{
	double load = highest_load(c);
	uint64_t n = c->req->o->flows, share = load > 0 ? share_for(c, (double)n, load) : 0;
	struct ink_plan p;

	if (c->req->o->geometry.m)
		share = pinned_share(c);
	if (!share)
		return;
	p = plan_for(c, share, n);
	if (ink_has_ceiling(c->req) && fmax(p.error, p.unsure) > c->req->o->error * INK_PLAN_SLACK)
		return;
	ink_keep_if(best, p, p.bytes < best->plan.bytes);
}

struct search {
	const struct choice *c;
	double load;
};

static int flows_fit(uint64_t n, const void *about)
{
	const struct search *q = about;
	uint64_t share = share_for(q->c, (double)n, q->load);

	return share && plan_for(q->c, share, n).bytes <= q->c->req->o->bytes;
}

static void most_flows(const struct choice *c, struct ink_best *best)
{
	struct search q = {c, highest_load(c)};
	uint64_t bytes = c->req->o->bytes, end = bytes < INK_MOST_FLOWS / 8 ? bytes * 8 : INK_MOST_FLOWS;
	uint64_t n = q.load > 0 && flows_fit(1, &q) ? ink_bisect(1, end, flows_fit, &q) : 0;

	if (c->req->o->geometry.m)
		n = (uint64_t)((double)pinned_share(c) * q.load);
	if (!n)
		return;
	ink_keep_if(best, plan_for(c, c->req->o->geometry.m ? pinned_share(c) : share_for(c, (double)n, q.load), n),
		n > best->plan.flows);
}

static int share_fits(uint64_t share, const void *about)
{
	const struct search *q = about;

	return share * q->c->k <= UINT32_MAX &&
	       plan_for(q->c, share, q->c->req->o->flows).bytes <= q->c->req->o->bytes;
}

static void least_error(const struct choice *c, struct ink_best *best)
{
	struct search q = {c, 0};
	uint64_t share =
		c->req->o->geometry.m ? pinned_share(c) : share_for(c, (double)c->req->o->flows, MOST_LOAD);
	struct ink_plan p;

	if (!share || !share_fits(share, &q))
		return;
	if (!c->req->o->geometry.m)
		share = ink_bisect(share, UINT32_MAX, share_fits, &q);
	p = plan_for(c, share, c->req->o->flows);
	ink_keep_if(best, p, fmax(p.error, p.unsure) < fmax(best->plan.error, best->plan.unsure));
}

/* --------------------------------------------------------------------- choices */

typedef void search_fn(const struct choice *c, struct ink_best *best);

static search_fn *search_for(const struct ink_request *req)
{
	if (!req->o->flows)
		return most_flows;
	return req->o->bytes && !(req->requested->error > 0) ? least_error : fewest_bytes;
}

static int try_classes(const struct ink_request *req, uint32_t classes, search_fn *search, struct ink_best *best)
{
	struct ink_multiset_shape multisets = ink_multiset_shape(req->o->states * classes);
	struct ink_odds *odds = ink_odds_make(req->o->states, classes);

	if (!odds)
		return -ENOMEM;
	for (uint32_t k = 1; k <= INK_SUMS_MAX_K; k++) {
		struct choice c = {req, odds, &multisets, classes, k};

		if (ink_admits(req->o->geometry.k, k))
			search(&c, best);
	}
	ink_odds_free(odds);
	return 0;
}

static int try_all(const struct ink_request *req, search_fn *search, struct ink_best *best)
{
	uint32_t most = MOST_SYMBOLS / req->o->states, pinned = req->o->geometry.q;
	int error = 0;

	if (pinned)
		return pinned <= INK_MULTISET_STATES / req->o->states ? try_classes(req, pinned, search, best) : 0;
	for (uint32_t classes = 1; classes <= (most ? most : 1) && !error; classes++)
		error = try_classes(req, classes, search, best);
	return error;
}

/* -------------------------------------------------------------------- refusals */

static int cannot(const struct ink_request *req, struct ink_why *why)
{
	if (req->o->states > INK_MULTISET_STATES)
		return ink_fail(why, -ENOTSUP, "kbf: %u states; it has cells for %d", req->o->states,
				   INK_MULTISET_STATES);
	if (req->o->age_bits)
		return ink_fail(
			why, -ENOTSUP,
			"kbf: %u age bit%s; its cells are sums of flows, and none of them can expire",
			req->o->age_bits, ink_plural(req->o->age_bits));
	return 0;
}

static int out_of_reach(const struct ink_request *req, struct ink_why *why)
{
	struct ink_options unlimited = *req->o;
	struct ink_request other = {req->requested, &unlimited, req->coding};
	struct ink_best best = {.found = 0};

	unlimited.bytes = 0;
	if (req->o->flows && req->o->bytes && try_all(&other, fewest_bytes, &best) == 0 && best.found)
		return ink_plan_too_large(req, &best.plan, why);
	return ink_fail(
		why, -ERANGE,
		"kbf: error %g with %u states is out of reach for what is asked of flows, bytes and geometry",
		req->o->error, req->o->states);
}

int ink_sums_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why)
{
	struct ink_best best = {.found = 0};
	int error = cannot(req, why);

	if (error)
		return error;
	if (try_all(req, search_for(req), &best) != 0)
		return ink_fail(why, -ENOMEM, "kbf: no memory for the plan");
	if (!best.found)
		return out_of_reach(req, why);
	if (req->o->bytes && best.plan.bytes > req->o->bytes)
		return ink_plan_too_large(req, &best.plan, why);
	*plan = best.plan;
	return 0;
}
