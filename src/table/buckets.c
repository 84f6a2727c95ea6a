/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plans of kinds whose flows have d candidate buckets: `line`, `compact`, `dleft`.
 *
 * A flow has d candidate buckets out of B. Each bucket tells V stored values
 * apart, so with n flows in the cells a stranger meets
 *
 *     lambda = d n / (B V)
 *
 * matches on average. In `line` and `compact`, flows that cannot be told apart are
 * never in the cells together (one goes to the side table). A stored value is
 * therefore taken at most once, and a stranger meets the share of taken values.
 * While the table fills, this share follows
 *
 *     d taken = (1 - taken) d lambda,      error = taken = 1 - exp(-lambda).
 *
 * In steady churn it falls slightly, to lambda / (1 + lambda). In `dleft` matches
 * are independent, and the same formula holds.
 *
 * A plan is therefore a choice among shapes (ways to divide a bucket), each with
 * its V and the load at which it does not overflow, and the number of buckets that
 * this load and the error require. The fewest bytes win, side table included; but where a
 * kind knows what its shapes cost in time, the fastest wins of those that take up to 2 %
 * more (and save twice that in time), unless the caller wants the smallest.
 */
#include "table/buckets.h"

#include "table/side.h"

/* A search among the shapes of a kind. */
struct search {
	const struct ink_request *req;
	const struct ink_bucket_kind *kind;
	struct ink_best best;
	double most_bytes, least_flows; /* of the second search, for the fastest; 0: it is the first */
};

/* How much more memory a faster shape may take. */
#define FASTER_FOR 1.02

/* ------------------------------------------------------------------ one plan */

/* The buckets that b stands for. */
static double all_buckets(const struct search *q, const struct ink_bucket_shape *s, double b)
{
	return b * (q->kind->subtables ? s->g.d : 1);
}

/* Collisions in steady churn, and six standard deviations; a few more for small tables. */
static uint32_t side_entries(const struct search *q, double flows, double error)
{
	const struct ink_options *o = q->req->o;
	double mean = flows * error;

	if (o->geometry.side == INK_NO_SIDE)
		return 0;
	if (o->geometry.side || q->kind->no_side)
		return o->geometry.side;
	if (o->writers > 1)
		mean += flows * 2e-5;
	mean = ceil(mean + 6 * sqrt(mean)) + 16;
	return mean < INK_SIDE_MOST ? (uint32_t)mean : INK_SIDE_MOST;
}

/*
 * A side table that keeps few bits of an id errs, too: a stranger matches the
 * entries of its first line that agree with it in the bits kept.
 */
static double narrow_error(double entries, double lines, uint32_t id_bits)
{
	return ldexp(entries / lines, -(int)id_bits);
}

/* The plan for a shape with b buckets (in each subtable) and n flows. */
static struct ink_plan plan_for(const struct search *q, const struct ink_bucket_shape *s, uint64_t b,
				uint64_t n)
{
	double buckets = all_buckets(q, s, (double)b);
	struct ink_plan p = {.size = sizeof p,
			     .kind = q->req->o->kind,
			     .flows = n,
			     .error = -expm1(-(double)s->g.d * (double)n / (buckets * s->values)),
			     .load = (double)n / (buckets * s->g.h),
			     .state_bits = q->req->coding.state_bits,
			     .age_bits = q->req->coding.age_bits,
			     .geometry = s->g,
			     .part = s->part};

	p.time = s->time;
	p.geometry.b = (uint32_t)b;
	p.geometry.side = side_entries(q, (double)n, p.error);
	p.geometry.side_id = q->req->o->geometry.side_id;
	if (p.geometry.side_id && p.geometry.side)
		p.error = fmin(1, p.error + narrow_error((double)n * p.error, (double)b, p.geometry.side_id));
	ink_plan_measure(&p, q->req);
	return p;
}

/* Below this load, more lines only dilute: another shape or kind needs less. */
#define LEAST_LOAD .25

/* The fewest buckets that hold n flows at a safe load, within the error; 0 if there are none. */
static uint64_t buckets_for(const struct search *q, const struct ink_bucket_shape *s, uint64_t n,
			    double error)
{
	double for_load = (double)n / (s->g.h * s->load),
	       for_error = s->g.d * (double)n / (s->values * -log1p(-error));
	double b = ceil((for_load > for_error ? for_load : for_error) / all_buckets(q, s, 1));

	if (q->req->o->geometry.b)
		return q->req->o->geometry.b;
	if (for_load < LEAST_LOAD / s->load * for_error || b > INK_MOST_BUCKETS)
		return 0;
	return (uint64_t)b;
}

/* ---------------------------------------------------------- the four searches */

/* Of the plans with few enough bytes the fastest; but a hundredth of memory has to save two of time. */
static int is_faster(const struct ink_plan *p, const struct ink_plan *best)
{
	double more = p->bits_per_flow / best->bits_per_flow;

	return p->time * more * more < best->time;
}

/* Small tables take the same bytes in all shapes; parts, which cost time, must save some. */
static int takes_fewer(const struct ink_plan *p, const struct ink_plan *best)
{
	if (p->bytes != best->bytes)
		return p->bytes < best->bytes;
	return p->error < best->error && (!p->part || p->part == best->part);
}

static void fewest_bytes(void *to, const struct ink_bucket_shape *s)
{
	struct search *q = to;
	const struct ink_options *o = q->req->o;
	const struct ink_plan *best = &q->best.plan;
	uint64_t b = buckets_for(q, s, o->flows, o->error);
	struct ink_plan p;

	if (!b)
		return;
	p = plan_for(q, s, b, o->flows);
	if (ink_has_ceiling(q->req) && p.error > o->error * INK_PLAN_SLACK)
		return;
	if (q->most_bytes == 0)
		ink_keep_if(&q->best, p, takes_fewer(&p, best));
	else if ((double)p.bytes <= q->most_bytes)
		ink_keep_if(&q->best, p, is_faster(&p, best));
}

/* A search within one shape. */
struct in_shape {
	const struct search *q;
	const struct ink_bucket_shape *s;
};

static int flows_fit(uint64_t n, const void *about)
{
	const struct in_shape *in = about;
	const struct ink_options *o = in->q->req->o;
	uint64_t b = buckets_for(in->q, in->s, n, o->error);
	struct ink_plan p;

	if (!b)
		return 0;
	p = plan_for(in->q, in->s, b, n);
	return p.bytes <= o->bytes && p.load <= in->s->load * INK_PLAN_SLACK &&
	       (!ink_has_ceiling(in->q->req) || p.error <= o->error * INK_PLAN_SLACK);
}

static void most_flows(void *to, const struct ink_bucket_shape *s)
{
	struct search *q = to;
	struct in_shape in = {q, s};
	const struct ink_options *o = q->req->o;
	uint64_t end = o->bytes < INK_MOST_FLOWS / 8 ? o->bytes * 8 : INK_MOST_FLOWS;
	uint64_t n = ink_bisect(0, end, flows_fit, &in);
	struct ink_plan p;

	if (!n)
		return;
	p = plan_for(q, s, buckets_for(q, s, n, o->error), n);
	if (q->least_flows == 0)
		ink_keep_if(&q->best, p, p.flows > q->best.plan.flows);
	else if ((double)p.flows >= q->least_flows)
		ink_keep_if(&q->best, p, is_faster(&p, &q->best.plan));
}

static int buckets_fit(uint64_t b, const void *about)
{
	const struct in_shape *in = about;
	const struct ink_options *o = in->q->req->o;

	return plan_for(in->q, in->s, b, o->flows).bytes <= o->bytes;
}

static void least_error(void *to, const struct ink_bucket_shape *s)
{
	struct search *q = to;
	struct in_shape in = {q, s};
	const struct ink_options *o = q->req->o;
	uint64_t b = buckets_for(q, s, o->flows, .999); /* what the load alone requires */
	struct ink_plan p;

	if (!b || !buckets_fit(b, &in))
		return;
	if (!o->geometry.b)
		b = ink_bisect(b, INK_MOST_BUCKETS, buckets_fit, &in);
	p = plan_for(q, s, b, o->flows);
	ink_keep_if(&q->best, p, p.error < q->best.plan.error);
}

/* The buckets are given and the flows are not: as many flows as are safe. */
static void pinned_flows(void *to, const struct ink_bucket_shape *s)
{
	struct search *q = to;
	const struct ink_options *o = q->req->o;
	uint64_t n = (uint64_t)(all_buckets(q, s, (double)o->geometry.b * s->g.h) * s->load);
	struct ink_plan p = plan_for(q, s, o->geometry.b, n ? n : 1);

	if (!ink_has_ceiling(q->req) || p.error <= o->error)
		ink_keep_if(&q->best, p, p.error < q->best.plan.error);
}

static ink_shape_visitor *search_for(const struct ink_request *req)
{
	if (!req->o->flows)
		return req->o->bytes ? most_flows : pinned_flows;
	return req->o->bytes && !(req->requested->error > 0) ? least_error : fewest_bytes;
}

/* ------------------------------------------------------------------- refusals */

/* The error of a shape at the least sensible load; it does not depend on the flows. */
static void least_reach(void *to, const struct ink_bucket_shape *s)
{
	double *least = to, error = -expm1(-(double)s->g.d * s->g.h * LEAST_LOAD / s->values);

	if (error < *least)
		*least = error;
}

/* The plan without a limit of bytes; 0 if there is none. */
static int without_limit(const struct ink_request *req, const struct ink_bucket_kind *kind,
			 struct ink_plan *plan)
{
	struct ink_options unlimited = *req->o;
	struct ink_request other = {req->requested, &unlimited, req->coding};
	struct search q = {&other, kind, {.found = 0}, 0, 0};

	unlimited.bytes = 0;
	kind->shapes(&other, fewest_bytes, &q);
	*plan = q.best.plan;
	return q.best.found;
}

/* Nothing was found: say what would be possible, the fewest bytes or the smallest error. */
static int out_of_reach(const struct ink_request *req, const struct ink_bucket_kind *kind,
			struct ink_why *why)
{
	const struct ink_options *o = req->o;
	const char *name = ink_kind_name(o->kind);
	struct ink_plan plan;
	double least = 1;

	if (o->flows && o->bytes && without_limit(req, kind, &plan))
		return ink_plan_too_large(req, &plan, why);
	kind->shapes(req, least_reach, &least);
	if (least == 1)
		return ink_fail(why, -ERANGE, "%s: no such geometry with %u state%s and %u age bit%s", name,
				o->states, ink_plural(o->states), o->age_bits, ink_plural(o->age_bits));
	if (o->bytes && o->error > least)
		return ink_fail(why, -ERANGE, "%s: %llu byte%s %s too few for any table", name,
				(unsigned long long)o->bytes, ink_plural(o->bytes), ink_are(o->bytes));
	if (o->error > least)
		return ink_fail(why, -ERANGE, "%s: %llu flows are more than its 2^28 %s hold", name,
				(unsigned long long)o->flows, kind->buckets);
	return ink_fail(why, -ERANGE,
			"%s: error %g is out of reach with %u state%s and %u age bit%s; the least is %.4g",
			name, o->error, o->states, ink_plural(o->states), o->age_bits,
			ink_plural(o->age_bits), least);
}

/* Searches once more, with the best plan as the measure. The smallest error is not traded for time. */
static void search_faster(struct search *q, ink_shape_visitor *visit)
{
	const struct ink_options *o = q->req->o;
	struct ink_plan least = q->best.plan;

	if (!q->best.found || least.time == 0 || o->smallest || (visit != fewest_bytes && visit != most_flows))
		return;
	q->most_bytes = (double)least.bytes * FASTER_FOR;
	q->least_flows = (double)least.flows / FASTER_FOR;
	if (o->bytes && q->most_bytes > (double)o->bytes)
		q->most_bytes = (double)o->bytes;
	q->kind->shapes(q->req, visit, q);
}

int ink_plan_buckets(const struct ink_request *req, const struct ink_bucket_kind *kind, struct ink_plan *plan,
		     struct ink_why *why)
{
	struct search q = {req, kind, {.found = 0}, 0, 0};

	kind->shapes(req, search_for(req), &q);
	search_faster(&q, search_for(req));
	if (!q.best.found)
		return out_of_reach(req, kind, why);
	*plan = q.best.plan;
	return 0;
}
