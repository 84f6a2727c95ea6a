/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From items and error to bytes, and back; and what to expect of n different
 * items, each of them there once.
 *
 * dleft. An item is a value out of N = b 2^f, drawn uniformly. The values that
 * n items have are, on the average, N (1 - (1 - 1/N)^n); each takes a cell,
 * and a stranger is found if its value is among them:
 *
 *     error = 1 - (1 - 1/N)^n         load = error N / (d b h)
 *
 * Besides, the load must be one at which d-left hashing finds room for all of
 * them. A counter is stuck if `limit` items or more have one value; the number
 * of items that share a value is binomial, of n with probability 1/N.
 *
 * standard. Of a segment of s counters each item raises one. So a counter is 0
 * with probability (1 - 1/s)^n, and
 *
 *     error = product over segments of 1 - (1 - 1/s)^n
 *
 * For random ids the formulas are exact, without approximations that would show
 * in a small filter.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/pages.h"
#include "count/set.h"

#define DEFAULT_ERROR (1.0 / 1024)
#define TOLERANCE (1 + 1e-9) /* of rounding, where a number is compared with its own source */

/* ------------------------------------------------------------ what to expect */

uint32_t ink_count_cell_bits(const struct ink_count_plan *p)
{
	return p->geometry.counter_bits + p->geometry.f;
}

uint64_t ink_count_cells(const struct ink_count_plan *p)
{
	const struct ink_count_geometry *g = &p->geometry;

	return p->kind == INK_COUNT_DLEFT ? (uint64_t)g->d * g->b * g->h : g->m;
}

uint64_t ink_count_used(const struct ink_count_plan *p)
{
	return (ink_count_cells(p) * ink_count_cell_bits(p) + 7) / 8;
}

uint64_t ink_count_segment(const struct ink_count_geometry *g, uint32_t i)
{
	return g->m / g->k * i + g->m % g->k * i / g->k;
}

/* 1 - (1 - p)^n: one of n hits what has probability p. */
static double hit(double n, double p)
{
	return p < 1 ? -expm1(n * log1p(-p)) : n > 0;
}

/* The logarithm of the probability that of n, each with probability p, exactly i do. */
static double log_binomial(double n, double p, double i)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(i + 1, &sign) - lgamma_r(n - i + 1, &sign) + i * log(p) +
	       (n - i) * log1p(-p);
}

/* That `least` or more do. The sum runs away from the mean, where the terms fall. */
static double at_least(double n, double p, double least)
{
	int up = least > n * p;
	double i = up ? least : least - 1, sum = 0, term;

	if (least > n || p >= 1)
		return least <= n;
	for (term = exp(log_binomial(n, p, i)); i >= 0 && i <= n && term > sum * 1e-17; i += up ? 1 : -1) {
		sum += term;
		term *= up ? (n - i) / (i + 1) * p / (1 - p) : i / (n - i + 1) * (1 - p) / p;
	}
	return up ? sum : 1 - sum;
}

static void expect_dleft(struct ink_count_plan *p)
{
	double values = ldexp(p->geometry.b, (int)p->geometry.f);

	p->error = hit((double)p->items, 1 / values);
	p->load = p->error * values / (double)ink_count_cells(p);
	p->stuck = at_least((double)p->items, 1 / values, p->limit) * values / (double)ink_count_cells(p);
}

static void expect_standard(struct ink_count_plan *p)
{
	const struct ink_count_geometry *g = &p->geometry;
	double n = (double)p->items;

	p->error = 1;
	p->load = p->stuck = 0;
	for (uint32_t i = 0; i < g->k; i++) {
		double size = (double)(ink_count_segment(g, i + 1) - ink_count_segment(g, i));

		p->error *= hit(n, 1 / size);
		p->load += hit(n, 1 / size) * size / (double)g->m;
		p->stuck += at_least(n, 1 / size, p->limit) * size / (double)g->m;
	}
}

void ink_count_expect(struct ink_count_plan *p)
{
	p->limit = (1u << p->geometry.counter_bits) - 1;
	p->bytes = sizeof(struct ink_count) + ink_body_round(ink_count_used(p) + COUNT_SLACK);
	p->bits_per_item = 8 * (double)p->bytes / (double)p->items;
	if (p->kind == INK_COUNT_DLEFT)
		expect_dleft(p);
	else
		expect_standard(p);
}

/* ------------------------------------------------------------------- options */

/* The options, with every default filled in. */
struct request {
	struct ink_count_options o;
	int ceiling; /* o.error must be kept */
	int least;   /* the smallest error for items and bytes is wanted */
};

static const char *name_of(enum ink_count_kind kind)
{
	return kind == INK_COUNT_DLEFT ? "dleft" : "standard";
}

static int check_options(const struct ink_count_options *o, struct ink_why *why)
{
	if ((unsigned)o->kind > INK_COUNT_STANDARD)
		return ink_fail(why, -EINVAL, "options: kind %d is unknown", (int)o->kind);
	if (!(o->error >= 0 && o->error < 1))
		return ink_fail(why, -EINVAL, "options: error %g; it must lie between 0 and 1", o->error);
	if (!o->items && !o->bytes && !o->geometry.b && !o->geometry.m)
		return ink_fail(why, -EINVAL, "options: neither items nor bytes nor b or m are given");
	return 0;
}

struct range {
	const char *name;
	uint64_t value, least, most;
};

/* 0 is always allowed: it is planned. */
static int check_geometry(enum ink_count_kind kind, const struct ink_count_geometry *g, struct ink_why *why)
{
	uint32_t dleft = kind == INK_COUNT_DLEFT, standard = !dleft;
	uint64_t most_m = (uint64_t)(g->k ? g->k : COUNT_MAX_K) * COUNT_MOST_B;
	const struct range ranges[] = {
		{"d", g->d, 1, dleft * COUNT_MAX_D},
		{"b", g->b, 1, (uint64_t)dleft * COUNT_MOST_B},
		{"h", g->h, 1, dleft * COUNT_MAX_H},
		{"f", g->f, COUNT_MIN_F, dleft * COUNT_MAX_F},
		{"m", g->m, g->k ? g->k : 1, standard * most_m},
		{"k", g->k, 1, standard * COUNT_MAX_K},
		{"counter_bits", g->counter_bits, COUNT_MIN_COUNTER, COUNT_MAX_COUNTER},
	};

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
		const struct range *r = &ranges[i];

		if (r->value && r->most == 0)
			return ink_fail(why, -EINVAL, "options: %s is given, and a %s set has none", r->name,
					name_of(kind));
		if (r->value && (r->value < r->least || r->value > r->most))
			return ink_fail(why, -EINVAL, "options: %s is %llu; %llu to %llu are possible",
					r->name, (unsigned long long)r->value, (unsigned long long)r->least,
					(unsigned long long)r->most);
	}
	return 0;
}

static int resolve(const struct ink_count_options *options, struct request *r, struct ink_why *why)
{
	struct ink_count_geometry *g = &r->o.geometry;
	int error = check_options(options, why), dleft;

	if (error)
		return error;
	r->o = *options;
	r->o.kind = options->kind ? options->kind : INK_COUNT_DLEFT;
	dleft = r->o.kind == INK_COUNT_DLEFT;
	error = check_geometry(r->o.kind, g, why);
	if (error)
		return error;
	r->o.error = options->error > 0 ? options->error : DEFAULT_ERROR;
	r->ceiling = options->error > 0 || (dleft ? !g->f : !g->m || !options->items);
	r->least = options->items && options->bytes && !(options->error > 0) && !g->b && !g->m;
	g->counter_bits = g->counter_bits ? g->counter_bits : dleft ? 2 : 4;
	g->d = !dleft || g->d ? g->d : 3;
	g->h = !dleft || g->h ? g->h : 6;
	return 0;
}

/* -------------------------------------------------------------------- shapes */

/* The best so far. */
struct best {
	struct ink_count_plan plan;
	int found;
};

static struct ink_count_plan plan_for(const struct request *r, uint64_t items)
{
	return (struct ink_count_plan){.size = sizeof(struct ink_count_plan),
				       .kind = r->o.kind,
				       .items = items,
				       .geometry = r->o.geometry};
}

static int fits(const struct request *r, const struct ink_count_plan *p)
{
	return (!r->ceiling || r->least || p->error <= r->o.error * TOLERANCE) &&
	       (!r->least || p->bytes <= r->o.bytes);
}

static int is_better(const struct request *r, const struct ink_count_plan *p,
		     const struct ink_count_plan *than)
{
	if (r->least || p->bytes == than->bytes)
		return p->error < than->error;
	return p->bytes < than->bytes;
}

static void consider(const struct request *r, struct ink_count_plan *p, struct best *best)
{
	ink_count_expect(p);
	if (fits(r, p) && (!best->found || is_better(r, p, &best->plan)))
		*best = (struct best){*p, 1};
}

/* The bits that the cells may have, of all that a set may take. */
static double bits_in(uint64_t bytes)
{
	double rest = (double)bytes - (double)sizeof(struct ink_count);

	return 8 * (floor(rest / 4096) * 4096 - COUNT_SLACK);
}

/*
 * The load up to which no add fails in steady churn: one at which none failed
 * in 4n replacements in 200,000 cells, less a twentieth. At d = 3 and h = 6 it
 * is the paper's two thirds; there none failed in 10^8 replacements. With d = 1
 * there is nothing to choose, and all but the smallest loads fail some.
 */
static double safe_load(const struct ink_count_geometry *g)
{
	static const uint32_t heights[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16};
	static const double loads[][10] = {{0, 0, .01, .02, .03, .05, .05, .08, .12, .20},
					   {0, .10, .20, .32, .41, .49, .52, .57, .68, .76},
					   {.05, .25, .40, .52, .60, 2.0 / 3, .69, .71, .79, .82},
					   {.10, .38, .53, .62, .68, .73, .76, .77, .83, .86},
					   {.33, .61, .70, .78, .80, .83, .85, .87, .90, .91}};
	size_t row = g->d < 4 ? g->d - 1 : g->d < 8 ? 3 : 4, column = 0;

	while (column + 1 < sizeof heights / sizeof heights[0] && heights[column + 1] <= g->h)
		column++;
	return loads[row][column];
}

#define LEAST_LOAD                                                                                           \
	.25 /* of the safe one: below it, more buckets only dilute, and a longer fingerprint is cheaper */

/* Buckets of a subtable for n items: as many as the load demands, or the error, or as the bytes allow. */
static double buckets_for(const struct request *r, const struct ink_count_geometry *g, double n)
{
	double for_load = n / (g->d * g->h * safe_load(g)), for_error = 0;

	if (r->o.geometry.b)
		return n <= (double)g->d * g->b * g->h ? g->b : 0;
	if (r->least) {
		double b = floor(bits_in(r->o.bytes) / ((double)g->d * g->h * (g->f + g->counter_bits)));

		b = fmin(b, COUNT_MOST_B);
		return b < for_load ? 0 : b;
	}
	if (r->ceiling)
		for_error = ldexp(1 / -expm1(log1p(-r->o.error) / n), -(int)g->f);
	if (for_load < LEAST_LOAD * for_error)
		return 0;
	return ceil(for_load > for_error ? for_load : for_error);
}

static void dleft_shapes(const struct request *r, uint64_t items, struct best *best)
{
	for (uint32_t f = COUNT_MIN_F; f <= COUNT_MAX_F; f++) {
		struct ink_count_plan p = plan_for(r, items);
		double b;

		if (r->o.geometry.f && r->o.geometry.f != f)
			continue;
		p.geometry.f = f;
		b = buckets_for(r, &p.geometry, (double)items);
		p.geometry.b = b <= COUNT_MOST_B ? (uint32_t)b : 0;
		if (p.geometry.b)
			consider(r, &p, best);
	}
}

/* A filter is best when half of the counters are 0; with fewer taken than that, more k would do better. */
#define LEAST_FILL .25

/* Counters in all: as given, as the bytes allow, or such that of each segment error^(1/k) is taken. */
static double counters_for(const struct request *r, uint32_t k, double n)
{
	double fill = pow(r->o.error, 1.0 / k);

	if (r->o.geometry.m)
		return (double)r->o.geometry.m;
	if (r->least)
		return fmin(floor(bits_in(r->o.bytes) / r->o.geometry.counter_bits),
			    (double)k * COUNT_MOST_B);
	return fill < LEAST_FILL ? 0 : k * ceil(1 / -expm1(log1p(-fill) / n));
}

static void standard_shapes(const struct request *r, uint64_t items, struct best *best)
{
	for (uint32_t k = 1; k <= COUNT_MAX_K; k++) {
		struct ink_count_plan p = plan_for(r, items);
		double m = counters_for(r, k, (double)items);

		if ((r->o.geometry.k && r->o.geometry.k != k) || m < k || m > (double)k * COUNT_MOST_B)
			continue;
		p.geometry.k = k;
		p.geometry.m = (uint64_t)m;
		consider(r, &p, best);
	}
}

static struct best best_for(const struct request *r, uint64_t items)
{
	struct best best = {.found = 0};

	if (items == 0 || items > COUNT_MOST_ITEMS)
		return best;
	if (r->o.kind == INK_COUNT_DLEFT)
		dleft_shapes(r, items, &best);
	else
		standard_shapes(r, items, &best);
	return best;
}

/* ------------------------------------------------------------------- searches */

/* Within the bytes, the error, and a load that is safe. */
static int can_hold(uint64_t items, const void *request)
{
	const struct request *r = request;
	struct best best = best_for(r, items);
	const struct ink_count_geometry *g = &best.plan.geometry;

	return best.found && (!r->o.bytes || best.plan.bytes <= r->o.bytes) &&
	       (r->o.kind != INK_COUNT_DLEFT ||
		(double)items <= safe_load(g) * (double)ink_count_cells(&best.plan) * TOLERANCE);
}

/* The most that can be held; 0: nothing can. */
static uint64_t most_items(const struct request *r)
{
	return ink_bisect(0, 1ull << 40, can_hold, r);
}

/* The smallest error that buckets_for and counters_for can reach. */
static double least_error(const struct request *r)
{
	const struct ink_count_geometry *g = &r->o.geometry;

	if (r->o.kind == INK_COUNT_STANDARD)
		return pow(LEAST_FILL, g->k ? g->k : COUNT_MAX_K);
	return -expm1(-ldexp(g->d * g->h * safe_load(g) * LEAST_LOAD, -(int)(g->f ? g->f : COUNT_MAX_F)));
}

static int is_too_large(const struct request *r, const struct ink_count_plan *p, struct ink_why *why)
{
	return ink_fail(why, -ERANGE, "%s: %llu items at error %.2g take %llu bytes, %llu are allowed",
			name_of(p->kind), (unsigned long long)p->items, p->error,
			(unsigned long long)p->bytes, (unsigned long long)r->o.bytes);
}

/* Nothing was found, or only plans that are too large: the reason says what is possible. */
static int out_of_reach(const struct request *r, struct ink_why *why)
{
	const struct ink_count_geometry *g = &r->o.geometry;
	const char *name = name_of(r->o.kind);
	struct request other = *r;
	struct best best;

	other.least = 0;
	other.o.bytes = 0;
	best = best_for(&other, r->o.items);
	if (best.found)
		return is_too_large(r, &best.plan, why);
	if (r->ceiling && !g->b && !g->m && r->o.error < least_error(r) && least_error(r) > 0)
		return ink_fail(why, -ERANGE, "%s: error %g is out of reach; the least is %.2g", name,
				r->o.error, least_error(r));
	if (r->o.items)
		return ink_fail(why, -ERANGE, "%s: no such geometry holds %llu items%s", name,
				(unsigned long long)r->o.items, r->ceiling ? " at that error" : "");
	if (g->b || g->m)
		return ink_fail(why, -ERANGE, "%s: no set at error %g has that geometry", name, r->o.error);
	return ink_fail(why, -ERANGE, "%s: no set at error %g fits in %llu bytes", name, r->o.error,
			(unsigned long long)r->o.bytes);
}

int ink_count_find_plan(const struct ink_count_options *options, struct ink_count_plan *plan,
			struct ink_why *why)
{
	struct request r;
	struct best best;
	int error = resolve(options, &r, why);

	if (error)
		return error;
	best = best_for(&r, r.o.items ? r.o.items : most_items(&r));
	if (!best.found || (r.o.bytes && best.plan.bytes > r.o.bytes))
		return out_of_reach(&r, why);
	*plan = best.plan;
	return 0;
}

/* ------------------------------------------------------------ the public call */

enum { FIRST_OPTIONS = 80, FIRST_PLAN = 104 }; /* bytes of the structs' first versions */

int ink_count_read_options(struct ink_count_options *ours, const struct ink_count_options *theirs,
			   struct ink_why *why)
{
	static const struct ink_struct form = {"options", FIRST_OPTIONS, sizeof *ours};

	return ink_struct_read(&form, ours, theirs, why);
}

int ink_count_plan(const struct ink_count_options *options, struct ink_count_plan *plan, struct ink_why *why)
{
	static const struct ink_struct form = {"plan", FIRST_PLAN, sizeof *plan};
	struct ink_count_options o;
	struct ink_count_plan best;
	int error = ink_struct_check(&form, plan, why);

	if (!error)
		error = ink_count_read_options(&o, options, why);
	if (!error)
		error = ink_count_find_plan(&o, &best, why);
	return error ? error : ink_struct_write(&form, plan, &best, why);
}
