/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: quotiented 64-byte lines. compact.h has the memory, cells.h the operations. */
#include "kinds/compact/compact.h"

#include "table/buckets.h"

/* ------------------------------------------------------------------- planning */

/*
 * Inserts of `compact` take longer than those of `line`, and so does a displacement:
 * at a load of .93 one insert in a hundred displaces, at .95 five, and churn takes 7 %
 * less time.
 */
static double safe_load(uint32_t h)
{
	return ink_displacing_load(h) < .93 ? ink_displacing_load(h) : .93;
}

/* The shape with h entries of r remainder bits: what they leave of the line is metadata. */
static void visit_if_fits(const struct ink_request *req, struct ink_geometry g, ink_shape_visitor *visit,
			  void *search)
{
	const struct ink_geometry *given = &req->o->geometry;
	uint32_t code = req->coding.state_bits + req->coding.age_bits;
	int32_t spare = COMPACT_BITS - (int32_t)(g.h * (g.f + code));
	struct ink_bucket_shape s = {.g = g, .load = safe_load(g.h)};

	if (spare <= (int32_t)g.h)
		return;
	s.g.q = (uint32_t)(spare < COMPACT_META_BITS ? spare : COMPACT_META_BITS) - g.h;
	s.values = ldexp(s.g.q, (int)g.f);
	if (ink_admits(given->q, s.g.q))
		visit(search, &s);
}

static void compact_shapes(const struct ink_request *req, ink_shape_visitor *visit, void *search)
{
	const struct ink_geometry *g = &req->o->geometry;

	for (uint32_t r = COMPACT_MIN_R; r <= COMPACT_MAX_R; r++)
		for (uint32_t h = COMPACT_MIN_SLOTS; h <= COMPACT_MAX_SLOTS; h++)
			if (ink_admits(g->d, 2) && ink_admits(g->f, r) && ink_admits(g->h, h))
				visit_if_fits(req, (struct ink_geometry){.d = 2, .h = h, .f = r}, visit,
					      search);
}

static int compact_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why)
{
	static const struct ink_bucket_kind kind = {.shapes = compact_shapes, .buckets = "lines"};

	return ink_plan_buckets(req, &kind, plan, why);
}

static uint64_t compact_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	(void)full;
	return (uint64_t)plan->geometry.b * sizeof(struct compact_line);
}

static int compact_fits(const struct ink_plan *plan, unsigned states)
{
	const struct ink_geometry *g = &plan->geometry;
	uint32_t code = plan->state_bits + plan->age_bits;

	(void)states;
	return g->h + g->q <= COMPACT_META_BITS && g->h * (g->f + code) <= COMPACT_BITS - (g->h + g->q);
}

/* ------------------------------------------------------------------- variants */

static const struct ink_ops *compact_ops(const struct ink_plan *plan, unsigned writers, int avx2)
{
	(void)writers;
#ifdef INK_HAVE_AVX2
	if (avx2)
		return compact_is_common(plan) ? ink_compact_common_avx2 : ink_compact_avx2;
#endif
	(void)plan;
	(void)avx2;
	return ink_compact_portable;
}

const struct ink_kind_def ink_kind_compact = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_COMPACT,
		 .name = "compact",
		 .purpose = "if memory is short: the fewest bits, for one thread",
		 .can = INK_CAN_PEEK | INK_CAN_CENSUS | INK_CAN_TIME_OUT | INK_CAN_TIME_OUT_TO |
			INK_CAN_DIFFER | INK_CAN_WINDOW | INK_CAN_BE_FULL | INK_CAN_REPLACE |
			INK_CAN_PLAN_UNSURE,
		 .geometry = INK_GEOMETRY_D | INK_GEOMETRY_B | INK_GEOMETRY_H | INK_GEOMETRY_F |
			     INK_GEOMETRY_Q | INK_GEOMETRY_SIDE | INK_GEOMETRY_SIDE_ID},
	.traits = INK_TRAIT_LINES,
	.stripes = INK_STRIPES,
	.plan = compact_plan,
	.cells_bytes = compact_cells_bytes,
	.ranges = {.writers = {1, 1},
		   .full = {INK_UNSURE, INK_REPLACE},
		   .d = {2, 2},
		   .b = {1, INK_MOST_BUCKETS},
		   .h = {COMPACT_MIN_SLOTS, COMPACT_MAX_SLOTS},
		   .f = {COMPACT_MIN_R, COMPACT_MAX_R},
		   .q = {1, COMPACT_META_BITS - COMPACT_MIN_SLOTS},
		   .side = {0, INK_SIDE_MOST},
		   .side_id = {0, INK_SIDE_MOST_ID}},
	.fits = compact_fits,
	.choose_ops = compact_ops,
};
