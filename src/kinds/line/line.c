/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: 64-byte lines of fingerprints. line.h has the memory, cells.h the operations. */
#include "kinds/line/kind.h"

#include "table/buckets.h"

/* ------------------------------------------------------------------- planning */

/* Without displacement (many writers): one insert in 100,000 goes to the side table. */
static double safe_load_shared(uint32_t h)
{
	return h <= 16 ? .76 : h <= 24 ? .84 : .88;
}

static void line_shapes(const struct ink_request *req, ink_shape_visitor *visit, void *search)
{
	const struct ink_geometry *g = &req->o->geometry;

	for (uint32_t lanes = 4; lanes >= 2; lanes--) {
		uint32_t h = lanes * INK_LINE_WORDS, bits = ink_line_entry_bits(lanes);
		uint32_t code = req->coding.state_bits + req->coding.age_bits, f = bits - code;
		struct ink_line_shape line = ink_line_shape(lanes, code, 1);
		struct ink_bucket_shape s = {
			.g = {.d = 2, .h = h, .f = f},
			.values = ldexp(ldexp(1, (int)line.tag_bits) - 1, (int)(f - line.tag_bits)),
			.load = req->o->writers > 1 ? safe_load_shared(h) : ink_displacing_load(h)};

		if (code + 2 <= bits && ink_admits(g->d, 2) && ink_admits(g->h, h) && ink_admits(g->f, f))
			visit(search, &s);
	}
}

static int line_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why)
{
	static const struct ink_bucket_kind kind = {.shapes = line_shapes, .buckets = "lines"};

	return ink_plan_buckets(req, &kind, plan, why);
}

static uint64_t line_cells_bytes(const struct ink_plan *plan, enum ink_full full)
{
	(void)full;
	return (uint64_t)plan->geometry.b * sizeof(struct ink_line);
}

static int line_fits(const struct ink_plan *plan, unsigned states)
{
	const struct ink_geometry *g = &plan->geometry;

	(void)states;
	return g->h % INK_LINE_WORDS == 0 &&
	       g->f + plan->state_bits + plan->age_bits == ink_line_entry_bits(g->h / INK_LINE_WORDS);
}

/* ------------------------------------------------------------------- variants */

static const struct ink_ops *line_ops(const struct ink_plan *plan, unsigned writers, int avx2)
{
#ifdef INK_HAVE_AVX2
	int common = plan->geometry.h == 24 && ink_codes_are_common(plan);

	if (avx2 && writers > 1)
		return common ? ink_line_shared_common_avx2 : ink_line_shared_avx2;
	if (avx2)
		return common ? ink_line_common_avx2 : ink_line_avx2;
#endif
	(void)plan;
	(void)avx2;
	return writers > 1 ? ink_line_shared : ink_line_portable;
}

const struct ink_kind_def ink_kind_line = {
	.info = {.size = sizeof(struct ink_kind_info),
		 .kind = INK_LINE,
		 .name = "line",
		 .purpose = "the one to take: fast, with time-outs, for one thread or many",
		 .can = INK_CAN_MANY_WRITERS | INK_CAN_PEEK | INK_CAN_CENSUS | INK_CAN_TIME_OUT |
			INK_CAN_TIME_OUT_TO | INK_CAN_DIFFER | INK_CAN_WINDOW | INK_CAN_BE_FULL |
			INK_CAN_REPLACE | INK_CAN_PLAN_UNSURE,
		 .geometry = INK_GEOMETRY_D | INK_GEOMETRY_B | INK_GEOMETRY_H | INK_GEOMETRY_F |
			     INK_GEOMETRY_SIDE | INK_GEOMETRY_SIDE_ID},
	.traits = INK_TRAIT_LINES | INK_TRAIT_EPOCHS,
	.stripes = INK_MOVING_STRIPES,
	.plan = line_plan,
	.cells_bytes = line_cells_bytes,
	.ranges = {.writers = {1, UINT32_MAX},
		   .full = {INK_UNSURE, INK_REPLACE},
		   .d = {2, 2},
		   .b = {1, INK_MOST_BUCKETS},
		   .h = {16, 32},
		   .f = {2, 30},
		   .side = {0, INK_SIDE_MOST},
		   .side_id = {0, INK_SIDE_MOST_ID}},
	.fits = line_fits,
	.choose_ops = line_ops,
};
