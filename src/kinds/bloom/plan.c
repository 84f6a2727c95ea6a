/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plans of `stateful` and `direct`: how many cells, and how many for a flow.
 *
 * n flows, m cells, k of them for a flow, S states, all equally frequent; flows
 * are only inserted. A flow hits a given cell with the probability k/m, so the
 * chance that none of n does is
 *
 *     none(n) = (1 - k/m)^n, about exp(-k n / m)
 *
 * `direct`. A pair that is not stored is found if all its cells are taken:
 *
 *     f      = (1 - none(n))^k
 *     error  = 1 - (1 - f)^S           a stranger, over all states
 *     unsure = 1 - (1 - f)^(S-1)       a live flow, beside its own state
 *
 * `stateful`. A cell of a live flow knows its state unless it is shared with a flow
 * in another state (with counters), or with any other flow (without):
 *
 *     lost   = 1 - none((n-1) (S-1)/S)        or  1 - none(n-1)
 *     unsure = lost^k                          fewer than `threshold` of the k are left, in general
 *
 * A stranger is taken for a flow if none of its cells is empty and all that
 * know a state agree. A cell knows a given state if only flows in that state have
 * it (with counters), or just one flow, in that state (without):
 *
 *     knows  = none(n (S-1)/S) - none(n)      or  n k/(m S) none(n-1)
 *     doubt  = 1 - none(n) - S knows
 *     error  = S (knows + doubt)^k - (S-1) doubt^k
 *
 * Blocked, all this happens inside a line of c cells. The number j of flows in a
 * line is Poisson distributed with the mean n / lines. So the formulas hold for each
 * j, with c/k cells in a share in place of m/k, and the plan takes the mean over all
 * j. The mixture of the states of these few flows is random too, and is the same for
 * all cells of the line: see below.
 *
 * The ceiling holds for strangers and for live flows. A filter that is allowed
 * to be unsure about one flow in three would be small, and of no use.
 */
#include "kinds/bloom/bloom.h"

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

struct errors {
	double error, unsure;
};

static double worst(struct errors e)
{
	return e.error > e.unsure ? e.error : e.unsure;
}

/* ------------------------------------------------------------------ in one place */

/* The probability that none of n events occurs, if each does with probability p. */
static double none(double p, double n)
{
	return n > 0 ? exp(n * log1p(-p)) : 1;
}

/* The chance that fewer than `least` of the cells know, of which each is lost with its own probability. */
static double fewer_know(const double *lost, unsigned k, unsigned least)
{
	double exactly[INK_BLOOM_MOST_K + 1] = {1}, sum = 0;

	for (unsigned i = 0; i < k; i++)
		for (unsigned j = i + 2; j-- > 0;)
			exactly[j] = exactly[j] * lost[i] + (j ? exactly[j - 1] * (1 - lost[i]) : 0);
	for (unsigned j = 0; j < least && j <= k; j++)
		sum += exactly[j];
	return sum;
}

static double fewer_of_equal(double lost, unsigned k, unsigned least)
{
	double all[INK_BLOOM_MOST_K];

	if (least == 1)
		return pow(lost, k);
	for (unsigned i = 0; i < k; i++)
		all[i] = lost;
	return fewer_know(all, k, least);
}

static struct errors direct_errors(const struct ink_plan *p, double n, double states)
{
	const struct ink_geometry *g = &p->geometry;
	double f = pow(1 - none((double)g->k / g->m, n), g->k);

	return (struct errors){1 - pow(1 - f, states), 1 - pow(1 - f, states - 1)};
}

static struct errors stateful_errors(const struct ink_plan *p, double n, double states)
{
	const struct ink_geometry *g = &p->geometry;
	double hit = (double)g->k / g->m, others = hit * (states - 1) / states;
	double lost = 1 - none(g->counter_bits ? others : hit, n - 1);
	double knows = g->counter_bits ? none(others, n) - none(hit, n) : n * hit / states * none(hit, n - 1);
	double doubt = fmax(0, 1 - none(hit, n) - states * knows);

	return (struct errors){states * pow(knows + doubt, g->k) - (states - 1) * pow(doubt, g->k),
			       fewer_of_equal(lost, g->k, g->threshold)};
}

/* ------------------------------------------------------------------ in one line */

/*
 * A line of c cells with j flows, i of them in the state that a stranger is
 * taken for. The shares have c/k cells, some one more than others, and errors
 * are products over them.
 *
 * How the other j - i flows are divided among the other states is the same for
 * all cells of the line. Without counters it does not matter. With them, the
 * chance that a cell is in order is linear in T, the sum of (1 - 1/g)^-x over
 * these states with x flows each. T varies little, so the mean of a power is
 * taken to the second order, by the mean and the variance of T.
 */
enum { MOST_IN_LINE = 400 }; /* flows; see over_lines */

/* Powers, since they are needed so often. */
struct share {
	double hit;                /* the chance to hit a given cell: 1/g */
	double none[MOST_IN_LINE]; /* (1 - hit)^j */
	double one
		[MOST_IN_LINE]; /* the means of (1 - hit)^-x for one other state, when j flows are in others, */
	double two[MOST_IN_LINE];    /* of the product for two of them */
	double square[MOST_IN_LINE]; /* and of its square */
};

struct line {
	double states;
	int counters;
	unsigned k, threshold;
	unsigned large;     /* shares with one cell more; all the same otherwise */
	struct share of[2]; /* smaller and larger ones */
};

static void fill_share(struct share *s, unsigned cells, double others)
{
	double hit = 1.0 / cells, grow = 1 / (1 - hit), each = others > 0 ? 1 / others : 0;

	s->hit = hit;
	s->none[0] = s->one[0] = s->two[0] = s->square[0] = 1;
	for (unsigned j = 1; j < MOST_IN_LINE; j++) {
		s->none[j] = s->none[j - 1] * (1 - hit);
		s->one[j] = s->one[j - 1] * (1 + (grow - 1) * each);
		s->two[j] = s->two[j - 1] * (1 + 2 * (grow - 1) * each);
		s->square[j] = s->square[j - 1] * (1 + (grow * grow - 1) * each);
	}
}

static void fill_line(const struct filter *f, struct line *l)
{
	const struct ink_geometry *g = &f->plan.geometry;

	l->states = f->req->o->states;
	l->counters = g->counter_bits != 0;
	l->k = g->k;
	l->threshold = g->threshold;
	l->large = f->unit % g->k;
	fill_share(&l->of[0], f->unit / g->k, l->states - 1);
	fill_share(&l->of[1], f->unit / g->k + 1, l->states - 1);
}

/* j other flows that make a cell don't-know. */
static double line_unsure(const struct line *l, unsigned j)
{
	double lost[INK_BLOOM_MOST_K];

	for (unsigned i = 0; i < l->k; i++)
		lost[i] = 1 - l->of[i < l->large].none[j];
	return fewer_know(lost, l->k, l->threshold);
}

/* A cell: the chance that it knows the state, and that it is that or don't-know, which has a variance. */
struct met {
	double knows, either, variance;
};

static struct met met_without_counters(const struct share *s, unsigned j, unsigned i)
{
	double one = j ? s->hit * s->none[j - 1] : 0;

	return (struct met){i * one, 1 - s->none[j] - (j - i) * one, 0};
}

static struct met met_with_counters(const struct share *s, unsigned j, unsigned i, double others)
{
	double empty = s->none[j], one = s->one[j - i];
	double variance = others * (s->square[j - i] + (others - 1) * s->two[j - i] - others * one * one);

	return (struct met){s->none[j - i] - empty, 1 + (others - 1) * empty - others * one * empty,
			    fmax(0, variance) * empty * empty};
}

static struct met met(const struct line *l, int large, unsigned j, unsigned i)
{
	const struct share *s = &l->of[large];

	return l->counters ? met_with_counters(s, j, i, l->states - 1) : met_without_counters(s, j, i);
}

static double power(double x, unsigned n)
{
	double result = 1;

	for (; n; n >>= 1, x *= x)
		if (n & 1)
			result *= x;
	return result;
}

/* The mean of the product over all k cells, which are as they were met, less that. */
static double all_cells(const struct line *l, const struct met m[2], double less)
{
	double small = m[0].either - less * m[0].knows, large = m[1].either - less * m[1].knows;
	double pairs = l->k * (l->k - 1) / 2.0;

	if (small <= 0 || large <= 0)
		return 0;
	return fmin(1, power(small, l->k - l->large) * power(large, l->large) *
			       (1 + pairs * m[0].variance / (small * small)));
}

/* i of j flows are in the state that the stranger is taken for: cells know it or are in doubt, not all in doubt. */
static double error_with(const struct line *l, unsigned j, unsigned i)
{
	struct met m[2] = {met(l, 0, j, i), met(l, 1, j, i)};

	return l->states * all_cells(l, m, 0) - (l->states - 1) * all_cells(l, m, 1);
}

/* Terms that are too small to count are left out. */
#define NEGLIGIBLE 1e-13

static double line_error(const struct line *l, unsigned j)
{
	double p = 1 / l->states, weight = power(1 - p, j), error = 0;

	if (l->states < 2)
		return error_with(l, j, j);
	for (unsigned i = 0; i <= j; i++) {
		if (weight > NEGLIGIBLE)
			error += weight * error_with(l, j, i);
		weight *= (double)(j - i) / (i + 1) * p / (1 - p);
	}
	return fmin(1, fmax(0, error));
}

/* The mean of an error over lines whose numbers of flows are Poisson distributed. */
static double over_lines(const struct line *l, double mean, double (*error)(const struct line *l, unsigned j))
{
	double weight = exp(-mean), sum = 0;

	for (unsigned j = 0; j < MOST_IN_LINE; j++) {
		if (weight > NEGLIGIBLE)
			sum += weight * error(l, j);
		weight *= mean / (j + 1);
	}
	return fmin(1, sum);
}

/*
 * A line has at most 170 cells. With as many flows as cells, each cell has k of
 * them and the filter is useless; the formula without lines is good enough there.
 * Below that, MOST_IN_LINE is more than 17 standard deviations away.
 */
static struct errors blocked_errors(const struct filter *f, const struct ink_plan *p, double n)
{
	double flows = n / (p->geometry.m / f->unit);
	struct line l;
	double others;

	if (flows > f->unit)
		return stateful_errors(p, n, f->req->o->states);
	fill_line(f, &l);
	others = l.counters ? (l.states - 1) / l.states : 1;
	return (struct errors){over_lines(&l, flows, line_error),
			       over_lines(&l, flows * others, line_unsure)};
}

/* ------------------------------------------------------------------------ a plan */

static struct errors errors_of(const struct filter *f, const struct ink_plan *p, uint64_t n)
{
	double states = f->req->o->states;

	if (p->kind == INK_DIRECT)
		return direct_errors(p, (double)n, states);
	if (f->unit > 1)
		return blocked_errors(f, p, (double)n);
	return stateful_errors(p, (double)n, states);
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
	struct errors e = errors_of(f, &p, n);

	p.flows = n;
	p.error = e.error;
	p.unsure = e.unsure;
	p.load = (double)n / p.geometry.m;
	p.bits_per_flow = 8 * (double)p.bytes / (double)n;
	return p;
}

static double worst_of(const struct ink_plan *p)
{
	return worst((struct errors){p->error, p->unsure});
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

	return worst(errors_of(s->f, &p, s->flows)) > s->f->req->o->error;
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

	return worst(errors_of(s->f, &p, n)) <= s->f->req->o->error;
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

/* ---------------------------------------------------------------- what is asked */

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
