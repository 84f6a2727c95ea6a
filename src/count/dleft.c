/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The d-left counting Bloom filter (ACSM paper, section 4).
 *
 * There are d subtables of b buckets of h cells. An item is nothing but a value
 * S out of N = b 2^f, and subtable i is entered by P_i(S), where P_i is a
 * permutation of the N values: the bucket is P_i(S) / 2^f, the fingerprint the
 * rest. A value is stored in one cell only, in that of its d buckets that has
 * fewest cells taken, the leftmost of those that tie:
 *
 *             subtable 0         subtable 1         subtable 2
 *          0  # # # # . .        # # # . . .        # # . . . .
 *     P_0  1  # # # # # .   P_1  # # # # . .   P_2  # # # . . .      # taken  . empty
 *      |   2  # # # . . .    |   # # # # . .    |   # # # # . .
 *      `-> 3  # # # # . .    |   # # . . . .    |   # # # . . .
 *          4  # # # . . .    `-> # # # S . .    |   # # # # . .
 *        b-1  # # # # . .        # # # # . .    `-> # # # . . .
 *
 * Since P_i is a permutation, bucket and fingerprint of a cell give its S back.
 * So an item finds only cells of its own S, in any subtable. An add searches all
 * d buckets before it takes a new cell, so there is never more than one such
 * cell. That is why removing works: no other cell can be meant. Two items with
 * the same S share one cell and are counted in it together. A stranger is found
 * if its S is one of those stored, with probability n / N, about.
 * docs/counting.md has the proof.
 *
 * The paper takes b = 2^z and permutes strings of z + f bits. Here S is a pair:
 * a bucket q below b, any b, and f bits r; and a permutation of such pairs is
 * a round of a Feistel network over Z_b x {0,1}^f,
 *
 *     r' = r ^ F_i(q)         F_i gives f bits
 *     q' = q + G_i(r') mod b  G_i gives a number below b
 *
 * each line of which can be undone, whatever F_i and G_i are: there is no
 * division, no rounding up, and no cycle-walking past unwanted values. P_0 is the
 * identity. F and G need no key, because the ids have one.
 *
 * A cell, lowest bit first, is the counter (counter_bits) and the fingerprint
 * (f). Counter 0: the cell is empty, and all its bits are 0. Bucket k of
 * subtable i has number i b + k, and its cells are h (i b + k) and the
 * following.
 *
 * A bucket is searched as a whole, in a word of 128 bits (six cells of 13 bits
 * have 78), or in chunks of as many cells as fit. In each lane, that is, cell:
 *
 *     counter + all bits but the top one    has the top bit iff the counter is not 0
 *     (x + P) | x                            has the top bit iff x is not 0, where x is the fingerprint ^ the
 *                                            wanted one, at its place in the cell, P is all of its bits but
 *                                            the top one, and the sum leaves out x's top bit
 *
 * and no sum leaves its lane, so the answers are exact.
 */
#include <errno.h>

#include "count/set.h"

enum {
	CHUNK_BITS = 128 - 7, /* that are loaded from any bit of a byte on */
	MIN_CELL_BITS = COUNT_MIN_F + COUNT_MIN_COUNTER,
	CHUNK_CELLS = (1 << MIN_CELL_BITS) - 1 /* no more, so that their number fits into a cell */
};

struct value {
	uint32_t q, r;
};

/* ------------------------------------------------------- values, permutations */

COUNT_HOT struct value value_of(const struct ink_count *c, uint64_t id)
{
	const struct ink_count_geometry *g = &c->plan.geometry;
	ink_count_wide x = (ink_count_wide)id * g->b;

	return (struct value){(uint32_t)(x >> 64), (uint32_t)((uint64_t)x >> (64 - g->f))};
}

/* A hash of x, 32 bits; another function for every n. */
COUNT_HOT uint32_t scatter(uint32_t x, uint32_t n)
{
	uint64_t y = (x + (n + 1) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	return (uint32_t)((y ^ y >> 32) * 0x94d049bb133111ebull >> 32);
}

COUNT_HOT uint32_t of_bucket(const struct ink_count_geometry *g, uint32_t i, uint32_t q)
{
	return scatter(q, 2 * i) >> (32 - g->f);
}

COUNT_HOT uint32_t of_fingerprint(const struct ink_count_geometry *g, uint32_t i, uint32_t r)
{
	return ink_count_below(scatter(r, 2 * i + 1), g->b);
}

/* P_i */
COUNT_HOT struct value permute(const struct ink_count_geometry *g, uint32_t i, struct value s)
{
	if (i == 0)
		return s;
	s.r ^= of_bucket(g, i, s.q);
	s.q += of_fingerprint(g, i, s.r);
	s.q -= s.q >= g->b ? g->b : 0;
	return s;
}

/* P_i backwards: the S that is stored in subtable i as this. */
static struct value unpermute(const struct ink_count_geometry *g, uint32_t i, struct value s)
{
	uint32_t shift = i ? of_fingerprint(g, i, s.r) : 0;

	s.q = s.q >= shift ? s.q - shift : s.q + g->b - shift;
	if (i)
		s.r ^= of_bucket(g, i, s.q);
	return s;
}

/* ------------------------------------------------------------------- places */

COUNT_HOT void place_of_value(const struct ink_count *c, struct value s, struct ink_count_place *p)
{
	const struct ink_count_geometry *g = &c->plan.geometry;

	for (uint32_t i = 0; i < g->d; i++) {
		struct value v = permute(g, i, s);

		p->bucket[i] = i * g->b + v.q;
		p->fingerprint[i] = v.r;
	}
}

COUNT_HOT void place_of(const struct ink_count *c, uint64_t id, struct ink_count_place *p)
{
	place_of_value(c, value_of(c, id), p);
}

/* A bucket may begin in one line of the cache and end in another. */
COUNT_HOT void place_fetch(const struct ink_count *c, const struct ink_count_place *p)
{
	uint64_t bits = (uint64_t)c->plan.geometry.h * c->cell_bits;

	for (uint32_t i = 0; i < c->plan.geometry.d; i++) {
		uint64_t at = p->bucket[i] * bits;

		__builtin_prefetch(c->body + at / 8);
		__builtin_prefetch(c->body + (at + bits - 1) / 8);
	}
}

/* ------------------------------------------------------------------ buckets */

/* 121 bits, or more, from `at` on. */
COUNT_HOT ink_count_wide chunk_at(const struct ink_count *c, uint64_t at)
{
	uint64_t words[2];
	unsigned shift = at % 8;

	memcpy(words, c->body + at / 8, sizeof words);
	words[0] = le64toh(words[0]) >> shift | le64toh(words[1]) << 1 << (63 - shift);
	return (ink_count_wide)(le64toh(words[1]) >> shift) << 64 | words[0];
}

COUNT_HOT const struct ink_count_lanes *chunk_lanes(const struct ink_count *c, uint32_t chunk)
{
	return chunk + 1 < c->chunks ? &c->lanes : &c->tail;
}

/* Taken cells, and those with that fingerprint: the top bit of each. */
COUNT_HOT ink_count_wide chunk_taken(const struct ink_count_lanes *l, ink_count_wide cells)
{
	return ((cells & l->counter) + l->rest) & l->top;
}

COUNT_HOT ink_count_wide chunk_equal(const struct ink_count *c, const struct ink_count_lanes *l,
				     ink_count_wide cells, uint32_t fingerprint)
{
	ink_count_wide x = cells ^ l->low * ((uint64_t)fingerprint << c->plan.geometry.counter_bits);

	return ~(((x & l->print) + l->print) | x) & l->top;
}

/* Where the cell of the lowest bit of such an answer begins. */
COUNT_HOT uint64_t cell_of(const struct ink_count *c, uint64_t at, ink_count_wide found)
{
	uint64_t low = (uint64_t)found, high = (uint64_t)(found >> 64);
	unsigned bit = low ? (unsigned)__builtin_ctzll(low) : 64 + (unsigned)__builtin_ctzll(high);

	return at + bit - (c->cell_bits - 1);
}

/* How many cells an answer has: they are digits, and their sum is the highest digit of this product. */
COUNT_HOT uint32_t cells_in(const struct ink_count *c, const struct ink_count_lanes *l, ink_count_wide answer)
{
	return (uint32_t)((answer >> (c->cell_bits - 1)) * l->low >> l->last) & ((1u << MIN_CELL_BITS) - 1);
}

COUNT_HOT uint64_t bucket_at(const struct ink_count *c, uint32_t bucket)
{
	return (uint64_t)bucket * c->plan.geometry.h * c->cell_bits;
}

#define NOWHERE UINT64_MAX

/* The bit at which the one cell of the item begins. All buckets are searched: a branch would be a guess. */
COUNT_HOT uint64_t place_find(const struct ink_count *c, const struct ink_count_place *p)
{
	ink_count_wide found = 0;
	uint64_t where = 0;

	for (uint32_t i = 0; i < c->plan.geometry.d; i++) {
		uint64_t at = bucket_at(c, p->bucket[i]);

		for (uint32_t k = 0; k < c->chunks; k++, at += c->chunk_bits) {
			const struct ink_count_lanes *l = chunk_lanes(c, k);
			ink_count_wide cells = chunk_at(c, at);
			ink_count_wide match =
				chunk_equal(c, l, cells, p->fingerprint[i]) & chunk_taken(l, cells);

			where = match ? at : where;
			found |= match;
		}
	}
	return found ? cell_of(c, where, found) : NOWHERE;
}

/* The number of empty cells of a bucket, and where the first begins. */
COUNT_HOT uint32_t bucket_room(const struct ink_count *c, uint32_t bucket, uint64_t *where)
{
	uint64_t at = bucket_at(c, bucket);
	uint32_t room = 0;

	for (uint32_t k = 0; k < c->chunks; k++, at += c->chunk_bits) {
		const struct ink_count_lanes *l = chunk_lanes(c, k);
		ink_count_wide empty = chunk_taken(l, chunk_at(c, at)) ^ l->top;

		if (empty && !room)
			*where = cell_of(c, at, empty);
		room += cells_in(c, l, empty);
	}
	return room;
}

/* ---------------------------------------------------------------- add, remove */

/* Into the bucket with most room, ties to the left. */
COUNT_HOT int place_store(struct ink_count *c, const struct ink_count_place *p, uint32_t counter)
{
	uint64_t where = 0, value = 0;
	uint32_t most = 0;

	for (uint32_t i = 0; i < c->plan.geometry.d; i++) {
		uint64_t empty = 0;
		uint32_t room = bucket_room(c, p->bucket[i], &empty);

		if (room > most) {
			most = room;
			where = empty;
			value = (uint64_t)p->fingerprint[i] << c->plan.geometry.counter_bits | counter;
		}
	}
	if (!most)
		return -ENOSPC;
	ink_count_put_bits(c, where, value);
	return 0;
}

/* Adds the item that many times. The limit is all ones, and the counter is lowest in its cell. */
COUNT_HOT int place_put(struct ink_count *c, const struct ink_count_place *p, uint32_t times)
{
	uint64_t where = place_find(c, p), value;

	if (where == NOWHERE)
		return place_store(c, p, times);
	value = ink_count_get_bits(c, where);
	ink_count_put_bits(c, where,
			   (value & ~(uint64_t)c->limit) |
				   ink_count_sum(c, (uint32_t)value & c->limit, times));
	return 0;
}

COUNT_HOT int place_add(struct ink_count *c, const struct ink_count_place *p)
{
	int error = place_put(c, p, 1);

	c->items += error == 0;
	c->refused += error != 0;
	return error;
}

COUNT_HOT int place_remove(struct ink_count *c, const struct ink_count_place *p)
{
	uint64_t where = place_find(c, p), value;

	if (where == NOWHERE)
		return c->strangers++, -ENOENT;
	value = ink_count_get_bits(c, where);
	if ((value & c->limit) == c->limit)
		return c->held++, -EOVERFLOW;
	ink_count_put_bits(c, where, (value & c->limit) == 1 ? 0 : value - 1);
	c->items--;
	return 0;
}

COUNT_HOT uint32_t place_count(const struct ink_count *c, const struct ink_count_place *p)
{
	uint64_t where = place_find(c, p);

	return where == NOWHERE ? 0 : (uint32_t)ink_count_get_bits(c, where) & c->limit;
}

#define COUNT_STEPS_DEFINED 1
#include "count/verbs.h"

/* -------------------------------------------------------------------- merging */

/* Where the item of a taken cell looks: its subtable's permutation leads back to S. */
static void place_of_cell(const struct ink_count *c, uint64_t cell, uint64_t value, struct ink_count_place *p)
{
	const struct ink_count_geometry *g = &c->plan.geometry;
	uint64_t bucket = cell / g->h;
	struct value s = {(uint32_t)(bucket % g->b), (uint32_t)(value >> g->counter_bits)};

	place_of_value(c, unpermute(g, (uint32_t)(bucket / g->b), s), p);
}

static int put_all(struct ink_count *into, const struct ink_count *from)
{
	for (uint64_t cell = 0; cell < from->cells; cell++) {
		uint64_t value = ink_count_get(from, cell);
		struct ink_count_place p;
		int error;

		if (!value)
			continue;
		place_of_cell(from, cell, value, &p);
		error = place_put(into, &p, (uint32_t)value & from->limit);
		if (error)
			return error;
	}
	return 0;
}

/* Whether all items fit is known only at the end, so they are put into a copy. */
static int merge(struct ink_count *into, const struct ink_count *from)
{
	struct ink_count copy = *into;
	int error;

	copy.is_mapped = 0;
	copy.body = ink_alloc_unset(&into->allocator, into->body_bytes);
	if (!copy.body)
		return -ENOMEM;
	memcpy(copy.body, into->body, into->body_bytes);
	error = put_all(&copy, from);
	ink_count_release_body(error ? &copy : into);
	if (!error)
		into->body = copy.body;
	return error;
}

/* -------------------------------------------------------------------- looking */

/* The share of the values of S that are stored. */
static double error_now(const struct ink_count *c)
{
	const struct ink_count_geometry *g = &c->plan.geometry;
	uint64_t taken = 0;

	for (uint64_t cell = 0; cell < c->cells; cell++)
		taken += ink_count_get(c, cell) != 0;
	return (double)taken / ((double)g->b * (double)(1ull << g->f));
}

/* How many cells have this item's value. */
static int place_cells(const struct ink_count *c, const struct ink_count_place *p)
{
	const struct ink_count_geometry *g = &c->plan.geometry;
	int found = 0;

	for (uint32_t i = 0; i < g->d; i++)
		for (uint32_t k = 0; k < g->h; k++) {
			uint64_t value = ink_count_get(c, (uint64_t)p->bucket[i] * g->h + k);

			found += (value & c->limit) && value >> g->counter_bits == p->fingerprint[i];
		}
	return found;
}

/* No other cell has the value of this one, which is taken. */
static int is_alone(const struct ink_count *c, uint64_t cell, uint64_t value)
{
	struct ink_count_place p;

	place_of_cell(c, cell, value, &p);
	return place_cells(c, &p) == 1;
}

static const char *check(const struct ink_count *c)
{
	uint64_t sum = 0;
	int stuck = 0;

	for (uint64_t cell = 0; cell < c->cells; cell++) {
		uint64_t value = ink_count_get(c, cell), counter = value & c->limit;

		if (value && !counter)
			return "a cell with counter 0 has a fingerprint";
		if (value && !is_alone(c, cell, value))
			return "a value is in two cells";
		sum += counter;
		stuck |= counter == c->limit;
	}
	return sum == c->items || (stuck && sum < c->items) ? NULL
							    : "the counters do not sum up to the items";
}

/* ---------------------------------------------------------------------- making */

static struct ink_count_lanes lanes_of(const struct ink_count *c, uint32_t cells)
{
	const struct ink_count_geometry *g = &c->plan.geometry;
	ink_count_wide low = 0;

	for (uint32_t i = 0; i < cells; i++)
		low |= (ink_count_wide)1 << i * c->cell_bits;
	return (struct ink_count_lanes){.low = low,
					.counter = low * c->limit,
					.print = low * (((1ull << (g->f - 1)) - 1) << g->counter_bits),
					.rest = low * ((1ull << (c->cell_bits - 1)) - 1),
					.top = low << (c->cell_bits - 1),
					.last = (cells - 1) * c->cell_bits};
}

static void shape(struct ink_count *c)
{
	uint32_t h = c->plan.geometry.h, fit = CHUNK_BITS / c->cell_bits;
	uint32_t most = fit < CHUNK_CELLS ? fit : CHUNK_CELLS;

	c->chunks = (h + most - 1) / most;
	c->chunk_bits = most * c->cell_bits;
	c->lanes = lanes_of(c, most);
	c->tail = lanes_of(c, h - (c->chunks - 1) * most);
}

static const struct ink_count_ops ops = {
	.shape = shape,
	COUNT_VERBS,
	.merge = merge,
	.error = error_now,
	.check = check,
};

const struct ink_count_ops *const ink_count_dleft = &ops;
