/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bags of states: cells of the kind `kbf`.
 *
 * A cell is shared by all flows that are drawn to it, and keeps how many they
 * are and the sum of their states' elements in the group of numbers modulo 4095:
 *
 *      15    12 11                        0
 *     +--------+---------------------------+
 *     | count  |   sum of elements, 0..4094 |
 *     +--------+---------------------------+
 *
 * Sums commute and can be taken back, so the order of inserts and deletes
 * leaves no trace: a table does not age, and tables add up cell by cell.
 *
 * The elements are those of Bose and Chowla (1962): in the field of q^h numbers
 * with generator g, the q exponents a for which g^a - g lies in the subfield of
 * q. No two bags of h of them have the same sum modulo q^h - 1. With q^h = 4096,
 * the elements of up to 16 states tell bags of three apart (h = 3), those of up
 * to 64 states bags of two (h = 2): as much as 12 bits can. Larger bags are not
 * told apart for certain, but what such a sum says is not lost: for every count
 * and every sum a table has the states that occur in any bag with that count
 * and sum. With four states, a bag of seven still rules out most of the others.
 *
 * What a flow's state may be is what all its cells admit: the intersection of
 * k entries of that table. Its true state is always among them.
 *
 * A count that reaches 15 stays there, and the cell tells nothing from then on.
 */
#ifndef INKLING_KINDS_SUMS_MULTISET_H
#define INKLING_KINDS_SUMS_MULTISET_H

#include <stdint.h>
#include <string.h>

enum {
	INK_MULTISET_GROUP = 4095,
	INK_MULTISET_STATES = 64, /* that a mask of 64 bits can name */
	INK_MULTISET_SUM_BITS = 12,
	INK_MULTISET_STUCK = 15, /* the count that is no count any more */
	INK_MULTISET_MOST = 12   /* bags that are larger tell nothing */
};

typedef uint16_t ink_multiset;

/* What a number of states needs; small enough to be kept in a table's shape. */
struct ink_multiset_shape {
	unsigned states;
	unsigned most;       /* the largest count that tells anything */
	unsigned mask_bytes; /* of one entry of the masks: 1, 2, 4 or 8 */
	uint64_t all;        /* every state */
	uint16_t element[INK_MULTISET_STATES];
};

/* The elements and the sizes; takes some thousand steps for each state. */
struct ink_multiset_shape ink_multiset_shape(unsigned states);

/* The bytes of the masks; 8 more than they fill, since they are read as whole words. */
static inline uint64_t ink_multiset_masks_bytes(unsigned most, unsigned mask_bytes)
{
	return ((uint64_t)most << INK_MULTISET_SUM_BITS) * mask_bytes + sizeof(uint64_t);
}

void ink_multiset_fill_masks(const struct ink_multiset_shape *s, unsigned char *masks);

/* For the plan: of all ways to draw some states at random, the shares that add up to each sum. */
struct ink_multiset_ways {
	double share[INK_MULTISET_GROUP];
};

void ink_multiset_no_states(struct ink_multiset_ways *w);
void ink_multiset_one_state_more(const struct ink_multiset_shape *s, struct ink_multiset_ways *w);

/* --------------------------------------------------------------------- bags */

static inline unsigned ink_multiset_count(ink_multiset bag)
{
	return bag >> INK_MULTISET_SUM_BITS;
}

static inline unsigned ink_multiset_sum(ink_multiset bag)
{
	return bag & ((1u << INK_MULTISET_SUM_BITS) - 1);
}

static inline ink_multiset ink_multiset_of(unsigned count, unsigned sum)
{
	return (ink_multiset)(count << INK_MULTISET_SUM_BITS | (sum >= INK_MULTISET_GROUP ? sum - INK_MULTISET_GROUP : sum));
}

static inline ink_multiset ink_multiset_add(const struct ink_multiset_shape *s, ink_multiset bag, unsigned state)
{
	if (ink_multiset_count(bag) == INK_MULTISET_STUCK)
		return bag;
	return ink_multiset_of(ink_multiset_count(bag) + 1, ink_multiset_sum(bag) + s->element[state]);
}

/* The bag holds that state, or it is stuck. */
static inline ink_multiset ink_multiset_remove(const struct ink_multiset_shape *s, ink_multiset bag, unsigned state)
{
	if (ink_multiset_count(bag) == INK_MULTISET_STUCK)
		return bag;
	return ink_multiset_of(ink_multiset_count(bag) - 1, ink_multiset_sum(bag) + INK_MULTISET_GROUP - s->element[state]);
}

/* The states that a flow may have whose cell this is. */
static inline uint64_t ink_multiset_admits(const struct ink_multiset_shape *s, const unsigned char *masks, ink_multiset bag)
{
	unsigned count = ink_multiset_count(bag);
	uint64_t mask;

	if (count - 1 >= s->most)
		return count ? s->all : 0;
	memcpy(&mask, masks + (size_t)(bag - (1u << INK_MULTISET_SUM_BITS)) * s->mask_bytes, sizeof mask);
	return mask & s->all;
}

#endif
