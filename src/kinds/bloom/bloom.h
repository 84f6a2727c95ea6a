/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `stateful` and `direct` share: m small cells, of which k belong to a
 * flow (or to a flow in a state), as in a Bloom filter; ages in the cells.
 *
 *     body    [ cell 0 | cell 1 | ... | cell m-1, back to back ][ 0 to a whole word ][ 0: a word ]
 *     cell    [ age | what the kind keeps ]        all bits 0: empty
 *
 * The cells are divided into k shares, the first m mod k of which have a cell
 * more than the others, and the i-th hash draws from the i-th share. So a flow
 * never has the same cell twice, which would break counters, and no hash has to be
 * drawn again. Any m and k work. The formulas of Bloom filters hold unchanged: a
 * flow hits a given cell with probability k/m.
 *
 * Blocked (`stateful` only), the body consists of lines of 64 bytes, and each line
 * is divided into k shares:
 *
 *     line    [ cell 0 | cell 1 | ... | cell c-1 ][ 0 ]        c = 512 / cell bits
 *
 * A flow then costs one cache line instead of k. The price: some lines have more
 * flows than others, and the errors of full lines grow by more than those of empty
 * lines shrink.
 *
 * The 64 bits that are loaded and stored for a cell begin at a byte, not at a word.
 * If the cell lies within one cache line, so do they.
 *
 * Time is the paper's (3.2), cell by cell: a touch sets the age of all k cells
 * to its top, a look takes one off, and a look at 0 empties the cell.
 */
#ifndef INKLING_KINDS_BLOOM_BLOOM_H
#define INKLING_KINDS_BLOOM_BLOOM_H

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "table/table.h"

/* `stateful` and `direct`: m cells, of which each of k hashes has its own share; see bloom.h. */
enum { INK_BLOOM_MOST_K = 32, INK_BLOOM_MOST_COUNTER_BITS = 8 };

struct ink_bloom_shape {
	uint32_t k, m;
	uint32_t cell_bits;
	uint32_t value_bits; /* stateful: of the state */
	uint32_t count_top;  /* the highest count; 0: there are no counters */
	uint32_t threshold;
	uint32_t lines;      /* blocked: of 64 bytes; else 0 */
	uint32_t line_cells; /* blocked: in each */
	uint32_t share;      /* cells that each hash draws from, */
	uint32_t larger;     /* and one more for as many of the first of them */
	int sticky;          /* a counter at its top stays there */
};

INK_SHAPE(struct ink_bloom_shape);

static inline struct ink_bloom_shape *ink_bloom_shape_of(const struct ink_table *t)
{
	return (struct ink_bloom_shape *)(uintptr_t)t->shape;
}

/* The bits of a cell; one that has neither state nor counter has one bit. */
static inline uint32_t ink_bloom_cell_bits(const struct ink_plan *plan)
{
	uint32_t count = plan->geometry.counter_bits;

	if (ink_kind_has(plan, INK_TRAIT_STATELESS) && !count)
		count = 1;
	return plan->age_bits + plan->state_bits + count;
}

/* In plan.c, for both kinds: as in struct ink_kind_def. */
int ink_bloom_plan(const struct ink_request *req, struct ink_plan *plan, struct ink_why *why);
uint64_t ink_bloom_cells_bytes(const struct ink_plan *plan, enum ink_full full);
int ink_bloom_fits(const struct ink_plan *plan, unsigned states);

enum { BLOOM_LINE_BITS = 512, BLOOM_LINE_BYTES = 64, BLOOM_WORD_BYTES = 8 };

/* What a window of 64 bits that begins at a byte always has. */
_Static_assert(INK_BLOOM_MOST_COUNTER_BITS + 9 + INK_AGE_MAX_BITS <= 57, "a cell fits");

static inline const struct ink_bloom_shape *bloom_of(const struct ink_table *t)
{
	return ink_bloom_shape_of(t);
}

/* --------------------------------------------------------------------- cells */

/* The byte at which the 64 bits for a cell begin; with the cell's last bit in the line they end there too. */
static inline uint64_t bloom_window(uint64_t at, uint32_t bits)
{
	uint64_t in_line = at % BLOOM_LINE_BITS;

	if (in_line > BLOOM_LINE_BITS - 64 && in_line + bits <= BLOOM_LINE_BITS)
		return at / BLOOM_LINE_BITS * BLOOM_LINE_BYTES + BLOOM_LINE_BYTES - BLOOM_WORD_BYTES;
	return at / 8;
}

static inline uint64_t bloom_load(const struct ink_table *t, uint64_t byte)
{
	uint64_t word;

	memcpy(&word, (const char *)t->body + byte, sizeof word);
	return le64toh(word);
}

static inline void bloom_store(struct ink_table *t, uint64_t byte, uint64_t word)
{
	word = htole64(word);
	memcpy((char *)t->body + byte, &word, sizeof word);
}

/* `at`: the first bit of the cell. */
static inline uint32_t cell_read(const struct ink_table *t, uint64_t at)
{
	uint32_t bits = bloom_of(t)->cell_bits;
	uint64_t byte = bloom_window(at, bits);

	return (uint32_t)(bloom_load(t, byte) >> (at - 8 * byte)) & ((1u << bits) - 1);
}

static inline void cell_write(struct ink_table *t, uint64_t at, uint32_t cell)
{
	uint32_t bits = bloom_of(t)->cell_bits;
	uint64_t byte = bloom_window(at, bits), mask = (1ull << bits) - 1, word = bloom_load(t, byte);
	unsigned shift = (unsigned)(at - 8 * byte);

	bloom_store(t, byte, (word & ~(mask << shift)) | (uint64_t)cell << shift);
}

/* Sets the age to its top. If it is there already, the cell is not written. */
static inline void cell_touch(struct ink_table *t, uint64_t at, uint32_t cell)
{
	if ((cell | t->coding.age_top) != cell)
		cell_write(t, at, cell | t->coding.age_top);
}

/* --------------------------------------------------------------------- places */

/* The cells that hash i draws from. */
static inline uint64_t bloom_first(const struct ink_bloom_shape *s, uint32_t i)
{
	return (uint64_t)i * s->share + (i < s->larger ? i : s->larger);
}

static inline uint64_t bloom_share(const struct ink_bloom_shape *s, uint32_t i)
{
	return s->share + (i < s->larger);
}

/*
 * The first bits of the cells that an id has by its draws `n`, an even number,
 * and those that follow. A step of splitmix64 gives two; if k is odd the last
 * of them is not needed, but there is room for it.
 */
static inline void bloom_two(const struct ink_bloom_shape *s, uint64_t id, uint32_t n, uint32_t i,
			     uint64_t at[2])
{
	uint64_t pair = ink_draw_pair(id, n + i);

	at[0] = (bloom_first(s, i) + ink_draw_low(pair, bloom_share(s, i))) * s->cell_bits;
	at[1] = (bloom_first(s, i + 1) + ink_draw_high(pair, bloom_share(s, i + 1))) * s->cell_bits;
}

static inline void bloom_all(const struct ink_bloom_shape *s, uint64_t id, uint32_t n,
			     uint64_t at[INK_BLOOM_MOST_K])
{
	uint32_t i = 0;

	do
		bloom_two(s, id, n, i, &at[i]);
	while ((i += 2) < s->k);
}

/* ----------------------------------------------------------- going through all */

/*
 * What a tick does to the cells: their lowest bits (the age, and the state if
 * they have one) decide, and all other bits stay or go with them.
 */
#define BLOOM_GONE 0x8000u

struct bloom_aging {
	uint32_t low; /* the mask of these bits */
	void (*note)(struct ink_table *t, uint32_t cell);
	uint16_t after[2048]; /* for 9 state bits and 2 of age: they become that, or the cell is emptied */
};

/* The first bit of a cell by number. Divides: not for hot paths. */
static inline uint64_t bloom_cell_at(const struct ink_bloom_shape *s, uint64_t cell)
{
	if (!s->lines)
		return cell * s->cell_bits;
	return cell / s->line_cells * BLOOM_LINE_BITS + cell % s->line_cells * s->cell_bits;
}

/*
 * A cell after the tick. Its contents cannot be predicted, so the only branch is for
 * cells that expire. (An empty cell looks like state 0 at age 0.)
 */
INK_HOT uint64_t bloom_aged(struct ink_table *t, const struct bloom_aging *g, uint32_t cell)
{
	uint32_t after = g->after[cell & g->low];

	if (__builtin_expect((after >> 15) & (cell != 0), 0)) {
		g->note(t, cell);
		return 0;
	}
	return ((cell & ~g->low) | after) & -(uint32_t)(cell != 0);
}

/*
 * A run of adjacent cells. They are read and written as whole words, each word once.
 * Cell by cell, every load would wait for the overlapping store before it: 10 ns a
 * cell instead of 2 (make bench, filters).
 */
INK_HOT void bloom_run(struct ink_table *t, uint64_t at, uint64_t cells, const struct bloom_aging *g)
{
	uint32_t bits = bloom_of(t)->cell_bits;
	uint64_t words = ink_cells_bytes(&t->plan, t->full) / 8, w = at / 64, mask = (1ull << bits) - 1;
	unsigned pos = at % 64;
	uint64_t now = bloom_load(t, 8 * w), next = w + 1 < words ? bloom_load(t, 8 * (w + 1)) : 0;
	uint64_t done = now & ((1ull << pos) - 1);

	for (uint64_t i = 0; i < cells; i++) {
		uint32_t cell = (uint32_t)((now >> pos | next << 1 << (63 - pos)) & mask);
		uint64_t after = bloom_aged(t, g, cell);

		done |= after << pos;
		pos += bits;
		if (pos < 64)
			continue;
		bloom_store(t, 8 * w++, done);
		pos -= 64;
		done = pos ? after >> (bits - pos) : 0;
		now = next;
		next = w + 1 < words ? bloom_load(t, 8 * (w + 1)) : 0;
	}
	if (pos)
		bloom_store(t, 8 * w, done | (now & ~((1ull << pos) - 1)));
}

/* The cells from one up to another. */
static inline void bloom_sweep(struct ink_table *t, uint64_t from, uint64_t to, const struct bloom_aging *g)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint64_t run = s->lines ? s->line_cells - from % s->line_cells : to - from;

	for (; from < to; from += run, run = s->line_cells)
		bloom_run(t, bloom_cell_at(s, from), from + run < to ? run : to - from, g);
}

static inline uint64_t bloom_units(const struct ink_table *t)
{
	return bloom_of(t)->m;
}

static inline uint32_t bloom_unit_cells(const struct ink_table *t)
{
	(void)t;
	return 1;
}

static inline uint64_t bloom_occupied(const struct ink_table *t)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint64_t occupied = 0;

	for (uint64_t i = 0; i < s->m; i++)
		occupied += cell_read(t, bloom_cell_at(s, i)) != 0;
	return occupied;
}

static inline void bloom_sweep_side(struct ink_table *t)
{
	(void)t;
}

/* The bits that belong to no cell, between two that do. */
static inline int bloom_bits_are_0(const struct ink_table *t, uint64_t from, uint64_t to)
{
	const unsigned char *body = t->body;

	for (; from < to; from++)
		if (body[from / 8] >> from % 8 & 1)
			return 0;
	return 1;
}

static inline const char *bloom_check_gaps(const struct ink_table *t)
{
	const struct ink_bloom_shape *s = bloom_of(t);
	uint64_t used = (uint64_t)s->line_cells * s->cell_bits, body = 8 * ink_cells_bytes(&t->plan, t->full);
	int sound = s->lines || bloom_bits_are_0(t, (uint64_t)s->m * s->cell_bits, body);

	for (uint64_t line = 0; line < s->lines && sound; line++)
		sound = bloom_bits_are_0(t, line * BLOOM_LINE_BITS + used, (line + 1) * BLOOM_LINE_BITS);
	return sound ? NULL : "a bit behind the cells is set";
}

/* ---------------------------------------------------------------------- shape */

static inline void bloom_shape(struct ink_table *t)
{
	const struct ink_geometry *g = &t->plan.geometry;
	struct ink_bloom_shape *s = ink_bloom_shape_of(t);
	uint32_t shared;

	*s = (struct ink_bloom_shape){.k = g->k,
				      .m = g->m,
				      .cell_bits = ink_bloom_cell_bits(&t->plan),
				      .value_bits = t->plan.state_bits,
				      .count_top = (1u << g->counter_bits) - 1,
				      .threshold = g->threshold,
				      .sticky = !(g->bloom_flags & INK_BLOOM_DECREMENT)};
	if (g->bloom_flags & INK_BLOOM_BLOCKED) {
		s->line_cells = BLOOM_LINE_BITS / s->cell_bits;
		s->lines = s->m / s->line_cells;
	}
	shared = s->lines ? s->line_cells : s->m;
	s->share = shared / s->k;
	s->larger = shared % s->k;
}

/* ---------------------------------------------------------------------- rules */

/* Several flows can share a cell, and it does not know them, so no flow can move. */
static inline int bloom_no_moves(const struct ink_table *t, const struct ink_program *p, struct ink_why *why)
{
	for (unsigned i = 0; i < t->states && t->coding.age_bits; i++)
		if (p->timings[i].period && p->timings[i].timeout != INK_ABSENT)
			return ink_fail(
				why, -ENOTSUP,
				"rules: the time-out of state %u leads to another; %s can only forget", i,
				t->kind->info.name);
	return 0;
}

#endif
