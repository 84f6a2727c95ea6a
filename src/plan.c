/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From flows, states and error to bytes, and back.
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
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"
#include "side.h"
#include "table/table.h"
#include "why.h"

/* ----------------------------------------------------------------- options */

#define DEFAULT_ERROR (1.0 / 1024)
#define MOST_BUCKETS (1u << 28)
#define MOST_FLOWS (1ull << 40)

static int check_options(const struct ink_options *o, struct ink_why *why)
{
	if (o->size < sizeof *o)
		return ink_because(why, -EINVAL, "options: size is %zu, the struct has %zu bytes", o->size,
				   sizeof *o);
	if ((unsigned)o->kind > INK_EXACT || (unsigned)o->full > INK_REPLACE ||
	    (unsigned)o->simd > INK_SIMD_AVX2)
		return ink_because(why, -EINVAL, "options: kind %d, full %d or simd %d is unknown",
				   (int)o->kind, (int)o->full, (int)o->simd);
	if (o->states < 1 || o->states > INK_MAX_STATES)
		return ink_because(why, -EINVAL, "options: %u states; 1 to %d are possible", o->states,
				   INK_MAX_STATES);
	if (o->age_bits > INK_AGE_MAX_BITS)
		return ink_because(why, -EINVAL, "options: %u age bits; 0, 1 or 2 are possible", o->age_bits);
	if (!(o->error >= 0 && o->error < 1))
		return ink_because(why, -EINVAL, "options: error %g; it must lie between 0 and 1", o->error);
	if (!o->flows && !o->bytes && !(o->geometry.b && o->kind != INK_EXACT))
		return ink_because(why, -EINVAL, "options: neither flows nor bytes are given");
	if (o->flows > MOST_FLOWS)
		return ink_because(why, -ERANGE, "options: %llu flows; 2^40 are possible",
				   (unsigned long long)o->flows);
	if (o->geometry.b > MOST_BUCKETS)
		return ink_because(why, -EINVAL, "options: %u lines or buckets; 2^28 are possible",
				   o->geometry.b);
	if (o->geometry.dleft_flags & ~(INK_DLEFT_COPY | INK_DLEFT_REINSERT | INK_DLEFT_KEEP))
		return ink_because(why, -EINVAL, "options: dleft_flags %#x are unknown",
				   o->geometry.dleft_flags);
	return 0;
}

int ink_resolve(const struct ink_options *o, struct ink_options *r, struct ink_why *why)
{
	int error = check_options(o, why);

	if (error)
		return error;
	*r = *o;
	r->kind = o->kind ? o->kind : INK_LINE;
	r->full = o->full ? o->full : INK_UNSURE;
	r->writers = o->writers ? o->writers : 1;
	r->error = o->error > 0 ? o->error : DEFAULT_ERROR;
	if (r->writers > 1 && r->kind != INK_LINE)
		return ink_because(why, -ENOTSUP, "options: %u writers; only the kind line has more than one",
				   r->writers);
	return 0;
}

/* -------------------------------------------------------------------- loads */

/*
 * The load up to which no insert ever failed, by entries in a line, with one
 * step of displacement: 1M flows, 4n replacements (ink-loads, in bench/), with
 * half a point to a point in hand. From 20 entries on more than .96 would be
 * safe, but more than every sixth insert would have to displace.
 */
static double safe_load(uint32_t h)
{
	static const double by_entries[] = {0,   .10, .20, .35,  .50, .60,  .70, .77,  .82, .87, .89, .90,
					    .91, .92, .93, .935, .94, .945, .95, .955, .96, .96, .96, .96};
	static const uint32_t known = sizeof by_entries / sizeof by_entries[0];

	return by_entries[h < known ? h : known - 1];
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

/* What a plan is made for. */
struct wish {
	const struct ink_options *asked;
	const struct ink_options *o; /* resolved */
	struct ink_coding coding;
};

static int allowed(uint32_t pinned, uint32_t value)
{
	return pinned == 0 || pinned == value;
}

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
	struct shape s = {
		.g = {.d = 2, .h = h, .f = r, .q = q}, .values = ldexp(q, (int)r), .load = safe_load(h)};

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

uint64_t ink_cells_bytes(const struct ink_plan *p, enum ink_full full)
{
	const struct ink_geometry *g = &p->geometry;
	uint64_t buckets = (uint64_t)g->d * g->b, bits;

	if (p->kind == INK_LINE || p->kind == INK_COMPACT)
		return (uint64_t)g->b * sizeof(struct ink_line);
	if (p->kind == INK_EXACT)
		return (uint64_t)g->b * 16;
	bits = buckets * g->h * (g->f + p->state_bits + p->age_bits);
	return (bits + 63) / 64 * 8 + 8 + (full == INK_REFUSE ? 0 : (buckets + 63) / 64 * 8);
}

/* More than that nobody wants: it is then the side table that is the table. */
#define MOST_SIDE (1u << 30)

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
	return mean < MOST_SIDE ? (uint32_t)mean : MOST_SIDE;
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
	p.bytes = sizeof(struct ink_table) +
		  ink_body_round(ink_cells_bytes(&p, w->o->full) + ink_side_bytes(p.geometry.side));
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
	if (for_load < LEAST_LOAD / s->load * for_error || b > MOST_BUCKETS)
		return 0;
	return (uint64_t)b;
}

/* ---------------------------------------------------------- the three searches */

struct best {
	struct ink_plan plan;
	int found;
};

static void keep_if(struct best *best, struct ink_plan p, int better)
{
	if (!best->found || better)
		*best = (struct best){p, 1};
}

static int ceiling_asked(const struct wish *w)
{
	return w->asked->error > 0 || !w->o->geometry.b;
}

static void fewest_bytes(const struct wish *w, const struct shape *s, void *to)
{
	struct best *best = to;
	uint64_t b = buckets_for(w, s, w->o->flows, w->o->error);
	struct ink_plan p;

	if (!b)
		return;
	p = plan_for(w, s, b, w->o->flows);
	if (ceiling_asked(w) && p.error > w->o->error * (1 + 1e-9))
		return;
	keep_if(best, p,
		p.bytes < best->plan.bytes || (p.bytes == best->plan.bytes && p.error < best->plan.error));
}

/* The largest x from `low` to below `end` that fits, where low does and from some point on nothing does. */
static uint64_t largest(uint64_t low, uint64_t end, int (*fits)(uint64_t x, void *about), void *about)
{
	while (low + 1 < end) {
		uint64_t middle = low + (end - low) / 2;

		if (fits(middle, about))
			low = middle;
		else
			end = middle;
	}
	return low;
}

struct search {
	const struct wish *w;
	const struct shape *s;
};

static int flows_fit(uint64_t n, void *about)
{
	const struct search *q = about;
	uint64_t b = buckets_for(q->w, q->s, n, q->w->o->error);

	struct ink_plan p;

	if (!b)
		return 0;
	p = plan_for(q->w, q->s, b, n);
	return p.bytes <= q->w->o->bytes && p.load <= q->s->load * (1 + 1e-9) &&
	       (!ceiling_asked(q->w) || p.error <= q->w->o->error * (1 + 1e-9));
}

static void most_flows(const struct wish *w, const struct shape *s, void *to)
{
	struct best *best = to;
	struct search q = {w, s};
	uint64_t n = largest(0, w->o->bytes < MOST_FLOWS / 8 ? w->o->bytes * 8 : MOST_FLOWS, flows_fit, &q);
	struct ink_plan p;

	if (!n)
		return;
	p = plan_for(w, s, buckets_for(w, s, n, w->o->error), n);
	keep_if(best, p, p.flows > best->plan.flows);
}

static int buckets_fit(uint64_t b, void *about)
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
		b = largest(b, MOST_BUCKETS, buckets_fit, &q);
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

/* ------------------------------------------------------------- exact, refusals */

/* A power of two of slots, at most 7/8 of them taken; it grows when that is not enough. */
static struct ink_plan exact_plan(const struct wish *w, uint64_t slots, uint64_t flows)
{
	struct ink_plan p = {
		.size = sizeof p, .kind = INK_EXACT, .flows = flows, .age_bits = w->coding.age_bits};

	p.state_bits = w->coding.state_bits;
	p.geometry = (struct ink_geometry){.d = 1, .b = (uint32_t)slots, .h = 1, .f = 64};
	p.load = (double)flows / (double)slots;
	p.bytes = sizeof(struct ink_table) + ink_body_round(ink_cells_bytes(&p, w->o->full));
	p.bits_per_flow = 8 * (double)p.bytes / (double)flows;
	return p;
}

static int plan_exact(const struct wish *w, struct best *best)
{
	uint64_t slots = 256;

	if (!w->o->flows)
		for (; slots < 1u << 31 && exact_plan(w, slots * 2, slots).bytes <= w->o->bytes;)
			slots *= 2;
	for (; w->o->flows && slots < 1u << 31 && slots / 8 * 7 < w->o->flows;)
		slots *= 2;
	best->plan = exact_plan(w, slots, w->o->flows ? w->o->flows : slots / 8 * 7);
	best->found = slots / 8 * 7 >= best->plan.flows;
	return 0;
}

static const char *const kind_names[] = {"line", "line", "compact", "dleft", "exact"};

/* The error of a shape at the least load that makes sense; it does not depend on the flows. */
static void least_reach(const struct wish *w, const struct shape *s, void *to)
{
	double *least = to, error = -expm1(-(double)s->g.d * s->g.h * LEAST_LOAD / s->values);

	(void)w;
	if (error < *least)
		*least = error;
}

static int too_large(const struct wish *w, const struct ink_plan *p, struct ink_why *why)
{
	return ink_because(why, -ERANGE, "%s: %llu flows at error %g take %llu bytes, %llu are allowed",
			   kind_names[p->kind], (unsigned long long)p->flows, p->error,
			   (unsigned long long)p->bytes, (unsigned long long)w->o->bytes);
}

/* Nothing was found: say what would be possible, the fewest bytes or the smallest error. */
static int out_of_reach(const struct wish *w, struct ink_why *why)
{
	struct ink_options unlimited = *w->o;
	struct wish other = {w->asked, &unlimited, w->coding};
	struct best best = {.found = 0};
	double least = 1;

	if (w->o->kind == INK_EXACT)
		return ink_because(why, -ERANGE, "exact: %llu flows are more than its 2^31 slots hold",
				   (unsigned long long)w->o->flows);
	unlimited.bytes = 0;
	if (w->o->flows)
		visit_shapes(&other, fewest_bytes, &best);
	if (best.found && w->o->bytes)
		return too_large(w, &best.plan, why);
	visit_shapes(w, least_reach, &least);
	if (least == 1)
		return ink_because(why, -ERANGE, "%s: no such geometry with %u states and %u age bits",
				   kind_names[w->o->kind], w->o->states, w->o->age_bits);
	if (w->o->bytes && w->o->error > least)
		return ink_because(why, -ERANGE, "%s: %llu bytes are too few for any table",
				   kind_names[w->o->kind], (unsigned long long)w->o->bytes);
	return ink_because(why, -ERANGE,
			   "%s: error %g is out of reach with %u states and %u age bits; the least is %.2g",
			   kind_names[w->o->kind], w->o->error, w->o->states, w->o->age_bits, least);
}

/* --------------------------------------------------------------------- the call */

int ink_plan_resolved(const struct ink_options *asked, const struct ink_options *o, struct ink_plan *plan,
		      struct ink_why *why)
{
	struct wish w = {asked, o, ink_coding(o->states, o->age_bits)};
	struct best best = {.found = 0};

	if (o->kind == INK_EXACT)
		plan_exact(&w, &best);
	else
		visit_shapes(&w, search_for(&w), &best);
	if (!best.found)
		return out_of_reach(&w, why);
	if (o->bytes && best.plan.bytes > o->bytes)
		return too_large(&w, &best.plan, why);
	*plan = best.plan;
	return 0;
}

int ink_plan(const struct ink_options *options, struct ink_plan *plan, struct ink_why *why)
{
	struct ink_options resolved;
	struct ink_plan made;
	size_t room = plan->size;
	int error = ink_resolve(options, &resolved, why);

	if (room < sizeof made)
		return ink_because(why, -EINVAL, "plan: size is %zu, the struct has %zu bytes", room,
				   sizeof made);
	if (!error)
		error = ink_plan_resolved(options, &resolved, &made, why);
	if (error)
		return error;
	*plan = made;
	plan->size = room;
	return 0;
}
