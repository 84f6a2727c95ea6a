/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which geometries are worth trying.
 *
 * Bloom filters have one choice, k. A d-left table trades cells for fingerprint bits. So do `line` and
 * `compact`, which also spend bits on a side table for flows with a fingerprint that is taken: if e is the
 * share of such flows, n e entries hold all of them. An entry takes 80 bits. Where memory is scarce, fewer
 * entries can be better: a flow that finds none then reads as the flow it collides with (INK_REPLACE). Or
 * entries keep only part of the id (side_id) and take 40 bits.
 */
#include "lab/candidates.h"

#include <math.h>
#include <stdio.h>

#include "kinds/compact/compact.h"
#include "table/side.h"
#include "table/table.h"

enum { CODE_BITS = 5, LINE_BITS = 512 }; /* ten states and don't-know, and a timer */

struct list {
	struct simple_table *to;
	size_t count;
};

static void add(struct list *list, struct simple_table table)
{
	if (list->count < CANDIDATES_MOST)
		list->to[list->count++] = table;
}

/* Each active flow is present or not: binomial, and 17 lifetimes hardly reach 2.7 standard deviations. */
struct candidates_request candidates_for(enum reading reading, double bits, uint32_t divisor)
{
	double active = 60000, flows = reading == READING_B ? 27000 : 36000, there = flows / active;

	return (struct candidates_request){.bits = bits,
					   .flows = flows,
					   .most = flows + 2.7 * sqrt(divisor * active * there * (1 - there)),
					   .divisor = divisor};
}

/* --------------------------------------------------------------- Bloom filters */

static void add_direct(struct list *list, const struct candidates_request *w)
{
	for (uint32_t k = 1; k <= 7; k++)
		add(list, (struct simple_table){.kind = INK_DIRECT,
						.geometry = {.m = (uint32_t)(w->bits / 3), .k = k}});
}

static void add_stateful(struct list *list, const struct candidates_request *w)
{
	for (uint32_t k = 1; k <= 7; k++)
		add(list, (struct simple_table){.kind = INK_STATEFUL,
						.geometry = {.m = (uint32_t)(w->bits / CODE_BITS), .k = k}});
}

/* Few wait in the side table, unless all is in doubt. The masks, which are constants, are not counted. */
static void add_kbf(struct list *list, const struct candidates_request *w)
{
	const uint32_t side = 256;

	for (uint32_t k = 2; k <= 7; k++) {
		double cells =
			(w->bits - 8 * (double)ink_side_bytes((struct ink_side_form){.capacity = side})) / 16;

		if (cells > 16)
			add(list, (struct simple_table){
					  .kind = INK_KBF,
					  .geometry = {.m = (uint32_t)cells / k * k, .k = k, .side = side}});
	}
}

/* ------------------------------------------------------------------------ d-left */

static void add_dleft(struct list *list, const struct candidates_request *w)
{
	static const struct {
		uint32_t d, h;
	} shapes[] = {{3, 4}, {3, 6}, {4, 6}, {4, 8}};
	static const double loads[] = {.7, .8, .88, .94, .99};

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (size_t j = 0; j < sizeof loads / sizeof *loads; j++) {
			double room = w->bits * loads[j] / w->flows - CODE_BITS;
			uint32_t f = (uint32_t)(room < 2    ? 2
						: room > 32 ? 32
							    : room),
				 d = shapes[i].d, h = shapes[i].h;

			add(list, (struct simple_table){
					  .kind = INK_DLEFT,
					  .geometry = {.d = d,
						       .b = (uint32_t)(w->bits / (f + CODE_BITS) / (d * h)),
						       .h = h,
						       .f = f}});
		}
}

/* -------------------------------------------------------------- line and compact */

/* A shape of lines: slots, and the values that tell flows in a line apart. */
struct shape {
	enum ink_kind kind;
	uint32_t h, f;
	double values;
};

/* How flows that collide are provided for: what share of them, in words of 64 bits or narrow ones of 32. */
struct provision {
	double share;
	bool narrow;
};

static const struct provision provisions[] = {{1, false}, {.5, false}, {.25, false},
					      {0, false}, {1, true},   {.7, true}};
enum { PROVISIONS = sizeof provisions / sizeof *provisions };

static double side_bits(uint32_t side, bool narrow)
{
	struct ink_side_form form = {.capacity = side, .id_bits = INK_SIDE_LEAST_ID};

	return side ? 8. * sizeof(struct ink_side_head) + (narrow ? 32. : 64.) * ink_side_positions(form) : 0;
}

static uint32_t lines_for(double bits, uint32_t side, bool narrow)
{
	double left = bits - side_bits(side, narrow);

	return left > LINE_BITS ? (uint32_t)(left / LINE_BITS) : 1;
}

/* What a word of 32 bits has left beside code and line. */
static uint32_t id_bits_for(uint32_t lines)
{
	uint32_t line_bits = lines > 1 ? 32 - (uint32_t)__builtin_clz(lines - 1) : 0,
		 left = 32 - CODE_BITS - line_bits;

	return left > INK_SIDE_MOST_ID ? INK_SIDE_MOST_ID : left;
}

static double collisions(const struct shape *s, double flows, uint32_t lines)
{
	return flows * -expm1(-2 * flows / (lines * s->values));
}

/* The side table takes a share of the collisions, and some for chance; a quarter of the memory at the most. */
static struct simple_table with_side(const struct shape *s, const struct candidates_request *w,
				     const struct provision *p)
{
	double largest = w->bits / 4 / (p->narrow ? 40 : 80), chance = w->divisor;
	uint32_t side = 0, lines;

	for (unsigned round = 0; round < 20 && p->share > 0; round++) {
		double wanted = p->share * collisions(s, w->flows, lines_for(w->bits, side, p->narrow));

		if (p->share >= 1)
			chance = 4 * sqrt(wanted * w->divisor) + 8 * w->divisor;
		side = (uint32_t)fmin(largest, wanted + chance);
	}
	lines = lines_for(w->bits, side, p->narrow);
	return (struct simple_table){.kind = s->kind,
				     .geometry = {.b = lines,
						  .h = s->h,
						  .f = s->f,
						  .side = side ? side : INK_NO_SIDE,
						  .side_id = p->narrow ? id_bits_for(lines) : 0},
				     .full = INK_REPLACE};
}

/* How far lines fill with one step of displacement: what src/table/buckets.c has, and a little more. */
static double fullest(uint32_t h)
{
	if (h >= 30)
		return .985;
	if (h >= 20)
		return .975;
	return h >= 14 ? .93 + .005 * (h - 14) : h >= 9 ? .87 + .01 * (h - 9) : .82;
}

static bool holds(const struct simple_table *t, const struct candidates_request *w)
{
	return w->most <= fullest(t->geometry.h) * t->geometry.b * t->geometry.h;
}

static void add_line(struct list *list, const struct candidates_request *w)
{
	static const struct shape shapes[] = {
		{INK_LINE, 16, 0, 0x1p26 - 1}, {INK_LINE, 24, 0, 0x1p16 - 1}, {INK_LINE, 32, 0, 0x1p10 - 1}};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < PROVISIONS; j++) {
			struct simple_table t = with_side(&shapes[i], w, &provisions[j]);

			if (holds(&t, w) || i == 2)
				add(list, t);
		}
}

/* Buckets of a compact line, as the plan has them: what slots and codes leave. */
static double buckets_of(uint32_t h, uint32_t r)
{
	double spare = COMPACT_BITS - (double)h * (r + CODE_BITS);

	return fmin(spare, COMPACT_META_BITS) - h;
}

/* Of all geometries that hold the flows with such a side table, the one with the fewest errors. */
static bool best_compact(const struct candidates_request *w, const struct provision *p,
			 struct simple_table *best)
{
	double fewest = INFINITY;

	for (uint32_t r = 4; r <= 24; r++)
		for (uint32_t h = 8; h <= 48; h++) {
			struct shape s = {INK_COMPACT, h, r, ldexp(buckets_of(h, r), (int)r)};
			struct simple_table t;
			double met;

			if (s.values < 1)
				continue;
			t = with_side(&s, w, p);
			met = collisions(&s, w->flows, t.geometry.b);
			if (!holds(&t, w) || met >= fewest)
				continue;
			fewest = met;
			*best = t;
		}
	return fewest < INFINITY;
}

/* If none holds that many flows, the one that holds the most: the others are refused. */
static void add_compact(struct list *list, const struct candidates_request *w)
{
	struct candidates_request fewer = *w;
	struct simple_table t;

	for (unsigned j = 0; j < PROVISIONS; j++)
		if (best_compact(w, &provisions[j], &t))
			add(list, t);
	for (; !list->count && fewer.most > 1; fewer.most *= .97)
		if (best_compact(&fewer, &(struct provision){.share = 0}, &t))
			add(list, t);
}

/* ------------------------------------------------------------------------ names */

static void name_filter(const struct ink_geometry *g, char *text, size_t size)
{
	snprintf(text, size, "k = %u", g->k);
}

static void name_dleft(const struct ink_geometry *g, char *text, size_t size)
{
	snprintf(text, size, "d = %u, h = %u, f = %u", g->d, g->h, g->f);
}

/* "side 40 narrow" */
static void name_lines(const struct ink_geometry *g, char *text, size_t size)
{
	uint32_t side = g->side == INK_NO_SIDE ? 0 : g->side;
	int length = snprintf(text, size, "h = %u, ", g->h);

	if (g->f)
		length += snprintf(text + length, size - (size_t)length, "r = %u, ", g->f);
	snprintf(text + length, size - (size_t)length, "side %u%s", side,
		 side && g->side_id ? " narrow" : "");
}

/* -------------------------------------------------------------------------- calls */

static const struct {
	void (*add)(struct list *list, const struct candidates_request *request);
	void (*name)(const struct ink_geometry *g, char *text, size_t size);
} kinds[] = {
	[INK_LINE] = {add_line, name_lines},      [INK_COMPACT] = {add_compact, name_lines},
	[INK_DLEFT] = {add_dleft, name_dleft},    [INK_STATEFUL] = {add_stateful, name_filter},
	[INK_DIRECT] = {add_direct, name_filter}, [INK_KBF] = {add_kbf, name_filter},
};

size_t candidates(enum ink_kind kind, const struct candidates_request *request,
		  struct simple_table to[CANDIDATES_MOST])
{
	struct list list = {.to = to};

	kinds[kind].add(&list, request);
	return list.count;
}

const struct simple_table *candidates_best(const struct simple_table *tried,
					   const struct simple_result *results, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (simple_errors(&results[i]) < simple_errors(&results[best]))
			best = i;
	return &tried[best];
}

const char *candidate_name(const struct simple_table *t, char *text, size_t size)
{
	kinds[t->kind].name(&t->geometry, text, size);
	return text;
}
