/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind `compact`: quotiented 64-byte lines. compact.h has the memory, cells.h the operations. */
#include "kinds/compact/compact.h"

#include <string.h>

#include "base/file.h"
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

/*
 * What a hit and a replacement (delete and insert at full load) take together with AVX2, in
 * ns at 1M flows, with neither displacements nor a side table: measured for all variants
 * (family.h) on one processor, where only their ratios count.
 */
static double shape_ns(const struct ink_compact_shape *s, int is_common, int is_default_error)
{
	static const double by_columns[] = {200, 50, 50, 55, 70}, without_fields[] = {200, 45, 46, 47, 62};
	double ns = s->field_bits ? by_columns[s->columns] : without_fields[s->columns];

	if (!s->has_vectors)
		return by_columns[0];
	if (is_common || is_default_error)
		return is_common ? 46 : 37;
	return ns + (s->slots > 32 ? 8 : 0) + (s->remainder_bits < 8 ? 5 : 0);
}

/* The share of inserts that displace, by the free slots of a line: a fit for 12 to 32 slots, loads .86 to .93. */
static double displacing(double free_slots)
{
	return exp(-.75 - .2 * free_slots - .72 * free_slots * free_slots);
}

/* The share of operations that probe the side table, by the flows of a line there: one class of 14, or all. */
static double probing(double flows)
{
	return 1 - exp(-flows) * (1 + flows * 13 / 14);
}

#define DISPLACEMENT_NS 75.
#define PROBES_NS 120.  /* of three operations */
#define FASTEST_NS 38.5 /* compact_default_error at its load */

static double shape_time(const struct ink_request *req, const struct ink_bucket_shape *b)
{
	struct ink_compact_shape s = compact_shape(&b->g, req->coding.state_bits + req->coding.age_bits);
	struct ink_plan p = {
		.state_bits = req->coding.state_bits, .age_bits = req->coding.age_bits, .geometry = b->g};
	double error = -expm1(-2. * b->g.h * b->load / b->values);

	return (shape_ns(&s, compact_is_shape(&p, &compact_common),
			 compact_is_shape(&p, &compact_default_error)) +
		DISPLACEMENT_NS * displacing((1 - b->load) * b->g.h) +
		PROBES_NS * probing(b->g.h * b->load * error)) /
	       FASTEST_NS;
}

/*
 * The shape with h entries of r remainder bits: what they leave of the line is metadata.
 * With few entries in a line many inserts displace, and fewer if the load is a little
 * lower: that is another shape, for which the plan may spend some memory.
 */
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
	if (!ink_admits(given->q, s.g.q))
		return;
	s.time = shape_time(req, &s);
	visit(search, &s);
	if (req->o->smallest || (given->b && !req->o->flows))
		return;
	s.load /= 1.018;
	s.time = shape_time(req, &s);
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

/* ---------------------------------------------------------------- old snapshots */

/*
 * Up to version 6 a line had h remainders of r bits, and behind them a plane for each bit
 * of the code: plane j with bit j of every slot. The places of the other bits are the same.
 */
static uint64_t old_packed(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot)
{
	unsigned r = s->remainder_bits, code = 0;

	for (unsigned j = 0; j < s->code_bits; j++)
		code |= (unsigned)bits_get(w, s->slots * (r + j) + slot, 1) << j;
	return entry_pack(s, (uint32_t)bits_get(w, slot * r, r), code);
}

/* Free slots, too: what is wrong with them is for the check to find. */
static void convert_line(const struct ink_compact_shape *s, uint64_t *w)
{
	uint64_t old[COMPACT_WORDS];

	memcpy(old, w, sizeof old);
	for (unsigned slot = 0; slot < s->slots; slot++)
		any_packed_put(s, w, slot, old_packed(s, old, slot));
}

static void compact_convert(struct ink_table *t)
{
	for (uint32_t line = 0; line < t->plan.geometry.b; line++)
		convert_line(ink_compact_shape_of(t), ((struct compact_line *)t->body + line)->word);
}

/* ------------------------------------------------------------------- variants */

#ifdef INK_HAVE_AVX2

/* The variant that knows most of the shape: family.h. */
static const struct ink_ops *vector_ops(const struct ink_plan *plan)
{
	struct ink_compact_shape s = compact_shape(&plan->geometry, plan->state_bits + plan->age_bits);

	if (compact_is_shape(plan, &compact_common))
		return ink_compact_common_avx2;
	if (compact_is_shape(plan, &compact_default_error))
		return ink_compact_common_default_error_avx2;
	if (!s.has_vectors)
		return ink_compact_avx2;
	if (s.columns == 1)
		return s.slots > 32 ? ink_compact_columns_1_many_slots_avx2 : ink_compact_columns_1_avx2;
	return s.columns == 2   ? ink_compact_columns_2_avx2
	       : s.columns == 3 ? ink_compact_columns_3_avx2
				: ink_compact_avx2;
}

#endif

static const struct ink_ops *compact_ops(const struct ink_plan *plan, unsigned writers, int avx2)
{
	(void)writers;
#ifdef INK_HAVE_AVX2
	if (avx2)
		return vector_ops(plan);
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
	.version = INK_FILE_BODIES,
	.convert = compact_convert,
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
