/* SPDX-License-Identifier: BSD-2-Clause */
/* What the plans of all kinds share: the wish, and the best that was found for it. */
#ifndef INKLING_TABLE_SEARCH_H
#define INKLING_TABLE_SEARCH_H

#include "table/plan.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/bisect.h"
#include "base/pages.h"
#include "table/table.h"
#include "base/error.h"

#define INK_MOST_FLOWS (1ull << 40)

/* Room for rounding, where a plan is held against the ceiling that it was made for. */
#define INK_PLAN_SLACK (1 + 1e-9)

/* What a plan is made for. */
struct wish {
	const struct ink_options *asked;
	const struct ink_options *o; /* resolved */
	struct ink_coding coding;
};

struct best {
	struct ink_plan plan;
	int found;
};

static inline void keep_if(struct best *best, struct ink_plan p, int better)
{
	if (!best->found || better)
		*best = (struct best){p, 1};
}

static inline int allowed(uint32_t pinned, uint32_t value)
{
	return pinned == 0 || pinned == value;
}

/* Whoever fixes the size and says nothing of errors takes those that come. */
static inline int ceiling_asked(const struct wish *w)
{
	return w->asked->error > 0 || !(w->o->geometry.b || w->o->geometry.m);
}

const char *ink_kind_name(enum ink_kind kind);

/* More bytes than are allowed: says how many it takes. */
int ink_plan_too_large(const struct wish *w, const struct ink_plan *p, struct ink_why *why);

/* Each finds the best plan for a kind; 0, or an error with its reason. */
typedef int ink_planner(const struct wish *w, struct ink_plan *plan, struct ink_why *why);

ink_planner ink_plan_buckets; /* line, compact, dleft */
ink_planner ink_plan_exact;
ink_planner ink_plan_bloom; /* stateful, direct */
ink_planner ink_plan_kbf;

#endif
