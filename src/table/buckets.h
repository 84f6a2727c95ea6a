/* SPDX-License-Identifier: BSD-2-Clause */
/* The plans of kinds whose flows have d candidate buckets (`line`, `compact`, `dleft`): buckets.c. */
#ifndef INKLING_TABLE_BUCKETS_H
#define INKLING_TABLE_BUCKETS_H

#include "table/plan.h"

/* One way to divide a bucket. */
struct ink_bucket_shape {
	struct ink_geometry g; /* b is not yet known */
	double values;         /* V: stored values that a bucket tells apart */
	double load;           /* the highest at which it does not overflow */
	double time;           /* of an operation, the kind's fastest shape being 1; 0: not known */
	unsigned part;         /* as in struct ink_plan; values and h are those of whole lines all the same */
};

typedef void ink_shape_visitor(void *search, const struct ink_bucket_shape *shape);

/* What a kind of buckets brings to its plans. */
struct ink_bucket_kind {
	/* Visits each shape that the request admits. */
	void (*shapes)(const struct ink_request *req, ink_shape_visitor *visit, void *search);
	int subtables;       /* non-zero: b counts the buckets of each of d subtables */
	int no_side;         /* non-zero: there is no side table unless one is given */
	const char *buckets; /* what its buckets are called: "lines" */
};

/* The best plan among the shapes of a kind; as `plan` of struct ink_kind_def. */
int ink_plan_buckets(const struct ink_request *req, const struct ink_bucket_kind *kind, struct ink_plan *plan,
		     struct ink_why *why);

/* Cells back to back, and a word behind them: a cell can be read as if it reached into it. */
static inline uint64_t ink_packed_bytes(uint64_t bits)
{
	return (bits + 63) / 64 * 8 + 8;
}

/*
 * The load up to which no insert ever failed, by entries in a line, with one
 * step of displacement: 1M flows, 4n replacements (ink-loads, in bench/), with a
 * margin of half a point to a point. From 19 entries on more would be safe, but
 * 13.5 % of inserts displace at .9527, and 18.4 % at .96.
 */
static inline double ink_displacing_load(uint32_t h)
{
	static const double by_entries[] = {0,   .10, .20, .35, .50, .60,  .70, .77,  .82, .87,
					    .89, .90, .91, .92, .93, .935, .94, .945, .95, .9527};
	static const uint32_t known = sizeof by_entries / sizeof by_entries[0];

	return by_entries[h < known ? h : known - 1];
}

#endif
