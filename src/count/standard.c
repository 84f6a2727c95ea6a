/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The standard counting Bloom filter: m counters, k of them for each item. An
 * add raises all k, a remove lowers them, and an item is there if none is 0.
 *
 * The m counters are divided into k segments, and hash function i of the k
 * draws from segment i:
 *
 *            segment 0          segment 1             segment k-1
 *     +---------------------+---------------------+-- ... --+---------------------+
 *     |  0 1 0 0[2]0 0 1 0  |  1 0 0[1]0 0 1 0 0  |         |  0[1]1 0 0 0 3 0 0  |   [ ] one item's
 *     +---------------------+---------------------+-- ... --+---------------------+
 *
 * Segment i begins at counter i m / k, rounded down, so m may be any number. An
 * item thus has k different counters without a search, and the expected false
 * positives have an exact formula: the segments are independent, and in each the
 * share of counters that are not 0 is known,
 *
 *     error = product over segments of 1 - (1 - 1/size)^n   =  about (1 - e^(-kn/m))^k
 *
 * as with hash functions that draw from all m.
 *
 * A counter at its limit sticks: it is no longer lowered. A remove lowers the
 * item's other counters, which still count exactly. When the last item has left
 * one of them, that counter answers "not there". Only an item all of whose k
 * counters are stuck can never be removed.
 */
#include <errno.h>

#include "base/mix.h"
#include "count/set.h"

/* ------------------------------------------------------------------- places */

/* As base/mix.h: each step gives two draws. */
COUNT_HOT void place_of(const struct ink_count *c, uint64_t id, struct ink_count_place *p)
{
	uint32_t k = c->plan.geometry.k;
	uint64_t pair = 0;

	for (uint32_t i = 0; i < k; i++) {
		pair = i % 2 ? pair >> 32 : ink_draw_pair(id, i);
		p->counter[i] =
			c->starts[i] + ink_count_below(pair & 0xffffffff, c->starts[i + 1] - c->starts[i]);
	}
}

COUNT_HOT void place_fetch(const struct ink_count *c, const struct ink_count_place *p)
{
	for (uint32_t i = 0; i < c->plan.geometry.k; i++)
		__builtin_prefetch(c->body + p->counter[i] * c->cell_bits / 8);
}

/* -------------------------------------------------------------------- changes */

COUNT_HOT uint32_t place_count(const struct ink_count *c, const struct ink_count_place *p)
{
	uint32_t least = c->limit;

	for (uint32_t i = 0; least && i < c->plan.geometry.k; i++) {
		uint32_t counter = (uint32_t)ink_count_get(c, p->counter[i]);

		least = counter < least ? counter : least;
	}
	return least;
}

COUNT_HOT int place_add(struct ink_count *c, const struct ink_count_place *p)
{
	for (uint32_t i = 0; i < c->plan.geometry.k; i++) {
		uint32_t counter = (uint32_t)ink_count_get(c, p->counter[i]);

		if (counter < c->limit)
			ink_count_put(c, p->counter[i], counter + 1);
	}
	c->items++;
	return 0;
}

/* Reads all counters before it writes one. With stuck ones, more may be removed than were added. */
COUNT_HOT int place_remove(struct ink_count *c, const struct ink_count_place *p)
{
	uint32_t least = place_count(c, p);

	if (least == 0)
		return c->strangers++, -ENOENT;
	if (least == c->limit)
		return c->held++, -EOVERFLOW;
	for (uint32_t i = 0; i < c->plan.geometry.k; i++) {
		uint32_t counter = (uint32_t)ink_count_get(c, p->counter[i]);

		if (counter < c->limit)
			ink_count_put(c, p->counter[i], counter - 1);
	}
	c->items -= c->items > 0;
	return 0;
}

#define COUNT_STEPS_DEFINED 1
#include "count/verbs.h"

static int merge(struct ink_count *into, const struct ink_count *from)
{
	for (uint64_t i = 0; i < into->cells; i++) {
		uint32_t counter = (uint32_t)ink_count_get(from, i);

		if (counter)
			ink_count_put(into, i,
				      ink_count_sum(into, (uint32_t)ink_count_get(into, i), counter));
	}
	return 0;
}

/* -------------------------------------------------------------------- looking */

static double error_now(const struct ink_count *c)
{
	double error = 1;

	for (uint32_t i = 0; i < c->plan.geometry.k; i++) {
		uint64_t taken = 0;

		for (uint64_t n = c->starts[i]; n < c->starts[i + 1]; n++)
			taken += ink_count_get(c, n) != 0;
		error *= (double)taken / (double)(c->starts[i + 1] - c->starts[i]);
	}
	return error;
}

/* An item is counted once in every segment; only stuck counters forget. */
static int segment_sums_up(const struct ink_count *c, uint32_t i)
{
	uint64_t sum = 0;
	int stuck = 0;

	for (uint64_t n = c->starts[i]; n < c->starts[i + 1]; n++) {
		uint64_t counter = ink_count_get(c, n);

		sum += counter;
		stuck |= counter == c->limit;
	}
	return stuck || sum == c->items;
}

static const char *check(const struct ink_count *c)
{
	for (uint32_t i = 0; i < c->plan.geometry.k; i++)
		if (!segment_sums_up(c, i))
			return "the counters of a segment do not sum up to the items";
	return NULL;
}

static void shape(struct ink_count *c)
{
	for (uint32_t i = 0; i <= c->plan.geometry.k; i++)
		c->starts[i] = ink_count_segment(&c->plan.geometry, i);
}

static const struct ink_count_ops ops = {
	.shape = shape,
	COUNT_VERBS,
	.merge = merge,
	.error = error_now,
	.check = check,
};

const struct ink_count_ops *const ink_count_standard = &ops;
