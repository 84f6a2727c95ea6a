/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `line`: 64-byte lines of fingerprints. line.h has the memory, cells.h the operations. */
#include "kinds/line/kind.h"

#include "table/buckets.h"

/* ------------------------------------------------------------------- planning */

enum { WHOLE = 64, SMALLEST = 8 }; /* parts, in bytes */

/*
 * The loads at which no insert fails, by part and by entries of a word. With one writer:
 * displacing, in 8n replacements of 1M flows. With many, which do not displace: one insert
 * in 100,000 goes to the side table.
 */
static double safe_load(uint32_t part, uint32_t lanes, int displaces)
{
	static const double displacing[3][3] = {{.75, .855, .88}, {.86, .90, .92}, {.90, .925, .935}};
	static const double shared[4][3] = {
		{.09, .22, .33}, {.33, .49, .60}, {.60, .71, .78}, {.76, .84, .88}};
	unsigned i = 0;

	while ((uint32_t)SMALLEST << i < part)
		i++;
	if (!displaces)
		return shared[i][lanes - 2];
	return part == WHOLE ? ink_displacing_load(lanes * INK_LINE_WORDS) : displacing[i][lanes - 2];
}

/* Parts of that size: their fingerprints are told apart in each of them. */
static void line_shape_visit(const struct ink_request *req, uint32_t lanes, uint32_t part,
			     ink_shape_visitor *visit, void *search)
{
	uint32_t code = req->coding.state_bits + req->coding.age_bits, f = ink_line_entry_bits(lanes) - code;
	struct ink_line_shape line = ink_line_shape(lanes, code, 1, part);
	struct ink_bucket_shape s = {
		.g = {.d = 2, .h = lanes * INK_LINE_WORDS, .f = f},
		.values = line.parts * ldexp(ldexp(1, (int)line.tag_bits) - 1, (int)(f - line.tag_bits)),
		.load = safe_load(part, lanes, req->o->writers == 1),
		.part = part == WHOLE ? 0 : part};

	visit(search, &s);
}

/* Does the request admit that part? A geometry without a word about parts is that of whole lines. */
static int admits_part(const struct ink_request *req, uint32_t part)
{
	const struct ink_geometry *g = &req->o->geometry;

	return req->o->part ? req->o->part == part : part == WHOLE || !(g->b || g->h || g->f);
}

static void line_shapes(const struct ink_request *req, ink_shape_visitor *visit, void *search)
{
	const struct ink_geometry *g = &req->o->geometry;
	uint32_t code = req->coding.state_bits + req->coding.age_bits;

	for (uint32_t part = WHOLE; part >= SMALLEST; part /= 2)
		for (uint32_t lanes = 4; lanes >= 2; lanes--) {
			uint32_t h = lanes * INK_LINE_WORDS, bits = ink_line_entry_bits(lanes);

			if (code + 2 <= bits && ink_admits(g->d, 2) && ink_admits(g->h, h) &&
			    ink_admits(g->f, bits - code) && admits_part(req, part))
				line_shape_visit(req, lanes, part, visit, search);
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
	return g->h % INK_LINE_WORDS == 0 && (plan->part & (plan->part - 1)) == 0 &&
	       (!plan->part || plan->part >= SMALLEST) &&
	       g->f + plan->state_bits + plan->age_bits == ink_line_entry_bits(g->h / INK_LINE_WORDS);
}

/* ------------------------------------------------------------------- variants */

#ifdef INK_HAVE_AVX2

/* The variants that know some shapes (known.h): one writer, many. NULL: those for all shapes. */
struct known {
	uint32_t lanes, part, least_code, most_code;
	const struct ink_ops *const *ops[2];
};

static const struct known known[] = {
	{3, 0, 1, 5, {&ink_line_few_avx2, &ink_line_shared_few_avx2}},
	{3, 32, 1, 5, {&ink_line_few_half_avx2, NULL}},
	{3, 16, 1, 5, {&ink_line_few_quarter_avx2, NULL}},
	{3, 8, 1, 5, {&ink_line_few_eighth_avx2, NULL}},
	{3, 32, 6, 6, {&ink_line_six_half_avx2, NULL}},
	{4, 8, 1, 13, {&ink_line_short_eighth_avx2, NULL}},
};

static int knows(const struct known *k, const struct ink_plan *plan)
{
	uint32_t code = plan->state_bits + plan->age_bits;

	return plan->geometry.h == k->lanes * INK_LINE_WORDS && plan->part == k->part &&
	       code >= k->least_code && code <= k->most_code;
}

static const struct ink_ops *avx2_ops(const struct ink_plan *plan, int shared)
{
	if (plan->geometry.h == 24 && !plan->part && ink_codes_are_common(plan))
		return shared ? ink_line_shared_common_avx2 : ink_line_common_avx2;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (knows(&known[i], plan) && known[i].ops[shared])
			return *known[i].ops[shared];
	return shared ? ink_line_shared_avx2 : ink_line_avx2;
}

#endif

static const struct ink_ops *line_ops(const struct ink_plan *plan, unsigned writers, int avx2)
{
#ifdef INK_HAVE_AVX2
	if (avx2)
		return avx2_ops(plan, writers > 1);
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
			INK_CAN_TIME_OUT_TO | INK_CAN_DIFFER | INK_CAN_WINDOW | INK_CAN_PARTS |
			INK_CAN_BE_FULL | INK_CAN_REPLACE | INK_CAN_PLAN_UNSURE,
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
		   .side_id = {0, INK_SIDE_MOST_ID},
		   .part = {0, WHOLE / 2}},
	.fits = line_fits,
	.choose_ops = line_ops,
};
