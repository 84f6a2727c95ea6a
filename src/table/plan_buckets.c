/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plans of `line`, `compact` and `dleft`.
 *
 * A flow looks into d buckets of all B. Each bucket tells V stored values
 * apart, so n flows in the cells give a stranger
 *
 *     lambda = d n / (B V)
 *
 * matches on the average. In `line` and `compact` flows that cannot be told
 * apart never stand in the cells together (one goes to the side table), so a
 * stored value is taken at most once, the share of taken ones is what a
 * stranger meets, and while the table is filled it follows
 *
 *     d taken = (1 - taken) d lambda,      error = taken = 1 - exp(-lambda).
 *
 * In steady churn it falls to lambda / (1 + lambda), a little less. In `dleft`
 * matches are independent and the same formula holds at once.
 *
 * A plan is therefore a choice among shapes (how a line is divided), each with
 * the V it offers and the load at which it never overflows, and the number of
 * buckets that this load and the error demand. The fewest bytes win, the side
 * table included.
 */
#include "table/search.h"

#include "table/side.h"

/* -------------------------------------------------------------------- loads */

/*
 * The load up to which no insert ever failed, by entries in a line, with one
 * step of displacement: 1M flows, 4n replacements (ink-loads, in bench/), with
 * half a point to a point in hand. From 19 entries on more would be safe, but
 * of the inserts 13.5 % displace at .9527, and 18.4 % at .96.
 */
static double safe_load(uint32_t h)
{
	static const double by_entries[] = {0,   .10, .20, .35, .50, .60,  .70, .77,  .82, .87,
					    .89, .90, .91, .92, .93, .935, .94, .945, .95, .9527};
	static const uint32_t known = sizeof by_entries / sizeof by_entries[0];

	return by_entries[h < known ? h : known - 1];
}

/*
 * In `compact`, whose inserts are longer anyway, a displacement costs more: at
 * .93 one of a hundred inserts displaces, at .95 five, and churn takes 7 % less time.
 */
static double safe_load_compact(uint32_t h)
{
	return safe_load(h) < .93 ? safe_load(h) : .93;
}

/* Without displacement (many writers): one insert in 100,000 goes to the side table. */
static double safe_load_shared(uint32_t h)
{
	return h <= 16 ? .76 : h <= 24 ? .84 : .88;
}

/* ------------------------------------------------------------------- shapes */

struct shape {
	struct ink_geometry g; /* b is not yet known */
	double values;         /* V: stored values that a bucket tells apart */
	double load;           /* the highest that is safe */
};

typedef void (*shape_fn)(const struct wish *w, const struct shape *s, void *to);

static void line_shapes(const struct wish *w, shape_fn visit, void *to)
{
	const struct ink_geometry *g = &w->o->geometry;

	for (uint32_t lanes = 4; lanes >= 2; lanes--) {
		uint32_t h = lanes * INK_LINE_WORDS, bits = ink_line_entry_bits(lanes);
		uint32_t code = w->coding.state_bits + w->coding.age_bits, f = bits - code;
		struct ink_line_shape line = ink_line_shape(lanes, code, 1);
		struct shape s = {.g = {.d = 2, .h = h, .f = f},
				  .values = ldexp(ldexp(1, (int)line.tag_bits) - 1, (int)(f - line.tag_bits)),
				  .load = w->o->writers > 1 ? safe_load_shared(h) : safe_load(h)};

		if (code + 2 <= bits && allowed(g->d, 2) && allowed(g->h, h) && allowed(g->f, f) && !g->q)
			visit(w, &s, to);
	}
}

static void compact_if_fits(const struct wish *w, uint32_t r, uint32_t h, shape_fn visit, void *to)
{
	const struct ink_geometry *g = &w->o->geometry;
	int32_t spare = COMPACT_BITS - (int32_t)(h * (r + w->coding.state_bits + w->coding.age_bits));
	uint32_t q = (uint32_t)((spare < COMPACT_META_BITS ? spare : COMPACT_META_BITS) - (int32_t)h);
	struct shape s = {.g = {.d = 2, .h = h, .f = r, .q = q},
			  .values = ldexp(q, (int)r),
			  .load = safe_load_compact(h)};

	if (spare > (int32_t)h && allowed(g->d, 2) && allowed(g->q, q))
		visit(w, &s, to);
}

static void compact_shapes(const struct wish *w, shape_fn visit, void *to)
{
	const struct ink_geometry *g = &w->o->geometry;

	for (uint32_t r = COMPACT_MIN_R; r <= COMPACT_MAX_R; r++)
		for (uint32_t h = COMPACT_MIN_SLOTS; h <= COMPACT_MAX_SLOTS; h++)
			if (allowed(g->f, r) && allowed(g->h, h))
				compact_if_fits(w, r, h, visit, to);
}

/* The paper's rule: three subtables, six cells, two thirds full. Other heights by the same margin. */
static void dleft_shapes(const struct wish *w, shape_fn visit, void *to)
{
	const struct ink_geometry *g = &w->o->geometry;
	uint32_t d = g->d ? g->d : 3, h = g->h ? g->h : 6;
	uint32_t code = w->coding.state_bits + w->coding.age_bits;

	for (uint32_t f = 2; f <= 32; f++) {
		struct shape s = {.g = {.d = d, .h = h, .f = f, .dleft_flags = g->dleft_flags},
				  .values = ldexp(1, (int)f) - 1,
				  .load = h >= 6 && d >= 3 ? 2.0 / 3
					  : h >= 4         ? .5
							   : .25};

		if (f + code <= 57 && allowed(g->f, f) && d <= 8 && h <= 64)
			visit(w, &s, to);
	}
}

/* ------------------------------------------------------------------ one plan */

/* Collisions in steady churn, and six standard deviations; a few more for small tables. */
static uint32_t side_entries(const struct wish *w, double flows, double error)
{
	double mean = flows * error;

	if (w->o->geometry.side == INK_NO_SIDE)
		return 0;
	if (w->o->geometry.side || w->o->kind == INK_DLEFT)
		return w->o->geometry.side;
	if (w->o->writers > 1)
		mean += flows * 2e-5;
	mean = ceil(mean + 6 * sqrt(mean)) + 16;
	return mean < INK_SIDE_MOST ? (uint32_t)mean : INK_SIDE_MOST;
}

/* A stranger also meets those of its first line in a narrow side table that agree in the bits kept. */
static double narrow_error(double entries, double lines, uint32_t id_bits)
{
	return ldexp(entries / lines, -(int)id_bits);
}

/* The plan for a shape with b buckets (in each subtable) and n flows. */
static struct ink_plan plan_for(const struct wish *w, const struct shape *s, uint64_t b, uint64_t n)
{
	double buckets = (double)b * (w->o->kind == INK_DLEFT ? s->g.d : 1);
	struct ink_plan p = {.size = sizeof p,
			     .kind = w->o->kind,
			     .flows = n,
			     .error = -expm1(-(double)s->g.d * (double)n / (buckets * s->values)),
			     .load = (double)n / (buckets * s->g.h),
			     .state_bits = w->coding.state_bits,
			     .age_bits = w->coding.age_bits,
			     .geometry = s->g};

	p.geometry.b = (uint32_t)b;
	p.geometry.side = side_entries(w, (double)n, p.error);
	p.geometry.side_id = w->o->geometry.side_id;
	if (p.geometry.side_id && p.geometry.side)
		p.error += narrow_error((double)n * p.error, (double)b, p.geometry.side_id);
	p.bytes = ink_table_bytes(&p, w->o->writers) +
		  ink_body_round(ink_cells_bytes(&p, w->o->full) + ink_side_bytes(ink_side_form(&p)));
	p.bits_per_flow = 8 * (double)p.bytes / (double)n;
	return p;
}

/* Below this, more lines only dilute: another shape or kind does it in less. */
#define LEAST_LOAD .25

/* The fewest buckets that hold n flows at a safe load, within the error; 0 if there are none. */
static uint64_t buckets_for(const struct wish *w, const struct shape *s, uint64_t n, double error)
{
	double subtables = w->o->kind == INK_DLEFT ? s->g.d : 1;
	double for_load = (double)n / (s->g.h * s->load),
	       for_error = s->g.d * (double)n / (s->values * -log1p(-error));
	double b = ceil((for_load > for_error ? for_load : for_error) / subtables);

	if (w->o->geometry.b)
		return w->o->geometry.b;
	if (for_load < LEAST_LOAD / s->load * for_error || b > INK_MOST_BUCKETS)
		return 0;
	return (uint64_t)b;
}

/* ---------------------------------------------------------- the three searches */

static void fewest_bytes(const struct wish *w, const struct shape *s, void *to)
{
	struct best *best = to;
	uint64_t b = buckets_for(w, s, w->o->flows, w->o->error);
	struct ink_plan p;

	if (!b)
		return;
	p = plan_for(w, s, b, w->o->flows);
	if (ceiling_asked(w) && p.error > w->o->error * INK_PLAN_SLACK)
		return;
	keep_if(best, p,
		p.bytes < best->plan.bytes || (p.bytes == best->plan.bytes && p.error < best->plan.error));
}

struct search {
	const struct wish *w;
	const struct shape *s;
};

static int flows_fit(uint64_t n, const void *about)
{
	const struct search *q = about;
	uint64_t b = buckets_for(q->w, q->s, n, q->w->o->error);

	struct ink_plan p;

	if (!b)
		return 0;
	p = plan_for(q->w, q->s, b, n);
	return p.bytes <= q->w->o->bytes && p.load <= q->s->load * INK_PLAN_SLACK &&
	       (!ceiling_asked(q->w) || p.error <= q->w->o->error * INK_PLAN_SLACK);
}

static void most_flows(const struct wish *w, const struct shape *s, void *to)
{
	struct best *best = to;
	struct search q = {w, s};
	uint64_t n = ink_bisect(0, w->o->bytes < INK_MOST_FLOWS / 8 ? w->o->bytes * 8 : INK_MOST_FLOWS,
			     flows_fit, &q);
	struct ink_plan p;

	if (!n)
		return;
	p = plan_for(w, s, buckets_for(w, s, n, w->o->error), n);
	keep_if(best, p, p.flows > best->plan.flows);
}

static int buckets_fit(uint64_t b, const void *about)
{
	const struct search *q = about;

	return plan_for(q->w, q->s, b, q->w->o->flows).bytes <= q->w->o->bytes;
}

static void least_error(const struct wish *w, const struct shape *s, void *to)
{
	struct best *best = to;
	struct search q = {w, s};
	uint64_t b = buckets_for(w, s, w->o->flows, .999); /* what the load alone demands */
	struct ink_plan p;

	if (!b || !buckets_fit(b, &q))
		return;
	if (!w->o->geometry.b)
		b = ink_bisect(b, INK_MOST_BUCKETS, buckets_fit, &q);
	p = plan_for(w, s, b, w->o->flows);
	keep_if(best, p, p.error < best->plan.error);
}

/* The user fixed the buckets and said nothing of flows: as many as are safe. */
static void pinned_flows(const struct wish *w, const struct shape *s, void *to)
{
	double cells = (double)w->o->geometry.b * s->g.h * (w->o->kind == INK_DLEFT ? s->g.d : 1);
	uint64_t n = (uint64_t)(cells * s->load);
	struct ink_plan p = plan_for(w, s, w->o->geometry.b, n ? n : 1);
	struct best *best = to;

	if (!ceiling_asked(w) || p.error <= w->o->error)
		keep_if(best, p, p.error < best->plan.error);
}

static shape_fn search_for(const struct wish *w)
{
	if (!w->o->flows)
		return w->o->bytes ? most_flows : pinned_flows;
	return w->o->bytes && !(w->asked->error > 0) ? least_error : fewest_bytes;
}

static void visit_shapes(const struct wish *w, shape_fn visit, void *to)
{
	if (w->o->kind == INK_LINE)
		line_shapes(w, visit, to);
	else if (w->o->kind == INK_COMPACT)
		compact_shapes(w, visit, to);
	else
		dleft_shapes(w, visit, to);
}

/* ------------------------------------------------------------------- refusals */

/* The error of a shape at the least load that makes sense; it does not depend on the flows. */
static void least_reach(const struct wish *w, const struct shape *s, void *to)
{
	double *least = to, error = -expm1(-(double)s->g.d * s->g.h * LEAST_LOAD / s->values);

	(void)w;
	if (error < *least)
		*least = error;
}

/* Nothing was found: say what would be possible, the fewest bytes or the smallest error. */
static int out_of_reach(const struct wish *w, struct ink_why *why)
{
	struct ink_options unlimited = *w->o;
	struct wish other = {w->asked, &unlimited, w->coding};
	struct best best = {.found = 0};
	double least = 1;

	unlimited.bytes = 0;
	if (w->o->flows)
		visit_shapes(&other, fewest_bytes, &best);
	if (best.found && w->o->bytes)
		return ink_plan_too_large(w, &best.plan, why);
	visit_shapes(w, least_reach, &least);
	if (least == 1)
		return ink_fail(why, -ERANGE, "%s: no such geometry with %u state%s and %u age bit%s",
				   ink_kind_name(w->o->kind), w->o->states, ink_plural(w->o->states),
				   w->o->age_bits, ink_plural(w->o->age_bits));
	if (w->o->bytes && w->o->error > least)
		return ink_fail(why, -ERANGE, "%s: %llu byte%s %s too few for any table",
				   ink_kind_name(w->o->kind), (unsigned long long)w->o->bytes,
				   ink_plural(w->o->bytes), ink_are(w->o->bytes));
	if (w->o->error > least)
		return ink_fail(why, -ERANGE, "%s: %llu flows are more than its 2^28 %s hold",
				   ink_kind_name(w->o->kind), (unsigned long long)w->o->flows,
				   w->o->kind == INK_DLEFT ? "buckets" : "lines");
	return ink_fail(why, -ERANGE,
			   "%s: error %g is out of reach with %u state%s and %u age bit%s; the least is %.4g",
			   ink_kind_name(w->o->kind), w->o->error, w->o->states, ink_plural(w->o->states),
			   w->o->age_bits, ink_plural(w->o->age_bits), least);
}

/* --------------------------------------------------------------------- the call */

int ink_plan_buckets(const struct wish *w, struct ink_plan *plan, struct ink_why *why)
{
	struct best best = {.found = 0};

	visit_shapes(w, search_for(w), &best);
	if (!best.found)
		return out_of_reach(w, why);
	*plan = best.plan;
	return 0;
}
