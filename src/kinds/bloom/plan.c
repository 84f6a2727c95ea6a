/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plans of `stateful` and `direct`: how many cells, and how many for a flow.
 *
 * How often a filter errs is in odds.c. Errors rise with the flows and fall with the
 * cells, so for each k a bisection finds the fewest cells that hold the flows within
 * the ceiling, or the most flows that given cells or bytes hold.
 *
 * The ceiling holds for strangers and for live flows. A filter that is allowed
 * to be unsure about one flow in three would be small, and of no use.
 */
#include "kinds/bloom/bloom.h"
#include "kinds/bloom/odds.h"
#include "table/buckets.h"

enum { LINE_BITS = BLOOM_LINE_BITS, DEFAULT_COUNTER_BITS_DIRECT = 2 };

/* The top of 4 bits is 15: at a load of one flow a cell, less than one cell in 10^12 reaches it. */
enum { DEFAULT_COUNTER_BITS_STATEFUL = 4 };

#define MOST_CELLS UINT32_MAX

/* A filter, and what is in it. */
struct filter {
	const struct ink_request *req;
	struct ink_plan plan; /* kind, bits, and all of the geometry but m */
	uint32_t unit;        /* cells that come together: 1, or those of a line */
};

/* ------------------------------------------------------------------------ a plan */

static struct ink_bloom_odds odds_of(const struct filter *f, const struct ink_plan *p, uint64_t n)
{
	return ink_bloom_odds(p, f->unit, (double)n, f->req->o->states);
}

static double worst(struct ink_bloom_odds e)
{
	return e.error > e.unsure ? e.error : e.unsure;
}

static uint64_t bytes_of(const struct filter *f, const struct ink_plan *p)
{
	return ink_plan_bytes(p, f->req->o->full, 1);
}

static struct ink_plan with_units(const struct filter *f, uint64_t units)
{
	struct ink_plan p = f->plan;

	p.geometry.m = (uint32_t)(units * f->unit);
	p.bytes = bytes_of(f, &p);
	return p;
}

static struct ink_plan plan_for(const struct filter *f, uint64_t units, uint64_t n)
{
	struct ink_plan p = with_units(f, units);
	struct ink_bloom_odds e = odds_of(f, &p, n);

	p.flows = n;
	p.error = e.error;
	p.unsure = e.unsure;
	p.load = (double)n / p.geometry.m;
	p.bits_per_flow = 8 * (double)p.bytes / (double)n;
	return p;
}

static double worst_of(const struct ink_plan *p)
{
	return worst((struct ink_bloom_odds){p->error, p->unsure});
}

/* ---------------------------------------------------------------- the searches */

/* Units from the fewest that are a filter to the most; or the ones that were given, rounded to whole lines. */
static uint64_t least_units(const struct filter *f)
{
	uint64_t m = f->req->o->geometry.m, least = (2 * f->plan.geometry.k + f->unit - 1) / f->unit;

	return m ? (m + f->unit - 1) / f->unit : least;
}

static uint64_t most_units(const struct filter *f)
{
	return f->req->o->geometry.m ? least_units(f) : MOST_CELLS / f->unit;
}

struct search {
	const struct filter *f;
	uint64_t units, flows;
};

static int misses_ceiling(uint64_t units, const void *about)
{
	const struct search *s = about;
	struct ink_plan p = with_units(s->f, units);

	return worst(odds_of(s->f, &p, s->flows)) > s->f->req->o->error;
}

/* The fewest units that keep the ceiling, or more than there can be. */
static uint64_t units_for(const struct filter *f, uint64_t least, uint64_t flows)
{
	struct search s = {f, 0, flows};
	uint64_t end = least;

	if (f->req->o->geometry.m || !ink_has_ceiling(f->req) || !misses_ceiling(least, &s))
		return least;
	while (end <= most_units(f) && misses_ceiling(end, &s))
		end *= 2;
	return ink_bisect(end / 2, end < most_units(f) ? end : most_units(f) + 1, misses_ceiling, &s) + 1;
}

/* In lines it takes more cells than without them: that is where the search begins, and often where it ends. */
static uint64_t units_without_lines(const struct filter *f, uint64_t flows)
{
	struct filter plain = *f;

	plain.unit = 1;
	return (units_for(&plain, least_units(&plain), flows) + f->unit - 1) / f->unit;
}

static void fewest_bytes(const struct filter *f, struct ink_best *best)
{
	uint64_t flows = f->req->o->flows, units = least_units(f);
	struct ink_plan p;

	if (f->unit > 1 && !f->req->o->geometry.m)
		units = units_without_lines(f, flows);
	if (units > most_units(f) || (best->found && with_units(f, units).bytes > best->plan.bytes))
		return;
	units = units_for(f, units, flows);
	if (units > most_units(f))
		return;
	p = plan_for(f, units, flows);
	if (ink_has_ceiling(f->req) && worst_of(&p) > f->req->o->error * INK_PLAN_SLACK)
		return;
	ink_keep_if(best, p,
		    p.bytes < best->plan.bytes ||
			    (p.bytes == best->plan.bytes && worst_of(&p) < worst_of(&best->plan)));
}

static int bytes_fit(uint64_t units, const void *about)
{
	const struct search *s = about;
	const struct ink_options *o = s->f->req->o;

	return !o->bytes || with_units(s->f, units).bytes <= o->bytes;
}

/* The units that fit the bytes; 0: there is no room for a filter. */
static uint64_t units_in_bytes(const struct filter *f)
{
	struct search s = {f, 0, 0};
	uint64_t least = least_units(f);

	return bytes_fit(least, &s) ? ink_bisect(least, most_units(f) + 1, bytes_fit, &s) : 0;
}

static int flows_fit(uint64_t n, const void *about)
{
	const struct search *s = about;
	struct ink_plan p = with_units(s->f, s->units);

	return worst(odds_of(s->f, &p, n)) <= s->f->req->o->error;
}

/* For given bytes, or for given cells. */
static void most_flows(const struct filter *f, struct ink_best *best)
{
	struct search s = {f, units_in_bytes(f), 0};
	uint64_t n = s.units ? ink_bisect(0, INK_MOST_FLOWS, flows_fit, &s) : 0;

	if (n && n > best->plan.flows)
		ink_keep_if(best, plan_for(f, s.units, n), 1);
}

static void least_error(const struct filter *f, struct ink_best *best)
{
	uint64_t units = units_in_bytes(f);
	struct ink_plan p;

	if (!units)
		return;
	p = plan_for(f, units, f->req->o->flows);
	ink_keep_if(best, p, worst_of(&p) < worst_of(&best->plan));
}

/* ------------------------------------------------------------------ the request */

static uint32_t counter_bits(const struct ink_options *o)
{
	if (o->geometry.counter_bits == INK_NO_COUNTERS)
		return 0;
	if (o->geometry.counter_bits)
		return o->geometry.counter_bits;
	if (o->kind == INK_DIRECT)
		return DEFAULT_COUNTER_BITS_DIRECT;
	return o->age_bits ? 0 : DEFAULT_COUNTER_BITS_STATEFUL;
}

static int check_counters(const struct ink_options *o, struct ink_why *why)
{
	uint32_t bits = counter_bits(o), least = o->kind == INK_STATEFUL ? 2 : 1;

	if (bits && (bits < least || bits > INK_BLOOM_MOST_COUNTER_BITS))
		return ink_fail(why, -EINVAL, "geometry: counters of %u bits; %s has %u to %d, or none", bits,
				ink_kind_name(o->kind), least, INK_BLOOM_MOST_COUNTER_BITS);
	if (!bits && !o->age_bits)
		return ink_fail(why, -EINVAL,
				"geometry: without counters and age bits nothing would ever leave %s",
				ink_kind_name(o->kind));
	return 0;
}

static int check_flags(const struct ink_options *o, struct ink_why *why)
{
	uint32_t flags = o->geometry.bloom_flags;

	if (flags & ~(INK_BLOOM_BLOCKED | INK_BLOOM_DECREMENT))
		return ink_fail(why, -EINVAL, "geometry: bloom_flags %#x are unknown", flags);
	if (o->kind == INK_DIRECT && flags & INK_BLOOM_BLOCKED)
		return ink_fail(why, -ENOTSUP, "geometry: direct has no lines; stateful can be blocked");
	if (o->kind == INK_STATEFUL && flags & INK_BLOOM_DECREMENT)
		return ink_fail(why, -ENOTSUP,
				"geometry: stateful has no counters that count down from their top; "
				"its answers would be wrong");
	return 0;
}

static int check(const struct ink_options *o, struct ink_why *why)
{
	const struct ink_geometry *g = &o->geometry;
	int error = check_counters(o, why);

	if (!error)
		error = check_flags(o, why);
	if (error)
		return error;
	if (g->k > INK_BLOOM_MOST_K)
		return ink_fail(why, -EINVAL, "geometry: k is %u; 1 to %d are possible", g->k,
				INK_BLOOM_MOST_K);
	if (o->kind == INK_DIRECT && g->threshold)
		return ink_fail(why, -EINVAL, "geometry: a threshold is for stateful");
	if (g->threshold > (g->k ? g->k : INK_BLOOM_MOST_K))
		return ink_fail(why, -EINVAL, "geometry: a threshold of %u for k = %u cells", g->threshold,
				g->k ? g->k : INK_BLOOM_MOST_K);
	return 0;
}

static struct filter filter_of(const struct ink_request *req, uint32_t k)
{
	const struct ink_geometry *g = &req->o->geometry;
	uint32_t bits = counter_bits(req->o);
	struct filter f = {.req = req, .unit = 1};

	f.plan =
		(struct ink_plan){.size = sizeof f.plan,
				  .kind = req->o->kind,
				  .age_bits = req->o->age_bits,
				  .state_bits = ink_kind_find(req->o->kind)->state_bits(req->o->states, bits),
				  .geometry = {.k = k, .counter_bits = bits, .bloom_flags = g->bloom_flags}};
	if (req->o->kind == INK_STATEFUL)
		f.plan.geometry.threshold = g->threshold ? g->threshold : 1;
	if (g->bloom_flags & INK_BLOOM_BLOCKED)
		f.unit = LINE_BITS / ink_bloom_cell_bits(&f.plan);
	return f;
}

/* Every hash has two cells at least to choose from. */
static int makes_sense(const struct filter *f)
{
	const struct ink_geometry *g = &f->plan.geometry;
	uint64_t cells = f->unit > 1 ? f->unit : least_units(f);

	return g->threshold <= g->k && cells >= 2 * g->k;
}

typedef void (*search_fn)(const struct filter *f, struct ink_best *best);

/* The number of k that were tried. */
static unsigned each_k(const struct ink_request *req, search_fn search, struct ink_best *best)
{
	unsigned tried = 0;
	uint32_t first = req->o->geometry.k ? req->o->geometry.k : 1,
		 last = req->o->geometry.k ? req->o->geometry.k : INK_BLOOM_MOST_K;

	for (uint32_t k = first; k <= last; k++) {
		struct filter f = filter_of(req, k);

		if (!makes_sense(&f))
			continue;
		search(&f, best);
		tried++;
	}
	return tried;
}

static search_fn search_for(const struct ink_request *req)
{
	if (!req->o->flows)
		return most_flows;
	return req->o->bytes && !(req->requested->error > 0) ? least_error : fewest_bytes;
}

/* ------------------------------------------------------------------- the call */

static int out_of_reach(const struct ink_request *req, struct ink_why *why)
{
	const char *name = ink_kind_name(req->o->kind);
	struct ink_best best = {.found = 0};

	if (!each_k(req, least_error, &best))
		return ink_fail(why, -ERANGE, "%s: no such geometry with %u state%s and %u age bit%s", name,
				req->o->states, ink_plural(req->o->states), req->o->age_bits,
				ink_plural(req->o->age_bits));
	if (req->o->geometry.m && req->o->flows && best.found)
		return ink_fail(why, -ERANGE, "%s: %llu flows in %u cells have errors of %.2g, not %g", name,
				(unsigned long long)req->o->flows, req->o->geometry.m, worst_of(&best.plan),
				req->o->error);
	if (req->o->flows && search_for(req) == fewest_bytes)
		return ink_fail(why, -ERANGE, "%s: %llu flows at error %g take more than 2^32 - 1 cells",
				name, (unsigned long long)req->o->flows, req->o->error);
	if (req->o->geometry.m)
		return ink_fail(why, -ERANGE, "%s: no flow has room at error %g in %u cells", name,
				req->o->error, req->o->geometry.m);
	return ink_fail(why, -ERANGE, "%s: no flow has room at error %g in %llu byte%s", name, req->o->error,
			(unsigned long long)req->o->bytes, ink_plural(req->o->bytes));
}

int ink_bloom_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why)
{
	struct ink_best best = {.found = 0};
	int error = check(req->o, why);

	if (error)
		return error;
	each_k(req, search_for(req), &best);
	if (!best.found)
		return out_of_reach(req, why);
	*plan = best.plan;
	return 0;
}

/* ------------------------------------------------------------- sizes, snapshots */

uint64_t ink_bloom_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	uint64_t bits = ink_bloom_cell_bits(plan);

	(void)full;
	if (plan->geometry.bloom_flags & INK_BLOOM_BLOCKED)
		return plan->geometry.m / (LINE_BITS / bits) * BLOOM_LINE_BYTES;
	return ink_packed_bytes(plan->geometry.m * bits);
}

/* Two cells at least for each hash to choose from, in the table or in each line. */
int ink_bloom_fits(const struct ink_plan *plan, unsigned states)
{
	const struct ink_geometry *g = &plan->geometry;
	uint32_t line_cells = LINE_BITS / ink_bloom_cell_bits(plan);

	(void)states;
	if (g->threshold > g->k || g->counter_bits + plan->age_bits == 0)
		return 0;
	if (plan->kind == INK_STATEFUL && g->counter_bits == 1)
		return 0;
	if (g->bloom_flags & INK_BLOOM_BLOCKED)
		return g->m % line_cells == 0 && line_cells / 2 >= g->k;
	return g->m / 2 >= g->k;
}
