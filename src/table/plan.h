/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Planning: from options to a plan. The request is the caller's options with
 * defaults; a kind searches its geometries for the best plan (kind.h, `plan`).
 */
#ifndef INKLING_TABLE_PLAN_H
#define INKLING_TABLE_PLAN_H

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <inkling/inkling.h>

#include "base/bisect.h"
#include "base/error.h"
#include "table/table.h"

#define INK_MOST_FLOWS (1ull << 40)

/* Room for rounding, where a plan is compared with the ceiling that it was made for. */
#define INK_PLAN_SLACK (1 + 1e-9)

/* What a plan is made for. */
struct ink_request {
	const struct ink_options *requested; /* the caller's: what is 0 there is free to plan */
	const struct ink_options *o;         /* the same with defaults */
	struct ink_coding coding;
};

/* The best plan so far. */
struct ink_best {
	struct ink_plan plan;
	int found;
};

static inline void ink_keep_if(struct ink_best *best, struct ink_plan p, int better)
{
	if (!best->found || better)
		*best = (struct ink_best){p, 1};
}

/* A field of the geometry that was given admits one value, else all. */
static inline int ink_admits(uint32_t given, uint32_t value)
{
	return given == 0 || given == value;
}

/* A caller that fixes the size and does not mention errors takes the error that results. */
static inline int ink_has_ceiling(const struct ink_request *req)
{
	return req->requested->error > 0 || !(req->o->geometry.b || req->o->geometry.m);
}

/* Fills in what a plan takes, once flows and geometry are set. */
static inline void ink_plan_measure(struct ink_plan *p, const struct ink_request *req)
{
	p->bytes = ink_plan_bytes(p, req->o->full, req->o->writers);
	p->bits_per_flow = 8 * (double)p->bytes / (double)p->flows;
}

/* More bytes than are allowed: says how many it takes. */
int ink_plan_too_large(const struct ink_request *req, const struct ink_plan *p, struct ink_why *why);

/* Reads the caller's options. 0 or -EINVAL. */
int ink_options_read(struct ink_options *ours, const struct ink_options *theirs, struct ink_why *why);

/* The options with every default filled in; 0 or -EINVAL, -ENOTSUP. */
int ink_resolve(const struct ink_options *options, struct ink_options *resolved, struct ink_why *why);

/* As ink_plan, for resolved options; `requested` are the caller's. */
int ink_plan_resolved(const struct ink_options *requested, const struct ink_options *resolved,
		      struct ink_plan *plan, struct ink_why *why);

#endif
